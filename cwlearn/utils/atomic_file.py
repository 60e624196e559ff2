"""Files that are replaced in one step: written beside the old one, forced to disk, then renamed.

Others may write to the same folder, and may mean harm.  So a path is walked folder by folder, and all that is done is
done in the folder that was found and is held open; no link is followed that anybody could have put there; and the new
file gives nobody a right that the old one did not give, nor for the time in which it is written.  Owner, group and mode
are kept, as far as we may; access control lists and extended attributes are not.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import IO

from cwlearn.errors import shown

if sys.platform != "win32":
    import fcntl

PREFIX, SUFFIX = ".cwlearn-", ".tmp"  # of temporary files
STALE = 3600  # seconds without a write; by then a process that lives has locked its file
MOST_LINKS = 40  # on a path, as in Linux
TRIAL = bytes(4096)  # more than a file system may hide in the entry of a folder
NO_LINK = getattr(os, "O_NOFOLLOW", 0)
# To pass through a folder one needs no right to list it, where the system can tell the two apart.
FOLDER = NO_LINK | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_PATH", os.O_RDONLY)
NEW_FILE = NO_LINK | os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)


def replace_file(path: str | os.PathLike[str], write: Callable[[IO[bytes]], None], keep: bool = False) -> None:
    """Let `write` fill a temporary file beside `path`, force it to disk, then rename it; on any fault nothing changes,
    but for one of the very last step, when the new file is there and only a power loss could undo that.

    A symbolic link stays, and the file it points to is replaced.  With `keep`, a file that is whole but cannot have the
    name stays under another one, and the error says which.
    """
    with _found(path) as place:
        place.remove_stale()
        name, descriptor = place.new_file()
        whole = False
        try:
            with _named(path, None, name), _held(descriptor):
                with os.fdopen(descriptor, "wb") as file:
                    write(file)
                    file.flush()
                    place.make_alike(file.fileno())
                    os.fsync(file.fileno())
                whole = True
                place.rename(name, place.name)
        except BaseException as error:
            if whole and keep and isinstance(error, OSError):
                reason = f"{error.strerror}; what was to stand there is in {shown(place.put_aside(name))}"
                raise OSError(error.errno, reason, os.fspath(path)) from None
            place.remove(name)
            raise
        with _named(path):
            place.sync()


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise, before the work and not after it, the error that `replace_file` would end with: do all that it does up to
    the renaming, and ask whether that would be allowed."""
    with _found(path) as place, _named(path):
        name, descriptor = place.new_file()
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(TRIAL)
                file.flush()
                place.make_alike(file.fileno())
        except BaseException:
            place.remove(name)
            raise
        os.unlink(name, dir_fd=place.folder)  # a rename takes a name away, too, so it must be allowed
        place.check_replaceable()


def new_file_like(path: str, folder: str) -> str:
    """The path of a new, empty file for us alone, which has about the name of another one."""
    place = os.path.join(os.path.abspath(folder), _name_like(path))
    os.close(os.open(place, NEW_FILE, 0o600))
    return place


def _name_like(path: str) -> str:
    """The name of a path with some digits more, so that no other file has it, and cut where it is long."""
    stem, ending = os.path.splitext(os.path.basename(path))
    return f"{stem[:40]}-{os.urandom(4).hex()}{ending[:10]}"  # a letter has four bytes at most, a name 255


@contextmanager
def _named(path: str | os.PathLike[str], *names: str | None) -> Iterator[None]:
    """Let errors of the system have the path that a user knows in place of these names, or of any."""
    try:
        yield
    except OSError as error:
        if error.errno and (not names or error.filename in names):
            raise OSError(error.errno, error.strerror, os.fspath(path)) from None
        raise


@contextmanager
def _found(path: str | os.PathLike[str]) -> Iterator[_Place]:
    """The place that a path leads to."""
    with _named(path):
        folder, name = _walk(os.fspath(path))
    try:
        with _named(path):
            old = _file_at(folder, name)
        yield _Place(os.fspath(path), folder, name, old)
    finally:
        _close(folder)


