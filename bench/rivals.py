"""The tuned error of every rule beside those of scikit-learn's linear classifiers, on real data.

    python -m bench rivals [--sets NAME,...] [--folds N] [--epochs N] [--scale counts|binary|unit] [--markdown FILE]

This is `cwlearn.evaluation.compare`: all have the same folds, and each chooses its parameters (and its number of
epochs, if it learns in epochs) in each fold by a single randomised run on the training rows.  The error is the
percentage of wrong predictions over all folds.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.linear_model import SGDClassifier
from sklearn.naive_bayes import ComplementNB

from bench.datasets import load, scaled
from bench.report import Report, positive, suite_parser
from cwlearn.evaluation import compare
from cwlearn.evaluation.algorithms import CANDIDATES, POWERS_OF_TEN
from cwlearn.evaluation.candidates import Candidate, EstimatorCandidate
from cwlearn.evaluation.comparison import Comparison
from cwlearn.evaluation.data_sets import DataSet

SETS = (
    "20news-sci", "20news-talk", "amazon-dvd", "amazon-kitchen", "spam-u00", "spamassassin", "reuters-crude-ship",
    "usps-3v5", "mnist-3v5", "a9a", "usps",
)  # fmt: skip


def _counts_only(data_set: DataSet) -> str:
    return "for counts, and some values are negative" if data_set.has_negative_values else ""


def _sgd(name: str, title: str, loss: str) -> Candidate:
    def make(data_set: DataSet) -> Any:
        return SGDClassifier(loss=loss)

    return EstimatorCandidate(name, title, {"alpha": POWERS_OF_TEN[:5]}, make, incremental=True)


OURS = (
    "cw", "cw-variance", "arow", "scw", "nherd", "sop", "logistic", "probit", "ftrl", "adagrad", "pa", "perceptron",
)  # fmt: skip
# Rows of the length 1 ask for less regularization than the rows that `compare` is mostly used for.
STRENGTHS = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)
WIDER: dict[str, dict[str, tuple[float, ...]]] = {
    "maxent": {"C": STRENGTHS},
    "svm": {"C": STRENGTHS},
    "ftrl": {"alpha": (0.01, 0.1, 1.0, 10.0), "l1": (0.0, 1.0)},
}


def _known(name: str) -> Candidate:
    """A candidate of `compare`, with a wider grid if it needs one here."""
    return replace(CANDIDATES[name], grid=WIDER.get(name, CANDIDATES[name].grid))


RIVALS: tuple[Candidate, ...] = (
    _known("maxent"),
    _known("svm"),
    _sgd("sgd-hinge", "SGD, hinge loss (scikit-learn)", "hinge"),
    _sgd("sgd-log", "SGD, log loss (scikit-learn)", "log_loss"),
    EstimatorCandidate(
        "complement-nb",
        "Complement naive Bayes (scikit-learn)",
        {"alpha": (0.01, 0.1, 0.3, 1.0)},
        lambda data_set: ComplementNB(),
        _counts_only,
    ),
)


def error_of(comparison: Comparison, data_set: str, candidate: Candidate) -> float:
    """In percent; NaN if the candidate cannot learn the data."""
    if (data_set, candidate.name) in comparison.excluded:
        return np.nan
    return 100 * comparison.error(data_set, 0.0, candidate.name)


def grid_of(candidate: Candidate) -> str:
    """The values of each parameter as text."""
    return "; ".join(f"{name}: {', '.join(map(str, values))}" for name, values in candidate.grid.items()) or "-"


def table(candidates: Sequence[Candidate], errors: np.ndarray) -> list[list[str]]:
    """A row for each candidate: its errors, the lowest of a data set in bold, and what is above them on average."""
    lowest = np.nanmin(errors, axis=0)
    rows = []
    for candidate, row in zip(candidates, errors, strict=True):
        cells = [
            "-" if np.isnan(error) else f"**{error:.2f}**" if error == best else f"{error:.2f}"
            for error, best in zip(row, lowest, strict=True)
        ]
        above = "-" if np.isnan(row).any() else f"{np.mean(row - lowest):.2f}"
        rows.append([candidate.title, *cells, above])
    return rows


def main(words: Sequence[str]) -> None:
    parser = suite_parser("rivals", __doc__)
    parser.add_argument("--sets", type=lambda text: text.split(","), default=list(SETS), help="data sets")
    parser.add_argument("--folds", type=positive(int), default=3, metavar="N", help="default: 3")
    parser.add_argument("--epochs", type=positive(int), default=10, metavar="N", help="most epochs (default: 10)")
    parser.add_argument("--scale", choices=("counts", "binary", "unit"), default="unit", help="default: unit")
    parser.add_argument("--workers", type=positive(int), metavar="N", help="trials at a time (default: cores)")
    options = parser.parse_args(words)
    report = Report("rivals", options)
    candidates: list[Candidate] = [*map(_known, OURS), *RIVALS]
    columns, sizes = [], []
    start = time.perf_counter()
    for name in options.sets:
        data = load(name)
        comparison = compare(
            {name: (scaled(data.X, options.scale), data.y)},
            algorithms=candidates,
            folds=options.folds,
            epochs=options.epochs,
            workers=options.workers,
        )
        columns.append([error_of(comparison, name, candidate) for candidate in candidates])
        sizes.append([name, f"{data.X.shape[0]:,}", f"{data.X.shape[1]:,}", f"{len(np.unique(data.y))}"])
        print(f"{name}: {time.perf_counter() - start:.0f} s", flush=True)
    report.say("# The tuned error of each rule, ours and the rivals'\n\n`python -m bench rivals`")
    report.say(
        f"Error in percent over {options.folds} folds, each tuned by itself, at most {options.epochs} epochs; rows: "
        f'{options.scale}.  The lowest error of a data set is bold; "above" is the mean of what is above it.'
    )
    report.table(["", *options.sets, "above"], table(candidates, np.array(columns).T))
    report.table(["data", "rows", "features", "labels"], sizes)
    report.table(["", "values that are tried"], [[candidate.title, grid_of(candidate)] for candidate in candidates])
    report.close()
