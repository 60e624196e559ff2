"""Questions worth asking: the rows whose label would teach a model most (Dredze, Crammer, ACL 2008).

A row is worth asking for if its margin is small in the unit of its deviation: the model does not know its label, be it
that labels differ there, or that its features are new.  Rows that are alike teach the same: each chosen row counts
as learned before the next one is chosen, so that rows like it are less worth asking for.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cwlearn.core.model import Model
from cwlearn.core.rows import Rows
from cwlearn.core.states.base import NONE, LinearState

CANDIDATES = 10  # for each row that is asked for, but ...
MOST_CANDIDATES = 10_000  # ... no more than so many beside them
LEARNED = 10  # how many times a chosen row counts as learned.  1 and 100 differ by less than the noise of seven sets
CERTAIN = 0.1  # of the mean is added to certainties, so that among rows of certainty 0 different ones come first, too
NO_COLUMNS: NDArray[np.int64] = np.empty(0, np.int64)
Row = tuple[NDArray[np.int64], NDArray[np.float64]]  # columns and values


def certainty(model: Model, rows: Rows) -> NDArray[np.float64]:
    """How certain the model is of the label of each row: the margin over its deviation.

    Two labels: |mean| / deviation of w.x.  More: the lead of the best label over the second one, over the deviation of
    the difference.  Rules without variances have the length of the row for a deviation.  A regression has no margin:
    there it is one over the deviation.
    """
    answer = np.empty(rows.n_rows)
    for which, part in model.parts(rows):
        mean, variance = model.margins(part)
        if not model.rule.second_order:
            squares = model.state.squared_lengths(part, model.bias)
            variance = squares if mean.ndim == 1 else np.broadcast_to(squares[:, None], mean.shape)
        if model.rule.task == "regression":
            lead = np.ones(part.n_rows)
        elif mean.ndim == 1:
            lead = np.abs(mean)
        else:
            best = np.argsort(-mean, axis=1, kind="stable")[:, :2]
            ahead = np.take_along_axis(mean, best, axis=1)
            if model.rule.second_order:
                variance = model.rule.score_variance(variance)  # as the probabilities of labels have it
            lead, variance = ahead[:, 0] - ahead[:, 1], np.take_along_axis(variance, best, axis=1).sum(axis=1)
        # A row without any variance teaches nothing.
        answer[which] = np.divide(lead, np.sqrt(variance), out=np.full(part.n_rows, np.inf), where=variance > 0)
    return answer


class Pool:
    """The most promising rows of a stream, from which the questions are chosen at the end.

    It holds some times as many rows as are asked for, however many pass by.  They do not depend on how the stream is
    cut into parts: the least certain ones, of equal ones the first, and of identical rows only the first.
    """

    def __init__(self, n: int) -> None:
        self._n, self._size = n, min(CANDIDATES * n, n + MOST_CANDIDATES)
        self._rows: list[Row] = []
        self._keys: list[bytes] = []  # digests of the rows
        self._numbers: NDArray[np.int64] = np.empty(0, np.int64)
        self._certainty: NDArray[np.float64] = NONE
        self._notes: list[Any] = []
        self._seen = 0

    def add(self, rows: Rows, certainties: NDArray[np.float64], note: Callable[[int], Any] = lambda row: None) -> None:
        """Add the next rows of the stream.  `note` is called for those that enter, and what it returns is kept."""
        limit = self._certainty[-1] if len(self._rows) == self._size else np.inf
        first, self._seen = self._seen, self._seen + rows.n_rows
        promising = np.flatnonzero(certainties < limit)
        order = promising[np.argsort(certainties[promising], kind="stable")]
        known, entered = set(self._keys), []
        for row in order.tolist():
            part = slice(rows.indptr[row], rows.indptr[row + 1])
            columns, values = rows.indices[part].astype(np.int64), rows.values[part].astype(np.float64)
            key = blake2b(columns.tobytes() + values.tobytes(), digest_size=16).digest()
            if key not in known:
                known.add(key)
                self._rows.append((columns, values))
                self._keys.append(key)
                self._notes.append(note(row))
                entered.append(row)
                if len(entered) == self._size:
                    break
        self._numbers = np.append(self._numbers, first + np.array(entered, np.int64))
        self._certainty = np.append(self._certainty, certainties[entered])
        self._cut()

    def _cut(self) -> None:
        """Keep the most promising rows, in the order of their certainty."""
        order = np.lexsort((self._numbers, self._certainty))[: self._size]
        self._numbers, self._certainty = self._numbers[order], self._certainty[order]
        self._rows, self._keys, self._notes = (
            [items[i] for i in order.tolist()] for items in (self._rows, self._keys, self._notes)
        )

    def chosen(self, model: Model) -> list[tuple[int, float, Any]]:
        """The number, the certainty and the note of each chosen row, the best one first.

        Each choice counts as learned: the variances of its features fall, as AROW would make them fall after the row
        has come LEARNED times.  So rows that are like it become more certain, and others come next.
        """
        told = _Told(model, self._rows)
        if not self._rows:
            return []
        certainties = self._certainty + (CERTAIN * float(np.mean(self._certainty)) or 1.0)
        answer = []
        for _ in range(min(self._n, len(self._rows))):
            best = int(np.argmin(certainties / told.deviations()))
            answer.append(best)
            certainties[best] = np.inf
            told.learn(best)
        return [(int(self._numbers[i]), float(self._certainty[i]), self._notes[i]) for i in answer]


class _Told:
    """What the variances of rows would be if some of their labels were told: for each weight its variance alone.

    Several labels count by the mean of their variances.  A kernel has no weights: there all features are alike.
    """

    def __init__(self, model: Model, rows: list[Row]) -> None:
        self._ends = np.append(0, np.cumsum([len(columns) for columns, _ in rows])).astype(np.int64)
        self._row_of = np.repeat(np.arange(len(rows)), np.diff(self._ends))
        columns = np.concatenate([NO_COLUMNS, *(columns for columns, _ in rows)])
        used, self._columns = np.unique(columns, return_inverse=True)
        self._squares = np.concatenate([NONE, *(values for _, values in rows)]) ** 2
        state = model.predictor
        self._variance = np.full(len(used), state.prior_variance)
        self._intercept = state.prior_variance
        if isinstance(state, LinearState) and model.rule.second_order:
            known = used < state.n_features  # others are new to the model
            by_label = state.variance[np.append(0, used[known] + 1)].astype(np.float64)
            mean = by_label.mean(axis=1) if by_label.ndim > 1 else by_label
            self._intercept, self._variance[known] = float(mean[0]), mean[1:]
        self._intercept *= model.bias**2
        with np.errstate(over="ignore"):
            self._first = self._quadratic()
        self._noise = max(float(np.mean(self._first)), 1e-300) / LEARNED

    def _quadratic(self) -> NDArray[np.float64]:
        sums = np.bincount(self._row_of, self._squares * self._variance[self._columns], len(self._ends) - 1)
        quadratic: NDArray[np.float64] = np.maximum(sums + self._intercept, 1e-300)
        return quadratic

    def deviations(self) -> NDArray[np.float64]:
        """By row, the part of its deviation that is left."""
        with np.errstate(over="ignore", invalid="ignore"):
            left = np.sqrt(self._quadratic() / self._first)
        left[np.isnan(left)] = 1.0
        return left

    def learn(self, row: int) -> None:
        """Let the variances fall as if the label of the row were told."""
        part = slice(self._ends[row], self._ends[row + 1])
        columns = self._columns[part]
        with np.errstate(over="ignore"):
            gains = self._squares[part] / self._noise
            self._variance[columns] /= 1 + gains * self._variance[columns]
