"""Files, pipes and compressed files as one stream of whole lines.

Text is read, not mapped into memory: a file that shrinks under a map kills the process that reads it.
"""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from cwlearn._svmlight import PADDING
from cwlearn.errors import DataError, shown

STDIN = "-"
FORMATS = {
    "gzip": (b"\x1f\x8b", ".gz"),
    "bzip2": (b"BZh", ".bz2"),
    "xz": (b"\xfd7zXZ\x00", ".xz"),
    "zstandard": (b"\x28\xb5\x2f\xfd", ".zst"),
}
HEAD = 6  # bytes that tell what a file is


@dataclass
class Chunk:
    """Whole lines of one file: text[start:stop], between paddings."""

    text: NDArray[np.uint8]
    stop: int
    path: str
    begins: bool  # the first chunk of its file
    plain: bool  # its file is not compressed
    position: int  # bytes of all files read so far, as they are on disk
    too_long: bool = False  # no line, but the beginning of one that is longer than allowed
    start: int = PADDING

    @property
    def lines(self) -> list[bytes]:
        return self.text[self.start : self.stop].tobytes().split(b"\n")


class TextFile:
    """One source of bytes; `path` may be "-" for standard input."""

    def __init__(self, path: str) -> None:
        self.path = "<stdin>" if path == STDIN else path
        self._raw = io.FileIO(0, closefd=False) if path == STDIN else io.FileIO(path)
        status = os.fstat(self._raw.fileno())
        self.regular = stat.S_ISREG(status.st_mode)
        self.size = status.st_size if self.regular else 0
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
        head = b""
        while len(head) < HEAD and (more := self._raw.read(HEAD - len(head))):
            head += more
        return head

    def read_into(self, view: memoryview) -> int:
        """Fill the view as far as the text goes."""
        done = min(len(self.head), len(view))
        view[:done] = self.head[:done]
        self.head = self.head[done:]
        with self._damage_explained():
            while done < len(view) and (more := self._stream.readinto(view[done:])):
                done += more
        if done < len(view) and self.regular and os.fstat(self._raw.fileno()).st_size < self.size:
            raise DataError("the file shrank while it was read", self.path)
        return done

    @contextmanager
    def _damage_explained(self) -> Iterator[None]:
        try:
            yield
        except EOFError:
            raise DataError(f"truncated {self.format} data", self.path) from None
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


def is_plain(path: str) -> bool:
    """Whether the file can be read from anywhere as it is."""
    if path == STDIN or not stat.S_ISREG(os.stat(path).st_mode):
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


def _decompressed(format: str, file: IO[bytes], path: str) -> Any:
    if format == "gzip":
        import gzip

        return gzip.GzipFile(fileobj=file)
    if format == "bzip2":
        import bz2

        return bz2.BZ2File(file)
    if format == "xz":
        import lzma

        return lzma.LZMAFile(file)
    try:
        from compression import zstd  # type: ignore[import-not-found, unused-ignore]  # Python 3.14
    except ImportError:
        try:
            from backports import zstd
        except ImportError:
            raise DataError(
                "Zstandard data: reading them needs the package backports.zstd (pip install 'cwlearn[zstd]')", path
            ) from None
    return zstd.ZstdFile(file)


class Lines:
    """The text of several files in chunks of whole lines; a file without a line end at its end is given one."""

    def __init__(self, paths: Sequence[str], chunk_bytes: int, max_line: int) -> None:
        self.chunk_bytes, self.max_line = chunk_bytes, max_line
        self._paths = list(paths)
        self._file: TextFile | None = None
        self._carry = b""  # the beginning of the line that the last chunk stopped before
        self._begins = False
        self._before = 0  # size of the files that are done

    def new_buffer(self) -> NDArray[np.uint8]:
        return np.empty(self.chunk_bytes + 2 * PADDING, np.uint8)

    def next_chunk(self, text: NDArray[np.uint8]) -> Chunk | None:
        """The next lines, in `text` or, where one line does not fit into it, in a larger buffer; None at the end."""
        while True:
            if self._file is None:
                if not self._paths:
                    return None
                self._file = TextFile(self._paths.pop(0))
                self._begins = True
                self._check_encoding(self._file)
            filled = PADDING + len(self._carry)
            if filled + 1 + PADDING > len(text):
                text = np.empty(2 * filled + PADDING, np.uint8)
            text[PADDING:filled] = np.frombuffer(self._carry, np.uint8)
            room = len(text) - PADDING - 1  # for a line end that may have to be added
            filled += self._file.read_into(memoryview(text)[filled:room])  # type: ignore[arg-type]
            ended = filled < room
            stop = filled if ended else _end_of_last_line(text, PADDING, filled)
            self._carry = text[stop:filled].tobytes()
            if stop == PADDING and not ended:
                if filled - PADDING > self.max_line:
                    return Chunk(text, stop, self._file.path, self._begins, True, 0, too_long=True)
                if b"\r" not in self._carry[:-1]:
                    continue  # a line longer than the buffer: try one of twice its size
                stop, self._carry = filled, b""  # lines that end with CR only: let the parser find that out
            if stop > PADDING and text[stop - 1] != ord("\n"):
                text[stop] = ord("\n")
                stop += 1
            text[stop : stop + PADDING] = 0
            file = self._file
            chunk = Chunk(text, stop, file.path, self._begins, file.format is None, self._before + file.position)
            self._begins = False
            if ended:
                self._before += self._file.size
                self._file.close()
                self._file = None
            if stop > PADDING:
                return chunk

    def _check_encoding(self, file: TextFile) -> None:
        """Skip the mark that UTF-8 may begin with; refuse UTF-16."""
        head = bytearray(HEAD)
        self._carry = bytes(head[: file.read_into(memoryview(head))])
        if self._carry.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise DataError("looks like UTF-16, expected ASCII or UTF-8 text", file.path, 1, 1)
        self._carry = self._carry.removeprefix(b"\xef\xbb\xbf")

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


def total_size(paths: Sequence[str]) -> int | None:
    """Bytes of the files on disk, or None where one of them can be read but once."""
    sizes = []
    for path in paths:
        status = os.fstat(0) if path == STDIN else os.stat(path)
        if not stat.S_ISREG(status.st_mode) or path == STDIN:
            return None
        sizes.append(status.st_size)
    return sum(sizes)


def described(paths: Sequence[str]) -> list[list[Any]]:
    """The files by name and size, to recognise them by."""
    return [[shown(path), 0 if path == STDIN else os.stat(path).st_size] for path in paths]
