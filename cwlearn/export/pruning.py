"""What it costs to prune a scorer, measured on data."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cwlearn.core.learner import Learner
from cwlearn.core.rows import Rows
from cwlearn.core.states.base import State
from cwlearn.core.states.diagonal import DiagonalState
from cwlearn.export.scorer import Scorer


@dataclass
class Cost:
    """Predictions of a model and of its pruned twin on the same rows."""

    rows: int = 0
    labelled: int = 0
    mistakes: int = 0
    mistakes_pruned: int = 0
    changed: int = 0  # rows that get another label
    largest_change: float = 0.0  # of a probability; of a regression, of the prediction

    def record(self) -> dict[str, Any]:
        return asdict(self)


class _Pruned(Learner):
    """A model that predicts by its state as it is."""

    @property
    def predictor(self) -> State:
        return self.state


def pruned_learner(learner: Learner, scorer: Scorer) -> Learner:
    """The model that a scorer with fewer columns is: all other columns are as new, and have the usual count."""
    twin = object.__new__(_Pruned)
    twin.__dict__.update(learner.__dict__)
    state = learner.predictor
    assert isinstance(state, DiagonalState)
    dropped = np.ones(len(state.mean), bool)
    dropped[0] = False
    dropped[scorer.columns + 1] = False
    twin.state = state.changed(lambda mean, variance, average, stamps: None)
    twin.state.mean[dropped] = 0
    twin.state.variance[dropped] = state.prior_variance
    if learner.frequencies is not None:
        from cwlearn.core.frequencies import Frequencies  # which other models do not need

        assert learner.documents is not None
        twin.frequencies = Frequencies(len(learner.frequencies.counts), learner.documents.norm)
        twin.frequencies.counts[:] = np.where(dropped[1:], scorer.default_count, learner.frequencies.counts)
        twin.frequencies.n_documents = learner.frequencies.n_documents
    return twin


def add_cost(cost: Cost, learner: Learner, pruned: Learner, rows: Rows, truth: NDArray[Any] | None) -> None:
    """Add rows; `truth` are the numbers of their labels, -1 where there is none."""
    (predicted, chances), (other, other_chances) = (_predicted(model, rows) for model in (learner, pruned))
    cost.rows += rows.n_rows
    cost.largest_change = max(cost.largest_change, float(np.abs(chances - other_chances).max(initial=0)))
    cost.changed += int(np.count_nonzero(predicted != other))
    if truth is not None:
        known = truth >= 0
        cost.labelled += int(known.sum())
        cost.mistakes += int((known & (predicted != truth)).sum())
        cost.mistakes_pruned += int((known & (other != truth)).sum())


def _predicted(model: Learner, rows: Rows) -> tuple[NDArray[Any], NDArray[np.float64]]:
    rows = model.weighed(rows)
    mean, variance = model.margins(rows)
    if model.rule.task == "regression":
        return mean, mean
    return model.chosen(model.scores(rows, mean, variance)), model.probabilities(rows, mean, variance)
