"""Candidates that take turns, and what is said of their seconds."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from tqdm import tqdm


@dataclass(frozen=True)
class Times:
    """The seconds of all rounds."""

    seconds: tuple[float, ...]

    @property
    def best(self) -> float:
        """What to compare by: whatever else the machine does can only add time."""
        return min(self.seconds)

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def spread(self) -> float:
        """From the fastest to the slowest round, as a part of the median."""
        return (max(self.seconds) - min(self.seconds)) / self.median


def contest(candidates: Mapping[str, Callable[[], float]], repeat: int, once: Collection[str] = ()) -> dict[str, Times]:
    """The seconds of each, all taking turns; those named in `once` have a single turn."""
    seconds: dict[str, list[float]] = {name: [] for name in candidates}
    turns = [(turn, name) for turn in range(repeat) for name in candidates if turn == 0 or name not in once]
    for _, name in tqdm(turns, leave=False, disable=None):
        seconds[name].append(candidates[name]())
    return {name: Times(tuple(values)) for name, values in seconds.items()}


def timed(action: Callable[[], Any]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start
