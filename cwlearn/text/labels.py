"""The labels of a text: which ones occur, how they are written, and how many rows have each."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cwlearn.core.class_labels import label_text
from cwlearn.core.learner import Learner
from cwlearn.core.parameters import LabelError, label_value
from cwlearn.core.rule import Rule
from cwlearn.errors import DataError, listed
from cwlearn.text.batch import Batch
from cwlearn.text.reader import Reader

FEW_LABELS = 16  # are counted faster one by one than by a search
LONGEST_TEXT = 40  # bytes of a label that are kept as they are written


class Labels:
    """Labels by value, each with the text that it first occurs as: 1, +1 and 1.0 are one label."""

    def __init__(self, texts: dict[float, str] | None = None, guessed: bool = False) -> None:
        self.guessed = guessed  # they come from samples, and there may be others
        self.fixed = texts is not None and not guessed  # there are no others
        self.texts = dict(texts or {})
        self.counts: dict[float, int] = {}
        self.reset_counts()

    @classmethod
    def of(cls, learner: Learner) -> Labels:
        """The labels of a model, and no others."""
        if learner.rule.task == "regression":
            return Targets()
        if learner.classes.dtype.kind not in "biuf":
            raise DataError(
                f"the labels of the model are {listed(learner.label_names)}, but labels of svmlight text are numbers"
            )
        try:
            return cls(dict(zip(map(label_value, learner.classes.tolist()), learner.label_names, strict=True)))
        except LabelError as error:
            raise DataError(f"the labels of the model cannot be those of svmlight text: {error}") from None

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def enough(self) -> bool:
        """Whether there are enough labels to learn from."""
        return len(self) > 1

    def reset_counts(self) -> None:
        self.counts = dict.fromkeys(self.texts, 0)

    @property
    def values(self) -> NDArray[np.float64]:
        return np.array(sorted(self.texts))

    @property
    def names(self) -> list[str]:
        """The texts, in the order of the values."""
        return [self.texts[value] for value in sorted(self.texts)]

    def add(self, batch: Batch) -> str | None:
        """Count the labels of a batch; return the text of the first new label, if there is one."""
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
                what = f"label {text} is not a whole number: expected a class, or `labels` that name it"
                raise batch.row_error(row, what)
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

    def value_of(self, text: str) -> float:
        return next(value for value, written in self.texts.items() if written == text)

    def add_samples(self, reader: Reader) -> None:
        """Add the labels of some lines from all over the files, which takes a few milliseconds.

        A file that is sorted by label would otherwise show its other labels only when much of it has been read.  Lines
        that the reader skips add no labels.
        """
        for batch in reader.samples():
            values, rows = np.unique(batch.labels, return_index=True)
            for value, text in zip(values.tolist(), batch.label_texts(rows.tolist()), strict=True):
                if value not in self.texts and value.is_integer():
                    self.texts[value], self.counts[value] = _shortened(text, value), 0


class Targets(Labels):
    """The targets of a regression: any numbers."""

    def __init__(self) -> None:
        super().__init__({})

    @property
    def enough(self) -> bool:
        return True

    def add(self, batch: Batch) -> str | None:
        return None


def labels_for(rule: Rule, texts: dict[float, str] | None = None, guessed: bool = False) -> Labels:
    """What a line begins with, for this rule; `texts` are the labels, if they are known or guessed."""
    return Targets() if rule.task == "regression" else Labels(texts, guessed)


def _shortened(text: str, value: float) -> str:
    """A label as it is written, or in a short form where it is written with very many digits."""
    return text if len(text) <= LONGEST_TEXT else label_text(value)
