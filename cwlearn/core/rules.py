"""The update rules: their parameters, papers and defaults, and the numbers the kernel wants of them.

The formulas are in `_rules.pxd`; CONTRIBUTING.md says how to add a rule.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cwlearn._kernels import COVARIANCES, KINDS
from cwlearn.core import probabilities as chances
from cwlearn.core.parameters import (
    BOOLEAN,
    CLASS_WEIGHT,
    CONFIDENCE,
    NOTHING,
    POSITIVE,
    Options,
    one_of,
    option,
)

AUTO = one_of("auto")
LOSS = one_of("hinge", "squared_hinge")
DIAGONAL = "How a diagonal covariance stays diagonal: keep the diagonal of the precision"
RELATIVE = (
    "divided by the prior variance of the margin (initial_variance times the squared length of a row, averaged "
    "over the rows seen), so that the scale of X does not matter, but for an intercept, whose feature is 1 on any scale"
)


@dataclass(frozen=True)
class Rule(Options):
    """Base of all rules."""

    name: ClassVar[str]
    task: ClassVar[str] = "classification"
    averaged: ClassVar[bool] = False  # predict with the mean of the weights held after each row
    default_epochs: ClassVar[int] = 10
    probabilistic: ClassVar[bool] = True  # `probability` means something

    @property
    def kind(self) -> str:
        return self.name

    @property
    def covariance(self) -> str:
        """The shape of the covariance: "diagonal", or "full"."""
        return "diagonal"

    @property
    def projection(self) -> str:
        """What a step does to a diagonal covariance; "fixed" marks a first-order rule."""
        return "kl"

    @property
    def phi(self) -> float:
        return 0.0

    @property
    def strength(self) -> float | str:
        """The kernel's C: the weight of the loss (AROW's 1/r, the step of SGD); "auto" is 1, in a unit that the rows
        suggest."""
        return 1.0

    # No variance falls below this part of the initial one.  Far below what a stream of clean labels needs: it is there
    # because CW-stdev on noisy labels drives variances to 0 faster than exponentially and then, with v = 0, would stop
    # learning without a word.  Relative, since CW-stdev does not depend on the initial variance (N8, Lemma 3).
    floor: ClassVar[float] = 2.0**-100

    @property
    def second_order(self) -> bool:
        return self.projection != "fixed"

    @property
    def solvable(self) -> bool:
        """Whether the constraints of several rivals can be met all at once."""
        return False

    @property
    def follows_rows(self) -> bool:
        """Whether the prior is that which the rows seen suggest."""
        return False

    @property
    def begins_at_target(self) -> bool:
        """Whether the intercept begins at the first target that is learned from, instead of 0."""
        return False

    @property
    def takes_weights(self) -> bool:
        """Weights scale a loss; a hard constraint has none."""
        return isinstance(self, WeightedRule)

    def prior_variance(self, initial_variance: float) -> float:
        """Variance of every weight before the first row."""
        return initial_variance

    def score(self, mean: NDArray[np.float64], variance: NDArray[np.float64]) -> NDArray[np.float64]:
        """What ranks rows, for w.x ~ N(mean, variance): mean / sd, and 0 for a row without features.

        Rows of many features, or of large values, have a large mean without being more certain; dividing by the
        deviation puts that right, and makes the ranking that of `probability`.
        """
        if not self.second_order:
            return mean
        return np.divide(mean, np.sqrt(variance), out=np.zeros_like(mean), where=variance > 0)

    def probability(self, score: NDArray[np.float64]) -> NDArray[np.float64]:
        """Of the second of two labels: Pr(w.x > 0) = Phi(mean / sd) (N8 section 2)."""
        return chances.above_zero(score)

    def probabilities(self, mean: NDArray[np.float64], variance: NDArray[np.float64]) -> NDArray[np.float64]:
        """Of each of more than two labels: Pr(w_z.x is the highest) (EMNLP 2009, section 7), without sampling."""
        return chances.of_winning(mean, variance)

    def score_variance(self, variance: NDArray[np.float64]) -> NDArray[np.float64]:
        """What the variances of more than two labels' scores tell of certainty.

        First-order rules know of none.  For the others all labels have the same, their average: only CW and SCW ask for
        a probability and so bring every variance in line with its margin.  Elsewhere a label that seldom comes near to
        winning keeps most of its variance, for want of updates, and would be the most probable one just for that.
        """
        if not self.second_order:
            return np.zeros_like(variance)
        return np.broadcast_to(variance.mean(axis=1, keepdims=True), variance.shape).copy()

    def outcome(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """The probability of each label, by row, if these were the scores for certain."""
        return chances.wins(scores)

    def kernel_fields(self) -> dict[str, Any]:
        """The rule's share of the kernel's Rule struct."""
        auto = self.strength == "auto"
        return {
            "kind": KINDS[self.kind],
            "covariance": COVARIANCES[self.projection],
            "phi": self.phi,
            "C": 1.0 if auto else float(self.strength),
            "relative": auto,
        }


@dataclass(frozen=True)
class SecondOrderRule(Rule):
    """Base of the rules that learn a covariance."""

    covariance: str = option(
        "diagonal",
        one_of("diagonal", "full"),
        "The Gaussian's covariance: one variance for each weight, or a matrix (of 8 n_features^2 bytes, one for each "
        "label if there are more than two), which pays where features are few and correlated; nothing is projected "
        "then, and the state is always float64.",
        keyword_only=True,
    )


@dataclass(frozen=True)
class WeightedRule(Rule):
    """Base of the rules with a loss, which sample and class weights can scale."""

    class_weight: Any = option(
        None,
        CLASS_WEIGHT,
        "Weight of the loss by label; 'balanced' weighs each label by n_rows / (n_labels * its rows).",
        keyword_only=True,
    )


def normal_quantile(confidence: float) -> float:
    """phi = Phi^-1(eta), without SciPy."""
    from statistics import NormalDist  # slow to import, and not for all rules

    return NormalDist().inv_cdf(confidence)


@dataclass(frozen=True)
class CW(SecondOrderRule):
    """Confidence-weighted learning: every row is classified correctly with the probability `confidence`.

    Variance form: Crammer, Dredze, Pereira, JMLR 13, 2012, eq. 17-18; stdev form: the same, eq. 31, and NIPS 2008.
    """

    name: ClassVar[str] = "cw"
    confidence: float = option(0.9, CONFIDENCE, "Probability eta with which each row must be classified correctly.")
    form: str = option(
        "stdev",
        one_of("stdev", "variance"),
        "The constraint on margin m and variance v: m >= phi sqrt(v), or the relaxation m >= phi v.",
    )
    projection: str = option(
        "kl",
        one_of("kl", "l2", "exact"),
        f"{DIAGONAL} ('kl') or of the covariance ('l2'), or solve the diagonal problem itself ('exact').",
    )

    @property
    def kind(self) -> str:
        return f"cw-{self.form}"

    @property
    def phi(self) -> float:
        return normal_quantile(self.confidence)

    @property
    def solvable(self) -> bool:
        return self.form == "variance" and self.projection != "l2"

    def score_variance(self, variance: NDArray[np.float64]) -> NDArray[np.float64]:
        return variance


@dataclass(frozen=True)
class AdaptiveRule(SecondOrderRule):
    """What AROW is for labels and for targets alike."""

    regularization: float | str = option(
        "auto", POSITIVE | AUTO, f"The paper's r: larger is slower and steadier. 'auto': 1/r is a constant {RELATIVE}."
    )
    projection: str = option(
        "kl",
        one_of("kl", "l2"),
        f"{DIAGONAL} ('kl') or of the covariance ('l2').",
    )

    @property
    def strength(self) -> float | str:
        return "auto" if isinstance(self.regularization, str) else 1 / self.regularization


@dataclass(frozen=True)
class AROW(WeightedRule, AdaptiveRule):
    """Adaptive regularisation of weights: squared hinge loss, so noisy labels do little harm.

    Crammer, Kulesza, Dredze, NIPS 2009, Figure 1.
    """

    name: ClassVar[str] = "arow"
    confidence_weight: float = option(
        1.0,
        POSITIVE,
        "Weight of the confidence over that of the loss, the paper's lambda_2 / lambda_1 (with lambda_1 = 1 / (2 r)); "
        "1 is its Figure 1.",
        keyword_only=True,
    )

    @property
    def phi(self) -> float:
        return self.confidence_weight


@dataclass(frozen=True)
class AROWRegression(AdaptiveRule):
    """AROW with the squared loss, which is recursive least squares: NIPS 2009, section 3, footnote 1.

    With a full covariance, one epoch and a number for r it is ridge regression with the penalty r / initial_variance.
    """

    name: ClassVar[str] = "arow"
    task: ClassVar[str] = "regression"
    probabilistic: ClassVar[bool] = False

    @property
    def kind(self) -> str:
        return "rls"

    @property
    def begins_at_target(self) -> bool:
        """With "auto", since there is no penalty that a user has chosen: few targets lie around 0, and to learn that
        they do not takes the more rows the larger r is."""
        return isinstance(self.regularization, str)

    @property
    def takes_weights(self) -> bool:
        return True


@dataclass(frozen=True)
class SCW(WeightedRule, SecondOrderRule):
    """Soft confidence-weighted learning: CW's constraint with a slack. Wang, Zhao, Hoi, ICML 2012, propositions 1-2."""

    name: ClassVar[str] = "scw"
    floor: ClassVar[float] = (
        2.0**-12
    )  # where noise has used up all confidence, a slack is of no use: stay able to learn
    confidence: float = option(0.99, CONFIDENCE, "Probability eta with which each row should be classified correctly.")
    C: float | str = option(
        "auto", POSITIVE | AUTO, f"Weight of the slack. 'auto' is a constant (for 'hinge': its root) {RELATIVE}."
    )
    loss: str = option("squared_hinge", LOSS, "'hinge' is SCW-I, 'squared_hinge' SCW-II.")

    @property
    def kind(self) -> str:
        return "scw-i" if self.loss == "hinge" else "scw-ii"

    @property
    def phi(self) -> float:
        return normal_quantile(self.confidence)

    @property
    def strength(self) -> float | str:
        return self.C

    def score_variance(self, variance: NDArray[np.float64]) -> NDArray[np.float64]:
        return variance


