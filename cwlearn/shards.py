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
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from cwlearn.errors import DataError, ModelError, listed
from cwlearn.labels import Labels, labels_for
from cwlearn.learner import Learner, Training, row_dtype
from cwlearn.machine import free_memory
from cwlearn.merging import HOW, Sum
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


class Engine(Protocol):
    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Any: ...


class Threads:
    """An engine of this process: the kernels hold no GIL, so that threads learn side by side and share all memory."""

    def __init__(self, workers: int) -> None:
        self._pool = ThreadPoolExecutor(workers)

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Future[Any]:
        """Tasks begin in the order they come, so that none waits for one that waits for it."""

        def task() -> Any:
            ready = [part.result() if isinstance(part, Future) else part for part in arguments]
            return function(*ready)

        return self._pool.submit(task)

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)


class _Stopping(Watch):
    """Ends a run when everybody is to end."""

    def __init__(self, stop: threading.Event) -> None:
        self._stop = stop

    def read(self, run: Run, batch: Any) -> None:
        if self._stop.is_set():
            raise KeyboardInterrupt

    def learned(self, run: Run, rows: int) -> None:
        if self._stop.is_set():
            raise KeyboardInterrupt


# -- tasks -------------------------------------------------------------------------------------------------------------


def find_labels(shard: Any, plan: Plan) -> dict[Any, str]:
    """The labels of a shard, each with its text; a shard that cannot be read has none here, and fails later."""
    if not isinstance(shard, str):
        return {label: str(label) for label in np.unique(np.asarray(shard[1])).tolist()}
    labels = Labels()
    reader = Reader(shard, plan.reading, dtype=row_dtype(plan.rule, plan.training), threads=plan.space.threads)
    try:
        for batch in reader:
            labels.meet(batch)
    except (DataError, OSError):
        return {}
    return labels.texts


def learn(shard: Any, name: str, plan: Plan, base: Learner | None) -> Share:
    """Train on a shard, from the base or from nothing."""
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
    except (DataError, ModelError, OSError) as error:
        place = "" if getattr(error, "path", None) or isinstance(error, OSError) else f"{name}: "
        share.failures.append(f"{place}{error}")
    return share


def _learn_text(path: str, plan: Plan, learner: Learner | None, share: Share) -> Learner | None:
    watch = Watch() if plan.stop is None else _Stopping(plan.stop)
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
    return learner


def _learn_matrix(X: Any, y: Any, plan: Plan, learner: Learner | None, share: Share) -> Learner:
    y = np.asarray(y)
    if learner is None:
        learner = Learner(plan.rule, plan.training, plan.classes, X.shape[1])
    learner.go_on_with(plan.rule, plan.training)
    rows = as_rows(X, learner.state.dtype)
    if rows.n_rows != len(y):
        raise DataError(f"X has {rows.n_rows} rows, and y {len(y)} entries")
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
    )


def finish(share: Share, base: Learner | None) -> Learner | None:
    """The model that the shards make; None if there was nothing to learn from."""
    return share.total.learner(base) if share.total.count else None


def without_model(share: Share) -> Share:
    """What there is to tell of the shards."""
    return replace(share, total=Sum(share.total.how))


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
    if base is None and plan.rule.task == "classification" and plan.labels is None and plan.classes is None:
        plan = _with_labels(engine, shards, plan)
    model = base
    for _ in range(rounds):
        shares = [engine.submit(learn, shard, name, plan, model) for shard, name in shards]
        for share in shares:
            share.add_done_callback(lambda _: report(1))
        while len(shares) > 1:
            pairs = zip(shares[::2], shares[1::2], strict=False)
            shares = [engine.submit(combine, *pair) for pair in pairs] + shares[len(shares) - len(shares) % 2 :]
        told = engine.submit(without_model, shares[0]).result()
        if told.failures and not skip_bad:
            more = f" (and {len(told.failures) - 1:,} more shards)" if len(told.failures) > 1 else ""
            raise DataError(f"{told.failures[0]}{more}")
        if told.rows == 0:
            raise DataError(f"{NO_EXAMPLES} in any of {len(shards)} shards" if len(shards) > 1 else NO_EXAMPLES)
        model = engine.submit(finish, shares[0], model)
    return model, told


def _with_labels(engine: Engine, shards: Sequence[tuple[Any, str]], plan: Plan) -> Plan:
    """All shards must learn of all labels before one of them begins."""
    found: dict[Any, str] = {}
    for texts in [engine.submit(find_labels, shard, plan) for shard, _ in shards]:
        found = {**texts.result(), **found}
    if len(found) < 2:
        only = f"only {listed([*found.values()])}" if found else "none"
        raise DataError(f"two labels are needed to learn a classifier, found {only}")
    if isinstance(shards[0][0], str):
        return replace(plan, labels=found)
    return replace(plan, classes=np.array(sorted(found)))


def files_as_shards(paths: Sequence[str], workers: int) -> list[tuple[str, str]]:
    """Files with their names; where they are fewer than the workers, the plain ones in parts."""
    pieces = [1] * len(paths)
    size = total_size(paths) if len(paths) < workers else None
    if size:
        pieces = [max(1, round(workers * (total_size([path]) or 0) / size)) for path in paths]
    return [(part, displayed(path)) for path, n in zip(paths, pieces, strict=True) for part in split(path, n)]


def train_in_threads(
    paths: Sequence[str],
    sharing: Sharing,
    plan: Plan,
    base: Learner | None,
    report: Callable[[int], object] = lambda done: None,
) -> tuple[Learner, Share]:
    """Train on files with threads of this process."""
    workers = sharing.workers or 1
    memory = plan.space.memory or free_memory() // 2
    stop = threading.Event()
    plan = replace(plan, stop=stop, space=replace(plan.space, memory=max(1, memory // workers), threads=1))
    engine = Threads(workers)
    try:
        shards = files_as_shards(paths, workers)
        model, told = train(engine, shards, plan, sharing.rounds, base, sharing.skip_bad_shards, report)
        return model.result(), told
    except BaseException:
        stop.set()
        raise
    finally:
        engine.close()
