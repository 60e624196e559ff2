"""What distinguishes two models that have learned the same kind of rows: the weights that moved, and by how much."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cwlearn.core.learner import Learner
from cwlearn.core.states.base import LinearState
from cwlearn.core.weights import heaviest
from cwlearn.errors import ModelError


class Moved(NamedTuple):
    """A weight in both models; `deviations` is its way, in standard deviations of the old weight."""

    column: int  # -1: the intercept
    block: int
    old: float
    new: float
    deviations: float


class Difference(NamedTuple):
    """The weights that differ: how many, how far on average (root of the mean square), and those that moved most."""

    n_moved: int
    mean_deviations: float
    most: list[Moved]


def check_comparable(old: Learner, new: Learner) -> None:
    """Refuse models whose weights or answers cannot be compared."""
    facts = {
        "task": (old.rule.task, new.rule.task),
        "labels": (old.label_names, new.label_names),
        "bits of the hash": (old.hash_bits, new.hash_bits),
        "way to make rows of documents": (old.documents, new.documents),
        "type of numbers": (old.state.dtype.name, new.state.dtype.name),
        "names of features": (_names(old), _names(new)),
    }
    for what, (before, after) in facts.items():
        if before != after:
            raise ModelError(
                f"the models cannot be compared: they differ in their {what}, {before!r:.200} and {after!r:.200}"
            )
    if not (isinstance(old.state, LinearState) and isinstance(new.state, LinearState)):
        raise ModelError("models with a kernel have no weights to compare")


def _names(learner: Learner) -> list[str] | None:
    return None if learner.feature_names is None else learner.feature_names.tolist()


def difference(old: Learner, new: Learner, most: int) -> Difference:
    """Compare the weights that predict.  A feature that one model does not have yet has the prior there."""
    size = 1 + max(old.state.n_features, new.state.n_features)
    before, variance = _weights(old, size)
    after, _ = _weights(new, size)
    moves = (after - before) / np.sqrt(variance)
    moved = moves != 0
    count = int(np.count_nonzero(moved))
    mean = float(np.sqrt(np.mean(moves[moved] ** 2))) if count else 0.0
    blocks = old.state.blocks
    places = heaviest(moves, most)
    return Difference(
        count,
        mean,
        [
            Moved(place // blocks - 1, place % blocks, float(before[place]), float(after[place]), float(moves[place]))
            for place in places.tolist()
        ],
    )


def _weights(learner: Learner, size: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and variance of all weights, of the intercept and of size - 1 features, label by label within each."""
    state = learner.predictor
    assert isinstance(state, LinearState)
    blocks = state.blocks
    prior = state.initial_variance if learner.rule.sums_gradients else state.prior_variance
    mean, variance = np.zeros(size * blocks), np.full(size * blocks, prior)
    known = (state.n_features + 1) * blocks
    mean[:known] = np.asarray(state.mean).reshape(-1)
    variance[:known] = np.asarray(state.variance).reshape(-1)
    return mean, variance
