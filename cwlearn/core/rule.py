"""What all update rules share: options, defaults, and the numbers that the kernel takes.

The rules themselves are in `rules.py`, their formulas in `_rules.pxd`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypedDict

import numpy as np
from numpy.typing import NDArray

from cwlearn._kernels import KINDS, PROJECTIONS
from cwlearn.core._probabilities import normal_cdf, winning_probabilities
from cwlearn.core.parameters import BOOLEAN, CLASS_WEIGHT, NOT_NEGATIVE, Options, one_of, option
from cwlearn.core.probabilities import one_hot

SHORTEST = 1  # half-life in rows
EQUAL = "equal"
AVERAGE = "Predict with the average of the weights held after each row."


class RuleFields(TypedDict):
    """The fields of the kernel's Rule struct that depend on the rule alone."""

    kind: int
    projection: int
    phi: float
    gain_factor: float
    C: float
    relative: bool
    follows_rows: bool
    rate: float
    damping: float
    threshold: float
    forgetting: float


# AROW, logistic regression and probit are about as good after so many epochs as after ten where labels are right, and
# better where some are wrong (docs/results/defaults.md).  So are SCW and NHERD, but they need more if the weights of
# classes differ by 10^7, as scikit-learn's checks show.
FEW_EPOCHS = 5


