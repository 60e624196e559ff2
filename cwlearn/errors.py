"""Errors in data, model files and commands, and how their messages show text from files."""

from __future__ import annotations

import os
from collections.abc import Sequence

JOINERS = "\u200c\u200d"  # invisible characters that words of some scripts need


def shown(text: str | os.PathLike[str]) -> str:
    """Text on one line, with everything escaped that does not print.

    File names, labels and names of features may contain line ends, or sequences that control a terminal.
    """
    plain = os.fspath(text)
    if plain.isprintable():
        return plain
    return "".join(
        character
        if character.isprintable() or character in JOINERS
        else character.encode("unicode_escape").decode("ascii")
        for character in plain
    )


def listed(names: Sequence[object], most: int = 20) -> str:
    """Names with commas between them; the first `most` of them, if there are more."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(map(str, names[:most])) + more


class DataError(ValueError):
    """Data that cannot be learned from or scored; the message says what was found, what was expected and where.

    `what` is the message without the place.  The place is `path`, `line` and `column`, counted from 1, if the data are
    from a file, and `row`, counted from 0, if they are a matrix.
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
    """Data without any row."""


class UsageError(Exception):
    """A command with flags or arguments that are wrong or do not fit together."""


class ModelError(ValueError):
    """A file that is not a complete, valid cwlearn model of a version that this release reads."""

    def __init__(self, what: str) -> None:
        super().__init__(shown(what))
