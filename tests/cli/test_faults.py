"""Signals, full disks, damaged files, readers that go away: nothing half-written, no traceback, a word on what to do.

The names E01 ... and U07 ... are the rows of docs/odd_inputs.md that each test answers for.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import gzip
import itertools
import os
import resource
import signal
import subprocess
import sys
import tempfile
import termios
import threading
import time

import numpy as np
import pytest

from cwlearn.core import model_file
from cwlearn.errors import DataError
from cwlearn.text import run as out_of_core
from cwlearn.text import text_file as text_files
from cwlearn.text.reader import Reader
from cwlearn.utils.growable import GrowableArray
from cwlearn.utils.signals import Terminated, ended_by_signals
from tests.text_cases import (
    COMMAND,
    ENVIRONMENT,
    FullDisk,
    command,
    cwlearn,
    explained,
    fail,
    not_with_sanitizers,
    outcome_of,
    random_text,
    set_chunk_bytes,
    succeed,
)

# A run that does not end by itself, and says that it lives.
LONG = ["-a", "arow", "--epochs", 10**7, "--checkpoint", 1e-4]
CACHE = ["--memory", 4096]


def wait_until(condition, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


class Runs:
    """A command in the background, which is killed at the end in any case."""

    def __init__(self, *words, **kwargs):
        self.process = command(*words, **kwargs)

    def __enter__(self):
        return self.process

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()


def endless(stream):
    """Feed rows for ever."""
    rows = random_text(2000, seed=3).encode()

    def feed():
        try:
            while True:
                stream.write(rows)
        except OSError:
            pass

    thread = threading.Thread(target=feed, daemon=True)
    thread.start()
    return thread


# -- signals -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["in memory", "cache", "one pass from a pipe"])
def test_u07_ctrl_c_ends_a_run_between_two_blocks_and_says_what_it_kept(mode, text, model, tmp_path):
    old = model.read_bytes()
    checkpoint = tmp_path / "model.npz.checkpoint"
    words = [text, *LONG, *(CACHE if mode == "cache" else [])]
    if mode == "one pass from a pipe":
        words = ["-", "-a", "arow", "--epochs", 1, "--checkpoint", 1e-4]
    with Runs("train", *words, "-m", model, stdin=subprocess.PIPE) as process:
        if words[0] == "-":
            feeder = endless(process.stdin)
        wait_until(lambda: checkpoint.exists() or process.poll() is not None)
        process.send_signal(signal.SIGINT)
        start = time.monotonic()
        err = process.stderr.read().decode()
        assert process.wait(10) == 130
        assert time.monotonic() - start < 3  # 0.5 on a machine that does nothing else
        if words[0] == "-":
            feeder.join(10)
    learner = model_file.load(checkpoint)
    done = learner.unfinished["done"]
    assert done == learner.statistics["rows"] > 0
    assert err.count("\n") == 1
    assert f"interrupted after {done:,} rows; {model} is as it was" in err
    assert f"--resume {checkpoint} continues" in err
    assert model.read_bytes() == old
    assert sorted(os.listdir(tmp_path)) == ["data.svm", "model.npz", "model.npz.checkpoint"]


def test_u07_without_a_checkpoint_the_message_names_the_flag(tmp_path):
    with Runs(
        "train", "-", "-a", "arow", "--epochs", 1, "-m", tmp_path / "m.npz", "-v", stdin=subprocess.PIPE
    ) as process:
        feeder = endless(process.stdin)
        process.stderr.readline()  # the head of the table: learning has begun
        process.stderr.readline()
        process.send_signal(signal.SIGINT)
        err = process.stderr.read().decode().splitlines()[-1]
        assert process.wait(10) == 130
        feeder.join(10)
    assert "there is no " in err
    assert "--checkpoint MINUTES" in err
    assert os.listdir(tmp_path) == []


def test_u07_ctrl_c_while_nothing_comes_ends_the_waiting(tmp_path):
    with Runs("train", "-", "-m", tmp_path / "m.npz", "--threads", 4, stdin=subprocess.PIPE) as process:
        process.stdin.write(b"1 1:1\n")
        process.stdin.flush()
        wait_until(lambda: fcntl.ioctl(process.stdin, termios.FIONREAD, bytes(4)) == bytes(4))  # it has been read
        process.send_signal(signal.SIGINT)
        start = time.monotonic()
        err = process.stderr.read().decode()
        assert process.wait(10) == 130
        assert time.monotonic() - start < 3
    assert "interrupted after 0 rows" in err
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
@pytest.mark.parametrize("mode", [[], CACHE], ids=["in memory", "cache"])
def test_u08_other_signals_end_a_run_at_once_and_touch_nothing(number, status, mode, text, model, tmp_path):
    old = model.read_bytes()
    checkpoint = tmp_path / "model.npz.checkpoint"
    with Runs("train", text, "-m", model, *LONG, *mode) as process:
        wait_until(lambda: checkpoint.exists() or process.poll() is not None)
        process.send_signal(number)
        assert process.stderr.read() == b""
        assert process.wait(10) == status
    assert model.read_bytes() == old
    model_file.load(checkpoint)
    assert sorted(os.listdir(tmp_path)) == ["data.svm", "model.npz", "model.npz.checkpoint"]


@pytest.mark.parametrize("soon", [0, 0.01])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_u08_a_signal_that_falls_into_a_finaliser_is_not_lost(number, soon, monkeypatch, capfd):
    """As those of the standard library's archives, in which models are written."""
    monkeypatch.setattr("cwlearn.utils.signals.SOON", soon)

    class Finalised:
        def __del__(self):
            os.kill(os.getpid(), number)
            time.sleep(0)  # heeded here at the latest

    def finalise_and_wait(objects):
        objects.clear()
        time.sleep(10)

    with pytest.raises((Terminated, KeyboardInterrupt)), ended_by_signals():
        finalise_and_wait([Finalised()])
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_u08_a_signal_is_not_hidden_by_what_fails_because_of_it(number, capfd):
    """As an archive does that cannot be closed in the middle of a write, and complains once more when it goes."""

    class Archive:
        def __enter__(self):
            return self

        def __exit__(self, *_):
            raise ValueError("cannot be closed")

        __del__ = __exit__

    def write():
        with Archive():
            os.kill(os.getpid(), number)
            time.sleep(10)

    with pytest.raises((Terminated, KeyboardInterrupt)), ended_by_signals():
        write()
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_u08_a_signal_in_the_middle_of_saving_is_not_taken_for_a_fault(
    number, call, text, model, tmp_path, monkeypatch
):
    """A signal that comes during a call of the system is heeded right after it."""
    original = getattr(os, call)

    def interrupted(*args, **kwargs):
        original(*args, **kwargs)
        os.kill(os.getpid(), number)

    with monkeypatch.context() as patch:
        patch.setattr(os, call, interrupted)
        outcome = cwlearn("train", text, "-m", model, "-a", "cw", "--quiet")
    assert "error" not in outcome.err
    assert outcome.status == 128 + number
    assert model_file.load(model).rule.name in ("arow", "cw")
    assert sorted(os.listdir(tmp_path)) == ["data.svm", "model.npz"]


