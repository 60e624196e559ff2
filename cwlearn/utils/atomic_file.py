"""Files that are replaced in one step: written beside the old file, forced to disk, then renamed.

Other users may be able to write to the same folder, with bad intent.  Therefore:

- A path is walked folder by folder, and the last folder stays open while the file is written and renamed in it.
- A symbolic link is not followed if another user could have put it there.
- The new file gives nobody a right that the old one did not give, not even while it is written.

Owner, group and mode of the old file are kept where the system permits it; access control lists and extended attributes
are not.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import IO

from cwlearn.errors import shown
from cwlearn.utils.lock_file import try_lock

PREFIX, SUFFIX = ".cwlearn-", ".tmp"  # of temporary files
STALE_SECONDS = 3600  # without a write; a live process has locked its temporary file long before
MAX_LINKS = 40  # on a path, as in Linux
TRIAL = bytes(4096)  # some file systems store less than this in the directory entry itself
NO_LINK = getattr(os, "O_NOFOLLOW", 0)
# Passing through a folder needs no right to list it, where the system distinguishes the two (O_PATH).
FOLDER = NO_LINK | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_PATH", os.O_RDONLY)
NEW_FILE = NO_LINK | os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)


@contextmanager
def replaced_file(path: str | os.PathLike[str], keep: bool = False) -> Iterator[IO[bytes]]:
    """Yield a temporary file beside `path`; at the end, force it to disk and rename it to `path`.

    After an error the old file is unchanged.  The one exception is an error of the very last step, which forces the
    folder to disk: then the new file is in place, and only a power loss could undo that.

    If `path` is a symbolic link, the link stays and its target is replaced.  With `keep`, a complete file that cannot
    be renamed to `path` stays under another name, which the error tells.
    """
    with _located(path) as target:
        target.remove_stale()
        name, complete = target.temporary_name(), False
        try:
            descriptor = target.create(name)
            with _errors_name(path, None, name), _locked(descriptor):
                with os.fdopen(descriptor, "wb") as file:
                    yield file
                    file.flush()
                    target.copy_rights_to(file.fileno())
                    os.fsync(file.fileno())
                complete = True
                target.rename(name, target.name)
        except BaseException as error:
            if complete and keep and isinstance(error, OSError):
                reason = f"{error.strerror}; what was to stand there is in {shown(target.put_aside(name))}"
                raise OSError(error.errno, reason, os.fspath(path)) from None
            target.remove(name)
            raise
        with _errors_name(path):
            target.sync_folder()


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise now, before the work, the error that `replaced_file` would raise at its end.

    This does everything that `replaced_file` does up to the rename, and asks whether the rename would be permitted.
    """
    with _located(path) as target, _errors_name(path):
        name = target.temporary_name()
        try:
            with os.fdopen(target.create(name), "wb") as file:
                file.write(TRIAL)
                file.flush()
                target.copy_rights_to(file.fileno())
        except BaseException:
            target.remove(name)
            raise
        os.unlink(name, dir_fd=target.folder)  # a rename removes a name as well, so this must be permitted
        target.check_replaceable()


def open_in_place(path: str | os.PathLike[str], flags: int, mode: int = 0o666) -> int:
    """Open a file that is written where it is, such as a journal; return its descriptor.

    As in `replaced_file`, links and files of other users are refused where these could have put them.
    """
    with _errors_name(path):
        if not os.path.basename(path):
            raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
        folder, name = _open_folder_of(os.fspath(path))
        try:
            descriptor = os.open(name, flags | NO_LINK, mode, dir_fd=folder)
            try:
                open_to_all = stat.S_IWOTH | stat.S_ISVTX
                if folder is not None and _is_foreign(os.fstat(descriptor), os.fstat(folder), open_to_all):
                    what = "the file there is another user's, in a folder that all may write to"
                    raise OSError(errno.EACCES, f"{what}: it is not written to")
            except BaseException:
                os.close(descriptor)
                raise
            return descriptor
        finally:
            _close(folder)


def new_file_like(path: str, folder: str) -> str:
    """Create an empty file in `folder` that only this user can read, named after `path`; return its path."""
    new_path = os.path.join(os.path.abspath(folder), _unique_name_like(path))
    os.close(os.open(new_path, NEW_FILE, 0o600))
    return new_path


