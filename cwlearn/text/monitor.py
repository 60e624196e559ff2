"""Callbacks of a training run: they follow its progress, and may interrupt it."""

from __future__ import annotations

import warnings
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from cwlearn.errors import DataError
from cwlearn.text.batch import Batch
from cwlearn.utils.progress import ProgressBar

if TYPE_CHECKING:
    from cwlearn.text.run import Run


class Monitor:
    """The callbacks of a run, which do nothing here.  Each of them may raise an exception to end the run."""

    keeps_progress = False  # it calls `Run.progress`

    def begin(self, what: str, total: int | None, unit: str) -> None:
        """A part of the run begins, with `total` bytes or rows if that is known."""

    def read(self, run: Run, batch: Batch) -> None:
        """A batch has been read."""

    def learned(self, run: Run, rows: int) -> None:
        """`rows` more rows have been learned."""

    def skipped(self, flaw: DataError) -> None:
        """A bad line has been left out."""

    def restarted(self) -> None:
        """The run begins again with more labels, and without what it has learned."""

    def undisturbed(self) -> AbstractContextManager[None]:
        """Held while the state changes: an interruption must wait for the next call of `learned`, or for the end."""
        return nullcontext()


class BarMonitor(Monitor):
    """Shows a progress bar, and warns of bad lines that are skipped."""

    def __init__(self, quiet: bool) -> None:
        self._bar = ProgressBar(quiet)
        self._unit = "B"

    def begin(self, what: str, total: int | None, unit: str) -> None:
        self._unit = unit
        self._bar.begin(what, total, unit)

    def read(self, run: Run, batch: Batch) -> None:
        if self._unit == "B":
            self._bar.move_to(batch.chunk.position, **self._facts(run))

    def learned(self, run: Run, rows: int) -> None:
        if self._unit != "B":
            self._bar.advance(rows, **self._facts(run))

    def skipped(self, flaw: DataError) -> None:
        self._bar.close()
        warnings.warn(f"{flaw}; line skipped", stacklevel=2)

    def close(self) -> None:
        """Remove the bar."""
        self._bar.close()

    def _facts(self, run: Run) -> dict[str, str]:
        """What is shown beside the bar."""
        if run.learner is None or not run.learner.statistics["rows"]:
            return {}
        return {"error": run.learner.progressive_error_text()}
