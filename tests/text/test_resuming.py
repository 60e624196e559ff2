"""Resuming a model or an interrupted run: the same bits as without the stop, or an error that says why.

The names M11 ... and U08 ... are the rows of docs/odd_inputs.md that a test checks.
"""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest

import cwlearn as package
from cwlearn.cli.terminal import TerminalMonitor
from cwlearn.core import learner as learner_module
from cwlearn.core import model_file
from cwlearn.core.states.diagonal import DiagonalState
from cwlearn.text import run as out_of_core
from cwlearn.text import sources as text_files
from cwlearn.text.run import Run
from cwlearn.text.sources import Source, fingerprint
from tests.cases import RULES, WEIGHTED, rule_id
from tests.text_cases import (
    SMALL,
    bits,
    compressed,
    cwlearn,
    fail,
    flags,
    random_text,
    set_chunk_bytes,
    succeed,
    trained,
)

# -- going on ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", [*RULES, *WEIGHTED], ids=rule_id)
def test_resuming_on_b_after_a_gives_the_bits_of_a_followed_by_b(rule, tmp_path):
    a, b, both = tmp_path / "a.svm", tmp_path / "b.svm", tmp_path / "both.svm"
    a.write_text(random_text(seed=1), newline="")
    b.write_text(random_text(seed=2, n_features=40), newline="")
    both.write_bytes(a.read_bytes() + b.read_bytes())
    for more in ({}, {"dtype": "float64", "fit_intercept": False, "initial_variance": 0.5}):
        words = [*flags(rule, **more), "--quiet"]
        succeed("train", a, "-m", tmp_path / "m.npz", *words, "--epochs", 1)
        succeed("train", b, "-m", tmp_path / "m.npz", "--resume", tmp_path / "m.npz", "--epochs", 1, "--quiet")
        resumed = model_file.load(tmp_path / "m.npz")
        assert bits(resumed) == bits(trained(both, *words, "--epochs", 1))
        assert bits(resumed) == bits(trained(a, b, *words, "--epochs", 1))
        assert resumed.label_names == ["-1", "+1"]


def test_resuming_counts_only_what_is_new(text, tmp_path):
    first = succeed("train", text, "-m", tmp_path / "m.npz", "--epochs", 2, "--json").json
    second = succeed(
        "train", text, "-m", tmp_path / "n.npz", "--resume", tmp_path / "m.npz", "--epochs", 3, "--json"
    ).json
    statistics = model_file.load(tmp_path / "n.npz").statistics
    assert second["rows"] == 61
    assert statistics["rows"] == 5 * 61
    assert first["updates"] + second["updates"] == statistics["updates"]
    assert second["mistakes"] == statistics["mistakes"] - first["mistakes"]
    assert statistics["repeated_rows"] == (1 + 2) * 61
    again = succeed(
        "train", text, "-m", tmp_path / "o.npz", "--resume", tmp_path / "m.npz", "--epochs", 1, "--shuffle", "--json"
    ).json
    assert second["progressive_error"] == again["progressive_error"] == again["mistakes"] / 61
    assert model_file.load(tmp_path / "m.npz").statistics["rows"] == 2 * 61


def test_a_hashed_model_goes_on_with_its_hashes(tmp_path):
    a, b = tmp_path / "a.svm", tmp_path / "b.svm"
    a.write_text(random_text(seed=1))
    b.write_text(random_text(seed=2))
    words = ["-a", "arow", "--epochs", 1, "--quiet"]
    succeed("train", a, "-m", tmp_path / "m.npz", "--hash-bits", 5, *words)
    succeed("train", b, "-m", tmp_path / "m.npz", "--resume", tmp_path / "m.npz", *words)
    assert bits(model_file.load(tmp_path / "m.npz")) == bits(trained(a, b, "--hash-bits", 5, *words[:4]))


