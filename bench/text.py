"""How fast documents become a matrix: `HashingVectorizer` against scikit-learn's, in the same process, in turns.

The documents are raw Amazon reviews from the folder CWLEARN_DATA; without them, made-up words with Zipf's frequencies.
One thread is compared by seconds of the processor, two threads with one by the clock.
"""

from __future__ import annotations

import json
import lzma
import os
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer as Original

from bench.datasets import data_folder
from bench.report import CORES, Report, Row, positive, suite_parser
from bench.targets import report_targets, speed_up_rows
from bench.timing import time_in_turns
from cwlearn import HashingVectorizer

SETTINGS: dict[str, tuple[dict[str, Any], float]] = {  # with the target against scikit-learn
    "words": ({}, 10),
    "words and bigrams": ({"ngram_range": (1, 2)}, 12),
    "char_wb (3, 5)": ({"analyzer": "char_wb", "ngram_range": (3, 5)}, 15),
}
REVIEWS = "amazon-processed-acl/raw-sorted_data_acl.jsonl.xz"


def reviews(count: int) -> tuple[str, list[str]]:
    """What the documents are, and so many of them."""
    path = data_folder() / REVIEWS
    if path.exists():
        with lzma.open(path, "rt", encoding="utf-8") as lines:
            return "Amazon reviews", [json.loads(line)["text"] for line, _ in zip(lines, range(count), strict=False)]
    return "made-up words", made_up(count)


def made_up(count: int) -> list[str]:
    """Documents of made-up words with Zipf's frequencies."""
    rng = np.random.default_rng(0)
    letters = np.array([*"etaoinshrdlucmfwypvbgk"])
    words = np.array(["".join(rng.choice(letters, size)) for size in rng.integers(2, 10, 30_000)])
    ranks = np.minimum(rng.zipf(1.2, (count, 150)), len(words)) - 1
    return [" ".join(row) for row in words[ranks]]


def run(
    kind: Any, documents: Sequence[str], settings: dict[str, Any], threads: int, clock: Callable[[], float]
) -> float:
    before = os.environ.get("OMP_NUM_THREADS")
    os.environ["OMP_NUM_THREADS"] = str(threads)
    try:
        vectorizer = kind(**settings)
        start = clock()
        vectorizer.transform(documents)
        return clock() - start
    finally:
        if before is None:
            del os.environ["OMP_NUM_THREADS"]
        else:
            os.environ["OMP_NUM_THREADS"] = before


def main(words: Sequence[str]) -> None:
    parser = suite_parser("text", __doc__, repeat=7)
    parser.add_argument("--documents", type=positive(int), default=4000, help="number of documents (default: 4000)")
    options = parser.parse_args(words)
    report = Report("text", options)
    what, documents = reviews(options.documents)
    size = sum(len(document.encode()) for document in documents) / 1e6
    report.say(f"{len(documents):,} {what}, {size:.1f} MB")
    targets: list[Row] = []
    for name, (settings, target) in SETTINGS.items():
        ours, theirs = (kind(**settings).transform(documents) for kind in (HashingVectorizer, Original))
        assert (ours != theirs).nnz == 0, "cwlearn and scikit-learn make different matrices"
        of = partial(run, documents=documents, settings=settings)
        cpu = {
            "cwlearn, one thread": partial(of, HashingVectorizer, threads=1, clock=time.process_time),
            "scikit-learn": partial(of, Original, threads=1, clock=time.process_time),
        }
        times = time_in_turns(cpu, options.repeat)
        speeds = {candidate: f"{size / found.best:,.1f}" for candidate, found in times.items()}
        report.times(f"{name}: seconds of the processor", times, {"MB/s": speeds})
        targets += speed_up_rows(name, times, "cwlearn, one thread", {"scikit-learn": target})
        if CORES > 1:
            wall = {
                f"{number} thread{'s' * (number > 1)}": partial(
                    of, HashingVectorizer, threads=number, clock=time.perf_counter
                )
                for number in (1, 2)
            }
            times = time_in_turns(wall, 3 * options.repeat)
            speeds = {candidate: f"{size / found.best:,.1f}" for candidate, found in times.items()}
            report.times(f"{name}: seconds", times, {"MB/s": speeds})
            targets += speed_up_rows(name, times, "2 threads", {"1 thread": 1.7})
    report_targets(report, targets)
    report.close()
