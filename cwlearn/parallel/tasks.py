"""The tasks of training on shards: find the labels of a shard, learn from it, add results up, make the model.

`shards` submits them to threads or to a cluster.  No task changes its arguments, since a cluster may run it again.  An
error that a shard causes (a bad line, a missing file) becomes a failure in its result; the other shards go on.
"""

from __future__ import annotations

import copy
import threading
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cwlearn.core.class_labels import check_types
from cwlearn.core.learner import Learner
from cwlearn.core.merging import Sum
from cwlearn.core.rows import as_rows
from cwlearn.core.rule import Rule
from cwlearn.core.states.base import NONE
from cwlearn.core.text_options import TextOptions
from cwlearn.core.training import Training, row_dtype
from cwlearn.errors import DataError, NoExamplesError
from cwlearn.text.chunks import CHUNK_BYTES
from cwlearn.text.labels import Labels, labels_for
from cwlearn.text.monitor import Monitor
from cwlearn.text.reader import Reader, Reading
from cwlearn.text.resources import Resources
from cwlearn.text.run import Run
from cwlearn.text.sources import Source

SHARD_ERRORS = (ValueError, TypeError, ArithmeticError, OSError)  # errors that a shard can cause
SAMPLE_BYTES = 1 << 16  # at the beginning of a text, whose labels are sampled before training
TEXTS_PER_TASK = 4  # sampled in one task: sampling a text takes less time than a task


class Shard(NamedTuple):
    """A part of the data, and its name in messages."""

    data: Any  # the path of a text, a pair (X, y), an UnreadableShard, or a future of one of the latter two
    name: str


@dataclass(frozen=True)
class UnreadableShard:
    """Takes the place of a shard that could not be computed."""

    reason: str


@dataclass(frozen=True)
class Plan:
    """The settings that all tasks share."""

    rule: Rule
    training: Training
    how: str  # to merge models
    reading: Reading = field(default_factory=Reading)
    resources: Resources = field(default_factory=Resources)
    labels: dict[float | str, str] | None = None  # of text, with their spelling; None until they are known
    labels_sampled: bool = False  # `labels` are from a sample: the texts may have more
    classes: NDArray[Any] | None = None  # of matrices; None until they are known
    several: bool = False  # rows of texts may have several labels
    documents: TextOptions | None = None  # how documents become rows; None: as usual
    only_documents: bool = False
    seed: int = 0
    stop: threading.Event | None = None  # set to end all tasks

    def check_stop(self) -> None:
        if self.stop is not None and self.stop.is_set():
            raise KeyboardInterrupt


@dataclass
class ShardResult:
    """The result of one shard, or the sum of several."""

    total: Sum
    rows: int = 0
    nonzeros: int = 0
    bad_lines: int = 0
    failures: dict[str, str] = field(default_factory=dict)  # messages, by the name of the shard
    skipped_lines: list[str] = field(default_factory=list)
    labels: dict[float | str, str] = field(default_factory=dict)  # of the texts, if those of the plan are sampled
    labels_missed: bool = False  # a text has labels that the plan lacks, so nothing was learned from it


class _LabelsMissedError(Exception):
    """A text, now read to its end, has labels that the plan lacks."""


class _ShardMonitor(Monitor):
    """Keeps the bad lines of a run.  Ends it if all tasks must end or the plan lacks labels."""

    def __init__(self, plan: Plan, labels: Labels) -> None:
        self._plan, self._labels = plan, labels
        self._planned = set(labels.texts)
        self.skipped_lines: list[str] = []

    def begin(self, what: str, total: int | None, unit: str) -> None:
        if self._plan.labels_sampled and set(self._labels.texts) > self._planned:
            raise _LabelsMissedError

    def read(self, run: Run, batch: Any) -> None:
        self._plan.check_stop()

    def learned(self, run: Run, rows: int) -> None:
        self._plan.check_stop()

    def skipped(self, flaw: DataError) -> None:
        self.skipped_lines.append(str(flaw))


def is_text(data: Any) -> bool:
    """Whether the data of a shard are a text file, or a part of one."""
    return isinstance(data, Source)


