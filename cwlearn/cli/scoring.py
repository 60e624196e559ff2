"""What `cwlearn predict` and `cwlearn evaluate` have in common: rows from text as a model has its columns."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np

from cwlearn.cli.common import DATA_HELP, add_output
from cwlearn.cli.flags import add_memory, add_options, given
from cwlearn.core import model_file
from cwlearn.core.learner import Learner
from cwlearn.core.rows import Rows
from cwlearn.core.states.diagonal import DiagonalState
from cwlearn.text.run import Resources
from cwlearn.text.svmlight import Batch, Reader, Reading
from cwlearn.utils.messages import say, tell_repeated, tell_skipped
from cwlearn.utils.progress import ProgressBar


def add_data_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("data", nargs="+", metavar="DATA", help=DATA_HELP)
    parser.add_argument("-m", "--model", required=True, metavar="MODEL", help="file with the model")
    add_output(parser)
    group = parser.add_argument_group("reading")
    add_options(group, Resources, without=("features", "hash_bits", "memory"))
    add_options(group, Reading)
    add_memory(parser.add_argument_group("memory"))


def loaded(arguments: argparse.Namespace) -> Learner:
    """The model, in as much memory as it may take."""
    return model_file.load(arguments.model, getattr(arguments, "memory", None))


def scored(learner: Learner, arguments: argparse.Namespace, labelled: bool) -> Iterator[tuple[Batch, Rows]]:
    """Batches, with their rows as the model has its columns.

    A feature that the model has never seen has the mean 0 and the variance of the prior.  It is counted and, in a
    diagonal state, scored with one cell that is added for all of them; other states take rows as they are.
    """
    if not arguments.quiet:
        tell_repeated(arguments.data)
    seen = learner.state.n_features
    diagonal = isinstance(learner.state, DiagonalState)
    if diagonal:
        learner.grow(seen + 1)
    reader = Reader(
        arguments.data,
        Reading(**given(arguments, Reading)),
        dtype=learner.state.dtype,
        labelled=labelled,
        hash_bits=learner.hash_bits,
        threads=getattr(arguments, "threads", None),
        tell=tell_skipped,
    )
    bar = ProgressBar(arguments.quiet or arguments.json)
    unseen = 0
    for batch in reader:
        rows = batch.rows
        if rows.n_features > seen:
            unseen += int(np.count_nonzero(rows.indices >= seen))
            if diagonal:
                columns = np.minimum(rows.indices, seen).astype(np.int32 if seen < 2**31 else np.int64)
                rows = Rows(rows.indptr, columns, rows.values, rows.squares, seen + 1)
        yield batch, rows
        bar.move_to(batch.chunk.position)
    bar.close()
    if unseen and not arguments.quiet:
        effect = "which add nothing to the score" if learner.kernel is None else "which count for its kernel"
        say(f"values of features that the model has never seen, {effect}: {unseen:,}")
