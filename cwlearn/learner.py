"""A learner: a rule, a state and two labels.  Everything above (estimators, command line, files) stands on this."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cwlearn.errors import DataError
from cwlearn.options import ANYTHING, BOOLEAN, COUNT, LEVEL, POSITIVE, Options, one_of, option
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
    epochs: int = option(10, COUNT, "Passes of `fit` over the rows; `partial_fit` always makes one.")
    shuffle: bool = option(True, BOOLEAN, "Let `fit` take the rows in a new random order in every epoch.")
    random_state: Any = option(None, ANYTHING, "Seed or generator of the shuffles, as in scikit-learn.")
    warm_start: bool = option(False, BOOLEAN, "Let `fit` go on from where the last `fit` ended.")
    dtype: str = option("float32", one_of("float32", "float64"), "Precision of the state; sums are always float64.")
    verbose: int = option(0, LEVEL, "Show a progress bar on standard error.")


class Learner:
    """Rule + state + labels.  `classes` are two sorted labels, the second one being the positive one."""

    def __init__(self, rule: Rule, training: Training, classes: NDArray[Any], n_features: int) -> None:
        self.rule = rule
        self.training = training
        self.classes = classes
        self.tally = Tally(rows=0, updates=0, mistakes=0, squares=0.0, stopped=-1)
        prior = rule.prior_variance(training.initial_variance)
        self.state = DiagonalState(n_features, prior, rule.floor, np.dtype(training.dtype), rule.averaged)
        self._forget()

    def _forget(self) -> None:
        """Drop what is derived from the state, and begin with a lock of our own."""
        self._derived: DiagonalState | None = None
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_derived", "_lock")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._forget()

    @property
    def bias(self) -> float:
        """Value of the feature that is always on."""
        return 1.0 if self.training.fit_intercept else 0.0

    def encode(self, labels: NDArray[Any]) -> NDArray[np.float64]:
        """Labels to +1 and -1; a label that was not announced is an error that names it."""
        positive = labels == self.classes[1]
        unknown = ~(positive | (labels == self.classes[0]))
        if unknown.any():
            row = int(np.flatnonzero(unknown)[0])
            raise DataError(f"row {row}: label {labels[row]!r} is not one of the labels {self.classes.tolist()}")
        return np.where(positive, 1.0, -1.0)

    def learn(
        self,
        rows: Rows,
        targets: NDArray[np.float64],
        weights: NDArray[np.float64] = NONE,
        order: NDArray[np.int64] | None = None,
        report: Callable[[int], object] = lambda rows: None,
    ) -> None:
        """One pass over the rows in `order` (default: as they come); `report` hears how many rows are done.

        A second thread that learns with the same learner waits for its turn.
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
        with self._lock:
            self._derived = None
            for start in range(0, len(order), block):
                piece = order[start : start + block]
                self.tally = self.state.learn(rows, targets, weights, piece, rule, self.tally)
                if self.tally["stopped"] >= 0:
                    row = int(piece[self.tally["stopped"]])
                    raise DataError(
                        f"row {row}: its margin or its update is not a finite {self.state.cells.dtype} number; the "
                        f"model stands as it was before that row. Scale the features down, or use dtype='float64'."
                    )
                report(len(piece))

    def train(
        self,
        rows: Rows,
        targets: NDArray[np.float64],
        weights: NDArray[np.float64],
        random_state: np.random.RandomState,
    ) -> None:
        """`epochs` passes, shuffled or not, with a progress bar if asked for."""
        report, close = progress(rows.n_rows * self.training.epochs, self) if self.training.verbose else (None, None)
        try:
            for _ in range(self.training.epochs):
                order = random_state.permutation(rows.n_rows) if self.training.shuffle else np.arange(rows.n_rows)
                self.learn(rows, targets, weights, order, report or (lambda rows: None))
        finally:
            if close:
                close()

    @property
    def predictor(self) -> DiagonalState:
        """The state that predicts: with the averaged mean, or with the prior that the rows seen suggest, where the rule
        asks for it."""
        rounds, squares = self.tally["rows"], self.tally["squares"]
        follows = self.rule.covariance == "inclusive" and self.rule.strength == "auto" and squares > 0
        if not (self.rule.averaged or follows) or not rounds:
            return self.state
        derived = self._derived
        if derived is None:
            if follows:
                derived = self.state.shifted(squares / rounds - 1 / self.state.initial_variance)
            else:
                derived = self.state.averaged(rounds)
            self._derived = derived
        return derived

    def margins(self, rows: Rows) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and variance of w.x for every row, under the Gaussian over w."""
        return self.predictor.margins(rows, self.bias, self.rule.covariance == "inclusive")

    def scores(self, rows: Rows) -> NDArray[np.float64]:
        """What ranks the rows: positive for the second label, larger where it is more certain."""
        return self.rule.score(*self.margins(rows))

    def probabilities(self, rows: Rows) -> NDArray[np.float64]:
        """Probability of the second label, by row."""
        return self.rule.probability(self.scores(rows))


def progress(total: int, learner: Learner) -> tuple[Callable[[int], object], Callable[[], object]]:
    """A bar over rows that shows the progressive error: (advance, close)."""
    from tqdm import tqdm

    bar = tqdm(total=total, unit=" rows", unit_scale=True)

    def advance(rows: int) -> None:
        bar.update(rows)
        bar.set_postfix(error=f"{learner.tally['mistakes'] / max(1, learner.tally['rows']):.4f}")

    return advance, bar.close
