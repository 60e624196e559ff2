"""The geometry of the charts: numbers and texts from which templates draw SVG.

`templates/line_chart.svg.jinja` and `templates/weight_chart.svg.jinja` hold the markup, and the style sheet of the page
the colours.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

WIDTH, HEIGHT = 440, 300  # small enough that the text stays legible on a phone
LEFT, RIGHT, TOP, BOTTOM = 56, WIDTH - 26, 12, HEIGHT - 40  # the edges of a plot
LINES_RIGHT = WIDTH - 112  # of lines, whose names stand beside their ends
LABEL_GAP = 16  # between two such names
LABEL_LENGTH = 13  # the longest one that fits there
COLORS = 5  # of lines; more are hard to tell apart
OUTLYING = 2.0  # a grey line may leave the chart beyond so many times the highest coloured error
BAR_HEIGHT, BAR_GAP = 13, 6
NAMES_WIDTH = 150  # for the names beside the bars
NAME_LENGTH = 22  # the longest name that fits there


class Point(NamedTuple):
    """A point of a line, with a tooltip."""

    x: float
    y: float
    note: str


@dataclass(frozen=True)
class Line:
    """A line to draw.  `color` is a number below `COLORS`, or None for a grey line without a name beside it."""

    name: str
    color: int | None
    points: Sequence[Point]


class Tick(NamedTuple):
    """A mark on an axis."""

    position: float
    text: str


@dataclass(frozen=True)
class Segment:
    """A straight line."""

    x1: float
    y1: float
    x2: float
    y2: float


@dataclass(frozen=True)
class Label:
    """The name of a line beside its last point, and the leader from there."""

    text: str
    color: int
    y: float
    leader: Segment


@dataclass(frozen=True)
class LineChart:
    """Lines with dots.  Points of the lines are positions in the drawing."""

    title: str
    x_label: str
    y_label: str
    x_ticks: list[Tick]
    y_ticks: list[Tick]
    lines: list[Line]  # the grey ones first, so that none of them hides another
    labels: list[Label]
    diagonal: Segment | None
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    right: int = LINES_RIGHT
    top: int = TOP
    bottom: int = BOTTOM


@dataclass(frozen=True)
class Bar:
    """A bar that begins or ends at 0, with a line as long as two standard deviations across its end."""

    name: str
    short_name: str
    weight: float
    deviation: float | None
    x: float
    y: int
    width: float
    height: int
    spread: Segment | None


@dataclass(frozen=True)
class WeightChart:
    """Bars to both sides of 0."""

    x_label: str
    zero: float
    ticks: list[Tick]
    bars: list[Bar]
    names_right: int
    top: int
    bottom: int
    width: int
    height: int


def percent(value: float) -> str:
    """A part of 1, with three significant digits."""
    return f"{100 * value:.3g}%"


def line_chart(
    title: str,
    lines: Sequence[Line],
    x_label: str,
    y_label: str,
    *,
    log_x: bool = False,
    diagonal: bool = False,
) -> LineChart | None:
    """A chart of lines whose y is a part of 1; None if they have no finite point.

    With `diagonal`, both axes go from 0 to 1, and a line shows where they are equal.
    """
    lines = [Line(line.name, line.color, [point for point in line.points if _is_finite(point)]) for line in lines]
    points = [point for line in lines for point in line.points]
    if not points:
        return None
    x_range = (0.0, 1.0) if diagonal else (min(point.x for point in points), max(point.x for point in points))
    y_range = (0.0, 1.0) if diagonal else _error_range(lines)
    x_position = _scale(x_range, (LEFT, LINES_RIGHT), math.log10 if log_x else float)
    y_position = _scale(y_range, (BOTTOM, TOP), float)
    drawn = [
        Line(line.name, line.color, [Point(x_position(x), y_position(y), note) for x, y, note in line.points])
        for line in sorted(lines, key=lambda line: line.color is not None)
        if line.points
    ]
    return LineChart(
        title,
        x_label,
        y_label,
        x_ticks=[
            Tick(x_position(value), percent(value) if diagonal else f"{value:,.6g}")
            for value in _x_tick_values(*x_range, log_x=log_x, smallest_step=0.0 if diagonal else 1.0)
        ],
        y_ticks=[Tick(y_position(value), percent(value)) for value in _tick_values(*y_range, most=6)],
        lines=drawn,
        labels=_labels(drawn),
        diagonal=Segment(LEFT, BOTTOM, LINES_RIGHT, TOP) if diagonal else None,
    )


def weight_chart(x_label: str, weights: Sequence[tuple[str, float, float | None]]) -> WeightChart | None:
    """A chart of names with their weights and standard deviations; None if no weight is finite."""
    weights = [entry for entry in weights if all(number is None or math.isfinite(number) for number in entry[1:])]
    if not weights:
        return None
    longest = max(abs(weight) + (deviation or 0.0) for _, weight, deviation in weights) or 1.0
    x_position = _scale((-longest, longest), (NAMES_WIDTH, RIGHT), float)
    bottom = TOP + (BAR_HEIGHT + BAR_GAP) * len(weights)
    return WeightChart(
        x_label,
        zero=x_position(0.0),
        ticks=[Tick(x_position(value), f"{value:g}") for value in _tick_values(-longest, longest, most=5)],
        bars=[_bar(number, *entry, x_position) for number, entry in enumerate(weights)],
        names_right=NAMES_WIDTH - 8,
        top=TOP - 4,
        bottom=bottom + 4,
        width=WIDTH,
        height=bottom + HEIGHT - BOTTOM,
    )


def _bar(number: int, name: str, weight: float, deviation: float | None, x_position: Callable[[float], float]) -> Bar:
    y = TOP + (BAR_HEIGHT + BAR_GAP) * number
    middle = y + BAR_HEIGHT / 2
    left, right = x_position(min(weight, 0.0)), x_position(max(weight, 0.0))
    spread = None
    if deviation is not None:
        spread = Segment(x_position(weight - deviation), middle, x_position(weight + deviation), middle)
    return Bar(name, _shortened(name, NAME_LENGTH), weight, deviation, left, y, right - left, BAR_HEIGHT, spread)


def _shortened(name: str, length: int) -> str:
    return name if len(name) <= length else name[: length - 1] + "…"


def _labels(lines: Sequence[Line]) -> list[Label]:
    """The names of the coloured lines beside their ends, moved apart where they would overlap."""
    ends = sorted(
        (line.points[-1].y, line.points[-1].x, line.name, line.color) for line in lines if line.color is not None
    )
    places = [y for y, *_ in ends]
    for index in range(1, len(places)):
        places[index] = max(places[index], places[index - 1] + LABEL_GAP)
    lowest = float(BOTTOM)
    for index in reversed(range(len(places))):  # back up from the bottom edge
        places[index] = min(places[index], lowest)
        lowest = places[index] - LABEL_GAP
    return [
        Label(_shortened(name, LABEL_LENGTH), color, place, Segment(x, y, LINES_RIGHT + 8, place))
        for place, (y, x, name, color) in zip(places, ends, strict=True)
    ]


def _is_finite(point: Point) -> bool:
    return math.isfinite(point.x) and math.isfinite(point.y)


def _error_range(lines: Sequence[Line]) -> tuple[float, float]:
    """From 0 on, or from near the smallest error if all are so large that their differences would be hard to see.

    Grey lines far above the coloured ones leave the chart, since they would press those together.
    """
    errors = [point.y for line in lines for point in line.points]
    colored = [point.y for line in lines if line.color is not None for point in line.points]
    low, high = min(errors), min(max(errors), OUTLYING * max(colored, default=1.0) or 1.0)
    return 0.9 * low if low > 0.5 * high else 0.0, high * 1.05 or 1.0


def _scale(
    values: tuple[float, float], positions: tuple[float, float], transform: Callable[[float], float]
) -> Callable[[float], float]:
    """A function from values to positions; a range without width lies in the middle."""
    low, high = (transform(value) for value in values)
    first, last = positions

    def position(value: float) -> float:
        part = (transform(value) - low) / max(high - low, 1e-12) if high > low else 0.5
        return first + part * (last - first)

    return position


def _tick_values(low: float, high: float, most: int, smallest_step: float = 0.0) -> list[float]:
    """At most about `most` round numbers that cover a range."""
    span = max(high - low, 1e-12)
    step = max(10.0 ** math.floor(math.log10(span / most)), smallest_step)
    step = next(step * factor for factor in (1, 2, 5, 10) if span / (step * factor) <= most)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [number * step for number in range(first, last + 1)]


def _x_tick_values(low: float, high: float, *, log_x: bool, smallest_step: float) -> list[float]:
    """Ticks of the horizontal axis: its ends, if fewer than two round numbers lie between them."""
    if log_x:
        powers = range(math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9) + 1)
        values = [10.0**power for power in powers]
    else:
        values = _tick_values(low, high, 8, smallest_step)
    return values if len(values) > 1 or high == low else [low, high]