@pytest.mark.parametrize(
    ("words", "old", "new"),
    [
        (["-a", "cw"], "arow", "cw"),
        (["--regularization", 3], "2", "3"),
        (["--projection", "l2"], "kl", "l2"),
        (["--initial-variance", 0.25], "0.5", "0.25"),
        (["--dtype", "float64"], "float32", "float64"),
        (["--no-fit-intercept"], "--fit-intercept yes", "no"),
        (["--class-weight", "1:2"], "none", "1"),
        (["--labels", "0,1"], "-1", "0"),
        (["--labels", "-1,1,2"], "-1, +1", "2"),
        (["--hash-bits", 4], "none", "4"),
    ],
    ids=str,
)
def test_m11_a_model_goes_on_only_as_what_it_is(words, old, new, text, tmp_path):
    model = tmp_path / "m.npz"
    succeed("train", text, "-m", model, "--regularization", 2, "--initial-variance", 0.5, "--quiet")
    before = model.read_bytes()
    message = fail("train", text, "-m", model, "--resume", model, *words)
    assert words[0].removeprefix("--").removeprefix("no-") in message.replace("algorithm", "-a")
    assert old in message
    assert new in message
    assert model.read_bytes() == before


def test_m11_force_goes_on_with_other_parameters_where_that_makes_sense(text, tmp_path):
    model = tmp_path / "m.npz"
    succeed("train", text, "-m", model, "--regularization", 2, "--quiet")
    go_on = ["train", text, "-m", model, "--resume", model, "--force", "--quiet"]
    succeed(*go_on, "--regularization", 3)
    learner = model_file.load(model)
    assert learner.rule.regularization == 3
    assert learner.statistics["rows"] == 10 * 61
    for words in (["-a", "cw"], ["--initial-variance", 0.5], ["--dtype", "float64"]):
        fail(*go_on, *words)
    assert bits(model_file.load(model)) == bits(learner)


def test_a_model_with_names_of_features_can_go_on_and_be_read_back(text, tmp_path):
    import pandas as pd

    model = tmp_path / "m.npz"
    frame = pd.DataFrame(np.eye(4), columns=["a", "b", "c", "d"])
    package.AROWClassifier().fit(frame, [-1.0, 1.0, -1.0, 1.0]).save(model)
    if cwlearn("train", text, "-m", model, "--resume", model).status == 0:
        succeed("inspect", model)


# -- checkpoints -------------------------------------------------------------------------------------------------------

MODES = {
    "one pass": ["--epochs", 1],
    "shuffled": ["--epochs", 3, "--seed", 4],
    "one shuffled epoch": ["--epochs", 1, "--shuffle"],
    "cache": ["--epochs", 3, "--seed", 4, "--memory", SMALL],
    "cache in order": ["--epochs", 3, "--no-shuffle", "--memory", SMALL],
    "average": ["--epochs", 3, "-a", "perceptron", "--average"],
    "average of a second-order rule": ["--epochs", 3, "-a", "arow", "--average"],
    "balanced": ["--epochs", 2, "--class-weight", "balanced"],
    "several labels a row": ["--epochs", 1, "--multilabel"],
    "several labels a row, cache": ["--epochs", 3, "--multilabel", "--memory", SMALL],
    "prior of all rows": ["-a", "arow", "--prior", "naive-bayes", "--epochs", 4],
    "prior of all rows, one pass": ["-a", "scw", "--prior", "naive-bayes", "--epochs", 1],
    "prior of all rows, cache": ["-a", "nherd", "--prior", "naive-bayes", "--epochs", 3, "--memory", SMALL],
    "gzip": ["--epochs", 1],
}


@pytest.fixture
def small_steps(monkeypatch):
    """Chunks of a few lines, and calls of the kernel for a few rows."""
    set_chunk_bytes(monkeypatch, 400)
    monkeypatch.setattr(learner_module, "BLOCK_EFFORT", 60)


@pytest.fixture
def interrupt(monkeypatch):
    """Ctrl-C while the n-th block of rows is being learned."""

    def at(number):
        count = 0
        original = TerminalMonitor.learned

        def learned(self, run, rows):
            nonlocal count
            count += 1
            if count == number:
                os.kill(os.getpid(), signal.SIGINT)
            original(self, run, rows)

        monkeypatch.setattr(TerminalMonitor, "learned", learned)

    return at


