"""What all estimators share: parameters, validation, fitting, saving, weights."""

from __future__ import annotations

import copy
import inspect
import os
import warnings
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import fields
from functools import cache
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import validate_data

from cwlearn.core import model_file
from cwlearn.core.choosing import Race, choose_epochs
from cwlearn.core.draws import drawn_weights
from cwlearn.core.kernel_options import KernelOptions
from cwlearn.core.label_sets import LabelSets
from cwlearn.core.learner import EXACT_SWEEPS, EXACT_TOLERANCE, Learner
from cwlearn.core.parameters import COUNT, require
from cwlearn.core.queries import Pool, certainty
from cwlearn.core.rows import FEW, Rows, as_rows
from cwlearn.core.rule import Rule, SecondOrderRule
from cwlearn.core.states.base import NONE, LinearState
from cwlearn.core.training import AUTO_EPOCHS, Training


class OnlineEstimator(BaseEstimator):  # type: ignore[misc]
    """Base of all estimators.  A subclass names its `_rule` and writes its constructor out."""

    _rule: ClassVar[type[Rule]]
    _kernel: ClassVar[type[KernelOptions] | None] = None
    _learner: Learner

    def _options(self) -> tuple[Rule, Training, KernelOptions | None]:
        """Check the parameters.  Options that the constructor does not offer keep their defaults."""
        parameters = self.get_params(deep=False)

        def part(owner: type[Any]) -> dict[str, Any]:
            return {item.name: parameters[item.name] for item in fields(owner) if item.name in parameters}

        kernel = None if self._kernel is None else self._kernel(**part(self._kernel))
        return self._rule(**part(self._rule)), Training(**part(Training)), kernel

    @classmethod
    def _get_param_names(cls) -> list[str]:
        """List the parameters in the order of the constructor; scikit-learn would sort them."""
        return list(_parameters_of(cls.__init__))[1:]

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """Show the parameters that differ from their defaults, in the order of the constructor."""
        defaults = {name: parameter.default for name, parameter in inspect.signature(type(self)).parameters.items()}
        changed = [
            f"{name}={value!r}" for name, value in self.get_params(deep=False).items() if _differ(value, defaults[name])
        ]
        return f"{type(self).__name__}({', '.join(changed)})"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return "_learner" in vars(self)

    # -- learning ------------------------------------------------------------------------------------------------------

    def _classes_in(self, y: NDArray[Any]) -> NDArray[Any]:
        """Find the labels in y.  A regression has none."""
        return np.empty(0)

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        """Make `epochs` passes over the rows."""
        before = self.__dict__.copy()
        try:
            rule, training, kernel = self._options()
            warm = training.warm_start and self.__sklearn_is_fitted__()
            X, y = self._validate(X, y, reset=not warm)
            if warm:
                learner = self._learner
                learner.reconfigure(rule, training, kernel)
            else:
                learner = self._new_learner(rule, training, self._classes_in(y), X.shape[1], kernel)
            rows = as_rows(X, learner.state.dtype)
            weights = self._row_weights(sample_weight, y, learner)
            if len(weights) and not weights.any():
                raise ValueError("Sample weights are zero for every row: there is nothing to learn from.")
            (targets, sets), random_state = self._targets(y, learner), check_random_state(training.random_state)
            race = Race(learner.classes, rows, targets, weights, sets=sets)
            learner = self._chosen(learner, race, random_state)
            unsolved = learner.statistics["unsolved"]
            learner.train(rows, targets, weights, random_state, sets)
            warn_of_unsolved(learner.statistics["unsolved"] - unsolved)
            learner.feature_names = getattr(self, "feature_names_in_", None)
            self._learner = learner
        except BaseException:  # leave the estimator as it was; a warm start may have learned some rows
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        return self

    def _new_learner(
        self, rule: Rule, training: Training, classes: NDArray[Any], n_features: int, kernel: KernelOptions | None
    ) -> Learner:
        return Learner(rule, training, classes, n_features, kernel)

    def _targets(self, y: Any, learner: Learner) -> tuple[NDArray[np.float64], LabelSets | None]:
        """The targets as the learner takes them; numbers of sets of labels if rows may have several."""
        return learner.encode(y), None

    def _chosen(self, learner: Learner, race: Race, random_state: np.random.RandomState) -> Learner:
        """The learner that is to learn the rows of a race: this one, with a number of epochs.

        A race gets a copy of `random_state`, so that its winner is shuffled as it would be without the race.
        """
        if learner.training.epochs == AUTO_EPOCHS:
            learner.training = choose_epochs(race, learner, copy.deepcopy(random_state))
        return learner

    def _partial_fit(self, X: Any, y: Any, classes: NDArray[Any], sample_weight: Any) -> Self:
        """Make one pass over the rows.  If several threads make the first call, one of them makes the learner."""
        rule, training, kernel = self._options()
        X, y = self._validate(X, y, reset=not self.__sklearn_is_fitted__())
        current = False
        while not current:
            if self.__sklearn_is_fitted__():
                learner = self._learner
                learner.reconfigure(rule, training, kernel)
            else:
                learner = self._new_learner(rule, training, classes, X.shape[1], kernel)
            rows = as_rows(X, learner.state.dtype, n_features=learner.state.n_features)
            targets, sets = self._targets(y, learner)
            weights = self._row_weights(sample_weight, y, learner)
            learner.feature_names = getattr(self, "feature_names_in_", None)
            # Atomic, and without a lock: a fork could lose its owner.
            current = self.__dict__.setdefault("_learner", learner) is learner
        unsolved = learner.statistics["unsolved"]
        learner.learn(rows, targets, weights, sets=sets)
        warn_of_unsolved(learner.statistics["unsolved"] - unsolved)
        return self

    def _adopt(self, learner: Learner) -> Self:
        """Become the estimator of this learner."""
        self.n_features_in_ = learner.state.n_features
        self.__dict__.pop("feature_names_in_", None)
        if learner.feature_names is not None:
            self.feature_names_in_ = learner.feature_names
        self._learner = learner
        return self

    def _validate(self, X: Any, y: Any, reset: bool, **checks: Any) -> tuple[Any, NDArray[Any]]:
        """Let scikit-learn check shapes and names; `as_rows` checks formats and values."""
        X, y = validate_data(self, X, y, accept_sparse=True, ensure_all_finite=False, reset=reset, **checks)
        return X, y

    def _row_weights(self, sample_weight: Any, y: NDArray[Any], learner: Learner) -> NDArray[np.float64]:
        """The weight of the loss of each row; empty if all are 1."""
        class_weights = learner.class_weights(learner.number(y)) if learner.weighs_classes else NONE
        if sample_weight is None and not len(class_weights):
            return NONE
        if not learner.rule.takes_weights:
            raise ValueError(f"{type(self).__name__} with `C=None` has no loss that weights can scale.")
        weights = np.ones(len(y)) if sample_weight is None else np.array(sample_weight, dtype=np.float64)
        if weights.shape != y.shape:
            raise ValueError(f"`sample_weight` must have {len(y)} entries, one for each row, got shape {weights.shape}")
        bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
        if len(bad):
            raise ValueError(f"`sample_weight` must be finite and not negative, got {weights[bad[0]]} for row {bad[0]}")
        return weights * class_weights if len(class_weights) else weights

    # -- what was learned ----------------------------------------------------------------------------------------------

    @property
    def _fitted(self) -> Learner:
        learner: Learner | None = self.__dict__.get("_learner")
        if learner is None:
            raise NotFittedError(f"This {type(self).__name__} instance is not fitted yet. Call 'fit' first.")
        return learner

    @property
    def _model(self) -> Learner:
        return self._fitted

    def _rows(self, X: Any) -> Rows:
        learner = self._fitted
        if not self._needs_no_validation(X):
            X = validate_data(self, X, accept_sparse=True, ensure_all_finite=False, reset=False, ensure_min_samples=0)
        return as_rows(X, learner.state.dtype, n_features=learner.state.n_features)

    def _needs_no_validation(self, X: Any) -> bool:
        """Whether scikit-learn, which takes 100 microseconds, would find nothing; `as_rows` checks everything else."""
        return (
            getattr(X, "format", None) == "csr"
            and X.shape == (X.shape[0], self._learner.state.n_features)
            and X.shape[0] <= FEW
            and "feature_names_in_" not in vars(self)
        )

    @abstractmethod
    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the label, or the target, of each row."""

    def margin(self, X: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the mean and the variance of the margin w.x of each row, where w is the Gaussian over the weights.

        With more than two labels there is one column for each.  First-order rules keep the variance of every weight at
        `initial_variance`, so that the variance of the margin only tells the length of the row.
        """
        rows = self._rows(X)
        return self._fitted.margins(rows)

    def query(self, X: Any, n: int = 10) -> NDArray[np.int64]:
        """Return the numbers of the n rows of X whose labels would teach the model most, the best one first.

        A row is worth asking for if its margin is small compared with its deviation: the model does not know its label.
        Each chosen row counts as learned before the next one is chosen, so that rows like it come later.  Of identical
        rows only the first one is chosen.  (Dredze, Crammer, "Active Learning with Confidence", ACL 2008)
        """
        require("n", n, COUNT)
        rows, pool = self._rows(X), Pool(int(n))
        pool.add(rows, certainty(self._fitted, rows))
        return np.array([number for number, _, _ in pool.chosen(self._fitted)], np.int64)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file that `cwlearn.load` reads.  An existing file is replaced in one step."""
        model_file.save(self._fitted, path)

    @property
    def n_updates_(self) -> int:
        return self._fitted.statistics["updates"]


class Linear(OnlineEstimator):
    """Base of the estimators that have weights."""

    @property
    def _weights(self) -> LinearState:
        state = self._fitted.predictor
        assert isinstance(state, LinearState)
        return state

    @property
    def coef_(self) -> NDArray[Any]:
        return np.atleast_2d(self._weights.mean[1:].T)

    @property
    def intercept_(self) -> NDArray[Any]:
        return self._weights.mean[:1].reshape(-1)

    @property
    def variance_(self) -> NDArray[Any]:
        return np.atleast_2d(self._weights.variance[1:].T)

    @property
    def covariance_(self) -> NDArray[np.float64]:
        if self._fitted.rule.covariance != "full":
            raise AttributeError(f"{type(self).__name__} has covariance_ with covariance='full' only; see variance_")
        state: Any = self._weights
        matrices = np.stack([state.covariance(block)[1:, 1:] for block in range(state.blocks)])
        return matrices[0] if state.blocks == 1 else matrices

    @available_if(lambda model: issubclass(model._rule, SecondOrderRule))  # type: ignore[untyped-decorator]
    def sample_weights(self, random_state: Any = None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Draw a weight vector from the Gaussian over the weights: coefficients and intercept, as `coef_` and
        `intercept_` have them.

        `X @ coef.T + intercept` are then scores of one possible world, as Thompson sampling needs them.  Those of a
        regressor are in the unit of its targets.
        """
        drawn = drawn_weights(self._fitted, check_random_state(random_state))
        return np.atleast_2d(drawn[1:].T), drawn[:1].reshape(-1)


@cache
def _parameters_of(constructor: Callable[..., Any]) -> tuple[str, ...]:
    return tuple(inspect.signature(constructor).parameters)


def _differ(value: Any, default: Any) -> bool:
    """Whether a parameter is not its default.  Texts are compared, because not all values can be."""
    return type(value) is not type(default) or repr(value) != repr(default)


def warn_of_unsolved(updates: int) -> None:
    """Warn of exact updates of several labels that did not converge."""
    if updates:
        warnings.warn(
            f"{updates} exact updates did not converge to {EXACT_TOLERANCE} in {EXACT_SWEEPS} sweeps: their rows may "
            f"not meet all of their constraints",
            ConvergenceWarning,
            stacklevel=3,
        )
