"""`cwlearn export`: what is written scores as the model does, and says what pruning costs."""

from __future__ import annotations

import ast
import json
import sys

import numpy as np
import pytest

from cwlearn import AROWClassifier, KernelAROWClassifier
from cwlearn.core import model_file
from cwlearn.core.calibration import Calibration
from cwlearn.export.c_source import c_source
from cwlearn.export.js_source import js_source
from cwlearn.export.scorer import DEVIATION, LENGTH, NOTHING, Scorer
from tests.proof.exports import answers_of_c, answers_of_js, as_json, compare, tools
from tests.references.exported import answer, row_of
from tests.text_cases import fail, succeed

needs_gcc = pytest.mark.skipif(not tools()["c"], reason="there is no gcc")
needs_node = pytest.mark.skipif(not tools()["js"], reason="there is no node")
# By number of labels (0: a regression): the algorithm, and what its scores are to be divided by.
NUMBERS = [
    (2, "arow", NOTHING),
    (2, "arow", DEVIATION),
    (2, "perceptron", LENGTH),
    (4, "scw", LENGTH),
    (0, None, NOTHING),
]
DATA = [
    {"text": f"{word} {word} {other} Σ{other}Σ é{number % 5}", "label": word}
    for number, (word, other) in enumerate([("red", "rot"), ("green", "grün"), ("blue", "blau")] * 20)
]


def numbers_model(labels, algorithm, divisor, folder):
    """A model of rows of numbers, whose calibration prefers a divisor."""
    rng = np.random.default_rng(labels)
    lines = []
    for _ in range(200):
        columns = np.sort(rng.choice(30, 5, replace=False)) + 1
        y = rng.integers(max(labels, 2))
        values = rng.random(5) + (columns % max(labels, 2) == y)
        lines.append(f"{y} " + " ".join(f"{c}:{v:.4f}" for c, v in zip(columns, values, strict=True)))
    data, model = folder / "data.svm", folder / "m.npz"
    data.write_text("\n".join(lines) + "\n")
    words = ["--task", "regression"] if algorithm is None else ["-a", algorithm]
    succeed("train", data, "-m", model, *words, "--epochs", 2)
    learner = model_file.load(model)
    if algorithm is not None:
        known = learner.calibration
        worse = known.margin if divisor != NOTHING else known.deviation
        worse = worse._replace(loss=9.0)
        parts = (worse, known.deviation) if divisor != NOTHING else (known.margin, worse)
        learner.set_calibrations([Calibration(known.observed, known.settled, *parts).numbers()])
        model_file.save(learner, model)
    assert Scorer.of(learner).divisor == divisor
    new = ["1:1 2:0.5", "30:2", "7:1 99:3", ""]  # also a column that the model has not, and an empty row
    return model, [line.partition(" ")[2] for line in lines[:30]] + new


def predicted(model, lines, folder):
    """What `predict` says: numbers of labels and probabilities, or predictions."""
    path = folder / "new.svm"
    path.write_text("".join(f"{line}\n" for line in lines))
    learner = model_file.load(model)
    if learner.rule.task == "regression":
        out = succeed("predict", path, "-m", model, "--no-labels", "--jsonl").out.splitlines()
        return np.array([[0, json.loads(line)["prediction"]] for line in out])
    out = succeed("predict", path, "-m", model, "--no-labels", "--proba", "--jsonl").out.splitlines()
    records = [json.loads(line) for line in out]
    return np.array([[learner.label_names.index(r["prediction"]), *r["probabilities"].values()] for r in records])


def pairs_of(line):
    return {int(index): float(value) for index, value in (pair.split(":") for pair in line.split())}


