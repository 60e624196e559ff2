"""Training from text: the bits of `fit`, whatever the chunks, threads and files; labels, memory, resuming."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import re
import sys
import tempfile
import warnings
from dataclasses import fields

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_svmlight_file

import cwlearn as package
from cwlearn import distributed
from cwlearn.core import model_file, rules
from cwlearn.core.rows import as_rows
from cwlearn.core.rules import AROW
from cwlearn.core.states import base as state
from cwlearn.core.states import diagonal
from cwlearn.core.states.factory import blocks_of
from cwlearn.core.training import Plan, Training
from cwlearn.errors import DataError
from cwlearn.estimators.loading import CLASSIFIERS
from cwlearn.text import run as out_of_core
from cwlearn.text.labels import Labels
from cwlearn.text.monitor import BarMonitor
from cwlearn.text.reader import Reader
from cwlearn.text.resources import Resources, WeightLimit
from cwlearn.text.row_store import DiskStore, MemoryStore
from cwlearn.text.run import Run
from tests.cases import INFORMED, RULES, WEIGHTED, random_rows, rule_id
from tests.text_cases import SMALL, bits, compressed, cwlearn, fail, flags, outcome_of, random_text, succeed, trained

TRAININGS = [
    {"epochs": 1, "shuffle": False, "random_state": 0},
    {"epochs": 1, "shuffle": True, "random_state": 3},
    {"epochs": 2, "shuffle": False, "random_state": 0, "fit_intercept": False, "dtype": "float64"},
    {"epochs": 3, "shuffle": True, "random_state": 7, "initial_variance": 0.5},
]
BALANCED = [rules.AROW(class_weight="balanced"), rules.PassiveAggressive(C=0.1, class_weight="balanced")]


def estimator_of(rule, **training):
    parameters = {item.name: getattr(rule, item.name) for item in fields(rule)}
    return CLASSIFIERS[rule.name](**parameters, **training)


def fitted(path, rule, **training):
    X, y = load_svmlight_file(str(path), zero_based=True)
    return estimator_of(rule, **training).fit(X, y)._learner


def command_flags(rule, training):
    shared = {name: value for name, value in training.items() if name != "random_state"}
    return flags(rule, **shared, seed=training["random_state"])


def ways(path, rule, training):
    """The same training, in many ways."""
    words = command_flags(rule, training)
    packed = compressed(path)
    yield "command", trained(path, *words, "--threads", 1)
    yield "command, gzip, threads", trained(packed, *words, "--threads", 4)
    for file, threads in ((path, 4), (packed, 1)):
        model = package.train(file, estimator_of(rule, **training), threads=threads)
        yield f"train, {file.suffix}", model._learner
    for chunk_bytes, threads, file in ((16, 1, path), (16, 4, packed), (300, 4, path)):
        run = Run(
            [str(file)], rule, Training(**training), resources=Resources(threads=threads), chunk_bytes=chunk_bytes
        )
        yield f"chunks of {chunk_bytes}, {threads} threads", run.train()


@pytest.mark.parametrize("training", TRAININGS, ids=lambda training: "-".join(map(str, training.values())))
@pytest.mark.parametrize("rule", [*RULES, *WEIGHTED, *INFORMED], ids=rule_id)
def test_every_way_gives_the_bits_of_fit(rule, training, text):
    expected = bits(fitted(text, rule, **training))
    for way, learner in ways(text, rule, training):
        assert bits(learner) == expected, way


@pytest.mark.parametrize("rule", BALANCED, ids=rule_id)
def test_balanced_weights_give_the_bits_of_fit_in_all_but_one_unshuffled_pass(rule, text):
    for training in TRAININGS[1:]:
        expected = bits(fitted(text, rule, **training))
        for way, learner in ways(text, rule, training):
            assert bits(learner) == expected, way
    message = fail("train", text, "-m", text.with_name("m"), *command_flags(rule, TRAININGS[0]))
    assert "balanced" in message


def test_a_chunk_of_sixteen_bytes_is_about_a_line(text):
    assert len(list(Reader(text, chunk_bytes=16))) > 40


@pytest.mark.parametrize("name", ["arow", "perceptron", "sop"])
def test_a_command_trains_as_an_estimator_with_all_defaults(name, text):
    expected = bits(fitted(text, rules.RULES[name](), random_state=0))
    assert bits(trained(text, "-a", name)) == expected
    one_pass = bits(fitted(text, rules.RULES[name](), epochs=1, shuffle=False))
    assert bits(trained(text, "-a", name, "--epochs", 1)) == one_pass


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A text of several chunks."""
    path = tmp_path_factory.mktemp("large") / "data.svm"
    path.write_text(random_text(16_000, 1_000, seed=1, density=0.02), newline="")
    assert path.stat().st_size > 3 * out_of_core.CHUNK_BYTES
    return path


