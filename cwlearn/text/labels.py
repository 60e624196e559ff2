"""The labels of a text: which ones occur, how they are written, and how many rows have each."""

from __future__ import annotations

import math
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from cwlearn.core.class_labels import label_text
from cwlearn.core.label_sets import LabelSets
from cwlearn.core.learner import Learner
from cwlearn.core.parameters import LabelError, label_value
from cwlearn.core.rows import Rows
from cwlearn.core.rule import Rule
from cwlearn.core.states.base import NONE
from cwlearn.errors import DataError, listed
from cwlearn.text._svmlight import NUMBERS, SETS, TEXTS
from cwlearn.text.batch import Batch
from cwlearn.text.reader import Reader

FEW_LABELS = 16  # are counted faster one by one than by a search
NO_CLASS = (
    "is not a whole number: expected a class, or `labels` that name it; what predicts numbers is a regression "
    "(`task='regression'`, AROWRegressor in Python)"
)
LONGEST_TEXT = 40  # bytes of a number that are kept as they are written

Label = float | str  # all labels of a text are numbers, or all are texts


class Labels:
    """Labels, each with the text that it first occurs as: 1, +1 and 1.0 are one label.

    Rows have numbers as they are.  Of labels that are texts, rows have the places in the order of their first
    occurrence (`add` sees to that), so that a label keeps its place when others come.
    """

    multilabel = False  # rows may have several labels: `set_labels.SetLabels`

    def __init__(self, texts: dict[Label, str] | None = None, guessed: bool = False) -> None:
        self.guessed = guessed  # they come from samples, and there may be others
        self.fixed = texts is not None and not guessed  # there are no others
        self.texts: dict[Label, str] = dict(texts or {})
        self.counts: dict[Label, int] = {}
        self._places: dict[Label, int] = {}  # of the first labels; `places` adds those of the others
        self.reset_counts()

    @classmethod
    def of(cls, learner: Learner) -> Labels:
        """The labels of a model, and no others."""
        if learner.rule.task == "regression":
            return Targets()
        if learner.multilabel:
            return labels_for(
                learner.rule, dict(zip(learner.label_names, learner.label_names, strict=True)), several=True
            )
        labels = learner.classes.tolist()
        if learner.classes.dtype.kind in "UO":
            return cls(dict(zip(labels, labels, strict=True)))
        try:
            return cls(dict(zip(map(label_value, labels), learner.label_names, strict=True)))
        except LabelError as error:
            raise DataError(f"the labels of the model cannot be those of a text: {error}") from None

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def are_texts(self) -> bool:
        return any(isinstance(label, str) for label in self.texts)

    @property
    def type(self) -> int | None:
        """NUMBERS, TEXTS, or None while there are no labels."""
        return None if not self.texts else TEXTS if self.are_texts else NUMBERS

    @property
    def enough(self) -> bool:
        """Whether there are enough labels to learn from."""
        return len(self) > 1

    def reset_counts(self) -> None:
        self.counts = dict.fromkeys(self.texts, 0)

    @property
    def values(self) -> NDArray[np.float64] | NDArray[np.str_]:
        return np.array(sorted(self.texts))

    @property
    def names(self) -> list[str]:
        """The texts, in the order of the values."""
        return [self.texts[label] for label in sorted(self.texts)]

    @property
    def places(self) -> dict[Label, int]:
        """The place of each label in the order of their first occurrence."""
        known = len(self._places)
        self._places.update({label: place for place, label in enumerate(islice(self.texts, known, None), known)})
        return self._places

    # -- labels of rows ------------------------------------------------------------------------------------------------

    def numbers(self, labels: NDArray[np.float64]) -> NDArray[np.int64]:
        """The numbers among the sorted labels of the labels that rows have."""
        if not self.are_texts:
            values = self.values
            return (
                np.asarray(labels == values[1]).astype(np.int64) if len(self) == 2 else np.searchsorted(values, labels)
            )
        ranks = np.empty(len(self), np.int64)
        ranks[sorted(range(len(self)), key=list(self.texts).__getitem__)] = np.arange(len(self))
        return ranks[labels.astype(np.int64)]

    def encode(self, labels: NDArray[np.float64], learner: Learner) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Targets of rows as the learner takes them, and the weights of the rows."""
        numbers = self.numbers(labels)
        counts = [self.counts[label] for label in sorted(self.texts)]
        return learner.targets(numbers), learner.class_weights(numbers, counts)

    def encode_rows(
        self, rows: Rows, labels: NDArray[np.float64], learner: Learner
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """As `encode`, with the weights that rows have themselves."""
        targets, weights = self.encode(labels, learner)
        if rows.weights is not None:
            weights = rows.weights * weights if len(weights) else rows.weights
        return targets, weights

    @property
    def sets(self) -> LabelSets | None:
        """The sets of labels that rows have, if these may have several."""
        return None

    def add(self, batch: Batch) -> str | None:
        """Count the labels of a batch; return the text of the first new label, if there is one."""
        if not batch.rows.n_rows:
            return None
        return self._add_numbers(batch) if batch.label_names is None else self._add_texts(batch)

    def _add_texts(self, batch: Batch) -> str | None:
        assert batch.label_names is not None
        known = len(self)
        for number, name in enumerate(batch.label_names):
            if name not in self.texts:
                if self.fixed:
                    row = int(np.argmax(batch.labels == number))
                    raise batch.row_error(row, f"label {name} is not one of the labels {listed(self.names)}")
                self.texts[name], self.counts[name] = name, 0
        places, numbers = self.places, batch.labels.astype(np.int64)
        for name, count in zip(batch.label_names, np.bincount(numbers).tolist(), strict=False):
            self.counts[name] += count
        batch.labels = np.array([places[name] for name in batch.label_names], np.float64)[numbers]
        batch.label_names = None  # they are places among all labels now
        return str(next(islice(self.texts, known, None))) if len(self) > known else None

    def _add_numbers(self, batch: Batch) -> str | None:
        uncounted = self._count(batch.labels)
        if not uncounted.any():
            return None
        values, first_rows, counts = np.unique(batch.labels[uncounted], return_index=True, return_counts=True)
        rows = np.flatnonzero(uncounted)[first_rows]
        order = np.argsort(rows)
        first_new = None
        texts = batch.label_texts(rows[order].tolist())
        for number, written in zip(order.tolist(), texts, strict=True):
            value, row = float(values[number]), int(rows[number])
            text = _shortened(written, value)
            if self.fixed:
                raise batch.row_error(row, f"label {text} is not one of the labels {listed(self.names)}")
            if not value.is_integer():
                raise batch.row_error(row, f"label {text} {NO_CLASS}")
            try:
                label_value(text)
            except LabelError as error:
                raise batch.row_error(row, str(error)) from None
            if value not in self.texts and first_new is None:
                first_new = text
            self.texts[value], self.counts[value] = text, int(counts[number])
        return first_new

    def _count(self, labels: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Count the labels that have occurred before; return which of the rows have others."""
        counted = [value for value in sorted(self.texts) if self.fixed or self.counts[value]]
        others = np.ones(len(labels), bool)
        if len(counted) <= FEW_LABELS:
            for value in counted:
                same = labels == value
                self.counts[value] += int(np.count_nonzero(same))
                others &= ~same
            return others
        values = np.array(counted)
        numbers = np.minimum(np.searchsorted(values, labels), len(values) - 1)
        others = np.asarray(values[numbers] != labels)
        for value, count in zip(counted, np.bincount(numbers[~others], minlength=len(counted)).tolist(), strict=True):
            self.counts[value] += count
        return others

    def first_row_of(self, text: str, batch: Batch) -> int:
        """The first row of a batch whose label has this text."""
        place = next(place for place, written in enumerate(self.texts.values()) if written == text)
        value = place if self.are_texts else list(self.texts)[place]
        return int(np.argmax(batch.labels == value))

    def add_samples(self, reader: Reader) -> None:
        """Add the labels of some lines from all over the files, which takes a few milliseconds.

        A file that is sorted by label would otherwise show its other labels only when much of it has been read.  Lines
        that the reader skips add no labels.
        """
        for batch in reader.samples():
            if batch.label_names is not None:
                samples: list[tuple[Label, str]] = [(name, name) for name in batch.label_names]
            else:
                values, rows = np.unique(batch.labels, return_index=True)
                texts = batch.label_texts(rows.tolist())
                samples = [
                    (value, _shortened(text, value))
                    for value, text in zip(values.tolist(), texts, strict=True)
                    if value.is_integer()
                ]
            for label, text in samples:
                if label not in self.texts:
                    self.texts[label], self.counts[label] = text, 0


