"""The mistake bounds of the papers, computed from a finished run: what was proved, beside what happened.

Both theorems are about one pass over rows of two labels with a full covariance that begins as the unit matrix.

    >>> import numpy as np
    >>> from cwlearn import AROWClassifier, bounds
    >>> X = np.random.default_rng(0).standard_normal((200, 5))
    >>> y = X[:, 0] > 0.1
    >>> run = bounds.observe(AROWClassifier(regularization=1.0, covariance="full"), X, y)
    >>> run.mistakes <= bounds.arow_bound(run, [10, 0, 0, 0, 0], intercept=-1.0)
    True
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from cwlearn.core.learner import Learner
from cwlearn.core.parameters import is_number
from cwlearn.core.rows import as_rows
from cwlearn.core.rule import Rule
from cwlearn.core.rules import AROW, CW
from cwlearn.core.states.full import dense
from cwlearn.estimators.classifier import LinearClassifier


@dataclass(frozen=True)
class Observation:
    """One pass, row by row: numbers before a row was learned from have no mark, those after it are called `..._after`.

    Margins are y mu.x, variances x'Sx; an intercept is entry 0 of every vector, as long as it is learned at all.
    """

    rule: Rule
    x: NDArray[np.float64]  # the rows
    y: NDArray[np.float64]  # their labels, -1 or +1
    margins: NDArray[np.float64]
    variances: NDArray[np.float64]
    margins_after: NDArray[np.float64]
    variances_after: NDArray[np.float64]
    updated: NDArray[np.bool_]
    mean: NDArray[np.float64]  # at the end
    covariance: NDArray[np.float64]
    has_intercept: bool

    @property
    def mistakes(self) -> int:
        return int(np.sum(self.margins <= 0))

    def vector(self, weights: Any, intercept: float) -> NDArray[np.float64]:
        """Weights, and an intercept if one is learned, as the rows are."""
        if not is_number(intercept):
            raise ValueError(f"intercept must be a finite number, got {intercept!r}")
        if intercept and not self.has_intercept:
            raise ValueError(f"intercept={intercept!r}, but the run learned none (fit_intercept=False)")
        first = [intercept] if self.has_intercept else []
        vector = np.array([*first, *np.asarray(weights, np.float64).ravel()])
        if not np.isfinite(vector).all():
            raise ValueError(f"expected weights that are finite numbers, got {weights!r}")
        if vector.shape != self.mean.shape:
            raise ValueError(f"expected {len(self.mean) - len(first)} weights, got {len(vector) - len(first)}")
        return vector


def observe(estimator: LinearClassifier, X: Any, y: Any) -> Observation:
    """Learn from the rows of X once, in their order, with the parameters of the estimator, which stays as it is."""
    if not isinstance(estimator, LinearClassifier):
        raise TypeError(f"the theorems are about linear classifiers, got {estimator!r}")
    estimator = clone(estimator)
    rule, training, _ = estimator._options()
    if rule.covariance != "full" or training.initial_variance != 1:
        raise ValueError("the theorems are about covariance='full' and initial_variance=1.0")
    if getattr(rule, "class_weight", None) is not None:
        raise ValueError("the theorems are about rows that all have the same weight: class_weight=None")
    X, y = estimator._validate(X, y, reset=True)
    classes = estimator._classes_in(y)
    if len(classes) != 2:
        raise ValueError(f"the theorems are about two labels, found {len(classes)}: {classes[:5].tolist()}")
    learner = Learner(rule, training, classes, X.shape[1])
    rows, targets = as_rows(X, learner.state.dtype), learner.encode(y)
    seen, updated = [], []
    for i in range(rows.n_rows):
        row = rows.part(i, i + 1)
        before, updates = learner.margins(row), learner.statistics["updates"]
        learner.learn(row, targets[i : i + 1])
        after = learner.margins(row)
        seen.append([targets[i] * before[0][0], before[1][0], targets[i] * after[0][0], after[1][0]])
        updated.append(learner.statistics["updates"] > updates)
    first = 0 if training.fit_intercept else 1
    state: Any = learner.state
    margins, variances, margins_after, variances_after = np.array(seen).T
    return Observation(
        rule,
        dense(rows, learner.bias, rows.n_features)[:, first:],
        targets,
        margins,
        variances,
        margins_after,
        variances_after,
        np.array(updated),
        state.mean[first:].copy(),
        state.covariance(0)[first:, first:],
        training.fit_intercept,
    )


def arow_bound(run: Observation, competitor: Any, intercept: float = 0.0) -> float:
    """AROW's theorem 2 (NIPS 2009, eq. 10, with U inside the root), for any competing weights u:

        M <= sqrt(r |u|^2 + u'X_A u) sqrt(log det(I + X_A / r) + U) + sum of g_t - U

    Over the rows that were updated on: X_A the sum of xx', U those of them that were no mistake, and
    g_t = max(0, 1 - y u.x) what u loses on each.
    """
    rule = run.rule
    if not isinstance(rule, AROW) or isinstance(rule.regularization, str) or rule.confidence_weight != 1:
        raise ValueError(f"the theorem is about AROW with a number for regularization, and confidence_weight=1: {rule}")
    u = run.vector(competitor, intercept)
    r, x = rule.regularization, run.x[run.updated]
    correlation = x.T @ x
    easy = int(np.sum(run.margins[run.updated] > 0))
    with np.errstate(over="ignore", invalid="ignore"):
        loss = float(np.maximum(0, 1 - run.y[run.updated] * (x @ u)).sum())
    volume = float(np.linalg.slogdet(np.eye(len(u)) + correlation / r)[1])
    with np.errstate(over="ignore", invalid="ignore"):
        bound = float(np.sqrt(r * u @ u + u @ correlation @ u) * np.sqrt(volume + easy) + loss - easy)
    return bound if np.isfinite(bound) else float("inf")


def cw_bound(run: Observation, competitor: Any, intercept: float = 0.0) -> float:
    """CW's theorem 4 in its stdev form (NIPS 2008, eq. 19, with its constant put right), for weights u that are on the
    right side of every row that was updated on:

        M <= (1 + phi^2) / phi^2 (-log det S + Tr S + u'S^-1 u - d)

    S is the covariance at the end, which meets the theorem's condition on its own.  u is made as long as it takes to
    have at least the margin that each update led to, the other condition.
    """
    rule = run.rule
    if not isinstance(rule, CW) or rule.form != "stdev" or rule.phi == 0:
        raise ValueError(f"the theorem is about CW in its stdev form, with confidence > 0.5: {rule}")
    u = run.vector(competitor, intercept)
    u = u / max(np.abs(u).max(initial=0), np.finfo(float).tiny)  # its length will be found below
    margins = run.y[run.updated] * (run.x[run.updated] @ u)
    if not (margins > 0).all():
        row = int(np.flatnonzero(run.updated)[np.argmin(margins)])
        raise ValueError(f"the competitor must be right on every row with an update; on row {row} it is not")
    u = u * float((run.margins_after[run.updated] / margins).max(initial=0))
    S = run.covariance
    divergence = -np.linalg.slogdet(S)[1] + np.trace(S) + u @ np.linalg.solve(S, u) - len(u)
    return float((1 + rule.phi**2) / rule.phi**2 * divergence)
