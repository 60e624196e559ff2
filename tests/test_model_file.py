"""Model files: the same model back, and nothing but a whole and sound one.

The names M01 ... and E01 ... are the rows of the table of odd inputs that each test answers for.
"""

from __future__ import annotations

import errno
import itertools
import json
import os
import pickle
import signal
import subprocess
import sys
import time
import zipfile

import numpy as np
import pytest

import cwlearn
from cwlearn import model_file, rules
from cwlearn.errors import ModelError
from tests.cases import RULES, new_learner, random_rows, rows_of, rule_id
from tests.text_cases import FullDisk


@pytest.fixture
def learner():
    X, y = random_rows(20, 5)
    learner = new_learner(rules.Perceptron(average=True), 5)
    learner.learn(rows_of(X, learner), y)
    return learner


@pytest.fixture
def saved(learner, tmp_path):
    path = tmp_path / "model.npz"
    model_file.save(learner, path)
    return path


def reseal(path, change):
    """Rewrite a model with its members changed, and with a checksum that fits, as an attacker would."""
    with np.load(path) as archive:
        members = {name: archive[name] for name in archive.files}
    header = json.loads(members["header"].tobytes())
    members = change(header, members) or members
    if "header" in members:
        text = header if isinstance(header, bytes) else json.dumps(header).encode()
        members["header"] = members.get("raw header", np.frombuffer(text, np.uint8))
    members.pop("raw header", None)
    with open(path, "wb") as file:
        model_file._write_sealed(file, members)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("rule", RULES, ids=rule_id)
def test_a_model_comes_back_bit_for_bit_and_goes_on_learning(rule, dtype, tmp_path):
    X, y = random_rows(noise=0.1)
    learner = new_learner(rule, dtype=dtype, fit_intercept=False, initial_variance=0.5, random_state=3)
    rows = rows_of(X, learner)
    learner.learn(rows, y)
    model_file.save(learner, tmp_path / "m.npz")
    again = model_file.load(tmp_path / "m.npz")
    assert again.rule == learner.rule
    assert again.training == learner.training
    assert (again.classes == learner.classes).all()
    for each in (learner, again):
        each.learn(rows, y)
    assert again.tally == learner.tally
    assert again.state.cells.tobytes() == learner.state.cells.tobytes()
    assert again.state.average.tobytes() == learner.state.average.tobytes()
    assert (again.margins(rows)[0] == learner.margins(rows)[0]).all()


@pytest.mark.parametrize(
    "labels",
    [
        ["ham", "spam"],
        np.array(["ham", "spam"], object),
        [0, 1],
        [False, True],
        np.array([3, 7], np.int8),
        [-1.0, 2.0],
        ["gestreift", "größer \U0001f600"],
    ],
    ids=repr,
)
def test_estimators_come_back_with_labels_and_parameters(labels, tmp_path):
    X, y = random_rows()
    y = np.asarray(labels)[(y > 0).astype(int)]
    first, second = np.unique(y)
    weights = {first: 1.0, second: 2.0}
    model = cwlearn.AROWClassifier(2.0, class_weight=weights, epochs=2, random_state=np.int64(5)).fit(X, y)
    model.save(tmp_path / "m.npz")
    again = cwlearn.load(tmp_path / "m.npz")
    assert type(again) is cwlearn.AROWClassifier
    assert again.get_params() == model.get_params()
    assert again.n_features_in_ == model.n_features_in_
    assert again.classes_.dtype == model.classes_.dtype
    assert (again.predict(X) == model.predict(X)).all()
    assert (again.predict_proba(X) == model.predict_proba(X)).all()
    assert again.partial_fit(X, y).n_updates_ == model.partial_fit(X, y).n_updates_


def test_the_file_is_an_npz_without_pickles(saved):
    with np.load(saved, allow_pickle=False) as archive:
        assert sorted(archive.files) == ["average", "cells", "header", "names", "places"]
        header = json.loads(archive["header"].tobytes())
    assert header["format"] == "cwlearn model"
    assert header["version"] == 1
    assert header["rule"] == {"name": "perceptron", "average": True}
    assert header["prior"] == {"mean": 0.0, "variance": 1.0}


def test_the_names_of_features_are_kept(tmp_path):
    import pandas as pd

    frame = pd.DataFrame(np.eye(4), columns=["a", "b", "größe", "d"])
    model = cwlearn.AROWClassifier().fit(frame, [0, 1, 0, 1])
    model.save(tmp_path / "m.npz")
    again = cwlearn.load(tmp_path / "m.npz")
    assert again.feature_names_in_.tolist() == ["a", "b", "größe", "d"]
    assert (again.predict(frame) == model.predict(frame)).all()
    with pytest.raises(ValueError, match="same order"):
        again.predict(frame[["d", "größe", "b", "a"]])


def test_the_same_model_makes_the_same_bytes(learner, saved, tmp_path):
    model_file.save(learner, tmp_path / "other.npz")
    assert (tmp_path / "other.npz").read_bytes() == saved.read_bytes()


