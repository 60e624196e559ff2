"""Vowpal Wabbit: rows of named features, importances as weights, and what is refused."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from sklearn.feature_extraction import FeatureHasher

import cwlearn as package
from cwlearn.core import model_file, rules
from cwlearn.core.text_options import TextOptions
from cwlearn.core.training import Training
from cwlearn.errors import DataError
from cwlearn.text.labels import labels_for
from cwlearn.text.monitor import Monitor
from cwlearn.text.reader import Reader, Reading
from cwlearn.text.resources import Resources
from cwlearn.text.row_store import DiskStore
from cwlearn.text.run import Run
from tests.text_cases import bits, fail, succeed

BITS = 10


def examples(n=300, seed=0, weights=True):
    """Lines, and what they say: label, importance, and values by name."""
    random = np.random.RandomState(seed)
    lines, rows = [], []
    for _ in range(n):
        label = ("spam", "ham", "-1")[random.randint(3)]
        importance = [1, 0.5, 2, 0][random.randint(4)] if weights else 1
        scale = [1, 2][random.randint(2)]
        values, words = {}, []
        for feature in random.choice(40, random.randint(6), replace=False).tolist():
            value = round(random.randn() + (feature % 3 == len(label) % 3), 3)
            values[f"ns^f{feature}"] = value * scale
            words.append(f"f{feature}:{value}")
        plain = f"w{random.randint(5)}"
        values[plain] = 1.0
        head = label if importance == 1 else f"{label} {importance}"
        lines.append(f"{head} |ns:{scale} {' '.join(words)} | {plain}\n")
        rows.append((label, importance, values))
    return "".join(lines), rows


def matrix(rows, dtype="float32"):
    hasher = FeatureHasher(1 << BITS, alternate_sign=False, dtype=np.dtype(dtype))
    X = hasher.transform([values for _, _, values in rows])
    return X, np.array([label for label, _, _ in rows]), np.array([weight for _, weight, _ in rows], float)


@pytest.fixture
def path(tmp_path):
    (tmp_path / "a.vw").write_text(examples()[0])
    return tmp_path / "a.vw"


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("chunk_bytes", [64, 1000, 1 << 20])
def test_the_columns_are_those_of_scikit_learns_feature_hasher(path, dtype, chunk_bytes):
    X, _, weights = matrix(examples()[1], dtype)
    reader = Reader(path, dtype=dtype, hash_bits=BITS, documents=TextOptions(), chunk_bytes=chunk_bytes)
    at = 0
    for batch in reader:
        stop = at + batch.rows.n_rows
        expected = X[at:stop]
        assert batch.rows.indices.tolist() == expected.indices.tolist()
        np.testing.assert_allclose(batch.rows.values, expected.data, rtol=1e-6)
        given = np.ones(stop - at) if batch.weights is None else batch.weights
        assert given.tolist() == weights[at:stop].tolist()
        at = stop
    assert at == X.shape[0]


def run(path, rule=None, monitor=None, learner=None, memory=None, chunk_bytes=1 << 16, **training):
    return Run(
        path,
        rule or rules.AROW(),
        Training(**{"random_state": 3, "shuffle": False, "epochs": 1, **training}),
        resources=Resources(hash_bits=BITS, memory=memory, threads=2),
        labels=labels_for(rule or rules.AROW(), {name: name for name in ("-1", "ham", "spam")}),
        learner=learner,
        monitor=monitor or Monitor(),
        chunk_bytes=chunk_bytes,
    )


@pytest.mark.parametrize("class_weight", [None, {"spam": 3.0}])
@pytest.mark.parametrize(("epochs", "shuffle"), [(1, False), (1, True), (3, False), (3, True)])
def test_importances_are_the_weights_of_rows(path, epochs, shuffle, class_weight):
    X, y, weights = matrix(examples()[1])
    options = {"epochs": epochs, "shuffle": shuffle, "random_state": 3, "dtype": "float32"}
    fitted = package.AROWClassifier(class_weight=class_weight, **options).fit(X, y, sample_weight=weights)
    trained = run(path, rules.AROW(class_weight=class_weight), **options).train()
    assert bits(trained) == bits(fitted._learner)


@pytest.mark.parametrize("chunk_bytes", [100, 5000])
def test_a_file_between_epochs_keeps_the_weights(path, chunk_bytes):
    path.write_text(examples(2000)[0])
    in_memory = run(path, epochs=3).train()
    on_disk = run(path, epochs=3, memory=25_000, chunk_bytes=chunk_bytes)
    assert bits(in_memory) == bits(on_disk.train())
    assert isinstance(on_disk._store, DiskStore)


def test_weights_that_come_late_count_too(tmp_path):
    """The rows before the first importance have the weight 1."""
    first, second = examples(100, 1, weights=False)[0], examples(100, 2)[0]
    (tmp_path / "a.vw").write_text(first + second)
    rows = examples(100, 1, weights=False)[1] + examples(100, 2)[1]
    X, y, weights = matrix(rows)
    fitted = package.AROWClassifier(epochs=2, shuffle=False).fit(X, y, sample_weight=weights)
    for chunk_bytes in (300, 1 << 20):
        trained = run(tmp_path / "a.vw", epochs=2, chunk_bytes=chunk_bytes).train()
        assert bits(trained) == bits(fitted._learner)


class Interrupted(Exception):  # noqa: N818
    pass


class Stop(Monitor):
    """Ends a run after so many rows, with the state and the progress of that moment."""

    keeps_progress = True

    def __init__(self, rows):
        self.rows = rows

    def learned(self, run, rows):
        if run.done >= self.rows:
            self.learner, self.progress = copy.deepcopy(run.learner), run.progress()
            raise Interrupted


@pytest.mark.parametrize("epochs", [1, 3])
@pytest.mark.parametrize("done", [1, 130, 299])
def test_a_resumed_run_gives_the_same_bits(path, epochs, done):
    whole = run(path, epochs=epochs).train()
    stop = Stop(done)
    with pytest.raises(Interrupted):
        run(path, epochs=epochs, monitor=stop, chunk_bytes=700).train()
    rest = run(path, epochs=epochs, learner=stop.learner, chunk_bytes=900)
    rest.resume_from(stop.progress)
    assert bits(rest.train()) == bits(whole)


def test_a_rule_without_weights_refuses_an_importance(tmp_path):
    (tmp_path / "a.vw").write_text("1 | a\n-1 1 | b\n1 2.5 | a\n")
    assert "a.vw:3: the importance of this row is 2.5, and cw has no loss" in fail(
        "train", tmp_path / "a.vw", "-m", tmp_path / "m.npz", "-a", "cw"
    )
    (tmp_path / "a.vw").write_text("1 | a\n-1 1 | b\n")
    succeed("train", tmp_path / "a.vw", "-m", tmp_path / "m.npz", "-a", "cw")


def test_a_model_knows_its_names_and_takes_named_features_only(path, tmp_path):
    model, texts = tmp_path / "m.npz", tmp_path / "t.jsonl"
    succeed("train", path, "-m", model, "-a", "arow", "--epochs", 1)
    learner = model_file.load(model)
    assert learner.hash_bits == 20
    assert learner.documents.named_features
    names = {name for names in learner.words.values() for name in names}
    assert names <= {f"ns^f{k}" for k in range(40)} | {f"w{k}" for k in range(5)}
    assert len(names) > 20
    assert "ns^f" in succeed("inspect", model).out
    texts.write_text('{"text": "a", "label": "spam"}\n{"text": "b", "label": "ham"}\n')
    assert "was trained on named features (vw)" in fail("predict", texts, "-m", model)
    succeed("train", texts, "-m", tmp_path / "t.npz")
    assert "named features (vw), and the model takes texts" in fail("predict", path, "-m", tmp_path / "t.npz")
    assert "--ngrams is for texts, and " in fail("train", path, "-m", model, "--ngrams", "1,3")
    loaded = package.load(model)
    assert type(loaded) is package.AROWClassifier
    assert loaded.n_features_in_ == 1 << 20


def test_predictions_need_no_label(tmp_path, path):
    succeed("train", path, "-m", tmp_path / "m.npz")
    (tmp_path / "b.vw").write_text("|ns f3\n'tag |ns f4\n")
    assert len(succeed("predict", tmp_path / "b.vw", "-m", tmp_path / "m.npz").out.split()) == 2
    assert "b.vw:1:1: expected a label before '|'" in fail("evaluate", tmp_path / "b.vw", "-m", tmp_path / "m.npz")


def test_regression_takes_numbers(tmp_path):
    (tmp_path / "a.vw").write_text("1.5 | a\n-2e1 | b\n")
    model = package.train(tmp_path / "a.vw", package.AROWRegressor(epochs=20))
    assert isinstance(model, package.AROWRegressor)
    (tmp_path / "a.vw").write_text("1.5 | a\nmuch | b\n")
    with pytest.raises(DataError, match=r"a\.vw:2: target much is not a number"):
        package.train(tmp_path / "a.vw", package.AROWRegressor())


BAD = [
    ("1 | a:x\n", "4", "expected a value that is a decimal number"),
    ("| a\n", "4:1", "expected a label before '|'"),
    ("1 -1 | a\n", "4:3", "expected an importance of 0 or more"),
    ("1 | a:1e39\n", "4", "the value 1e+39 of the feature a is out of range for float32"),
    ("1 |n:1e30 b a:1e30\n", "4", "the value 1e+60 of the feature a is out of range"),
    ("\xff1 | a\n", "4:1", "expected UTF-8"),
    ("x" * 2000 + " | a\n", "4:1", "expected a label of at most 1,024 bytes, found 2,000"),
]


@pytest.mark.parametrize(("line", "place", "message"), BAD)
def test_bad_lines_are_named_or_skipped(tmp_path, line, place, message):
    good = "1 | a\n\n-1 | b\n"
    (tmp_path / "a.vw").write_bytes((good + line + good).encode("latin-1"))
    for chunk_bytes in (20, 1 << 20):
        reader = Reader(tmp_path / "a.vw", documents=TextOptions(), chunk_bytes=chunk_bytes)
        with pytest.raises(DataError) as caught:
            list(reader)
        assert f"a.vw:{place}" in str(caught.value)
        assert message in str(caught.value)
        skipped = []
        reader = Reader(
            tmp_path / "a.vw",
            Reading(on_bad_line="skip"),
            documents=TextOptions(),
            chunk_bytes=chunk_bytes,
            on_skipped=skipped.append,
        )
        assert sum(batch.rows.n_rows for batch in reader) == 4
        assert len(skipped) == 1
        assert message in str(skipped[0])


def test_trials_take_no_importances(path, tmp_path):
    assert "the importance of this row is" in fail("tune", path, "--hash-bits", BITS)
    (tmp_path / "b.vw").write_text(examples(weights=False)[0])
    assert "cwlearn train" in succeed("tune", tmp_path / "b.vw", "--epochs", 2, "--grid", "regularization=1").out
