"""`cwlearn train` without an algorithm: the race, what it prints, and the plain command for its winner."""

from __future__ import annotations

import shlex

import numpy as np
import pytest

import cwlearn as package
from cwlearn.core import model_file
from cwlearn.core.field import LABELS
from tests.cases import labelled_rows, random_rows
from tests.text.document_cases import documents
from tests.text.document_cases import written as written_documents
from tests.text_cases import bits, fail, outcome_of, random_text, succeed, svmlight


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "data.svm"
    path.write_text(random_text(200, noise=0.2))
    return path


def plain_command(outcome):
    """The words of the command that the race prints."""
    (line,) = [line for line in outcome.out.splitlines() if line.startswith("the same without a race: ")]
    words = shlex.split(line.removeprefix("the same without a race: "))
    assert words[0] == "cwlearn"
    return words[1:]


@pytest.mark.parametrize(
    "flags",
    [
        [],
        ["-a", "auto"],
        ["--epochs", "auto"],
        ["--epochs", "1"],
        ["--epochs", "3"],
        ["--seed", "7"],
        ["--no-shuffle"],
        ["--no-fit-intercept"],
        ["--class-weight", "balanced"],
        ["--class-weight=-1:2,+1:0.5"],
        ["--task", "regression"],
        ["--workers", "2"],
    ],
    ids=str,
)
def test_the_command_that_the_race_prints_writes_the_same_model(flags, text, tmp_path):
    model = tmp_path / "a model.npz"
    outcome = succeed("train", text, "-m", model, *flags)
    assert outcome.err == ""
    expected = bits(model_file.load(model))
    model.unlink()
    words = plain_command(outcome)
    assert "auto" not in words
    assert "without a race" not in succeed(*words).out
    assert bits(model_file.load(model)) == expected


def test_documents_race_too(tmp_path):
    texts, labels = documents(150)
    path = written_documents(tmp_path / "a.jsonl", texts, labels)
    outcome = succeed("train", path, "-m", tmp_path / "m.npz")
    expected = bits(model_file.load(tmp_path / "m.npz"))
    words = plain_command(outcome)
    assert "--no-fit-intercept" in words
    succeed(*words)
    assert bits(model_file.load(tmp_path / "m.npz")) == expected


def test_json_tells_the_whole_race_and_no_race_is_none(text, tmp_path):
    report = succeed("train", text, "-m", tmp_path / "m.npz", "--json").json
    assert len(report["race"]) == len(LABELS)
    assert {"algorithm", "parameters", "initial_variance", "epochs", "loss", "lasted"} == set(report["race"][0])
    assert report["race"][0]["algorithm"] == report["algorithm"]
    assert report["race"][0]["epochs"] == report["epochs"]
    assert succeed("train", text, "-m", tmp_path / "m.npz", "-a", "arow", "--json").json["race"] is None


def test_quiet_is_quiet(text, tmp_path):
    outcome = succeed("train", text, "-m", tmp_path / "m.npz", "--quiet")
    assert (outcome.out, outcome.err) == ("", "")


def test_too_few_rows_say_so_and_are_learned_by_the_usual_algorithm(tmp_path):
    path = tmp_path / "few.svm"
    path.write_text("1 1:1\n-1 2:1\n" * 9)
    outcome = succeed("train", path, "-m", tmp_path / "m.npz")
    assert "no race: these rows are too few" in outcome.out
    assert model_file.load(tmp_path / "m.npz").rule.name == "arow"


@pytest.mark.parametrize("epochs", ["1", "2", "auto"])
def test_standard_input_is_learned_whole_and_as_a_file_is(epochs, text, tmp_path):
    words = ["-m", tmp_path / "m.npz", "--epochs", epochs, "--json"]
    expected = succeed("train", text, *words).json
    weights = bits(model_file.load(tmp_path / "m.npz"))
    report = outcome_of("train", "-", *words, input=text.read_bytes()).json
    assert report["rows"] == expected["rows"] == 201
    assert report["race"] == expected["race"]
    assert bits(model_file.load(tmp_path / "m.npz")) == weights


def test_a_bad_line_is_reported_with_its_place_and_a_missing_file_by_its_name(text, tmp_path):
    with open(text, "a") as file:
        file.write("1 2:x\n")
    lines = text.read_text().count("\n")
    assert f"{text}:{lines}:3: value is not a decimal number" in fail("train", text, "-m", tmp_path / "m.npz")
    assert f"{tmp_path / 'none'}: No such file" in fail("train", tmp_path / "none", "-m", tmp_path / "m.npz")
    outcome = succeed("train", text, "-m", tmp_path / "m.npz", "--on-bad-line", "skip", "--json")
    assert outcome.json["bad_lines"] == 1
    assert outcome.err.count("line skipped") == 1
    assert outcome.json["race"] is not None


def test_a_model_of_a_race_is_resumed_as_what_it_is(text, tmp_path):
    succeed("train", text, "-m", tmp_path / "m.npz", "--quiet")
    rule = model_file.load(tmp_path / "m.npz").rule
    for words in ([], ["-a", "auto"]):
        outcome = succeed("train", text, "-m", tmp_path / "n.npz", "--resume", tmp_path / "m.npz", *words, "--json")
        assert outcome.json["race"] is None
        assert model_file.load(tmp_path / "n.npz").rule == rule


