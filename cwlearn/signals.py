"""Signals, so that a command that is told to end does so in good order."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

# Those for which people write handlers that raise: Ctrl-C, an end that was asked for, a limit of time.
HANDLED = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGALRM", "SIGVTALRM", "SIGPROF", "SIGUSR1", "SIGUSR2")


class Terminated(BaseException):
    """The program was asked to end by a signal."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextmanager
def handled(handler: Callable[[int, Any], None], *names: str) -> Iterator[None]:
    """Let a handler have some signals, but those that were to be ignored."""
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]  # not everywhere
    old = {number: signal.getsignal(number) for number in numbers}
    old = {number: before for number, before in old.items() if before is not signal.SIG_IGN}
    for number in old:
        signal.signal(number, handler)
    try:
        yield
    finally:
        for number, before in old.items():
            signal.signal(number, before)


@contextmanager
def signals_wait() -> Iterator[Callable[[], None]]:
    """Let signals whose handlers may raise an exception wait until they are asked for, by a call of what is yielded, or
    until the end."""
    numbers = [getattr(signal, name) for name in HANDLED if hasattr(signal, name)]
    before: dict[int, Any] = {number: handler for number in numbers if callable(handler := signal.getsignal(number))}
    if threading.current_thread() is not threading.main_thread() or not before:
        yield lambda: None  # other threads are not interrupted
        return
    waiting: list[tuple[int, Any]] = []

    def deliver() -> None:
        while waiting:
            number, frame = waiting.pop(0)
            before[number](number, frame)

    try:
        for number in before:
            signal.signal(number, lambda number, frame: waiting.append((number, frame)))
        yield deliver
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        deliver()


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Make signals exceptions, so that temporary files are removed on the way out; the third one does not wait."""
    count = 0

    def end(number: int, frame: Any) -> None:
        nonlocal count
        count += 1
        if count > 2:
            os._exit(128 + number)
        raise KeyboardInterrupt if number == signal.SIGINT else Terminated(number)

    with handled(end, "SIGINT", "SIGTERM", "SIGHUP"):
        yield
