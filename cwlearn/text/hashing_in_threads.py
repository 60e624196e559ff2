"""Rows of many documents, hashed by several threads; the result does not depend on their number."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cwlearn.text.hashing import GrowingRows

MOST_DOCUMENTS = 256  # in a slice
MOST_ENTRIES = 1 << 17  # about, in a slice: they stay in the cache until they are copied
LEAST_SIZE = 100_000  # characters that are worth a second thread

Arrays = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[Any]]  # indptr, indices, values
Append = Callable[[GrowingRows, Any, int], None]  # takes a slice of documents, and the number of its first one


class Sliceable(Protocol):
    """Documents that slices can be taken of."""

    def __len__(self) -> int: ...

    def __getitem__(self, part: slice, /) -> Any: ...


class GrowingMemory:
    """An ArraySource whose arrays keep what is in them, without a copy where the system can."""

    def __init__(self) -> None:
        self.arrays: dict[str, NDArray[Any]] = {}

    def array(self, name: str, size: int, dtype: Any, /) -> NDArray[Any]:
        array = self.arrays.get(name)
        if array is None:
            array = self.arrays[name] = np.empty(size, dtype)
        elif len(array) < size:
            array.resize(size, refcheck=False)
        return array


class _Matrix:
    """The arrays of all rows, which threads copy their slices into as soon as the place of a slice is known."""

    def __init__(self, n_rows: int, n_slices: int, dtype: Any) -> None:
        self.indptr: NDArray[np.int64] = np.zeros(n_rows + 1, np.int64)
        self.indices: NDArray[np.int32] = np.empty(0, np.int32)
        self.values: NDArray[Any] = np.empty(0, dtype)
        self._n_slices = n_slices
        self._lengths: dict[int, int] = {}  # entries of slices, by number, of which the place is not known yet
        self._starts = [0]  # the first entry of each slice of which the place is known
        self._copying = 0  # threads that copy; the arrays must not move then
        self._abandoned = False
        self._changed = threading.Condition()

    def announce(self, number: int, nnz: int) -> None:
        """Say how many entries a slice has."""
        with self._changed:
            self._lengths[number] = nnz
            while (last := len(self._starts) - 1) in self._lengths:
                self._starts.append(self._starts[-1] + self._lengths.pop(last))
            self._changed.notify_all()

    def is_placed(self, number: int, wait: bool) -> bool:
        """Whether the place of a slice is known; wait until it is, unless it never will be."""
        with self._changed:
            if wait:
                self._changed.wait_for(lambda: number < len(self._starts) or self._abandoned)
            return number < len(self._starts)

    def abandon(self) -> None:
        """Have no thread wait for slices that will never come."""
        with self._changed:
            self._abandoned = True
            self._changed.notify_all()

    def copy(self, number: int, row: int, rows: GrowingRows, first: int, stop: int) -> None:
        """Copy a slice: the rows from `first` to `stop`, which begin at `row` of the matrix."""
        low, high = int(rows.indptr[first]), int(rows.indptr[stop])
        start = self._starts[number]
        end = start + high - low
        with self._changed:
            self._changed.wait_for(lambda: end <= len(self.indices) or not self._copying)
            if end > len(self.indices):
                self._grow(int(1.1 * end * self._n_slices / (number + 1)) + 1024)
            self._copying += 1
        self.indptr[row + 1 : row + 1 + stop - first] = rows.indptr[first + 1 : stop + 1] + (start - low)
        self.indices[start:end] = rows.indices[low:high]
        self.values[start:end] = rows.values[low:high]
        with self._changed:
            self._copying -= 1
            self._changed.notify_all()

    def _grow(self, size: int) -> None:
        indices, values = np.empty(size, np.int32), np.empty(size, self.values.dtype)
        indices[: len(self.indices)], values[: len(self.values)] = self.indices, self.values
        self.indices, self.values = indices, values

    def arrays(self) -> Arrays:
        nnz = self._starts[-1]
        self.indices.resize(nnz, refcheck=False)
        self.values.resize(nnz, refcheck=False)
        return self.indptr, self.indices, self.values


class _Work:
    """The slices that threads take, one after the other."""

    def __init__(self, documents: Sliceable, step: int, append: Append, dtype: Any) -> None:
        self.documents, self.step, self.append, self.dtype = documents, step, append, dtype
        self.n_slices = -(-len(documents) // step)
        self.matrix = _Matrix(len(documents), self.n_slices, dtype)
        self.next = 0
        self.lock = threading.Lock()
        self.errors: dict[int, BaseException] = {}  # by slice

    def take(self) -> int | None:
        """The number of the next slice; none after an error.  All slices before that error have been taken then."""
        with self.lock:
            if self.errors or self.next == self.n_slices:
                return None
            self.next += 1
            return self.next - 1

    def stop(self) -> None:
        with self.lock:
            self.next = self.n_slices
        self.matrix.abandon()

    def run(self) -> None:
        """Make the rows of slices, in memory that is used again, until there are none left."""
        rows = GrowingRows(GrowingMemory(), self.dtype)
        waiting: list[tuple[int, int, int]] = []  # slices in `rows`: number, first row, the row behind the last
        while (number := self.take()) is not None:
            if not waiting:
                rows.n_rows = 0
            first, start = rows.n_rows, number * self.step
            try:
                self.append(rows, self.documents[start : start + self.step], start)
            except BaseException as error:
                self.errors[number] = error
                self.matrix.abandon()
                return
            self.matrix.announce(number, rows.nnz - int(rows.indptr[first]))
            waiting.append((number, first, rows.n_rows))
            waiting = [part for part in waiting if not self._copied(rows, part, wait=False)]
        for part in waiting:
            self._copied(rows, part, wait=True)

    def _copied(self, rows: GrowingRows, part: tuple[int, int, int], wait: bool) -> bool:
        number, first, stop = part
        if not self.matrix.is_placed(number, wait):
            return False
        self.matrix.copy(number, number * self.step, rows, first, stop)
        return True


def hash_slices(
    documents: Sliceable, size: int, entries: int, append: Append, dtype: Any, threads: Callable[[], int]
) -> Arrays:
    """`indptr`, `indices` and `values` of the rows that `append` makes of slices of the documents.

    `size` is about how many characters all documents have, `entries` how many entries their rows have.
    """
    wanted = threads() if size >= LEAST_SIZE else 1
    n = len(documents)
    step = max(1, min(MOST_DOCUMENTS, n // (8 * wanted), n * MOST_ENTRIES // max(1, entries)))
    work = _Work(documents, step, append, dtype)
    if (workers := min(wanted, work.n_slices)) == 1:
        work.run()
    else:
        _in_threads(work, workers)
    if work.errors:
        raise work.errors[min(work.errors)]
    return work.matrix.arrays()


def _in_threads(work: _Work, workers: int) -> None:
    with ThreadPoolExecutor(workers) as pool:
        try:
            for future in [pool.submit(work.run) for _ in range(workers)]:
                future.result()
        except BaseException:  # an interruption: leaving the block waits for the threads
            work.stop()
            raise
