"""What a full covariance costs: an update against the two BLAS calls that it needs, and its memory.

By number of features: the microseconds of a product Sx and a rank-one update of S, called as the learner calls them;
those of a whole update of AROW, with dense rows and with rows of 1 % of the features; and the memory that learning
takes in addition to the matrix.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.linalg.blas import dsymv, dsyr
from scipy.sparse import random as random_matrix
from threadpoolctl import threadpool_limits

from bench.report import Report, suite_parser
from bench.timing import Runner, time_in_turns, timed
from cwlearn.core import rules
from cwlearn.core.learner import Learner
from cwlearn.core.rows import as_rows
from cwlearn.core.training import Training

SIZES = (20, 100, 300, 1000, 3000)
RULE = rules.AROWRegression(1.0, covariance="full")  # every row is an update


def blas_seconds(d: int, times: int) -> float:
    """The seconds of so many pairs of calls."""
    S, x = np.asfortranarray(np.eye(d + 1)), np.random.default_rng(0).standard_normal(d + 1)

    def calls() -> None:
        for _ in range(times):
            product = dsymv(1.0, S, x, lower=1)
            dsyr(-1e-12, product, lower=1, a=S, overwrite_a=1)

    return timed(calls)


def rows_of(d: int, n: int, density: float) -> Any:
    rng = np.random.default_rng(1)
    if density == 1:
        return as_rows(rng.standard_normal((n, d)), np.dtype(np.float64))
    return as_rows(random_matrix(n, d, density, "csr", rng=rng, data_rvs=rng.standard_normal), np.dtype(np.float64))


def passes(rows: Any, d: int) -> Runner:
    """A pass of a learner that has learned before, so that all its memory is allocated."""
    learner = Learner(RULE, Training(), np.empty(0), d)
    targets = np.random.default_rng(2).standard_normal(rows.n_rows)
    learner.learn(rows, targets)

    def run() -> float:
        updates = learner.statistics["updates"]
        seconds = timed(lambda: learner.learn(rows, targets))
        assert learner.statistics["updates"] == updates + rows.n_rows
        return seconds

    return run


def memory(rows: Any, d: int) -> tuple[float, float]:
    """MiB of the matrix, and the peak of what learning takes in addition."""
    learner = Learner(RULE, Training(), np.empty(0), d)
    tracemalloc.start()
    learner.learn(rows, np.ones(rows.n_rows))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return learner.state.covariances.nbytes / 2**20, peak / 2**20  # type: ignore[attr-defined]


def main(words: Sequence[str]) -> None:
    options = suite_parser("full", __doc__, repeat=15).parse_args(words)
    report = Report("full", options)
    summary = []
    for d in SIZES:
        n = max(30, min(2000, 200_000_000 // d**2))
        dense, sparse = rows_of(d, n, 1), rows_of(d, n, 0.01)
        runs = {
            "two BLAS calls": lambda d=d, n=n: blas_seconds(d, n),
            "update": passes(dense, d),
            "update, 1 % nonzeros": passes(sparse, d),
        }
        with threadpool_limits(1):  # on a busy machine two threads would mostly wait for each other
            times = time_in_turns(runs, options.repeat)
        each = {name: 1e6 * of.best / n for name, of in times.items()}
        ratios = {name: f"{value / each['two BLAS calls']:.2f}" for name, value in each.items()}
        micros = {name: f"{value:.1f}" for name, value in each.items()}
        report.times(f"{d:,} features, {n:,} times", times, {"us each": micros, "of BLAS": ratios})
        matrix, more = memory(dense, d)
        summary.append((f"{d:,}", *micros.values(), ratios["update"], f"{matrix:.2f}", f"{more:.2f}"))
    head = (
        "features",
        "two BLAS calls, us",
        "update, us",
        "with 1 % nonzeros, us",
        "of BLAS",
        "S, MiB",
        "in addition, MiB",
    )
    report.table(head, summary)
    report.close()