@pytest.mark.usefixtures("small_steps")
@pytest.mark.parametrize("blocks", [1, 3, 7])
@pytest.mark.parametrize("mode", MODES)
def test_a_checkpoint_goes_on_to_the_bits_of_the_run_that_was_not_interrupted(mode, blocks, text, tmp_path, interrupt):
    file = compressed(text) if mode == "gzip" else text
    words = ["train", file, "-m", tmp_path / "m.npz", *MODES[mode], "--quiet"]
    succeed(*words)
    expected = (tmp_path / "m.npz").read_bytes()
    (tmp_path / "m.npz").unlink()

    interrupt(blocks)
    outcome = cwlearn(*words, "--checkpoint", 60)
    assert outcome.status == 130
    assert not (tmp_path / "m.npz").exists()
    checkpoint = model_file.load(tmp_path / "m.npz.checkpoint")
    done = checkpoint.unfinished["done"]
    assert 0 < done == checkpoint.statistics["rows"]
    assert f"interrupted after {done} rows" in outcome.err
    assert f"--resume {tmp_path / 'm.npz.checkpoint'}" in outcome.err

    succeed(*words, "--checkpoint", 60, "--resume", tmp_path / "m.npz.checkpoint")
    assert (tmp_path / "m.npz").read_bytes() == expected
    assert not (tmp_path / "m.npz.checkpoint").exists()


@pytest.mark.usefixtures("small_steps")
@pytest.mark.parametrize("memory", [[], ["--memory", SMALL]])
@pytest.mark.parametrize("blocks", [20, 220, 300])
def test_a_checkpoint_of_any_epoch_goes_on_to_the_same_calibration(blocks, memory, tmp_path, interrupt):
    """Of some 600 rows four fifths are in the first two of five epochs: it stops there, in the third, and later."""
    text = tmp_path / "data.svm"
    text.write_text(random_text(600, seed=5))
    words = ["train", text, "-m", tmp_path / "m.npz", "--epochs", 5, "--seed", 4, *memory, "--quiet"]
    succeed(*words)
    expected = (tmp_path / "m.npz").read_bytes()
    assert model_file.load(tmp_path / "m.npz").calibration.settled == 1
    (tmp_path / "m.npz").unlink()
    interrupt(blocks)
    assert cwlearn(*words, "--checkpoint", 60).status == 130
    checkpoint = model_file.load(tmp_path / "m.npz.checkpoint")
    done = checkpoint.unfinished["done"]
    assert (done < 900, done > 1000) == (blocks == 20, blocks > 20)
    assert checkpoint.calibration.settled == (blocks > 20)
    succeed(*words, "--checkpoint", 60, "--resume", tmp_path / "m.npz.checkpoint")
    assert (tmp_path / "m.npz").read_bytes() == expected


@pytest.mark.usefixtures("small_steps")
def test_checkpoints_are_kept_so_often_and_removed_at_the_end(text, tmp_path, monkeypatch):
    saved = []
    original = model_file.save
    monkeypatch.setattr(model_file, "save", lambda learner, path: (saved.append(str(path)), original(learner, path)))
    words = ["train", text, "-m", tmp_path / "m.npz", "--epochs", 2, "--quiet"]
    succeed(*words, "--checkpoint", 1e-9)
    assert saved.count(str(tmp_path / "m.npz.checkpoint")) > 5
    assert saved[-1] == str(tmp_path / "m.npz")
    assert set(os.listdir(tmp_path)) == {"data.svm", "m.npz"}
    saved.clear()
    succeed(*words, "--checkpoint", 60)
    assert saved == [str(tmp_path / "m.npz")]


def interrupted(words, tmp_path, interrupt, blocks=5):
    interrupt(blocks)
    assert cwlearn(*words, "--checkpoint", 60).status == 130
    return tmp_path / "m.npz.checkpoint"


@pytest.mark.usefixtures("small_steps")
@pytest.mark.parametrize(
    ("words", "difference"),
    [
        (["--seed", 5], "seed 4, now 5"),
        (["--epochs", 4], "epochs 3, now 4"),
        (["--no-shuffle"], "shuffle true, now false"),
        (["--unsorted", "sort"], 'unsorted "error", now "sort"'),
        (["--on-bad-line", "skip"], 'on_bad_line "error", now "skip"'),
        (["--regularization", 7], "--regularization auto, not 7"),
        (["other"], "data"),
        (["grown"], "data"),
    ],
    ids=str,
)
def test_m12_a_checkpoint_goes_on_only_with_its_own_run(words, difference, text, tmp_path, interrupt):
    train = ["train", text, "-a", "arow", "-m", tmp_path / "m.npz", "--epochs", 3, "--seed", 4, "--quiet"]
    checkpoint = interrupted(train, tmp_path, interrupt)
    before = checkpoint.read_bytes()
    if words == ["other"]:
        words, train[1] = [], text.rename(tmp_path / "other.svm")
    elif words == ["grown"]:
        words = []
        text.write_text(text.read_text() + "1 1:1\n")
    message = fail(*train, *words, "--resume", checkpoint)
    assert difference in message
    assert checkpoint.read_bytes() == before
    assert not (tmp_path / "m.npz").exists()
    succeed(*train, *words, "--resume", checkpoint, "--force")
    assert model_file.load(tmp_path / "m.npz").unfinished is None


