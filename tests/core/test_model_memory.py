"""Memory of model files: loading takes no more than computed before, and no more than allowed."""

from __future__ import annotations

import json
import os
import re
import tracemalloc

import numpy as np
import pytest
from scipy import sparse

import cwlearn as package
from cwlearn.cli import inspect as cli_inspect
from cwlearn.cli import train as cli_train
from cwlearn.core import model_file, rules, sealed_archive
from cwlearn.core.kernel_options import KernelOptions
from cwlearn.core.learner import Learner
from cwlearn.core.rows import as_rows
from cwlearn.core.states import diagonal as diagonal_state
from cwlearn.core.states.base import LARGE
from cwlearn.core.training import Training
from cwlearn.errors import ModelError
from tests.cases import RULES, labelled_rows, new_learner, random_rows, rows_of, rule_id
from tests.text_cases import cwlearn, fail, outcome_of, random_text, succeed

READING = 6 << 20  # bytes that reading takes in addition, whatever the model: parts of arrays, and modules


@pytest.fixture
def small_steps(monkeypatch):
    """Read small parts at a time; return the memory that this takes."""
    monkeypatch.setattr(diagonal_state, "WEIGHTS_AT_ONCE", 1 << 12)
    return 3 << 19


def learned(rule=None, n_features=25, n_labels=2, kernel=None, **training):
    rule = rule or rules.AROW()
    X, y = random_rows() if n_labels == 2 else labelled_rows(n_labels=n_labels)
    learner = Learner(rule, Training(**training), np.unique(y), n_features, kernel)
    X.resize(X.shape[0], n_features)
    learner.learn(rows_of(X, learner), learner.encode(y))
    return learner


def dense(n_features, rule=None, n_labels=2):
    """A learner with all weights touched."""
    learner = Learner(rule or rules.AROW(), Training(), np.arange(n_labels), n_features)
    learner.state.mean[:] = np.random.default_rng(0).standard_normal(learner.state.mean.shape, np.float32)
    learner.statistics.update(rows=7, updates=5, squares=40.0)
    return learner


def forged(path, learner, change):
    """A file with changed header and arrays, and a correct checksum."""
    members = model_file._members(learner)
    header = json.loads(members["header"].tobytes())
    change(header, members)
    members["header"] = np.frombuffer(json.dumps(header).encode(), np.uint8)
    with open(path, "wb") as file:
        sealed_archive.write(file, members)
    return path


def peak_of(work):
    """The result of some work, and its peak memory in bytes."""
    tracemalloc.start()
    try:
        result = work()
        return result, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def one_weight_of(n_features):
    def change(header, members):
        header["n_features"] = n_features
        members.update(places=np.zeros(1, np.int64), cells=np.array([[0, 1]], np.float32))

    return change


def test_x09_a_few_bytes_cannot_ask_for_gigabytes(tmp_path):
    path = forged(tmp_path / "m.npz", learned(), one_weight_of(10**9))
    assert path.stat().st_size < 4096

    def load():
        with pytest.raises(ModelError) as caught:
            package.load(path)
        return str(caught.value)

    message, peak = peak_of(load)
    assert peak < READING
    size = path.stat().st_size
    assert f"{path}: a file of {size:,} bytes, but the weights of its 1,000,000,000 features need 8,000," in message
    assert f"more than the {(1 << 30) + 8 * size:,} allowed; `max_memory='7630M'` allows it" in message
    data = tmp_path / "data.svm"
    data.write_text("1 1:1\n")
    for words in (["predict", data, "-m", path], ["evaluate", data, "-m", path], ["merge", path, "-m", tmp_path / "o"]):
        assert "allowed; --memory 7630M" in fail(*words)
    assert "features   1,000,000,000, 0 of them moved" in succeed("inspect", path).out


