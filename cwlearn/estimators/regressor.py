"""What regressors share."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin

from cwlearn.estimators.base import Linear


class LinearRegressor(RegressorMixin, Linear):  # type: ignore[misc]
    """Base of the regressors, which predict a target and its standard deviation."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from the rows of X with targets y, in `epochs` passes.

        Earlier learning is forgotten unless `warm_start` is set.  `sample_weight` scales the loss of each row; 0 leaves
        the row out.
        """
        return self._fit(X, y, sample_weight)

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from the rows of X once, in their order.  Chunks of any size give the same bits."""
        return self._partial_fit(X, y, np.empty(0), sample_weight)

    def _validate(self, X: Any, y: Any, reset: bool, **checks: Any) -> tuple[Any, NDArray[Any]]:
        return super()._validate(X, y, reset, y_numeric=True, **checks)

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Predict the target of each row.

        With `return_std`, also return the standard deviation of y around it, that of the noise and of w.x together.
        """
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
