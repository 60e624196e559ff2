"""A learner: a rule, a state, and labels or targets.  Everything above (estimators, command line, files) uses it."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import fields
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cwlearn._kernels import UPDATES
from cwlearn.core import probabilities as chances
from cwlearn.core.kernel_options import KernelOptions
from cwlearn.core.parameters import plain
from cwlearn.core.rows import Rows
from cwlearn.core.rule import Rule
from cwlearn.core.states.base import NONE, STATISTICS, KernelRule, LinearState, State, Statistics, new_statistics
from cwlearn.core.states.diagonal import DiagonalState
from cwlearn.core.training import Training, check_update, orders
from cwlearn.errors import DataError
from cwlearn.utils.locks import ForkSafeLock

# Work at a time, in nonzeros: long enough to cost nothing, short enough for Ctrl-C and a progress bar.
BLOCK_EFFORT = 1 << 24
SCORES_AT_ONCE = 1 << 22  # of rows x labels, where not all of them are wanted in the end
EXACT_TOLERANCE = 1e-12  # of the exact update of several labels: relative error of its step
EXACT_SWEEPS = 100  # and how often it is improved at most; seldom more than ten


class Learner:
    """Rule + state + labels.  `classes` are sorted; of two, the second one is the positive one, and of more, each has a
    block of weights of its own; a regression has none."""

    def __init__(
        self,
        rule: Rule,
        training: Training,
        classes: NDArray[Any],
        n_features: int,
        kernel: KernelOptions | None = None,
    ) -> None:
        self.rule = rule
        self.training = training
        self.classes = classes
        self.kernel = kernel
        self._counts: NDArray[np.void] = np.zeros(1, STATISTICS)
        self.feature_names: NDArray[Any] | None = None  # strings, where the rows came with them
        self.label_texts: list[str] | None = None  # the labels as they were written, where they came from text
        self.hash_bits = 0  # columns are hashes of the indices, of so many bits; 0: they are the indices
        self.origin = 0.0  # what the mean of the intercept began at
        self.unfinished: dict[str, Any] | None = None  # the run that this is a checkpoint of, and how far it has come
        check_update(rule, training)
        self.state = new_state(rule, training, kernel, blocks_of(len(classes)), n_features)
        self._forget()

    def _forget(self) -> None:
        """Drop what is derived from the state, and begin with a lock of our own."""
        self._derived: tuple[Statistics, State] | None = None
        self.lock = ForkSafeLock("this model")  # held while the state changes, and by a save between two blocks

    def __getstate__(self) -> dict[str, Any]:
        """A copy of all that is held, since another thread may go on learning while it is pickled."""
        with self.lock:
            return copy.deepcopy({key: value for key, value in vars(self).items() if key not in ("_derived", "lock")})

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._forget()

    def __deepcopy__(self, memo: Any) -> Learner:
        twin = object.__new__(Learner)
        twin.__setstate__(self.__getstate__())
        return twin

    @property
    def statistics(self) -> Statistics:
        """What has been counted since the first row, as it is now."""
        statistics = new_statistics()
        for name, count in zip(statistics, self._counts[0].item(), strict=True):
            statistics[name] = count  # type: ignore[literal-required]
        return statistics

    @statistics.setter
    def statistics(self, statistics: Statistics) -> None:
        self._counts[0] = tuple(statistics[name] for name in new_statistics())  # type: ignore[literal-required]

    @property
    def bias(self) -> float:
        """Value of the feature that is always on."""
        return 1.0 if self.training.fit_intercept else 0.0

    def reconfigure(self, rule: Rule, training: Training, kernel: KernelOptions | None = None) -> None:
        """Take over changed options; those that the state was built with cannot change any more."""
        with self.lock:
            check_update(rule, training)
            built_with = {
                "initial_variance": (self.state.initial_variance, rule.prior_variance(training.initial_variance)),
                "dtype": (self.training.dtype, training.dtype),
                "fit_intercept": (self.training.fit_intercept, training.fit_intercept),
                "average": (self.rule.averaged, rule.averaged),
                "covariance": (self.rule.covariance, rule.covariance),
                **{
                    item.name: (getattr(self.kernel, item.name), getattr(kernel, item.name))
                    for item in (fields(self.kernel) if self.kernel else ())
                    if item.name != "budget"
                },
            }
            for name, (old, new) in built_with.items():
                if old != new:
                    raise ValueError(
                        f"{name} cannot change from {old!r} to {new!r} once learning has begun; fit with "
                        f"warm_start=False begins anew"
                    )
            self.rule, self.training, self.kernel = rule, training, kernel
            self.state.reconfigure(kernel)

    @property
    def label_names(self) -> list[str]:
        """The labels as text."""
        return self.label_texts or [label_text(label) for label in self.classes.tolist()]

    def grow(self, n_features: int) -> None:
        """Make room for more features."""
        with self.lock:
            if n_features > self.state.n_features:
                names = self.feature_names
                if names is not None:  # the new ones are known by their numbers
                    more = [str(column) for column in range(self.state.n_features, n_features)]
                    names = np.concatenate([names, np.array(more, object)])
                self.state.grow(n_features)
                self.feature_names = names
                self._derived = None

    def class_factors(self, counts: dict[Any, int]) -> dict[Any, float]:
        """What `class_weight` multiplies the loss by, by label; `counts` are the rows of each label."""
        class_weight = getattr(self.rule, "class_weight", None)
        if class_weight is None:
            return {}
        if isinstance(class_weight, str):  # 'balanced', as in scikit-learn
            return {label: sum(counts.values()) / (len(self.classes) * rows) for label, rows in counts.items() if rows}
        for label in class_weight:
            if label not in self.classes:
                raise ValueError(
                    f"class_weight names {label!r}, which is not one of the labels {self.classes.tolist()}"
                )
        return dict(class_weight)

    def class_weights(self, labels: NDArray[Any], counts: dict[Any, int]) -> NDArray[np.float64]:
        """The weights that `class_weight` gives to rows; empty for 1."""
        factors = self.class_factors(counts)
        weights = np.ones(len(labels)) if factors else NONE
        for label, factor in factors.items():
            weights[labels == label] *= factor
        return weights

    @property
    def several(self) -> bool:
        """Whether there are more than two labels."""
        return len(self.classes) > 2

    def number(self, labels: NDArray[Any]) -> NDArray[np.int64]:
        """The numbers of labels in `classes`; a label that was not announced is an error that names it."""
        if self.several:
            try:
                numbers = np.minimum(np.searchsorted(self.classes, labels), len(self.classes) - 1)
            except TypeError:  # numbers among strings, which have no order
                known = {label: number for number, label in enumerate(self.classes.tolist())}
                numbers = np.array([known.get(label, 0) for label in labels.tolist()], np.int64)
        else:
            numbers = (labels == self.classes[1]).astype(np.int64)  # beats a search by far
        unknown = np.asarray(self.classes[numbers] != labels)
        if unknown.any():
            row = int(np.flatnonzero(unknown)[0])
            raise DataError(f"label {plain(labels[row])!r} is not one of the labels {self.classes.tolist()}", row=row)
        return numbers

    def encode(self, labels: NDArray[Any]) -> NDArray[np.float64]:
        """Labels as the kernel wants them: their numbers, or of two +1 and -1; targets as they are."""
        if self.rule.task == "regression":
            return np.asarray(labels, np.float64)
        numbers = self.number(labels).astype(np.float64)
        return numbers if self.several else 2 * numbers - 1

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
            blocks=self.state.blocks,
            constraints=min(self.training.n_constraints or self.state.blocks, self.state.blocks),
            update=UPDATES[self.training.multiclass_update],
            tolerance=EXACT_TOLERANCE,
            sweeps=EXACT_SWEEPS,
        )
        mean_length = max(1, len(rows.values) // max(1, rows.n_rows))
        block = max(1, BLOCK_EFFORT // self.state.effort(mean_length, rule["constraints"]))
        with self.lock:
            self._begin_at(targets, weights, order)
            self.unfinished = None  # a run that something else was learned after cannot be taken up again
            for start in range(0, len(order), block):
                piece = order[start : start + block]
                done = self.state.learn(rows, targets, weights, piece, rule, self._counts)
                if done < len(piece):
                    which = "features" if len(self.classes) else "features or targets"
                    raise DataError(
                        f"the margin of this row, or the step to learn from it, is not a finite number in "
                        f"{self.state.dtype}: bring the {which} to another scale",
                        row=int(piece[done]),
                    )
                report(done)

    def _begin_at(self, targets: NDArray[np.float64], weights: NDArray[np.float64], order: NDArray[np.int64]) -> None:
        """Where the rule asks for it, let the intercept begin at the first target that is learned from."""
        if not (self.rule.begins_at_target and self.training.fit_intercept) or self.statistics["rows"]:
            return
        first = order[:1] if not len(weights) else order[weights[order] > 0][:1]
        if len(first):
            assert isinstance(self.state, LinearState)
            target = float(targets[first[0]])
            if abs(target) < float(np.finfo(self.state.dtype).max):  # else the kernel will refuse the row
                self.state.mean[0] = self.origin = target

    def progressive_error(self, since: Statistics | None = None) -> float:
        """How wrong the rows were before they were learned from, all or those since then: the part of mistakes or, for
        a regression, the root of the mean squared error."""
        before = since or new_statistics()
        rows = max(1, self.statistics["rows"] - before["rows"])
        if self.rule.task == "regression":
            return math.sqrt(max(0.0, self.statistics["loss"] - before["loss"]) / rows)
        return (self.statistics["mistakes"] - before["mistakes"]) / rows

    def train(
        self,
        rows: Rows,
        targets: NDArray[np.float64],
        weights: NDArray[np.float64],
        random_state: np.random.RandomState,
    ) -> None:
        """`epochs` passes, shuffled or not, with a progress bar if asked for."""
        with progress(rows.n_rows * self.training.epochs, self) as report:
            for order in orders(rows.n_rows, self.training, random_state):
                self.learn(rows, targets, weights, order, report)

    @property
    def predictor(self) -> State:
        """The state that predicts: with the averaged mean, or with the prior that the rows seen suggest, where the rule
        asks for it."""
        statistics, derived, state = self.statistics, self._derived, self.state
        if not self.derives:
            return state
        assert isinstance(state, DiagonalState)  # no other takes such rules
        if derived is None or derived[0] != statistics:  # rows have been learned since
            derived = self._derived = (statistics, state.changed(partial(self.turn_into_predicting, statistics)))
        return derived[1]

    @property
    def derives(self) -> bool:
        """Whether the state that predicts is another one than that which learns."""
        return (self.rule.averaged or self.rule.follows_rows) and self.statistics["rows"] > 0

    def turn_into_predicting(
        self, statistics: Statistics, mean: NDArray[Any], variance: NDArray[Any], average: NDArray[np.float64]
    ) -> None:
        """Change weights that learn, after so many rows, into those that predict, in place.

        Averaged: the mean of the means held after each row.  An update in round t counts for the rounds t..T, so that
        is mu_T - (1/T) sum_t (t - 1) delta_t.  Or some precision is added to that of every weight, and precision * mean
        is kept.
        """
        if self.rule.follows_rows:
            precision = max(0.0, statistics["squares"] / statistics["rows"] - 1 / self.state.initial_variance)
            ratio = 1 + variance.astype(np.float64) * precision
            mean[:] = mean / ratio
            variance[:] = variance / ratio
        else:
            mean -= average / statistics["rows"]

    def margins(self, rows: Rows, only_mean: bool = False) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and variance of w.x for every row, under the Gaussian over w; with more than two labels, by label."""
        with nullcontext() if isinstance(self.state, DiagonalState) else self.lock:  # others change shape meanwhile
            return self.predictor.margins(rows, self.bias, self.rule.projection == "inclusive", only_mean)

    def scores(self, mean: NDArray[np.float64], variance: NDArray[np.float64]) -> NDArray[np.float64]:
        """What decides, from the margins.  Two labels: positive for the second one, larger where it is more certain.
        More: the mean of each label, the highest of which wins (EMNLP 2009, section 5)."""
        return mean if self.several else self.rule.score(mean, variance)

    def chosen(self, scores: NDArray[np.float64]) -> NDArray[np.int64]:
        """The number of the label that the scores, or the means of margins, decide for; of equal ones, the first."""
        return np.argmax(scores, axis=1) if self.several else (scores > 0).astype(np.int64)

    def parts(self, rows: Rows, most: int | None = None) -> Iterator[tuple[slice, Rows]]:
        """The rows in parts whose scores, one for each row and block of weights, are so many at most."""
        step = max(1, (most or SCORES_AT_ONCE) // self.state.blocks)
        for start in range(0, rows.n_rows, step):
            stop = min(start + step, rows.n_rows)
            yield slice(start, stop), rows if stop - start == rows.n_rows else rows.part(start, stop)

    def predictions(self, rows: Rows) -> NDArray[np.int64]:
        """The number of the label of every row."""
        numbers = np.empty(rows.n_rows, np.int64)
        for which, part in self.parts(rows):
            numbers[which] = self.chosen(self.margins(part, only_mean=True)[0])
        return numbers

    def probabilities(self, mean: NDArray[np.float64], variance: NDArray[np.float64]) -> NDArray[np.float64]:
        """The probability of each label, by row, from the margins."""
        if self.several:
            return self.rule.probabilities(mean, self.rule.score_variance(variance))
        score = self.rule.score(mean, variance)
        return np.column_stack([self.rule.probability(side) for side in (-score, score)])

    # -- regression ----------------------------------------------------------------------------------------------------

    @property
    def noise(self) -> float:
        """The r of the rule, as it is by now: the variance of a target around w.x, in the unit of the state."""
        r = 1 / self.rule.kernel_fields()["C"]
        if self.rule.strength != "auto":
            return float(r)
        return float(r * self.state.initial_variance * self.statistics["squares"] / max(1, self.statistics["rows"]))

    @property
    def scale(self) -> float:
        """What the variances of the state have to be multiplied with, so that they are in the unit of the targets: the
        mean of error^2 / (r + v) over the rows, each before it was learned from, which is 1 where targets have the
        noise r; the later a row came, the more it counts."""
        rows = self.statistics["rows"]
        return 2 * self.statistics["surprise"] / max(1, rows * (rows + 1))

    def deviations(self, variance: NDArray[np.float64]) -> NDArray[np.float64]:
        """The standard deviation of the target of each row around its prediction, from the variance of the margin."""
        with np.errstate(over="ignore"):
            deviations: NDArray[np.float64] = np.sqrt(self.scale * (self.noise + variance))
        return deviations

    # -- probabilities by draws ----------------------------------------------------------------------------------------

    def drawn_probabilities(
        self,
        mean: NDArray[np.float64],
        variance: NDArray[np.float64],
        draws: int,
        random_state: np.random.RandomState,
    ) -> NDArray[np.float64]:
        """The same, by drawing scores at random; two labels are as more, the first one having the score 0."""
        if self.several:
            variance = self.rule.score_variance(variance)
        else:
            variance = variance if self.rule.second_order else np.zeros_like(variance)
            mean, variance = (np.column_stack([np.zeros_like(part), part]) for part in (mean, variance))
        return chances.drawn(mean, variance, draws, random_state, self.rule.outcome)


def new_state(rule: Rule, training: Training, kernel: KernelOptions | None, blocks: int, n_features: int) -> State:
    prior = rule.prior_variance(training.initial_variance)
    if kernel is not None:
        if not rule.second_order or rule.name == "sop" or rule.task == "regression" or rule.covariance == "full":
            raise ValueError(f"there is no form with a kernel of {rule}")
        from cwlearn.core.states.kernel import KernelState  # these bring SciPy, and that brings scikit-learn

        return KernelState(n_features, blocks, prior, kernel)
    if rule.covariance == "full":
        from cwlearn.core.states.full import FullState

        return FullState(n_features, blocks, prior)
    return DiagonalState(n_features, blocks, prior, rule.floor, np.dtype(training.dtype), rule.averaged)


def state_bytes(rule: Rule, training: Training, blocks: int, n_features: int) -> int:
    """The memory that the state of a linear learner takes."""
    if rule.covariance == "full":
        from cwlearn.core.states.full import FullState

        return FullState.nbytes(n_features, blocks)
    return DiagonalState.nbytes(n_features, blocks, np.dtype(training.dtype), rule.averaged)


def blocks_of(n_labels: int) -> int:
    """Blocks of weights: two labels share one."""
    return n_labels if n_labels > 2 else 1


def label_text(label: Any) -> str:
    """A label as one would write it: 1, not 1.0."""
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)


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
            bar.set_postfix(error=f"{learner.progressive_error():.4g}")

        yield advance
