"""The journal of a comparison: a file from which an interrupted run continues."""

from __future__ import annotations

import json
import os
from itertools import chain, pairwise
from typing import Any

import numpy as np

from cwlearn._version import __version__
from cwlearn.core.metrics import BINS
from cwlearn.core.parameters import is_integer, is_number
from cwlearn.errors import DataError
from cwlearn.evaluation.comparison import Comparison
from cwlearn.evaluation.trials import Key, Outcome
from cwlearn.utils.atomic_file import open_in_place
from cwlearn.utils.regular_file import open_regular

OPENED = os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0)
LINE_BYTES, ROW_BYTES = 1 << 20, 32  # the longest line of a journal, and what each row that it names may add


class Journal:
    """A file with a line for every finished trial.

    Its first line identifies the comparison.  The journal of another comparison is refused and stays as it is, and so
    is a journal with a line that no trial of this comparison can have written.
    """

    def __init__(self, path: str | os.PathLike[str], comparison: Comparison) -> None:
        self.done: dict[Key, Outcome] = {}
        identity = json.loads(json.dumps(about(comparison)))
        content = _read(path)
        whole = content[: content.rfind(b"\n") + 1]  # the last line may be half written
        if whole:
            self._take(path, whole.split(b"\n")[:-1], identity, comparison)
        elif not _line(identity).startswith(content):
            raise DataError("not the journal of a comparison", path)
        self._file = os.fdopen(open_in_place(path, OPENED), "r+b")
        self._file.truncate(len(whole))
        self._file.seek(len(whole))
        if not whole:
            self._write(_line(identity))

    def _take(
        self, path: str | os.PathLike[str], lines: list[bytes], identity: dict[str, Any], comparison: Comparison
    ) -> None:
        """Read the outcomes of earlier trials."""
        longest = LINE_BYTES + ROW_BYTES * max(len(data_set.y) for data_set in comparison.data_sets)
        longest += len(_line(identity))
        for number, line in enumerate(lines, 1):
            try:
                if len(line) > longest:
                    raise ValueError(f"a line of {len(line):,} bytes")
                entry = json.loads(line)
                if number > 1:
                    outcome = _outcome(entry, comparison)
                    self.done[outcome.key] = outcome
            except (ValueError, TypeError, RecursionError) as error:
                raise DataError(f"not the journal of a comparison: {error}", path, number) from None
            if number == 1 and entry != identity:
                differing = [
                    name for name in identity if not isinstance(entry, dict) or entry.get(name) != identity[name]
                ]
                raise DataError(
                    f"the journal of another comparison: it differs in {', '.join(differing) or 'further entries'}; "
                    f"delete it to start anew",
                    path,
                )

    def add(self, outcome: Outcome) -> None:
        """Write a line for a finished trial."""
        self._write(_line(outcome.as_dict()))

    def _write(self, line: bytes) -> None:
        self._file.write(line)
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _read(path: str | os.PathLike[str]) -> bytes:
    try:
        with open_regular(path, lambda what: DataError(what, path)) as file:
            return file.read()
    except FileNotFoundError:
        return b""


def _line(entry: dict[str, Any]) -> bytes:
    return json.dumps(entry).encode() + b"\n"


def _outcome(entry: Any, comparison: Comparison) -> Outcome:
    """Check that a line is the outcome of a trial of this comparison; ValueError or TypeError says why it is not."""
    outcome = Outcome(**entry)
    tasks = comparison.tasks()
    if set(entry) != set(outcome.as_dict()) or type(outcome.fold) is not int or outcome.key not in tasks:
        raise ValueError("an outcome of no trial of this comparison")
    task = tasks[outcome.key]
    rows = range(*task.data_set.fold(task.fold).indices(len(task.data_set.y)))
    tables = [[] if table is None else table for table in (outcome.bins, outcome.distribution_bins)]
    epochs = comparison.trial_settings.epochs if task.candidate.online else 1
    counts = [outcome.mistakes or 0, outcome.updates or 0, *(count for pair in outcome.progress for count in pair)]
    checks = {
        "form": all(isinstance(part, list) for part in (outcome.wrong, outcome.by_epoch, outcome.progress, *tables)),
        "rows": type(outcome.rows) is int and outcome.rows == len(rows),
        "setting": outcome.setting in json.loads(json.dumps(task.candidate.settings)),
        "by_epoch": len(outcome.by_epoch) == epochs
        and all(is_number(error) and 0 <= error <= 1 for error in outcome.by_epoch),
        "epochs": is_integer(outcome.epochs) and 0 < outcome.epochs <= len(outcome.by_epoch),
        "wrong": all(type(row) is int and row in rows for row in outcome.wrong) and _rise(outcome.wrong),
        "progress": all(len(pair) == 2 for pair in outcome.progress) and _rise([pair[0] for pair in outcome.progress]),
        "counts": all(type(count) is int and 0 <= count < 2**53 for count in counts),
        "seconds": is_number(outcome.seconds) and outcome.seconds >= 0,
        "bins": all(len(table) in (0, BINS) for table in tables)
        and all(
            len(line) == 3 and all(is_number(part) and part >= 0 for part in line)
            for line in chain.from_iterable(tables)
        ),
    }
    for name, sound in checks.items():
        if not sound:
            raise ValueError(f"the {name} of {outcome.candidate} in fold {task.fold + 1} cannot come from a trial")
    return outcome


def _rise(numbers: list[int]) -> bool:
    return all(first < second for first, second in pairwise(numbers))


def about(comparison: Comparison) -> dict[str, Any]:
    """The first line of a journal: what makes a comparison this one."""
    import sklearn

    return {
        "versions": {"cwlearn": __version__, "numpy": np.__version__, "scikit-learn": sklearn.__version__},
        "data": {data_set.name: data_set.fingerprint for data_set in comparison.data_sets},
        "algorithms": {candidate.name: candidate.identity for candidate in comparison.candidates},
        "noise": comparison.noises,
        "folds": [data_set.n_folds for data_set in comparison.data_sets],
        "epochs": comparison.trial_settings.epochs,
        "seed": comparison.trial_settings.seed,
        "tuned_once": comparison.trial_settings.tuned_once,
    }
