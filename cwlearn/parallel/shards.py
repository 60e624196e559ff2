"""Training on shards: each one alone, from the same beginning; then their models merged, in a tree.

The same tasks (`shard_tasks`) run in threads of this process and on a cluster: an engine is anything whose
`submit(function, *args)` returns a future and takes futures as arguments, such as a client of Dask.  Models stay where
they were made, but for the sums of the tree, and the last one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from cwlearn.core.class_labels import EXPECTED, check_labels
from cwlearn.core.learner import Learner
from cwlearn.core.merging import HOW, check_confidences
from cwlearn.core.parameters import BOOLEAN, COUNT, NOTHING, Check, Options, option
from cwlearn.errors import DataError, listed
from cwlearn.parallel.tasks import (
    QUICK,
    SAMPLED_TOGETHER,
    Plan,
    ShardResult,
    combine,
    conclude,
    find_labels,
    finish,
    learn,
    without_model,
)
from cwlearn.text.sources import Source, as_sources, total_size

LATE = 3  # how often a round may be run again because of labels that came late
SHARD_MEMORY = 1 << 30  # bytes for the rows of a shard between two epochs; more of them go through a file
ADDRESS = Check("an address such as tcp://host:8786", lambda value: isinstance(value, str) and value, str, "ADDRESS")


@dataclass(frozen=True)
class Sharing(Options):
    """How many learn at once, and how their models become one."""

    workers: int | None = option(
        None,
        NOTHING | COUNT,
        "Train so many models at once, each on a shard (a file, or a part of one where there are fewer), and merge "
        "them. None: one model, from all rows in turn.",
    )
    scheduler: str | None = option(
        None,
        NOTHING | ADDRESS,
        "Let the workers of a Dask cluster do it, which must find the files under the same names.",
    )
    rounds: int = option(1, COUNT, "How often to train on all shards, each time from the last merged model.")
    how: str = option("posterior", HOW, "How to merge the models of shards: see `cwlearn merge`.")
    skip_bad_shards: bool = option(
        False, BOOLEAN, "Leave out shards that cannot be read or learned from, and report them, instead of failing."
    )

    @property
    def wanted(self) -> bool:
        return self.workers is not None or self.scheduler is not None


class Engine(Protocol):
    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Any: ...


class Threads:
    """An engine of this process: the kernels hold no GIL, so that threads learn side by side and result all memory.

    A task begins when all it waits for is there.  Those that only add up run at once, in the thread that brought the
    last of it, so that no more sums wait than there are threads and levels of the tree.
    """

    def __init__(self, workers: int) -> None:
        self._pool = ThreadPoolExecutor(workers)

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Future[Any]:
        answer: Future[Any] = Future()
        inputs = [part for part in arguments if isinstance(part, Future)]
        left, lock = len(inputs), threading.Lock()

        def run() -> None:
            nonlocal arguments
            try:
                answer.set_result(
                    function(*(part.result() if isinstance(part, Future) else part for part in arguments))
                )
            except BaseException as error:
                answer.set_exception(error)
            arguments = ()  # which hold what this task was called by

        def begin(_: Any = None) -> None:
            nonlocal left
            with lock:
                left -= 1
                if left > 0:
                    return
            if function in QUICK:
                run()
            else:
                self._pool.submit(run)

        for part in inputs:
            part.add_done_callback(begin)
        if not inputs:
            begin()
        return answer

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)


def train(
    engine: Engine,
    shards: Sequence[tuple[Any, str]],
    plan: Plan,
    rounds: int,
    base: Any,
    skip_bad: bool,
    report: Callable[[int], object] = lambda done: None,
) -> tuple[Learner, ShardResult]:
    """Train on all shards, each with its name; return the model, and what there is to tell of them.

    `base` is a learner, a future of one, or None; `report` hears 1 for every shard that is done, and -n where n of them
    must be done again.  The tree is that of the order of the shards, whatever the order in which they are done, so the
    same shards give the same bits.
    """
    if not shards:
        raise DataError("no shards")
    check_confidences(plan.rule, plan.how)
    # A worker has one thread, and no less or more memory than others: the same shards must give the same bits.
    resources = replace(plan.resources, memory=plan.resources.memory or SHARD_MEMORY, threads=1)
    plan = replace(plan, resources=resources, training=replace(plan.training, verbose=0))
    if getattr(plan.rule, "class_weight", None) == "balanced":
        raise ValueError("class_weight='balanced' must count all rows first: give a weight for each label")
    if base is None and plan.rule.task == "classification" and plan.labels is None and plan.classes is None:
        plan = _with_labels(engine, shards, plan)
    model, failures = base, dict[str, str]()
    for turn in range(rounds):
        last = turn + 1 == rounds
        model, told = _round(engine, shards, plan, turn, model, last, report)
        for _ in range(LATE):
            labels = _labels_after(plan, told, skip_bad)
            if labels is None:
                break
            report(-len(shards))
            plan = replace(plan, labels=labels)
            model, told = _round(engine, shards, plan, turn, base, last, report)
        if told.missed:
            raise DataError("new labels turned up whenever the shards were read: are they being changed?")
        failures = told.failures | failures
        if failures and not skip_bad:
            raise DataError(_summary([*failures.values()]))
        if told.bad_lines > (most := plan.reading.max_bad):
            raise DataError(f"{told.skipped_lines[most]} (in all shards more than {most:,} bad lines: `max_bad`)")
        if not told.rows:
            none = _no_examples(shards)
            raise DataError(f"{none}: {_summary([*failures.values()])}" if failures else none)
    return model, replace(told, failures=failures)


def _round(
    engine: Engine,
    shards: Sequence[tuple[Any, str]],
    plan: Plan,
    turn: int,
    base: Any,
    last: bool,
    report: Callable[[int], object],
) -> tuple[Any, ShardResult]:
    """Train on all shards once; return the model or, unless it is the last time, a future of it.  Sums are asked for as
    soon as there are two of a size, so that few are held at a time; the tree is the same for the same number of shards.
    The last sum is left to the task that makes the model."""
    waiting: list[tuple[int, Any]] = []  # futures of shares, each with the number of its shards, which falls
    for number, (shard, name) in enumerate(shards):
        seed = (plan.seed + 7919 * (number + len(shards) * turn)) % 2**32
        result = engine.submit(learn, shard, name, replace(plan, seed=seed), base)
        result.add_done_callback(lambda _: report(1))
        size = 1
        kept = int(number + 1 == len(shards))
        while len(waiting) > kept and waiting[-1][0] == size:
            result, size = engine.submit(combine, waiting.pop()[1], result), 2 * size
        waiting.append((size, result))
    result = waiting.pop()[1]
    while len(waiting) > 1:
        result = engine.submit(combine, waiting.pop()[1], result)
    before = waiting.pop()[1] if waiting else None
    if last:
        pair = (result, None) if before is None else (before, result)
        model, told = engine.submit(conclude, *pair, base).result()
        return model, told
    if before is not None:
        result = engine.submit(combine, before, result)
    told = engine.submit(without_model, result)
    return engine.submit(finish, result, base), told.result()


def _labels_after(plan: Plan, told: ShardResult, skip_bad: bool) -> dict[float, str] | None:
    """The labels that a round should have had, if they are others: those that came late, as all shards must know of
    all, and without those that only shards have which are left out."""
    guess = plan.labels or {}
    if told.missed:
        return {**told.labels, **guess}
    if plan.guessed and told.failures and skip_bad and 1 < len(told.labels) < len(guess):
        return told.labels
    return None


def _no_examples(shards: Sequence[tuple[Any, str]]) -> str:
    return f"{shards[0][1]}: no examples" if len(shards) == 1 else f"no examples in any of {len(shards)} shards"


def _summary(failures: list[str]) -> str:
    others = len(failures) - 1
    more = f" (and {others:,} more {'shard' if others == 1 else 'shards'})" if others else ""
    return f"{failures[0]}{more}"


def _with_labels(engine: Engine, shards: Sequence[tuple[Any, str]], plan: Plan) -> Plan:
    """All shards must learn of all labels before one of them begins.  Of texts, some lines mostly show them all; where
    they do not, the first round will tell."""
    texts = isinstance(shards[0][0], Source)
    for thorough in (False, True) if texts else (True,):
        step = 1 if thorough else SAMPLED_TOGETHER
        groups = [zip(*shards[start : start + step], strict=True) for start in range(0, len(shards), step)]
        futures = [engine.submit(find_labels, plan, thorough, [*names], *some) for some, names in groups]
        found: dict[Any, str] = {}
        failures: list[str] = []
        for future in futures:
            labels, more = future.result()
            found, failures = {**labels, **found}, failures + more
        if len(found) > 1:
            break
    else:
        if not found:
            raise DataError(_summary(failures) if failures else _no_examples(shards))
        why = f"; {_summary(failures)}" if failures else ""
        only = listed([*found.values()])
        raise DataError(f"two labels are needed to learn a classifier, found only {only}{why}")
    if texts:
        return replace(plan, labels=found, guessed=not thorough)
    try:
        classes = np.array(sorted(found))
    except TypeError:
        raise DataError(f"{EXPECTED}; found {[*found][:5]}") from None
    check_labels(classes)
    return replace(plan, classes=classes)


def files_as_shards(paths: Sequence[str], workers: int) -> list[tuple[Source, str]]:
    """Files with their names; where they are fewer than the workers, the plain ones in parts."""
    shards = []
    sources = as_sources(paths)
    for source in sources:
        parts = [source]
        with suppress(OSError, DataError):  # its task will say what is wrong with it
            if len(sources) < workers and (size := total_size(sources)):
                parts = source.split(max(1, round(workers * (source.size or 0) / size)))
        shards += [(part, part.full_name) for part in parts]
    return shards


def train_in_threads(
    shards: Sequence[tuple[Any, str]],
    sharing: Sharing,
    plan: Plan,
    base: Learner | None,
    report: Callable[[int], object] = lambda done: None,
) -> tuple[Learner, ShardResult]:
    """Train with threads of this process."""
    stop = threading.Event()
    plan = replace(plan, stop=stop)
    engine = Threads(sharing.workers or 1)
    try:
        return train(engine, shards, plan, sharing.rounds, base, sharing.skip_bad_shards, report)
    finally:
        stop.set()
        engine.close()
