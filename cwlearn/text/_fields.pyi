"""Types of the compiled module."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

def power_of_ten(q: int) -> int: ...
def add_fields(
    new_indptr: NDArray[np.int64],
    new_indices: NDArray[np.int32],
    new_values: NDArray[Any],
    extras: NDArray[Any],
    squares: NDArray[np.float64],
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    values: NDArray[Any],
    text: NDArray[np.uint8],
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    kinds: NDArray[np.uint8],
    names: list[bytes],
    decimals: bool,
    n_features: int,
) -> int: ...
def columns_of(names: list[bytes], n_features: int) -> list[int]: ...
