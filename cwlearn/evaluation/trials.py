"""One trial: a candidate on one fold.  It chooses its setting on the training rows alone, learns, and is tested.

The papers tune "on a single randomised run".  A trial does so, too, but inside the training rows of its fold: nothing
is chosen on rows that it is tested on.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cwlearn.core.metrics import Measures
from cwlearn.evaluation.candidates import Candidate, Setting
from cwlearn.evaluation.data_sets import DataSet, TrainingRows

Key = tuple[str, float, str, int]  # of a trial: data set, noise, candidate, fold


@dataclass(frozen=True)
class Honesty:
    """What probabilities were worth on rows that were not learned."""

    log_loss: float
    calibration_error: float


@dataclass
class SettingResult:
    """A setting, and its error on the validation rows after each epoch."""

    setting: Setting
    errors: list[float]
    probabilities: Honesty | None = None  # after `epochs`, if they were to be measured and the candidate has some
    distribution: Honesty | None = None  # the same of the papers' distribution, before any calibration

    @property
    def epochs(self) -> int:
        """The number of epochs with the lowest error; the smallest of several."""
        return int(np.argmin(self.errors)) + 1

    @property
    def error(self) -> float:
        """The lowest error."""
        return min(self.errors)


@dataclass
class Outcome:
    """The result of a trial.  A journal holds it as JSON."""

    data_set: str
    noise: float
    candidate: str
    fold: int
    setting: Setting = field(default_factory=dict)
    epochs: int = 1
    rows: int = 0  # that were tested
    wrong: list[int] = field(default_factory=list)  # the rows predicted wrongly: their indices in the data set
    by_epoch: list[float] = field(default_factory=list)  # test error after each epoch, with the chosen setting
    progress: list[list[int]] = field(default_factory=list)  # rows of the first epoch, and mistakes by then
    mistakes: int | None = None  # in the first epoch, on each row before it was learned from
    updates: int | None = None
    seconds: float = 0.0
    bins: list[list[float]] | None = None  # the calibration table of `Measures`
    distribution_bins: list[list[float]] | None = None  # the same of the papers' distribution, before any calibration

    @property
    def key(self) -> Key:
        return self.data_set, self.noise, self.candidate, self.fold

    @property
    def error(self) -> float:
        return len(self.wrong) / self.rows

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class TrialSettings:
    """What all trials of a comparison have in common."""

    epochs: int = 10  # the largest number that is tried
    seed: int = 0
    tuned_once: bool = False  # tune in the first fold for all, as the papers do: cheaper, a little too favourable
    stop: threading.Event | None = field(default=None, compare=False)  # set when the comparison is interrupted

    def check_stop(self) -> None:
        """Leave a trial whose comparison was interrupted."""
        if self.stop is not None and self.stop.is_set():
            raise KeyboardInterrupt

    def epochs_of(self, candidate: Candidate) -> int:
        """How many epochs are tried."""
        return self.epochs if candidate.online else 1

    def seed_of(self, fold: int, testing: bool) -> int:
        """The seed of all candidates in a fold, so that all see the rows in the same order."""
        return int(np.random.RandomState([self.seed, fold, testing]).randint(2**31))


def try_settings(
    candidate: Candidate,
    training_rows: TrainingRows,
    validation: slice,
    trial_settings: TrialSettings,
    fold: int = 0,
    report: Callable[[int, int], object] = lambda done, total: None,
    honesty: bool = False,
) -> list[SettingResult]:
    """One randomised run for each setting; `report` gets the epochs that are done, and those of all settings.

    With `honesty`, probabilities are measured, too.
    """
    n_epochs = trial_settings.epochs_of(candidate)
    done, total = 0, n_epochs * len(candidate.settings)
    report(done, total)
    results = []
    true = training_rows.labels[validation]
    for setting in candidate.settings:
        fitted = candidate.prepare(setting, training_rows, trial_settings.seed_of(fold, testing=False))
        result = SettingResult(setting, [])
        for _ in range(n_epochs):
            trial_settings.check_stop()
            fitted.fit_epoch()
            predicted = fitted.predict(validation)
            result.errors.append(float(np.mean(predicted != true)))
            if honesty and result.epochs == len(result.errors):
                result.probabilities = _honesty(fitted.probabilities(validation), true, predicted)
                result.distribution = _honesty(fitted.distribution(validation), true, predicted)
            done += 1
            report(done, total)
        results.append(result)
    return results


def best_setting(results: list[SettingResult]) -> SettingResult:
    """The setting with the lowest error; the first of several."""
    return min(results, key=lambda result: result.error)


def choose_setting(
    candidate: Candidate, data_set: DataSet, labels: NDArray[np.int64], fold: int, trial_settings: TrialSettings
) -> SettingResult:
    """The best setting for the training rows of a fold."""
    validation = data_set.validation(fold)
    train = data_set.rows_outside(data_set.fold(fold), validation)
    training_rows = TrainingRows(data_set, labels, train)
    return best_setting(try_settings(candidate, training_rows, validation, trial_settings, fold))


def run_trial(
    candidate: Candidate,
    data_set: DataSet,
    noise: float,
    fold: int,
    trial_settings: TrialSettings,
    choice: SettingResult | None = None,
) -> Outcome:
    """Choose a setting, unless one is given, learn from the training rows, whose labels may be noisy, and be tested."""
    labels = data_set.noisy_labels(noise, trial_settings.seed)
    choice = choice or choose_setting(candidate, data_set, labels, fold, trial_settings)
    test = data_set.fold(fold)
    true = data_set.y[test]
    training_rows = TrainingRows(data_set, labels, data_set.rows_outside(test))
    fitted = candidate.prepare(choice.setting, training_rows, trial_settings.seed_of(fold, testing=True))
    outcome = Outcome(data_set.name, noise, candidate.name, fold, choice.setting, choice.epochs, len(true))
    for epoch in range(1, trial_settings.epochs_of(candidate) + 1):
        trial_settings.check_stop()
        fitted.fit_epoch()
        predicted = fitted.predict(test)
        outcome.by_epoch.append(float(np.mean(predicted != true)))
        if epoch == choice.epochs:
            outcome.wrong = (test.start + np.flatnonzero(predicted != true)).tolist()
            outcome.seconds, outcome.updates = fitted.seconds, fitted.updates
            outcome.bins = _calibration(fitted.probabilities(test), true, predicted)
            outcome.distribution_bins = _calibration(fitted.distribution(test), true, predicted)
    outcome.mistakes, outcome.progress = fitted.mistakes, [list(pair) for pair in fitted.progress]
    return outcome


def _calibration(
    probabilities: NDArray[np.float64] | None, true: NDArray[np.int64], predicted: NDArray[np.int64]
) -> list[list[float]] | None:
    """The calibration table of the test rows, if there are probabilities."""
    if probabilities is None:
        return None
    bins: list[list[float]] = _measures(probabilities, true, predicted).bins.tolist()
    return bins


def _honesty(
    probabilities: NDArray[np.float64] | None, true: NDArray[np.int64], predicted: NDArray[np.int64]
) -> Honesty | None:
    if probabilities is None:
        return None
    facts = _measures(probabilities, true, predicted).summary(True)
    return Honesty(facts["log_loss"], facts["calibration_error"])


def _measures(probabilities: NDArray[np.float64], true: NDArray[np.int64], predicted: NDArray[np.int64]) -> Measures:
    measures = Measures([str(number) for number in range(probabilities.shape[1])])
    measures.add(true, predicted, probabilities)
    return measures
