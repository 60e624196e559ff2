"""The data that can be shards: paths of texts, pairs of matrices, and Dask collections."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol, runtime_checkable

import numpy as np

from cwlearn.errors import DataError
from cwlearn.parallel.tasks import Shard, UnreadableShard, is_text
from cwlearn.text.sources import Source, as_source


@runtime_checkable
class DaskCollection(Protocol):
    """A Dask array or bag."""

    def to_delayed(self) -> Any: ...

    def __dask_graph__(self) -> Any: ...


Path = str | bytes | os.PathLike[str]
Pair = tuple[Any, Any]  # X, y
DaskShards = DaskCollection | tuple[DaskCollection, DaskCollection]


class Client(Protocol):
    """Makes shards: a Dask client, or a `LocalClient`."""

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **options: Any) -> Any: ...

    def compute(self, parts: list[Any], /) -> list[Any]: ...


def checked_shards(shards: Iterable[Path] | Iterable[Pair] | DaskShards) -> list[Any] | DaskShards:
    """Dask collections as they are; other shards as a list of paths or of pairs."""
    if isinstance(shards, DaskCollection):
        return shards
    if isinstance(shards, tuple) and len(shards) == 2:
        X, y = shards
        if isinstance(X, DaskCollection) and isinstance(y, DaskCollection):
            return X, y
    if isinstance(shards, (str, bytes, os.PathLike, Source)):
        raise TypeError(f"expected a list of shards, got one path: {shards!r} (`split` cuts a large file into shards)")
    result: list[Any] = []
    for number, shard in enumerate(shards):
        if isinstance(shard, (str, bytes, os.PathLike, Source)):
            result.append(as_source(shard))
        elif isinstance(shard, (tuple, list)) and len(shard) == 2:
            result.append(tuple(shard))
        else:
            raise TypeError(
                f"shard {number}: expected a path or a pair (X, y), got {type(shard).__module__}.{type(shard).__name__}"
            )
        if is_text(result[0]) != is_text(result[-1]):
            raise TypeError(f"shards must be all paths or all pairs (X, y): shard 0 and shard {number} differ")
    if not result:
        raise DataError("no shards")
    return result


def named_shards(shards: list[Any] | DaskShards, client: Client) -> Iterator[Shard]:
    """Shards with their names: paths as they are, matrices where the client computes them."""
    if isinstance(shards, tuple):
        yield from _array_blocks(*shards, client)
    elif not isinstance(shards, list):
        if type(shards).__name__ != "Bag":
            raise TypeError(f"expected a Dask bag, or a pair of Dask arrays, got {shards!r}")
        partitions = client.compute(shards.to_delayed())
        yield from _computed(client, [(partition,) for partition in partitions], _stacked, "partition")
    else:
        for number, shard in enumerate(shards):
            if is_text(shard):
                yield Shard(shard, shard.full_name)
            else:
                pair = client.submit(_pair, *shard, key=f"shard-{uuid.uuid4().hex}")
                yield Shard(pair, f"shard {number}")


def _array_blocks(X: Any, y: Any, client: Client) -> Iterator[Shard]:
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


def _computed(client: Client, parts: list[tuple[Any, ...]], make: Callable[..., Any], name: str) -> Iterator[Shard]:
    """Shards made from the results of Dask, all of which are computed first, so that a failure costs one shard only."""
    for number, futures in enumerate(parts):
        errors = [f"{type(error).__name__}: {error}" for future in futures if (error := future.exception()) is not None]
        if errors:
            shard = client.submit(UnreadableShard, errors[0], pure=False)
        else:
            shard = client.submit(make, *futures, pure=False)
        yield Shard(shard, f"{name} {number}")


def _pair(X: Any, y: Any) -> Pair:
    """A shard as the result of a task: a cluster repeats it if its worker dies, while scattered data would be lost."""
    return X, y


def _stacked(pairs: Iterable[Pair]) -> Pair | UnreadableShard:
    """The (X, y) pairs of a partition as one pair."""
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
            X = vstack([part.astype(np.float64) for part in rows]).tocsr()  # small integers would overflow in sums
        else:
            X = np.concatenate([np.atleast_2d(part) for part in rows])
        return X, np.concatenate([np.atleast_1d(part) for part in targets])
    except Exception as error:
        return UnreadableShard(f"expected pairs (X, y) that can be stacked: {error}")
