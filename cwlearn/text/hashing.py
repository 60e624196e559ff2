"""Documents to rows of hashed n-grams, with the bits of scikit-learn's HashingVectorizer.

`Hasher` does what the compiled loops leave to Python: it fills their tables of characters, makes room, and lowers the
documents in which a capital sigma depends on its neighbours.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from cwlearn.text._hashing import (
    ANALYZERS,
    BAD_UTF8,
    DONE_ALL,
    HAS_SIGMA,
    NEEDS_PAGE,
    NEEDS_ROOM,
    NORMS,
    WEIGHTINGS,
    Documents,
    Names,
    Settings,
    StopWords,
    documents_in,
    documents_of,
    hash_documents,
    name_documents,
)
from cwlearn.text.characters import Accents, characters

__all__ = ["Documents", "HashedRows", "Hasher", "HashingSettings", "documents_in", "documents_of"]

DEFAULT_PATTERN = r"(?u)\b\w\w+\b"
BY_SPACE_PATTERN = r"\S+"
BYTES_AN_ENTRY = {"word": 4, "char": 1, "char_wb": 1}  # of text, for an n-gram: only a first guess


@dataclass(frozen=True)
class HashingSettings:
    """How documents become rows; parameters as in scikit-learn's HashingVectorizer, `weighting` instead of `binary`."""

    analyzer: Literal["word", "char", "char_wb"] = "word"
    ngram_range: tuple[int, int] = (1, 1)
    lowercase: bool = True
    strip_accents: Accents = None
    stop_words: tuple[str, ...] | None = None
    token_pattern: str = DEFAULT_PATTERN  # or BY_SPACE_PATTERN
    n_features: int = 2**20
    weighting: Literal["count", "binary", "log"] = "count"
    norm: Literal["l1", "l2"] | None = "l2"
    alternate_sign: bool = True

    def __post_init__(self) -> None:
        _check_choice("analyzer", self.analyzer, ANALYZERS)
        _check_choice("strip_accents", self.strip_accents, (None, "ascii", "unicode"))
        _check_choice("token_pattern", self.token_pattern, (DEFAULT_PATTERN, BY_SPACE_PATTERN))
        _check_choice("weighting", self.weighting, WEIGHTINGS)
        _check_choice("norm", self.norm, NORMS)
        low, high = self.ngram_range
        if not 1 <= low <= high < 2**31:
            raise ValueError(f"`ngram_range` must be two numbers, 1 <= low <= high, got {self.ngram_range!r}")
        if not 1 <= self.n_features < 2**31:
            raise ValueError(f"`n_features` must be between 1 and 2147483647, got {self.n_features!r}")


class ArraySource(Protocol):
    """Memory that is reused: see `cwlearn.text.batch.Buffers`."""

    def array(self, name: str, size: int, dtype: Any, /) -> NDArray[Any]:
        """An array of at least `size` numbers; what was in an earlier one of this name may be lost."""


