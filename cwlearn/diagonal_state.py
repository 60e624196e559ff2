"""The diagonal Gaussian over the weights: its numbers, and the two passes over rows."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cwlearn.native import learn_rows, margin_rows
from cwlearn.rows import Rows
from cwlearn.state import NONE, KernelRule, LinearState, check_layout, check_memory, scratch_of


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
        touched: NDArray[np.bool_] = (self.mean != 0) | (self.variance != self.cells.dtype.type(self.initial_variance))
        if self._averaged:  # a mean may have come back to 0
            touched |= self.average != 0
        return touched

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

    def with_average(self, rounds: int) -> DiagonalState:
        """The state whose mean is the average of the means held after each of `rounds` rounds.

        An update in round t counts for the rounds t..T, so the average is mu_T - (1/T) sum_t (t - 1) delta_t.
        """
        state = self._twin()
        if rounds:
            state.cells[:, 0] -= self.average / rounds
        return state

    def shifted(self, precision: float) -> DiagonalState:
        """The state with `precision` added to the precision of every weight, and precision * mean kept."""
        state = self._twin()
        state.cells[:] = self.cells / (1 + self.variance.astype(np.float64) * precision)[:, None]
        return state

    def _twin(self) -> DiagonalState:
        """A copy to predict with."""
        state = object.__new__(DiagonalState)
        state.blocks, state.initial_variance, state.floor = self.blocks, self.initial_variance, self.floor
        state.cells, state.average, state._averaged = self.cells.copy(), NONE, False
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
        touched = self.touched.reshape(-1)
        touched[0] = True  # so that there is a place
        pair = 2 * cells.itemsize
        if np.count_nonzero(touched) * (pair + places.itemsize) < touched.size * pair:
            places = np.flatnonzero(touched)
            cells = np.column_stack([half.reshape(-1)[places] for half in (self.mean, self.variance)])
            average = average.reshape(-1)[places] if average.size else average
        return {"cells": cells, "average": average, "places": places}

    def restore(self, n_features: int, arrays: dict[str, NDArray[Any]]) -> None:
        cells, average, places = arrays["cells"], arrays["average"], arrays["places"]
        size = n_features + 1
        shape = (len(places), 2) if places.size else (size, *self.cells.shape[1:])
        check_layout("state", cells, self.cells.dtype, shape)
        check_layout("average", average, np.float64, (shape[0], *shape[2:]) if self._averaged else (0,))
        if not ((cells[:, 1] >= self.floor).all() and (cells[:, 1] <= self.initial_variance).all()):
            raise ValueError("its variances are not between the floor and the initial variance")
        if not places.size:
            self.cells = cells
            self.average = average if self._averaged else NONE
            return
        if places.ndim != 1 or places.dtype != np.int64 or places[0] < 0 or not (places[1:] > places[:-1]).all():
            raise ValueError("the places of its weights do not rise")
        if places[-1] >= size * self.blocks:
            raise ValueError(f"its weight number {places[-1]} is not of its {n_features} features")
        self.grow(n_features)
        feature, label = np.divmod(places, self.blocks)
        at = feature if self.blocks == 1 else (feature, label)
        self.mean[at], self.variance[at] = cells[:, 0], cells[:, 1]
        if self._averaged:
            self.average[at] = average
