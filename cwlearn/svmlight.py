"""svmlight text as batches of checked rows, parsed ahead of the learner by several threads."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cwlearn._svmlight import BAD_LINE, TOO_WIDE
from cwlearn.bad_lines import Grammar, find_flaw
from cwlearn.errors import DataError
from cwlearn.machine import usable_cores
from cwlearn.native import check_rows, parse_rows
from cwlearn.options import COUNT, NOTHING, SIZE, THREADS, Options, one_of, option, require
from cwlearn.pipeline import in_order
from cwlearn.rows import Rows
from cwlearn.text_files import Chunk, Lines, end_of_line, is_regular, lines_before

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

    Its arrays are used again for a later batch: who keeps them copies them.
    """

    rows: Rows
    labels: NDArray[np.float64]
    queries: NDArray[np.int64]
    lowest: int  # index as written, NO_INDEX without any
    highest: int  # -1 without any
    chunk: Chunk
    n_lines: int
    bad: list[tuple[int, DataError]]  # lines left out: which of the chunk, and why
    fault: DataError | None = None  # what is wrong with the line behind the last one
    first_line: int = 1

    @property
    def n_features(self) -> int:
        return self.rows.n_features

    def line_of(self, row: int) -> int:
        """The number of the line that a row was read from."""
        return self.first_line + self._line(row)[0] + lines_before(self.chunk.path)

    def texts_of(self, rows: list[int]) -> list[str]:
        """The labels of some rows, which rise, as they are written."""
        lines, past, texts = self._row_lines(), 0, []
        for row in rows:
            _, line = next(itertools.islice(lines, row - past, None))
            texts.append(line.split()[0].partition(b"#")[0].decode("ascii"))
            past = row + 1
        return texts

    def _line(self, row: int) -> tuple[int, bytes]:
        """Which line of the chunk a row was read from, and that line."""
        return next(itertools.islice(self._row_lines(), row, None))

    def _row_lines(self) -> Iterator[tuple[int, bytes]]:
        left_out = {number for number, _ in self.bad}
        for number, line in enumerate(self.chunk.lines()):
            if line.strip() and not line.lstrip().startswith(b"#") and number not in left_out:
                yield number, line

    def row_from(self, index: int) -> tuple[int, int]:
        """The first row that has this column or a higher one, and the first such column."""
        place = int(np.argmax(self.rows.indices >= index))
        return int(np.searchsorted(self.rows.indptr, place, side="right")) - 1, int(self.rows.indices[place])

    def error(self, row: int, what: str) -> DataError:
        return DataError(what, self.chunk.path, self.line_of(row))

    def end_before(self, row: int, fault: DataError) -> None:
        """Keep only the rows before this one, which is at fault."""
        self.end_with(fault, self._line(row)[0])

    def end_with(self, fault: DataError, line: int) -> None:
        """Keep only the rows before this line of the chunk, which is at fault."""
        lines = itertools.islice(self._row_lines(), self.rows.n_rows)
        n_rows = sum(1 for _ in itertools.takewhile(lambda entry: entry[0] < line, lines))
        self._keep(self.rows.part(0, n_rows), slice(n_rows))
        self.bad = [(number, flaw) for number, flaw in self.bad if number < line]
        self.fault, self.n_lines = fault, line

    def leave_out(self, row: int, flaw: DataError) -> None:
        """Be without this row, which is bad."""
        self.bad = sorted([*self.bad, (self._line(row)[0], flaw)], key=lambda entry: entry[0])
        rows, lengths = self.rows, np.diff(self.rows.indptr)
        keep = np.arange(rows.n_rows) != row
        entries = np.repeat(keep, lengths)
        indptr = np.append(0, np.cumsum(lengths[keep]))
        kept = Rows(indptr, rows.indices[entries], rows.values[entries], rows.squares[keep], rows.n_features)
        self._keep(kept, keep)

    def _keep(self, rows: Rows, which: Any) -> None:
        """Have only these rows, which are those that `which` picks."""
        if rows.n_features == self.highest + 1:  # indices are not hashed
            some = len(rows.indices) > 0
            self.lowest = int(rows.indices.min()) if some else NO_INDEX
            self.highest = int(rows.indices.max()) if some else -1
            rows = replace(rows, n_features=self.highest + 1)
        self.rows, self.labels = rows, self.labels[which]
        self.queries = self.queries[which] if len(self.queries) else self.queries


