from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from cwlearn.core.states.base import KernelRule

KINDS: dict[str, int]
PROJECTIONS: dict[str, int]
UPDATES: dict[str, int]
CALIBRATION_SIZE: int
MAP_SIZE: int
SCORED: int
LEARNED: int
LEFT_OUT: int

def learn_rows(
    cells: NDArray[Any],
    average: NDArray[np.float64],
    stamps: NDArray[np.float64],
    scratch: NDArray[np.float64],
    places: NDArray[np.int64],
    indptr: NDArray[np.int64],
    indices: NDArray[Any],
    values: NDArray[Any],
    squares: NDArray[np.float64],
    targets: NDArray[np.float64],
    weights: NDArray[np.float64],
    fresh: NDArray[np.uint8],
    order: NDArray[np.int64],
    rule: KernelRule,
    counts: NDArray[np.uint8],
    set_bounds: NDArray[np.int64] | None = None,
    set_labels: NDArray[np.int32] | None = None,
    calibrations: NDArray[np.float64] | None = None,
) -> int: ...
def margin_rows(
    mean: NDArray[np.float64],
    variance: NDArray[np.float64],
    scores: NDArray[np.float64],
    cells: NDArray[Any],
    scratch: NDArray[np.float64],
    places: NDArray[np.int64],
    indptr: NDArray[np.int64],
    indices: NDArray[Any],
    values: NDArray[Any],
    order: NDArray[np.int64],
    bias: float,
    inclusive: bool,
    blocks: int,
) -> None: ...
def measure_row(
    cells: NDArray[Any],
    indices: NDArray[Any],
    values: NDArray[Any],
    mean: NDArray[np.float64],
    variance: NDArray[np.float64],
    bias: float,
    inclusive: bool,
    blocks: int,
) -> tuple[float, float, float] | None: ...

@final
class RoomForOne:
    def __init__(self, rule: KernelRule, scratch: NDArray[np.float64], places: NDArray[np.int64]) -> None: ...

def learn_alone(
    room: RoomForOne,
    cells: NDArray[Any],
    average: NDArray[np.float64],
    stamps: NDArray[np.float64],
    indices: NDArray[Any],
    values: NDArray[Any],
    target: float,
    weight: float,
    counts: NDArray[np.uint8],
) -> bool: ...
def answer_rows(
    mean: NDArray[np.float64],
    variance: NDArray[np.float64],
    scores: NDArray[np.float64],
    cells: NDArray[Any],
    scratch: NDArray[np.float64],
    places: NDArray[np.int64],
    indptr: NDArray[np.int64],
    indices: NDArray[Any],
    asked: NDArray[Any],
    taught: NDArray[Any],
    squares: NDArray[np.float64],
    targets: NDArray[np.float64],
    weights: NDArray[np.float64],
    todo: NDArray[np.uint8],
    order: NDArray[np.int64],
    first: int,
    inclusive: bool,
    rule: KernelRule,
    counts: NDArray[np.uint8],
) -> tuple[int, bool]: ...
def check_rows(
    squares: NDArray[np.float64],
    indptr: NDArray[np.int64],
    indices: NDArray[Any],
    values: NDArray[Any],
    n_features: int,
) -> tuple[int, bool]: ...
def runs_v3() -> bool: ...
def choose_scores(wide: bool) -> bool: ...
def rule_answer(kind: int, parameter: float, C: float, m: float, v: float) -> tuple[float, float]: ...
def exact_answer(kind: int, phi: float, m: float, q: NDArray[np.float64]) -> tuple[float, float]: ...
