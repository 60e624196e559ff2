"""Labelling curves: how many labels a model needs if it chooses which rows to ask for.

    python -m bench query [--sets NAME,...] [--markdown FILE] [--plot FILE]

A model starts with 50 labels.  Again and again it asks for 50 more, learns all labels that it has, and is tested on
other rows.  Rows are asked for at random, by the margin alone, by the margin over its deviation, or by `query`, which
also keeps away from rows that are alike.  In a set NAME*5 each row that may be asked for is there five times.  All
figures are means over several splits of the data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.datasets import load, scaled
from bench.plots import pyplot
from bench.report import Report, suite_parser
from cwlearn import AROWClassifier
from cwlearn.core.queries import certainty
from cwlearn.core.rows import as_rows

SETS = ("amazon-books", "spam-u00", "20news-comp", "reuters-acq-earn", "w8a", "usps", "20news", "spam-u00*5")
MOST_ROWS = 6000  # of a data set
BATCH, ROUNDS = 50, 16
Choice = Callable[[Any, Any, int, np.random.Generator], np.ndarray]


def _random(model: Any, X: Any, n: int, rng: np.random.Generator) -> np.ndarray:
    return rng.choice(X.shape[0], n, replace=False)


def _by_margin(model: Any, X: Any, n: int, rng: np.random.Generator) -> np.ndarray:
    mean, _ = model.margin(X)
    ordered = np.sort(mean, axis=1) if mean.ndim > 1 else np.column_stack([np.zeros(len(mean)), np.abs(mean)])
    return np.argsort(ordered[:, -1] - ordered[:, -2], kind="stable")[:n]


def _by_certainty(model: Any, X: Any, n: int, rng: np.random.Generator) -> np.ndarray:
    return np.argsort(certainty(model._learner, as_rows(X, model._learner.state.dtype)), kind="stable")[:n]


CHOICES: dict[str, Choice] = {
    "random": _random,
    "margin": _by_margin,
    "margin / deviation": _by_certainty,
    "`query`": lambda model, X, n, rng: model.query(X, n),
}


def curve(X: Any, y: np.ndarray, choose: Choice, seed: int, copies: int) -> list[float]:
    """The error in percent after each round."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(y))[:MOST_ROWS]
    first_test = 2 * len(order) // 3
    unlabelled, test = order[:first_test], order[first_test:]
    labelled, unlabelled = unlabelled[:BATCH], np.repeat(unlabelled[BATCH:], copies)
    errors = []
    for _ in range(min(ROUNDS, len(unlabelled) // BATCH)):
        model = AROWClassifier(random_state=0).fit(X[labelled], y[labelled])
        errors.append(100 * float(np.mean(model.predict(X[test]) != y[test])))
        chosen = choose(model, X[unlabelled], BATCH, rng)
        labelled = np.append(labelled, unlabelled[chosen])
        unlabelled = np.delete(unlabelled, chosen)
    return errors


def curves(name: str, repeat: int) -> dict[str, np.ndarray]:
    """The mean error after each round, by the way to choose."""
    name, _, copies = name.partition("*")
    data = load(name)
    X = scaled(data.X, "unit")
    return {
        way: np.mean([curve(X, data.y, choose, seed, int(copies or 1)) for seed in range(repeat)], axis=0)
        for way, choose in CHOICES.items()
    }


def labels_needed(errors: np.ndarray, target: float) -> str:
    """After how many labels an error is reached for good."""
    above = np.flatnonzero(errors > target)
    rounds = int(above[-1]) + 1 if len(above) else 0
    return f"{BATCH * (rounds + 1)}" if rounds < len(errors) else "more"


def draw(results: dict[str, dict[str, np.ndarray]], path: Path) -> None:
    plt = pyplot()
    columns = 4
    lines = -(-len(results) // columns)
    figure, axes = plt.subplots(lines, columns, figsize=(13, 3.2 * lines), squeeze=False)
    for axis in axes.flat[len(results) :]:
        axis.axis("off")
    for axis, (name, ways) in zip(axes.flat, results.items(), strict=False):
        for way, errors in ways.items():
            axis.plot(BATCH * np.arange(1, len(errors) + 1), errors, label=way.strip("`"))
        axis.set_title(name)
        axis.set_xlabel("labels")
        axis.set_ylabel("error, %")
    axes.flat[0].legend()
    figure.tight_layout()
    figure.savefig(path, dpi=80)


def main(words: Sequence[str]) -> None:
    parser = suite_parser("query", __doc__, repeat=5)
    parser.add_argument("--sets", default=",".join(SETS), metavar="NAME,...", help="data sets")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="also draw the curves")
    options = parser.parse_args(words)
    report = Report("query", options)
    results = {name: curves(name, options.repeat) for name in options.sets.split(",")}
    report.say(
        f"AROW with its defaults, rows of unit length, {BATCH} labels a round, means of {options.repeat} splits."
    )
    report.say("Mean error over all rounds, in percent:")
    report.table(
        ["data set", *CHOICES],
        ([name, *(f"{ways[way].mean():.2f}" for way in CHOICES)] for name, ways in results.items()),
    )
    report.say("Labels until the error is for good at most that of all rounds with random rows:")
    report.table(
        ["data set", "error, %", *CHOICES],
        (
            [name, f"{ways['random'][-1]:.2f}", *(labels_needed(ways[way], ways["random"][-1]) for way in CHOICES)]
            for name, ways in results.items()
        ),
    )
    if options.plot:
        draw(results, options.plot)
    report.close()
