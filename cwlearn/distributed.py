"""Fitting estimators on many shards at once, in threads or on a Dask cluster: `cwlearn.distributed.fit`."""

from __future__ import annotations

import dataclasses
import os
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

import numpy as np
from sklearn.utils import check_random_state

from cwlearn.core.class_labels import check_labels, listed_labels, text_labels
from cwlearn.core.learner import Learner
from cwlearn.core.parameters import COUNT, require
from cwlearn.core.training import AUTO_EPOCHS
from cwlearn.estimators.auto import AutoClassifier
from cwlearn.estimators.base import Linear, warn_of_unsolved
from cwlearn.estimators.multilabel import MultiLabelClassifier
from cwlearn.estimators.text_classifier import TextClassifier
from cwlearn.estimators.training import decided, fitted, inner_of
from cwlearn.parallel.shards import ignore_progress
from cwlearn.parallel.sharing import Sharing
from cwlearn.parallel.sources import DaskShards, Pair, Path, checked_shards, named_shards
from cwlearn.parallel.tasks import Plan, ShardResult, is_text
from cwlearn.parallel.threads import LocalClient, train_in_threads
from cwlearn.text.reader import Format, OnBadLine, Reading, Unsorted, cut
from cwlearn.text.resources import Resources
from cwlearn.text.sources import Source, as_source
from cwlearn.utils.machine import usable_cores

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["fit", "split"]

EstimatorT = TypeVar("EstimatorT", bound=Linear)


def split(path: str | os.PathLike[str], pieces: int, format: Format = "auto") -> list[Source]:
    """Cut a large text file into shards for `fit`.

    Parameters
    ----------
    path : path of a text file
        A compressed file, CSV, TSV and Parquet cannot be cut: such a file becomes one shard.
    pieces : int
        The largest number of shards.
    format : {"auto", "svmlight", "jsonl", "csv", "tsv", "fasttext", "vw", "text", "parquet"}, default="auto"
        Format of the file: by default that of its suffix, or of its first lines.

    Returns
    -------
    list of sources
        Each is a range of bytes of the file, from the beginning of a line to the end of a line.
    """
    require("pieces", pieces, COUNT)
    os.stat(path)  # raises an error if there is no file
    return cut(as_source(path), pieces, format)


@overload
def fit(
    estimator: TextClassifier,
    shards: Iterable[Path] | Iterable[Pair] | DaskShards,
    client: Client | None = None,
    rounds: int = 1,
    how: Literal["posterior", "kl", "l2"] = "posterior",
    *,
    labels: Sequence[Any] | None = None,
    n_features: int | None = None,
    hash_bits: int | None = None,
    format: Format = "auto",
    text: str | None = None,
    label: str | None = None,
    fields: Sequence[str] | None = None,
    delimiter: str | None = None,
    header: bool = True,
    unsorted: Unsorted = "error",
    on_bad_line: OnBadLine = "error",
    max_bad: int = 100,
    max_line: int = 1 << 30,
    skip_bad_shards: bool = False,
    report: Callable[[int], object] = ignore_progress,
) -> TextClassifier: ...


@overload
def fit(
    estimator: EstimatorT,
    shards: Iterable[Path] | Iterable[Pair] | DaskShards,
    client: Client | None = None,
    rounds: int = 1,
    how: Literal["posterior", "kl", "l2"] = "posterior",
    *,
    labels: Sequence[Any] | None = None,
    n_features: int | None = None,
    hash_bits: int | None = None,
    format: Format = "auto",
    text: str | None = None,
    label: str | None = None,
    fields: Sequence[str] | None = None,
    delimiter: str | None = None,
    header: bool = True,
    unsorted: Unsorted = "error",
    on_bad_line: OnBadLine = "error",
    max_bad: int = 100,
    max_line: int = 1 << 30,
    skip_bad_shards: bool = False,
    report: Callable[[int], object] = ignore_progress,
) -> EstimatorT | TextClassifier: ...


