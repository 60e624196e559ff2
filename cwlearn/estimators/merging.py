"""Merging several estimators into one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeVar

from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from cwlearn.core import merging
from cwlearn.core.learner import Learner
from cwlearn.estimators.base import Linear
from cwlearn.estimators.text_classifier import TextClassifier

Model = TypeVar("Model", bound=Linear | TextClassifier)


def merge(
    models: Sequence[Model], how: Literal["posterior", "kl", "l2"] = "posterior", base: Model | None = None
) -> Model:
    """Merge models that have learned from different rows into one, through their confidences.

    Parameters
    ----------
    models : fitted linear estimators of this package, or fitted TextClassifiers
        They have the same rule, parameters and labels, and may have different numbers of features, which are aligned by
        column.  They are not changed.
    how : {"posterior", "kl", "l2"}, default="posterior"
        "posterior" adds what each model has learned beyond the common prior, in any order and grouping.  "kl" is the
        paper's way, which counts the prior once for each model.  "l2" averages means and covariances.
    base : a fitted estimator, default=None
        The model that all of them continued from, if they were not new.  It counts once.

    Returns
    -------
    model : an estimator of the same class
        It predicts, saves, learns more, and can be merged again.

    References
    ----------
    Crammer, Dredze, Pereira, "Confidence-Weighted Linear Classification for Text Categorization", JMLR 13, 2012,
    section 7.10.

    Examples
    --------
    >>> import numpy as np
    >>> from cwlearn import AROWClassifier, merge
    >>> X, y = np.array([[1, 0], [0, 1], [2, 0], [0, 2]]), np.array([0, 1, 0, 1])
    >>> halves = [AROWClassifier().fit(X[part], y[part]) for part in (slice(0, 2), slice(2, 4))]
    >>> merge(halves).predict(X).tolist()
    [0, 1, 0, 1]
    """
    named = [(f"model {number}", model) for number, model in enumerate(models)]
    known = _learner_of("base", base) if base is not None else None
    learner = merging.merge(((name, _learner_of(name, model)) for name, model in named), how, known)
    merged: Model = clone(named[0][1])
    if isinstance(merged, TextClassifier):
        return merged._adopt(merged._new_classifier()._adopt(learner))
    return merged._adopt(learner)


def _learner_of(name: str, model: Linear | TextClassifier) -> Learner:
    if not isinstance(model, Linear | TextClassifier):
        raise TypeError(f"{name}: expected a linear estimator of cwlearn, got {model!r}")
    if not model.__sklearn_is_fitted__():
        raise NotFittedError(f"{name}: this {type(model).__name__} is not fitted yet")
    return model._learner if isinstance(model, TextClassifier) else model._fitted
