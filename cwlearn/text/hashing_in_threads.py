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
LEAST_SIZE = 100_000  # characters that are worth a second thread

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

    def trimmed(self, name: str, size: int) -> NDArray[Any]:
        array = self.arrays[name]
        array.resize(size, refcheck=False)
        return array


class _Worker:
    """A thread's rows, and which slices they are of."""

    def __init__(self, dtype: Any) -> None:
        self.memory = GrowingMemory()
        self.rows = GrowingRows(self.memory, dtype)
        self.slices: list[tuple[int, int, int]] = []  # number of the slice, its first row here, the row behind it


class _Work:
    """The slices that threads take, one after the other."""

    def __init__(self, documents: Sliceable, step: int, append: Append) -> None:
        self.documents, self.step, self.append = documents, step, append
        self.n_slices = -(-len(documents) // step)
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

    def run(self, worker: _Worker) -> None:
        while (number := self.take()) is not None:
            first, start = worker.rows.n_rows, number * self.step
            try:
                self.append(worker.rows, self.documents[start : start + self.step], start)
            except BaseException as error:
                self.errors[number] = error
                return
            worker.slices.append((number, first, worker.rows.n_rows))


def hash_slices(
    documents: Sliceable, size: int, append: Append, dtype: Any, threads: Callable[[], int]
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[Any]]:
    """`indptr`, `indices` and `values` of the rows that `append` makes of slices of the documents.

    `size` is about how many characters all documents have.
    """
    wanted = threads() if size >= LEAST_SIZE else 1
    step = max(1, min(MOST_DOCUMENTS, len(documents) // (8 * wanted)))
    work = _Work(documents, step, append)
    workers = [_Worker(dtype) for _ in range(min(wanted, work.n_slices))]
    if len(workers) == 1:
        work.run(workers[0])
    else:
        _in_threads(work.run, workers, work.stop)
    if work.errors:
        raise work.errors[min(work.errors)]
    return _trimmed(workers[0]) if len(workers) == 1 else _assembled(workers, len(documents), dtype)


def _in_threads(task: Callable[[_Worker], None], workers: list[_Worker], stop: Callable[[], None]) -> None:
    with ThreadPoolExecutor(len(workers)) as pool:
        try:
            for future in [pool.submit(task, worker) for worker in workers]:
                future.result()
        except BaseException:  # an interruption: leaving the block waits for the threads
            stop()
            raise


def _trimmed(worker: _Worker) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[Any]]:
    n_rows, nnz, memory = worker.rows.n_rows, worker.rows.nnz, worker.memory
    return memory.trimmed("indptr", n_rows + 1), memory.trimmed("indices", nnz), memory.trimmed("values", nnz)


def _assembled(
    workers: list[_Worker], n_rows: int, dtype: Any
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[Any]]:
    """The rows of all threads, in the order of the documents."""
    starts = _starts(workers)
    nnz = sum(worker.rows.nnz for worker in workers)
    indptr, indices, values = np.empty(n_rows + 1, np.int64), np.empty(nnz, np.int32), np.empty(nnz, dtype)
    indptr[0] = 0

    def copy(worker: _Worker) -> None:
        from_indptr, from_indices, from_values, _ = worker.rows.parts()
        for number, first, stop in worker.slices:
            row, entry = starts[number]
            low, high = int(from_indptr[first]), int(from_indptr[stop])
            indptr[row + 1 : row + 1 + stop - first] = from_indptr[first + 1 : stop + 1] + (entry - low)
            indices[entry : entry + high - low] = from_indices[low:high]
            values[entry : entry + high - low] = from_values[low:high]

    _in_threads(copy, workers, lambda: None)
    return indptr, indices, values


def _starts(workers: list[_Worker]) -> list[tuple[int, int]]:
    """By slice: the first row and the first entry in the matrix."""
    lengths: dict[int, tuple[int, int]] = {}
    for worker in workers:
        indptr = worker.rows.indptr
        for number, first, stop in worker.slices:
            lengths[number] = stop - first, int(indptr[stop] - indptr[first])
    starts, row, entry = [], 0, 0
    for number in range(len(lengths)):
        starts.append((row, entry))
        row, entry = row + lengths[number][0], entry + lengths[number][1]
    return starts
