"""The command line: which verbs there are, and what becomes of an error.

Each verb is a module with `add_flags` and `run`, imported only when it is asked for.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import sys
import warnings
from collections.abc import Iterator
from importlib import import_module
from typing import Any, NoReturn

from cwlearn._version import __version__
from cwlearn.errors import UsageError, shown
from cwlearn.utils.messages import say
from cwlearn.utils.signals import Terminated, ended_by_signals, handled

VERBS = {
    "train": "learn a model from data",
    "predict": "print the label of every row",
    "evaluate": "tell how well a model predicts the labels of data",
    "inspect": "tell what is in a model file",
    "tune": "find the best setting of an algorithm for data",
    "compare": "rank algorithms on data by cross-validation",
    "merge": "make one model of several that have learned from different rows",
    "demo": "train, evaluate and inspect a spam filter, on data that come with the package",
}
FRUGAL = {
    "train": "--memory, --hash-bits or --epochs 1 need less",
    "predict": "--threads 1 needs less",
    "evaluate": "--threads 1 needs less",
    "compare": "--workers 1 needs less",
}  # of memory, where a verb has flags for that


def main(argv: list[str] | None = None) -> int:
    """Run a command; return the exit status: 0 done, 1 bad data or model or a fault, 2 bad usage, 130 interrupted."""
    words = sys.argv[1:] if argv is None else argv
    try:
        with ended_by_signals(), _output(), _warnings():
            return run(words)
    except Terminated as end:
        return 128 + end.number
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # whoever read our output has had enough
        _forget_output()
        return 0
    except Exception as error:
        if "--debug" in words:
            raise
        with contextlib.suppress(Exception):  # what was printed before is good
            sys.stdout.flush()
        say(f"error: {_rendered(_words(error, words[:1]))}")
        _forget_output()
        return 1


def console() -> NoReturn:
    """Run the command that was typed, and end without taking the interpreter apart, which takes longer than a small
    training; all files are closed and all output is written by then."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # else NumPy starts threads that spin for nobody
    sys.setswitchinterval(5e-4)  # threads that parse need the interpreter for moments only, but often
    with handled(lambda number, frame: os._exit(128 + number), "SIGINT"):  # for moments when nobody else heeds it
        status = main()
        with contextlib.suppress(Exception):
            sys.stderr.flush()
        os._exit(status)


def run(words: list[str]) -> int:
    """Do what the words say; errors are exceptions, but for those of usage."""
    parser = _parser(words)
    try:
        arguments = parser.parse_args(words)
    except SystemExit as end:  # argparse has said what there was to say
        return int(end.code or 0)
    if arguments.verb is None:
        parser.print_usage(sys.stderr)
        say(f"error: a verb is missing: {', '.join(VERBS)} (cwlearn --help says more)")
        return 2
    try:
        _module(arguments.verb).run(arguments)
    except UsageError as error:
        say(f"error: {_rendered(str(error))}")
        return 2
    return 0


class _Parser(argparse.ArgumentParser):
    """Takes -1,+1 for a value, not for a flag, and escapes what it prints."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False, **kwargs)
        self._negative_number_matcher = re.compile(r"^-[0-9.][0-9.,:eE+-]*$")

    def _print_message(self, message: str, file: Any = None) -> None:
        """Words that were typed may come from a pattern of file names."""
        super()._print_message("\n".join(map(shown, message.split("\n"))) if message else message, file)


def _parser(words: list[str]) -> argparse.ArgumentParser:
    parser = _Parser(
        prog="cwlearn",
        description="Confidence-weighted online learning of linear classifiers from sparse data.",
        epilog="Example:\n  cwlearn demo                          the whole tour, on data that come with the package\n"
        "  cwlearn train data.svm -m model.npz   then: cwlearn predict new.svm -m model.npz",
    )
    parser.add_argument("--version", action="version", version=f"cwlearn {__version__}")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", parser_class=_Parser)
    for name, text in VERBS.items():
        verb = verbs.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
        if name in words[:1]:
            verb.add_argument("--debug", action="store_true", help="show where in the program an error arose")
            verb.epilog = f"Example:\n{_module(name).EXAMPLE}"
            _module(name).add_flags(verb)
    return parser


def _module(verb: str) -> Any:
    return import_module(f"cwlearn.cli.{verb}")


def _rendered(text: str) -> str:
    """A message of the library with flags for the names of options; NumPy, which `flags` loads, may be broken."""
    if "`" not in text:
        return text
    from cwlearn.cli.flags import rendered

    return rendered(text)


def _words(error: Exception, verb: list[str]) -> str:
    """An error as one line for people, who have typed a verb, or none."""
    if isinstance(error, OSError) and error.strerror:
        return f"{shown(error.filename)}: {error.strerror}" if error.filename else error.strerror
    if isinstance(error, MemoryError):
        if "need less" in str(error):  # one of ours, which knows what would
            return f"out of memory: {error}"
        hint = "".join(f"; {FRUGAL[word]}" for word in verb if word in FRUGAL)
        return f"out of memory{hint}{f' ({error})' if str(error) else ''}"
    if isinstance(error, (ValueError, OSError)):
        return str(error)
    if isinstance(error, ImportError):  # of NumPy, or of what is not installed: its advice may have many lines
        return " ".join(str(error).split())
    return f"{type(error).__name__}: {error} (a fault of cwlearn; --debug shows where)"


@contextlib.contextmanager
def _output() -> Iterator[None]:
    """Standard output in UTF-8, whatever the locale, and written to its last byte in the end."""
    if sys.stdout is None:
        with contextlib.redirect_stdout(_Closed()):
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
def _warnings() -> Iterator[None]:
    """Warnings in the words of the program, without a place in its code."""
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_: say(f"warning: {_rendered(str(message))}")
        yield


class _Closed(io.TextIOBase):
    """What was closed before we came; whoever writes to it hears of that."""

    def write(self, text: str) -> int:
        raise OSError("standard output is closed")

    @property
    def buffer(self) -> Any:
        raise OSError("standard output is closed")


def _forget_output() -> None:
    """Nobody is there to write to: make the interpreter's last flush go nowhere, instead of failing once more."""
    with contextlib.suppress(Exception):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