def _walk(path: str) -> tuple[int | None, str]:
    """The folder that a path leads to, opened, and the name in it; where that cannot be done, None and a whole path."""
    if os.open not in os.supports_dir_fd:
        return None, os.path.realpath(path)
    folder, ahead, links = os.open(_start(path), FOLDER), _parts(path), 0
    try:
        while True:
            name = ahead.pop() if ahead else os.curdir
            link = _link_at(folder, name)
            if link is not None:
                links += 1
                if links > MOST_LINKS:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
                ahead += _parts(link)
                name = _start(link)
            elif not ahead:
                return folder, name
            try:
                folder, left = os.open(name, FOLDER, dir_fd=folder), folder
            except FileNotFoundError as error:
                raise OSError(error.errno, "there is no such folder to write to") from None
            _close(left)
    except BaseException:
        _close(folder)
        raise


def _start(path: str) -> str:
    return os.sep if os.path.isabs(path) else os.curdir


def _parts(path: str) -> list[str]:
    """The names on a path, the last one first."""
    return [name for name in reversed(path.split(os.sep)) if name not in ("", os.curdir)]


def _link_at(folder: int, name: str) -> str | None:
    """What a symbolic link says, if this is one that may be followed: not one of somebody who has no say here but that
    all may write to the folder (Linux heeds that, too, if /proc/sys/fs/protected_symlinks tells it to)."""
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if not stat.S_ISLNK(found.st_mode):
        return None
    if _is_strange(found, os.fstat(folder), stat.S_IWOTH):
        what = f"the link '{shown(name)}' is another user's, in a folder that all may write to"
        raise OSError(errno.EACCES, f"{what}: it is not followed")
    return os.readlink(name, dir_fd=folder)


def _is_strange(found: os.stat_result, folder: os.stat_result, open_to_all: int) -> bool:
    """Whether something in a folder of such a mode is neither ours nor that of the folder's owner."""
    return folder.st_mode & open_to_all == open_to_all and found.st_uid not in (os.geteuid(), folder.st_uid)


def _file_at(folder: int | None, name: str) -> os.stat_result | None:
    """The file that is to be replaced, if there is one; refuse what must not be replaced."""
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(found.st_mode):
        raise OSError(errno.EISDIR, "a folder, expected the name of a file")
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "not a regular file, so it cannot be replaced")
    # Its owner may want to have what we write, since that stays his.
    if folder is not None and _is_strange(found, os.fstat(folder), stat.S_IWOTH | stat.S_ISVTX):
        what = "the file there is another user's, in a folder that all may write to"
        raise OSError(errno.EACCES, f"{what}: it is not replaced")
    if not os.access(name, os.W_OK, dir_fd=folder):
        raise OSError(errno.EACCES, "the file there is read-only")
    return found