def test_u08_ctrl_c_again_and_again_ends_at_once(text, model, tmp_path):
    old = model.read_bytes()
    with Runs("train", text, "-m", model, *LONG) as process:
        wait_until(lambda: (tmp_path / "model.npz.checkpoint").exists() or process.poll() is not None)
        while process.poll() is None:
            process.send_signal(signal.SIGINT)
        assert process.returncode == 130
        assert b"Traceback" not in process.stderr.read()
    assert model.read_bytes() == old
    model_file.load(tmp_path / "model.npz.checkpoint")


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT], ids=["nohup", "a script's job in the background"])
def test_a_signal_that_was_to_be_ignored_is(number, text, tmp_path):
    checkpoint = tmp_path / "m.npz.checkpoint"

    def ignore():
        signal.signal(number, signal.SIG_IGN)

    with Runs("train", text, "-m", tmp_path / "m.npz", *LONG, preexec_fn=ignore) as process:
        wait_until(checkpoint.exists)
        process.send_signal(number)
        time.sleep(0.3)
        assert process.poll() is None


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_predict_and_leaves_the_old_predictions(number, status, model, tmp_path):
    out = tmp_path / "out"
    out.write_text("old\n")
    before = set(os.listdir(tmp_path))
    with Runs("predict", "-", "-m", model, "-o", out, stdin=subprocess.PIPE) as process:
        feeder = endless(process.stdin)
        wait_until(lambda: set(os.listdir(tmp_path)) != before or process.poll() is not None)
        process.send_signal(number)
        assert process.wait(10) == status
        assert process.stderr.read() == b""
        feeder.join(10)
    assert out.read_text() == "old\n"
    assert set(os.listdir(tmp_path)) == before


