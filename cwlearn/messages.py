"""Messages to the person who runs a command, on standard error."""

from __future__ import annotations

import contextlib
import sys

from cwlearn.errors import DataError, shown


def show(text: str) -> None:
    """A line for the person, if somebody can read it; if nobody can, that is no reason to stop."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError):
            print(text.encode("utf-8", "backslashreplace").decode(), file=sys.stderr, flush=True)


def say(text: str) -> None:
    """A message in the name of the program."""
    show(f"cwlearn: {text}")


def tell_skipped(flaw: DataError) -> None:
    say(f"warning: {flaw}; line skipped")


def tell_repeated(data: list[str]) -> None:
    """The same file twice may be meant, or not."""
    for path in dict.fromkeys(data):
        if data.count(path) > 1:
            say(f"warning: {shown(path)} is given more than once, and read more than once")
