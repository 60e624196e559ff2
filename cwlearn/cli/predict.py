"""`cwlearn predict`."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

import numpy as np
from numpy.typing import NDArray

from cwlearn.cli.common import check_paths
from cwlearn.cli.multilabel import add_top, check_flags, lines_of_labels
from cwlearn.cli.scoring import (
    add_data_flags,
    add_threshold,
    batches_to_score,
    load_for_scoring,
    warn_without_calibration,
)
from cwlearn.core.learner import Learner
from cwlearn.core.rows import Rows
from cwlearn.errors import UsageError, shown
from cwlearn.text.batch import Batch
from cwlearn.text.sources import STDIN
from cwlearn.utils.atomic_file import check_writable, replaced_file
from cwlearn.utils.messages import put_json

LINES_AT_ONCE = 1 << 18  # scores that become text in one piece
EXAMPLE = """\
  cwlearn predict new.jsonl -m reviews.npz             one label in each line
  cwlearn predict new.svm -m spam.npz --proba -o out   with probabilities
  cwlearn predict new.svm -m price.npz --std           regression: deviations
  cwlearn predict new.svm -m topics.npz --top 3        several labels a row"""


def add_flags(parser: argparse.ArgumentParser) -> None:
    add_data_flags(parser)
    add_threshold(parser)
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="replace FILE in one step, instead of printing to standard output"
    )
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
    add_top(parser)
    columns.add_argument("--std", action="store_true", help="regression: add the standard deviation of the prediction")
    parser.add_argument(
        "--no-labels",
        action="store_true",
        help="lines begin with a feature, not with a label. Every line gives one line: an empty line or a comment is a "
        "row without features; a line that --on-bad-line skips gives an empty line",
    )


def run(arguments: argparse.Namespace) -> None:
    if arguments.output == STDIN:
        arguments.output = None  # "-" means standard output here
    check_paths(arguments.data, [arguments.output], [arguments.model])
    if arguments.output is not None:
        check_writable(arguments.output)
    learner = load_for_scoring(arguments)
    _check_columns(arguments, learner)
    check_flags(arguments, learner)
    if arguments.proba:
        warn_without_calibration(learner, arguments)
    start = time.perf_counter()
    n_rows = 0
    label_names = [shown(name) for name in learner.label_names]  # escaped, so that a label stays on one line
    scores_at_once = LINES_AT_ONCE if _wants_numbers(arguments) else None
    with _output_file(arguments.output) as file:
        if arguments.proba or (arguments.margin and learner.by_label):
            file.write(f"labels {' '.join(label_names)}\n".encode())
        for batch, rows in batches_to_score(learner, arguments, labelled=not arguments.no_labels, needs_labels=False):
            n_rows += rows.n_rows
            needs_gaps = (arguments.no_labels or batch.documents is not None) and len(batch.bad_places) > 0
            texts = []
            for _, part in learner.parts(rows, scores_at_once):
                texts.append(_prediction_lines(learner, part, label_names, arguments))
                if not needs_gaps:
                    _write_all(file, texts.pop())
            if needs_gaps:
                _write_all(file, _with_gaps(b"".join(texts), batch))
    if arguments.json:
        put_json({"rows": n_rows, "output": arguments.output, "seconds": time.perf_counter() - start})


def _check_columns(arguments: argparse.Namespace, learner: Learner) -> None:
    """Refuse numbers that the model cannot give, and JSON where the predictions go."""
    regression = learner.rule.task == "regression"
    if arguments.proba and regression:
        raise UsageError("a regression has no probabilities; --std has deviations")
    if arguments.proba and not learner.is_calibrated and not learner.rule.probabilistic:
        raise UsageError(
            f"this model of {learner.rule.name} has no calibration, hence no probabilities; --margin has its margins"
        )
    if arguments.std and not regression:
        raise UsageError("--std is for a regression; --proba has the probability of each label")
    if arguments.json and arguments.output is None:
        raise UsageError("--json would mix with the predictions on standard output: add -o FILE")


@contextmanager
def _output_file(path: str | None) -> Iterator[IO[bytes]]:
    """Where predictions go: standard output, or a file that gets its name when it is complete."""
    if path is None:
        yield sys.stdout.buffer
    else:
        with replaced_file(path, keep=True) as file:
            yield file


def _write_all(file: IO[bytes], text: bytes) -> None:
    left = memoryview(text)
    while left:  # an unbuffered file may take only a part
        left = left[file.write(left) :]


def _wants_numbers(arguments: argparse.Namespace) -> bool:
    """Whether numbers follow each prediction."""
    return bool(arguments.proba or arguments.margin or arguments.std)


def _with_gaps(text: bytes, batch: Batch) -> bytes:
    """Predictions with an empty line for each record that was left out, so that line N belongs to record N."""
    predicted = iter(text.split(b"\n"))
    left_out = np.repeat([False, True], [len(batch.places), len(batch.bad_places)])
    order = np.argsort(np.concatenate([batch.places, batch.bad_places]))
    return b"".join(b"\n" if bad else next(predicted) + b"\n" for bad in left_out[order].tolist())


def _prediction_lines(learner: Learner, rows: Rows, label_names: list[str], arguments: argparse.Namespace) -> bytes:
    mean, variance = learner.margins(rows, only_mean=learner.several and not _wants_numbers(arguments))
    if learner.rule.task == "regression":
        lines = [f"{number:.9g}" for number in mean.tolist()]
    elif learner.multilabel:
        lines = lines_of_labels(learner, rows, mean, variance, label_names, arguments)
    else:
        lines = [label_names[number] for number in learner.chosen(learner.scores(rows, mean, variance)).tolist()]
    columns: NDArray[np.float64] = np.empty((rows.n_rows, 0))
    if arguments.proba:
        columns = learner.probabilities(rows, mean, variance)
    elif arguments.std:
        columns = learner.deviations(variance)[:, None]
    elif arguments.margin:
        columns = np.stack([mean, variance], axis=-1).reshape(rows.n_rows, 2 * learner.state.blocks)  # label by label
    if columns.size:
        numbers = (" ".join(f"{number:.9g}" for number in row) for row in columns.tolist())
        lines = [f"{line} {row}" for line, row in zip(lines, numbers, strict=True)]
    return "".join(line + "\n" for line in lines).encode("utf-8", "backslashreplace")  # labels of old models
