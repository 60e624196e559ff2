"""The diagonal Gaussian over the weights: its numbers, and the two passes over rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cwlearn.core.rows import Rows
from cwlearn.core.states.base import (
    NONE,
    Arrays,
    KernelRule,
    LinearState,
    Weights,
    check_finite,
    check_layout,
    check_memory,
    scratch_of,
    touched,
)
from cwlearn.native import learn_rows, margin_rows

WEIGHTS_AT_ONCE = 1 << 18  # of those that are read from a file, or changed: a few megabytes


def _longer(array: NDArray[Any], size: int) -> NDArray[Any]:
    """An array of `size` rows that begins with `array`: a view of the memory that `array` is the beginning of, or of
    new memory with room for half as many again, which costs nothing until it is touched."""
    room = array.base
    if not (isinstance(room, np.ndarray) and room.dtype == array.dtype and room.shape[1:] == array.shape[1:]
            and room.ctypes.data == array.ctypes.data and len(room) >= size):  # fmt: skip
        room = np.empty((max(size, len(array) + len(array) // 2), *array.shape[1:]), array.dtype)
        room[: len(array)] = array
    return room[:size]


class DiagonalState(LinearState):
    """Cells of (mean, variance): number 0 is the intercept, number j + 1 is feature j.

    With one block, mean and variance of a cell are numbers; with several, one for each label, lines of so many.
    """

    kind: ClassVar[str] = "diagonal"
    arrays_of: ClassVar[tuple[str, ...]] = ("cells", "average", "places")

    def __init__(
        self, n_features: int, blocks: int, initial_variance: float, floor: float, dtype: np.dtype[Any], averaged: bool
    ) -> None:
        super().__init__(blocks, initial_variance, floor, dtype)
        by_label = () if blocks == 1 else (blocks,)
        self.cells: NDArray[Any] = np.empty((0, 2, *by_label), dtype)
        self.average: NDArray[np.float64] = np.empty((0, *by_label)) if averaged else NONE
        self._averaged = averaged
        self.grow(n_features)

    @staticmethod
    def nbytes(n_features: int, blocks: int, dtype: np.dtype[Any], averaged: bool) -> int:
        """The memory that such a state takes."""
        return (n_features + 1) * blocks * (2 * dtype.itemsize + (8 if averaged else 0))

    def grow(self, n_features: int) -> None:
        old, size = len(self.cells), n_features + 1
        if size > old:
            self._check_memory(n_features)
            cells, average = _longer(self.cells, size), self.average
            if self.blocks == 1:  # both as one number: twice as fast
                cells.view(np.result_type(cells, np.complex64))[old:] = complex(0, self.initial_variance)
            else:
                cell = np.repeat(np.array([0, self.initial_variance], cells.dtype), self.blocks)
                cells.reshape(size, -1)[old:] = cell
            if self._averaged:
                average = _longer(average, size)
                average[old:] = 0
            self.cells, self.average = cells, average  # last, for whoever looks at them after an interruption

    def _check_memory(self, n_features: int) -> None:
        size, now = (
            self.nbytes(n, self.blocks, self.cells.dtype, self._averaged) for n in (n_features, self.n_features)
        )
        labels = f" x {self.blocks:,} labels" if self.blocks > 1 else ""
        check_memory(size, size - now, f"{n_features:,} features{labels}", "fewer or hashed ones")

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.cells.dtype

    @property
    def n_features(self) -> int:
        return len(self.cells) - 1

    @property
    def mean(self) -> NDArray[Any]:
        return self.cells[:, 0]

    @property
    def variance(self) -> NDArray[Any]:
        return self.cells[:, 1]

    @property
    def touched(self) -> NDArray[np.bool_]:
        return touched(self.mean, self.variance, self.average, self.prior_variance)

    def learn(
        self,
        rows: Rows,
        targets: NDArray[np.float64],
        weights: NDArray[np.float64],
        order: NDArray[np.int64],
        rule: KernelRule,
        counts: NDArray[np.void],
    ) -> int:
        return learn_rows(
            self.cells.reshape(-1),
            self.average.reshape(-1),
            *scratch_of(rows.longest, self.blocks, rule["constraints"]),
            rows.indptr,
            rows.indices,
            rows.values,
            rows.squares,
            targets,
            weights,
            order,
            rule,
            counts,
        )

    def margins(
        self, rows: Rows, bias: float, inclusive: bool, only_mean: bool = False
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        shape = (rows.n_rows, *self.cells.shape[2:])
        mean = np.empty(shape)
        variance = NONE if only_mean and self.blocks > 1 else np.empty(shape)
        margin_rows(
            mean.reshape(-1),
            variance.reshape(-1),
            np.empty(self.blocks + 3),
            self.cells.reshape(-1),
            *scratch_of(rows.longest, self.blocks),
            rows.indptr,
            rows.indices,
            rows.values,
            np.arange(rows.n_rows),
            bias,
            inclusive,
            self.blocks,
        )
        return mean, variance

    def changed(self, change: Callable[[NDArray[Any], NDArray[Any], NDArray[np.float64]], None]) -> DiagonalState:
        """A copy to predict with, after `change` has had its means and variances, and the averages, some at a time."""
        state = object.__new__(DiagonalState)
        state.blocks, state.initial_variance, state.floor = self.blocks, self.initial_variance, self.floor
        state.cells, state.average, state._averaged = self.cells.copy(), NONE, False
        for lines in _slices(len(state.cells), WEIGHTS_AT_ONCE // self.blocks):
            change(state.mean[lines], state.variance[lines], self.average[lines])
        return state

    # -- merging -------------------------------------------------------------------------------------------------------

    def natural(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        precision = np.divide(1, self.variance, dtype=np.float64)
        return precision, precision * self.mean

    def set_natural(self, precision: NDArray[np.float64], place: NDArray[np.float64]) -> None:
        covariance = 1 / precision
        covariance[precision == 1 / self.prior_variance] = self.prior_variance  # untouched, and stays so to the bit
        self.set_moments(covariance, place / precision)

    def moments(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return self.variance.astype(np.float64), self.mean.astype(np.float64)

    def set_moments(self, covariance: NDArray[np.float64], mean: NDArray[np.float64]) -> None:
        self.cells[:, 0] = mean
        self.cells[:, 1] = np.clip(covariance, self.floor, self.initial_variance)

    # -- model files ---------------------------------------------------------------------------------------------------

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All weights, or those that were touched, where that is smaller: `places` then tells which ones they are, by
        their number in the array of means."""
        cells, average, places = self.cells, self.average, np.empty(0, np.int64)
        pair = 2 * cells.itemsize
        if sum(map(len, self._touched_places())) * (pair + places.itemsize) < cells.nbytes:
            places = np.concatenate([*self._touched_places()])
            at = places if self.blocks == 1 else np.divmod(places, self.blocks)  # feature and label
            cells = np.column_stack([self.mean[at], self.variance[at]])
            average = average[at] if average.size else average
        return {"cells": cells, "average": average, "places": places}

    def _touched_places(self) -> Iterator[NDArray[np.int64]]:
        """Some at a time; the first of all places is always there, so that there is one."""
        for lines in _slices(len(self.cells), WEIGHTS_AT_ONCE // self.blocks):
            found = touched(self.mean[lines], self.variance[lines], self.average[lines], self.prior_variance)
            found.reshape(-1)[0] |= lines.start == 0
            yield np.flatnonzero(found) + lines.start * self.blocks

    def check_layouts(self, n_features: int, arrays: Arrays) -> None:
        count = len(arrays["places"])
        shape = (count, 2) if count else (n_features + 1, *self.cells.shape[1:])
        check_layout("state", arrays["cells"], self.cells.dtype, shape)
        check_layout("average", arrays["average"], np.float64, (shape[0], *shape[2:]) if self._averaged else (0,))
        check_layout("places", arrays["places"], np.int64, (count,))

    def restored_bytes(self, n_features: int, arrays: Arrays) -> int:
        return self.nbytes(n_features + 1, self.blocks, self.cells.dtype, self._averaged)

    def restore(self, n_features: int, arrays: Arrays) -> None:
        """With room for one feature more, so that `predict` can add one for all that it has never seen."""
        self.check_layouts(n_features, arrays)
        self._check_memory(n_features)
        size, sparse = n_features + 1, len(arrays["places"]) > 0
        if sparse:
            self.grow(n_features + 1)
            self.cells, self.average = self.cells[:size], self.average[:size]
        else:  # all of them will be filled
            self.cells = np.empty((size + 1, *self.cells.shape[1:]), self.cells.dtype)[:size]
            self.average = np.empty((size + 1, *self.average.shape[1:]))[:size] if self._averaged else NONE
        for at, cells, average in self._parts(n_features, arrays):
            if not sparse:
                self.cells[at] = cells
            else:
                if self.blocks > 1:
                    at = np.divmod(at, self.blocks)  # feature and label
                self.mean[at], self.variance[at] = cells[:, 0], cells[:, 1]
            if self._averaged:
                self.average[at] = average

    def stored(self, n_features: int, arrays: Arrays) -> Iterator[Weights]:
        self.check_layouts(n_features, arrays)
        for at, cells, average in self._parts(n_features, arrays):
            places = np.arange(at.start * self.blocks, at.stop * self.blocks) if isinstance(at, slice) else at
            yield Weights(places, cells[:, 0].reshape(-1), cells[:, 1].reshape(-1), average.reshape(-1))

    def _parts(self, n_features: int, arrays: Arrays) -> Iterator[tuple[Any, NDArray[Any], NDArray[np.float64]]]:
        """What a file has, some at a time, and checked: cells and averages, after the lines that they fill or, where
        only some of the weights are there, their places."""
        where, last = arrays["places"], -1
        for lines in _slices(len(arrays["cells"]), WEIGHTS_AT_ONCE // (1 if len(where) else self.blocks)):
            cells, places = arrays["cells"][lines], where[lines]
            average = arrays["average"][lines] if self._averaged else NONE
            check_finite("state", cells)
            check_finite("average", average)
            if not ((cells[:, 1] >= self.floor).all() and (cells[:, 1] <= self.initial_variance).all()):
                raise ValueError("its variances are not between the floor and the initial variance")
            if len(places):
                if places[0] <= last or not (places[1:] > places[:-1]).all():
                    raise ValueError("the places of its weights do not rise")
                last = int(places[-1])
                if last >= (n_features + 1) * self.blocks:
                    raise ValueError(f"its weight number {last} is not of its {n_features} features")
            yield places if len(places) else lines, cells, average


def _slices(count: int, step: int) -> Iterator[slice]:
    """So many lines, some at a time."""
    step = max(1, step)
    for start in range(0, count, step):
        yield slice(start, min(start + step, count))
