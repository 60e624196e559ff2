"""Probabilities of labels from certain scores, and averages over random ones.

The probability of the highest of several Gaussian scores, by quadrature, is in `_probabilities`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

DRAWN_AT_ONCE = 1 << 21  # random numbers


def one_hot(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 for the highest score along the last axis, 0 for the others.  Ties go to the first one."""
    highest: NDArray[np.bool_] = np.argmax(scores, axis=-1)[..., None] == np.arange(scores.shape[-1])
    return highest.astype(np.float64)


def softmax(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Probabilities in proportion to exp(score), along the last axis."""
    powers: NDArray[np.float64] = scores - scores.max(axis=-1, keepdims=True)
    np.exp(powers, out=powers)  # in place: with very many labels, another array takes more time than the powers
    powers /= powers.sum(axis=-1, keepdims=True)
    return powers


def mean_outcome(
    outcome: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    mean: NDArray[np.float64],
    variance: NDArray[np.float64],
    draws: int,
    random_state: np.random.RandomState,
) -> NDArray[np.float64]:
    """The average of `outcome` over `draws` random scores of each row.

    Scores are drawn, not weights: with a diagonal covariance the scores of the labels are independent Gaussians, so the
    distribution is the same (EMNLP 2009, section 7).
    """
    total = np.zeros_like(mean)
    at_once = min(draws, max(1, DRAWN_AT_ONCE // mean.shape[1]))
    step = max(1, DRAWN_AT_ONCE // (at_once * mean.shape[1]))
    for start in range(0, len(mean), step):
        part = slice(start, start + step)
        for done in range(0, draws, at_once):
            noise = random_state.standard_normal((min(at_once, draws - done), *mean[part].shape))
            total[part] += outcome(mean[part] + np.sqrt(variance[part]) * noise).sum(axis=0)
    return total / draws
