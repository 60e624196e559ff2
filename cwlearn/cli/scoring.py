"""What `cwlearn predict` and `cwlearn evaluate` share: a model, and rows from text in the columns of that model."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

from cwlearn.cli.common import DATA_HELP, add_output, usage_checked, warn, warn_of_repeats, warn_of_skipped_line
from cwlearn.cli.flags import add_memory, add_options, given
from cwlearn.core import model_file
from cwlearn.core.learner import Learner
from cwlearn.core.rows import Rows
from cwlearn.core.training import Training, check_threshold
from cwlearn.errors import UsageError, shown
from cwlearn.text.batch import Batch
from cwlearn.text.labels import label_type_of
from cwlearn.text.reader import Reader, Reading
from cwlearn.text.resources import Resources
from cwlearn.text.scoring import ScoredColumns
from cwlearn.text.sources import as_sources, total_size
from cwlearn.utils.progress import ProgressBar


def add_data_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("data", nargs="+", metavar="DATA", help=DATA_HELP)
    parser.add_argument("-m", "--model", required=True, metavar="MODEL", help="file with the model")
    add_output(parser)
    add_reading_flags(parser)


def add_reading_flags(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("reading")
    add_options(group, Reading)
    add_options(group, Resources, only=("threads",))
    add_memory(group)


def add_threshold(parser: argparse.ArgumentParser) -> None:
    text = (
        "the chance from which on the second label is predicted, or f1 and so on, instead of the model's threshold; "
        "with several labels a row: the lowest chance of a label that is predicted"
    )
    add_options(parser, Training, only=("threshold",), texts={"threshold": text})


def load_for_scoring(arguments: argparse.Namespace) -> Learner:
    """The model, within the memory that it may take, and with another threshold if one is given."""
    learner = model_file.load(arguments.model, getattr(arguments, "memory", None))
    if "threshold" in arguments and learner.multilabel:
        if isinstance(arguments.threshold, str):
            raise UsageError(f"--threshold {arguments.threshold} is for two labels; several labels a row take a number")
        if not learner.is_calibrated and not learner.rule.probabilistic:
            raise UsageError(f"this model of {learner.rule.name} has no calibration, hence no chances to compare")
    elif "threshold" in arguments:
        training = replace(learner.training, threshold=arguments.threshold)
        with usage_checked():
            check_threshold(training, len(learner.classes))
        if learner.calibration is None:
            raise UsageError("--threshold is a chance, and this model has no calibration, hence no chances")
        learner.training = training
    return learner


def warn_without_calibration(learner: Learner, arguments: argparse.Namespace) -> None:
    """Say that probabilities are not calibrated, if the model cannot tell what its scores are worth."""
    if not learner.is_calibrated and learner.rule.task == "classification" and not arguments.quiet:
        warn(
            f"{shown(arguments.model)} has no calibration, as models of older versions: its probabilities tell how "
            f"certain it is of the sign of a score, not how often the label is right"
        )


def batches_to_score(
    learner: Learner,
    arguments: argparse.Namespace,
    labelled: bool,
    needs_labels: bool = True,
    prompt: bool = False,
) -> Iterator[tuple[Batch, Rows]]:
    """Read batches, each with its rows in the columns of the model; warn at the end of features it has never seen."""
    if not arguments.quiet:
        warn_of_repeats(arguments.data)
    reading = Reading(**given(arguments, Reading))
    with usage_checked():
        reading.check_fields(learner.documents)
    columns = ScoredColumns(learner)
    reader = Reader(
        arguments.data,
        reading,
        dtype=learner.state.dtype,
        labelled=labelled,
        label_type=label_type_of(learner),
        needs_labels=needs_labels,
        hash_bits=learner.hash_bits,
        documents=learner.documents,
        only_documents=learner.documents is not None,
        threads=getattr(arguments, "threads", None),
        prompt=prompt,
        on_skipped=warn_of_skipped_line,
    )
    bar = ProgressBar(arguments.quiet or arguments.json)
    bar.begin("reading", total_size(as_sources(arguments.data)), "B")
    with closing(bar):
        for batch in reader:
            yield batch, columns.of(batch.rows)
            bar.move_to(batch.chunk.position)
    if not arguments.quiet and (warning := columns.warning()):
        warn(warning)
