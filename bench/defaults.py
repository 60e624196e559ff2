"""How good the defaults are: each second-order class with its defaults and with its best setting of a grid, on real
data.

    python -m bench defaults [--sets NAME,...] [--markdown FILE] [--json FILE]

Every data set is learned from as raw counts, as 0/1 values and as rows of unit length.  The error is the percentage of
wrong predictions in ten-fold cross-validation.  The gap of a class is the difference of its errors with the defaults
and with the best parameters and epochs of the grid.  The aim is at most 2 points on every data set.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
from tqdm import tqdm

from bench.datasets import NAMES, load, scaled
from bench.report import Report, suite_parser
from cwlearn.core import rules
from cwlearn.core.learner import Learner
from cwlearn.core.rows import as_rows
from cwlearn.core.training import Training

SPLITS = 10
EPOCHS = (1, 2, 3, 5, 10, 15)
CONFIDENCES = (0.55, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
POWERS = tuple(10.0**power for power in range(-5, 5))
GRIDS: dict[str, Sequence[rules.Rule]] = {
    "cw": [rules.CW(confidence=confidence) for confidence in CONFIDENCES],
    "arow": [rules.AROW(regularization=r) for r in POWERS],
    "scw": [rules.SCW(confidence=confidence, C=C) for confidence in CONFIDENCES[2:] for C in POWERS],
    "nherd": [rules.NHERD(C=C) for C in POWERS],
    "sop": [rules.SOP(a=a) for a in POWERS],
    "logistic": [rules.Logistic()],
    "probit": [rules.Probit(beta=beta) for beta in (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)],
}


def errors(rule: rules.Rule, X: Any, y: np.ndarray) -> np.ndarray:
    """The error on held-out rows, in percent, after each number of epochs."""
    n_test = len(y) // 10
    result = np.zeros(len(EPOCHS))
    training = Training()
    rows = as_rows(X, np.dtype(training.dtype))
    targets = np.where(y == 1, 1.0, -1.0)
    for split in range(SPLITS):
        test = np.arange(split * n_test, (split + 1) * n_test)  # the rows are shuffled already
        train = np.setdiff1d(np.arange(len(y)), test)
        rng = np.random.default_rng(split)
        learner = Learner(rule, training, np.array([0, 1]), X.shape[1])
        for epoch in range(1, max(EPOCHS) + 1):
            learner.learn(rows, targets, order=rng.permutation(train))
            if epoch in EPOCHS:
                mean, _ = learner.margins(rows)
                result[EPOCHS.index(epoch)] += 100 * np.mean((mean[test] > 0) != (y[test] == 1)) / SPLITS
    return result


def gaps(task: tuple[str, str]) -> dict[str, tuple[float, float]]:
    """By class: the error with the defaults, and with the best setting."""
    name, how = task
    data = load(name)
    X = scaled(data.X, how)
    result = {}
    for rule_name, grid in GRIDS.items():
        default = errors(rules.RULES[rule_name](), X, data.y)
        best = min(default.min(), *(errors(rule, X, data.y).min() for rule in grid))
        result[rule_name] = (float(default[EPOCHS.index(rules.RULES[rule_name].default_epochs)]), float(best))
    return result


def tasks(names: Sequence[str]) -> list[tuple[str, str]]:
    """Data sets and scales, without 0/1 values for a9a and w8a, which have no others, and for pixels."""
    no_binary = ("a9a", "w8a", "usps", "mnist")
    scales = ("counts", "binary", "unit")
    return [(name, how) for name in names for how in scales if how != "binary" or not name.startswith(no_binary)]


def rows(results: dict[tuple[str, str], dict[str, tuple[float, float]]]) -> list[list[str]]:
    """The rows of the table: errors and gaps of each data set, then mean and largest gaps."""
    lines = []
    for (name, how), row in results.items():
        lines.append([f"{name}, {how}", *(f"{default:.1f} ({default - best:+.1f})" for default, best in row.values())])
    for title, statistic in (("mean gap", np.mean), ("largest gap", np.max)):
        gaps_of = {rule: [row[rule][0] - row[rule][1] for row in results.values()] for rule in GRIDS}
        lines.append([f"**{title}**", *(f"**{statistic(gaps):.2f}**" for gaps in gaps_of.values())])
    return lines


def main(words: Sequence[str]) -> None:
    parser = suite_parser("defaults", __doc__)
    parser.add_argument("--sets", type=lambda text: text.split(","), default=list(NAMES), help="default: all")
    options = parser.parse_args(words)
    report = Report("defaults", options)
    todo = tasks(options.sets)
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        results = dict(zip(todo, tqdm(pool.map(gaps, todo), total=len(todo), unit="set"), strict=True))
    defaults = ", ".join(
        f"`{rules.RULES[name]()}`".replace("class_weight=None, ", "") + f" in {rules.RULES[name].default_epochs} epochs"
        for name in GRIDS
    )
    report.say("# The defaults, measured\n\n`python -m bench defaults`")
    report.say(
        f"Error with the defaults in percent and, in brackets, how much that is above the best setting of the grid.\n"
        f"Defaults: {defaults}"
    )
    report.table(["data, scale", *GRIDS], rows(results))
    report.close()
