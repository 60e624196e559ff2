"""Tables of characters for exported scorers, taken from the interpreter that runs, as those of the hasher are."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from cwlearn.core.text_options import BY_SPACE_PATTERN, TextOptions
from cwlearn.text.characters import characters

CODE_POINTS = 0x110000
NOWHERE = 0xFFFFFFFF  # no code point, and no column
Ranges = list[tuple[int, int]]  # the first and the last code point of each


@dataclass(frozen=True)
class CharacterTables:
    """What a scorer knows of characters."""

    words: Ranges  # that belong to a word
    spaces: Ranges
    cased: Ranges  # that decide what a capital sigma becomes
    ignorable: Ranges  # that do not, and are passed over
    folds: list[tuple[int, str]]  # what becomes of a character, if that is another text; of ASCII alone: if it is any


@cache
def tables_of(options: TextOptions) -> CharacterTables:
    """The tables that the options need; the others are empty."""
    by_word = options.analyzer == "word" and options.token_pattern != BY_SPACE_PATTERN
    fold = characters(options.lowercase, options.strip_accents).folded
    folds = [(code, folded) for code in _codes() if (folded := fold(chr(code))) != chr(code)]
    if options.strip_accents == "ascii":
        folds = [(code, folded) for code, folded in folds if folded]
    return CharacterTables(
        _ranges(lambda letter: letter.isalnum() or letter == "_") if by_word else [],
        [] if by_word else _ranges(str.isspace),
        _ranges(_is_cased) if options.lowercase else [],
        _ranges(_is_ignorable) if options.lowercase else [],
        folds,
    )


@cache
def _codes() -> list[int]:
    """The code points that stand for something; Unicode says nothing of the others."""
    return [code for code in range(CODE_POINTS) if unicodedata.category(chr(code)) not in ("Cn", "Co", "Cs")]


def _is_cased(letter: str) -> bool:
    """Whether a capital sigma behind it ends a word: `str.lower` knows which letters have case."""
    return f"1{letter}\u03a3".lower().endswith("\u03c2")


def _is_ignorable(letter: str) -> bool:
    """Whether the letter before it decides instead."""
    return f"a{letter}\u03a3".lower().endswith("\u03c2") and not _is_cased(letter)


def _ranges(belongs: Callable[[str], bool]) -> Ranges:
    ranges: Ranges = []
    for code in _codes():
        if belongs(chr(code)):
            if ranges and ranges[-1][1] == code - 1:
                ranges[-1] = ranges[-1][0], code
            else:
                ranges.append((code, code))
    return ranges