@pytest.mark.parametrize("words", [["--epochs", 1], ["--epochs", 2, "--seed", 5]], ids=str)
def test_t01_a_text_of_many_chunks_gives_the_same_bits_however_it_is_packed_and_parsed(words, large, tmp_path):
    content = large.read_bytes()
    half = content.index(b"\n", len(content) // 2) + 1
    (tmp_path / "head.svm").write_bytes(content[:half])
    (tmp_path / "tail.svm.gz").write_bytes(gzip.compress(content[half:], 1))
    (tmp_path / "all.svm.bz2").write_bytes(bz2.compress(content, 1))
    (tmp_path / "all.svm.xz").write_bytes(lzma.compress(content, preset=0))
    training = {"epochs": 1, "shuffle": False} if words[1] == 1 else {"epochs": 2, "random_state": 5}
    expected = bits(fitted(large, rules.AROW(), **training))
    for threads in (1, 2, 3, 8, 64):
        assert bits(trained(large, "-a", "arow", *words, "--threads", threads)) == expected
    for files in ([tmp_path / "head.svm", tmp_path / "tail.svm.gz"], [tmp_path / "all.svm.bz2"]):
        assert bits(trained(*files, "-a", "arow", *words)) == expected
    assert bits(trained(tmp_path / "all.svm.xz", "-a", "arow", *words)) == expected


# -- the size of the model ---------------------------------------------------------------------------------------------


def test_the_model_grows_with_the_indices_and_is_that_of_a_size_known_before(tmp_path):
    path = tmp_path / "data.svm"
    path.write_text("".join(f"{(-1) ** row} 0:1 {row * row + 1}:0.5\n" for row in range(100)))
    run = Run([str(path)], rules.Perceptron(average=True), Training(epochs=1, shuffle=False), chunk_bytes=16)
    learner = run.train()
    assert learner.state.n_features == 99 * 99 + 2
    assert bits(learner) == bits(fitted(path, run.rule, epochs=1, shuffle=False))
    wide = trained(path, "--features", 20_000, *flags(run.rule, epochs=1))
    assert wide.state.n_features == 20_000
    assert wide.state.cells[: 99 * 99 + 3].tobytes() == learner.state.cells.tobytes()
    assert (wide.state.cells[99 * 99 + 3 :] == (0, 1)).all()


def test_an_index_beyond_features_is_an_error_at_its_line(text):
    text.write_text("1 1:1\n-1 2:1\n# comment\n\n1 1:1 7:1\n-1 9:1\n")
    for words in ([], ["--epochs", 1]):
        message = fail("train", text, "-m", text.with_name("m"), "--features", 7, *words)
        assert f"{text}:5: index 7 is not below the number of features, 7" in message
    assert trained(text, "--features", 10).state.n_features == 10


@pytest.mark.parametrize("covariance", ["diagonal", "full"])
@pytest.mark.parametrize("n_labels", [2, 5])
@pytest.mark.parametrize("memory", [1, 100, 12_345, 10**9])
def test_as_many_columns_are_allowed_as_fit_into_memory(memory, n_labels, covariance):
    limit = WeightLimit(rules.AROW(covariance=covariance), Training(), None, memory)
    most = limit._most_features(n_labels)
    assert limit._bytes(most + 1, blocks_of(n_labels)) > memory
    assert most == 0 or limit._bytes(most, blocks_of(n_labels)) <= memory


@pytest.mark.parametrize("index", [2**31 - 1, 2**31, 2**32 + 1, 2**63 - 2])
def test_l28_a_huge_index_is_refused_before_memory_is_taken_and_can_be_hashed(index, text):
    text.write_text(f"1 1:1\n-1 2:1 {index}:3\n")
    for words in ([], ["--epochs", 1]):
        message = fail("train", text, "-m", text.with_name("m"), "--memory", "1G", *words)
        assert f"{text}:2: index {index} needs " in message
        assert "--hash-bits" in message
        learner = trained(text, "--memory", "1G", "--hash-bits", 10, *words)
        assert learner.state.n_features == 1024
        assert np.count_nonzero(learner.state.mean[1:]) == 3


def test_hashed_features_are_the_same_in_every_chunk_epoch_and_verb(text):
    training = Training(epochs=1, shuffle=False)
    expected = bits(trained(text, "-a", "arow", "--epochs", 1, "--hash-bits", 6))
    for chunk_bytes, threads in ((16, 1), (16, 4), (1 << 20, 2)):
        resources = Resources(hash_bits=6, threads=threads)
        run = Run([str(text)], rules.AROW(), training, resources=resources, chunk_bytes=chunk_bytes)
        assert bits(run.train()) == expected
    model = text.with_name("m.npz")
    succeed("train", text, "-a", "arow", "-m", model, "--hash-bits", 12, "--quiet")
    assert succeed("evaluate", text, "-m", model, "--json").json["error"] < 0.1
    words = ["-a", "arow", "--hash-bits", 12, "--no-shuffle"]
    memory = trained(text, *words)
    assert bits(trained(text, *words, "--memory", 6000, "--features", 4096)) == bits(memory)


def test_a_model_of_hashed_features_can_be_read_back_whatever_features_says(text):
    """Else the one who asked for both has a file that nothing reads."""
    model = text.with_name("m.npz")
    if cwlearn("train", text, "-m", model, "--hash-bits", 4, "--features", 100).status == 0:
        succeed("inspect", model)
    model.unlink(missing_ok=True)
    succeed("train", text, "-m", model, "--hash-bits", 4)
    cwlearn("train", text, "-m", model, "--resume", model, "--features", 100)
    succeed("inspect", model)


@pytest.mark.parametrize("width", [31, 40])
def test_h07_more_hash_bits_than_there_is_memory_are_an_error_that_says_how_much_they_need(width, text, monkeypatch):
    monkeypatch.setattr(state, "free_memory", lambda: 8 << 30)
    message = fail("train", text, "-a", "arow", "-m", text.with_name("m"), "--hash-bits", width)
    assert f"{((1 << width) + 1) * 8:,} bytes" in message


def test_h07_hash_bits_are_between_1_and_40(text):
    for width in (0, 41, 64):
        assert "--hash-bits" in fail("train", text, "-m", text.with_name("m"), "--hash-bits", width, status=2)
        with pytest.raises(ValueError, match="hash_bits"):
            package.train(text, package.AROWClassifier(), hash_bits=width)
    assert trained(text, "--hash-bits", 1).state.n_features == 2


# -- between two epochs ------------------------------------------------------------------------------------------------


@pytest.fixture
def caches(monkeypatch, tmp_path):
    """The caches that are made from now on, and the folder where they would be seen."""
    made = []

    class Spied(DiskStore):
        def __init__(self, *args):
            super().__init__(*args)
            made.append(self)
            assert os.listdir(folder) == []

        def pieces(self, *args):
            for piece in super().pieces(*args):
                assert os.listdir(folder) == []
                yield piece

    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(out_of_core, "DiskStore", Spied)
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield made
    for cache in made:
        cache.close()
    assert os.listdir(folder) == []


@pytest.mark.parametrize("rule", [*RULES, *INFORMED], ids=rule_id)
def test_without_a_shuffle_the_cache_gives_the_bits_of_memory(rule, text, caches):
    for dtype in ("float32", "float64"):
        training = Training(epochs=3, shuffle=False, dtype=dtype)
        expected = bits(Run([str(text)], rule, training).train())
        assert not caches
        for chunk_bytes in (16, 400, 1 << 20):
            run = Run([str(text)], rule, training, resources=Resources(memory=SMALL), chunk_bytes=chunk_bytes)
            assert bits(run.train()) == expected
            assert caches.pop()._file.closed


def test_with_a_shuffle_the_cache_follows_the_seed(text, caches):
    def run(seed, memory=SMALL, threads=1):
        training = Training(epochs=3, random_state=seed)
        resources = Resources(memory=memory, threads=threads)
        return bits(Run([str(text)], rules.AROW(), training, resources=resources, chunk_bytes=200).train())

    assert run(1) == run(1, threads=4)
    assert run(1) != run(2)
    assert len(caches) == 4
    assert run(1)[-3]["rows"] == 3 * 61
    before = len(caches)
    assert run(1, memory=1 << 20) == bits(fitted(text, rules.AROW(), epochs=3, random_state=1))
    assert len(caches) == before


def test_commands_use_the_cache_and_leave_nothing(text, caches):
    words = ["--epochs", 4, "--no-shuffle"]
    assert bits(trained(text, *words, "--memory", "4K")) == bits(trained(text, *words))
    assert len(caches) == 1
    words = ["--epochs", 4, "--seed", 9]
    assert bits(trained(text, *words, "--memory", SMALL)) == bits(trained(text, *words, "--memory", SMALL))
    assert len(caches) == 3


def pieces_of(store, n_rows, random_state, epochs=1, **training):
    """What a store gives a training; fewer than 400 rows are all in every epoch."""
    options = Training(epochs=epochs, **training)
    return store.pieces(Plan(AROW(), options, n_rows), options, random_state)


@pytest.mark.parametrize("memory", [1, 2_000, 10_000, 10**9])
@pytest.mark.parametrize("make", [lambda memory: DiskStore("float32", memory), lambda _: MemoryStore("float32")])
def test_every_row_is_learned_once_in_every_epoch_with_its_label(make, memory):
    X, _ = random_rows(400, 30)
    X = sparse.hstack([sparse.csr_matrix(np.arange(399.0)[:, None]), X[:399]], "csr")
    store = make(memory)
    for start in range(0, 399, 37):
        part = X[start : start + 37]
        store.add(as_rows(part, np.dtype("float32")), np.arange(start, start + part.shape[0]).astype(float))
    epochs = [[]]
    for rows, labels, order, *_ in pieces_of(store, 399, np.random.RandomState(4), epochs=3):
        matrix = sparse.csr_matrix((rows.values, rows.indices, rows.indptr), (rows.n_rows, rows.n_features))
        assert (matrix[:, 0].toarray().ravel() == labels).all()
        assert (rows.squares == as_rows(matrix, np.dtype("float32")).squares).all()
        if len(epochs[-1]) == 399:
            epochs.append([])
        epochs[-1] += labels[order].tolist()
    store.close()
    assert [sorted(epoch) for epoch in epochs] == [list(range(399))] * 3
    assert len({tuple(epoch) for epoch in epochs}) == 3


def test_rows_from_far_apart_meet_in_one_window_of_the_shuffle():
    """Else a file that is sorted by label would be learned label by label."""
    store = DiskStore("float32", 60_000)
    for start in range(0, 2000, 20):
        store.add(as_rows(np.ones((20, 3), "float32"), np.dtype("float32")), np.arange(start, start + 20.0))
    _, labels, order, *_ = next(pieces_of(store, 2000, np.random.RandomState(0)))
    store.close()
    assert 100 < len(order) < 1000
    assert np.ptp(labels) > 1000
    assert np.abs(np.diff(labels[order])).mean() > 100


def test_counts_come_back_from_the_cache_as_they_were():
    """Where all values are 1 they are not written: counts, all of them 1 or more, are not that."""
    for values in ([1, 1, 1], [1, 2, 3], [2, 2, 2]):
        store = DiskStore("float32", 1 << 20)
        store.add(as_rows(np.array([values, values]), np.dtype("float32")), np.array([1.0, 2.0]))
        rows, labels, *_ = next(pieces_of(store, 2, np.random.RandomState(0)))
        store.close()
        assert rows.values.tolist() == 2 * values
        assert rows.squares.tolist() == 2 * [np.square(values).sum()]
        assert labels.tolist() == [1, 2]


DAMAGES = {"negative length": (0, -1), "long": (0, 3), "far": (32, 10**6), "negative": (32, -1), "order": (36, 0)}


@pytest.mark.parametrize(("place", "value"), DAMAGES.values(), ids=DAMAGES)
def test_rows_that_a_disk_has_damaged_never_reach_a_kernel(place, value):
    """In the file: two lengths, two labels, four columns of 32 bits, and no values, since all are 1."""
    store = DiskStore("float32", 1 << 20)
    store.add(as_rows(np.ones((2, 2)), np.dtype("float32")), np.array([1.0, 2.0]))
    store._file.seek(place)
    store._file.write(np.array([value], np.int64 if place < 16 else np.int32).tobytes())
    with pytest.raises(OSError, match="the cache for more epochs is damaged"):
        next(pieces_of(store, 2, np.random.RandomState(0)))
    store.close()


@pytest.mark.parametrize("shuffle", [False, True])
def test_a_window_of_the_cache_is_no_larger_than_it_may_be_and_not_much_smaller(shuffle):
    memory, rng = 40_000, np.random.RandomState(0)
    store = DiskStore("float32", memory)
    for n_rows in rng.randint(1, 30, 200):
        store.add(as_rows(np.ones((n_rows, 9)) + rng.rand(n_rows, 9), np.dtype("float32")), np.ones(n_rows))
    largest = max(block.nbytes for block in store._blocks)
    sizes = []
    for rows, labels, *_ in pieces_of(store, 3000, rng, shuffle=shuffle):
        arrays = (rows.indptr, rows.indices, rows.values, rows.squares, labels)
        sizes.append(sum(array.nbytes for array in arrays))
    store.close()
    assert max(sizes) <= memory // 4
    assert min(sizes[:-1]) > memory // 4 - largest - 8 * 30  # each block has a bound of its own


def test_a_run_that_ends_early_closes_its_cache(text, caches):
    text.write_text("1 1:1 2:1 3:1\n" * 1000)
    assert "two labels are needed" in fail("train", text, "-m", text.with_name("m"), "--memory", SMALL)
    text.write_text("1 1:1 2:1 3:1\n-1 1:1\n" * 100_000 + "bad\n")
    assert ":200001:1: label is not a number" in fail("train", text, "-m", text.with_name("m"), "--memory", SMALL)
    assert [cache._file.closed for cache in caches] == [True, True]


# -- labels ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second", "names"),
    [("-1", "+1", ["-1", "+1"]), ("1", "0", ["0", "1"]), ("2.0", "10", ["2.0", "10"]), ("7", "-3e0", ["-3e0", "7"])],
)
def test_labels_are_any_two_numbers_and_keep_their_text(first, second, names, text, tmp_path):
    text.write_text(f"{first} 1:1\n{second} 2:1\n" * 20)
    for words in ([], ["--epochs", 1]):
        outcome = succeed("train", text, "-m", tmp_path / "m.npz", "--json", *words)
        assert outcome.json["labels"] == names
        assert succeed("predict", text, "-m", tmp_path / "m.npz").out == f"{first}\n{second}\n" * 20


