"""Rows that are kept between two epochs: in memory while they fit, else in a temporary file."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cwlearn.core.rows import Rows
from cwlearn.core.states.base import ALL_FRESH
from cwlearn.core.training import Plan, Training
from cwlearn.native import check_rows
from cwlearn.utils.growable import GrowableArray
from cwlearn.utils.pipeline import read_ahead

DAMAGED = "the cache for more epochs is damaged"


class Piece(NamedTuple):
    """Rows and their labels, and how to learn them: an `Epoch`, in this order; None: as they are."""

    rows: Rows
    labels: NDArray[np.float64]
    order: NDArray[np.int64] | None = None
    fresh: NDArray[np.uint8] = ALL_FRESH
    settled: bool = False
    repeated: bool = False


class MemoryStore:
    """Rows in memory, one after the other."""

    def __init__(self, dtype: Any, most_bytes: int = 1 << 40) -> None:
        """`most_bytes` bounds what is allocated on a guess."""
        dtypes: dict[str, Any] = {
            "ends": np.int64,
            "indices": np.int32,
            "values": dtype,
            "squares": np.float64,
            "labels": np.float64,
            "queries": np.int64,
            "weights": np.float64,  # of rows; empty while all are 1
            "extras": dtype,
        }
        self._arrays = {name: GrowableArray(kind) for name, kind in dtypes.items()}
        self._arrays["ends"].append(np.zeros(1, np.int64))
        self._most_bytes = most_bytes
        self.n_features = 0

    def add(
        self, rows: Rows, labels: NDArray[np.float64], queries: NDArray[np.int64] | None = None, fraction: float = 0
    ) -> None:
        """Copy rows; `fraction` is the part of all rows that has been added by then, 0 if it is not known."""
        added: dict[str, NDArray[Any]] = {
            "ends": rows.indptr[1:] + self._arrays["indices"].size,
            "indices": rows.indices,
            "values": rows.values,
            "squares": rows.squares,
            "labels": labels,
            **({} if queries is None else {"queries": queries}),
            **({} if rows.extras is None else {"extras": rows.extras}),
            **self._added_weights(rows),
        }
        for name, items in added.items():
            array = self._arrays[name]
            expected = int((array.size + len(items)) / fraction * 1.02) if fraction else 0
            array.append(items, min(expected, self._most_bytes // max(array.dtype.itemsize, items.itemsize)))
        self.n_features = max(self.n_features, rows.n_features)

    def _added_weights(self, rows: Rows) -> dict[str, NDArray[Any]]:
        """The weights of rows that are added; with the first ones other than 1, all those before."""
        weights = self._arrays["weights"]
        if rows.weights is None and not weights.size:
            return {}
        before = np.ones(0 if weights.size else self._arrays["squares"].size)
        return {"weights": np.append(before, np.ones(rows.n_rows) if rows.weights is None else rows.weights)}

    @property
    def nbytes(self) -> int:
        return sum(array.values.nbytes for array in self._arrays.values())

    @property
    def rows(self) -> Rows:
        ends, indices, values, squares = (
            self._arrays[name].values for name in ("ends", "indices", "values", "squares")
        )
        weights, extras = (self._arrays[name].values for name in ("weights", "extras"))
        return Rows(
            ends,
            indices,
            values,
            squares,
            self.n_features,
            weights if len(weights) else None,
            extras if len(extras) else None,
        )

    def set_values(self, rows: Rows) -> None:
        """Take over the values of the same rows, changed."""
        self._arrays["values"].values[:] = rows.values
        self._arrays["squares"].values[:] = rows.squares
        self._arrays["extras"] = GrowableArray(rows.values.dtype)  # they are among the values now

    @property
    def labels(self) -> NDArray[np.float64]:
        return self._arrays["labels"].values

    @property
    def queries(self) -> NDArray[np.int64]:
        return self._arrays["queries"].values

    def parts(self) -> Iterator[tuple[Rows, NDArray[np.float64], NDArray[np.int64]]]:
        """All rows with their labels and their numbers."""
        yield self.rows, self.labels, np.arange(self.rows.n_rows)

    def pieces(
        self, plan: Plan, training: Training, random_state: np.random.RandomState
    ) -> Generator[Piece, None, None]:
        """The rows of every epoch, in a new random order with `shuffle`, as `fit` takes them."""
        for epoch in plan.epochs(random_state):
            yield Piece(self.rows, self.labels, *epoch)

    def close(self) -> None:
        pass


@dataclass(frozen=True, eq=False, repr=False)
class _Block:
    """Where some rows are in the file."""

    offset: int
    first: int  # the number of its first row among all
    n_rows: int
    nnz: int
    index_dtype: np.dtype[Any]
    all_ones: bool  # the values are not stored
    weighted: bool  # there are weights of rows
    extras: bool
    nbytes: int  # in memory


class DiskStore:
    """Rows in a file without a name, so that nothing stays behind however the program ends.

    Blocks of rows are read in the order in which they were added or, with `shuffle`, in a new random order in every
    epoch.  A window is as many blocks as fit into a quarter of `memory`; the rows of a window are shuffled together.
    """

    def __init__(self, dtype: Any, memory: int) -> None:
        import tempfile

        self._dtype = np.dtype(dtype)
        self._window_bytes = max(1, memory // 4)  # one is learned from, one is being read, each beside its blocks
        self._blocks: list[_Block] = []
        self._n_rows = 0
        self.n_features = 0
        self._file: IO[bytes] = tempfile.TemporaryFile(prefix="cwlearn-", buffering=0)  # noqa: SIM115

    def add(self, rows: Rows, labels: NDArray[np.float64], *, fraction: float = 0) -> None:
        """Write rows to the file, as `_read` reads them.  A file needs no `fraction` to grow."""
        all_ones = bool((rows.values == 1).all())
        optional = (rows.weights, rows.extras)
        parts = [np.diff(rows.indptr), labels, rows.indices, *([] if all_ones else [rows.values])]
        parts += [part for part in optional if part is not None]
        offset = self._file.tell()
        try:
            for part in parts:
                view = memoryview(np.ascontiguousarray(part).view(np.uint8))  # type: ignore[arg-type]
                while view:
                    view = view[self._file.write(view) :]
        except OSError as error:
            raise OSError(
                error.errno,
                f"{error.strerror}, while writing the cache for more epochs: more `memory`, `epochs` 1 or another "
                f"folder in TMPDIR would help",
            ) from None
        arrays = (rows.indptr, rows.indices, rows.values, rows.squares, labels, *optional)
        nbytes = sum(array.nbytes for array in arrays if array is not None)
        weighted, with_extras = rows.weights is not None, rows.extras is not None
        block = _Block(
            offset, self._n_rows, rows.n_rows, len(rows.values), rows.indices.dtype, all_ones, weighted, with_extras,
            nbytes,
        )  # fmt: skip
        self._blocks.append(block)
        self._n_rows += rows.n_rows
        self.n_features = max(self.n_features, rows.n_features)

    def _array(self, dtype: Any, count: int) -> NDArray[Any]:
        """The next numbers in the file."""
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

    def _read(self, block: _Block) -> tuple[Rows, NDArray[np.float64]]:
        """The rows of a block.  A kernel trusts them, and a disk can be damaged: they are checked."""
        self._file.seek(block.offset)
        lengths = self._array(np.int64, block.n_rows)
        labels = self._array(np.float64, block.n_rows)
        indices = self._array(block.index_dtype, block.nnz)
        values = np.ones(block.nnz, self._dtype) if block.all_ones else self._array(self._dtype, block.nnz)
        weights = self._array(np.float64, block.n_rows) if block.weighted else None
        extras = self._array(self._dtype, block.nnz) if block.extras else None
        indptr = np.zeros(block.n_rows + 1, np.int64)
        np.cumsum(lengths, out=indptr[1:])
        if (lengths < 0).any() or indptr[-1] != block.nnz:
            raise OSError(DAMAGED)
        squares = np.empty(block.n_rows)
        first_bad_row, sorted_columns = check_rows(squares, indptr, indices, values, self.n_features)
        sound = first_bad_row < 0 and sorted_columns and np.isfinite(squares).all()
        if not sound or not all(part is None or np.isfinite(part).all() for part in (weights, extras)):
            raise OSError(DAMAGED)
        return Rows(indptr, indices, values, squares, self.n_features, weights, extras), labels

    def parts(self) -> Iterator[tuple[Rows, NDArray[np.float64], NDArray[np.int64]]]:
        """All rows with their labels and their numbers, block by block."""
        for block in self._blocks:
            yield *self._read(block), np.arange(block.first, block.first + block.n_rows)

    def pieces(
        self, plan: Plan, training: Training, random_state: np.random.RandomState
    ) -> Generator[Piece, None, None]:
        """The windows of every epoch; the next one is read while the last one is learned from."""
        return read_ahead(self._windows(plan, training, random_state))

    def _windows(self, plan: Plan, training: Training, random_state: np.random.RandomState) -> Iterator[Piece]:
        for epoch in range(plan.n_epochs):
            numbers = np.arange(len(self._blocks))
            if training.shuffle:
                random_state.shuffle(numbers)
            blocks: list[_Block] = []
            size = 0
            for number in numbers:
                block = self._blocks[number]
                if blocks and size + block.nbytes > self._window_bytes:
                    yield self._window(plan, epoch, blocks, training, random_state)
                    blocks, size = [], 0
                blocks.append(block)
                size += block.nbytes
            if blocks:
                yield self._window(plan, epoch, blocks, training, random_state)

    def _window(
        self, plan: Plan, epoch: int, blocks: list[_Block], training: Training, random_state: np.random.RandomState
    ) -> Piece:
        order = np.arange(sum(block.n_rows for block in blocks))
        if training.shuffle:
            random_state.shuffle(order)
        store = MemoryStore(self._dtype)
        total, added = sum(block.nbytes for block in blocks), 0
        for block in blocks:
            added += block.nbytes
            store.add(*self._read(block), fraction=added / total)
        numbers = np.concatenate([np.arange(block.first, block.first + block.n_rows) for block in blocks])
        return Piece(store.rows, store.labels, *plan.epoch(epoch, order, numbers))

    def close(self) -> None:
        self._file.close()