@pytest.mark.parametrize("words", [[], ["-a", "auto"]], ids=str)
def test_a_checkpoint_of_a_race_goes_on_to_the_same_bits(words, text, tmp_path, monkeypatch):
    model, checkpoint = tmp_path / "m.npz", tmp_path / "m.npz.checkpoint"
    line = ["train", text, "-m", model, *words, "--checkpoint", 1e-9, "--quiet"]
    succeed(*line)
    expected = bits(model_file.load(model))
    kept = []
    original = model_file.save

    def save(learner, path, *more):
        original(learner, path, *more)
        if str(path) == str(checkpoint) and not kept:
            kept.append(checkpoint.read_bytes())

    with monkeypatch.context() as patch:
        patch.setattr("cwlearn.core.learner.BLOCK_EFFORT", 200)
        patch.setattr(model_file, "save", save)
        succeed(*line)
    checkpoint.write_bytes(kept[0])
    assert model_file.load(checkpoint).unfinished["done"] < expected[-3]["rows"]
    succeed(*line, "--resume", checkpoint)
    assert bits(model_file.load(model)) == expected


def test_shards_race_only_with_what_can_be_merged(text, tmp_path):
    words = ["train", text, "-m", tmp_path / "m.npz", "--workers", 2, "--json"]
    names = {entry["algorithm"] for entry in succeed(*words).json["race"]}
    assert "pa" not in names
    assert "scw" in names
    averaged = {entry["algorithm"] for entry in succeed(*words, "--how", "l2").json["race"]}
    assert "pa" in averaged
    assert "adagrad" not in averaged


def test_weights_of_vowpal_wabbit_lines_count_in_the_race(tmp_path):
    rng = np.random.default_rng(0)
    lines = [f"{label} {weight:.2f} | {'abc'[rng.integers(3)]} {'+' if label > 0 else 'm'}{rng.integers(4)}\n"
             for label, weight in zip(rng.choice([-1, 1], 80), rng.random(80) + 0.5, strict=True)]  # fmt: skip
    (tmp_path / "a.vw").write_text("".join(lines))
    report = succeed("train", tmp_path / "a.vw", "-m", tmp_path / "m.npz", "--json").json
    assert report["race"] is not None
    assert "cw" not in {entry["algorithm"] for entry in report["race"]}


@pytest.mark.parametrize("value", ["1e30", "1e-30"])
def test_numbers_that_some_candidates_cannot_keep_do_not_end_the_race(value, tmp_path):
    (tmp_path / "a.svm").write_text(f"1 1:{value}\n-1 2:{value}\n" * 30)
    report = succeed("train", tmp_path / "a.svm", "-m", tmp_path / "m.npz", "--json").json
    assert report["race"] is not None
    assert report["rows"] == 60


def test_the_command_and_the_class_choose_the_same(tmp_path):
    X, y = labelled_rows(200, noise=0.1)
    (tmp_path / "a.svm").write_text(svmlight(X, y, None))
    succeed("train", tmp_path / "a.svm", "-m", tmp_path / "m.npz", "--features", X.shape[1], "--quiet")
    model = package.AutoClassifier(random_state=0).fit(X, y)
    assert model_file.load(tmp_path / "m.npz").rule == model._learner.rule
    assert bits(model_file.load(tmp_path / "m.npz"))[1:] == bits(model._learner)[1:]


@pytest.mark.parametrize("words", [[], ["-a", "auto"]], ids=str)
def test_a_resumed_model_stays_what_it_is(words, tmp_path):
    X, y = random_rows(200, noise=0.2)
    (tmp_path / "a.svm").write_text(svmlight(X, y))
    train = ["train", tmp_path / "a.svm", "-m", tmp_path / "m.npz"]
    succeed(*train, "-a", "pa", "--average")
    outcome = succeed(*train, "--resume", tmp_path / "m.npz", "--epochs", "auto", *words)
    assert "candidates" not in outcome.out
    learner = model_file.load(tmp_path / "m.npz")
    assert (learner.rule.name, learner.rule.average) == ("pa", True)


def test_a_prior_of_naive_bayes_leaves_no_progressive_error(tmp_path):
    X, y = random_rows(200, noise=0.2)
    (tmp_path / "a.svm").write_text(svmlight(X, y))
    train = ["train", tmp_path / "a.svm", "-m", tmp_path / "m.npz", "-a", "arow"]
    assert "progressive" not in succeed(*train, "--prior", "naive-bayes").out
    assert succeed(*train, "--prior", "naive-bayes", "--json").json["progressive_error"] is None
    later = succeed(*train, "--resume", tmp_path / "m.npz", "--epochs", 1)  # whose rows the prior did not count
    assert "progressive error" in later.out


def test_epochs_of_one_algorithm_are_chosen_without_a_table(tmp_path):
    X, y = random_rows(200, noise=0.2)
    (tmp_path / "a.svm").write_text(svmlight(X, y))
    outcome = succeed("train", tmp_path / "a.svm", "-m", tmp_path / "m.npz", "-a", "arow", "--epochs", "auto")
    assert "candidates" not in outcome.out
    assert "arow model" in outcome.out