def test_one_number_written_in_several_ways_is_one_label(text):
    text.write_text("1 1:1\n+1 1:1\n1.0 2:1\n-1 3:1\n1e0 2:1\n-1.00 1:1\n")
    learner = trained(text)
    assert learner.classes.tolist() == [-1, 1]
    assert learner.label_names == ["-1", "1"]


def test_a_label_that_comes_late_in_a_file_begins_the_run_again(tmp_path):
    path = tmp_path / "sorted.svm"
    path.write_text("-1 1:1 2:0.5\n" * 300 + "5 2:1 3:1\n" * 2)
    expected = bits(fitted(path, rules.AROW(), epochs=1, shuffle=False))
    for file in (path, compressed(path)):
        run = Run([str(file)], rules.AROW(), Training(epochs=1, shuffle=False), chunk_bytes=16)
        learner = run.train()
        assert bits(learner) == expected
        assert (run.rows, run.done, learner.statistics["rows"]) == (302, 302, 302)
        assert learner.label_names == ["-1", "5"]


def test_the_text_of_a_label_is_the_first_one_in_the_file_however_that_is_read(tmp_path):
    path = tmp_path / "sorted.svm"
    path.write_text("-1 1:1 2:0.5\n" * 30_000 + "1 2:1 3:1\n" + "+1 1:2\n" * 30_000)
    for file in (path, compressed(path)):
        for chunk_bytes in (1 << 12, 1 << 20):
            run = Run([str(file)], rules.AROW(), Training(epochs=1, shuffle=False), chunk_bytes=chunk_bytes)
            assert run.train().label_names == ["-1", "1"], (file, chunk_bytes)


