"""An array that grows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


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
        memory = np.empty((capacity, *self._memory.shape[1:]), dtype)
        memory[: self.size] = self.values
        self._memory = memory
