"""The options of training that all rules share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cwlearn._kernels import UPDATES
from cwlearn.core.parameters import (
    ALL,
    ANYTHING,
    BOOLEAN,
    COUNT,
    FRACTION,
    LEVEL,
    POSITIVE,
    Options,
    one_of,
    option,
)
from cwlearn.core.rule import Rule
from cwlearn.core.states.base import ALL_FRESH

AUTO_EPOCHS = "auto"
DEFAULT_BUDGET = 3.0  # of a race and the training behind it: see `choosing`


@dataclass(frozen=True)
class Training(Options):
    """The options that all learners share."""

    initial_variance: float = option(1.0, POSITIVE, "Variance of every weight before the first row.")
    fit_intercept: bool = option(True, BOOLEAN, "Learn an intercept, as the weight of a feature that is always 1.")
    epochs: int | Literal["auto"] = option(
        Rule.default_epochs,
        COUNT | one_of(AUTO_EPOCHS),
        "Passes over the rows; `partial_fit` always makes one. 'auto' tries how many suit the rows.",
    )
    shuffle: bool = option(True, BOOLEAN, "Take the rows in a new random order in every epoch of `fit`.")
    random_state: int | np.random.RandomState | None = option(None, ANYTHING, "Seed or generator of the shuffles.")
    warm_start: bool = option(False, BOOLEAN, "Let `fit` continue from the current weights instead of starting anew.")
    n_constraints: int | None = option(
        1,
        COUNT | ALL,
        "With more than two labels: how many of the highest-scoring wrong labels the true one must beat. None is all.",
    )
    multiclass_update: Literal["sequential", "parallel", "exact"] = option(
        "sequential",
        one_of(*UPDATES),
        "With several constraints: apply them one after the other ('sequential'), each alone and then average "
        "('parallel'), or meet all of them at once ('exact'; only for passive-aggressive, and for CW with "
        "form='variance').",
    )
    threshold: float | Literal["f0.5", "f1", "f2", "balanced"] = option(
        0.5,
        FRACTION | one_of("f0.5", "f1", "f2", "balanced"),
        "With two labels: the chance from which on the second one is predicted. 'f1' is the one with the highest F1 of "
        "that label, and so on; 'balanced' that with the highest mean of both recalls.",
    )
    dtype: Literal["float32", "float64"] = option(
        "float32",
        one_of("float32", "float64"),
        "Precision of a diagonal state. Sums are always float64, and so is a full covariance.",
    )
    verbose: int = option(0, LEVEL, "Show a progress bar on standard error during `fit`.")

    def generator(self) -> np.random.RandomState:
        """The random generator of the shuffles."""
        seed = self.random_state
        return seed if isinstance(seed, np.random.RandomState) else np.random.RandomState(seed)


# Options that a resumed model keeps by default.
BUILT_WITH = ("initial_variance", "fit_intercept", "n_constraints", "multiclass_update", "threshold", "dtype")


# A model knows the rows that it has learned too well to be tested by them.  So, in a training of several epochs, a
# fifth of the rows comes in only with the last three of them (CW: the last one).  When it comes in, it shows what the
# scores are worth.  Measured (docs/results/calibration.md): the model is as good as with all rows in all epochs.
# The first epoch, where all rows are new, shows how many labels are wrong.
HELD_BACK = 5  # one row in so many
FEWEST_ROWS = 400  # of fewer rows a fifth tells too little: all are learned in all epochs


class Epoch(NamedTuple):
    """One pass: the order of its rows, which rows show what scores are worth, since they are new to the model (by row;
    empty if all are), whether the model has learned others several times, and whether this is not the first pass."""

    order: NDArray[np.int64]
    fresh: NDArray[np.uint8]
    settled: bool
    repeated: bool


class Plan:
    """Which rows are learned in which epoch."""

    def __init__(self, rule: Rule, training: Training, n_rows: int) -> None:
        assert isinstance(training.epochs, int), "epochs are a number by now"
        self._n_rows, self._shuffle, self.n_epochs = n_rows, training.shuffle, training.epochs
        several = training.epochs > 1
        # A prior knows all rows that it was made of, even if they are few, or learned once.
        self._is_informed = rule.informed
        self._holds_back = rule.informed or (several and n_rows >= FEWEST_ROWS)
        # The first epoch of all rows.
        self._first = max(1, training.epochs - rule.last_epochs) if self._holds_back and several else 0

    @property
    def total(self) -> int:
        """About how many rows all epochs learn, for a progress bar."""
        return self.n_epochs * self._n_rows - self._first * (self._n_rows // HELD_BACK)

    def held_back(self, numbers: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of the rows with these numbers are held back: some, by chance, or the last ones without a shuffle."""
        if not self._holds_back:
            return np.zeros(len(numbers), bool)
        if not self._shuffle:
            return np.asarray(numbers >= self._n_rows - self._n_rows // HELD_BACK)
        mixed = numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)  # Fibonacci hashing: no pattern of the data
        return np.asarray((mixed >> np.uint64(40)) % np.uint64(HELD_BACK) == 0)

    def epoch(self, epoch: int, order: NDArray[np.int64], numbers: NDArray[np.int64]) -> Epoch:
        """An epoch of rows that are to be learned in `order` and have these numbers among all."""
        held, nothing, repeated = self.held_back(numbers), np.zeros(len(numbers), np.uint8), epoch > 0
        if epoch < self._first:
            fresh = nothing if repeated or self._is_informed else ALL_FRESH
            return Epoch(order[~held[order]], fresh, False, repeated)
        if not self._holds_back:
            return Epoch(order, nothing if repeated else ALL_FRESH, False, repeated)
        return Epoch(order, held.astype(np.uint8) if epoch == self._first else nothing, self.n_epochs > 1, repeated)

    def epochs(self, random_state: np.random.RandomState) -> Iterator[Epoch]:
        """All epochs of a training that has its rows in memory."""
        numbers = np.arange(self._n_rows)
        for epoch in range(self.n_epochs):
            order = np.arange(self._n_rows)
            if self._shuffle:
                random_state.shuffle(order)
            yield self.epoch(epoch, order, numbers)


def row_dtype(rule: Rule, training: Training) -> str:
    """The precision of the rows of a linear learner."""
    return "float64" if rule.covariance == "full" else training.dtype


def check_update(rule: Rule, training: Training) -> None:
    """Refuse an exact update of several labels where it cannot be solved."""
    if training.multiclass_update == "exact" and not rule.solvable:
        raise ValueError(
            f"`multiclass_update='exact'` is there for CW with `form='variance'` and `projection='kl'` or "
            f"`projection='exact'`, and for passive-aggressive, not for these parameters of {rule.name}"
        )


def check_threshold(training: Training, n_labels: int) -> None:
    """Refuse a threshold where there is no choice between two labels."""
    if training.threshold != 0.5 and n_labels != 2:
        raise ValueError(f"`threshold` decides between two labels; here are {n_labels}")


def check_class_weight(rule: Rule) -> None:
    """Refuse class weights where there is no loss that they could scale."""
    if getattr(rule, "class_weight", None) is not None and not rule.takes_weights:
        raise ValueError(f"`class_weight` scales a loss, and {rule.name} with `C=None` has none")


def check_weights_of_parts(options: object) -> None:
    """Refuse weights by label that need all rows at once."""
    if isinstance(getattr(options, "class_weight", None), str):
        raise ValueError("`class_weight='balanced'` needs all rows at once: give `partial_fit` a dict by label.")