def test_e01_a_kill_at_any_moment_leaves_a_whole_checkpoint_and_no_cache(text, tmp_path):
    """Every block of rows is followed by a save, of a model that takes a while to write."""
    folder, checkpoint = tmp_path / "temporary", tmp_path / "m.npz.checkpoint"
    folder.mkdir()
    words = ["train", text, "-m", tmp_path / "m.npz", "-a", "arow", "--epochs", 10**7, "--features", 100_000]
    words += ["--checkpoint", 1e-9, "--memory", 4096]
    done = 0
    for attempt in range(4):
        resume = ["--resume", checkpoint] if checkpoint.exists() else []
        before = checkpoint.stat().st_mtime_ns if checkpoint.exists() else 0
        with Runs(*words, *resume, env={"TMPDIR": str(folder)}) as process:
            wait_until(lambda: checkpoint.exists() and checkpoint.stat().st_mtime_ns != before)  # noqa: B023
            time.sleep(0.013 * attempt)
            assert os.listdir(folder) == []
            process.kill()
            assert process.wait(10) == -signal.SIGKILL
        learner = model_file.load(checkpoint)
        assert done < learner.unfinished["done"] == learner.statistics["rows"]
        done = learner.unfinished["done"]
        assert not (tmp_path / "m.npz").exists()
        assert os.listdir(folder) == []


@pytest.mark.parametrize("mode", [[], CACHE, ["--no-shuffle"]], ids=["in memory", "cache", "in order"])
def test_what_a_killed_run_has_kept_goes_on_to_the_bits_of_the_whole_run(mode, text, tmp_path):
    words = ["train", text, "-m", tmp_path / "m.npz", "-a", "arow", "--epochs", 3000, "--quiet", *mode]
    succeed(*words)
    expected = (tmp_path / "m.npz").read_bytes()
    (tmp_path / "m.npz").unlink()
    checkpoint = tmp_path / "m.npz.checkpoint"
    with Runs(*words, "--checkpoint", 1e-9) as process:
        wait_until(lambda: checkpoint.exists() or process.poll() is not None)
        time.sleep(0.1)
        process.kill()
        process.wait(10)
    assert not (tmp_path / "m.npz").exists()
    assert 0 < model_file.load(checkpoint).unfinished["done"] < 3000 * 61
    succeed(*words, "--resume", checkpoint)
    assert (tmp_path / "m.npz").read_bytes() == expected


def test_ctrl_c_while_the_model_grows_leaves_a_sound_checkpoint_or_none(tmp_path, monkeypatch):
    """The signal comes between the making of a larger array and the filling of it."""
    path = tmp_path / "data.svm"
    path.write_text("".join(f"{(-1) ** row} 0:1 {4**row}:1\n" for row in range(9)))
    set_chunk_bytes(monkeypatch, 20)
    original, calls = GrowableArray.extended, itertools.count()

    def extended(array, size):
        result = original(array, size)
        result[array.size :] = np.nan  # as memory may be
        if next(calls) == 4:
            os.kill(os.getpid(), signal.SIGINT)
        return result

    with monkeypatch.context() as patch:
        patch.setattr(GrowableArray, "extended", extended)
        outcome = cwlearn("train", path, "-m", tmp_path / "m.npz", "--epochs", 1, "--checkpoint", 60)
    assert outcome.status == 130
    assert next(calls) == 5
    learner = model_file.load(tmp_path / "m.npz.checkpoint")
    assert learner.unfinished["done"] == learner.statistics["rows"] > 0


def test_a_reader_of_messages_that_goes_away_does_not_stop_a_run(text, tmp_path):
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as nobody:
        outcome = outcome_of("train", text, text, "-m", tmp_path / "m.npz", "-a", "arow", "-v", stderr=nobody)
    assert outcome.status == 0
    assert model_file.load(tmp_path / "m.npz").statistics["rows"] == 5 * 122


def test_predictions_before_a_bad_line_are_printed(text, model):
    text.write_text("1 1:1\n" * 1000 + "bad\n")
    outcome = outcome_of("predict", text, "-m", model)
    assert outcome.status == 1
    assert len(outcome.out.splitlines()) == 1000


# -- disks that are full or fail ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("writes", [0, 1, 7, 20])
def test_e02_a_disk_that_fills_up_while_the_model_is_saved_keeps_the_old_one(
    writes, text, model, tmp_path, monkeypatch
):
    old = model.read_bytes()
    listing = os.listdir(tmp_path)
    monkeypatch.setattr(os, "fdopen", lambda descriptor, mode: FullDisk(descriptor, mode))
    FullDisk.left = writes
    message = fail("train", text, "-m", model, "-a", "cw")
    assert "No space left on device" in message
    assert str(model) in message
    assert model.read_bytes() == old
    assert os.listdir(tmp_path) == listing


