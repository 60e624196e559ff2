"""Scoring and learning the rows of a batch one after the other, with memory that is made once for all of them.

It calls the loops that whole batches go through (`margin_rows`, `learn_rows`, `weigh_rows`), for one row each time, and
gives the same bits.  `Learner.learn` takes twice as long for a single row, because it prepares for many.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cwlearn.core.learner import Learner
from cwlearn.core.rows import Rows
from cwlearn.core.states.base import ALL_FRESH, BYTES, scratch_of
from cwlearn.core.states.diagonal import DiagonalState
from cwlearn.native import learn_rows, margin_rows


class RowByRow:
    """The rows of a batch, for a model of a diagonal state that predicts as it learns."""

    @staticmethod
    def suits(learner: Learner) -> bool:
        """Whether a model can be used so."""
        begun = learner.statistics["rows"] > 0 or not learner.rule.begins_at_target
        return isinstance(learner.state, DiagonalState) and not learner.derives and begun

    def __init__(
        self, learner: Learner, rows: Rows, targets: NDArray[np.float64], weights: NDArray[np.float64]
    ) -> None:
        assert isinstance(learner.state, DiagonalState)
        self._learner, self._rows, self._targets, self._weights = learner, rows, targets, weights
        self._state = learner.state
        blocks = self._state.blocks
        self._rule = learner._kernel_rule(settled=False)
        self._inclusive = learner.rule.projection == "inclusive"
        self._scratch = scratch_of(rows.longest, blocks, self._rule["constraints"])
        self._order = np.arange(rows.n_rows)
        shape = (rows.n_rows,) if blocks == 1 else (rows.n_rows, blocks)
        self.mean, self.variance = np.empty(shape), np.empty(shape)
        self._scores = np.empty(blocks + 3)
        frequencies = learner.frequencies
        self._asked = self._taught = rows  # what is scored, and what is learned
        if frequencies is not None:
            self._asked, self._taught = frequencies.copies(rows), frequencies.copies(rows)
        self._bounds = rows.indptr.tolist()

    @property
    def scored(self) -> Rows:
        """The rows as they were scored; those that have not been scored yet have any values."""
        return self._asked

    def fits(self, number: int) -> bool:
        """Whether the model has all features of a row."""
        stop = self._bounds[number + 1]
        return stop == self._bounds[number] or int(self._rows.indices[stop - 1]) < self._state.n_features

    def score(self, number: int) -> None:
        """Find mean and variance of the margin of a row, by the model as it is now."""
        learner, rows = self._learner, self._asked
        if learner.frequencies is not None:
            learner.frequencies.weigh_row(rows, number, self._bounds, count=False)
        margin_rows(
            self.mean.reshape(-1),
            self.variance.reshape(-1),
            self._scores,
            self._state.cells.reshape(-1),
            *self._scratch,
            rows.indptr,
            rows.indices,
            rows.values,
            self._order[number : number + 1],
            learner.bias,
            self._inclusive,
            self._state.blocks,
        )

    def learn(self, number: int) -> bool:
        """Learn a row; False if its margin or step is not finite, and then nothing of it is learned."""
        learner, state, rows = self._learner, self._state, self._taught
        with learner.lock:
            counts, learner.unfinished = learner.counts.copy(), None
            if learner.frequencies is not None:
                learner.frequencies.weigh_row(rows, number, self._bounds, count=True)
            done = learn_rows(
                state.cells.reshape(-1),
                state.average.reshape(-1),
                state.stamps.reshape(-1),
                *self._scratch,
                rows.indptr,
                rows.indices,
                rows.values,
                rows.squares,
                self._targets,
                self._weights,
                ALL_FRESH,
                self._order[number : number + 1],
                self._rule,
                counts.view(BYTES),
            )
            learner.set_counts(counts)
        return bool(done)