# -- finding labels ----------------------------------------------------------------------------------------------------


def find_labels(plan: Plan, thorough: bool, names: list[str], *shards: Any) -> tuple[dict[Any, str], list[str]]:
    """The labels of some shards with their spelling, and the failures.

    Texts are sampled, or read to the end if the search is `thorough`.  The shards are arguments of their own, since an
    engine replaces only such futures by their results.
    """
    labels: dict[Any, str] = {}
    failures: list[str] = []
    for shard, name in zip(shards, names, strict=True):
        more_labels, more_failures = _labels_of(shard, name, plan, thorough)
        labels, failures = {**more_labels, **labels}, failures + more_failures
    return labels, failures


def _labels_of(shard: Any, name: str, plan: Plan, thorough: bool) -> tuple[dict[Any, str], list[str]]:
    """The labels of a shard, up to the place of a failure."""
    labels = labels_for(plan.rule, several=plan.several)
    try:
        if not is_text(shard):
            return {label: str(label) for label in _classes(_opened(shard)[1]).tolist()}, []
        _check_readable_twice(shard)
        dtype = row_dtype(plan.rule, plan.training)
        size = CHUNK_BYTES if thorough else SAMPLE_BYTES
        options: dict[str, Any] = {
            "dtype": dtype,
            "hash_bits": plan.resources.hash_bits or 0,
            "threads": 1,
            "chunk_bytes": size,
        }
        reader = partial(Reader, shard, plan.reading, documents=plan.documents or TextOptions(), **options)
        with closing(iter(reader(label_type=labels.type))) as batches:
            for batch in batches:
                labels.add(batch)
                plan.check_stop()
                if not thorough:
                    labels.add_samples(reader(label_type=labels.type))
                    break
    except SHARD_ERRORS as error:
        return labels.texts, [_failure(error, name)]
    return labels.texts, []


def _check_readable_twice(source: Source) -> None:
    if source.size is None:
        raise DataError("is not a regular file, and a shard may have to be read twice", source.name)


def _opened(shard: Any) -> tuple[Any, NDArray[Any]]:
    """The rows and targets of a shard that is not text."""
    if isinstance(shard, UnreadableShard):
        raise DataError(shard.reason)
    X, y = shard
    return X, np.asarray(y)


def _classes(y: NDArray[Any]) -> NDArray[Any]:
    """The labels of a matrix."""
    check_types(y)
    if y.dtype.kind == "f" and len(fractions := y[y != np.floor(y)]):  # NaN is among them
        raise DataError(
            f"label {fractions.flat[0]} is not a whole number: expected a class; AROWRegressor predicts numbers"
        )
    return np.unique(y)


def _failure(error: Exception, name: str) -> str:
    """The message of an error, with the name of the shard."""
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f"{name}: {error.strerror}"
    if getattr(error, "path", None) is not None:
        return str(error)  # it names the file
    kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
    return f"{name}: {kind}{error}"


# -- learning ----------------------------------------------------------------------------------------------------------


def learn(shard: Any, name: str, plan: Plan, base: Learner | None) -> ShardResult:
    """Train on a shard, from the base or from a new learner; the plan has the seed of the shard and round."""
    result = ShardResult(Sum(plan.how))
    learner = copy.deepcopy(base)  # all shards begin with the same base
    try:
        if is_text(shard):
            learner = _learn_text(shard, plan, learner, result)
        else:
            learner = _learn_matrix(*_opened(shard), plan, learner, result)
        if learner is not None:
            result.total = Sum.of(plan.how, learner, name, base)
    except SHARD_ERRORS as error:
        return ShardResult(Sum(plan.how), failures={name: _failure(error, name)})
    return result


