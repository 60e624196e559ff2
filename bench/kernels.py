"""How fast the engine is: against scikit-learn's SGDClassifier, and against a loop that only moves memory.

    python -m bench.kernels [--rows N] [--repeat N]

Prints millions of nonzeros per second and the ratios that are promised, for matrices of 50 thousand and 5 million
features with Zipf-distributed columns.  All contestants run in turn within one round; the best of the rounds counts,
since whatever else the machine does can only add time.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import SGDClassifier

from bench.datasets import zipf
from bench.native import roofline
from cwlearn import AROWClassifier, CWClassifier, rules
from cwlearn.learner import Learner, Training
from cwlearn.rows import as_rows
from cwlearn.state import NONE

RULES = {
    "AROW, kl": rules.AROW(),
    "AROW, l2": rules.AROW(projection="l2"),
    "CW stdev, kl": rules.CW(),
    "CW stdev, exact": rules.CW(projection="exact"),
    "CW variance, kl": rules.CW(form="variance"),
    "CW variance, exact": rules.CW(form="variance", projection="exact"),
    "SCW-I": rules.SCW(loss="hinge"),
    "SCW-II": rules.SCW(),
    "SOP": rules.SOP(),
    "Bayesian logistic": rules.Logistic(),
    "PA-I": rules.PassiveAggressive(),
}


def contest(contestants: dict[str, Callable[[], float]], repeat: int) -> dict[str, float]:
    """Best seconds of each, all taking turns."""
    best = dict.fromkeys(contestants, np.inf)
    for _ in range(repeat):
        for name, run in contestants.items():
            best[name] = min(best[name], run())
    return best


def timed(action: Callable[[], Any]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def kernel_pass(rule: rules.Rule, X: Any, y: np.ndarray, order: np.ndarray) -> Callable[[], float]:
    rows = as_rows(X, np.dtype(np.float32))
    targets = np.where(y == 1, 1.0, -1.0)

    def run() -> float:
        learner = Learner(rule, Training(), np.array([0, 1]), X.shape[1])
        return timed(lambda: learner.learn(rows, targets, NONE, order))

    return run


def roofline_pass(X: Any, order: np.ndarray, look_ahead: bool) -> Callable[[], float]:
    indptr = X.indptr.astype(np.int64)

    def run() -> float:
        cells = np.ones(2 * (X.shape[1] + 1), np.float32)  # as new, and as far from the cache, as a learner's
        return timed(lambda: roofline.gather_and_write_back(cells, indptr, X.indices, order, look_ahead))

    return run


def sgd(X: Any, y: np.ndarray) -> float:
    model = SGDClassifier(max_iter=1, tol=None, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return timed(lambda: model.fit(X, y))


def report(n_features: int, n_rows: int, repeat: int) -> None:
    X, y = zipf(n_rows, 100, n_features)
    print(f"\n{n_features:,} features, {n_rows:,} rows, {X.nnz:,} nonzeros, float32")

    fits = {
        "scikit-learn SGDClassifier": lambda: sgd(X, y),
        "AROWClassifier": lambda: timed(lambda: AROWClassifier(epochs=1, random_state=0).fit(X, y)),
        "CWClassifier": lambda: timed(lambda: CWClassifier(epochs=1, random_state=0).fit(X, y)),
    }
    seconds = contest(fits, repeat)
    print(f"  {'one epoch through fit, shuffled':36s} {'M nonzeros/s':>14s} {'against SGD':>14s}")
    for name, value in seconds.items():
        ratio = seconds["scikit-learn SGDClassifier"] / value
        print(f"  {name:36s} {X.nnz / value / 1e6:14.0f} {ratio:13.2f}x")

    for title, order in (("in order", np.arange(n_rows)), ("shuffled", np.random.default_rng(0).permutation(n_rows))):
        runs: dict[str, Callable[[], float]] = {
            "roofline": roofline_pass(X, order, False),
            "roofline, looking ahead": roofline_pass(X, order, True),
        }
        runs |= {name: kernel_pass(rule, X, y, order) for name, rule in RULES.items()}
        seconds = contest(runs, repeat)
        roof = seconds["roofline, looking ahead"]
        print(f"  {'kernel, rows ' + title:36s} {'M nonzeros/s':>14s} {'of roofline':>14s} {'against kl':>14s}")
        for name, value in seconds.items():
            kl = seconds.get(name.replace("exact", "kl"), np.nan)
            against = f"{value / kl:13.2f}x" if "exact" in name else ""
            print(f"  {name:36s} {X.nnz / value / 1e6:14.0f} {roof / value:13.0%} {against:>14s}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--repeat", type=int, default=7)
    arguments = parser.parse_args()
    for n_features in (50_000, 5_000_000):
        report(n_features, arguments.rows, arguments.repeat)


if __name__ == "__main__":
    main()
