"""Training on shards: each one alone, from the same beginning; then their models merged, in a tree.

The same tasks run in threads of this process and on a cluster: an engine is anything whose `submit(function, *args)`
returns a future and takes futures as arguments, such as a client of Dask.  Models stay where they were made, but for
the sums of the tree, and the last one.  No task changes what it is given, since a cluster may have to run it again.
Whatever a shard brings on itself (a bad line, a file that is not there) becomes a failure in its share, and the others
go on.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from cwlearn.errors import DataError, listed
from cwlearn.labels import Labels, labels_for
from cwlearn.learner import Learner, Training, row_dtype
from cwlearn.machine import free_memory
from cwlearn.merging import HOW, Sum, check_confidences
from cwlearn.options import BOOLEAN, COUNT, NOTHING, Check, Options, option
from cwlearn.out_of_core import NO_EXAMPLES, Run, Space, Watch
from cwlearn.rows import as_rows
from cwlearn.rules import Rule
from cwlearn.state import NONE
from cwlearn.svmlight import Reader, Reading
from cwlearn.text_files import displayed, split, total_size

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


@dataclass(frozen=True)
class Plan:
    """What every task must know."""

    rule: Rule
    training: Training
    how: str
    reading: Reading = field(default_factory=Reading)
    space: Space = field(default_factory=Space)
    labels: dict[float, str] | None = None  # of text, all of them, once they are known
    classes: Any = None  # of matrices
    seed: int = 0
    stop: threading.Event | None = None  # set where everybody is to end


@dataclass
class Share:
    """What has come of some shards."""

    total: Sum
    rows: int = 0
    nonzeros: int = 0
    bad_lines: int = 0
    failures: list[str] = field(default_factory=list)
    skipped_lines: list[str] = field(default_factory=list)


class Engine(Protocol):
    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Any: ...


class Threads:
    """An engine of this process: the kernels hold no GIL, so that threads learn side by side and share all memory.

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


class _Witness(Watch):
    """Remembers the bad lines of a run, and ends it when everybody is to end."""

    def __init__(self, stop: threading.Event | None) -> None:
        self._stop = stop
        self.skipped_lines: list[str] = []

    def read(self, run: Run, batch: Any) -> None:
        if self._stop is not None and self._stop.is_set():
            raise KeyboardInterrupt

    def learned(self, run: Run, rows: int) -> None:
        self.read(run, None)

    def skipped(self, flaw: DataError) -> None:
        self.skipped_lines.append(str(flaw))


# -- tasks -------------------------------------------------------------------------------------------------------------


def find_labels(shard: Any, name: str, plan: Plan) -> tuple[dict[Any, str], str]:
    """The labels of a shard, each with its text, and what is wrong with it, if anything is."""
    labels = Labels()
    try:
        if not isinstance(shard, str):
            return {label: str(label) for label in np.unique(np.asarray(shard[1])).tolist()}, ""
        reader = Reader(shard, plan.reading, dtype=row_dtype(plan.rule, plan.training), threads=plan.space.threads)
        for batch in reader:
            labels.meet(batch)
            if plan.stop is not None and plan.stop.is_set():
                raise KeyboardInterrupt
    except Exception as error:
        return labels.texts, _failure(error, name)
    return labels.texts, ""


def _failure(error: Exception, name: str) -> str:
    """What went wrong, with the name of the shard."""
    if isinstance(error, OSError) or getattr(error, "path", None) is not None:
        return str(error)  # which names it
    kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
    return f"{name}: {kind}{error}"


def learn(shard: Any, name: str, plan: Plan, base: Learner | None) -> Share:
    """Train on a shard, from the base or from nothing; the seed in the plan is that of the shard and the round."""
    share = Share(Sum(plan.how))
    learner = copy.deepcopy(base)  # the base belongs to all
    try:
        if isinstance(shard, str):
            learner = _learn_text(shard, plan, learner, share)
        else:
            X, y = shard
            learner = _learn_matrix(X, y, plan, learner, share)
        if learner is not None:
            share.total = Sum.of(plan.how, learner, name, base)
    except Exception as error:  # whatever a shard can bring about: the others go on
        return Share(Sum(plan.how), failures=[_failure(error, name)])
    return share


