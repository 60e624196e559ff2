"""`cwlearn train` with several workers: files as shards, in threads of this process or on a Dask cluster."""

from __future__ import annotations

import argparse

from cwlearn.cli.common import save_model
from cwlearn.core.learner import Learner
from cwlearn.core.rule import Rule
from cwlearn.core.training import Training
from cwlearn.errors import UsageError, shown
from cwlearn.parallel.shards import Sharing, files_as_shards, train_in_threads
from cwlearn.parallel.tasks import Plan, ShardResult
from cwlearn.text.reader import Reading
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
    base: Learner | None,
) -> tuple[Learner, ShardResult]:
    """Train, save the model, and tell of shards that were left out."""
    if arguments.checkpoint is not None:
        raise UsageError("--checkpoint is not for several workers: a run that ends early begins again")
    if arguments.verbose:
        raise UsageError("--verbose shows how one model learns: it is not for several workers")
    if resources.threads is not None:
        raise UsageError("--threads is for one model: with several workers each has one")
    if base is not None and base.unfinished is not None:
        raise UsageError("a checkpoint goes on without --workers only: it knows how far one model has come")
    if STDIN in arguments.data:
        raise UsageError("standard input (-) cannot be shared by several workers")
    if sharing.scheduler is not None and sharing.workers is not None:
        raise UsageError("--workers is for this machine: with --scheduler the cluster has its own")
    plan = Plan(rule, training, sharing.how, reading, resources, arguments.labels, seed=arguments.seed)
    bar = ProgressBar(arguments.quiet or arguments.json)
    try:
        if sharing.scheduler is None:
            shards = files_as_shards(arguments.data, sharing.workers or 1)
            bar.begin("learning", sharing.rounds * len(shards), " shards")
            learner, told = train_in_threads(shards, sharing, plan, base, bar.advance)
        else:
            learner, told = _on_cluster(arguments.data, sharing, plan, base, bar)
    except KeyboardInterrupt:
        say(f"interrupted; {shown(arguments.model)} is not written")
        raise
    finally:
        bar.end()
    for line in told.skipped_lines:
        say(f"warning: {line}; line skipped")
    for failure in told.failures.values():
        say(f"shard left out: {failure}")
    save_model(learner, arguments.model)
    return learner, told


def _on_cluster(
    paths: list[str], sharing: Sharing, plan: Plan, base: Learner | None, bar: ProgressBar
) -> tuple[Learner, ShardResult]:
    try:
        from cwlearn.parallel.cluster import connected, threads_of, train_on
    except ImportError as error:
        raise UsageError(f"--scheduler: {error}") from None

    assert sharing.scheduler is not None
    with connected(sharing.scheduler) as client:
        shards = files_as_shards(paths, threads_of(client))
        bar.begin("learning", sharing.rounds * len(shards), " shards")
        return train_on(client, shards, plan, sharing.rounds, base, sharing.skip_bad_shards, bar.advance)
