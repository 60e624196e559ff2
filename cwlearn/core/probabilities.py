"""From the Gaussian score of each label to the probability of each label."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from cwlearn.core._probabilities import normal_cdf, winning_chances

BLOCK = 1 << 21  # numbers drawn at a time


def above_zero(score: NDArray[np.float64]) -> NDArray[np.float64]:
    """Phi of the score: the probability that a Gaussian of that mean and the variance 1 is positive."""
    chance = np.empty_like(score)
    normal_cdf(chance, score)
    return chance


def of_winning(mean: NDArray[np.float64], variance: NDArray[np.float64]) -> NDArray[np.float64]:
    """By row, the probability that the score of each label is the highest, by quadrature."""
    chance = np.empty_like(mean)
    winning_chances(chance, mean, variance)
    return chance


def wins(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 for the highest score along the last axis, the first one if there are several, and 0 for the others."""
    won: NDArray[np.bool_] = np.argmax(scores, axis=-1)[..., None] == np.arange(scores.shape[-1])
    return won.astype(np.float64)


def softmax(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Probabilities in proportion to exp(score), along the last axis."""
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    shares: NDArray[np.float64] = powers / powers.sum(axis=-1, keepdims=True)
    return shares


def drawn(
    mean: NDArray[np.float64],
    variance: NDArray[np.float64],
    draws: int,
    random_state: np.random.RandomState,
    outcome: Callable[[NDArray[np.float64]], NDArray[np.float64]],
) -> NDArray[np.float64]:
    """The average of `outcome` over `draws` random scores of each row.

    Scores are drawn, not weights: with a diagonal covariance those of the labels are independent Gaussians, so it is
    the same distribution (EMNLP 2009, section 7).
    """
    chance = np.zeros_like(mean)
    at_once = min(draws, max(1, BLOCK // mean.shape[1]))
    step = max(1, BLOCK // (at_once * mean.shape[1]))
    for start in range(0, len(mean), step):
        part = slice(start, start + step)
        for done in range(0, draws, at_once):
            noise = random_state.standard_normal((min(at_once, draws - done), *mean[part].shape))
            chance[part] += outcome(mean[part] + np.sqrt(variance[part]) * noise).sum(axis=0)
    return chance / draws
