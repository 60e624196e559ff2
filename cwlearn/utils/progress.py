"""A progress bar on standard error."""

from __future__ import annotations

import os
import sys
import threading
import time
from importlib.util import find_spec
from typing import Any

PATIENCE = 0.5  # seconds of work before a bar is shown
PULSE = 0.5  # seconds between two looks at the clock, while nothing moves
MEASURED = ("B", " rows")  # units of large numbers, which are written as 1.2k or 3.4M


def in_notebook() -> bool:
    """Whether this is the kernel of a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell is not None and "IPKernelApp" in getattr(shell, "config", {})


def bar_class() -> Any:
    """The class of bars: in a notebook one that is drawn as a widget, if widgets are installed."""
    if in_notebook() and find_spec("ipywidgets") is not None:
        from tqdm.notebook import tqdm as widget

        return widget
    from tqdm import tqdm

    return tqdm


class ProgressBar:
    """A progress bar, shown only on a terminal or in a notebook, and only if the work takes longer than `PATIENCE`.

    Its clock goes on while nothing moves, so that a terminal is never silent.
    """

    def __init__(self, quiet: bool) -> None:
        self._wanted = not quiet and sys.stderr is not None and (sys.stderr.isatty() or in_notebook())
        self._bar: Any = None
        self._moving = threading.RLock()
        self._start = time.monotonic()
        self._closed: threading.Event | None = None  # ends the thread that keeps the clock going
        self._total: int | None = None
        self._what, self._unit, self._done = "", "B", 0

    def begin(self, what: str, total: int | None, unit: str) -> None:
        """Start a new bar, for `total` bytes or rows, if that is known."""
        self.close()
        self._what, self._total, self._unit, self._done = what, total, unit, 0
        if self._wanted:
            self._closed = threading.Event()
            threading.Thread(target=self._keep_alive, args=(self._closed,), daemon=True).start()

    def move_to(self, done: int, **facts: str) -> None:
        """Show the number of bytes or rows that are done, with `facts` beside the bar; without any, the last ones."""
        if not self._wanted or time.monotonic() < self._start + PATIENCE:
            return
        with self._moving:
            bar = self._shown()
            bar.update(done - bar.n)
            if facts:
                bar.set_postfix(facts, refresh=False)

    def advance(self, more: int, **facts: str) -> None:
        """Add to the number that is done; several threads may call this."""
        with self._moving:
            self._done += more
            self.move_to(self._done, **facts)

    def close(self) -> None:
        """Remove the bar; the next call of `move_to` shows it again."""
        with self._moving:
            if self._closed is not None:
                self._closed.set()
            if self._bar is not None:
                self._bar.close()
                self._bar = None

    def end(self) -> None:
        """Close the bar for good; later calls are ignored."""
        with self._moving:
            self._wanted = False
            self.close()

    def _shown(self) -> Any:
        if self._bar is None:
            scaled = self._unit in MEASURED
            self._bar = bar_class()(
                total=self._total, desc=self._what, unit=self._unit, unit_scale=scaled, leave=False, ncols=_bar_width()
            )
        return self._bar

    def _keep_alive(self, closed: threading.Event) -> None:
        """Show the bar even if nothing moves, and then its clock, until it is closed."""
        pause = max(0.0, self._start + PATIENCE - time.monotonic())
        while not closed.wait(pause):
            with self._moving:
                if not closed.is_set():
                    self._shown().refresh()
            pause = PULSE


def _bar_width() -> int | None:
    """A little less than the width of the terminal: the ^C that it echoes would wrap a full line, which stays then."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns - 3
    except (AttributeError, OSError, ValueError):  # not a real terminal
        return None
