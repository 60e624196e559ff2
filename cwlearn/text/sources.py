"""Files, pipes and compressed files as one stream of whole lines.

Text is read, not mapped into memory: a file that shrinks under a map kills the process that reads it.
"""

from __future__ import annotations

import io
import os
import re
import stat
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from cwlearn.errors import DataError, shown
from cwlearn.text._svmlight import LINE_BASE, PADDING, checksum_lines
from cwlearn.text.svmlight_errors import CR_LINE_ENDS

STDIN = "-"
FORMATS = {
    "gzip": (b"\x1f\x8b", ".gz"),
    "bzip2": (b"BZh", ".bz2"),
    "xz": (b"\xfd7zXZ\x00", ".xz"),
    "zstandard": (b"\x28\xb5\x2f\xfd", ".zst"),
}
HEAD = 6  # bytes that tell what a file is
NEWLINE, COMMENT = b"\n#"
BLANKS = list(b" \t\v\f\r")  # that a line without data may begin with
Z_MEM_ERROR = -4  # of zlib
SAMPLES, SAMPLE_BYTES = 64, 1 << 12  # of a file, that tell it from another
PLACES = 64  # of a file, at which some lines are looked at
PLACE_BYTES = 1 << 14
PLACE_LINES = 16
CHECKSUM = re.compile("[0-9a-f]{16}")  # of text, as it is written down


class Part(str):
    """The path of a plain file of which only some bytes are meant: whole lines, from `start` to `stop`."""

    start: int
    stop: int

    def __new__(cls, path: str, start: int, stop: int) -> Part:
        part = super().__new__(cls, path)
        part.start, part.stop = start, stop
        return part

    @cached_property
    def lines_before(self) -> int:
        """Counted only if something is wrong with a line."""
        count, left = 0, self.start
        with open(self, "rb", buffering=0) as file:
            while left and (text := file.read(min(left, 1 << 20))):
                count, left = count + text.count(b"\n"), left - len(text)
        return count

    def __reduce__(self) -> tuple[Any, ...]:
        return Part, (str(self), self.start, self.stop)

    def __repr__(self) -> str:
        return f"Part({str(self)!r}, {self.start}, {self.stop})"


@dataclass(frozen=True)
class Beginning:
    """The first lines of a text, by their number and a checksum."""

    lines: int = 0
    checksum: int = 0

    @classmethod
    def recorded(cls, record: dict[str, Any]) -> Beginning | None:
        """What `record` returned; None if it did not."""
        lines, checksum = record.get("lines"), record.get("checksum")
        if type(lines) is int and lines >= 0 and isinstance(checksum, str) and CHECKSUM.fullmatch(checksum):
            return cls(lines, int(checksum, 16))
        return None

    def record(self) -> dict[str, Any]:
        return {"lines": self.lines, "checksum": f"{self.checksum:016x}"}

    def and_then(self, lines: int, checksum: int) -> Beginning:
        """With the lines that follow, which have this checksum by themselves."""
        shifted = self.checksum * pow(LINE_BASE, lines, 1 << 64)
        return Beginning(self.lines + lines, (shifted + checksum) % (1 << 64))


