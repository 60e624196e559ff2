"""Who takes part in a comparison: the rules of this package and rivals from scikit-learn, behind one interface.

A candidate has a grid of settings to choose from; for a setting it sends a fitted, who studies rows of a data_set, epoch
by epoch if it learns online, and then predicts others.
"""

from __future__ import annotations

import itertools
import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from cwlearn.core import rules
from cwlearn.core.learner import Learner
from cwlearn.core.metrics import places
from cwlearn.core.rule import Rule
from cwlearn.core.states.base import NONE
from cwlearn.core.training import Training
from cwlearn.evaluation.data_sets import NARROW, DataSet

Setting = dict[str, Any]

CONFIDENCES = (0.51, 0.55, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999)
POWERS = (0.00001, 0.0001, 0.001, 0.01, 0.1, 1.0, 10.0)
LARGE = (0.1, 1.0, 10.0, 100.0, 1000.0, 10000.0, 100000.0)  # up to where noisy labels need them


class FittedCandidate(ABC):
    """Studies some rows of a data_set."""

    seconds = 0.0  # of the processor, for studying
    updates: int | None = None
    mistakes: int | None = None  # in the first pass, each row before it was learned from
    progress: list[tuple[int, int]]  # rows of the first pass, and mistakes by then

    def __init__(self, data_set: DataSet, labels: NDArray[np.int64], train: NDArray[np.int64], seed: int) -> None:
        self.data_set, self.labels, self.train, self.seed = data_set, labels, train, seed
        self.progress = []

    def fit_epoch(self) -> None:
        """One epoch or, of a batch learner, all there is to do."""
        start = time.thread_time()  # others may be at work beside us
        self._fit_epoch()
        self.seconds += time.thread_time() - start

    @abstractmethod
    def _fit_epoch(self) -> None: ...

    @abstractmethod
    def predict(self, test: slice) -> NDArray[np.int64]:
        """Numbers of labels."""

    @abstractmethod
    def probabilities(self, test: slice) -> NDArray[np.float64] | None:
        """Of every label, by row."""

    @abstractmethod
    def weights(self) -> tuple[NDArray[np.float64], NDArray[np.float64] | None] | None:
        """Of the features, a column for each label or one for the second of two, and their standard deviations."""


@dataclass(frozen=True)
class Candidate(ABC):
    """A name for tables, a title for people, and values to choose from by parameter."""

    name: str
    title: str
    grid: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    online: ClassVar[bool] = True  # studies in epochs, whose number is tuned as well

    @property
    def settings(self) -> list[Setting]:
        """All combinations."""
        return [dict(zip(self.grid, values, strict=True)) for values in itertools.product(*self.grid.values())]

    @property
    @abstractmethod
    def identity(self) -> str:
        """What makes it this one, and no other of the same name."""

    def refuses(self, data_set: DataSet) -> str:
        """Why it cannot take part, if it cannot."""
        return ""

    @abstractmethod
    def fitted(
        self, setting: Setting, data_set: DataSet, labels: NDArray[np.int64], train: NDArray[np.int64], seed: int
    ) -> FittedCandidate: ...


# -- ours --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class OnlineCandidate(Candidate):
    """A rule of this package."""

    rule: Callable[..., Rule] = rules.AROW
    fixed: Mapping[str, Any] = field(default_factory=dict)  # parameters of the rule that are not tuned
    training: Training = field(default_factory=Training)

    @property
    def identity(self) -> str:
        return repr((self.rule(**self.fixed), self.training, self.settings))

    def fitted(
        self, setting: Setting, data_set: DataSet, labels: NDArray[np.int64], train: NDArray[np.int64], seed: int
    ) -> FittedCandidate:
        return _FittedRule(self.rule(**self.fixed, **setting), self.training, data_set, labels, train, seed)


