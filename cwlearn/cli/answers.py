"""Predictions as lines: a label and numbers with blanks between them, or a JSON object."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cwlearn.cli.flags import checked
from cwlearn.cli.multilabel import predicted_labels
from cwlearn.core.learner import Learner
from cwlearn.core.parameters import COUNT
from cwlearn.core.rows import Rows
from cwlearn.core.text_options import FIELDS
from cwlearn.errors import DataError, UsageError, shown
from cwlearn.text.batch import Batch

LINES_AT_ONCE = 1 << 18  # scores that become text in one piece
OWN_NAMES = ("prediction", "probability", "probabilities", "margin", "margins", "deviation", "error", "learned")


def add_answer_flags(parser: argparse.ArgumentParser) -> None:
    columns = parser.add_mutually_exclusive_group()
    columns.add_argument(
        "--proba", action="store_true", help="add the chance of each label, calibrated; the first line names the labels"
    )
    columns.add_argument(
        "--margin",
        action="store_true",
        help="add mean and variance of the margin; with more than two labels, those of the score of each label, and a "
        "first line that names the labels",
    )
    columns.add_argument("--std", action="store_true", help="regression: add the standard deviation of the prediction")
    parser.add_argument(
        "--top", type=checked(COUNT), metavar="K", help="the K most probable labels, each with its chance behind it"
    )
    parser.add_argument(
        "--jsonl", action="store_true", help="print a JSON object in each line; a line that was skipped has an error"
    )
    parser.add_argument(
        "--keep",
        type=checked(FIELDS),
        default=(),
        metavar="FIELD,...",
        help="repeat these fields of JSON lines or CSV beside each prediction, as JSON lines",
    )


class Numbers(NamedTuple):
    """What is predicted for rows: numbers of labels, or targets, and the numbers that go with them."""

    predicted: NDArray[Any]
    columns: NDArray[np.float64]

    @classmethod
    def joined(cls, parts: Sequence[Numbers]) -> Numbers:
        return cls(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


class Answers:
    """How predictions of a model are written."""

    def __init__(self, learner: Learner, arguments: argparse.Namespace) -> None:
        self.learner = learner
        self.proba, self.margin, self.std, self.top = arguments.proba, arguments.margin, arguments.std, arguments.top
        self.keep: tuple[str, ...] = tuple(arguments.keep)
        self.as_json = bool(arguments.jsonl or self.keep)
        self.regression, self.multilabel = learner.rule.task == "regression", learner.multilabel
        self._threshold = getattr(arguments, "threshold", None)
        self.names = learner.label_names
        self._shown = [shown(name) for name in self.names]  # escaped, so that a label stays on one line
        self._check()

    def _check(self) -> None:
        """Refuse numbers that the model cannot give."""
        if (self.proba or self.top) and self.regression:
            raise UsageError("a regression has no probabilities; --std has deviations")
        if (self.proba or self.top) and not self.learner.is_calibrated and not self.learner.rule.probabilistic:
            rule = self.learner.rule.name
            raise UsageError(
                f"this model of {rule} has no calibration, hence no probabilities; --margin has its margins"
            )
        if self.top and (self.margin or self.std):
            raise UsageError("--top has probabilities: give it without --margin and --std")
        if self.std and not self.regression:
            raise UsageError("--std is for a regression; --proba has the probability of each label")
        if taken := [name for name in self.keep if name in OWN_NAMES]:
            raise UsageError(f"--keep {taken[0]} would hide what is predicted, which has the same name")

    @property
    def wants_probabilities(self) -> bool:
        return bool(self.proba or self.top)

    @property
    def only_mean(self) -> bool:
        """Whether the variances of several labels are not needed."""
        return self.learner.several and not (self.wants_probabilities or self.margin or self.std)

    @property
    def scores_at_once(self) -> int | None:
        return LINES_AT_ONCE if self.wants_probabilities or self.margin or self.std else None

    def header(self) -> bytes:
        """A first line that names the labels, if numbers are to follow in their order."""
        if self.as_json or not (self.proba or (self.margin and self.learner.by_label)):
            return b""
        return f"labels {' '.join(self._shown)}\n".encode("utf-8", "backslashreplace")

    def numbers(self, model: Learner, rows: Rows, mean: NDArray[np.float64], variance: NDArray[np.float64]) -> Numbers:
        """What is predicted, from the margins of rows by this model."""
        predicted: NDArray[Any]
        if self.multilabel:
            predicted = predicted_labels(model, rows, mean, variance, self._threshold)
        else:
            predicted = mean if self.regression else model.chosen(model.scores(rows, mean, variance))
        columns: NDArray[np.float64] = np.empty((rows.n_rows, 0))
        if self.wants_probabilities:
            columns = model.probabilities(rows, mean, variance)
        elif self.std:
            columns = model.deviations(variance)[:, None]
        elif self.margin:
            columns = np.stack([mean, variance], axis=-1).reshape(rows.n_rows, 2 * model.state.blocks)  # by label
        return Numbers(predicted, columns)

    # -- lines ---------------------------------------------------------------------------------------------------------

    def lines(self, numbers: Numbers, kept: Sequence[dict[str, Any]] | None = None) -> list[str]:
        """A line for each row, without its end."""
        if self.as_json:
            kept = kept or [{}] * len(numbers.predicted)
            return [
                json.dumps({**fields, **record}) for fields, record in zip(kept, self._records(numbers), strict=True)
            ]
        if self.top:
            pairs = ([f"{self._shown[label]} {chance:.9g}" for label, chance in row] for row in self._best(numbers))
            return [" ".join(row) for row in pairs]
        if self.regression:
            lines = [f"{number:.9g}" for number in numbers.predicted.tolist()]
        elif self.multilabel:
            lines = [",".join(self._shown[label] for label in np.flatnonzero(has)) for has in numbers.predicted]
        else:
            lines = [self._shown[number] for number in numbers.predicted.tolist()]
        if numbers.columns.size:
            texts = (" ".join(f"{number:.9g}" for number in row) for row in numbers.columns.tolist())
            lines = [f"{line} {row}" for line, row in zip(lines, texts, strict=True)]
        return lines

    def bad_line(self, flaw: DataError) -> str:
        """What stands in place of a prediction for a line that cannot be read."""
        return json.dumps({"error": str(flaw)}) if self.as_json else ""

    def _best(self, numbers: Numbers) -> list[list[tuple[int, float]]]:
        """The most probable labels of each row with their chances, the predicted one first."""
        chances = numbers.columns.copy()
        if not self.multilabel:
            chances[np.arange(len(chances)), numbers.predicted] = 2  # which is the most probable one, even in a tie
        order = np.argsort(-chances, axis=1, kind="stable")[:, : self.top]
        best = np.take_along_axis(numbers.columns, order, axis=1)
        return [[*zip(*row, strict=True)] for row in zip(order.tolist(), best.tolist(), strict=True)]

    def _records(self, numbers: Numbers) -> list[dict[str, Any]]:
        """The predictions as JSON has them."""
        if self.regression:
            records = [{"prediction": number} for number in numbers.predicted.tolist()]
        elif self.multilabel:
            records = [
                {"prediction": [self.names[label] for label in np.flatnonzero(has)]} for has in numbers.predicted
            ]
        else:
            records = [{"prediction": self.names[number]} for number in numbers.predicted.tolist()]
        if self.wants_probabilities:
            best = self._best(numbers) if self.top else [[*enumerate(row)] for row in numbers.columns.tolist()]
            for record, row in zip(records, best, strict=True):
                record["probabilities"] = {self.names[label]: chance for label, chance in row}
        elif self.std or self.margin:
            for record, row in zip(records, numbers.columns.tolist(), strict=True):
                record |= self._named(row)
        return records

    def _named(self, row: list[float]) -> dict[str, Any]:
        if self.std:
            return {"deviation": row[0]}
        pairs = [{"mean": mean, "variance": variance} for mean, variance in zip(row[::2], row[1::2], strict=True)]
        return {"margins": dict(zip(self.names, pairs, strict=True))} if self.learner.by_label else {"margin": pairs[0]}


def kept_fields_of(batch: Batch, answers: Answers) -> list[dict[str, Any]] | None:
    """The fields of each record that are to be repeated; None without any."""
    if not answers.keep:
        return None
    from cwlearn.text.kept_fields import kept_fields  # which other predictions do not need

    return kept_fields(batch, answers.keep)


def in_order(places: Sequence[int], lines: Sequence[str]) -> list[str]:
    """Lines in the order of their places in the text."""
    return [lines[number] for number in np.argsort(places).tolist()]


def write_lines(file: IO[bytes], lines: Sequence[str]) -> None:
    write_all(file, "".join(line + "\n" for line in lines).encode("utf-8", "backslashreplace"))  # labels of old models


def write_all(file: IO[bytes], text: bytes) -> None:
    left = memoryview(text)
    while left:  # an unbuffered file may take only a part
        left = left[file.write(left) :]