@pytest.mark.usefixtures("small_steps")
def test_m12_data_of_the_same_name_and_size_are_other_data_all_the_same(text, tmp_path, interrupt):
    train = ["train", text, "-m", tmp_path / "m.npz", "--epochs", 3, "--seed", 4, "--quiet"]
    checkpoint = interrupted(train, tmp_path, interrupt)
    content = text.read_bytes()
    text.write_bytes(content.replace(b"+1 ", b"+2 ").replace(b"-1 ", b"+1 ").replace(b"+2 ", b"-1 "))
    assert text.stat().st_size == len(content)
    os.utime(text, (1e9, 1e9))
    assert "data" in fail(*train, "--resume", checkpoint)


@pytest.mark.parametrize("place", [0, 0.3, 0.5, 0.8, 1])
def test_m12_data_are_recognised_by_bytes_of_all_of_them(place, tmp_path):
    """The fingerprint reads the file at many places."""
    path = tmp_path / "data"
    content = bytearray(os.urandom(5 << 20))
    path.write_bytes(content)
    before = fingerprint([Source(str(path))])
    assert fingerprint([Source(str(path))]) == before
    start = int(place * (len(content) - 200_000))
    content[start : start + 200_000] = os.urandom(200_000)
    path.write_bytes(content)
    assert fingerprint([Source(str(path))]) != before


def changed(line):
    """A line with the other label, of the same length."""
    return {"+1": "-1", "-1": "+1"}[line[:2]] + line[2:]


@pytest.fixture
def blind(monkeypatch):
    """The fingerprint does not look at bytes of the data: only reading them shows a change."""
    monkeypatch.setattr(text_files, "FINGERPRINT_BYTES", 0)


@pytest.mark.usefixtures("small_steps", "blind")
@pytest.mark.parametrize("chunk_bytes", [16, 400, 1 << 20])
@pytest.mark.parametrize("mode", ["one pass", "shuffled", "cache", "gzip"])
def test_x06_a_checkpoint_does_not_go_on_if_what_it_has_read_was_changed(
    mode, chunk_bytes, text, tmp_path, interrupt, monkeypatch
):
    """Whatever the line, and whatever the chunks: nothing is learned, and nothing is written."""
    lines = [line for line in text.read_text().splitlines(keepends=True) if line.startswith(("+1 ", "-1 "))]
    text.write_text("".join(lines))

    def data():
        return compressed(text) if mode == "gzip" else text

    train = ["train", data(), "-m", tmp_path / "m.npz", *MODES[mode], "--quiet"]
    if mode == "gzip":  # of which the size would tell, too
        monkeypatch.setattr(out_of_core, "fingerprint", lambda paths: "data")
    succeed(*train)
    expected = (tmp_path / "m.npz").read_bytes()
    (tmp_path / "m.npz").unlink()
    checkpoint = interrupted(train, tmp_path, interrupt, blocks=4)
    before = checkpoint.read_bytes()
    done = model_file.load(checkpoint).unfinished["done"] if mode in ("one pass", "gzip") else len(lines)
    set_chunk_bytes(monkeypatch, chunk_bytes)
    train += ["--checkpoint", 1e-9, "--resume", checkpoint]
    for number in range(len(lines)):
        text.write_text("".join([*lines[:number], changed(lines[number]), *lines[number + 1 :]]))
        if number < done:
            assert "the data have changed" in fail(*train[:1], data(), *train[2:])
            assert not (tmp_path / "m.npz").exists()
            assert checkpoint.read_bytes() == before
    text.write_text("".join(lines))
    succeed(*train[:1], data(), *train[2:])
    if mode != "cache" or chunk_bytes == 400:  # the rows of a chunk are a block of the cache
        assert (tmp_path / "m.npz").read_bytes() == expected