class _FittedRule(FittedCandidate):
    """Learns from the rows where they lie: an order is all that tells a training part."""

    def __init__(
        self,
        rule: Rule,
        training: Training,
        data_set: DataSet,
        labels: NDArray[np.int64],
        train: NDArray[np.int64],
        seed: int,
    ) -> None:
        super().__init__(data_set, labels, train, seed)
        self._learner = Learner(rule, training, np.arange(len(data_set.classes)), data_set.rows.n_features)
        self._targets = self._learner.encode(labels)
        self._random = np.random.RandomState(seed)

    def _fit_epoch(self) -> None:
        order = self._random.permutation(self.train)
        if self.mistakes is None:
            self._fit_first_epoch(order)
        else:
            self._learner.learn(self.data_set.rows, self._targets, NONE, order)
        self.updates = self._learner.statistics["updates"]

    def _fit_first_epoch(self, order: NDArray[np.int64]) -> None:
        """Stop here and there to see how many mistakes there were."""
        for start, stop in places(len(order)):
            self._learner.learn(self.data_set.rows, self._targets, NONE, order[start:stop])
            self.progress.append((stop, self._learner.statistics["mistakes"]))
        self.mistakes = self._learner.statistics["mistakes"]

    def predict(self, test: slice) -> NDArray[np.int64]:
        return self._learner.predictions(self.data_set.rows.part(test.start, test.stop))

    def probabilities(self, test: slice) -> NDArray[np.float64] | None:
        if not self._learner.rule.probabilistic:
            return None
        return self._learner.probabilities(*self._learner.margins(self.data_set.rows.part(test.start, test.stop)))

    def weights(self) -> tuple[NDArray[np.float64], NDArray[np.float64] | None] | None:
        state: Any = self._learner.predictor
        mean = np.asarray(state.mean[1:], np.float64).reshape(state.n_features, -1)
        if not self._learner.rule.second_order:
            return mean, None
        return mean, np.sqrt(np.asarray(state.variance[1:], np.float64)).reshape(mean.shape)


# -- scikit-learn's ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class BatchCandidate(Candidate):
    """An estimator of scikit-learn, or anything like one."""

    make: Callable[[DataSet], Any] = lambda data_set: None  # a new estimator for a data_set
    unfit: Callable[[DataSet], str] = lambda data_set: ""  # why it cannot take part
    about: str = ""  # what there is to know of an estimator that is not ours
    online: ClassVar[bool] = False

    @property
    def identity(self) -> str:
        return f"{self.settings!r} {self.about}"

    def refuses(self, data_set: DataSet) -> str:
        return self.unfit(data_set)

    def fitted(
        self, setting: Setting, data_set: DataSet, labels: NDArray[np.int64], train: NDArray[np.int64], seed: int
    ) -> FittedCandidate:
        estimator = self.make(data_set).set_params(**setting)
        seeds = [name for name in estimator.get_params() if name.rpartition("__")[2] == "random_state"]
        estimator.set_params(**{name: seed for name in seeds if estimator.get_params()[name] is None})
        return _FittedEstimator(estimator, self.online, data_set, labels, train, seed)


@dataclass(frozen=True)
class StreamingCandidate(BatchCandidate):
    """One that learns in passes: `partial_fit`."""

    online: ClassVar[bool] = True


class _FittedEstimator(FittedCandidate):
    def __init__(
        self,
        estimator: Any,
        in_passes: bool,
        data_set: DataSet,
        labels: NDArray[np.int64],
        train: NDArray[np.int64],
        seed: int,
    ) -> None:
        super().__init__(data_set, labels, train, seed)
        self._estimator, self._in_passes = estimator, in_passes
        self._X, self._y = data_set.matrix(train), data_set.classes[labels[train]]

    def _fit_epoch(self) -> None:
        if self._in_passes:
            self._estimator.partial_fit(self._X, self._y, classes=self.data_set.classes)
        else:
            self._estimator.fit(self._X, self._y)

    def predict(self, test: slice) -> NDArray[np.int64]:
        return self._numbers(np.asarray(self._estimator.predict(self.data_set.matrix(test))))

    def _numbers(self, labels: NDArray[Any]) -> NDArray[np.int64]:
        classes = self.data_set.classes
        numbers = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
        if (odd := labels[classes[numbers] != labels]).size:
            raise ValueError(f"it predicts {odd.flat[0]!r}, which is not a label: is it a classifier?")
        return numbers

    def probabilities(self, test: slice) -> NDArray[np.float64] | None:
        if not hasattr(self._estimator, "predict_proba"):
            return None
        known = np.asarray(self._estimator.predict_proba(self.data_set.matrix(test)))
        all_labels = np.zeros((len(known), len(self.data_set.classes)))
        all_labels[:, self._numbers(self._estimator.classes_)] = known
        return all_labels

    def weights(self) -> tuple[NDArray[np.float64], NDArray[np.float64] | None] | None:
        found = getattr(self._estimator, "coef_", None)
        if found is not None and hasattr(found, "toarray"):
            found = found.toarray()
        labels = len(self.data_set.classes)
        if found is None or np.shape(found) != (1 if labels == 2 else labels, self.data_set.X.shape[1]):
            return None  # of pairs of labels, say, which nobody could name
        return np.asarray(found, np.float64).T, None