def _learn_text(path: str, plan: Plan, learner: Learner | None, share: Share) -> Learner | None:
    watch = _Witness(plan.stop)
    labels = labels_for(plan.rule, plan.labels)
    random_state = np.random.RandomState(plan.seed)
    run = Run([path], plan.rule, plan.training, plan.reading, plan.space, labels, learner, watch, random_state)
    try:
        learner = run.train()
    except DataError as error:
        if run.rows or not error.what.startswith(NO_EXAMPLES):
            raise
        learner = None  # an empty shard has nothing to add
    share.rows, share.nonzeros, share.bad_lines = run.rows, run.nonzeros, run.bad_lines
    share.skipped_lines = watch.skipped_lines
    return learner


def _learn_matrix(X: Any, y: Any, plan: Plan, learner: Learner | None, share: Share) -> Learner | None:
    y = np.asarray(y)
    rows = as_rows(X, np.dtype(row_dtype(plan.rule, plan.training)))
    if y.shape != (rows.n_rows,):
        raise DataError(f"y must have one entry for each of {rows.n_rows} rows, got shape {y.shape}")
    if not rows.n_rows:
        return None
    if learner is None:
        learner = Learner(plan.rule, plan.training, plan.classes, rows.n_features)
    learner.go_on_with(plan.rule, plan.training)
    learner.grow(rows.n_features)
    counts = {label: int(np.sum(y == label)) for label in learner.classes.tolist()}
    factors = learner.class_factors(counts)
    weights = np.ones(len(y)) if factors else NONE
    for label, factor in factors.items():
        weights[y == label] *= factor
    share.rows, share.nonzeros = rows.n_rows, len(rows.values)
    learner.train(rows, learner.encode(y), weights, np.random.RandomState(plan.seed))
    return learner


def combine(one: Share, other: Share) -> Share:
    """What has come of both."""
    return Share(
        one.total + other.total,
        one.rows + other.rows,
        one.nonzeros + other.nonzeros,
        one.bad_lines + other.bad_lines,
        one.failures + other.failures,
        one.skipped_lines + other.skipped_lines,
    )


def finish(share: Share, base: Learner | None) -> Learner | None:
    """The model that the shards make; None if there was nothing to learn from."""
    return share.total.learner(base) if share.total.count else None


def without_model(share: Share) -> Share:
    """What there is to tell of the shards."""
    return replace(share, total=Sum(share.total.how))


QUICK = (combine, finish, without_model)  # tasks that only add up


# -- the whole ---------------------------------------------------------------------------------------------------------


def train(
    engine: Engine,
    shards: Sequence[tuple[Any, str]],
    plan: Plan,
    rounds: int,
    base: Any,
    skip_bad: bool,
    report: Callable[[int], object] = lambda done: None,
) -> tuple[Any, Share]:
    """Train on all shards, each with its name; return a future of the model, and what there is to tell of them.

    `base` is a learner, a future of one, or None; `report` hears of every shard that is done.  The tree is that of the
    order of the shards, whatever the order in which they are done, so the same shards give the same bits.
    """
    if not shards:
        raise DataError("no shards")
    check_confidences(plan.rule, plan.how)
    if getattr(plan.rule, "class_weight", None) == "balanced":
        raise ValueError("class_weight='balanced' must count all rows first: give a weight for each label")
    if base is None and plan.rule.task == "classification" and plan.labels is None and plan.classes is None:
        plan = _with_labels(engine, shards, plan)
    model, failures = base, dict[str, None]()
    for turn in range(rounds):
        model, told = _round(engine, shards, plan, turn, model, report)
        failures |= dict.fromkeys(told.failures)
        if failures and not skip_bad:
            raise DataError(_summary([*failures]))
        if not told.rows:
            none = NO_EXAMPLES if len(shards) == 1 else f"{NO_EXAMPLES} in any of {len(shards)} shards"
            raise DataError(f"{none}: {_summary([*failures])}" if failures else none)
    return model, replace(told, failures=[*failures])


