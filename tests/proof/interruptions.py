"""Interrupt each operation wherever a signal can: the state is that before or that after, never one between.

    python -m tests.proof.interruptions --log docs/results/interruptions.md

The handlers of signals must be those of before, and no file may be left behind that nobody asked for.
"""

from __future__ import annotations

import argparse
import contextlib
import opcode
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from sklearn.exceptions import NotFittedError

import cwlearn
from tests.cases import labelled_rows, random_rows

PACKAGE = str(Path(cwlearn.__file__).parent)
LOOKING = {number for name, number in opcode.opmap.items() if name.startswith(("CALL", "RESUME", "JUMP_BACKWARD"))}
WATCHED = [signal.SIGINT, signal.SIGTERM, signal.SIGALRM, signal.SIGUSR1]


@dataclass
class Operation:
    """Something that can be interrupted."""

    name: str
    prepare: Callable[[Path], Any]  # what it works on, new for each trial
    run: Callable[[Any], object]
    state: Callable[[Any], object]  # everything that must be that of before or that of after


class Looks:
    """Counts the places at which the interpreter looks for signals while it runs the package; sends SIGINT at one.

    It looks at the beginning of a function, at the end of a call and when a loop begins again, and nowhere else.
    """

    def __init__(self, at: int | None = None) -> None:
        self.count, self.at = 0, at
        self._previous: dict[FrameType, int] = {}  # the bytecode that a frame has executed last

    def __enter__(self) -> Looks:
        sys.settrace(self._call)
        return self

    def __exit__(self, *error: object) -> None:
        sys.settrace(None)

    def _call(self, frame: FrameType, event: str, argument: object) -> Any:
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return self._bytecode

    def _bytecode(self, frame: FrameType, event: str, argument: object) -> Any:
        if event == "opcode":
            code = frame.f_code.co_code
            if self._previous.get(frame) in LOOKING:
                if self.count == self.at:
                    sys.settrace(None)
                    signal.raise_signal(signal.SIGINT)
                self.count += 1
            self._previous[frame] = code[frame.f_lasti]
        elif event == "return":
            self._previous.pop(frame, None)
        return self._bytecode


class Trials:
    """Interruptions of one operation."""

    def __init__(self, operation: Operation) -> None:
        self.operation = operation
        with tempfile.TemporaryDirectory() as folder:
            operation.run(operation.prepare(Path(folder)))  # imports what it needs
        with tempfile.TemporaryDirectory() as folder:
            subject = operation.prepare(Path(folder))
            self.before = operation.state(subject)
            with Looks() as trace:
                operation.run(subject)
            self.after = operation.state(subject)
        self.looks = trace.count

    def fault(self, at: int) -> str | None:
        """What is wrong after an interruption at this place."""
        with tempfile.TemporaryDirectory() as folder:
            subject = self.operation.prepare(Path(folder))
            signal.signal(signal.SIGINT, signal.default_int_handler)  # a process in the background ignores it
            handlers = {number: signal.getsignal(number) for number in WATCHED}
            interrupted = False
            try:
                with Looks(at):
                    self.operation.run(subject)
            except KeyboardInterrupt:
                interrupted = True
            changed = [number.name for number, handler in handlers.items() if signal.getsignal(number) is not handler]
            for number, handler in handlers.items():
                signal.signal(number, handler)
            if changed:
                return f"the handlers of {', '.join(changed)} have changed"
            state = self.operation.state(subject)
        if state not in (self.before, self.after):
            return "the state is neither that of before nor that of after"
        return None if interrupted else "the signal was lost"


def saved(model: Any) -> bytes | None:
    """All that a model is, or None if it has learned from no row: it may know its labels already."""
    with tempfile.TemporaryDirectory() as folder, contextlib.suppress(NotFittedError):
        model.save(f"{folder}/m.npz")
        return Path(folder, "m.npz").read_bytes() if model._learner.statistics["rows"] else None
    return None


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


X, Y = random_rows(noise=0.1)
LABELLED = labelled_rows(60)
TEXTS = [f"{'fine' if number % 2 else 'poor'} film number {number}" for number in range(40)]


def fitted(model: Any, X: Any = X, y: Any = Y) -> Any:
    classes = {} if isinstance(model, cwlearn.AROWRegressor) else {"classes": sorted(set(y))}
    return model.partial_fit(X[:20], y[:20], **classes)


