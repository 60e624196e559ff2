"""A source of text, opened: its bytes, decompressed.

Text is read, not mapped into memory: a file that shrinks under a map kills the process that reads it.
"""

from __future__ import annotations

import io
import os
import select
import stat
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from cwlearn.errors import DataError
from cwlearn.text.compression import HEAD, PARQUET, decompressed, detect_format
from cwlearn.text.sources import STDIN, Source

Z_MEM_ERROR = -4  # of zlib
PAUSE = 1  # milliseconds without any text, after which the lines so far are passed on
LONGEST_WAIT = 0.003  # seconds that a line waits for those behind it, which may come without any pause


class _Waiting(io.FileIO):
    """A file that waits for its bytes, even where its descriptor is set not to wait."""

    def readinto(self, buffer: Any) -> int:
        while (done := super().readinto(buffer)) is None:
            select.select([self], [], [])
        return done


class _Range(_Waiting):
    """Some bytes of a file, as if they were all of it."""

    def __init__(self, path: str, start: int, stop: int) -> None:
        super().__init__(path)
        self._start, self._stop = start, stop
        self.seek(start)

    def readinto(self, buffer: Any) -> int:
        left = self._stop - super().tell()
        return super().readinto(memoryview(buffer)[:left]) if left > 0 else 0

    def tell(self) -> int:
        return super().tell() - self._start


def _opened(source: Source) -> _Waiting:
    if source.path == STDIN:
        return _Waiting(0, closefd=False)
    if source.stop is None:
        return _Waiting(source.path)
    return _Range(source.path, source.start, source.stop)


_peeked: dict[Source, TextFile] = {}  # pipes that have been looked into, to be read from their beginning


def peek(source: Source, size: int) -> bytes:
    """The first bytes of the text of a source, even of a pipe, which can be read only once."""
    file = _peeked.pop(source, None) or TextFile(source)
    kept = source.path == STDIN or not file.regular
    try:
        head = file.peek(size)
    except BaseException:
        file.close()
        raise
    if kept:
        _peeked[source] = file
    else:
        file.close()
    return head


def open_text(source: Source, columns: Sequence[str] | None = None) -> TextFile:
    """The text of a source, from its beginning; `columns` are those that are read of a table."""
    return _peeked.pop(source, None) or TextFile(source, columns)


class TextFile:
    """The text of one source."""

    def __init__(self, source: Source, columns: Sequence[str] | None = None) -> None:
        """`columns` are those that are read of a table; None: there must be no table."""
        self.source, self._columns = source, columns
        self._raw = _opened(source)
        try:
            self._detect_kind()
        except BaseException:
            self._raw.close()
            raise

    def _detect_kind(self) -> None:
        """Find out whether it is a file on disk, and how it is compressed."""
        status = os.fstat(self._raw.fileno())
        self.regular = stat.S_ISREG(status.st_mode)
        self._least_size = status.st_size if self.regular else 0  # which the file must not fall below
        self.size = self._least_size  # bytes on disk that are meant
        if self.source.stop is not None:
            self.size, self._least_size = self.source.stop - self.source.start, self.source.stop
        self.format: str | None = None
        with self._damage_explained():
            head = self._read_head()
        self.format = detect_format(head, self.source.name)
        self._stream: Any = self._raw
        self._head = head  # to be delivered before the stream
        if self.format == PARQUET:
            self._head = b""
            self._stream = self._parquet_text()
        elif self.format:
            self._head = b""
            self._stream = decompressed(self.format, head, self._raw, self.source.name)

    def _parquet_text(self) -> io.RawIOBase:
        if self._columns is None:
            raise DataError("documents (Parquet), expected rows of numbers", self.source.name)
        if not self.regular:
            raise DataError("Parquet data must be a file, which can be read from any place", self.source.name)
        from cwlearn.text.parquet import ParquetText

        return ParquetText(self._raw, self._columns, self.source.name)

    def _read_head(self) -> bytes:
        """The bytes that show the kind of a file.  No compressed file has a line end among them before it is known."""
        head, done = bytearray(HEAD), 0
        while done < HEAD and b"\n" not in head and (more := self._raw.readinto(memoryview(head)[done:])):
            done += more
        return bytes(head[:done])

    @property
    def may_pause(self) -> bool:
        """Whether its text may come line by line: what is compressed comes in blocks."""
        return not self.regular and self.format is None

    def peek(self, size: int, lines: int | None = None) -> bytes:
        """The first bytes of what is still to be read; from a pipe so many lines are enough, if it pauses there."""
        while (missing := size - len(self._head)) > 0:
            if lines is not None and self.may_pause and self._head.count(b"\n") >= lines:
                break
            head, self._head = self._head, b""
            more = bytearray(missing)
            done, ended = self.read_some(memoryview(more)) if lines is not None else (self.read_into(more), True)
            self._head = head + bytes(more[:done])
            if ended:
                break
        return self._head[:size]

    def read_some(self, view: memoryview) -> tuple[int, bool]:
        """Wait for text, and read it until the input pauses: the number of bytes, and whether the text has ended."""
        if not self.may_pause:
            done = self.read_into(view)
            return done, done < len(view)
        done, deadline = self._take_head(view), time.monotonic() + LONGEST_WAIT
        with self._damage_explained():
            while done < len(view) and (not done or self._more_comes(deadline)):
                more = self._raw.readinto(view[done:])
                if not more:
                    return done, True
                if not done:
                    deadline = time.monotonic() + LONGEST_WAIT
                done += more
        return done, False

    def _more_comes(self, deadline: float) -> bool:
        """Whether there is more text, or the end of it, before the input pauses."""
        if time.monotonic() > deadline or not hasattr(select, "poll"):  # Windows has none for pipes
            return False
        waiting = select.poll()
        waiting.register(self._raw.fileno(), select.POLLIN)
        return bool(waiting.poll(PAUSE))

    def _take_head(self, view: memoryview) -> int:
        """Deliver bytes that were read before."""
        done = min(len(self._head), len(view))
        view[:done] = self._head[:done]
        self._head = self._head[done:]
        return done

    def read_into(self, view: Any) -> int:
        """Fill the view as far as the text goes; return the number of bytes."""
        view = memoryview(view)
        done = self._take_head(view)
        with self._damage_explained():
            while done < len(view) and (more := self._stream.readinto(view[done:])):
                done += more
        if done < len(view) and self.regular and os.fstat(self._raw.fileno()).st_size < self._least_size:
            raise DataError("the file shrank while it was read", self.source.name)
        return done

    @contextmanager
    def _damage_explained(self) -> Iterator[None]:
        """Turn the errors of all decompressors into ours, with the name of the file."""
        name = self.source.name
        try:
            yield
        except (MemoryError, DataError):
            raise
        except EOFError:
            raise DataError(f"truncated {self.format} data", name) from None
        except zlib.error as error:
            if str(error).startswith(f"Error {Z_MEM_ERROR} "):
                raise MemoryError from None
            raise DataError(f"damaged {self.format} data: {error}", name) from None
        except Exception as error:
            if isinstance(error, OSError) and error.errno:
                raise OSError(error.errno, error.strerror, name) from None
            raise DataError(f"damaged {self.format} data: {error}", name) from None

    @property
    def position(self) -> int:
        """Bytes read from the file so far."""
        return self._raw.tell() if self.regular else 0

    def close(self) -> None:
        self._stream.close()
        self._raw.close()
