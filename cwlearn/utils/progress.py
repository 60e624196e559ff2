"""A progress bar on standard error."""

from __future__ import annotations

import sys
import threading
import time
from typing import Any

PATIENCE = 0.5  # seconds without a bar


class ProgressBar:
    """A progress bar, shown only on a terminal and only if the work takes longer than `PATIENCE`."""

    def __init__(self, quiet: bool) -> None:
        self._wanted = not quiet and sys.stderr is not None and sys.stderr.isatty()
        self._bar: Any = None
        self._moving = threading.Lock()
        self._start = time.monotonic()
        self.begin("", None, "B")

    def begin(self, what: str, total: int | None, unit: str) -> None:
        self.close()
        self._what, self._total, self._unit, self._done = what, total, unit, 0

    def move_to(self, done: int, **facts: str) -> None:
        """Show that so many bytes or rows are done."""
        if not self._wanted or time.monotonic() < self._start + PATIENCE:
            return
        if self._bar is None:
            from tqdm import tqdm

            self._bar = tqdm(total=self._total, desc=self._what, unit=self._unit, unit_scale=True, leave=False)
        self._bar.update(done - self._bar.n)
        self._bar.set_postfix(facts, refresh=False)

    def advance(self, rows: int, **facts: str) -> None:
        """Show that so many more are done; several threads may call it."""
        with self._moving:
            self._done += rows
            self.move_to(self._done, **facts)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def end(self) -> None:
        """Close it for good: reports that come late are ignored."""
        with self._moving:
            self._wanted = False
            self.close()
