"""The algorithms that a comparison knows by name, and the values that are tried for their parameters.

A new rule takes part once it has a line in `_CANDIDATES`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from cwlearn.core import gradient_rules, rules
from cwlearn.errors import listed
from cwlearn.evaluation.candidates import Candidate, Estimator, EstimatorCandidate, ParameterValue, RuleCandidate
from cwlearn.evaluation.data_sets import MAX_DENSE_FEATURES, DataSet

CONFIDENCES = (0.51, 0.55, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999)
POWERS_OF_TEN = (0.00001, 0.0001, 0.001, 0.01, 0.1, 1.0, 10.0)
LARGE_POWERS_OF_TEN = (0.1, 1.0, 10.0, 100.0, 1000.0, 10000.0, 100000.0)  # noisy labels need the largest ones


def _naive_bayes(data_set: DataSet) -> Any:
    from sklearn.naive_bayes import GaussianNB, MultinomialNB

    return GaussianNB() if data_set.has_negative_values else MultinomialNB()


def _logistic_regression(data_set: DataSet) -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=200)


def _svm(data_set: DataSet) -> Any:
    from sklearn.svm import LinearSVC

    return LinearSVC(dual=True)


def _sgd(data_set: DataSet) -> Any:
    from sklearn.linear_model import SGDClassifier

    return SGDClassifier(loss="modified_huber")  # the loss of Zhang (2004), which the papers compare with


def _lda(data_set: DataSet) -> Any:
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    return LinearDiscriminantAnalysis(solver="lsqr")


def _if_not_dense(data_set: DataSet) -> str:
    return "" if data_set.is_dense else f"for dense rows of at most {MAX_DENSE_FEATURES:,} features"


def _if_negative_and_sparse(data_set: DataSet) -> str:
    if data_set.is_dense or not data_set.has_negative_values:
        return ""
    return "for counts, and some values are negative"


def _cw(name: str, title: str, **fixed: ParameterValue) -> RuleCandidate:
    return RuleCandidate(name, title, {"confidence": CONFIDENCES}, rules.CW, fixed)


_CANDIDATES: tuple[Candidate, ...] = (
    _cw("cw", "CW, stdev"),
    _cw("cw-variance", "CW, variance", form="variance"),
    _cw("cw-l2", "CW, stdev, L2", projection="l2"),
    _cw("cw-variance-l2", "CW, variance, L2", form="variance", projection="l2"),
    _cw("cw-exact", "CW, stdev, exact", projection="exact"),
    _cw("cw-variance-exact", "CW, variance, exact", form="variance", projection="exact"),
    RuleCandidate("arow", "AROW", {"regularization": ("auto", *LARGE_POWERS_OF_TEN)}, rules.AROW),
    RuleCandidate("scw", "SCW-II", {"confidence": (0.7, 0.9, 0.99), "C": ("auto", 0.01, 1.0, 100.0)}, rules.SCW),
    RuleCandidate("nherd", "NHERD", {"C": ("auto", *POWERS_OF_TEN[2:])}, rules.NHERD),
    RuleCandidate("sop", "Second-order perceptron", {"a": ("auto", *LARGE_POWERS_OF_TEN)}, rules.SOP),
    RuleCandidate("logistic", "Bayesian logistic regression", {}, rules.Logistic),
    RuleCandidate("probit", "Bayesian probit regression", {"beta": (0.3, 1.0, 3.0, 10.0)}, rules.Probit),
    RuleCandidate("ftrl", "FTRL-Proximal", {"alpha": (0.01, 0.1, 1.0), "l1": (0.0, 1.0)}, gradient_rules.FTRL),
    RuleCandidate("adagrad", "AdaGrad", {"learning_rate": (0.01, 0.1, 1.0), "l1": (0.0, 1e-5)}, gradient_rules.AdaGrad),
    RuleCandidate("pa", "Passive-aggressive", {"C": ("auto", *POWERS_OF_TEN[:6])}, rules.PassiveAggressive),
    RuleCandidate("perceptron", "Perceptron", {}, rules.Perceptron),
    EstimatorCandidate("sgd", "SGD (scikit-learn)", {"alpha": POWERS_OF_TEN[:5]}, _sgd, incremental=True),
    EstimatorCandidate("naive-bayes", "Naive Bayes (scikit-learn)", {}, _naive_bayes, _if_negative_and_sparse),
    EstimatorCandidate(
        "maxent", "Logistic regression (scikit-learn)", {"C": (0.01, 0.1, 1.0, 10.0)}, _logistic_regression
    ),
    EstimatorCandidate("svm", "Linear SVM (scikit-learn)", {"C": (0.001, 0.01, 0.1, 1.0)}, _svm),
    EstimatorCandidate(
        "lda", "Linear discriminant analysis (scikit-learn)", {"shrinkage": (None, "auto")}, _lda, _if_not_dense
    ),
)
CANDIDATES: dict[str, Candidate] = {candidate.name: candidate for candidate in _CANDIDATES}
ALGORITHMS = tuple(CANDIDATES)
_ON_REQUEST = ("cw-l2", "cw-variance-l2", "cw-exact", "cw-variance-exact")
DEFAULT_ALGORITHMS = tuple(name for name in ALGORITHMS if name not in _ON_REQUEST)


def find_candidate(algorithm: str | Candidate) -> Candidate:
    """The candidate of this name; a candidate stands for itself."""
    if isinstance(algorithm, Candidate):
        return algorithm
    if algorithm not in CANDIDATES:
        raise ValueError(f"`algorithm` must be one of {', '.join(ALGORITHMS)}, got {algorithm!r}")
    return CANDIDATES[algorithm]


def find_candidates(
    algorithms: str | Sequence[str | Candidate] | Mapping[str, str | Candidate | Estimator] | None,
) -> list[Candidate]:
    """The candidates that `compare` is asked for, each with a name of its own."""
    if algorithms is None:
        algorithms = DEFAULT_ALGORITHMS
    elif isinstance(algorithms, str):
        algorithms = [algorithms]
    if isinstance(algorithms, Mapping):
        candidates = [_named(name, algorithm) for name, algorithm in algorithms.items()]
    else:
        candidates = [find_candidate(algorithm) for algorithm in algorithms]
    names = [candidate.name for candidate in candidates]
    if not names or len(set(names)) < len(names):
        raise ValueError(f"`algorithms` must be one or more different ones, got {listed(names)}")
    return candidates


def _named(name: str, algorithm: str | Candidate | Estimator) -> Candidate:
    if isinstance(algorithm, (str, Candidate)):
        return replace(find_candidate(algorithm), name=name, title=name)
    return _from_estimator(name, algorithm)


def _from_estimator(name: str, estimator: Estimator) -> EstimatorCandidate:
    """An estimator as it is, without a grid."""
    from sklearn.base import clone

    description = f"{type(estimator).__module__}.{type(estimator).__qualname__} {estimator.get_params()!r}"
    return EstimatorCandidate(name, name, {}, lambda data_set: clone(estimator), description=description)
