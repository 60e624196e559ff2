"""Types of the compiled module."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

def count_rows(
    counts: NDArray[np.uint32],
    sums: NDArray[np.float64],
    sizes: NDArray[np.float64],
    indptr: NDArray[np.int64],
    indices: NDArray[Any],
    values: NDArray[Any],
    numbers: NDArray[np.int64],
    counted: NDArray[np.uint8],
) -> int: ...