def fit(
    estimator: Linear | TextClassifier,
    shards: Iterable[Path] | Iterable[Pair] | DaskShards,
    client: Client | None = None,
    rounds: int = 1,
    how: Literal["posterior", "kl", "l2"] = "posterior",
    *,
    labels: Sequence[Any] | None = None,
    n_features: int | None = None,
    hash_bits: int | None = None,
    format: Format = "auto",
    text: str | None = None,
    label: str | None = None,
    fields: Sequence[str] | None = None,
    delimiter: str | None = None,
    header: bool = True,
    unsorted: Unsorted = "error",
    on_bad_line: OnBadLine = "error",
    max_bad: int = 100,
    max_line: int = 1 << 30,
    skip_bad_shards: bool = False,
    report: Callable[[int], object] = ignore_progress,
) -> Linear | TextClassifier:
    """Fit an estimator on many shards at once, in threads or on a Dask cluster, and merge the models.

    Every shard is learned from with the parameters of the estimator and from the same beginning.  If rows are shuffled,
    every shard has its own seed.  The models are summed in a tree.  On a cluster they stay on the workers: only the
    last model comes to the client.  The same shards give the same bits for any number of workers, also if a worker dies
    and its tasks run again.

    Parameters
    ----------
    estimator : a linear estimator of this package, a MultiLabelClassifier, or a TextClassifier
        It is fitted and returned.  With `warm_start`, every shard begins with the model of the last fit.  Several
        labels a row (MultiLabelClassifier) are learned from files; shards that are matrices have one label a row.
    shards : list of paths, list of (X, y) pairs, pair of Dask arrays, or Dask bag
        Paths are files of rows or documents, which the workers must find under the same names; `split` cuts a large
        file into shards.  Each block of rows of Dask arrays is a shard.  Each partition of a bag is a shard and a list
        of (X, y) pairs.  Matrices stay in the memory of the cluster during the run; pairs in a list also stay on its
        scheduler.
    client : dask.distributed.Client, optional
        By default threads of this process learn, one for each usable core, and no network port is opened.  Anyone who
        can reach the scheduler of a cluster can run code on it, so protect it as well as your account.
    rounds : int, default=1
        How often to train on all shards.  From the second round on they begin with the last merged model.
    how : {"posterior", "kl", "l2"}, default="posterior"
        How to merge the models: see `cwlearn.merge`.
    labels : sequence of labels, optional
        All labels of the shards.  By default they are found by sampling.  If a label is not in the sample, all shards
        are learned from again.
    n_features : int, optional
        Columns of the model.  By default as many as the texts have.  For paths only.
    hash_bits : int, optional
        Hash features to so many bits, which makes 2^bits columns.  For paths only.
    format : {"auto", "svmlight", "jsonl", "csv", "tsv", "fasttext", "vw", "text", "parquet"}, default="auto"
        Format of each file: by default that of its suffix, or of its first lines.  For paths only.
    text : str, optional
        Field of the text in JSON and CSV, as in `cwlearn.train`.  For paths only.
    label : str, optional
        Field of the label in JSON and CSV, as in `cwlearn.train`.  For paths only.
    fields : sequence of str, optional
        Further fields of JSON and CSV as features, as in `cwlearn.train`.  For paths only.
    delimiter : str, optional
        Character between two fields of CSV; by default a comma, or a tab in TSV.  For paths only.
    header : bool, default=True
        The first line of CSV names the fields.  Otherwise columns count from 1.  For paths only.
    unsorted : {"error", "sort"}, default="error"
        What to do with a line whose indices do not rise.  For paths only.
    on_bad_line : {"error", "skip"}, default="error"
        Stop at the first bad line, or leave out its row.  For paths only.
    max_bad : int, default=100
        How many bad lines of all shards may be skipped.  For paths only.
    max_line : int, default=2**30
        Bytes of the longest line.  For paths only.
    skip_bad_shards : bool, default=False
        Leave out shards that cannot be read or learned from, with a warning for each, instead of failing.
    report : callable, optional
        Called with 1 for every finished shard, and with -n if n shards must be learned from again.

    Returns
    -------
    estimator
        The same object, fitted.  If the shards are texts, and it is not a TextClassifier, a TextClassifier that has it
        as its classifier.

    Examples
    --------
    >>> import numpy as np
    >>> from cwlearn import AROWClassifier, distributed
    >>> pairs = [(np.eye(2), [0, 1]), (2 * np.eye(2), [0, 1])]
    >>> distributed.fit(AROWClassifier(random_state=0), pairs).predict(np.eye(2)).tolist()
    [0, 1]
    """
    texts = estimator if isinstance(estimator, TextClassifier) else None
    inner = _checked(estimator, estimator if texts is None else inner_of(texts), report)
    if client is not None:
        from cwlearn.parallel import cluster  # needs Dask, which threads do not

        cluster.check_client(client)
    inner.__dict__.pop("_decided", None)
    rule, training, _ = inner._options()
    sharing = Sharing(usable_cores(), rounds=rounds, how=how, skip_bad_shards=skip_bad_shards)
    reading = Reading(
        unsorted, on_bad_line, max_bad, max_line, format=format, text=text, label=label,
        fields=None if fields is None else tuple(fields), delimiter=delimiter, header=header,
    )  # fmt: skip
    resources = Resources(n_features, texts.hash_bits if texts is not None and hash_bits is None else hash_bits)
    base = inner._learner if training.warm_start and inner.__sklearn_is_fitted__() else None
    if base is not None:
        base.reconfigure(rule, training)  # raises an error if a parameter may not change
    seed = int(check_random_state(training.random_state).randint(2**31)) if training.shuffle else 0
    checked = checked_shards(shards)
    files = checked if isinstance(checked, list) and is_text(checked[0]) else []
    from_files = bool(files)
    if not from_files:
        if texts is not None:
            raise TypeError(f"a TextClassifier learns from files of documents, and these are matrices: {shards!r}")
        if isinstance(inner, MultiLabelClassifier):
            raise TypeError("several labels a row are learned from files: fit each matrix, and `merge` the models")
        _refuse_text_options(resources, reading)
    documents = None if texts is None else texts._documents()
    if from_files:
        named_labels = None if labels is None else text_labels(listed_labels(labels, rule.task))
        state = np.random.RandomState(seed)
        rule, training = decided(inner, files, reading, resources, named_labels, documents, state, sharing)
    elif isinstance(inner, AutoClassifier) or training.epochs == AUTO_EPOCHS:
        raise ValueError(
            "matrices on several workers choose neither algorithm nor epochs: choose by some rows first, "
            "`AutoClassifier().fit(X, y).choice_`, and fit the winner"
        )
    plan = Plan(
        rule, training, how, reading, resources, several=isinstance(inner, MultiLabelClassifier), documents=documents,
        only_documents=texts is not None, seed=seed,
    )  # fmt: skip
    plan = _with_given_labels(plan, labels, from_files, base)
    named = [*named_shards(checked, LocalClient() if client is None else client)]
    if client is None:
        learner, result = train_in_threads(named, plan, sharing, base, report)
    else:
        learner, result = cluster.train_on_cluster(client, named, plan, sharing, base, report)
    _warn_of(result)
    warn_of_unsolved(learner.statistics["unsolved"] - (base.statistics["unsolved"] if base else 0))
    return fitted(inner, texts, learner)


