"""Weight vectors and scores that are drawn from the Gaussian over the weights, as for Thompson sampling."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cwlearn.core.model import Model
from cwlearn.core.rows import Rows
from cwlearn.core.states.base import LinearState
from cwlearn.core.states.diagonal import DiagonalState

if TYPE_CHECKING:
    from cwlearn.core.states.full import FullState
    from cwlearn.core.states.kernel import KernelState


def check_gaussian(model: Model) -> None:
    """Refuse to draw where no Gaussian was learned."""
    if not model.rule.second_order:
        raise ValueError(f"this model of {model.rule.name} learns no variances, so there is no Gaussian to draw from")


def drawn_weights(model: Model, random_state: np.random.RandomState) -> NDArray[np.float64]:
    """One draw of all weights: a line for the intercept, then one for each feature; by label, if there are several.

    Weights of a regression are in the unit of its targets.
    """
    check_gaussian(model)
    with model.lock:
        state = model.predictor
        assert isinstance(state, LinearState)  # kernels have no weights
        return _Source(state, np.arange(state.n_features + 1), model).draw(random_state)


def drawn_scores(model: Model, rows: Rows, draws: int, random_state: np.random.RandomState) -> NDArray[np.float64]:
    """The scores w.x of the rows by `draws` weight vectors, each of which scores all rows.

    Only weights of features that occur in the rows are drawn.  A kernel has no weights: there the scores of all rows
    are drawn together, which is the same distribution.
    """
    check_gaussian(model)
    with model.lock:
        state = model.predictor
        if not isinstance(state, LinearState):
            kernel: KernelState = state  # type: ignore[assignment]
            return _drawn_by_kernel(kernel, rows, model.bias, draws, random_state)
        used, places = np.unique(rows.indices, return_inverse=True)
        source = _Source(state, np.append(0, used + 1), model)
    narrow = replace(rows, indices=places.astype(np.int64), values=rows.values.astype(np.float64), n_features=len(used))
    scorer = DiagonalState(len(used), state.blocks, 1.0, 0.0, np.dtype(np.float64), averaged=False)
    scores = np.empty((draws, rows.n_rows, *scorer.mean.shape[1:]))
    for one in scores:
        scorer.mean[:] = source.draw(random_state)
        one[:] = scorer.margins(narrow, model.bias, False, only_mean=True)[0]
    return scores


class _Source:
    """The Gaussian of some weights, which have these places in the arrays of a state."""

    def __init__(self, state: LinearState, places: NDArray[np.int64], model: Model) -> None:
        scale = np.sqrt(model.scale) if model.rule.task == "regression" else 1.0
        self._mean = state.mean[places].astype(np.float64)
        self._roots: list[NDArray[np.float64]] = []  # by block, if the covariance is full
        if isinstance(state, DiagonalState):
            self._deviation = scale * np.sqrt(state.variance[places].astype(np.float64))
        else:
            full: FullState = state  # type: ignore[assignment]
            at = np.ix_(places, places)
            self._roots = [scale * root_of(full.covariance(block)[at]) for block in range(full.blocks)]

    def draw(self, random_state: np.random.RandomState) -> NDArray[np.float64]:
        noise = random_state.standard_normal(self._mean.shape)
        if not self._roots:
            drawn: NDArray[np.float64] = self._mean + self._deviation * noise
            return drawn
        columns = noise.reshape(len(noise), -1)
        moves = np.column_stack([root @ columns[:, block] for block, root in enumerate(self._roots)])
        return self._mean + moves.reshape(noise.shape)


def root_of(covariance: NDArray[np.float64]) -> NDArray[np.float64]:
    """A matrix R with RR' = covariance.  Rounding may have made the covariance indefinite: such parts count as 0."""
    try:
        lower: NDArray[Any] = np.linalg.cholesky(covariance)
        return lower
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(covariance)
        root: NDArray[np.float64] = vectors * np.sqrt(np.maximum(values, 0))
        return root


def _drawn_by_kernel(
    state: KernelState, rows: Rows, bias: float, draws: int, random_state: np.random.RandomState
) -> NDArray[np.float64]:
    scores = np.empty((draws, rows.n_rows, state.blocks))
    for block, (mean, covariance) in enumerate(state.joint(rows, bias)):
        noise = random_state.standard_normal((draws, rows.n_rows))
        scores[:, :, block] = mean + noise @ root_of(covariance).T
    return scores[:, :, 0] if state.blocks == 1 else scores
