"""A data set in the report: its charts, and the p-values of all pairs, as plain numbers and texts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from cwlearn.core.class_labels import label_text
from cwlearn.evaluation.candidates import Candidate
from cwlearn.evaluation.charts import COLORS, Line, LineChart, Point, WeightChart, line_chart, percent, weight_chart
from cwlearn.evaluation.comparison import Comparison
from cwlearn.evaluation.data_sets import DataSet
from cwlearn.evaluation.trials import Outcome

HEAVIEST = 20  # weights to show
FIRST_PROGRESS = 5  # the progressive error is drawn from this row on; before, it jumps
MIN_BIN_ROWS = 5  # a bin of the reliability diagram with fewer rows is not drawn


@dataclass(frozen=True)
class WeightsCard:
    """The heaviest weights of the best candidate."""

    candidate: str
    labels: list[str]
    have_deviations: bool
    chart: WeightChart


class PairsRow(NamedTuple):
    """The p-values of a candidate against all candidates."""

    name: str
    p_values: list[str]


class CalibrationRow(NamedTuple):
    """How far the probabilities of a candidate are from what happened, on average."""

    name: str
    calibrated: str
    distribution: str  # the papers', before any calibration


@dataclass(frozen=True)
class DataSetSection:
    """The charts of one data set."""

    name: str
    noise: float
    n_rows: int
    n_features: int
    mean_row_length: float
    n_labels: int
    n_grey: int  # candidates without a colour of their own
    test_error: LineChart | None
    progressive_error: LineChart | None
    reliability: LineChart | None
    reliability_before: LineChart | None  # of the papers' distribution, before any calibration
    calibration: list[CalibrationRow]
    weights: WeightsCard | None
    pairs: list[PairsRow]


def section_of(comparison: Comparison, data_set: DataSet, noise: float) -> DataSetSection:
    """The section of a data set, for one part of wrong training labels."""
    name = data_set.name
    ranked = [comparison.candidates[index] for index in comparison.ranking(noise)]
    present = [candidate for candidate in ranked if comparison.outcomes_of(name, noise, candidate.name)]
    present.sort(key=lambda candidate: comparison.error(name, noise, candidate.name))
    best = present[:COLORS]
    test_error, progressive_error, reliability, before = [], [], [], []
    for number, candidate in enumerate(present):
        color = number if number < COLORS else None
        outcomes = comparison.outcomes_of(name, noise, candidate.name)
        epoch_points = _epoch_points(candidate, outcomes, comparison.trial_settings.epochs)
        test_error.append(Line(candidate.name, color, epoch_points))
        progressive_error.append(Line(candidate.name, color, _progressive_points(outcomes)))
        if candidate in best:  # tables of few rows jump: more of them would hide what there is to see
            reliability.append(Line(candidate.name, color, _reliability_points([o.bins for o in outcomes])))
            before.append(Line(candidate.name, color, _reliability_points([o.distribution_bins for o in outcomes])))
    return DataSetSection(
        name=name,
        noise=noise,
        n_rows=len(data_set.y),
        n_features=data_set.n_used_features,
        mean_row_length=len(data_set.rows.values) / len(data_set.y),
        n_labels=len(data_set.classes),
        n_grey=len(present) - len(best),
        test_error=line_chart("Test error after each epoch", test_error, "epochs", "test error"),
        progressive_error=line_chart(
            "Progressive error", progressive_error, "rows seen (log scale)", "progressive error", log_x=True
        ),
        reliability=_reliability_chart("Reliability", reliability),
        reliability_before=_reliability_chart("Reliability before calibration", before),
        calibration=[_calibration_row(comparison, name, noise, candidate) for candidate in present],
        weights=_weights_card(comparison, data_set, noise, best[0]),
        pairs=_pairs(comparison, name, noise),
    )


def _epoch_points(candidate: Candidate, outcomes: list[Outcome], epochs: int) -> list[Point]:
    """The mean test error after each epoch; of a batch learner, a level line."""
    errors = np.mean([outcome.by_epoch for outcome in outcomes], axis=0).tolist()
    if candidate.online:
        return [Point(epoch, error, f"{percent(error)} after {epoch}") for epoch, error in enumerate(errors, 1)]
    return [Point(epoch, errors[0], f"{percent(errors[0])}, not in epochs") for epoch in (1, epochs)]


def _progressive_points(outcomes: list[Outcome]) -> list[Point]:
    """The mistakes of all folds together, after the numbers of rows that all of them have."""
    mistakes_by_rows = [{pair[0]: pair[1] for pair in outcome.progress} for outcome in outcomes]
    common = sorted(set.intersection(*(set(mistakes) for mistakes in mistakes_by_rows)))
    errors = {rows: float(np.mean([mistakes[rows] for mistakes in mistakes_by_rows])) / rows for rows in common}
    return [
        Point(rows, error, f"{percent(error)} of {rows:,} rows")
        for rows, error in errors.items()
        if rows >= FIRST_PROGRESS
    ]


def _reliability_chart(title: str, lines: list[Line]) -> LineChart | None:
    return line_chart(title, lines, "probability that was predicted", "part that was right", diagonal=True)


def _reliability_points(calibration_tables: list[list[list[float]] | None]) -> list[Point]:
    """How often predictions are right, by the probability that was predicted."""
    tables = [table for table in calibration_tables if table is not None]
    if not tables:
        return []
    points = []
    for rows, probability_sum, right in np.sum(tables, axis=0).tolist():
        if rows >= MIN_BIN_ROWS:
            predicted, correct = probability_sum / rows, right / rows
            note = f"{percent(correct)} of {rows:,.0f} rows, predicted {percent(predicted)}"
            points.append(Point(predicted, correct, note))
    return points


def _calibration_row(comparison: Comparison, data_set: str, noise: float, candidate: Candidate) -> CalibrationRow:
    errors = (comparison.calibration_error(data_set, noise, candidate.name, which) for which in (True, False))
    return CalibrationRow(candidate.title, *("-" if math.isnan(error) else f"{error:.3f}" for error in errors))


def _weights_card(comparison: Comparison, data_set: DataSet, noise: float, best: Candidate) -> WeightsCard | None:
    labels = [label_text(label) for label in data_set.classes.tolist()]
    names = data_set.feature_names or []
    weights = comparison.heaviest_weights(data_set.name, noise, best.name, HEAVIEST)
    entries = []
    for weight in weights:
        name = names[weight.feature] if weight.feature < len(names) else str(weight.feature)
        entries.append((f"{name} → {labels[weight.label]}" if len(labels) > 2 else name, weight.mean, weight.deviation))
    chart = weight_chart("weight", entries)
    if chart is None:
        return None
    return WeightsCard(best.title, labels, weights[0].deviation is not None, chart)


def _pairs(comparison: Comparison, data_set: str, noise: float) -> list[PairsRow]:
    """McNemar's test between all pairs of candidates; nothing if there is no pair."""
    names = [
        candidate.name for candidate in comparison.candidates if comparison.outcomes_of(data_set, noise, candidate.name)
    ]
    if len(names) < 2:
        return []

    def text(first: str, second: str) -> str:
        return "" if first == second else _p_value_text(comparison.corrected_p_value(data_set, noise, first, second))

    return [PairsRow(first, [text(first, second) for second in names]) for first in names]


def _p_value_text(p_value: float) -> str:
    if math.isnan(p_value):
        return "-"
    return f"{p_value:.2g}" if p_value >= 0.001 else "< 0.001"
