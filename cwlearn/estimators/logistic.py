"""Online logistic regression."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from cwlearn.core import rules
from cwlearn.estimators.classifier import LinearClassifier, Probabilistic, Weighted


class LogisticClassifier(Weighted, Probabilistic, LinearClassifier):
    """Online logistic regression: a Gaussian posterior carried from row to row, or plain SGD.

    Its `label_distribution` estimates the probability of the label; that of the other classes is the probability of the
    sign of the margin.

    Parameters
    ----------
    bayesian : bool, default=True
        Keep a posterior over the weights (True) or use plain SGD (False).
    learning_rate : float or "auto", default="auto"
        Step of plain SGD; the posterior has none. 'auto' is 1 divided by `initial_variance` times the mean
        squared length of the rows seen so far, so that the scale of X does not matter.
    covariance : {"diagonal", "full"}, default="diagonal"
        Shape of the covariance. 'diagonal' keeps one variance for each weight. 'full' keeps a float64 matrix of
        8 n_features^2 bytes (one for each label if there are more than two), for few, correlated features.
    average : bool, default=False
        Predict with the average of the weights held after each row.
    forgetting : float, default=0
        Half-life in rows of what is known of a weight: its variance grows back towards the initial one, so that
        the model follows a stream that drifts. 0 forgets nothing.
    class_weight : dict, "balanced" or None, default=None
        Weight of the loss by label. 'balanced' is n_rows / (n_labels * rows of the label).
    prior : {"equal", "naive-bayes"}, default="equal"
        What weights begin with. 'equal': the same variance. 'naive-bayes': all rows are counted first, and the
        more a feature tells about the labels by itself, the larger is the variance of its weight, up to
        `initial_variance`.
    initial_variance : float, default=1.0
        Variance of every weight before the first row.
    fit_intercept : bool, default=True
        Learn an intercept, as the weight of a feature that is always 1.
    epochs : int or "auto", default=5
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
    dtype : {"float32", "float64"}, default="float32"
        Precision of a diagonal state. Sums are always float64, and so is a full covariance.
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
    coef_ : ndarray of shape (1, n_features), or (n_labels, n_features) for more than two labels
        Mean of the weights: a view of the state.
    variance_ : ndarray of the same shape
        Variance of the weights: a view of the state.
    intercept_ : ndarray of shape (1,) or (n_labels,)
        Mean of the intercept.
    covariance_ : ndarray of shape (n_features, n_features) or (n_labels, n_features, n_features)
        Covariance of the weights if it is full: a copy.

    References
    ----------
    Spiegelhalter, Lauritzen, "Sequential Updating of Conditional Probabilities on Directed Graphical Structures",
    1990; MacKay, "The Evidence Framework Applied to Classification Networks", 1992.

    Examples
    --------
    >>> import numpy as np
    >>> from cwlearn import LogisticClassifier
    >>> X = np.array([[1, 0, 2], [0, 1, 1], [2, 0, 1], [0, 2, 1]])
    >>> model = LogisticClassifier(random_state=0).fit(X, ["spam", "ham", "spam", "ham"])
    >>> model.predict([[1, 0, 0], [0, 1, 0]]).tolist()
    ['spam', 'ham']
    """

    _rule = rules.Logistic

    def __init__(
        self,
        bayesian: bool = True,
        learning_rate: float | Literal["auto"] = "auto",
        *,
        covariance: Literal["diagonal", "full"] = "diagonal",
        average: bool = False,
        forgetting: float = 0,
        class_weight: Mapping[Any, float] | Literal["balanced"] | None = None,
        prior: Literal["equal", "naive-bayes"] = "equal",
        initial_variance: float = 1.0,
        fit_intercept: bool = True,
        epochs: int | Literal["auto"] = 5,
        shuffle: bool = True,
        random_state: int | np.random.RandomState | None = None,
        warm_start: bool = False,
        n_constraints: int | None = 1,
        multiclass_update: Literal["sequential", "parallel", "exact"] = "sequential",
        threshold: float | Literal["f0.5", "f1", "f2", "balanced"] = 0.5,
        dtype: Literal["float32", "float64"] = "float32",
        verbose: int = 0,
    ) -> None:
        self.bayesian = bayesian
        self.learning_rate = learning_rate
        self.covariance = covariance
        self.average = average
        self.forgetting = forgetting
        self.class_weight = class_weight
        self.prior = prior
        self.initial_variance = initial_variance
        self.fit_intercept = fit_intercept
        self.epochs = epochs
        self.shuffle = shuffle
        self.random_state = random_state
        self.warm_start = warm_start
        self.n_constraints = n_constraints
        self.multiclass_update = multiclass_update
        self.threshold = threshold
        self.dtype = dtype
        self.verbose = verbose