@pytest.mark.parametrize(("labels", "algorithm", "divisor"), NUMBERS)
def test_rows_of_numbers_are_scored_as_the_model_scores_them(labels, algorithm, divisor, tmp_path):
    model, lines = numbers_model(labels, algorithm, divisor, tmp_path)
    expected, scorer = predicted(model, lines, tmp_path), Scorer.of(model_file.load(model))
    found = {}
    if tools()["c"]:
        found["c"] = answers_of_c(c_source(scorer), [line.encode() for line in lines], tmp_path, ["-O0"])
    if tools()["js"]:
        rows = [pairs_of(line) for line in lines]
        calls = [as_json([list(row), list(row.values())]) for row in rows]
        found["js"] = answers_of_js(js_source(scorer), calls, tmp_path)
    succeed("export", model, "--to", "json", "-o", tmp_path / "m.json")
    layout = json.loads((tmp_path / "m.json").read_text())
    answers = [answer(layout, pairs_of(line)) for line in lines]
    found["json"] = np.array(
        [[layout["labels"].index(label), *chances] if chances else [0, label] for label, chances in answers]
    )
    for kind, numbers in found.items():
        np.testing.assert_array_equal(numbers[:, 0], expected[:, 0], kind)
        np.testing.assert_allclose(numbers[:, 1:], expected[:, 1:], rtol=1e-6, atol=1e-6, err_msg=kind)


@needs_gcc
def test_no_label_or_word_ends_the_script_or_the_comment_that_it_is_in(tmp_path):
    labels = ["</script><script>alert(1)</script>", '*/ "??/\n\u2028', "<!--"]
    model = AROWClassifier(random_state=0).fit(np.eye(3), labels)
    model.save(tmp_path / "m.npz")
    for kind in ("js", "c"):
        succeed("export", tmp_path / "m.npz", "--to", kind, "-o", tmp_path / f"m.{kind}")
    source = (tmp_path / "m.js").read_text("ascii")
    (line,) = [line for line in source.splitlines() if line.startswith("const labels = ")]
    assert json.loads(line.removeprefix("const labels = ").removesuffix(";")) == sorted(labels)
    assert "</script" not in source
    assert "<!--" not in source
    texts = (tmp_path / "m.c").read_text("ascii").partition("cwlearn_labels[] = {")[2].partition("}")[0]
    found = [ast.literal_eval(f"b{text}").decode() for text in texts.strip().split(",\n")]
    assert found == sorted(labels)
    assert "?" not in texts


@needs_node
def test_random_models_of_texts_agree_in_c_and_in_javascript():
    report = compare(documents=60, seed=11, models=1)
    assert report["documents"] == 60


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("export")
    data, model = folder / "data.jsonl", folder / "m.npz"
    data.write_text("".join(json.dumps(record) + "\n" for record in DATA))
    succeed("train", data, "-m", model, "-a", "arow", "--epochs", 2, "--hash-bits", 12)
    return data, model


def answers_of_layout(path):
    layout = json.loads(path.read_text())
    return [answer(layout, row_of(layout, record["text"])) for record in DATA]


def test_the_layout_of_json_is_enough_to_score_texts(texts, tmp_path):
    data, model = texts
    succeed("export", model, "--to", "json", "-o", tmp_path / "m.json")
    lines = succeed("predict", data, "-m", model, "--proba", "--jsonl").out.splitlines()
    for (label, chances), line in zip(answers_of_layout(tmp_path / "m.json"), lines, strict=True):
        expected = json.loads(line)
        assert label == expected["prediction"]
        np.testing.assert_allclose(chances, [*expected["probabilities"].values()], atol=1e-6)


@pytest.mark.parametrize("keep", [1, 8])
def test_the_cost_of_pruning_is_what_the_pruned_scorer_does(keep, texts, tmp_path):
    data, model = texts
    whole, pruned = tmp_path / "whole.json", tmp_path / "pruned.json"
    succeed("export", model, "--to", "json", "-o", whole)
    report = succeed("export", model, "--to", "json", "-o", pruned, "--keep", keep, "--data", data, "--json").json
    assert report["columns"] == len(json.loads(pruned.read_text())["columns"]) == keep
    before, after = answers_of_layout(whole), answers_of_layout(pruned)
    truth = [record["label"] for record in DATA]
    cost = report["cost"]
    assert cost["rows"] == cost["labelled"] == len(DATA)
    assert cost["changed"] == sum(one[0] != other[0] for one, other in zip(before, after, strict=True))
    assert cost["mistakes_pruned"] == sum(found != label for (found, _), label in zip(after, truth, strict=True))
    assert cost["mistakes"] == sum(found != label for (found, _), label in zip(before, truth, strict=True))
    change = max(np.abs(np.subtract(one[1], other[1])).max() for one, other in zip(before, after, strict=True))
    assert cost["largest_change"] == pytest.approx(change, abs=1e-6)
    assert (cost["changed"] > 0) == (keep == 1)
    line = succeed("export", model, "--to", "json", "-o", pruned, "--keep", keep, "--data", data).out.splitlines()[1]
    assert f"{cost['changed']} get another label" in line


