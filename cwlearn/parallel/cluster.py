"""Dask as an engine of `shards`: the one module that imports it."""

from __future__ import annotations

import uuid
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager
from typing import Any

import numpy as np

from cwlearn._version import __version__
from cwlearn.core.learner import Learner
from cwlearn.errors import shown
from cwlearn.parallel.shards import train
from cwlearn.parallel.tasks import Plan, ShardResult, learn
from cwlearn.utils.machine import usable_cores

try:
    import dask
    from distributed import Client, KilledWorker
except ImportError as error:
    raise ImportError("this needs Dask: pip install 'cwlearn[dask]'") from error

PATIENCE = "30s"  # for a scheduler that does not answer
ATTEMPTS = 3  # to go on when all workers that held the beginning have died


class _Engine:
    """A client whose tasks are never taken from an earlier run, since files may have changed, and bear the names of
    their shards."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._futures: weakref.WeakSet[Any] = weakref.WeakSet()

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Any:
        what = shown(arguments[1]) if function is learn else ""
        future = self._client.submit(function, *arguments, key=f"{function.__name__} {what}-{uuid.uuid4().hex}")
        self._futures.add(future)
        return future

    def cancel(self) -> None:
        """Take back what has not begun."""
        self._client.cancel(list(self._futures))


class Here:
    """In the place of a client, for shards that are made and learned from in this process.

    A cluster on this machine would listen to the network, even if all its workers were threads, and whoever can connect
    to it can run code in our name."""

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **_: Any) -> Any:
        """Call it, with what was computed."""
        return function(*(part.result() if isinstance(part, Future) else part for part in arguments))

    def compute(self, parts: list[Any]) -> list[Future[Any]]:
        """What Dask computes in threads; each part alone if one of them fails, so that the others are there."""
        try:
            values = dask.compute(*parts, scheduler="threads", num_workers=usable_cores())
        except Exception:
            return [_computed_alone(part) for part in parts]
        return [_done(value) for value in values]


def _computed_alone(part: Any) -> Future[Any]:
    try:
        return _done(part.compute(scheduler="threads", num_workers=usable_cores()))
    except Exception as error:
        failed: Future[Any] = Future()
        failed.set_exception(error)
        return failed


def _done(value: Any) -> Future[Any]:
    future: Future[Any] = Future()
    future.set_result(value)
    return future


def is_client(value: Any) -> bool:
    return isinstance(value, Client)


@contextmanager
def connected(address: str) -> Iterator[Client]:
    """A client of the scheduler at an address."""
    try:
        client = Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError, TypeError, RuntimeError) as error:  # the latter two for want of certificates
        raise OSError(f"no Dask scheduler at {address}: {error}") from None
    with client:
        yield client


def threads_of(client: Client) -> int:
    """How many tasks run at once; waits for a worker, if there is none yet."""
    try:
        client.wait_for_workers(1, timeout=PATIENCE)
    except TimeoutError:
        raise OSError(f"the Dask cluster has no workers ({PATIENCE} waited)") from None
    return sum(client.nthreads().values())


def train_on(
    client: Client,
    shards: Sequence[tuple[Any, str]],
    plan: Plan,
    rounds: int,
    base: Learner | None,
    skip_bad: bool,
    report: Callable[[int], object] = lambda done: None,
) -> tuple[Learner, ShardResult]:
    """See `shards.train`; only the last model comes here."""
    threads_of(client)
    _check_versions(client)
    for attempt in range(ATTEMPTS):
        engine = _Engine(client)
        known = None if base is None else client.scatter(base, broadcast=True, hash=False)
        try:
            return train(engine, shards, plan, rounds, known, skip_bad, report)
        except KilledWorker as error:
            task = str(error.task).rpartition("-")[0]
            raise OSError(f"the workers died again and again in the task '{task}': is there enough memory?") from None
        except CancelledError as error:  # what was scattered is gone with its workers
            if base is None or attempt + 1 == ATTEMPTS:
                raise OSError(f"the cluster lost what it needs to go on: {error}") from None
        except BaseException:
            engine.cancel()
            raise
    raise AssertionError("unreachable")


def _versions() -> dict[str, str]:
    return {"cwlearn": __version__, "numpy": np.__version__}


def _check_versions(client: Client) -> None:
    """Refuse workers with another cwlearn or NumPy: what they send would not be understood, or not be the same."""
    try:
        found = client.run(_versions)
    except ImportError as error:
        raise OSError(f"the workers cannot import cwlearn: {error}") from None
    for address, theirs in found.items():
        for name, ours in _versions().items():
            if theirs[name] != ours:
                raise OSError(f"worker {address} has {name} {theirs[name]}, and this is {ours}")
