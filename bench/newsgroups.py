"""The multi-class experiment of EMNLP 2009 (Tables 2 and 3) on 20 Newsgroups.

    python -m bench.newsgroups [--folds N] [--markdown FILE]

As in the paper: all 20 labels, binary bag of words; the parameter and the number of epochs (up to ten) of each
algorithm are tuned on a single randomised run, on a tenth of the rows held out at random; then ten-fold
cross-validation.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench.datasets import load, scaled
from cwlearn import rules
from cwlearn.learner import Learner, Training
from cwlearn.rows import Rows, as_rows
from cwlearn.state import NONE

EPOCHS = 10
CONFIDENCES = (0.51, 0.55, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999, 0.9999)
STRENGTHS = (0.00001, 0.00003, 0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)


@dataclass(frozen=True)
class Contestant:
    name: str
    paper: float | None
    rules: tuple[rules.Rule, ...]  # to choose from
    n_constraints: int | None = 1
    update: str = "sequential"

    def learner(self, rule: rules.Rule, n_features: int) -> Learner:
        training = Training(n_constraints=self.n_constraints, multiclass_update=self.update)
        return Learner(rule, training, np.arange(20), n_features)


VARIANCE = tuple(rules.CW(confidence, "variance") for confidence in CONFIDENCES)
STDEV = tuple(rules.CW(confidence, "stdev") for confidence in CONFIDENCES)
PA = tuple(rules.PassiveAggressive(C) for C in STRENGTHS)
CONTESTANTS = (
    Contestant("CW k=1", 92.90, VARIANCE),
    Contestant("CW k=5 sequential", 92.78, VARIANCE, 5),
    Contestant("CW all sequential", 92.16, VARIANCE, None),
    Contestant("CW all parallel", 91.41, VARIANCE, None, "parallel"),
    Contestant("CW all exact", 88.08, VARIANCE, None, "exact"),
    Contestant("PA k=1", 88.59, PA),
    Contestant("PA k=5 (exact)", 88.60, PA, 5, "exact"),
    Contestant("perceptron", 81.07, (rules.Perceptron(),)),
    Contestant("CW stdev k=1", None, STDEV),
    Contestant("AROW k=1", None, (rules.AROW(), *(rules.AROW(r) for r in (0.1, 1.0, 10.0, 100.0, 1000.0)))),
)


def accuracies(
    learner: Learner, train: Rows, y: np.ndarray, test: Rows, y_test: np.ndarray, seed: int
) -> Iterator[float]:
    """Test accuracy after each epoch."""
    rng, targets = np.random.RandomState(seed), learner.encode(y)
    while True:
        learner.learn(train, targets, NONE, rng.permutation(len(y)))
        yield float(np.mean(learner.predictions(test) == y_test))


def split(X: Any, held_out: np.ndarray) -> tuple[Rows, np.ndarray, Rows, np.ndarray]:
    rest = np.setdiff1d(np.arange(X.shape[0]), held_out)
    return as_rows(X[rest], np.dtype(np.float32)), rest, as_rows(X[held_out], np.dtype(np.float32)), held_out


def tuned(contestant: Contestant, X: Any, y: np.ndarray) -> tuple[rules.Rule, int]:
    train, rest, test, held_out = split(X, np.random.RandomState(100).permutation(len(y))[: len(y) // 10])
    best = (0.0, contestant.rules[0], 1)
    for rule in contestant.rules:
        runs = accuracies(contestant.learner(rule, X.shape[1]), train, y[rest], test, y[held_out], 101)
        for epoch, accuracy in zip(range(1, EPOCHS + 1), runs, strict=False):
            if accuracy > best[0]:
                best = (accuracy, rule, epoch)
    return best[1], best[2]


def parameter(rule: rules.Rule) -> str:
    for name in ("confidence", "C", "regularization"):
        if hasattr(rule, name):
            return f"{name} {getattr(rule, name)}"
    return ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--markdown", metavar="FILE", help="write the table there as well")
    arguments = parser.parse_args()
    data = load("20news")
    X, y = scaled(data.X, "binary"), data.y
    print(f"{X.shape[0]:,} messages, {X.shape[1]:,} words, {X.nnz / X.shape[0]:.0f} a message, {arguments.folds} folds")
    lines = [
        "| algorithm | accuracy, % | ± | paper, % | parameter | epochs | s / fold |",
        "|---|---:|---:|---:|---|---:|---:|",
    ]
    folds = np.array_split(np.random.RandomState(200).permutation(len(y)), arguments.folds)
    print("\n".join(lines))
    for contestant in CONTESTANTS:
        rule, epochs = tuned(contestant, X, y)
        scores, start = [], time.perf_counter()
        for number, fold in enumerate(folds):
            train, rest, test, held_out = split(X, fold)
            runs = accuracies(contestant.learner(rule, X.shape[1]), train, y[rest], test, y[held_out], 300 + number)
            scores.append([next(runs) for _ in range(epochs)][-1])
        paper = "" if contestant.paper is None else f"{contestant.paper:.2f}"
        seconds = (time.perf_counter() - start) / len(folds)
        error = 100 * np.std(scores) / len(scores) ** 0.5
        line = (
            f"| {contestant.name} | {100 * np.mean(scores):.2f} | {error:.2f} | {paper} "
            f"| {parameter(rule)} | {epochs} | {seconds:.2f} |"
        )
        print(line)
        lines.append(line)
        sys.stdout.flush()
    if arguments.markdown:
        with open(arguments.markdown, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
