"""Documents: a chunk of records to a batch of rows of hashed n-grams, whatever the format of the records."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cwlearn.core.rows import Rows
from cwlearn.core.text_options import TextOptions
from cwlearn.errors import DataError
from cwlearn.text import record_errors
from cwlearn.text._fields import add_fields, columns_of
from cwlearn.text._records import (
    BAD_RECORD,
    DONE,
    MISSING,
    NEEDS_ROOM,
    NULL,
    NUMBER,
    OTHER,
    intern_spans,
    join_spans,
    joined_size,
)
from cwlearn.text.batch import NO_INDEX, Batch, Buffers, intern_labels, labels_of, unfit_labels
from cwlearn.text.chunks import Chunk
from cwlearn.text.hashing import Documents, Hasher, documents_in, settings_of
from cwlearn.text.record_errors import RecordFlaw
from cwlearn.text.records import LEAST_RECORDS, Fields, RecordFormat
from cwlearn.text.svmlight_errors import DECIMAL

BYTES_A_RECORD = 256  # a first guess


@dataclass
class _Split:
    """The records of a chunk, and those that are left out."""

    fields: Fields
    n_records: int
    n_lines: int
    bad_places: list[int]
    fault: DataError | None


@dataclass(frozen=True)
class DocumentParser:
    """Parses chunks of documents, and explains the records that it does not accept."""

    name: str  # of the format
    format: RecordFormat
    options: TextOptions
    hash_bits: int
    dtype: np.dtype[Any]

    @property
    def lines_are_records(self) -> bool:
        return self.format.lines_are_records

    def end_of_last_record(self, text: NDArray[np.uint8], first: int, filled: int) -> int:
        return self.format.end_of_last_record(text, first, filled)

    def end_of_record(self, chunk: Chunk, place: int) -> int:
        return self.format.end_of_record(chunk, place)

    @cached_property
    def hasher(self) -> Hasher:
        return Hasher(settings_of(self.options, self.hash_bits))

    def parse(self, chunk: Chunk, buffers: Buffers, max_bad: int) -> Batch:
        split = self._split(chunk, buffers, max_bad)
        fields = split.fields.where(slice(split.n_records))
        fields = self._without(fields, self._unfit(fields), split, chunk, max_bad)
        documents = self._documents(fields, buffers)
        hashed = self.hasher.rows(documents, buffers, self.dtype, max_bad=len(documents))
        if hashed.bad:
            not_utf8 = np.zeros(len(fields.places), bool)
            not_utf8[[number for number, _ in hashed.bad]] = True
            fields = self._without(fields, not_utf8, split, chunk, max_bad)
            hashed = self.hasher.rows(self._documents(fields, buffers), buffers, self.dtype)
        rows = Rows(hashed.indptr, hashed.indices, hashed.values, hashed.squares, 1 << self.hash_bits)
        if self.format.extras:
            rows = self._with_fields(rows, fields, buffers)
        labels, names = self._labels(fields)
        fault = split.fault
        if chunk.flaw and fault is None:
            fault = DataError(chunk.flaw)
        return Batch(
            rows,
            fields.places,
            labels,
            names,
            np.empty(0, np.int64),
            NO_INDEX,
            -1,
            self.hash_bits,
            self.options,
            self,
            chunk,
            split.n_lines,
            np.array(split.bad_places, np.int64),
            np.empty(0, np.int64),
            fault,
        )

    def names(self, chunk: Chunk, buffers: Buffers, columns: NDArray[np.int64]) -> dict[int, dict[str, int]]:
        """How often the n-grams of some columns, which rise, occur in a chunk, by column."""
        split = self._split(chunk, buffers, chunk.size)
        fields = split.fields.where(slice(split.n_records))
        found = self.hasher.names(self._documents(fields, buffers), columns)
        for name, count in self._field_names(fields).items():
            (column,) = columns_of([name], 1 << self.hash_bits)
            place = np.searchsorted(columns, column)
            if place < len(columns) and columns[place] == column:
                counts = found.setdefault(column, {})
                text = name.decode("utf-8", "replace")
                counts[text] = counts.get(text, 0) + count
        return found

    def text_of(self, chunk: Chunk) -> str:
        """The text of the first record of a chunk; that of several fields as one text."""
        buffers = Buffers(chunk.text)
        return self._documents(self._split(chunk, buffers, 0).fields.where(slice(1)), buffers)[0].decode()

    def _field_names(self, fields: Fields) -> Counter[bytes]:
        """How often the features of further fields occur."""
        counts: Counter[bytes] = Counter()
        for number, field in self._extras:
            present = ~np.isin(fields.kinds[number], (MISSING, NULL, OTHER))
            if self.format.has_decimals:
                present &= fields.stops[number] > fields.starts[number]
            starts, stops, kinds = (part[number][present] for part in (fields.starts, fields.stops, fields.kinds))
            codes, first_rows = intern_spans(fields.scratch, starts, stops)
            for row, count in zip(first_rows, np.bincount(codes).tolist(), strict=True):
                text = fields.scratch[starts[row] : stops[row]].tobytes()
                is_number = self._is_number(text, int(kinds[row]))
                counts[field.encode() if is_number else field.encode() + b"=" + text] += count
        return counts

    # -- records -------------------------------------------------------------------------------------------------------

    def _split(self, chunk: Chunk, buffers: Buffers, max_bad: int) -> _Split:
        """The records of the right form."""
        room = max(LEAST_RECORDS, chunk.size // BYTES_A_RECORD)
        fields = Fields.of(buffers, self.format.n_fields, chunk.size, room)
        start = self.format.first_record(chunk)
        n_lines = chunk.count_lines(chunk.start, start)
        split = _Split(fields, 0, n_lines, [], None)
        status, used = DONE, 0
        while start < chunk.stop and split.fault is None:
            status, split.n_records, lines, start, used = self.format.split(
                split.fields, chunk, start, split.n_records, used
            )
            split.n_lines += lines
            if status == NEEDS_ROOM:
                split.fields = split.fields.with_room(4 * len(split.fields.places))
            elif status == BAD_RECORD and len(split.bad_places) < max_bad:
                split.bad_places.append(start)
                stop = self.format.end_of_record(chunk, start)
                split.n_lines, start = split.n_lines + chunk.count_lines(start, stop), stop
            elif status == BAD_RECORD:
                split.fault = self.flaw_at(chunk, start)
        return split

    def _unfit(self, fields: Fields) -> NDArray[np.bool_]:
        """The records that lack a field, or have a label that cannot be one."""
        unfit = self.format.missing(fields)
        if self.format.labelled:
            unfit_label = unfit_labels(fields.scratch, *self._label_spans(fields), self._separator)
            unfit |= unfit_label & ~self.format.unlabelled(fields) if self.format.optional else unfit_label
        return unfit

    def _label_spans(self, fields: Fields) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where the labels lie; one that a record may lack is empty, and null if there may be several labels."""
        starts, stops = _spans(fields, 0)
        if self.format.optional:
            return starts, np.where(self.format.unlabelled(fields), starts, stops)
        return starts, np.where(fields.kinds[0] == NULL, starts, stops) if self.format.multilabel else stops

    def _without(self, fields: Fields, unfit: NDArray[np.bool_], split: _Split, chunk: Chunk, max_bad: int) -> Fields:
        """The records that are fit; the others are left out, or the first of them ends the batch."""
        if not unfit.any():
            return fields
        if max_bad:
            split.bad_places = sorted([*split.bad_places, *fields.places[unfit].tolist()])
            return fields.where(~unfit)
        first = int(np.argmax(unfit))
        place = int(fields.places[first])
        split.fault, split.n_lines = self.flaw_at(chunk, place), chunk.count_lines(chunk.start, place)
        return fields.where(slice(first))

    def _documents(self, fields: Fields, buffers: Buffers) -> Documents:
        """The texts of each record as one document."""
        first, behind = self.format.first_text, self.format.first_text + self.format.n_texts
        starts, stops = fields.starts[first:behind], fields.stops[first:behind]
        if self.format.n_texts == 1:
            start, stop = _spans(fields, first)
            return documents_in(fields.scratch, start, np.where(fields.kinds[first] == NULL, start, stop))
        joined = buffers.array("joined", joined_size(starts, stops), np.uint8)
        spans = np.empty((2, len(fields.places)), np.int64)
        kinds = np.ascontiguousarray(fields.kinds[first:behind])
        starts, stops = np.ascontiguousarray(starts), np.ascontiguousarray(stops)
        join_spans(spans[0], spans[1], joined, 0, fields.scratch, starts, stops, kinds)
        return documents_in(joined, *spans)

    def _with_fields(self, rows: Rows, fields: Fields, buffers: Buffers) -> Rows:
        """The rows with further fields of their records as features.

        Their values are neither weighed by frequencies nor normed.  So where rows are weighed later, they come beside
        the values (`Rows.extras`), and are added then.
        """
        format = self.format
        first, n_extras = format.first_text + format.n_texts, len(format.extras)
        beside = self.options.idf
        room = len(rows.indices) + rows.n_rows * n_extras
        indptr, squares = np.empty(rows.n_rows + 1, np.int64), np.empty(rows.n_rows)
        indices = buffers.array("more_indices", room, np.int32)
        values = buffers.array("more_values", room, self.dtype)
        extras = buffers.array("extras", room, self.dtype) if beside else np.empty(0, self.dtype)
        starts, stops = np.ascontiguousarray(fields.starts[first:]), np.ascontiguousarray(fields.stops[first:])
        kinds = np.ascontiguousarray(fields.kinds[first:])
        names = [name.encode() for name in format.extras]
        nnz = add_fields(
            indptr, indices, values, extras, squares, rows.indptr, rows.indices, rows.values, fields.scratch,
            starts, stops, kinds, names, format.has_decimals, rows.n_features,
        )  # fmt: skip
        more = extras[:nnz] if beside else None
        return Rows(indptr, indices[:nnz], values[:nnz], squares, rows.n_features, extras=more)

    @property
    def _extras(self) -> list[tuple[int, str]]:
        """The numbers and names of further fields."""
        return [*enumerate(self.format.extras, self.format.first_text + self.format.n_texts)]

    def _is_number(self, text: bytes, kind: int) -> bool:
        return kind == NUMBER or (self.format.has_decimals and DECIMAL.fullmatch(text) is not None)

    def _labels(self, fields: Fields) -> tuple[NDArray[np.float64], list[str] | None]:
        if not self.format.labelled:
            return np.zeros(len(fields.places)), None
        labels, names = intern_labels(fields.scratch, *self._label_spans(fields))
        if self.format.optional:
            labels[self.format.unlabelled(fields)] = np.nan
        return labels, names

    @property
    def separator(self) -> str:
        return self.format.separator

    @property
    def _separator(self) -> str | None:
        return self.separator if self.format.multilabel else None

    # -- errors --------------------------------------------------------------------------------------------------------

    def flaw_at(self, chunk: Chunk, place: int) -> DataError:
        """What is wrong with a record.  It is read again, by itself."""
        record = chunk.text[place : self.format.end_of_record(chunk, place)].tobytes()
        flaw = self.format.find_flaw(record) or self.format.missing_flaw(record) or self._label_flaw(record, chunk)
        flaw = flaw or record_errors.find_utf8_flaw(record)
        if flaw is None:
            return DataError("this record cannot be read")
        return DataError(str(flaw), line=flaw.line, column=flaw.column)

    def _label_flaw(self, record: bytes, chunk: Chunk) -> RecordFlaw | None:
        if not self.format.labelled:
            return None
        text = _text(self._alone(record, chunk), 0, 0)
        if self.format.optional and not text:
            return None
        flaws = (record_errors.find_label_flaw(record, label) for label in labels_of(text, self._separator))
        return next((flaw for flaw in flaws if flaw is not None), None)

    def _alone(self, record: bytes, chunk: Chunk) -> Fields:
        """The fields of one record."""
        alone = Chunk.of_lines(record, chunk.source)
        fields = Fields.of(Buffers(alone.text), self.format.n_fields, alone.size, 1)
        self.format.split(fields, alone, alone.start, 0, 0)
        return fields

    def overflow_at(self, chunk: Chunk, place: int) -> DataError:
        """Which number is too large; the length of a text alone is always finite."""
        fields = self._alone(chunk.text[place : self.format.end_of_record(chunk, place)].tobytes(), chunk)
        largest, name = max((self._size_of_extra(fields, number), name) for number, name in self._extras)
        return DataError(
            f"the number {largest:g} in field {name!r} is out of range for {self.dtype}: bring it to another scale"
        )

    def _size_of_extra(self, fields: Fields, number: int) -> float:
        """The absolute value of a number in a field of the only record, 0 if it is no number."""
        text = _text(fields, number, 0)
        return abs(float(text)) if self._is_number(text, int(fields.kinds[number, 0])) else 0.0

    def label_text_at(self, chunk: Chunk, place: int) -> str:
        raise AssertionError("the labels of documents are texts")


def _spans(fields: Fields, number: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where a field of each record lies in the scratch."""
    return np.ascontiguousarray(fields.starts[number]), np.ascontiguousarray(fields.stops[number])


def _text(fields: Fields, number: int, row: int) -> bytes:
    return fields.scratch[fields.starts[number, row] : fields.stops[number, row]].tobytes()
