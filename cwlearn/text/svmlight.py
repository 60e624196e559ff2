"""svmlight text as batches of checked rows, parsed ahead of the learner by several threads."""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cwlearn.core.parameters import COUNT, NOTHING, SIZE, THREADS, Options, one_of, option, require
from cwlearn.core.rows import Rows
from cwlearn.errors import DataError
from cwlearn.native import check_rows, parse_rows
from cwlearn.text._svmlight import BAD_LINE, PADDING, TOO_WIDE
from cwlearn.text.sources import (
    Beginning,
    Chunk,
    Lines,
    end_of_line,
    is_regular,
    lines_before,
    lines_here_and_there,
)
from cwlearn.text.svmlight_errors import Grammar, find_flaw, find_overflow
from cwlearn.utils.machine import usable_cores
from cwlearn.utils.pipeline import in_order

CHUNK_BYTES = 1 << 21  # of text: longer ones leave the cache, shorter ones cost more of Python
NO_INDEX = 2**63 - 1  # where the lowest one is asked for

Path = str | bytes | os.PathLike[str]
Paths = Path | Iterable[Path]


@dataclass(frozen=True)
class Reading(Options):
    """How to read svmlight text."""

    zero_based: str = option(
        "auto",
        one_of("auto", "yes", "no"),
        "Whether 0 is an index: 'no' makes it an error. The index in the text is the column of the model in any case.",
    )
    unsorted: str = option("error", one_of("error", "sort"), "What to do with a line whose indices do not rise.")
    on_bad_line: str = option(
        "error", one_of("error", "skip"), "Stop at the first bad line, or report it and go on without its row."
    )
    max_bad: int = option(100, COUNT, "How many bad lines to skip before stopping after all.")
    max_line: int = option(1 << 30, SIZE, "Bytes of the longest line.")

    def grammar(self, labelled: bool) -> Grammar:
        return Grammar(labelled, lowest=int(self.zero_based == "no"), sort=self.unsorted == "sort")


def path_list(paths: Paths) -> list[str]:
    """One path, or several, as strings."""
    if isinstance(paths, (str, bytes, os.PathLike)):
        paths = [paths]
    if hasattr(paths, "read"):
        raise TypeError(f"expected a path, or a list of paths, got an open file: {paths!r}")
    return [os.fsdecode(path) for path in paths]


@dataclass
class Batch:
    """The rows of a chunk of text, or those before the line that ended it.

    Its arrays are used again for a later batch: who keeps them copies them.  A place is where a line begins in the text
    of the chunk.
    """

    rows: Rows
    labels: NDArray[np.float64]
    queries: NDArray[np.int64]
    lowest: int  # index as written, NO_INDEX without any
    highest: int  # -1 without any
    hashed: bool  # columns are not indices
    labelled: bool  # so that lines without data are no rows
    chunk: Chunk
    n_lines: int
    checksum: int  # of the lines of the chunk, if they are wanted
    bad: NDArray[np.int64]  # the places of the lines that are left out, which rise
    too_large: NDArray[np.int64]  # those of them whose numbers are too large for the dtype
    fault: DataError | None = None  # what is wrong with the line behind the last one
    first_line: int = 1

    @property
    def n_features(self) -> int:
        return self.rows.n_features

    def line_of(self, row: int) -> int:
        """The number of the line that a row was read from."""
        return self.number_of(self.chunk.count_lines(self.chunk.start, self.place_of(row)))

    def number_of(self, line: int) -> int:
        """The number in the file of a line of the chunk, which are counted from 0."""
        return self.first_line + line + lines_before(self.chunk.path)

    def place_of(self, row: int) -> int:
        return int(self._places()[row])

    def beginning(self, before: Beginning, rows: int) -> Beginning:
        """Of the text, what comes before this batch, and so many rows of it; what stands between two rows belongs to
        the first."""
        chunk = self.chunk
        place = self.place_of(rows) if rows < self.rows.n_rows else chunk.stop
        return before.and_then(chunk.count_lines(chunk.start, place), chunk.checksum(place))

    def texts_of(self, rows: list[int]) -> list[str]:
        """The labels of some rows as they are written."""
        lines = map(self.chunk.line_at, self._places()[rows].tolist())
        return [line.split(None, 1)[0].partition(b"#")[0].decode("ascii") for line in lines]

    def left_out(self) -> Iterator[tuple[int, int]]:
        """The lines left out: which ones of the chunk, from 0, and their places."""
        line, past = 0, self.chunk.start
        for place in map(int, self.bad):
            line, past = line + self.chunk.count_lines(past, place), place
            yield line, place

    def _places(self) -> NDArray[np.int64]:
        """The places of the rows."""
        places = self.chunk.places()
        if self.labelled:
            places = places[self.chunk.with_data(places)]
        return places[~np.isin(places, self.bad)][: self.rows.n_rows]

    def row_from(self, index: int) -> tuple[int, int]:
        """The first row that has this column or a higher one, and the first such column."""
        place = int(np.argmax(self.rows.indices >= index))
        return int(np.searchsorted(self.rows.indptr, place, side="right")) - 1, int(self.rows.indices[place])

    def error(self, row: int, what: str) -> DataError:
        return DataError(what, self.chunk.path, self.line_of(row))

    def end_with(self, fault: DataError, place: int) -> None:
        """Keep only the rows before the line at this place, which is at fault."""
        n_rows = int(np.searchsorted(self._places(), place))
        self._keep(self.rows.part(0, n_rows), slice(n_rows))
        self.bad = self.bad[self.bad < place]
        self.fault, self.n_lines = fault, self.chunk.count_lines(self.chunk.start, place)

    def leave_out(self, which: NDArray[np.bool_]) -> None:
        """Be without some rows, whose numbers are too large."""
        too_large = self._places()[which]
        rows, lengths, keep = self.rows, np.diff(self.rows.indptr), ~which
        entries = np.repeat(keep, lengths)
        indptr = np.append(0, np.cumsum(lengths[keep]))
        kept = Rows(indptr, rows.indices[entries], rows.values[entries], rows.squares[keep], rows.n_features)
        self._keep(kept, keep)
        self.bad, self.too_large = np.sort(np.append(self.bad, too_large)), too_large

    def _keep(self, rows: Rows, which: Any) -> None:
        """Have only these rows, which are those that `which` picks."""
        if not self.hashed:
            some = len(rows.indices) > 0
            self.lowest = int(rows.indices.min()) if some else NO_INDEX
            self.highest = int(rows.indices.max()) if some else -1
            rows = replace(rows, n_features=self.highest + 1)
        self.rows, self.labels = rows, self.labels[which]
        self.queries = self.queries[which] if len(self.queries) else self.queries


