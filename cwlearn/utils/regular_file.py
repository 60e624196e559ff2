"""Files with an end and with bytes that stay: no pipes, no devices."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from typing import IO


def open_regular(path: str | os.PathLike[str], refusal: Callable[[str], Exception]) -> IO[bytes]:
    """Open a file to be read; what is none raises `refusal`, instead of waiting, or being read, without an end."""
    file = open(path, "rb", opener=_without_waiting)  # noqa: SIM115  the caller's
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise refusal("not a regular file")
    return file


def _without_waiting(path: str, flags: int) -> int:
    """For somebody who writes to a pipe."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