@contextmanager
def side_by_side() -> Iterator[None]:
    """Around all threads that fit_epoch: without the warnings of iterations that were not enough, since the table will
    tell, and with one thread of BLAS for each, since the cores are busy."""
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.filterwarnings("ignore", module="sklearn")
        yield


def alone() -> None:
    """Let this thread not start others by OpenMP, which, unlike BLAS, is told so thread by thread."""
    threadpool_limits(1, user_api="openmp")


def of_estimator(name: str, estimator: Any) -> Candidate:
    """A user's own estimator, as it is; where it has no seed it is given one."""
    from sklearn.base import clone

    about = f"{type(estimator).__module__}.{type(estimator).__qualname__} {estimator.get_params()!r}"
    return BatchCandidate(name, name, make=lambda data_set: clone(estimator), about=about)


def _naive_bayes(data_set: DataSet) -> Any:
    from sklearn.naive_bayes import GaussianNB, MultinomialNB

    return GaussianNB() if data_set.signed else MultinomialNB()


def _logistic(data_set: DataSet) -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=200)


def _svm(data_set: DataSet) -> Any:
    from sklearn.svm import LinearSVC

    return LinearSVC(dual=True)


def _sgd(data_set: DataSet) -> Any:
    from sklearn.linear_model import SGDClassifier

    return SGDClassifier(loss="modified_huber")  # that of Zhang (2004), which the papers compare with


def _lda(data_set: DataSet) -> Any:
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    return LinearDiscriminantAnalysis(solver="lsqr")


def _not_dense(data_set: DataSet) -> str:
    return "" if data_set.dense else f"for dense rows of at most {NARROW:,} features"


def _signed_and_sparse(data_set: DataSet) -> str:
    return "" if data_set.dense or not data_set.signed else "for counts, and some values are negative"


def _cw(name: str, title: str, **fixed: Any) -> OnlineCandidate:
    return OnlineCandidate(name, title, {"confidence": CONFIDENCES}, rules.CW, fixed)


CANDIDATES: dict[str, Candidate] = {
    one.name: one
    for one in (
        _cw("cw", "CW, stdev"),
        _cw("cw-variance", "CW, variance", form="variance"),
        _cw("cw-l2", "CW, stdev, L2", projection="l2"),
        _cw("cw-variance-l2", "CW, variance, L2", form="variance", projection="l2"),
        _cw("cw-exact", "CW, stdev, exact", projection="exact"),
        _cw("cw-variance-exact", "CW, variance, exact", form="variance", projection="exact"),
        OnlineCandidate("arow", "AROW", {"regularization": ("auto", *LARGE)}, rules.AROW),
        OnlineCandidate("scw", "SCW-II", {"confidence": (0.7, 0.9, 0.99), "C": ("auto", 0.01, 1.0, 100.0)}, rules.SCW),
        OnlineCandidate("nherd", "NHERD", {"C": ("auto", *POWERS[2:])}, rules.NHERD),
        OnlineCandidate("sop", "Second-order perceptron", {"a": ("auto", *LARGE)}, rules.SOP),
        OnlineCandidate("logistic", "Bayesian logistic regression", {}, rules.Logistic),
        OnlineCandidate("pa", "Passive-aggressive", {"C": ("auto", *POWERS[:6])}, rules.PassiveAggressive),
        OnlineCandidate("perceptron", "Perceptron", {}, rules.Perceptron),
        StreamingCandidate("sgd", "SGD (scikit-learn)", {"alpha": POWERS[:5]}, make=_sgd),
        BatchCandidate(
            "naive-bayes",
            "Naive Bayes (scikit-learn)",
            make=_naive_bayes,
            unfit=_signed_and_sparse,
        ),
        BatchCandidate("maxent", "Logistic regression (scikit-learn)", {"C": (0.01, 0.1, 1.0, 10.0)}, make=_logistic),
        BatchCandidate("svm", "Linear SVM (scikit-learn)", {"C": (0.001, 0.01, 0.1, 1.0)}, make=_svm),
        BatchCandidate(
            "lda",
            "Linear discriminant analysis (scikit-learn)",
            {"shrinkage": (None, "auto")},
            make=_lda,
            unfit=_not_dense,
        ),
    )
}
USUAL = tuple(name for name in CANDIDATES if name not in ("cw-l2", "cw-variance-l2", "cw-exact", "cw-variance-exact"))
