"""What is done with one shard, or with what has come of some: the tasks that `shards` hands to threads or to a cluster.

No task changes what it is given, since a cluster may have to run it again.  Whatever a shard brings on itself (a bad
line, a file that is not there) becomes a failure in its result, and the others go on.
"""

from __future__ import annotations

import copy
import threading
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cwlearn.core.class_labels import check_types
from cwlearn.core.learner import Learner
from cwlearn.core.merging import Sum
from cwlearn.core.rows import as_rows
from cwlearn.core.rule import Rule
from cwlearn.core.training import Training, row_dtype
from cwlearn.errors import DataError, NoExamplesError
from cwlearn.text.labels import Labels, labels_for
from cwlearn.text.monitor import Monitor
from cwlearn.text.run import Resources, Run
from cwlearn.text.sources import displayed, total_size
from cwlearn.text.svmlight import CHUNK_BYTES, Reader, Reading

BROUGHT_ABOUT = (ValueError, TypeError, ArithmeticError, OSError)  # errors that are the fault of a shard
SAMPLE_BYTES = 1 << 16  # at the beginning of a text, whose labels are looked for before it is learned from
SAMPLED_TOGETHER = 4  # texts in one task: a look at each takes less time than a task


@dataclass(frozen=True)
class Plan:
    """What every task must know."""

    rule: Rule
    training: Training
    how: str
    reading: Reading = field(default_factory=Reading)
    resources: Resources = field(default_factory=Resources)
    labels: dict[float, str] | None = None  # of text, once they are known
    guessed: bool = False  # these labels: there may be others
    classes: Any = None  # of matrices
    seed: int = 0
    stop: threading.Event | None = None  # set where everybody is to end

    def check_going_on(self) -> None:
        if self.stop is not None and self.stop.is_set():
            raise KeyboardInterrupt


@dataclass(frozen=True)
class Broken:
    """A shard that could not be made."""

    why: str


@dataclass
class ShardResult:
    """What has come of some shards."""

    total: Sum
    rows: int = 0
    nonzeros: int = 0
    bad_lines: int = 0
    failures: dict[str, str] = field(default_factory=dict)  # what is wrong with shards, by name
    skipped_lines: list[str] = field(default_factory=list)
    labels: dict[float, str] = field(default_factory=dict)  # that texts have, where those of the plan are guessed
    missed: bool = False  # some of them are not in the plan: nothing was learned where they are


class _LabelsMissedError(Exception):
    """The plan does not know all labels of a shard, which has been read to its end."""


class _ShardMonitor(Monitor):
    """Remembers the bad lines of a run, and ends it when everybody is to end or labels are missing."""

    def __init__(self, plan: Plan, labels: Labels) -> None:
        self._plan, self._labels = plan, labels
        self._known = set(labels.texts)
        self.skipped_lines: list[str] = []

    def begin(self, what: str, total: int | None, unit: str) -> None:
        if self._plan.guessed and set(self._labels.texts) > self._known:
            raise _LabelsMissedError

    def read(self, run: Run, batch: Any) -> None:
        self._plan.check_going_on()

    def learned(self, run: Run, rows: int) -> None:
        self._plan.check_going_on()

    def skipped(self, flaw: DataError) -> None:
        self.skipped_lines.append(str(flaw))


def find_labels(plan: Plan, thorough: bool, names: list[str], *shards: Any) -> tuple[dict[Any, str], list[str]]:
    """The labels of some shards, each with its text, and what is wrong with them; of texts those of some lines, unless
    the search is thorough."""
    found: dict[Any, str] = {}
    failures = []
    for shard, name in zip(shards, names, strict=True):
        labels, failure = _labels_of(shard, name, plan, thorough)
        found = {**labels, **found}
        failures += [failure] if failure else []
    return found, failures


def _labels_of(shard: Any, name: str, plan: Plan, thorough: bool) -> tuple[dict[Any, str], str]:
    labels = Labels()
    try:
        if not isinstance(shard, str):
            return {label: str(label) for label in _classes(_opened(shard)[1]).tolist()}, ""
        _check_file(shard)
        dtype = row_dtype(plan.rule, plan.training)
        size = CHUNK_BYTES if thorough else SAMPLE_BYTES
        bits = plan.resources.hash_bits or 0
        reader = Reader(shard, plan.reading, dtype=dtype, hash_bits=bits, threads=1, chunk_bytes=size)
        with closing(iter(reader)) as batches:
            for batch in batches:
                labels.meet(batch)
                plan.check_going_on()
                if not thorough:
                    labels.look_ahead(reader)
                    break
    except BROUGHT_ABOUT as error:
        return labels.texts, _failure(error, name)
    return labels.texts, ""


def _check_file(path: str) -> None:
    if total_size([path]) is None:
        raise DataError(
            "can be read but once, and a shard may have to be read again: it must be a file", displayed(path)
        )


def _opened(shard: Any) -> tuple[Any, NDArray[Any]]:
    """A shard that is not text, as rows and targets."""
    if isinstance(shard, Broken):
        raise DataError(shard.why)
    X, y = shard
    return X, np.asarray(y)


