"""How fast learning is with more than two labels.

    python -m bench.multiclass [--rows N] [--repeat N]

One epoch of CW and others with one, five or all constraints, against scikit-learn's SGDClassifier (one-vs-rest) on the
same matrix, and the time per row by the number of labels.  All contestants run in turn; the best of the rounds counts.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np

from bench.datasets import zipf
from bench.kernels import contest, sgd, timed
from cwlearn import AROWClassifier, CWClassifier, PassiveAggressiveClassifier, rules
from cwlearn.learner import Learner, Training
from cwlearn.rows import as_rows
from cwlearn.state import NONE

VARIANCE = {"form": "variance", "epochs": 1, "random_state": 0}


def fits(X: Any, y: np.ndarray) -> dict[str, Callable[[], float]]:
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

    def run(model: Any) -> Callable[[], float]:
        return lambda: timed(lambda: model.fit(X, y))

    return {"scikit-learn SGDClassifier": lambda: sgd(X, y)} | {name: run(model) for name, model in models.items()}


def kernel_pass(X: Any, n_labels: int) -> Callable[[], float]:
    rows = as_rows(X, np.dtype(np.float32))
    y = np.random.default_rng(0).integers(0, n_labels, X.shape[0])

    def run() -> float:
        learner = Learner(rules.CW(form="variance"), Training(), np.arange(n_labels), X.shape[1])
        targets = learner.encode(y)
        return timed(lambda: learner.learn(rows, targets, NONE))

    return run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--repeat", type=int, default=5)
    arguments = parser.parse_args()
    for n_features in (50_000, 1_000_000):
        X, y = zipf(arguments.rows, 100, n_features, n_labels=20)
        print(f"\n20 labels, {n_features:,} features, {X.shape[0]:,} rows, {X.nnz:,} nonzeros, float32")
        seconds = contest(fits(X, y), arguments.repeat)
        against, first = seconds["scikit-learn SGDClassifier"], seconds["CW k=1"]
        print(f"  {'one epoch through fit':28s} {'us/row':>8s} {'against SGD':>12s} {'of CW k=1':>10s}")
        for name, value in seconds.items():
            per_row = 1e6 * value / X.shape[0]
            print(f"  {name:28s} {per_row:8.2f} {against / value:11.2f}x {value / first:9.2f}x")

    X, _ = zipf(arguments.rows, 100, 50_000)
    print(f"\nCW k=1 by the number of labels, {X.nnz / X.shape[0]:.0f} nonzeros a row, 50,000 features")
    numbers = (2, 3, 5, 10, 20, 50, 100, 200)
    seconds = contest({str(n): kernel_pass(X, n) for n in numbers}, arguments.repeat)
    print(f"  {'labels':>8s} {'us/row':>8s} {'us/row/label':>13s}")
    for name, value in seconds.items():
        per_row = 1e6 * value / X.shape[0]
        print(f"  {name:>8s} {per_row:8.2f} {per_row / int(name):13.3f}")


if __name__ == "__main__":
    main()
