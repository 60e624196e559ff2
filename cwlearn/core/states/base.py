"""The Gaussian over the weights, whatever its shape: what a learner asks of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, NamedTuple, Protocol, TypedDict

import numpy as np
from numpy.typing import NDArray

from cwlearn.core.kernel_options import KernelOptions
from cwlearn.core.rows import Rows
from cwlearn.core.rule import RuleFields
from cwlearn.utils.machine import free_memory

NONE: NDArray[np.float64] = np.empty(0)
SLOTS = 8  # rivals of the true label that are spread out side by side
LARGE = 1 << 25  # bytes for which it is worth a look at what is free


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


class Statistics(TypedDict):
    """What has been counted since the first row."""

    rows: int
    updates: int
    mistakes: int
    unsolved: int
    loss: float
    surprise: float
    squares: float


def new_statistics() -> Statistics:
    return Statistics(rows=0, updates=0, mistakes=0, unsolved=0, loss=0.0, surprise=0.0, squares=0.0)


# `_kernels.Statistics`: the same in memory, where the kernel counts.
STATISTICS = np.dtype([(name, type(zero)) for name, zero in new_statistics().items()])


def scratch_of(longest: int, blocks: int, constraints: int = 1) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Where a kernel spreads out one row of up to `longest` features, or the two sides of a difference vector; each
    call has its own, so that several threads may use one state."""
    lines = 4 if blocks == 1 else 5 + 2 * min(constraints, blocks - 1, SLOTS)
    return np.empty((lines, longest + 1)), np.empty((2, longest + 1), np.int64)


class Stored(Protocol):
    """An array of a model file: one of NumPy's, or a `sealed_archive.Member`, whose lines are read one by one."""

    @property
    def dtype(self) -> np.dtype[Any]: ...

    @property
    def shape(self) -> tuple[int, ...]: ...

    def __len__(self) -> int: ...

    def __getitem__(self, lines: slice, /) -> NDArray[Any]: ...

    def reshape(self, size: Any, /) -> Stored: ...


Arrays = Mapping[str, Stored]  # of a model file, by name


class Weights(NamedTuple):
    """Some weights of a model file, each with its place: its number among all means, label by label within a feature,
    of which the first is the intercept."""

    places: NDArray[np.int64]
    mean: NDArray[Any]
    variance: NDArray[Any]
    average: NDArray[np.float64] = NONE  # see `DiagonalState.average`; empty, but for averaged rules

    def touched(self, prior_variance: float) -> NDArray[np.bool_]:
        """Which of them are not as they were in the beginning."""
        return touched(self.mean, self.variance, self.average, prior_variance)


def touched(
    mean: NDArray[Any], variance: NDArray[Any], average: NDArray[np.float64], prior_variance: float
) -> NDArray[np.bool_]:
    """Which weights are not as they were in the beginning."""
    found: NDArray[np.bool_] = (mean != 0) | (variance != prior_variance)
    if average.size:  # a mean may have come back to 0
        found |= average != 0
    return found


