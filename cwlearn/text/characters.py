"""Tables of characters, taken from the interpreter that runs.

They say for each code point whether `\\w` and `\\s` of `re` match it, and what `str.lower` and the removal of accents
make of it.  Unicode grows with every version of Python; a table that was compiled in would not.
Pages of 256 code points are filled when a text first needs them.
"""

from __future__ import annotations

import codecs
import unicodedata
from functools import cache
from typing import Literal

import numpy as np

from cwlearn.text._hashing import PAGE_SIZE, SPACE, WORD, Tables

PART = 1 << 16  # bytes

Accents = Literal["ascii", "unicode"] | None


class Characters:
    """The tables for one way to fold characters.  Threads may share them."""

    def __init__(self, lowercase: bool, strip_accents: Accents) -> None:
        self.lowercase, self.strip_accents = lowercase, strip_accents
        self.tables = Tables()
        self.fill(0)

    def fill(self, page: int) -> None:
        """Fill a page."""
        letters = [chr(code) for code in range(page * PAGE_SIZE, (page + 1) * PAGE_SIZE)]
        folded = [self.folded(letter) for letter in letters]
        flags = {ord(letter): _flags(letter) for text in (*letters, *folded) for letter in text}
        replacements = [_replacement(*pair) for pair in zip(letters, folded, strict=True)]
        self.tables.fill(page, replacements, flags)

    def folded(self, letter: str) -> str:
        """What becomes of a single character; lower case first, as in scikit-learn."""
        text = letter.lower() if self.lowercase else letter
        if self.strip_accents is None:
            return text
        text = unicodedata.normalize("NFKD", text)
        if self.strip_accents == "ascii":
            return "".join(c for c in text if c.isascii())
        return "".join(c for c in text if not unicodedata.combining(c))


@cache
def characters(lowercase: bool, strip_accents: Accents) -> Characters:
    """The tables, which are filled only once in a process."""
    return Characters(lowercase, strip_accents)


def pages_of(text: bytes) -> list[int]:
    """The pages of all characters of a text, by parts; what is no UTF-8 has none."""
    decoder = codecs.getincrementaldecoder("utf-8")("ignore")
    pages: set[int] = set()
    for start in range(0, len(text), PART):
        codes = np.frombuffer(decoder.decode(text[start : start + PART]).encode("utf-32-le"), "<u4")
        pages.update(np.bincount(codes // PAGE_SIZE).nonzero()[0].tolist())
    return sorted(pages)


def _replacement(letter: str, folded: str) -> int | bytes:
    if folded == letter:
        return 0
    return ord(folded) if len(folded) == 1 else folded.encode()


def _flags(letter: str) -> int:
    return WORD * (letter.isalnum() or letter == "_") + SPACE * letter.isspace()
