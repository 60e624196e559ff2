"""What regressors share."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin

from cwlearn.core import one_row
from cwlearn.errors import DataError
from cwlearn.estimators.base import Linear
from cwlearn.estimators.one_row import OneRow


class LinearRegressor(RegressorMixin, Linear, OneRow):  # type: ignore[misc]
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

    def predict_one(self, x: Any) -> float:
        """Predict the target of one row: a dictionary {column: value}, or a row of a matrix.

        The answer is that of `predict`, in a few microseconds.  If the model knows names of features, these are the
        keys of a dictionary.
        """
        return float(one_row.measured(self._parts(x), self._fitted)[1])

    def learn_one(self, x: Any, y: float) -> Self:
        """Learn from one row and its target, as `partial_fit` does with this row; `fit` or `partial_fit` comes first.

        Parameters that were set since then do not count yet.
        """
        learner, target = self._fitted, float(y)
        if not math.isfinite(target):
            raise DataError(f"expected a finite target, got {y!r}")
        learner.learn(one_row.row_of_parts(self._parts(x), learner), np.array([target]))
        return self

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
