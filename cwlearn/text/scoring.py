"""Rows from text for a model that is to score them: features that the model has never seen are counted."""

from __future__ import annotations

import numpy as np

from cwlearn.core.learner import Learner
from cwlearn.core.rows import Rows
from cwlearn.core.states.diagonal import DiagonalState


class ScoredColumns:
    """Brings rows to the columns of a model, and counts the values of features that the model has never seen.

    Such a feature has the mean 0 and the variance of the prior, so it adds nothing to a score.  A diagonal state gets
    one feature more, which stands for all of them; other states take rows of any width.
    """

    def __init__(self, learner: Learner) -> None:
        self._learner = learner
        self._n_features = learner.state.n_features
        self._diagonal = isinstance(learner.state, DiagonalState)
        self._has_kernel = learner.kernel is not None
        self.n_values = self.n_unseen = 0
        if self._diagonal:
            learner.grow(self._n_features + 1)

    def of(self, rows: Rows) -> Rows:
        """The rows as the model takes them."""
        rows = self._learner.weighed(rows)
        seen = self._n_features
        self.n_values += len(rows.indices)
        if rows.n_features <= seen:
            return rows
        self.n_unseen += int(np.count_nonzero(rows.indices >= seen))
        if not self._diagonal:
            return rows
        columns = np.minimum(rows.indices, seen).astype(np.int32 if seen < 2**31 else np.int64)
        return Rows(rows.indptr, columns, rows.values, rows.squares, seen + 1)

    def warning(self) -> str | None:
        """How many values are of features that the model has never seen; None if there are none."""
        if not self.n_unseen:
            return None
        effect = "they count for its kernel" if self._has_kernel else "they are ignored"
        text = f"{self.n_unseen:,} of {self.n_values:,} values are of features that the model has never seen; {effect}"
        if 2 * self.n_unseen > self.n_values:
            text += ". Model and data do not seem to belong together"
        return text
