"""Where rows wait between two epochs: in memory while they fit, else in a file without a name."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from cwlearn.core.rows import Rows
from cwlearn.core.training import Training, orders
from cwlearn.native import check_rows
from cwlearn.utils.growable import GrowableArray
from cwlearn.utils.pipeline import in_order

Piece = tuple[Rows, NDArray[np.float64], NDArray[np.int64]]  # rows, their labels, the order to learn them in


class MemoryStore:
    """Rows in memory, one after the other."""

    def __init__(self, dtype: Any, most: int = 1 << 40) -> None:
        """`most` is more bytes than there will be."""
        names = {"ends": np.int64, "indices": np.int32, "values": dtype, "squares": float, "labels": float}
        self._arrays = {name: GrowableArray(kind) for name, kind in {**names, "queries": np.int64}.items()}
        self._arrays["ends"].append(np.zeros(1, np.int64))
        self._most = most
        self.n_features = 0

    def add(
        self, rows: Rows, labels: NDArray[np.float64], queries: NDArray[np.int64] | None = None, fraction: float = 0
    ) -> None:
        """Copy rows; `fraction` is the part of all rows that have then been added, if known."""
        added = {
            "ends": rows.indptr[1:] + self._arrays["indices"].size,
            "indices": rows.indices,
            "values": rows.values,
            "squares": rows.squares,
            "labels": labels,
            **({} if queries is None else {"queries": queries}),
        }
        for name, items in added.items():
            array = self._arrays[name]
            expected = int((array.size + len(items)) / fraction * 1.02) if fraction else 0
            array.append(items, min(expected, self._most // max(array.dtype.itemsize, items.itemsize)))
        self.n_features = max(self.n_features, rows.n_features)

    @property
    def nbytes(self) -> int:
        return sum(array.values.nbytes for array in self._arrays.values())

    @property
    def rows(self) -> Rows:
        ends, indices, values, squares = (
            self._arrays[name].values for name in ("ends", "indices", "values", "squares")
        )
        return Rows(ends, indices, values, squares, self.n_features)

    @property
    def labels(self) -> NDArray[np.float64]:
        return self._arrays["labels"].values

    @property
    def queries(self) -> NDArray[np.int64]:
        return self._arrays["queries"].values

    def pieces(self, training: Training, random_state: np.random.RandomState) -> Generator[Piece, None, None]:
        """For every epoch, all rows, in a random order if so wished: as `fit` takes them."""
        for order in orders(self.rows.n_rows, training, random_state):
            yield self.rows, self.labels, order

    def close(self) -> None:
        pass


@dataclass(frozen=True)
class _Block:
    """Where some rows are in the file."""

    offset: int
    n_rows: int
    nnz: int
    index_dtype: np.dtype[Any]
    all_ones: bool  # the values are not stored
    nbytes: int  # in memory


class DiskStore:
    """Rows in a file that has no name, so that nothing stays behind however the program ends.

    Blocks of rows are taken in the order in which they were added or, with `shuffle`, in a new random order in every
    epoch; as many as a quarter of `memory` holds are put together, and their rows shuffled among each other.
    """

    def __init__(self, dtype: Any, memory: int) -> None:
        import tempfile

        self._dtype = np.dtype(dtype)
        self._window = max(1, memory // 4)  # one is learned from, one is being read, each beside its parts
        self._blocks: list[_Block] = []
        self.n_features = 0
        self._file: IO[bytes] = tempfile.TemporaryFile(prefix="cwlearn-", buffering=0)  # noqa: SIM115

    def add(self, rows: Rows, labels: NDArray[np.float64], *, fraction: float = 0) -> None:
        """Write rows to the file: lengths and labels, indices, values; a file needs no `fraction` to grow."""
        all_ones = bool((rows.values == 1).all())
        parts = [np.diff(rows.indptr), labels, rows.indices, *([] if all_ones else [rows.values])]
        offset = self._file.tell()
        try:
            for part in parts:
                view = memoryview(np.ascontiguousarray(part).view(np.uint8))  # type: ignore[arg-type]
                while view:
                    view = view[self._file.write(view) :]
        except OSError as error:
            raise OSError(
                error.errno,
                f"{error.strerror}, while writing the cache for more epochs: more --memory, --epochs 1 or another "
                f"folder in TMPDIR would help",
            ) from None
        nbytes = sum(array.nbytes for array in (rows.indptr, rows.indices, rows.values, rows.squares, labels))
        self._blocks.append(_Block(offset, rows.n_rows, len(rows.values), rows.indices.dtype, all_ones, nbytes))
        self.n_features = max(self.n_features, rows.n_features)

    def _read(self, block: _Block) -> tuple[Rows, NDArray[np.float64]]:
        def array(dtype: Any, count: int) -> NDArray[Any]:
            numbers = np.empty(count, dtype)
            view = memoryview(numbers.view(np.uint8))  # type: ignore[arg-type]
            while view:
                try:
                    done = self._file.readinto(view)  # type: ignore[attr-defined]
                except OSError as error:
                    raise OSError(error.errno, f"{error.strerror}, while reading the cache for more epochs") from None
                if not done:
                    raise OSError("the cache for more epochs is cut short")
                view = view[done:]
            return numbers

        self._file.seek(block.offset)
        indptr = np.zeros(block.n_rows + 1, np.int64)
        np.cumsum(array(np.int64, block.n_rows), out=indptr[1:])
        labels = array(np.float64, block.n_rows)
        indices = array(block.index_dtype, block.nnz)
        values = np.ones(block.nnz, self._dtype) if block.all_ones else array(self._dtype, block.nnz)
        squares = np.empty(block.n_rows)
        check_rows(squares, indptr, indices, values, self.n_features)
        return Rows(indptr, indices, values, squares, self.n_features), labels

    def pieces(self, training: Training, random_state: np.random.RandomState) -> Generator[Piece, None, None]:
        """For every epoch, windows of rows; the next one is read while the last one is learned from."""
        plan = self._windows(training, random_state)
        return in_order(lambda _: next(plan, None), lambda take, _: take(), [None, None], threads=1)

    def _windows(self, training: Training, random_state: np.random.RandomState) -> Iterator[Callable[[], Piece]]:
        for _ in range(training.epochs):
            numbers = np.arange(len(self._blocks))
            if training.shuffle:
                random_state.shuffle(numbers)
            window: list[_Block] = []
            size = 0
            for number in numbers:
                block = self._blocks[number]
                if window and size + block.nbytes > self._window:
                    yield self._window_of(window, training, random_state)
                    window, size = [], 0
                window.append(block)
                size += block.nbytes
            if window:
                yield self._window_of(window, training, random_state)

    def _window_of(
        self, blocks: list[_Block], training: Training, random_state: np.random.RandomState
    ) -> Callable[[], Piece]:
        order = np.arange(sum(block.n_rows for block in blocks))
        if training.shuffle:
            random_state.shuffle(order)

        def read() -> Piece:
            store = MemoryStore(self._dtype)
            total, added = sum(block.nbytes for block in blocks), 0
            for block in blocks:
                added += block.nbytes
                store.add(*self._read(block), fraction=added / total)
            return store.rows, store.labels, order

        return read

    def close(self) -> None:
        self._file.close()