@pytest.mark.parametrize("call", ["fsync", "replace", "fchmod"])
@pytest.mark.parametrize("verb", ["train", "predict"])
def test_e03_a_fault_of_the_last_steps_keeps_the_old_file(call, verb, text, model, tmp_path, monkeypatch):
    out = tmp_path / "out"
    out.write_text("old\n")
    old = {path: path.read_bytes() for path in (model, out)}
    listing = sorted(os.listdir(tmp_path))

    def broken(*args, **kwargs):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, call, broken)
    target = out if verb == "predict" else model
    message = fail(verb, text, "-m", model, *(["-o", out] if verb == "predict" else []))
    assert "Input/output error" in message
    assert str(target) in message
    assert {path: path.read_bytes() for path in old} == old
    if (verb, call) == ("predict", "replace"):  # the new ones are whole, and have the name that they had
        _, kept = message.split("; what was to stand there is in ")
        with open(kept) as file:
            assert len(file.read().splitlines()) == 61
        os.unlink(kept)
    assert sorted(os.listdir(tmp_path)) == listing


@pytest.mark.parametrize(
    ("module", "call", "error"),
    [(os, "replace", OSError(errno.EDQUOT, "Disk quota exceeded")), (model_file, "_members", MemoryError())],
    ids=["disk", "memory"],
)
def test_e03_x14_a_checkpoint_that_cannot_be_written_is_a_warning_and_the_run_goes_on(
    module, call, error, text, tmp_path, monkeypatch
):
    model, checkpoint = tmp_path / "m.npz", tmp_path / "m.npz.checkpoint"
    words = ["train", text, "-m", model, "--epochs", 9, "--quiet"]
    succeed(*words)
    expected = model.read_bytes()
    original, calls, kept = getattr(module, call), [], []

    def third_fails(*args, **kwargs):
        calls.append(args)
        if len(calls) == 3:
            kept.append(model_file.load(checkpoint).unfinished["done"])
            raise error
        if len(calls) == 4:
            kept.append(model_file.load(checkpoint).unfinished["done"])
        return original(*args, **kwargs)

    monkeypatch.setattr(module, call, third_fails)
    outcome = succeed(*words, "--checkpoint", 1e-9)
    why = error.strerror if isinstance(error, OSError) else "out of memory"
    assert outcome.err == f"cwlearn: warning: no checkpoint: {checkpoint}: {why}; the training goes on\n"
    assert kept == [2 * 61, 2 * 61], "the last one stays until another one is whole"
    assert len(calls) == 10
    assert model.read_bytes() == expected
    assert sorted(os.listdir(tmp_path)) == ["data.svm", "m.npz"]


def test_x14_a_checkpoint_that_cannot_be_removed_is_a_warning(text, tmp_path, monkeypatch):
    original = os.unlink

    def unlink(path, **kwargs):
        if str(path).endswith(".checkpoint"):
            raise OSError(errno.EPERM, "Operation not permitted", path)
        original(path, **kwargs)

    monkeypatch.setattr(os, "unlink", unlink)
    outcome = succeed("train", text, "-m", tmp_path / "m.npz", "--checkpoint", 1e-9, "--json")
    checkpoint = tmp_path / "m.npz.checkpoint"
    assert outcome.err == f"cwlearn: warning: {checkpoint} could not be removed: Operation not permitted\n"
    assert outcome.json["rows"] == 61


def test_e07_the_file_is_on_disk_before_it_gets_its_name_and_the_folder_after(text, tmp_path, monkeypatch):
    calls = []

    def spy(name):
        original = getattr(os, name)

        def spied(*args, **kwargs):
            calls.append((name, os.path.isdir(f"/proc/self/fd/{args[0]}") if name == "fsync" else args[1]))
            return original(*args, **kwargs)

        monkeypatch.setattr(os, name, spied)

    spy("fsync")
    spy("replace")
    succeed("train", text, "-m", tmp_path / "m.npz", "--quiet")
    assert calls == [("fsync", False), ("replace", "m.npz"), ("fsync", True)]


def limited(what, size):
    def set_limit():
        resource.setrlimit(getattr(resource, what), (size, size))

    return {"preexec_fn": set_limit}


