"""The labels of a text: which there are, how they are written, and how many rows have each."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cwlearn.core.class_labels import label_text
from cwlearn.core.learner import Learner
from cwlearn.core.parameters import LabelError, label_value
from cwlearn.core.rule import Rule
from cwlearn.errors import DataError, listed
from cwlearn.text.svmlight import Batch, Reader

FEW = 16  # labels that are found faster one by one than by a search
LONGEST = 40  # bytes of a label that are kept as they are written


class Labels:
    """Labels by value, each with the first text it was met in: 1, +1 and 1.0 are one label."""

    def __init__(self, texts: dict[float, str] | None = None, guessed: bool = False) -> None:
        self.guessed = guessed  # they have been looked for, and others may come
        self.fixed = texts is not None and not guessed  # no others may come
        self.texts = dict(texts or {})
        self.counts: dict[float, int] = {}
        self.forget_counts()

    @classmethod
    def of(cls, learner: Learner) -> Labels:
        """Those that a model has, and no others."""
        if learner.rule.task == "regression":
            return Targets()
        if learner.classes.dtype.kind not in "biuf":
            raise DataError(
                f"the labels of the model are {', '.join(learner.label_names)}, and those of svmlight text are numbers"
            )
        try:
            return cls(dict(zip(map(label_value, learner.classes.tolist()), learner.label_names, strict=True)))
        except LabelError as error:
            raise DataError(f"the labels of the model cannot be those of svmlight text: {error}") from None

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def enough(self) -> bool:
        """Whether there are as many as it takes to learn."""
        return len(self) > 1

    def forget_counts(self) -> None:
        self.counts = dict.fromkeys(self.texts, 0)

    @property
    def values(self) -> NDArray[np.float64]:
        return np.array(sorted(self.texts))

    @property
    def names(self) -> list[str]:
        """The texts, in the order of the values."""
        return [self.texts[value] for value in sorted(self.texts)]

    def meet(self, batch: Batch) -> str | None:
        """Count the labels of a batch; return the text of the first one that is new, if any is."""
        unknown = self._count(batch.labels)
        if not unknown.any():
            return None
        values, places, counts = np.unique(batch.labels[unknown], return_index=True, return_counts=True)
        rows = np.flatnonzero(unknown)[places]
        order = np.argsort(rows)
        first = None
        texts = batch.texts_of(rows[order].tolist())
        for place, written in zip(order.tolist(), texts, strict=True):
            value, row = float(values[place]), int(rows[place])
            text = _short(written, value)
            if self.fixed:
                raise batch.error(row, f"label {text} is not one of the labels {listed(self.names)}")
            if not value.is_integer():
                raise batch.error(row, f"label {text} is not a whole number: expected a class, or --labels to name it")
            try:
                label_value(text)
            except LabelError as error:
                raise batch.error(row, str(error)) from None
            if value not in self.texts and first is None:
                first = text
            self.texts[value], self.counts[value] = text, int(counts[place])
        return first

    def _count(self, labels: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Count the labels that have been met before; the others are marked in what is returned."""
        met = [value for value in sorted(self.texts) if self.fixed or self.counts[value]]
        unknown = np.ones(len(labels), bool)
        if len(met) <= FEW:
            for value in met:
                same = labels == value
                self.counts[value] += int(np.count_nonzero(same))
                unknown &= ~same
            return unknown
        known = np.array(met)
        numbers = np.minimum(np.searchsorted(known, labels), len(known) - 1)
        unknown = np.asarray(known[numbers] != labels)
        for value, count in zip(met, np.bincount(numbers[~unknown], minlength=len(met)).tolist(), strict=True):
            self.counts[value] += count
        return unknown

    def value_of(self, text: str) -> float:
        return next(value for value, known in self.texts.items() if known == text)

    def look_ahead(self, reader: Reader) -> None:
        """Find labels at some places of the files, in a few milliseconds: a file that is sorted by label would
        otherwise tell of the others only when much of it has been read.  A line that the reader skips has none."""
        for batch in reader.samples():
            values, rows = np.unique(batch.labels, return_index=True)
            for value, text in zip(values.tolist(), batch.texts_of(rows.tolist()), strict=True):
                if value not in self.texts and value.is_integer():
                    self.texts[value], self.counts[value] = _short(text, value), 0


class Targets(Labels):
    """The targets of a regression: any numbers, each of which may stand for itself."""

    def __init__(self) -> None:
        super().__init__({})

    @property
    def enough(self) -> bool:
        return True

    def meet(self, batch: Batch) -> str | None:
        return None


def labels_for(rule: Rule, texts: dict[float, str] | None = None, guessed: bool = False) -> Labels:
    """What stands at the beginning of a line, for this rule; `texts` are the labels, if they are known or guessed."""
    return Targets() if rule.task == "regression" else Labels(texts, guessed)


def _short(text: str, value: float) -> str:
    """A label as it is written, unless it is written with so many digits that nobody would want to see them."""
    return text if len(text) <= LONGEST else label_text(value)