@dataclass(frozen=True)
class NHERD(SecondOrderRule):
    """Normal herding: the Gaussian follows a herd of weight vectors. Crammer, Lee, NIPS 2010."""

    name: ClassVar[str] = "nherd"
    C: float | str = option("auto", POSITIVE | AUTO, f"Weight of the loss. 'auto' is a constant {RELATIVE}.")

    @property
    def strength(self) -> float | str:
        return self.C


@dataclass(frozen=True)
class SOP(SecondOrderRule):
    """Second-order perceptron. Cesa-Bianchi, Conconi, Gentile, 2005; JMLR 2012."""

    name: ClassVar[str] = "sop"
    floor: ClassVar[float] = 2.0**-200  # of the prior that "auto" begins with
    a: float | str = option(
        "auto",
        POSITIVE | AUTO,
        "The multiple of I that the correlation matrix begins with; 'auto': the mean squared length of the rows seen "
        "or, with a full covariance, which cannot follow the rows, 1.",
    )

    @property
    def follows_rows(self) -> bool:
        return isinstance(self.a, str) and self.covariance == "diagonal"

    @property
    def projection(self) -> str:
        return "inclusive"

    @property
    def strength(self) -> float | str:
        return "auto" if self.follows_rows else 1.0

    def prior_variance(self, initial_variance: float) -> float:
        """If it follows the rows, as good as none: that of the rows seen is added where the state is used."""
        if self.follows_rows:
            return 2.0**100
        return initial_variance if isinstance(self.a, str) else initial_variance / self.a


