"""More than two labels in estimators, text, model files and the command line."""

from __future__ import annotations

import gzip
import json
import os
import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_svmlight_file
from sklearn.exceptions import ConvergenceWarning

import cwlearn as package
from cwlearn.cli.terminal import TerminalMonitor
from cwlearn.core import learner as learner_module
from cwlearn.core import model as model_module
from cwlearn.core import model_file, rules, sealed_archive
from cwlearn.core.learner import Learner
from cwlearn.core.states import base as state
from cwlearn.core.training import Training
from cwlearn.errors import DataError, ModelError
from cwlearn.estimators.loading import CLASSIFIERS
from cwlearn.text.run import Run
from tests.cases import labelled_rows, new_learner, rows_of
from tests.text_cases import bits, compressed, cwlearn, fail, labelled_text, outcome_of, succeed, trained


@pytest.fixture
def text(tmp_path):
    """A small svmlight file with the labels 0 to 3."""
    path = tmp_path / "data.svm"
    path.write_text(labelled_text())
    return path


# -- estimators --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options", [{}, {"n_constraints": None}, {"n_constraints": 2, "multiclass_update": "parallel"}]
)
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_every_classifier_learns_three_labels(name, options, iris):
    X, y = iris
    model = CLASSIFIERS[name](random_state=0, **options).fit(X, y)
    assert model.score(X, y) > 0.85
    assert model.coef_.shape == model.variance_.shape == (3, 4)
    assert model.intercept_.shape == (3,)
    assert np.shares_memory(model.variance_, model._learner.predictor.cells)
    scores = model.decision_function(X)
    assert scores.shape == (150, 3)
    assert (model.classes_[np.argmax(scores, axis=1)] == model.predict(X)).all()
    if name != "sop":  # which is not linear
        np.testing.assert_allclose(scores, X @ model.coef_.T + model.intercept_, atol=1e-4)
    twin = pickle.loads(pickle.dumps(model))
    assert (twin.decision_function(X) == scores).all()


def test_partial_fit_needs_all_labels_first_and_names_a_late_one(iris):
    X, y = iris
    model = package.CWClassifier().partial_fit(X[:50], y[:50], classes=["setosa", "versicolor"])
    with pytest.raises(
        ValueError, match=r"row 50: label 'virginica' is not one of the labels \['setosa', 'versicolor'\]"
    ):
        model.partial_fit(X[50:], np.roll(y, -50)[:100])
    model = package.CWClassifier().partial_fit(X[:50], y[:50], classes=np.unique(y))
    model.partial_fit(X[50:], y[50:])
    assert model.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    with pytest.raises(ValueError, match=r"row 1: label 'rose' is not one of the labels"):
        model.partial_fit(X[:2], ["setosa", "rose"])
    with pytest.raises(ValueError, match=r"label 7 is not one of the labels"):
        model.partial_fit(X[:2], [7, 8])
    with pytest.raises(ValueError, match=r"row 1: label 7 is not one of the labels"):
        model.partial_fit(X[:2], np.array(["setosa", 7], object))


def test_many_announced_labels_are_not_a_warning():
    X = np.eye(30)
    model = package.AROWClassifier().partial_fit(X, np.arange(30), classes=np.arange(40))
    assert len(model.classes_) == 40
    assert package.AROWClassifier(random_state=0).fit(X, np.arange(30)).score(X, np.arange(30)) == 1
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        package.AROWClassifier().fit(X, np.append(np.arange(29), 0.5))


def test_chunks_of_partial_fit_give_the_same_bits(iris):
    X, y = iris
    whole, chunked = (package.SCWClassifier(n_constraints=2) for _ in range(2))
    whole.partial_fit(X, y, classes=np.unique(y))
    for part in np.array_split(np.arange(150), 11):
        chunked.partial_fit(X[part], y[part], classes=np.unique(y))
    assert bits(whole._learner) == bits(chunked._learner)