def _unique_name_like(path: str) -> str:
    """The file name of `path`, shortened, with random digits added."""
    stem, ending = os.path.splitext(os.path.basename(path))
    return f"{stem[:40]}-{os.urandom(4).hex()}{ending[:10]}"  # a character has at most 4 bytes, a name at most 255


@contextmanager
def _errors_name(path: str | os.PathLike[str], *names: str | None) -> Iterator[None]:
    """Make errors of the system name `path`, which the user knows, instead of one of `names`, or of any name."""
    try:
        yield
    except OSError as error:
        if error.errno and (not names or error.filename in names):
            raise OSError(error.errno, error.strerror, os.fspath(path)) from None
        raise


@contextmanager
def _located(path: str | os.PathLike[str]) -> Iterator[_Target]:
    """The place that a path leads to, with its folder open."""
    with _errors_name(path):
        folder, name = _open_folder_of(os.fspath(path))
    try:
        with _errors_name(path):
            old = _replaceable_file(folder, name)
        yield _Target(os.fspath(path), folder, name, old)
    finally:
        _close(folder)


def _open_folder_of(path: str) -> tuple[int | None, str]:
    """Follow a path; return its folder, opened, and the name in it.

    Where the system cannot open files relative to a folder, return None and the whole path.
    """
    if os.open not in os.supports_dir_fd:
        return None, os.path.realpath(path)
    folder, names_ahead, n_links = os.open(_start(path), FOLDER), _reversed_names(path), 0
    try:
        while True:
            name = names_ahead.pop() if names_ahead else os.curdir
            link_target = _link_target(folder, name)
            if link_target is not None:
                n_links += 1
                if n_links > MAX_LINKS:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
                names_ahead += _reversed_names(link_target)
                name = _start(link_target)
            elif not names_ahead:
                return folder, name
            try:
                folder, parent = os.open(name, FOLDER, dir_fd=folder), folder
            except FileNotFoundError as error:
                raise OSError(error.errno, "there is no such folder to write to") from None
            _close(parent)
    except BaseException:
        _close(folder)
        raise


def _start(path: str) -> str:
    return os.sep if os.path.isabs(path) else os.curdir


def _reversed_names(path: str) -> list[str]:
    """The names on a path, the last one first."""
    return [name for name in reversed(path.split(os.sep)) if name not in ("", os.curdir)]


def _link_target(folder: int, name: str) -> str | None:
    """The target of a symbolic link, or None if this is no link.

    Refuse a link of another user in a folder that all may write to.  Linux refuses it as well, if
    /proc/sys/fs/protected_symlinks is set.
    """
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if not stat.S_ISLNK(status.st_mode):
        return None
    if _is_foreign(status, os.fstat(folder), stat.S_IWOTH):
        what = f"the link '{shown(name)}' is another user's, in a folder that all may write to"
        raise OSError(errno.EACCES, f"{what}: it is not followed")
    return os.readlink(name, dir_fd=folder)


def _is_foreign(status: os.stat_result, folder: os.stat_result, open_mode: int) -> bool:
    """Whether a file belongs neither to us nor to the owner of its folder, whose mode has the bits of `open_mode`."""
    return folder.st_mode & open_mode == open_mode and status.st_uid not in (os.geteuid(), folder.st_uid)


def _replaceable_file(folder: int | None, name: str) -> os.stat_result | None:
    """The file that is to be replaced, or None if there is none; refuse a file that must not be replaced."""
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(status.st_mode):
        raise OSError(errno.EISDIR, "a folder, expected the name of a file")
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "not a regular file, so it cannot be replaced")
    # The new file would belong to the owner of the old one, who may have put it there to read what we write.
    if folder is not None and _is_foreign(status, os.fstat(folder), stat.S_IWOTH | stat.S_ISVTX):
        what = "the file there is another user's, in a folder that all may write to"
        raise OSError(errno.EACCES, f"{what}: it is not replaced")
    if not os.access(name, os.W_OK, dir_fd=folder):
        raise OSError(errno.EACCES, "the file there is read-only")
    return status


