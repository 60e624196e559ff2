"""`cwlearn train` with several workers: files as shards, in threads of this process or on a Dask cluster."""

from __future__ import annotations

import argparse
from contextlib import suppress

from cwlearn.cli.common import save_model, warn
from cwlearn.cli.train_options import is_multilabel
from cwlearn.core.learner import Learner
from cwlearn.core.rule import Rule
from cwlearn.core.text_options import TextOptions
from cwlearn.core.training import Training
from cwlearn.errors import DataError, UsageError, shown
from cwlearn.parallel.shards import files_as_shards
from cwlearn.parallel.sharing import Sharing
from cwlearn.parallel.tasks import Plan, ShardResult
from cwlearn.parallel.threads import train_in_threads
from cwlearn.text.naming import name_columns
from cwlearn.text.reader import Reader, Reading
from cwlearn.text.resources import Resources
from cwlearn.text.sources import STDIN
from cwlearn.utils.messages import say
from cwlearn.utils.progress import ProgressBar


def learn_in_shards(
    arguments: argparse.Namespace,
    sharing: Sharing,
    rule: Rule,
    training: Training,
    reading: Reading,
    resources: Resources,
    documents: TextOptions | None,
    base: Learner | None,
) -> tuple[Learner, ShardResult]:
    """Train, save the model, and report the shards and lines that were left out."""
    _check_flags(arguments, sharing, resources, base)
    plan = Plan(
        rule,
        training,
        sharing.how,
        reading,
        resources,
        arguments.labels,
        several=is_multilabel(arguments, base),
        documents=documents,
        seed=arguments.seed,
    )
    bar = ProgressBar(arguments.quiet or arguments.json)
    try:
        if sharing.scheduler is None:
            shards = files_as_shards(arguments.data, sharing.workers or 1, reading.format)
            bar.begin("learning", sharing.rounds * len(shards), " shards")
            learner, result = train_in_threads(shards, plan, sharing, base, bar.advance)
        else:
            learner, result = _train_on_cluster(sharing.scheduler, arguments.data, plan, sharing, base, bar)
    except KeyboardInterrupt:
        say(f"interrupted; {shown(arguments.model)} is not written")
        raise
    finally:
        bar.end()
    for line in result.skipped_lines:
        warn(f"{line}; line skipped")
    for failure in result.failures.values():
        warn(f"shard left out: {failure}")
    with suppress(OSError, DataError):  # of a shard that was left out: the model is worth more than its words
        name_columns(learner, _reader(learner, arguments.data, reading), arguments.names)
    save_model(learner, arguments.model)
    return learner, result


def _reader(learner: Learner, paths: list[str], reading: Reading) -> Reader:
    """A reader of the documents that were learned from."""
    return Reader(
        paths, reading, dtype=learner.state.dtype, hash_bits=learner.hash_bits, documents=learner.documents, threads=1
    )


def _check_flags(arguments: argparse.Namespace, sharing: Sharing, resources: Resources, base: Learner | None) -> None:
    """Refuse flags that several workers do not support."""
    if arguments.checkpoint is not None:
        raise UsageError("--checkpoint is not for several workers: an interrupted run starts again")
    if arguments.verbose:
        raise UsageError("--verbose is not for several workers: it shows how one model learns")
    if resources.threads is not None:
        raise UsageError("--threads is not for several workers: each has one thread")
    if base is not None and base.unfinished is not None:
        raise UsageError("a checkpoint cannot be resumed by several workers: it belongs to the run of one model")
    if STDIN in arguments.data:
        raise UsageError("standard input (-) cannot be divided among several workers")
    if sharing.scheduler is not None and sharing.workers is not None:
        raise UsageError("--workers is for this machine: the cluster at --scheduler has its own workers")


def _train_on_cluster(
    address: str, paths: list[str], plan: Plan, sharing: Sharing, base: Learner | None, bar: ProgressBar
) -> tuple[Learner, ShardResult]:
    try:
        from cwlearn.parallel.cluster import connected, count_threads, train_on_cluster
    except ImportError as error:
        raise UsageError(f"--scheduler: {error}") from None

    with connected(address) as client:
        shards = files_as_shards(paths, count_threads(client), plan.reading.format)
        bar.begin("learning", sharing.rounds * len(shards), " shards")
        return train_on_cluster(client, shards, plan, sharing, base, bar.advance)
