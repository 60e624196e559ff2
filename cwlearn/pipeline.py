"""Work that threads do ahead of the one who wants the results, which come in the order of the things worked on."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from queue import SimpleQueue
from typing import Any, TypeVar

Space = TypeVar("Space")
Thing = TypeVar("Thing")
Result = TypeVar("Result")


def in_order(
    take: Callable[[Space], Thing | None],
    work: Callable[[Thing, Space], Result],
    spaces: Sequence[Space],
    threads: int,
) -> Iterator[Result]:
    """`work(take(space), space)` again and again, by `threads` threads, until `take` returns None.

    `take` is called by one thread at a time, and the results come in the order of these calls.  A space is memory to
    work in: it is used again when the result that was made in it has been done with, which is when the next one is
    asked for.  So there are never more results waiting than spaces.  An exception comes in its turn.
    """
    free: SimpleQueue[Space] = SimpleQueue()
    for space in spaces:
        free.put(space)
    numbers = itertools.count()
    taking = threading.Lock()
    arrived = threading.Condition()
    finished: dict[int, tuple[Any, BaseException | None, Space]] = {}
    stopped = False

    def run() -> None:
        ended = False
        while not ended:
            space = free.get()
            if stopped:
                return
            result, fault = None, None
            with taking:
                number = next(numbers)
                try:
                    thing = take(space)
                except BaseException as error:
                    thing, fault = None, error
            ended = thing is None
            try:
                result = None if thing is None else work(thing, space)
            except BaseException as error:
                fault, ended = error, True
            with arrived:
                finished[number] = result, fault, space
                arrived.notify()

    # Daemons, since one may be waiting for a pipe that never speaks when the program ends.
    workers = [threading.Thread(target=run, daemon=True) for _ in range(threads)]
    for worker in workers:
        worker.start()
    try:
        for number in itertools.count():
            with arrived:
                arrived.wait_for(lambda: number in finished)  # noqa: B023
                result, fault, space = finished.pop(number)
            if fault is not None:
                raise fault
            if result is None:
                return
            yield result
            free.put(space)
    finally:
        stopped = True
        for _ in workers:
            free.put(spaces[0])  # wakes those that wait for one
        for worker in workers:
            worker.join(0.2)
