"""FTRL-Proximal against river's implementation: the same weights on dense rows, for several parameters and epochs."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from typing import Any

import numpy as np

from bench.peer_commands import SCRIPTS
from bench.peer_environments import python_of, version_of
from bench.report import Report, suite_parser
from cwlearn import FTRLClassifier

EPOCHS = 5
SETTINGS: tuple[dict[str, float], ...] = (
    {"alpha": 0.05, "beta": 1.0, "l1": 0.0, "l2": 1.0},
    {"alpha": 0.1, "beta": 1.0, "l1": 0.0, "l2": 0.0},
    {"alpha": 0.3, "beta": 0.5, "l1": 0.5, "l2": 0.1},
    {"alpha": 1.0, "beta": 2.0, "l1": 3.0, "l2": 0.0},
)


def theirs(X: np.ndarray, y: np.ndarray, parameters: dict[str, float]) -> np.ndarray:
    """The weights of river after each epoch."""
    task: dict[str, Any] = {"rows": X.tolist(), "labels": y.tolist(), "parameters": parameters, "epochs": EPOCHS}
    words = [str(python_of("river")), str(SCRIPTS / "river_ftrl.py")]
    return np.array(
        json.loads(subprocess.run(words, input=json.dumps(task), capture_output=True, text=True, check=True).stdout)
    )


def ours(X: np.ndarray, y: np.ndarray, parameters: dict[str, float]) -> np.ndarray:
    model = FTRLClassifier(**parameters, fit_intercept=False, dtype="float64")
    weights = []
    for _ in range(EPOCHS):
        model.partial_fit(X, y, classes=[0, 1])
        weights.append(model.coef_[0].copy())
    return np.array(weights)


def main(words: Sequence[str]) -> None:
    report = Report("ftrl", suite_parser("ftrl", __doc__).parse_args(words))
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 12))
    y = (X @ rng.standard_normal(12) + rng.standard_normal(500) > 0).astype(int)
    lines = []
    for parameters in SETTINGS:
        expected, found = theirs(X, y, parameters), ours(X, y, parameters)
        difference = np.abs(found - expected).max(axis=1)
        zeros = f"{np.count_nonzero(found[-1] == 0)} / {np.count_nonzero(expected[-1] == 0)}"
        names = ", ".join(f"{name} {value:g}" for name, value in parameters.items())
        lines.append([names, f"{np.abs(expected).max():.3f}", zeros, *(f"{number:.1e}" for number in difference)])
    report.say(
        f"{X.shape[0]} dense rows of {X.shape[1]} features, {version_of('river')}: largest difference of a weight"
    )
    head = ["parameters", "largest weight", "weights of 0, ours / theirs", *(f"epoch {n + 1}" for n in range(EPOCHS))]
    report.table(head, lines)
    report.close()
