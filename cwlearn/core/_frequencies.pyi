"""Types of the compiled module."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

NORMS: dict[str | None, int]

def weigh_rows(
    counts: NDArray[np.uint32],
    n_documents: int,
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
) -> int: ...