def test_x09_the_limit_is_what_the_user_gives(tmp_path):
    path = forged(tmp_path / "m.npz", learned(), one_weight_of(10**7))
    data = tmp_path / "data.svm"
    data.write_text("1 1:1\n")
    model_file.load(path)  # 80 MB are not worth a word
    for limit in (79 * 10**6, LARGE, 1):
        with pytest.raises(
            ModelError, match=rf"need 80,\d\d\d,\d\d\d bytes of memory, more than the {limit:,} allowed"
        ):
            model_file.load(path, limit)
    allowed = int(re.search(r"--memory (\d+)M", fail("predict", data, "-m", path, "--memory", "10M"))[1])
    assert len(succeed("predict", data, "-m", path, "--memory", f"{allowed}M").out.split()) == 1
    assert package.load(path, max_memory="100M").n_features_in_ == 10**7
    small = tmp_path / "small.npz"
    model_file.save(learned(), small)
    model_file.load(small, 1)  # nor are a few megabytes, whatever the limit
    for limit in (0, -1, 1.5, True):
        with pytest.raises(ValueError, match="`max_memory` must be a positive number of bytes"):
            model_file.load(path, limit)
    assert "must be a positive number of bytes" in fail("inspect", path, "--memory", "0", status=2)


def test_x09_training_can_resume_any_model_that_training_may_make(tmp_path, monkeypatch):
    monkeypatch.setattr(model_file, "USUAL_MEMORY", 1 << 26)
    monkeypatch.setattr(cli_train, "free_memory", lambda: 1 << 30)
    text = tmp_path / "data.svm"
    text.write_text(random_text())
    model = tmp_path / "m.npz"
    flags = ["--hash-bits", 24, "--epochs", 1, "--memory", "1M", "--quiet"]
    succeed("train", "-a", "arow", text, "-m", model, *flags)
    assert "--memory 129M" in fail("predict", text, "-m", model)
    succeed("train", "-a", "arow", text, "-m", model, "--resume", model, *flags)
    assert len(succeed("predict", text, "-m", model, "--memory", "129M").out.split()) == 61


def test_x09_labels_as_wide_as_a_file_says_are_refused(tmp_path):
    learner = Learner(rules.AROW(), Training(), np.array([f"{number:02}" for number in range(50)]), 2)
    path = forged(tmp_path / "m.npz", learner, lambda header, _: header["labels"].update(dtype="<U16777216"))
    for words in (["inspect", path], ["predict", path, "-m", path]):
        assert "but its 50 labels need 3,355,4" in fail(*words)
    _, peak = peak_of(lambda: cwlearn("inspect", path))
    assert peak < READING


@pytest.mark.parametrize("what", ["header", "names"])
def test_x09_texts_are_not_read_into_more_objects_than_allowed(what, tmp_path, monkeypatch):
    """Nested lists would take twenty times their text.  Names that are not strings are refused before parsing."""
    monkeypatch.setattr(model_file, "LARGE", 0)
    nested = b"[" + b"[]," * 100_000 + b"[]]"

    def change(header, members):
        if what == "names":
            members["names"] = np.frombuffer(nested, np.uint8)
        else:
            header["unfinished"] = json.loads(nested)

    path = forged(tmp_path / "m.npz", learned(), change)
    size = path.stat().st_size

    def load():
        with pytest.raises(ModelError) as caught:
            model_file.load(path, 10 * size)
        return str(caught.value)

    message, peak = peak_of(load)
    expected = "the texts of its header need" if what == "header" else "names of its features are not strings"
    assert expected in message
    assert peak < 3 * size + READING


HONEST = {
    "sparse": lambda: learned(n_features=300_000),
    "dense": lambda: dense(300_000),
    "averaged": lambda: dense(200_000, rules.Perceptron(average=True)),
    "sop": lambda: dense(300_000, rules.SOP()),
    "labels": lambda: dense(3000, n_labels=100),
    "full": lambda: learned(rules.AROW(covariance="full"), n_features=900),
    "kernel": lambda: learned(n_labels=5, kernel=KernelOptions(), n_features=25),
}


@pytest.mark.parametrize("kind", [*HONEST, "names", "many labels"])
def test_x09_loading_takes_no_more_than_the_file_has_said(kind, tmp_path, small_steps):
    if kind == "names":
        learner = learned(n_features=50_000)
        learner.feature_names = np.array([f"f{number}" for number in range(50_000)], object)
    elif kind == "many labels":
        learner = Learner(rules.AROW(), Training(), np.arange(8000), 1, KernelOptions())
    else:
        learner = HONEST[kind]()
    model_file.save(learner, tmp_path / "m.npz")
    model_file.load(tmp_path / "m.npz")  # so that all modules are there

    def load():
        with model_file.opened(tmp_path / "m.npz") as model:
            again = model.restored()
            assert again.predictor.n_features == learner.state.n_features  # which some rules derive
            return model.budget._taken

    taken, peak = peak_of(load)
    assert peak < taken + small_steps
    assert taken < 12 * peak, "what is asked for is not far from what is needed"