def test_a_bad_line_is_reported_once_though_the_run_begins_again(tmp_path):
    path = tmp_path / "sorted.svm.gz"
    path.write_bytes(gzip.compress(b"1 1:1\nbad\n" + b"1 1:1\n" * 500_000 + b"-1 2:1\n"))
    outcome = succeed("train", path, "-m", tmp_path / "m", "--epochs", 1, "--on-bad-line", "skip", "--json")
    assert outcome.json["bad_lines"] == 1
    assert outcome.err.count(f"{path}:2:1") == 1


BAD_FOR = {  # lines with labels of their own, and why they are bad
    "overflow": ("7 1:1e39\n", []),
    "order": ("7 2:1 1:1\n", []),
    "repeated": ("7 2:1 2:1\n", []),
    "hashing": ("7 1:2e38 2:2e38 3:2e38\n", ["--hash-bits", 1]),  # two of them meet, and their sum is too large
}


@pytest.mark.parametrize("why", BAD_FOR)
def test_x05_a_label_of_skipped_lines_only_is_no_class_however_the_text_is_read(why, tmp_path):
    line, words = BAD_FOR[why]
    path = tmp_path / "data.svm"
    path.write_text(("1 1:1\n-1 2:1\n" * 20 + line) * 200)
    words = [*words, "--on-bad-line", "skip", "--max-bad", 1000]
    for file in (path, compressed(path)):
        for how in (["--epochs", 1], ["--epochs", 2], ["--epochs", 1, "--workers", 2], ["--workers", 3]):
            assert trained(file, *words, *how).label_names == ["-1", "1"], (file, how)