@dataclass
class Chunk:
    """Whole lines of one file: text[start:stop], between paddings."""

    text: NDArray[np.uint8]
    stop: int
    path: str
    begins: bool  # the first chunk of its file
    plain: bool  # its file is not compressed
    position: int  # bytes of all files read so far, as they are on disk
    flaw: str = ""  # why the next line could not be read
    start: int = PADDING

    def places(self) -> NDArray[np.int64]:
        """Where its lines begin."""
        ends = np.flatnonzero(self.text[self.start : self.stop] == NEWLINE) + self.start + 1
        return np.append(self.start, ends)[:-1]

    def with_data(self, places: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of the lines there are neither blank nor a comment."""
        first = self.text[places]
        sure = np.asarray((first != NEWLINE) & (first != COMMENT))
        for number in np.flatnonzero(np.isin(first, BLANKS)).tolist():
            line = self.line_at(int(places[number])).strip()
            sure[number] = bool(line) and not line.startswith(b"#")
        return sure

    def line_at(self, place: int) -> bytes:
        """The line that begins there."""
        return self.text[place : end_of_line(self.text, place)].tobytes()

    def checksum(self, stop: int | None = None) -> int:
        """Of its lines, or of those before a place."""
        return checksum_lines(self.text, self.start, self.stop if stop is None else stop)

    def count_lines(self, start: int, stop: int) -> int:
        """Lines that end between two places."""
        return int(np.count_nonzero(self.text[start:stop] == NEWLINE))


def displayed(path: str) -> str:
    """The name of a file in messages."""
    return "<stdin>" if path == STDIN else path


class _Patient(io.FileIO):
    """A file that waits for its bytes, even if whoever opened it chose not to wait."""

    def readinto(self, buffer: Any) -> int:
        while (done := super().readinto(buffer)) is None:
            import select

            select.select([self], [], [])
        return done


class _Piece(_Patient):
    """Some bytes of a file, as if they were all of it."""

    def __init__(self, part: Part) -> None:
        super().__init__(str(part))
        self._part = part
        self.seek(part.start)

    def readinto(self, buffer: Any) -> int:
        left = self._part.stop - super().tell()
        return super().readinto(memoryview(buffer)[:left]) if left > 0 else 0

    def tell(self) -> int:
        return super().tell() - self._part.start


class TextFile:
    """One source of bytes; `path` may be "-" for standard input, or a `Part` of a file."""

    def __init__(self, path: str) -> None:
        self.path = displayed(path)
        self._raw: _Patient
        if path == STDIN:
            self._raw = _Patient(0, closefd=False)
        else:
            self._raw = _Piece(path) if isinstance(path, Part) else _Patient(path)
        try:
            self._recognise(path)
        except BaseException:
            self._raw.close()
            raise

    def _recognise(self, path: str) -> None:
        """Find out what kind of file it is."""
        status = os.fstat(self._raw.fileno())
        self.regular = stat.S_ISREG(status.st_mode)
        self.size = self._least = status.st_size if self.regular else 0  # which it must not fall below
        if isinstance(path, Part):
            self.size, self._least = path.stop - path.start, path.stop
        self.format: str | None = None
        with self._damage_explained():
            head = self._read_head()
        self.format = next((name for name, (magic, _) in FORMATS.items() if head.startswith(magic)), None)
        for name, (_, suffix) in FORMATS.items():
            if path.endswith(suffix) and self.format != name:
                raise DataError(f"not {name} data, though its name ends with {suffix}", self.path)
        self._stream: Any = self._raw
        self.head = head  # still to be delivered before the stream
        if self.format:
            self.head = b""
            self._stream = _decompressed(self.format, io.BufferedReader(_Rewound(head, self._raw), 1 << 18), self.path)

    def _read_head(self) -> bytes:
        head, done = bytearray(HEAD), 0
        while done < HEAD and (more := self._raw.readinto(memoryview(head)[done:])):
            done += more
        return bytes(head[:done])

    def read_into(self, view: memoryview) -> int:
        """Fill the view as far as the text goes."""
        done = min(len(self.head), len(view))
        view[:done] = self.head[:done]
        self.head = self.head[done:]
        with self._damage_explained():
            while done < len(view) and (more := self._stream.readinto(view[done:])):
                done += more
        if done < len(view) and self.regular and os.fstat(self._raw.fileno()).st_size < self._least:
            raise DataError("the file shrank while it was read", self.path)
        return done

    @contextmanager
    def _damage_explained(self) -> Iterator[None]:
        try:
            yield
        except MemoryError:
            raise
        except EOFError:
            raise DataError(f"truncated {self.format} data", self.path) from None
        except zlib.error as error:
            if str(error).startswith(f"Error {Z_MEM_ERROR} "):
                raise MemoryError from None
            raise DataError(f"damaged {self.format} data: {error}", self.path) from None
        except Exception as error:
            if isinstance(error, OSError) and error.errno:
                raise OSError(error.errno, error.strerror, self.path) from None
            raise DataError(f"damaged {self.format} data: {error}", self.path) from None

    @property
    def position(self) -> int:
        """Bytes taken from the file so far."""
        return self._raw.tell() if self.regular else 0

    def close(self) -> None:
        self._stream.close()
        self._raw.close()


def is_regular(path: str) -> bool:
    """Whether it is a file on disk, which never makes its reader wait for long."""
    return path != STDIN and os.path.isfile(path)


def is_plain(path: str) -> bool:
    """Whether the file can be read from anywhere as it is."""
    if not is_regular(path):
        return False
    with closing(TextFile(path)) as file:
        return file.format is None


class _Rewound(io.RawIOBase):
    """A stream from which some bytes have been taken, with these bytes put back."""

    def __init__(self, head: bytes, raw: io.FileIO) -> None:
        self._head, self._rest = head, raw

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        if not self._head:
            return self._rest.readinto(buffer)
        taken = self._head[: len(buffer)]
        buffer[: len(taken)] = taken
        self._head = self._head[len(taken) :]
        return len(taken)


class _Unpacked(io.RawIOBase):
    """Compressed streams, one after the other; unlike the standard library's files it minds what stands behind them."""

    def __init__(self, new: Callable[[], Any], file: IO[bytes], padding: bytes = b"") -> None:
        self._new, self._file, self._padding = new, file, padding  # what may stand between two streams
        self._stream = new()
        self._begun = False  # has the stream read anything?

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while True:
            packed = b""
            if self._stream.eof:
                packed, self._stream, self._begun = self._stream.unused_data, self._new(), False
            if not packed and self._stream.needs_input:
                packed = self._file.read(1 << 18)
                if not packed:
                    if self._begun:
                        raise EOFError
                    return 0
            if not self._begun:
                packed = packed.lstrip(self._padding) if self._padding else packed
                self._begun = bool(packed)
                if not packed:
                    continue
            text = self._stream.decompress(packed, len(buffer))
            if text:
                buffer[: len(text)] = text
                return len(text)


def _decompressed(format: str, file: IO[bytes], path: str) -> Any:
    if format == "gzip":
        import gzip

        return gzip.GzipFile(fileobj=file)
    if format == "bzip2":
        import bz2

        return _Unpacked(bz2.BZ2Decompressor, file)
    if format == "xz":
        import lzma

        return _Unpacked(lzma.LZMADecompressor, file, padding=b"\0")
    try:
        from compression import zstd  # type: ignore[import-not-found, unused-ignore]  # Python 3.14
    except ImportError:
        try:
            from backports import zstd
        except ImportError:
            raise DataError(
                "Zstandard data: reading them needs the package backports.zstd (pip install 'cwlearn[zstd]')", path
            ) from None
    return _Unpacked(zstd.ZstdDecompressor, file)


class Lines:
    """The text of several files in chunks of whole lines; a file without a line end at its end is given one."""

    def __init__(self, paths: Sequence[str], chunk_bytes: int, max_line: int) -> None:
        self.chunk_bytes, self.max_line = chunk_bytes, max_line
        self._paths = list(paths)
        self._file: TextFile | None = None
        self._carry = b""  # the beginning of the line that the last chunk stopped before
        self._begins = False
        self._before = 0  # size of the files that are done

    def new_buffer(self, size: int = 0) -> NDArray[np.uint8]:
        """Room for so many bytes or a chunk, and a line end, but no more than the longest line needs."""
        return np.empty(min(max(size, self.chunk_bytes), self.max_line + 1) + 1 + 2 * PADDING, np.uint8)

    def next_chunk(self, text: NDArray[np.uint8]) -> Chunk | None:
        """The next lines, in `text` or, where one line does not fit into it, in a larger buffer; None at the end."""
        while True:
            if self._file is None:
                if not self._paths:
                    return None
                self._open(self._paths.pop(0))
            file = self._file
            assert file is not None
            filled = PADDING + len(self._carry)
            room = len(text) - PADDING - 1  # for a line end that may have to be added
            if filled >= room:
                text = self.new_buffer(2 * len(self._carry))
                room = len(text) - PADDING - 1
            text[PADDING:filled] = np.frombuffer(self._carry, np.uint8)
            filled += file.read_into(memoryview(text)[filled:room])  # type: ignore[arg-type]
            ended = filled < room
            stop = filled if ended else _end_of_last_line(text, PADDING, filled)
            self._carry = text[stop:filled].tobytes()
            flaw = self._flaw_of_carry()
            if stop == PADDING and not (ended or flaw):
                continue  # a line longer than the buffer: try one of twice its size
            if stop > PADDING and text[stop - 1] != ord("\n"):
                text[stop] = ord("\n")
                stop += 1
            text[stop : stop + PADDING] = 0
            position = self._before + file.position
            chunk = Chunk(text, stop, file.path, self._begins, file.format is None, position, flaw)
            self._begins = False
            if flaw:
                self._paths = []
            if ended or flaw:
                self._before += file.size
                self._file, self._carry = None, b""
                file.close()
            if stop > PADDING or flaw:
                return chunk

    def _open(self, path: str) -> None:
        """Begin with a file: skip the mark that UTF-8 may begin with, and refuse UTF-16 and UTF-32."""
        self._file, self._begins = TextFile(path), True
        buffer = bytearray(HEAD)
        head = bytes(buffer[: self._file.read_into(memoryview(buffer))])
        if head.startswith((b"\xff\xfe", b"\xfe\xff")) or 1 < head[:4].count(0) < len(head[:4]):
            raise DataError("looks like UTF-16 or UTF-32, expected ASCII or UTF-8 text", self._file.path, 1, 1)
        inside = isinstance(path, Part) and path.start > 0
        self._carry = head if inside else head.removeprefix(b"\xef\xbb\xbf")

    def _flaw_of_carry(self) -> str:
        """Why a line that is not yet complete will never be one."""
        if len(self._carry) <= self.max_line:
            return ""
        if b"\r" in self._carry[:-1]:
            return CR_LINE_ENDS
        return f"line longer than {self.max_line} bytes (--max-line)"

    def close(self) -> None:
        """Close what is open, unless a thread may still be waiting for it to speak."""
        if self._file is not None and self._file.regular:
            self._file.close()
            self._file = None


def _end_of_last_line(text: NDArray[np.uint8], first: int, filled: int) -> int:
    """The place behind the last line end in text[first:filled], or `first`."""
    reach = 1 << 12
    while True:
        start = max(first, filled - reach)
        found = text[start:filled].tobytes().rfind(b"\n")
        if found >= 0 or start == first:
            return start + found + 1
        reach *= 16


def end_of_line(text: NDArray[np.uint8], start: int) -> int:
    """The place behind the first line end from `start` on; there must be one."""
    reach = 1 << 10
    while (found := text[start : start + reach].tobytes().find(b"\n")) < 0:
        reach *= 16
    return start + found + 1


def lines_before(path: str) -> int:
    """Lines of the file that come before what is meant of it."""
    return path.lines_before if isinstance(path, Part) else 0


def lines_here_and_there(path: str) -> bytes:
    """Some lines of a file that can be read from anywhere."""
    if not is_plain(path):
        return b""
    lines: list[bytes] = []
    with open(path, "rb", buffering=0) as file:
        start, stop = (path.start, path.stop) if isinstance(path, Part) else (0, file.seek(0, 2))
        for place in range(1, PLACES):
            here = start + (stop - start) * place // PLACES
            file.seek(here)
            lines += file.read(min(PLACE_BYTES, stop - here)).split(b"\n")[1:-1][:PLACE_LINES]
    return b"".join(line + b"\n" for line in lines)


def split(path: str, pieces: int) -> list[str]:
    """A plain file as up to so many parts of about the same size, cut at line ends; any other file as it is."""
    if pieces <= 1 or not is_plain(path):
        return [path]
    with open(path, "rb") as file:
        first, last = (path.start, path.stop) if isinstance(path, Part) else (0, file.seek(0, 2))
        cuts = [first]
        for piece in range(1, pieces):
            cut = _next_line(file, max(cuts[-1], first + (last - first) * piece // pieces))
            if cuts[-1] < cut < last:
                cuts.append(cut)
    return [Part(path, start, stop) for start, stop in zip(cuts, [*cuts[1:], last], strict=True)]


def _next_line(file: IO[bytes], place: int) -> int:
    """Where the first line behind this place begins."""
    file.seek(place)
    while text := file.read(1 << 16):
        if (found := text.find(b"\n")) >= 0:
            return place + found + 1
        place += len(text)
    return place


def part_name(path: str) -> str:
    """The name of a file, or of a part of it, in messages."""
    name = displayed(path)
    return f"{name}, bytes {path.start:,} to {path.stop:,}" if isinstance(path, Part) else name


def total_size(paths: Sequence[str]) -> int | None:
    """Bytes of the files on disk, or None where one of them can be read but once."""
    sizes = []
    for path in paths:
        if path == STDIN:
            return None
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            return None
        sizes.append(path.stop - path.start if isinstance(path, Part) else status.st_size)
    return sum(sizes)


def fingerprint(paths: Sequence[str]) -> str:
    """The files by name, size and some of their bytes, to recognise them by."""
    total, sample = 0, 0
    for path in paths:
        sample = zlib.crc32(os.fsencode(path), sample)
        if is_regular(path):
            with open(path, "rb", buffering=0) as file:
                size = file.seek(0, 2)
                total += size
                for place in range(SAMPLES + 1):
                    file.seek(max(0, size - SAMPLE_BYTES) * place // SAMPLES)
                    sample = zlib.crc32(file.read(SAMPLE_BYTES), sample)
    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    return f"{shown(paths[0])}{more}, {total} bytes, {sample:08x}"