@dataclass(eq=False, repr=False)
class _Target:
    """The place of a file that is to be replaced or created."""

    path: str  # as the caller gave it
    folder: int | None  # an open descriptor; None: `name` is a path
    name: str
    old: os.stat_result | None  # the file that is to be replaced

    def beside(self, name: str) -> str:
        return os.path.join(os.path.dirname(self.name), name)

    def temporary_name(self) -> str:
        return self.beside(f"{PREFIX}{os.urandom(8).hex()}{SUFFIX}")

    def create(self, name: str) -> int:
        """Create a temporary file; return an open descriptor.

        A file that replaces another one is private at first, until it gets the rights of the old one.  Its name is
        chosen before, so that the caller can remove it if a signal comes before it has the descriptor.
        """
        with _errors_name(self.path):
            try:
                return os.open(name, NEW_FILE, 0o666 if self.old is None else 0o600, dir_fd=self.folder)
            except PermissionError as error:
                raise OSError(error.errno, "the folder is not writable") from None

    def copy_rights_to(self, descriptor: int) -> None:
        """Give a file the group, mode and owner of the old one, without the set-user-ID and set-group-ID bits.

        Where the group cannot be set, the group gets no rights, and others get none that the old group did not have.
        """
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
        """Keep a temporary file, under a readable name if possible; return its path."""
        new_name = self.beside(_unique_name_like(self.path))
        try:
            self.rename(name, new_name)
        except OSError:
            new_name = name
        return os.path.join(os.path.dirname(os.path.realpath(self.path)), os.path.basename(new_name))

    def check_replaceable(self) -> None:
        """Ask whether the old file may be replaced by a rename, which cannot be tried without doing it."""
        if sys.platform == "win32" or self.old is None:
            return
        try:
            # The file is no folder, so rmdir removes nothing.  But the system first checks whether it would be
            # permitted: the owners of file and folder, and the protection of the file, the folder and the file system.
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
        """Remove temporary files that killed processes left behind; those that are being written are locked."""
        with suppress(OSError), self._listable_folder() as folder, os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.startswith(PREFIX) and entry.name.endswith(SUFFIX):
                    with suppress(OSError):
                        self._remove_if_stale(self.beside(entry.name))

    def _remove_if_stale(self, name: str) -> None:
        status = os.stat(name, dir_fd=self.folder, follow_symlinks=False)
        if not stat.S_ISREG(status.st_mode) or time.time() - status.st_mtime <= STALE_SECONDS:
            return
        if sys.platform == "win32":
            os.unlink(name)  # which fails if it is open
        elif status.st_uid == os.geteuid():
            descriptor = os.open(name, os.O_WRONLY | os.O_NONBLOCK | NO_LINK, dir_fd=self.folder)
            try:
                if try_lock(descriptor):
                    os.unlink(name, dir_fd=self.folder)
            finally:
                _close(descriptor)

    def sync_folder(self) -> None:
        """Make a rename survive a power loss, where folders can be opened."""
        with suppress(PermissionError), self._listable_folder() as folder:
            if isinstance(folder, int):
                os.fsync(folder)

    @contextmanager
    def _listable_folder(self) -> Iterator[int | str]:
        """The folder in a form that can be listed and forced to disk."""
        if self.folder is None:
            yield os.path.dirname(self.name)
            return
        descriptor = os.open(os.curdir, os.O_RDONLY, dir_fd=self.folder)
        try:
            yield descriptor
        finally:
            _close(descriptor)


def _mount_of(descriptor: int) -> str | None:
    """The mount that an open file is on, as Linux identifies it."""
    with suppress(OSError), open(f"/proc/self/fdinfo/{descriptor}") as lines:
        return next((line for line in lines if line.startswith("mnt_id:")), None)
    return None


@contextmanager
def _locked(descriptor: int) -> Iterator[None]:
    """Keep a file locked until the end, even if the descriptor is closed before; a locked file is not stale."""
    if sys.platform == "win32":
        yield
        return
    duplicate = os.dup(descriptor)
    try:
        try_lock(duplicate)
        yield
    finally:
        _close(duplicate)


def _close(descriptor: int | None) -> None:
    """Close a descriptor that nothing was written to, so that an error has no consequence."""
    if descriptor is not None:
        with suppress(OSError):
            os.close(descriptor)
