"""Times of candidates that take turns."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from tqdm import tqdm

Runner = Callable[[], float]  # does some work and returns its seconds
clock: Callable[[], float] = time.perf_counter  # of `timed`; `time.process_time` for a machine that is busy


@dataclass(frozen=True)
class Times:
    """The seconds of all rounds."""

    seconds: tuple[float, ...]

    @property
    def best(self) -> float:
        """The number to compare: other load on the machine can only add time."""
        return min(self.seconds)

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def spread(self) -> float:
        """The difference of the slowest and the fastest round, as a part of the median."""
        return (max(self.seconds) - min(self.seconds)) / self.median


def time_in_turns(candidates: Mapping[str, Runner], repeat: int, once: Collection[str] = ()) -> dict[str, Times]:
    """Run all candidates in each round; those named in `once` run in the first round only."""
    seconds: dict[str, list[float]] = {name: [] for name in candidates}
    turns = [(turn, name) for turn in range(repeat) for name in candidates if turn == 0 or name not in once]
    for _, name in tqdm(turns, leave=False, disable=None):
        seconds[name].append(candidates[name]())
    return {name: Times(tuple(values)) for name, values in seconds.items()}


def timed(action: Callable[[], Any]) -> float:
    """The seconds that an action takes."""
    start = clock()
    action()
    return clock() - start
