"""Thousands of labels: memory does not grow with rows times labels, or with pairs of labels."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import cwlearn as package
from cwlearn.cli import answers
from cwlearn.cli.parser import VERBS, module_of
from cwlearn.core import model as model_module
from cwlearn.core.learner import Learner
from cwlearn.core.metrics import FEW_LABELS, Measures
from tests.text_cases import cwlearn, fail, labelled_text, succeed

N_LABELS = 3000


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """A few thousand labels, a row for each, and a model."""
    folder = tmp_path_factory.mktemp("many")
    lines = [f"{label} {label % 17}:1 {20 + label % 19}:2\n" for label in range(N_LABELS)]
    (folder / "data.svm").write_text("".join(lines))
    succeed("train", folder / "data.svm", "-m", folder / "m.npz", "--epochs", 1, "-a", "perceptron", "--quiet")
    return folder


def peak_of(*words):
    """The output of a command, and its peak memory in bytes."""
    cwlearn("inspect", words[words.index("-m") + 1])  # so that all modules are there
    tracemalloc.start()
    try:
        return succeed(*words), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "words", [["predict"], ["predict", "--margin", "--quiet"], ["evaluate"], ["evaluate", "--json"]]
)
def test_x10_memory_does_not_grow_with_rows_times_labels(words, many, monkeypatch):
    """All scores would take 72 MB, and a table of all pairs of labels as much."""
    monkeypatch.setattr(model_module, "SCORES_AT_ONCE", 1 << 16)
    monkeypatch.setattr(answers, "LINES_AT_ONCE", 1 << 13)
    data = many / "data.svm"
    if "--margin" in words:
        data = many / "few.svm"
        data.write_text("".join((many / "data.svm").read_text().splitlines(keepends=True)[:100]))
    _, peak = peak_of(words[0], data, "-m", many / "m.npz", *words[1:])
    assert peak < 24 << 20


@pytest.mark.parametrize("words", [["--proba"], ["--margin"], []])
def test_x10_scoring_in_parts_gives_the_same_lines(words, tmp_path, monkeypatch):
    text = tmp_path / "data.svm"
    text.write_text(labelled_text())
    succeed("train", text, "-m", tmp_path / "m.npz", "-a", "arow", "--quiet")
    expected = succeed("predict", text, "-m", tmp_path / "m.npz", *words).out
    report = succeed("evaluate", text, "-m", tmp_path / "m.npz", "--json").json
    monkeypatch.setattr(model_module, "SCORES_AT_ONCE", 7)
    monkeypatch.setattr(answers, "LINES_AT_ONCE", 7)
    assert succeed("predict", text, "-m", tmp_path / "m.npz", *words).out == expected
    again = succeed("evaluate", text, "-m", tmp_path / "m.npz", "--json").json
    for one in (report, again):
        del one["seconds"]
    for name in ("log_loss", "calibration_error"):
        assert again.pop(name) == pytest.approx(report.pop(name), rel=1e-9)
    assert again.pop("calibration") == [pytest.approx(line, rel=1e-12) for line in report.pop("calibration")]
    assert again == report


def test_x10_variances_are_computed_only_if_they_are_needed(tmp_path, monkeypatch):
    text = tmp_path / "data.svm"
    text.write_text(labelled_text())
    for rule in ("arow", "perceptron"):
        succeed("train", text, "-m", tmp_path / f"{rule}.npz", "-a", rule, "--quiet")
    asked = []
    margins = Learner.margins

    def watched(self, rows, only_mean=False):
        asked.append(not only_mean)
        return margins(self, rows, only_mean)

    monkeypatch.setattr(Learner, "margins", watched)
    for words, rule, expected in (
        (["predict"], "arow", False),
        (["predict", "--margin"], "arow", True),
        (["evaluate"], "arow", False),  # several labels are calibrated by the means alone
        (["evaluate"], "perceptron", False),
    ):
        asked.clear()
        succeed(words[0], text, "-m", tmp_path / f"{rule}.npz", *words[1:])
        assert asked == [expected]


@pytest.mark.parametrize("n_labels", [2, 5, FEW_LABELS, FEW_LABELS + 1])
def test_x10_confusions_are_a_table_of_few_labels_and_pairs_of_many(n_labels):
    rng = np.random.default_rng(n_labels)
    names = [f"label {number}" for number in range(n_labels)]
    true, predicted = rng.integers(0, n_labels, (2, 500))
    predicted = np.where(rng.random(500) < 0.5, true, predicted)
    found = Measures(names)
    for start in range(0, 500, 70):
        found.add(true[start : start + 70], predicted[start : start + 70])
    table = np.zeros((n_labels, n_labels), int)
    np.add.at(table, (true, predicted), 1)
    report = found.summary(probabilities=False)
    pairs = [[int(i), int(j), int(table[i, j])] for i, j in np.argwhere(table)]
    assert found.pairs == pairs
    assert report["confusion"] == (table.tolist() if n_labels <= FEW_LABELS else None)
    assert report["confusion_pairs"] == (None if n_labels <= FEW_LABELS else pairs)
    assert (report["rows"], report["mistakes"]) == (500, 500 - table.trace())
    for number, name in enumerate(names):
        hits, of_label, guessed = table[number, number], table[number].sum(), table[:, number].sum()
        assert report["labels"][name] == {
            "rows": of_label,
            "precision": hits / guessed if guessed else None,
            "recall": hits / of_label if of_label else None,
        }


def test_x10_no_rows_have_no_error():
    report = Measures(["a", "b"]).summary(probabilities=True)
    assert (report["rows"], report["error"], report["confusion"]) == (0, None, [[0, 0], [0, 0]])


def test_x10_inspecting_many_labels_takes_no_time_for_each_pair_of_them(many, monkeypatch):
    """The names of labels are made once, not once for each weight that is shown."""
    made = []
    names = Learner.label_names.fget
    monkeypatch.setattr(Learner, "label_names", property(lambda self: (made.append(1), names(self))[1]))
    assert len(succeed("inspect", many / "m.npz", "--top", 1, "--json").json["weights"]) > 1000
    assert len(made) < 10


def test_x10_evaluate_lists_all_of_many_labels_for_few_rows(many):
    (many / "ten.svm").write_text("".join((many / "data.svm").read_text().splitlines(keepends=True)[:10]))
    report = succeed("evaluate", many / "ten.svm", "-m", many / "m.npz", "--json").json
    assert report["rows"] == 10 == sum(rows for _, _, rows in report["confusion_pairs"])
    assert len(report["labels"]) == N_LABELS
    assert report["confusion"] is None


def test_x10_an_error_lists_the_first_of_many_labels(tmp_path):
    X, text = np.eye(300), tmp_path / "data.svm"
    text.write_text("1 1:1\n")
    model = package.AROWClassifier(epochs=1).fit(X, [f"label {number:03}" for number in range(300)])
    model.save(tmp_path / "m.npz")
    with pytest.raises(ValueError, match=r"'x' is not one of the labels \['label 000', .* and 280 more\]"):
        model.partial_fit(X[:1], ["x"])
    with pytest.raises(ValueError, match=r"names 'x', which is not one of the labels .* and 280 more\]"):
        package.AROWClassifier(class_weight={"x": 2}).fit(X, range(300))
    assert "label 1 is not one of the labels label 000, " in fail("evaluate", text, "-m", tmp_path / "m.npz")


@pytest.mark.parametrize("verb", [*VERBS])
def test_x10_a_hint_about_memory_names_a_flag_of_the_command(verb, tmp_path, monkeypatch):
    """Each command has its own flags, and the hint names one of them."""
    text = tmp_path / "data.svm"
    text.write_text(labelled_text())

    def run(arguments):
        raise MemoryError("Unable to allocate 13.4 GiB")

    monkeypatch.setattr(module_of(verb), "run", run)
    needed = {
        "train": [text, "-m", tmp_path / "m"],
        "predict": [text, "-m", tmp_path / "m"],
        "evaluate": [text, "-m", tmp_path / "m"],
        "inspect": [tmp_path / "m"],
        "tune": [text],
        "compare": [text],
        "merge": [tmp_path / "m", "-m", tmp_path / "m"],
        "explain": [text, "-m", tmp_path / "m"],
        "query": [text, "-m", tmp_path / "m"],
        "learn": ["-", "-m", tmp_path / "m"],
        "diff": [tmp_path / "m", tmp_path / "m"],
        "export": [tmp_path / "m", "--to", "json", "-o", tmp_path / "o"],
        "demo": [],
        "help": [],
    }
    message = fail(verb, *needed[verb])
    assert message.startswith("cwlearn: error: out of memory")
    assert "(Unable to allocate 13.4 GiB)" in message
    help_text = succeed(verb, "--help").out
    for flag in [word.strip(",;") for word in message.split() if word.startswith("--")]:
        assert f"{flag} " in help_text
    assert ("--memory" in message) == (verb == "train")
