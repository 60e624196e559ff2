"""Training on shards in threads of this process.  The kernels release the GIL, so threads learn at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from cwlearn.core.learner import Learner
from cwlearn.parallel.shards import Report, ignore_progress, train
from cwlearn.parallel.sharing import Sharing
from cwlearn.parallel.tasks import QUICK, Plan, Shard, ShardResult
from cwlearn.utils.machine import usable_cores


def train_in_threads(
    shards: Sequence[Shard],
    plan: Plan,
    sharing: Sharing,
    base: Learner | None = None,
    report: Report = ignore_progress,
) -> tuple[Learner, ShardResult]:
    """Train with threads of this process, which all end when this returns or raises; see `shards.train`."""
    stop = threading.Event()
    engine = ThreadEngine(sharing.workers or 1)
    try:
        return train(engine, shards, replace(plan, stop=stop), sharing, base, report)
    finally:
        stop.set()
        engine.close()


class ThreadEngine:
    """An engine whose tasks share the memory of this process.

    A task starts when all its inputs are there.  Tasks that only add up run at once, in the thread that produced the
    last input.  So no more sums are in memory than there are threads and levels of the tree.
    """

    def __init__(self, workers: int) -> None:
        self._pool = ThreadPoolExecutor(workers)

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Future[Any]:
        return _Task(self._pool, function, arguments).future

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)


class _Task:
    """A call of a function that waits for the futures among its arguments."""

    def __init__(self, pool: ThreadPoolExecutor, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        self.future: Future[Any] = Future()
        self._pool, self._function, self._arguments = pool, function, arguments
        inputs = [argument for argument in arguments if isinstance(argument, Future)]
        self._missing, self._lock = len(inputs), threading.Lock()
        for argument in inputs:
            argument.add_done_callback(self._input_is_done)
        if not inputs:
            self._start()

    def _input_is_done(self, _: Future[Any]) -> None:
        with self._lock:
            self._missing -= 1
            if self._missing:
                return
        self._start()

    def _start(self) -> None:
        if self._function in QUICK:
            self._run()
        else:
            self._pool.submit(self._run)

    def _run(self) -> None:
        try:
            self.future.set_result(self._function(*map(_value, self._arguments)))
        except BaseException as error:
            self.future.set_exception(error)
        self._arguments = ()  # free the inputs, which still hold this task as their callback


class LocalClient:
    """Takes the place of a Dask client: makes the shards in this process.

    A local cluster would listen to the network, even if all its workers were threads.  Whoever can connect to it can
    run code under this account.
    """

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **_: Any) -> Any:
        """Call the function, with the results of futures."""
        return function(*map(_value, arguments))

    def compute(self, parts: list[Any]) -> list[Future[Any]]:
        """Compute the delayed values of Dask in threads; if one fails, each on its own, to keep the others."""
        import dask

        try:
            values = dask.compute(*parts, scheduler="threads", num_workers=usable_cores())
        except Exception:
            return [_computed_alone(part) for part in parts]
        return [_done(value) for value in values]


def _value(argument: Any) -> Any:
    return argument.result() if isinstance(argument, Future) else argument


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