@pytest.mark.usefixtures("small_steps", "blind")
@pytest.mark.parametrize("mode", ["one pass", "shuffled"])
def test_x06_force_learns_from_changed_data_as_new_ones(mode, text, tmp_path, interrupt):
    train = ["train", text, "-m", tmp_path / "m.npz", *MODES[mode], "--quiet"]
    checkpoint = interrupted(train, tmp_path, interrupt).rename(tmp_path / "kept.npz")
    done = model_file.load(checkpoint).statistics["rows"]
    content = text.read_bytes().decode()
    text.write_text(changed(content), newline="")
    assert "the data have changed" in fail(*train, "--resume", checkpoint)
    succeed(*train, "--resume", checkpoint, "--force")
    epochs = 1 if mode == "one pass" else 3
    assert model_file.load(tmp_path / "m.npz").statistics["rows"] == done + epochs * 61
    text.write_text(content, newline="")
    succeed(*train, "--resume", checkpoint, "--force")
    assert model_file.load(tmp_path / "m.npz").statistics["rows"] == epochs * 61


def piped(content, *words):
    """Run a command whose standard input is a pipe with these lines."""
    reading, writing = os.pipe()
    before = os.dup(0)
    os.write(writing, "".join(content).encode())
    os.close(writing)
    os.dup2(reading, 0)
    try:
        return cwlearn(*words)
    finally:
        os.dup2(before, 0)
        os.close(before)
        os.close(reading)


@pytest.mark.usefixtures("small_steps")
@pytest.mark.parametrize("mode", ["one pass", "shuffled"])
def test_x06_a_pipe_that_brings_other_data_is_noticed_too(mode, text, tmp_path, interrupt):
    """Changed, with more rows in fewer lines, or shorter; of a pipe there is neither size nor sample."""
    lines = text.read_text().splitlines(keepends=True)
    train = ["train", "-", "-m", tmp_path / "m.npz", *MODES[mode], "--quiet", "--labels=-1,+1"]

    assert piped(lines, *train).status == 0
    expected = (tmp_path / "m.npz").read_bytes()
    (tmp_path / "m.npz").unlink()
    interrupt(20)
    assert piped(lines, *train, "--checkpoint", 60).status == 130
    resume = ["--resume", tmp_path / "m.npz.checkpoint"]
    without_comments = [line for line in lines if line.startswith(("+1 ", "-1 "))]
    for other in ([changed(lines[0]), *lines[1:]], without_comments * 2, lines[:9], lines[:1], without_comments[:30]):
        for words in (resume, [*resume, "--checkpoint", 1e-9]):
            found = piped(other, *train, *words)
            assert found.status == 1
            assert "the data have changed" in found.err
            assert not (tmp_path / "m.npz").exists()
    if mode == "one pass":
        found = piped([changed(lines[0]), *lines[1:]], *train, *resume, "--force")
        assert "cannot be read again" in found.err
        assert found.status == 1
    assert piped(lines, *train, *resume).status == 0
    assert (tmp_path / "m.npz").read_bytes() == expected


@pytest.mark.usefixtures("small_steps")
def test_x06_a_checkpoint_of_a_resumed_run_depends_on_all_that_both_have_read(text, tmp_path, interrupt):
    """Wherever the moment is: within a batch or at its end."""
    lines = [line for line in text.read_text().splitlines(keepends=True) if line.startswith(("+1 ", "-1 "))]
    train = ["train", "-", "-m", tmp_path / "m.npz", "-a", "arow", "--epochs", 1, "--quiet", "--labels=-1,+1"]
    first, second = (tmp_path / name for name in ("first.npz", "m.npz.checkpoint"))
    for blocks in range(3, 14):
        interrupt(blocks)
        assert piped(lines, *train, "--checkpoint", 60).status == 130
        second.rename(first)
        read = model_file.load(first).unfinished["lines"]
        other = [*lines[: read - 1], changed(lines[read - 1]), *lines[read:]]
        assert "the data have changed" in piped(other, *train, "--resume", first).err
        interrupt(blocks)
        assert piped(lines, *train, "--resume", first, "--checkpoint", 60).status == 130
        read_again = model_file.load(second).unfinished["lines"]
        assert read_again > read
        for place in (read, read_again - 1):
            other = [*lines[:place], changed(lines[place]), *lines[place + 1 :]]
            assert "the data have changed" in piped(other, *train, "--resume", second).err
        assert not (tmp_path / "m.npz").exists()


