"""Model files of a release, which every later one must read:

    python -m tests.estimators.golden_models FOLDER

writes a model of each kind, and what it answers, into a new folder of `tests/estimators/golden`.  Once a release is
out, its files are never written again.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

import cwlearn

GOLDEN = Path(__file__).with_name("golden")
TEXTS = [
    *("a fine film", "a dull film", "fine acting, fine music", "dull and long", "not long, not dull"),
    *(
        "Ein schöner Film",
        "the acting is dull",
        "great music",
        "a long film",
        "very fine",
        "great film",
        "the music is long",
    ),
]
TEXT_LABELS = ["good", "bad"] * 6


def rows() -> np.ndarray:
    """Rows that are the same with any version of NumPy."""
    row, column = np.arange(40)[:, None], np.arange(6)
    return ((row * 7 + column * column * 3) % 11 - 5) / 4 * ((row + column) % 3 > 0)


TWO = np.where(np.arange(40) * 5 % 7 > 2, "yes", "no")
FOUR = np.array(["a", "b", "c", "d"])[np.arange(40) * 7 % 11 % 4]
SETS = [[label for label in "abc" if (row + ord(label)) % 3 == 0] for row in range(40)]
NUMBERS = np.arange(40) * 3 % 17 / 4
ONE_ORDER = {"epochs": 2, "shuffle": False}

MODELS: dict[str, tuple[Any, Any]] = {  # by name: what learns, and the targets of the rows
    "arow": (cwlearn.AROWClassifier(1.0, **ONE_ORDER), TWO),
    "arow-average": (cwlearn.AROWClassifier(1.0, average=True, dtype="float64", **ONE_ORDER), TWO),
    "arow-naive-bayes": (cwlearn.AROWClassifier(0.1, prior="naive-bayes", **ONE_ORDER), TWO),
    "arow-forgetting": (cwlearn.AROWClassifier(1.0, forgetting=20, **ONE_ORDER), TWO),
    "arow-full": (cwlearn.AROWClassifier(1.0, covariance="full", **ONE_ORDER), TWO),
    "cw-four-labels": (cwlearn.CWClassifier(n_constraints=2, **ONE_ORDER), FOUR),
    "scw-threshold": (cwlearn.SCWClassifier(threshold="f1", **ONE_ORDER), TWO),
    "pa-four-labels": (cwlearn.PassiveAggressiveClassifier(0.1, average=True, **ONE_ORDER), FOUR),
    "sop": (cwlearn.SOPClassifier(**ONE_ORDER), TWO),
    "logistic": (cwlearn.LogisticClassifier(**ONE_ORDER), TWO),
    "probit": (cwlearn.ProbitClassifier(**ONE_ORDER), TWO),
    "ftrl": (cwlearn.FTRLClassifier(l1=0.1, **ONE_ORDER), TWO),
    "adagrad-four-labels": (cwlearn.AdaGradClassifier(l1=0.01, **ONE_ORDER), FOUR),
    "several-labels": (cwlearn.MultiLabelClassifier(cwlearn.AROWClassifier(1.0, **ONE_ORDER)), SETS),
    "regression": (cwlearn.AROWRegressor(1.0, **ONE_ORDER), NUMBERS),
    "kernel": (cwlearn.KernelAROWClassifier(1.0, kernel="rbf", gamma=0.5, **ONE_ORDER), TWO),
}
TEXT_MODELS: dict[str, Any] = {
    "text": cwlearn.TextClassifier(cwlearn.AROWClassifier(1.0, fit_intercept=False, **ONE_ORDER), hash_bits=8),
    "text-characters": cwlearn.TextClassifier(
        cwlearn.CWClassifier(**ONE_ORDER), (2, 3), analyzer="char_wb", weighting="count", idf=False, hash_bits=8
    ),
}


def answers(model: Any, X: Any) -> list[list[float]]:
    """Probabilities of some rows; of a regression, predictions and their deviations."""
    if not hasattr(model, "predict_proba"):
        return np.column_stack(model.predict(X, return_std=True)).tolist()
    return np.asarray(model.predict_proba(X)).tolist()


def write(folder: Path) -> None:
    folder.mkdir()
    expected = {}
    for name, (estimator, targets) in MODELS.items():
        model = estimator.fit(rows(), targets)
        model.save(folder / f"{name}.npz")
        expected[name] = answers(model, rows()[:4])
    for name, estimator in TEXT_MODELS.items():
        model = estimator.fit(TEXTS, TEXT_LABELS)
        model.save(folder / f"{name}.npz")
        expected[name] = answers(model, TEXTS[:4])
    folder.joinpath("answers.json").write_text(json.dumps(expected, indent=1) + "\n")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
