"""The candidates of a comparison: rules of this package and estimators of scikit-learn, behind one interface.

A candidate has a grid of settings.  `Candidate.prepare` starts one of them on training rows; the `FittedCandidate` that
it returns learns epoch by epoch and predicts other rows of the data set.
"""

from __future__ import annotations

import itertools
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from cwlearn.core.learner import Learner
from cwlearn.core.metrics import places
from cwlearn.core.rule import Rule
from cwlearn.core.states.base import NONE, LinearState
from cwlearn.core.training import Training
from cwlearn.evaluation.data_sets import DataSet, TrainingRows

ParameterValue = str | float | bool | None
Setting = dict[str, ParameterValue]  # the value of each tuned parameter


class Weights(NamedTuple):
    """The weights of a linear model, a line for each feature.

    There is a column for each label or, of two labels, one column: positive weights speak for the second label.
    """

    means: NDArray[np.float64]
    deviations: NDArray[np.float64] | None  # standard deviations, if the model has them


class FittedCandidate(ABC):
    """A candidate with one setting, after as many epochs as `fit_epoch` was called."""

    def __init__(self, training_rows: TrainingRows) -> None:
        self.training_rows = training_rows
        self.data_set = training_rows.data_set
        self.seconds = 0.0  # of processor time, in all epochs
        self.updates: int | None = None  # of an online learner of this package
        self.mistakes: int | None = None  # in the first epoch, on each row before it was learned from
        self.progress: list[tuple[int, int]] = []  # rows of the first epoch, and mistakes by then

    def fit_epoch(self) -> None:
        """Learn from all training rows once; a batch learner is finished then."""
        start = time.thread_time()  # the wall clock would count the trials in other threads, too
        self._fit_epoch()
        self.seconds += time.thread_time() - start

    @abstractmethod
    def _fit_epoch(self) -> None: ...

    @abstractmethod
    def predict(self, rows: slice) -> NDArray[np.int64]:
        """The number of the predicted label of each row."""

    @abstractmethod
    def probabilities(self, rows: slice) -> NDArray[np.float64] | None:
        """The probability of each label, a column for each; None if the model has no probabilities."""

    def distribution(self, rows: slice) -> NDArray[np.float64] | None:
        """The papers' distribution over the labels, before any calibration; None if there is none."""
        return None

    @abstractmethod
    def weights(self) -> Weights | None:
        """The weights; None if the model is not linear."""


@dataclass(frozen=True)
class Candidate(ABC):
    """A classifier with a name for tables, a title for people, and the values to try for each parameter."""

    name: str
    title: str
    grid: Mapping[str, tuple[ParameterValue, ...]]

    @property
    def settings(self) -> list[Setting]:
        """All combinations of the values in the grid."""
        return [dict(zip(self.grid, values, strict=True)) for values in itertools.product(*self.grid.values())]

    @property
    @abstractmethod
    def online(self) -> bool:
        """Whether it learns in epochs, whose number is tuned as well."""

    @property
    @abstractmethod
    def identity(self) -> str:
        """Tells it from other candidates of the same name, in a journal."""

    @abstractmethod
    def fixed_parameters(self, data_set: DataSet) -> dict[str, Any]:
        """The parameters of the constructor that the candidate sets and does not tune."""

    @abstractmethod
    def exclusion_reason(self, data_set: DataSet) -> str:
        """Why it cannot learn these data; empty if it can."""

    @abstractmethod
    def prepare(self, setting: Setting, training_rows: TrainingRows, seed: int) -> FittedCandidate:
        """Start with a setting.  No row is learned from before the first `fit_epoch`."""


# -- rules of this package ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RuleCandidate(Candidate):
    """A rule of this package."""

    rule: type[Rule]
    fixed: Mapping[str, ParameterValue] = field(default_factory=dict)  # parameters of the rule that are not tuned
    training: Training = field(default_factory=Training)

    @property
    def online(self) -> bool:
        return True

    @property
    def identity(self) -> str:
        return repr((self.rule(**self.fixed), self.training, self.settings))

    def fixed_parameters(self, data_set: DataSet) -> dict[str, Any]:
        return dict(self.fixed)

    def exclusion_reason(self, data_set: DataSet) -> str:
        return ""

    def prepare(self, setting: Setting, training_rows: TrainingRows, seed: int) -> FittedCandidate:
        return _FittedRule(self.rule(**self.fixed, **setting), self.training, training_rows, seed)


class _FittedRule(FittedCandidate):
    """Learns from the rows of the data set in place: the order of an epoch selects the training rows."""

    def __init__(self, rule: Rule, training: Training, training_rows: TrainingRows, seed: int) -> None:
        super().__init__(training_rows)
        self._learner = Learner(rule, training, np.arange(len(self.data_set.classes)), self.data_set.rows.n_features)
        self._targets = self._learner.encode(training_rows.labels)
        self._random_state = np.random.RandomState(seed)

    def _fit_epoch(self) -> None:
        order = self._random_state.permutation(self.training_rows.indices)
        if self.mistakes is None:
            self._fit_first_epoch(order)
        else:
            seen = np.zeros(self.data_set.rows.n_rows, np.uint8)
            self._learner.learn(self.data_set.rows, self._targets, NONE, order, fresh=seen)
        self.updates = self._learner.statistics["updates"]

    def _fit_first_epoch(self, order: NDArray[np.int64]) -> None:
        """Learn in parts, and record the mistakes after each."""
        for start, stop in places(len(order)):
            self._learner.learn(self.data_set.rows, self._targets, NONE, order[start:stop])
            self.progress.append((stop, self._learner.statistics["mistakes"]))
        self.mistakes = self._learner.statistics["mistakes"]

    def predict(self, rows: slice) -> NDArray[np.int64]:
        return self._learner.predictions(self.data_set.rows.part(rows.start, rows.stop))

    def probabilities(self, rows: slice) -> NDArray[np.float64] | None:
        part = self.data_set.rows.part(rows.start, rows.stop)
        return self._learner.probabilities(part, *self._learner.margins(part))

    def distribution(self, rows: slice) -> NDArray[np.float64] | None:
        if not self._learner.rule.probabilistic:
            return None
        return self._learner.label_distribution(*self._learner.margins(self.data_set.rows.part(rows.start, rows.stop)))

    def weights(self) -> Weights:
        state = self._learner.predictor
        assert isinstance(state, LinearState)  # only kernels have others
        means = np.asarray(state.mean[1:], np.float64).reshape(state.n_features, -1)
        if not self._learner.rule.second_order:
            return Weights(means, None)
        return Weights(means, np.sqrt(np.asarray(state.variance[1:], np.float64)).reshape(means.shape))


