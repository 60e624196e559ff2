"""Messages to the person who runs a command, on standard error."""

from __future__ import annotations

import sys

from cwlearn.errors import DataError, shown


def say(text: str) -> None:
    """A message to the person, if somebody can read it."""
    if sys.stderr is not None:
        print(f"cwlearn: {text}".encode("utf-8", "backslashreplace").decode(), file=sys.stderr, flush=True)


def tell_skipped(flaw: DataError) -> None:
    say(f"warning: {flaw}; line skipped")


def tell_repeated(data: list[str]) -> None:
    """The same file twice may be meant, or not."""
    for path in dict.fromkeys(data):
        if data.count(path) > 1:
            say(f"warning: {shown(path)} is given more than once, and read more than once")
