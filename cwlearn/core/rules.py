"""The update rules: one dataclass for each, with its options, defaults and paper.

The formulas are in `_rules.pxd`; CONTRIBUTING.md says how to add a rule.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from cwlearn.core._probabilities import winning_probabilities
from cwlearn.core.gradient_rules import FTRL, AdaGrad
from cwlearn.core.parameters import BOOLEAN, CONFIDENCE, NOTHING, POSITIVE, one_of, option
from cwlearn.core.probabilities import softmax
from cwlearn.core.rule import AVERAGE, FEW_EPOCHS, InformedRule, Rule, SecondOrderRule, WeightedRule

AUTO = one_of("auto")
LOSS = one_of("hinge", "squared_hinge")
DIAGONAL = "How the covariance stays diagonal: keep the diagonal of the precision"
RELATIVE = (
    "divided by `initial_variance` times the mean squared length of the rows seen so far, so that the scale of X does "
    "not matter"
)


def normal_quantile(confidence: float) -> float:
    """phi = Phi^-1(eta), without SciPy."""
    from statistics import NormalDist  # slow to import, and few rules need it

    return NormalDist().inv_cdf(confidence)


@dataclass(frozen=True)
class CW(SecondOrderRule):
    """Confidence-weighted learning: every row is classified correctly with the probability `confidence`.

    Variance form: Crammer, Dredze, Pereira, JMLR 13, 2012, eq. 17-18; stdev form: the same, eq. 31, and NIPS 2008.
    """

    name: ClassVar[str] = "cw"
    last_epochs: ClassVar[int] = 1  # noise shrinks the variances in every epoch, and scores get another meaning
    confidence: float = option(0.9, CONFIDENCE, "Probability (eta) with which each row must be classified correctly.")
    form: Literal["stdev", "variance"] = option(
        "stdev",
        one_of("stdev", "variance"),
        "Constraint on the margin m and its variance v: m >= phi sqrt(v) ('stdev') or m >= phi v ('variance').",
    )
    projection: Literal["kl", "l2", "exact"] = option(
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
    """AROW for labels and for targets."""

    regularization: float | Literal["auto"] = option(
        "auto",
        POSITIVE | AUTO,
        "The paper's r: larger learns more slowly and steadily. 'auto' is `initial_variance` times the mean squared "
        "length of the rows seen so far, so that the scale of X does not matter.",
    )
    projection: Literal["kl", "l2"] = option(
        "kl",
        one_of("kl", "l2"),
        f"{DIAGONAL} ('kl') or of the covariance ('l2').",
    )

    @property
    def strength(self) -> float | str:
        return "auto" if isinstance(self.regularization, str) else 1 / self.regularization


@dataclass(frozen=True)
class AROW(InformedRule, AdaptiveRule):
    """Adaptive regularisation of weights: squared hinge loss, so noisy labels do little harm.

    Crammer, Kulesza, Dredze, NIPS 2009, Figure 1.
    """

    name: ClassVar[str] = "arow"
    default_epochs: ClassVar[int] = FEW_EPOCHS
    confidence_weight: float = option(
        1.0,
        POSITIVE,
        "Weight of the confidence relative to the loss: the paper's lambda_2 / lambda_1. 1 is its Figure 1.",
        keyword_only=True,
    )

    @property
    def gain_factor(self) -> float:
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
        """True with "auto": targets are seldom around 0, and a large r would need many rows to learn their mean."""
        return isinstance(self.regularization, str)

    @property
    def takes_weights(self) -> bool:
        return True


@dataclass(frozen=True)
class SCW(InformedRule, SecondOrderRule):
    """Soft confidence-weighted learning: CW's constraint with a slack. Wang, Zhao, Hoi, ICML 2012, propositions 1-2."""

    name: ClassVar[str] = "scw"
    floor: ClassVar[float] = 2.0**-12  # noise uses up the confidence; the floor keeps the rule able to learn
    confidence: float = option(
        0.99, CONFIDENCE, "Probability (eta) with which each row should be classified correctly."
    )
    C: float | Literal["auto"] = option(
        "auto", POSITIVE | AUTO, f"Weight of the slack. 'auto' is 1 (for 'hinge': its root) {RELATIVE}."
    )
    loss: Literal["hinge", "squared_hinge"] = option(
        "squared_hinge", LOSS, "'hinge' is SCW-I, 'squared_hinge' is SCW-II."
    )

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
class NHERD(InformedRule, SecondOrderRule):
    """Normal herding: the Gaussian follows a herd of weight vectors. Crammer, Lee, NIPS 2010."""

    name: ClassVar[str] = "nherd"
    C: float | Literal["auto"] = option("auto", POSITIVE | AUTO, f"Weight of the loss. 'auto' is 1 {RELATIVE}.")

    @property
    def strength(self) -> float | str:
        return self.C


