"""Why the defaults are what they are: each second-order class against its best setting on a grid, on real data.

    python -m bench defaults [--sets NAME,...] [--markdown FILE]

Every data set is learned as raw counts, as 0/1 and as rows of unit length.  An error is the percentage of wrong
predictions, by ten-fold cross-validation.  The gap of a class is how much worse it does with its defaults than with the
best setting of its grid, parameters x epochs.  The aim: at most 2 points on every one.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from bench.datasets import NAMES, load, scaled
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
}


def errors(rule: rules.Rule, X: Any, y: np.ndarray) -> np.ndarray:
    """Held-out error, in percent, after each number of epochs."""
    n_test = len(y) // 10
    result = np.zeros(len(EPOCHS))
    training = Training()
    rows = as_rows(X, np.dtype(training.dtype))
    targets = np.where(y == 1, 1.0, -1.0)
    for split in range(SPLITS):
        test = np.arange(split * n_test, (split + 1) * n_test)  # the loaders have shuffled the rows already
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
    """By class: error with the defaults, and with the best setting."""
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
    """Data sets in all scales that make sense: a9a and w8a are 0/1 already, and pixels have no 0/1 form."""
    no_binary = ("a9a", "w8a", "usps", "mnist")
    scales = ("counts", "binary", "unit")
    return [(name, how) for name in names for how in scales if how != "binary" or not name.startswith(no_binary)]


def table(results: dict[tuple[str, str], dict[str, tuple[float, float]]]) -> str:
    lines = ["| data | scale | " + " | ".join(GRIDS) + " |", "|---|---|" + "--:|" * len(GRIDS)]
    for (name, how), row in results.items():
        cells = [f"{default:.1f} ({default - best:+.1f})" for default, best in row.values()]
        lines.append(f"| {name} | {how} | " + " | ".join(cells) + " |")
    for title, statistic in (("mean gap", np.mean), ("largest gap", np.max)):
        values = [statistic([row[rule][0] - row[rule][1] for row in results.values()]) for rule in GRIDS]
        lines.append(f"| **{title}** | | " + " | ".join(f"**{value:.2f}**" for value in values) + " |")
    return "\n".join(lines)


def main(words: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench defaults", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", type=lambda text: text.split(","), default=list(NAMES), help="default: all")
    parser.add_argument("--markdown", type=Path, help="write the table to this file, too")
    arguments = parser.parse_args(words)
    todo = tasks(arguments.sets)
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        results = dict(zip(todo, tqdm(pool.map(gaps, todo), total=len(todo), unit="set"), strict=True))
    defaults = ", ".join(f"`{rules.RULES[name]()}`".replace("class_weight=None, ", "") for name in GRIDS)
    text = (
        f"Error with the defaults in percent and, in brackets, how much that is above the best setting of the grid.\n"
        f"Defaults: epochs={rules.Rule.default_epochs}, {defaults}\n\n{table(results)}\n"
    )
    print(text)
    if arguments.markdown:
        arguments.markdown.write_text(f"# The defaults, measured\n\n`python -m bench defaults`\n\n{text}")
