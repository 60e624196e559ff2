"""Types of the compiled module."""

from collections.abc import Iterable, Sequence
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray

PAGE_SIZE: int
WORD: int
SPACE: int
LONGEST_DOCUMENT: int
DONE_ALL: int
NEEDS_ROOM: int
NEEDS_PAGE: int
BAD_UTF8: int
HAS_SIGMA: int
ANALYZERS: dict[str, int]
WEIGHTINGS: dict[str, int]
NORMS: dict[str | None, int]

@final
class Documents:
    def __new__(cls, count: int) -> Self: ...
    @property
    def count(self) -> int: ...
    @property
    def size(self) -> int: ...
    def __len__(self) -> int: ...
    def __getitem__(self, number: int, /) -> bytes: ...

@final
class Tables:
    def fill(self, page: int, replacements: list[int | bytes], flags: dict[int, int]) -> None: ...

@final
class StopWords:
    def __init__(self, words: Sequence[bytes]) -> None: ...

@final
class Settings:
    def __init__(
        self,
        tables: Tables,
        stop_words: StopWords | None,
        *,
        analyzer: int,
        low: int,
        high: int,
        n_features: int,
        weighting: int,
        signs: bool,
        norm: int,
        lowercase: bool,
        by_space: bool,
    ) -> None: ...

@final
class Names:
    def __init__(self, wanted: NDArray[np.int32]) -> None: ...
    def found(self) -> dict[int, dict[str, int]]: ...

def documents_of(texts: Iterable[str | bytes]) -> Documents: ...
def documents_in(text: NDArray[np.uint8], starts: NDArray[np.int64], stops: NDArray[np.int64]) -> Documents: ...
def choose_vectors(wide: int) -> int: ...
def murmur_of(data: bytes) -> int: ...
def hash_documents(
    documents: Documents,
    settings: Settings,
    first: int,
    stop: int,
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    values: NDArray[Any],
    squares: NDArray[np.float64],
    n_rows: int,
    single: bool,
) -> tuple[int, int, int]: ...
def name_documents(
    documents: Documents, settings: Settings, first: int, stop: int, names: Names
) -> tuple[int, int, int]: ...
