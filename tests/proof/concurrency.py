"""Threads that do everything with one model at once, and processes that are forked meanwhile.

    python -m tests.proof.concurrency [--seconds N] [--log FILE]

Some threads learn; others predict, save and load, pickle, copy and merge the same model; the main thread forks.  No
thread may raise, no answer may be none, every row that a thread has learned must be in the model in the end, and a
child must predict and learn with its copy, or refuse with `LostLockError` if a thread that it lacks was changing it.
"""

from __future__ import annotations

import argparse
import copy
import itertools
import os
import pickle
import platform
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import cwlearn
from cwlearn.utils.locks import LostLockError
from tests.cases import labelled_rows, random_rows

MODELS: dict[str, Callable[[], Any]] = {
    "AROW": lambda: cwlearn.AROWClassifier(random_state=0),
    "SCW, float64": lambda: cwlearn.SCWClassifier(random_state=0, dtype="float64"),
    "full covariance": lambda: cwlearn.AROWClassifier(covariance="full", random_state=0),
}
REFUSED = 3  # exit code of a child
PATIENCE = 60  # seconds for a child to end


class Trial:
    """One model, and the threads that work with it."""

    def __init__(self, make: Callable[[], Any], n_labels: int, folder: Path) -> None:
        self.X, self.y = random_rows() if n_labels == 2 else labelled_rows(n_labels=n_labels)
        self.model = make().partial_fit(self.X, self.y, classes=np.unique(self.y))
        self.other = make().partial_fit(self.X, self.y, classes=np.unique(self.y))
        self.folder, self.done = folder, Counter[str]()
        self.faults: list[str] = []
        self._numbers, self._lock = itertools.count(), threading.Lock()

    def learn(self) -> None:
        self.model.partial_fit(self.X, self.y)

    def predict(self) -> None:
        assert np.isin(self.model.predict(self.X), self.y).all()
        assert np.isfinite(self.model.predict_proba(self.X)).all()

    def save(self) -> None:
        path = self.folder / f"{next(self._numbers)}.npz"
        self.model.save(path)
        self._check(cwlearn.load(path))
        path.unlink()

    def pickle(self) -> None:
        self._check(pickle.loads(pickle.dumps(self.model)))

    def copy(self) -> None:
        self._check(copy.deepcopy(self.model))

    def merge(self) -> None:
        self._check(cwlearn.merge([self.model, self.other]))

    def fork(self) -> None:
        """The child has one thread, and locks as they were: it predicts and learns, or says that it cannot know."""
        child = os.fork()
        if child == 0:
            try:
                self.predict()
                self.learn()
                os._exit(0)
            except LostLockError:
                os._exit(REFUSED)
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(2)
        end = time.monotonic() + PATIENCE
        while True:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                code = os.waitstatus_to_exitcode(status)
                assert code in (0, REFUSED), f"the child ended with {code}"
                with self._lock:
                    self.done["refused"] += code == REFUSED
                return
            if time.monotonic() > end:
                os.kill(child, 9)
                os.waitpid(child, 0)
                raise AssertionError("the child hangs")
            time.sleep(0.001)

    def _check(self, model: Any) -> None:
        """A model of a moment: whole passes, and sound answers."""
        assert model._learner.statistics["rows"] % len(self.y) == 0
        assert np.isin(model.predict(self.X), self.y).all()

    def run(self, seconds: float) -> None:
        end = time.monotonic() + seconds

        def work(name: str) -> None:
            while not self.faults:
                try:
                    getattr(self, name)()
                    with self._lock:
                        self.done[name] += 1
                except BaseException as error:
                    self.faults.append(f"{name}: {type(error).__name__}: {error}")
                if time.monotonic() > end:  # but once in any case
                    break

        names = ["learn", "learn", "predict", "predict", "save", "pickle", "copy", "merge"]
        threads = [threading.Thread(target=work, args=[name]) for name in names]
        for thread in threads:
            thread.start()
        work("fork")
        for thread in threads:
            thread.join()
        rows = self.model._learner.statistics["rows"]
        if rows != len(self.y) * (1 + self.done["learn"]) and not self.faults:
            self.faults.append(f"{rows} rows are in the model after {self.done['learn']} passes")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20, help="for each model")
    parser.add_argument("--log", type=Path, metavar="FILE")
    options = parser.parse_args()
    rows, faults = [], []
    columns = ["learn", "predict", "save", "pickle", "copy", "merge", "fork", "refused"]
    for name, make in MODELS.items():
        for n_labels in (2, 5):
            with tempfile.TemporaryDirectory() as folder:
                trial = Trial(make, n_labels, Path(folder))
                trial.run(options.seconds)
            faults += trial.faults
            counts = " | ".join(f"{trial.done[column]:,}" for column in columns)
            rows.append(f"| {name} | {n_labels} | {counts} | {len(trial.faults)} |")
            print(rows[-1], *trial.faults, flush=True)
    report = f"""# Threads and forks

`python -m tests.proof.concurrency --seconds {options.seconds:g}`: eight threads work with one model, and the main
thread forks meanwhile. How often each was done, and
how many children refused a model that was being changed; Python {platform.python_version()}, {os.cpu_count()} cores.

| model | labels | {" | ".join(columns)} | faults |
|---|---:|{"---:|" * (len(columns) + 1)}
{chr(10).join(rows)}
"""
    if options.log:
        options.log.write_text(report)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
