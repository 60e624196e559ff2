"""The rows that were read from a chunk of text, whatever its format, with the lines that they come from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cwlearn.core.rows import Rows
from cwlearn.core.text_options import TextOptions
from cwlearn.errors import DataError
from cwlearn.text.chunks import Beginning, Chunk

NO_INDEX = 2**63 - 1  # the lowest index where there is none


class Parser(Protocol):
    """Makes batches of chunks, for one format of text."""

    @property
    def name(self) -> str:
        """The name of the format."""

    @property
    def separator(self) -> str:
        """What stands between the labels of a record that may have several."""

    @property
    def lines_are_records(self) -> bool:
        """Whether a text can be cut at any line end."""

    def end_of_last_record(self, text: NDArray[np.uint8], first: int, filled: int) -> int:
        """The place behind the last whole record."""

    def end_of_record(self, chunk: Chunk, place: int) -> int:
        """The place behind the record that begins at a place."""

    def parse(self, chunk: Chunk, buffers: Buffers, max_bad: int) -> Batch:
        """The rows of a chunk, without up to `max_bad` bad records; the next bad record ends the batch."""

    def flaw_at(self, chunk: Chunk, place: int) -> DataError:
        """What is wrong with the record at this place."""

    def overflow_at(self, chunk: Chunk, place: int) -> DataError:
        """What is too large in the record at this place, whose row is not finite."""

    def label_text_at(self, chunk: Chunk, place: int) -> str:
        """The label of the record at this place, as it is written."""


@dataclass(eq=False, repr=False)
class Buffers:
    """The memory that one batch is read and parsed in.  It is reused for later batches."""

    text: NDArray[np.uint8]
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)

    def array(self, name: str, size: int, dtype: Any) -> NDArray[Any]:
        """An array of at least `size` numbers, the same one as last time if that is large enough."""
        array = self.arrays.get(name)
        if array is None or array.dtype != dtype or len(array) < size:
            array = self.arrays[name] = np.empty(size, dtype)
        return array


@dataclass(eq=False, repr=False)
class Batch:
    """The rows of a chunk of text, or those before the line that ended it.

    The arrays are reused for a later batch; copy them to keep them.  A place is an offset into the text of the chunk at
    which a line begins.
    """

    rows: Rows
    places: NDArray[np.int64]  # of the lines of the rows
    labels: NDArray[np.float64]  # numbers, or places in `label_names`
    label_names: list[str] | None  # the different labels, in the order in which they occur, if they are texts; where
    # a row may have several, the different ones of all labels of a row with the parser's separator between them
    queries: NDArray[np.int64]
    lowest: int  # index as written, NO_INDEX without any
    highest: int  # -1 without any
    hash_bits: int  # columns are hashes of so many bits; 0: they are the indices
    documents: TextOptions | None  # how documents became rows; None if the text has rows of numbers
    parser: Parser
    chunk: Chunk
    n_lines: int
    bad_places: NDArray[np.int64]  # of the lines that are left out, in rising order
    overflow_places: NDArray[np.int64]  # of those lines among them whose numbers are too large for the dtype
    fault: DataError | None = None  # what is wrong with the line behind the last one
    checksum: int = 0  # of the lines of the chunk, if it is wanted
    first_line: int = 1
    first_record: int = 1
    skipped: list[DataError] = field(default_factory=list)  # what is wrong with the lines at `bad_places`

    @property
    def weights(self) -> NDArray[np.float64] | None:
        """The weights of the rows; None if all are 1."""
        return self.rows.weights

    @property
    def n_records(self) -> int:
        """Records, with those that are left out."""
        return len(self.places) + len(self.bad_places)

    @property
    def n_features(self) -> int:
        return self.rows.n_features

    # -- rows and lines ------------------------------------------------------------------------------------------------

    def place_of(self, row: int) -> int:
        return int(self.places[row])

    def record_of(self, row: int) -> bytes:
        """The record that a row was read from, as it is."""
        place = self.place_of(row)
        return self.chunk.text[place : self.parser.end_of_record(self.chunk, place)].tobytes()

    def line_of(self, row: int) -> int:
        """The number in the file of the line that a row was read from."""
        return self.line_number(self.chunk.count_lines(self.chunk.start, self.place_of(row)))

    def line_number(self, line: int) -> int:
        """The number in the file of a line of the chunk, counted from 0."""
        return self.first_line + line + self.chunk.source.lines_before

    def label_texts(self, rows: list[int]) -> list[str]:
        """The labels of some rows as they are written."""
        if self.label_names is not None:
            return [self.label_names[int(number)] for number in self.labels[rows]]
        return [self.parser.label_text_at(self.chunk, place) for place in self.places[rows].tolist()]

    def skipped_lines(self) -> Iterator[tuple[int, int]]:
        """The lines that are left out: their numbers within the chunk, from 0, and their places."""
        line, last = 0, self.chunk.start
        for place in map(int, self.bad_places):
            line, last = line + self.chunk.count_lines(last, place), place
            yield line, place

    def first_row_from(self, column: int) -> tuple[int, int]:
        """The first row with this column or a higher one, and the first such column."""
        entry = int(np.argmax(self.rows.indices >= column))
        return int(np.searchsorted(self.rows.indptr, entry, side="right")) - 1, int(self.rows.indices[entry])

    def beginning(self, before: Beginning, rows: int) -> Beginning:
        """The text before this batch and its first `rows` rows; lines between two rows belong to the first one."""
        chunk = self.chunk
        place = self.place_of(rows) if rows < self.rows.n_rows else chunk.stop
        return before.followed_by(chunk.count_lines(chunk.start, place), chunk.checksum(place))

    # -- errors --------------------------------------------------------------------------------------------------------

    def row_error(self, row: int, what: str) -> DataError:
        if self.chunk.of_table:
            return self._table_error(what, self._records_before(self.place_of(row)))
        return DataError(what, self.chunk.source.name, self.line_of(row))

    def _table_error(self, what: str, records_before: int) -> DataError:
        return DataError(f"row {self.first_record + records_before}: {what}", self.chunk.source.name)

    def _records_before(self, place: int) -> int:
        return int(np.searchsorted(self.places, place) + np.searchsorted(self.bad_places, place))

    def line_error(self, flaw: DataError, line: int, place: int | None = None) -> DataError:
        """What is wrong with the line at a place, number `line` of the chunk from 0, with its place in the file.

        Without a place it is the line behind the last one.
        """
        if self.chunk.of_table:
            return self._table_error(flaw.what, self.n_records if place is None else self._records_before(place))
        return DataError(flaw.what, self.chunk.source.name, self.line_number(line + (flaw.line or 0)), flaw.column)

    def end_with(self, fault: DataError, place: int) -> None:
        """Keep only the rows before the line at this place, which is at fault."""
        n_rows = int(np.searchsorted(self.places, place))
        self._keep(self.rows.part(0, n_rows), slice(n_rows))
        self.bad_places = self.bad_places[self.bad_places < place]
        self.fault, self.n_lines = fault, self.chunk.count_lines(self.chunk.start, place)

    def drop_overflowing(self, overflowing: NDArray[np.bool_]) -> None:
        """Leave out the rows whose numbers are too large."""
        self.overflow_places = self.places[overflowing]
        self.leave_out(overflowing)

    def leave_out(self, unfit: NDArray[np.bool_]) -> None:
        """Leave out some rows, whose lines are bad ones."""
        self.bad_places = np.sort(np.append(self.bad_places, self.places[unfit]))
        self._keep(self.rows.where(~unfit), ~unfit)

    def _keep(self, rows: Rows, selection: Any) -> None:
        """Have only these rows, which `selection` picks."""
        if not self.hash_bits:
            any_index = len(rows.indices) > 0
            self.lowest = int(rows.indices.min()) if any_index else NO_INDEX
            self.highest = int(rows.indices.max()) if any_index else -1
            rows = replace(rows, n_features=self.highest + 1)
        self.rows, self.places, self.labels = rows, self.places[selection], self.labels[selection]
        self.queries = self.queries[selection] if len(self.queries) else self.queries


def labels_in(text: str, separator: str) -> list[str]:
    """The labels of a record that may have several; those between commas without the blanks around them."""
    if separator != ",":
        return text.split(separator) if text else []
    return [label.strip(" ") for label in text.split(",")] if text.strip(" ") else []


def unfit_labels(
    text: NDArray[np.uint8], starts: NDArray[np.int64], stops: NDArray[np.int64], separator: str | None = None
) -> NDArray[np.bool_]:
    """Which of these parts of a text cannot be labels or, with a separator between them, several labels."""
    from cwlearn.text._records import intern_spans  # which labels that are numbers do not need
    from cwlearn.text.record_errors import find_label_flaw

    labels, first_rows = intern_spans(text, starts, stops)
    spans = (text[starts[row] : stops[row]].tobytes() for row in first_rows)
    unfit = np.array([any(find_label_flaw(b"", label) for label in labels_of(span, separator)) for span in spans], bool)
    return unfit[labels]


def labels_of(span: bytes, separator: str | None) -> list[bytes]:
    """The labels in a part of a text, which may not be UTF-8; without a separator it is one."""
    if separator is None:
        return [span]
    return [label.encode("latin-1") for label in labels_in(span.decode("latin-1"), separator)]


def intern_labels(
    text: NDArray[np.uint8], starts: NDArray[np.int64], stops: NDArray[np.int64]
) -> tuple[NDArray[np.float64], list[str]]:
    """The places of labels, which are parts of a text, among the different ones, and these."""
    from cwlearn.text._records import intern_spans  # which labels that are numbers do not need

    labels, first_rows = intern_spans(text, starts, stops)
    names = [text[starts[row] : stops[row]].tobytes().decode("utf-8") for row in first_rows]
    return labels.astype(np.float64), names