def test_weights_scale_the_loss_of_every_label(iris):
    X, y = iris
    factors = {"setosa": 3.0, "virginica": 0.25}
    by_class = package.AROWClassifier(class_weight=factors, random_state=0).fit(X, y)
    weights = np.array([factors.get(label, 1.0) for label in y])
    by_row = package.AROWClassifier(random_state=0).fit(X, y, sample_weight=weights)
    assert (by_class.coef_ == by_row.coef_).all()
    few = np.flatnonzero((y != "setosa") | (np.arange(150) < 10))
    balanced = package.AROWClassifier(class_weight="balanced", random_state=0).fit(X[few], y[few])
    expected = {"setosa": 110 / 30, "versicolor": 110 / 150, "virginica": 110 / 150}
    same = package.AROWClassifier(class_weight=expected, random_state=0).fit(X[few], y[few])
    assert (balanced.coef_ == same.coef_).all()


def test_an_inexact_exact_update_is_a_warning(iris, monkeypatch):
    X, y = iris
    model = package.CWClassifier(form="variance", multiclass_update="exact", n_constraints=None, epochs=1)
    assert model.fit(X, y).score(X, y) > 0.8
    monkeypatch.setattr(learner_module, "EXACT_SWEEPS", 1)
    with pytest.warns(ConvergenceWarning, match="exact updates did not converge to 1e-12 in 100 sweeps"):
        model.fit(X, y)
    with pytest.warns(ConvergenceWarning, match="exact updates did not converge to 1e-12 in 100 sweeps"):
        model.partial_fit(X, y)


def test_an_inexact_exact_update_from_text_is_a_warning(text, monkeypatch):
    monkeypatch.setattr(learner_module, "EXACT_SWEEPS", 1)
    model = package.CWClassifier(form="variance", multiclass_update="exact", n_constraints=None, epochs=1)
    with pytest.warns(ConvergenceWarning, match="exact updates did not converge to 1e-12 in 100 sweeps"):
        package.train(text, model)


def test_options_that_do_not_fit_the_rule_are_refused(iris):
    X, y = iris
    with pytest.raises(ValueError, match="`multiclass_update='exact'` is there for CW with `form='variance'`"):
        package.CWClassifier(multiclass_update="exact").fit(X, y)
    for wrong in (0, -1, 1.5, "all", True):
        with pytest.raises(ValueError, match="`n_constraints` must be a positive integer or None"):
            package.CWClassifier(n_constraints=wrong).fit(X, y)
    with pytest.raises(ValueError, match="`multiclass_update` must be 'sequential' or 'parallel' or 'exact'"):
        package.CWClassifier(multiclass_update="both").fit(X, y)
    for many in (1000, 10**30):
        assert package.CWClassifier(n_constraints=many).fit(X, y).score(X, y) > 0.8  # as many as there are


def test_predictions_are_made_in_pieces(iris, monkeypatch):
    X, y = iris
    model = package.AROWClassifier(random_state=0).fit(X, y)
    expected = model.predict(X)
    monkeypatch.setattr(model_module, "SCORES_AT_ONCE", 10)
    assert (model.predict(X) == expected).all()
    assert model.predict(X[:0]).shape == (0,)


def test_a_model_larger_than_the_memory_is_refused(monkeypatch):
    monkeypatch.setattr(state, "free_memory", lambda: 10**8)
    X = sparse.csr_matrix(np.eye(20, 10**6, dtype=np.float32))
    with pytest.raises(
        MemoryError, match="1,000,000 features x 20 labels need 160,000,160 bytes; 100,000,000 are free"
    ):
        package.CWClassifier().fit(X, np.arange(20))
    monkeypatch.setattr(state, "free_memory", lambda: 2 * 10**8)
    package.CWClassifier(epochs=1).fit(X, np.arange(20))


# -- text --------------------------------------------------------------------------------------------------------------

WAYS = [
    ({}, []),
    ({"epochs": 1, "shuffle": False}, ["--epochs", 1]),
    ({"n_constraints": None}, ["--n-constraints", "all"]),
    (
        {"n_constraints": 2, "multiclass_update": "parallel"},
        ["--n-constraints", 2, "--multiclass-update", "parallel"],
    ),
]


