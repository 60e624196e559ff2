"""What `cwlearn predict` and `cwlearn evaluate` have in common: rows from text as a model has its columns."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from cwlearn.cli.common import DATA_HELP, add_output
from cwlearn.cli.flags import add_memory, add_options, given
from cwlearn.core import model_file
from cwlearn.core.learner import Learner
from cwlearn.core.rows import Rows
from cwlearn.text.batch import Batch
from cwlearn.text.reader import Reader, Reading
from cwlearn.text.resources import Resources
from cwlearn.text.scoring import ScoredColumns
from cwlearn.utils.messages import say, tell_repeated, tell_skipped
from cwlearn.utils.progress import ProgressBar


def add_data_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("data", nargs="+", metavar="DATA", help=DATA_HELP)
    parser.add_argument("-m", "--model", required=True, metavar="MODEL", help="file with the model")
    add_output(parser)
    group = parser.add_argument_group("reading")
    add_options(group, Resources, without=("n_features", "hash_bits", "memory"))
    add_options(group, Reading)
    add_memory(parser.add_argument_group("memory"))


def loaded(arguments: argparse.Namespace) -> Learner:
    """The model, in as much memory as it may take."""
    return model_file.load(arguments.model, getattr(arguments, "memory", None))


def scored(learner: Learner, arguments: argparse.Namespace, labelled: bool) -> Iterator[tuple[Batch, Rows]]:
    """Batches, each with its rows as the model takes them; a warning in the end if some of their features are new."""
    if not arguments.quiet:
        tell_repeated(arguments.data)
    columns = ScoredColumns(learner)
    reader = Reader(
        arguments.data,
        Reading(**given(arguments, Reading)),
        dtype=learner.state.dtype,
        labelled=labelled,
        hash_bits=learner.hash_bits,
        threads=getattr(arguments, "threads", None),
        on_skipped=tell_skipped,
    )
    bar = ProgressBar(arguments.quiet or arguments.json)
    for batch in reader:
        yield batch, columns.of(batch.rows)
        bar.move_to(batch.chunk.position)
    bar.close()
    if (warning := columns.warning()) is not None and not arguments.quiet:
        say(f"warning: {warning}")