def _checked(estimator: Any, inner: Any, report: Any) -> Linear:
    """The estimator that learns, unless the arguments of `fit` are of wrong types."""
    if not isinstance(inner, Linear):
        raise TypeError(f"expected a linear estimator of cwlearn, such as AROWClassifier(), got {estimator!r}")
    if not callable(report):
        raise TypeError(f"`report` must be callable, got {report!r}")
    return inner


def _warn_of(result: ShardResult) -> None:
    """Warn of shards that were left out."""
    for failure in result.failures.values():
        warnings.warn(f"shard left out: {failure}", stacklevel=3)


def _refuse_text_options(*groups: Resources | Reading) -> None:
    """Refuse options that say how to read text, for shards that are matrices."""
    for group in groups:
        for item in dataclasses.fields(group):
            if getattr(group, item.name) != item.default:
                raise ValueError(f"`{item.name}` is for shards of text, and these are matrices")


def _with_given_labels(plan: Plan, labels: Sequence[Any] | None, texts: bool, base: Learner | None) -> Plan:
    """The plan with the labels that the caller gives."""
    if labels is None:
        return replace(plan, classes=np.empty(0)) if plan.rule.task == "regression" else plan
    classes = listed_labels(labels, plan.rule.task, None if base is None else base.classes)
    if texts:
        return replace(plan, labels=text_labels(classes))
    check_labels(classes)
    return replace(plan, classes=classes)
