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
from cwlearn.text._records import intern_spans
from cwlearn.text.chunks import Beginning, Chunk

NO_INDEX = 2**63 - 1  # the lowest index where there is none


class Parser(Protocol):
    """Makes batches of chunks, for one format of text."""

    @property
    def name(self) -> str:
        """The name of the format."""

    def parse(self, chunk: Chunk, buffers: Buffers, max_bad: int) -> Batch:
        """The rows of a chunk, without up to `max_bad` bad records; the next bad record ends the batch."""

    def flaw_at(self, chunk: Chunk, place: int) -> DataError:
        """What is wrong with the record at this place."""

    def overflow_at(self, chunk: Chunk, place: int) -> DataError:
        """What is too large in the record at this place, whose row is not finite."""

    def label_text_at(self, chunk: Chunk, place: int) -> str:
        """The label of the record at this place, as it is written."""


@dataclass
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


@dataclass
class Batch:
    """The rows of a chunk of text, or those before the line that ended it.

    The arrays are reused for a later batch; copy them to keep them.  A place is an offset into the text of the chunk at
    which a line begins.
    """

    rows: Rows
    places: NDArray[np.int64]  # of the lines of the rows
    labels: NDArray[np.float64]  # numbers, or places in `label_names`
    label_names: list[str] | None  # the different labels, in the order in which they occur, if they are texts
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

    @property
    def n_features(self) -> int:
        return self.rows.n_features

    # -- rows and lines ------------------------------------------------------------------------------------------------

    def place_of(self, row: int) -> int:
        return int(self.places[row])

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
        return DataError(what, self.chunk.source.name, self.line_of(row))

    def line_error(self, flaw: DataError, line: int) -> DataError:
        """What is wrong with a line of the chunk, counted from 0, with its place in the file."""
        return DataError(flaw.what, self.chunk.source.name, self.line_number(line + (flaw.line or 0)), flaw.column)

    def end_with(self, fault: DataError, place: int) -> None:
        """Keep only the rows before the line at this place, which is at fault."""
        n_rows = int(np.searchsorted(self.places, place))
        self._keep(self.rows.part(0, n_rows), slice(n_rows))
        self.bad_places = self.bad_places[self.bad_places < place]
        self.fault, self.n_lines = fault, self.chunk.count_lines(self.chunk.start, place)

    def drop_overflowing(self, overflowing: NDArray[np.bool_]) -> None:
        """Leave out the rows whose numbers are too large."""
        places = self.places[overflowing]
        rows, lengths, keep = self.rows, np.diff(self.rows.indptr), ~overflowing
        entries = np.repeat(keep, lengths)
        indptr = np.append(0, np.cumsum(lengths[keep]))
        kept = Rows(indptr, rows.indices[entries], rows.values[entries], rows.squares[keep], rows.n_features)
        self._keep(kept, keep)
        self.bad_places, self.overflow_places = np.sort(np.append(self.bad_places, places)), places

    def _keep(self, rows: Rows, selection: Any) -> None:
        """Have only these rows, which `selection` picks."""
        if not self.hash_bits:
            any_index = len(rows.indices) > 0
            self.lowest = int(rows.indices.min()) if any_index else NO_INDEX
            self.highest = int(rows.indices.max()) if any_index else -1
            rows = replace(rows, n_features=self.highest + 1)
        self.rows, self.places, self.labels = rows, self.places[selection], self.labels[selection]
        self.queries = self.queries[selection] if len(self.queries) else self.queries


def intern_labels(
    text: NDArray[np.uint8], starts: NDArray[np.int64], stops: NDArray[np.int64]
) -> tuple[NDArray[np.float64], list[str]]:
    """The places of labels, which are parts of a text, among the different ones, and these."""
    labels, first_rows = intern_spans(text, starts, stops)
    names = [text[starts[row] : stops[row]].tobytes().decode("utf-8") for row in first_rows]
    return labels.astype(np.float64), names
