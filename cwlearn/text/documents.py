"""Documents: a chunk of records to a batch of rows of hashed n-grams, whatever the format of the records."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cwlearn.core.rows import Rows
from cwlearn.core.text_options import TextOptions
from cwlearn.errors import DataError
from cwlearn.text import record_errors
from cwlearn.text._records import BAD_RECORD, DONE, NEEDS_ROOM, NULL, intern_spans, join_spans, joined_size
from cwlearn.text.batch import NO_INDEX, Batch, Buffers, intern_labels
from cwlearn.text.chunks import Chunk
from cwlearn.text.hashing import Documents, Hasher, HashingSettings, documents_in
from cwlearn.text.record_errors import RecordFlaw
from cwlearn.text.records import LEAST_RECORDS, Fields, RecordFormat

BYTES_A_RECORD = 256  # a first guess
LONGEST_LABEL = 1 << 10  # bytes


def settings_of(options: TextOptions, hash_bits: int) -> HashingSettings:
    """The settings of a model.  Signs would make words cancel out that share a column, and their names ambiguous.

    With `idf`, values are weighed and rows are normed later, in the order of the stream (`Frequencies`).
    """
    settings = asdict(options)
    if settings.pop("idf"):
        settings["norm"] = None
    return HashingSettings(**settings, n_features=1 << hash_bits, alternate_sign=False)


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
        labels, names = self._labels(fields)
        fault = split.fault
        if chunk.flaw and fault is None:
            fault = DataError(chunk.flaw)
        return Batch(
            Rows(hashed.indptr, hashed.indices, hashed.values, hashed.squares, 1 << self.hash_bits),
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
        return self.hasher.names(self._documents(fields, buffers), columns)

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
            unfit |= fields.stops[0] - fields.starts[0] > LONGEST_LABEL
            labels, first_rows = intern_spans(fields.scratch, *_spans(fields, 0))
            for number, row in enumerate(first_rows):
                if not unfit[row] and record_errors.find_label_flaw(b"", _text(fields, 0, row)) is not None:
                    unfit |= labels == number
        return unfit

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
        first = self.format.first_text
        starts, stops = fields.starts[first:], fields.stops[first:]
        if self.format.n_texts == 1:
            start, stop = _spans(fields, first)
            return documents_in(fields.scratch, start, np.where(fields.kinds[first] == NULL, start, stop))
        joined = buffers.array("joined", joined_size(starts, stops), np.uint8)
        spans = np.empty((2, len(fields.places)), np.int64)
        kinds = np.ascontiguousarray(fields.kinds[first:])
        starts, stops = np.ascontiguousarray(starts), np.ascontiguousarray(stops)
        join_spans(spans[0], spans[1], joined, 0, fields.scratch, starts, stops, kinds)
        return documents_in(joined, *spans)

    def _labels(self, fields: Fields) -> tuple[NDArray[np.float64], list[str] | None]:
        if not self.format.labelled:
            return np.zeros(len(fields.places)), None
        return intern_labels(fields.scratch, *_spans(fields, 0))

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
        alone = Chunk.of_lines(record, chunk.source)
        fields = Fields.of(Buffers(alone.text), self.format.n_fields, alone.size, 1)
        self.format.split(fields, alone, alone.start, 0, 0)
        label = _text(fields, 0, 0)
        if len(label) > LONGEST_LABEL:
            what = f"expected a label of at most {LONGEST_LABEL:,} bytes, found {len(label):,}: is it a text?"
            return RecordFlaw(what, record, max(0, record.find(label)))
        return record_errors.find_label_flaw(record, label)

    def overflow_at(self, chunk: Chunk, place: int) -> DataError:
        raise AssertionError("the rows of documents are finite")

    def label_text_at(self, chunk: Chunk, place: int) -> str:
        raise AssertionError("the labels of documents are texts")


def _spans(fields: Fields, number: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where a field of each record lies in the scratch."""
    return np.ascontiguousarray(fields.starts[number]), np.ascontiguousarray(fields.stops[number])


def _text(fields: Fields, number: int, row: int) -> bytes:
    return fields.scratch[fields.starts[number, row] : fields.stops[number, row]].tobytes()
