"""One row at a time: what the classifiers, `TextClassifier` and predictors share.  Names are river's."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from cwlearn.core import one_row
from cwlearn.core.explaining import TOP, Explanation, explain
from cwlearn.core.learner import Learner
from cwlearn.core.one_row import Parts
from cwlearn.errors import DataError


class OneRow:
    """Base of what answers one row."""

    @property
    @abstractmethod
    def _model(self) -> Learner:
        """What was learned."""

    def _parts(self, x: Any) -> Parts:
        """The columns and values of a row."""
        return one_row.parts_of(x, self._model)

    def explain(self, x: Any, top: int = TOP) -> Explanation:
        """Explain the answer for one row: what each of its features adds to the margin.

        x is what `predict_one` takes.  The `Explanation` prints the `top` contributions that matter most, and is a
        table in a notebook; its `contributions` have all of them.  With several labels, they are those to the margin of
        the predicted label over the runner-up.
        """
        model = self._model
        return explain(model, one_row.row_of_parts(self._parts(x), model), feature_name(model), top)


class OneRowClassifier(OneRow):
    """Answers one row with a label."""

    def predict_one(self, x: Any) -> Any:
        """Predict the label of one row: a dictionary {column: value}, or a row of a matrix.

        The answer is that of `predict`, in a few microseconds.  If the model knows names of features, these are the
        keys of a dictionary.
        """
        model = self._model
        return labels_of(model)[one_row.predicted_number(self._parts(x), model)]

    def predict_proba_one(self, x: Any) -> dict[Any, float]:
        """Return the chance of each label of one row, by label; see `predict_one` and `predict_proba`."""
        model = self._model
        return dict(zip(labels_of(model), one_row.probabilities(self._parts(x), model), strict=True))


def feature_name(model: Learner) -> Callable[[int], str]:
    """A function from a column to the name of its feature."""
    names = model.feature_names
    return str if names is None else lambda column: str(names[column])


def labels_of(model: Learner) -> list[Any]:
    """The labels of a model."""
    labels: list[Any] | None = model.kept.get("labels")
    if labels is None or len(labels) != len(model.classes):
        labels = model.kept["labels"] = model.classes.tolist()
    return labels


def number_of(label: Any, model: Learner) -> int:
    """The number of a label."""
    numbers = model.kept.get("numbers")
    if numbers is None or len(numbers) != len(model.classes):
        numbers = model.kept["numbers"] = {label: number for number, label in enumerate(model.classes.tolist())}
    try:
        return int(numbers[label])
    except (KeyError, TypeError):
        given = np.asarray(label)
        if given.ndim or given.dtype.kind not in "biufUO":
            raise DataError(f"expected one label, got {label!r:.80}") from None
        return int(model.number(given.reshape(1))[0])  # which says what is wrong
