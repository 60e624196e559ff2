"""The Gaussian over the weights: what a learner needs of it, whatever its shape."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from cwlearn.core.kernel_options import KernelOptions
from cwlearn.core.label_sets import LabelSets
from cwlearn.core.rows import Rows
from cwlearn.core.rule import RuleFields
from cwlearn.utils.machine import free_memory

NONE: NDArray[np.float64] = np.empty(0)
ALL_FRESH: NDArray[np.uint8] = np.empty(0, np.uint8)  # no row has been learned before
BYTES = np.dtype(np.uint8)  # how the kernel takes `statistics.STATISTICS`
SLOTS = 8  # rivals of the true label that are in scratch memory at the same time
LARGE = 1 << 25  # bytes; smaller requests are not compared with the free memory


class KernelRule(RuleFields):
    """The kernel's Rule struct, as Python passes it."""

    bias: float
    initial_variance: float
    floor: float
    blocks: int
    constraints: int
    update: int
    tolerance: float
    sweeps: int
    settled: bool


def scratch_of(longest: int, blocks: int, constraints: int = 1) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Scratch memory of the kernel for a row of up to `longest` features, or for the blocks of a difference vector.

    Each call has its own, so that several threads may use one state.
    """
    lines = 4 if blocks == 1 else 5 + 2 * min(constraints, blocks - 1, SLOTS)
    return np.empty((lines, longest + 1)), np.empty((2, longest + 1), np.int64)


class Stored(Protocol):
    """An array of a model file: a NumPy array, or a `sealed_archive.Member`, which is read in parts."""

    @property
    def dtype(self) -> np.dtype[Any]: ...

    @property
    def shape(self) -> tuple[int, ...]: ...

    def __len__(self) -> int: ...

    def __getitem__(self, lines: slice, /) -> NDArray[Any]: ...

    def reshape(self, size: Any, /) -> Stored: ...


Arrays = Mapping[str, Stored]  # of a model file, by name


class Weights(NamedTuple):
    """Some weights of a model file, each with its place.

    The place is the number among all means: feature by feature, from the intercept on, and label by label within one.
    """

    places: NDArray[np.int64]
    mean: NDArray[Any]
    variance: NDArray[Any]
    average: NDArray[np.float64] = NONE  # see `DiagonalState.average`; empty unless the rule is averaged
    stamps: NDArray[np.float64] = NONE  # see `DiagonalState.stamps`; empty unless the rule forgets

    def touched(self, prior_variance: float) -> NDArray[np.bool_]:
        """Which of them have changed since the start."""
        return touched(self.mean, self.variance, self.average, prior_variance)


def touched(
    mean: NDArray[Any], variance: NDArray[Any], average: NDArray[np.float64], prior_variance: float
) -> NDArray[np.bool_]:
    """Which weights have changed since the start."""
    changed: NDArray[np.bool_] = (mean != 0) | (variance != prior_variance)
    if average.size:  # a mean may have returned to 0
        changed |= average != 0
    return changed


class State(ABC):
    """A Gaussian over the weights of `blocks` labels (1: two labels, or a regression), each with an intercept.

    Arrays of weights have a line for the intercept, then one for each feature.  Arrays by row have a line for each row.
    With several blocks both have a column for each block.
    """

    kind: ClassVar[str]  # its name in a model file
    arrays_of: tuple[str, ...]  # the names of its arrays in a model file
    blocks: int
    initial_variance: float
    floor: float  # a lower bound of every variance

    def __init__(self, blocks: int, initial_variance: float, floor: float, dtype: np.dtype[Any]) -> None:
        low, high = float(np.finfo(dtype).tiny), float(np.finfo(dtype).max)
        if not low <= initial_variance <= high:
            raise ValueError(
                f"the variance that weights begin with (initial_variance) must be between {low:.2g} and {high:.2g} "
                f"for {dtype}, got {initial_variance!r}"
            )
        self.blocks = blocks
        self.initial_variance = float(initial_variance)
        self.floor = max(self.initial_variance * floor, low)  # not subnormal: such numbers are slow

    @property
    @abstractmethod
    def dtype(self) -> np.dtype[Any]:
        """The type of the values of rows."""

    @property
    @abstractmethod
    def n_features(self) -> int: ...

    @abstractmethod
    def grow(self, n_features: int) -> None:
        """Add features at the end, with the prior; existing ones do not change."""

    @abstractmethod
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
        """Make one pass over the rows in `order`; return how many were learned.  See `_kernels.learn_rows`.

        `counts` (STATISTICS) is correct at any time, even if the pass is interrupted.  If rows have several labels,
        their targets are numbers of `sets`, and `calibrations` are those of the labels; only a diagonal state learns
        that.
        """

    @abstractmethod
    def margins(
        self, rows: Rows, bias: float, inclusive: bool, only_mean: bool = False
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and variance of the margin of every row; with several blocks, by label.

        With `only_mean` the variance may be empty, which saves time.  If the state is not diagonal, rows may have more
        features than it.
        """

    def squared_lengths(self, rows: Rows, bias: float) -> NDArray[np.float64]:
        """The squared length of every row, the intercept included."""
        return rows.squares + bias * bias

    def reconfigure(self, kernel: KernelOptions | None) -> None:  # noqa: B027  most states have nothing to change
        """Take over options that may change after learning has begun."""

    @property
    def prior_variance(self) -> float:
        """The initial variance as the state holds it."""
        return float(self.dtype.type(self.initial_variance))

    def effort(self, length: int, constraints: int) -> int:
        """The approximate cost of learning from a row of `length` nonzeros, in nonzeros of a diagonal state."""
        return length

    @abstractmethod
    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything that a model file stores of it."""

    @abstractmethod
    def check_layouts(self, n_features: int, arrays: Arrays) -> None:
        """Refuse arrays of a file whose types or shapes do not fit a state like this one; ValueError says which."""

    @abstractmethod
    def restore(self, n_features: int, arrays: Arrays) -> None:
        """Take over the arrays of a file and check every number; ValueError says what is wrong.

        The state must be new, without any feature.
        """

    @abstractmethod
    def restored_bytes(self, n_features: int, arrays: Arrays) -> int:
        """The memory that the restored state takes, without the few megabytes for reading."""


class LinearState(State):
    """A state that holds weights, not kept rows."""

    @property
    @abstractmethod
    def mean(self) -> NDArray[Any]: ...

    @property
    @abstractmethod
    def variance(self) -> NDArray[Any]: ...

    @property
    def touched(self) -> NDArray[np.bool_]:
        """Which weights have changed since the start, in the shape of `mean`."""
        return touched(self.mean, self.variance, NONE, self.prior_variance)

    @abstractmethod
    def stored(self, n_features: int, arrays: Arrays) -> Iterator[Weights]:
        """The weights of a file, some at a time, from the intercept on, checked as in `restore`.

        Weights that are left out have not changed since the start.
        """

    @abstractmethod
    def natural(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Precision A and A mu, with a line for each weight.

        A diagonal state has both in the shape of `mean`.  Otherwise A is a matrix for each block, along the last axis,
        and A mu has a column for each block.
        """

    @abstractmethod
    def set_natural(self, precision: NDArray[np.float64], place: NDArray[np.float64]) -> None:
        """Become the Gaussian with these, for as many weights as the state has."""

    @abstractmethod
    def moments(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Covariance and mean, in the same shapes."""

    @abstractmethod
    def set_moments(self, covariance: NDArray[np.float64], mean: NDArray[np.float64]) -> None: ...


def check_memory(size: int, more: int, what: str, instead: str) -> None:
    """Refuse to take `more` bytes, `size` in all, if so many are not free.  The error says what would need less."""
    if more >= LARGE and size > (free := free_memory()):
        raise MemoryError(f"{what} need {size:,} bytes; {free:,} are free; {instead} need less")


def check_layout(name: str, array: Stored, dtype: Any, shape: tuple[int, ...]) -> None:
    """Refuse an array of a model file that is not of this type and shape."""
    if array.dtype != dtype or array.shape != shape:
        raise ValueError(f"its {name} is {array.dtype} {array.shape}, not {np.dtype(dtype)} {shape}")


def check_finite(name: str, numbers: NDArray[Any]) -> None:
    """Refuse numbers of a model file that are not finite."""
    if not np.isfinite(numbers).all():
        raise ValueError(f"its {name} holds numbers that are not finite")
