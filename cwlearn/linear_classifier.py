"""What all scikit-learn classifiers of the package share: one base class over `Learner`, and two additions to it."""

from __future__ import annotations

import inspect
import os
import threading
import warnings
from collections.abc import Callable
from dataclasses import fields
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets, unique_labels
from sklearn.utils.validation import validate_data

from cwlearn import model_file, rules
from cwlearn.learner import EXACT_SWEEPS, EXACT_TOLERANCE, Learner, Training
from cwlearn.options import COUNT, describe, require
from cwlearn.rows import Rows, as_rows
from cwlearn.state import NONE

_BEGINNING = threading.Lock()

ATTRIBUTES = """
Attributes
----------
classes_ : ndarray of shape (n_labels,)
    The labels, sorted.
coef_, variance_ : ndarray of shape (1, n_features) or, with more than two labels, (n_labels, n_features)
    Mean and variance of the weights: views of the state, not copies.
intercept_ : ndarray of shape (1,) or (n_labels,)
    Mean of the intercept.
n_features_in_, n_updates_, n_mistakes_ : int
    Columns of X; rows that moved the model; rows that were on the wrong side before they were learned.
"""

EXAMPLES = """
Examples
--------
>>> import numpy as np
>>> from cwlearn import {name}
>>> X = np.array([[1, 0, 2], [0, 1, 1], [2, 0, 1], [0, 2, 1]])
>>> model = {name}(random_state=0).fit(X, ["spam", "ham", "spam", "ham"])
>>> model.predict([[1, 0, 0], [0, 1, 0]]).tolist()
['spam', 'ham']
"""


def _constructor(rule: type[rules.Rule]) -> Callable[..., None]:
    """`__init__` with the rule's options, then the shared ones by keyword only; it stores and checks nothing."""
    parameters = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    for owner in (rule, Training):
        for item in fields(owner):
            keyword_only = item.kw_only or owner is Training
            kind = inspect.Parameter.KEYWORD_ONLY if keyword_only else inspect.Parameter.POSITIONAL_OR_KEYWORD
            default = rule.default_epochs if item.name == "epochs" else item.default
            parameters.append(inspect.Parameter(item.name, kind, default=default))
    signature = inspect.Signature(sorted(parameters, key=lambda parameter: parameter.kind))

    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        try:
            bound = signature.bind(self, *args, **kwargs)
        except TypeError as error:
            names = ", ".join(list(signature.parameters)[1:])
            raise TypeError(f"{type(self).__name__}: {error}; its parameters are {names}") from None
        bound.apply_defaults()
        for name, value in list(bound.arguments.items())[1:]:
            setattr(self, name, value)

    init.__signature__ = signature  # type: ignore[attr-defined]
    return init


class LinearClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A subclass names its `_rule` and says when to choose it; constructor and the rest of the docs are made here."""

    _rule: ClassVar[type[rules.Rule]]
    _learner: Learner

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "_rule" in vars(cls):
            cls.__init__ = _constructor(cls._rule)  # type: ignore[method-assign]
            parameters = "\n\nParameters\n----------\n" + describe(cls._rule)
            parameters += describe(Training, epochs=cls._rule.default_epochs)
            examples = EXAMPLES.format(name=cls.__name__)
            cls.__doc__ = inspect.cleandoc(cls.__doc__ or "") + parameters + ATTRIBUTES + examples

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return "_learner" in vars(self)

    # -- learning ------------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, **refused: Any) -> Self:
        """Learn from the rows of X with labels y, in `epochs` passes; forget what was learned before, if anything,
        unless `warm_start` is set."""
        self._refuse(refused)
        return self._fit(X, y, None)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, **refused: Any) -> Self:
        """Learn from the rows of X, once, in the order they come.

        The first call must announce all labels in `classes`.  Ten calls on ten chunks give the same bits as one call
        on all rows.  If a row cannot be learned, those before it have been.
        """
        self._refuse(refused)
        return self._partial_fit(X, y, classes, None)

    def _refuse(self, arguments: dict[str, Any]) -> None:
        """Say why, and not only that, an argument of the weighted classifiers is not to be had here."""
        for name in arguments:
            reason = ": its rule has no loss that weights could scale" if name == "sample_weight" else ""
            raise TypeError(f"{type(self).__name__} takes no argument {name!r}{reason}")

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        before = self.__dict__.copy()
        try:
            rule, training = self._options()
            go_on = training.warm_start and self.__sklearn_is_fitted__()
            X, y = self._validate(X, y, reset=not go_on)
            learner = self._learner if go_on else Learner(rule, training, _labels_in(y), X.shape[1])
            learner.go_on_with(rule, training)
            rows = as_rows(X, learner.state.cells.dtype)
            weights = self._row_weights(sample_weight, y, learner)
            if len(weights) and not weights.any():
                raise ValueError("Sample weights are zero for every row: there is nothing to learn from.")
            unsolved = learner.tally["unsolved"]
            learner.train(rows, learner.encode(y), weights, check_random_state(self.random_state))
            tell_unsolved(learner.tally["unsolved"] - unsolved)
            learner.feature_names = getattr(self, "feature_names_in_", None)
            self._learner = learner
        except BaseException:  # a fit that fails leaves the estimator as it was
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        return self

    def _partial_fit(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> Self:
        rule, training = self._options()
        if isinstance(getattr(rule, "class_weight", None), str):
            raise ValueError("class_weight='balanced' needs all rows at once: give partial_fit a dict by label.")
        first = not self.__sklearn_is_fitted__()
        if first and classes is None:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        labels = self.classes_ if classes is None else _labels_in(unique_labels(classes))
        if not first and not np.array_equal(labels, self.classes_):
            raise ValueError(f"classes={classes!r} is not the same as on the first call: {self.classes_.tolist()}")
        X, y = self._validate(X, y, reset=first)
        with _BEGINNING:  # of several threads that call for the first time, one makes the learner
            learner = self._learner if self.__sklearn_is_fitted__() else Learner(rule, training, labels, X.shape[1])
            learner.go_on_with(rule, training)
            rows = as_rows(X, learner.state.cells.dtype, n_features=learner.state.n_features)
            targets = learner.encode(y)
            weights = self._row_weights(sample_weight, y, learner)
            learner.feature_names = getattr(self, "feature_names_in_", None)
            self._learner = learner
        unsolved = learner.tally["unsolved"]
        learner.learn(rows, targets, weights)
        tell_unsolved(learner.tally["unsolved"] - unsolved)
        return self

    def _adopt(self, learner: Learner) -> Self:
        """Be the estimator that learned this."""
        self.n_features_in_ = learner.state.n_features
        self.__dict__.pop("feature_names_in_", None)
        if learner.feature_names is not None:
            self.feature_names_in_ = learner.feature_names
        self._learner = learner
        return self

    def _options(self) -> tuple[rules.Rule, Training]:
        """The parameters, checked."""

        def build(owner: type[Any]) -> Any:
            return owner(**{item.name: getattr(self, item.name) for item in fields(owner)})

        return build(self._rule), build(Training)

    def _validate(self, X: Any, y: Any, reset: bool) -> tuple[Any, NDArray[Any]]:
        # Any sparse format and any values pass here: `as_rows` converts and checks, naming the place of what is wrong.
        X, y = validate_data(self, X, y, accept_sparse=True, ensure_all_finite=False, reset=reset)
        return X, y

    def _row_weights(self, sample_weight: Any, y: NDArray[Any], learner: Learner) -> NDArray[np.float64]:
        """What the loss of each row is multiplied by; empty for 1."""
        class_weight = getattr(learner.rule, "class_weight", None)
        if sample_weight is None and class_weight is None:
            return NONE
        if not learner.rule.takes_weights:
            raise ValueError(f"{type(self).__name__} with C=None has no loss that weights could scale.")
        weights = np.ones(len(y)) if sample_weight is None else np.array(sample_weight, dtype=np.float64)
        if weights.shape != y.shape:
            raise ValueError(f"sample_weight must have one entry for each of {len(y)} rows, got shape {weights.shape}")
        bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
        if len(bad):
            raise ValueError(f"sample_weight must be finite and not negative, got {weights[bad[0]]} for row {bad[0]}")
        for label, factor in learner.class_factors(
            {label: int(np.sum(y == label)) for label in learner.classes}
        ).items():
            weights[y == label] *= factor
        return weights

    # -- prediction ----------------------------------------------------------------------------------------------------

    @property
    def _fitted(self) -> Learner:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(f"This {type(self).__name__} instance is not fitted yet. Call 'fit' first.")
        return self._learner

    def _rows(self, X: Any) -> Rows:
        learner = self._fitted
        X = validate_data(self, X, accept_sparse=True, ensure_all_finite=False, reset=False, ensure_min_samples=0)
        return as_rows(X, learner.state.cells.dtype, n_features=learner.state.n_features)

    def margin(self, X: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and variance of the margin w.x of every row, w being the Gaussian over the weights; with more than two
        labels, one column for each.

        First-order rules keep S = `initial_variance` I, so there the variance only tells the length of the row.
        """
        rows = self._rows(X)
        return self._fitted.margins(rows)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Two labels: confidence in `classes_[1]`, by row, positive if that is the prediction, and ranked as
        `predict_proba`.  It is the mean of the margin over its standard deviation (`LogisticClassifier`: the log odds;
        first-order classes: the mean itself).

        More labels: the mean of each one's score, by row; the highest is the prediction.  `margin` has the variance.
        """
        rows = self._rows(X)
        return self._fitted.scores(*self._fitted.margins(rows, only_mean=True))

    def predict(self, X: Any) -> NDArray[Any]:
        """The label of every row."""
        rows = self._rows(X)
        labels: NDArray[Any] = self.classes_[self._fitted.predictions(rows)]
        return labels

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file that `cwlearn.load` reads; what stood there before is replaced in one step."""
        model_file.save(self._fitted, path)

    # -- fitted attributes ---------------------------------------------------------------------------------------------

    @property
    def classes_(self) -> NDArray[Any]:
        return self._fitted.classes

    @property
    def coef_(self) -> NDArray[Any]:
        return np.atleast_2d(self._fitted.predictor.mean[1:].T)

    @property
    def intercept_(self) -> NDArray[Any]:
        return self._fitted.predictor.mean[:1].reshape(-1)

    @property
    def variance_(self) -> NDArray[Any]:
        return np.atleast_2d(self._fitted.predictor.variance[1:].T)

    @property
    def n_updates_(self) -> int:
        return self._fitted.tally["updates"]

    @property
    def n_mistakes_(self) -> int:
        return self._fitted.tally["mistakes"]


