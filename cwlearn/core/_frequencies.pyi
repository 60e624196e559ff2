"""Types of the compiled module."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

NORMS: dict[str | None, int]

def weigh_rows(
    counts: NDArray[np.uint32],
    documents: NDArray[np.int64],
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    values: NDArray[Any],
    extras: NDArray[Any],
    weighed: NDArray[Any],
    squares: NDArray[np.float64],
    room: NDArray[np.float64],
    norm: int,
    count: bool,
    weigh: bool,
) -> None: ...
def weigh_before_and_after(
    counts: NDArray[np.uint32],
    documents: NDArray[np.int64],
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    before: NDArray[Any],
    squares_before: NDArray[np.float64],
    after: NDArray[Any],
    squares_after: NDArray[np.float64],
    extras: NDArray[Any],
    counted: NDArray[np.uint8],
    room: NDArray[np.float64],
    norm: int,
) -> None: ...
