"""Threads that work ahead of a consumer, whose results come in the order of the work."""

from __future__ import annotations

import itertools
import os
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

JOIN_SECONDS = 0.2  # to wait for the threads at the end

Buffers = TypeVar("Buffers")
Item = TypeVar("Item")
Result = TypeVar("Result")


def in_order(
    take: Callable[[Buffers], Item | None],
    work: Callable[[Item, Buffers], Result],
    buffers: Sequence[Buffers],
    threads: int,
    helping: bool = False,
) -> Generator[Result, None, None]:
    """Yield `work(take(buffer), buffer)` again and again, computed by `threads` threads, until `take` returns None.

    One thread at a time calls `take`, and the results come in the order of these calls.  A buffer is memory to work in.
    It is reused as soon as the consumer asks for the result after the one that was made in it, so there are never more
    results waiting than buffers.  An exception is raised in its turn.

    With `helping`, the thread of the consumer is one of the `threads`: while its next result is not ready, it works
    like the others.  So there are as many threads as asked for, which is best on a machine with as many cores.  Then
    `take` must never block for long.
    """
    shared = _SharedWork(take, work, buffers)
    # Daemons, because a thread may be blocked in a read from a pipe when the program ends.
    workers = [threading.Thread(target=shared.work_to_the_end, daemon=True) for _ in range(threads - helping)]
    try:
        for worker in workers:
            worker.start()
        for number in itertools.count():
            while helping and number not in shared.finished and shared.work_once():
                pass
            result, error, buffer = shared.wait_for(number)
            if error is not None:
                raise error
            if result is None:
                return
            yield result
            shared.check_process()
            shared.free_buffers.put(buffer)
    finally:
        shared.stopped = True
        if not shared.forked:
            for _ in workers:
                shared.free_buffers.put(buffers[0])  # wakes the threads that wait for one
            deadline = time.monotonic() + JOIN_SECONDS
            for worker in workers:
                if worker.ident is not None:  # it was started
                    worker.join(max(0, deadline - time.monotonic()))


def read_ahead(items: Iterator[Item]) -> Generator[Item, None, None]:
    """Yield the items; a thread makes the next one while the consumer uses the last one."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        upcoming = pool.submit(next, items, None)
        while (item := upcoming.result()) is not None:
            upcoming = pool.submit(next, items, None)
            yield item


class _SharedWork(Generic[Buffers, Item, Result]):
    """What the threads share: the free buffers and the finished results."""

    def __init__(
        self,
        take: Callable[[Buffers], Item | None],
        work: Callable[[Item, Buffers], Result],
        buffers: Sequence[Buffers],
    ) -> None:
        self._take, self._work = take, work
        self._numbers = itertools.count()
        self._take_lock = threading.Lock()
        self._result_ready = threading.Condition()
        self.free_buffers: SimpleQueue[Buffers] = SimpleQueue()
        for buffer in buffers:
            self.free_buffers.put(buffer)
        self.finished: dict[int, tuple[Any, Exception | None, Buffers]] = {}  # by the number of the item
        self.stopped = False  # the consumer wants no more results
        self._process = os.getpid()

    @property
    def forked(self) -> bool:
        """Whether this is the child of a fork, where the other threads do not exist and locks may stay locked."""
        return os.getpid() != self._process

    def check_process(self) -> None:
        if self.forked:
            raise RuntimeError(
                "this stream was begun by the process that this one was forked from, and cannot go on here: begin a "
                "new one"
            )

    def work_to_the_end(self) -> None:
        """The work of one thread."""
        while self._work_in(self.free_buffers.get()):
            pass

    def work_once(self) -> bool:
        """Work on one item, if a buffer is free; False if not, or if there are no more items."""
        try:
            return self._work_in(self.free_buffers.get_nowait())
        except Empty:
            return False

    def _work_in(self, buffer: Buffers) -> bool:
        """Take one item and work on it; False if there are no more."""
        item = result = raised = None
        with self._take_lock:
            if self.stopped:
                return False
            number = next(self._numbers)
            try:
                item = self._take(buffer)
            except Exception as error:
                raised = error
        try:
            result = None if item is None else self._work(item, buffer)
        except Exception as error:
            raised = error
        with self._result_ready:
            self.finished[number] = result, raised, buffer
            self._result_ready.notify()
        return result is not None

    def wait_for(self, number: int) -> tuple[Any, Exception | None, Buffers]:
        with self._result_ready:
            self._result_ready.wait_for(lambda: number in self.finished)
            return self.finished.pop(number)
