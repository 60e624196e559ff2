"""Nothing that a file, a name or a model says reaches a terminal, or a line of output, as it is."""

from __future__ import annotations

import io
import json
import os
import re
import warnings
import zipfile

import numpy as np
import pytest

import cwlearn as package
from cwlearn.core import model_file
from cwlearn.errors import DataError, ModelError, shown
from tests.text_cases import cwlearn, random_text, succeed

ESCAPE = "\x1b]0;owned\x07\x1b[2J"  # sets the title of a terminal, and clears it
ODD = [ESCAPE, "1\n1\n1", "a\rb", "\x9b31m", "\u202egnp.exe", "\u2028", "\x00", "\u200fx", "\x85"]
HARMLESS = re.compile(r"[\n -~\u00a1-\U0010ffff]*")


def harmless(text):
    """Whether a terminal would show all of it, line by line, and do nothing else."""
    return all(line.isprintable() for line in text.split("\n")) and HARMLESS.fullmatch(text)


def check(outcome, lines=None):
    assert harmless(outcome.out), outcome.out
    assert harmless(outcome.err), outcome.err
    assert lines is None or outcome.out.count("\n") == lines
    return outcome


@pytest.fixture
def odd_model(tmp_path):
    """A model whose labels and names of features are what an attacker would choose."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((90, 25))
    labels = np.array([*ODD[:3], "plain"])
    model = package.AROWClassifier(random_state=0, epochs=2).fit(X, labels[np.argmax(X[:, :4], axis=1)])
    model._learner.feature_names = np.array([f"{odd}{number}" for number, odd in enumerate(ODD * 3)][:25], object)
    path = tmp_path / "odd.npz"
    model.save(path)
    return path


@pytest.mark.parametrize("odd", ODD)
def test_x11_what_does_not_print_is_escaped(odd):
    assert harmless(shown(f"a{odd}b"))
    assert "\\" in shown(f"a{odd}b")
    for error in (DataError(f"label {odd}", "name" + odd, 3, 4), ModelError(f"written by {odd}")):
        assert harmless(str(error))
        assert "\n" not in str(error)


@pytest.mark.parametrize("fine", ["plain", "größe", "日本語", "می‌خواهم", "क्‍ष", "C:\\data\\x", "a b", ""])
def test_what_prints_stays_as_it_is(fine):
    assert shown(fine) == fine


def test_x11_labels_and_names_of_features_are_escaped_by_every_verb(odd_model, text, tmp_path):
    rows = 20
    unlabelled = tmp_path / "unlabelled.svm"
    unlabelled.write_text("".join(f"{row}:1 {row + 3}:2\n" for row in range(rows)))
    for words, head in (([], 0), (["--proba"], 1), (["--margin"], 1)):
        check(succeed("predict", unlabelled, "--no-labels", "-m", odd_model, *words), lines=rows + head)
    check(succeed("inspect", odd_model, "--top", 25))
    check(cwlearn("evaluate", text, "-m", odd_model))
    check(succeed("merge", odd_model, odd_model, "-m", tmp_path / "merged.npz"))
    check(cwlearn("train", text, "-m", tmp_path / "m.npz", "--resume", odd_model))
    facts = json.loads(succeed("inspect", odd_model, "--json", "--top", 25).out)
    assert facts["labels"][0] == min(ODD[:3])


@pytest.mark.parametrize("odd", [ESCAPE, "a\nb", "\u202e"])
def test_x11_file_names_are_escaped_by_every_verb(odd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data, model = f"data{odd}.svm", f"model{odd}.npz"
    (tmp_path / data).write_text(random_text(noise=0.2))
    bad = tmp_path / f"bad{odd}.svm"
    bad.write_text("1 1:x\n")
    check(succeed("train", data, data, "-m", model))
    for words in (
        ["train", bad.name, "-m", model], ["train", f"no{odd}", "-m", model], ["evaluate", data, "-m", model],
        ["evaluate", data, "-m", data], ["evaluate", data, "-m", f"no{odd}"], ["inspect", model], ["inspect", data],
        ["predict", data, "-m", model], ["predict", data, "-m", model, "-o", data],
        ["merge", model, "-m", f"no{odd}/m"], ["merge", model, model, "-m", "m"],
        ["compare", data, "--folds", 2, "--epochs", 1, "--algorithms", "cw,arow"],
        ["compare", data, data, "--folds", 2], ["tune", data, "--epochs", 1], ["tune", bad.name, "--epochs", 1],
        ["train", data, f"--no{odd}", "-m", model], [f"verb{odd}"], ["train", data, "-m", model, "--epochs", f"1{odd}"],
        ["inspect", model, "--names", data], ["inspect", model, "--names", f"no{odd}"],
    ):  # fmt: skip
        check(cwlearn(*words))


def test_x11_the_words_of_a_model_file_are_escaped(odd_model, tmp_path):
    with zipfile.ZipFile(odd_model) as archive:
        header = json.loads(np.load(io.BytesIO(archive.read("header.npy"))).tobytes())
    for change in ({"version": 99, "written_by": ESCAPE}, {"format": ESCAPE}, {"task": ESCAPE}, {"hash_bits": ESCAPE}):
        learner = model_file.load(odd_model)
        forged = tmp_path / "forged.npz"
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(model_file, "_header", lambda learner, change=change: {**header, **change})
            model_file.save(learner, forged)
        outcome = check(cwlearn("inspect", forged))
        assert outcome.status == 1
        assert "\\x1b" in outcome.err


def test_x11_warnings_are_escaped(tmp_path):
    path = tmp_path / f"data{ESCAPE}.svm"
    path.write_text("1 1:1\n0 2:1\nbad\n1 1:1\n0 2:1\n")
    check(succeed("train", path, "-m", tmp_path / "m.npz", "--on-bad-line", "skip", "--epochs", 1))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        package.read_svmlight(path, on_bad_line="skip")
    assert harmless(str(caught[0].message))


def test_no_verb_prints_but_through_the_one_place_that_escapes():
    folder = os.path.dirname(package.__file__)
    printing = []
    for base, _, names in os.walk(folder):
        for name in names:
            if name.endswith(".py"):
                with open(os.path.join(base, name), encoding="utf-8") as file:
                    if re.search(r"(?<![\w.])print\(|sys\.std(out|err)\.write", file.read()):
                        printing.append(name)
    assert printing == ["messages.py"]
