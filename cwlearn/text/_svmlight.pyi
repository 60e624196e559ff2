"""Types of the compiled module."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

PADDING: int
DONE: int
BAD_LINE: int
TOO_WIDE: int
NEEDS_ROOM: int
UNLABELLED: int
NUMBERS: int
TEXTS: int
SETS: int
LINE_BASE: int
LONGEST_LABEL: int

def power_of_ten(q: int) -> int: ...
def choose_marks(at_once: bool) -> bool: ...
def parse_rows(
    indptr: NDArray[np.int64],
    indices: NDArray[Any],
    values: NDArray[Any],
    squares: NDArray[np.float64],
    places: NDArray[np.int64],
    labels: NDArray[np.float64],
    label_starts: NDArray[np.int64],
    label_stops: NDArray[np.int64],
    queries: NDArray[np.int64],
    text: NDArray[np.uint8],
    start: int,
    stop: int,
    n_rows: int,
    labelled: int,
    lowest_allowed: int,
    sort: bool,
    hash_bits: int,
) -> tuple[int, int, int, int, int, int]: ...
def checksum_lines(text: NDArray[np.uint8], start: int, stop: int) -> int: ...
