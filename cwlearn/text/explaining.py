"""Explanations of documents: contributions have the words of the document, in the places where they stand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cwlearn.core.explaining import TOP, Explanation, explain
from cwlearn.core.learner import Learner
from cwlearn.core.rows import Rows
from cwlearn.text.batch import Batch, Buffers
from cwlearn.text.chunks import Chunk
from cwlearn.text.document_spans import Document
from cwlearn.text.documents import DocumentParser
from cwlearn.text.one_document import row_of_text
from cwlearn.text.records_in_memory import chunk_of_records
from cwlearn.text.vw import VwParser


def explain_text(model: Learner, text: Any, top: int = TOP) -> Explanation:
    """Explain a text or, if the model has learned further fields of files, a dictionary with all of them."""
    rows = model.weighed(row_of_text(text, model))
    documents = model.documents
    assert documents is not None
    if isinstance(text, Mapping):
        parser, chunk = chunk_of_records([text], documents, model.hash_bits, model.state.dtype)
        document, names = _document_of_record(rows, parser, chunk)
    else:
        document = Document(text.decode() if isinstance(text, bytes) else text, documents, model.hash_bits)
        names = document.names()
    return explain(model, rows, _names_or_numbers(names), top, pieces_of=document.pieces)


def explain_row_of_batch(
    model: Learner, batch: Batch, row: int, rows: Rows, name_of: Callable[[int], str], top: int, *, in_pieces: int
) -> Explanation:
    """Explain a row of a file; `rows` are those of the batch, in the columns of the model.

    `in_pieces` says how many characters of its document are wanted in pieces.
    """
    parser, place, only = batch.parser, batch.place_of(row), rows.part(row, row + 1)
    if isinstance(parser, DocumentParser):
        record = batch.chunk.text[place : parser.format.end_of_record(batch.chunk, place)].tobytes()
        document, names = _document_of_record(only, parser, Chunk.of_lines(record, batch.chunk.source))
        pieces_of = partial(document.pieces, within=in_pieces) if in_pieces else None
        return explain(model, only, _names_or_numbers(names), top, labels=model.label_names, pieces_of=pieces_of)
    written = batch.rows.part(row, row + 1).indices
    if isinstance(parser, VwParser):
        line = Chunk.of_lines(batch.chunk.line_at(place), batch.chunk.source)
        names = _named(parser.names(line, Buffers(line.text), written.astype(np.int64)))
        return explain(model, only, _names_or_numbers(names), top, labels=model.label_names)
    return explain(model, only, name_of, top, columns=written, labels=model.label_names)


def _document_of_record(rows: Rows, parser: DocumentParser, chunk: Chunk) -> tuple[Document, dict[int, str]]:
    """The text of a record, and the names of all its columns, also of those from other fields."""
    names: dict[int, str] = {}
    if parser.format.extras:
        columns: NDArray[np.int64] = rows.indices.astype(np.int64)
        names = _named(parser.names(chunk, Buffers(chunk.text), columns))
    document = Document(parser.text_of(chunk), parser.options, parser.hash_bits)
    return document, {**names, **document.names()}


def _names_or_numbers(names: dict[int, str]) -> Callable[[int], str]:
    return lambda column: names.get(column) or str(column)


def _named(found: dict[int, dict[str, int]]) -> dict[int, str]:
    return {column: " | ".join(counts) for column, counts in found.items()}
