"""An array that grows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Bytes.  NumPy asks for huge pages where an array has 4 MiB or more; Linux gives only whole ones (x86-64: of 2 MiB).
HUGE, HUGE_PAGE = 1 << 22, 1 << 21


class GrowableArray:
    """An array that grows along its first axis, in memory that is taken ahead.

    Spare memory costs almost nothing: the operating system provides a page only when it is written to.
    """

    def __init__(self, dtype: Any, item_shape: tuple[int, ...] = ()) -> None:
        self._memory: NDArray[Any] = np.empty((0, *item_shape), dtype)
        self.size = 0  # items in use

    def __getstate__(self) -> dict[str, Any]:
        """A pickle or a copy holds no spare memory."""
        return {"_memory": self.values, "size": self.size}

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._memory.dtype

    @property
    def values(self) -> NDArray[Any]:
        """A view of the items in use."""
        return self._memory[: self.size]

    def extended(self, size: int) -> NDArray[Any]:
        """A view of `size` items.  New ones hold arbitrary numbers; set `size` once they are filled."""
        if size > len(self._memory):
            self._move(max(size, self.size + self.size // 2), self.dtype)
        return self._memory[:size]

    def append(self, items: NDArray[Any], expected: int = 0) -> None:
        """Add items at the end; the type becomes one that holds old and new items.

        `expected` is a guess of the final size.  It saves copies, and is ignored if there is not enough memory.
        """
        size = self.size + len(items)
        dtype = np.promote_types(self.dtype, items.dtype)
        if size > len(self._memory) or dtype != self.dtype:
            enough = size + size // 2
            try:
                self._move(max(enough, expected), dtype)
            except MemoryError:
                self._move(enough, dtype)
        self._memory[self.size : size] = items
        self.size = size

    def _move(self, capacity: int, dtype: np.dtype[Any]) -> None:
        memory = empty((capacity, *self._memory.shape[1:]), dtype)
        memory[: self.size] = self.values
        self._memory = memory


def empty(shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    """As `np.empty`, but all of a large array is on huge pages: `np.empty` has small ones at both ends.

    A huge page is one fault instead of 512, and its address stays in the processor's table of pages.
    """
    size = math.prod(shape) * dtype.itemsize
    if size < HUGE:
        return np.empty(shape, dtype)
    memory = np.empty(size - size % HUGE_PAGE + 2 * HUGE_PAGE, np.uint8)
    start = -memory.ctypes.data % HUGE_PAGE
    return memory[start : start + size].view(dtype).reshape(shape)
