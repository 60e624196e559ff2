"""Fitting estimators on a Dask cluster: `cwlearn.distributed.fit`."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from cwlearn.core.class_labels import check_labels, listed_labels, text_labels
from cwlearn.core.learner import Learner
from cwlearn.core.parameters import COUNT, require
from cwlearn.estimators.base import Linear, tell_unsolved
from cwlearn.parallel.cluster import Here, is_client, train_on
from cwlearn.parallel.shards import Sharing, train_in_threads
from cwlearn.parallel.sources import as_list, named
from cwlearn.parallel.tasks import Plan
from cwlearn.text.run import Resources
from cwlearn.text.sources import split as _split
from cwlearn.text.svmlight import Reading
from cwlearn.utils.machine import usable_cores
from cwlearn.utils.messages import say

__all__ = ["fit", "split"]


def split(path: str | os.PathLike[str], pieces: int) -> list[str]:
    """A large plain text file as up to so many shards: ranges of its bytes, cut at line ends."""
    require("pieces", pieces, COUNT)
    os.stat(path)  # which complains if there is none
    return _split(os.fsdecode(path), pieces)


def fit(
    estimator: Linear,
    shards: Any,
    client: Any = None,
    rounds: int = 1,
    how: str = "posterior",
    *,
    labels: Sequence[Any] | None = None,
    hash_bits: int | None = None,
    n_features: int | None = None,
    skip_bad_shards: bool = False,
    report: Callable[[int], object] = lambda done: None,
    **reading: Any,
) -> Linear:
    """Fit an estimator on many shards at once, and merge their models, on the workers of a Dask cluster or in threads.

    Each shard is learned from with the parameters of the estimator, from the same beginning and, if rows are shuffled,
    with a seed of its own; the models are summed in a tree.  They stay on the workers: only the last one comes to the
    client.  The same shards give the same bits, whatever the number of workers, and though one of them dies and its
    work is done again.

    Parameters
    ----------
    estimator : a linear estimator of this package
        It is fitted and returned; with `warm_start`, every shard begins with what it has learned before.
    shards : a list of paths, or of (X, y) pairs; a pair of Dask arrays; or a Dask bag
        Paths are svmlight text, which the workers must find under the same names; `split` cuts a large file into such
        shards.  Dask arrays are taken by their blocks of rows, each with all columns.  A partition of a bag is a list
        of (X, y) pairs.  What is not text stays in the memory of the cluster for as long as the run takes: what Dask
        computes on the workers, pairs that are given here on the scheduler, too.
    client : dask.distributed.Client, optional
        By default there is no cluster, and threads of this process learn, one for each core that may be used.  Nothing
        listens to the network then.  Whoever can reach the scheduler of a cluster can run code on it, so it must be as
        well protected as your account.
    rounds : int
        How often to train on all shards; from the second time on they begin with the last merged model.
    how : "posterior", "kl" or "l2"
        How models are merged: see `cwlearn.merge`.
    labels : optional
        All labels there are.  By default they are looked for in the shards; if one turns up that was overlooked, all
        shards are learned from again.
    hash_bits, n_features : int, optional
        Of text: as in `train_svmlight`.
    skip_bad_shards : bool
        Leave out shards that cannot be read or learned from, with a line on standard error, instead of failing.
    report : callable
        Hears 1 for every shard that is done, and -n where n of them must be done again.
    reading
        Of text: the options of `cwlearn.text.svmlight.Reading`.
    """
    if not isinstance(estimator, Linear):
        raise TypeError(f"expected a linear estimator of cwlearn, such as AROWClassifier(), got {estimator!r}")
    if client is not None and not is_client(client):
        raise TypeError(f"client must be a dask.distributed.Client, such as Client('tcp://host:8786'), got {client!r}")
    rule, training, _ = estimator._options()
    sharing = Sharing(usable_cores(), rounds=rounds, how=how, skip_bad_shards=skip_bad_shards)
    if not callable(report):
        raise TypeError(f"report must be callable, got {report!r}")
    for name in reading:
        if name not in (known := [item.name for item in fields(Reading)]):
            raise TypeError(f"fit() got an unexpected argument {name!r}; those for reading text are {', '.join(known)}")
    for_text = {**reading, **({"hash_bits": hash_bits} if hash_bits else {})}
    for_text |= {"n_features": n_features} if n_features else {}
    go_on = training.warm_start and estimator.__sklearn_is_fitted__()
    base = estimator._learner if go_on else None
    if base is not None:
        base.reconfigure(rule, training)  # which says what cannot change
    seed = int(check_random_state(estimator.random_state).randint(2**31)) if training.shuffle else 0
    plan = Plan(rule, training, how, Reading(**reading), Resources(n_features, hash_bits), seed=seed)
    given = as_list(shards)
    texts = isinstance(given, list) and isinstance(given[0], str)
    if for_text and not texts:
        raise ValueError(f"{next(iter(for_text))} is for shards of text, and these are matrices")
    plan = _with_labels(plan, labels, texts, base)
    if client is None:
        learner, told = train_in_threads(list(named(given, Here())), sharing, plan, base, report)
    else:
        learner, told = train_on(client, list(named(given, client)), plan, rounds, base, skip_bad_shards, report)
    for failure in told.failures.values():
        say(f"shard left out: {failure}")
    before = base.statistics["unsolved"] if base else 0
    estimator._adopt(learner)
    tell_unsolved(learner.statistics["unsolved"] - before)
    return estimator


def _with_labels(plan: Plan, labels: Sequence[Any] | None, texts: bool, base: Learner | None) -> Plan:
    """The plan with the labels that were given."""
    if labels is None:
        return replace(plan, classes=np.empty(0)) if plan.rule.task == "regression" else plan
    classes = listed_labels(labels, plan.rule.task, None if base is None else base.classes, numeric=texts)
    if texts:
        return replace(plan, labels=text_labels(classes))
    check_labels(classes)
    return replace(plan, classes=classes)