@dataclass(frozen=True)
class PassiveAggressive(WeightedRule):
    """Passive-aggressive: the smallest step to a margin of 1. Crammer et al., JMLR 2006; JMLR 2012, section 3."""

    name: ClassVar[str] = "pa"
    default_epochs: ClassVar[int] = 15  # first-order rules settle more slowly
    probabilistic: ClassVar[bool] = False
    C: float | str | None = option(
        "auto", POSITIVE | AUTO | NOTHING, f"Weight of the slack; None allows none. 'auto' is a constant {RELATIVE}."
    )
    loss: str = option("hinge", LOSS, "'hinge' is PA-I, 'squared_hinge' PA-II.")
    average: bool = option(False, BOOLEAN, "Predict with the average of the weights held after each row.")

    @property
    def averaged(self) -> bool:  # type: ignore[override]
        return self.average

    @property
    def kind(self) -> str:
        if self.C is None:
            return "pa"
        return "pa-i" if self.loss == "hinge" else "pa-ii"

    @property
    def projection(self) -> str:
        return "fixed"

    @property
    def strength(self) -> float | str:
        return 1.0 if self.C is None else self.C

    @property
    def solvable(self) -> bool:
        return True

    @property
    def takes_weights(self) -> bool:
        return self.C is not None


@dataclass(frozen=True)
class Perceptron(Rule):
    """Rosenblatt's perceptron; with `average`, Freund and Schapire's (1999) average of the weights after each row."""

    name: ClassVar[str] = "perceptron"
    default_epochs: ClassVar[int] = 15
    probabilistic: ClassVar[bool] = False
    average: bool = option(False, BOOLEAN, "Predict with the average of the weights held after each row.")

    @property
    def averaged(self) -> bool:  # type: ignore[override]
        return self.average

    @property
    def projection(self) -> str:
        return "fixed"