@pytest.mark.parametrize(("options", "words"), WAYS, ids=str)
def test_text_gives_the_bits_of_fit(options, words, text):
    X, y = load_svmlight_file(str(text), zero_based=True)
    expected = bits(package.AROWClassifier(**{"random_state": 0, **options}).fit(X, y)._learner)
    assert bits(trained(text, *words)) == expected
    assert bits(trained(compressed(text), *words, "--threads", 4)) == expected
    model = package.train(text, package.AROWClassifier(**{"random_state": 0, **options}))
    assert bits(model._learner) == expected
    for chunk_bytes in (16, 300):
        training = Training(**{"random_state": 0, "epochs": 5, **options})
        run = Run([str(text)], rules.AROW(), training, chunk_bytes=chunk_bytes)
        assert bits(run.train()) == expected


def test_late_labels_restart_the_run_once(tmp_path, monkeypatch):
    path = tmp_path / "sorted.svm.gz"  # compressed, so nobody can look ahead
    lines = [f"{label} {1 + label}:1 20:{row}\n" for label in range(12) for row in range(1, 9)]
    path.with_suffix("").write_text("".join(lines))
    compressed(path.with_suffix(""))
    passes = []
    original = Run._pass
    monkeypatch.setattr(Run, "_pass", lambda self: passes.append(1) or original(self))
    run = Run([str(path)], rules.AROW(), Training(epochs=1, shuffle=False), chunk_bytes=64)
    model = run.train()
    assert model.classes.tolist() == list(range(12))
    assert len(passes) == 2
    assert model.statistics["rows"] == run.done == 96
    assert set(run.labels.counts.values()) == {8}
    plain = Run([str(path.with_suffix(""))], rules.AROW(), Training(epochs=1, shuffle=False))
    assert bits(plain.train()) == bits(model)


def test_a_late_third_label_on_standard_input_needs_labels(tmp_path):
    late = b"1 1:1\n-1 2:1\n" * 200_000 + b"3 3:1\n"
    words = ["train", "-", "-m", tmp_path / "m.npz", "-a", "arow", "--epochs", 1, "--quiet"]
    outcome = outcome_of(*words, input=late)
    assert outcome.status == 1
    assert "<stdin>:400001: label 3 first comes here" in outcome.err
    assert outcome_of(*words, "--labels=-1,1,3", input=late).status == 0
    assert model_file.load(tmp_path / "m.npz").label_names == ["-1", "1", "3"]


def test_many_labels_are_counted_and_named(tmp_path):
    path = tmp_path / "many.svm"
    path.write_text("".join(f"{label}.0 {label % 50}:1\n" for label in range(300)) * 2)
    for words in ([], ["--epochs", 1]):
        model = trained(path, *words)
        assert model.classes.tolist() == list(range(300))
        assert model.label_names[7] == "7.0"
    outcome = succeed("train", "-a", "arow", path, "-m", tmp_path / "m.npz")
    assert "and 280 more" in outcome.out
    path.write_text("300 1:1\n")
    message = fail("evaluate", path, "-m", tmp_path / "m.npz")
    assert f"{path}:1: label 300 is not one of the labels 0.0, 1.0" in message
    assert "and 280 more" in message


def test_a_label_that_is_not_a_class_is_named_even_among_new_labels(text):
    text.write_text("1 1:1\n2 1:1\n3 1:1\n2.5 1:1\n4 1:1\n")
    for words in ([], ["--epochs", 1]):
        message = fail("train", "-a", "arow", text, "-m", text.with_name("m"), *words)
        assert f"{text}:4: label 2.5 is not a whole number" in message


def test_labels_that_are_equal_as_doubles_are_refused(text):
    text.write_text("5 1:1\n9007199254740991 1:1\n9007199254740993 2:1\n1e300 1:1\n")
    for words in ([], ["--epochs", 1]):
        message = fail("train", "-a", "arow", text, "-m", text.with_name("m"), *words)
        assert f"{text}:3: label 9007199254740993 is too large: from 2^53 on" in message


def test_almost_as_many_labels_as_rows_are_a_warning(text):
    text.write_text("".join(f"{row} 1:{row}\n" for row in range(1, 40)))
    assert (
        "warning: 39 labels in 39 rows: are they classes?"
        in succeed("train", "-a", "arow", text, "-m", text.with_name("m")).err
    )


def test_the_weights_of_all_labels_count_for_memory(text):
    text.write_text("".join(f"{label} {label}:1\n" for label in range(1, 9)))
    message = fail("train", "-a", "arow", text, "-m", text.with_name("m"), "--memory", 500)
    assert "9 features need 640 bytes for the weights of 8 labels, more than the 500 allowed (--memory)" in message
    assert trained(text, "--memory", 500, "--features", 9).state.n_features == 9