def learning(name: str, new: Callable[[], Any], X: Any = X, y: Any = Y) -> Operation:
    return Operation(name, lambda folder: fitted(new(), X, y), lambda model: model.partial_fit(X[20:], y[20:]), saved)


def models() -> list[Any]:
    return [cwlearn.AROWClassifier(random_state=0).fit(X[:rows], Y[:rows]) for rows in (60, 30)]


def saving(folder: Path) -> tuple[Path, Any]:
    old, new = models()
    old.save(folder / "m.npz")
    return folder, new


OPERATIONS = [
    learning("partial_fit, AROW", cwlearn.AROWClassifier),
    learning("partial_fit, averaged perceptron", lambda: cwlearn.PerceptronClassifier(average=True)),
    learning("partial_fit, FTRL", cwlearn.FTRLClassifier),
    learning("partial_fit, five labels", cwlearn.CWClassifier, *LABELLED),
    learning("partial_fit, full covariance, one row", lambda: cwlearn.CWClassifier(covariance="full"), X[:21], Y[:21]),
    learning("partial_fit, kernel, one row", cwlearn.KernelAROWClassifier, X[:21], Y[:21]),
    learning("partial_fit, regression", cwlearn.AROWRegressor),
    Operation(
        "partial_fit, the first one",
        lambda folder: cwlearn.AROWClassifier(),
        lambda model: model.partial_fit(X, Y, classes=[-1, 1]),
        saved,
    ),
    Operation(
        "fit, again", lambda folder: fitted(cwlearn.SCWClassifier(random_state=0)), lambda model: model.fit(X, Y), saved
    ),
    Operation(
        "learn_one", lambda folder: fitted(cwlearn.AROWClassifier()), lambda model: model.learn_one(X[30], Y[30]), saved
    ),
    Operation(
        "learn_one, a text",
        lambda folder: fitted(cwlearn.TextClassifier(cwlearn.AROWClassifier()), TEXTS, list("ab" * 20)),
        lambda model: model.learn_one(TEXTS[30], "b"),
        saved,
    ),
    Operation(
        "partial_fit, texts",
        lambda folder: fitted(cwlearn.TextClassifier(cwlearn.AROWClassifier()), TEXTS, list("ab" * 20)),
        lambda model: model.partial_fit(TEXTS[20:], list("ab" * 10)),
        saved,
    ),
    Operation(
        "fit, texts",
        lambda folder: cwlearn.TextClassifier(cwlearn.AROWClassifier(random_state=0)).fit(TEXTS[:30], list("ab" * 15)),
        lambda model: model.fit(TEXTS, list("ab" * 20)),
        saved,
    ),
    Operation("save", saving, lambda both: both[1].save(both[0] / "m.npz"), lambda both: files(both[0])),
    Operation("load", saving, lambda both: cwlearn.load(both[0] / "m.npz"), lambda both: files(both[0])),
    Operation("merge", lambda folder: models(), cwlearn.merge, lambda models: [saved(model) for model in models]),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=1, metavar="N", help="interrupt at every N-th place")
    parser.add_argument("--log", metavar="FILE", help="page to write")
    arguments = parser.parse_args()
    lines = ["| operation | places | interruptions | faults | s |", "| --- | ---: | ---: | ---: | ---: |"]
    for operation in OPERATIONS:
        start, trials = time.process_time(), Trials(operation)
        places = range(0, trials.looks, arguments.every)
        faults = {at: what for at in places if (what := trials.fault(at))}
        seconds = time.process_time() - start
        lines.append(f"| {operation.name} | {trials.looks:,} | {len(places):,} | {len(faults)} | {seconds:.0f} |")
        print(lines[-1], *(f"  {at}: {what}" for at, what in [*faults.items()][:10]), sep="\n", flush=True)
    if arguments.log:
        Path(arguments.log).write_text("\n".join([HEAD.format(every=arguments.every), *lines, ""]), encoding="utf-8")


HEAD = """\
# An interruption wherever a signal can

`python -m tests.proof.interruptions --every {every} --log docs/results/interruptions.md`

SIGINT comes at each place at which Python looks for signals while it runs the package: at the beginning of a function,
at the end of a call, when a loop begins again. Afterwards the model or the folder must be as
before or as after, the handlers of signals must be those of before, and the caller must have got `KeyboardInterrupt`.
"""

if __name__ == "__main__":
    main()
