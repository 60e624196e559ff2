"""The command line: what runs a verb, and what becomes of its errors and warnings.

Each verb is a module with `EXAMPLE`, `add_flags` and `run`, imported only when it is asked for.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
import warnings
from collections.abc import Iterator
from typing import Any, NoReturn

from cwlearn.cli.parser import module_of, parse
from cwlearn.errors import UsageError, shown
from cwlearn.utils.messages import say
from cwlearn.utils.signals import Terminated, ended_by_signals, handled

LESS_MEMORY = {
    "train": "--memory, --hash-bits or --epochs 1 need less",
    "predict": "--threads 1 needs less",
    "evaluate": "--threads 1 needs less",
    "compare": "--workers 1 needs less",
}  # advice, for verbs that have such flags


def main(argv: list[str] | None = None) -> int:
    """Run a command; return its exit status, as in `parser.EXIT_STATUS`."""
    words = sys.argv[1:] if argv is None else argv
    try:
        with ended_by_signals(), _checked_output(), _printed_warnings(), contextlib.suppress(SystemExit):
            arguments = parse(words)  # exits after a help text
            module_of(arguments.verb).run(arguments)
        return 0
    except Terminated as end:
        return 128 + end.number
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader of our output has ended
        _discard_output()
        return 0
    except Exception as error:
        wrong_usage = isinstance(error, UsageError)
        if "--debug" in words and not wrong_usage:
            raise
        try:
            sys.stdout.flush()  # what was printed before the error is valid
        except Exception:
            _discard_output()
        _say_in_flags("error", _described(error, words[0] if words else ""))
        return 2 if wrong_usage else 1


def console() -> NoReturn:
    """Run the command that was typed, and exit without the clean-up of the interpreter.

    The clean-up takes longer than a small training.  All files are closed and all output is written before.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # NumPy would start threads that only wait
    sys.setswitchinterval(5e-4)  # the threads that parse need the interpreter often, for moments only
    with handled(lambda number, frame: os._exit(128 + number), "SIGINT"):  # while no other handler is in place
        status = main()
        with contextlib.suppress(Exception):
            sys.stderr.flush()
        os._exit(status)


def _described(error: Exception, verb: str) -> str:
    """An error as one line for the user."""
    if isinstance(error, UsageError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        return f"{shown(error.filename)}: {error.strerror}" if error.filename else error.strerror
    if isinstance(error, MemoryError):
        if re.search("needs? less", str(error)):  # the message has its own advice
            return f"out of memory: {error}"
        advice = f"; {LESS_MEMORY[verb]}" if verb in LESS_MEMORY else ""
        return f"out of memory{advice}{f' ({error})' if str(error) else ''}"
    if isinstance(error, (ValueError, OSError)):
        return str(error)
    if isinstance(error, ImportError):  # the advice of NumPy has many lines
        return " ".join(str(error).split())
    return f"{type(error).__name__}: {error} (a fault of cwlearn; --debug shows where)"


def _say_in_flags(kind: str, text: str) -> None:
    """Print an error or a warning; options in backticks become flags."""
    if "`" in text:
        from cwlearn.cli.flags import rendered  # loads NumPy, which may be what cannot be loaded

        text = rendered(text)
    say(f"{kind}: {text}")


@contextlib.contextmanager
def _checked_output() -> Iterator[None]:
    """Make standard output UTF-8, whatever the locale, and make sure that all of it is written."""
    if sys.stdout is None:
        with contextlib.redirect_stdout(_ClosedOutput()):
            yield
        return
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    yield
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OSError(error.errno, error.strerror, "standard output") from None


@contextlib.contextmanager
def _printed_warnings() -> Iterator[None]:
    """Print warnings without a place in the code."""
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_: _say_in_flags("warning", str(message))
        yield


class _ClosedOutput(io.TextIOBase):
    """Stands for a standard output that was closed before the start; writing to it is an error."""

    def write(self, text: str) -> int:
        raise OSError("standard output is closed")

    @property
    def buffer(self) -> Any:
        raise OSError("standard output is closed")


def _discard_output() -> None:
    """Send the interpreter's last flush nowhere, since it would fail once more."""
    with contextlib.suppress(Exception):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
