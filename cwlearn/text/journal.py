"""A journal of feedback: the lines that a model has learned, each forced to disk before it is answered.

It is nothing but these lines, in the format that they came in, so that `cwlearn train` can learn from it, too.  The
model file says how many of its bytes the model has learned, and has their hash (`JournalMark`).
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from typing import Self

import numpy as np
from numpy.typing import NDArray

from cwlearn.core.journal_mark import JournalMark
from cwlearn.errors import DataError, shown
from cwlearn.text._svmlight import PADDING
from cwlearn.text.sources import Source
from cwlearn.utils.atomic_file import open_in_place
from cwlearn.utils.lock_file import try_lock

HASHED_AT_ONCE = 1 << 20  # bytes
OPENED = os.O_RDWR | os.O_APPEND | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


class Journal:
    """An open journal, locked, at the end of what is known to be learned."""

    def __init__(self, path: str, descriptor: int) -> None:
        self.path, self._descriptor = path, descriptor
        self.size = 0  # bytes that are hashed
        self._hash = hashlib.sha256()

    @classmethod
    def opened(cls, path: str, model: str, mark: JournalMark | None, new: bool = False) -> Self:
        """Open the journal of a model, which says what it has learned of it.

        A journal that is not the model's is an error, and nothing is changed.  `new` begins another one.
        """
        if new:
            mark = None
        exists = os.path.exists(path)
        if mark is not None and mark.bytes and not exists:
            raise DataError(
                f"there is no such journal, and {shown(model)} has learned {mark.bytes:,} bytes of one: give its name, "
                f"or begin another with `new_journal`",
                path,
            )
        descriptor = open_in_place(path, OPENED | os.O_CREAT)
        journal = cls(path, descriptor)
        try:
            journal._check_file()
            journal._check_beginning(model, mark, new)
            if not exists:
                _sync_folder(os.path.dirname(os.path.abspath(path)))
        except BaseException:
            journal.close()
            raise
        return journal

    def _check_file(self) -> None:
        status = os.fstat(self._descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise DataError("not a regular file, as a journal must be", self.path)
        if not try_lock(self._descriptor):
            raise DataError("another process writes to this journal: end it first, or give another journal", self.path)

    def _check_beginning(self, model: str, mark: JournalMark | None, new: bool) -> None:
        """Refuse a journal that does not begin with what the model has learned."""
        size = os.fstat(self._descriptor).st_size
        if new and size:
            raise DataError("a new journal must be empty: give another name", self.path)
        if mark is None or not mark.bytes:
            if size and (mark is None or mark.file != self._file):
                raise DataError(
                    f"this journal has lines, and {shown(model)} knows nothing of it: give the model that it belongs "
                    f"to, or another journal. `cwlearn train --resume` learns its lines as new ones",
                    self.path,
                )
            return
        self._hash_up_to(min(mark.bytes, size))
        if self.size < mark.bytes or self._hash.hexdigest() != mark.sha256:
            raise DataError(
                f"this journal does not begin with the {mark.bytes:,} bytes that {shown(model)} has learned: it was "
                f"changed, or belongs to another model. Restore it, or begin another with `new_journal`; nothing was "
                f"changed",
                self.path,
            )

    def _hash_up_to(self, stop: int) -> None:
        while self.size < stop and (text := self._read(self.size, min(stop - self.size, HASHED_AT_ONCE))):
            self._hash.update(text)
            self.size += len(text)

    def _read(self, start: int, size: int) -> bytes:
        os.lseek(self._descriptor, start, os.SEEK_SET)
        return os.read(self._descriptor, size)

    @property
    def _file(self) -> str:
        status = os.fstat(self._descriptor)
        return f"{status.st_dev}:{status.st_ino}"

    def mark(self) -> JournalMark:
        """What a model has learned that has learned all of it."""
        return JournalMark(self.size, self._hash.hexdigest(), self._file)

    def rest(self, end_of_last_record: Callable[[NDArray[np.uint8], int, int], int]) -> Source | None:
        """The lines that the model has not learned yet; a torn one at the end, which was never answered, is dropped."""
        start, size = self.size, os.fstat(self._descriptor).st_size
        if size == start:
            return None
        text = np.zeros(size - start + 2 * PADDING, np.uint8)
        filled = PADDING
        while filled < len(text) - PADDING and (part := self._read(start + filled - PADDING, HASHED_AT_ONCE)):
            text[filled : filled + len(part)] = np.frombuffer(part, np.uint8)
            filled += len(part)
        stop = start
        if (text == ord("\n")).any():  # else its format may be unknown
            stop += end_of_last_record(text, PADDING, filled) - PADDING
        if stop < size:
            os.ftruncate(self._descriptor, stop)
            os.fsync(self._descriptor)
        self._hash_up_to(stop)
        return Source(self.path, start, stop) if stop > start else None

    def append(self, lines: bytes) -> None:
        """Force lines to disk.  If that fails, the journal is as it was, and the error says what to do."""
        if os.fstat(self._descriptor).st_size != self.size:
            raise DataError("another program has changed this journal: restore it, and start again", self.path)
        left = memoryview(lines)
        try:
            while left:
                left = left[os.write(self._descriptor, left) :]
            os.fsync(self._descriptor)
        except OSError as error:
            with suppress(OSError):
                os.ftruncate(self._descriptor, self.size)
                os.fsync(self._descriptor)
            reason = f"{error.strerror}; the lines without an answer were not learned: make room, and start again"
            raise OSError(error.errno, reason, self.path) from None
        self._hash.update(lines)
        self.size += len(lines)

    def close(self) -> None:
        os.close(self._descriptor)


def _sync_folder(folder: str) -> None:
    """Make a new file survive a power loss, where folders can be opened."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