def test_memory_that_the_machine_does_not_have_is_refused(text, monkeypatch):
    monkeypatch.setattr(state, "free_memory", lambda: 10**8)
    message = fail("train", "-a", "arow", text, "-m", text.with_name("m"), "--hash-bits", 24)
    assert "16,777,216 features x 4 labels need 536,870,944 bytes" in message


def test_resuming_gives_the_bits_of_one_run(text, tmp_path):
    whole = trained(text, "--epochs", 1, "--n-constraints", "all")
    lines = text.read_text().splitlines(keepends=True)
    first, second = tmp_path / "first.svm", tmp_path / "second.svm"
    first.write_text("".join(lines[:30]))
    second.write_text("".join(lines[30:]))
    model = tmp_path / "m.npz"
    succeed("train", first, "-m", model, "-a", "arow", "--epochs", 1, "--n-constraints", "all", "--labels", "0,1,2,3")
    message = fail("train", "-a", "arow", second, "-m", model, "--resume", model, "--epochs", 1, "--n-constraints", 2)
    assert "was trained with --n-constraints all, not 2; --force continues all the same" in message
    message = fail(
        "train", "-a", "arow", second, "-m", model, "--resume", model, "--epochs", 1, "--labels", "0,1,2", "--force"
    )
    assert "was trained with --labels 0, 1, 2, 3, not 0, 1, 2; a resumed model keeps that" in message
    succeed("train", "-a", "arow", second, "-m", model, "--resume", model, "--epochs", 1)
    assert bits(model_file.load(model)) == bits(whole)


# -- command line ------------------------------------------------------------------------------------------------------


def test_predict_evaluate_and_inspect_show_all_labels(text, tmp_path):
    model = tmp_path / "m.npz"
    report = succeed("train", text, "-m", model, "-a", "arow", "--json").json
    assert report["labels"] == ["0", "1", "2", "3"]
    assert report["unsolved_updates"] == 0
    loaded = package.load(model)
    X, y = load_svmlight_file(str(text), zero_based=True, n_features=loaded.n_features_in_)
    lines = succeed("predict", text, "-m", model).out.splitlines()
    assert [float(line) for line in lines] == loaded.predict(X).tolist()

    lines = succeed("predict", text, "-m", model, "--proba").out.splitlines()
    assert lines[0] == "labels 0 1 2 3"
    table = np.array([line.split() for line in lines[1:]], float)
    np.testing.assert_allclose(table[:, 1:], loaded.predict_proba(X), atol=1e-8)
    lines = succeed("predict", text, "-m", model, "--margin").out.splitlines()
    assert lines[0] == "labels 0 1 2 3"
    table = np.array([line.split() for line in lines[1:]], float)
    mean, variance = loaded.margin(X)
    np.testing.assert_allclose(table[:, 1::2], mean, rtol=1e-8)
    np.testing.assert_allclose(table[:, 2::2], variance, rtol=1e-8)

    report = succeed("evaluate", text, "-m", model, "--json").json
    assert report["error"] == pytest.approx(np.mean(loaded.predict(X) != y))
    assert np.array(report["confusion"]).shape == (4, 4)
    assert 0 < report["log_loss"] < 10
    assert "precision" in succeed("evaluate", text, "-m", model).out

    facts = succeed("inspect", model, "--top", 3, "--json").json
    assert len(facts["weights"]) == 12
    assert len(facts["intercept"]) == 4
    for weight in facts["weights"]:
        assert weight["weight"] == pytest.approx(loaded.coef_[int(weight["label"]), weight["feature"]])
        assert weight["deviation"] == pytest.approx(np.sqrt(loaded.variance_[int(weight["label"]), weight["feature"]]))
    words = succeed("inspect", model).out
    assert "labels     0, 1, 2, 3\n" in words
    assert "constraints 1, sequential\n" in words
    assert facts["n_constraints"] == 1
    assert facts["multiclass_update"] == "sequential"


