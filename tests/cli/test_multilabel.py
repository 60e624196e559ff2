"""Several labels a row on the command line: train, predict, evaluate, inspect, resume and merge."""

from __future__ import annotations

import json
import shlex

import numpy as np
import pytest
from sklearn.metrics import f1_score, hamming_loss, label_ranking_loss, log_loss, precision_score

import cwlearn as package
from cwlearn.core import merging, model_file
from cwlearn.core.multilabel_metrics import MultiLabelMeasures, ranking_losses
from tests.core.test_multilabel import numbers
from tests.text.test_set_labels import svmlight
from tests.text_cases import fail, succeed


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "a.svm"
    path.write_bytes(svmlight(500, 6))
    return path


@pytest.fixture
def model(data, tmp_path):
    succeed("train", data, "-m", tmp_path / "m.npz", "--multilabel", "-q")
    return tmp_path / "m.npz"


def indicators(data, model):
    """The true labels, and the estimator of the model."""
    lines = data.read_text().splitlines()
    estimator = package.load(model)
    labels = [line.partition(" ")[0] for line in lines]
    sets = [{int(label) for label in text.split(",") if text} for text in labels]
    return np.array([[label in has for label in estimator.classes_] for has in sets]), estimator


def rows_of(data, estimator):
    text = "".join(f"0 {line.partition(' ')[2]}\n" for line in data.read_text().splitlines())
    path = data.with_suffix(".plain")
    path.write_text(text)
    return package.read_svmlight(path, n_features=estimator.n_features_in_)[0]


def test_train_says_what_it_did(data, tmp_path):
    report = succeed("train", data, "-m", tmp_path / "m.npz", "--multilabel", "--json").json
    assert report["task"] == "multilabel"
    assert report["algorithm"] == "arow"
    assert report["labels"] == ["0", "1", "2", "3", "4", "5"]
    assert report["race"] is None
    assert 0 < report["progressive_error"] < 0.5


def test_predict_prints_the_labels_of_each_row(data, model):
    _, estimator = indicators(data, model)
    X = rows_of(data, estimator)
    lines = succeed("predict", data, "-m", model).out.splitlines()
    assert lines == [",".join(map(str, labels)) for labels in estimator.predict_labels(X)]
    assert "" in lines, "a row may have no label"
    probabilities = estimator.predict_proba(X)
    lines = succeed("predict", data, "-m", model, "--threshold", "0.2").out.splitlines()
    assert [line.count(",") + bool(line) for line in lines] == (probabilities >= 0.2).sum(axis=1).tolist()
    best = np.argsort(-probabilities, axis=1, kind="stable")[:, :2]
    lines = succeed("predict", data, "-m", model, "--top", "2").out.splitlines()
    assert [line.split(" ")[::2] for line in lines] == [[*map(str, labels)] for labels in best]
    first, *lines = succeed("predict", data, "-m", model, "--proba").out.splitlines()
    assert first == "labels 0 1 2 3 4 5"
    found = [[*map(float, line.split(" ")[1:])] for line in lines]
    np.testing.assert_allclose(found, probabilities, rtol=1e-8)
    first, *lines = succeed("predict", data, "-m", model, "--margin").out.splitlines()
    assert first == "labels 0 1 2 3 4 5"
    assert len(lines[0].split(" ")) == 13


def test_rows_without_labels_are_predicted_alike(data, model, tmp_path):
    plain = tmp_path / "b.svm"
    plain.write_text("".join(f"{line.partition(' ')[2]}\n" for line in data.read_text().splitlines()))
    expected = succeed("predict", data, "-m", model).out
    assert succeed("predict", plain, "-m", model).out == expected
    assert succeed("predict", plain, "-m", model, "--no-labels").out == expected


