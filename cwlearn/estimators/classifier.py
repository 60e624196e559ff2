"""What the classifiers share, linear or with a kernel, and what some of them add."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets, unique_labels

from cwlearn.core import draws as draws_of
from cwlearn.core import one_row
from cwlearn.core.class_labels import EXPECTED, check_labels, check_typed, check_types, distinct_numbers
from cwlearn.core.kernel_options import KernelOptions
from cwlearn.core.parameters import COUNT, require
from cwlearn.core.training import check_weights_of_parts
from cwlearn.estimators.base import Linear, OnlineEstimator, warn_of_unsolved
from cwlearn.estimators.one_row import OneRowClassifier, number_of


class Classifier(ClassifierMixin, OnlineEstimator, OneRowClassifier):  # type: ignore[misc]
    """Base of the classifiers."""

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from the rows of X with labels y, in `epochs` passes.

        Earlier learning is forgotten unless `warm_start` is set.
        """
        return self._fit(X, y, None)

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Learn from the rows of X once, in their order.

        The first call must name all labels in `classes`.  Chunks of any size give the same bits as one call with all
        rows (with a kernel: up to rounding, if gamma is a number).  If a row cannot be learned, the rows before it have
        been.
        """
        return self._learn_more(X, y, classes, None)

    def _learn_more(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> Self:
        check_weights_of_parts(self)
        first = not self.__sklearn_is_fitted__()
        if first and classes is None:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        if classes is not None:
            check_types(classes)
            check_typed(np.asarray(classes))
        with np.errstate(invalid="ignore"):  # scikit-learn makes integers of them, to see whether they are
            labels = self.classes_ if classes is None else self._classes_in(unique_labels(classes))
        if not first and not np.array_equal(labels, self.classes_):
            raise ValueError(f"`classes` {classes!r} is not the same as on the first call: {self.classes_.tolist()}")
        return self._partial_fit(X, y, labels, sample_weight)

    def learn_one(self, x: Any, y: Any) -> Self:
        """Learn from one row and its label, as `partial_fit` does with this row; see `predict_one`.

        `fit` or `partial_fit` comes first, for the model to know its labels and its number of features.  Parameters
        that were set since then do not count yet.
        """
        self._learn_parts(self._parts(x), y)
        return self

    def _learn_parts(self, parts: one_row.Parts, label: Any) -> None:
        learner = self._fitted
        exact = learner.training.multiclass_update == "exact"
        unsolved = learner.statistics["unsolved"] if exact else 0
        one_row.learn(parts, number_of(label, learner), learner)
        if exact:
            warn_of_unsolved(learner.statistics["unsolved"] - unsolved)

    def _classes_in(self, y: NDArray[Any]) -> NDArray[Any]:
        """Find the labels in y, sorted."""
        check_typed(y)
        try:
            labels = _distinct(y)
        except TypeError:
            raise ValueError(f"{EXPECTED}; found {list(set(y.tolist()))[:5]}") from None
        if len(labels) < 2:
            raise ValueError(f"two labels are needed to learn a classifier, found one class: {labels.tolist()}")
        if labels.dtype.kind not in "biu":  # in which scikit-learn would find nothing
            # Show it a few labels, fractions first: it would complain that all of them are too many.
            odd = labels[labels != np.floor(labels)] if labels.dtype.kind == "f" else labels[:0]
            with np.errstate(invalid="ignore"):  # it converts them to integers, and refuses those that are none
                check_classification_targets(odd[:10] if len(odd) else labels[:10])
        check_labels(labels)
        return labels

    def _validate(self, X: Any, y: Any, reset: bool, **checks: Any) -> tuple[Any, NDArray[Any]]:
        check_types(y, mixed=not reset)  # later ones are compared with those that are known
        return super()._validate(X, y, reset, **checks)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Score each row.

        Two labels: the log odds of `classes_[1]`, positive if that is the prediction.  `predict_proba` also counts that
        a part of the labels is random, whatever the score; it ranks the rows in the same order.  (A model file of
        version 1 has no calibration: there it is the mean of the margin divided by its deviation.)

        More labels: the mean of the score of each label; the highest one is the prediction.  `margin` has the mean and
        the variance of every score.
        """
        rows = self._rows(X)
        return self._fitted.scores(rows, *self._fitted.margins(rows, only_mean=self._fitted.several))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the chance of each label, by row.

        Every row is scored before it is learned from, so its label shows what such a score is worth.  `partial_fit`,
        and `fit` with one epoch, fit the probabilities to these rows, later ones more than earlier ones.  With several
        epochs, a fifth of the rows is held back until the last three, and tests the scores when it comes in.  The most
        probable label is the predicted one.
        """
        rows = self._rows(X)
        if rows.n_rows == 1:
            return np.array([one_row.probabilities((rows.indices, rows.values), self._fitted)])
        several = self._fitted.several and self._fitted.calibration is not None
        return self._fitted.probabilities(rows, *self._fitted.margins(rows, only_mean=several))

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the label of each row."""
        rows, learner = self._rows(X), self._fitted
        if rows.n_rows == 1:  # the same in a fifth of the time
            numbers = np.array([one_row.predicted_number((rows.indices, rows.values), learner)])
        else:
            numbers = learner.predictions(rows)
        labels: NDArray[Any] = learner.classes[numbers]
        return labels

    @property
    def classes_(self) -> NDArray[Any]:
        return self._fitted.classes

    @property
    def n_mistakes_(self) -> int:
        return self._fitted.statistics["mistakes"]


