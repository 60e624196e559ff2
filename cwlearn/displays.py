"""Plots of a model in scikit-learn's style: `from_estimator` computes and draws, `plot` draws again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state

from cwlearn.core.metrics import Measures, places
from cwlearn.core.parameters import COUNT, require
from cwlearn.core.weights import heaviest
from cwlearn.estimators.base import Linear
from cwlearn.estimators.classifier import Classifier
from cwlearn.estimators.multilabel import MultiLabelClassifier
from cwlearn.estimators.one_row import feature_name
from cwlearn.estimators.text_classifier import TextClassifier

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.container import BarContainer
    from matplotlib.lines import Line2D

__all__ = ["LearningCurveDisplay", "ReliabilityDisplay", "WeightsDisplay"]


class _Display:
    """Base of the displays: remembers the axes that were drawn on."""

    figure_: Any
    ax_: Axes

    def _axes(self, ax: Axes | None) -> Axes:
        """The given axes, or new ones."""
        if ax is None:
            try:
                import matplotlib.pyplot as plt
            except ImportError as error:
                raise ImportError("displays need matplotlib: pip install 'cwlearn[plot]'") from error
            _, ax = plt.subplots()
        self.ax_, self.figure_ = ax, ax.figure
        return ax


class LearningCurveDisplay(_Display):
    """The error by the number of rows that were learned from, on a log scale.

    Parameters
    ----------
    rows : ndarray
        Numbers of rows, in one pass.
    progressive_error : ndarray
        The part of mistakes among these rows, each predicted before it was learned from.
    test_error : ndarray, optional
        The error of the model on other rows, after these rows.
    name : str, optional
        Name of the model, for the legend.
    """

    line_: Line2D
    test_line_: Line2D

    def __init__(
        self,
        rows: NDArray[np.int64],
        progressive_error: NDArray[np.float64],
        test_error: NDArray[np.float64] | None = None,
        name: str | None = None,
    ) -> None:
        self.rows, self.progressive_error, self.test_error, self.name = rows, progressive_error, test_error, name

    @classmethod
    def from_estimator(
        cls,
        estimator: Classifier | Pipeline,
        X: Any,
        y: ArrayLike,
        *,
        test: tuple[Any, ArrayLike] | None = None,
        random_state: int | np.random.RandomState | None = None,
        name: str | None = None,
        ax: Axes | None = None,
        line_kw: Mapping[str, Any] | None = None,
    ) -> Self:
        """Let a clone of a classifier learn from the rows once, in a random order, and draw its errors.

        Parameters
        ----------
        estimator : classifier of cwlearn, or a pipeline that ends with one
            Its parameters are used; it stays as it is.  The steps before it are fitted to all rows first.
        X : array, sparse matrix or data frame of shape (n_rows, n_features)
            The rows, or whatever the first step of a pipeline takes.
        y : array of shape (n_rows,)
            The labels.
        test : pair (X, y), optional
            Rows to test on along the way.
        random_state : int, RandomState or None, default=None
            Seed or generator of the order.
        name : str, optional
            Name of the model in the legend.  By default its class.
        ax : matplotlib Axes, optional
            Where to draw.  By default new axes.
        line_kw : dict, optional
            Arguments for `Axes.plot`.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from cwlearn import AROWClassifier, displays
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> display = displays.LearningCurveDisplay.from_estimator(AROWClassifier(), X, y)  # doctest: +SKIP
        """
        if isinstance(estimator, Pipeline) and isinstance(estimator[-1], Classifier):
            if len(estimator) > 1:
                steps = clone(estimator[:-1])
                X = steps.fit_transform(X, y)
                test = test and (steps.transform(test[0]), test[1])
            estimator = estimator[-1]
        if not isinstance(estimator, Classifier):
            raise TypeError(f"expected a classifier of cwlearn, or a pipeline that ends with one, got {estimator!r}")
        model = clone(estimator)
        labels = np.asarray(y)
        X = X.astype(np.float64).tocsr() if hasattr(X, "tocsr") else np.asarray(X)  # small integers would wrap in sums
        if labels.shape != X.shape[:1] or not len(labels):
            raise ValueError(f"y must have one label for each of {X.shape[0]} rows, got shape {labels.shape}")
        if test is not None:
            test = (test[0] if hasattr(test[0], "tocsr") else np.asarray(test[0]), np.asarray(test[1]))
        order = check_random_state(random_state).permutation(len(labels))
        classes = np.unique(labels)
        rows, progressive_error, test_error = [], [], []
        for start, stop in places(len(order)):
            part = order[start:stop]
            model.partial_fit(X[part], labels[part], classes=classes)
            rows.append(stop)
            progressive_error.append(model._learner.statistics["mistakes"] / stop)
            if test is not None:
                test_error.append(1 - model.score(*test))
        display = cls(
            np.array(rows),
            np.array(progressive_error),
            None if test is None else np.array(test_error),
            name or type(estimator).__name__,
        )
        return display.plot(ax, line_kw=line_kw)

    def plot(self, ax: Axes | None = None, *, line_kw: Mapping[str, Any] | None = None) -> Self:
        """Draw the curve; `line_kw` goes to `Axes.plot`."""
        ax = self._axes(ax)
        style: dict[str, Any] = {"label": self.name, "marker": ".", **(line_kw or {})}
        (self.line_,) = ax.plot(self.rows, self.progressive_error, **style)
        if self.test_error is not None:
            style = {**(line_kw or {}), "color": self.line_.get_color(), "linestyle": "--"}
            style["label"] = f"{self.line_.get_label()}, test"
            (self.test_line_,) = ax.plot(self.rows, self.test_error, **style)
        ax.set(xscale="log", xlabel="rows seen", ylabel="error", ylim=(0, None))
        ax.legend()
        return self


class WeightsDisplay(_Display):
    """The heaviest weights of a model.

    Parameters
    ----------
    names : list of str
        The names of the features.
    weights : ndarray
        Their weights.
    deviations : ndarray or None
        The standard deviations of the weights, if the model has them.
    """

    bars_: BarContainer

    def __init__(
        self, names: Sequence[str], weights: NDArray[np.float64], deviations: NDArray[np.float64] | None
    ) -> None:
        self.names, self.weights, self.deviations = list(names), weights, deviations

    @classmethod
    def from_estimator(
        cls,
        estimator: Linear | MultiLabelClassifier | TextClassifier | Pipeline,
        *,
        label: Any = None,
        top: int = 20,
        feature_names: Sequence[str] | None = None,
        ax: Axes | None = None,
        bar_kw: Mapping[str, Any] | None = None,
    ) -> Self:
        """Draw the heaviest weights of a fitted linear estimator.

        Parameters
        ----------
        estimator : linear estimator of cwlearn, TextClassifier, MultiLabelClassifier, or a pipeline that ends with one
            It must be fitted.
        label : label, optional
            With more than two labels, or several a row: the one whose weights are drawn.  By default the heaviest of
            all labels are drawn, each with its label.
        top : int, default=20
            How many weights to draw.  Weights that are 0 are left out.
        feature_names : sequence of str, optional
            Names of the columns.  By default those that the estimator was fitted with, the words that it knows, those
            that the steps of a pipeline give them, or numbers.
        ax : matplotlib Axes, optional
            Where to draw.  By default new axes.
        bar_kw : dict, optional
            Arguments for `Axes.barh`.
        """
        model, name_of = _linear_part(estimator)
        require("top", top, COUNT)
        coefficients, variances = np.atleast_2d(model.coef_), np.atleast_2d(model.variance_)
        labels, n_features = np.asarray(getattr(model, "classes_", [])).tolist(), coefficients.shape[1]
        if label is not None or len(coefficients) == 1:
            chosen = [_block_of(label, labels, len(coefficients))]
        else:
            chosen = [*range(len(coefficients))]
        weights = np.asarray(coefficients[chosen], np.float64)
        if feature_names is not None:
            if len(feature_names) < n_features:
                raise ValueError(f"`feature_names` must be {n_features} names, got {len(feature_names)}")
            name_of = [str(name) for name in feature_names].__getitem__
        drawn = [divmod(place, n_features) for place in heaviest(weights.ravel(), top).tolist()]
        shown_names = [name_of(feature) + (f" ({labels[block]})" if chosen[1:] else "") for block, feature in drawn]
        blocks, features = np.array(drawn, np.int64).reshape(-1, 2).T
        deviations = None
        if model._fitted.rule.second_order:
            deviations = np.sqrt(np.asarray(variances[chosen], np.float64)[blocks, features])
        return cls(shown_names, weights[blocks, features], deviations).plot(ax, bar_kw=bar_kw)

    def plot(self, ax: Axes | None = None, *, bar_kw: Mapping[str, Any] | None = None) -> Self:
        """Draw the weights; `bar_kw` goes to `Axes.barh`."""
        ax = self._axes(ax)
        positions = np.arange(len(self.names))
        colors = np.where(self.weights >= 0, "#1a7f37", "#b3261e").tolist()
        style: dict[str, Any] = {"color": colors, **(bar_kw or {})}
        self.bars_ = ax.barh(positions, self.weights, xerr=self.deviations, **style)
        ax.set_yticks(positions, self.names)
        ax.invert_yaxis()
        ax.axvline(0, color="black", linewidth=0.8)
        ax.set_xlabel("weight" if self.deviations is None else "weight, with one standard deviation")
        return self


def _linear_part(estimator: Any) -> tuple[Linear | MultiLabelClassifier, Callable[[int], str]]:
    """The estimator that has weights, and a function from a column to its name."""
    model, names = estimator, None
    if isinstance(model, Pipeline):
        steps, model = model[:-1], model[-1]
        if len(steps):
            with suppress(AttributeError, ValueError):  # steps that know no names, such as hashes
                names = [str(name) for name in steps.get_feature_names_out()]
    if isinstance(model, TextClassifier):
        model = model.classifier_
    if not isinstance(model, (Linear, MultiLabelClassifier)):
        raise TypeError(f"expected a linear estimator of cwlearn, or a pipeline that ends with one, got {estimator!r}")
    if names is not None:
        return model, names.__getitem__
    words, own_name = model._fitted.words, feature_name(model._fitted)
    return model, lambda column: " or ".join(words.get(column, [])) or own_name(column)


def _block_of(label: Any, classes: list[Any], blocks: int) -> int:
    """The number of the weight vector of a label: 0 if there is only one vector."""
    if blocks > 1:
        if label not in classes:
            raise ValueError(f"`label` must be one of {classes}, got {label!r}")
        return classes.index(label)
    if label is not None:
        raise ValueError(
            f"`label` is for models of more than two labels, got {label!r}: weights speak for {classes[1:]}"
        )
    return 0


class ReliabilityDisplay(_Display):
    """How often predictions are right, by the probability that was predicted.

    Parameters
    ----------
    predicted : ndarray
        The mean of the predicted probability in each of up to ten bins.
    correct : ndarray
        The part of right predictions in each bin.
    rows : ndarray
        The number of rows in each bin.
    name : str, optional
        Name of the model, for the legend.
    """

    line_: Line2D

    def __init__(
        self,
        predicted: NDArray[np.float64],
        correct: NDArray[np.float64],
        rows: NDArray[np.int64],
        name: str | None = None,
    ) -> None:
        self.predicted, self.correct, self.rows, self.name = predicted, correct, rows, name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        name: str | None = None,
        ax: Axes | None = None,
        line_kw: Mapping[str, Any] | None = None,
    ) -> Self:
        """Draw the reliability of a fitted classifier.

        Parameters
        ----------
        estimator : classifier with `predict_proba`
            It must be fitted.
        X : array, sparse matrix or data frame of shape (n_rows, n_features)
            Rows that it has not learned from.
        y : array of shape (n_rows,)
            Their labels.
        name : str, optional
            Name of the model in the legend.  By default its class.
        ax : matplotlib Axes, optional
            Where to draw.  By default new axes.
        line_kw : dict, optional
            Arguments for `Axes.plot`.
        """
        if not hasattr(estimator, "predict_proba"):
            raise TypeError(f"expected a classifier that has predict_proba, got {estimator!r}")
        probabilities = estimator.predict_proba(X)
        classes, labels = np.asarray(estimator.classes_), np.asarray(y)
        if labels.shape != (len(probabilities),):
            raise ValueError(f"y must have one label for each of {len(probabilities)} rows, got shape {labels.shape}")
        if unknown := set(np.unique(labels).tolist()) - set(classes.tolist()):
            raise ValueError(f"y has the labels {sorted(unknown)}, which the classifier does not know")
        measures = Measures([str(label) for label in classes])
        measures.add(np.searchsorted(classes, labels), np.argmax(probabilities, axis=1), probabilities)
        rows, expected, correct = measures.bins[measures.bins[:, 0] > 0].T
        display = cls(expected / rows, correct / rows, rows.astype(np.int64), name or type(estimator).__name__)
        return display.plot(ax, line_kw=line_kw)

    def plot(self, ax: Axes | None = None, *, line_kw: Mapping[str, Any] | None = None) -> Self:
        """Draw the reliability; `line_kw` goes to `Axes.plot`."""
        ax = self._axes(ax)
        ax.plot([0, 1], [0, 1], color="gray", linestyle=":", linewidth=1)
        style: dict[str, Any] = {"label": self.name, "marker": "o", **(line_kw or {})}
        (self.line_,) = ax.plot(self.predicted, self.correct, **style)
        ax.set(xlabel="probability that was predicted", ylabel="part that was right", xlim=(0, 1), ylim=(0, 1.02))
        ax.set_aspect("equal")
        ax.legend()
        return self