def test_x09_a_kernel_of_many_labels_says_what_it_needs(tmp_path, small_steps):
    """A label takes a dozen bytes in the file; its block, with room for more rows, takes two kilobytes of memory."""
    n_labels, n_features = 2000, 3
    learner = Learner(rules.AROW(), Training(), np.arange(n_labels), n_features, KernelOptions())
    learner.state.gamma = 1.0
    learner.state.keep((np.array([1]), np.array([2.0])))
    for block in learner.state.by_block:
        block.make_room(1)
        block.place_of(0)
    model_file.save(learner, tmp_path / "m.npz")

    def load():
        with model_file.opened(tmp_path / "m.npz") as model:
            model.restored()
            return model.budget._taken

    load()
    taken, peak = peak_of(load)
    assert peak < taken + small_steps
    assert peak > 20 * (tmp_path / "m.npz").stat().st_size


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "chi2"])
def test_x09_a_kernel_takes_no_memory_for_features_without_values(kernel, tmp_path):
    """Neither the number of features in a file nor an index of a text, far above all others, costs anything."""
    X, y = random_rows()
    learner = Learner(rules.AROW(), Training(), np.unique(y), 25, KernelOptions(kernel=kernel))
    learner.learn(rows_of(abs(X), learner), y)
    model_file.save(learner, tmp_path / "near.npz")
    forged(tmp_path / "far.npz", learner, lambda header, _: header.update(n_features=10**15))
    lines = ["1 3:1 7:2", "1 7:1 {}:0.5", "1 {}:2"]
    for place, index in (("near", 2000), ("far", 10**12)):
        (tmp_path / f"{place}.svm").write_text("\n".join(lines).format(index, index))

    def margins(text, model):
        return succeed("predict", tmp_path / f"{text}.svm", "-m", tmp_path / f"{model}.npz", "--margin", "-q").out

    margins("near", "near")  # so that all modules are there
    expected, usual = peak_of(lambda: margins("near", "near"))
    for text, model in (("far", "near"), ("near", "far"), ("far", "far")):
        found, peak = peak_of(lambda text=text, model=model: margins(text, model))
        assert found == expected
        assert peak < usual + (1 << 20)


def brute_force(learner, most):
    """The heaviest weights of a learner in memory, as (label, feature, weight, variance)."""
    state = learner.predictor
    found = []
    for block in range(state.blocks):
        mean, variance = (
            part[1:].reshape(state.n_features, state.blocks)[:, block].astype(float)
            for part in (state.mean, state.variance)
        )
        order = np.argsort(-np.abs(mean), kind="stable")[:most]
        found += [(block, int(j), float(mean[j]), float(variance[j])) for j in order if mean[j]]
    return found


@pytest.mark.parametrize("n_labels", [2, 4])
@pytest.mark.parametrize("rule", [*RULES, rules.CW(covariance="full"), rules.AROWRegression()], ids=rule_id)
def test_x09_inspecting_in_parts_shows_the_same_as_inspecting_the_whole(rule, n_labels, tmp_path, monkeypatch):
    """Many rounded weights are equal; the first ones are shown."""
    monkeypatch.setattr(diagonal_state, "WEIGHTS_AT_ONCE", 7)
    labels = np.empty(0) if rule.task == "regression" else np.arange(n_labels)
    for n_features, kept in ((30, 0.8), (400, 0.05)):  # as a dense file, and as one of places
        learner = Learner(rule, Training(), labels, n_features)
        rng = np.random.default_rng(n_features)
        X = sparse.random(40, n_features, 0.2, "csr", np.float32, rng)
        learner.learn(as_rows(X, learner.state.dtype), rng.integers(0, n_labels, 40).astype(float))
        if rule.covariance == "diagonal":
            untouched = rng.random(n_features + 1) > kept
            state = learner.state
            state.mean[:] = np.round(state.mean * 4) / 4
            state.mean[untouched], state.variance[untouched] = 0, state.prior_variance
            if state.average.size:
                state.average[:] = np.round(state.average)
                state.average[untouched] = 0
        model_file.save(learner, tmp_path / "m.npz")
        for most in (1, 3, 1000):
            survey = cli_inspect.WeightSummary(learner, most)
            with model_file.opened(tmp_path / "m.npz") as model:
                for part in learner.state.stored(model.n_features, model.arrays):
                    survey.add(part)
            told = zip(survey._labels, survey._lines - 1, survey._means, survey._variances, strict=True)
            assert [(int(z), int(j), float(m), float(v)) for z, j, m, v in told] == brute_force(learner, most)
            assert survey.intercept == learner.predictor.mean[0].tolist()
            touched = learner.state.touched[1:].reshape(n_features, learner.state.blocks)
            assert survey.features_moved == touched.any(axis=1).sum()


