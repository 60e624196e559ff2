"""What calibration costs: learning rows that are observed, against learning rows that are not."""

from __future__ import annotations

import time

import numpy as np

from bench.datasets import zipf
from bench.report import Report
from cwlearn.core import rules
from cwlearn.core.learner import Learner
from cwlearn.core.rows import as_rows
from cwlearn.core.states.base import ALL_FRESH
from cwlearn.core.training import Training

CASES = [(nonzeros, n_labels) for n_labels in (2, 20) for nonzeros in (10, 30, 100)]


def add_cost(report: Report, repeat: int) -> None:
    """One pass over 100,000 rows; the two candidates take turns."""
    report.say(
        "## Time\n\nOne pass of AROW in the compiled loop over 100,000 rows, observed (the first 4,096, then row t "
        "with the chance (4,096 / t)² or 1,024 / t; with more than two labels 1,024 and 512), and the same with no row "
        "observed: processor seconds, the best of all."
    )
    lines = []
    for nonzeros, n_labels in CASES:
        X, y = zipf(100_000, nonzeros, 50_000, n_labels=n_labels)
        learner = Learner(rules.AROW(), Training(), np.arange(n_labels), X.shape[1])
        rows, targets = as_rows(X, np.dtype("float32")), learner.encode(y)
        best = dict.fromkeys(("with", "without"), np.inf)
        for _ in range(repeat):
            for name, fresh in (("with", ALL_FRESH), ("without", np.zeros(rows.n_rows, np.uint8))):
                learner = Learner(rules.AROW(), Training(), np.arange(n_labels), X.shape[1])
                start = time.process_time()
                learner.learn(rows, targets, fresh=fresh)
                best[name] = min(best[name], time.process_time() - start)
        ratio = best["with"] / best["without"] - 1
        lines.append(
            [f"{n_labels} labels, {nonzeros} nonzeros", *(f"{of:.4f}" for of in best.values()), f"{ratio:+.1%}"]
        )
    report.table(["rows", "with, s", "without, s", "difference"], lines)