class Targets(Labels):
    """The targets of a regression: any numbers."""

    def __init__(self) -> None:
        super().__init__({})

    @property
    def type(self) -> int | None:
        return NUMBERS

    @property
    def enough(self) -> bool:
        return True

    def add(self, batch: Batch) -> str | None:
        if batch.label_names is not None:
            values, numbers = (
                np.array([target_value(name) for name in batch.label_names]),
                batch.labels.astype(np.int64),
            )
            if (wrong := np.isnan(values[numbers])).any():
                row = int(np.argmax(wrong))
                raise batch.row_error(row, f"target {batch.label_names[numbers[row]]} is not a number")
            batch.labels, batch.label_names = values[numbers], None
        wrong = np.isnan(batch.labels)
        if wrong.any():
            row = int(np.argmax(wrong))
            (text,) = batch.label_texts([row])
            raise batch.row_error(row, f"target {text} is not a number")
        return None

    def encode(self, labels: NDArray[np.float64], learner: Learner) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return labels, NONE


def label_type_of(learner: Learner) -> int:
    """Whether the labels of a model are numbers, texts or sets of texts, even if no text can have them."""
    if learner.multilabel:
        return SETS
    return TEXTS if learner.classes.dtype.kind in "UO" else NUMBERS


def labels_for(
    rule: Rule, texts: dict[Label, str] | None = None, guessed: bool = False, several: bool = False
) -> Labels:
    """What a line begins with, for this rule; `texts` are the labels, if they are known or guessed.

    With `several` a row may have any number of them.
    """
    if several:
        from cwlearn.text.set_labels import SetLabels  # which one label a row does not need

        return SetLabels(texts, guessed)
    return Targets() if rule.task == "regression" else Labels(texts, guessed)


def target_value(text: str) -> float:
    """The number that a text is, or NaN."""
    try:
        value = float(text)
    except ValueError:
        return math.nan
    return value if math.isfinite(value) and text.isascii() and "_" not in text else math.nan


def _shortened(text: str, value: float) -> str:
    """A label as it is written, or in a short form where it is written with very many digits."""
    return text if len(text) <= LONGEST_TEXT else label_text(value)