@pytest.mark.parametrize("label", ["9007199254740993", "-9007199254740993", "9007199254740992", "1e300"])
def test_x06_a_label_that_others_would_be_taken_for_is_refused(label, text, tmp_path):
    why = f"label {label} is too large: from 2^53 on not all whole numbers can be told apart"
    train = ["train", text, "-m", tmp_path / "m"]
    assert f"--labels: {why}" in fail(*train, f"--labels=1,{label}", status=2)
    assert f"--class-weight: {why}" in fail(*train, f"--class-weight=1:2,{label}:3", status=2)
    with pytest.raises(ValueError, match=re.escape(why.replace("1e300", "1e+300"))):
        package.train(text, package.AROWClassifier(), labels=[1, float(label) if "e" in label else int(label)])
    text.write_text(f"1 1:1\n{label} 2:1\n")
    assert f"{text}:2: {why}" in fail(*train)
    assert not (tmp_path / "m").exists()
    text.write_text("1 1:1\n-9007199254740991 2:1\n")
    assert trained(text, "--labels=1,-9007199254740991").classes.tolist() == [-9007199254740991, 1]


def test_x06_a_model_whose_labels_text_cannot_tell_apart_does_not_meet_text(text, tmp_path):
    model = tmp_path / "m.npz"
    package.AROWClassifier().fit(np.eye(2), [2**53, 2**53 + 1]).save(model)
    text.write_text(f"{2**53} 1:1\n{2**53 + 1} 2:1\n")
    for words in (["evaluate", text, "-m", model], ["train", text, "-m", tmp_path / "n", "--resume", model]):
        assert "the labels of the model cannot be those of a text: label 9007199254740992" in fail(*words)
    assert set(succeed("predict", text, "-m", model).out.split()) <= {str(2**53), str(2**53 + 1)}


def test_x06_a_label_that_has_two_weights_is_refused(text, tmp_path):
    train = ["train", text, "-m", tmp_path / "m"]
    assert "a label stands twice in '1:2,+1:3'" in fail(*train, "--class-weight=1:2,+1:3", status=2)


def test_many_labels_are_counted_in_all_batches(tmp_path):
    """Beyond a few they are found by a search."""
    path = tmp_path / "data.svm"
    path.write_text("".join(f"{label} 1:1\n" for label in range(40)) * 3 + "5 1:1\n" * 30)
    labels = Labels()
    for batch in Reader(path, chunk_bytes=64):
        labels.add(batch)
    assert labels.counts == {label: 3 + 30 * (label == 5) for label in range(40)}


def test_x08_a_label_of_a_million_digits_is_neither_kept_nor_shown_as_it_is_written(text):
    text.write_text(f"{'0' * 10**6}1 1:1\n-1.{'0' * 10**6} 2:1\n")
    for words in ([], ["--epochs", 1]):
        assert trained(text, *words).label_names == ["-1", "1"]
    text.write_text(f"1 1:1\n1.5{'0' * 10**6} 2:1\n")
    assert f"{text}:2: label 1.5 is not a whole number" in fail("train", text, "-m", text.with_name("m"))


