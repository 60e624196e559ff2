"""A progress bar on standard error."""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import Any

PATIENCE = 0.5  # seconds of work before a bar is shown


class ProgressBar:
    """A progress bar, shown only on a terminal, and only if the work takes longer than `PATIENCE` seconds."""

    def __init__(self, quiet: bool) -> None:
        self._wanted = not quiet and sys.stderr is not None and sys.stderr.isatty()
        self._bar: Any = None
        self._moving = threading.Lock()
        self._start = time.monotonic()
        self.begin("", None, "B")

    def begin(self, what: str, total: int | None, unit: str) -> None:
        """Start a new bar, for `total` bytes or rows, if that is known."""
        self.close()
        self._what, self._total, self._unit, self._done = what, total, unit, 0

    def move_to(self, done: int, **facts: str) -> None:
        """Show the number of bytes or rows that are done, with `facts` beside the bar."""
        if not self._wanted or time.monotonic() < self._start + PATIENCE:
            return
        if self._bar is None:
            from tqdm import tqdm

            self._bar = tqdm(
                total=self._total, desc=self._what, unit=self._unit, unit_scale=True, leave=False, ncols=_bar_width()
            )
        self._bar.update(done - self._bar.n)
        self._bar.set_postfix(facts, refresh=False)

    def advance(self, more: int, **facts: str) -> None:
        """Add to the number that is done; several threads may call this."""
        with self._moving:
            self._done += more
            self.move_to(self._done, **facts)

    def close(self) -> None:
        """Remove the bar; the next call of `move_to` shows it again."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def end(self) -> None:
        """Close the bar for good; later calls are ignored."""
        with self._moving:
            self._wanted = False
            self.close()


def _bar_width() -> int | None:
    """A little less than the width of the terminal: the ^C that it echoes would wrap a full line, which stays then."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns - 3
    except (AttributeError, OSError, ValueError):  # not a real terminal
        return None
