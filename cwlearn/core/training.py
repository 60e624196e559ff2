"""The options of training that all rules share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cwlearn._kernels import UPDATES
from cwlearn.core.parameters import ALL, ANYTHING, BOOLEAN, COUNT, LEVEL, POSITIVE, Options, one_of, option
from cwlearn.core.rule import Rule


@dataclass(frozen=True)
class Training(Options):
    """The options that all learners share."""

    initial_variance: float = option(1.0, POSITIVE, "Variance of every weight before the first row.")
    fit_intercept: bool = option(True, BOOLEAN, "Learn an intercept, as the weight of a feature that is always 1.")
    epochs: int = option(Rule.default_epochs, COUNT, "Passes over the rows; `partial_fit` always makes one.")
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
BUILT_WITH = ("initial_variance", "fit_intercept", "n_constraints", "multiclass_update", "dtype")


def orders(n_rows: int, training: Training, random_state: np.random.RandomState) -> Iterator[NDArray[np.int64]]:
    """The order of the rows in each epoch."""
    for _ in range(training.epochs):
        order = np.arange(n_rows)
        if training.shuffle:
            random_state.shuffle(order)
        yield order


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


def check_class_weight(rule: Rule) -> None:
    """Refuse class weights where there is no loss that they could scale."""
    if getattr(rule, "class_weight", None) is not None and not rule.takes_weights:
        raise ValueError(f"`class_weight` scales a loss, and {rule.name} with `C=None` has none")
