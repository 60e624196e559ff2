"""Fields of JSON lines and CSV that are repeated beside the predictions of their records."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from cwlearn.errors import DataError
from cwlearn.text.batch import Batch
from cwlearn.text.csv_errors import csv_column, csv_fields
from cwlearn.text.documents import DocumentParser
from cwlearn.text.record_errors import RecordFlaw
from cwlearn.text.records import Csv, JsonLines


def kept_fields(batch: Batch, names: Sequence[str]) -> list[dict[str, Any]]:
    """Some fields of the record of each row, None where a record lacks one; what is wrong is a DataError."""
    parser, chunk = batch.parser, batch.chunk
    if not (isinstance(parser, DocumentParser) and isinstance(parser.format, (JsonLines, Csv))):
        raise DataError(f"`keep` is for JSON lines and CSV, found {parser.name}", chunk.source.name)
    format = parser.format
    columns = _columns(format, names, chunk.source.name) if isinstance(format, Csv) else []
    kept = []
    for place in batch.places.tolist():
        record = chunk.text[place : format.end_of_record(chunk, place)].tobytes()
        kept.append(_of_csv(record, format, names, columns) if isinstance(format, Csv) else _of_json(record, names))
    return kept


def _columns(format: Csv, names: Sequence[str], path: str) -> list[int]:
    if format.header is None:
        header = [str(number) for number in range(1, format.n_columns + 1)]
    else:
        header = [name.decode("utf-8", "replace") for name in csv_fields(format.header, format.delimiter)]
    try:
        return [csv_column(header, name, "the first line" if format.header is None else "the header") for name in names]
    except RecordFlaw as flaw:
        raise DataError(str(flaw), path, 1) from None


def _of_csv(record: bytes, format: Csv, names: Sequence[str], columns: Sequence[int]) -> dict[str, Any]:
    fields = csv_fields(record, format.delimiter)
    return {name: fields[column].decode("utf-8", "replace") for name, column in zip(names, columns, strict=True)}


def _of_json(record: bytes, names: Sequence[str]) -> dict[str, Any]:
    """Fields by name, with dots for those of nested objects; a record is read no further than a prediction needs it."""
    try:
        fields = json.loads(record, parse_int=_number, parse_float=_number, parse_constant=str)
    except (ValueError, RecursionError):  # in a part of the line that a prediction does not look at
        return dict.fromkeys(names)
    return {name: _field(fields, name) for name in names}


def _number(text: str) -> float | int | str:
    """A number; its text if Python has none like it."""
    try:
        value = int(text) if text.lstrip("-").isdigit() else float(text)
        return value if math.isfinite(value) else text
    except (ValueError, OverflowError):
        return text


def _field(fields: Any, name: str) -> Any:
    if isinstance(fields, dict) and name not in fields and "." in name:
        first, _, rest = name.partition(".")
        return _field(fields.get(first), rest)
    return fields.get(name) if isinstance(fields, dict) else None
