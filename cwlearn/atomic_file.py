"""Files that are replaced in one step: written beside the old one, forced to disk, then renamed."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
from collections.abc import Callable
from typing import IO

PREFIX, SUFFIX = ".cwlearn-", ".tmp"  # of temporary files


def replace_file(path: str | os.PathLike[str], write: Callable[[IO[bytes]], None]) -> None:
    """Let `write` fill a temporary file beside `path`, force it to disk, then rename it; on any fault nothing changes,
    but for one of the very last step, when the new file is there and only a power loss could undo that.

    A symbolic link stays, and the file it points to is replaced.
    """
    target = os.path.realpath(os.fspath(path))
    folder = os.path.dirname(target)
    mode = _check_target(path, target)
    _remove_stale(folder)
    temporary = os.path.join(folder, f"{PREFIX}{os.urandom(8).hex()}{SUFFIX}")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
        with os.fdopen(descriptor, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            os.chmod(temporary, stat.S_IMODE(mode))
        os.replace(temporary, target)
        _sync_folder(folder)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError) and error.errno and error.filename in (None, temporary):
            raise OSError(error.errno, error.strerror, os.fspath(path)) from None
        raise


def _remove_stale(folder: str) -> None:
    """What a killed process left behind; no save takes an hour, so nobody is still writing it."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            stale = entry.name.startswith(PREFIX) and entry.name.endswith(SUFFIX)
            if stale and time.time() - entry.stat().st_mtime > 3600:
                os.unlink(entry.path)


def _sync_folder(folder: str) -> None:
    """Make a rename survive a power loss, where folders can be opened at all."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise, before the work and not after it, the error that `replace_file` would end with."""
    target = os.path.realpath(os.fspath(path))
    folder = os.path.dirname(target)
    _check_target(path, target)
    if not os.path.isdir(folder):
        raise FileNotFoundError(errno.ENOENT, "there is no such folder to write to", os.fspath(path))
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, "the folder is not writable", os.fspath(path))


def _check_target(path: str | os.PathLike[str], target: str) -> int | None:
    """The mode of the file that is to be replaced, if there is one; refuse what must not be replaced."""
    if not os.path.exists(target):
        return None
    mode = os.stat(target).st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "a folder, expected the name of a file", os.fspath(path))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "not a regular file, so it cannot be replaced", os.fspath(path))
    if not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, "the file there is read-only", os.fspath(path))
    return mode