@dataclass(frozen=True)
class SOP(SecondOrderRule):
    """Second-order perceptron. Cesa-Bianchi, Conconi, Gentile, 2005; JMLR 2012."""

    name: ClassVar[str] = "sop"
    floor: ClassVar[float] = 2.0**-200  # relative to the prior that "auto" starts with
    a: float | Literal["auto"] = option(
        "auto",
        POSITIVE | AUTO,
        "The multiple of I that the correlation matrix begins with. 'auto' is the mean squared length of the rows seen "
        "so far; with a full covariance it is 1.",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.average and self.follows_rows:
            raise ValueError("`average=True` needs a number for `a`: with 'auto' every row changes all weights")

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
        """Almost no prior if it follows the rows: the prior of the rows is added when the state is used."""
        if self.follows_rows:
            return 2.0**100
        return initial_variance if isinstance(self.a, str) else initial_variance / self.a


@dataclass(frozen=True)
class PassiveAggressive(InformedRule):
    """Passive-aggressive: the smallest step to a margin of 1. Crammer et al., JMLR 2006; JMLR 2012, section 3."""

    name: ClassVar[str] = "pa"
    default_epochs: ClassVar[int] = 15  # first-order rules converge more slowly
    probabilistic: ClassVar[bool] = False
    C: float | Literal["auto"] | None = option(
        "auto", POSITIVE | AUTO | NOTHING, f"Weight of the slack; None allows no slack. 'auto' is 1 {RELATIVE}."
    )
    loss: Literal["hinge", "squared_hinge"] = option("hinge", LOSS, "'hinge' is PA-I, 'squared_hinge' is PA-II.")
    average: bool = option(False, BOOLEAN, AVERAGE)

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
class Perceptron(WeightedRule):
    """Rosenblatt's perceptron; with `average`, Freund and Schapire's (1999) average of the weights after each row."""

    name: ClassVar[str] = "perceptron"
    default_epochs: ClassVar[int] = 15
    probabilistic: ClassVar[bool] = False
    average: bool = option(False, BOOLEAN, AVERAGE)

    @property
    def projection(self) -> str:
        return "fixed"


@dataclass(frozen=True)
class Logistic(InformedRule, SecondOrderRule):
    """Logistic regression, online: a Laplace posterior carried from row to row, or plain gradient descent."""

    name: ClassVar[str] = "logistic"
    default_epochs: ClassVar[int] = FEW_EPOCHS
    bayesian: bool = option(True, BOOLEAN, "Keep a posterior over the weights (True) or use plain SGD (False).")
    learning_rate: float | Literal["auto"] = option(
        "auto", POSITIVE | AUTO, f"Step of plain SGD; the posterior has none. 'auto' is 1 {RELATIVE}."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.covariance == "full" and not self.bayesian:
            raise ValueError("`covariance='full'` needs `bayesian=True`: plain SGD learns no covariance")
        if self.forgetting and not self.bayesian:
            raise ValueError("`forgetting` needs `bayesian=True`: plain SGD has no variances that could grow")

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
        """The probability of the label.

        Phi(mean / sd) would be the probability of the sign only.  It approaches 0 or 1 after many rows, even if the
        labels are random.
        """
        return np.exp(-np.logaddexp(0, -score))

    def probabilities(self, mean: NDArray[np.float64], variance: NDArray[np.float64]) -> NDArray[np.float64]:
        """Softmax of the scores, each scaled as with two labels (Gibbs 1997)."""
        return softmax(self.score(mean, variance))

    def score_variance(self, variance: NDArray[np.float64]) -> NDArray[np.float64]:
        return variance if self.bayesian else np.zeros_like(variance)

    def outcome(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        return softmax(scores)


@dataclass(frozen=True)
class Probit(SecondOrderRule):
    """Bayesian probit regression, online: the Gaussian with the moments of the posterior. Graepel et al., ICML 2010."""

    name: ClassVar[str] = "probit"
    default_epochs: ClassVar[int] = FEW_EPOCHS
    beta: float = option(
        1.0, POSITIVE, "Standard deviation of the noise between score and label: larger learns more slowly."
    )

    @property
    def projection(self) -> str:
        return "l2"

    @property
    def strength(self) -> float | str:
        return 1 / self.beta**2

    def score(self, mean: NDArray[np.float64], variance: NDArray[np.float64]) -> NDArray[np.float64]:
        """What Phi makes the probability of the label of: Phi(this) is the mean of Phi(w.x / beta)."""
        return mean / np.sqrt(self.beta**2 + variance)

    def probabilities(self, mean: NDArray[np.float64], variance: NDArray[np.float64]) -> NDArray[np.float64]:
        """The probability that a label wins: the noise of a difference is half that of each of its scores."""
        return winning_probabilities(mean, variance + self.beta**2 / 2)

    def outcome(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        flat = np.ascontiguousarray(scores).reshape(-1, scores.shape[-1])
        return winning_probabilities(flat, np.full_like(flat, self.beta**2 / 2)).reshape(scores.shape)


RULES: dict[str, type[Rule]] = {
    rule.name: rule
    for rule in (CW, AROW, SCW, NHERD, SOP, PassiveAggressive, Perceptron, Logistic, Probit, FTRL, AdaGrad)
}
TASKS: dict[str, dict[str, type[Rule]]] = {
    "classification": RULES,
    "regression": {rule.name: rule for rule in (AROWRegression,)},
}
