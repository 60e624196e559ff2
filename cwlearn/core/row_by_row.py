"""Rows that are scored and then learned, one after the other, in one call for many of them.

The kernel goes through the loops of whole batches (`margin_rows`, `learn_rows`) for one row each time, so scores and
model have the bits that they have row by row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cwlearn.core.learner import Learner
from cwlearn.core.rows import Rows
from cwlearn.core.states.base import BYTES, scratch_of
from cwlearn.core.states.diagonal import DiagonalState
from cwlearn.core.statistics import copy_of_counts
from cwlearn.native import answer_rows


class Stretch(NamedTuple):
    """Rows that were scored with the same counts."""

    stop: int  # the row behind the last one
    flawed: bool  # the last one could not be learned, and nothing of it was
    counts: NDArray[np.void]  # what had been counted when they were scored, as far as their answers depend on it


class RowByRow:
    """Rows, for a model of a diagonal state that predicts as it learns and has all their features.

    `todo` is what `_kernels` calls SCORED, LEARNED or LEFT_OUT for each.  Documents that are to be learned are counted
    at once, each weighed by those before it and, to be learned, by itself, too.
    """

    @staticmethod
    def suits(learner: Learner) -> bool:
        """Whether a model can be used so."""
        rule = learner.rule
        derives = rule.sums_gradients or rule.averaged or rule.follows_rows or rule.half_life > 0
        begun = learner.n_learned > 0 or not rule.begins_at_target
        return isinstance(learner.state, DiagonalState) and not derives and begun and not learner.multilabel

    def __init__(
        self,
        learner: Learner,
        rows: Rows,
        targets: NDArray[np.float64],
        weights: NDArray[np.float64],
        todo: NDArray[np.uint8],
    ) -> None:
        self._learner, self._targets, self._weights, self._todo = learner, targets, weights, todo
        self._rule = learner._kernel_rule(settled=False)
        blocks = learner.state.blocks
        self._scratch = scratch_of(rows.longest, blocks, self._rule["constraints"])
        self._order = np.arange(rows.n_rows)
        shape = (rows.n_rows,) if blocks == 1 else (rows.n_rows, blocks)
        self.mean, self.variance = np.empty(shape), np.empty(shape)
        self.asked = self._taught = rows  # what is scored, and what is learned
        if learner.frequencies is not None:
            self.asked, self._taught = learner.frequencies.before_and_after(rows, todo)

    def go_on(self, first: int) -> Stretch:
        """Score and learn the rows from `first` on, until a row changes what scores are worth, or cannot be learned."""
        learner, state, asked, taught = self._learner, self._learner.state, self.asked, self._taught
        assert isinstance(state, DiagonalState)
        with learner.lock:
            before, counts = learner.counts, copy_of_counts(learner.counts)
            learner.unfinished = None
            try:
                stop, flawed = answer_rows(
                    self.mean.reshape(-1),
                    self.variance.reshape(-1),
                    np.empty(state.blocks + 3),
                    state.cells.reshape(-1),
                    *self._scratch,
                    asked.indptr,
                    asked.indices,
                    asked.values,
                    taught.values,
                    taught.squares,
                    self._targets,
                    self._weights,
                    self._todo,
                    self._order,
                    first,
                    learner.rule.projection == "inclusive",
                    self._rule,
                    counts.view(BYTES),
                )
            finally:
                learner.set_counts(counts)
        return Stretch(stop, flawed, before)