def test_labels_can_be_fixed(text):
    text.write_text("3 1:1\n4 2:1\n")
    learner = trained(text, "--labels", "4.0,3")
    assert learner.label_names == ["3", "4.0"]
    text.write_text("3 1:1\n3 2:1\n")
    assert trained(text, "--labels", "3,4").classes.tolist() == [3, 4]
    text.write_text("3 1:1\n\n5 2:1\n")
    for words in ([], ["--epochs", 1]):
        message = fail("train", text, "-m", text.with_name("m"), "--labels", "3,4", *words)
        assert f"{text}:3: label 5 is not one of the labels 3, 4" in message
    text.write_text("-1 1:1\n+1 2:1\n")
    assert trained(text, "--labels", "-1,+1").label_names == ["-1", "+1"]
    text.write_text("0.5 1:1\n1.5 2:1\n")
    assert trained(text, "--labels", "0.5,1.5").label_names == ["0.5", "1.5"]
    assert "label 0.5 is not a whole number" in fail("train", text, "-m", text.with_name("m"))


@pytest.mark.parametrize("worse", ["bad", "3 99:1", "3 99999999999:1", "3 1:1e39"])
def test_r2_the_first_bad_line_is_reported_whatever_the_chunks(worse, text):
    for lines in (["4.5 1:1", worse], [worse, "4.5 1:1"]):
        text.write_text("\n".join(["3 1:1", "4 2:1", *lines, ""]))
        messages = set()
        for epochs in (1, 2):
            for chunk_bytes in (16, 1 << 20):
                training = Training(epochs=epochs, shuffle=False)
                run = Run([str(text)], rules.AROW(), training, resources=Resources(memory=700), chunk_bytes=chunk_bytes)
                with pytest.raises(DataError) as caught:
                    run.train()
                assert caught.value.line == 3, (epochs, chunk_bytes)
                messages.add(str(caught.value))
        assert len(messages) == 1


def test_the_line_that_needs_too_much_memory_is_the_one_that_is_named(text):
    text.write_text("1 1:1\n-1 2:1\n1 3:1\n-1 123:1\n-1 124:1\n")
    assert f"{text}:5: index 124 needs 1,008 bytes" in fail("train", text, "-m", text.with_name("m"), "--memory", 1000)


def test_a_line_out_of_the_range_of_the_state_can_be_skipped(text):
    text.write_text("1 1:1\n-1 1:1e39 2:1\nbad\n-1 2:1\n1 3:1e30\n1 4:1\n")
    for words in ([], ["--epochs", 1]):
        outcome = succeed("train", text, "-m", text.with_name("m"), "--on-bad-line", "skip", "--json", *words)
        assert outcome.json["rows"] == 4
        assert f"{text}:2: the value of index 1 is out of range" in outcome.err
        assert f"{text}:3:1: label is not a number" in outcome.err
        assert trained(text, "--on-bad-line", "skip", "--dtype", "float64").statistics["rows"] == 5 * 5


def test_x08_a_hashed_text_without_a_bad_line_is_as_wide_as_with_it(text):
    """Also where the largest index is the last of the columns."""
    for line in ("", "1 15:1e39\n"):
        text.write_text(f"{line}1 1:1 15:1\n-1 2:1\n")
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            X, _ = package.read_svmlight(text, dtype="float32", hash_bits=4, on_bad_line="skip")
        assert X.shape == (2, 16)
        assert len(told) == bool(line)


def test_a_line_that_is_skipped_counts_for_nothing(text):
    text.write_text("1 1:1\n-1 0:1 200:1e39\n-1 2:1\n")
    skip = ["--on-bad-line", "skip", "--features", 100]
    for words in ([], ["--epochs", 1]):
        assert trained(text, *skip, *words).state.n_features == 100
    with pytest.warns(UserWarning, match=":2: the value of index 200 is out of range"):
        X, _ = package.read_svmlight(text, dtype="float32", on_bad_line="skip")
    assert X.toarray().tolist() == [[0, 1, 0], [0, 0, 1]]
    with pytest.warns(UserWarning, match=":2: the value of index 200 is out of range"):
        X, _ = package.read_svmlight(text, dtype="float32", on_bad_line="skip", zero_based="auto")
    assert X.toarray().tolist() == [[1, 0], [0, 1]]  # one-based, since no index 0 is left


def test_a_cache_needs_no_memory_for_all_of_a_large_file(tmp_path):
    """A guess at the size of all rows is no reason to ask for so much."""
    path = tmp_path / "data.svm"
    path.write_text(random_text(3000))
    os.truncate(path, 1 << 40)
    message = fail("train", path, "-m", tmp_path / "m", "--epochs", 2, "--memory", "200K", "--max-line", "1M")
    assert "line longer than" in message or "NUL byte" in message


@pytest.mark.parametrize("content", ["", "\n\n", "# comment\n   \n#"])
def test_f01_f02_a_text_without_rows_teaches_nothing(content, text, tmp_path):
    text.write_text(content)
    for words in ([], ["--epochs", 1], ["--labels", "0,1"]):
        assert f"{text}: no examples" in fail("train", text, "-m", tmp_path / "m.npz", *words)
    assert not (tmp_path / "m.npz").exists()


@pytest.mark.parametrize("words", [[], ["--epochs", 1]], ids=str)
def test_f01_a_text_without_rows_is_an_error_also_when_a_model_goes_on(words, text, tmp_path):
    succeed("train", text, "-m", tmp_path / "m.npz", "--quiet")
    text.write_text("")
    assert "no examples" in fail("train", text, "-m", tmp_path / "n.npz", "--resume", tmp_path / "m.npz", *words)


