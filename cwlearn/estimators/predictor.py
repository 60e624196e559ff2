"""A saved model that only predicts, without scikit-learn and SciPy, which take a second to import."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cwlearn.core import model_file, one_row
from cwlearn.core.explaining import TOP, Explanation
from cwlearn.core.learner import Learner
from cwlearn.core.one_row import Parts
from cwlearn.core.parameters import read_size
from cwlearn.core.rows import Rows, as_rows
from cwlearn.estimators.one_row import OneRowClassifier


class Predictor(OneRowClassifier):
    """A model that only predicts; `load_predictor` makes it.

    It takes what the model was trained with: texts, or a matrix.  Its answers are those of the estimator that
    `cwlearn.load` gives.

    Attributes
    ----------
    classes_ : the labels; none in a regression
    n_features_in_ : the number of columns
    """

    def __init__(self, learner: Learner) -> None:
        self._learner = learner
        self._of_texts = learner.documents is not None and not learner.documents.named_features
        _ = learner.predictor  # derived now, not with the first answer

    def __repr__(self) -> str:
        learner = self._learner
        what = "texts" if self._of_texts else f"{learner.state.n_features:,} features"
        return f"<Predictor of {learner.rule.name} for {what}>"

    @property
    def _model(self) -> Learner:
        return self._learner

    @property
    def classes_(self) -> NDArray[Any]:
        return self._learner.classes

    @property
    def n_features_in_(self) -> int:
        return self._learner.state.n_features

    def _parts(self, x: Any) -> Parts:
        if not self._of_texts:
            return super()._parts(x)
        from cwlearn.text.one_document import parts_of_text  # which models of numbers do not need

        return parts_of_text(x, self._learner)

    def _rows(self, X: Any) -> Rows:
        learner = self._learner
        if not self._of_texts:
            return as_rows(X, learner.state.dtype, n_features=learner.state.n_features)
        from cwlearn.text.one_document import rows_of_texts

        return rows_of_texts(X, learner)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the label of each text or row; in a regression, its target."""
        learner, rows = self._learner, self._rows(X)
        if not len(learner.classes):
            return learner.margins(rows, only_mean=True)[0]
        labels: NDArray[Any] = learner.classes[learner.predictions(rows)]
        return labels

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the chance of each label, by text or row."""
        learner, rows = self._learner, self._rows(X)
        self._need_labels()
        only_mean = learner.several and learner.calibration is not None
        return learner.probabilities(rows, *learner.margins(rows, only_mean=only_mean))

    def margin(self, X: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return mean and variance of the margin of each text or row; with more than two labels, by label."""
        return self._learner.margins(self._rows(X))

    def predict_one(self, x: Any) -> Any:
        """Predict the label of one text, or of one row: a dictionary {column: value}, or a row of a matrix.

        In a regression this is the target.
        """
        if not len(self._learner.classes):
            return float(one_row.measured(self._parts(x), self._learner)[1])
        return super().predict_one(x)

    def predict_proba_one(self, x: Any) -> dict[Any, float]:
        """Return the chance of each label of one text or row, by label."""
        self._need_labels()
        return super().predict_proba_one(x)

    def explain(self, x: Any, top: int = TOP) -> Explanation:
        """Explain the answer for one text or row: what each of its words or features adds to the margin."""
        if not self._of_texts:
            return super().explain(x, top)
        from cwlearn.text.explaining import explain_text

        return explain_text(self._learner, x, top)

    def _need_labels(self) -> None:
        if not len(self._learner.classes):
            raise ValueError("a regression has no probabilities")


def load_predictor(path: str | os.PathLike[str], max_memory: int | str | None = None) -> Predictor:
    """Load a model file to predict with, without scikit-learn, in a fifth of a second from the start of Python.

    Parameters
    ----------
    path : path
        A file that `save` or the command line has written.
    max_memory : int or str, optional
        Bytes, or a text such as "4G", that the model may take; see `cwlearn.load`.

    Examples
    --------
    >>> import cwlearn
    >>> model = cwlearn.load_predictor("spam.npz")                  # doctest: +SKIP
    >>> model.predict_one("win a free prize")                       # doctest: +SKIP
    'spam'
    """
    return Predictor(model_file.load(path, read_size(max_memory) if isinstance(max_memory, str) else max_memory))
