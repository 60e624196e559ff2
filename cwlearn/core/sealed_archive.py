"""An `.npz` archive with a checksum.  It is written in one pass and read by array, or by part of an array.

The file is a ZIP archive of `.npy` members that `numpy.load(path, allow_pickle=False)` opens.  Its archive comment is
the SHA-256 of everything before the digest, so a flipped bit, a missing tail or added bytes are detected before any
number is used.  Anyone can compute a new checksum, so the contents of the archive are checked as well: its members must
fill it from the first byte on, without a gap, and each must be as long as its array.
"""

from __future__ import annotations

import hashlib
import os
import struct
import zipfile
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from cwlearn.errors import ModelError

SEAL = b"cwlearn sha256 "
DIGEST_LENGTH = 64
LOCAL_HEADER = struct.Struct("<4s5H3I2H")  # of a member; it ends with the lengths of the name and of the extra field
DESCRIPTOR_LENGTH = 24  # of the checksum and sizes behind a member
DIRECTORY_LIMIT = 1 << 17  # bytes that `zipfile` may read at once; it searches 64 KiB for the list of members
DTYPES = ("|u1", "<i8", "<f4", "<f8")


class Sealer:
    """A write-only stream that replaces the last DIGEST_LENGTH bytes by the digest of those before.

    It has no `seek`, so zipfile writes without going back.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._hash = hashlib.sha256()
        self._held = b""  # the last bytes so far

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        keep = min(len(view), DIGEST_LENGTH)
        ready = self._held[: len(self._held) + keep - DIGEST_LENGTH] if keep < DIGEST_LENGTH else self._held
        for part in (ready, view[: len(view) - keep]):
            self._hash.update(part)
            self._file.write(part)
        self._held = self._held[len(ready) :] + bytes(view[len(view) - keep :])
        return len(view)

    def flush(self) -> None:
        self._file.flush()

    def seal(self) -> None:
        self._file.write(self._hash.hexdigest().encode("ascii"))


def write(file: IO[bytes], members: dict[str, NDArray[Any]]) -> None:
    """Write arrays as a sealed archive; the same arrays make the same bytes."""
    stream = Sealer(file)
    with zipfile.ZipFile(stream, "w") as archive:  # type: ignore[call-overload]
        archive.comment = SEAL + b"0" * DIGEST_LENGTH  # the last thing in the file
        for name, array in members.items():
            info = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
            with archive.open(info, "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, version=(1, 0), allow_pickle=False)
    stream.seal()


def check_seal(file: IO[bytes]) -> None:
    """Refuse a file that has changed since it was written."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - len(SEAL) - DIGEST_LENGTH))
    tail = file.read(len(SEAL) + DIGEST_LENGTH)
    file.seek(0)
    start = file.read(4)
    if not tail.startswith(SEAL) or size <= len(tail):
        if start == b"PK\x03\x04":
            raise ModelError("not a cwlearn model, or one that was cut short, changed or added to")
        raise ModelError("not a cwlearn model")
    file.seek(0)
    digest = hashlib.sha256()
    left = size - DIGEST_LENGTH
    while left:
        block = file.read(min(left, 1 << 20))
        if not block:
            raise ModelError("the file shrank while it was read")
        digest.update(block)
        left -= len(block)
    if digest.hexdigest().encode("ascii") != tail[len(SEAL) :]:
        raise ModelError("damaged: its contents do not match its checksum")


class Member:
    """An array in a file.  It has a type, a shape and lines like a NumPy array, but reads lines on demand."""

    def __init__(self, file: IO[bytes], place: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self._file, self._place = file, place
        self.shape, self.dtype = shape, dtype

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, lines: slice) -> NDArray[Any]:
        start, stop, _ = lines.indices(len(self))
        array: NDArray[Any] = np.empty((max(0, stop - start), *self.shape[1:]), self.dtype)
        left = array.reshape(-1).view(np.uint8).data
        self._file.seek(self._place + start * (array.nbytes // max(1, len(array))))
        while left:
            read = self._file.readinto(left)  # type: ignore[attr-defined]
            if not read:
                raise EOFError("the file shrank while it was read")
            left = left[read:]
        return array

    def reshape(self, size: int) -> Member:
        """All numbers in one dimension; `size` must be -1."""
        assert size == -1
        return Member(self._file, self._place, (_count(self.shape),), self.dtype)


def members(file: IO[bytes]) -> dict[str, Member]:
    """The arrays of an archive; ValueError says what is wrong."""
    with zipfile.ZipFile(_Directory(file)) as archive:
        arrays: dict[str, Member] = {}
        end = 0
        for info in archive.infolist():
            if info.header_offset != end:
                raise ValueError(f"there is something before {info.filename}, or it overlaps another member")
            start = _start(file, info)
            end = start + info.file_size + DESCRIPTOR_LENGTH
            if end > archive.start_dir:
                raise ValueError(f"{info.filename} claims more bytes than the file has")
            name = info.filename.removesuffix(".npy")
            if name in arrays or name == info.filename:
                raise ValueError(f"unexpected member {info.filename}")
            arrays[name] = _member(file, name, start, info.file_size)
        if end != archive.start_dir:
            raise ValueError("there is something behind its members")
    return arrays


class _Directory:
    """A file that lets `zipfile` read a short list of members, and no more."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.seek, self.tell = file.seek, file.tell

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(DIRECTORY_LIMIT + 1 if size < 0 else min(size, DIRECTORY_LIMIT + 1))
        if len(data) > DIRECTORY_LIMIT:
            raise ValueError("its list of members is too long")
        return data


def _start(file: IO[bytes], info: zipfile.ZipInfo) -> int:
    """Where the bytes of a member begin; its two headers must agree."""
    if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size or info.flag_bits & 1:
        raise ValueError(f"{info.filename} is compressed or encrypted")
    file.seek(info.header_offset)
    header = file.read(LOCAL_HEADER.size)
    signature, *_, name_length, more_length = LOCAL_HEADER.unpack(header)
    if signature != b"PK\x03\x04" or file.read(name_length) != info.filename.encode("ascii"):
        raise ValueError(f"there is no {info.filename} where it should be")
    start: int = info.header_offset + len(header) + name_length + more_length
    return start


def _member(file: IO[bytes], name: str, start: int, size: int) -> Member:
    file.seek(start)
    if np.lib.format.read_magic(file) != (1, 0):
        raise ValueError(f"{name} is not an array of version 1.0")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(file)
    place = file.tell()
    plain = not fortran and dtype.str in DTYPES and shape
    if not plain or _count(shape) * dtype.itemsize != start + size - place:
        raise ValueError(f"{name} has an unexpected layout")
    return Member(file, place, shape, dtype)


def _count(shape: tuple[int, ...]) -> int:
    return int(np.prod(shape, dtype=object))