def test_m01_other_files_are_not_models(tmp_path):
    (tmp_path / "zip").touch()
    with zipfile.ZipFile(tmp_path / "zip", "w") as archive:
        archive.writestr("a", "b")
    np.savez(tmp_path / "other.npz", a=np.ones(3))
    others = [b"", b"1 1:0.5\n", pickle.dumps({"a": 1}), (tmp_path / "zip").read_bytes(), b"PK\x03\x04", b"\0" * 1000]
    others.append((tmp_path / "other.npz").read_bytes())
    for content in others:
        (tmp_path / "m.npz").write_bytes(content)
        with pytest.raises(ModelError, match=r"m\.npz: not a cwlearn model"):
            model_file.load(tmp_path / "m.npz")
    with pytest.raises(FileNotFoundError):
        model_file.load(tmp_path / "missing.npz")


def test_m02_every_truncation_is_found(saved):
    whole = saved.read_bytes()
    for length in range(len(whole)):
        saved.write_bytes(whole[:length])
        with pytest.raises(ModelError):
            model_file.load(saved)


def test_m03_every_flipped_bit_is_found(saved):
    whole = saved.read_bytes()
    for place in range(len(whole)):
        for bit in range(8):
            damaged = bytearray(whole)
            damaged[place] ^= 1 << bit
            saved.write_bytes(damaged)
            with pytest.raises(ModelError):
                model_file.load(saved)


def change_header(path, **changes):
    def change(header, members):
        header.update(changes)

    reseal(path, change)


@pytest.mark.parametrize(
    "changes",
    [
        {"n_features": 2**40},
        {"n_features": -1},
        {"n_features": "5"},
        {"rule": {"name": "pickle"}},
        {"rule": {"name": "arow", "regularization": -1, "projection": "kl"}},
        {"rule": {"name": "perceptron", "average": True, "extra": 1}},
        {"rule": {"name": "perceptron", "average": False}},
        {"rule": []},
        {"training": {"epochs": 0}},
        {"training": None},
        {"labels": {"dtype": "float64", "values": [1.0]}},
        {"labels": {"dtype": "float64", "values": [1.0, 1.0]}},
        {"labels": {"dtype": "no such", "values": [1.0, 2.0]}},
        {"labels": {"dtype": "float64", "values": [[1.0], 2.0]}},
        {"labels": {"dtype": "float64", "values": [7.0, 3.0]}},
        {"labels": {"dtype": "|i1", "values": [300, 7]}},
        {"labels": {"dtype": "<U100000000", "values": ["a", "b"]}},
        {"labels": {"dtype": "i4,i4", "values": [1, 2]}},
        {"labels": {"dtype": "O", "values": [{}, {}]}},
        {"prior": {"mean": 0.0, "variance": 2.0}},
        {"tally": {"rows": -1, "updates": 0, "mistakes": 0, "squares": 0.0}},
        {"tally": {"rows": 2**70, "updates": 0, "mistakes": 0, "squares": 0.0}},
        {"tally": {"rows": 1, "updates": 0, "mistakes": 0, "squares": -1.0}},
        {"tally": {}},
        {"format": "other"},
    ],
    ids=repr,
)
def test_m04_m05_a_false_header_with_a_fitting_checksum_is_found(saved, changes):
    change_header(saved, **changes)
    with pytest.raises(ModelError, match="not a sound cwlearn model"):
        model_file.load(saved)


@pytest.mark.parametrize(
    "change",
    [
        lambda members: members["cells"].__setitem__((0, 0), np.nan),  # M08
        lambda members: members["cells"].__setitem__((0, 1), 0),
        lambda members: members["cells"].__setitem__((0, 1), -1),
        lambda members: members["cells"].__setitem__((0, 1), 2),
        lambda members: members["average"].__setitem__(0, np.inf),
        lambda members: members.update(cells=members["cells"][:-1]),
        lambda members: members.update(cells=members["cells"].astype(">f4")),  # M10
        lambda members: members.update(cells=np.asfortranarray(members["cells"])),
        lambda members: members.update(cells=members["cells"].astype(np.float64)),
        lambda members: members.update(average=members["average"][:-1]),
        lambda members: members.update(average=members["average"].astype(np.int64)),
        lambda members: members.update(more=np.ones(1)),
        lambda members: members.pop("average"),
        lambda members: members.update(names=np.frombuffer(b'["a"]', np.uint8)),
        lambda members: members.update(names=np.frombuffer(b"[1, 2, 3, 4, 5]", np.uint8)),
        lambda members: members.update({"raw header": np.frombuffer(b'{"a": 1, "a": 2}', np.uint8)}),  # M06
        lambda members: members.update({"raw header": np.frombuffer(b"[" * 100_000, np.uint8)}),
        lambda members: members.update({"raw header": np.frombuffer(b" " * (1 << 20), np.uint8)}),
        lambda members: members.update({"raw header": np.frombuffer(b"\xff\xfe", np.uint8)}),
    ],
)
def test_m04_m06_m08_m10_false_arrays_with_a_fitting_checksum_are_found(saved, change):
    reseal(saved, lambda header, members: (change(members), members)[1])
    with pytest.raises(ModelError):
        model_file.load(saved)


