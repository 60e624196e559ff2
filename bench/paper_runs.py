"""Comparisons for `papers`, with journals, and the formats of their tables."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from tqdm import tqdm

from bench.cache import cache_folder
from cwlearn import evaluation
from cwlearn.evaluation.candidates import Candidate
from cwlearn.evaluation.comparison import Comparison
from cwlearn.evaluation.runner import TrialMonitor


@dataclass(frozen=True)
class Duration:
    """How long a comparison took."""

    name: str
    seconds: float
    trials: int
    from_journal: int  # trials that the journal had

    def __str__(self) -> str:
        journal = f", {self.from_journal:,} of them from a journal" if self.from_journal else ""
        return f"{self.name} {self.seconds / 60:.1f} min ({self.trials:,} trials{journal})"


class Comparisons:
    """Runs comparisons, each with a journal, and keeps their durations."""

    def __init__(self, seed: int, fresh: bool) -> None:
        self.seed, self.fresh = seed, fresh
        self.durations: list[Duration] = []

    def compare(self, name: str, data: Mapping[str, Any], candidates: list[Candidate], **options: Any) -> Comparison:
        folder = cache_folder() / "papers"
        folder.mkdir(parents=True, exist_ok=True)
        journal = folder / f"{name.replace(' ', '-')}-{self.seed}.jsonl"
        if self.fresh:
            journal.unlink(missing_ok=True)
        from_journal = len(journal.read_bytes().splitlines()) - 1 if journal.exists() else 0
        start = time.perf_counter()
        with tqdm(desc=name, unit=" trials", leave=False) as bar:
            comparison = evaluation.compare(
                data, algorithms=candidates, seed=self.seed, journal=journal, monitor=_BarMonitor(bar), **options
            )
        seconds = time.perf_counter() - start
        self.durations.append(Duration(name, seconds, len(comparison.outcomes), max(0, from_journal)))
        print(f"{name}: {seconds:.0f} s", flush=True)
        return comparison


class _BarMonitor(TrialMonitor):
    def __init__(self, bar: tqdm) -> None:
        self._bar = bar

    def trial_ended(self, outcome: Any) -> None:
        self._bar.update()


def percent(value: float) -> str:
    return "-" if np.isnan(value) else f"{100 * value:.2f}"


def bold_if(condition: bool, text: str) -> str:
    return f"**{text}**" if condition else text