@dataclass
class _Buffers:
    """The memory that one batch is read and parsed in."""

    text: NDArray[np.uint8]
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)

    def array(self, name: str, size: int, dtype: Any) -> NDArray[Any]:
        """At least `size` numbers; the same ones as last time if they are enough."""
        array = self.arrays.get(name)
        if array is None or array.dtype != dtype or len(array) < size:
            array = self.arrays[name] = np.empty(size, dtype)
        return array


class Reader:
    """The batches of one or several files, in their order, whatever the number of threads."""

    def __init__(
        self,
        paths: Paths,
        reading: Reading | None = None,
        *,
        dtype: Any = "float32",
        labelled: bool = True,
        queries: bool = False,
        hash_bits: int = 0,
        threads: int | None = None,
        chunk_bytes: int = CHUNK_BYTES,
        checksums: bool = False,
        tell: Callable[[DataError], object] = lambda flaw: None,
    ) -> None:
        self.paths = path_list(paths)
        self.reading = reading or Reading()
        self.grammar = self.reading.grammar(labelled)
        self.dtype = np.dtype(dtype)
        self.with_queries = queries
        self.hash_bits = hash_bits
        require("threads", threads, NOTHING | THREADS)
        self.threads = usable_cores() if threads in (None, -1) else threads
        self.chunk_bytes = chunk_bytes
        self.checksums = checksums
        self.tell = tell  # hears of every bad line that is left out
        self.n_skipped = 0  # of them so far

    def __iter__(self) -> Generator[Batch, None, None]:
        self.n_skipped = 0
        lines = Lines(self.paths, self.chunk_bytes, self.reading.max_line)
        buffers = [_Buffers(lines.new_buffer()) for _ in range(self.threads + 2)]
        next_line = 1
        parsed = in_order(
            lambda buffers: lines.next_chunk(buffers.text),
            self._parsed,
            buffers,
            self.threads,
            helping=all(map(is_regular, self.paths)),
        )
        with closing(lines), closing(parsed):
            for batch in parsed:
                batch.first_line = 1 if batch.chunk.begins else next_line
                next_line = batch.first_line + batch.n_lines
                self._skip(batch)
                yield batch
                if batch.fault is not None:
                    raise _placed(batch.fault, batch, batch.n_lines)

    def samples(self) -> Iterator[Batch]:
        """Some lines of the files that can be read from anywhere, parsed as all of them will be."""
        for path in self.paths:
            if lines := lines_here_and_there(path):
                text = np.frombuffer(bytes(PADDING) + lines + bytes(PADDING), np.uint8)
                chunk = Chunk(text, PADDING + len(lines), path, begins=False, plain=True, position=0)
                yield self._parsed(chunk, _Buffers(text))

    def _skip(self, batch: Batch) -> None:
        """Tell of the lines that are left out, and end with the first that is one too many."""
        too_large = set(batch.too_large.tolist())
        for line, place in batch.left_out():
            text = batch.chunk.line_at(place)
            flaw = self._overflow(text) if place in too_large else self._flaw(text)
            if self.n_skipped == self.reading.max_bad:
                batch.end_with(flaw, place)
                return
            self.n_skipped += 1
            self.tell(_placed(flaw, batch, line))

    def _flaw(self, line: bytes) -> DataError:
        """What is wrong with a line that is not svmlight text."""
        flaw = find_flaw(line, self.grammar)
        return DataError(str(flaw or "not svmlight text"), column=flaw.column if flaw else None)

    def _overflow(self, line: bytes) -> DataError:
        """What is wrong with a line whose numbers are too large."""
        what = find_overflow(line, self.grammar, self.dtype)
        return DataError(f"{what} is out of range for {self.dtype}: bring the features to another scale")

    def _parsed(self, chunk: Chunk, buffers: _Buffers) -> Batch:
        """Parse a chunk; bad lines are left out or end it, as `reading` says."""
        if len(chunk.text) > len(buffers.text):  # a very long line: do not keep that much memory for the others
            buffers = _Buffers(chunk.text)
        wide = bool(self.hash_bits)  # each chunk anew, so that what comes of it does not depend on the others
        while (batch := self._attempt(chunk, buffers, np.int64 if wide else np.int32)) is None:
            wide = True
        return batch

    def _attempt(self, chunk: Chunk, buffers: _Buffers, index_dtype: Any) -> Batch | None:
        """Parse with indices of one width; None if that is too narrow."""
        size = chunk.stop - chunk.start
        most_rows, most_entries = size // (2 if self.grammar.labelled else 1) + 2, size // 4 + 2
        indptr = buffers.array("indptr", most_rows + 1, np.int64)
        indices = buffers.array("indices", most_entries, index_dtype)
        values = buffers.array("values", most_entries, self.dtype)
        labels = buffers.array("labels", most_rows, np.float64)
        queries = buffers.array("queries", most_rows if self.with_queries else 0, np.int64)
        indptr[0] = 0
        grammar = self.grammar
        n_rows = n_lines = 0
        start = chunk.start
        lowest, highest = NO_INDEX, -1
        bad = array("q")
        fault = None
        while start < chunk.stop and fault is None:
            status, n_rows, lines, start, low, high = parse_rows(
                indptr,
                indices,
                values,
                labels,
                queries,
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
            if status == TOO_WIDE:
                return None
            if status == BAD_LINE and len(bad) < self._most_bad:
                bad.append(start)
                n_lines, start = n_lines + 1, end_of_line(chunk.text, start)
            elif status == BAD_LINE:
                fault = self._flaw(chunk.line_at(start))
        if chunk.flaw and fault is None:
            fault = DataError(chunk.flaw)
        nnz = indptr[n_rows]
        columns = indices[:nnz].astype(np.int32) if 0 < self.hash_bits < 32 else indices[:nnz]
        n_features = 1 << self.hash_bits if self.hash_bits else highest + 1
        squares = buffers.array("squares", most_rows, np.float64)[:n_rows]
        check_rows(squares, indptr[: n_rows + 1], columns, values[:nnz], n_features)
        rows = Rows(indptr[: n_rows + 1], columns, values[:nnz], squares, n_features)
        batch = Batch(
            rows,
            labels[:n_rows],
            queries[:n_rows],
            lowest,
            highest,
            bool(self.hash_bits),
            grammar.labelled,
            chunk,
            n_lines,
            chunk.checksum() if self.checksums else 0,
            np.array(bad, np.int64),
            np.empty(0, np.int64),
            fault,
        )
        finite = np.isfinite(squares)
        if not finite.all():
            self._refuse(batch, ~finite)
        return batch

    @property
    def _most_bad(self) -> int:
        """Bad lines of a chunk to go on behind: one more than may be skipped, which is one too many."""
        return self.reading.max_bad + 1 if self.reading.on_bad_line == "skip" else 0

    def _refuse(self, batch: Batch, overflowing: NDArray[np.bool_]) -> None:
        """Deal with rows whose numbers are too large for the dtype."""
        if self._most_bad:
            batch.leave_out(overflowing)
        else:
            place = batch.place_of(int(np.argmax(overflowing)))
            batch.end_with(self._overflow(batch.chunk.line_at(place)), place)


def _placed(flaw: DataError, batch: Batch, line: int) -> DataError:
    return DataError(str(flaw), batch.chunk.path, batch.number_of(line), flaw.column)
