"""Where text comes from: a file, some bytes of a file, a pipe or standard input."""

from __future__ import annotations

import os
import stat
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import IO

from cwlearn.errors import shown
from cwlearn.text.compression import HEAD, PARQUET_MAGIC, detect_format

STDIN = "-"
FINGERPRINT_PLACES, FINGERPRINT_BYTES = 64, 1 << 12  # of a file, that tell it from another
SAMPLE_PLACES = 64  # of a file, at which some lines are read to find labels
SAMPLE_BYTES = 1 << 14  # that are read at each of them
LONGEST_SEARCH = 1 << 26  # bytes in which a line must end for a file to be cut there
SAMPLE_LINES = 16  # of which so many lines are kept


@dataclass(frozen=True)
class Source:
    """A file, or whole lines of it: the bytes from `start` to `stop`.  The path "-" is standard input."""

    path: str
    start: int = 0
    stop: int | None = None  # None: the end of the file
    whole: bool = True  # False: the last line may be cut at `stop`, and is left out

    @property
    def name(self) -> str:
        """The name of the file in messages."""
        return "<stdin>" if self.path == STDIN else self.path

    @property
    def full_name(self) -> str:
        """The name in messages, with the bytes that are meant."""
        return self.name if self.stop is None else f"{self.name}, bytes {self.start:,} to {self.stop:,}"

    @property
    def is_regular(self) -> bool:
        """Whether it is a file on disk, which can be read again and never makes its reader wait for long."""
        return self.path != STDIN and os.path.isfile(self.path)

    @property
    def is_plain(self) -> bool:
        """Whether it is a file that can be read from any place, since it is not compressed."""
        if not self.is_regular:
            return False
        with self._opened() as file:
            file.seek(self.start)
            return detect_format(file.read(HEAD), self.path) is None

    @property
    def is_table(self) -> bool:
        """Whether it is a Parquet file."""
        return self.is_regular and self.head(len(PARQUET_MAGIC)) == PARQUET_MAGIC

    @property
    def size(self) -> int | None:
        """Bytes on disk, None where it can be read only once."""
        if self.path == STDIN:
            return None
        status = os.stat(self.path)
        if not stat.S_ISREG(status.st_mode):
            return None
        return (status.st_size if self.stop is None else self.stop) - self.start

    @cached_property
    def lines_before(self) -> int:
        """Lines of the file before `start`.  They are counted only if something is wrong with a line."""
        count, left = 0, self.start
        if left:
            with self._opened() as file:
                while left and (text := file.read(min(left, 1 << 20))):
                    count, left = count + text.count(b"\n"), left - len(text)
        return count

    def split(self, pieces: int) -> list[Source]:
        """A plain file as up to `pieces` sources of about the same size, cut at line ends; any other file as it is."""
        if pieces <= 1 or not self.is_plain:
            return [self]
        with self._opened() as file:
            first, last = self._range(file)
            cuts = [first]
            for piece in range(1, pieces):
                cut = _next_line(file, max(cuts[-1], first + (last - first) * piece // pieces))
                if cuts[-1] < cut < last:
                    cuts.append(cut)
        return [Source(self.path, start, stop) for start, stop in zip(cuts, [*cuts[1:], last], strict=True)]

    def head(self, size: int) -> bytes:
        """The first bytes of its file."""
        with self._opened() as file:
            return file.read(size)

    def sample(self) -> bytes:
        """Some lines from all over a plain file, nothing of any other file."""
        if not self.is_plain:
            return b""
        lines: list[bytes] = []
        with self._opened() as file:
            first, last = self._range(file)
            for place in range(1, SAMPLE_PLACES):
                here = first + (last - first) * place // SAMPLE_PLACES
                file.seek(here)
                lines += file.read(min(SAMPLE_BYTES, last - here)).split(b"\n")[1:-1][:SAMPLE_LINES]
        return b"".join(line + b"\n" for line in lines)

    @contextmanager
    def _opened(self) -> Iterator[IO[bytes]]:
        """Its file.  An error while it is read names it, too."""
        try:
            with open(self.path, "rb", buffering=0) as file:
                yield file
        except OSError as error:
            raise OSError(error.errno, error.strerror, self.path) from None

    def _range(self, file: IO[bytes]) -> tuple[int, int]:
        """The first byte that is meant, and the place behind the last one."""
        return self.start, file.seek(0, 2) if self.stop is None else self.stop


def _next_line(file: IO[bytes], place: int) -> int:
    """The beginning of the first line behind this place; the end of the file, if it is very far away."""
    file.seek(place)
    last = place + LONGEST_SEARCH
    while place < last and (text := file.read(1 << 16)):
        if (line_end := text.find(b"\n")) >= 0:
            return place + line_end + 1
        place += len(text)
    return file.seek(0, os.SEEK_END)


Path = str | bytes | os.PathLike[str] | Source
Paths = Path | Iterable[Path]


def as_source(path: Path) -> Source:
    return path if isinstance(path, Source) else Source(os.fsdecode(path))


def as_sources(paths: Paths) -> list[Source]:
    """One path, or several, as sources."""
    if isinstance(paths, (str, bytes, os.PathLike, Source)):
        return [as_source(paths)]
    if hasattr(paths, "read"):
        raise TypeError(f"expected a path, or a list of paths, got an open file: {paths!r}")
    return [as_source(path) for path in paths]


def total_size(sources: Sequence[Source]) -> int | None:
    """Bytes of the files on disk, or None where one of them can be read only once."""
    total = 0
    for source in sources:
        size = source.size
        if size is None:
            return None
        total += size
    return total


def fingerprint(sources: Sequence[Source]) -> str:
    """The files by name, size and some of their bytes, to recognise them by."""
    total, checksum = 0, 0
    for source in sources:
        checksum = zlib.crc32(os.fsencode(source.path), checksum)
        if source.is_regular:
            with open(source.path, "rb", buffering=0) as file:
                size = file.seek(0, 2)
                total += size
                for place in range(FINGERPRINT_PLACES + 1):
                    file.seek(max(0, size - FINGERPRINT_BYTES) * place // FINGERPRINT_PLACES)
                    checksum = zlib.crc32(file.read(FINGERPRINT_BYTES), checksum)
    more = f" and {len(sources) - 1} more" if len(sources) > 1 else ""
    return f"{shown(sources[0].path)}{more}, {total} bytes, {checksum:08x}"
