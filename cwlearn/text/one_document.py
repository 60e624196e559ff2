"""One document at a time: its row as the model takes it, in a few microseconds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cwlearn.core.model import Model
from cwlearn.core.one_row import Parts
from cwlearn.core.rows import Rows
from cwlearn.errors import DataError
from cwlearn.text.hashing import Hasher, NewArrays, documents_of, settings_of


def parts_of_text(text: Any, model: Model, count: bool = False) -> Parts:
    """The columns and values of a text, weighed by frequencies; `count` counts it as a document first.

    If the model has learned further fields of files, the text is a dictionary with all of them.
    """
    row, frequencies = row_of_text(text, model), model.frequencies
    if frequencies is None:
        return row.indices, row.values
    if row.extras is None:
        return row.indices, frequencies.weigh_one(row, count)
    weighed = frequencies.weigh(row)
    return weighed.indices, weighed.values


def row_of_text(text: Any, model: Model) -> Rows:
    """The row of a text, not yet weighed."""
    documents = model.documents
    assert documents is not None
    if documents.fields:
        return _rows_of_records([text], model)
    if not isinstance(text, (str, bytes)):
        raise TypeError(f"expected a text, got {type(text).__name__}")
    try:
        indptr, indices, values, squares, bad, _ = hasher_of(model).row(text, model.state.dtype)
    except UnicodeEncodeError as error:
        raise DataError(f"the text is not Unicode: character {error.start} is half of a surrogate pair") from None
    if bad:
        raise DataError(f"the text is not UTF-8 at byte {bad[0][1]}")
    return Rows(indptr, indices, values, squares, 1 << model.hash_bits)


def rows_of_texts(texts: Iterable[Any], model: Model) -> Rows:
    """The rows of several texts, weighed; of dictionaries, if the model has learned further fields of files."""
    if isinstance(texts, (str, bytes)):
        raise ValueError("expected a list of texts, got one text: put it into a list, or call `predict_one`")
    assert model.documents is not None
    if model.documents.fields:
        return model.weighed(_rows_of_records(texts, model))
    given = list(texts)
    try:
        hashed = hasher_of(model).rows(documents_of(given), NewArrays(), model.state.dtype)
    except UnicodeEncodeError as error:
        raise DataError(f"a text is not Unicode: {error.object[:40]!r} has half of a surrogate pair") from None
    if hashed.bad:
        number, place = hashed.bad[0]
        raise DataError(f"text {number} is not UTF-8 at byte {place}")
    rows = Rows(hashed.indptr, hashed.indices, hashed.values, hashed.squares, 1 << model.hash_bits)
    return model.weighed(rows)


def _rows_of_records(records: Iterable[Any], model: Model) -> Rows:
    from cwlearn.text.records_in_memory import rows_of_records  # which texts alone do not need

    assert model.documents is not None
    return rows_of_records(records, model.documents, model.hash_bits, model.state.dtype)


def hasher_of(model: Model) -> Hasher:
    """The model's way to make rows of texts, kept with it."""
    documents = model.documents
    assert documents is not None
    kept = model.kept.get("hasher")
    if kept is None or kept[0] is not documents:
        kept = model.kept["hasher"] = documents, Hasher(settings_of(documents, model.hash_bits))
    hasher: Hasher = kept[1]
    return hasher
