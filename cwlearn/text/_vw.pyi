"""Types of the compiled module."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

MAX_NAMESPACE: int

def power_of_ten(q: int) -> int: ...
def split_vw(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    values: NDArray[Any],
    squares: NDArray[np.float64],
    places: NDArray[np.int64],
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    kinds: NDArray[np.uint8],
    importances: NDArray[np.float64],
    text: NDArray[np.uint8],
    start: int,
    stop: int,
    n_rows: int,
    n_features: int,
) -> tuple[int, int, int, int]: ...
def name_vw(
    text: NDArray[np.uint8],
    start: int,
    stop: int,
    n_features: int,
    wanted: NDArray[np.uint8],
    names: dict[int, dict[str, int]],
) -> None: ...
