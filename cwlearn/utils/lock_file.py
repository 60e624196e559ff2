"""Locks between processes: a file that only one of them may hold."""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

if sys.platform != "win32":
    import fcntl

OPENED = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


class HeldError(OSError):
    """Another process has the lock; `holder` is its number, if it is known."""

    def __init__(self, path: str, holder: str) -> None:
        super().__init__(f"{path} is locked")
        self.path, self.holder = path, holder


@contextmanager
def held_lock(path: str) -> Iterator[None]:
    """Hold a lock file until the end, and remove it then.  A killed process leaves the file, but not the lock."""
    descriptor = _locked(path)
    try:
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()}\n".encode())
        yield
    finally:
        with suppress(OSError):
            os.unlink(path)  # while it is locked: whoever waits for it looks whether it is still there
        os.close(descriptor)


def _locked(path: str) -> int:
    """The lock file, open and locked."""
    while True:
        descriptor = os.open(path, OPENED, 0o644)
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:  # another name of it would lose what it has
                raise OSError(errno.EINVAL, "not a lock file, which has one name and is a regular file", path)
            if not try_lock(descriptor):
                raise HeldError(path, os.read(descriptor, 20).decode("ascii", "replace").strip())
            with suppress(FileNotFoundError):
                if os.path.samestat(os.stat(path, follow_symlinks=False), os.fstat(descriptor)):
                    return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # its holder has removed it meanwhile


def try_lock(descriptor: int) -> bool:
    """Lock an open file; False if another process holds the lock.  True where the file system has no locks."""
    if sys.platform != "win32":
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            pass
    return True
