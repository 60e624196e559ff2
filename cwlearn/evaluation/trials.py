"""One trial: a candidate on one fold.  It chooses its setting on the training rows alone, learns, and is tested.

The papers tune "on a single randomised run".  So does a trial, inside the training part of its fold: no figure is tuned
on rows that it is tested on.
"""

from __future__ import annotations

import threading
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cwlearn.core.metrics import Measures
from cwlearn.evaluation.candidates import Candidate, Setting
from cwlearn.evaluation.data_sets import DataSet


@dataclass
class Tried:
    """A setting in the run that tunes."""

    setting: Setting
    errors: list[float]  # on the rows it is checked on, after each epoch

    @property
    def epochs(self) -> int:
        """The number of them that is best; of equally good ones the smallest."""
        return int(np.argmin(self.errors)) + 1

    @property
    def error(self) -> float:
        return min(self.errors)


@dataclass
class Outcome:
    """What came of a trial; all of it can be written as JSON."""

    data_set: str
    noise: float
    candidate: str
    fold: int
    setting: Setting = field(default_factory=dict)
    epochs: int = 1
    rows: int = 0  # tested
    wrong: list[int] = field(default_factory=list)  # those that were predicted wrongly, by number in the data_set
    by_epoch: list[float] = field(default_factory=list)  # test error after each epoch, with the chosen setting
    progress: list[list[int]] = field(default_factory=list)  # rows of the first pass, and mistakes by then
    mistakes: int | None = None
    updates: int | None = None
    seconds: float = 0.0
    bins: list[list[float]] | None = None  # see Measures

    @property
    def error(self) -> float:
        return len(self.wrong) / self.rows

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class TrialSettings:
    """What is the same for all trials."""

    epochs: int = 10  # at most
    seed: int = 0
    tuned_once: bool = False  # in the first fold, for all: as the papers do, cheaper, and a little too favourable
    stop: threading.Event = field(default_factory=threading.Event, compare=False)

    def check_going_on(self) -> None:
        if self.stop.is_set():
            raise KeyboardInterrupt

    def seed_of(self, fold: int, testing: bool) -> int:
        """That of all candidates in a fold, so that they see the rows in the same order."""
        return int(np.random.RandomState([self.seed, fold, testing]).randint(2**31))


def tune(
    candidate: Candidate,
    data_set: DataSet,
    labels: NDArray[np.int64],
    train: NDArray[np.int64],
    check: slice,
    trial_settings: TrialSettings,
    fold: int = 0,
) -> list[Tried]:
    """One randomised run for each setting."""
    found = []
    for setting in candidate.settings:
        fitted = candidate.fitted(setting, data_set, labels, train, trial_settings.seed_of(fold, testing=False))
        errors = []
        for _ in range(trial_settings.epochs if candidate.online else 1):
            trial_settings.check_going_on()
            fitted.fit_epoch()
            errors.append(float(np.mean(fitted.predict(check) != labels[check])))
        found.append(Tried(setting, errors))
    return found


def best(tried: list[Tried]) -> Tried:
    """The first of those with the lowest error."""
    return min(tried, key=lambda one: one.error)


def chosen(
    candidate: Candidate, data_set: DataSet, labels: NDArray[np.int64], fold: int, trial_settings: TrialSettings
) -> Tried:
    """What is best for the training rows of a fold."""
    check = data_set.check(fold)
    return best(
        tune(candidate, data_set, labels, data_set.rest(data_set.fold(fold), check), check, trial_settings, fold)
    )


def trial(
    candidate: Candidate,
    data_set: DataSet,
    noise: float,
    fold: int,
    trial_settings: TrialSettings,
    known: Tried | None = None,
) -> Outcome:
    """Choose a setting, unless it is known, learn from the training rows, whose labels may be noisy, and be tested."""
    labels = data_set.noisy(noise, trial_settings.seed)
    pick = known or chosen(candidate, data_set, labels, fold, trial_settings)
    test = data_set.fold(fold)
    true = data_set.y[test]
    fitted = candidate.fitted(
        pick.setting, data_set, labels, data_set.rest(test), trial_settings.seed_of(fold, testing=True)
    )
    outcome = Outcome(data_set.name, noise, candidate.name, fold, pick.setting, pick.epochs, len(true))
    for epoch in range(1, (trial_settings.epochs if candidate.online else 1) + 1):
        trial_settings.check_going_on()
        fitted.fit_epoch()
        predicted = fitted.predict(test)
        outcome.by_epoch.append(float(np.mean(predicted != true)))
        if epoch == pick.epochs:
            outcome.wrong = (test.start + np.flatnonzero(predicted != true)).tolist()
            outcome.seconds, outcome.updates = fitted.seconds, fitted.updates
            chances = fitted.probabilities(test)
            if chances is not None:
                measures = Measures([str(label) for label in data_set.classes])
                measures.add(true, predicted, chances)
                outcome.bins = measures.bins.tolist()
    outcome.mistakes, outcome.progress = fitted.mistakes, [list(pair) for pair in fitted.progress]
    return outcome
