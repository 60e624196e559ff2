"""Fitting estimators on a Dask cluster: `cwlearn.distributed.fit`."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from cwlearn.cluster import local_cluster, train_on
from cwlearn.learner import label_text
from cwlearn.machine import usable_cores
from cwlearn.messages import say
from cwlearn.online_estimator import Linear, tell_unsolved
from cwlearn.out_of_core import Space
from cwlearn.shards import Plan, Sharing
from cwlearn.svmlight import Reading
from cwlearn.text_files import displayed
from cwlearn.text_files import split as _split

__all__ = ["fit", "split"]


def split(path: str | os.PathLike[str], pieces: int) -> list[str]:
    """A large plain text file as up to so many shards: ranges of its bytes, cut at line ends."""
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
    """Fit an estimator on many shards at once, and merge their models, on the workers of a Dask cluster.

    Each shard is learned from with the parameters of the estimator, from the same beginning, and the models are summed
    in a tree.  They stay on the workers: only the last one comes to the client.  The same shards give the same bits,
    whatever the number of workers, and though one of them dies and its work is done again.

    Parameters
    ----------
    estimator : a linear estimator of this package
        It is fitted and returned; with `warm_start`, every shard begins with what it has learned before.
    shards : a list of paths, or of (X, y) pairs; a pair of Dask arrays; or a Dask bag
        Paths are svmlight text, which the workers must find under the same names; `split` cuts a large file into such
        shards.  Dask arrays are taken by their blocks of rows, each with all columns.  A partition of a bag is a list
        of (X, y) pairs.  What is not text stays in the memory of the workers for as long as the run takes.
    client : dask.distributed.Client, optional
        By default a cluster of processes on this machine, one for each core, which is closed again.
    rounds : int
        How often to train on all shards; from the second time on they begin with the last merged model.
    how : "posterior", "kl" or "l2"
        How models are merged: see `cwlearn.merge`.
    labels : optional
        All labels there are; by default a first pass over the shards finds them.
    hash_bits, n_features : int, optional
        Of text: as in `train_svmlight`.
    skip_bad_shards : bool
        Leave out shards that cannot be read or learned from, with a line on standard error, instead of failing.
    report : callable
        Hears 1 for every shard that is done.
    reading
        Of text: the options of `cwlearn.svmlight.Reading`.
    """
    if not isinstance(estimator, Linear):
        raise TypeError(f"expected a linear estimator of cwlearn, such as AROWClassifier(), got {estimator!r}")
    rule, training, _ = estimator._options()
    Sharing(rounds=rounds, how=how)  # which checks them
    go_on = training.warm_start and estimator.__sklearn_is_fitted__()
    base = estimator._learner if go_on else None
    seed = int(check_random_state(estimator.random_state).randint(2**31)) if training.shuffle else 0
    plan = Plan(rule, training, how, Reading(**reading), Space(n_features, hash_bits, None, 1), seed=seed)
    own: AbstractContextManager[Any] = local_cluster(usable_cores()) if client is None else nullcontext(client)
    with own as engine:
        named = list(_named(shards, engine))
        texts = bool(named) and isinstance(named[0][0], str)
        if labels is not None and texts:
            plan = replace(plan, labels={float(label): label_text(label) for label in labels})
        elif labels is not None or rule.task == "regression":
            plan = replace(plan, classes=np.unique(np.asarray(labels)) if labels is not None else np.empty(0))
        learner, told = train_on(engine, named, plan, rounds, base, skip_bad_shards, report)
    for failure in told.failures:
        say(f"shard left out: {failure}")
    before = base.tally["unsolved"] if base else 0
    estimator._adopt(learner)
    tell_unsolved(learner.tally["unsolved"] - before)
    return estimator


def _named(shards: Any, client: Any) -> Iterator[tuple[Any, str]]:
    """Shards with their names: paths as they are, matrices on the workers."""
    if isinstance(shards, tuple) and len(shards) == 2 and all(hasattr(part, "to_delayed") for part in shards):
        X, y = shards
        if X.numblocks[1:] not in ((), (1,)):
            X = X.rechunk({1: -1})
        y = y.rechunk({0: X.chunks[0]})
        blocks = zip(X.to_delayed().ravel(), y.to_delayed().ravel(), strict=True)
        for number, (rows, targets) in enumerate(blocks):
            yield (client.compute(rows), client.compute(targets)), f"block {number}"
    elif hasattr(shards, "to_delayed"):
        for number, partition in enumerate(shards.to_delayed()):
            yield client.submit(_stacked, client.compute(partition), pure=False), f"partition {number}"
    else:
        for number, shard in enumerate(_listed(shards)):
            if isinstance(shard, (str, bytes, os.PathLike)):
                path = os.fsdecode(shard)
                yield path, displayed(path)
            else:
                yield client.submit(_pair, *shard, key=f"shard-{uuid.uuid4().hex}"), f"shard {number}"


def _listed(shards: Any) -> Iterable[Any]:
    if isinstance(shards, (str, bytes, os.PathLike)):
        raise TypeError(f"expected a list of shards, got one path: {shards!r} (split cuts a large file into shards)")
    return list(shards)


def _pair(X: Any, y: Any) -> tuple[Any, Any]:
    """A shard as a task, which a cluster can run again where a worker has taken it along; a scattered one is lost."""
    return X, y


def _stacked(pairs: Iterable[tuple[Any, Any]]) -> tuple[Any, Any]:
    """A partition of (X, y) pairs as one."""
    from scipy.sparse import issparse, vstack

    pairs = list(pairs)
    if not pairs:
        return np.empty((0, 1)), np.empty(0)
    rows, targets = zip(*pairs, strict=True)
    X = vstack(rows).tocsr() if any(map(issparse, rows)) else np.concatenate([np.atleast_2d(part) for part in rows])
    return X, np.concatenate([np.atleast_1d(part) for part in targets])
