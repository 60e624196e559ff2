"""The labels of a text: which there are, how they are written, and how many rows have each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

from cwlearn.bad_lines import DECIMAL, Grammar, find_flaw
from cwlearn.errors import DataError
from cwlearn.learner import Learner
from cwlearn.svmlight import Batch
from cwlearn.text_files import is_plain

PLACES = 64  # of a file, at which labels are looked for
PLACE_BYTES = 1 << 14
PLACE_LINES = 16


class Labels:
    """Labels by value, each with the first text it was met in: 1, +1 and 1.0 are one label."""

    def __init__(self, texts: dict[float, str] | None = None) -> None:
        self.fixed = texts is not None  # no others may come
        self.texts = dict(texts or {})
        self.counts: dict[float, int] = {}
        self.forget_counts()

    @classmethod
    def of(cls, learner: Learner) -> Self:
        """Those that a model has, and no others."""
        if learner.classes.dtype.kind not in "biuf":
            raise DataError(
                f"the labels of the model are {', '.join(learner.label_names)}, and those of svmlight text are numbers"
            )
        return cls(dict(zip(map(float, learner.classes.tolist()), learner.label_names, strict=True)))

    def __len__(self) -> int:
        return len(self.texts)

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
        unknown = np.ones(batch.rows.n_rows, bool)
        for value in self.texts:
            if self.fixed or self.counts[value]:
                same = batch.labels == value
                self.counts[value] += int(np.count_nonzero(same))
                unknown &= ~same
        first = None
        while unknown.any():
            row = int(unknown.argmax())
            value, text = float(batch.labels[row]), batch.text_of(row)
            if self.fixed:
                raise batch.error(row, f"label {text} is not one of the labels {', '.join(self.names)}")
            if not value.is_integer():
                raise batch.error(row, f"label {text} is not a whole number: expected a class, or --labels to name it")
            if value not in self.texts:
                self._make_room(batch, row, text)
                first = text if first is None else first
            same = batch.labels == value
            self.texts[value], self.counts[value] = text, int(np.count_nonzero(same))
            unknown &= ~same
        return first

    def _make_room(self, batch: Batch, row: int, text: str) -> None:
        """Forget a label that was seen ahead, if this one comes before it; refuse a third one."""
        for value in [value for value, count in self.counts.items() if not count]:
            if len(self.texts) == 2:
                del self.texts[value], self.counts[value]
        if len(self.texts) == 2:
            raise batch.error(
                row, f"label {text} is a third one, after {', '.join(self.names)}: only two can be learned so far"
            )

    def value_of(self, text: str) -> float:
        return next(value for value, known in self.texts.items() if known == text)

    def look_ahead(self, paths: Sequence[str], grammar: Grammar) -> None:
        """Find labels at some places of the files, in a few milliseconds: a file that is sorted by label would
        otherwise tell of the others only when much of it has been read."""
        for path in paths:
            for line in _lines_here_and_there(path):
                token = line.split(None, 1)[:1]
                if token and DECIMAL.fullmatch(token[0]) and len(self.texts) < 2:
                    value = float(token[0])
                    if value not in self.texts and value.is_integer() and find_flaw(line, grammar) is None:
                        self.texts[value], self.counts[value] = token[0].decode("ascii"), 0


def _lines_here_and_there(path: str) -> list[bytes]:
    """Some lines of a file that can be read from anywhere."""
    if not is_plain(path):
        return []
    lines: list[bytes] = []
    with open(path, "rb", buffering=0) as file:
        size = file.seek(0, 2)
        for place in range(1, PLACES):
            file.seek(size * place // PLACES)
            lines += file.read(PLACE_BYTES).split(b"\n")[1:-1][:PLACE_LINES]
    return lines
