"""The output of a command: results on standard output, messages on standard error, one line at a time.

Every line is escaped here, so that nothing from a file reaches a terminal unescaped.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable
from typing import Any

from cwlearn.errors import shown


def put(line: str = "") -> None:
    """Print a line of the result."""
    print(shown(line))


def put_colored(parts: Iterable[tuple[str, str]]) -> None:
    """Print a line of parts, each with the code of its colour, "" for none, on a terminal that shows colours."""
    print("".join(f"\x1b[{code}m{shown(text)}\x1b[0m" if code else shown(text) for text, code in parts))


def put_json(report: dict[str, Any]) -> None:
    """Print the result as one line of JSON, which escapes by itself."""
    import json  # which a text for people does not need

    print(json.dumps(report, allow_nan=False))


def show(line: str) -> None:
    """Print a line on standard error; a failure is ignored, because the work matters more than the message."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError):
            print(shown(line), file=sys.stderr, flush=True)


def say(text: str) -> None:
    """Print a message with the name of the program."""
    show(f"cwlearn: {text}")
