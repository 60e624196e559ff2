"""How long one answer takes: a row, a text, a row learned; and from the start of a process to its first answer.

Every call is timed, with another row each time; a round is the median of its calls, and the candidates take turns.
scikit-learn's pipeline answers the same texts in the same run.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline

from bench.datasets import zipf
from bench.processes import run
from bench.report import Report, suite_parser
from bench.targets import report_targets, speed_up_rows, target_row
from bench.timing import Runner, Times, time_in_turns
from cwlearn import AROWClassifier, TextClassifier

CALLS = 500  # of a round
FEATURES = 1 << 20
WORDS = 100  # of a text
FIRST_ANSWER = "import cwlearn; cwlearn.load_predictor({path!r}).predict_one({text!r})"


def main(words: Sequence[str]) -> None:
    options = suite_parser("latency", __doc__, repeat=15).parse_args(words)
    report = Report("latency", options)
    times = time_in_turns(_candidates(), options.repeat)
    micro = {name: f"{of.median * 1e6:.1f}" for name, of in times.items()}
    report.table(
        ["one call", "median, µs", "best round, µs"],
        [[name, micro[name], f"{of.best * 1e6:.1f}"] for name, of in times.items()],
    )
    starts = _starts(options.repeat)
    report.times("start of a process", starts, {})
    report_targets(report, [*_targets(times), _start_target(starts)])
    report.close()


def _candidates() -> dict[str, Runner]:
    candidates: dict[str, Runner] = {}
    for n_labels in (2, 20):
        X, y = zipf(5000, 80, FEATURES, n_labels=n_labels)
        model = AROWClassifier(random_state=0, epochs=1).fit(X, y)
        rows, labels = [X[row] for row in range(1000)], y.tolist()
        dicts = [dict(zip(row.indices.tolist(), row.data.tolist(), strict=True)) for row in rows]
        labelled = [*zip(rows, labels, strict=False)]
        candidates |= {
            f"`predict_one`, CSR row, {n_labels} labels": _timed(model.predict_one, rows),
            f"`predict_one`, dict, {n_labels} labels": _timed(model.predict_one, dicts),
            f"`predict_proba_one`, CSR row, {n_labels} labels": _timed(model.predict_proba_one, rows),
            f"`predict`, CSR row, {n_labels} labels": _timed(model.predict, rows),
            f"`learn_one`, CSR row, {n_labels} labels": _timed(lambda pair, m=model: m.learn_one(*pair), labelled),
        }
    for n_labels in (2, 20):
        texts, kinds = _texts(n_labels)
        model = TextClassifier(AROWClassifier(random_state=0, epochs=1)).fit(texts, kinds)
        candidates[f"`predict_one`, text, {n_labels} labels"] = _timed(model.predict_one, texts)
        pairs = [*zip(texts, kinds, strict=True)]
        candidates[f"`learn_one`, text, {n_labels} labels"] = _timed(lambda pair, m=model: m.learn_one(*pair), pairs)
    texts, kinds = _texts(2)
    pipeline = make_pipeline(HashingVectorizer(ngram_range=(1, 2)), SGDClassifier(random_state=0)).fit(texts, kinds)
    candidates["scikit-learn's pipeline, text, 2 labels"] = _timed(lambda text: pipeline.predict([text]), texts, 50)
    return candidates


def _timed(action: Callable[[Any], object], inputs: Sequence[Any], calls: int = CALLS) -> Runner:
    """A round: the median seconds of so many calls, each with the next input."""
    numbers = count()

    def round_of_calls() -> float:
        seconds = []
        for _ in range(calls):
            given = inputs[next(numbers) % len(inputs)]
            start = time.perf_counter()
            action(given)
            seconds.append(time.perf_counter() - start)
        return statistics.median(seconds)

    return round_of_calls


def _texts(n_labels: int) -> tuple[list[str], list[int]]:
    """Texts of 100 words, some words frequent and many rare."""
    rng = np.random.default_rng(n_labels)
    ranks = np.minimum(rng.zipf(1.3, (1000, WORDS)), 50_000)
    return [" ".join(f"word{rank}" for rank in row) for row in ranks.tolist()], rng.integers(0, n_labels, 1000).tolist()


def _starts(repeat: int) -> dict[str, Times]:
    """Seconds from the start of a process to its end, after one answer."""
    texts, kinds = _texts(2)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "model.npz")
        TextClassifier().fit(texts, kinds).save(path)
        codes = {
            "`load_predictor` and `predict_one`": FIRST_ANSWER.format(path=path, text=texts[0]),
            "`load` and `predict_one`": FIRST_ANSWER.format(path=path, text=texts[0]).replace("load_predictor", "load"),
            "`import numpy`": "import numpy",
        }
        runs = {name: lambda code=code: run(sys.executable, "-c", code).seconds for name, code in codes.items()}
        return time_in_turns(runs, repeat)


def _targets(times: Mapping[str, Times]) -> list[Sequence[str]]:
    median = {name: of.median * 1e6 for name, of in times.items()}
    row, text = median["`predict_one`, CSR row, 2 labels"], median["`predict_one`, text, 2 labels"]
    aims = {
        "`predict_one`, CSR row, 2 labels": 10,
        "`predict_one`, text, 2 labels": 25,
        "`predict_one`, CSR row, 20 labels": 3 * row,
        "`predict_one`, text, 20 labels": 3 * text,
        "`learn_one`, CSR row, 2 labels": 15,
    }
    rows = [
        target_row(name, f"≤ {most:.1f} µs", f"{median[name]:.1f} µs", median[name] <= most)
        for name, most in aims.items()
    ]
    # On a busy machine all are slower together, and only their ratio tells something.
    ours, theirs = "`predict_one`, text, 2 labels", "scikit-learn's pipeline, text, 2 labels"
    return [*rows, *speed_up_rows("text", times, ours, {theirs: 20})]


def _start_target(starts: Mapping[str, Times]) -> Sequence[str]:
    seconds = starts["`load_predictor` and `predict_one`"].median
    return target_row("first answer of a process", "≤ 0.25 s", f"{seconds:.3f} s", seconds <= 0.25)
