"""What a model counts while it learns."""

from __future__ import annotations

import math
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from cwlearn._kernels import CALIBRATION_SIZE

MOST_ROWS = 1 << 53  # sums in double are exact up to here, and no later pass can overflow


class Statistics(TypedDict):
    """What is counted from the first row on."""

    rows: int
    updates: int
    mistakes: int
    unsolved: int
    loss: float  # of the first epoch alone
    surprise: float
    squares: float
    repeated_rows: int  # of these rows: those of a second and later epochs
    repeated_mistakes: int


WHOLE = ("rows", "updates", "mistakes", "unsolved", "repeated_rows", "repeated_mistakes")
REPEATED = ("repeated_rows", "repeated_mistakes")  # which the kernel does not know
Repeated = tuple[int, int]


def new_statistics() -> Statistics:
    return Statistics(
        rows=0, updates=0, mistakes=0, unsolved=0, loss=0.0, surprise=0.0, squares=0.0,
        repeated_rows=0, repeated_mistakes=0,
    )  # fmt: skip


# `_kernels.Statistics`: the other fields as a struct, which the kernel updates, and what scores have been worth.
COUNTED = {name: type(zero) for name, zero in new_statistics().items() if name not in REPEATED}
STATISTICS = np.dtype([*COUNTED.items(), ("calibration", np.float64, (CALIBRATION_SIZE,))])


def copy_of_counts(counts: NDArray[np.void]) -> NDArray[np.void]:
    """A copy of STATISTICS, byte by byte: field by field takes several times as long."""
    return np.ndarray(1, STATISTICS, bytearray(counts.tobytes()))


def count_as_repeated(repeated: Repeated, before: NDArray[np.void], after: NDArray[np.void]) -> Repeated:
    """The counts of repeated rows, and of those that were counted between two moments.

    Of these `after` forgets the loss: a difference of sums would depend on how rows are cut into chunks.
    """
    after["loss"] = before["loss"]
    rows, mistakes = (int(after[name][0] - before[name][0]) for name in ("rows", "mistakes"))
    return repeated[0] + rows, repeated[1] + mistakes


def statistics_of(counts: NDArray[np.void], repeated: Repeated) -> Statistics:
    """A copy of what has been counted."""
    statistics, now = new_statistics(), counts[0].copy()
    for name in COUNTED:
        statistics[name] = now[name].item()  # type: ignore[literal-required]
    statistics["repeated_rows"], statistics["repeated_mistakes"] = repeated
    return statistics


def progressive_error(now: Statistics, before: Statistics, labels: int | None) -> float | None:
    """The error on the rows between two moments, each before it was learned for the first time.

    It is the part of mistakes among `labels` decisions a row or, if there are no labels, the root of the mean squared
    error.  Of several epochs the first one counts: later ones meet rows that the model knows.  None without such rows.
    """
    rows, mistakes = (
        (now[name] - before[name]) - (now[repeated] - before[repeated])  # type: ignore[literal-required]
        for name, repeated in zip(("rows", "mistakes"), REPEATED, strict=True)
    )
    if not rows:
        return None
    if labels is None:
        return math.sqrt(max(0.0, now["loss"] - before["loss"]) / rows)
    return float(mistakes / (rows * labels))


def statistics_from_record(record: dict[str, Any]) -> Statistics:
    """The counts of a model file; ValueError says what is not sound.  Files from before 0.2.0 know no repeated rows."""
    counts = {**dict.fromkeys(REPEATED, 0), **record}
    whole = [counts.pop(name) for name in WHOLE]
    if not all(type(count) is int and 0 <= count <= MOST_ROWS for count in whole):
        raise ValueError(f"its counts {whole} are not sound")
    sums = {name: counts[name] for name in ("loss", "surprise", "squares")}
    if not all(type(number) in (int, float) and 0 <= number < float("inf") for number in sums.values()):
        raise ValueError(f"its sums {[*sums.values()]} are not sound")
    statistics = new_statistics()
    for name, number in [*zip(WHOLE, whole, strict=True), *sums.items()]:
        statistics[name] = type(statistics[name])(number)  # type: ignore[literal-required]
    return statistics
