"""Jinja2 templates to text.  Jinja2 is loaded when the first template is rendered."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from cwlearn.errors import shown
from cwlearn.evaluation.charts import percent

if TYPE_CHECKING:
    from jinja2 import Environment


def render(template: str, **values: object) -> str:
    """The text of a template from the folder `templates`.  Whatever the values hold is escaped."""
    return _environment().get_template(template).render(**values)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("cwlearn.evaluation"),
        autoescape=True,
        finalize=_plain_text,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["percent"] = percent
    return environment


def _plain_text(value: object) -> str:
    """What is written for a value, before it is escaped.

    Characters that do not print are replaced by their codes.  The result is a plain `str`: a string that calls itself
    safe markup is escaped like all others.
    """
    return shown(str.__str__(str(value)))
