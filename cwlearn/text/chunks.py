"""The text of several sources as chunks of whole lines, whatever the format of the lines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cwlearn.errors import DataError
from cwlearn.text._svmlight import LINE_BASE, PADDING, checksum_lines
from cwlearn.text.compression import PARQUET
from cwlearn.text.sources import Source
from cwlearn.text.text_file import TextFile, open_text

CHUNK_BYTES = 1 << 21  # longer chunks leave the cache, shorter ones cost more of Python
NEWLINE = ord("\n")
MARK = b"\xef\xbb\xbf"  # that UTF-8 may begin with
CHECKSUM = re.compile("[0-9a-f]{16}")  # as it is written into a checkpoint
CR_LINE_ENDS = "CR line ends: lines must end with LF or CR LF"


@dataclass(frozen=True)
class Beginning:
    """The first lines of a text, by their number and a checksum."""

    lines: int = 0
    checksum: int = 0

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Beginning | None:
        """What `record` has written into a checkpoint; None if that is missing or damaged."""
        lines, checksum = record.get("lines"), record.get("checksum")
        if type(lines) is int and lines >= 0 and isinstance(checksum, str) and CHECKSUM.fullmatch(checksum):
            return cls(lines, int(checksum, 16))
        return None

    def record(self) -> dict[str, Any]:
        return {"lines": self.lines, "checksum": f"{self.checksum:016x}"}

    def followed_by(self, lines: int, checksum: int) -> Beginning:
        """This beginning and the lines behind it, which have this checksum by themselves."""
        shifted = self.checksum * pow(LINE_BASE, lines, 1 << 64)
        return Beginning(self.lines + lines, (shifted + checksum) % (1 << 64))


@dataclass(eq=False, repr=False)
class Chunk:
    """Whole lines of one source: text[start:stop], between paddings.  A place is an offset into `text`."""

    text: NDArray[np.uint8]
    stop: int
    source: Source
    is_first: bool  # of its source
    plain: bool  # its source is not compressed
    position: int  # bytes of all sources read so far, as they are on disk
    flaw: str = ""  # why the next line cannot be read
    start: int = PADDING
    of_table: bool = False  # its source is a table, whose rows have numbers, and no lines

    @classmethod
    def of_lines(cls, lines: bytes, source: Source) -> Chunk:
        """Some lines of a plain source, wherever they stand in it."""
        text = np.frombuffer(bytes(PADDING) + lines + bytes(PADDING), np.uint8)
        return cls(text, PADDING + len(lines), source, is_first=False, plain=True, position=0)

    @property
    def size(self) -> int:
        return self.stop - self.start

    def line_places(self) -> NDArray[np.int64]:
        """Where its lines begin."""
        ends = np.flatnonzero(self.text[self.start : self.stop] == NEWLINE) + self.start + 1
        return np.append(self.start, ends)[:-1]

    def line_at(self, place: int) -> bytes:
        """The line that begins there."""
        return self.text[place : self.end_of_line(place)].tobytes()

    def end_of_line(self, place: int) -> int:
        """The place behind the first line end from `place` on."""
        reach = 1 << 10
        while (line_end := self.text[place : place + reach].tobytes().find(b"\n")) < 0:
            reach *= 16
        return place + line_end + 1

    def checksum(self, stop: int | None = None) -> int:
        """The checksum of its lines, or of those before a place."""
        return checksum_lines(self.text, self.start, self.stop if stop is None else stop)

    def count_lines(self, start: int, stop: int) -> int:
        """Lines that end between two places."""
        return int(np.count_nonzero(self.text[start:stop] == NEWLINE))


class ChunkReader:
    """The chunks of several sources.  A source without a line end at its end is given one."""

    def __init__(
        self,
        sources: Sequence[Source],
        chunk_bytes: int,
        max_line: int,
        columns: Sequence[str] | None = None,
        prompt: bool = False,
    ) -> None:
        """`columns` are those that are read of a table; None: there must be no table.

        If it is `prompt`, a pipe that pauses gives a chunk of the lines so far, else it is waited for.
        """
        self.chunk_bytes, self.max_line, self._columns = chunk_bytes, max_line, columns
        self._prompt = prompt
        self.end_of_last_record = end_of_last_line  # a format may have records of several lines
        self._sources = list(sources)
        self._file: TextFile | None = None
        self._carry = b""  # the beginning of the line that the last chunk stopped before
        self._is_first = False
        self._bytes_done = 0  # of the sources that have been read to their end

    def new_buffer(self, size: int = 0) -> NDArray[np.uint8]:
        """Room for `size` bytes or a chunk, and a line end, but no more than the longest line needs."""
        return np.empty(min(max(size, self.chunk_bytes), self.max_line + 1) + 1 + 2 * PADDING, np.uint8)

    def next_chunk(self, buffer: NDArray[np.uint8]) -> Chunk | None:
        """The next lines, in `buffer` or, where one line does not fit, in a larger one; None at the end."""
        while True:
            file = self._file or self._open_next()
            if file is None:
                return None
            if PADDING + len(self._carry) >= len(buffer) - PADDING - 1:
                buffer = self.new_buffer(2 * len(self._carry))
            filled, ended = self._fill(file, buffer)
            whole = ended and file.source.whole
            stop = filled if whole else self.end_of_last_record(buffer, PADDING, filled)
            self._carry = buffer[stop:filled].tobytes()
            flaw = self._flaw_of_carry()
            if stop == PADDING and not (ended or flaw):
                continue  # a line longer than the buffer: try one of twice its size
            if stop > PADDING and buffer[stop - 1] != NEWLINE:
                buffer[stop] = NEWLINE
                stop += 1
            buffer[stop : stop + PADDING] = 0
            position = self._bytes_done + file.position
            chunk = Chunk(buffer, stop, file.source, self._is_first, file.format is None, position, flaw)
            chunk.of_table = file.format == PARQUET
            self._is_first = False
            if flaw:
                self._sources = []
            if ended or flaw:
                self._bytes_done += file.size
                self._file, self._carry = None, b""
                file.close()
            if stop > PADDING or flaw:
                return chunk

    def _fill(self, file: TextFile, buffer: NDArray[np.uint8]) -> tuple[int, bool]:
        """Read text behind the carry: the place behind it, and whether the source has ended."""
        filled = PADDING + len(self._carry)
        room = len(buffer) - PADDING - 1  # for a line end that may have to be added
        buffer[PADDING:filled] = np.frombuffer(self._carry, np.uint8)
        if not (self._prompt and file.may_pause):
            filled += file.read_into(buffer[filled:room])
            return filled, filled < room
        ended, any_line = False, False
        while filled < room and not (ended or any_line):
            more, ended = file.read_some(memoryview(buffer)[filled:room])  # type: ignore[arg-type]
            any_line = bool((buffer[filled : filled + more] == NEWLINE).any())
            filled += more
        return filled, ended

    def _open_next(self) -> TextFile | None:
        """Begin with a source: skip the mark that UTF-8 may begin with, and refuse UTF-16 and UTF-32."""
        if not self._sources:
            return None
        source = self._sources.pop(0)
        self._file = file = open_text(source, self._columns)
        self._is_first = True
        head = file.peek(len(MARK) + 1, 1 if self._prompt else None)
        if head.startswith((b"\xff\xfe", b"\xfe\xff")) or 1 < head.count(0) < len(head):
            raise DataError("looks like UTF-16 or UTF-32, expected ASCII or UTF-8 text", source.name, 1, 1)
        if head.startswith(MARK) and not source.start:
            file.read_into(memoryview(bytearray(MARK)))
        return file

    def peek(self, size: int, lines: int = 1) -> bytes:
        """The first bytes of the first source that has any, before anything is read.

        If it is prompt, the first lines of a pipe that pauses are enough.
        """
        while (file := self._file or self._open_next()) is not None:
            if head := file.peek(size, lines if self._prompt else None):
                return head
            self._bytes_done += file.size
            self._file = None
            file.close()
        return b""

    @property
    def has_table(self) -> bool:
        """Whether the source that is open is a table."""
        return self._file is not None and self._file.format == PARQUET

    def _flaw_of_carry(self) -> str:
        """Why a line that is not yet complete will never be one."""
        if len(self._carry) <= self.max_line:
            return ""
        if b"\r" in self._carry[:-1]:
            return CR_LINE_ENDS
        return f"line longer than {self.max_line} bytes (`max_line`)"

    def close(self) -> None:
        """Close the open file, unless it is a pipe that a thread may still be waiting for."""
        if self._file is not None and self._file.regular:
            self._file.close()
            self._file = None


def end_of_last_line(text: NDArray[np.uint8], first: int, filled: int) -> int:
    """The place behind the last line end in text[first:filled], or `first`."""
    reach = 1 << 12
    while True:
        start = max(first, filled - reach)
        line_end = text[start:filled].tobytes().rfind(b"\n")
        if line_end >= 0 or start == first:
            return start + line_end + 1
        reach *= 16
