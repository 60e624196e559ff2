"""Compressed files: recognising them by their first bytes, and reading what they hold."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import IO, Any

from cwlearn.errors import DataError

FORMATS = {  # the bytes that a file begins with, and the end of its name
    "gzip": (b"\x1f\x8b", ".gz"),
    "bzip2": (b"BZh", ".bz2"),
    "xz": (b"\xfd7zXZ\x00", ".xz"),
    "zstandard": (b"\x28\xb5\x2f\xfd", ".zst"),
}
PARQUET, PARQUET_MAGIC = "parquet", b"PAR1"  # a table, which is read as the text that `ParquetText` makes of it
HEAD = 6  # bytes that show the format of a file
COMPRESSED_BYTES = 1 << 18  # that are read at once


def detect_format(head: bytes, path: str) -> str | None:
    """The compression of a file that begins with `head`, or PARQUET; None for plain text.

    A file whose name promises a compression that it does not have is an error.
    """
    detected = next((name for name, (magic, _) in FORMATS.items() if head.startswith(magic)), None)
    if head.startswith(PARQUET_MAGIC):
        return PARQUET
    for name, (_, suffix) in FORMATS.items():
        if path.endswith(suffix) and detected != name:
            raise DataError(f"not {name} data, though its name ends with {suffix}", path)
    return detected


def decompressed(format: str, head: bytes, raw: io.FileIO, path: str) -> io.BufferedIOBase | io.RawIOBase:
    """The text of a compressed file, of which `head` has been read already; `path` is for messages."""
    file = io.BufferedReader(_Rewound(head, raw), COMPRESSED_BYTES)
    if format == "gzip":
        import gzip

        return gzip.GzipFile(fileobj=file)
    if format == "bzip2":
        import bz2

        return _Decompressed(bz2.BZ2Decompressor, file)
    if format == "xz":
        import lzma

        return _Decompressed(lzma.LZMADecompressor, file, padding=b"\0")
    try:
        from compression import zstd  # type: ignore[import-not-found, unused-ignore]  # Python 3.14
    except ImportError:
        try:
            from backports import zstd
        except ImportError:
            raise DataError(
                "Zstandard data: reading them needs the package backports.zstd (pip install 'cwlearn[zstd]')", path
            ) from None
    return _Decompressed(zstd.ZstdDecompressor, file)


class _Rewound(io.RawIOBase):
    """A stream from which some bytes have been read, with these bytes put back."""

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


class _Decompressed(io.RawIOBase):
    """The text of compressed streams that follow one another.

    Unlike the files of the standard library it refuses garbage behind a stream.
    """

    def __init__(self, new_decompressor: Callable[[], Any], file: IO[bytes], padding: bytes = b"") -> None:
        self._new_decompressor, self._file = new_decompressor, file
        self._padding = padding  # bytes that may stand between two streams
        self._decompressor = new_decompressor()
        self._begun = False  # the decompressor has read something

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while True:
            packed = b""
            if self._decompressor.eof:
                packed, self._decompressor = self._decompressor.unused_data, self._new_decompressor()
                self._begun = False
            if not packed and self._decompressor.needs_input:
                packed = self._file.read(COMPRESSED_BYTES)
                if not packed:
                    if self._begun:
                        raise EOFError
                    return 0
            if not self._begun:
                packed = packed.lstrip(self._padding) if self._padding else packed
                self._begun = bool(packed)
                if not packed:
                    continue
            text = self._decompressor.decompress(packed, len(buffer))
            if text:
                buffer[: len(text)] = text
                return len(text)
