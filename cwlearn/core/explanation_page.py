"""Explanations as HTML: one for a notebook, or a page of many, with the words of documents shaded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from cwlearn._version import __version__
from cwlearn.core.explaining import LONGEST_ON_PAGE, Contribution, Explanation, brief, percent
from cwlearn.utils.templates import environment

LEVELS = 5  # shades; what is weaker than half a shade has none
SPOKEN = 3  # from this shade on, a screen reader says for or against


class Shade(NamedTuple):
    """A part of a document as it is drawn."""

    lines: list[str]
    level: int  # 0: not shaded
    side: str  # "for" or "against"
    amount: str

    @property
    def spoken(self) -> bool:
        return self.level >= SPOKEN


class Line(NamedTuple):
    """A line of the table."""

    name: str
    amount: str
    deviation: str
    part: str  # the length of its bar


class Group(NamedTuple):
    """Lines of the table with a heading."""

    heading: str
    side: str
    lines: list[Line]


def fragment(explanation: Explanation, heading: str = "") -> str:
    """An explanation to be put into a page."""
    return _render("explanation_alone.html.jinja", item=_item(explanation, heading))


def page(title: str, explanations: Sequence[tuple[str, Explanation]]) -> str:
    """A whole page of explanations, each with a heading."""
    items = [_item(explanation, heading) for heading, explanation in explanations]
    return _render("explanation_page.html.jinja", title=title, items=items, version=__version__)


def _render(template: str, **values: object) -> str:
    return environment("cwlearn.core").get_template(template).render(**values)


def _item(explanation: Explanation, heading: str) -> dict[str, Any]:
    """What a template shows of an explanation."""
    largest = max((abs(item.amount) for item in explanation.shown), default=0.0)
    label = explanation.label
    sides = ("for", "against") if label is not None else ("more", "less")
    of_label = "" if label is None else f" {label}"
    groups = [
        Group(f"{word[:1].upper()}{word[1:]}{of_label}", side, [_line(item, largest) for item in items])
        for word, side, items in zip(
            sides, ("for", "against"), (explanation.speaking_for, explanation.speaking_against), strict=True
        )
        if items
    ]
    rest = []
    if explanation.intercept:
        deviation = _number(explanation.intercept_deviation)
        rest.append(Line("(intercept)", f"{explanation.intercept:+.4f}", deviation, "0%"))
    if explanation.others:
        rest.append(Line(explanation.name_of_others, f"{explanation.others:+.4f}", "", "0%"))
    rest.append(Line("Margin" if label is not None else "Prediction", f"{explanation.margin:+.4f}",
                     _number(explanation.deviation), "0%"))  # fmt: skip
    return {
        "heading": heading,
        "headline": explanation.headline,
        "summary": explanation.summary,
        "probability": None if explanation.probability is None else percent(explanation.probability),
        "shades": _shades(explanation),
        "has_deviations": explanation.deviation is not None,
        "groups": groups,
        "rest": rest,
    }


def _line(item: Contribution, largest: float) -> Line:
    part = f"{100 * abs(item.amount) / largest:.0f}%"
    return Line(brief(item.name), f"{item.amount:+.4f}", _number(item.deviation), part)


def _number(deviation: float | None) -> str:
    return "" if deviation is None else f"{deviation:.4f}"


def _shades(explanation: Explanation) -> list[Shade]:
    largest = max((abs(piece.amount or 0.0) for piece in explanation.pieces), default=0.0) or 1.0
    shades: list[Shade] = []
    left = LONGEST_ON_PAGE
    for text, amount in explanation.pieces:
        lines = text[:left].replace("\r\n", "\n").replace("\t", " ").split("\n")
        left -= len(text)
        level = round(LEVELS * abs(amount or 0.0) / largest)
        shades.append(Shade(lines, level, "for" if (amount or 0) > 0 else "against", f"{amount or 0:+.4f}"))
        if left < 0:
            return [*shades, Shade([" ..."], 0, "for", "")]
    return shades
