"""Merging: the Gaussians of learners that have seen different rows become one, weighted by their confidences.

Some numbers of a Gaussian can be added (J12 section 7.10; A = S^-1 is the precision):

    posterior   A - A0 and A mu - A0 mu0    what each learned beyond the common start, which counts once.  The result
                                            does not depend on order or grouping.  If gains do not depend on what was
                                            seen, it is that of one learner that has seen all rows.
    kl          the same, and the prior     the paper's sum of A and of A mu, which counts the prior once for each
                for each model              model; a base that the models started from counts once
    l2          S and mu                    plain averages

Averaged models are merged by their averages, with the confidences of the last weights.  A `Sum` adds models or other
sums, one after the other, and makes a learner of them at the end.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cwlearn.core.calibration import CalibrationSum
from cwlearn.core.frequencies import FrequencySum
from cwlearn.core.learner import Learner
from cwlearn.core.mergeable import Kind
from cwlearn.core.parameters import HOW, require
from cwlearn.core.rule import Rule
from cwlearn.core.states.base import NONE, LinearState
from cwlearn.core.states.diagonal import DiagonalState
from cwlearn.core.statistics import Statistics, new_statistics
from cwlearn.errors import ModelError

UNCERTAIN = 1e-6  # relative rounding error by which a variance may rise
ROUNDED = 1e-12  # relative rounding error of the average of equal variances
FEW_SHARED = 0.1  # part of the touched features, below which models do not seem to belong together


class Sum:
    """The sum of what some models have learned.

    A feature that a model does not have counts as one that it has not learned.  Arrays have a line for the intercept,
    then one for each feature.
    """

    def __init__(self, how: str) -> None:
        require("how", how, HOW)
        self.how = how
        self.count = 0
        self.kind: Kind | None = None  # of the first model
        self._spread: NDArray[np.float64] = NONE  # sum of what models have added to A; "l2": sum of S
        self._place: NDArray[np.float64] = NONE  # sum of what models have added to A mu; "l2": sum of mu
        self._lag: NDArray[np.float64] = NONE  # averaged rules: sum of mean - average; not "l2": of A (mean - average)
        self._statistics = new_statistics()
        self._weight = 0.0  # of all rows in `surprise`, which is a weighted sum
        self._origins = 0.0  # sum of (first intercept) * (rows since), so that grouping does not matter
        self._seen = 0  # these rows
        self._calibrations: list[CalibrationSum] = []  # one, or one for each label if rows may have several
        self._frequencies = FrequencySum()
        self._words: dict[int, list[str]] = {}  # of columns, if these are hashes of documents

    @classmethod
    def of(cls, how: str, learner: Learner, name: str, base: Learner | None = None) -> Sum:
        """The sum of one model.  Errors call it `name`; `base` is the model that it started from, if it was not new."""
        total = cls(how)
        total.kind, total.count = Kind.of(learner, name), 1
        check_confidences(learner.rule, how)
        if base is not None:
            check_forgetting(learner.rule)
            _check_base(total.kind, learner, base)
        with learner.lock:  # no other thread learns meanwhile
            state, statistics = _linear(learner), learner.statistics
            if isinstance(state, DiagonalState) and state.forgets:  # each model counts by what it knows now
                state = state.present(learner.rule.half_life, statistics["rows"])
            total._spread, total._place = state.moments() if how == "l2" else state.natural()
            if learner.rule.averaged:
                assert isinstance(state, DiagonalState)
                total._lag = _lag(state, statistics)
                if how != "l2":
                    total._lag *= total._spread
            for known in learner.calibrations:
                total._calibrations.append(CalibrationSum())
                total._calibrations[-1].add(known)
            total._frequencies.add(learner.frequencies)
            total._words = dict(learner.words)
        if how != "l2":
            total._add_start(base, -1, learner.origin)
        total._origins = learner.origin * statistics["rows"]
        total._seen = statistics["rows"]
        total._count_rows(statistics, 1)
        if base is not None:
            total._count_rows(base.statistics, -1)
            total._frequencies.add(base.frequencies, -1)
        return total

    def _add_start(self, base: Learner | None, times: float, origin: float) -> None:
        """Add what models started from, `times` times: the base, and the prior of weights that it does not have."""
        assert self.kind is not None
        prior = 1 / self._prior_variance
        in_base = 0
        if base is not None:
            state = _linear(base)
            spread, place = state.natural()
            in_base = len(place)
            _add(self._spread, times * spread)
            _add(self._place, times * place)
            if len(self._lag):
                assert isinstance(state, DiagonalState)
                _add(self._lag, times * spread * _lag(state, base.statistics))
        else:
            self._place[0] += times * prior * origin
        _add_to_diagonal(self._spread, times * prior, in_base)

    @property
    def _prior_variance(self) -> float:
        assert self.kind is not None
        return _linear(self.kind.learner(0)).prior_variance

    def _count_rows(self, statistics: Statistics, sign: int) -> None:
        """Add counts, or subtract them."""
        ours: Any = self._statistics
        for name, value in statistics.items():
            ours[name] += sign * value  # type: ignore[operator]
        self._weight += sign * statistics["rows"] * (statistics["rows"] + 1) / 2

    def __add__(self, other: Sum) -> Sum:
        both = copy.deepcopy(self)
        both += copy.deepcopy(other) if self.kind is None else other  # `+=` returns the other if this one is empty
        return both

    def __iadd__(self, other: Sum) -> Sum:
        """Add another sum; the result is the other one if this one is empty."""
        if self.how != other.how:
            raise ValueError(f"sums of how={self.how!r} and how={other.how!r} cannot be added")
        if self.kind is None or other.kind is None:
            return self if other.kind is None else other
        self.kind.require(other.kind)
        sizes = len(self._place), len(other._place)
        size = max(sizes)
        for name in ("_spread", "_place", "_lag"):
            if len(getattr(self, name)):
                setattr(self, name, _widened(getattr(self, name), size))
                _add(getattr(self, name), getattr(other, name))
        if self.how == "l2":  # weights that the models of one sum do not have count with their prior
            for count, own_size in zip((self.count, other.count), sizes, strict=True):
                _add_to_diagonal(self._spread, count * self._prior_variance, own_size)
        self.count += other.count
        self._weight += other._weight
        self._origins += other._origins
        self._seen += other._seen
        for ours, theirs in zip(self._calibrations, other._calibrations, strict=True):
            ours += theirs
        self._frequencies += other._frequencies
        self._words = other._words | self._words
        for key, value in other._statistics.items():
            self._statistics[key] += value  # type: ignore[literal-required]
        if len(other.kind.feature_names or ()) > len(self.kind.feature_names or ()):
            self.kind = replace(self.kind, feature_names=other.kind.feature_names)
        return self

    def learner(self, base: Learner | None = None) -> Learner:
        """The merged model, if all models started from `base`, or new."""
        return copy.deepcopy(self).turned_into_learner(base)

    def turned_into_learner(self, base: Learner | None = None) -> Learner:
        """The same in less memory: the sum cannot be used afterwards."""
        if self.kind is None:
            raise ModelError("there is no model to merge")
        origin = self._origins / self._seen if self._seen else 0.0
        learner = self.kind.learner(len(self._place) - 1)
        learner.origin = origin
        state = _linear(learner)
        if base is not None:
            self._count_rows(base.statistics, 1)
            self._frequencies.add(base.frequencies)
        if learner.frequencies is not None:
            self._frequencies.put_into(learner.frequencies)
        learner.words = self._words
        if self.how == "l2":
            self._spread /= self.count
            self._place /= self.count
            _restore_diagonal(self._spread, state.prior_variance)
            state.set_moments(self._spread, self._place)
        else:
            self._add_start(base, 1, origin)
            if self.how == "kl" and base is None:  # which counts the prior once for each model
                self._add_start(None, self.count - 1, origin)
            state.set_natural(self._spread, self._place)
        rows = self._statistics["rows"]
        if isinstance(state, DiagonalState) and state.forgets:
            state.stamps[:] = rows
        if len(self._lag):
            assert isinstance(state, DiagonalState)
            state.average[:] = self._lag / (self.count if self.how == "l2" else self._spread) * rows
        scale = self._statistics["surprise"] / self._weight if self._weight else 0.0
        learner.statistics = {**self._statistics, "surprise": scale * rows * (rows + 1) / 2}
        learner.set_calibrations([known.numbers() for known in self._calibrations])
        return learner


def check_confidences(rule: Rule, how: str) -> None:
    """Refuse to weight models by confidences that they do not have."""
    if rule.sums_gradients:
        raise ModelError(
            f"models of {rule.name} cannot be merged: each holds gradients at weights of its own, whose sum belongs to "
            f"no weights"
        )
    if rule.informed and how != "l2":
        raise ModelError(
            "models with `prior` began with variances of their own rows, which are no confidences of what they have "
            "learned: `how='l2'` is the only way to merge them"
        )
    if not rule.second_order and how != "l2":
        raise ModelError(f"models of {rule.name} have no confidences: `how='l2'` is the only way to merge them")


def check_forgetting(rule: Rule) -> None:
    """Refuse to subtract a common start from models that have forgotten a part of it."""
    if rule.half_life:
        raise ModelError("models with `forgetting` have forgotten a part of their base: it cannot be subtracted")


def _check_base(kind: Kind, learner: Learner, base: Learner) -> None:
    """Refuse a base that the learner cannot have started from; parameters may have changed since."""
    kind.require(replace(Kind.of(base, "the base"), rule=kind.rule, training=kind.training))
    fixed: dict[str, tuple[Any, Any]] = {
        "rule": (learner.rule.name, base.rule.name),
        "covariance": (learner.rule.covariance, base.rule.covariance),
        "prior variance": (learner.state.prior_variance, base.state.prior_variance),
    }
    for name, (ours, theirs) in fixed.items():
        if ours != theirs:
            raise ModelError(f"{kind.name} and the base cannot be merged: {name} {ours!r} and {theirs!r}")
    now, before = learner.statistics, base.statistics
    counts = {
        "features": (learner.state.n_features, base.state.n_features),
        "rows": (now["rows"], before["rows"]),
        "updates": (now["updates"], before["updates"]),
        "mistakes": (now["mistakes"], before["mistakes"]),
    }
    for name, (count, base_count) in counts.items():
        if count < base_count:
            raise ModelError(
                f"{kind.name} cannot have gone on from the base: it has {count:,} {name}, and the base {base_count:,}"
            )
    base_variance = _linear(base).variance
    if (_linear(learner).variance[: len(base_variance)] > base_variance * (1 + UNCERTAIN)).any():
        raise ModelError(f"{kind.name} cannot have gone on from the base: it is less certain of some weights")


def merge(learners: Iterable[tuple[str, Learner]], how: str, base: Learner | None = None) -> Learner:
    """One learner of several, each of which comes with its name in errors.  A `base` that all started from counts once.

    Models are taken one at a time, so that an iterator needs memory for one of them and the sum.
    """
    total, in_sum = Sum(how), np.zeros(0, bool)
    for name, learner in learners:
        total += Sum.of(how, learner, name, base)
        touched = _touched_features(learner)
        del learner  # before the next one is loaded
        _warn_of_strangers(name, touched, in_sum)
        in_sum = _either(touched, in_sum)
    return total.turned_into_learner(base)


def _touched_features(learner: Learner) -> NDArray[np.bool_]:
    """Which features the learner has learned about."""
    touched = _linear(learner).touched[1:]
    return np.asarray(touched.any(axis=1)) if touched.ndim == 2 else touched


def _either(first: NDArray[np.bool_], second: NDArray[np.bool_]) -> NDArray[np.bool_]:
    short, long = sorted((first, second), key=len)
    union = long.copy()
    union[: len(short)] |= short
    return union


def _warn_of_strangers(name: str, touched: NDArray[np.bool_], in_sum: NDArray[np.bool_]) -> None:
    """Warn if a model shares hardly a feature with the models before it."""
    fewer = min(np.count_nonzero(touched), np.count_nonzero(in_sum))
    size = min(len(touched), len(in_sum))
    shared = np.count_nonzero(touched[:size] & in_sum[:size])
    if shared < FEW_SHARED * fewer:
        warnings.warn(
            f"{name} shares {shared:,} of {fewer:,} learned features with the models before it: do they come from the "
            f"same kind of data?",
            stacklevel=4,
        )


def _lag(state: DiagonalState, statistics: Statistics) -> NDArray[np.float64]:
    """How far the averages are behind the means, which are merged in the same way: see `Model.turn_into_predicting`."""
    return state.average / max(1, statistics["rows"])


def _linear(learner: Learner) -> LinearState:
    assert isinstance(learner.state, LinearState)
    return learner.state


def _add_to_diagonal(array: NDArray[np.float64], value: float, start: int = 0) -> None:
    """Add a number to each weight from `start` on; to the diagonals, if these are matrices."""
    if array.ndim == 3:
        new = np.arange(start, len(array))
        array[new, new] += value
    else:
        array[start:] += value


def _restore_diagonal(array: NDArray[np.float64], value: float) -> None:
    """Set variances that differ from `value` by rounding only to it, so that untouched weights stay untouched."""
    places = np.arange(len(array))
    diagonal = array[places, places] if array.ndim == 3 else array
    diagonal[abs(diagonal - value) <= ROUNDED * value] = value
    if array.ndim == 3:
        array[places, places] = diagonal


def _add(array: NDArray[np.float64], other: NDArray[np.float64]) -> None:
    """Add an array that may have fewer weights."""
    size = len(other)
    array[(slice(size),) * (2 if array.ndim == 3 else 1)] += other


def _widened(array: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """The array with `size` weights; new ones are 0."""
    if len(array) == size:
        return array
    wide = np.zeros((size, size, array.shape[2]) if array.ndim == 3 else (size, *array.shape[1:]))
    _add(wide, array)
    return wide