@dataclass(frozen=True)
class Logistic(WeightedRule, SecondOrderRule):
    """Logistic regression, online: a Laplace posterior carried from row to row, or plain gradient descent."""

    name: ClassVar[str] = "logistic"
    bayesian: bool = option(True, BOOLEAN, "Keep a posterior over the weights (True), or descend by plain SGD (False).")
    learning_rate: float | str = option(
        "auto", POSITIVE | AUTO, f"Step of plain SGD; unused by the posterior. 'auto' is a constant {RELATIVE}."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.covariance == "full" and not self.bayesian:
            raise ValueError("covariance='full' needs bayesian=True: plain SGD learns no covariance")

    @property
    def kind(self) -> str:
        return "bayesian-logistic" if self.bayesian else "logistic-sgd"

    @property
    def projection(self) -> str:
        return "kl" if self.bayesian else "fixed"

    @property
    def strength(self) -> float | str:
        return 1.0 if self.bayesian else self.learning_rate

    def score(self, mean: NDArray[np.float64], variance: NDArray[np.float64]) -> NDArray[np.float64]:
        """The log odds: MacKay's (1992) mean / sqrt(1 + pi variance / 8) for the mean of sigmoid(w.x)."""
        return mean / np.sqrt(1 + np.pi / 8 * variance) if self.bayesian else mean

    def probability(self, score: NDArray[np.float64]) -> NDArray[np.float64]:
        """The probability of the label.  Phi(mean / sd), the other rules' answer, would be how sure the posterior is of
        the sign: near 0 or 1 after many rows even where the labels are a coin toss."""
        return np.exp(-np.logaddexp(0, -score))

    def probabilities(self, mean: NDArray[np.float64], variance: NDArray[np.float64]) -> NDArray[np.float64]:
        """Softmax of the scores, each scaled as with two labels (Gibbs 1997)."""
        return chances.softmax(self.score(mean, variance))

    def score_variance(self, variance: NDArray[np.float64]) -> NDArray[np.float64]:
        return variance if self.bayesian else np.zeros_like(variance)

    def outcome(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        return chances.softmax(scores)


RULES: dict[str, type[Rule]] = {
    rule.name: rule for rule in (CW, AROW, SCW, NHERD, SOP, PassiveAggressive, Perceptron, Logistic)
}
TASKS: dict[str, dict[str, type[Rule]]] = {
    "classification": RULES,
    "regression": {rule.name: rule for rule in (AROWRegression,)},
}
