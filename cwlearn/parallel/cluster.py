"""Training on shards on a Dask cluster.  Only this module needs Dask for texts and matrices."""

from __future__ import annotations

import uuid
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any

import numpy as np

from cwlearn._version import __version__
from cwlearn.core.learner import Learner
from cwlearn.errors import shown
from cwlearn.parallel.shards import Report, ignore_progress, train
from cwlearn.parallel.sharing import Sharing
from cwlearn.parallel.tasks import Plan, Shard, ShardResult, learn

try:
    from distributed import Client, KilledWorker
except ImportError as error:
    raise ImportError("this needs Dask: pip install 'cwlearn[dask]'") from error

TIMEOUT = "30s"  # of a scheduler that does not answer
ATTEMPTS = 3  # to train again when all workers that held the base have died


class DaskEngine:
    """Submits tasks to a Dask client, with keys that name the shards.

    The keys are unique: Dask must not reuse the results of an earlier run, since files may have changed.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._futures: weakref.WeakSet[Any] = weakref.WeakSet()

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Any:
        name = shown(arguments[1]) if function is learn else ""
        future = self._client.submit(function, *arguments, key=f"{function.__name__} {name}-{uuid.uuid4().hex}")
        self._futures.add(future)
        return future

    def cancel(self) -> None:
        """Cancel the tasks that have not started."""
        self._client.cancel(list(self._futures))


def check_client(client: object) -> None:
    if not isinstance(client, Client):
        raise TypeError(
            f"`client` must be a dask.distributed.Client, such as Client('tcp://host:8786'), got {client!r}"
        )


@contextmanager
def connected(address: str) -> Iterator[Client]:
    """A client of the scheduler at an address."""
    try:
        client = Client(address, timeout=TIMEOUT, set_as_default=False)
    except (OSError, ValueError, TypeError, RuntimeError) as error:  # the last two: certificates are missing
        raise OSError(f"no Dask scheduler at {address}: {error}") from None
    with client:
        yield client


def count_threads(client: Client) -> int:
    """How many tasks run at once; waits for the first worker."""
    try:
        client.wait_for_workers(1, timeout=TIMEOUT)
    except TimeoutError:
        raise OSError(f"the Dask cluster has no workers ({TIMEOUT} waited)") from None
    return sum(client.nthreads().values())


def train_on_cluster(
    client: Client,
    shards: Sequence[Shard],
    plan: Plan,
    sharing: Sharing,
    base: Learner | None = None,
    report: Report = ignore_progress,
) -> tuple[Learner, ShardResult]:
    """Train on the workers of a cluster; only the last model comes to the client.  See `shards.train`."""
    count_threads(client)
    _check_versions(client)
    for attempt in range(ATTEMPTS):
        engine = DaskEngine(client)
        scattered = None if base is None else client.scatter(base, broadcast=True, hash=False)
        try:
            return train(engine, shards, plan, sharing, scattered, report)
        except KilledWorker as error:
            task = str(error.task).rpartition("-")[0]
            raise OSError(f"the workers died again and again in the task '{task}': is there enough memory?") from None
        except CancelledError as error:  # the scattered base is lost with its workers
            if base is None or attempt + 1 == ATTEMPTS:
                raise OSError(f"the cluster has lost data that it needs to go on: {error}") from None
        except BaseException:
            engine.cancel()
            raise
    raise AssertionError("unreachable")


def _versions() -> dict[str, str]:
    return {"cwlearn": __version__, "numpy": np.__version__}


def _check_versions(client: Client) -> None:
    """Refuse workers with another version of cwlearn or NumPy: their results could differ or be unreadable."""
    try:
        versions = client.run(_versions)
    except ImportError as error:
        raise OSError(f"the workers cannot import cwlearn: {error}") from None
    for address, theirs in versions.items():
        for name, ours in _versions().items():
            if theirs[name] != ours:
                raise OSError(f"worker {address} has {name} {theirs[name]}, and this is {ours}")
