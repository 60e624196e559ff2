"""Signals, so that a command that is told to end does so in good order."""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

# Those for which people write handlers that raise: Ctrl-C, an end that was asked for, a limit of time.
HANDLED = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGALRM", "SIGVTALRM", "SIGPROF", "SIGUSR1", "SIGUSR2")
SOON = 0.01  # seconds


class Terminated(BaseException):
    """The program was asked to end by a signal."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


SIGNALLED = KeyboardInterrupt, Terminated


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
    """Make signals exceptions, so that temporary files are removed on the way out; the third one does not wait.

    An exception that arises in a finaliser (the `__del__` of an object, say) is lost: Python prints it and goes on.  So
    a signal that falls there is sent once more.  And what an exception leaves half-done may fail in its turn, to be
    closed for example: that is not what the program ends with.
    """
    count = 0
    finalising = False
    heard = threading.Event()

    def end(number: int, frame: Any) -> None:
        nonlocal count
        if finalising:
            return  # it will come again
        heard.set()
        count += 1
        if count > 2:
            os._exit(128 + number)
        raise KeyboardInterrupt if number == signal.SIGINT else Terminated(number)

    def lost(unraisable: Any) -> None:
        nonlocal count, finalising
        finalising = True
        if issubclass(unraisable.exc_type, SIGNALLED):
            count -= 1
            heard.clear()
            number = getattr(unraisable.exc_value, "number", signal.SIGINT)
            threading.Thread(target=_send_until, args=(heard, number), daemon=True).start()
        elif not count:
            before(unraisable)
        finalising = False

    before, sys.unraisablehook = sys.unraisablehook, lost
    try:
        with handled(end, "SIGINT", "SIGTERM", "SIGHUP"):
            yield
    except BaseException as error:
        if count:
            _forget(error)
            raise _cause(error) from None
        raise
    finally:
        heard.set()
        sys.unraisablehook = before


def _send_until(heard: threading.Event, number: int) -> None:
    """Send a signal to this process, again and again until it is heard."""
    while not heard.wait(SOON):
        os.kill(os.getpid(), number)


def _forget(error: BaseException | None) -> None:
    """Let go of what the functions held that an error ended, while nobody hears what finalisers complain about."""
    while error is not None:
        traceback.clear_frames(error.__traceback__)
        error = error.__context__


def _cause(error: BaseException) -> BaseException:
    """The signal that an error came of, or else the error."""
    before: BaseException | None = error
    while before is not None and not isinstance(before, SIGNALLED):
        before = before.__context__
    return before or error
