"""The labels of a text whose rows may have several."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cwlearn.core.label_sets import LabelSets
from cwlearn.core.learner import Learner
from cwlearn.core.states.base import NONE
from cwlearn.errors import listed
from cwlearn.text._svmlight import SETS
from cwlearn.text.batch import Batch, labels_in
from cwlearn.text.labels import Label, Labels
from cwlearn.utils.growable import GrowableArray

if TYPE_CHECKING:
    from cwlearn.text.reader import Reader

MOST_DIGITS = 18  # of a label that is a whole number


class SetLabels(Labels):
    """Labels, all of which are texts, and the different sets of labels that rows have.

    Rows have the places of their sets in the order of their first occurrence, so that a set keeps its place when others
    come.  If all labels are whole numbers as one writes them, they are numbers in the model, and sorted as such.
    """

    multilabel = True

    def __init__(self, texts: dict[Label, str] | None = None, guessed: bool = False) -> None:
        super().__init__(None if texts is None else {text: text for text in texts.values()}, guessed)
        self._sets: dict[tuple[int, ...], int] = {}  # by the places of their labels
        self._ends, self._members = GrowableArray(np.int64), GrowableArray(np.int32)
        self._ends.append(np.zeros(1, np.int64))

    @property
    def type(self) -> int | None:
        return SETS

    @property
    def enough(self) -> bool:
        return len(self) > 0

    @property
    def _are_numbers(self) -> bool:
        return all(_is_whole(text) for text in self.texts.values())

    @property
    def names(self) -> list[str]:
        return sorted(self.texts.values(), key=int if self._are_numbers else None)

    @property
    def values(self) -> NDArray[np.int64] | NDArray[np.str_]:  # type: ignore[override]
        return np.array([*map(int, self.names)], np.int64) if self._are_numbers else np.array(self.names)

    # -- labels of rows ------------------------------------------------------------------------------------------------

    @property
    def sets(self) -> LabelSets:
        """The sets so far, by the numbers of their labels among the sorted ones."""
        ranks, places = np.empty(len(self), np.int32), self.places
        for rank, name in enumerate(self.names):
            ranks[places[name]] = rank
        return LabelSets(self._ends.values, ranks[self._members.values])

    def encode(self, labels: NDArray[np.float64], learner: Learner) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return labels, NONE

    def add(self, batch: Batch) -> str | None:
        """Count the labels of a batch; return the text of the first new label, if there is one."""
        if not batch.rows.n_rows:
            return None
        assert batch.label_names is not None
        known, codes = len(self), np.empty(len(batch.label_names))
        numbers = batch.labels.astype(np.int64)
        counts = np.bincount(numbers, minlength=len(codes)).tolist()
        for number, (text, count) in enumerate(zip(batch.label_names, counts, strict=True)):
            labels = dict.fromkeys(labels_in(text, batch.parser.separator))
            for label in labels:
                if label not in self.texts:
                    if self.fixed:
                        row = int(np.argmax(numbers == number))
                        raise batch.row_error(row, f"label {label} is not one of the labels {listed(self.names)}")
                    self.texts[label], self.counts[label] = label, 0
                self.counts[label] += count
            codes[number] = self._place_of([*labels])
        batch.labels, batch.label_names = codes[numbers], None  # they are places among all sets now
        return str(next(islice(self.texts, known, None))) if len(self) > known else None

    def _place_of(self, labels: list[str]) -> int:
        """The place of a set, which is added if it is new."""
        places = self.places
        members = tuple(sorted(places[label] for label in labels))
        if members not in self._sets:
            self._sets[members] = len(self._sets)
            self._members.append(np.array(members, np.int32))
            self._ends.append(np.array([self._members.size], np.int64))
        return self._sets[members]

    def first_row_of(self, text: str, batch: Batch) -> int:
        place = self.places[text]
        having = [number for members, number in self._sets.items() if place in members]
        return int(np.argmax(np.isin(batch.labels, having)))

    def add_samples(self, reader: Reader) -> None:
        for batch in reader.samples():
            for text in batch.label_names or ():
                for label in labels_in(text, batch.parser.separator):
                    if label not in self.texts:
                        self.texts[label], self.counts[label] = label, 0


def _is_whole(text: str) -> bool:
    """Whether a label is a whole number as one writes it."""
    return len(text) <= MOST_DIGITS and text.isascii() and text.lstrip("-").isdigit() and str(int(text)) == text
