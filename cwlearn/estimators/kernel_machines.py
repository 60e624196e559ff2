"""Confidence-weighted learning and AROW with a kernel."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np

from cwlearn.core import rules
from cwlearn.estimators.classifier import KernelClassifier, Probabilistic, Weighted


class KernelCWClassifier(Probabilistic, KernelClassifier):
    """Confidence-weighted classifier with a kernel.

    It has the full covariance of a feature space of any dimension.  It keeps the rows that caused an update, so
    time and memory grow with the square of their number; `budget` limits it.

    Parameters
    ----------
    confidence : float, default=0.9
        Probability (eta) with which each row must be classified correctly.
    form : {"stdev", "variance"}, default="stdev"
        Constraint on the margin m and its variance v: m >= phi sqrt(v) ('stdev') or m >= phi v ('variance').
    kernel : str or callable, default="rbf"
        Name of a kernel of scikit-learn, or a function of two dense matrices (n x d, m x d) that returns the n
        x m kernels of their rows. It must be positive definite.
    gamma : float or {"scale", "auto"}, default="scale"
        Coefficient of the kernels that have one. 'scale' is 1 / (n_features * variance of the first X), 'auto'
        is 1 / n_features.
    degree : int, default=3
        Degree of the 'poly' kernel.
    coef0 : float, default=0.0
        Constant term of the 'poly' and 'sigmoid' kernels.
    budget : int or None, default=None
        Most rows to keep. Beyond it each update drops the least important row, as if it had never been learned
        from. None: no limit.
    initial_variance : float, default=1.0
        Variance of every weight before the first row.
    fit_intercept : bool, default=True
        Learn an intercept, as the weight of a feature that is always 1.
    epochs : int or "auto", default=10
        Passes over the rows; `partial_fit` always makes one. 'auto' tries how many suit the rows.
    shuffle : bool, default=True
        Take the rows in a new random order in every epoch of `fit`.
    random_state : int, RandomState or None, default=None
        Seed or generator of the shuffles.
    warm_start : bool, default=False
        Let `fit` continue from the current weights instead of starting anew.
    n_constraints : int or None, default=1
        With more than two labels: how many of the highest-scoring wrong labels the true one must beat. None is
        all.
    multiclass_update : {"sequential", "parallel", "exact"}, default="sequential"
        With several constraints: apply them one after the other ('sequential'), each alone and then average
        ('parallel'), or meet all of them at once ('exact'; only for passive-aggressive, and for CW with
        form='variance').
    threshold : float or {"f0.5", "f1", "f2", "balanced"}, default=0.5
        With two labels: the chance from which on the second one is predicted. 'f1' is the one with the highest F1
        of that label, and so on; 'balanced' that with the highest mean of both recalls.
    verbose : int, default=0
        Show a progress bar on standard error during `fit`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        The labels, sorted.
    n_features_in_ : int
        Columns of X.
    n_updates_ : int
        Rows that changed the model.
    n_mistakes_ : int
        Rows on the wrong side before they were learned.
    n_kept_ : int
        Rows that are kept.

    References
    ----------
    Crammer, Dredze, Pereira, "Exact Convex Confidence-Weighted Learning", NIPS 2008, theorem 2.

    Examples
    --------
    >>> import numpy as np
    >>> from cwlearn import KernelCWClassifier
    >>> X = np.array([[1, 0, 2], [0, 1, 1], [2, 0, 1], [0, 2, 1]])
    >>> model = KernelCWClassifier(random_state=0).fit(X, ["spam", "ham", "spam", "ham"])
    >>> model.predict([[1, 0, 0], [0, 1, 0]]).tolist()
    ['spam', 'ham']
    """

    _rule = rules.CW

    def __init__(
        self,
        confidence: float = 0.9,
        form: Literal["stdev", "variance"] = "stdev",
        kernel: str | Callable[[Any, Any], Any] = "rbf",
        *,
        gamma: float | Literal["scale", "auto"] = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        budget: int | None = None,
        initial_variance: float = 1.0,
        fit_intercept: bool = True,
        epochs: int | Literal["auto"] = 10,
        shuffle: bool = True,
        random_state: int | np.random.RandomState | None = None,
        warm_start: bool = False,
        n_constraints: int | None = 1,
        multiclass_update: Literal["sequential", "parallel", "exact"] = "sequential",
        threshold: float | Literal["f0.5", "f1", "f2", "balanced"] = 0.5,
        verbose: int = 0,
    ) -> None:
        self.confidence = confidence
        self.form = form
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.budget = budget
        self.initial_variance = initial_variance
        self.fit_intercept = fit_intercept
        self.epochs = epochs
        self.shuffle = shuffle
        self.random_state = random_state
        self.warm_start = warm_start
        self.n_constraints = n_constraints
        self.multiclass_update = multiclass_update
        self.threshold = threshold
        self.verbose = verbose


class KernelAROWClassifier(Weighted, Probabilistic, KernelClassifier):
    """AROW with a kernel, for noisy labels.

    It has the full covariance of a feature space of any dimension.  It keeps the rows that caused an update, so
    time and memory grow with the square of their number; `budget` limits it.

    Parameters
    ----------
    regularization : float or "auto", default="auto"
        The paper's r: larger learns more slowly and steadily. 'auto' is `initial_variance` times the mean
        squared length of the rows seen so far, so that the scale of X does not matter.
    kernel : str or callable, default="rbf"
        Name of a kernel of scikit-learn, or a function of two dense matrices (n x d, m x d) that returns the n
        x m kernels of their rows. It must be positive definite.
    class_weight : dict, "balanced" or None, default=None
        Weight of the loss by label. 'balanced' is n_rows / (n_labels * rows of the label).
    confidence_weight : float, default=1.0
        Weight of the confidence relative to the loss: the paper's lambda_2 / lambda_1. 1 is its Figure 1.
    gamma : float or {"scale", "auto"}, default="scale"
        Coefficient of the kernels that have one. 'scale' is 1 / (n_features * variance of the first X), 'auto'
        is 1 / n_features.
    degree : int, default=3
        Degree of the 'poly' kernel.
    coef0 : float, default=0.0
        Constant term of the 'poly' and 'sigmoid' kernels.
    budget : int or None, default=None
        Most rows to keep. Beyond it each update drops the least important row, as if it had never been learned
        from. None: no limit.
    initial_variance : float, default=1.0
        Variance of every weight before the first row.
    fit_intercept : bool, default=True
        Learn an intercept, as the weight of a feature that is always 1.
    epochs : int or "auto", default=10
        Passes over the rows; `partial_fit` always makes one. 'auto' tries how many suit the rows.
    shuffle : bool, default=True
        Take the rows in a new random order in every epoch of `fit`.
    random_state : int, RandomState or None, default=None
        Seed or generator of the shuffles.
    warm_start : bool, default=False
        Let `fit` continue from the current weights instead of starting anew.
    n_constraints : int or None, default=1
        With more than two labels: how many of the highest-scoring wrong labels the true one must beat. None is
        all.
    multiclass_update : {"sequential", "parallel", "exact"}, default="sequential"
        With several constraints: apply them one after the other ('sequential'), each alone and then average
        ('parallel'), or meet all of them at once ('exact'; only for passive-aggressive, and for CW with
        form='variance').
    threshold : float or {"f0.5", "f1", "f2", "balanced"}, default=0.5
        With two labels: the chance from which on the second one is predicted. 'f1' is the one with the highest F1
        of that label, and so on; 'balanced' that with the highest mean of both recalls.
    verbose : int, default=0
        Show a progress bar on standard error during `fit`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        The labels, sorted.
    n_features_in_ : int
        Columns of X.
    n_updates_ : int
        Rows that changed the model.
    n_mistakes_ : int
        Rows on the wrong side before they were learned.
    n_kept_ : int
        Rows that are kept.

    References
    ----------
    Crammer, Kulesza, Dredze, "Adaptive Regularization of Weight Vectors", NIPS 2009, lemma 1.

    Examples
    --------
    >>> import numpy as np
    >>> from cwlearn import KernelAROWClassifier
    >>> X = np.array([[1, 0, 2], [0, 1, 1], [2, 0, 1], [0, 2, 1]])
    >>> model = KernelAROWClassifier(random_state=0).fit(X, ["spam", "ham", "spam", "ham"])
    >>> model.predict([[1, 0, 0], [0, 1, 0]]).tolist()
    ['spam', 'ham']
    """

    _rule = rules.AROW

    def __init__(
        self,
        regularization: float | Literal["auto"] = "auto",
        kernel: str | Callable[[Any, Any], Any] = "rbf",
        *,
        class_weight: Mapping[Any, float] | Literal["balanced"] | None = None,
        confidence_weight: float = 1.0,
        gamma: float | Literal["scale", "auto"] = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        budget: int | None = None,
        initial_variance: float = 1.0,
        fit_intercept: bool = True,
        epochs: int | Literal["auto"] = 10,
        shuffle: bool = True,
        random_state: int | np.random.RandomState | None = None,
        warm_start: bool = False,
        n_constraints: int | None = 1,
        multiclass_update: Literal["sequential", "parallel", "exact"] = "sequential",
        threshold: float | Literal["f0.5", "f1", "f2", "balanced"] = 0.5,
        verbose: int = 0,
    ) -> None:
        self.regularization = regularization
        self.kernel = kernel
        self.class_weight = class_weight
        self.confidence_weight = confidence_weight
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.budget = budget
        self.initial_variance = initial_variance
        self.fit_intercept = fit_intercept
        self.epochs = epochs
        self.shuffle = shuffle
        self.random_state = random_state
        self.warm_start = warm_start
        self.n_constraints = n_constraints
        self.multiclass_update = multiclass_update
        self.threshold = threshold
        self.verbose = verbose