@pytest.mark.parametrize("words", [[], ["--threshold", "0.3"]])
def test_evaluate_agrees_with_scikit_learn(words, data, model):
    true, estimator = indicators(data, model)
    X = rows_of(data, estimator)
    report = succeed("evaluate", data, "-m", model, "--json", *words).json
    scores, probabilities = estimator.decision_function(X), estimator.predict_proba(X)
    predicted = probabilities >= 0.3 if words else scores > 0
    assert report["rows"] == 500
    assert report["micro_f1"] == pytest.approx(f1_score(true, predicted, average="micro"))
    assert report["macro_f1"] == pytest.approx(f1_score(true, predicted, average="macro", zero_division=0))
    assert report["precision"] == pytest.approx(precision_score(true, predicted, average="micro"))
    assert report["hamming_loss"] == pytest.approx(hamming_loss(true, predicted))
    assert report["ranking_loss"] == pytest.approx(label_ranking_loss(true, scores))
    assert report["exact_rows"] == pytest.approx((true == predicted).all(axis=1).mean())
    assert report["log_loss"] == pytest.approx(log_loss(true.ravel(), probabilities.ravel()))
    for k in (1, 3, 5):
        best = np.argsort(-scores, axis=1)[:, :k]
        assert report["precision_at"][str(k)] == pytest.approx(np.take_along_axis(true, best, axis=1).mean())
    text = succeed("evaluate", data, "-m", model, *words).out
    assert text.startswith(f"micro F1 {100 * report['micro_f1']:.2f} %, macro F1")
    assert len(text.splitlines()) == 13


def test_equal_scores_are_in_the_wrong_order():
    true = np.array([[True, False, False], [True, True, True], [False, False, False], [False, True, False]])
    scores = np.array([[1.0, 1.0, 0.0], [0, 1, 2], [0, 1, 2], [5, 5, 5]])
    assert ranking_losses(true, scores).tolist() == [0.5, 0.0, 0.0, 1.0]
    assert ranking_losses(true, scores).mean() == label_ranking_loss(true, scores)


def test_a_label_that_never_occurs_counts_as_0_in_the_macro_f1():
    measures = MultiLabelMeasures(["a", "b"])
    measures.add(np.array([[True, False]]), np.array([[True, False]]), np.array([[1.0, -1.0]]))
    summary = measures.summary(False)
    assert (summary["micro_f1"], summary["macro_f1"], summary["labels"]["b"]["f1"]) == (1.0, 0.5, None)


def test_inspect_knows_the_labels(model):
    facts = succeed("inspect", model, "--json", "--top", "2").json
    assert facts["task"] == "multilabel"
    assert [*facts["calibrations"]] == facts["labels"] == ["0", "1", "2", "3", "4", "5"]
    assert len(facts["intercept"]) == 6
    assert [weight["label"] for weight in facts["weights"]] == [name for name in facts["labels"] for _ in range(2)]
    assert "several    labels a row: 6, each with a calibration of its own" in succeed("inspect", model).out


def test_a_resumed_model_goes_on_with_the_same_bits(data, tmp_path):
    lines = data.read_bytes().splitlines(keepends=True)
    for name, part in (("first.svm", lines[:200]), ("rest.svm", lines[200:])):
        (tmp_path / name).write_bytes(b"".join(part))
    flags = ["--epochs", "1", "-q", "-a", "scw"]
    labels = ["--labels", "0,1,2,3,4,5"]
    succeed("train", data, "-m", tmp_path / "whole.npz", "--multilabel", *flags)
    succeed("train", tmp_path / "first.svm", "-m", tmp_path / "part.npz", "--multilabel", *flags, *labels)
    succeed("train", tmp_path / "rest.svm", "-m", tmp_path / "all.npz", "--resume", tmp_path / "part.npz", *flags)
    whole, resumed = (model_file.load(tmp_path / f"{name}.npz") for name in ("whole", "all"))
    assert numbers(whole) == numbers(resumed)
    assert resumed.multilabel