def test_one_label_is_too_few(text):
    text.write_text("3 1:1\n" * 5)
    for words in ([], ["--epochs", 1]):
        message = fail("train", text, "-m", text.with_name("m"), *words)
        assert f"{text}: two labels are needed to learn a classifier, found only 3" in message


LATE = b"+1 1:1\n" * 400_000 + b"-1 2:1\n"  # the second label is in the second chunk


def test_a_late_label_on_standard_input_needs_labels(tmp_path):
    outcome = outcome_of("train", "-", "-m", tmp_path / "m.npz", "--epochs", 1, "--quiet", input=LATE)
    assert outcome.status == 1
    assert "cwlearn: error: <stdin>:400001: label -1 first comes here" in outcome.err
    assert "--labels" in outcome.err
    assert os.listdir(tmp_path) == []
    words = ["train", "-", "-m", tmp_path / "m.npz", "--epochs", 1, "--quiet", "--labels=-1,+1"]
    assert outcome_of(*words, input=LATE).status == 0
    assert model_file.load(tmp_path / "m.npz").statistics["rows"] == 400_001


def test_comments_before_the_first_row_on_a_pipe_do_no_harm(tmp_path):
    path = tmp_path / "data.svm"
    path.write_bytes(b"# a long preface\n" * 140_000 + b"1 1:1\n-1 2:1\n")
    words = ["-m", tmp_path / "m.npz", "--epochs", 1, "--quiet"]
    succeed("train", path, *words)
    outcome = outcome_of("train", "-", *words, input=path.read_bytes())
    assert outcome.status == 0, outcome.err


# -- the path of a row -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epochs", [1, 2])
def test_a_row_passes_two_functions_of_a_run_on_its_way_to_the_learner(epochs, text, monkeypatch):
    paths = set()
    learn_rows = diagonal.learn_rows

    def kernel(*args):
        frames, frame = [], sys._getframe(1)
        while frame.f_code.co_name != "train":
            frames.append(frame.f_code.co_qualname)
            frame = frame.f_back
        paths.add((frame.f_code.co_qualname, *frames[::-1]))
        return learn_rows(*args)

    monkeypatch.setattr(diagonal, "learn_rows", kernel)
    Run([str(text)], rules.AROW(), Training(epochs=epochs, shuffle=epochs > 1)).train()
    assert paths == {("Run.train", "Run._learn", "Learner.learn", "DiagonalState.learn")}


# -- from Python -------------------------------------------------------------------------------------------------------


def test_class_weights_without_a_loss_are_refused_before_anything_is_read(tmp_path):
    estimator = package.PassiveAggressiveClassifier(C=None, class_weight="balanced")
    with pytest.raises(ValueError, match="`class_weight` scales a loss, and pa with `C=None` has none"):
        package.train(tmp_path / "none.svm", estimator)
    words = ["-a", "pa", "--C", "none", "--class-weight", "1:2"]
    message = fail("train", tmp_path / "none.svm", "-m", tmp_path / "m.npz", *words, status=2)
    assert "--class-weight scales a loss, and pa with --C none has none" in message


def test_the_bar_is_removed_at_the_end(text, monkeypatch):
    closed = []
    monkeypatch.setattr(BarMonitor, "close", lambda monitor: closed.append(monitor))
    package.train(text, package.AROWClassifier())
    text.write_text("1 1:1\n2 x\n")
    with pytest.raises(DataError):
        package.train(text, package.AROWClassifier())
    assert len(closed) == 2


def test_train_takes_what_the_command_takes(tmp_path):
    path = tmp_path / "data.svm"
    path.write_text("7 3:1 1:1\nbad\n9 2:1\n")
    skip = {"unsorted": "sort", "on_bad_line": "skip"}
    with pytest.warns(UserWarning, match=r"data\.svm:2:1: label is not a number \(near 'bad'\); line skipped"):
        model = package.train([path], package.CWClassifier(), labels=[9, 7], n_features=10, memory="1M", **skip)
    assert model.classes_.tolist() == [7, 9]
    assert model.n_features_in_ == 10
    with pytest.warns(UserWarning, match="line skipped"):
        hashed = package.train(path, package.CWClassifier(), hash_bits=3, **skip)
    assert hashed.n_features_in_ == 8
    with pytest.raises(DataError) as caught:
        package.train(path, package.CWClassifier())
    assert (caught.value.path, caught.value.line) == (str(path), 1)


def models_of_every_door(text, tmp_path):
    """The same training, in every way that takes a file."""
    options = {"epochs": 1, "shuffle": False}
    X, y = package.read_svmlight(text)
    yield "fit on the matrix", package.AROWClassifier(**options).fit(X, y)
    model = package.AROWClassifier(**options)
    for part, labels in package.iter_svmlight(text, rows=7, n_features=X.shape[1]):
        model.partial_fit(part, labels, classes=[-1, 1])
    yield "partial_fit on batches", model
    yield "train", package.train(text, package.AROWClassifier(**options))
    yield "shards", distributed.fit(package.AROWClassifier(**options), [text])
    yield "parts of a file", distributed.fit(package.AROWClassifier(**options), distributed.split(text, 3))
    for words in (["--epochs", 1], ["--epochs", 1, "--workers", 2]):
        succeed("train", text, "-a", "arow", "-m", tmp_path / "door.npz", "--quiet", *words)
        yield " ".join(map(str, words)), package.load(tmp_path / "door.npz")


