"""The diagonal Gaussian over the weights, and the two passes over rows: learning and scoring."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cwlearn.core.label_sets import LabelSets
from cwlearn.core.rows import Rows
from cwlearn.core.states.base import (
    BYTES,
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
from cwlearn.native import RoomForOne, learn_alone, learn_rows, margin_rows
from cwlearn.utils.growable import GrowableArray

LATEST = 2.0**53  # of stamps
NEW_BYTES_AT_ONCE = 1 << 18
WEIGHTS_AT_ONCE = 1 << 18  # read from a file, or changed, in one step: a few megabytes


class DiagonalState(LinearState):
    """Cells of (mean, variance).  Cell 0 is the intercept, cell j + 1 is feature j.

    With one block, a cell holds two numbers.  With several, it holds the means of all labels, then their variances.
    """

    kind: ClassVar[str] = "diagonal"

    def __init__(
        self,
        n_features: int,
        blocks: int,
        initial_variance: float,
        floor: float,
        dtype: np.dtype[Any],
        averaged: bool,
        forgets: bool = False,
        usual: float = 1.0,
    ) -> None:
        super().__init__(blocks, initial_variance, floor, dtype)
        self._usual = usual  # the part of the initial variance that untouched weights have
        by_label = () if blocks == 1 else (blocks,)
        self._cells = GrowableArray(dtype, (2, *by_label))
        self._average = GrowableArray(np.float64, by_label) if averaged else None
        self._stamps = GrowableArray(np.float64, by_label) if forgets else None
        self.arrays_of = ("cells", "average", "places", *(("stamps",) if forgets else ()))
        self.grow(n_features)

    @property
    def prior_variance(self) -> float:
        """The variance of untouched weights, as the state holds it."""
        return float(self.dtype.type(self._usual * self.initial_variance))

    @staticmethod
    def nbytes(n_features: int, blocks: int, dtype: np.dtype[Any], averaged: bool, forgets: bool = False) -> int:
        """The memory that such a state takes."""
        return (n_features + 1) * blocks * (2 * dtype.itemsize + 8 * averaged + 8 * forgets)

    @property
    def _by_mean(self) -> list[GrowableArray]:
        """The arrays beside the cells, with a number for each mean."""
        return [array for array in (self._average, self._stamps) if array is not None]

    def grow(self, n_features: int) -> None:
        old, size = self._cells.size, n_features + 1
        if size > old:
            self._check_memory(n_features)
            new_cell = np.repeat(np.array([0, self.prior_variance], self.dtype), self.blocks)
            # Copied as many cells together, which are in the cache: several times as fast as one by one.
            new_cells = np.tile(new_cell, (max(1, min(size - old, NEW_BYTES_AT_ONCE // new_cell.nbytes)), 1))
            cells = self._cells.extended(size).reshape(size, -1)[old:]
            for lines in _slices(size - old, len(new_cells)):
                cells[lines] = new_cells[: lines.stop - lines.start]
            for array in self._by_mean:
                array.extended(size)[old:] = 0
            self._set_size(size)  # last, so that an interruption leaves a sound state

    def _set_size(self, size: int) -> None:
        self._cells.size = size
        for array in self._by_mean:
            array.size = size

    def _nbytes(self, n_features: int) -> int:
        return self.nbytes(n_features, self.blocks, self.dtype, self.averaged, self.forgets)

    def _check_memory(self, n_features: int) -> None:
        size, now = self._nbytes(n_features), self._nbytes(self.n_features)
        labels = f" x {self.blocks:,} labels" if self.blocks > 1 else ""
        check_memory(size, size - now, f"{n_features:,} features{labels}", "fewer or hashed ones")

    @property
    def cells(self) -> NDArray[Any]:
        return self._cells.values

    @property
    def averaged(self) -> bool:
        """Whether the state holds what averaged rules need."""
        return self._average is not None

    @property
    def average(self) -> NDArray[np.float64]:
        """By mean, the sum over updates of (rows before the update) * (change of the mean).  Empty if not averaged."""
        return NONE if self._average is None else self._average.values

    @property
    def forgets(self) -> bool:
        """Whether variances grow with time."""
        return self._stamps is not None

    @property
    def stamps(self) -> NDArray[np.float64]:
        """By mean, the number of rows before the one that changed it last.  Empty if nothing is forgotten."""
        return NONE if self._stamps is None else self._stamps.values

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._cells.dtype

    @property
    def n_features(self) -> int:
        return self._cells.size - 1

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
        fresh: NDArray[np.uint8],
        order: NDArray[np.int64],
        rule: KernelRule,
        counts: NDArray[np.void],
        sets: LabelSets | None = None,
        calibrations: NDArray[np.float64] | None = None,
    ) -> int:
        more = () if sets is None else (*sets, calibrations)
        return learn_rows(
            self.cells.reshape(-1),
            self.average.reshape(-1),
            self.stamps.reshape(-1),
            *scratch_of(rows.longest, self.blocks, rule["constraints"]),
            rows.indptr,
            rows.indices,
            rows.values,
            rows.squares,
            targets,
            weights,
            fresh,
            order,
            rule,
            counts.view(BYTES),
            *more,
        )

    def learn_alone(
        self,
        room: RoomForOne,
        columns: NDArray[Any],
        values: NDArray[Any],
        target: float,
        weight: float,
        counts: NDArray[np.void],
    ) -> bool:
        """Check and learn one row; False, and nothing learned, if that is not possible."""
        average, stamps = self.average.reshape(-1), self.stamps.reshape(-1)
        cells, numbers = self.cells.reshape(-1), counts.view(BYTES)
        return learn_alone(room, cells, average, stamps, columns, values, target, weight, numbers)

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

    def changed(self, change: Callable[..., None]) -> DiagonalState:
        """A copy without averages and stamps, whose means and variances `change` has changed in place, by some lines.

        `change` gets means, variances, and the averages and the stamps of this state.
        """
        state = copy.copy(self)
        state._cells, state._average, state._stamps = copy.deepcopy(self._cells), None, None
        for lines in _slices(len(state.cells), WEIGHTS_AT_ONCE // self.blocks):
            change(state.mean[lines], state.variance[lines], self.average[lines], self.stamps[lines])
        return state

    def present(self, half_life: float, rows: int) -> DiagonalState:
        """The same weights, with their variances as they are after so many rows."""

        def age(mean: NDArray[Any], variance: NDArray[Any], average: Any, stamps: NDArray[np.float64]) -> None:
            variance[:] = aged(variance, stamps, half_life, rows, self.initial_variance)

        state = self.changed(age)
        state._average = self._average
        return state

    def part(self, columns: NDArray[Any]) -> DiagonalState:
        """A state of the intercept and of some features, whose columns rise; those that it has not are new."""
        known = int(np.searchsorted(columns, self.n_features))
        part = copy.copy(self)
        part._cells = GrowableArray(self.dtype, self.cells.shape[1:])
        part._average = None if self._average is None else GrowableArray(np.float64, self.average.shape[1:])
        part.grow(len(columns))
        for old, new in ((self.cells, part.cells), (self.average, part.average)):
            if old.size:
                new[0], new[1 : known + 1] = old[0], old[columns[:known] + 1]
        return part

    # -- merging -------------------------------------------------------------------------------------------------------

    def natural(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        precision = np.divide(1, self.variance, dtype=np.float64)
        return precision, precision * self.mean

    def set_natural(self, precision: NDArray[np.float64], place: NDArray[np.float64]) -> None:
        covariance = 1 / precision
        # Exact for untouched weights, so that they stay untouched.
        covariance[precision == 1 / self.prior_variance] = self.prior_variance
        self.set_moments(covariance, place / precision)

    def moments(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return self.variance.astype(np.float64), self.mean.astype(np.float64)

    def set_moments(self, covariance: NDArray[np.float64], mean: NDArray[np.float64]) -> None:
        self.cells[:, 0] = mean
        self.cells[:, 1] = np.clip(covariance, self.floor, self.initial_variance)

    # -- model files ---------------------------------------------------------------------------------------------------

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All weights or, where that is smaller, those that were touched.

        `places` are then the numbers of the touched weights in the array of means.
        """
        cells, average, stamps, places = self.cells, self.average, self.stamps, np.empty(0, np.int64)
        pair = 2 * cells.itemsize
        if sum(map(len, self._touched_places())) * (pair + places.itemsize) < cells.nbytes:
            places = np.concatenate([*self._touched_places()])
            at = places if self.blocks == 1 else np.divmod(places, self.blocks)  # feature and label
            cells = np.column_stack([self.mean[at], self.variance[at]])
            average = average[at] if average.size else average
            stamps = stamps[at] if stamps.size else stamps
        arrays = {"cells": cells, "average": average, "places": places}
        return {**arrays, "stamps": stamps} if self.forgets else arrays

    def _touched_places(self) -> Iterator[NDArray[np.int64]]:
        """The places of touched weights, some at a time.  The first weight is always one: no place would mean all."""
        for lines in _slices(len(self.cells), WEIGHTS_AT_ONCE // self.blocks):
            changed = touched(self.mean[lines], self.variance[lines], self.average[lines], self.prior_variance)
            changed.reshape(-1)[0] |= lines.start == 0
            yield np.flatnonzero(changed) + lines.start * self.blocks

    def check_layouts(self, n_features: int, arrays: Arrays) -> None:
        count = len(arrays["places"])
        shape = (count, 2) if count else (n_features + 1, *self.cells.shape[1:])
        check_layout("state", arrays["cells"], self.dtype, shape)
        check_layout("average", arrays["average"], np.float64, (shape[0], *shape[2:]) if self.averaged else (0,))
        if self.forgets:
            check_layout("stamps", arrays["stamps"], np.float64, (shape[0], *shape[2:]))
        check_layout("places", arrays["places"], np.int64, (count,))

    def restored_bytes(self, n_features: int, arrays: Arrays) -> int:
        return self._nbytes(n_features + 1)

    def restore(self, n_features: int, arrays: Arrays) -> None:
        """Has memory for one feature more, so that `predict` can add one for all features that are new to the model."""
        self.check_layouts(n_features, arrays)
        self._check_memory(n_features)
        size, sparse = n_features + 1, len(arrays["places"]) > 0
        if sparse:
            self.grow(n_features + 1)
        else:  # the file fills all of them
            self._cells.extended(size + 1)
            for array in self._by_mean:
                array.extended(size + 1)
        self._set_size(size)
        for at, cells, average, stamps in self._parts(n_features, arrays):
            if not sparse:
                self.cells[at] = cells
            else:
                if self.blocks > 1:
                    at = np.divmod(at, self.blocks)  # feature and label
                self.mean[at], self.variance[at] = cells[:, 0], cells[:, 1]
            if self.averaged:
                self.average[at] = average
            if self.forgets:
                self.stamps[at] = stamps

    def stored(self, n_features: int, arrays: Arrays) -> Iterator[Weights]:
        self.check_layouts(n_features, arrays)
        for at, cells, *others in self._parts(n_features, arrays):
            places = np.arange(at.start * self.blocks, at.stop * self.blocks) if isinstance(at, slice) else at
            means, variances = (cells[:, part].reshape(-1) for part in (0, 1))
            yield Weights(places, means, variances, *(numbers.reshape(-1) for numbers in others))

    def _parts(self, n_features: int, arrays: Arrays) -> Iterator[tuple[Any, ...]]:
        """The cells, averages and stamps of a file, some at a time, and checked.

        Before them comes where they belong: a slice of lines or, if the file has only touched weights, their places.
        """
        where, last = arrays["places"], -1
        for lines in _slices(len(arrays["cells"]), WEIGHTS_AT_ONCE // (1 if len(where) else self.blocks)):
            cells, places = arrays["cells"][lines], where[lines]
            average = arrays["average"][lines] if self.averaged else NONE
            check_finite("state", cells)
            stamps = arrays["stamps"][lines] if self.forgets else NONE
            check_finite("average", average)
            if not ((stamps >= 0) & (stamps < LATEST)).all():
                raise ValueError("its stamps are no numbers of rows")
            self._check_variances(cells[:, 1])
            if len(places):
                if places[0] <= last or not (places[1:] > places[:-1]).all():
                    raise ValueError("the places of its weights do not rise")
                last = int(places[-1])
                if last >= (n_features + 1) * self.blocks:
                    raise ValueError(f"its weight number {last} is not of its {n_features} features")
            yield places if len(places) else lines, cells, average, stamps

    def _check_variances(self, variances: NDArray[Any]) -> None:
        """Refuse numbers of a file that cannot be variances."""
        if not ((variances >= self.floor).all() and (variances <= self.initial_variance).all()):
            raise ValueError("its variances are not between the floor and the initial variance")


def aged(
    variance: NDArray[Any], stamps: NDArray[np.float64], half_life: float, rows: int, prior: float
) -> NDArray[np.float64]:
    """Variances after so many rows, as `_forgetting.pxd` has them."""
    left = np.exp2((stamps - rows) * (1 / half_life))
    old: NDArray[np.float64] = variance.astype(np.float64)
    grown: NDArray[np.float64] = np.minimum(old / (left + old * (1 / prior) * (1 - left)), prior)
    return grown


def _slices(count: int, step: int) -> Iterator[slice]:
    """Slices of `step` lines that cover `count` lines."""
    step = max(1, step)
    for start in range(0, count, step):
        yield slice(start, min(start + step, count))
