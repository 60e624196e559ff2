"""Parquet files as a stream of CSV text, so that all that reads text reads them."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cwlearn.errors import DataError
from cwlearn.text.record_errors import unknown_field

ROWS_AT_ONCE = 1 << 10
BYTES_AT_ONCE = 1 << 22  # of text, but for a longer row, where texts are kept once and by number
LONG = 1 << 16  # bytes of such a text from which on they are: a few bytes of a file may stand for it, row after row


def quoted(name: str) -> str:
    """A field of CSV in quotes."""
    return '"' + name.replace('"', '""') + '"'


def _coded_columns(known: Any, columns: Sequence[str]) -> list[int]:
    """The numbers of those columns whose texts are stored once and then by number; so they are kept in memory, too."""
    groups = range(known.num_row_groups)
    return [
        number
        for number in range(known.num_columns)
        if known.schema.column(number).path in columns
        and known.schema.column(number).physical_type == "BYTE_ARRAY"
        and any("DICTIONARY" in code for group in groups for code in known.row_group(group).column(number).encodings)
    ]


class ParquetText(io.RawIOBase):
    """Some columns of a Parquet file as CSV text with a header, made of a few rows at a time.

    Nothing but these columns is read.  What is null becomes an empty field.
    """

    def __init__(self, raw: io.FileIO, columns: Sequence[str], path: str) -> None:
        try:
            import pyarrow
            import pyarrow.compute
            from pyarrow import csv, parquet
        except ImportError:
            raise DataError(
                "Parquet data: reading them needs the package pyarrow (pip install 'cwlearn[parquet]')", path
            ) from None
        self._pyarrow, self._csv, self._path = pyarrow, csv, path
        try:
            raw.seek(0)
            self._file = parquet.ParquetFile(raw, pre_buffer=False)
            known = self._file.metadata
            coded = _coded_columns(known, columns)
            self._by_number = coded and parquet.ParquetFile(
                raw, metadata=known, read_dictionary=coded, pre_buffer=False
            )
        except (pyarrow.ArrowException, OSError) as error:
            raise DataError(f"damaged Parquet data: {error}", path) from None
        self._paths = self._checked_paths(columns)
        self._columns = list(columns)
        self._left = memoryview((",".join(map(quoted, columns)) + "\n").encode())
        self._parts = self._texts()
        self.n_rows = 0  # read so far

    def _checked_paths(self, columns: Sequence[str]) -> list[list[str]]:
        """The column of each name; in a structure, a dot leads to its fields, as it does in JSON."""
        known = self._fields_in([], self._file.schema_arrow)
        names = [".".join(path) for path, _ in known]
        paths = []
        for name in columns:
            if names.count(name) != 1:
                raise DataError(unknown_field(name, names, "the file"), self._path)
            path, kind = known[names.index(name)]
            if self._pyarrow.types.is_nested(kind):
                raise DataError(f"expected texts, numbers or booleans in field {name!r}, found {kind}", self._path)
            paths.append(path)
        return paths

    def _fields_in(self, parents: list[str], fields: Iterable[Any]) -> list[tuple[list[str], Any]]:
        """The paths and types of fields, and of those in structures."""
        found = []
        for field in fields:
            path = [*parents, field.name]
            found.append((path, field.type))
            if self._pyarrow.types.is_struct(field.type):
                found += self._fields_in(path, [field.type.field(k) for k in range(field.type.num_fields)])
        return found

    def _texts(self) -> Iterator[memoryview]:
        options = self._csv.WriteOptions(include_header=False, quoting_style="all_valid")
        parts = self._batches()
        while True:
            try:
                arrays = next(parts, None)
                if arrays is None:
                    return
                sink = self._pyarrow.BufferOutputStream()
                table = self._pyarrow.table([*map(self._as_text, arrays)], names=self._columns)
                self._csv.write_csv(table, sink, options)
            except (self._pyarrow.ArrowException, OSError) as error:
                rows = f"rows {self.n_rows + 1:,} to {self.n_rows + ROWS_AT_ONCE:,}"
                raise DataError(f"damaged Parquet data in {rows}: {error}", self._path) from None
            self.n_rows += len(arrays[0])
            yield memoryview(sink.getvalue()).cast("B")

    def _batches(self) -> Iterator[list[Any]]:
        """The columns of some rows, which are not many bytes as text."""
        for group in range(self._file.num_row_groups):
            file = self._by_number if self._repeats_long_texts(group) else self._file
            for columns in self._read(file, group, ROWS_AT_ONCE):
                parts = [columns]  # the first one is the last
                while parts:
                    part = parts.pop()
                    if len(part[0]) > 1 and sum(map(self._size, part)) > BYTES_AT_ONCE:
                        middle = len(part[0]) // 2
                        parts += [[column[middle:] for column in part], [column[:middle] for column in part]]
                    else:
                        yield part

    def _read(self, file: Any, group: int, rows: int) -> Iterator[list[Any]]:
        """The columns of a group of rows, some rows at a time."""
        for batch in file.iter_batches(rows, row_groups=[group], columns=self._columns, use_threads=False):
            yield [self._within(batch.column(path[0]), path[1:]) for path in self._paths]

    def _within(self, column: Any, path: list[str]) -> Any:
        return self._pyarrow.compute.struct_field(column, path) if path else column

    def _repeats_long_texts(self, group: int) -> bool:
        """Whether there is a long text among those that are stored once; the first row brings all of them."""
        first = next(self._read(self._by_number, group, 1), []) if self._by_number else []
        known = filter(self._is_of_texts_by_number, first)
        return any(np.diff(self._bounds(column)).max(initial=0) > LONG for column in known)

    def _is_of_texts_by_number(self, column: Any) -> bool:
        texts = [getattr(self._pyarrow, kind)() for kind in ("string", "binary", "large_string", "large_binary")]
        return bool(self._pyarrow.types.is_dictionary(column.type)) and column.type.value_type in texts

    def _bounds(self, column: Any) -> NDArray[Any]:
        """Where the texts of a dictionary begin and end."""
        wide = column.type.value_type in (self._pyarrow.large_string(), self._pyarrow.large_binary())
        bounds: NDArray[Any] = np.frombuffer(column.dictionary.buffers()[1] or b"", np.int64 if wide else np.int32)
        return bounds[column.dictionary.offset :][: len(column.dictionary) + 1]

    def _size(self, column: Any) -> int:
        """How many bytes a column has at least; those of codes count as often as they occur."""
        if not self._is_of_texts_by_number(column):
            return int(column.nbytes)
        codes, bounds = column.indices.drop_null().to_numpy().astype(np.int64), self._bounds(column)
        return int((bounds[codes + 1] - bounds[codes]).sum())

    def _as_text(self, column: Any) -> Any:
        """A column as texts, empty for null, since a row of nulls would be an empty line."""
        if self._pyarrow.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        return column.cast(self._pyarrow.string()).fill_null("")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._left:
            more = next(self._parts, None)
            if more is None:
                return 0
            self._left = more
        taken = self._left[: len(buffer)]
        buffer[: len(taken)] = taken
        self._left = self._left[len(taken) :]
        return len(taken)

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()
