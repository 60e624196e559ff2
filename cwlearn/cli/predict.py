"""`cwlearn predict`."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from cwlearn.cli.answers import Answers, add_answer_flags, in_order, kept_fields_of, write_all, write_lines
from cwlearn.cli.common import check_paths
from cwlearn.cli.scoring import (
    add_data_flags,
    add_threshold,
    batches_to_score,
    load_for_scoring,
    warn_without_calibration,
)
from cwlearn.errors import UsageError
from cwlearn.text.sources import STDIN
from cwlearn.utils.atomic_file import check_writable, replaced_file
from cwlearn.utils.messages import put_json

EXAMPLE = """\
  cwlearn predict new.jsonl -m reviews.npz             one label in each line
  cwlearn predict new.svm -m spam.npz --proba -o out   with probabilities
  cwlearn predict new.svm -m price.npz --std           regression: deviations
  cwlearn predict - -m spam.npz --top 3 --keep id      line by line, as JSON
  cwlearn predict new.svm -m topics.npz --top 3        several labels a row"""


def add_flags(parser: argparse.ArgumentParser) -> None:
    add_data_flags(parser)
    add_threshold(parser)
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="replace FILE in one step, instead of printing to standard output"
    )
    add_answer_flags(parser)
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
    if arguments.json and arguments.output is None:
        raise UsageError(
            "--json would mix with the predictions on standard output: add -o FILE. --jsonl makes them JSON lines"
        )
    answers = Answers(learner, arguments)
    if answers.wants_probabilities:
        warn_without_calibration(learner, arguments)
    start = time.perf_counter()
    with _output_file(arguments.output) as file:
        n_rows = _predict(answers, arguments, file)
    if arguments.json:
        put_json({"rows": n_rows, "output": arguments.output, "seconds": time.perf_counter() - start})


def _predict(answers: Answers, arguments: argparse.Namespace, file: IO[bytes]) -> int:
    """Write the predictions of each batch as soon as it has been read; return the number of rows."""
    learner, n_rows = answers.learner, 0
    labelled = not arguments.no_labels
    write_all(file, answers.header())
    file.flush()  # which tells the other end of a pipe that the model is ready
    for batch, rows in batches_to_score(learner, arguments, labelled=labelled, needs_labels=False, prompt=True):
        n_rows += rows.n_rows
        kept = kept_fields_of(batch, answers)
        has_gaps = (arguments.no_labels or batch.documents is not None or answers.as_json) and batch.skipped
        lines: list[str] = []
        for which, part in learner.parts(rows, answers.scores_at_once):
            margins = learner.margins(part, only_mean=answers.only_mean)
            lines += answers.lines(answers.numbers(learner, part, *margins), kept and kept[which])
            if not has_gaps:
                write_lines(file, lines)
                lines = []
        if has_gaps:
            bad = [answers.bad_line(flaw) for flaw in batch.skipped]
            write_lines(file, in_order([*batch.places.tolist(), *batch.bad_places.tolist()], [*lines, *bad]))
        file.flush()
    return n_rows


@contextmanager
def _output_file(path: str | None) -> Iterator[IO[bytes]]:
    """Where predictions go: standard output, or a file that gets its name when it is complete."""
    if path is None:
        yield sys.stdout.buffer
    else:
        with replaced_file(path, keep=True) as file:
            yield file
