"""Types of the compiled module."""

from collections.abc import Iterable
from typing import final

import numpy as np
from numpy.typing import NDArray

DONE: int
BAD_RECORD: int
NEEDS_ROOM: int
MISSING: int
STRING: int
NUMBER: int
TRUE: int
FALSE: int
NULL: int
OTHER: int
SLACK: int
MAX_DEPTH: int
MAX_FIELDS: int

@final
class JsonFields:
    names: tuple[str, ...]
    def __init__(self, names: Iterable[str], lists: bool = False) -> None: ...
    def __len__(self) -> int: ...

def split_json(
    places: NDArray[np.int64],
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    kinds: NDArray[np.uint8],
    scratch: NDArray[np.uint8],
    text: NDArray[np.uint8],
    start: int,
    stop: int,
    n_records: int,
    used: int,
    fields: JsonFields,
) -> tuple[int, int, int, int, int]: ...
def split_csv(
    places: NDArray[np.int64],
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    kinds: NDArray[np.uint8],
    scratch: NDArray[np.uint8],
    text: NDArray[np.uint8],
    start: int,
    stop: int,
    n_records: int,
    used: int,
    columns: NDArray[np.int64],
    n_fields: int,
    delimiter: int,
) -> tuple[int, int, int, int, int]: ...
def split_fasttext(
    places: NDArray[np.int64],
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    kinds: NDArray[np.uint8],
    counts: NDArray[np.int32],
    scratch: NDArray[np.uint8],
    text: NDArray[np.uint8],
    start: int,
    stop: int,
    n_records: int,
    used: int,
    prefix: bytes,
    all_labels: bool = False,
) -> tuple[int, int, int, int, int]: ...
def split_tabbed(
    places: NDArray[np.int64],
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    kinds: NDArray[np.uint8],
    scratch: NDArray[np.uint8],
    text: NDArray[np.uint8],
    start: int,
    stop: int,
    n_records: int,
    used: int,
) -> tuple[int, int, int, int, int]: ...
def split_plain(
    places: NDArray[np.int64],
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    kinds: NDArray[np.uint8],
    scratch: NDArray[np.uint8],
    text: NDArray[np.uint8],
    start: int,
    stop: int,
    n_records: int,
    used: int,
) -> tuple[int, int, int, int, int]: ...
def end_of_record(text: NDArray[np.uint8], place: int, stop: int, delimiter: int) -> int: ...
def end_of_last_record(text: NDArray[np.uint8], start: int, filled: int, delimiter: int) -> int: ...
def intern_spans(
    buffer: NDArray[np.uint8], starts: NDArray[np.int64], stops: NDArray[np.int64]
) -> tuple[NDArray[np.int64], list[int]]: ...
def joined_size(starts: NDArray[np.int64], stops: NDArray[np.int64]) -> int: ...
def join_spans(
    out_starts: NDArray[np.int64],
    out_stops: NDArray[np.int64],
    out: NDArray[np.uint8],
    used: int,
    buffer: NDArray[np.uint8],
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    kinds: NDArray[np.uint8],
) -> int: ...
