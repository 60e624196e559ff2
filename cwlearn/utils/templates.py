"""Jinja2 templates to text.  Jinja2 is loaded when the first template is rendered."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from cwlearn.errors import shown

if TYPE_CHECKING:
    from jinja2 import Environment


@cache
def environment(package: str) -> Environment:
    """The templates in the folder `templates` of a package.  Whatever values they are given is escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader(package),
        autoescape=True,
        finalize=_plain_text,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _plain_text(value: object) -> str:
    """What is written for a value, before it is escaped.

    Characters that do not print are replaced by their codes.  The result is a plain `str`: a string that calls itself
    safe markup is escaped like all others.
    """
    return shown(str.__str__(str(value)))
