"""What `cwlearn predict` and `cwlearn evaluate` share: a model, and rows from text in the columns of that model."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np

from cwlearn.cli.common import DATA_HELP, add_output, warn, warn_of_repeats, warn_of_skipped_line
from cwlearn.cli.flags import add_memory, add_options, given
from cwlearn.core import model_file
from cwlearn.core.learner import Learner
from cwlearn.core.rows import Rows
from cwlearn.core.states.diagonal import DiagonalState
from cwlearn.text.run import Resources
from cwlearn.text.sources import total_size
from cwlearn.text.svmlight import Batch, Reader, Reading
from cwlearn.utils.progress import ProgressBar


def add_data_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("data", nargs="+", metavar="DATA", help=DATA_HELP)
    parser.add_argument("-m", "--model", required=True, metavar="MODEL", help="file with the model")
    add_output(parser)
    group = parser.add_argument_group("reading")
    add_options(group, Reading)
    add_options(group, Resources, only=("threads",))
    add_memory(group)


def load_for_scoring(arguments: argparse.Namespace) -> tuple[Learner, int]:
    """The model, and the number of features that it knows.

    A diagonal state gets one more column.  It stands for all features that the model has never seen, which have the
    mean 0 and the variance of the prior.  Other states take rows of any width.
    """
    learner = model_file.load(arguments.model, getattr(arguments, "memory", None))
    n_known = learner.state.n_features
    if isinstance(learner.state, DiagonalState):
        learner.grow(n_known + 1)
    return learner, n_known


def batches_to_score(
    learner: Learner, n_known: int, arguments: argparse.Namespace, labelled: bool
) -> Iterator[tuple[Batch, Rows]]:
    """Read batches, each with its rows in the columns of the model; warn at the end of features it has never seen."""
    if not arguments.quiet:
        warn_of_repeats(arguments.data)
    reader = Reader(
        arguments.data,
        Reading(**given(arguments, Reading)),
        dtype=learner.state.dtype,
        labelled=labelled,
        hash_bits=learner.hash_bits,
        threads=getattr(arguments, "threads", None),
        tell=warn_of_skipped_line,
    )
    bar = ProgressBar(arguments.quiet or arguments.json)
    bar.begin("reading", total_size(arguments.data), "B")
    n_values = n_unknown = 0
    for batch in reader:
        rows = batch.rows
        n_values += len(rows.values)
        if rows.n_features > n_known:
            n_unknown += int(np.count_nonzero(rows.indices >= n_known))
            if isinstance(learner.state, DiagonalState):
                rows = _in_known_columns(rows, n_known)
        yield batch, rows
        bar.move_to(batch.chunk.position)
    bar.close()
    if n_unknown and not arguments.quiet:
        _warn_of_unknown_features(learner, n_unknown, n_values)


def _in_known_columns(rows: Rows, n_known: int) -> Rows:
    """The rows with all unknown features in the last column, the one that `load_for_scoring` has added."""
    columns = np.minimum(rows.indices, n_known).astype(np.int32 if n_known < 2**31 else np.int64)
    return Rows(rows.indptr, columns, rows.values, rows.squares, n_known + 1)


def _warn_of_unknown_features(learner: Learner, n_unknown: int, n_values: int) -> None:
    effect = "they add nothing to the score" if learner.kernel is None else "they count for its kernel"
    mismatch = "; model and data do not seem to belong together" if 2 * n_unknown > n_values else ""
    warn(f"{n_unknown:,} of {n_values:,} values are of features that the model has never seen: {effect}{mismatch}")
