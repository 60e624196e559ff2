"""Records that are dictionaries, for models with further fields: rows as from a file of JSON lines."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from cwlearn.core.rows import Rows
from cwlearn.core.text_options import TextOptions
from cwlearn.text.batch import Buffers
from cwlearn.text.chunks import Chunk
from cwlearn.text.documents import DocumentParser
from cwlearn.text.reader import Reading, names_in
from cwlearn.text.records import JsonLines
from cwlearn.text.sources import Source


def rows_of_records(records: Iterable[Any], options: TextOptions, hash_bits: int, dtype: np.dtype[Any]) -> Rows:
    """The rows of dictionaries, not yet weighed by frequencies; labels are not needed."""
    parser, chunk = chunk_of_records(records, options, hash_bits, dtype)
    batch = parser.parse(chunk, Buffers(chunk.text), 0)
    if batch.fault is not None:
        raise ValueError(f"record {batch.n_lines}: {batch.fault.what}")
    if (wrong := ~np.isfinite(batch.rows.squares)).any():
        row = int(np.argmax(wrong))
        raise ValueError(f"record {row}: {parser.overflow_at(chunk, int(batch.places[row])).what}")
    return batch.rows


def chunk_of_records(
    records: Iterable[Any], options: TextOptions, hash_bits: int, dtype: np.dtype[Any]
) -> tuple[DocumentParser, Chunk]:
    """Dictionaries as lines of JSON, and what parses them."""
    options = Reading().with_names(options)
    names = names_in(options.text)
    lines = []
    for number, record in enumerate(records):
        if not isinstance(record, Mapping):
            wanted = ", ".join((*names, *options.fields))
            raise ValueError(f"record {number}: expected a dictionary with the fields {wanted}, got {record!r:.40}")
        lines.append(json.dumps(record, default=_plain).encode() + b"\n")
    chunk = Chunk.of_lines(b"".join(lines), Source("records"))
    format = JsonLines(False, options.label, names, extras=options.fields)
    return DocumentParser("jsonl", format, options, hash_bits, dtype), chunk


def _plain(value: Any) -> Any:
    """A scalar of NumPy as one of Python."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"expected texts, numbers, booleans or None in records, got {value!r:.40}")