def test_the_cost_of_pruning_counts_rows_without_a_label_and_labels_that_are_not_known(texts, tmp_path):
    data, model = texts
    records = [*DATA[:9], {"text": "red rot"}, {"text": "red rot", "label": None}, {"text": "grün", "label": "pink"}]
    more, out = tmp_path / "more.jsonl", tmp_path / "out.json"
    more.write_text("".join(json.dumps(record) + "\n" for record in records))
    prune = ["export", model, "--to", "json", "-o", out, "--keep", 8, "--json", "--data"]
    cost, known = (succeed(*prune, path).json["cost"] for path in (more, data))
    assert known["mistakes"] == 0
    assert (cost["rows"], cost["labelled"], cost["mistakes"]) == (12, 9, 0)
    rows = tmp_path / "rows.svm"
    rows.write_text("1 1:1\n2 2:1\n3 3:1\n" * 5)
    succeed("train", rows, "-m", tmp_path / "m.npz", "-a", "arow", "--epochs", 2, "-q")
    rows.write_text("1 1:1\n1:1\n2 2:1\n9 1:1\n2.5 2:1\n0 3:1\n")
    prune[1] = tmp_path / "m.npz"
    cost = succeed(*prune, rows).json["cost"]
    assert (cost["rows"], cost["labelled"], cost["mistakes"]) == (6, 2, 0)


def test_where_a_scorer_cannot_be_written_is_known_before_the_model_is_read(texts, monkeypatch):
    monkeypatch.setattr(model_file, "load", None)
    message = fail("export", texts[1], "--to", "c", "-o", "/nowhere/a.c")
    assert "there is no such folder to write to" in message


def test_u21_a_model_that_is_no_sum_of_weights_is_refused_and_an_old_file_stays(tmp_path):
    rows = np.array([[1.0, 0.0], [0.0, 1.0]])
    out = tmp_path / "out.c"
    out.write_text("old")
    KernelAROWClassifier().fit(rows, [0, 1]).save(tmp_path / "kernel.npz")
    assert "a kernel machine has no weights" in fail("export", tmp_path / "kernel.npz", "--to", "c", "-o", out)
    data = tmp_path / "data.vw"
    data.write_text("a |x y\nb |x z\n")
    for words, what in [(["-a", "sop"], "not a sum over weights"), (["-a", "arow"], "named features (vw)")]:
        succeed("train", data, "-m", tmp_path / "m.npz", *words)
        assert what in fail("export", tmp_path / "m.npz", "--to", "js", "-o", out)
    assert out.read_text() == "old"


@pytest.mark.parametrize(
    ("words", "what"),
    [(["--data", "d"], "--data measures the cost of --keep N"), (["-o", "-"], "- names none")],
)
def test_flags_of_export_that_do_not_fit_are_refused(words, what, texts, tmp_path):
    assert what in fail("export", texts[1], "--to", "c", "-o", tmp_path / "m.c", *words, status=2)


def test_u21_onnx_without_its_package_is_an_error_that_names_it(texts, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    assert "pip install onnx" in fail("export", texts[1], "--to", "onnx", "-o", tmp_path / "m.onnx")


@pytest.mark.parametrize(("labels", "algorithm", "divisor"), NUMBERS)
def test_onnx_scores_rows_as_the_model_does(labels, algorithm, divisor, tmp_path):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    model, lines = numbers_model(labels, algorithm, divisor, tmp_path)
    lines = [line for line in lines if "99:" not in line]
    expected = predicted(model, lines, tmp_path)
    succeed("export", model, "--to", "onnx", "-o", tmp_path / "m.onnx")
    rows = np.zeros((len(lines), model_file.load(model).state.n_features), np.float32)
    for row, line in zip(rows, lines, strict=True):
        for column, value in pairs_of(line).items():
            row[column] = value
    outputs = runtime.InferenceSession(str(tmp_path / "m.onnx")).run(None, {"rows": rows})
    if labels:
        np.testing.assert_array_equal(outputs[0], expected[:, 0])
    np.testing.assert_allclose(outputs[-1], expected[:, 1:], rtol=1e-5, atol=1e-6)
