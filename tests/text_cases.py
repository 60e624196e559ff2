"""Helpers for tests of text and of the command line: svmlight text, and commands in this process or in another."""

from __future__ import annotations

import contextlib
import errno
import gzip
import inspect
import io
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pytest

from cwlearn.cli import main as cli
from cwlearn.cli.flags import flag
from cwlearn.core import model_file
from cwlearn.text.run import Run
from tests.cases import labelled_rows, random_rows

COMMAND = [sys.executable, "-m", "cwlearn"]
# Without PYTHONUNBUFFERED and the like, which would hide faults of the last flush.  Nor may a process whose disk is
# full keep bytecode: Python does not notice that it is cut, and no other process could import it.
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "LC_", "LANG"))}
ENVIRONMENT["PYTHONDONTWRITEBYTECODE"] = "1"
not_with_sanitizers = pytest.mark.skipif(
    "asan" in os.environ.get("LD_PRELOAD", ""), reason="sanitizers need terabytes of addresses, and to be loaded first"
)


SMALL = 4096  # less than the rows of `text` take, more than its weights


@dataclass
class Outcome:
    """The result of a command."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def cwlearn(*words: Any) -> Outcome:
    """Run a command in this process."""
    streams = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2)]
    with contextlib.redirect_stdout(streams[0]), contextlib.redirect_stderr(streams[1]):
        status = cli.main([str(word) for word in words])
    texts = []
    for stream in streams:
        stream.flush()
        texts.append(stream.detach().getvalue().decode())
    return Outcome(status, *texts)


def succeed(*words: Any) -> Outcome:
    outcome = cwlearn(*words)
    assert outcome.status == 0, outcome.err
    return outcome


def fail(*words: Any, status: int = 1) -> str:
    """Run a command that must fail as one should: with one line on standard error, nothing on standard output."""
    outcome = cwlearn(*words)
    assert outcome.status == status, outcome
    return explained(outcome.err, outcome.out, status)


def explained(err: str, out: str = "", status: int = 1) -> str:
    assert out == ""
    assert "Traceback" not in err
    lines = [line for line in err.splitlines() if "error: " in line]
    assert len(lines) == 1, err
    assert status == 2 or err.splitlines()[-1].startswith("cwlearn: error: ")
    return lines[0]


def command(*words: Any, env: dict[str, str] | None = None, **kwargs: Any) -> subprocess.Popen[bytes]:
    """Begin a command in a process of its own."""
    return subprocess.Popen(
        [*COMMAND, *map(str, words)],
        env={**ENVIRONMENT, **(env or {})},
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **kwargs},
    )


def outcome_of(*words: Any, input: bytes | None = None, **kwargs: Any) -> Outcome:
    """Run a command in a process of its own."""
    if input is not None:
        kwargs["stdin"] = subprocess.PIPE
    with command(*words, **kwargs) as process:
        try:
            out, err = process.communicate(input, timeout=60)
        except BaseException:
            process.kill()
            raise
    return Outcome(process.returncode, (out or b"").decode(), (err or b"").decode())


def flags(*options: Any, **more: Any) -> list[str]:
    """Dataclasses of options, and options by name, as they are written on a command line."""
    values = {item.name: getattr(owner, item.name) for owner in options for item in fields(owner)} | more
    words = [f"--algorithm={owner.name}" for owner in options if hasattr(owner, "name")]
    for name, value in values.items():
        if isinstance(value, bool):
            words.append(flag(name) if value else flag("no_" + name))
        elif isinstance(value, dict):
            words.append(f"{flag(name)}=" + ",".join(f"{label}:{weight!r}" for label, weight in value.items()))
        elif value is not None or name == "C":
            words.append(f"{flag(name)}={'none' if value is None else value}")
    return words


def svmlight(X: Any, y: Any, names: tuple[str, str] | None = ("-1", "+1")) -> str:
    """Rows as text, every value with all its digits, and the names of two labels; without names, their numbers."""
    X = X.tocsr()
    lines = []
    for row, label in enumerate(y):
        entries = range(X.indptr[row], X.indptr[row + 1])
        name = f"{label:g}" if names is None else names[int(label > 0)]
        lines.append(" ".join([name, *(f"{X.indices[entry]}:{float(X.data[entry])!r}" for entry in entries)]))
    return "".join(line + "\n" for line in lines)


def random_text(n_rows: int = 60, n_features: int = 25, seed: int = 0, noise: float = 0.1, **kwargs: Any) -> str:
    """Rows whose values float32 must round, and among them comments, blank lines, CRLF, queries and odd labels."""
    X, y = random_rows(n_rows, n_features, seed=seed, noise=noise, **kwargs)
    X = X.astype(np.float64)
    X.data *= np.pi
    X.sort_indices()
    lines = svmlight(X, y).splitlines()
    lines[3] = lines[3].replace(" ", "  ", 1) + " # a comment"
    lines[5] += "\r"
    lines[7] = lines[7].replace(" ", " qid:4 ", 1)
    lines[9] = lines[9].replace("1 ", "1.0 ", 1)
    lines[11:11] = ["# a line of its own", "", "   \t"]
    return "\n".join(lines) + "\n"


def labelled_text(n_rows: int = 60, n_features: int = 25, n_labels: int = 4, seed: int = 0) -> str:
    """Rows of several labels."""
    return svmlight(*labelled_rows(n_rows, n_features, n_labels, seed=seed, noise=0.1), names=None)


def bits(learner: Any) -> tuple[Any, ...]:
    """Everything in which two equal models agree."""
    arrays = learner.state.arrays()
    return (
        learner.state.dtype.str,
        *((name, array.shape, array.tobytes()) for name, array in arrays.items()),
        learner.statistics,
        learner.calibration,
        learner.classes.tolist(),
    )


def compressed(path: Any) -> Any:
    """The file, gzipped."""
    packed = path.with_name(path.name + ".gz")
    packed.write_bytes(gzip.compress(path.read_bytes(), mtime=0))
    return packed


def set_chunk_bytes(monkeypatch: Any, size: int) -> None:
    """Let every run cut its text into chunks of this size."""
    names, defaults = [*inspect.signature(Run).parameters], [*Run.__init__.__defaults__]
    defaults[names.index("chunk_bytes") - len(names)] = size
    monkeypatch.setattr(Run.__init__, "__defaults__", tuple(defaults))


def trained(*words: Any) -> Any:
    """The learner that a command makes: that of AROW if the words name no other algorithm."""
    named = any(str(word) == "-a" or str(word).startswith("--algorithm") for word in words)
    words = words if named else (*words, "-a", "arow")
    with tempfile.TemporaryDirectory(dir=words[0].parent) as folder:
        model = os.path.join(folder, "m.npz")
        succeed("train", *words, "-m", model, "--quiet")
        return model_file.load(model)


class FullDisk(io.FileIO):
    """A file on a disk that is full after some writes."""

    left = 0

    def write(self, data: Any) -> int:
        if FullDisk.left == 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        FullDisk.left -= 1
        return super().write(data)