class HashedRows(NamedTuple):
    """The rows of documents.  The arrays are parts of reused memory; copy them to keep them."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[Any]
    squares: NDArray[np.float64]  # squared length of each row
    bad: list[tuple[int, int]]  # documents that are left out, with the byte at which each is not UTF-8
    stop: int  # the document behind the last one that was read; that at which too many were bad is not read


class Hasher:
    """Makes rows of documents.  Threads may share it, each with its own memory."""

    def __init__(self, settings: HashingSettings) -> None:
        self.settings = settings
        self._characters = characters(settings.lowercase, settings.strip_accents)
        words = settings.stop_words if settings.analyzer == "word" else None
        low, high = settings.ngram_range
        self._settings = Settings(
            self._characters.tables,
            None if words is None else StopWords([word.encode() for word in words]),
            analyzer=ANALYZERS[settings.analyzer],
            low=low,
            high=high,
            n_features=settings.n_features,
            weighting=WEIGHTINGS[settings.weighting],
            signs=settings.alternate_sign,
            norm=NORMS[settings.norm],
            lowercase=settings.lowercase,
            by_space=settings.token_pattern == BY_SPACE_PATTERN,
        )

    def __reduce__(self) -> tuple[type[Hasher], tuple[HashingSettings]]:
        return Hasher, (self.settings,)

    def rows(
        self,
        documents: Documents,
        memory: ArraySource,
        dtype: Any = np.float64,
        *,
        first: int = 0,
        stop: int | None = None,
        max_bad: int = 0,
        norm_in_dtype: bool = False,
    ) -> HashedRows:
        """The rows of the documents from `first` to `stop`, without up to `max_bad` that are not UTF-8.

        One bad document more ends the rows before it.  It is the last one in `bad`.

        Values are made in float64 and rounded to `dtype` in the end.  `norm_in_dtype` makes norms of float32 from
        float32, as scikit-learn does with `dtype=np.float32`.

        `memory` is asked for the arrays "indptr", "indices", "values" and "squares".
        """
        last = len(documents) if stop is None else stop
        arrays = _Arrays(memory, max(0, last - first), self._first_room(documents, first, last), np.dtype(dtype))
        bad: list[tuple[int, int]] = []

        def step(part: Documents, start: int, end: int) -> tuple[int, int, int]:
            status, number, detail = hash_documents(
                part,
                self._settings,
                start,
                end,
                arrays.indptr,
                arrays.indices,
                arrays.values,
                arrays.squares,
                arrays.n_rows,
                norm_in_dtype,
            )
            arrays.n_rows += number - start
            if status == NEEDS_ROOM:
                arrays.grow()
            return status, number, detail

        done = self._go_through(documents, first, last, step, bad, max_bad)
        return arrays.rows(bad, done)

    def names(
        self, documents: Documents, columns: NDArray[Any], *, first: int = 0, stop: int | None = None
    ) -> dict[int, dict[str, int]]:
        """The distinct n-grams that hash to some columns, which rise, with their counts, by column.

        Documents that are not UTF-8 count nothing.
        """
        names = Names(np.ascontiguousarray(columns, np.int32))

        def step(part: Documents, start: int, end: int) -> tuple[int, int, int]:
            return name_documents(part, self._settings, start, end, names)

        last = len(documents) if stop is None else stop
        self._go_through(documents, first, last, step, [], len(documents))
        return names.found()

    def _go_through(
        self,
        documents: Documents,
        number: int,
        stop: int,
        step: Callable[[Documents, int, int], tuple[int, int, int]],
        bad: list[tuple[int, int]],
        max_bad: int,
    ) -> int:
        """Take `step` after step through the documents; return where it ended."""
        while True:
            status, number, detail = step(documents, number, stop)
            if status == DONE_ALL:
                return number
            if status == NEEDS_PAGE:
                self._characters.fill(detail)
            elif status == HAS_SIGMA:
                try:
                    lowered = documents_of([documents[number].decode().lower()])
                except UnicodeDecodeError as error:
                    status, detail = BAD_UTF8, error.start
                else:
                    self._go_through(lowered, 0, 1, step, bad, 0)
                    number += 1
            if status == BAD_UTF8:
                bad.append((number, detail))
                if len(bad) > max_bad:
                    return number
                number += 1

    def _first_room(self, documents: Documents, first: int, stop: int) -> int:
        low, high = self.settings.ngram_range
        share = (stop - first) / max(1, len(documents))
        size = documents.size * share / BYTES_AN_ENTRY[self.settings.analyzer]
        return int(size * min(high - low + 1, 8)) + 1024


class _Arrays:
    """The arrays in which rows grow."""

    def __init__(self, memory: ArraySource, n_documents: int, room: int, dtype: np.dtype[Any]) -> None:
        self.memory, self.n_rows, self.dtype = memory, 0, dtype
        self.indptr = memory.array("indptr", n_documents + 1, np.int64)
        self.squares = memory.array("squares", n_documents, np.float64)
        self.indices = memory.array("indices", room, np.int32)
        self.values = memory.array("values", room, dtype)
        self.indptr[0] = 0

    def grow(self) -> None:
        """Make room for twice as many entries."""
        size = 2 * min(len(self.indices), len(self.values)) + 1024
        self.indices = self._larger("indices", self.indices, size)
        self.values = self._larger("values", self.values, size)

    def _larger(self, name: str, array: NDArray[Any], size: int) -> NDArray[Any]:
        larger = self.memory.array(name, size, array.dtype)
        if larger is not array:
            filled = int(self.indptr[self.n_rows])
            larger[:filled] = array[:filled]
        return larger

    def rows(self, bad: list[tuple[int, int]], stop: int) -> HashedRows:
        n, nnz = self.n_rows, int(self.indptr[self.n_rows])
        return HashedRows(self.indptr[: n + 1], self.indices[:nnz], self.values[:nnz], self.squares[:n], bad, stop)


def _check_choice(name: str, value: Any, choices: Any) -> None:
    if value not in choices:
        raise ValueError(f"`{name}` must be one of {', '.join(map(repr, choices))}, got {value!r}")
