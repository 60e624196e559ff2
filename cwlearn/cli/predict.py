"""`cwlearn predict`."""

from __future__ import annotations

import argparse
import sys
import time
from typing import IO

import numpy as np
from numpy.typing import NDArray

from cwlearn.cli.common import check_paths
from cwlearn.cli.scoring import add_data_flags, loaded, scored
from cwlearn.core.learner import Learner
from cwlearn.core.rows import Rows
from cwlearn.errors import UsageError, shown
from cwlearn.text.batch import Batch
from cwlearn.text.sources import STDIN
from cwlearn.utils.atomic_file import check_writable, replace_file
from cwlearn.utils.messages import put_json

LINES_AT_ONCE = 1 << 18  # scores that are written as text together
EXAMPLE = """\
  cwlearn predict new.svm -m spam.npz                    one label a line
  cwlearn predict new.svm -m spam.npz --proba -o out     with the probability of each label
  cwlearn predict new.svm -m price.npz --std             of a regression: the number and its deviation"""


def add_flags(parser: argparse.ArgumentParser) -> None:
    add_data_flags(parser)
    parser.add_argument("-o", "--output", metavar="FILE", help="write there, in one step, not to standard output")
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument(
        "--proba", action="store_true", help="add the probability of each label; the first line names them"
    )
    kind.add_argument(
        "--margin",
        action="store_true",
        help="add the mean and the variance of the margin; with more than two labels, of each one's score, and the "
        "first line names them",
    )
    kind.add_argument("--std", action="store_true", help="regression: add the standard deviation of what is predicted")
    parser.add_argument(
        "--no-labels",
        action="store_true",
        help="lines begin with a feature, not with a label, and each gives one line: an empty one, or one with a "
        "comment only, is a row without features; one that --on-bad-line skips gives an empty line",
    )


def run(arguments: argparse.Namespace) -> None:
    if arguments.output == STDIN:
        arguments.output = None  # where - is a file, it is standard output here
    check_paths(arguments.data, [arguments.output], [arguments.model])
    if arguments.output is not None:
        check_writable(arguments.output)
    learner = loaded(arguments)
    regression = learner.rule.task == "regression"
    if arguments.proba and not learner.rule.probabilistic:
        instead = "--std has deviations" if regression else "--margin has its margins"
        what = "regression" if regression else f"model of {learner.rule.name}"
        raise UsageError(f"a {what} has no probabilities; {instead}")
    if arguments.std and not regression:
        raise UsageError("--std is for a regression; --proba has the probability of each label")
    if arguments.json and arguments.output is None:
        raise UsageError("--json would mix with the predictions on standard output: add -o FILE")
    start = time.perf_counter()
    rows, names = 0, [shown(name) for name in learner.label_names]  # a label is one line, whatever it holds
    at_once = LINES_AT_ONCE if _with_numbers(arguments) else None

    def write(file: IO[bytes]) -> None:
        nonlocal rows
        if arguments.proba or (arguments.margin and learner.several):
            file.write(f"labels {' '.join(names)}\n".encode())
        for batch, known in scored(learner, arguments, not arguments.no_labels):
            rows += known.n_rows
            texts = (_prediction_lines(learner, part, names, arguments) for _, part in learner.parts(known, at_once))
            for text in (
                [_with_gaps(b"".join(texts), batch)] if arguments.no_labels and len(batch.bad_places) else texts
            ):
                lines = memoryview(text)
                while lines:  # a file without a buffer may take a part only
                    lines = lines[file.write(lines) :]

    if arguments.output is None:
        write(sys.stdout.buffer)
    else:
        replace_file(arguments.output, write, keep=True)
    if arguments.json:
        put_json({"rows": rows, "output": arguments.output, "seconds": time.perf_counter() - start})


def _with_numbers(arguments: argparse.Namespace) -> bool:
    """Whether there are numbers beside each prediction."""
    return bool(arguments.proba or arguments.margin or arguments.std)


def _with_gaps(text: bytes, batch: Batch) -> bytes:
    """Predictions with an empty line for each line that was left out, so that lines answer to lines."""
    gaps = {line for line, _ in batch.skipped_lines()}
    predicted = iter(text.split(b"\n"))
    return b"".join(b"\n" if line in gaps else next(predicted) + b"\n" for line in range(batch.n_lines))


def _prediction_lines(learner: Learner, rows: Rows, names: list[str], arguments: argparse.Namespace) -> bytes:
    mean, variance = learner.margins(rows, only_mean=not _with_numbers(arguments))
    if learner.rule.task == "regression":
        lines = [f"{number:.9g}" for number in mean.tolist()]
    else:
        lines = [names[number] for number in learner.chosen(mean).tolist()]
    more: NDArray[np.float64] = np.empty((rows.n_rows, 0))
    if arguments.proba:
        more = learner.probabilities(mean, variance)
    elif arguments.std:
        more = learner.deviations(variance)[:, None]
    elif arguments.margin:
        more = np.stack([mean, variance], axis=-1).reshape(rows.n_rows, 2 * learner.state.blocks)  # label by label
    if more.size:
        numbers = (" ".join(f"{number:.9g}" for number in row) for row in more.tolist())
        lines = [f"{line} {row}" for line, row in zip(lines, numbers, strict=True)]
    return "".join(line + "\n" for line in lines).encode("utf-8", "backslashreplace")  # old labels may be no text
