"""Locks that survive a fork."""

from __future__ import annotations

import os
import threading
from typing import Any
from weakref import WeakSet


class LostLockError(RuntimeError):
    """A lock whose owner does not exist in this process: what it guards may be half changed."""


class ForkSafeLock:
    """A reentrant lock that never hangs in the child of a fork.

    Only the thread that forks lives on in the child.  If another one held the lock, what it guards may be half changed
    there: whoever asks for it in the child gets a `LostLockError` instead of waiting for ever.
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
        """Find out, in a child, whether the owner is lost."""
        if self._lock.acquire(blocking=False):  # free, or held by the thread that forked
            self._lock.release()
        else:
            self._lost = True


_LOCKS: WeakSet[ForkSafeLock] = WeakSet()


def _renew_all() -> None:
    for lock in list(_LOCKS):
        lock.renew()


if hasattr(os, "register_at_fork"):  # where processes fork
    os.register_at_fork(after_in_child=_renew_all)
