"""Document frequencies: how many documents have a feature.  They grow with the stream."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cwlearn.core._frequencies import NORMS, weigh_before_and_after, weigh_rows
from cwlearn.core.rows import Rows


class Frequencies:
    """How many documents have each feature.

    A model learns in one pass with the frequencies so far, those of the row included; in several epochs, with those of
    all rows, which are counted first.  It predicts with those of all rows that it has learned.

    The extras of rows are not features of a text: they are not counted, and are added to the weighed values as they
    are.  So an entry without a value belongs to extras alone.
    """

    def __init__(self, n_features: int, norm: str | None) -> None:
        self.counts: NDArray[np.uint32] = np.zeros(n_features, np.uint32)
        self._documents: NDArray[np.int64] = np.zeros(1, np.int64)
        self._norm = NORMS[norm]

    @property
    def n_documents(self) -> int:
        """How many documents were counted."""
        return int(self._documents[0])

    @n_documents.setter
    def n_documents(self, number: int) -> None:
        self._documents[0] = number

    def count(self, rows: Rows) -> None:
        """Count the features of rows."""
        self._go_through(rows, count=True, weigh=False)

    def add(self, other: Frequencies) -> None:
        """Add the counts of other documents."""
        total = FrequencySum()
        total.add(self)
        total.add(other)
        total.put_into(self)

    def forget(self, rows: Rows) -> None:
        """Take back the counts of rows that were counted and could not be learned."""
        counted = rows.indices if rows.extras is None else rows.indices[rows.values != 0]
        np.subtract.at(self.counts, counted, 1)
        self.n_documents -= rows.n_rows

    def weigh(self, rows: Rows) -> Rows:
        """The rows with weighted values, and of the length 1."""
        return self._go_through(rows, count=False, weigh=True)

    def count_and_weigh(self, rows: Rows) -> Rows:
        """Both, row by row."""
        return self._go_through(rows, count=True, weigh=True)

    def weigh_one(self, row: Rows, count: bool) -> NDArray[Any]:
        """The weighted values of one row without extras, in the place of its own values; `count` counts it first."""
        values = row.values
        weigh_rows(
            self.counts, self._documents, row.indptr, row.indices, values, values[:0], values,
            row.squares, np.empty(len(values) + 1), self._norm, count, True,
        )  # fmt: skip
        return values

    def before_and_after(self, rows: Rows, counted: NDArray[np.uint8]) -> tuple[Rows, Rows]:
        """The rows weighed by the documents before each, and those with a 1 in `counted`, which count, with themselves.

        The second rows are not weighed where nothing is counted.
        """
        copies = [(rows.values.copy(), rows.squares.copy()) for _ in range(2)]
        indices = np.asarray(rows.indices, np.int32)
        extras = np.empty(0, rows.values.dtype) if rows.extras is None else rows.extras
        room = np.empty(max(1, rows.longest))
        weigh_before_and_after(
            self.counts, self._documents, rows.indptr, indices, *copies[0], *copies[1], extras,
            (counted == 1).view(np.uint8), room, self._norm,
        )  # fmt: skip
        before, after = (Rows(rows.indptr, indices, *copy, rows.n_features, rows.weights) for copy in copies)
        return before, after

    def _go_through(self, rows: Rows, count: bool, weigh: bool) -> Rows:
        values = rows.values
        weighed, squares = (np.empty_like(values), np.empty(rows.n_rows)) if weigh else (values, rows.squares)
        room = np.empty(max(1, rows.longest))
        indices = np.asarray(rows.indices, np.int32)
        extras = np.empty(0, values.dtype) if rows.extras is None else rows.extras
        weigh_rows(
            self.counts, self._documents, rows.indptr, indices, values, extras, weighed, squares, room, self._norm,
            count, weigh,
        )  # fmt: skip
        extras_left = None if weigh else rows.extras
        return Rows(rows.indptr, rows.indices, weighed, squares, rows.n_features, rows.weights, extras_left)


class FrequencySum:
    """The sum of the frequencies of several models."""

    def __init__(self) -> None:
        self._counts: NDArray[np.int64] = np.zeros(0, np.int64)
        self._n_documents = 0

    def add(self, frequencies: Frequencies | None, times: int = 1) -> None:
        """Add those of a model, or subtract them; not all models have some."""
        if frequencies is not None:
            self._add(times * frequencies.counts.astype(np.int64), times * frequencies.n_documents)

    def __iadd__(self, other: FrequencySum) -> FrequencySum:
        self._add(other._counts, other._n_documents)
        return self

    def _add(self, counts: NDArray[np.int64], n_documents: int) -> None:
        self._counts = counts if not len(self._counts) else self._counts + counts if len(counts) else self._counts
        self._n_documents += n_documents

    def put_into(self, frequencies: Frequencies) -> None:
        frequencies.counts[:] = np.clip(self._counts, 0, np.iinfo(np.uint32).max)
        frequencies.n_documents = self._n_documents
