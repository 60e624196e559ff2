"""Locks that survive a fork."""

from __future__ import annotations

import os
import threading
from typing import Any
from weakref import WeakSet


class LostLockError(RuntimeError):
    """The owner of a lock does not exist in this process, so what the lock guards may be half changed."""


class ForkSafeLock:
    """A reentrant lock that never hangs in the child of a fork.

    Only the thread that forks exists in the child.  If another thread held the lock, what it guards may be half changed
    there.  Then taking the lock in the child raises `LostLockError` instead of waiting for ever.
    """

    def __init__(self, guarded: str) -> None:
        self._guarded = guarded  # what it guards, for the message
        self._lock = threading.RLock()
        self._lost = False
        _LOCKS.add(self)

    def __enter__(self) -> None:
        if self._lost:
            raise LostLockError(
                f"this process was forked while another thread changed {self._guarded}, which may be half changed "
                f"here: use one that was made or loaded after the fork"
            )
        self._lock.acquire()

    def __exit__(self, *error: Any) -> None:
        self._lock.release()

    def renew(self) -> None:
        """Find out, in the child of a fork, whether the owner of the lock is lost."""
        if self._lock.acquire(blocking=False):  # free, or held by the thread that forked
            self._lock.release()
        else:
            self._lost = True


_LOCKS: WeakSet[ForkSafeLock] = WeakSet()


def _renew_all() -> None:
    for lock in list(_LOCKS):
        lock.renew()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_renew_all)
