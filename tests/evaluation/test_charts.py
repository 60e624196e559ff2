"""The geometry of the charts."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest

from cwlearn.evaluation.charts import (
    BOTTOM,
    LABEL_GAP,
    LEFT,
    LINES_RIGHT,
    RIGHT,
    TOP,
    Line,
    Point,
    _tick_values,
    line_chart,
    weight_chart,
)


def line(*points):
    return Line("a", 0, [Point(x, y, "") for x, y in points])


def test_points_that_are_not_finite_are_left_out():
    chart = line_chart("t", [line((1, 0.5), (2, math.nan), (3, 0.25))], "x", "y")
    assert [len(drawn.points) for drawn in chart.lines] == [2]
    assert len(line_chart("t", [line((1, 0.0))], "x", "y").lines[0].points) == 1
    assert line_chart("t", [], "x", "y") is None
    assert line_chart("t", [line((1, math.nan))], "x", "y") is None
    chart = weight_chart("w", [("a", math.inf, 1.0), ("b", 1.0, None)])
    assert [bar.name for bar in chart.bars] == ["b"]
    assert weight_chart("w", [("a", math.nan, None)]) is None


def test_points_keep_their_notes_where_others_are_left_out():
    points = [Point(1, 0.5, "first"), Point(2, math.nan, "second"), Point(3, 0.25, "third")]
    chart = line_chart("t", [Line("a", 0, points)], "x", "y")
    assert [point.note for point in chart.lines[0].points] == ["first", "third"]


def test_ticks_are_round_numbers():
    chart = line_chart("t", [line((1, 0.5), (2, 0.4), (3, 0.3))], "x", "y")
    assert [tick.text for tick in chart.x_ticks] == ["1", "2", "3"]
    chart = line_chart("t", [line((5, 0.5), (20000, 0.1))], "x", "y", log_x=True)
    assert [tick.text for tick in chart.x_ticks] == ["10", "100", "1,000", "10,000"]
    chart = line_chart("t", [line((20, 0.5), (70, 0.1))], "x", "y", log_x=True)
    assert [tick.text for tick in chart.x_ticks] == ["20", "70"]


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-3.0, 3.0), (0.12, 0.19), (950.0, 4200.0), (2e-9, 7e-9)])
def test_ticks_lie_within_their_range_and_fill_it(low, high):
    values = _tick_values(low, high, 5)
    (step,) = {float(f"{second - first:.6g}") for first, second in pairwise(values)}
    assert 2 <= len(values) <= 6
    assert low - 1e-6 * step <= values[0] < low + step
    assert high - step < values[-1] <= high + 1e-6 * step
    assert f"{step:e}"[0] in "125"


def test_the_diagonal_goes_from_corner_to_corner():
    chart = line_chart("t", [line((0.25, 0.25))], "x", "y", diagonal=True)
    (point,) = chart.lines[0].points
    assert point.x == pytest.approx(LEFT + (LINES_RIGHT - LEFT) / 4)
    assert point.y == pytest.approx(BOTTOM + (TOP - BOTTOM) / 4)
    assert (chart.diagonal.x1, chart.diagonal.y1, chart.diagonal.x2, chart.diagonal.y2) == (
        LEFT,
        BOTTOM,
        LINES_RIGHT,
        TOP,
    )


def test_names_beside_the_lines_do_not_overlap_and_stay_inside():
    lines = [Line(f"{number}" * 30, number, [Point(1, 0.5, ""), Point(2, 0.001 * number, "")]) for number in range(5)]
    chart = line_chart("t", [*lines, Line("rest", None, [Point(1, 0.4, ""), Point(2, 0.3, "")])], "x", "y")
    assert sorted(label.color for label in chart.labels) == [0, 1, 2, 3, 4]
    places = [label.y for label in chart.labels]
    assert all(second - first >= LABEL_GAP - 1e-9 for first, second in pairwise(places))
    assert TOP <= min(places) <= max(places) <= BOTTOM
    assert {len(label.text) for label in chart.labels} == {13}
    assert chart.lines[0].color is None  # behind the others


def test_a_grey_line_far_above_does_not_press_the_others_together():
    chart = line_chart(
        "t", [line((1, 0.1), (2, 0.05)), Line("b", None, [Point(1, 0.9, ""), Point(2, 0.8, "")])], "x", "y"
    )
    assert max(float(tick.text[:-1]) for tick in chart.y_ticks) <= 21
    assert all(point.y < TOP for point in chart.lines[0].points)


def test_bars_go_from_zero_to_the_weight_and_deviations_to_both_sides():
    chart = weight_chart("w", [("a", 2.0, 1.0), ("b" * 30, -1.0, 0.5)])
    unit = (RIGHT - chart.zero) / 3  # 2 + 1 is the longest
    first, second = chart.bars
    assert (first.x, first.width) == pytest.approx((chart.zero, 2 * unit))
    assert (first.spread.x1, first.spread.x2) == pytest.approx((chart.zero + unit, RIGHT))
    assert (second.x, second.width) == pytest.approx((chart.zero - unit, unit))
    assert second.short_name == "b" * 21 + "…"
    assert chart.bottom > second.y + second.height
    assert second.y > first.y + first.height
    assert [tick.text for tick in chart.ticks] == ["-2", "0", "2"]
    assert [tick.position for tick in chart.ticks] == pytest.approx([chart.zero + unit * x for x in (-2, 0, 2)])