@dataclass
class _Space:
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
        self.tell = tell  # hears of every bad line that is left out
        self.skipped: list[DataError] = []  # these lines, so far

    def __iter__(self) -> Generator[Batch, None, None]:
        self.skipped = []
        lines = Lines(self.paths, self.chunk_bytes, self.reading.max_line)
        spaces = [_Space(lines.new_buffer()) for _ in range(self.threads + 2)]
        next_line = 1
        parsed = in_order(
            lambda space: lines.next_chunk(space.text),
            self._parsed,
            spaces,
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
                    raise self._placed(batch, batch.n_lines, batch.fault)

    def _skip(self, batch: Batch) -> None:
        """Tell of the lines that are left out, and end with the first that is one too many."""
        room = self.reading.max_bad - len(self.skipped)
        if len(batch.bad) > room:
            line, flaw = batch.bad[room]
            batch.end_with(flaw, line)
        for number, flaw in batch.bad:
            self.skipped.append(self._placed(batch, number, flaw))
            self.tell(self.skipped[-1])

    def _placed(self, batch: Batch, number: int, flaw: DataError) -> DataError:
        line = batch.first_line + number + lines_before(batch.chunk.path)
        return DataError(str(flaw), batch.chunk.path, line, flaw.column)

    def _parsed(self, chunk: Chunk, space: _Space) -> Batch:
        """Parse a chunk; bad lines are left out or end it, as `reading` says."""
        if len(chunk.text) > len(space.text):  # a very long line: do not keep that much memory for the others
            space = _Space(chunk.text)
        wide = bool(self.hash_bits)  # each chunk anew, so that what comes of it does not depend on the others
        while (batch := self._attempt(chunk, space, np.int64 if wide else np.int32)) is None:
            wide = True
        return batch

    def _attempt(self, chunk: Chunk, space: _Space, index_dtype: Any) -> Batch | None:
        """Parse with indices of one width; None if that is too narrow."""
        size = chunk.stop - chunk.start
        most_rows, most_entries = size // 2 + 2, size // 4 + 2
        indptr = space.array("indptr", most_rows + 1, np.int64)
        indices = space.array("indices", most_entries, index_dtype)
        values = space.array("values", most_entries, self.dtype)
        labels = space.array("labels", most_rows, np.float64)
        queries = space.array("queries", most_rows if self.with_queries else 0, np.int64)
        indptr[0] = 0
        grammar = self.grammar
        n_rows = n_lines = 0
        start = chunk.start
        lowest, highest = NO_INDEX, -1
        bad: list[tuple[int, DataError]] = []
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
            if status == BAD_LINE:
                stop = end_of_line(chunk.text, start)
                flaw = find_flaw(chunk.text[start:stop].tobytes(), grammar)
                fault = DataError(str(flaw or "not svmlight text"), column=flaw.column if flaw else None)
                if self._may_skip(bad):
                    bad.append((n_lines, fault))
                    n_lines, start, fault = n_lines + 1, stop, None
        if chunk.flaw and fault is None:
            fault = DataError(chunk.flaw)
        nnz = indptr[n_rows]
        columns = indices[:nnz].astype(np.int32) if 0 < self.hash_bits < 32 else indices[:nnz]
        n_features = 1 << self.hash_bits if self.hash_bits else highest + 1
        squares = space.array("squares", most_rows, np.float64)[:n_rows]
        check_rows(squares, indptr[: n_rows + 1], columns, values[:nnz], n_features)
        rows = Rows(indptr[: n_rows + 1], columns, values[:nnz], squares, n_features)
        batch = Batch(rows, labels[:n_rows], queries[:n_rows], lowest, highest, chunk, n_lines, bad, fault)
        while not np.isfinite(batch.rows.squares).all():
            row, overflow = self._overflow(batch)
            if not self._may_skip(batch.bad):
                batch.end_before(row, overflow)
                break
            batch.leave_out(row, overflow)
        return batch

    def _may_skip(self, bad: list[tuple[int, DataError]]) -> bool:
        return self.reading.on_bad_line == "skip" and len(bad) <= self.reading.max_bad

    def _overflow(self, batch: Batch) -> tuple[int, DataError]:
        """The first row whose numbers are too large for the dtype, and what is wrong with it."""
        row = int(np.flatnonzero(~np.isfinite(batch.rows.squares))[0])
        start, stop = batch.rows.indptr[row : row + 2]
        columns, values = batch.rows.indices[start:stop], batch.rows.values[start:stop]
        infinite = np.flatnonzero(~np.isfinite(values))
        what = f"the value of index {columns[infinite[0]]}" if len(infinite) else "the squared length of this row"
        return row, DataError(f"{what} is out of range for {self.dtype}: bring the features to another scale")
