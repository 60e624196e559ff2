"""A training run at a terminal: progress bar, table, messages, checkpoints and Ctrl-C."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from cwlearn.cli.common import warn, warn_of_skipped_line
from cwlearn.core import model_file
from cwlearn.core.statistics import new_statistics
from cwlearn.errors import DataError, shown
from cwlearn.text.monitor import BarMonitor
from cwlearn.text.run import Run
from cwlearn.utils.messages import show
from cwlearn.utils.signals import handled


def reason(error: OSError | MemoryError | DataError) -> str:
    """Why something could not be read, written or removed."""
    return getattr(error, "strerror", None) or str(error) or "out of memory"


class TerminalMonitor(BarMonitor):
    """Shows the progress of a training, writes checkpoints, and stops it between two blocks of rows on Ctrl-C."""

    def __init__(self, quiet: bool, table: bool = False, checkpoint: str | None = None, minutes: float = 0) -> None:
        super().__init__(quiet or table)
        self._table = Table() if table else None
        self._minutes, self._checkpoint = minutes, checkpoint
        self.keeps_progress = checkpoint is not None
        self._saved_at = time.monotonic()
        self.kept = 0  # rows that the last checkpoint has learned from
        self._busy = self._stopping = False
        self.torn = False  # a block of rows was interrupted, so the state may be half changed

    def learned(self, run: Run, rows: int) -> None:
        super().learned(run, rows)
        if self._table is not None:
            self._table.row(run)
        if self._checkpoint is not None and time.monotonic() > self._saved_at + 60 * self._minutes:
            self._save_if_possible(run)
        if self._stopping:
            raise KeyboardInterrupt

    def ended(self, run: Run) -> None:
        """Print the last line of the table."""
        if self._table is not None:
            self._table.row(run, last=True)

    def skipped(self, flaw: DataError) -> None:
        self._bar.close()
        warn_of_skipped_line(flaw)

    def restarted(self) -> None:
        self.kept, self._saved_at = 0, -float("inf")  # a checkpoint with fewer labels is useless: write one soon
        self._table = self._table and Table()

    def save(self, run: Run) -> None:
        """Write a checkpoint: a model with the progress of the run."""
        assert run.learner is not None
        assert self._checkpoint is not None
        run.learner.unfinished = run.progress()
        model_file.save(run.learner, self._checkpoint)
        self.kept, self._saved_at = run.done, time.monotonic()

    def _save_if_possible(self, run: Run) -> None:
        """Write a checkpoint; if that fails, warn and let the run continue."""
        assert self._checkpoint is not None
        try:
            self.save(run)
        except (OSError, MemoryError) as error:
            self._bar.close()
            warn(f"no checkpoint: {shown(self._checkpoint)}: {reason(error)}; the training goes on")
            self._saved_at = time.monotonic()

    @contextmanager
    def undisturbed(self) -> Iterator[None]:
        self._busy = True
        try:
            yield
        finally:
            self._busy = False
        if self._stopping:
            raise KeyboardInterrupt

    @contextmanager
    def handling_ctrl_c(self) -> Iterator[None]:
        """Let the first Ctrl-C wait for the end of a block of rows; the second one does not wait."""
        original_handler: Any = signal.getsignal(signal.SIGINT)

        def interrupt(number: int, frame: Any) -> None:
            if self._busy and not self._stopping:
                self._stopping = True
            else:
                self.torn = self._busy
                original_handler(number, frame)

        try:
            with handled(interrupt, "SIGINT"):
                yield
        finally:
            self._bar.close()


class Table:
    """A table of the falling error, as Vowpal Wabbit prints it: a line whenever the number of rows has doubled."""

    def __init__(self) -> None:
        self._next = 1
        self._before = new_statistics()

    def row(self, run: Run, last: bool = False) -> None:
        assert run.learner is not None
        statistics, before = run.learner.statistics, self._before
        if not before["rows"]:
            show(f"{'error':>10} {'newest':>10} {'rows':>12} {'updates':>12} {'features':>12}")
        if (last or statistics["rows"] >= self._next) and statistics["rows"] > before["rows"]:
            show(
                f"{run.learner.progressive_error_text():>10} {run.learner.progressive_error_text(before):>10} "
                f"{statistics['rows']:12,} {statistics['updates']:12,} {run.learner.state.n_features:12,}"
            )
            self._before, self._next = statistics, 2 * statistics["rows"]
