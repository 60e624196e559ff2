"""What a command says: results on standard output, messages on standard error, one line at a time.

Whatever a line holds is escaped here, so that nothing from a file reaches a terminal as it is.
"""

from __future__ import annotations

import contextlib
import json
import sys
from typing import Any

from cwlearn.errors import DataError, shown


def put(line: str = "") -> None:
    """A line of the result."""
    print(shown(line))


def put_json(report: dict[str, Any]) -> None:
    """The result as one line of JSON, which has escapes of its own."""
    print(json.dumps(report, allow_nan=False))


def show(line: str) -> None:
    """A line for the person, if somebody can read it; if nobody can, that is no reason to stop."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError):
            print(shown(line), file=sys.stderr, flush=True)


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