@pytest.mark.parametrize("first", [0, 1])
def test_a_model_trained_from_a_file_by_any_door_scores_the_matrix_read_from_it(first, text, tmp_path):
    """The index in the file is the column everywhere, whether the indices of the file begin with 0 or 1."""
    if first == 1:
        text.write_text(re.sub(r" (\d+):", lambda match: f" {int(match[1]) + 1}:", text.read_text()))
    X, _ = package.read_svmlight(text)
    assert (X.indices.min(), X.shape[1]) == (first, X.indices.max() + 1)
    learners = {}
    for door, model in models_of_every_door(text, tmp_path):
        assert model.n_features_in_ == X.shape[1], door
        model.save(tmp_path / "m.npz")
        lines = succeed("predict", text, "-m", tmp_path / "m.npz", "--margin").out.splitlines()
        mean, variance = model.margin(X)
        numbers = [f"{number:.9g} {other:.9g}" for number, other in zip(mean, variance, strict=True)]
        assert [line.partition(" ")[2] for line in lines] == numbers, door
        learners[door] = bits(model._learner)[:-1]
    one_model = ["fit on the matrix", "partial_fit on batches", "train", "--epochs 1"]
    assert len({str(learners[door]) for door in one_model}) == 1


def test_train_goes_on_with_a_warm_start_as_fit_does(text):
    X, y = load_svmlight_file(str(text), zero_based=True)
    for training in ({"epochs": 1, "shuffle": False}, {"epochs": 2}):
        models = [package.AROWClassifier(warm_start=True, random_state=3, **training) for _ in range(2)]
        for _ in range(2):
            package.train(text, models[0])
            models[1].fit(X, y)
        assert bits(models[0]._learner) == bits(models[1]._learner)


def test_labels_given_in_python_are_checked(text):
    for labels in ([1], [1, 2, 2], ["a"], ["a", "b", "a"], [1, 1.0]):
        with pytest.raises(ValueError, match="`labels` must be two or more different ones"):
            package.train(text, package.AROWClassifier(), labels=labels)
    with pytest.raises(ValueError, match="`labels` must be finite numbers, or texts"):
        package.train(text, package.AROWClassifier(), labels=[float("nan"), 1])
    with pytest.raises(ValueError, match="labels must be of one type"):
        package.train(text, package.AROWClassifier(), labels=["a", 1])
    with pytest.raises(DataError, match=r"data\.svm:1: label -1 is not one of the labels a, b"):
        package.train(text, package.AROWClassifier(), labels=["a", "b"])
    model = package.train(text, package.AROWClassifier(warm_start=True), labels=[1, -1])
    package.train(text, model, labels=[1, -1])
    with pytest.raises(ValueError, match="`labels` must be those that the model has"):
        package.train(text, model, labels=[5, 6])


def test_only_our_classifiers_can_be_trained(text):
    for other in ("arow", package.AROWClassifier, package.KernelCWClassifier(), 0):
        with pytest.raises(TypeError, match="expected a linear estimator of cwlearn"):
            package.train(text, other)


def test_a_failed_run_leaves_the_estimator_as_it_was(text):
    model = package.train(text, package.AROWClassifier(epochs=1, shuffle=False, warm_start=True))
    before = bits(model._learner)
    text.write_text(text.read_text() + "bad\n")
    with pytest.raises(DataError):
        package.train(text, package.AROWClassifier())
    model.warm_start = False
    with pytest.raises(DataError):
        package.train(text, model)
    assert bits(model._learner) == before


def test_a_generator_is_a_seed_too(text):
    X, y = load_svmlight_file(str(text), zero_based=True)
    model = package.train(text, package.AROWClassifier(random_state=np.random.RandomState(8)))
    same = package.AROWClassifier(random_state=np.random.RandomState(8)).fit(X, y)
    assert bits(model._learner) == bits(same._learner)


def test_a_row_that_cannot_be_learned_is_named_by_its_line(text):
    text.write_text("# the third row overflows\n1 1:1\n1 2:1\n\n-1 1:3e38 2:3e38\n")
    words = [*flags(rules.Perceptron(), fit_intercept=False), "--no-shuffle"]
    assert f"{text}:5: the margin of this row" in fail("train", text, "-m", text.with_name("m"), *words, "--epochs", 1)
    assert "the margin of this row" in fail("train", text, "-m", text.with_name("m"), *words)
    assert trained(text, *words, "--dtype", "float64").statistics["rows"] == 15 * 3


def test_a_run_counts_what_it_reads(text):
    run = Run([str(text)], rules.AROW(), Training(epochs=2), labels=Labels({-1.0: "no", 1.0: "yes"}))
    assert run.train().label_names == ["no", "yes"]
    assert run.rows == sum(run.labels.counts.values()) == 61
    assert run.done == 2 * 61
    assert run.nonzeros == load_svmlight_file(str(text))[0].nnz
    assert run.bad_lines == 0
