"""Training on shards: one model for each shard, all from the same beginning, then merged in a tree.

An engine runs the tasks (see `tasks`): threads of this process or a Dask cluster.  Models stay where they were made,
except for the sums of the tree and the last model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from cwlearn.core.class_labels import EXPECTED, check_labels
from cwlearn.core.learner import Learner
from cwlearn.core.merging import check_confidences
from cwlearn.errors import DataError, listed
from cwlearn.parallel.sharing import Sharing
from cwlearn.parallel.tasks import (
    TEXTS_PER_TASK,
    Plan,
    Shard,
    ShardResult,
    combine,
    conclude,
    find_labels,
    finish,
    is_text,
    learn,
    without_model,
)
from cwlearn.text.formats import AUTO
from cwlearn.text.reader import cut
from cwlearn.text.sources import as_sources, total_size

LABEL_RETRIES = 3  # how often a round may be repeated because shards had labels that were not sampled
SHARD_MEMORY = 1 << 30  # bytes for the rows of a shard between two epochs; larger shards go through a file
SEED_STEP = 7919  # between the seeds of two shards

Report = Callable[[int], object]


def ignore_progress(shards: int) -> None:
    """A `report` that does nothing."""


class Engine(Protocol):
    """Runs tasks.  `submit` returns a future at once, and replaces the futures among its arguments by their results."""

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Any: ...


def train(
    engine: Engine,
    shards: Sequence[Shard],
    plan: Plan,
    sharing: Sharing,
    base: Any = None,
    report: Report = ignore_progress,
) -> tuple[Learner, ShardResult]:
    """Train on all shards; return the merged model, and the counts and failures.

    `base` is a learner, a future of one, or None.  `report` is called with 1 for every finished shard, and with -n if n
    shards must be learned from again.  The tree depends on the order of the shards, not on the order in which they
    finish, so the same shards give the same bits.
    """
    if not shards:
        raise DataError("no shards")
    check_confidences(plan.rule, plan.how)
    if getattr(plan.rule, "class_weight", None) == "balanced":
        raise ValueError("`class_weight='balanced'` must count all rows first: give a weight for each label")
    plan = _with_equal_resources(plan)
    if base is None and plan.rule.task == "classification" and plan.labels is None and plan.classes is None:
        plan = _with_labels(engine, shards, plan)
    model, failures = base, dict[str, str]()
    for number in range(sharing.rounds):
        last = number + 1 == sharing.rounds
        model, result = _train_round(engine, shards, plan, number, model, last, report)
        for _ in range(LABEL_RETRIES):
            labels = _corrected_labels(plan, result, sharing.skip_bad_shards)
            if labels is None:
                break
            report(-len(shards))
            plan = replace(plan, labels=labels)
            model, result = _train_round(engine, shards, plan, number, base, last, report)
        failures = result.failures | failures
        _check_round(result, failures, shards, plan, sharing)
    return model, replace(result, failures=failures)


def _with_equal_resources(plan: Plan) -> Plan:
    """The plan with resources that do not depend on the machine of a worker, so the same shards give the same bits."""
    resources = replace(plan.resources, memory=plan.resources.memory or SHARD_MEMORY, threads=1)
    return replace(plan, resources=resources, training=replace(plan.training, verbose=0))


def _train_round(
    engine: Engine, shards: Sequence[Shard], plan: Plan, number: int, base: Any, last: bool, report: Report
) -> tuple[Any, ShardResult]:
    """Train on all shards once.  Return the model or, except in the last round, a future of it.

    Two sums of the same size are added as soon as both are submitted, so few are in memory at a time.  The last
    addition of the last round is left to the task that makes the model.
    """
    sums: list[tuple[int, Any]] = []  # (number of shards, future of their result); the numbers fall
    for place, (data, name) in enumerate(shards):
        seed = (plan.seed + SEED_STEP * (place + len(shards) * number)) % 2**32
        result = engine.submit(learn, data, name, replace(plan, seed=seed), base)
        result.add_done_callback(lambda _: report(1))
        size = 1
        kept = int(place + 1 == len(shards))
        while len(sums) > kept and sums[-1][0] == size:
            result, size = engine.submit(combine, sums.pop()[1], result), 2 * size
        sums.append((size, result))
    result = sums.pop()[1]
    while len(sums) > 1:
        result = engine.submit(combine, sums.pop()[1], result)
    first = sums.pop()[1] if sums else None
    if last:
        pair = (result, None) if first is None else (first, result)
        model, summary = engine.submit(conclude, *pair, base).result()
        return model, summary
    if first is not None:
        result = engine.submit(combine, first, result)
    summary = engine.submit(without_model, result)
    return engine.submit(finish, result, base), summary.result()


def _corrected_labels(plan: Plan, result: ShardResult, skip_bad_shards: bool) -> dict[float | str, str] | None:
    """The labels that a round should have had, if they differ from the sampled ones: with labels that only training has
    found, and without labels that only skipped shards have."""
    sampled = plan.labels or {}
    if result.labels_missed:
        return {**result.labels, **sampled}
    if plan.labels_sampled and result.failures and skip_bad_shards and 1 < len(result.labels) < len(sampled):
        return result.labels
    return None


def _check_round(
    result: ShardResult, failures: dict[str, str], shards: Sequence[Shard], plan: Plan, sharing: Sharing
) -> None:
    """Raise an error unless the round has made a model that is allowed."""
    if result.labels_missed:
        raise DataError("every time the shards were read they had new labels: are they being changed?")
    if failures and not sharing.skip_bad_shards:
        raise DataError(_summary([*failures.values()]))
    if result.bad_lines > (most := plan.reading.max_bad):
        raise DataError(f"{result.skipped_lines[most]} (more than {most:,} bad lines in all shards: `max_bad`)")
    if not result.rows:
        reason = f": {_summary([*failures.values()])}" if failures else ""
        raise DataError(f"{_no_examples(shards, plan)}{reason}")


def _no_examples(shards: Sequence[Shard], plan: Plan) -> str:
    what = "no examples with a label" if plan.several else "no examples"
    return f"{shards[0].name}: {what}" if len(shards) == 1 else f"{what} in any of {len(shards)} shards"


def _summary(failures: list[str]) -> str:
    others = len(failures) - 1
    more = f" (and {others:,} more {'shard' if others == 1 else 'shards'})" if others else ""
    return f"{failures[0]}{more}"


def _with_labels(engine: Engine, shards: Sequence[Shard], plan: Plan) -> Plan:
    """The plan with the labels of all shards, which each of them needs from its first row on.

    A sample of the lines of texts mostly has all labels; if not, the first round finds the others.  If the sample has
    too few labels to learn from, the texts are read to the end.
    """
    texts, fewest = is_text(shards[0].data), 1 if plan.several else 2
    labels, failures = _find_labels(engine, shards, plan, thorough=not texts)
    sampled = texts and len(labels) >= fewest
    if texts and not sampled:
        labels, failures = _find_labels(engine, shards, plan, thorough=True)
    if not labels:
        raise DataError(_summary(failures) if failures else _no_examples(shards, plan))
    if len(labels) < fewest:
        reason = f"; {_summary(failures)}" if failures else ""
        only = listed([*labels.values()])
        raise DataError(f"two labels are needed to learn a classifier, found only {only}{reason}")
    try:
        classes = np.array(sorted(labels))
    except TypeError:
        raise DataError(f"{EXPECTED}; found {[*labels][:5]}") from None
    if texts:
        return replace(plan, labels=labels, labels_sampled=sampled)
    check_labels(classes)
    return replace(plan, classes=classes)


def _find_labels(
    engine: Engine, shards: Sequence[Shard], plan: Plan, thorough: bool
) -> tuple[dict[Any, str], list[str]]:
    """The labels of all shards and the failures; several texts are sampled in one task."""
    step = 1 if thorough else TEXTS_PER_TASK
    groups = [zip(*shards[start : start + step], strict=True) for start in range(0, len(shards), step)]
    futures = [engine.submit(find_labels, plan, thorough, [*names], *data) for data, names in groups]
    labels: dict[Any, str] = {}
    failures: list[str] = []
    for future in futures:
        more_labels, more_failures = future.result()
        labels, failures = {**more_labels, **labels}, failures + more_failures
    return labels, failures


def files_as_shards(paths: Sequence[str], workers: int, format: str = AUTO) -> list[Shard]:
    """Each file as a shard; if there are fewer files than workers, files that can be cut become several."""
    shards = []
    sources = as_sources(paths)
    for source in sources:
        parts = [source]
        with suppress(OSError, DataError):  # the task of the shard reports it
            if len(sources) < workers and (size := total_size(sources)):
                parts = cut(source, max(1, round(workers * (source.size or 0) / size)), format)
        shards += [Shard(part, part.full_name) for part in parts]
    return shards