def test_m07_bytes_after_the_end_are_found(saved):
    whole = saved.read_bytes()
    for tail in (b"\0", b"\n", whole, b"PK\x05\x06" + b"\0" * 18):
        saved.write_bytes(whole + tail)
        with pytest.raises(ModelError):
            model_file.load(saved)
    saved.write_bytes(b"\0" + whole)
    with pytest.raises(ModelError):
        model_file.load(saved)


def test_m09_a_newer_version_is_named_with_its_writer(saved):
    change_header(saved, version=2, written_by="9.9")
    with pytest.raises(ModelError, match=r"version 2, written by cwlearn 9\.9; cwlearn .* reads version 1"):
        model_file.load(saved)


def test_m14_links_stay_and_folders_and_pipes_are_refused(learner, saved, tmp_path):
    link = tmp_path / "link.npz"
    link.symlink_to(saved)
    saved.unlink()
    model_file.save(learner, link)
    assert link.is_symlink()
    assert saved.is_file()
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(OSError, match=r"expected the name of a file|not a regular file"):
            model_file.save(learner, path)
    with pytest.raises(FileNotFoundError):
        model_file.save(learner, tmp_path / "no such folder" / "m.npz")
    longest = tmp_path / ("m" * 251 + ".npz")
    model_file.save(learner, longest)
    assert model_file.load(longest).tally == learner.tally


def test_a_file_that_is_replaced_keeps_its_mode(learner, saved):
    saved.chmod(0o600)
    model_file.save(learner, saved)
    assert saved.stat().st_mode & 0o777 == 0o600


def test_an_error_names_the_path_that_was_given(learner, tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        model_file.save(learner, tmp_path / "nowhere" / "m.npz")
    assert caught.value.filename == str(tmp_path / "nowhere" / "m.npz")


def test_the_mode_of_a_new_file_follows_the_umask(learner, tmp_path):
    before = os.umask(0o027)
    try:
        model_file.save(learner, tmp_path / "m.npz")
    finally:
        os.umask(before)
    assert (tmp_path / "m.npz").stat().st_mode & 0o777 == 0o640


def test_e02_a_disk_that_fills_up_at_any_write_keeps_the_old_model(learner, saved, monkeypatch):
    old = saved.read_bytes()
    listing = os.listdir(saved.parent)
    monkeypatch.setattr(os, "fdopen", lambda descriptor, mode: FullDisk(descriptor, mode))
    for writes in itertools.count():
        FullDisk.left = writes
        try:
            model_file.save(learner, saved)
            break
        except OSError as error:
            assert error.errno == errno.ENOSPC  # noqa: PT017
        assert saved.read_bytes() == old
        assert os.listdir(saved.parent) == listing
    assert writes > 20
    assert saved.read_bytes() == old


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_e03_a_fault_after_the_last_write_keeps_the_old_model(call, learner, saved, monkeypatch):
    old = saved.read_bytes()
    listing = os.listdir(saved.parent)

    def fail(*args, **kwargs):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, call, fail)
    with pytest.raises(OSError, match="Input/output error"):
        model_file.save(learner, saved)
    assert saved.read_bytes() == old
    assert os.listdir(saved.parent) == listing


def test_e01_what_a_killed_process_left_is_removed_by_a_later_save(learner, tmp_path):
    old, new, other = tmp_path / ".cwlearn-0123.tmp", tmp_path / ".cwlearn-4567.tmp", tmp_path / "other.tmp"
    for path in (old, new, other):
        path.touch()
    os.utime(old, (0, 0))
    os.utime(other, (0, 0))
    model_file.save(learner, tmp_path / "m.npz")
    assert not old.exists()
    assert new.exists(), "another process may be writing it"
    assert other.exists()


SAVER = """
import sys, numpy as np
from cwlearn import model_file, rules
from cwlearn.learner import Learner, Training
learner = Learner(rules.CW(), Training(), np.array([0, 1]), 300_000)
print("ready", flush=True)
while True:
    learner.tally["rows"] += 1
    learner.state.mean[:] = learner.tally["rows"]
    model_file.save(learner, sys.argv[1])
"""


def test_e01_m15_a_kill_in_the_middle_of_saving_leaves_a_whole_model(tmp_path):
    path = tmp_path / "m.npz"
    for _ in range(5):
        process = subprocess.Popen([sys.executable, "-c", SAVER, str(path)], stdout=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.readline()
        end = time.monotonic() + 0.2
        while time.monotonic() < end or (not path.exists() and process.poll() is None):
            if path.exists():  # readers see an old or a new model, never a mix
                learner = model_file.load(path)
                assert (learner.state.mean == learner.tally["rows"]).all()
        process.send_signal(signal.SIGKILL)
        process.communicate()
        learner = model_file.load(path)
        assert (learner.state.mean == learner.tally["rows"]).all()


def test_labels_that_json_cannot_hold_are_refused(tmp_path):
    learner = new_learner(rules.CW())
    learner.classes = np.array([(1, 2), None], object)
    with pytest.raises(ModelError, match="cannot save"):
        model_file.save(learner, tmp_path / "m.npz")
    assert os.listdir(tmp_path) == []
