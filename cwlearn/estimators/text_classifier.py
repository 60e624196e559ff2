"""Documents and their labels: a classifier with its own way to make rows of texts."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import Field, fields
from functools import partial
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if

from cwlearn.core import model_file
from cwlearn.core.explaining import TOP, Explanation
from cwlearn.core.frequencies import Frequencies
from cwlearn.core.learner import Learner
from cwlearn.core.one_row import Parts
from cwlearn.core.parameters import require
from cwlearn.core.rows import Rows, as_rows
from cwlearn.core.text_options import BITS, DEFAULT_BITS, DEFAULT_PATTERN, OF_FILES, TextOptions
from cwlearn.core.training import row_dtype
from cwlearn.estimators.auto import AutoClassifier
from cwlearn.estimators.base import defaults_of
from cwlearn.estimators.classifier import LinearClassifier
from cwlearn.estimators.multilabel import MultiLabelClassifier
from cwlearn.estimators.one_row import OneRowClassifier
from cwlearn.estimators.vectorizer import HashingVectorizer
from cwlearn.text.explaining import explain_text
from cwlearn.text.hashing import HashingSettings, settings_of
from cwlearn.text.naming import name_columns_of_texts
from cwlearn.text.one_document import parts_of_text, row_of_text
from cwlearn.text.records_in_memory import rows_of_records
from cwlearn.utils.signals import signals_wait


class _Vectorizer(HashingVectorizer):
    """Makes rows as the files of documents become rows."""

    def __init__(self, settings: HashingSettings) -> None:
        super().__init__(n_features=settings.n_features)
        self.settings = settings

    def _settings(self) -> HashingSettings:
        return self.settings


def _classifier_has(name: str) -> Any:
    """Whether the classifier has a method."""
    return lambda self: hasattr(getattr(self, "classifier_", None) or self._new_classifier(), name)


class TextClassifier(ClassifierMixin, BaseEstimator, OneRowClassifier):  # type: ignore[misc]
    r"""Classify documents: hashed n-grams, and a linear classifier of this package.

    The model knows how its documents became rows: `save` writes it, `cwlearn.load` and the command line read it.  The
    weights are those of `cwlearn train` on a file of the same documents, to the bit.

    Parameters
    ----------
    classifier : a linear classifier of this package, or a MultiLabelClassifier, optional
        What learns; by default `AutoClassifier(fit_intercept=False)`, which chooses rule, parameters and epochs.
    ngram_range : tuple (low, high), default=(1, 2)
        Numbers of neighbouring tokens that make a feature.
    analyzer : {"word", "char", "char_wb"}, default="word"
        Tokens are words, characters, or characters within words.
    lowercase : bool, default=True
        Make all letters small.
    strip_accents : {"ascii", "unicode"}, optional
        Remove accents from letters.
    stop_words : sequence of str, optional
        Words that are left out.
    token_pattern : {``r"(?u)\b\w\w+\b"``, ``r"\S+"``}, default ``r"(?u)\b\w\w+\b"``
        What a word is: two or more letters or digits, or all that stands between white space.
    weighting : {"count", "binary", "log"}, default="log"
        Value of a feature: its count n, 1, or 1 + ln n.
    idf : bool, default=True
        Weigh features by inverse document frequency: that of the texts so far in one pass, that of all in several.
    norm : {"l1", "l2"} or None, default="l2"
        Bring all rows to the length 1.
    hash_bits : int, default=20
        Features are hashed to this number of bits, which makes 2^hash_bits columns.

    Attributes
    ----------
    classifier_ : the classifier, fitted
    classes_ : the labels

    Examples
    --------
    >>> from cwlearn import TextClassifier
    >>> texts = ["a fine film", "a dull film", "fine acting", "dull and long"]
    >>> model = TextClassifier().fit(texts, ["good", "bad", "good", "bad"])
    >>> model.predict(["fine and short"]).tolist()
    ['good']
    """

    def __init__(
        self,
        classifier: LinearClassifier | MultiLabelClassifier | None = None,
        ngram_range: tuple[int, int] = (1, 2),
        *,
        analyzer: Literal["word", "char", "char_wb"] = "word",
        lowercase: bool = True,
        strip_accents: Literal["ascii", "unicode"] | None = None,
        stop_words: Sequence[str] | None = None,
        token_pattern: str = DEFAULT_PATTERN,
        weighting: Literal["count", "binary", "log"] = "log",
        idf: bool = True,
        norm: Literal["l1", "l2"] | None = "l2",
        hash_bits: int = DEFAULT_BITS,
    ) -> None:
        self.classifier = classifier
        self.ngram_range = ngram_range
        self.analyzer = analyzer
        self.lowercase = lowercase
        self.strip_accents = strip_accents
        self.stop_words = stop_words
        self.token_pattern = token_pattern
        self.weighting = weighting
        self.idf = idf
        self.norm = norm
        self.hash_bits = hash_bits

    @classmethod
    def _get_param_names(cls) -> list[str]:
        """List the parameters in the order of the constructor; scikit-learn would sort them."""
        return list(defaults_of(cls))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        tags.no_validation = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return "classifier_" in vars(self)

    # -- learning ------------------------------------------------------------------------------------------------------

    def fit(self, texts: Any, labels: Any, sample_weight: Any = None) -> Self:
        """Learn from texts, a list or a column of strings, with their labels, in the epochs of the classifier.

        The model keeps the words of its heaviest weights, as that of `cwlearn train` does.
        """
        texts = texts if hasattr(texts, "__len__") else [*texts]
        classifier, documents = self._new_classifier(), self._documents()
        frequencies = Frequencies(1 << self.hash_bits, documents.norm) if documents.idf else None
        X = self._matrix(texts, classifier)
        if frequencies is not None:
            training = classifier._options()[1]
            in_one_pass = training.epochs == 1 and not training.shuffle
            X = _changed(X, frequencies.count_and_weigh if in_one_pass else partial(_count_then_weigh, frequencies))
        classifier.fit(X, labels, **_weights(sample_weight))
        self._tell(classifier._learner, frequencies)
        name_columns_of_texts(classifier._learner, [*texts])
        self.classifier_ = classifier  # last: an interruption leaves the one before
        return self

    def partial_fit(self, texts: Any, labels: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from texts once, in their order.  The first call must name all labels in `classes`."""
        known, documents = self.__sklearn_is_fitted__(), self._documents()
        classifier = self.classifier_ if known else self._new_classifier()
        if known:
            self._check_fields(classifier)
        frequencies = classifier._learner.frequencies if known else None
        if documents.idf and not known:
            frequencies = Frequencies(1 << self.hash_bits, documents.norm)
        X = self._matrix(texts, classifier)
        with signals_wait():  # a text is counted and learned, or neither
            if frequencies is not None:
                X = _changed(X, frequencies.count_and_weigh)
            try:
                classifier.partial_fit(X, labels, classes, **_weights(sample_weight))
            except Exception as error:
                if known and frequencies is not None:
                    learned = getattr(error, "row", None) or 0  # rows before one that cannot be learned
                    frequencies.forget(as_rows(X[learned:], X.dtype))
                raise
            return self._adopt(classifier, frequencies)

    def learn_one(self, text: str, label: Any) -> Self:
        """Learn from one text and its label, as `partial_fit` does; `fit` or `partial_fit` comes first."""
        classifier, learner = self._fitted, self._learner
        self._check_fields(classifier)
        frequencies, learned = learner.frequencies, learner.n_learned
        counted = 0 if frequencies is None else frequencies.n_documents
        try:
            classifier._learn_parts(parts_of_text(text, learner, count=True), label)
        except BaseException:  # an interruption, too: a text is counted and learned, or neither
            if frequencies is not None and frequencies.n_documents > counted and learner.n_learned == learned:
                frequencies.forget(row_of_text(text, learner))
            raise
        return self

    def _new_classifier(self) -> LinearClassifier | MultiLabelClassifier:
        # Beside rows of the length 1 an intercept is long.
        classifier = AutoClassifier(fit_intercept=False) if self.classifier is None else self.classifier
        if not isinstance(classifier, LinearClassifier | MultiLabelClassifier):
            raise TypeError(f"`classifier` must be a linear classifier of cwlearn, got {classifier!r}")
        fresh: LinearClassifier | MultiLabelClassifier = clone(classifier)
        return fresh

    def _documents(self) -> TextOptions:
        """The options, checked."""
        require("hash_bits", self.hash_bits, BITS)
        parameters = self.get_params(deep=False)
        return TextOptions(**{item.name: parameters[item.name] for item in _own_options()})

    def _matrix(self, texts: Any, classifier: LinearClassifier | MultiLabelClassifier) -> Any:
        """The texts as rows, not yet weighed by frequencies."""
        if isinstance(texts, (str, bytes)):
            raise ValueError("expected a list of texts, got one text: put it into a list")
        documents, hash_bits = self._documents(), self.hash_bits
        if classifier.__sklearn_is_fitted__():  # a parameter that is set after that is for the next fit
            learner = classifier._learner
            documents, hash_bits = learner.documents or documents, learner.hash_bits
        try:
            X = _Vectorizer(settings_of(documents, hash_bits)).transform(texts)
        except StopIteration:  # as scikit-learn has it, too: there are no texts
            X = csr_matrix((0, 1 << hash_bits))
        except AttributeError as error:  # as scikit-learn has it: 'int' object has no attribute 'lower'
            if error.name != "lower":
                raise
            raise TypeError(f"expected a list or a column of strings; one of them is not a string ({error})") from None
        return X.astype(row_dtype(*classifier._options()[:2]), copy=False)

    def _scored(self, texts: Any) -> Any:
        """The texts as the model takes them."""
        classifier = self._fitted
        learner = classifier._learner
        if learner.documents is not None and learner.documents.fields:
            rows = learner.weighed(rows_of_records(texts, learner.documents, learner.hash_bits, learner.state.dtype))
            return csr_matrix((rows.values, rows.indices, rows.indptr), (rows.n_rows, rows.n_features))
        X = self._matrix(texts, classifier)
        return X if learner.frequencies is None else _changed(X, learner.weighed)

    def _adopt(
        self, classifier: LinearClassifier | MultiLabelClassifier, frequencies: Frequencies | None = None
    ) -> Self:
        """Become the estimator of a fitted classifier, whose model knows its documents from now on."""
        self._tell(classifier._learner, frequencies)
        self.classifier_ = classifier
        return self

    def _tell(self, learner: Learner, frequencies: Frequencies | None) -> None:
        """Tell a model how its documents became rows."""
        if frequencies is not None:
            learner.frequencies = frequencies
        if learner.documents is None:  # else it has learned from files, and knows their fields
            learner.set_documents(self._documents(), self.hash_bits)

    @staticmethod
    def _check_fields(classifier: LinearClassifier | MultiLabelClassifier) -> None:
        documents = classifier._learner.documents
        if documents is not None and documents.fields:
            names = ", ".join(documents.fields)
            raise ValueError(
                f"this model has learned the fields {names}, too: only files have these, see `cwlearn.train`"
            )

    @classmethod
    def _of(cls, classifier: LinearClassifier | MultiLabelClassifier) -> Self:
        """The estimator of a classifier that has learned documents."""
        documents = classifier._learner.documents
        assert documents is not None
        options = {item.name: getattr(documents, item.name) for item in _own_options()}
        return cls(clone(classifier), **options, hash_bits=classifier._learner.hash_bits)._adopt(classifier)

    # -- what was learned ----------------------------------------------------------------------------------------------

    @property
    def _fitted(self) -> LinearClassifier | MultiLabelClassifier:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError("This TextClassifier instance is not fitted yet. Call 'fit' first.")
        return self.classifier_

    @property
    def _learner(self) -> Learner:
        return self._fitted._learner

    @property
    def _model(self) -> Learner:
        return self._learner

    def _parts(self, x: Any) -> Parts:
        return parts_of_text(x, self._learner)

    @property
    def classes_(self) -> NDArray[Any]:
        return self._fitted.classes_

    def predict(self, texts: Any) -> NDArray[Any]:
        """Predict the label of each text, or of each dictionary if the model has learned further fields of files."""
        return self._fitted.predict(self._scored(texts))

    def decision_function(
        self, texts: Any, *, draws: int | None = None, random_state: Any = None
    ) -> NDArray[np.float64]:
        """Score each text, as the classifier does.  With `draws`, by random weight vectors; see the classifier."""
        classifier: Any = self._fitted
        drawn = {} if draws is None else {"draws": draws, "random_state": random_state}
        scores: NDArray[np.float64] = classifier.decision_function(self._scored(texts), **drawn)
        return scores

    def predict_proba(self, texts: Any) -> NDArray[np.float64]:
        """Return the chance of each label, by text."""
        return self._fitted.predict_proba(self._scored(texts))

    def explain(self, x: Any, top: int = TOP) -> Explanation:
        """Explain the answer for one text: what each of its n-grams adds to the margin.

        The `Explanation` prints the `top` contributions that matter most, and shades the words of the text in a
        notebook; its `contributions` have all of them.
        """
        return explain_text(self._learner, x, top)

    @available_if(_classifier_has("label_distribution"))  # type: ignore[untyped-decorator]
    def label_distribution(
        self, texts: Any, *, draws: int | None = None, random_state: Any = None
    ) -> NDArray[np.float64]:
        """Return the probability that each label has the highest score, by text; see the classifier."""
        classifier: Any = self._fitted
        distribution: NDArray[np.float64] = classifier.label_distribution(
            self._scored(texts), draws=draws, random_state=random_state
        )
        return distribution

    def margin(self, texts: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the mean and the variance of the margin of each text."""
        return self._fitted.margin(self._scored(texts))

    def query(self, texts: Any, n: int = 10) -> NDArray[np.int64]:
        """Return the numbers of the n texts whose labels would teach the model most, the best one first."""
        return self._fitted.query(self._scored(texts), n)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file that `cwlearn.load` reads.  An existing file is replaced in one step."""
        model_file.save(self._learner, path)


def _own_options() -> list[Field[Any]]:
    """The options of documents that are parameters here."""
    return [item for item in fields(TextOptions) if item.name not in OF_FILES]


def _count_then_weigh(frequencies: Frequencies, rows: Rows) -> Rows:
    frequencies.count(rows)
    return frequencies.weigh(rows)


def _changed(X: Any, change: Callable[[Rows], Rows]) -> Any:
    """The matrix with other values."""
    X.data = change(as_rows(X, X.dtype)).values
    return X


def _weights(sample_weight: Any) -> dict[str, Any]:
    """Weights for `fit`; not every classifier takes them."""
    return {} if sample_weight is None else {"sample_weight": sample_weight}
