"""How fast learning is with more than two labels.

One epoch of CW and others with one, five or all constraints, against scikit-learn's SGDClassifier (one-vs-rest) on the
same matrix (made up, and 20 Newsgroups), and the time per row by the number of labels.  The candidates take turns.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from bench import timing
from bench.datasets import load, zipf
from bench.kernels import kernel_pass, sgd
from bench.report import Report, positive, suite_parser
from bench.timing import Runner, time_in_turns, timed
from cwlearn import AROWClassifier, CWClassifier, PassiveAggressiveClassifier
from cwlearn.core import rules

VARIANCE = {"form": "variance", "epochs": 1, "random_state": 0}


def fits(X: Any, y: np.ndarray) -> dict[str, Runner]:
    """A shuffled epoch through `fit`."""
    models = {
        "CW k=1": CWClassifier(**VARIANCE),
        "CW k=5 sequential": CWClassifier(n_constraints=5, **VARIANCE),
        "CW k=5 parallel": CWClassifier(n_constraints=5, multiclass_update="parallel", **VARIANCE),
        "CW k=5 exact": CWClassifier(n_constraints=5, multiclass_update="exact", **VARIANCE),
        "CW all sequential": CWClassifier(n_constraints=None, **VARIANCE),
        "CW all parallel": CWClassifier(n_constraints=None, multiclass_update="parallel", **VARIANCE),
        "CW all exact": CWClassifier(n_constraints=None, multiclass_update="exact", **VARIANCE),
        "CW stdev k=1": CWClassifier(epochs=1, random_state=0),
        "AROW k=1": AROWClassifier(epochs=1, random_state=0),
        "PA k=1": PassiveAggressiveClassifier(epochs=1, random_state=0),
        "PA k=5 exact": PassiveAggressiveClassifier(
            epochs=1, random_state=0, n_constraints=5, multiclass_update="exact"
        ),
    }

    def run(model: Any) -> Runner:
        return lambda: timed(lambda: model.fit(X, y))

    return {"scikit-learn SGDClassifier": lambda: sgd(X, y)} | {name: run(model) for name, model in models.items()}


def random_labels(X: Any, n_labels: int) -> Runner:
    """One epoch of CW with labels that nothing can predict."""
    y = np.random.default_rng(0).integers(0, n_labels, X.shape[0])
    return kernel_pass(rules.CW(form="variance"), X, y, np.arange(X.shape[0]), n_labels)


def main(words: Sequence[str]) -> None:
    parser = suite_parser("multiclass", __doc__, repeat=5)
    parser.add_argument("--rows", type=positive(int), default=20_000, metavar="N")
    parser.add_argument("--cpu", action="store_true", help="CPU seconds, for a machine that is busy with other work")
    options = parser.parse_args(words)
    if options.cpu:
        timing.clock = time.process_time
    report = Report("multiclass", options)
    news = load("20news")
    for title, (X, y) in {
        "50,000 features": zipf(options.rows, 100, 50_000, n_labels=20),
        "1,000,000 features": zipf(options.rows, 100, 1_000_000, n_labels=20),
        "20 Newsgroups": (news.X, news.y),
    }.items():
        report.say(f"{title}: 20 labels, {X.shape[1]:,} features, {X.shape[0]:,} rows, {X.nnz:,} nonzeros, float32")
        times = time_in_turns(fits(X, y), options.repeat)
        against, first = times["scikit-learn SGDClassifier"].best, times["CW k=1"].best
        columns = {
            "us/row": {name: f"{1e6 * of.best / X.shape[0]:.2f}" for name, of in times.items()},
            "against SGD": {name: f"{against / of.best:.2f} x" for name, of in times.items()},
            "of CW k=1": {name: f"{of.best / first:.2f} x" for name, of in times.items()},
        }
        report.times(f"one epoch through fit, {title}", times, columns)

    X, _ = zipf(options.rows, 100, 50_000)
    report.say(f"CW k=1 by the number of labels, {X.nnz / X.shape[0]:.0f} nonzeros per row, 50,000 features")
    numbers = (2, 3, 5, 10, 20, 50, 100, 200)
    times = time_in_turns({str(n): random_labels(X, n) for n in numbers}, options.repeat)
    per_row = {name: 1e6 * of.best / X.shape[0] for name, of in times.items()}
    columns = {
        "us/row": {name: f"{value:.2f}" for name, value in per_row.items()},
        "us/row/label": {name: f"{value / int(name):.3f}" for name, value in per_row.items()},
    }
    report.times("labels", times, columns)
    report.close()
