"""Columns of strings in Arrow's memory, which are read where they are."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cwlearn.text.hashing import Documents, documents_in

OFFSETS = {"string": np.int32, "large_string": np.int64}  # by type of the column


def is_arrow(column: Any) -> bool:
    """Whether this is an Array or a ChunkedArray of pyarrow."""
    return type(column).__module__.partition(".")[0] == "pyarrow" and hasattr(column, "to_pylist")


class ArrowStrings:
    """A column of strings without nulls.  A slice of it is a list of `Documents`."""

    def __init__(self, column: Any) -> None:
        chunks = getattr(column, "chunks", [column])
        self._chunks = [_buffers(chunk) for chunk in chunks]
        self._ends = np.cumsum([len(chunk) for chunk in chunks])
        self.size = sum(int(offsets[-1] - offsets[0]) for _, offsets in self._chunks)

    def __len__(self) -> int:
        return int(self._ends[-1]) if len(self._ends) else 0

    def __getitem__(self, part: slice, /) -> list[Documents]:
        start, stop, _ = part.indices(len(self))
        documents = []
        for (text, offsets), end in zip(self._chunks, self._ends.tolist(), strict=True):
            begin = end - (len(offsets) - 1)
            low, high = max(start, begin) - begin, min(stop, end) - begin
            if low < high:
                bounds = offsets[low : high + 1].astype(np.int64)
                documents.append(documents_in(text, bounds[:-1], bounds[1:]))
        return documents


def arrow_strings(column: Any) -> ArrowStrings | None:
    """The strings of a column where they are; None if it is something else or has nulls."""
    if not is_arrow(column) or str(column.type) not in OFFSETS or column.null_count:
        return None
    return ArrowStrings(column)


def _buffers(chunk: Any) -> tuple[NDArray[np.uint8], NDArray[Any]]:
    """The text of a chunk, and where its strings begin and end."""
    if not len(chunk):
        return np.empty(0, np.uint8), np.zeros(1, np.int64)
    _, offsets, text = chunk.buffers()
    dtype = np.dtype(OFFSETS[str(chunk.type)])
    bounds = np.frombuffer(offsets, dtype, len(chunk) + 1, chunk.offset * dtype.itemsize)
    return np.empty(0, np.uint8) if text is None else np.frombuffer(text, np.uint8), bounds
