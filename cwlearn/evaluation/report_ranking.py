"""The ranking in the report: the table of all candidates on all data sets, as plain numbers and texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from cwlearn.evaluation.candidates import Candidate
from cwlearn.evaluation.comparison import Comparison
from cwlearn.evaluation.significance import SIGNIFICANT, STARS_LEGEND, stars
from cwlearn.evaluation.trials import Outcome


class RankingDataSet(NamedTuple):
    """A data set in the head of the ranking, with the error of the best candidate."""

    name: str
    best_error: float


@dataclass(frozen=True)
class RankingCell:
    """A candidate on a data set."""

    error: float
    bar_percent: float  # of the largest error in the table
    p_value: float  # of its difference from the best candidate
    stars: str
    excluded: str  # the reason, if it is


@dataclass(frozen=True)
class RankingRow:
    """A candidate on all data sets."""

    title: str
    mean_rank: float
    cells: list[RankingCell]
    progressive_error: float | None
    seconds: float
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
    stars_legend: str


def ranking_of(comparison: Comparison, noise: float) -> Ranking:
    """The ranking for one part of wrong training labels."""
    ranking = comparison.ranking(noise)
    best, *others = (comparison.candidates[index] for index in ranking)
    data_sets = [
        RankingDataSet(data_set.name, comparison.error(data_set.name, noise, best.name))
        for data_set in comparison.data_sets
    ]
    several = len(data_sets) > 1
    return Ranking(
        noise=noise if noise or len(comparison.noises) > 1 else None,
        several=several,
        data_sets=data_sets,
        best_title=best.title,
        n_others=len(others),
        n_clearly_worse=sum(_is_clearly_worse(comparison, noise, other, best) for other in others),
        rows=_ranking_rows(comparison, noise, ranking),
        excluded_rows=_excluded_rows(comparison, ranking),
        n_columns=4 + several + len(data_sets),
        n_tests=comparison.n_tests,
        stars_legend=STARS_LEGEND,
    )


def _is_clearly_worse(comparison: Comparison, noise: float, other: Candidate, best: Candidate) -> bool:
    """Whether a candidate is worse than the best one on every data set, and significantly so."""
    return all(
        comparison.error(data_set.name, noise, best.name) < comparison.error(data_set.name, noise, other.name)
        and comparison.corrected_p_value(data_set.name, noise, best.name, other.name) < SIGNIFICANT
        for data_set in comparison.data_sets
    )


def _ranking_rows(comparison: Comparison, noise: float, ranking: list[int]) -> list[RankingRow]:
    errors, mean_ranks = comparison.errors(noise), comparison.mean_ranks(noise)
    largest = np.nanmax(errors) or 1.0
    best = comparison.candidates[ranking[0]]
    rows = []
    for index in ranking:
        candidate = comparison.candidates[index]
        cells = []
        for data_set, error in zip(comparison.data_sets, errors[:, index].tolist(), strict=True):
            p_value = comparison.corrected_p_value(data_set.name, noise, best.name, candidate.name)
            excluded = comparison.excluded.get((data_set.name, candidate.name), "")
            cells.append(RankingCell(error, 100 * error / largest, p_value, stars(p_value), excluded))
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
                _progressive_error(outcomes),
                float(np.mean([outcome.seconds for outcome in outcomes])),
                _settings_text(comparison, noise, candidate),
            )
        )
    return rows


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
