"""Tables of characters, taken from the interpreter that runs.

They say for each code point whether `\\w` and `\\s` of `re` match it, and what `str.lower` and the removal of accents
make of it.  Unicode grows with every version of Python; a table that was compiled in would not.
Pages of 256 code points are filled when a text first needs them.
"""

from __future__ import annotations

import unicodedata
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cwlearn.text._hashing import CODE_POINTS, PAGE, SPACE, WORD, Settings

Accents = Literal["ascii", "unicode"] | None


class Characters:
    """The tables for one way to fold characters."""

    def __init__(self, lowercase: bool, strip_accents: Accents) -> None:
        self.lowercase, self.strip_accents = lowercase, strip_accents
        # Memory that is never touched costs nothing.
        self.flags: NDArray[np.uint8] = np.zeros(CODE_POINTS, np.uint8)
        self.replacements: NDArray[np.int32] = np.zeros(CODE_POINTS, np.int32)
        self.ready: NDArray[np.uint8] = np.zeros(CODE_POINTS // PAGE, np.uint8)
        for code in range(128):
            self.flags[code] = _flags(chr(code))

    def fill(self, page: int, settings: Settings) -> None:
        """Fill a page, and what its characters become."""
        for code in range(page * PAGE, (page + 1) * PAGE):
            letter = chr(code)
            self.flags[code] = _flags(letter)
            if code < 128 or 0xD800 <= code < 0xE000:
                continue
            folded = self.folded(letter)
            for other in folded:
                self.flags[ord(other)] = _flags(other)
            if folded == letter:
                self.replacements[code] = 0
            elif len(folded) == 1:
                self.replacements[code] = ord(folded)
            else:
                self.replacements[code] = -settings.expand(folded.encode("utf-8"))
        self.ready[page] = 1

    def folded(self, letter: str) -> str:
        """What becomes of a single character; lower case first, as in scikit-learn."""
        text = letter.lower() if self.lowercase else letter
        if self.strip_accents is None:
            return text
        text = unicodedata.normalize("NFKD", text)
        if self.strip_accents == "ascii":
            return "".join(c for c in text if c.isascii())
        return "".join(c for c in text if not unicodedata.combining(c))


def _flags(letter: str) -> int:
    return WORD * (letter.isalnum() or letter == "_") + SPACE * letter.isspace()