def _classes(y: NDArray[Any]) -> NDArray[Any]:
    """The labels of a matrix."""
    check_types(y)
    if y.dtype.kind == "f" and len(odd := y[y != np.floor(y)]):  # NaN among them
        raise DataError(f"label {odd.flat[0]} is not a whole number: expected a class")
    return np.unique(y)


def _failure(error: Exception, name: str) -> str:
    """What went wrong, with the name of the shard."""
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f"{name}: {error.strerror}"
    if getattr(error, "path", None) is not None:
        return str(error)  # which names it
    kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
    return f"{name}: {kind}{error}"


def learn(shard: Any, name: str, plan: Plan, base: Learner | None) -> ShardResult:
    """Train on a shard, from the base or from nothing; the seed in the plan is that of the shard and the round."""
    result = ShardResult(Sum(plan.how))
    learner = copy.deepcopy(base)  # the base belongs to all
    try:
        if isinstance(shard, str):
            learner = _learn_text(shard, plan, learner, result)
        else:
            learner = _learn_matrix(*_opened(shard), plan, learner, result)
        if learner is not None:
            result.total = Sum.of(plan.how, learner, name, base)
    except BROUGHT_ABOUT as error:  # the others go on
        return ShardResult(Sum(plan.how), failures={name: _failure(error, name)})
    return result


def _learn_text(path: str, plan: Plan, learner: Learner | None, result: ShardResult) -> Learner | None:
    _check_file(path)
    labels = labels_for(plan.rule, plan.labels, guessed=plan.guessed)
    monitor = _ShardMonitor(plan, labels)
    random_state = np.random.RandomState(plan.seed)
    run = Run([path], plan.rule, plan.training, plan.reading, plan.resources, labels, learner, monitor, random_state)
    try:
        learner = run.train()
    except _LabelsMissedError:
        learner, result.missed = None, True
    except NoExamplesError:
        learner = None  # an empty shard has nothing to add
    result.rows, result.nonzeros, result.bad_lines = run.rows, run.nonzeros, run.bad_lines
    result.skipped_lines = monitor.skipped_lines
    if plan.guessed:
        result.labels = {value: text for value, text in labels.texts.items() if result.missed or labels.counts[value]}
    return learner


def _learn_matrix(X: Any, y: NDArray[Any], plan: Plan, learner: Learner | None, result: ShardResult) -> Learner | None:
    rows = as_rows(X, np.dtype(row_dtype(plan.rule, plan.training)))
    if y.shape != (rows.n_rows,):
        raise DataError(f"y must have one entry for each of {rows.n_rows} rows, got shape {y.shape}")
    if not rows.n_rows:
        return None
    if plan.rule.task == "regression" and not np.isfinite(y.astype(float)).all():
        row = int(np.flatnonzero(~np.isfinite(y.astype(float)))[0])
        raise DataError(f"target {y[row]} of row {row} is not a finite number")
    names = _column_names(X)
    if learner is None:
        learner = Learner(plan.rule, plan.training, plan.classes, rows.n_features)
        learner.feature_names = names
    for column, (ours, theirs) in enumerate(zip(_list(learner.feature_names), _list(names), strict=False)):
        if ours != theirs:
            raise DataError(f"column {column} is named {theirs!r}, and {ours!r} in the model")
    learner.reconfigure(plan.rule, plan.training)
    learner.grow(rows.n_features)
    result.rows, result.nonzeros = rows.n_rows, len(rows.values)
    learner.train(rows, learner.encode(y), learner.class_weights(y), np.random.RandomState(plan.seed))
    return learner


def _column_names(X: Any) -> NDArray[Any] | None:
    """Those of a data frame, if all are strings."""
    names = [*getattr(X, "columns", ())]
    return np.array(names, object) if names and all(isinstance(name, str) for name in names) else None


def _list(names: NDArray[Any] | None) -> list[str]:
    return [] if names is None else names.tolist()


def combine(one: ShardResult, other: ShardResult) -> ShardResult:
    """What has come of both."""
    return ShardResult(
        one.total + other.total,
        one.rows + other.rows,
        one.nonzeros + other.nonzeros,
        one.bad_lines + other.bad_lines,
        one.failures | other.failures,
        one.skipped_lines + other.skipped_lines,
        {**other.labels, **one.labels},
        one.missed or other.missed,
    )


def finish(result: ShardResult, base: Learner | None) -> Learner | None:
    """The model that the shards make; None if there was nothing to learn from."""
    if not result.total.count or result.missed:
        return None
    learner = result.total.learner(base)
    if result.labels:  # as the first shard that has them writes them
        texts = zip(learner.classes.tolist(), learner.label_names, strict=True)
        learner.label_texts = [result.labels.get(value, text) for value, text in texts]
    return learner


def without_model(result: ShardResult) -> ShardResult:
    """What there is to tell of the shards."""
    return replace(result, total=Sum(result.total.how))


def conclude(one: ShardResult, other: ShardResult | None, base: Learner | None) -> tuple[Learner | None, ShardResult]:
    """The last step of the last round, in one task: add up, make the model, and tell of the shards."""
    result = one if other is None else combine(one, other)
    return finish(result, base), without_model(result)


QUICK = (combine, finish, without_model, conclude)  # tasks that only add up
