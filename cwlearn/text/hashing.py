"""Documents to rows of hashed n-grams, with the bits of scikit-learn's HashingVectorizer.

`Hasher` does what the compiled loops leave to Python: it fills their tables of characters, makes room, and lowers the
documents in which a capital sigma depends on its neighbours.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from cwlearn.core.text_options import OF_FILES, TextOptions
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
from cwlearn.text.characters import Accents, characters, pages_of

__all__ = [
    "Documents",
    "GrowingRows",
    "HashedRows",
    "Hasher",
    "HashingSettings",
    "NewArrays",
    "documents_in",
    "documents_of",
]

DEFAULT_PATTERN = r"(?u)\b\w\w+\b"
BY_SPACE_PATTERN = r"\S+"
LONG_ROW = 1 << 16  # entries
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


def settings_of(options: TextOptions, hash_bits: int) -> HashingSettings:
    """The settings of a model.  Signs would make words cancel out that share a column, and their names ambiguous.

    With `idf`, values are weighed and rows are normed later, in the order of the stream (`Frequencies`).
    """
    settings = asdict(options)
    for name in OF_FILES:
        settings.pop(name)
    if settings.pop("idf"):
        settings["norm"] = None
    return HashingSettings(**settings, n_features=1 << hash_bits, alternate_sign=False)


class ArraySource(Protocol):
    """Memory that is reused: see `cwlearn.text.batch.Buffers`."""

    def array(self, name: str, size: int, dtype: Any, /) -> NDArray[Any]:
        """An array of at least `size` numbers; what was in an earlier one of this name may be lost."""


class NewArrays:
    """Memory that is not reused."""

    def array(self, name: str, size: int, dtype: Any, /) -> NDArray[Any]:
        return np.empty(size, dtype)


class HashedRows(NamedTuple):
    """The rows of documents.  The arrays are parts of reused memory; copy them to keep them."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[Any]
    squares: NDArray[np.float64]  # squared length of each row
    bad: list[tuple[int, int]]  # documents that are left out, with the byte at which each is not UTF-8
    stop: int  # the document behind the last one that was read; that at which too many were bad is not read


class GrowingRows:
    """Rows that more rows can be added to, in the arrays "indptr", "indices", "values" and "squares" of `memory`."""

    def __init__(self, memory: ArraySource, dtype: Any) -> None:
        self._memory, self.n_rows = memory, 0
        self.indptr: NDArray[np.int64] = memory.array("indptr", 1, np.int64)
        self.squares: NDArray[np.float64] = memory.array("squares", 0, np.float64)
        self.indices: NDArray[np.int32] = memory.array("indices", 0, np.int32)
        self.values: NDArray[Any] = memory.array("values", 0, np.dtype(dtype))
        self.indptr[0] = 0

    @property
    def nnz(self) -> int:
        return int(self.indptr[self.n_rows])

    def reserve(self, rows: int, entries: int) -> None:
        """Make room for so many more."""
        n_rows, nnz = self.n_rows, self.nnz
        self.squares = self._larger("squares", self.squares, n_rows, rows)
        self.indices = self._larger("indices", self.indices, nnz, entries)
        self.values = self._larger("values", self.values, nnz, entries)
        self.indptr = self._larger("indptr", self.indptr, n_rows + 1, rows)

    def extend(self, indptr: NDArray[Any], indices: NDArray[Any], values: NDArray[Any]) -> None:
        """Add rows that are made already; their `squares` are not."""
        n, nnz = len(indptr) - 1, self.nnz
        self.reserve(n, len(indices))
        self.indices[nnz : nnz + len(indices)] = indices
        self.values[nnz : nnz + len(indices)] = values
        self.indptr[self.n_rows + 1 : self.n_rows + 1 + n] = indptr[1:] + nnz
        self.n_rows += n

    def _larger(self, name: str, array: NDArray[Any], filled: int, more: int) -> NDArray[Any]:
        if filled + more <= len(array):
            return array
        larger = self._memory.array(name, filled + max(more, filled // 2), array.dtype)
        if larger is not array:
            larger[:filled] = array[:filled]
        return larger

    def parts(self) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[Any], NDArray[np.float64]]:
        """`indptr`, `indices`, `values` and `squares` without the room behind them."""
        n, nnz = self.n_rows, self.nnz
        return self.indptr[: n + 1], self.indices[:nnz], self.values[:nnz], self.squares[:n]


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
        """
        rows = GrowingRows(memory, dtype)
        bad, done = self.append(rows, documents, first=first, stop=stop, max_bad=max_bad, norm_in_dtype=norm_in_dtype)
        return HashedRows(*rows.parts(), bad, done)

    def row(self, text: str | bytes, dtype: Any) -> HashedRows:
        """The row of one document, in memory of its own: `rows` in a third of its time."""
        documents, room = documents_of([text]), self.room(len(text))
        if room > LONG_ROW:  # most of this room would not be used
            return self.rows(documents, NewArrays(), dtype)
        indptr, indices, values = np.zeros(2, np.int64), np.empty(room, np.int32), np.empty(room, dtype)
        squares = np.empty(1)
        status, _, _ = hash_documents(documents, self._settings, 0, 1, indptr, indices, values, squares, 0, False)
        if status != DONE_ALL:
            return self.rows(documents, NewArrays(), dtype)
        nnz = indptr.item(1)
        return HashedRows(indptr, indices[:nnz], values[:nnz], squares, [], 1)

    def append(
        self,
        rows: GrowingRows,
        documents: Documents,
        *,
        first: int = 0,
        stop: int | None = None,
        max_bad: int = 0,
        norm_in_dtype: bool = False,
    ) -> tuple[list[tuple[int, int]], int]:
        """Add the rows of documents to others; return `bad` and `stop` as in HashedRows."""
        last = len(documents) if stop is None else stop
        if not 0 <= first <= last <= len(documents):
            raise ValueError(f"there are no documents {first} to {last}: there are {len(documents)}")
        rows.reserve(last - first, self.room(documents.size * (last - first) // max(1, len(documents))))
        bad: list[tuple[int, int]] = []

        def step(part: Documents, start: int, end: int) -> tuple[int, int, int]:
            status, number, detail = hash_documents(
                part,
                self._settings,
                start,
                end,
                rows.indptr,
                rows.indices,
                rows.values,
                rows.squares,
                rows.n_rows,
                norm_in_dtype,
            )
            rows.n_rows += number - start
            if status == NEEDS_ROOM:
                rows.reserve(0, rows.nnz + 1024)
            return status, number, detail

        return bad, self._go_through(documents, first, last, step, bad, max_bad)

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
        begun_again = -1  # the document that lacked a page of the tables
        while True:
            status, number, detail = step(documents, number, stop)
            if status == DONE_ALL:
                return number
            if status == NEEDS_PAGE:
                self._characters.fill(detail)
                if begun_again == number:  # and no more: a long text of many scripts would be gone through for each
                    for page in pages_of(documents[number]):
                        self._characters.fill(page)
                begun_again = number
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

    def room(self, size: int) -> int:
        """About how many entries so many bytes of text have."""
        low, high = self.settings.ngram_range
        return size * min(high - low + 1, 8) // BYTES_AN_ENTRY[self.settings.analyzer] + 64


def _check_choice(name: str, value: Any, choices: Any) -> None:
    if value not in choices:
        raise ValueError(f"`{name}` must be one of {', '.join(map(repr, choices))}, got {value!r}")
