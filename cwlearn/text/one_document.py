"""One document at a time: its row as the model takes it, in a few microseconds."""

from __future__ import annotations

from typing import Any

from cwlearn.core.model import Model
from cwlearn.core.one_row import Parts
from cwlearn.core.rows import Rows
from cwlearn.errors import DataError
from cwlearn.text.documents import settings_of
from cwlearn.text.hashing import Hasher
from cwlearn.text.records_in_memory import rows_of_records


def parts_of_text(text: Any, model: Model, count: bool = False) -> Parts:
    """The columns and values of a text, weighed by frequencies; `count` counts it as a document first.

    If the model has learned further fields of files, the text is a dictionary with all of them.
    """
    row, frequencies = row_of_text(text, model), model.frequencies
    if frequencies is None:
        return row.indices, row.values
    if row.extras is None:
        return row.indices, frequencies.weigh_row(row, count)
    weighed = frequencies.weigh(row)
    return weighed.indices, weighed.values


def row_of_text(text: Any, model: Model) -> Rows:
    """The row of a text, not yet weighed."""
    documents = model.documents
    assert documents is not None
    if documents.fields:
        return rows_of_records([text], documents, model.hash_bits, model.state.dtype)
    hasher = model.kept.get("hasher")
    if hasher is None or hasher[0] is not documents:
        hasher = model.kept["hasher"] = documents, Hasher(settings_of(documents, model.hash_bits))
    if not isinstance(text, (str, bytes)):
        raise TypeError(f"expected a text, got {type(text).__name__}")
    try:
        indptr, indices, values, squares, bad, _ = hasher[1].row(text, model.state.dtype)
    except UnicodeEncodeError as error:
        raise DataError(f"the text is not Unicode: character {error.start} is half of a surrogate pair") from None
    if bad:
        raise DataError(f"the text is not UTF-8 at byte {bad[0][1]}")
    return Rows(indptr, indices, values, squares, 1 << model.hash_bits)
