"""What can be wrong with what a user hands in, apart from a parameter: the data, a model file, or a command."""

from __future__ import annotations

import os
from collections.abc import Sequence

JOINERS = "\u200c\u200d"  # invisible, but words of some scripts are spelt with them


def shown(text: str | os.PathLike[str]) -> str:
    """Text as it may reach a terminal or a line of output: on one line, with everything escaped that does not print.

    File names, labels, names of features and whatever else a file says may hold line ends, or sequences that a terminal
    obeys.
    """
    name = os.fspath(text)
    if name.isprintable():
        return name
    return "".join(
        letter if letter.isprintable() or letter in JOINERS else letter.encode("unicode_escape").decode("ascii")
        for letter in name
    )


def listed(names: Sequence[object], most: int = 20) -> str:
    """Names with commas between them; of many, the first ones."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(map(str, names[:most])) + more


class DataError(ValueError):
    """Data that cannot be learned from or scored; the message says what was found, what was expected and where.

    `what` is the message without the place.  That is `path`, `line` and `column`, from 1, where the data came from a
    file, and `row`, from 0, where they are a matrix.
    """

    def __init__(
        self,
        what: str,
        path: str | os.PathLike[str] | None = None,
        line: int | None = None,
        column: int | None = None,
        *,
        row: int | None = None,
    ) -> None:
        self.what, self.path, self.line, self.column, self.row = what, path, line, column, row
        place = ""
        if path is not None:
            place = ":".join([shown(path), *(str(number) for number in (line, column) if number)]) + ": "
        elif row is not None:
            place = f"row {row}: "
        super().__init__(shown(place + what))


class NoExamplesError(DataError):
    """Data without a single row."""


class UsageError(Exception):
    """A command that makes no sense; the words are for the one who typed it."""


class ModelError(ValueError):
    """A file that is not a whole, sound cwlearn model of a version this release reads."""

    def __init__(self, what: str) -> None:
        super().__init__(shown(what))