def test_flags_of_several_labels(text):
    for words in (["--n-constraints", "0"], ["--n-constraints", "some"], ["--multiclass-update", "both"]):
        fail("train", "-a", "arow", text, "-m", text.with_name("m"), *words, status=2)
    assert "must be a positive integer or all" in fail(
        "train", "-a", "arow", text, "-m", text.with_name("m"), "--n-constraints", "x", status=2
    )
    message = fail("train", text, "-m", text.with_name("m"), "-a", "cw", "--multiclass-update", "exact", status=2)
    assert "--multiclass-update exact is there for CW with --form variance" in message
    learned = trained(text, "-a", "cw", "--form", "variance", "--multiclass-update", "exact", "--n-constraints", "all")
    assert learned.training.multiclass_update == "exact"
    assert learned.training.n_constraints is None
    for labels in ("1", "1,1.0", "1,2,2", "a,a"):
        fail("train", "-a", "arow", text, "-m", text.with_name("m"), "--labels", labels, status=2)
    assert "is not one of the labels a, b, c" in fail(
        "train", "-a", "arow", text, "-m", text.with_name("m"), "--labels", "a,b,c"
    )


def test_an_inexact_exact_update_is_reported(text, monkeypatch):
    monkeypatch.setattr(learner_module, "EXACT_SWEEPS", 1)
    words = ["-a", "cw", "--form", "variance", "--multiclass-update", "exact", "--n-constraints", "all", "--json"]
    outcome = cwlearn("train", "-a", "arow", text, "-m", text.with_name("m"), *words)
    assert outcome.json["unsolved_updates"] > 0
    assert f"warning: {outcome.json['unsolved_updates']} exact updates did not converge" in outcome.err


# -- model files -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", [rules.CW(), rules.Perceptron(average=True), rules.SOP()], ids=lambda rule: rule.name)
@pytest.mark.parametrize("n_labels", [2, 3, 20])
@pytest.mark.parametrize("n_features", [25, 5000])
def test_a_model_comes_back_bit_for_bit(rule, n_labels, n_features, tmp_path):
    """Also if only touched weights are written."""
    X, y = labelled_rows(n_labels=max(3, n_labels))
    y = np.where(y > 0, 1.0, -1.0) if n_labels == 2 else y
    X.resize(X.shape[0], n_features)
    model = Learner(
        rule, Training(), np.array([-1.0, 1.0]) if n_labels == 2 else np.arange(float(n_labels)), n_features
    )
    model.learn(rows_of(X, model), y)
    path = tmp_path / "m.npz"
    model_file.save(model, path)
    again = model_file.load(path)
    assert bits(again) == bits(model)
    assert again.state.cells.shape == model.state.cells.shape
    for each in (model, again):
        each.learn(rows_of(X, each), y)
    assert bits(again) == bits(model)
    if n_features == 5000:
        assert os.path.getsize(path) < model.state.cells.nbytes / 5, "weights that no row has touched take no room"


def test_a_model_that_has_learned_nothing_comes_back(tmp_path):
    for n_labels in (2, 4):
        model = new_learner(rules.AROW(), 1000, n_labels)
        model.state.mean[:] = 0
        model_file.save(model, tmp_path / "m.npz")
        assert bits(model_file.load(tmp_path / "m.npz")) == bits(model)


def test_features_that_were_never_touched_are_not_counted(tmp_path):
    X, y = labelled_rows()
    model = new_learner(rules.AROW(), 1000, 5)
    model.state.mean[:] = 0
    X.resize(X.shape[0], 1000)
    model.learn(rows_of(X, model), y)
    model_file.save(model, tmp_path / "m.npz")
    facts = succeed("inspect", tmp_path / "m.npz", "--json", "--top", 2000).json
    assert facts["features"] == 1000
    assert (
        facts["features_moved"] == len(np.unique(X.indices)) == len({weight["feature"] for weight in facts["weights"]})
    )


