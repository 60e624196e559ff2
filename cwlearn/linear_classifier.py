"""What all scikit-learn classifiers of the package share: one base class over `Learner`, and two additions to it."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from dataclasses import fields
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state, compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, validate_data

from cwlearn import model_file, rules
from cwlearn.learner import Learner, Training
from cwlearn.options import describe
from cwlearn.rows import Rows, as_rows
from cwlearn.state import NONE

ATTRIBUTES = """
Attributes
----------
classes_ : ndarray of shape (2,)
    The labels, sorted.
coef_, variance_ : ndarray of shape (1, n_features)
    Mean and variance of the weights: views of the state, not copies.
intercept_ : ndarray of shape (1,)
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
            parameters.append(inspect.Parameter(item.name, kind, default=item.default))
    signature = inspect.Signature(sorted(parameters, key=lambda parameter: parameter.kind))

    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        bound = signature.bind(self, *args, **kwargs)
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
            parameters = "\n\nParameters\n----------\n" + describe(cls._rule) + describe(Training)
            examples = EXAMPLES.format(name=cls.__name__)
            cls.__doc__ = inspect.cleandoc(cls.__doc__ or "") + parameters + ATTRIBUTES + examples

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_class = False
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return "_learner" in vars(self)

    # -- learning ------------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from the rows of X with labels y, in `epochs` passes; forget what was learned before, if anything,
        unless `warm_start` is set."""
        return self._fit(X, y, None)

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Learn from the rows of X, once, in the order they come.

        The first call must announce both labels in `classes`.  Ten calls on ten chunks give the same bits as one call
        on all rows.
        """
        return self._partial_fit(X, y, classes, None)

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        rule, training = self._options()
        go_on = training.warm_start and self.__sklearn_is_fitted__()
        X, y = self._validate(X, y, reset=not go_on)
        weights = self._row_weights(sample_weight, X, y, rule)
        learner = self._learner if go_on else None
        if learner is None:
            learner = Learner(rule, training, _two_labels(y), X.shape[1])
        rows = as_rows(X, learner.state.cells.dtype)
        learner.train(rows, learner.encode(y), weights, check_random_state(self.random_state))
        self._learner = learner
        return self

    def _partial_fit(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> Self:
        rule, training = self._options()
        first = not self.__sklearn_is_fitted__()
        if first and classes is None:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        if not first and classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(f"classes={classes!r} is not the same as on the first call: {self.classes_.tolist()}")
        if isinstance(getattr(rule, "class_weight", None), str):
            raise ValueError("class_weight='balanced' needs all rows at once: give partial_fit a dict by label.")
        X, y = self._validate(X, y, reset=first)
        weights = self._row_weights(sample_weight, X, y, rule)
        learner = Learner(rule, training, _two_labels(np.asarray(classes)), X.shape[1]) if first else self._learner
        rows = as_rows(X, learner.state.cells.dtype)
        targets = learner.encode(y)
        self._learner = learner
        learner.learn(rows, targets, weights)
        return self

    def _options(self) -> tuple[rules.Rule, Training]:
        """The parameters, checked."""

        def build(owner: type[Any]) -> Any:
            return owner(**{item.name: getattr(self, item.name) for item in fields(owner)})

        return build(self._rule), build(Training)

    def _validate(self, X: Any, y: Any, reset: bool) -> tuple[Any, NDArray[Any]]:
        # Any sparse format and any values pass here: `as_rows` converts and checks, naming the place of what is wrong.
        X, y = validate_data(self, X, y, accept_sparse=True, ensure_all_finite=False, reset=reset)
        check_classification_targets(y)
        return X, y

    def _row_weights(self, sample_weight: Any, X: Any, y: NDArray[Any], rule: rules.Rule) -> NDArray[np.float64]:
        class_weight = getattr(rule, "class_weight", None)
        if sample_weight is None and class_weight is None:
            return NONE
        if not rule.takes_weights:
            raise ValueError(f"{type(self).__name__} with C=None has no loss that weights could scale.")
        weights: NDArray[np.float64] = np.array(
            _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        )
        if not weights.any():
            raise ValueError("sample_weight is 0 for every row: nothing to learn from.")
        if class_weight is not None:
            classes, inverse = np.unique(y, return_inverse=True)
            weights *= compute_class_weight(class_weight, classes=classes, y=y)[inverse]
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
        return as_rows(X, learner.state.cells.dtype)

    def margin(self, X: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and variance of the margin w.x of every row, w being the Gaussian over the weights.

        First-order rules keep S = `initial_variance` I, so there the variance only tells the length of the row.
        """
        rows = self._rows(X)
        return self._fitted.margins(rows)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Confidence in `classes_[1]`, by row: positive if that is the prediction, and ranked as `predict_proba`.

        It is the mean of the margin over its standard deviation (`LogisticClassifier`: the log odds; first-order
        classes: the mean itself).  `margin` has the mean and the variance.
        """
        rows = self._rows(X)
        return self._fitted.scores(rows)

    def predict(self, X: Any) -> NDArray[Any]:
        """The label of every row."""
        labels: NDArray[Any] = self.classes_[(self.decision_function(X) > 0).astype(int)]
        return labels

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file that `cwlearn.load` and the command line read."""
        model_file.save(self._fitted, path)

    # -- fitted attributes ---------------------------------------------------------------------------------------------

    @property
    def classes_(self) -> NDArray[Any]:
        return self._fitted.classes

    @property
    def coef_(self) -> NDArray[Any]:
        return self._fitted.predictor.mean[None, 1:]

    @property
    def intercept_(self) -> NDArray[Any]:
        return self._fitted.predictor.mean[:1]

    @property
    def variance_(self) -> NDArray[Any]:
        return self._fitted.predictor.variance[None, 1:]

    @property
    def n_updates_(self) -> int:
        return self._fitted.tally["updates"]

    @property
    def n_mistakes_(self) -> int:
        return self._fitted.tally["mistakes"]


def _two_labels(y: NDArray[Any]) -> NDArray[Any]:
    """The two labels in y, sorted; comparisons only, which beats sorting y by far."""
    others = y[y != y[0]]
    if not len(others):
        raise ValueError(f"two labels are needed to learn a classifier, found one class: {y[:1].tolist()}")
    if (others != others[0]).any():
        labels = np.unique(y)
        raise ValueError(
            f"Only binary classification is supported. The type of the target is multiclass: {len(labels)} labels, "
            f"{labels[:5].tolist()} ..."
        )
    return np.unique(np.stack([y[0], others[0]]).astype(y.dtype))


class Weighted(LinearClassifier):
    """Classifiers whose rule has a loss, so that rows can be weighted."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """As `LinearClassifier.fit`; `sample_weight` scales the loss of each row, and 0 leaves the row out."""
        return self._fit(X, y, sample_weight)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """As `LinearClassifier.partial_fit`; `sample_weight` scales the loss of each row."""
        return self._partial_fit(X, y, classes, sample_weight)


class Probabilistic(LinearClassifier):
    """Classifiers that know how sure they are."""

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probability of each label, by row: Pr(w.x > 0) under the Gaussian over w for `classes_[1]`
        (`LogisticClassifier`: the mean of sigmoid(w.x))."""
        rows = self._rows(X)
        positive = self._fitted.probabilities(rows)
        return np.column_stack([1 - positive, positive])
