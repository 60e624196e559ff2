"""The templates of the report."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from cwlearn.evaluation.charts import percent
from cwlearn.utils.templates import environment

if TYPE_CHECKING:
    from jinja2 import Environment


def render(template: str, **values: object) -> str:
    """The text of a template from the folder `templates`.  Whatever the values hold is escaped."""
    return _environment().get_template(template).render(**values)


@cache
def _environment() -> Environment:
    templates = environment("cwlearn.evaluation")
    templates.filters["percent"] = percent
    return templates
