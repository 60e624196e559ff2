"""Pictures of a model in scikit-learn's style: `from_estimator` computes, `plot` draws on axes of matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state

from cwlearn.core.metrics import Measures, places
from cwlearn.core.parameters import COUNT, require
from cwlearn.estimators.base import Linear
from cwlearn.estimators.classifier import Classifier

__all__ = ["LearningCurveDisplay", "ReliabilityDisplay", "WeightsDisplay"]


class _Display:
    """What all have in common: axes that are given, or new ones."""

    figure_: Any
    ax_: Any

    def _axes(self, ax: Any) -> Any:
        if ax is None:
            try:
                import matplotlib.pyplot as plt
            except ImportError as error:
                raise ImportError("this needs matplotlib: pip install 'cwlearn[plot]'") from error
            _, ax = plt.subplots()
        self.ax_, self.figure_ = ax, ax.figure
        return ax


class LearningCurveDisplay(_Display):
    """How the error falls with the rows that were learned from, on a log scale.

    `rows` are places in one pass, `progressive_error` the part of mistakes among the rows so far, each before it was
    learned from, and `test_error`, if there were rows to test on, that of the model at these places.
    """

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
        estimator: Classifier,
        X: Any,
        y: Any,
        *,
        test: tuple[Any, Any] | None = None,
        random_state: Any = None,
        name: str | None = None,
        ax: Any = None,
        **line: Any,
    ) -> Self:
        """Learn from the rows anew, in a random order and one pass, with a clone of the estimator, a classifier.

        `test` is a pair (X, y) to test on along the way; `line` goes to `Axes.plot`.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from cwlearn import AROWClassifier, displays
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> shown = displays.LearningCurveDisplay.from_estimator(AROWClassifier(), X, y)  # doctest: +SKIP
        """
        if not isinstance(estimator, Classifier):
            raise TypeError(f"expected a classifier of cwlearn, got {estimator!r}")
        model = clone(estimator)
        y = np.asarray(y)
        X = X.astype(np.float64).tocsr() if hasattr(X, "tocsr") else np.asarray(X)  # small integers would wrap in sums
        if y.shape != X.shape[:1] or not len(y):
            raise ValueError(f"y must have one label for each of {X.shape[0]} rows, got shape {y.shape}")
        order = check_random_state(random_state).permutation(len(y))
        classes, rows, progressive, tested = np.unique(y), [], [], []
        if test is not None:
            test = (test[0] if hasattr(test[0], "tocsr") else np.asarray(test[0]), np.asarray(test[1]))
        for start, stop in places(len(order)):
            part = order[start:stop]
            model.partial_fit(X[part], y[part], classes=classes)
            rows.append(stop)
            progressive.append(model._learner.statistics["mistakes"] / stop)
            if test is not None:
                tested.append(1 - model.score(*test))
        found = cls(
            np.array(rows),
            np.array(progressive),
            np.array(tested) if test is not None else None,
            name or type(estimator).__name__,
        )
        return found.plot(ax, **line)

    def plot(self, ax: Any = None, **line: Any) -> Self:
        ax = self._axes(ax)
        (self.line_,) = ax.plot(self.rows, self.progressive_error, **{"label": self.name, "marker": ".", **line})
        if self.test_error is not None:
            style = {"color": self.line_.get_color(), "linestyle": "--", "label": f"{self.line_.get_label()}, test"}
            (self.test_line_,) = ax.plot(self.rows, self.test_error, **{**line, **style})
        ax.set(xscale="log", xlabel="rows seen", ylabel="error", ylim=(0, None))
        ax.legend()
        return self


class WeightsDisplay(_Display):
    """The heaviest weights of a model, each with its standard deviation where the model knows one."""

    def __init__(
        self, names: Sequence[str], weights: NDArray[np.float64], deviations: NDArray[np.float64] | None
    ) -> None:
        self.names, self.weights, self.deviations = list(names), weights, deviations

    @classmethod
    def from_estimator(
        cls,
        estimator: Linear,
        *,
        label: Any = None,
        top: int = 20,
        feature_names: Sequence[str] | None = None,
        ax: Any = None,
        **bars: Any,
    ) -> Self:
        """Of a fitted linear estimator; with more than two labels, those that speak for `label`.

        `feature_names` are those that the estimator knows, if any, or else numbers; `bars` goes to `Axes.barh`.
        """
        if not isinstance(estimator, Linear):
            raise TypeError(f"expected a linear estimator of cwlearn, got {estimator!r}")
        require("top", top, COUNT)
        coefficients, variances = np.atleast_2d(estimator.coef_), np.atleast_2d(estimator.variance_)
        block = 0
        known = np.asarray(getattr(estimator, "classes_", [])).tolist()
        if len(known) > 2:
            if label not in known:
                raise ValueError(f"label must be one of {known}, got {label!r}")
            block = known.index(label)
        elif label is not None:
            raise ValueError(
                f"label is for models of more than two labels, got {label!r}: weights speak for {known[1:]}"
            )
        mean = np.asarray(coefficients[block], np.float64)
        order = np.argsort(-np.abs(mean), kind="stable")[:top]
        order = order[mean[order] != 0]
        names = feature_names if feature_names is not None else getattr(estimator, "feature_names_in_", None)
        if names is not None and len(names) < len(mean):
            raise ValueError(f"feature_names must be {len(mean)} names, got {len(names)}")
        deviations = None
        if estimator._fitted.rule.second_order:
            deviations = np.sqrt(np.asarray(variances[block], np.float64)[order])
        shown = [str(j) if names is None else str(names[j]) for j in order.tolist()]
        return cls(shown, mean[order], deviations).plot(ax, **bars)

    def plot(self, ax: Any = None, **bars: Any) -> Self:
        ax = self._axes(ax)
        places = np.arange(len(self.names))
        colors = np.where(self.weights >= 0, "#1a7f37", "#b3261e")
        self.bars_ = ax.barh(places, self.weights, xerr=self.deviations, **{"color": colors.tolist(), **bars})
        ax.set_yticks(places, self.names)
        ax.invert_yaxis()
        ax.axvline(0, color="black", linewidth=0.8)
        ax.set_xlabel("weight" if self.deviations is None else "weight, with one standard deviation")
        return self


class ReliabilityDisplay(_Display):
    """Whether probabilities are right: how often a prediction is right, by the probability that it was given.

    `predicted` and `correct` are means over the rows of each of ten ranges, and `rows` how many there are in it.
    """

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
        cls, estimator: Any, X: Any, y: Any, *, name: str | None = None, ax: Any = None, **line: Any
    ) -> Self:
        """Of a fitted classifier with `predict_proba`, on rows that it has not learned from."""
        if not hasattr(estimator, "predict_proba"):
            raise TypeError(f"expected a classifier that has predict_proba, got {estimator!r}")
        chances = estimator.predict_proba(X)
        classes = np.asarray(estimator.classes_)
        y = np.asarray(y)
        if y.shape != (len(chances),):
            raise ValueError(f"y must have one label for each of {len(chances)} rows, got shape {y.shape}")
        if unknown := set(np.unique(y).tolist()) - set(classes.tolist()):
            raise ValueError(f"y has the labels {sorted(unknown)}, which the classifier does not know")
        measures = Measures([str(label) for label in classes])
        measures.add(np.searchsorted(classes, y), np.argmax(chances, axis=1), chances)
        rows, expected, correct = measures.bins[measures.bins[:, 0] > 0].T
        found = cls(expected / rows, correct / rows, rows.astype(np.int64), name or type(estimator).__name__)
        return found.plot(ax, **line)

    def plot(self, ax: Any = None, **line: Any) -> Self:
        ax = self._axes(ax)
        ax.plot([0, 1], [0, 1], color="gray", linestyle=":", linewidth=1)
        (self.line_,) = ax.plot(self.predicted, self.correct, **{"label": self.name, "marker": "o", **line})
        ax.set(xlabel="probability that was predicted", ylabel="part that was right", xlim=(0, 1), ylim=(0, 1.02))
        ax.set_aspect("equal")
        ax.legend()
        return self
