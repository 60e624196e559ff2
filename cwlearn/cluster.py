"""Dask as an engine of `shards`: the one module that imports it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from cwlearn.learner import Learner
from cwlearn.shards import Plan, Share, train

try:
    from distributed import Client, LocalCluster
except ImportError as error:
    raise ImportError("this needs Dask: pip install 'cwlearn[dask]'") from error

PATIENCE = "30s"  # for a scheduler that does not answer


class _Engine:
    """A client whose tasks are never taken from an earlier run: files may have changed since."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Any:
        return self._client.submit(function, *arguments, pure=False)


@contextmanager
def connected(address: str) -> Iterator[Client]:
    """A client of the scheduler at an address."""
    try:
        client = Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError) as error:
        raise OSError(f"no Dask scheduler at {address}: {error}") from None
    with client:
        yield client


@contextmanager
def local_cluster(workers: int) -> Iterator[Client]:
    """A cluster of processes on this machine, with one thread each."""
    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


def train_on(
    client: Client,
    shards: Sequence[tuple[Any, str]],
    plan: Plan,
    rounds: int,
    base: Learner | None,
    skip_bad: bool,
    report: Callable[[int], object] = lambda done: None,
) -> tuple[Learner, Share]:
    """See `shards.train`; only the last model comes here."""
    known = None if base is None else client.scatter(base, broadcast=True)
    model, told = train(_Engine(client), shards, plan, rounds, known, skip_bad, report)
    learner: Learner = model.result()
    return learner, told
