"""Charts as SVG text: small, without a library, in colours that the page around them chooses (classes c0, c1, ...)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from html import escape as _escape

WIDTH, HEIGHT = 440, 300  # so narrow that words stay legible on a phone
LEFT, RIGHT, TOP, BOTTOM = 56, 18, 12, 40
COLORS = 7  # classes of lines
BAR = 19  # height of a bar with its gap


@dataclass(frozen=True)
class Line:
    name: str
    points: Sequence[tuple[float, float]]
    color: int = 0
    notes: Sequence[str] = ()  # by point, for those who point at it


def escape(words: str) -> str:
    """Text as it may stand in a page."""
    return _escape("".join(letter if letter.isprintable() else " " for letter in words))


def percent(value: float) -> str:
    """A part of 1 with as many digits as it takes."""
    return f"{100 * value:.3g}%"


def _ticks(low: float, high: float, most: int = 6, least: float = 0.0) -> list[float]:
    """Round numbers that cover a range, at least so far apart."""
    span = max(high - low, 1e-12)
    step = max(10.0 ** math.floor(math.log10(span / most)), least)
    step = next(step * factor for factor in (1, 2, 5, 10) if span / (step * factor) <= most)
    first = math.ceil(low / step - 1e-9)
    return [number * step for number in range(first, math.floor(high / step + 1e-9) + 1)]


def _log_ticks(low: float, high: float) -> list[float]:
    powers = range(math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9) + 1)
    return [10.0**power for power in powers]


def _text(x: float, y: float, words: str, anchor: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>{escape(words)}</text>'


def line_chart(
    title: str,
    lines: Sequence[Line],
    x_label: str,
    y_label: str,
    *,
    log_x: bool = False,
    diagonal: bool = False,
    show_x: Callable[[float], str] = lambda value: f"{value:,.6g}",
) -> str:
    """Lines with marks; y is a part of 1.  `diagonal`: both axes go from 0 to 1, with a line where they are equal."""
    lines = [replace(line, points=[p for p in line.points if all(map(math.isfinite, p))]) for line in lines]
    points = [point for line in lines for point in line.points]
    if not points:
        return ""
    xs, ys = [x for x, _ in points], [y for _, y in points]
    low_x, high_x = (0.0, 1.0) if diagonal else (min(xs), max(xs))
    high_y = 1.0 if diagonal else max(ys) * 1.05 or 1.0
    low_y = 0.9 * min(ys) if not diagonal and min(ys) > 0.5 * max(ys) else 0.0  # differences must be seen
    scale = math.log10 if log_x else float
    span = max(scale(high_x) - scale(low_x), 1e-12)

    def place(x: float, y: float) -> tuple[float, float]:
        across = (scale(x) - scale(low_x)) / span if high_x > low_x else 0.5
        return LEFT + across * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - (y - low_y) / (high_y - low_y) * (
            HEIGHT - TOP - BOTTOM
        )

    parts = [
        f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">'
        f"<title>{escape(title)}</title>"
    ]
    for tick in _ticks(low_y, high_y):
        _, y = place(low_x, tick)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(_text(LEFT - 6, y + 4, percent(tick), "end"))
    x_ticks = _log_ticks(low_x, high_x) if log_x else _ticks(low_x, high_x, 8, least=0.0 if diagonal else 1.0)
    for tick in x_ticks if len(x_ticks) > 1 or high_x == low_x else [low_x, high_x]:
        x, _ = place(tick, low_y)
        parts.append(_text(x, HEIGHT - BOTTOM + 16, percent(tick) if diagonal else show_x(tick), "middle"))
    if diagonal:
        (x1, y1), (x2, y2) = place(0, 0), place(1, 1)
        parts.append(f'<line class="ideal" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>')
    for line in lines:
        places = [place(x, y) for x, y in line.points]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        color = f"c{line.color % COLORS}"
        parts.append(f'<polyline class="line {color}" points="{path}"/>')
        for number, (x, y) in enumerate(places):
            note = line.notes[number] if number < len(line.notes) else percent(line.points[number][1])
            parts.append(
                f'<circle class="dot {color}" cx="{x:.1f}" cy="{y:.1f}" r="2.4">'
                f"<title>{escape(line.name)}: {escape(note)}</title></circle>"
            )
    parts.append(_text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 6, x_label, "middle", ' class="label"'))
    middle = (HEIGHT - BOTTOM + TOP) / 2
    parts.append(_text(11, middle, y_label, "middle", f' class="label" transform="rotate(-90 11 {middle:.0f})"'))
    return "".join(parts) + "</svg>"


def legend(lines: Sequence[Line]) -> str:
    """The names of lines, in their colours."""
    items = "".join(
        f'<li><span class="key c{line.color % COLORS}"></span>{escape(line.name)}</li>' for line in lines if line.points
    )
    return f'<ul class="legend">{items}</ul>'


def weight_chart(title: str, rows: Sequence[tuple[str, float, float | None]]) -> str:
    """Bars to both sides of 0, each with a line as long as a standard deviation to both sides of its end."""
    rows = [row for row in rows if all(number is None or math.isfinite(number) for number in row[1:])]
    if not rows:
        return ""
    most = max(abs(value) + (deviation or 0.0) for _, value, deviation in rows) or 1.0
    height = TOP + BAR * len(rows) + BOTTOM
    names = 150
    zero = names + (WIDTH - RIGHT - names) / 2
    unit = (WIDTH - RIGHT - names) / 2 / most
    parts = [
        f'<svg class="chart" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(title)}">'
        f"<title>{escape(title)}</title>"
    ]
    bottom = height - BOTTOM + 4
    for tick in _ticks(-most, most, 5):
        x = zero + tick * unit
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 4}" y2="{bottom}"/>')
        parts.append(_text(x, bottom + 15, f"{tick:g}", "middle"))
    for number, (name, value, deviation) in enumerate(rows):
        y = TOP + BAR * number
        end = zero + value * unit
        side = "positive" if value >= 0 else "negative"
        spread = "" if deviation is None else f" ± {deviation:.4g}"
        parts.append(
            f'<g><title>{escape(name)}: {value:.4g}{spread}</title><rect class="bar {side}" x="{min(zero, end):.1f}" '
            f'y="{y}" width="{abs(end - zero):.1f}" height="{BAR - 6}"/>'
        )
        if deviation is not None:
            reach, middle = deviation * unit, y + (BAR - 6) / 2
            parts.append(
                f'<line class="spread" x1="{end - reach:.1f}" x2="{end + reach:.1f}" y1="{middle}" y2="{middle}"/>'
            )
        short = name if len(name) <= 22 else name[:21] + "…"
        parts.append(_text(names - 8, y + BAR - 8, short, "end") + "</g>")
    parts.append(_text(zero, height - 6, title, "middle", ' class="label"'))
    return "".join(parts) + "</svg>"