class State(ABC):
    """A Gaussian over the weights of `blocks` labels (1: two labels, or a regression), each with an intercept.

    Arrays that are returned have a line for the intercept, then one for each feature, and with several blocks a column
    for each; those by row have a column for each block.
    """

    kind: ClassVar[str]  # as a model file names it
    arrays_of: ClassVar[tuple[str, ...]]  # the names of its arrays in a model file
    blocks: int
    initial_variance: float
    floor: float  # of the variance of any weight

    def __init__(self, blocks: int, initial_variance: float, floor: float, dtype: np.dtype[Any]) -> None:
        low, high = float(np.finfo(dtype).tiny), float(np.finfo(dtype).max)
        if not low <= initial_variance <= high:
            raise ValueError(
                f"the variance that weights begin with (initial_variance) must be between {low:.2g} and {high:.2g} "
                f"for {dtype}, got {initial_variance!r}"
            )
        self.blocks = blocks
        self.initial_variance = float(initial_variance)
        self.floor = max(self.initial_variance * floor, low)  # a normal number: subnormal ones are slow

    @property
    @abstractmethod
    def dtype(self) -> np.dtype[Any]:
        """Of the values of the rows that it learns from."""

    @property
    @abstractmethod
    def n_features(self) -> int: ...

    @abstractmethod
    def grow(self, n_features: int) -> None:
        """Add features at the end, with the prior; those that are there stay as they are."""

    @abstractmethod
    def learn(
        self,
        rows: Rows,
        targets: NDArray[np.float64],
        weights: NDArray[np.float64],
        order: NDArray[np.int64],
        rule: KernelRule,
        counts: NDArray[np.void],
    ) -> int:
        """Make one pass over the rows in `order`; return how many were learned.  See `_kernels.learn_rows`.

        `counts` (STATISTICS) is correct at any time, even if the pass is interrupted.
        """

    @abstractmethod
    def margins(
        self, rows: Rows, bias: float, inclusive: bool, only_mean: bool = False
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and variance of the margin of every row, with several blocks by label; `only_mean` may save the time for
        the variance, which is empty then.  Rows of a state that is not diagonal may have more features than it."""

    def reconfigure(self, kernel: KernelOptions | None) -> None:  # noqa: B027  most have nothing to change
        """Take over options that may change once learning has begun."""

    @property
    def prior_variance(self) -> float:
        """The initial variance as the state holds it."""
        return float(self.dtype.type(self.initial_variance))

    def effort(self, length: int, constraints: int) -> int:
        """What a row of so many nonzeros, and rivals of the true label, costs to learn from, in nonzeros of a diagonal
        state, about."""
        return length

    @abstractmethod
    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that it holds, for a model file."""

    @abstractmethod
    def check_layouts(self, n_features: int, arrays: Arrays) -> None:
        """Refuse arrays of a file whose types or shapes do not fit a state like this one; ValueError says which."""

    @abstractmethod
    def restore(self, n_features: int, arrays: Arrays) -> None:
        """Take over the arrays of a file, every number of which is checked; ValueError says what is not sound.

        The state is as it was built, without any feature."""

    @abstractmethod
    def restored_bytes(self, n_features: int, arrays: Arrays) -> int:
        """The memory that this takes, beside a few megabytes to read with."""


class LinearState(State):
    """One that has the weights themselves."""

    @property
    @abstractmethod
    def mean(self) -> NDArray[Any]: ...

    @property
    @abstractmethod
    def variance(self) -> NDArray[Any]: ...

    @property
    def touched(self) -> NDArray[np.bool_]:
        """Which weights are not as they were in the beginning, in the shape of `mean`."""
        return touched(self.mean, self.variance, NONE, self.prior_variance)

    @abstractmethod
    def stored(self, n_features: int, arrays: Arrays) -> Iterator[Weights]:
        """The weights of a file, some at a time, from the intercept on, and checked as in `restore`; those that are
        left out are as they were in the beginning."""

    @abstractmethod
    def natural(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Precision A and A mu, where a line is a weight: of diagonal ones as `mean`, else a matrix for each block
        (along the last axis) and, by block, a column."""

    @abstractmethod
    def set_natural(self, precision: NDArray[np.float64], place: NDArray[np.float64]) -> None:
        """Be the Gaussian of these, for as many weights as there are."""

    @abstractmethod
    def moments(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Covariance and mean, in the same form."""

    @abstractmethod
    def set_moments(self, covariance: NDArray[np.float64], mean: NDArray[np.float64]) -> None: ...


def check_memory(size: int, more: int, what: str, instead: str) -> None:
    """Refuse politely what the machine cannot hold, before it is taken: `more` bytes, which make it `size`."""
    if more >= LARGE and size > (free := free_memory()):
        raise MemoryError(f"{what} need {size:,} bytes; {free:,} are free; {instead} need less")


def check_layout(name: str, array: Stored, dtype: Any, shape: tuple[int, ...]) -> None:
    """Refuse an array of a model file that is not of this type and shape."""
    if array.dtype != dtype or array.shape != shape:
        raise ValueError(f"its {name} is {array.dtype} {array.shape}, not {np.dtype(dtype)} {shape}")


def check_finite(name: str, numbers: NDArray[Any]) -> None:
    """Refuse numbers of a model file that are none."""
    if not np.isfinite(numbers).all():
        raise ValueError(f"its {name} holds numbers that are not finite")
