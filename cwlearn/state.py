"""The diagonal Gaussian over the weights: its numbers, and the two passes over rows."""

from __future__ import annotations

from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from cwlearn.machine import free_memory
from cwlearn.native import learn_rows, margin_rows
from cwlearn.rows import Rows

NONE: NDArray[np.float64] = np.empty(0)
SLOTS = 8  # rivals of the true label that are spread out side by side
LARGE = 1 << 22  # weights for which it is worth a look at what is free


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
    blocks: int
    constraints: int
    update: int
    tolerance: float
    sweeps: int


class Tally(TypedDict):
    """`_kernels.Tally`: what has been counted since the first row."""

    rows: int
    updates: int
    mistakes: int
    unsolved: int
    squares: float


def new_tally() -> Tally:
    return Tally(rows=0, updates=0, mistakes=0, unsolved=0, squares=0.0)


def state_bytes(n_features: int, blocks: int, dtype: str, averaged: bool) -> int:
    """The memory that a state takes."""
    return (n_features + 1) * blocks * (2 * np.dtype(dtype).itemsize + (8 if averaged else 0))


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
    """Cells of (mean, variance): number 0 is the intercept, number j + 1 is feature j.

    With one block, mean and variance of a cell are numbers; with several, one for each label, lines of so many.
    """

    def __init__(
        self, n_features: int, blocks: int, initial_variance: float, floor: float, dtype: np.dtype[Any], averaged: bool
    ) -> None:
        low, high = float(np.finfo(dtype).tiny), float(np.finfo(dtype).max)
        if not low <= initial_variance <= high:
            raise ValueError(
                f"the variance that weights begin with (initial_variance) must be between {low:.2g} and {high:.2g} "
                f"for {dtype}, got {initial_variance!r}"
            )
        self.initial_variance = float(initial_variance)
        self.floor = max(self.initial_variance * floor, low)  # a normal number: subnormal ones are slow
        self.blocks = blocks
        by_label = () if blocks == 1 else (blocks,)
        self.cells: NDArray[Any] = np.empty((0, 2, *by_label), dtype)
        self.average: NDArray[np.float64] = np.empty((0, *by_label)) if averaged else NONE
        self._averaged = averaged
        self.grow(n_features)

    def grow(self, n_features: int) -> None:
        """Add features at the end, with the prior; those that are there stay as they are."""
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
        """Refuse politely what the machine cannot hold, before it is taken."""
        if (n_features - self.n_features) * self.blocks < LARGE:
            return
        size = state_bytes(n_features, self.blocks, self.cells.dtype.name, self._averaged)
        if size > (free := free_memory()):
            labels = f" x {self.blocks:,} labels" if self.blocks > 1 else ""
            raise MemoryError(f"{n_features:,} features{labels} need {size:,} bytes; {free:,} are free")

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
        """Which weights are not as they were in the beginning, in the shape of `mean`."""
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
        tally: Tally,
    ) -> tuple[Tally, int]:
        """One pass over the rows in `order`; see `_kernels.learn_rows`."""
        return learn_rows(
            self.cells.reshape(-1),
            self.average.reshape(-1),
            *self._scratch(rows, rule["constraints"]),
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

    def margins(
        self, rows: Rows, bias: float, inclusive: bool, only_mean: bool = False
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and variance of the margin of every row, with several blocks by label; `only_mean` may save the time for
        the variance, which is empty then."""
        shape = (rows.n_rows, *self.cells.shape[2:])
        mean = np.empty(shape)
        variance = NONE if only_mean and self.blocks > 1 else np.empty(shape)
        margin_rows(
            mean.reshape(-1),
            variance.reshape(-1),
            np.empty(self.blocks + 3),
            self.cells.reshape(-1),
            *self._scratch(rows),
            rows.indptr,
            rows.indices,
            rows.values,
            np.arange(rows.n_rows),
            bias,
            inclusive,
            self.blocks,
        )
        return mean, variance

    def _scratch(self, rows: Rows, constraints: int = 1) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Where a kernel spreads out one row, or the two sides of a difference vector: each call has its own, so that
        several threads may use one state."""
        lines = 4 if self.blocks == 1 else 5 + 2 * min(constraints, self.blocks - 1, SLOTS)
        return np.empty((lines, rows.longest + 1)), np.empty((2, rows.longest + 1), np.int64)

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