def _labels_in(y: NDArray[Any]) -> NDArray[Any]:
    """The labels in y, sorted; if there are two, by comparisons only, which beats sorting y by far."""
    others = y[y != y[:1]] if len(y) else y
    if not len(others):
        raise ValueError(f"two labels are needed to learn a classifier, found one class: {y[:1].tolist()}")
    try:
        two = not (others != others[0]).any()
        labels: NDArray[Any] = np.unique(np.array([y[0], others[0]], y.dtype) if two else y)
    except TypeError:
        raise ValueError(
            f"labels must be of one type, all numbers or all strings; found {list(set(y.tolist()))[:5]}"
        ) from None
    # A few of them, fractions first: of all, scikit-learn would say that they are almost as many as the rows.
    odd = labels[labels != np.floor(labels)] if labels.dtype.kind == "f" else labels[:0]
    check_classification_targets(odd[:10] if len(odd) else labels[:10])
    return labels


def tell_unsolved(updates: int) -> None:
    """Warn of exact updates that are not as exact as they should be."""
    if updates:
        warnings.warn(
            f"{updates} exact updates ended after {EXACT_SWEEPS} sweeps without reaching the relative tolerance "
            f"{EXACT_TOLERANCE}: the rows they are from need not meet all of their constraints",
            ConvergenceWarning,
            stacklevel=3,
        )


class Weighted(LinearClassifier):
    """Classifiers whose rule has a loss, so that rows can be weighted."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:  # type: ignore[override]
        """Learn from the rows of X with labels y, in `epochs` passes; forget what was learned before, if anything,
        unless `warm_start` is set.  `sample_weight` scales the loss of each row, and 0 leaves the row out."""
        return self._fit(X, y, sample_weight)

    def partial_fit(  # type: ignore[override]
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Learn from the rows of X, once, in the order they come.  The first call must announce all labels in
        `classes`.  `sample_weight` scales the loss of each row, and 0 leaves the row out."""
        return self._partial_fit(X, y, classes, sample_weight)


class Probabilistic(LinearClassifier):
    """Classifiers that know how sure they are."""

    def predict_proba(self, X: Any, *, draws: int | None = None, random_state: Any = None) -> NDArray[np.float64]:
        """Probability of each label, by row, under the Gaussian over the weights w.

        Two labels: Pr(w.x > 0) for `classes_[1]`.  More: the probability that the score of the label is the highest,
        the scores being independent Gaussians, by quadrature, exact to about 1e-12.  CW and SCW heed the variance of
        each score, so that the most probable label may be another one than `predict` says, which goes by the means; in
        the other classes labels that are seldom updated keep a large variance for that alone, so all have the average
        one.  `LogisticClassifier`: the mean of the sigmoid, or of the softmax, in MacKay's approximation.

        With `draws`, all these are averages over so many random scores instead, seeded by `random_state`.
        """
        rows = self._rows(X)
        margins = self._fitted.margins(rows)
        if draws is None:
            return self._fitted.probabilities(*margins)
        require("draws", draws, COUNT)
        return self._fitted.drawn_probabilities(*margins, int(draws), check_random_state(random_state))
