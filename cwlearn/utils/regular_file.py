"""Regular files: no pipes and no devices."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from typing import IO


def open_regular(path: str | os.PathLike[str], refusal: Callable[[str], Exception]) -> IO[bytes]:
    """Open a file for reading; raise `refusal` for a pipe or a device, which could block or never end."""
    file = open(path, "rb", opener=_open_without_blocking)  # noqa: SIM115  the caller closes it
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise refusal("not a regular file")
    return file


def _open_without_blocking(path: str, flags: int) -> int:
    """Open a pipe, too, without waiting for a writer."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
