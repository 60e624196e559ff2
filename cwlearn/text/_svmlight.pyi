"""Types of the compiled module."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

PADDING: int
DONE: int
BAD_LINE: int
TOO_WIDE: int
LINE_BASE: int

def power_of_ten(q: int) -> int: ...
def choose_marks(at_once: bool) -> bool: ...
def parse_rows(
    indptr: NDArray[np.int64],
    indices: NDArray[Any],
    values: NDArray[Any],
    squares: NDArray[np.float64],
    labels: NDArray[np.float64],
    queries: NDArray[np.int64],
    text: NDArray[np.uint8],
    start: int,
    stop: int,
    n_rows: int,
    labelled: bool,
    lowest_allowed: int,
    sort: bool,
    hash_bits: int,
) -> tuple[int, int, int, int, int, int]: ...
def checksum_lines(text: NDArray[np.uint8], start: int, stop: int) -> int: ...
