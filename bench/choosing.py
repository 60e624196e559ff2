"""How good the untouched run is: `AutoClassifier` against the slow way to choose, and against tuned rivals.

    python -m bench choosing [--sets NAME,...] [--most ROWS] [--train ROWS] [--splits N] [--quick] [--markdown FILE]

Every data set is learned from as raw counts, as 0/1 values and as tf-idf rows (pixels and a9a, w8a: as they are, and as
rows of unit length), with the labels as they are and with a tenth of the training labels wrong.  Two thirds of the rows
train, or fewer, and the rest tests; test labels are always right.  Errors are in percent, means over random splits if
there are several.  The sets of `bench.generated` are as they are.

- *exhaustive*: five-fold cross-validation of every candidate of the field in 1, 2, 3, 5, 10 and 20 epochs, then the
  winner on all rows.  The excess of `AutoClassifier` is its error minus this one.
- *rivals*: LogisticRegression, LinearSVC and ComplementNB, each with its parameter chosen by five-fold
  cross-validation.
- *one pass*: AutoClassifier(epochs=1, shuffle=False) against the best of its own candidates in hindsight.
- *time*: CPU seconds of `fit`, as a multiple of AROWClassifier() with ten epochs.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import ComplementNB
from sklearn.svm import LinearSVC

from bench.datasets import MULTICLASS, NAMES, load, scaled
from bench.generated import GENERATED, generate
from bench.report import Report, Row, positive, suite_parser
from bench.targets import report_targets, target_row
from cwlearn import AROWClassifier, AutoClassifier
from cwlearn.core import choosing, field
from cwlearn.core.learner import Learner
from cwlearn.core.rows import as_rows
from cwlearn.core.training import Training

# Candidates, rounds and folds were chosen by the other sets; these were looked at when all was fixed.
HELD_OUT = (
    "amazon-dvd", "amazon-kitchen", "mnist-3v5", "reuters-crude-ship", "spam-u02", "usps-5v6", *GENERATED,
)  # fmt: skip
NOT_WORDS = ("a9a", "w8a", "usps", "mnist")
NOISES = (0.0, 0.1)
RIVALS = ("LogisticRegression", "LinearSVC", "ComplementNB")
STRENGTHS = (0.01, 0.1, 1.0, 10.0, 100.0)
EPOCHS = (1, 2, 3, 5, 10, 20)
EVERY_ROW = 1e6  # a budget that takes no sample and all five folds
REPEATS, SHORT = 3, 0.5  # seconds


def tf_idf(X: csr_matrix) -> csr_matrix:
    """1 + ln n, times inverse document frequency, rows of unit length."""
    frequency = np.bincount(X.indices, minlength=X.shape[1])
    idf = np.log((1 + X.shape[0]) / (1 + frequency)) + 1
    weighed = X.astype(np.float32, copy=True)
    weighed.data = ((1 + np.log(np.maximum(X.data, 1))) * idf[X.indices]).astype(np.float32)
    return scaled(weighed, "unit")


def represented(name: str, X: csr_matrix) -> dict[str, csr_matrix]:
    if name in GENERATED:
        return {"as it is": X}
    if name.startswith(NOT_WORDS):
        return {"counts": X, "unit": scaled(X, "unit")}
    return {"counts": X, "binary": scaled(X, "binary"), "tf-idf": tf_idf(X)}


def noisy(y: np.ndarray, noise: float) -> np.ndarray:
    """Labels of which some are wrong."""
    rng, n_labels = np.random.RandomState(1), int(y.max()) + 1
    wrong = rng.rand(len(y)) < noise
    return np.where(wrong, (y + rng.randint(1, n_labels, len(y))) % n_labels, y)


def error(model: Any, X: csr_matrix, y: np.ndarray) -> float:
    return float(100 * np.mean(model.predict(X) != y))


def exhaustive(X: csr_matrix, y: np.ndarray) -> Any:
    """The winner of a cross-validation in five folds that drops nobody and counts mistakes."""
    slow = {
        "FOLDS": 5,
        "ROUNDS": dict.fromkeys(EPOCHS, len(field.LABELS)),
        "CLEAR": 1e9,  # infinity times 0 would drop the best one
        "JUDGING_ROWS": len(y),
        "SOFT": 0.0,
    }
    kept = {name: getattr(choosing, name) for name in slow}
    try:
        for name, value in slow.items():
            setattr(choosing, name, value)
        return AutoClassifier(random_state=0, budget=EVERY_ROW).fit(X, y)
    finally:
        for name, value in kept.items():
            setattr(choosing, name, value)


def rivals(X: csr_matrix, y: np.ndarray) -> dict[str, Any]:
    searches = {
        "LogisticRegression": (LogisticRegression(max_iter=2000), {"C": STRENGTHS}),
        "LinearSVC": (LinearSVC(), {"C": STRENGTHS[:4]}),
        "ComplementNB": (ComplementNB(), {"alpha": STRENGTHS[:4]}),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the rivals' convergence
        return {
            name: GridSearchCV(model, grid, cv=5).fit(X, y)
            for name, (model, grid) in searches.items()
            if name != "ComplementNB" or X.min() >= 0  # which it needs
        }


def one_pass(X: csr_matrix, y: np.ndarray, X_test: csr_matrix, y_test: np.ndarray) -> tuple[float, float]:
    """The error of AutoClassifier in one pass, and the lowest one of its candidates."""
    model = AutoClassifier(epochs=1, shuffle=False, random_state=0).fit(X, y)
    rows, training = as_rows(X, np.dtype("float32")), Training(epochs=1, shuffle=False)
    errors = []
    for rule, own in field.options_of("classification", rows, training, len(model.classes_) > 2):
        learner = Learner(rule, own, model.classes_, X.shape[1])
        learner.learn(rows, learner.encode(y))
        predicted = model.classes_[learner.predictions(as_rows(X_test, np.dtype("float32")))]
        errors.append(float(100 * np.mean(predicted != y_test)))
    return error(model, X_test, y_test), min(errors)


def timed(model: Any, X: csr_matrix, y: np.ndarray) -> tuple[Any, float]:
    """The fitted model, and the least CPU seconds that it took; short runs are repeated."""
    least = np.inf
    for _ in range(REPEATS):
        start = time.process_time()
        model.fit(X, y)
        least = min(least, time.process_time() - start)
        if least > SHORT:
            break
    return model, least


def measure(X: csr_matrix, y: np.ndarray, n_train: int, noise: float, quick: bool) -> dict[str, float]:
    """All errors and times of one task, of which the first rows train."""
    X_train, X_test, y_train, y_test = X[:n_train], X[n_train:], noisy(y[:n_train], noise), y[n_train:]
    arow, usual = timed(AROWClassifier(random_state=0), X_train, y_train)
    auto, seconds = timed(AutoClassifier(random_state=0), X_train, y_train)
    single, best_single = one_pass(X_train, y_train, X_test, y_test)
    result = {
        "auto": error(auto, X_test, y_test),
        "arow": error(arow, X_test, y_test),
        "one pass": single,
        "best in one pass": best_single,
        "seconds": seconds,
        "times arow": seconds / usual,
        "rows": float(n_train),
        "test rows": float(len(y_test)),
    }
    if not quick:
        result["exhaustive"] = error(exhaustive(X_train, y_train), X_test, y_test)
        fitted = rivals(X_train, y_train)
        result |= {name: error(fitted[name], X_test, y_test) if name in fitted else np.nan for name in RIVALS}
    return result


def family(name: str) -> str:
    return (
        name
        if name in GENERATED
        else name.rsplit("-", 1)[0]
        if name.startswith(("amazon", "reuters", "usps", "mnist"))
        else name.split("-")[0]
    )


def summary(report: Report, results: dict[tuple[str, str, float], dict[str, float]], quick: bool) -> None:
    """The aims, on these tasks."""

    def column(name: str) -> np.ndarray:
        return np.array([row[name] for row in results.values()])

    def row(what: str, aim: str, value: float, reached: bool) -> Row:
        return target_row(what, aim, f"{value:+.2f}", reached)

    behind = float(np.mean(column("one pass") - column("best in one pass")))
    rows = [row("one pass, above the best candidate, mean", "≤ 0.5", behind, behind <= 0.5)]
    if not quick:
        excess = column("auto") - column("exhaustive")
        rows.append(row("above the exhaustive choice, mean", "≤ 0.2", excess.mean(), excess.mean() <= 0.2))
        rows.append(row("above the exhaustive choice, worst", "≤ 1.0", excess.max(), excess.max() <= 1.0))
        for rival in RIVALS:
            gaps = column("auto") - column(rival)
            families: dict[str, list[float]] = {}
            for gap, (name, _, _) in zip(gaps.tolist(), results, strict=True):
                if not np.isnan(gap):
                    families.setdefault(family(name), []).append(gap)
            means = {of: float(np.mean(of_family)) for of, of_family in families.items()}
            if not means:
                continue
            worst = max(means, key=means.__getitem__)
            rows.append(row(f"above tuned {rival}, mean", "< 0", np.nanmean(gaps), np.nanmean(gaps) < 0))
            rows.append(row(f"above it in its best family ({worst})", "≤ 0.3", means[worst], means[worst] <= 0.3))
    report_targets(report, rows)


def main(words: Sequence[str]) -> None:
    parser = suite_parser("choosing", __doc__)
    parser.add_argument(
        "--sets", type=lambda text: text.split(","), default=[*NAMES, *MULTICLASS, *GENERATED], help="default: all"
    )
    parser.add_argument(
        "--most", type=positive(int), default=20_000, metavar="ROWS", help="of each set (default: 20000)"
    )
    parser.add_argument("--train", type=positive(int), metavar="ROWS", help="rows that train (default: two thirds)")
    parser.add_argument("--splits", type=positive(int), default=1, metavar="N", help="random splits (default: 1)")
    parser.add_argument("--quick", action="store_true", help="without the exhaustive choice and the rivals")
    options = parser.parse_args(words)
    report = Report("choosing", options)
    results: dict[tuple[str, str, float], dict[str, float]] = {}
    for name in options.sets:
        data = generate(name) if name in GENERATED else load(name)
        X_all, y_all = data.X[: options.most], data.y[: options.most]
        n_train = min(options.train or len(y_all), len(y_all) * 2 // 3)
        for how, X in represented(name, X_all).items():
            for noise in NOISES:
                key = name, how, noise
                parts = []
                for split in range(options.splits):
                    order = np.random.RandomState(split).permutation(len(y_all)) if split else np.arange(len(y_all))
                    parts.append(measure(X[order], y_all[order], n_train, noise, options.quick))
                results[key] = {column: float(np.mean([part[column] for part in parts])) for column in parts[0]}
                print(*key, {column: round(value, 2) for column, value in results[key].items()}, flush=True)
    report.say("# No knobs, measured\n\n`python -m bench choosing`")
    columns = list(next(iter(results.values())))
    for title, chosen in (("Sets that the race was built with", False), ("Sets that were held out", True)):
        part = {key: row for key, row in results.items() if (key[0] in HELD_OUT) == chosen}
        if part:
            report.say(f"## {title}")
            report.table(
                ["data, values, noise", *columns],
                [[f"{name}, {how}, {noise:g}", *(f"{row[column]:.2f}" for column in columns)]
                 for (name, how, noise), row in part.items()],
            )  # fmt: skip
            summary(report, part, options.quick)
    report.close()
