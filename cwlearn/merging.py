"""Many models into one: the Gaussians of learners that have seen different rows, combined through their confidences.

A Gaussian has numbers that can be added up (J12 section 7.10; A = S^-1 is the precision):

    posterior   A - A0 and A mu - A0 mu0    what each has learned beyond the common beginning, which counts once: the
                                            result does not depend on order or grouping and, where gains do not depend
                                            on what was seen, it is that of one learner that has seen all rows
    kl          A and A mu                  the paper's: the beginning counts once for each model
    l2          S and mu                    plain averages

A `Sum` takes models in one after the other, or whole sums, and makes a learner of them at the end.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cwlearn.diagonal_state import DiagonalState
from cwlearn.errors import ModelError, listed
from cwlearn.learner import Learner, Training
from cwlearn.options import one_of, require
from cwlearn.rules import Rule
from cwlearn.state import NONE, LinearState, Tally, new_tally

HOW = one_of("posterior", "kl", "l2")
BUILT_WITH = ("initial_variance", "fit_intercept", "dtype", "n_constraints", "multiclass_update")


@dataclass(frozen=True)
class Kind:
    """What models must have in common: all of a learner but its numbers."""

    name: str  # of the model, for errors
    rule: Rule
    training: Training
    classes: NDArray[Any]
    label_names: list[str]
    label_texts: list[str] | None
    hash_bits: int
    feature_names: list[str] | None
    origin: float

    @classmethod
    def of(cls, learner: Learner, name: str) -> Kind:
        if learner.kernel is not None:
            raise ModelError(f"{name} has a kernel, and such models cannot be merged")
        names = learner.feature_names
        return cls(
            name,
            learner.rule,
            learner.training,
            learner.classes,
            learner.label_names,
            learner.label_texts,
            learner.hash_bits,
            None if names is None else names.tolist(),
            learner.origin,
        )

    def require(self, other: Kind) -> None:
        """Refuse to merge with another kind, and say what differs."""
        pairs: dict[str, tuple[Any, Any]] = {
            "task": (self.rule.task, other.rule.task),
            "rule": (self.rule.name, other.rule.name),
        }
        if all(ours == theirs for ours, theirs in pairs.values()):
            for item in fields(self.rule):
                pairs[item.name] = (getattr(self.rule, item.name), getattr(other.rule, item.name))
        for name in BUILT_WITH:
            pairs[name] = (getattr(self.training, name), getattr(other.training, name))
        pairs["hash_bits"] = (self.hash_bits or None, other.hash_bits or None)
        differences = [f"{name} {ours!r} and {theirs!r}" for name, (ours, theirs) in pairs.items() if ours != theirs]
        if not np.array_equal(self.classes, other.classes):
            differences.append(f"labels {listed(self.label_names)} and {listed(other.label_names)}")
        for column, names in enumerate(zip(self.feature_names or (), other.feature_names or (), strict=False)):
            if names[0] != names[1]:
                differences.append(f"column {column} named {names[0]!r} and {names[1]!r}")
                break
        if differences:
            raise ModelError(f"{self.name} and {other.name} cannot be merged: {'; '.join(differences)}")

    def learner(self, n_features: int) -> Learner:
        """A new one of this kind."""
        learner = Learner(self.rule, self.training, self.classes, n_features)
        learner.label_texts, learner.hash_bits, learner.origin = self.label_texts, self.hash_bits, self.origin
        if self.feature_names is not None:
            more = [str(column) for column in range(len(self.feature_names), n_features)]
            learner.feature_names = np.array([*self.feature_names, *more], object)
        return learner


class Sum:
    """What some models know, added up.

    Features that a model does not have are as new in it; arrays begin with the intercept, then a line for each feature.
    """

    def __init__(self, how: str) -> None:
        require("how", how, HOW)
        self.how = how
        self.count = 0
        self.kind: Kind | None = None  # of the first model
        self._spread: NDArray[np.float64] = NONE  # A or S
        self._place: NDArray[np.float64] = NONE  # A mu or mu
        self._lag: NDArray[np.float64] = NONE  # what averages fall behind the means by, for averaged rules
        self._tally = new_tally()
        self._untouched = 0.0  # the part of a feature that a model does not have in `_spread`

    @classmethod
    def of(cls, how: str, learner: Learner, name: str, base: Learner | None = None) -> Sum:
        """One model; `name` is what errors call it, and `base` the model that it began as, if it was not a new one."""
        one = cls(how)
        one.kind, one.count = Kind.of(learner, name), 1
        if not learner.rule.second_order and how != "l2":
            raise ModelError(f"{name} is a model of {learner.rule.name}, which has no confidences: how='l2' merges it")
        state = _linear(learner)
        if how == "l2":
            one._spread, one._place = state.moments()
            one._untouched = state.initial_variance
        else:
            one._spread, one._place = state.natural()
            one._untouched = 1 / state.initial_variance
        if how == "posterior":
            one._add_beginning(base, -1)
            one._untouched = 0.0
        if learner.rule.averaged:
            assert isinstance(state, DiagonalState)
            one._lag = state.average / max(1, learner.tally["rows"])
        one._count_rows(learner.tally, 1)
        if base is not None:
            one._count_rows(base.tally, -1)
        return one

    def _add_beginning(self, base: Learner | None, sign: int) -> None:
        """Add, or take out, what models began with."""
        assert self.kind is not None
        if base is None:
            base = self.kind.learner(0)
            _linear(base).mean[0] = self.kind.origin
        state = _linear(base)
        spread, place = state.natural()
        self._spread = self._spread + sign * _widened(spread, len(self._place), 1 / state.initial_variance)
        self._place = self._place + sign * _widened(place, len(self._place), 0)

    def _count_rows(self, tally: Tally, sign: int) -> None:
        """Add counts, or take them out; of `surprise`, the mean times the number of rows."""
        ours: Any = self._tally
        for name, value in tally.items():
            weight = 2 / (tally["rows"] + 1) if name == "surprise" else 1
            ours[name] += sign * weight * value  # type: ignore[operator]

    def __add__(self, other: Sum) -> Sum:
        if self.kind is None or other.kind is None:
            return self if other.kind is None else other
        self.kind.require(other.kind)
        size = max(len(self._place), len(other._place))
        both = self._copy()
        ours, theirs = (_widened(part._spread, size, part.count * part._untouched) for part in (self, other))
        both._spread = ours + theirs
        both._place = _widened(self._place, size, 0) + _widened(other._place, size, 0)
        if len(self._lag):
            both._lag = _widened(self._lag, size, 0) + _widened(other._lag, size, 0)
        both.count += other.count
        for name, value in other._tally.items():
            both._tally[name] += value  # type: ignore[literal-required]
        return both

    def _copy(self) -> Sum:
        """Another one, with the same arrays, which are never changed in place."""
        twin = copy.copy(self)
        twin._tally = self._tally.copy()
        return twin

    def learner(self, base: Learner | None = None) -> Learner:
        """The model that all of them make."""
        return self._copy()._learner(base)

    def _learner(self, base: Learner | None) -> Learner:
        if self.kind is None:
            raise ModelError("there is no model to merge")
        if self.how == "posterior":
            self._add_beginning(base, 1)
        if base is not None:
            self._count_rows(base.tally, 1)
        learner = self.kind.learner(len(self._place) - 1)
        state = _linear(learner)
        if self.how == "l2":
            state.set_moments(self._spread / self.count, self._place / self.count)
        else:
            state.set_natural(self._spread, self._place)
        rows = self._tally["rows"]
        if len(self._lag):
            assert isinstance(state, DiagonalState)
            state.average[:] = self._lag / self.count * rows
        learner.tally = {**self._tally, "surprise": self._tally["surprise"] * (rows + 1) / 2}
        return learner


def merge(learners: Iterable[tuple[str, Learner]], how: str) -> Learner:
    """One learner that knows what all of them know; each comes with the name that errors call it."""
    total = Sum(how)
    for name, learner in learners:
        total += Sum.of(how, learner, name)
    return total.learner()


def _linear(learner: Learner) -> LinearState:
    assert isinstance(learner.state, LinearState)
    return learner.state


def _widened(array: NDArray[np.float64], size: int, value: float) -> NDArray[np.float64]:
    """Of so many weights, new ones having this value and, in matrices, nothing to do with the others."""
    old = len(array)
    if old == size:
        return array
    if array.ndim == 3:
        wide = np.zeros((size, size, array.shape[2]))
        wide[:old, :old] = array
        new = np.arange(old, size)
        wide[new, new] = value
        return wide
    wide = np.full((size, *array.shape[1:]), float(value))
    wide[:old] = array
    return wide
