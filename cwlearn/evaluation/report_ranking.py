"""The ranking in the report: the table of all candidates on all data sets, as plain numbers and texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from cwlearn.evaluation.candidates import Candidate
from cwlearn.evaluation.comparison import Comparison
from cwlearn.evaluation.significance import SIGNIFICANT
from cwlearn.evaluation.trials import Outcome

OUTLYING = 2.0  # an error so many times the median one lies beyond the right edge of its column


class RankingDataSet(NamedTuple):
    """A data set in the head of the ranking, with the error of the best candidate."""

    name: str
    best_error: str
    axis: Axis


class Axis(NamedTuple):
    """The errors that a column of intervals shows, from its left edge to its right one."""

    low: float
    high: float
    decimals: int  # of percents, that mean something

    def position(self, error: float) -> float:
        """In percent of the width.  Errors beyond the right edge are drawn there."""
        return 100 * min(1.0, max(0.0, (error - self.low) / (self.high - self.low)))

    def text(self, error: float) -> str:
        """An error in percent, without the sign."""
        return f"{100 * error:.{self.decimals}f}"


@dataclass(frozen=True)
class RankingCell:
    """A candidate on a data set."""

    error: str
    left: float  # of the interval, in percent of the column
    dot: float
    right: float
    is_beyond: bool  # the right edge
    is_level: bool  # with the best candidate: they do not differ clearly
    note: str
    excluded: str  # the reason, if it is


@dataclass(frozen=True)
class RankingRow:
    """A candidate on all data sets."""

    title: str
    mean_rank: float
    cells: list[RankingCell]
    progressive_error: str
    milliseconds: str
    settings: str


class ExcludedRow(NamedTuple):
    """A candidate that is excluded from all data sets."""

    title: str
    reason: str


@dataclass(frozen=True)
class Ranking:
    """The table of all candidates, and what it says in a sentence."""

    noise: float | None  # if the heading names it
    several: bool  # data sets
    data_sets: list[RankingDataSet]
    best_title: str
    n_others: int
    n_clearly_worse: int
    rows: list[RankingRow]
    excluded_rows: list[ExcludedRow]
    n_columns: int
    n_tests: int


def ranking_of(comparison: Comparison, noise: float) -> Ranking:
    """The ranking for one part of wrong training labels."""
    ranking = comparison.ranking(noise)
    best, *others = (comparison.candidates[index] for index in ranking)
    data_sets = [
        RankingDataSet(data_set.name, axis.text(comparison.error(data_set.name, noise, best.name)), axis)
        for data_set in comparison.data_sets
        for axis in [_axis(comparison, data_set.name, noise)]
    ]
    several = len(data_sets) > 1
    return Ranking(
        noise=noise if noise or len(comparison.noises) > 1 else None,
        several=several,
        data_sets=data_sets,
        best_title=best.title,
        n_others=len(others),
        n_clearly_worse=sum(_is_clearly_worse(comparison, noise, other, best) for other in others),
        rows=_ranking_rows(comparison, noise, ranking, [data_set.axis for data_set in data_sets]),
        excluded_rows=_excluded_rows(comparison, ranking),
        n_columns=4 + several + 2 * len(data_sets),
        n_tests=comparison.n_tests,
    )


def _is_clearly_worse(comparison: Comparison, noise: float, other: Candidate, best: Candidate) -> bool:
    """Whether a candidate is worse than the best one on every data set, and significantly so."""
    return all(
        comparison.error(data_set.name, noise, best.name) < comparison.error(data_set.name, noise, other.name)
        and comparison.corrected_p_value(data_set.name, noise, best.name, other.name) < SIGNIFICANT
        for data_set in comparison.data_sets
    )


def _axis(comparison: Comparison, data_set: str, noise: float) -> Axis:
    """From the lowest interval to the highest one, but outliers, which would press all others together, lie beyond."""
    intervals = np.array([comparison.interval(data_set, noise, candidate.name) for candidate in comparison.candidates])
    lows, highs = intervals[~np.isnan(intervals[:, 0])].T
    return Axis(
        float(lows.min()), float(min(highs.max(), OUTLYING * np.median(highs))), comparison.decimals(data_set, noise)
    )


def _ranking_rows(comparison: Comparison, noise: float, ranking: list[int], axes: list[Axis]) -> list[RankingRow]:
    mean_ranks = comparison.mean_ranks(noise)
    best = comparison.candidates[ranking[0]]
    rows = []
    for index in ranking:
        candidate = comparison.candidates[index]
        cells = [
            _cell(comparison, data_set.name, noise, candidate, best, axis)
            for data_set, axis in zip(comparison.data_sets, axes, strict=True)
        ]
        outcomes = [
            outcome
            for data_set in comparison.data_sets
            for outcome in comparison.outcomes_of(data_set.name, noise, candidate.name)
        ]
        rows.append(
            RankingRow(
                candidate.title,
                mean_ranks[index],
                cells,
                "-" if (progressive := _progressive_error(outcomes)) is None else f"{100 * progressive:.1f}",
                f"{1000 * np.mean([outcome.seconds for outcome in outcomes]):,.0f}",
                _settings_text(comparison, noise, candidate),
            )
        )
    return rows


def _cell(
    comparison: Comparison, data_set: str, noise: float, candidate: Candidate, best: Candidate, axis: Axis
) -> RankingCell:
    excluded = comparison.excluded.get((data_set, candidate.name), "")
    if excluded:
        return RankingCell("", 0, 0, 0, False, False, "", excluded)
    error = comparison.error(data_set, noise, candidate.name)
    low, high = comparison.interval(data_set, noise, candidate.name)
    p_value = comparison.corrected_p_value(data_set, noise, best.name, candidate.name)
    is_level = not p_value < SIGNIFICANT  # the best one may be left out of this data set: NaN
    interval = f"{axis.text(low)} to {axis.text(high)}"
    note = interval if candidate is best else f"{interval}; against {best.title}: p = {p_value:.2g}"
    left, dot, right = (axis.position(value) for value in (low, error, high))
    return RankingCell(axis.text(error), left, dot, right, error > axis.high, is_level, note, "")


def _excluded_rows(comparison: Comparison, ranking: list[int]) -> list[ExcludedRow]:
    first = comparison.data_sets[0].name
    return [
        ExcludedRow(candidate.title, comparison.excluded[first, candidate.name])
        for index, candidate in enumerate(comparison.candidates)
        if index not in ranking
    ]


def _progressive_error(outcomes: list[Outcome]) -> float | None:
    """The part of mistakes in the first epochs of all folds; None if the candidate does not count them."""
    counts = [(outcome.mistakes, outcome.progress[-1][0]) for outcome in outcomes if outcome.mistakes is not None]
    return sum(mistakes for mistakes, _ in counts) / sum(rows for _, rows in counts) if counts else None


def _settings_text(comparison: Comparison, noise: float, candidate: Candidate) -> str:
    """The settings that most folds chose, each once, for all data sets."""
    texts = []
    for data_set in comparison.data_sets:
        if comparison.outcomes_of(data_set.name, noise, candidate.name):
            setting, epochs = comparison.usual_setting(data_set.name, noise, candidate.name)
            parts = [f"{name} {value}" for name, value in setting.items()]
            if candidate.online:
                parts.append(f"{epochs} {'epoch' if epochs == 1 else 'epochs'}")
            texts.append(", ".join(parts))
    return "; ".join(dict.fromkeys(texts)) or "-"