@dataclass(frozen=True)
class Rule(Options):
    """Base of all rules."""

    name: ClassVar[str]
    task: ClassVar[str] = "classification"
    default_epochs: ClassVar[int] = 10
    last_epochs: ClassVar[int] = 3  # of several, which learn the rows that were held back: see `training.Plan`
    probabilistic: ClassVar[bool] = True  # `probability` is meaningful

    @property
    def kind(self) -> str:
        """The formula, one of `_kernels.KINDS`."""
        return self.name

    @property
    def covariance(self) -> str:
        """The shape of the covariance: "diagonal" or "full"."""
        return "diagonal"

    @property
    def projection(self) -> str:
        """What a step does to a diagonal covariance: "fixed", "proximal" and "dual" mark first-order rules."""
        return "kl"

    @property
    def phi(self) -> float:
        """The required confidence, as a quantile of the normal distribution."""
        return 0.0

    @property
    def gain_factor(self) -> float:
        """AROW: the weight of the confidence relative to the loss."""
        return 1.0

    @property
    def strength(self) -> float | str:
        """The kernel's C: the weight of the loss (AROW's 1/r, the step of SGD).

        "auto" is 1, in a unit that depends on the rows.
        """
        return 1.0

    # No variance falls below this fraction of the initial one.  CW-stdev on noisy labels drives variances to 0 faster
    # than exponentially, and a variance of 0 would stop learning silently.  The bound is relative because CW-stdev does
    # not depend on the initial variance (N8, Lemma 3).
    floor: ClassVar[float] = 2.0**-100

    @property
    def second_order(self) -> bool:
        """Whether the rule learns a covariance."""
        return self.projection != "fixed" and not self.sums_gradients

    @property
    def sums_gradients(self) -> bool:
        """Whether a state holds sums of gradients, from which the weights follow: FTRL and AdaGrad."""
        return False

    @property
    def rate(self) -> float:
        """The learning rate of rules that sum gradients; the next two are their other numbers."""
        return 1.0

    @property
    def damping(self) -> float:
        """What is added to the root of the sum of squared gradients."""
        return 1.0

    @property
    def threshold(self) -> float:
        """The weight of L1."""
        return 0.0

    @property
    def solvable(self) -> bool:
        """Whether the constraints of several rivals can be met at once."""
        return False

    @property
    def follows_rows(self) -> bool:
        """Whether the prior depends on the rows seen so far."""
        return False

    @property
    def averaged(self) -> bool:
        """Whether the average of the weights after each row predicts."""
        return bool(getattr(self, "average", False))

    @property
    def half_life(self) -> float:
        """After so many rows half of what is known of a weight is forgotten; 0: nothing ever is."""
        return float(getattr(self, "forgetting", 0))

    @property
    def informed(self) -> bool:
        """Whether the prior is made of all rows, before the first one is learned."""
        return getattr(self, "prior", EQUAL) != EQUAL

    @property
    def begins_at_target(self) -> bool:
        """Whether the intercept starts at the first target instead of 0."""
        return False

    @property
    def takes_weights(self) -> bool:
        """Whether there is a loss that sample weights can scale."""
        return isinstance(self, WeightedRule)

    def prior_variance(self, initial_variance: float) -> float:
        """Variance of every weight before the first row."""
        return initial_variance

    def weights(
        self, total: NDArray[Any], root: NDArray[Any], rows: int, initial_variance: float
    ) -> NDArray[np.float64]:
        """The weights of a rule that sums gradients, after so many rows; see `weight_of` in `_cells.pxd`."""
        raise NotImplementedError(f"{self.name} sums no gradients: its cells hold the weights")

    def score(self, mean: NDArray[np.float64], variance: NDArray[np.float64]) -> NDArray[np.float64]:
        """The score that ranks rows, for w.x ~ N(mean, variance): mean / sd, and 0 for a row without features.

        A row of many features has a large mean without being more certain.  Dividing by the deviation corrects that,
        and makes the ranking that of `probability`.
        """
        if not self.second_order:
            return mean
        return np.divide(mean, np.sqrt(variance), out=np.zeros_like(mean), where=variance > 0)

    def probability(self, score: NDArray[np.float64]) -> NDArray[np.float64]:
        """The probability of the second of two labels: Pr(w.x > 0) = Phi(mean / sd) (N8 section 2)."""
        return normal_cdf(score)

    def probabilities(self, mean: NDArray[np.float64], variance: NDArray[np.float64]) -> NDArray[np.float64]:
        """The probability of each of several labels: Pr(w_z.x is highest) (EMNLP 2009, section 7), by quadrature."""
        return winning_probabilities(mean, variance)

    def score_variance(self, variance: NDArray[np.float64]) -> NDArray[np.float64]:
        """The variances of the scores of several labels, as the probabilities use them.

        First-order rules have none.  CW and SCW ask for a probability, which keeps each variance in line with its
        margin.  With other rules, a label that is seldom updated keeps a large variance and would be the most probable
        one only because of that, so they use the average over the labels.
        """
        if not self.second_order:
            return np.zeros_like(variance)
        return np.broadcast_to(variance.mean(axis=1, keepdims=True), variance.shape).copy()

    def outcome(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """The probability of each label, by row, for certain scores."""
        return one_hot(scores)

    def kernel_fields(self) -> RuleFields:
        """The rule's part of the kernel's Rule struct."""
        auto = self.strength == "auto"
        return {
            "kind": KINDS[self.kind],
            "projection": PROJECTIONS[self.projection],
            "phi": self.phi,
            "gain_factor": self.gain_factor,
            "C": 1.0 if auto else float(self.strength),
            "relative": auto,
            "follows_rows": self.follows_rows,
            "rate": self.rate,
            "damping": self.damping,
            "threshold": self.threshold,
            "forgetting": self.half_life,
        }


@dataclass(frozen=True)
class SecondOrderRule(Rule):
    """Base of the rules that learn a covariance."""

    covariance: Literal["diagonal", "full"] = option(
        "diagonal",
        one_of("diagonal", "full"),
        "Shape of the covariance. 'diagonal' keeps one variance for each weight. 'full' keeps a float64 matrix of "
        "8 n_features^2 bytes (one for each label if there are more than two), for few, correlated features.",
        keyword_only=True,
    )
    average: bool = option(False, BOOLEAN, AVERAGE, keyword_only=True)
    forgetting: float = option(
        0,
        NOT_NEGATIVE,
        "Half-life in rows of what is known of a weight: its variance grows back towards the initial one, so that the "
        "model follows a stream that drifts. 0 forgets nothing.",
        keyword_only=True,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.forgetting and self.covariance == "full":
            raise ValueError("`forgetting` needs `covariance='diagonal'`: full covariances forget nothing")
        if self.forgetting and self.forgetting < SHORTEST:
            raise ValueError(f"`forgetting` is a half-life in rows: 0, or at least {SHORTEST}, got {self.forgetting!r}")
        if self.average and self.covariance == "full":
            raise ValueError("`average=True` needs `covariance='diagonal'`: full covariances keep no averages")


@dataclass(frozen=True)
class WeightedRule(Rule):
    """Base of the rules with a loss, which sample and class weights scale."""

    class_weight: Mapping[Any, float] | Literal["balanced"] | None = option(
        None,
        CLASS_WEIGHT,
        "Weight of the loss by label. 'balanced' is n_rows / (n_labels * rows of the label).",
        keyword_only=True,
    )


@dataclass(frozen=True)
class InformedRule(WeightedRule):
    """Base of the rules whose prior may be that of naive Bayes: see `naive_bayes`."""

    prior: Literal["equal", "naive-bayes"] = option(
        EQUAL,
        one_of(EQUAL, "naive-bayes"),
        "What weights begin with. 'equal': the same variance. 'naive-bayes': all rows are counted first, and the more "
        "a feature tells about the labels by itself, the larger is the variance of its weight, up to "
        "`initial_variance`.",
        keyword_only=True,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.informed and self.covariance == "full":
            raise ValueError(f"`prior={self.prior!r}` needs `covariance='diagonal'`: it is a variance for each weight")
        if self.informed and self.half_life:
            raise ValueError(f"`prior={self.prior!r}` needs `forgetting=0`: variances that grow back lose it")