class LinearClassifier(Linear, Classifier):
    """Base of the classifiers that have weights."""


class KernelClassifier(Classifier):
    """Base of the classifiers with a kernel, which keep rows instead of weights."""

    _kernel = KernelOptions

    @property
    def n_kept_(self) -> int:
        state: Any = self._fitted.state
        return len(state.kept)


class Weighted(Classifier):
    """Base of the classifiers whose rule has a loss, which sample weights scale."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from the rows of X with labels y, in `epochs` passes.

        Earlier learning is forgotten unless `warm_start` is set.  `sample_weight` scales the loss of each row; 0 leaves
        the row out.
        """
        return self._fit(X, y, sample_weight)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from the rows of X once, in their order.

        The first call must name all labels in `classes`.  Chunks of any size give the same bits as one call with all
        rows.  `sample_weight` scales the loss of each row; 0 leaves the row out.
        """
        return self._learn_more(X, y, classes, sample_weight)


class Probabilistic(Classifier):
    """Base of the classifiers that have a distribution over their weights, or over labels."""

    def decision_function(self, X: Any, *, draws: int | None = None, random_state: Any = None) -> NDArray[np.float64]:
        """Score each row.

        Two labels: the log odds of `classes_[1]`, those of `predict_proba`; positive if that is the prediction.  (A
        model file of version 1 has no calibration: there it is the mean of the margin divided by its deviation.)

        More labels: the mean of the score of each label; the highest one is the prediction.  `margin` has the mean and
        the variance of every score.

        With `draws`, the scores w.x by so many weight vectors w, drawn from the Gaussian over the weights and seeded by
        `random_state`: an array of shape (draws, n_rows), or (draws, n_rows, n_labels) with more than two labels.  Each
        weight vector scores all rows, as Thompson sampling needs it.
        """
        if draws is None:
            return super().decision_function(X)
        require("draws", draws, COUNT)
        rows = self._rows(X)
        return draws_of.drawn_scores(self._fitted, rows, int(draws), check_random_state(random_state))

    def label_distribution(self, X: Any, *, draws: int | None = None, random_state: Any = None) -> NDArray[np.float64]:
        """Return the probability that each label has the highest score, by row, under the Gaussian over the weights w.

        This is the papers' distribution: how certain the model is of the sign of a score, not how often the label is
        right, which `predict_proba` tells.

        Two labels: Pr(w.x > 0) for `classes_[1]`.  More: the probability that the score of the label is the highest,
        where scores are independent Gaussians; by quadrature, exact to about 1e-12.  CW and SCW use the variance of
        each score, so that the most probable label may differ from that of `predict`, which compares the means.  The
        other classes use the average variance for all labels.  `LogisticClassifier`: the mean of the sigmoid, or of the
        softmax, in MacKay's approximation.

        With `draws`, these are averages over so many random scores, seeded by `random_state`.
        """
        rows = self._rows(X)
        margins = self._fitted.margins(rows)
        if draws is None:
            return self._fitted.label_distribution(*margins)
        require("draws", draws, COUNT)
        return self._fitted.drawn_distribution(*margins, int(draws), check_random_state(random_state))


class LogisticDistribution(Classifier):
    """Base of the classifiers that have a distribution over labels if their loss is logistic."""

    loss: str

    @available_if(lambda model: model.loss == "logistic")  # type: ignore[untyped-decorator]
    def label_distribution(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each label, by row, as the rule has it: the sigmoid or the softmax of the scores.

        `predict_proba` tells how often a label is right with such a score.
        """
        rows = self._rows(X)
        return self._fitted.label_distribution(*self._fitted.margins(rows))


def _distinct(y: NDArray[Any]) -> NDArray[Any]:
    """The labels in y, sorted.  One or two are found by comparisons, which is much faster than a sort."""
    if not len(y):
        return y
    if y.dtype.kind in "biu":
        two = np.array([y.min(), y.max()], y.dtype)
        found = bool(((y == two[0]) | (y == two[1])).all())
    else:
        others = y[y != y[0]]
        two = np.array([y[0], *others[:1]], y.dtype)
        found = not (others != two[-1]).any()
    labels: NDArray[Any] | None = None if found else distinct_numbers(y)
    return np.unique(two if found else y) if labels is None else labels
