"""Which state a rule and its options need."""

from __future__ import annotations

import numpy as np

from cwlearn.core.kernel_options import KernelOptions
from cwlearn.core.naive_bayes import MOST
from cwlearn.core.rule import Rule
from cwlearn.core.states.base import State
from cwlearn.core.states.diagonal import DiagonalState
from cwlearn.core.states.gradients import GradientState
from cwlearn.core.training import Training


def new_state(rule: Rule, training: Training, kernel: KernelOptions | None, blocks: int, n_features: int) -> State:
    """A state that has learned nothing."""
    prior_variance = rule.prior_variance(training.initial_variance)
    if kernel is not None:
        linear = not rule.second_order or rule.averaged or rule.name == "sop" or rule.task == "regression"
        if linear or rule.half_life or rule.informed or rule.covariance == "full":
            raise ValueError(f"{rule} has no kernel form")
        from cwlearn.core.states.kernel import KernelState  # loads SciPy and scikit-learn

        return KernelState(n_features, blocks, prior_variance, kernel)
    if rule.covariance == "full":
        from cwlearn.core.states.full import FullState  # loads SciPy

        return FullState(n_features, blocks, prior_variance)
    state = GradientState if rule.sums_gradients else DiagonalState
    dtype, usual = np.dtype(training.dtype), 1 / MOST if rule.informed else 1.0
    return state(n_features, blocks, prior_variance, rule.floor, dtype, rule.averaged, rule.half_life > 0, usual)


def state_bytes(rule: Rule, training: Training, blocks: int, n_features: int) -> int:
    """The memory that the state of a linear learner takes."""
    if rule.covariance == "full":
        from cwlearn.core.states.full import FullState

        return FullState.nbytes(n_features, blocks)
    return DiagonalState.nbytes(n_features, blocks, np.dtype(training.dtype), rule.averaged, rule.half_life > 0)


def blocks_of(n_labels: int, multilabel: bool = False) -> int:
    """The number of blocks of weights: two labels share one, unless a row may have both."""
    return max(1, n_labels) if n_labels > 2 or multilabel else 1