def test_e06_a_limit_on_the_size_of_files_is_a_full_disk(text, model, tmp_path):
    old = model.read_bytes()
    text.write_text(random_text(3000))
    (tmp_path / "wide.svm").write_text(random_text(60, 3000))
    (tmp_path / "out").write_text("old\n")
    for words, what in (
        (["train", tmp_path / "wide.svm", "-m", model], str(model)),
        (["train", text, "-m", model, "--memory", 10_000], "TMPDIR"),
        (["predict", text, "-m", model, "-o", tmp_path / "out"], str(tmp_path / "out")),
    ):
        outcome = outcome_of(*words, **limited("RLIMIT_FSIZE", 4096))
        assert outcome.status == 1
        assert "File too large" in explained(outcome.err)
        assert what in outcome.err
    assert model.read_bytes() == old
    assert (tmp_path / "out").read_text() == "old\n"
    assert sorted(os.listdir(tmp_path)) == ["data.svm", "model.npz", "out", "wide.svm"]


@pytest.mark.parametrize("environment", [{}, {"PYTHONUNBUFFERED": "1"}], ids=str)
def test_e06_u06_output_that_does_not_fit_is_never_cut_without_a_word(environment, text, model, tmp_path):
    text.write_text(random_text(3000))
    with open(tmp_path / "out", "wb") as out:
        outcome = outcome_of("predict", text, "-m", model, stdout=out, env=environment, **limited("RLIMIT_FSIZE", 4096))
    assert (tmp_path / "out").stat().st_size <= 4096
    assert outcome.status == 1
    assert "File too large" in explained(outcome.err)


def test_e06_few_open_files_are_enough(text, tmp_path):
    for words in (["--epochs", 1], ["--memory", 4096], ["--checkpoint", 1e-9]):
        outcome = outcome_of("train", text, "-m", tmp_path / "m.npz", *words, **limited("RLIMIT_NOFILE", 10))
        assert outcome.status == 0, outcome.err


@not_with_sanitizers
def test_e06_little_memory_is_enough_or_the_message_says_what_needs_less(text, tmp_path):
    environment = {"OPENBLAS_NUM_THREADS": "1"}
    limit = limited("RLIMIT_AS", 512 << 20)
    outcome = outcome_of("train", text, "-m", tmp_path / "m.npz", "--quiet", env=environment, **limit)
    assert outcome.status == 0, outcome.err
    old = (tmp_path / "m.npz").read_bytes()
    for words in (["--hash-bits", 28], ["--features", 2**28], ["--epochs", 1, "--hash-bits", 27]):
        outcome = outcome_of("train", text, "-m", tmp_path / "m.npz", *words, env=environment, **limit)
        assert outcome.status == 1
        message = explained(outcome.err)
        assert "memory" in message
        assert "--hash-bits" in message
    assert (tmp_path / "m.npz").read_bytes() == old


@pytest.mark.parametrize("words", [["--epochs", 1], ["--epochs", 2], ["--epochs", 2, *CACHE]], ids=str)
def test_e04_memory_that_runs_out_at_any_time_is_an_error_and_keeps_the_old_model(words, text, model, monkeypatch):
    old = model.read_bytes()
    original = np.empty
    left = 0

    def empty(*args, **kwargs):
        nonlocal left
        left -= 1
        if left < 0:
            raise MemoryError
        return original(*args, **kwargs)

    monkeypatch.setattr(np, "empty", empty)
    for number in itertools.count():
        left = number
        outcome = cwlearn("train", text, "-m", model, "-a", "cw", "--threads", 1, "--quiet", *words)
        if outcome.status == 0:
            break
        assert outcome.status == 1
        assert "out of memory" in explained(outcome.err)
        assert model.read_bytes() == old
    assert number > 10
    assert model.read_bytes() != old


@not_with_sanitizers
def test_e08_neither_home_nor_a_folder_for_temporary_files_is_needed(text, tmp_path):
    line = [*COMMAND, "train", str(text), "-m", str(tmp_path / "m.npz"), "--quiet"]
    environment = {"TMPDIR": "/nonexistent"}
    subprocess.run(line, check=True, env=environment)
    expected = (tmp_path / "m.npz").read_bytes()
    succeed("train", text, "-m", tmp_path / "m.npz", "--quiet")
    assert (tmp_path / "m.npz").read_bytes() == expected


