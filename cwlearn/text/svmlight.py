"""The svmlight format: a chunk of text to a batch of checked rows.

A line is a label, perhaps "qid:" and a number, entries "index:value" in rising order, and perhaps "#" and a comment.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cwlearn.core.rows import Rows
from cwlearn.errors import DataError
from cwlearn.native import parse_rows
from cwlearn.text._svmlight import BAD_LINE, DONE, NEEDS_ROOM, SETS, TEXTS, TOO_WIDE, UNLABELLED
from cwlearn.text.batch import NO_INDEX, Batch, Buffers, intern_labels
from cwlearn.text.chunks import Chunk, end_of_last_line
from cwlearn.text.svmlight_errors import Grammar, find_flaw, find_overflow

BYTES_A_ROW = 64  # a first guess: memory for more would be cleared in vain


class _Arrays(NamedTuple):
    """Memory for the rows of a chunk, in the order in which `parse_rows` takes it."""

    indptr: NDArray[np.int64]
    indices: NDArray[Any]
    values: NDArray[Any]
    squares: NDArray[np.float64]
    places: NDArray[np.int64]
    labels: NDArray[np.float64]
    label_starts: NDArray[np.int64]
    label_stops: NDArray[np.int64]
    queries: NDArray[np.int64]


@dataclass(frozen=True)
class SvmlightParser:
    """Parses chunks, and explains the lines that it does not accept."""

    grammar: Grammar
    dtype: np.dtype[Any]
    hash_bits: int = 0
    with_queries: bool = False
    optional: bool = False  # a line may begin with a feature: it has no label
    name: ClassVar[str] = "svmlight"
    separator: ClassVar[str] = ","
    lines_are_records: ClassVar[bool] = True
    end_of_last_record = staticmethod(end_of_last_line)

    def end_of_record(self, chunk: Chunk, place: int) -> int:
        return chunk.end_of_line(place)

    def parse(self, chunk: Chunk, buffers: Buffers, max_bad: int) -> Batch:
        """The rows of a chunk, without up to `max_bad` bad lines; the next bad line ends the batch.

        Indices are of 32 bits if those of the chunk fit, whatever other chunks have, so that threads need not agree.
        """
        for index_dtype in (np.int64,) if self.hash_bits else (np.int32, np.int64):
            batch = self._parse(chunk, buffers, index_dtype, max_bad)
            if batch is not None:
                return batch
        raise AssertionError("an index is never too wide for 64 bits")

    def _parse(self, chunk: Chunk, buffers: Buffers, index_dtype: Any, max_bad: int) -> Batch | None:
        """Parse with indices of one width; None if that is too narrow."""
        arrays, grammar = self._arrays(chunk, buffers, index_dtype, chunk.size // BYTES_A_ROW + 1), self.grammar
        arrays.indptr[0] = 0
        n_rows = n_lines = 0
        start = chunk.start
        lowest, highest = NO_INDEX, -1
        bad_places = array("q")
        fault = None
        while start < chunk.stop and fault is None:
            status, n_rows, lines, start, low, high = parse_rows(
                *arrays,
                chunk.text,
                start,
                chunk.stop,
                n_rows,
                grammar.labelled,
                grammar.lowest,
                grammar.sort,
                self.hash_bits,
            )
            lowest, highest, n_lines = min(lowest, low), max(highest, high), n_lines + lines
            if status == BAD_LINE and self.optional:
                status, behind, low, high = self._parse_unlabelled(arrays, chunk, start, n_rows)
                if status == DONE:
                    lowest, highest, n_lines = min(lowest, low), max(highest, high), n_lines + 1
                    n_rows, start = n_rows + 1, behind
            if status == TOO_WIDE:
                return None
            if status == NEEDS_ROOM:
                arrays = self._with_more_rows(arrays, chunk, buffers, n_rows)
            if status == BAD_LINE and len(bad_places) < max_bad:
                bad_places.append(start)
                n_lines, start = n_lines + 1, chunk.end_of_line(start)
            elif status == BAD_LINE:
                fault = self.flaw_at(chunk, start)
        if chunk.flaw and fault is None:
            fault = DataError(chunk.flaw)
        return Batch(
            self._rows(arrays, n_rows, highest),
            arrays.places[:n_rows],
            *self._labels(arrays, chunk, n_rows),
            arrays.queries[:n_rows],
            lowest,
            highest,
            self.hash_bits,
            None,
            self,
            chunk,
            n_lines,
            np.array(bad_places, np.int64),
            np.empty(0, np.int64),
            fault,
        )

    def _parse_unlabelled(self, arrays: _Arrays, chunk: Chunk, start: int, n_rows: int) -> tuple[int, int, int, int]:
        """Read a line that begins with a feature: status, the place behind it, its lowest and its highest index."""
        grammar, stop = self.grammar, chunk.end_of_line(start)
        status, n_rows_now, _, _, low, high = parse_rows(
            *arrays, chunk.text, start, stop, n_rows, UNLABELLED, grammar.lowest, grammar.sort, self.hash_bits
        )
        if status == DONE and n_rows_now > n_rows:
            arrays.labels[n_rows] = np.nan
            arrays.label_starts[n_rows] = arrays.label_stops[n_rows] = start
        return status, stop, low, high

    def _arrays(self, chunk: Chunk, buffers: Buffers, index_dtype: Any, rows: int) -> _Arrays:
        """Arrays that are long enough for the entries of a text of this size, and for so many rows."""
        most_entries = chunk.size // 4 + 2
        return _Arrays(
            buffers.array("indptr", rows + 1, np.int64),
            buffers.array("indices", most_entries, index_dtype),
            buffers.array("values", most_entries, self.dtype),
            buffers.array("squares", rows, np.float64),
            buffers.array("places", rows, np.int64),
            buffers.array("labels", rows, np.float64),
            buffers.array("label_starts", rows, np.int64),
            buffers.array("label_stops", rows, np.int64),
            buffers.array("queries", rows if self.with_queries else 0, np.int64),
        )

    def _with_more_rows(self, arrays: _Arrays, chunk: Chunk, buffers: Buffers, n_rows: int) -> _Arrays:
        """Longer arrays with the rows so far: there are short lines."""
        longer = self._arrays(chunk, buffers, arrays.indices.dtype, 4 * n_rows + 1)
        for old, new in zip(arrays, longer, strict=True):
            if new is not old:
                new[: len(old)] = old
        return longer

    def _rows(self, arrays: _Arrays, n_rows: int, highest: int) -> Rows:
        """The rows that were parsed.  `parse_rows` has checked their columns, and measured their lengths."""
        nnz = arrays.indptr[n_rows]
        columns = arrays.indices[:nnz]
        if 0 < self.hash_bits < 32:
            columns = columns.astype(np.int32)
        n_features = 1 << self.hash_bits if self.hash_bits else highest + 1
        return Rows(arrays.indptr[: n_rows + 1], columns, arrays.values[:nnz], arrays.squares[:n_rows], n_features)

    def _labels(self, arrays: _Arrays, chunk: Chunk, n_rows: int) -> tuple[NDArray[np.float64], list[str] | None]:
        """The labels: numbers, or places in a list of texts."""
        if self.grammar.labelled not in (TEXTS, SETS):
            return arrays.labels[:n_rows], None
        starts, stops = arrays.label_starts[:n_rows], arrays.label_stops[:n_rows]
        labels, names = intern_labels(chunk.text, starts, stops)
        if self.optional:
            labels[starts == stops] = np.nan
        return labels, names

    def label_text_at(self, chunk: Chunk, place: int) -> str:
        return chunk.line_at(place).split(None, 1)[0].partition(b"#")[0].decode("utf-8")

    def flaw_at(self, chunk: Chunk, place: int) -> DataError:
        """What is wrong with a line that `parse_rows` does not accept."""
        flaw = find_flaw(chunk.line_at(place), self.grammar)
        return DataError(str(flaw or "not svmlight text"), column=flaw.column if flaw else None)

    def overflow_at(self, chunk: Chunk, place: int) -> DataError:
        """What is wrong with a line whose numbers are too large for the dtype."""
        what = find_overflow(chunk.line_at(place), self.grammar, self.dtype)
        return DataError(f"{what} is out of range for {self.dtype}: bring the features to another scale")