@dataclass
class _Place:
    """Where a file is to stand."""

    path: str  # as it was given
    folder: int | None  # held open; None: `name` is a path
    name: str
    old: os.stat_result | None  # the file that is to be replaced

    def beside(self, name: str) -> str:
        return os.path.join(os.path.dirname(self.name), name)

    def new_file(self) -> tuple[str, int]:
        """A temporary file, opened; if its rights will not be those of any new file, it is for us alone at first."""
        name = self.beside(f"{PREFIX}{os.urandom(8).hex()}{SUFFIX}")
        with _named(self.path):
            try:
                return name, os.open(name, NEW_FILE, 0o666 if self.old is None else 0o600, dir_fd=self.folder)
            except PermissionError as error:
                raise OSError(error.errno, "the folder is not writable") from None

    def make_alike(self, descriptor: int) -> None:
        """Give a file the group, mode and owner of the old one; but where we may not give it the group, that has no
        rights, nor do others have any that the group did not have.  Nobody becomes somebody else by running it."""
        if sys.platform == "win32" or self.old is None:
            return
        mode = self.old.st_mode & 0o777
        with suppress(OSError):
            os.fchown(descriptor, -1, self.old.st_gid)
        if os.fstat(descriptor).st_gid != self.old.st_gid:
            mode &= 0o700 | mode >> 3 & 0o007
        os.fchmod(descriptor, mode)
        with suppress(OSError):  # only an administrator may
            os.fchown(descriptor, self.old.st_uid, -1)

    def rename(self, name: str, new_name: str) -> None:
        os.replace(name, new_name, src_dir_fd=self.folder, dst_dir_fd=self.folder)

    def remove(self, name: str) -> None:
        with suppress(OSError):
            os.unlink(name, dir_fd=self.folder)

    def put_aside(self, name: str) -> str:
        """Let a temporary file stay, under a better name if it can have one; return its path."""
        new_name = self.beside(_name_like(self.path))
        try:
            self.rename(name, new_name)
        except OSError:
            new_name = name
        return os.path.join(os.path.dirname(os.path.realpath(self.path)), os.path.basename(new_name))

    def check_replaceable(self) -> None:
        """Ask whether a file may be renamed over the old one, which nobody can try without doing it."""
        if sys.platform == "win32" or self.old is None:
            return
        try:
            # It is no folder, so this removes nothing.  But systems first look whether they would let us: whose it and
            # the folder are, whether one of them is protected, and whether all of it is.
            os.rmdir(self.name, dir_fd=self.folder)
        except NotADirectoryError:
            pass
        except OSError as error:
            raise OSError(error.errno, f"the file there may not be replaced: {error.strerror}") from None
        if self.folder is not None and hasattr(os, "O_PATH"):
            descriptor = os.open(self.name, os.O_PATH | os.O_NOFOLLOW, dir_fd=self.folder)
            try:
                if _mount_of(descriptor) != _mount_of(self.folder):
                    raise OSError(errno.EBUSY, "the file there is a mount point, which cannot be replaced")
            finally:
                _close(descriptor)

    def remove_stale(self) -> None:
        """What killed processes of ours left behind; a file that somebody writes is locked."""
        with suppress(OSError), self._listable() as folder, os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.startswith(PREFIX) and entry.name.endswith(SUFFIX):
                    with suppress(OSError):
                        self._remove_if_stale(self.beside(entry.name))

    def _remove_if_stale(self, name: str) -> None:
        found = os.stat(name, dir_fd=self.folder, follow_symlinks=False)
        if not stat.S_ISREG(found.st_mode) or time.time() - found.st_mtime <= STALE:
            return
        if sys.platform == "win32":
            os.unlink(name)  # which fails if it is open
        elif found.st_uid == os.geteuid():
            descriptor = os.open(name, os.O_WRONLY | os.O_NONBLOCK | NO_LINK, dir_fd=self.folder)
            try:
                if _lock(descriptor):
                    os.unlink(name, dir_fd=self.folder)
            finally:
                _close(descriptor)

    def sync(self) -> None:
        """Make a rename survive a power loss, where folders can be opened."""
        with suppress(PermissionError), self._listable() as folder:
            if isinstance(folder, int):
                os.fsync(folder)

    @contextmanager
    def _listable(self) -> Iterator[int | str]:
        """The folder as something that can be listed and forced to disk."""
        if self.folder is None:
            yield os.path.dirname(self.name)
            return
        descriptor = os.open(os.curdir, os.O_RDONLY, dir_fd=self.folder)
        try:
            yield descriptor
        finally:
            _close(descriptor)


def _mount_of(descriptor: int) -> str | None:
    """What Linux calls the mount that an open file is on."""
    with suppress(OSError), open(f"/proc/self/fdinfo/{descriptor}") as lines:
        return next((line for line in lines if line.startswith("mnt_id:")), None)
    return None


@contextmanager
def _held(descriptor: int) -> Iterator[None]:
    """Keep a file locked, though it is closed meanwhile: what is locked is not stale."""
    if sys.platform == "win32":
        yield
        return
    same = os.dup(descriptor)
    try:
        _lock(same)
        yield
    finally:
        _close(same)


def _lock(descriptor: int) -> bool:
    """Take the lock of a file, unless somebody has it; where the file system has no locks, say that nobody does."""
    if sys.platform != "win32":
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            pass
    return True


def _close(descriptor: int | None) -> None:
    """Close what nothing was written to: there is nothing that could be lost."""
    if descriptor is not None:
        with suppress(OSError):
            os.close(descriptor)
