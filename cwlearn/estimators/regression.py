"""AROW for regression."""

from __future__ import annotations

from typing import Literal

import numpy as np

from cwlearn.core import rules
from cwlearn.estimators.regressor import LinearRegressor


class AROWRegressor(LinearRegressor):
    """AROW for regression: recursive least squares with a confidence for every weight.

    With a full covariance and a number r for `regularization`, one pass is ridge regression with the penalty r /
    `initial_variance`, whatever the order of the rows.  Further epochs count every row again and weaken the
    penalty.  The diagonal covariance is for many sparse features; several epochs bring it closer to the same
    solution.

    The intercept is the weight of a feature that is 1 in all rows.  It begins at 0 if `regularization` is a number,
    and at the first target if it is 'auto'.  Bring features to a scale of about 1 (`StandardScaler`): among much
    larger ones the intercept is learned slowly.

    Sample weights are precisions: the noise of a row of weight w has the variance `noise_variance_` / w.

    Parameters
    ----------
    regularization : float or "auto", default="auto"
        The paper's r: larger learns more slowly and steadily. 'auto' is `initial_variance` times the mean
        squared length of the rows seen so far, so that the scale of X does not matter.
    projection : {"kl", "l2"}, default="kl"
        How the covariance stays diagonal: keep the diagonal of the precision ('kl') or of the covariance
        ('l2').
    covariance : {"diagonal", "full"}, default="diagonal"
        Shape of the covariance. 'diagonal' keeps one variance for each weight. 'full' keeps a float64 matrix of
        8 n_features^2 bytes (one for each label if there are more than two), for few, correlated features.
    average : bool, default=False
        Predict with the average of the weights held after each row.
    forgetting : float, default=0
        Half-life in rows of what is known of a weight: its variance grows back towards the initial one, so that
        the model follows a stream that drifts. 0 forgets nothing.
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
    dtype : {"float32", "float64"}, default="float32"
        Precision of a diagonal state. Sums are always float64, and so is a full covariance.
    verbose : int, default=0
        Show a progress bar on standard error during `fit`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Mean of the weights: a view of the state.
    intercept_ : float
        Mean of the intercept.
    variance_ : ndarray of shape (n_features,)
        Variance of the weights, in units of `scale_`: multiply it by `scale_` for the unit of y.
    covariance_ : ndarray of shape (n_features, n_features)
        The same for pairs of weights, if the covariance is full.
    scale_ : float
        The unit of the variances, estimated from the error on each row before it was learned from; later rows count
        more.
    noise_variance_ : float
        Variance of y around w.x: `scale_` * r.
    n_features_in_ : int
        Columns of X.
    n_updates_ : int
        Rows that changed the model.

    References
    ----------
    Crammer, Kulesza, Dredze, "Adaptive Regularization of Weight Vectors", NIPS 2009, section 3.

    Examples
    --------
    >>> import numpy as np
    >>> from cwlearn import AROWRegressor
    >>> X = np.arange(20.0).reshape(-1, 1)
    >>> model = AROWRegressor(covariance="full", regularization=1e-3, epochs=1).fit(X, 3 * X[:, 0] + 1)
    >>> prediction, deviation = model.predict([[100.0]], return_std=True)
    >>> prediction.round(1).tolist()
    [301.0]
    """

    _rule = rules.AROWRegression

    def __init__(
        self,
        regularization: float | Literal["auto"] = "auto",
        projection: Literal["kl", "l2"] = "kl",
        *,
        covariance: Literal["diagonal", "full"] = "diagonal",
        average: bool = False,
        forgetting: float = 0,
        initial_variance: float = 1.0,
        fit_intercept: bool = True,
        epochs: int | Literal["auto"] = 10,
        shuffle: bool = True,
        random_state: int | np.random.RandomState | None = None,
        warm_start: bool = False,
        dtype: Literal["float32", "float64"] = "float32",
        verbose: int = 0,
    ) -> None:
        self.regularization = regularization
        self.projection = projection
        self.covariance = covariance
        self.average = average
        self.forgetting = forgetting
        self.initial_variance = initial_variance
        self.fit_intercept = fit_intercept
        self.epochs = epochs
        self.shuffle = shuffle
        self.random_state = random_state
        self.warm_start = warm_start
        self.dtype = dtype
        self.verbose = verbose
