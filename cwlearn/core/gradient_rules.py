"""The rules that sum gradients: FTRL-Proximal and AdaGrad.

Their step is the slope of a loss, as that of plain SGD.  A cell of the state holds minus the sum of the gradients of a
weight (for FTRL-Proximal: minus its z) and the root of the sum of their squares.  The weight follows from both when a
row needs it: `weight_of` in `_cells.pxd`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from cwlearn.core.parameters import NOT_NEGATIVE, POSITIVE, one_of, option
from cwlearn.core.probabilities import softmax
from cwlearn.core.rule import WeightedRule

LOSS = one_of("logistic", "hinge")
LOSS_WORDS = "'logistic' gives probabilities of labels, 'hinge' is that of a linear SVM."


@dataclass(frozen=True)
class GradientRule(WeightedRule):
    """Base of the rules that sum gradients.  `initial_variance` a stands for rows that are sqrt(a) times as long."""

    @property
    def probabilistic(self) -> bool:  # type: ignore[override]
        return self.kind == "logistic-sgd"

    @property
    def sums_gradients(self) -> bool:
        return True

    def rows_in_threshold(self, rows: int) -> float:
        """How often L1 counts after so many rows."""
        return 1.0

    def weights(
        self, total: NDArray[Any], root: NDArray[Any], rows: int, initial_variance: float
    ) -> NDArray[np.float64]:
        limit = self.threshold * self.rows_in_threshold(rows)
        total, root = total.astype(np.float64), root.astype(np.float64)
        rate = self.rate * np.sqrt(initial_variance)
        weights: NDArray[np.float64] = rate * (total - np.clip(total, -limit, limit)) / (self.damping + root)
        return weights

    def probability(self, score: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.exp(-np.logaddexp(0, -score))

    def probabilities(self, mean: NDArray[np.float64], variance: NDArray[np.float64]) -> NDArray[np.float64]:
        return softmax(mean)

    def outcome(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        return softmax(scores)


@dataclass(frozen=True)
class FTRL(GradientRule):
    """FTRL-Proximal: adaptive gradient descent whose weights are mostly 0. McMahan et al., KDD 2013, Algorithm 1."""

    name: ClassVar[str] = "ftrl"
    alpha: float = option(0.1, POSITIVE, "Learning rate: the step of a weight is alpha / (beta + sqrt(n)).")
    beta: float = option(1.0, POSITIVE, "Damping of the first steps, in the unit of the gradients.")
    l1: float = option(0.0, NOT_NEGATIVE, "Weight of the L1 norm: more makes more weights 0.")
    l2: float = option(0.0, NOT_NEGATIVE, "Weight of half the squared L2 norm.")
    loss: Literal["logistic", "hinge"] = option("logistic", LOSS, LOSS_WORDS)

    @property
    def kind(self) -> str:
        return f"{self.loss}-sgd"

    @property
    def projection(self) -> str:
        return "proximal"

    @property
    def rate(self) -> float:
        return self.alpha

    @property
    def damping(self) -> float:
        return self.beta + self.alpha * self.l2

    @property
    def threshold(self) -> float:
        return self.l1


@dataclass(frozen=True)
class AdaGrad(GradientRule):
    """AdaGrad by dual averaging, with L1. Duchi, Hazan, Singer, JMLR 12, 2011, section 5.1."""

    name: ClassVar[str] = "adagrad"
    delta: ClassVar[float] = 2.0**-100  # the paper's: only keeps 0 / 0 out
    learning_rate: float = option(0.1, POSITIVE, "The paper's eta: the first step of each weight.")
    l1: float = option(0.0, NOT_NEGATIVE, "Weight of the L1 norm beside the mean loss: more makes more weights 0.")
    loss: Literal["logistic", "hinge"] = option("logistic", LOSS, LOSS_WORDS)

    @property
    def kind(self) -> str:
        return f"{self.loss}-sgd"

    @property
    def projection(self) -> str:
        return "dual"

    @property
    def rate(self) -> float:
        return self.learning_rate

    @property
    def damping(self) -> float:
        return self.delta

    @property
    def threshold(self) -> float:
        return self.l1

    def rows_in_threshold(self, rows: int) -> float:
        return float(rows)