def test_parts_are_merged(data, tmp_path):
    lines = data.read_bytes().splitlines(keepends=True)
    for name, part in (("a", lines[::2]), ("b", lines[1::2])):
        (tmp_path / f"{name}.svm").write_bytes(b"".join(part))
        words = ["-m", tmp_path / f"{name}.npz", "--multilabel", "-q", "--labels", "0,1,2,3,4,5"]
        succeed("train", tmp_path / f"{name}.svm", *words)
    succeed("merge", tmp_path / "a.npz", tmp_path / "b.npz", "-m", tmp_path / "both.npz")
    both, *parts = (model_file.load(tmp_path / f"{name}.npz") for name in ("both", "a", "b"))
    assert both.multilabel
    assert numbers(both) == numbers(merging.merge(zip("ab", parts, strict=True), "posterior"))


@pytest.mark.parametrize("flags", [[], ["--epochs", "3"], ["--rounds", "2"]])
def test_shards_are_the_merge_of_models_of_their_parts(flags, tmp_path):
    lines = svmlight(500, 6).splitlines(keepends=True)  # label 5 comes in the second half only
    parts = [tmp_path / "a.svm", tmp_path / "b.svm"]
    for path, part in zip(parts, (lines[:220], lines[220:]), strict=True):
        path.write_bytes(b"".join(part))
    words = ["--multilabel", "--no-shuffle", "-q"]
    succeed("train", *parts, "-m", tmp_path / "m.npz", *words, "--workers", "2", *flags)
    shared = model_file.load(tmp_path / "m.npz")
    assert shared.multilabel
    assert shared.classes.tolist() == [0, 1, 2, 3, 4, 5]
    if "--rounds" not in flags:
        for path in parts:
            named = [*words, "--labels", "0,1,2,3,4,5", *flags]
            succeed("train", path, "-m", path.with_suffix(".npz"), *named)
        alone = [(path.name, model_file.load(path.with_suffix(".npz"))) for path in parts]
        assert numbers(shared) == numbers(merging.merge(alone, "posterior"))
    succeed("train", *parts, "-m", tmp_path / "more.npz", "--resume", tmp_path / "m.npz", "--workers", "2", "-q")
    assert model_file.load(tmp_path / "more.npz").statistics["rows"] > shared.statistics["rows"]


def test_shards_without_any_label_are_refused(tmp_path):
    for name in "ab":
        (tmp_path / f"{name}.svm").write_text(" 1:1\n 2:1\n")
    words = ["-m", tmp_path / "m.npz", "--multilabel", "--workers", "2"]
    message = fail("train", tmp_path / "a.svm", tmp_path / "b.svm", *words)
    assert "no examples with a label in any of 2 shards" in message


def test_json_lists_are_trained_and_evaluated(tmp_path):
    path = tmp_path / "a.jsonl"
    records = [{"t": "good film", "topics": ["a", "b"]}, {"t": "bad", "topics": []}, {"t": "film", "topics": "b"}]
    path.write_text("".join(f"{json.dumps(record)}\n" for record in 20 * records))
    names = ["--text", "t", "--label", "topics"]
    succeed("train", path, "-m", tmp_path / "m.npz", "--multilabel", *names)
    assert succeed("predict", path, "-m", tmp_path / "m.npz").out.splitlines()[:3] == ["a,b", "", "b"]
    assert succeed("evaluate", path, "-m", tmp_path / "m.npz", "--json").json["micro_f1"] == 1


def test_lines_of_vowpal_wabbit_are_trained_and_evaluated(tmp_path):
    path = tmp_path / "a.vw"
    path.write_text(20 * "a,b | good film\n | bad\nb | film\n")
    succeed("train", path, "-m", tmp_path / "m.npz", "--multilabel")
    assert succeed("predict", path, "-m", tmp_path / "m.npz").out.splitlines()[:3] == ["a,b", "", "b"]
    assert succeed("evaluate", path, "-m", tmp_path / "m.npz", "--json").json["micro_f1"] == 1


