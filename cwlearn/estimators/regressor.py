"""The scikit-learn regressor."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin

from cwlearn.estimators.base import Linear

ATTRIBUTES = """
Attributes
----------
coef_ : ndarray of shape (n_features,)
    Mean of the weights: a view of the state, not a copy.
intercept_ : float
    Mean of the intercept.
variance_ : ndarray of shape (n_features,)
    Variance of the weights, where that of the noise is r: multiply it with `scale_` for that in the unit of y.
covariance_ : ndarray of shape (n_features, n_features)
    The same for pairs of weights, where it is full.
scale_, noise_variance_ : float
    What such variances have to be multiplied with, estimated from the error on each row before it was learned from, the
    later ones counting more; and the variance of y around its mean w.x, which is scale_ * r.
n_features_in_, n_updates_ : int
    Columns of X; rows that moved the model.
"""
EXAMPLES = """
Examples
--------
>>> import numpy as np
>>> from cwlearn import {name}
>>> X = np.arange(20.0).reshape(-1, 1)
>>> model = {name}(covariance="full", regularization=1e-3, epochs=1).fit(X, 3 * X[:, 0] + 1)
>>> prediction, deviation = model.predict([[100.0]], return_std=True)
>>> prediction.round(1).tolist()
[301.0]
"""


class LinearRegressor(RegressorMixin, Linear):  # type: ignore[misc]
    """Targets in, predictions with their deviations out."""

    _left_out = ("n_constraints", "multiclass_update")
    _attributes: ClassVar[str] = ATTRIBUTES
    _examples: ClassVar[str] = EXAMPLES

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from the rows of X with targets y, in `epochs` passes; forget what was learned before, if anything,
        unless `warm_start` is set.  `sample_weight` scales the loss of each row, and 0 leaves the row out."""
        return self._fit(X, y, sample_weight)

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from the rows of X, once, in the order they come; chunks of any size give the same bits."""
        return self._partial_fit(X, y, np.empty(0), sample_weight)

    def _validate(self, X: Any, y: Any, reset: bool, **checks: Any) -> tuple[Any, NDArray[Any]]:
        return super()._validate(X, y, reset, y_numeric=True, **checks)

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """The prediction for every row and, with `return_std`, the standard deviation of y around it: that of the noise
        and that of w.x together."""
        rows = self._rows(X)
        mean, variance = self._fitted.margins(rows, only_mean=not return_std)
        return (mean, self._fitted.deviations(variance)) if return_std else mean

    @property
    def coef_(self) -> NDArray[Any]:
        return self._weights.mean[1:]

    @property
    def intercept_(self) -> float:  # type: ignore[override]
        return float(self._weights.mean[0])

    @property
    def variance_(self) -> NDArray[Any]:
        return self._weights.variance[1:]

    @property
    def scale_(self) -> float:
        return self._fitted.scale

    @property
    def noise_variance_(self) -> float:
        return self._fitted.scale * self._fitted.noise