@pytest.mark.usefixtures("small_steps")
@pytest.mark.parametrize(
    "record",
    [{}, {"lines": -1}, {"lines": True}, {"lines": "5"}, {"checksum": 5}, {"checksum": "x"}, {"checksum": None}],
)
def test_x06_a_checkpoint_that_does_not_say_what_it_has_read_is_refused(record, text, tmp_path, interrupt):
    train = ["train", text, "-m", tmp_path / "m.npz", "--epochs", 1, "--quiet"]
    checkpoint = interrupted(train, tmp_path, interrupt)
    learner = model_file.load(checkpoint)
    done = learner.statistics["rows"]
    for name in ("lines", "checksum") if not record else ():
        del learner.unfinished[name]
    learner.unfinished |= record
    model_file.save(learner, checkpoint)
    assert "the checkpoint does not say what it has read" in fail(*train, "--resume", checkpoint)
    succeed(*train, "--resume", checkpoint, "--force")
    assert model_file.load(tmp_path / "m.npz").statistics["rows"] == done + 61


@pytest.mark.usefixtures("small_steps")
def test_a_checkpoint_goes_on_with_the_memory_that_it_was_written_with(text, tmp_path, interrupt, monkeypatch):
    """Though there is more of it free by then, and though nobody said how much: windows of a shuffle depend on it."""
    train = ["train", text, "-m", tmp_path / "m.npz", "--epochs", 3, "--seed", 4, "--quiet"]
    monkeypatch.setattr(out_of_core, "free_memory", lambda: 2 * SMALL)
    succeed(*train)
    expected = (tmp_path / "m.npz").read_bytes()
    checkpoint = interrupted(train, tmp_path, interrupt)
    assert model_file.load(checkpoint).unfinished["memory"] == SMALL
    monkeypatch.setattr(out_of_core, "free_memory", lambda: 5 * SMALL)
    succeed(*train, "--resume", checkpoint)
    assert (tmp_path / "m.npz").read_bytes() == expected


@pytest.mark.usefixtures("small_steps")
def test_m12_force_takes_other_data_as_new_ones(text, tmp_path, interrupt):
    train = ["train", text, "-m", tmp_path / "m.npz", "--epochs", 1, "--quiet"]
    checkpoint = interrupted(train, tmp_path, interrupt)
    done = model_file.load(checkpoint).statistics["rows"]
    other = tmp_path / "other.svm"
    other.write_text(random_text(seed=3))
    succeed(*train[:1], other, *train[2:], "--resume", checkpoint, "--force")
    assert model_file.load(tmp_path / "m.npz").statistics["rows"] == done + 61


@pytest.mark.usefixtures("small_steps")
@pytest.mark.parametrize(("before", "after"), [(SMALL, SMALL + 2000), (SMALL, 1 << 30), (1 << 30, SMALL)])
def test_a_checkpoint_with_other_memory_goes_on_to_the_same_bits_or_says_so(before, after, text, tmp_path, interrupt):
    """Windows of a shuffle depend on the memory: without a word, rows would be learned twice and others never."""
    train = ["train", text, "-m", tmp_path / "m.npz", "--epochs", 3, "--seed", 4, "--quiet", "--memory"]
    succeed(*train, before)
    expected = (tmp_path / "m.npz").read_bytes()
    checkpoint = interrupted([*train, before], tmp_path, interrupt)
    outcome = cwlearn(*train, after, "--resume", checkpoint)
    if outcome.status == 0:
        assert (tmp_path / "m.npz").read_bytes() == expected
    else:
        assert "memory" in outcome.err


