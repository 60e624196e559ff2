"""Rows with any number of labels."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.base import ClassifierMixin, MetaEstimatorMixin
from sklearn.utils.validation import validate_data

from cwlearn.core.explaining import TOP, Explanation, explain
from cwlearn.core.kernel_options import KernelOptions
from cwlearn.core.label_sets import LabelSets
from cwlearn.core.learner import Learner
from cwlearn.core.one_row import columns_and_values, row_of_parts
from cwlearn.core.rule import Rule
from cwlearn.core.training import Training
from cwlearn.estimators.arow import AROWClassifier
from cwlearn.estimators.auto import AutoClassifier, Racing
from cwlearn.estimators.classifier import LinearClassifier
from cwlearn.estimators.label_lists import RowLabels, row_labels, sorted_labels
from cwlearn.estimators.one_row import feature_name


class MultiLabelClassifier(MetaEstimatorMixin, ClassifierMixin, Racing):  # type: ignore[misc]
    """Several labels a row: one binary classifier for each label, all learned in one pass.

    Each label has the weights, to the last bit, that the classifier would learn for it alone (1 for the rows that have
    the label, 0 for the others).  But the rows are read once, and the weights of all labels lie side by side: it is
    many times as fast as one classifier after the other, as `OneVsRestClassifier` has them.  The weights take 8 bytes
    for each feature and label in float32.  Each label has a calibration of its own.

    Parameters
    ----------
    classifier : linear classifier of cwlearn, default=None
        Rule and options of every label, with a diagonal covariance and without `class_weight`.  It is not changed.
        None is `AROWClassifier()`.  `AutoClassifier()` races rules by their wrong decisions, on all labels together.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        The labels, sorted; the numbers of the columns if it has learned from an indicator matrix.
    n_features_in_ : int
        Columns of X.
    n_updates_ : int
        How often a row changed the weights of a label.
    n_mistakes_ : int
        How often a row was on the wrong side for a label before it was learned.
    coef_ : ndarray of shape (n_labels, n_features)
        Mean of the weights: a view of the state.
    variance_ : ndarray of the same shape
        Variance of the weights: a view of the state.
    intercept_ : ndarray of shape (n_labels,)
        Mean of the intercept.
    race_ : list of dicts
        How each candidate of an `AutoClassifier` did, best first.

    Examples
    --------
    >>> import numpy as np
    >>> from cwlearn import AROWClassifier, MultiLabelClassifier
    >>> X = np.array([[1, 0, 2], [0, 1, 1], [2, 0, 1], [0, 2, 1]])
    >>> model = MultiLabelClassifier(AROWClassifier(random_state=0))
    >>> model.fit(X, [["a", "c"], ["b"], ["a"], ["b", "c"]]).classes_.tolist()
    ['a', 'b', 'c']
    >>> model.predict([[1, 0, 0], [0, 1, 0]])[:, :2].tolist()
    [[1, 0], [0, 1]]
    """

    def __init__(self, classifier: LinearClassifier | None = None) -> None:
        self.classifier = classifier

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.single_output = False
        tags.target_tags.multi_output = True
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.multi_label = True
        return tags

    def _given_options(self) -> tuple[Rule, Training, KernelOptions | None]:
        """The options of the classifier."""
        classifier = AROWClassifier() if self.classifier is None else self.classifier
        if not isinstance(classifier, LinearClassifier):
            raise TypeError(f"`classifier` must be a linear classifier of cwlearn, got {classifier!r}")
        return classifier._options()

    @property
    def _race_budget(self) -> float | None:
        return self.classifier._race_budget if isinstance(self.classifier, AutoClassifier) else None

    # -- learning ------------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from the rows of X with labels y, in the epochs of the classifier.

        y is an indicator matrix of 0 and 1, sparse or dense, with a column for each label; or it has a list of labels
        for each row.  A row may have no label.  Earlier learning is forgotten unless the classifier has `warm_start`.
        `sample_weight` scales the loss of each row; 0 leaves the row out.
        """
        return self._fit(X, y, sample_weight)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from the rows of X once, in their order.

        If y has lists of labels, the first call must name all labels in `classes`; an indicator matrix has a column for
        each label, and `classes` may name the columns.  Chunks of any size give the same bits as one call with all
        rows.  `sample_weight` scales the loss of each row; 0 leaves the row out.
        """
        first = not self.__sklearn_is_fitted__()
        if first and self._race_budget is not None:
            raise ValueError("several labels a row race in `fit`, by all rows: `partial_fit` needs a rule")
        labels = None if classes is None else sorted_labels([*classes])
        if not first and labels is not None and not np.array_equal(labels, self.classes_):
            raise ValueError(f"`classes` {classes!r} is not the same as on the first call: {self.classes_.tolist()}")
        if labels is None:
            labels = row_labels(y).classes if first else self.classes_
            if first and not (hasattr(y, "tocsr") or np.array_equal(labels, np.arange(len(labels)))):
                raise ValueError("classes must be passed on the first call to partial_fit with lists of labels.")
        return self._partial_fit(X, row_labels(y, labels), labels, sample_weight)

    def _validate(self, X: Any, y: Any, reset: bool, **checks: Any) -> tuple[Any, Any]:
        """Check both; the labels become `RowLabels`."""
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        X = validate_data(self, X, accept_sparse=True, ensure_all_finite=False, reset=reset, **checks)
        labels = y if isinstance(y, RowLabels) else row_labels(y, None if reset else self.classes_)
        if len(labels) != X.shape[0]:
            raise ValueError(f"Found input variables with inconsistent numbers of samples: {[X.shape[0], len(labels)]}")
        self._sparse_output = labels.sparse
        return X, labels

    def _classes_in(self, y: Any) -> NDArray[Any]:
        classes: NDArray[Any] = y.classes
        return classes

    def _new_learner(
        self, rule: Rule, training: Training, classes: NDArray[Any], n_features: int, kernel: KernelOptions | None
    ) -> Learner:
        return Learner(rule, training, classes, n_features, kernel, multilabel=True)

    def _targets(self, y: Any, learner: Learner) -> tuple[NDArray[np.float64], LabelSets | None]:
        return np.arange(len(y), dtype=np.float64), y.sets

    def _row_weights(self, sample_weight: Any, y: Any, learner: Learner) -> NDArray[np.float64]:
        return super()._row_weights(sample_weight, np.empty(len(y)), learner)

    # -- what was learned ----------------------------------------------------------------------------------------------

    @property
    def classes_(self) -> NDArray[Any]:
        return self._fitted.classes

    @property
    def n_mistakes_(self) -> int:
        return self._fitted.statistics["mistakes"]

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the log odds of each label, by row: positive if the label is predicted."""
        rows = self._rows(X)
        return self._fitted.scores(rows, *self._fitted.margins(rows))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the chance that each row has each label; see `predict_proba` of the classifier.

        Every label has a calibration of its own.  The chances of a row do not add up to 1.
        """
        rows = self._rows(X)
        return self._fitted.probabilities(rows, *self._fitted.margins(rows))

    def predict(self, X: Any) -> Any:
        """Predict the labels of each row, as an indicator matrix: 1 in the columns of the labels that it has.

        The matrix is sparse if that of `fit` was.
        """
        rows = self._rows(X)
        indicators = self._fitted.predictions(rows)
        return csr_matrix(indicators) if getattr(self, "_sparse_output", False) else indicators

    def predict_labels(self, X: Any) -> list[tuple[Any, ...]]:
        """Predict the labels of each row, as a tuple of labels for each."""
        rows = self._rows(X)
        labels = self.classes_
        return [tuple(labels[row == 1].tolist()) for row in self._fitted.predictions(rows)]

    def explain(self, X: Any, top: int = TOP) -> Explanation:
        """Explain the most probable label of the only row of X: what each feature adds to its margin.

        See `explain` of the classifier, which takes the same rows.
        """
        learner = self._fitted
        return explain(learner, row_of_parts(columns_and_values(X, learner), learner), feature_name(learner), top)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the part of the rows whose predicted labels are all right, and complete."""
        has = row_labels(y, self.classes_)
        true = has.sets.indicators(np.arange(len(has), dtype=np.float64), len(self.classes_))
        right = (self._fitted.predictions(self._rows(X)) == true).all(axis=1)
        return float(np.average(right, weights=sample_weight))
