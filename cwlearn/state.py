"""The diagonal Gaussian over the weights: its numbers, and the two passes over rows."""

from __future__ import annotations

from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from cwlearn.native import learn_rows, margin_rows
from cwlearn.rows import Rows

NONE: NDArray[np.float64] = np.empty(0)


class KernelRule(TypedDict):
    """`_kernels.Rule`, as Python hands it over."""

    kind: int
    covariance: int
    phi: float
    C: float
    relative: bool
    bias: float
    initial_variance: float
    floor: float


class Tally(TypedDict):
    """`_kernels.Tally`: what has been counted since the first row."""

    rows: int
    updates: int
    mistakes: int
    squares: float


def _scratch(rows: Rows) -> NDArray[np.float64]:
    """Where a kernel spreads out one row: each call has its own, so that several threads may use one state."""
    return np.empty((4, rows.longest + 1))


def _longer(array: NDArray[Any], size: int) -> NDArray[Any]:
    """An array of `size` rows that begins with `array`: a view of the memory that `array` is the beginning of, or of
    new memory with room for half as many again, which costs nothing until it is touched."""
    room = array.base
    if not (isinstance(room, np.ndarray) and room.dtype == array.dtype and room.shape[1:] == array.shape[1:]
            and room.ctypes.data == array.ctypes.data and len(room) >= size):  # fmt: skip
        room = np.empty((max(size, len(array) + len(array) // 2), *array.shape[1:]), array.dtype)
        room[: len(array)] = array
    return room[:size]


class DiagonalState:
    """Cells of (mean, variance): number 0 is the intercept, number j + 1 is feature j."""

    def __init__(
        self, n_features: int, initial_variance: float, floor: float, dtype: np.dtype[Any], averaged: bool
    ) -> None:
        low, high = float(np.finfo(dtype).tiny), float(np.finfo(dtype).max)
        if not low <= initial_variance <= high:
            raise ValueError(
                f"the variance that weights begin with (initial_variance) must be between {low:.2g} and {high:.2g} "
                f"for {dtype}, got {initial_variance!r}"
            )
        self.initial_variance = float(initial_variance)
        self.floor = max(self.initial_variance * floor, low)  # a normal number: subnormal ones are slow
        self.cells: NDArray[Any] = np.empty((0, 2), dtype)
        self.average = np.empty(0) if averaged else NONE
        self._averaged = averaged
        self.grow(n_features)

    def grow(self, n_features: int) -> None:
        """Add features at the end, with the prior; those that are there stay as they are."""
        old, size = len(self.cells), n_features + 1
        if size > old:
            cells, average = _longer(self.cells, size), self.average
            pairs = cells.view(np.result_type(cells, np.complex64))  # one number for both: twice as fast
            pairs[old:] = complex(0, self.initial_variance)
            if self._averaged:
                average = _longer(average, size)
                average[old:] = 0
            self.cells, self.average = cells, average  # last, for whoever looks at them after an interruption

    @property
    def n_features(self) -> int:
        return len(self.cells) - 1

    @property
    def mean(self) -> NDArray[Any]:
        return self.cells[:, 0]

    @property
    def variance(self) -> NDArray[Any]:
        return self.cells[:, 1]

    def learn(
        self,
        rows: Rows,
        targets: NDArray[np.float64],
        weights: NDArray[np.float64],
        order: NDArray[np.int64],
        rule: KernelRule,
        tally: Tally,
    ) -> tuple[Tally, int]:
        """One pass over the rows in `order`; see `_kernels.learn_rows`."""
        return learn_rows(
            self.cells.reshape(-1),
            self.average,
            _scratch(rows),
            rows.indptr,
            rows.indices,
            rows.values,
            rows.squares,
            targets,
            weights,
            order,
            rule,
            tally,
        )

    def margins(self, rows: Rows, bias: float, inclusive: bool) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and variance of the margin of every row."""
        mean, variance = np.empty(rows.n_rows), np.empty(rows.n_rows)
        order = np.arange(rows.n_rows)
        margin_rows(
            mean,
            variance,
            self.cells.reshape(-1),
            _scratch(rows),
            rows.indptr,
            rows.indices,
            rows.values,
            order,
            bias,
            inclusive,
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
        state.initial_variance, state.floor = self.initial_variance, self.floor
        state.cells, state.average, state._averaged = self.cells.copy(), NONE, False
        return state