def _learn_text(source: Source, plan: Plan, learner: Learner | None, result: ShardResult) -> Learner | None:
    _check_readable_twice(source)
    labels = labels_for(plan.rule, plan.labels, plan.labels_sampled, plan.several)
    monitor = _ShardMonitor(plan, labels)
    random_state = np.random.RandomState(plan.seed)
    run = Run(
        source,
        plan.rule,
        plan.training,
        plan.reading,
        plan.resources,
        labels,
        learner,
        monitor,
        random_state,
        documents=plan.documents,
        only_documents=plan.only_documents,
    )
    try:
        learner = run.train()
    except _LabelsMissedError:
        learner, result.labels_missed = None, True
    except NoExamplesError:
        learner = None  # an empty shard adds nothing
    result.rows, result.nonzeros, result.bad_lines = run.rows, run.nonzeros, run.bad_lines
    result.skipped_lines = monitor.skipped_lines
    if plan.labels_sampled:
        missed = result.labels_missed
        result.labels = {value: text for value, text in labels.texts.items() if missed or labels.counts[value]}
    return learner


def _learn_matrix(X: Any, y: NDArray[Any], plan: Plan, learner: Learner | None, result: ShardResult) -> Learner | None:
    rows = as_rows(X, np.dtype(row_dtype(plan.rule, plan.training)))
    if y.shape != (rows.n_rows,):
        raise DataError(f"y must have one entry for each of {rows.n_rows} rows, got shape {y.shape}")
    if not rows.n_rows:
        return None
    if plan.rule.task == "regression" and not (finite := np.isfinite(y.astype(float))).all():
        row = int(np.flatnonzero(~finite)[0])
        raise DataError(f"target {y[row]} of row {row} is not a finite number")
    names = _column_names(X)
    if learner is None:
        assert plan.classes is not None
        learner = Learner(plan.rule, plan.training, plan.classes, rows.n_features)
        learner.feature_names = names
    _check_column_names(names, learner)
    learner.reconfigure(plan.rule, plan.training)
    learner.grow(rows.n_features)
    result.rows, result.nonzeros = rows.n_rows, len(rows.values)
    class_weights = learner.class_weights(learner.number(y)) if learner.weighs_classes else NONE
    learner.train(rows, learner.encode(y), class_weights, np.random.RandomState(plan.seed))
    return learner


def _column_names(X: Any) -> NDArray[Any] | None:
    """The column names of a data frame, if all are strings."""
    names = [*getattr(X, "columns", ())]
    return np.array(names, object) if names and all(isinstance(name, str) for name in names) else None


def _check_column_names(names: NDArray[Any] | None, learner: Learner) -> None:
    if names is None or learner.feature_names is None:
        return
    for column, (name, expected) in enumerate(zip(names, learner.feature_names, strict=False)):
        if name != expected:
            raise DataError(f"column {column} is named {name!r}, and {expected!r} in the model")


# -- adding up ---------------------------------------------------------------------------------------------------------


def combine(left: ShardResult, right: ShardResult) -> ShardResult:
    """The sum of two results."""
    return ShardResult(
        left.total + right.total,
        left.rows + right.rows,
        left.nonzeros + right.nonzeros,
        left.bad_lines + right.bad_lines,
        left.failures | right.failures,
        left.skipped_lines + right.skipped_lines,
        {**right.labels, **left.labels},
        left.labels_missed or right.labels_missed,
    )


def finish(result: ShardResult, base: Learner | None) -> Learner | None:
    """The merged model; None if no shard had anything to learn from."""
    if not result.total.count or result.labels_missed:
        return None
    learner = result.total.learner(base)
    if result.labels:  # the first shard that has a label decides its spelling
        spelling = zip(learner.classes.tolist(), learner.label_names, strict=True)
        learner.label_texts = [result.labels.get(value, text) for value, text in spelling]
    return learner


def without_model(result: ShardResult) -> ShardResult:
    """The result without its sum of models, which may be large."""
    return replace(result, total=Sum(result.total.how))


def conclude(left: ShardResult, right: ShardResult | None, base: Learner | None) -> tuple[Learner | None, ShardResult]:
    """The last step of the last round in one task: add up, make the model, and drop the sum."""
    result = left if right is None else combine(left, right)
    return finish(result, base), without_model(result)


QUICK = (combine, finish, without_model, conclude)  # tasks that only add up
