"""The mistake bounds of the papers, computed from a finished run.

Both theorems are about one pass over rows of two labels, with a full covariance that begins as the unit matrix.

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
from numpy.typing import ArrayLike, NDArray
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
    """One pass, row by row.  If an intercept is learned, it is entry 0 of every vector."""

    rule: Rule
    x: NDArray[np.float64]  # the rows
    y: NDArray[np.float64]  # their labels, -1 or +1
    margins: NDArray[np.float64]  # y mu.x of each row before it was learned from
    variances: NDArray[np.float64]  # x'Sx before
    margins_after: NDArray[np.float64]  # the same, after it was learned from
    variances_after: NDArray[np.float64]
    updated: NDArray[np.bool_]  # whether the row changed the model
    mean: NDArray[np.float64]  # mu at the end
    covariance: NDArray[np.float64]  # S at the end
    has_intercept: bool

    @property
    def mistakes(self) -> int:
        """How many rows were on the wrong side before they were learned from."""
        return int(np.sum(self.margins <= 0))

    def vector(self, weights: ArrayLike, intercept: float) -> NDArray[np.float64]:
        """Weights as a vector of the form of the rows: with the intercept first, if one is learned."""
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


def observe(estimator: LinearClassifier, X: Any, y: ArrayLike) -> Observation:
    """Learn from rows once, in their order, and record margins and variances.

    Parameters
    ----------
    estimator : linear classifier of cwlearn
        Its parameters are used; it stays as it is.  It must have `covariance="full"` and `initial_variance=1.0`.
    X : array, sparse matrix or data frame of shape (n_rows, n_features)
        The rows.
    y : array of shape (n_rows,)
        Their labels, of which there must be two.

    Returns
    -------
    run : Observation
        The argument of `arow_bound` and `cw_bound`.
    """
    if not isinstance(estimator, LinearClassifier):
        raise TypeError(f"the theorems are about linear classifiers, got {estimator!r}")
    model = clone(estimator)
    rule, training, _ = model._options()
    if rule.covariance != "full" or training.initial_variance != 1:
        raise ValueError("the theorems are about covariance='full' and initial_variance=1.0")
    if getattr(rule, "class_weight", None) is not None:
        raise ValueError("the theorems are about rows that all have the same weight: class_weight=None")
    X, labels = model._validate(X, y, reset=True)
    classes = model._classes_in(labels)
    if len(classes) != 2:
        raise ValueError(f"the theorems are about two labels, found {len(classes)}: {classes[:5].tolist()}")
    learner = Learner(rule, training, classes, X.shape[1])
    rows, targets = as_rows(X, learner.state.dtype), learner.encode(labels)
    observed, updated = [], []
    for i in range(rows.n_rows):
        row = rows.part(i, i + 1)
        before, updates = learner.margins(row), learner.statistics["updates"]
        learner.learn(row, targets[i : i + 1])
        after = learner.margins(row)
        observed.append([targets[i] * before[0][0], before[1][0], targets[i] * after[0][0], after[1][0]])
        updated.append(learner.statistics["updates"] > updates)
    first = 0 if training.fit_intercept else 1  # entry 0 of the state is the intercept
    state: Any = learner.state
    margins, variances, margins_after, variances_after = np.array(observed).T
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


def arow_bound(run: Observation, competitor: ArrayLike, intercept: float = 0.0) -> float:
    """The bound of AROW on the number M of mistakes, for any competing weights u.

    Theorem 2 (NIPS 2009, eq. 10, with U inside the root)::

        M <= sqrt(r |u|^2 + u'X_A u) sqrt(log det(I + X_A / r) + U) + sum of g_t - U

    The sums go over the rows with an update.  X_A is the sum of xx', U the number of these rows that were no mistake,
    and g_t = max(0, 1 - y u.x) the loss of u on each.

    Parameters
    ----------
    run : Observation
        A run of `AROWClassifier` with a number for `regularization`.
    competitor : array of shape (n_features,)
        The weights of u.
    intercept : float, default=0.0
        The intercept of u.
    """
    rule = run.rule
    if not isinstance(rule, AROW) or isinstance(rule.regularization, str) or rule.confidence_weight != 1:
        raise ValueError(f"the theorem is about AROW with a number for regularization, and confidence_weight=1: {rule}")
    u = run.vector(competitor, intercept)
    r, x = rule.regularization, run.x[run.updated]
    correlation = x.T @ x
    n_correct = int(np.sum(run.margins[run.updated] > 0))
    with np.errstate(over="ignore", invalid="ignore"):
        loss = float(np.maximum(0, 1 - run.y[run.updated] * (x @ u)).sum())
    log_det = float(np.linalg.slogdet(np.eye(len(u)) + correlation / r)[1])
    with np.errstate(over="ignore", invalid="ignore"):
        bound = float(np.sqrt(r * u @ u + u @ correlation @ u) * np.sqrt(log_det + n_correct) + loss - n_correct)
    return bound if np.isfinite(bound) else float("inf")


def cw_bound(run: Observation, competitor: ArrayLike, intercept: float = 0.0) -> float:
    """The bound of CW in its stdev form on the number M of mistakes, for weights u that are right on every update.

    Theorem 4 (NIPS 2008, eq. 19, with its constant corrected):

        M <= (1 + phi^2) / phi^2 (-log det S + Tr S + u'S^-1 u - d)

    S is the covariance at the end, which meets the condition of the theorem.  The other condition is that u has at
    least the margin that each update led to; u is scaled to the smallest length that meets it.

    Parameters
    ----------
    run : Observation
        A run of `CWClassifier` with `form="stdev"`.
    competitor : array of shape (n_features,)
        The weights of u, of any length.
    intercept : float, default=0.0
        The intercept of u, on the scale of its weights.
    """
    rule = run.rule
    if not isinstance(rule, CW) or rule.form != "stdev" or rule.phi == 0:
        raise ValueError(f"the theorem is about CW in its stdev form, with confidence > 0.5: {rule}")
    u = run.vector(competitor, intercept)
    u = u / max(np.abs(u).max(initial=0), np.finfo(float).tiny)  # the length is set below
    margins = run.y[run.updated] * (run.x[run.updated] @ u)
    if not (margins > 0).all():
        row = int(np.flatnonzero(run.updated)[np.argmin(margins)])
        raise ValueError(f"the competitor must be right on every row with an update; on row {row} it is not")
    u = u * float((run.margins_after[run.updated] / margins).max(initial=0))
    S = run.covariance
    divergence = -np.linalg.slogdet(S)[1] + np.trace(S) + u @ np.linalg.solve(S, u) - len(u)
    return float((1 + rule.phi**2) / rule.phi**2 * divergence)
