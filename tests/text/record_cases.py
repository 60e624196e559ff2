"""Helpers for tests of the record splitters: text in, records with their fields out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cwlearn.text import _records
from cwlearn.text._records import NEEDS_ROOM, SLACK, JsonFields

PADDING = 64
Field = tuple[int, bytes]  # kind and value


@dataclass
class Records:
    """What a splitter made of a text."""

    status: int
    n_lines: int
    place: int  # in the text, without padding
    places: list[int]
    fields: list[list[Field]]  # by record
    counts: list[int] = field(default_factory=list)

    def values(self, number: int) -> list[bytes]:
        """One field of all records."""
        return [record[number][1] for record in self.fields]


def padded(text: bytes) -> np.ndarray:
    """Text between paddings of bytes that would do harm if they were read as text."""
    return np.frombuffer(b'"' * PADDING + text + b'"' * PADDING, np.uint8)


def split(
    function: Callable[..., Any], text: bytes, n_fields: int, *more: Any, room: int = 3, start: int = 0
) -> Records:
    """Run a splitter with arrays that have little room at first, and behind which nothing may be written."""
    chunk = padded(text)
    with_counts = function is _records.split_fasttext
    scratch = np.full(len(text) - start + SLACK, 0xEE, np.uint8)
    arrays = _arrays(n_fields, room)
    counts = np.full(room, -1, np.int32)
    place, n, used, n_lines = PADDING + start, 0, 0, 0
    while True:
        given = (*arrays, counts) if with_counts else arrays
        status, n, lines, place, used = function(*given, scratch, chunk, place, PADDING + len(text), n, used, *more)
        n_lines += lines
        if status != NEEDS_ROOM:
            break
        assert n == len(arrays[0])
        larger = _arrays(n_fields, 2 * n + 1)
        for old, new in zip(arrays, larger, strict=True):
            new[..., :n] = old
        arrays, counts = larger, np.append(counts, np.full(n + 1, -1, np.int32))
    places, starts, stops, kinds = arrays
    fields = [
        [(int(kinds[k, i]), scratch[starts[k, i] : stops[k, i]].tobytes()) for k in range(n_fields)] for i in range(n)
    ]
    assert used <= place - PADDING - start
    return Records(
        status,
        n_lines,
        place - PADDING,
        (places[:n] - PADDING).tolist(),
        fields,
        counts[:n].tolist() if with_counts else [],
    )


def _arrays(n_fields: int, room: int) -> tuple[np.ndarray, ...]:
    shape = n_fields, room
    return np.empty(room, np.int64), np.empty(shape, np.int64), np.empty(shape, np.int64), np.empty(shape, np.uint8)


def split_json(text: bytes, *names: str, **options: Any) -> Records:
    return split(_records.split_json, text, len(names), JsonFields(names), **options)


def split_csv(text: bytes, columns: list[int], n_fields: int, delimiter: bytes = b",", **options: Any) -> Records:
    numbers = np.array(columns, np.int64)
    return split(_records.split_csv, text, len(columns), numbers, n_fields, ord(delimiter), **options)


def split_fasttext(text: bytes, prefix: bytes = b"__label__", **options: Any) -> Records:
    return split(_records.split_fasttext, text, 2, prefix, **options)


def split_tabbed(text: bytes, **options: Any) -> Records:
    return split(_records.split_tabbed, text, 2, **options)


def split_plain(text: bytes, **options: Any) -> Records:
    return split(_records.split_plain, text, 2, **options)
