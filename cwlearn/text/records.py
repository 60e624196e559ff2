"""The formats of documents: where the records of a chunk are, and the label and the texts of each.

A format only finds the fields; what makes rows of them is the same for all (`documents`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cwlearn.errors import DataError, listed
from cwlearn.text._records import (
    MISSING,
    NULL,
    OTHER,
    SLACK,
    STRING,
    JsonFields,
    end_of_last_record,
    end_of_record,
    split_csv,
    split_fasttext,
    split_json,
    split_plain,
    split_tabbed,
)
from cwlearn.text.batch import Buffers
from cwlearn.text.chunks import Chunk, end_of_last_line
from cwlearn.text.csv_errors import csv_column, csv_fields, find_csv_flaw
from cwlearn.text.formats import LINE_FORMATS, NAMES, delimiter_of
from cwlearn.text.json_errors import LABELS, find_json_flaw, json_extra_flaw, json_field_flaw
from cwlearn.text.record_errors import RecordFlaw, find_fasttext_flaw, find_tabbed_flaw, shortened

FASTTEXT_PREFIX = "__label__"
LEAST_RECORDS = 1 << 10  # that there is room for


class Fields(NamedTuple):
    """The records of a chunk, in the order in which the compiled loops take the arrays."""

    places: NDArray[np.int64]  # of the records in the text
    starts: NDArray[np.int64]  # of each field in `scratch`, by field and record
    stops: NDArray[np.int64]
    kinds: NDArray[np.uint8]
    counts: NDArray[np.int32]  # of labels, by record
    scratch: NDArray[np.uint8]  # the text of the fields, without quotes and escapes

    @classmethod
    def of(cls, buffers: Buffers, n_fields: int, size: int, room: int) -> Fields:
        """Room for so many records of a chunk of this size."""
        counts = buffers.array("record_counts", room, np.int32)[:room]
        counts[:] = 0
        return cls(
            buffers.array("record_places", room, np.int64)[:room],
            buffers.array("record_starts", n_fields * room, np.int64)[: n_fields * room].reshape(n_fields, room),
            buffers.array("record_stops", n_fields * room, np.int64)[: n_fields * room].reshape(n_fields, room),
            buffers.array("record_kinds", n_fields * room, np.uint8)[: n_fields * room].reshape(n_fields, room),
            counts,
            buffers.array("scratch", size + SLACK, np.uint8),
        )

    def with_room(self, room: int) -> Fields:
        """A copy with room for more records."""

        def wider(array: NDArray[Any]) -> NDArray[Any]:
            copy = np.zeros((*array.shape[:-1], room), array.dtype)
            copy[..., : array.shape[-1]] = array
            return copy

        return self._changed(wider)

    def where(self, selection: Any) -> Fields:
        """Some of the records."""
        return self._changed(lambda array: array[..., selection])

    def _changed(self, change: Callable[[NDArray[Any]], NDArray[Any]]) -> Fields:
        """The same text with other arrays of records."""
        return self._replace(**{name: change(getattr(self, name)) for name in self._fields if name != "scratch"})


@dataclass(frozen=True)
class RecordFormat(ABC):
    """A format of documents.  Field 0 is the label, if there is one; the texts follow, and then further fields."""

    labelled: bool  # every record must have a label
    extras: tuple[str, ...] = field(default=(), kw_only=True)  # names of further fields, which are features
    multilabel: bool = field(default=False, kw_only=True)  # a record has any number of labels
    optional: bool = field(default=False, kw_only=True)  # a labelled record may lack its label

    lines_are_records = True  # so that a file can be cut at any line end
    n_texts = 1
    first_text = 1  # the number of that field
    has_decimals = False  # texts of further fields may be numbers
    separator = ","  # between the labels of a record

    @property
    def n_fields(self) -> int:
        return self.first_text + self.n_texts + len(self.extras)

    @abstractmethod
    def split(self, fields: Fields, chunk: Chunk, start: int, n_records: int, used: int) -> tuple[int, ...]:
        """Find records from a place on: (status, records, lines, place, used), as `_records` has it."""

    @abstractmethod
    def find_flaw(self, record: bytes) -> RecordFlaw | None:
        """What is wrong with the form of a record."""

    def missing(self, fields: Fields) -> NDArray[np.bool_]:
        """The records that lack a field, or have one that cannot be a label or a text."""
        kinds = fields.kinds[self.first_text :]
        lacking: NDArray[np.bool_] = (kinds == OTHER).any(axis=0) | (kinds[: self.n_texts] == MISSING).any(axis=0)
        if self.labelled and self.multilabel:
            lacking |= fields.kinds[0] == OTHER
        elif self.labelled:
            lacking |= (fields.kinds[0] == OTHER) | (fields.counts > 1)
            if not self.optional:
                lacking |= self.unlabelled(fields)
        return lacking

    def unlabelled(self, fields: Fields) -> NDArray[np.bool_]:
        """The records whose label is missing or empty."""
        label = fields.kinds[0]
        missing: NDArray[np.bool_] = (label == MISSING) | (label == NULL) | (fields.stops[0] == fields.starts[0])
        return missing

    def missing_flaw(self, record: bytes) -> RecordFlaw | None:
        """What a record of the right form lacks."""
        return None

    def first_record(self, chunk: Chunk) -> int:
        """The place of the first record of a chunk."""
        return chunk.start

    def end_of_record(self, chunk: Chunk, place: int) -> int:
        """The place behind the record that begins at a place."""
        return chunk.end_of_line(place)

    def end_of_last_record(self, text: NDArray[np.uint8], first: int, filled: int) -> int:
        """The place behind the last whole record."""
        return end_of_last_line(text, first, filled)


@dataclass(frozen=True)
class JsonLines(RecordFormat):
    """One JSON object in each line."""

    separator = "\0"

    label: str
    texts: tuple[str, ...]

    @property
    def n_texts(self) -> int:  # type: ignore[override]
        return len(self.texts)

    @cached_property
    def _names(self) -> JsonFields:
        return JsonFields([self.label, *self.texts, *self.extras], self.multilabel)

    def missing(self, fields: Fields) -> NDArray[np.bool_]:
        lacking = super().missing(fields)
        if self.labelled and self.multilabel:  # a list may be empty, a text may not
            label = fields.kinds[0]
            lacking |= (label == MISSING) | ((label == STRING) & (fields.stops[0] == fields.starts[0]))
        return lacking

    def split(self, fields: Fields, chunk: Chunk, start: int, n_records: int, used: int) -> tuple[int, ...]:
        arrays = (*fields[:4], fields.scratch)
        return split_json(*arrays, chunk.text, start, chunk.stop, n_records, used, self._names)

    def find_flaw(self, record: bytes) -> RecordFlaw | None:
        return find_json_flaw(record, (self.label, *self.texts, *self.extras))

    def missing_flaw(self, record: bytes) -> RecordFlaw | None:
        flaws = [json_field_flaw(record, name, "a text") for name in self.texts]
        if self.labelled:
            flaws.append(json_field_flaw(record, self.label, LABELS if self.multilabel else "a label", self.optional))
        flaws += [json_extra_flaw(record, name) for name in self.extras]
        return next((flaw for flaw in flaws if flaw is not None), None)


@dataclass(frozen=True)
class Csv(RecordFormat):
    """Fields with a delimiter between them, as in RFC 4180; a field in quotes may have line ends."""

    columns: tuple[int, ...]  # of the label, if there is one, of the texts, and of further fields
    n_columns: int
    delimiter: int
    header: bytes | None

    lines_are_records = False
    has_decimals = True

    @property
    def first_text(self) -> int:  # type: ignore[override]
        return int(self.labelled)

    @property
    def n_texts(self) -> int:  # type: ignore[override]
        return len(self.columns) - self.first_text - len(self.extras)

    @cached_property
    def _columns(self) -> NDArray[np.int64]:
        return np.array(self.columns, np.int64)

    def first_record(self, chunk: Chunk) -> int:
        if self.header is None or not chunk.is_first or chunk.source.start:
            return chunk.start
        stop = end_of_record(chunk.text, chunk.start, chunk.stop, self.delimiter)
        header = chunk.text[chunk.start : stop].tobytes()
        if header.strip() != self.header.strip():
            expected, found = (shortened(text.decode("utf-8", "replace").strip()) for text in (self.header, header))
            what = f"expected the header of the first file, {expected!r}, found {found!r}"
            raise DataError(what, chunk.source.name, 1, 1)
        return int(stop)

    def split(self, fields: Fields, chunk: Chunk, start: int, n_records: int, used: int) -> tuple[int, ...]:
        arrays = (*fields[:4], fields.scratch)
        return split_csv(
            *arrays, chunk.text, start, chunk.stop, n_records, used, self._columns, self.n_columns, self.delimiter
        )

    def find_flaw(self, record: bytes) -> RecordFlaw | None:
        like = "the first line" if self.header is None else "the header"
        return find_csv_flaw(record, self.n_columns, self.delimiter, like)

    def missing_flaw(self, record: bytes) -> RecordFlaw | None:
        label = csv_fields(record, self.delimiter)[self.columns[0]] if self.labelled and not self.multilabel else b"-"
        return (
            None
            if label or self.optional
            else RecordFlaw(f"expected a label in field {self.columns[0] + 1}, found nothing", record, 0)
        )

    def end_of_record(self, chunk: Chunk, place: int) -> int:
        return int(end_of_record(chunk.text, place, chunk.stop, self.delimiter))

    def end_of_last_record(self, text: NDArray[np.uint8], first: int, filled: int) -> int:
        text[filled : filled + SLACK] = 0
        return int(end_of_last_record(text, first, filled, self.delimiter))


@dataclass(frozen=True)
class FastText(RecordFormat):
    """Lines with labels, which are words with a prefix; all other words are the text."""

    prefix: str = FASTTEXT_PREFIX
    separator = " "

    def split(self, fields: Fields, chunk: Chunk, start: int, n_records: int, used: int) -> tuple[int, ...]:
        prefix = self.prefix.encode()
        return split_fasttext(*fields, chunk.text, start, chunk.stop, n_records, used, prefix, self.multilabel)

    def find_flaw(self, record: bytes) -> RecordFlaw | None:
        return None

    def missing_flaw(self, record: bytes) -> RecordFlaw | None:
        needs_label = self.labelled and not self.multilabel and (not self.optional or self.prefix.encode() in record)
        return find_fasttext_flaw(record, self.prefix.encode()) if needs_label else None


@dataclass(frozen=True)
class Lines(RecordFormat):
    """A label, a tab and a text in each line; without labels, a text in each line."""

    def split(self, fields: Fields, chunk: Chunk, start: int, n_records: int, used: int) -> tuple[int, ...]:
        split = split_tabbed if self.labelled else split_plain
        return split(*fields[:4], fields.scratch, chunk.text, start, chunk.stop, n_records, used)

    def find_flaw(self, record: bytes) -> RecordFlaw | None:
        return find_tabbed_flaw(record) if self.labelled else None

    def missing_flaw(self, record: bytes) -> RecordFlaw | None:
        if not self.labelled or self.multilabel or self.optional or not record.startswith(b"\t"):
            return None
        return RecordFlaw("expected a label before the tab, found nothing", record, 0)


RECORD_FORMATS: dict[str, type[RecordFormat]] = {
    "jsonl": JsonLines,
    "csv": Csv,
    "tsv": Csv,
    "parquet": Csv,  # the text that `ParquetText` makes
    "fasttext": FastText,
    "text": Lines,
}


def can_be_cut(format: str) -> bool:
    """Whether a file of this format can be cut at any line end, because no record has several lines."""
    return format in LINE_FORMATS or RECORD_FORMATS[format].lines_are_records


NO_HEADER = "; if the first line is no header, give `header=False`, and numbers of columns as `text` and `label`"


def records_of(
    format: str,
    head: bytes,
    label: str,
    texts: tuple[str, ...],
    extras: tuple[str, ...],
    labelled: bool,
    delimiter: str | None,
    has_header: bool,
    path: str,
    multilabel: bool = False,
    optional: bool = False,
) -> RecordFormat:
    """The format of documents, for a text that begins so."""
    for name in extras:
        if name in (label, *texts):
            raise ValueError(f"`fields` has {name!r}, which is the field of the text or of the label")
    if format == "jsonl":
        return JsonLines(labelled, label, texts, extras=extras, multilabel=multilabel, optional=optional)
    if extras and format in ("fasttext", "text"):
        raise DataError(f"{NAMES[format]} have no fields, and {listed(extras)} are wanted (`fields`)", path)
    if format == "fasttext":
        return FastText(labelled, multilabel=multilabel, optional=optional)
    if format == "text" or not head:  # of an empty text every format has no records
        return Lines(labelled, multilabel=multilabel, optional=optional)
    mark = ord(delimiter) if delimiter else delimiter_of(head, format)
    text = np.frombuffer(bytes(SLACK) + head + bytes(SLACK), np.uint8)
    first = head[: end_of_record(text, SLACK, SLACK + len(head), mark) - SLACK]
    names: list[str] = []
    wanted = (*([label] if labelled else []), *texts, *extras)
    try:
        names = [name.decode("utf-8", "replace") for name in csv_fields(first, mark)]
        if not has_header:
            names = [str(number) for number in range(1, len(names) + 1)]
        where = "the header" if has_header else "the first line"
        columns = [csv_column(names, name, where) for name in wanted]
        if len({*columns}) < len(columns):
            raise RecordFlaw("expected different fields for `label` and `text`, found the same one twice", first, 0)
    except RecordFlaw as flaw:
        hint = NO_HEADER if has_header and len(names) > 1 and not {*wanted} & {*names} else ""
        raise DataError(f"{flaw}{hint}", path, 1, flaw.column) from None
    header = first if has_header else None
    return Csv(
        labelled, tuple(columns), len(names), mark, header, extras=extras, multilabel=multilabel, optional=optional
    )
