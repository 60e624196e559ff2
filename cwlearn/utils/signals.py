"""Signals become exceptions, so that a command that is told to end cleans up first."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

# Signals whose handlers may raise exceptions: Ctrl-C, requests to end, time limits.
HANDLED = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGALRM", "SIGVTALRM", "SIGPROF", "SIGUSR1", "SIGUSR2")
SOON = 0.01  # seconds until a lost signal is sent again


class Terminated(BaseException):
    """A signal has asked the program to end."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


SIGNALLED = KeyboardInterrupt, Terminated


@contextmanager
def handled(handler: Callable[[int, Any], None], *names: str) -> Iterator[None]:
    """Handle some signals, except those that the process ignores, as nohup asks it to."""
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]  # Windows lacks some
    originals = {number: signal.getsignal(number) for number in numbers}
    originals = {number: original for number, original in originals.items() if original is not signal.SIG_IGN}
    for number in originals:
        signal.signal(number, handler)
    try:
        yield
    finally:
        for number, original in originals.items():
            signal.signal(number, original)


@contextmanager
def signals_wait() -> Iterator[Callable[[], None]]:
    """Delay signals whose handlers may raise an exception.

    They are handled when the yielded function is called, and at the end.
    """
    numbers = [getattr(signal, name) for name in HANDLED if hasattr(signal, name)]
    handlers: dict[int, Any] = {number: handler for number in numbers if callable(handler := signal.getsignal(number))}
    if threading.current_thread() is not threading.main_thread() or not handlers:
        yield lambda: None  # only the main thread handles signals
        return
    waiting: list[tuple[int, Any]] = []

    def deliver() -> None:
        while waiting:
            number, frame = waiting.pop(0)
            handlers[number](number, frame)

    try:
        for number in handlers:
            signal.signal(number, lambda number, frame: waiting.append((number, frame)))
        yield deliver
    finally:
        _restore(handlers)
        deliver()


def _restore(handlers: dict[int, Any]) -> None:
    """Set all handlers, though one that is set already may raise an exception while the others are not."""
    raised: BaseException | None = None
    while True:
        try:
            for number, handler in handlers.items():
                signal.signal(number, handler)
            break
        except BaseException as error:
            raised = error
    if raised is not None:
        raise raised


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Turn signals into exceptions, so that temporary files are removed; the third signal ends the process at once.

    An exception in a finaliser, such as the `__del__` of an object, is lost: Python prints it and goes on.  A signal
    that arrives there is therefore sent again.  An object that the exception leaves half done may fail in its turn, for
    example when it is closed; the signal is raised all the same, and not that error.
    """
    count = 0
    finalising = False
    delivered = True  # a plain variable: a handler that waits for a lock may wait for the code that it interrupts

    def end(number: int, frame: Any) -> None:
        nonlocal count, delivered
        if finalising:
            return  # it is sent again
        delivered = True
        count += 1
        if count > 2:
            os._exit(128 + number)
        raise KeyboardInterrupt if number == signal.SIGINT else Terminated(number)

    def resend_lost_signal(unraisable: Any) -> None:
        nonlocal count, finalising, delivered
        finalising = True
        if issubclass(unraisable.exc_type, SIGNALLED):
            count -= 1
            delivered = False
            number = getattr(unraisable.exc_value, "number", signal.SIGINT)
            threading.Thread(target=_send_until, args=(lambda: delivered, number), daemon=True).start()
        elif not count:
            original_hook(unraisable)
        finalising = False

    original_hook, sys.unraisablehook = sys.unraisablehook, resend_lost_signal
    try:
        with handled(end, "SIGINT", "SIGTERM", "SIGHUP"):
            yield
    except BaseException as error:
        if count:
            _release_frames(error)
            raise _signal_behind(error) from None
        raise
    finally:
        delivered = True
        sys.unraisablehook = original_hook


def _send_until(delivered: Callable[[], bool], number: int) -> None:
    """Send a signal to this process again and again until it is delivered."""
    time.sleep(SOON)
    while not delivered():
        os.kill(os.getpid(), number)
        time.sleep(SOON)


def _release_frames(error: BaseException | None) -> None:
    """Release the objects in the frames of an error now, while errors of their finalisers are not printed."""
    import traceback  # only when a signal ends the program

    while error is not None:
        traceback.clear_frames(error.__traceback__)
        error = error.__context__


def _signal_behind(error: BaseException) -> BaseException:
    """The signal that caused an error, or else the error itself."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, SIGNALLED):
        cause = cause.__context__
    return cause or error