@pytest.mark.usefixtures("small_steps")
@pytest.mark.parametrize("mode", ["one pass", "shuffled", "cache"])
def test_ctrl_c_before_a_resumed_run_is_where_it_was_keeps_the_checkpoint_sound(
    mode, text, tmp_path, interrupt, monkeypatch
):
    train = ["train", text, "-m", tmp_path / "m.npz", *MODES[mode], "--quiet"]
    succeed(*train)
    expected = (tmp_path / "m.npz").read_bytes()
    checkpoint = interrupted(train, tmp_path, interrupt, blocks=10)
    before = model_file.load(checkpoint).unfinished
    calls = []
    original = Run._learn

    def learn(self, *args, **kwargs):
        original(self, *args, **kwargs)
        calls.append(self.done)
        if len(calls) == 1:
            os.kill(os.getpid(), signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr(Run, "_learn", learn)
        assert cwlearn(*train, "--checkpoint", 60, "--resume", checkpoint).status == 130
    assert len(calls) == 1
    kept = model_file.load(checkpoint)
    assert kept.unfinished["done"] == kept.statistics["rows"]
    assert kept.unfinished == before
    succeed(*train, "--checkpoint", 60, "--resume", checkpoint)
    assert (tmp_path / "m.npz").read_bytes() == expected


@pytest.mark.usefixtures("small_steps")
@pytest.mark.parametrize("mode", ["one pass", "shuffled"])
def test_u08_a_second_ctrl_c_leaves_a_sound_checkpoint_or_none(mode, text, tmp_path, monkeypatch):
    train = ["train", text, "-m", tmp_path / "m.npz", *MODES[mode], "--quiet"]
    succeed(*train)
    expected = (tmp_path / "m.npz").read_bytes()
    original = DiagonalState.learn
    calls = []

    def learn(self, *args):
        result = original(self, *args)
        calls.append(args)
        if len(calls) == 4:  # the rows of this call are in the weights, and nobody has counted them yet
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGINT)
        return result

    with monkeypatch.context() as patch:
        patch.setattr(DiagonalState, "learn", learn)
        outcome = cwlearn(*train, "--checkpoint", 60)
    assert outcome.status == 130
    assert len(calls) == 4, "the second one does not wait"
    checkpoint = tmp_path / "m.npz.checkpoint"
    resume = ["--resume", checkpoint] if checkpoint.exists() else []
    succeed(*train, *resume)
    assert (tmp_path / "m.npz").read_bytes() == expected


def test_a_checkpoint_can_be_predicted_with_and_inspected(text, tmp_path, interrupt, small_steps):
    train = ["train", text, "-m", tmp_path / "m.npz", "--epochs", 1, "--quiet"]
    checkpoint = interrupted(train, tmp_path, interrupt)
    done = model_file.load(checkpoint).statistics["rows"]
    assert f"a checkpoint after {done} rows of an unfinished run" in succeed("inspect", checkpoint).out
    assert len(succeed("predict", text, "-m", checkpoint).out.splitlines()) == 61


@pytest.mark.usefixtures("small_steps")
def test_a_checkpoint_of_many_files_can_be_read_back(tmp_path, interrupt, monkeypatch):
    """The real limit, 1 MiB, is that of some ten thousand files."""
    monkeypatch.setattr(model_file, "HEADER_LIMIT", 1 << 14)
    names = [tmp_path / f"{'y' * 200}{number}" for number in range(80)]
    for name in names:
        name.write_text("1 1:1\n-1 2:1\n")
    interrupt(5)
    assert cwlearn("train", *names, "-m", tmp_path / "m", "--epochs", 1, "--quiet", "--checkpoint", 60).status == 130
    assert model_file.load(tmp_path / "m.checkpoint").statistics["rows"] > 0


def test_a_checkpoint_that_goes_on_in_python_learns_from_all_rows(text, tmp_path, interrupt, small_steps):
    checkpoint = interrupted(
        ["train", text, "-m", tmp_path / "m.npz", "--epochs", 1, "--quiet"], tmp_path, interrupt, 2
    )
    done = model_file.load(checkpoint).statistics["rows"]
    model = package.load(checkpoint).set_params(warm_start=True, epochs=1, shuffle=False)
    package.train(text, model)
    assert model._learner.statistics["rows"] == done + 61
    assert model._learner.unfinished is None
    again = package.load(checkpoint)
    again.partial_fit(np.eye(again.n_features_in_), np.resize([-1.0, 1.0], again.n_features_in_))
    assert again._learner.unfinished is None
