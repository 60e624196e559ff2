"""The format of Vowpal Wabbit: a chunk of lines to a batch of rows of hashed features, which have names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cwlearn.core.rows import Rows
from cwlearn.core.text_options import TextOptions
from cwlearn.errors import DataError
from cwlearn.text import record_errors
from cwlearn.text._records import BAD_RECORD, MISSING
from cwlearn.text._vw import name_vw, split_vw
from cwlearn.text.batch import NO_INDEX, Batch, Buffers, intern_labels, labels_of, unfit_labels
from cwlearn.text.chunks import Chunk, end_of_last_line
from cwlearn.text.vw_errors import find_vw_flaw, find_vw_label, find_vw_overflow


class _Arrays(NamedTuple):
    """Memory for the rows of a chunk, in the order in which `split_vw` takes it."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[Any]
    squares: NDArray[np.float64]
    places: NDArray[np.int64]
    starts: NDArray[np.int64]  # of the labels
    stops: NDArray[np.int64]
    kinds: NDArray[np.uint8]
    importances: NDArray[np.float64]


@dataclass(frozen=True)
class VwParser:
    """Parses lines of Vowpal Wabbit, and explains those that it does not accept.

    The importance of a line is the weight of its row.  Columns are hashes of NAMESPACE^FEATURE.
    """

    options: TextOptions
    labelled: bool  # every line must have a label
    hash_bits: int
    dtype: np.dtype[Any]
    optional: bool = False  # a labelled line may lack its label
    several: bool = False  # a labelled line may have any number of labels, with commas between them
    name: ClassVar[str] = "vw"
    separator: ClassVar[str] = ","
    lines_are_records: ClassVar[bool] = True
    end_of_last_record = staticmethod(end_of_last_line)

    def end_of_record(self, chunk: Chunk, place: int) -> int:
        return chunk.end_of_line(place)

    def parse(self, chunk: Chunk, buffers: Buffers, max_bad: int) -> Batch:
        arrays = self._arrays(chunk, buffers)
        n_rows = n_lines = 0
        start = chunk.start
        bad_places: list[int] = []
        fault = None
        while start < chunk.stop and fault is None:
            status, n_rows, lines, start = split_vw(*arrays, chunk.text, start, chunk.stop, n_rows, 1 << self.hash_bits)
            n_lines += lines
            if status == BAD_RECORD and len(bad_places) < max_bad:
                bad_places.append(start)
                n_lines, start = n_lines + 1, chunk.end_of_line(start)
            elif status == BAD_RECORD:
                fault = self.flaw_at(chunk, start)
        if chunk.flaw and fault is None:
            fault = DataError(chunk.flaw)
        nnz = arrays.indptr[n_rows]
        weights = arrays.importances[:n_rows]
        batch = Batch(
            Rows(
                arrays.indptr[: n_rows + 1],
                arrays.indices[:nnz],
                arrays.values[:nnz],
                arrays.squares[:n_rows],
                1 << self.hash_bits,
                None if (weights == 1).all() else weights,
            ),
            arrays.places[:n_rows],
            np.zeros(n_rows),
            None,
            np.empty(0, np.int64),
            NO_INDEX,
            -1,
            self.hash_bits,
            self.options,
            self,
            chunk,
            n_lines,
            np.array(bad_places, np.int64),
            np.empty(0, np.int64),
            fault,
        )
        if self.labelled:
            self._set_labels(batch, arrays, max_bad)
        return batch

    def _arrays(self, chunk: Chunk, buffers: Buffers) -> _Arrays:
        """Arrays that are long enough for any text of this size: a row and an entry have two bytes at least."""
        most = chunk.size // 2 + 2
        arrays = _Arrays(
            buffers.array("indptr", most + 1, np.int64),
            buffers.array("indices", most, np.int32),
            buffers.array("values", most, self.dtype),
            buffers.array("squares", most, np.float64),
            buffers.array("places", most, np.int64),
            buffers.array("label_starts", most, np.int64),
            buffers.array("label_stops", most, np.int64),
            buffers.array("label_kinds", most, np.uint8),
            buffers.array("importances", most, np.float64),
        )
        arrays.indptr[0] = 0
        return arrays

    def _set_labels(self, batch: Batch, arrays: _Arrays, max_bad: int) -> None:
        """Give the rows their labels; rows without a sound one are left out, or the first of them ends the batch."""
        n_rows = batch.rows.n_rows
        starts, stops = arrays.starts[:n_rows], arrays.stops[:n_rows]
        missing = arrays.kinds[:n_rows] == MISSING
        if not self._needs_label:
            stops[missing] = starts[missing]
        unfit = unfit_labels(batch.chunk.text, starts, stops, self._separator)
        unfit = unfit | missing if self._needs_label else unfit & ~missing
        sound = ~unfit
        if unfit.any() and not max_bad:
            first = int(np.argmax(unfit))
            place = batch.place_of(first)
            batch.end_with(self.flaw_at(batch.chunk, place), place)
            sound = np.arange(n_rows) < first
        elif unfit.any():
            batch.leave_out(unfit)
        batch.labels, batch.label_names = intern_labels(batch.chunk.text, starts[sound], stops[sound])
        if self.optional:
            batch.labels[missing[sound]] = np.nan

    @property
    def _needs_label(self) -> bool:
        return self.labelled and not self.optional and not self.several

    @property
    def _separator(self) -> str | None:
        return self.separator if self.several else None

    def names(self, chunk: Chunk, buffers: Buffers, columns: NDArray[np.int64]) -> dict[int, dict[str, int]]:
        """How often the features of some columns occur in a chunk, by column."""
        wanted = np.zeros(max(1, (1 << self.hash_bits) // 8), np.uint8)
        np.bitwise_or.at(wanted, columns >> 3, (1 << (columns & 7)).astype(np.uint8))
        found: dict[int, dict[str, int]] = {}
        name_vw(chunk.text, chunk.start, chunk.stop, 1 << self.hash_bits, wanted, found)
        return found

    # -- errors --------------------------------------------------------------------------------------------------------

    def flaw_at(self, chunk: Chunk, place: int) -> DataError:
        line = chunk.line_at(place)
        flaw = find_vw_flaw(line, self._needs_label)
        for label in labels_of(find_vw_label(line), self._separator):
            flaw = flaw or record_errors.find_label_flaw(line, label)
        return DataError(str(flaw or "not a line of Vowpal Wabbit"), column=flaw.column if flaw else None)

    def overflow_at(self, chunk: Chunk, place: int) -> DataError:
        what = find_vw_overflow(chunk.line_at(place), self.dtype)
        return DataError(f"{what} is out of range for {self.dtype}: bring the features to another scale")

    def label_text_at(self, chunk: Chunk, place: int) -> str:
        raise AssertionError("the labels of Vowpal Wabbit are texts")