def _round(
    engine: Engine, shards: Sequence[tuple[Any, str]], plan: Plan, turn: int, base: Any, report: Callable[[int], object]
) -> tuple[Any, Share]:
    """Train on all shards once.  Sums are asked for as soon as there are two of a size, so that few are held at a time;
    the tree is the same for the same number of shards."""
    waiting: list[tuple[int, Any]] = []  # futures of shares, each with the number of its shards, which falls
    for number, (shard, name) in enumerate(shards):
        seed = (plan.seed + 7919 * (number + len(shards) * turn)) % 2**32
        share = engine.submit(learn, shard, name, replace(plan, seed=seed), base)
        share.add_done_callback(lambda _: report(1))
        size = 1
        while waiting and waiting[-1][0] == size:
            share, size = engine.submit(combine, waiting.pop()[1], share), 2 * size
        waiting.append((size, share))
    share = waiting.pop()[1]
    while waiting:
        share = engine.submit(combine, waiting.pop()[1], share)
    told = engine.submit(without_model, share)
    return engine.submit(finish, share, base), told.result()


def _summary(failures: list[str]) -> str:
    more = f" (and {len(failures) - 1:,} more shards)" if len(failures) > 1 else ""
    return f"{failures[0]}{more}"


def _with_labels(engine: Engine, shards: Sequence[tuple[Any, str]], plan: Plan) -> Plan:
    """All shards must learn of all labels before one of them begins."""
    found: dict[Any, str] = {}
    failures = []
    for future in [engine.submit(find_labels, shard, name, plan) for shard, name in shards]:
        texts, failure = future.result()
        found = {**texts, **found}
        failures += [failure] if failure else []
    if len(found) < 2:
        only = f"only {listed([*found.values()])}" if found else "none"
        why = f"; {_summary(failures)}" if failures else ""
        raise DataError(f"two labels are needed to learn a classifier, found {only}{why}")
    if isinstance(shards[0][0], str):
        return replace(plan, labels=found)
    try:
        return replace(plan, classes=np.array(sorted(found)))
    except TypeError:
        raise DataError(f"labels must be of one type, all numbers or all strings; found {[*found][:5]}") from None


def files_as_shards(paths: Sequence[str], workers: int) -> list[tuple[str, str]]:
    """Files with their names; where they are fewer than the workers, the plain ones in parts."""
    shards = []
    for path in paths:
        parts = [path]
        with suppress(OSError, DataError):  # its task will say what is wrong with it
            if len(paths) < workers and (size := total_size(paths)):
                parts = split(path, max(1, round(workers * (total_size([path]) or 0) / size)))
        shards += [(part, displayed(path)) for part in parts]
    return shards


def train_in_threads(
    paths: Sequence[str],
    sharing: Sharing,
    plan: Plan,
    base: Learner | None,
    report: Callable[[int], object] = lambda done: None,
) -> tuple[Learner, Share]:
    """Train on files with threads of this process."""
    workers = sharing.workers or 1
    shards = files_as_shards(paths, workers)
    memory = (plan.space.memory or free_memory() // 2) // len(shards)  # whatever the number of workers: the same bits
    stop = threading.Event()
    plan = replace(plan, stop=stop, space=replace(plan.space, memory=max(1, memory), threads=1))
    engine = Threads(workers)
    try:
        model, told = train(engine, shards, plan, sharing.rounds, base, sharing.skip_bad_shards, report)
        return model.result(), told
    finally:
        stop.set()
        engine.close()