def test_x09_inspecting_takes_a_small_part_of_the_memory_of_the_model(tmp_path, monkeypatch):
    monkeypatch.setattr(diagonal_state, "WEIGHTS_AT_ONCE", 1 << 13)
    learners = [dense(10**6), dense(10**6, rules.Perceptron(average=True)), dense(10**6, rules.SOP())]
    learners += [dense(5000, n_labels=200), learned(rules.AROW(covariance="full"), n_features=1500)]
    for learner in learners:
        model_file.save(learner, tmp_path / "m.npz")
        assert (tmp_path / "m.npz").stat().st_size > 7 << 20
        facts = succeed("inspect", tmp_path / "m.npz", "--json").json  # so that all modules are there
        found, peak = peak_of(lambda: succeed("inspect", tmp_path / "m.npz", "--json").json)
        assert peak < 3 << 20
        assert found == facts


def test_x09_predicting_takes_the_memory_of_the_model_once(tmp_path):
    learner = dense(6 * 10**6)
    model_file.save(learner, tmp_path / "m.npz")
    (tmp_path / "data.svm").write_text("1 1:1 5000000:1\n")  # one feature that the model has, and one that it has not
    words = ["predict", tmp_path / "data.svm", "-m", tmp_path / "m.npz", "--margin", "--quiet"]
    expected = succeed(*words).out
    found, peak = peak_of(lambda: succeed(*words).out)
    assert found == expected
    assert peak < 1.25 * learner.state.cells.nbytes + READING


def test_x09_saving_takes_no_copy_of_the_model(tmp_path):
    for learner in (dense(6 * 10**6), learned(n_labels=5, n_features=1_200_000)):
        _, peak = peak_of(lambda learner=learner: model_file.save(learner, tmp_path / "m.npz"))
        assert learner.state.cells.nbytes > 40 << 20
        assert peak < (16 << 20) + READING  # NumPy's own buffer


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="no such device here")
def test_x09_only_regular_files_are_models(tmp_path):
    text, model = tmp_path / "data.svm", tmp_path / "m.npz"
    text.write_text(random_text())
    succeed("train", text, "-m", model, "-a", "arow", "--quiet")
    os.mkfifo(tmp_path / "pipe")
    for odd in ("/dev/zero", tmp_path / "pipe"):
        for words in (
            ["inspect", odd],
            ["predict", text, "-m", odd],
            ["evaluate", text, "-m", odd],
            ["merge", model, odd, "-m", tmp_path / "out"],
            ["train", "-a", "arow", text, "-m", model, "--resume", odd],
        ):
            assert fail(*words) == f"cwlearn: error: {odd}: not a regular file"
    assert "Is a directory" in fail("inspect", tmp_path)
    outcome = outcome_of("inspect", "/dev/stdin", input=model.read_bytes())
    assert outcome.status == 1
    assert "/dev/stdin: not a regular file" in outcome.err


def test_x09_an_archive_of_very_many_members_is_not_listed(tmp_path):
    """Each entry of the directory would become an object of about a kilobyte."""
    members = {f"a{number}": np.empty(0, np.uint8) for number in range(3000)}
    with open(tmp_path / "m.npz", "wb") as file:
        sealed_archive.write(file, members)
    with pytest.raises(ModelError, match="its list of members is too long"):
        model_file.load(tmp_path / "m.npz")


def test_x09_the_memory_of_a_model_in_its_file_is_that_of_one_that_learned(tmp_path):
    """A loaded model has memory for one feature more, and no other spare memory."""
    learner = new_learner(rules.AROW(), 1000)
    model_file.save(learner, tmp_path / "m.npz")
    again = model_file.load(tmp_path / "m.npz")
    assert again.state.cells.base.nbytes == learner.state.cells.nbytes + 8
    cells = again.state.cells
    again.grow(1001)
    assert np.shares_memory(again.state.cells, cells)
    assert again.state.cells[-1].tolist() == [0, 1]