@pytest.mark.parametrize("algorithm", ["pa", "perceptron", "ftrl", "adagrad"])
def test_rules_without_variances_are_evaluated_by_their_own_probabilities(algorithm, data, tmp_path):
    """Their score is the margin itself, which must survive that scores are made of it."""
    path = tmp_path / "first.npz"
    succeed("train", data, "-m", path, "--multilabel", "-a", algorithm, "-q")
    true, estimator = indicators(data, path)
    X = rows_of(data, estimator)
    report = succeed("evaluate", data, "-m", path, "--json").json
    assert report["ranking_loss"] == pytest.approx(label_ranking_loss(true, estimator.decision_function(X)))
    assert report["log_loss"] == pytest.approx(log_loss(true.ravel(), estimator.predict_proba(X).ravel()))


def test_the_most_probable_label_of_each_row_is_explained(data, model):
    explained = [json.loads(line) for line in succeed("explain", data, "-m", model, "--json").out.splitlines()]
    top = succeed("predict", data, "-m", model, "--top", "1", "--jsonl").out.splitlines()
    assert len(explained) == len(top) == 500
    for found, answer in zip(explained, map(json.loads, top), strict=True):
        assert f"'{found['label']}'" in repr(answer)
        assert found["rival"] is None
        parts = [found["intercept"], found["others"], *(item["contribution"] for item in found["contributions"])]
        assert sum(parts) == pytest.approx(found["margin"], abs=1e-9)
    assert ", not " not in succeed("explain", data, "-m", model).out


def test_algorithm_and_epochs_are_chosen_on_request(data, tmp_path):
    words = ["train", data, "--multilabel", "--seed", "3"]
    report = succeed(*words, "-m", tmp_path / "a.npz", "-a", "auto", "--json").json
    assert len(report["race"]) == 7  # without those with a prior of naive Bayes
    chosen = model_file.load(tmp_path / "a.npz")
    assert chosen.multilabel
    out = succeed(*words, "-m", tmp_path / "b.npz", "-a", "auto").out
    command = next(line for line in out.splitlines() if "without a race" in line).split("cwlearn ", 1)[1]
    succeed(*shlex.split(command))
    assert numbers(model_file.load(tmp_path / "b.npz")) == numbers(chosen)
    assert succeed(*words, "-m", tmp_path / "c.npz", "--json").json["race"] is None
    report = succeed(*words, "-m", tmp_path / "d.npz", "-a", "cw", "--epochs", "auto", "--json").json
    assert [entry["algorithm"] for entry in report["race"]] == ["cw"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--multilabel", "--class-weight", "balanced"], "--class-weight is for one label a row"),
        (["--multilabel", "--covariance", "full"], "need --covariance diagonal"),
        (["--multilabel", "--task", "regression"], "a regression has none"),
    ],
)
def test_what_does_not_go_with_several_labels_is_bad_usage(words, message, data, tmp_path):
    assert message in fail("train", data, "-m", tmp_path / "m.npz", *words, status=2)


def test_one_label_a_row_and_several_are_not_mixed_up(data, model, tmp_path):
    plain = tmp_path / "plain.svm"
    plain.write_text("1,2 1:1\n")
    assert "--multilabel" in fail("train", plain, "-m", tmp_path / "one.npz")
    plain.write_text("1 1:1\n2 2:1\n")
    succeed("train", plain, "-m", tmp_path / "one.npz", "-q")
    assert "several labels a row take a number" in fail("predict", data, "-m", model, "--threshold", "f1", status=2)
    message = fail("train", data, "-m", tmp_path / "x.npz", "--resume", tmp_path / "one.npz", "--multilabel")
    assert "one label a row, not --multilabel" in message
    assert "several labels a row" in fail("merge", model, tmp_path / "one.npz", "-m", tmp_path / "x.npz")
    assert "label 7 is not one of the labels" in fail("evaluate", _with_label_7(tmp_path), "-m", model)


def _with_label_7(tmp_path):
    path = tmp_path / "seven.svm"
    path.write_text("1,7 1:1\n")
    return path