def tampered(model, tmp_path, change):
    """A file with changed arrays and a correct checksum."""
    members = model.state.arrays()
    header = model_file._header(model)
    change(members, header)
    members = {
        "header": np.frombuffer(json.dumps(header).encode(), np.uint8),
        **members,
        "names": np.frombuffer(b"null", np.uint8),
    }
    path = tmp_path / "bad.npz"
    with open(path, "wb") as file:
        sealed_archive.write(file, members)
    return path


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("beyond", "its weight number 999999 is not of its 1000 features"),
        ("negative", "do not rise"),
        ("twice", "do not rise"),
        ("fewer", "its state is"),
        ("floats", "its places is float64"),
        ("labels", "its state is|is not of its|expected"),
        ("nan", "not finite"),
        ("negative count", "number of features"),
    ],
)
def test_impossible_places_are_refused(what, message, tmp_path):
    X, y = labelled_rows()
    model = new_learner(rules.AROW(), 1000, 5)
    model.state.mean[:] = 0
    X.resize(X.shape[0], 1000)
    model.learn(rows_of(X, model), y)

    def change(members, header):
        places = members["places"].copy()
        assert len(places)
        if what == "beyond":
            places[-1] = 999_999
        elif what == "negative":
            places[0] = -1
        elif what == "twice":
            places[1] = places[0]
        elif what == "fewer":
            places = places[:-1]
        elif what == "floats":
            places = places.astype(float)
        elif what == "labels":
            header["labels"]["values"] = header["labels"]["values"][:1]
        elif what == "nan":
            members["cells"] = np.full_like(members["cells"], np.nan)
        elif what == "negative count":
            header["n_features"] = -2
        members["places"] = places

    with pytest.raises(ModelError, match=message):
        model_file.load(tampered(model, tmp_path, change))


def test_a_model_too_large_for_the_machine_is_a_memory_error(tmp_path, monkeypatch):
    X, y = labelled_rows()
    model = new_learner(rules.AROW(), 10**6, 5)
    model.state.mean[:] = 0
    X.resize(X.shape[0], 10**6)
    model.learn(rows_of(X, model), y)
    model_file.save(model, tmp_path / "m.npz")
    monkeypatch.setattr(state, "free_memory", lambda: 10**7)
    with pytest.raises(MemoryError, match="1,000,000 features x 5 labels need 40,000,040 bytes; 10,000,000 are free"):
        model_file.load(tmp_path / "m.npz")
    (tmp_path / "data.svm").write_text("1 1:1\n")
    assert "out of memory" in fail("predict", tmp_path / "data.svm", "-m", tmp_path / "m.npz")
    assert "1,000,000, 25 of them moved" in succeed("inspect", tmp_path / "m.npz").out  # which reads some at a time


def test_a_checkpoint_of_fewer_labels_is_not_recommended(tmp_path):
    """A late label restarts the run, so the checkpoint before it is useless."""
    path = tmp_path / "late.svm.gz"
    path.write_bytes(gzip.compress(("".join("0 1:1\n1 2:1\n" * 200) + "2 3:1\n").encode()))
    monitor = TerminalMonitor(quiet=True, checkpoint=str(tmp_path / "ck"), minutes=1e-9)
    run = Run([str(path)], rules.AROW(), Training(epochs=1, shuffle=False), monitor=monitor, chunk_bytes=256)
    kept = []
    original = monitor.restarted
    monitor.restarted = lambda: (kept.append(monitor.kept), original(), kept.append(monitor.kept))
    run.train()
    assert kept[0] > 0
    assert kept[1] == 0
    assert model_file.load(tmp_path / "ck").classes.tolist() == [0, 1, 2]


def test_a_pass_over_text_that_changed_is_still_sound(text, monkeypatch):
    """Another label is added between the pass that finds a late label and the next pass."""
    packed = text.with_name("late.svm.gz")

    def write(labels):
        packed.write_bytes(gzip.compress("".join(f"{label} {label}:1\n" * 9 for label in labels).encode()))

    write([1, 2, 3])
    original = Run._pass
    rounds = iter([[1, 2, 3, 4], [1, 2, 3, 4], [1, 2, 3, 4]])

    def changing(self):
        done = yield from original(self)
        write(next(rounds))
        return done

    monkeypatch.setattr(Run, "_pass", changing)
    run = Run([str(packed)], rules.AROW(), Training(epochs=1, shuffle=False), chunk_bytes=16)
    assert run.train().classes.tolist() == [1, 2, 3, 4]
    with pytest.raises(DataError):
        Run([str(packed)], rules.AROW(), Training(), labels=run.labels.__class__({1.0: "1", 2.0: "2"})).train()
