"""The state of rules that sum gradients."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from cwlearn.core.states.diagonal import DiagonalState

LARGEST_ROOT = 1e150  # whose square, and that of any gradient that the kernel accepts, is finite


class GradientState(DiagonalState):
    """Cells of (minus the sum of gradients, root of the sum of their squares) in the places of mean and variance.

    Both begin with 0.  A model makes weights of them: `Model.turn_into_predicting`.
    """

    @property
    def prior_variance(self) -> float:
        """What the second number begins with."""
        return 0.0

    def _check_variances(self, variances: NDArray[Any]) -> None:
        if not ((variances >= 0).all() and float(variances.max(initial=0)) <= LARGEST_ROOT):
            raise ValueError(f"the roots of its sums of squared gradients are not between 0 and {LARGEST_ROOT}")
