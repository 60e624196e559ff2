"""What the shards of a cluster may be: paths, pairs of matrices, and the collections of Dask."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from cwlearn.errors import DataError
from cwlearn.parallel.tasks import Broken
from cwlearn.text.sources import Source, as_source


def as_list(shards: Any) -> Any:
    """Dask's collections as they are; all else as a list, of paths or of pairs."""
    if _from_dask(shards) or (isinstance(shards, tuple) and len(shards) == 2 and all(map(_from_dask, shards))):
        return shards
    if isinstance(shards, (str, bytes, os.PathLike, Source)):
        raise TypeError(f"expected a list of shards, got one path: {shards!r} (split cuts a large file into shards)")
    found: list[Any] = []
    for number, shard in enumerate(shards):
        if isinstance(shard, (str, bytes, os.PathLike, Source)):
            found.append(as_source(shard))
        elif isinstance(shard, (tuple, list)) and len(shard) == 2:
            found.append(tuple(shard))
        else:
            raise TypeError(
                f"shard {number}: expected a path or a pair (X, y), got {type(shard).__module__}.{type(shard).__name__}"
            )
        if isinstance(found[0], Source) != isinstance(found[-1], Source):
            raise TypeError(f"shards must be all paths or all pairs (X, y): shard 0 and shard {number} differ")
    if not found:
        raise DataError("no shards")
    return found


def _from_dask(value: Any) -> bool:
    return hasattr(value, "to_delayed") and hasattr(value, "__dask_graph__")


def named(shards: Any, client: Any) -> Iterator[tuple[Any, str]]:
    """Shards with their names: paths as they are, matrices on the workers."""
    if isinstance(shards, tuple):
        X, y = shards
        yield from _blocks(X, y, client)
    elif isinstance(shards, list):
        for number, shard in enumerate(shards):
            if isinstance(shard, Source):
                yield shard, shard.full_name
            else:
                yield client.submit(_pair, *shard, key=f"shard-{uuid.uuid4().hex}"), f"shard {number}"
    else:
        if type(shards).__name__ != "Bag":
            raise TypeError(f"expected a Dask bag, or a pair of Dask arrays, got {shards!r}")
        partitions = client.compute(shards.to_delayed())
        yield from _computed(client, [(partition,) for partition in partitions], _stacked, "partition")


def _blocks(X: Any, y: Any, client: Any) -> Iterator[tuple[Any, str]]:
    """The blocks of rows of two Dask arrays."""
    if not (hasattr(X, "rechunk") and hasattr(y, "rechunk")):
        raise TypeError(f"expected a pair of Dask arrays, got {type(X).__name__} and {type(y).__name__}")
    if X.ndim != 2 or y.ndim != 1:
        raise ValueError(f"expected Dask arrays of two dimensions and of one, got {X.ndim} and {y.ndim}")
    if X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    if not np.isnan([*X.chunks[0], *y.chunks[0]]).any():
        if len(X) != len(y):
            raise ValueError(f"X has {len(X):,} rows, and y {len(y):,}")
        y = y.rechunk({0: X.chunks[0]})
    elif X.numblocks[0] != y.numblocks[0]:
        raise ValueError(
            f"X has {X.numblocks[0]} blocks of rows and y {y.numblocks[0]}, of unknown lengths: compute_chunk_sizes() "
            f"finds them"
        )
    blocks = zip(client.compute(X.to_delayed().ravel().tolist()), client.compute(y.to_delayed().tolist()), strict=True)
    yield from _computed(client, list(blocks), _pair, "block")


def _computed(
    client: Any, parts: list[tuple[Any, ...]], make: Callable[..., Any], name: str
) -> Iterator[tuple[Any, str]]:
    """Shards that are made of what Dask computes; all of it first, so that what fails can be left out."""
    for number, futures in enumerate(parts):
        why = [f"{type(error).__name__}: {error}" for future in futures if (error := future.exception()) is not None]
        shard = client.submit(Broken, why[0], pure=False) if why else client.submit(make, *futures, pure=False)
        yield shard, f"{name} {number}"


def _pair(X: Any, y: Any) -> tuple[Any, Any]:
    """A shard as a task, which a cluster can run again where a worker has taken it along; a scattered one is lost."""
    return X, y


def _stacked(pairs: Iterable[tuple[Any, Any]]) -> Any:
    """A partition of (X, y) pairs as one."""
    from scipy.sparse import issparse, vstack

    pairs = list(pairs)
    if not pairs:
        return np.empty((0, 1)), np.empty(0)
    try:
        rows, targets = zip(*pairs, strict=True)
        if all(hasattr(part, "columns") for part in rows):
            import pandas

            X: Any = pandas.concat(rows)  # by the names of the columns
        elif any(map(issparse, rows)):
            X = vstack([part.astype(np.float64) for part in rows]).tocsr()  # small integers would wrap in sums
        else:
            X = np.concatenate([np.atleast_2d(part) for part in rows])
        return X, np.concatenate([np.atleast_1d(part) for part in targets])
    except Exception as error:
        return Broken(f"expected pairs (X, y) that can be stacked: {error}")