def test_e08_a_cache_without_a_folder_for_it_is_an_error(text, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    assert "missing" in fail("train", text, "-m", tmp_path / "m.npz", *CACHE)
    assert os.listdir(tmp_path) == ["data.svm"]


@pytest.mark.parametrize("clock", [0.0, 2.0**31 + 1, 2.0**32 + 1, "goes back"], ids=str)
def test_e09_no_clock_changes_a_byte(clock, text, model, tmp_path, monkeypatch):
    old = model.read_bytes()
    times = itertools.count(1.8e9, -1000)
    monkeypatch.setattr(time, "time", lambda: next(times) if clock == "goes back" else clock)
    date = 2**32 if clock == "goes back" else clock
    os.utime(text, (date, date))
    for words in ([], ["--checkpoint", 1e-9], ["--checkpoint", 60]):
        succeed("train", text, "-a", "arow", "-m", tmp_path / "m.npz", *words, "--quiet")
        assert (tmp_path / "m.npz").read_bytes() == old
    assert sorted(os.listdir(tmp_path)) == ["data.svm", "m.npz", "model.npz"]


# -- reading -----------------------------------------------------------------------------------------------------------


def odd_files(monkeypatch, read):
    """Let `read(number, file, view)` read, for the number-th time, in place of the system."""
    numbers = itertools.count()

    class Odd(text_files._Waiting):
        def readinto(self, view):
            return read(next(numbers), super(), memoryview(view).cast("B"))

    monkeypatch.setattr(text_files, "_Waiting", Odd)


def test_e05_short_reads_change_nothing(text, tmp_path, monkeypatch):
    packed = tmp_path / "data.svm.gz"
    packed.write_bytes(gzip.compress(text.read_bytes()))
    succeed("train", text, "-m", tmp_path / "m.npz", "--quiet")
    expected = (tmp_path / "m.npz").read_bytes()
    for size in (1, 7):
        for file in (text, packed):
            with monkeypatch.context() as patch:
                odd_files(patch, lambda number, raw, view: raw.readinto(view[:size]))  # noqa: B023
                succeed("train", file, "-m", tmp_path / "m.npz", "--quiet")
            assert (tmp_path / "m.npz").read_bytes() == expected


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("words", [["train", "-m"], ["predict", "-m"], ["evaluate", "-m"]], ids=str)
def test_e05_a_disk_that_cannot_be_read_is_an_error_with_the_name_of_the_file(words, packed, text, model, monkeypatch):
    if packed:
        text.write_bytes(gzip.compress(text.read_bytes()))
    old = model.read_bytes()

    def read(number, raw, view):
        if number == 2:
            raise OSError(errno.EIO, "Input/output error")
        return raw.readinto(view[:100])

    odd_files(monkeypatch, read)
    message = fail(words[0], text, *words[1:], model)
    assert message == f"cwlearn: error: {text}: Input/output error"
    assert model.read_bytes() == old


def test_e05_a_pipe_that_does_not_wait_is_waited_for(tmp_path):
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    with Runs("train", "-", "-m", tmp_path / "m.npz", "--epochs", 1, "--json", stdin=reading) as process:
        os.close(reading)
        for _ in range(5):
            time.sleep(0.15)
            os.write(writing, b"1 1:1\n-1 2:1\n" * 10)
        os.close(writing)
        assert b'"rows": 100' in process.stdout.read()
        assert process.wait(10) == 0


def test_e05_a_signal_while_reading_is_no_end_of_file(tmp_path):
    content = random_text(3000).encode()
    with Runs("train", "-", "-m", tmp_path / "m.npz", "--json", stdin=subprocess.PIPE) as process:
        half = len(content) // 2
        process.stdin.write(content[:half])
        process.stdin.flush()
        time.sleep(0.5)
        process.send_signal(signal.SIGSTOP)
        process.send_signal(signal.SIGCONT)
        process.send_signal(signal.SIGWINCH)
        process.stdin.write(content[half:])
        process.stdin.close()
        assert b'"rows": 3001' in process.stdout.read()
        assert process.wait(10) == 0


def test_f18_a_file_that_shrinks_while_it_is_read_is_an_error(text, tmp_path, monkeypatch):
    text.write_text(random_text(3000))
    size = text.stat().st_size
    for left in (0, size // 2):
        for words in (["--epochs", 1, "-a", "arow"], ["--epochs", 2, "-a", "arow"], []):  # the last in a race
            text.write_text(random_text(3000))

            def read(number, raw, view):
                if number == 3:
                    os.truncate(text, left)  # noqa: B023
                return raw.readinto(view[: size // 10])

            with monkeypatch.context() as patch:
                odd_files(patch, read)
                message = fail("train", text, "-m", tmp_path / "m.npz", *words)
            assert message == f"cwlearn: error: {text}: the file shrank while it was read"
    assert os.listdir(tmp_path) == ["data.svm"]


def test_f18_a_packed_file_that_shrinks_while_it_is_read_is_an_error(tmp_path):
    path = tmp_path / "data.svm.gz"
    rng = np.random.default_rng(0)
    rows = "".join(f"1 1:{value!r}\n" for value in rng.standard_normal(100_000).tolist())
    path.write_bytes(gzip.compress(rows.encode(), 1))
    batches = iter(Reader(path, threads=1, chunk_bytes=1 << 14))
    next(batches)
    os.truncate(path, 400_000)
    with pytest.raises(DataError, match=r"shrank while it was read|truncated gzip data"):
        list(batches)


def test_f18_a_file_that_is_replaced_while_it_is_read_is_read_to_its_end(text, tmp_path, monkeypatch):
    content = random_text(3000)
    text.write_text(content)

    def read(number, raw, view):
        if number == 3:
            (tmp_path / "new").write_text("bad\n")
            os.replace(tmp_path / "new", text)
        return raw.readinto(view[: len(content) // 10])

    odd_files(monkeypatch, read)
    outcome = succeed("train", text, "-m", tmp_path / "m.npz", "-a", "arow", "--epochs", 2, "--json")
    assert outcome.json["rows"] == 3001


def test_f18_a_file_that_grows_while_it_is_read_is_read_in_whole_lines(text, tmp_path, monkeypatch):
    content = "1 1:1\n-1 2:1\n" * 3000
    text.write_text(content)

    def read(number, raw, view):
        with open(text, "a") as file:
            file.write("1 1:1 2:1\n" if number < 20 else "")
        return raw.readinto(view[: len(content) // 10])

    odd_files(monkeypatch, read)
    for words in (["--epochs", 1], ["--epochs", 2]):
        assert succeed("train", text, "-m", tmp_path / "m.npz", *words, "--json").json["rows"] >= 6000


def test_a_cache_that_is_cut_short_is_an_error(text, tmp_path, monkeypatch):
    class Cut(out_of_core.DiskStore):
        def pieces(self, *args):
            self._file.truncate(100)
            return super().pieces(*args)

    monkeypatch.setattr(out_of_core, "DiskStore", Cut)
    assert "cache for more epochs is cut short" in fail("train", text, "-m", tmp_path / "m.npz", *CACHE)


def test_f20_a_line_longer_than_any_buffer_is_read(tmp_path):
    """In a process of its own, since a fault here has been a loop without an end."""
    path = tmp_path / "long.svm"
    path.write_text("1 " + " ".join(f"{index}:1" for index in range(1, 500_000)) + "\n-1 1:1\n")
    assert path.stat().st_size > 4 << 20
    with Runs("train", path, "-m", tmp_path / "m.npz", "--epochs", 1, "--json") as process:
        out, err = process.communicate(timeout=20)
    assert process.returncode == 0, err
    assert b'"nonzeros": 500000' in out


MEASURED = """
import sys
from cwlearn.cli import main as cli
status = cli.main(sys.argv[2:])
with open("/proc/self/status") as file, open(sys.argv[1], "w") as answer:
    answer.write(next(line.split()[1] for line in file if line.startswith("VmHWM:")))
sys.exit(status)
"""


def usage_of(*words):
    """The status, messages and largest memory, in megabytes, of a command."""
    with tempfile.NamedTemporaryFile("r") as answer:
        line = [sys.executable, "-c", MEASURED, answer.name, *map(str, words)]
        result = subprocess.run(line, capture_output=True, text=True, env=ENVIRONMENT, timeout=20)
        return result.returncode, result.stderr, int(answer.read()) / 1024


def write_packed(path, head, block, times):
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(head)
        for _ in range(times):
            file.write(block)


@not_with_sanitizers
def test_f13_a_small_file_that_unpacks_to_a_large_one_is_streamed(tmp_path):
    path = tmp_path / "bomb.svm.gz"
    write_packed(path, b"-1 2:1\n", b"1 1:1\n" * 100_000, 100)
    assert path.stat().st_size < 500_000
    status, err, megabytes = usage_of("train", path, "-m", tmp_path / "m.npz", "--epochs", 1)
    assert (status, err) == (0, "")
    assert megabytes < 200
    assert model_file.load(tmp_path / "m.npz").statistics["rows"] == 10_000_001


@not_with_sanitizers
@pytest.mark.parametrize("byte", [b"1", b" ", b"#", b"\0"])
def test_f14_a_line_without_an_end_is_refused_in_bounded_memory(byte, tmp_path):
    path = tmp_path / "bomb.svm.gz"
    write_packed(path, b"-1 2:1\n1 1:1\n", byte * (1 << 20), 300)
    words = ["train", path, "-m", tmp_path / "m.npz", "--max-line", "8M", "--epochs", 1]
    status, err, megabytes = usage_of(*words)
    assert status == 1
    assert f"{path}:3: line longer than {8 << 20} bytes (--max-line)" in explained(err)
    assert megabytes < 200


# -- damaged models ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "other"])
def test_a_damaged_model_is_refused_by_every_verb_and_stays_as_it_is(damage, text, model, tmp_path):
    content = bytearray(model.read_bytes())
    if damage == "flipped":
        content[len(content) // 2] ^= 1
    damaged = {"cut": content[:-100], "empty": b"", "other": b"1 1:1\n"}.get(damage, content)
    model.write_bytes(damaged)
    (tmp_path / "out").write_text("old\n")
    for words in (
        ["predict", text, "-m", model],
        ["predict", text, "-m", model, "-o", tmp_path / "out"],
        ["evaluate", text, "-m", model],
        ["inspect", model],
        ["train", text, "-m", model, "--resume", model],
        ["train", text, "-m", tmp_path / "new.npz", "--resume", model, "--force"],
    ):
        message = fail(*words)
        assert message.startswith(f"cwlearn: error: {model}: ")
        assert ("damaged" if damage == "flipped" else "not a cwlearn model") in message
    assert model.read_bytes() == bytes(damaged)
    assert (tmp_path / "out").read_text() == "old\n"
    assert sorted(os.listdir(tmp_path)) == ["data.svm", "model.npz", "out"]
    succeed("train", text, "-m", model, "--quiet")  # a new model may take its place
    succeed("inspect", model)


def test_r3_bad_data_leave_the_old_model_and_checkpoint(text, model, tmp_path):
    checkpoint = tmp_path / "model.npz.checkpoint"
    checkpoint.write_bytes(model.read_bytes())
    old = model.read_bytes()
    text.write_text(random_text(3000) + "bad\n")
    for words in (["--epochs", 1], ["--epochs", 2], CACHE):
        assert ":3005:1: label is not a number" in fail("train", text, "-m", model, "--checkpoint", 60, *words)
        assert model.read_bytes() == checkpoint.read_bytes() == old
    assert sorted(os.listdir(tmp_path)) == ["data.svm", "model.npz", "model.npz.checkpoint"]


# -- threads and forks -------------------------------------------------------------------------------------------------

FORKS = """
import os, sys
from cwlearn.cli import main as cli
train = ["train", sys.argv[1], "-m", sys.argv[2], "--threads", "4", "--quiet", "--epochs", "1"]
assert cli.main(train) == 0
child = os.fork()
if child == 0:
    os._exit(cli.main([*train[:3], sys.argv[2] + ".child", *train[4:]]))
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""


def test_t02_a_fork_after_a_parallel_parse_parses_in_the_child(text, tmp_path):
    text.write_text(random_text(3000))
    model = tmp_path / "m.npz"
    subprocess.run([sys.executable, "-c", FORKS, text, model], check=True, timeout=30, env=ENVIRONMENT)
    assert model.read_bytes() == (tmp_path / "m.npz.child").read_bytes()


ENDS = """
import sys, threading, time
from cwlearn import read_svmlight
from cwlearn.text.reader import Reader
path, how = sys.argv[1:]
batches = iter(Reader(path, threads=8, chunk_bytes=1 << 12))
next(batches)
def parse(): read_svmlight(path, threads=8)
def fail(): raise RuntimeError("another thread")
if how == "exit":
    sys.exit(0)
if how == "daemon":
    for _ in range(4):
        threading.Thread(target=parse, daemon=True).start()
    time.sleep(0.01)
    sys.exit(0)
threading.excepthook = lambda fault: print(fault.exc_value)
thread = threading.Thread(target=fail)
thread.start()
print(3001 == len(read_svmlight(path, threads=8)[1]))
"""


@pytest.mark.parametrize("how", ["exit", "daemon", "exception"])
def test_t05_an_interpreter_that_ends_or_another_thread_that_fails_does_no_harm_to_a_parse(how, text):
    text.write_text(random_text(3000))
    words = [sys.executable, "-c", ENDS, text, how]
    for _ in range(3):
        result = subprocess.run(words, capture_output=True, text=True, timeout=30, env=ENVIRONMENT)
        assert (result.returncode, result.stderr) == (0, "")
    assert sorted(result.stdout.splitlines()) == (["True", "another thread"] if how == "exception" else [])


def test_a_reader_that_is_left_early_leaves_no_thread_and_no_file(text):
    text.write_text(random_text(3000))
    before, files = threading.active_count(), len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        batches = iter(Reader(text, threads=4, chunk_bytes=1 << 12))
        next(batches)
        batches.close()
    wait_until(lambda: threading.active_count() == before, 5)
    assert len(os.listdir("/proc/self/fd")) == files
