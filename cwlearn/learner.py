"""A learner: a rule, a state and two labels.  Everything above (estimators, command line, files) stands on this."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cwlearn.errors import DataError
from cwlearn.options import ANYTHING, BOOLEAN, COUNT, LEVEL, POSITIVE, Options, one_of, option, plain
from cwlearn.rows import Rows
from cwlearn.rules import Rule
from cwlearn.state import NONE, DiagonalState, KernelRule, Tally

# Rows per call of the kernel: long enough to cost nothing, short enough for Ctrl-C and a progress bar.
BLOCK_NONZEROS = 1 << 24


@dataclass(frozen=True)
class Training(Options):
    """The options that all learners share."""

    initial_variance: float = option(1.0, POSITIVE, "Variance of every weight before the first row.")
    fit_intercept: bool = option(True, BOOLEAN, "Learn an intercept, as the weight of a feature that is always 1.")
    epochs: int = option(Rule.default_epochs, COUNT, "Passes of `fit` over the rows; `partial_fit` always makes one.")
    shuffle: bool = option(True, BOOLEAN, "Let `fit` take the rows in a new random order in every epoch.")
    random_state: Any = option(None, ANYTHING, "Seed or generator of the shuffles, as in scikit-learn.")
    warm_start: bool = option(False, BOOLEAN, "Let `fit` go on from where learning ended, instead of anew.")
    dtype: str = option("float32", one_of("float32", "float64"), "Precision of the state; sums are always float64.")
    verbose: int = option(0, LEVEL, "Let `fit` show a progress bar on standard error.")


class Learner:
    """Rule + state + labels.  `classes` are two sorted labels, the second one being the positive one."""

    def __init__(self, rule: Rule, training: Training, classes: NDArray[Any], n_features: int) -> None:
        self.rule = rule
        self.training = training
        self.classes = classes
        self.tally = Tally(rows=0, updates=0, mistakes=0, squares=0.0)
        self.feature_names: NDArray[Any] | None = None  # strings, where the rows came with them
        prior = rule.prior_variance(training.initial_variance)
        self.state = DiagonalState(n_features, prior, rule.floor, np.dtype(training.dtype), rule.averaged)
        self._forget()

    def _forget(self) -> None:
        """Drop what is derived from the state, and begin with a lock of our own."""
        self._derived: tuple[Tally, DiagonalState] | None = None
        self.lock = threading.Lock()  # held while the state changes

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_derived", "lock")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._forget()

    @property
    def bias(self) -> float:
        """Value of the feature that is always on."""
        return 1.0 if self.training.fit_intercept else 0.0

    def go_on_with(self, rule: Rule, training: Training) -> None:
        """Take over changed options; those that the state was built with cannot change any more."""
        built_with = {
            "initial_variance": (self.state.initial_variance, rule.prior_variance(training.initial_variance)),
            "dtype": (self.training.dtype, training.dtype),
            "fit_intercept": (self.training.fit_intercept, training.fit_intercept),
            "average": (self.rule.averaged, rule.averaged),
        }
        for name, (old, new) in built_with.items():
            if old != new:
                raise ValueError(
                    f"{name} cannot change from {old!r} to {new!r} once learning has begun; fit with warm_start=False "
                    f"begins anew"
                )
        self.rule, self.training = rule, training

    def encode(self, labels: NDArray[Any]) -> NDArray[np.float64]:
        """Labels to +1 and -1; a label that was not announced is an error that names it."""
        positive = labels == self.classes[1]
        unknown = ~(positive | (labels == self.classes[0]))
        if unknown.any():
            row = int(np.flatnonzero(unknown)[0])
            raise DataError(f"row {row}: label {plain(labels[row])!r} is not one of the labels {self.classes.tolist()}")
        return np.where(positive, 1.0, -1.0)

    def learn(
        self,
        rows: Rows,
        targets: NDArray[np.float64],
        weights: NDArray[np.float64] = NONE,
        order: NDArray[np.int64] | None = None,
        report: Callable[[int], object] = lambda done: None,
    ) -> None:
        """One pass over the rows in `order` (default: as they come); `report` hears how many rows are done.

        A row that cannot be learned is an error that names it; the rows before it have been learned.  A second thread
        that learns with the same learner waits for its turn.
        """
        if order is None:
            order = np.arange(rows.n_rows)
        rule = KernelRule(
            **self.rule.kernel_fields(),  # type: ignore[typeddict-item]
            bias=self.bias,
            initial_variance=self.state.initial_variance,
            floor=self.state.floor,
        )
        mean_length = max(1, len(rows.values) // max(1, rows.n_rows))
        block = max(1, BLOCK_NONZEROS // mean_length)
        with self.lock:
            for start in range(0, len(order), block):
                piece = order[start : start + block]
                self.tally, done = self.state.learn(rows, targets, weights, piece, rule, self.tally)
                if done < len(piece):
                    raise DataError(
                        f"row {piece[done]}: its margin, or the step to learn from it, is not a finite number in "
                        f"{self.state.cells.dtype}: bring the features to another scale"
                    )
                report(done)

    def train(
        self,
        rows: Rows,
        targets: NDArray[np.float64],
        weights: NDArray[np.float64],
        random_state: np.random.RandomState,
    ) -> None:
        """`epochs` passes, shuffled or not, with a progress bar if asked for."""
        with progress(rows.n_rows * self.training.epochs, self) as report:
            for _ in range(self.training.epochs):
                order = np.arange(rows.n_rows)
                if self.training.shuffle:
                    random_state.shuffle(order)
                self.learn(rows, targets, weights, order, report)

    @property
    def predictor(self) -> DiagonalState:
        """The state that predicts: with the averaged mean, or with the prior that the rows seen suggest, where the rule
        asks for it."""
        tally, derived = self.tally, self._derived
        follows_rows = self.rule.covariance == "inclusive" and self.rule.strength == "auto"
        if not (self.rule.averaged or follows_rows) or not tally["rows"]:
            return self.state
        if derived is None or derived[0] is not tally:  # every pass makes a new tally
            if follows_rows:
                length = tally["squares"] / tally["rows"]
                state = self.state.shifted(max(0.0, length - 1 / self.state.initial_variance))
            else:
                state = self.state.with_average(tally["rows"])
            derived = self._derived = (tally, state)
        return derived[1]

    def margins(self, rows: Rows) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and variance of w.x for every row, under the Gaussian over w."""
        return self.predictor.margins(rows, self.bias, self.rule.covariance == "inclusive")

    def scores(self, rows: Rows) -> NDArray[np.float64]:
        """What ranks the rows: positive for the second label, larger where it is more certain."""
        return self.rule.score(*self.margins(rows))


@contextmanager
def progress(total: int, learner: Learner) -> Iterator[Callable[[int], object]]:
    """A bar over rows that shows the progressive error, if the learner is verbose: what to call with rows done."""
    if not learner.training.verbose:
        yield lambda done: None
        return
    from tqdm import tqdm

    with tqdm(total=total, unit=" rows", unit_scale=True) as bar:

        def advance(done: int) -> None:
            bar.update(done)
            bar.set_postfix(error=f"{learner.tally['mistakes'] / max(1, learner.tally['rows']):.4f}")

        yield advance
