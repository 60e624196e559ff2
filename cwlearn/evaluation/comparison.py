"""The outcomes of a comparison, and what they say together: errors, ranks, p-values and weights."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cwlearn.core.weights import heaviest
from cwlearn.errors import DataError, listed
from cwlearn.evaluation.candidates import Candidate, Setting
from cwlearn.evaluation.data_sets import DataSet, TrainingRows
from cwlearn.evaluation.significance import decimals, holm, mcnemar, ranks, wilson
from cwlearn.evaluation.threads import one_core_each
from cwlearn.evaluation.trials import Key, Outcome, TrialSettings


class Task(NamedTuple):
    """A trial to run."""

    candidate: Candidate
    data_set: DataSet
    noise: float
    fold: int


@dataclass(frozen=True)
class Weight:
    """The weight of a feature for the label of this number; of two labels, 0: a positive one speaks for the second."""

    feature: int
    label: int
    mean: float
    deviation: float | None


@dataclass(repr=False)
class Comparison:
    """Candidates on data sets.  `compare` returns it with the outcomes of all trials.

    Methods take names of data sets and candidates, and one of `noises`.
    """

    data_sets: list[DataSet]
    candidates: list[Candidate]
    noises: list[float]
    trial_settings: TrialSettings
    excluded: dict[tuple[str, str], str] = field(init=False)  # by data set and candidate, why it cannot take part
    outcomes: dict[Key, Outcome] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.excluded = {
            (data_set.name, candidate.name): reason
            for data_set in self.data_sets
            for candidate in self.candidates
            if (reason := candidate.exclusion_reason(data_set))
        }
        for data_set in self.data_sets:
            if all((data_set.name, candidate.name) in self.excluded for candidate in self.candidates):
                reasons = [f"{name} is {self.excluded[data_set.name, name]}" for name in self._candidate_names]
                raise DataError(f"{data_set.name}: no candidate can learn these data: {'; '.join(reasons)}")

    @property
    def _candidate_names(self) -> list[str]:
        return [candidate.name for candidate in self.candidates]

    def tasks(self) -> dict[Key, Task]:
        """All trials, in the order in which they are to be run."""
        tasks = {
            (data_set.name, noise, candidate.name, fold): Task(candidate, data_set, noise, fold)
            for data_set in self.data_sets
            for noise in self.noises
            for candidate in self.candidates
            if (data_set.name, candidate.name) not in self.excluded
            for fold in range(data_set.n_folds)
        }
        if self.trial_settings.tuned_once:  # the other folds wait for the first one
            return dict(sorted(tasks.items(), key=lambda item: item[1].fold > 0))
        return tasks

    def __repr__(self) -> str:
        """The errors on each data set, from the best on, a line for each."""
        lines = ["Test errors in cross-validation"]
        for name in [data_set.name for data_set in self.data_sets]:
            for noise in self.noises:
                errors = {candidate: self.error(name, noise, candidate) for candidate in self._candidate_names}
                best = sorted((error, candidate) for candidate, error in errors.items() if not np.isnan(error))
                digits = self.decimals(name, noise)
                listed_errors = ", ".join(f"{candidate} {100 * error:.{digits}f} %" for error, candidate in best)
                lines.append(f"{name}{f', {noise:.0%} wrong labels' if noise else ''}: {listed_errors}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """The report as a notebook shows it: in a frame, so that neither style sheet reaches the other."""
        from html import escape  # which a terminal does not need

        from cwlearn.evaluation.report_page import page

        style = "width: 100%; height: 48rem; border: 0; resize: vertical"
        return f'<iframe title="Comparison" style="{style}" sandbox srcdoc="{escape(page(self))}"></iframe>'

    # -- data sets and candidates by name ------------------------------------------------------------------------------

    def data_set(self, name: str) -> DataSet:
        """The data set of this name."""
        for data_set in self.data_sets:
            if data_set.name == name:
                return data_set
        names = [data_set.name for data_set in self.data_sets]
        raise ValueError(f"there is no data set {name!r} in this comparison, but {listed(names)}")

    def candidate(self, name: str) -> Candidate:
        """The candidate of this name."""
        for candidate in self.candidates:
            if candidate.name == name:
                return candidate
        raise ValueError(f"there is no candidate {name!r} in this comparison, but {listed(self._candidate_names)}")

    def outcomes_of(self, data_set: str, noise: float, candidate: str) -> list[Outcome]:
        """The outcomes of all folds; none if the candidate is excluded."""
        self.candidate(candidate)
        if noise not in self.noises:
            raise ValueError(f"noise {noise!r} is not in this comparison, but {listed(self.noises)}")
        keys = [(data_set, noise, candidate, fold) for fold in range(self.data_set(data_set).n_folds)]
        return [self.outcomes[key] for key in keys if key in self.outcomes]

    # -- errors and ranks ----------------------------------------------------------------------------------------------

    def error(self, data_set: str, noise: float, candidate: str) -> float:
        """The mean test error over the folds; NaN if the candidate is excluded."""
        outcomes = self.outcomes_of(data_set, noise, candidate)
        return float(np.mean([outcome.error for outcome in outcomes])) if outcomes else np.nan

    def interval(self, data_set: str, noise: float, candidate: str) -> tuple[float, float]:
        """The 95 % confidence interval of the error, from all test rows; NaN if the candidate is excluded."""
        outcomes = self.outcomes_of(data_set, noise, candidate)
        if not outcomes:
            return np.nan, np.nan
        return wilson(sum(len(outcome.wrong) for outcome in outcomes), sum(outcome.rows for outcome in outcomes))

    def decimals(self, data_set: str, noise: float) -> int:
        """How many decimals of the errors, in percent, mean something on this data set."""
        intervals = [self.interval(data_set, noise, name) for name in self._candidate_names]
        return decimals(float(np.nanmedian([50 * (high - low) for low, high in intervals])))

    def calibration_error(self, data_set: str, noise: float, candidate: str, calibrated: bool = True) -> float:
        """The expected calibration error over all folds, of the probabilities or, before, of the papers' distribution.

        NaN if the candidate has none.
        """
        outcomes = self.outcomes_of(data_set, noise, candidate)
        tables = [outcome.bins if calibrated else outcome.distribution_bins for outcome in outcomes]
        known = [table for table in tables if table is not None]
        if not known:
            return np.nan
        rows, predicted, right = np.sum(known, axis=0).T
        return float(np.abs(predicted - right).sum() / rows.sum())

    def errors(self, noise: float) -> NDArray[np.float64]:
        """The mean errors, a row for each data set and a column for each candidate."""
        return np.array(
            [[self.error(data_set.name, noise, name) for name in self._candidate_names] for data_set in self.data_sets]
        )

    def mean_ranks(self, noise: float) -> NDArray[np.float64]:
        """The mean rank of each candidate, over the data sets that it took part in."""
        table = np.array([ranks(row) for row in self.errors(noise)])
        counts = np.sum(~np.isnan(table), axis=0)
        return np.where(counts, np.nansum(table, axis=0) / np.maximum(1, counts), np.nan)

    def ranking(self, noise: float) -> list[int]:
        """The candidates from the best mean rank to the worst, as indices of `candidates`.

        Of equal ranks, the lower mean error comes first.  Candidates that are excluded from some data sets come after
        all others; those excluded from all data sets are left out.
        """
        mean_ranks, errors = self.mean_ranks(noise), self.errors(noise)
        n_missing = np.isnan(errors).sum(axis=0)
        present = [index for index in range(len(self.candidates)) if n_missing[index] < len(self.data_sets)]
        return sorted(present, key=lambda j: (n_missing[j] > 0, mean_ranks[j], np.nanmean(errors[:, j])))

    # -- significance --------------------------------------------------------------------------------------------------

    def wrong_rows(self, data_set: str, noise: float, candidate: str) -> set[int]:
        """The rows that were predicted wrongly when they were tested."""
        return {row for outcome in self.outcomes_of(data_set, noise, candidate) for row in outcome.wrong}

    def p_value(self, data_set: str, noise: float, first: str, second: str) -> float:
        """McNemar's exact test of two candidates, on the test rows of all folds; NaN if one of them is excluded."""
        if not (self.outcomes_of(data_set, noise, first) and self.outcomes_of(data_set, noise, second)):
            return np.nan
        first_wrong, second_wrong = (self.wrong_rows(data_set, noise, name) for name in (first, second))
        return mcnemar(len(first_wrong - second_wrong), len(second_wrong - first_wrong))

    def corrected_p_value(self, data_set: str, noise: float, first: str, second: str) -> float:
        """The same, corrected for the number of all pairs, data sets and noises of this comparison.

        Each pair counts, not only those with the best candidate: which one is the best is known only afterwards.
        """
        if first == second:
            return self.p_value(data_set, noise, first, second)
        return self._corrected_p_values.get((data_set, noise, frozenset([first, second])), np.nan)

    @cached_property
    def _corrected_p_values(self) -> dict[tuple[str, float, frozenset[str]], float]:
        p_values = {
            (data_set.name, noise, frozenset(pair)): p
            for data_set in self.data_sets
            for noise in self.noises
            for pair in combinations(self._candidate_names, 2)
            if not np.isnan(p := self.p_value(data_set.name, noise, *pair))
        }
        return dict(zip(p_values, holm([*p_values.values()]).tolist(), strict=True))

    @property
    def n_tests(self) -> int:
        """How many pairs are tested, on all data sets together."""
        return len(self._corrected_p_values)

    # -- models --------------------------------------------------------------------------------------------------------

    def usual_setting(self, data_set: str, noise: float, candidate: str) -> tuple[Setting, int]:
        """The setting and the number of epochs that most folds chose; of equal counts, those of the first fold."""
        outcomes = self.outcomes_of(data_set, noise, candidate)
        counts = Counter(json.dumps([outcome.setting, outcome.epochs]) for outcome in outcomes)
        setting, epochs = json.loads(counts.most_common(1)[0][0])
        return setting, epochs

    def heaviest_weights(self, data_set: str, noise: float, candidate: str, most: int) -> list[Weight]:
        """The heaviest weights of a candidate that learns from all rows, with its usual setting."""
        setting, epochs = self.usual_setting(data_set, noise, candidate)
        data = self.data_set(data_set)
        labels = data.noisy_labels(noise, self.trial_settings.seed)
        training_rows = TrainingRows(data, labels, np.arange(len(labels)))
        seed = self.trial_settings.seed_of(0, testing=True)
        fitted = self.candidate(candidate).prepare(setting, training_rows, seed)
        with one_core_each():
            for _ in range(epochs):
                fitted.fit_epoch()
        weights = fitted.weights()
        if weights is None:
            return []
        means, deviations = weights
        positions = [divmod(index, means.shape[1]) for index in heaviest(means.ravel(), most).tolist()]
        return [
            Weight(
                feature,
                label,
                float(means[feature, label]),
                None if deviations is None else float(deviations[feature, label]),
            )
            for feature, label in positions
        ]
