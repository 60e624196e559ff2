"""Work that threads do ahead of the one who wants the results, which come in the order of the things worked on."""

from __future__ import annotations

import itertools
import os
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

PATIENCE = 0.2  # seconds to wait for threads in the end

Buffers = TypeVar("Buffers")
Thing = TypeVar("Thing")
Result = TypeVar("Result")


def in_order(
    take: Callable[[Buffers], Thing | None],
    work: Callable[[Thing, Buffers], Result],
    buffers: Sequence[Buffers],
    threads: int,
    helping: bool = False,
) -> Generator[Result, None, None]:
    """`work(take(space), space)` again and again, by `threads` threads, until `take` returns None.

    `take` is called by one thread at a time, and the results come in the order of these calls.  A space is memory to
    work in: it is used again when the result that was made in it has been done with, which is when the next one is
    asked for.  So there are never more results waiting than buffers.  An exception comes in its turn.

    `helping` makes one of the threads the caller's own: while its next result is not ready it works like the others.
    So there are no more threads than asked for, which is what a machine with as many cores does best with.  It wants a
    `take` that never makes its caller wait for long.
    """
    crew = _Crew(take, work, buffers)
    # Daemons, since one may be waiting for a pipe that never speaks when the program ends.
    workers = [threading.Thread(target=crew.work_on, daemon=True) for _ in range(threads - helping)]
    try:
        for worker in workers:
            worker.start()
        for number in itertools.count():
            while helping and number not in crew.finished and crew.work_once():
                pass
            result, fault, space = crew.wait_for(number)
            if fault is not None:
                raise fault
            if result is None:
                return
            yield result
            crew.check_process()
            crew.free.put(space)
    finally:
        crew.stopped = True
        if not crew.lost:
            for _ in workers:
                crew.free.put(buffers[0])  # wakes those that wait for one
            deadline = time.monotonic() + PATIENCE
            for worker in workers:
                if worker.ident is not None:  # it was started
                    worker.join(max(0, deadline - time.monotonic()))


def read_ahead(items: Iterator[Thing]) -> Generator[Thing, None, None]:
    """The same items; a thread makes the next one while the caller uses the last one."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        upcoming = pool.submit(next, items, None)
        while (item := upcoming.result()) is not None:
            upcoming = pool.submit(next, items, None)
            yield item


class _Crew(Generic[Buffers, Thing, Result]):
    """What the threads share."""

    def __init__(
        self,
        take: Callable[[Buffers], Thing | None],
        work: Callable[[Thing, Buffers], Result],
        buffers: Sequence[Buffers],
    ) -> None:
        self._take, self._work = take, work
        self._numbers = itertools.count()
        self._taking = threading.Lock()
        self._arrived = threading.Condition()
        self.free: SimpleQueue[Buffers] = SimpleQueue()
        for space in buffers:
            self.free.put(space)
        self.finished: dict[int, tuple[Any, Exception | None, Buffers]] = {}
        self.stopped = False  # nobody wants more results
        self._process = os.getpid()

    @property
    def lost(self) -> bool:
        """Whether this is the child of a fork: the other threads do not exist there, and locks may stay locked."""
        return os.getpid() != self._process

    def check_process(self) -> None:
        if self.lost:
            raise RuntimeError(
                "this stream was begun by the process that this one was forked from, and cannot go on here: begin a "
                "new one"
            )

    def work_on(self) -> None:
        """What a thread does."""
        while self._work_in(self.free.get()):
            pass

    def work_once(self) -> bool:
        """Do one thing, if there is space for it."""
        try:
            return self._work_in(self.free.get_nowait())
        except Empty:
            return False

    def _work_in(self, space: Buffers) -> bool:
        """Take one thing and work on it; False if there are no more."""
        thing = result = fault = None
        with self._taking:
            if self.stopped:
                return False
            number = next(self._numbers)
            try:
                thing = self._take(space)
            except Exception as error:
                fault = error
        try:
            result = None if thing is None else self._work(thing, space)
        except Exception as error:
            fault = error
        with self._arrived:
            self.finished[number] = result, fault, space
            self._arrived.notify()
        return result is not None

    def wait_for(self, number: int) -> tuple[Any, Exception | None, Buffers]:
        with self._arrived:
            self._arrived.wait_for(lambda: number in self.finished)
            return self.finished.pop(number)
