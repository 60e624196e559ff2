"""Parquet files as a stream of CSV text, so that all that reads text reads them."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from cwlearn.errors import DataError
from cwlearn.text.record_errors import unknown_field

ROWS_AT_ONCE = 1 << 10


def quoted(name: str) -> str:
    """A field of CSV in quotes."""
    return '"' + name.replace('"', '""') + '"'


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
        batches = self._file.iter_batches(ROWS_AT_ONCE, columns=self._columns, use_threads=False)
        while True:
            try:
                batch = next(batches, None)
                if batch is None:
                    return
                arrays = [self._as_text(batch.column(path[0]), path[1:]) for path in self._paths]
                sink = self._pyarrow.BufferOutputStream()
                table = self._pyarrow.table(arrays, names=self._columns)
                self._csv.write_csv(table, sink, options)
            except (self._pyarrow.ArrowException, OSError) as error:
                rows = f"rows {self.n_rows + 1:,} to {self.n_rows + ROWS_AT_ONCE:,}"
                raise DataError(f"damaged Parquet data in {rows}: {error}", self._path) from None
            self.n_rows += len(batch)
            yield memoryview(sink.getvalue()).cast("B")

    def _as_text(self, column: Any, within: list[str]) -> Any:
        """A column, or a field within it, as texts, empty for null, since a row of nulls would be an empty line."""
        if within:
            column = self._pyarrow.compute.struct_field(column, within)
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
