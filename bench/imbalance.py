"""Rare labels: what class weights and thresholds do to recall and F1.

    python -m bench imbalance [--markdown FILE]

Models learn 3,100 rows, of which about 100 have the rare label, and are tested on 3,100 others: of w8a (3 % of its
rows are positive), and of 20 Newsgroups with one group against all others (5 %; thinned out to 3 %).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import balanced_accuracy_score, f1_score, precision_score, recall_score

from bench.datasets import load, scaled
from bench.report import Report, suite_parser
from cwlearn import (
    AdaGradClassifier,
    AROWClassifier,
    CWClassifier,
    FTRLClassifier,
    LogisticClassifier,
    NHERDClassifier,
    PassiveAggressiveClassifier,
    PerceptronClassifier,
    ProbitClassifier,
    SCWClassifier,
)

ROWS, RARE = 3100, 100
OURS = (
    AROWClassifier, SCWClassifier, CWClassifier, NHERDClassifier, LogisticClassifier, ProbitClassifier,
    PassiveAggressiveClassifier, PerceptronClassifier, FTRLClassifier, AdaGradClassifier,
)  # fmt: skip
WAYS: dict[str, dict[str, Any]] = {
    "default": {},
    'class_weight="balanced"': {"class_weight": "balanced"},
    'threshold="f1"': {"threshold": "f1"},
    'threshold="balanced"': {"threshold": "balanced"},
}


def data(name: str, seed: int) -> tuple[Any, np.ndarray, Any, np.ndarray]:
    """Rows and labels to learn from, and to test with."""
    source = load(name)
    X, y = scaled(source.X, "unit"), source.y == (1 if name == "w8a" else seed)
    rng = np.random.default_rng(seed)
    rare, others = (rng.permutation(np.flatnonzero(y == label)) for label in (True, False))
    chosen = np.append(rare[: 2 * RARE], others[: 2 * (ROWS - RARE)])
    halves = np.split(rng.permutation(chosen), 2)
    learn, test = halves
    return X[learn], y[learn].astype(int), X[test], y[test].astype(int)


def models() -> dict[tuple[str, str], Any]:
    found: dict[tuple[str, str], Any] = {
        ("SGDClassifier", way): SGDClassifier(random_state=0, **options) for way, options in [*WAYS.items()][:2]
    }
    for kind in OURS:
        for way, options in WAYS.items():
            if options.keys() <= kind().get_params().keys():
                found[kind.__name__, way] = kind(random_state=0, **options)
    return found


def measures(truth: np.ndarray, predicted: np.ndarray) -> list[float]:
    return [
        precision_score(truth, predicted, zero_division=0),
        recall_score(truth, predicted),
        f1_score(truth, predicted),
        balanced_accuracy_score(truth, predicted),
    ]


def main(words: Sequence[str]) -> None:
    options = suite_parser("imbalance", __doc__, repeat=5).parse_args(words)
    report = Report("imbalance", options)
    for name in ("w8a", "20news"):
        splits = [data(name, seed) for seed in range(options.repeat)]
        report.say(f"{name}: {ROWS:,} rows, about {RARE} of them rare, rows of unit length, {options.repeat} splits")
        lines = []
        for (kind, way), model in models().items():
            results = [measures(test_y, model.fit(X, y).predict(test_X)) for X, y, test_X, test_y in splits]
            lines.append([kind, way, *(f"{number:.2f}" for number in np.mean(results, axis=0))])
        report.table(["class", "way", "precision", "recall", "F1", "mean recall of both"], lines)
    report.close()
