"""How fast the engine is: against scikit-learn's SGDClassifier, and against a loop that only moves memory.

Millions of nonzeros per second and ratios, for matrices of 50 thousand and 5 million features with Zipf-distributed
columns.  The candidates take turns.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import SGDClassifier

from bench.datasets import zipf
from bench.native import roofline
from bench.report import Report, positive, suite_parser
from bench.timing import Runner, time_in_turns, timed
from cwlearn import AROWClassifier, CWClassifier
from cwlearn.core import rules
from cwlearn.core.learner import Learner
from cwlearn.core.rows import as_rows
from cwlearn.core.states.base import NONE
from cwlearn.core.training import Training

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


def kernel_pass(rule: rules.Rule, X: Any, y: np.ndarray, order: np.ndarray, n_labels: int = 2) -> Runner:
    """One epoch of a new learner."""
    rows = as_rows(X, np.dtype(np.float32))

    def run() -> float:
        learner = Learner(rule, Training(), np.arange(n_labels), X.shape[1])
        targets = learner.encode(y)
        return timed(lambda: learner.learn(rows, targets, NONE, order))

    return run


def roofline_pass(X: Any, order: np.ndarray, look_ahead: bool) -> Runner:
    """One pass that gathers the cells of each row and writes them back."""
    indptr = X.indptr.astype(np.int64)

    def run() -> float:
        cells = np.ones(2 * (X.shape[1] + 1), np.float32)  # new, and as far from the cache as those of a learner
        return timed(lambda: roofline().gather_and_write_back(cells, indptr, X.indices, order, look_ahead))

    return run


def sgd(X: Any, y: np.ndarray) -> float:
    model = SGDClassifier(max_iter=1, tol=None, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return timed(lambda: model.fit(X, y))


def measure(report: Report, n_features: int, n_rows: int, repeat: int) -> None:
    X, y = zipf(n_rows, 100, n_features)
    report.say(f"{n_features:,} features, {n_rows:,} rows, {X.nnz:,} nonzeros, float32")

    fits = {
        "scikit-learn SGDClassifier": lambda: sgd(X, y),
        "AROWClassifier": lambda: timed(lambda: AROWClassifier(epochs=1, random_state=0).fit(X, y)),
        "CWClassifier": lambda: timed(lambda: CWClassifier(epochs=1, random_state=0).fit(X, y)),
    }
    times = time_in_turns(fits, repeat)
    rates = {name: f"{X.nnz / of.best / 1e6:.0f}" for name, of in times.items()}
    ratios = {name: f"{times['scikit-learn SGDClassifier'].best / of.best:.2f} x" for name, of in times.items()}
    title = f"one epoch through fit, shuffled, {n_features:,} features"
    report.times(title, times, {"M nonzeros/s": rates, "against SGD": ratios})

    for how, order in (("in order", np.arange(n_rows)), ("shuffled", np.random.default_rng(0).permutation(n_rows))):
        runs: dict[str, Runner] = {
            "roofline": roofline_pass(X, order, False),
            "roofline, looking ahead": roofline_pass(X, order, True),
        }
        runs |= {name: kernel_pass(rule, X, y, order) for name, rule in RULES.items()}
        times = time_in_turns(runs, repeat)
        best = {name: of.best for name, of in times.items()}
        roof = best["roofline, looking ahead"]
        exact = {name: name.replace("exact", "kl") for name in RULES if "exact" in name}
        columns = {
            "M nonzeros/s": {name: f"{X.nnz / value / 1e6:.0f}" for name, value in best.items()},
            "of roofline": {name: f"{roof / value:.0%}" for name, value in best.items()},
            "against kl": {name: f"{best[name] / best[kl]:.2f} x" for name, kl in exact.items()},
        }
        report.times(f"kernel, rows {how}, {n_features:,} features", times, columns)


def main(words: Sequence[str]) -> None:
    parser = suite_parser("kernels", __doc__, repeat=7)
    parser.add_argument("--rows", type=positive(int), default=100_000, metavar="N")
    options = parser.parse_args(words)
    report = Report("kernels", options)
    for n_features in (50_000, 5_000_000):
        measure(report, n_features, options.rows, options.repeat)
    report.close()