# -- estimators of scikit-learn ----------------------------------------------------------------------------------------


class Estimator(Protocol):
    """A classifier with scikit-learn's interface.

    It has `predict` as well; type checkers do not see that of scikit-learn's pipelines.
    """

    def get_params(self, deep: bool = True) -> dict[str, Any]: ...

    def set_params(self, **parameters: Any) -> Any: ...

    def fit(self, X: Any, y: Any, /) -> Any: ...


def _never_excluded(data_set: DataSet) -> str:
    return ""


@dataclass(frozen=True)
class EstimatorCandidate(Candidate):
    """A classifier with scikit-learn's interface."""

    make: Callable[[DataSet], Estimator]  # a new estimator for a data set
    excluded: Callable[[DataSet], str] = _never_excluded
    incremental: bool = False  # it learns in epochs, by `partial_fit`
    description: str = ""  # of an estimator that was handed in: its type and parameters

    @property
    def online(self) -> bool:
        return self.incremental

    @property
    def identity(self) -> str:
        return f"{self.settings!r} {self.description}"

    def fixed_parameters(self, data_set: DataSet) -> dict[str, Any]:
        return self.make(data_set).get_params(deep=False)

    def exclusion_reason(self, data_set: DataSet) -> str:
        return self.excluded(data_set)

    def prepare(self, setting: Setting, training_rows: TrainingRows, seed: int) -> FittedCandidate:
        """Start with a setting, and with this seed where the estimator has none."""
        estimator = self.make(training_rows.data_set).set_params(**setting)
        unseeded = {
            name: seed
            for name, value in estimator.get_params().items()
            if name.rpartition("__")[2] == "random_state" and value is None
        }
        return _FittedEstimator(estimator.set_params(**unseeded), self.incremental, training_rows)


# LIBLINEAR and LIBSVM draw random numbers from one generator for all threads: two fits at a time would share it, and
# give other results every time.
_SHARED_GENERATOR = threading.Lock()


def _shares_generator(estimator: Any) -> bool:
    """Whether the estimator, or a part of it, learns by LIBLINEAR or LIBSVM."""
    return any(
        type(part).__module__.startswith("sklearn.svm.") or getattr(part, "solver", None) == "liblinear"
        for part in (estimator, *estimator.get_params().values())
    )


class _FittedEstimator(FittedCandidate):
    def __init__(self, estimator: Any, incremental: bool, training_rows: TrainingRows) -> None:
        super().__init__(training_rows)
        self._turns = _SHARED_GENERATOR if _shares_generator(estimator) else nullcontext()
        self._estimator, self._incremental = estimator, incremental
        self._X = self.data_set.matrix(training_rows.indices)
        self._y = self.data_set.classes[training_rows.labels[training_rows.indices]]

    def _fit_epoch(self) -> None:
        if self._incremental:
            self._estimator.partial_fit(self._X, self._y, classes=self.data_set.classes)
            return
        with self._turns:
            self._estimator.fit(self._X, self._y)

    def predict(self, rows: slice) -> NDArray[np.int64]:
        return self._label_numbers(np.asarray(self._estimator.predict(self.data_set.matrix(rows))))

    def _label_numbers(self, labels: NDArray[Any]) -> NDArray[np.int64]:
        classes = self.data_set.classes
        numbers = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
        if (unknown := labels[classes[numbers] != labels]).size:
            raise ValueError(f"it predicts {unknown.flat[0]!r}, which is not a label: is it a classifier?")
        return numbers

    def probabilities(self, rows: slice) -> NDArray[np.float64] | None:
        if not hasattr(self._estimator, "predict_proba"):
            return None
        # The training rows may lack a label.
        of_seen_labels = np.asarray(self._estimator.predict_proba(self.data_set.matrix(rows)))
        of_all_labels = np.zeros((len(of_seen_labels), len(self.data_set.classes)))
        of_all_labels[:, self._label_numbers(self._estimator.classes_)] = of_seen_labels
        return of_all_labels

    def weights(self) -> Weights | None:
        coefficients: Any = getattr(self._estimator, "coef_", None)
        if hasattr(coefficients, "toarray"):
            coefficients = coefficients.toarray()
        n_labels = len(self.data_set.classes)
        if np.shape(coefficients) != (1 if n_labels == 2 else n_labels, self.data_set.X.shape[1]):
            return None  # none at all, or weights of pairs of labels
        return Weights(np.asarray(coefficients, np.float64).T, None)
