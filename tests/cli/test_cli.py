"""The command line: verbs, flags, what they print where, exit statuses and messages.

The names U01 ... and F16 ... are the rows of docs/odd_inputs.md that each test answers for.
"""

from __future__ import annotations

import gzip
import itertools
import json
import os
import pty
import re
import subprocess
import sys
import tempfile
import threading
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_svmlight_file
from sklearn.metrics import log_loss, precision_recall_fscore_support, zero_one_loss

import cwlearn as package
from cwlearn.cli import main as cli
from cwlearn.cli import parser
from cwlearn.cli.flags import rendered
from cwlearn.core import model_file, rules
from cwlearn.core.rows import as_rows
from cwlearn.core.rules import RULES
from cwlearn.core.training import Training
from cwlearn.text.reader import Reader
from cwlearn.utils import progress
from tests.text.document_cases import documents, written
from tests.text_cases import (
    COMMAND,
    ENVIRONMENT,
    Outcome,
    bits,
    command,
    cwlearn,
    explained,
    fail,
    flags,
    outcome_of,
    random_text,
    succeed,
)

VERBS = ["train", "predict", "evaluate", "inspect", "demo"]


def loaded(text):
    return load_svmlight_file(str(text), zero_based=True)


# -- help and flags ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", parser.VERBS)
def test_the_help_of_every_verb_has_examples_that_parse(verb):
    text = succeed(verb, "--help").out
    assert text.startswith(f"usage: cwlearn {verb}")
    examples, _, statuses = text.partition("Examples:\n")[2].partition("Exit status:\n")
    commands = re.findall(r"^  cwlearn (.*?)(?:  .*)?$", examples, re.MULTILINE)
    assert commands
    for command_line in commands:
        assert parser.parse(command_line.split()).verb == verb
    assert re.findall(r"^  (\d+) ", statuses, re.MULTILINE) == ["0", "1", "2", "130"]


def test_the_general_help_names_every_verb():
    text = succeed("--help").out
    for verb in parser.VERBS:
        assert re.search(rf"^ +{verb} +\w", text, re.MULTILINE)
    assert "Exit status:" in text
    assert succeed("help").out == text
    assert succeed("--version").out == f"cwlearn {package.__version__}\n"


def test_the_help_of_train_fits_on_two_screens_and_has_the_daily_flags_only(monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    text = succeed("train", "--help").out
    assert len(text.splitlines()) <= 80
    assert max(map(len, text.splitlines())) <= 100
    for flag in (
        "-m", "-a", "--epochs", "--resume", "--checkpoint", "--labels", "--features", "--hash-bits", "--memory",
        "--threads", "--seed", "--json", "-q", "--help-all",
    ):  # fmt: skip
        assert re.search(rf"^  {flag}\b", text, re.MULTILINE), flag
    rare = ["--confidence", "--regularization", "--multiclass-update", "--scheduler", "--unsorted"]
    everything = succeed("train", "--help-all").out
    for flag in rare:
        assert f" {flag} " not in text
        assert f" {flag} " in everything
    assert succeed("help", "train").out == everything


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_the_help_of_an_algorithm_has_its_parameters_and_no_others(rule):
    text = succeed("help", rule.name).out
    assert text.startswith(f"usage: cwlearn train DATA -m MODEL -a {rule.name} ")
    shown_flags = set(re.findall(r"^  --(?:\[no-\])?([\w-]+)", text, re.MULTILINE))
    assert shown_flags == {option.name.replace("_", "-") for option in fields(rule)}
    assert rendered(rule.__doc__.split(":")[0]) in " ".join(text.split())


@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize(
    "words", [["--help"], *([verb, "--help-all"] for verb in VERBS), *(["help", name] for name in RULES)]
)
def test_help_is_as_wide_as_the_terminal(words, columns, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    assert max(map(len, succeed(*words).out.splitlines())) <= columns


def test_in_the_help_no_text_stands_twice(monkeypatch):
    monkeypatch.setenv("COLUMNS", "10000")
    for verb in parser.VERBS:
        lines = succeed(verb, "--help-all").out.splitlines()
        texts = [line.split("  ")[-1].strip() for line in lines if re.match(r"  --?\w", line)]
        assert len(texts) == len(set(texts)) > 1
        sentences = [re.split(r"(?<=\.) ", re.sub(r"\[[^]]*\] ", "", text)) for text in texts]
        for of_one_flag in sentences:
            assert len(of_one_flag) == len(set(of_one_flag))


def test_help_and_version_reach_a_pipe_to_the_last_byte(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    for words in (["--help"], ["--version"], ["train", "--help"]):
        outcome = outcome_of(*words, env={"COLUMNS": "80"})
        assert outcome.status == 0
        assert outcome.out == succeed(*words).out


def test_every_option_of_every_rule_is_a_flag_with_its_default(monkeypatch):
    monkeypatch.setenv("COLUMNS", "10000")
    text = " ".join(succeed("train", "--help-all").out.split()).replace("--[no-]", "--")
    for rule in RULES.values():
        for option in fields(rule):
            assert f"--{option.name.replace('_', '-')} " in text
            for sentence in option.metadata["help"].split(". "):
                flags = re.sub(r"`(\w+)`", lambda name: "--" + name[1].replace("_", "-"), sentence)
                assert flags.replace("None", "none") in text
    for option in fields(Training):
        if option.name not in ("random_state", "warm_start", "verbose"):  # --seed, --resume, --verbose
            assert f"--{option.name.replace('_', '-')} " in text
    for words in ("--seed", "--resume", "--threads", "--memory", "--features", "--hash-bits", "--labels"):
        assert f"{words} " in text
    for words in ("--checkpoint", "--json", "--quiet", "--verbose", "--unsorted", "--on-bad-line"):
        assert f"{words} " in text
    assert "[cw] Default: 0.9. [scw] Default: 0.99." in text


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_defaults_of_the_command_are_those_of_the_rule(rule, text, tmp_path):
    succeed("train", text, "-m", tmp_path / "m.npz", "-a", rule.name, "--quiet")
    learner = model_file.load(tmp_path / "m.npz")
    assert learner.rule == rule()
    assert learner.training == Training(epochs=rule.default_epochs, random_state=0)


def test_one_epoch_is_not_shuffled_and_several_are_unless_it_is_asked_for(text, tmp_path):
    for words, shuffled in (
        (["--epochs", 1], False),
        (["--epochs", 2], True),
        (["--epochs", 1, "--shuffle"], True),
        (["--epochs", 2, "--no-shuffle"], False),
    ):
        succeed("train", text, "-m", tmp_path / "m.npz", *words, "--quiet")
        assert model_file.load(tmp_path / "m.npz").training.shuffle is shuffled


def test_parameters_without_an_algorithm_are_those_of_arow(text, tmp_path):
    succeed("train", text, "-m", tmp_path / "m.npz", "--regularization", 3, "--quiet")
    assert model_file.load(tmp_path / "m.npz").rule == rules.AROW(3.0)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["-a", "cw", "--confidence", "0.7", "--form", "variance", "--projection", "exact"], ("cw", 0.7, "exact")),
        (["-a", "pa", "--C", "none", "--average"], ("pa", None, True)),
        (["-a", "logistic", "--no-bayesian", "--learning-rate", "0.5"], ("logistic", False, 0.5)),
        (["-a", "arow", "--class-weight=-1:2,+1:0.5"], ("arow", {-1.0: 2.0, 1.0: 0.5})),
        (["-a", "arow", "--class-weight", "-1:2,+1:0.5"], ("arow", {-1.0: 2.0, 1.0: 0.5})),
        (["-a", "scw", "--class-weight", "balanced", "--C", "auto"], ("scw", "balanced", "auto")),
    ],
    ids=str,
)
def test_parameters_of_the_rules_are_flags(words, expected, text, tmp_path):
    succeed("train", text, "-m", tmp_path / "m.npz", *words, "--quiet")
    rule = model_file.load(tmp_path / "m.npz").rule
    assert rule.name == expected[0]
    values = [getattr(rule, item.name) for item in fields(rule)]
    for value in expected[1:]:
        assert value in values


# -- usage -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["nonsense"],
        ["train"],
        ["train", "-m", "m.npz"],
        ["train", "data.svm"],
        ["train", "data.svm", "-m"],
        ["train", "data.svm", "-m", "m.npz", "--eta", "0.9"],
        ["train", "data.svm", "-m", "m.npz", "--conf", "0.9"],
        ["train", "data.svm", "-m", "m.npz", "--epochs"],
        ["train", "data.svm", "-m", "m.npz", "-a", "svm"],
        ["predict", "data.svm"],
        ["predict", "data.svm", "-m", "m.npz", "--proba", "--margin"],
        ["evaluate", "-m", "m.npz"],
        ["inspect"],
        ["inspect", "a.npz", "b.npz"],
    ],
    ids=" ".join,
)
def test_u01_wrong_usage_is_explained_on_one_line_of_standard_error(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    outcome = cwlearn(*words)
    assert outcome.status == 2
    assert outcome.out == ""
    assert outcome.err.count("\n") == 1
    assert outcome.err.startswith("cwlearn: error: ")
    verb = f" {words[0]}" if words and words[0] in parser.VERBS else ""
    assert outcome.err.lower().endswith(f"see cwlearn{verb} --help\n")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("", "a verb is missing: train, predict, "),
        ("train -m m.npz", "DATA is missing; see cwlearn train --help"),
        ("train", "DATA and -m MODEL are missing; see cwlearn train --help"),
        ("inspect", "MODEL is missing; see cwlearn inspect --help"),
        ("train data.svm --epochs", "--epochs needs a value; see cwlearn train --help"),
        ("trian data.svm", "there is no verb 'trian'; did you mean train? See cwlearn --help"),
        ("TRAIN data.svm", "there is no verb 'TRAIN'; did you mean train? See cwlearn --help"),
        ("--hlep", "there is no flag --hlep; did you mean --help? See cwlearn --help"),
        (
            "train data.svm -m m.npz --epoch 3",
            "there is no flag --epoch; did you mean --epochs? See cwlearn train --help",
        ),
        ("train data.svm --modle m.npz", "there is no flag --modle; did you mean --model? See cwlearn train --help"),
        ("train data.svm -m m.npz --hash_bits=3", "there is no flag --hash_bits; did you mean --hash-bits? See"),
        ("train data.svm -m m.npz --conf 0.9", "there is no flag --conf; did you mean --confidence? See"),
        ("train data.svm -m m.npz --xyz", "there is no flag --xyz; see cwlearn train --help"),
        ("train data.svm -m m.npz -a arwo", "; did you mean arow? See cwlearn train --help"),
        ("train data.svm -m m.npz --task classify", "; did you mean classification? See cwlearn train --help"),
        ("help logstic", "there is no help on 'logstic'; did you mean logistic?"),
        ("help xyz", "there is no help on 'xyz': expected one of train, predict, "),
        (
            "predict data.svm -m m.npz --proba --margin",
            "--margin: not allowed with --proba; see cwlearn predict --help",
        ),
        ("inspect a.npz b.npz", "unrecognized arguments: b.npz; see cwlearn inspect --help"),
    ],
)
def test_a_usage_error_says_what_is_missing_or_what_was_meant(words, message):
    assert message in fail(*words.split(), status=2)


@pytest.mark.parametrize(
    ("flag", "value"),
    [
        ("--confidence", "abc"),
        ("--confidence", "1.0"),
        ("--confidence", "0.4"),
        ("--epochs", "1e9x"),
        ("--epochs", "0"),
        ("--epochs", "1.5"),
        ("--initial-variance", "-1"),
        ("--initial-variance", "nan"),
        ("--regularization", "inf"),
        ("--regularization", "large"),
        ("--projection", "l3"),
        ("--dtype", "float16"),
        ("--seed", "-1"),
        ("--seed", "4294967296"),
        ("--threads", "0"),
        ("--threads", "1000000"),
        ("--memory", "0"),
        ("--memory", "1X"),
        ("--features", "0"),
        ("--hash-bits", "0"),
        ("--hash-bits", "64"),
        ("--labels", "1"),
        ("--labels", "1,1.0"),
        ("--labels", "spam"),
        ("--labels", "ham,ham"),
        ("--labels", "ham,"),
        ("--labels", ","),
        ("--checkpoint", "0"),
        ("--unsorted", "fix"),
        ("--on-bad-line", "ignore"),
        ("--max-bad", "-1"),
        ("--max-line", "long"),
        ("--class-weight", "1:-2"),
        ("--class-weight", "1"),
    ],
)
def test_u02_a_bad_value_is_named_with_its_flag(flag, value, text, tmp_path):
    algorithm = "cw" if flag == "--confidence" else "arow"
    message = fail("train", text, "-m", tmp_path / "m.npz", "-a", algorithm, f"{flag}={value}", status=2)
    assert flag in message
    assert repr(value) in message


@pytest.mark.parametrize(
    ("algorithm", "flag", "value"),
    [("arow", "--projection", "exact"), ("scw", "--C", "none"), ("nherd", "--C", "none")],
)
def test_u02_a_value_that_only_another_algorithm_takes_is_bad_usage(algorithm, flag, value, text, tmp_path):
    message = fail("train", text, "-m", tmp_path / "m.npz", "-a", algorithm, flag, value, status=2)
    assert flag.removeprefix("--") in message


def test_a_parameter_of_another_algorithm_is_bad_usage(text, tmp_path):
    message = fail("train", text, "-m", tmp_path / "m.npz", "-a", "arow", "--confidence", 0.8, status=2)
    assert "--confidence is not a parameter of arow, whose parameters are: " in message
    assert "--regularization" in message
    assert "is not a parameter of cw" in fail(
        "train", text, "-m", tmp_path / "m.npz", "-a", "cw", "--class-weight", "balanced", status=2
    )
    assert not (tmp_path / "m.npz").exists()


def test_u03_a_file_is_not_both_read_and_written(text, model, tmp_path):
    link, hard = tmp_path / "link", tmp_path / "hard"
    link.symlink_to(text)
    os.link(text, hard)
    before = {path: path.read_bytes() for path in (text, model)}
    for output in (text, link, hard, f"{tmp_path}/./data.svm"):
        assert "both read and written" in fail("train", text, "-m", output, status=2)
        assert "both read and written" in fail("predict", text, "-m", model, "-o", output, status=2)
    assert {path: path.read_bytes() for path in before} == before


def test_u03_predictions_do_not_replace_the_model(text, model):
    before = model.read_bytes()
    outcome = cwlearn("predict", text, "-m", model, "-o", model)
    assert model.read_bytes() == before
    assert outcome.status == 2


def test_u03_a_checkpoint_does_not_replace_the_data(text, tmp_path):
    data = tmp_path / "m.checkpoint"
    text.rename(data)
    before = data.read_bytes()
    outcome = cwlearn("train", data, "-m", tmp_path / "m", "--checkpoint", 60)
    assert data.exists()
    assert data.read_bytes() == before
    assert outcome.status == 2


def refuses_before_reading(monkeypatch, *words, status=1):
    """Run a command that must end before it reads data."""

    def read(*args):
        raise AssertionError("data were read")

    with monkeypatch.context() as patch:
        patch.setattr("cwlearn.text.text_file.TextFile.__init__", read)
        message = fail(*words, status=status)
    assert "data were read" not in message
    return message


@pytest.mark.parametrize("kind", ["no folder", "folder", "link to nowhere", "pipe", "device"])
def test_u04_m14_what_cannot_be_written_is_known_before_anything_is_read(kind, text, model, tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link to nowhere").symlink_to(tmp_path / "missing" / "m.npz")
    (tmp_path / "folder").mkdir()
    path = {"no folder": tmp_path / "missing" / "m.npz", "device": "/dev/null"}.get(kind, tmp_path / kind)
    for words in (["train", text, "-m", path], ["predict", text, "-m", model, "-o", path]):
        message = refuses_before_reading(monkeypatch, *words)
        assert str(path) in message or f"{tmp_path / 'missing'}: " in message


def test_u04_a_checkpoint_that_cannot_be_written_is_known_before_anything_is_read(text, tmp_path, monkeypatch):
    (tmp_path / "m.npz.checkpoint").mkdir()
    message = refuses_before_reading(monkeypatch, "train", text, "-m", tmp_path / "m.npz", "--checkpoint", 5)
    assert "m.npz.checkpoint" in message


def test_m14_a_link_to_a_model_stays_a_link(text, model, tmp_path):
    link = tmp_path / "link.npz"
    link.symlink_to(model)
    succeed("train", text, "-m", link, "-a", "cw", "--quiet")
    assert link.is_symlink()
    assert model_file.load(model).rule.name == "cw"


def test_m14_the_model_is_made_beside_its_name_not_in_the_folder_for_temporary_files(text, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "missing"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "missing"))
    succeed("train", text, "-m", tmp_path / "m.npz", "--quiet")


def as_nobody(*words):
    """What becomes of a command of somebody who may do nothing."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            outcome = cwlearn(*words)
            os.write(writing, json.dumps([outcome.status, outcome.out, outcome.err]).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading, "rb") as file:
        answer = file.read()
    os.waitpid(child, 0)
    return Outcome(*json.loads(answer))


@pytest.mark.skipif(os.getuid() != 0, reason="begins as root, to become nobody")
def test_u04_f16_m14_what_permissions_forbid_is_said_with_the_path(text, model, tmp_path, monkeypatch):
    succeed("predict", text, "-m", model)  # nobody could load modules
    succeed("train", text, "-m", tmp_path / "before.npz")
    for folder in (tmp_path, *tmp_path.parents):
        if folder.is_relative_to(tempfile.gettempdir()) and folder != Path(tempfile.gettempdir()):
            folder.chmod(0o755)
    (tmp_path / "closed").mkdir(mode=0o555)
    (tmp_path / "secret.svm").touch(mode=0o000)
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    (tmp_path / "open" / "old.npz").touch(mode=0o444)
    for words, path in (
        (["train", text, "-m", tmp_path / "closed" / "m.npz"], "closed"),
        (["train", text, "-m", tmp_path / "open" / "old.npz"], "old.npz"),
        (["train", tmp_path / "secret.svm", "-m", tmp_path / "open" / "m.npz"], "secret.svm"),
        (["predict", tmp_path / "secret.svm", "-m", model], "secret.svm"),
        (["predict", text, "-m", model, "-o", tmp_path / "closed" / "out"], "closed"),
        (["inspect", tmp_path / "secret.svm"], "secret.svm"),
    ):
        outcome = as_nobody(*words)
        assert outcome.status == 1
        assert path in explained(outcome.err)
    assert as_nobody("train", text, "-m", tmp_path / "open" / "m.npz").status == 0


def test_f16_u10_missing_files_are_named(text, model, tmp_path):
    (tmp_path / "dangling").symlink_to(tmp_path / "nothing")
    for path in (tmp_path / "missing.svm", tmp_path / "*.libsvm", tmp_path / "dangling"):
        for verb in ("train", "predict", "evaluate"):
            words = [verb, path, "-m", tmp_path / "new.npz" if verb == "train" else model]
            assert f"cwlearn: error: {path}: No such file or directory" in fail(*words)
    assert f"{tmp_path}: Is a directory" in fail("train", tmp_path, "-m", tmp_path / "new.npz")
    assert f"{tmp_path}: Is a directory" in fail("evaluate", tmp_path, "-m", model)
    for words in (["predict", text, "-m"], ["evaluate", text, "-m"], ["inspect"]):
        assert f"{tmp_path / 'no.npz'}: No such file or directory" in fail(*words, tmp_path / "no.npz")
        assert f"{tmp_path}: Is a directory" in fail(*words, tmp_path)
        assert f"{text}: not a cwlearn model" in fail(*words, text)
    assert "no.npz: No such file" in fail("train", text, "-m", tmp_path / "new.npz", "--resume", tmp_path / "no.npz")
    assert not (tmp_path / "new.npz").exists()


def test_a_missing_second_file_is_known_before_the_first_is_read(text, tmp_path, monkeypatch):
    for words in ([], ["--epochs", 1]):
        path = tmp_path / "missing.svm"
        message = refuses_before_reading(monkeypatch, "train", text, path, "-m", tmp_path / "m.npz", *words)
        assert "missing.svm: No such file" in message


def test_u10_the_same_file_twice_is_read_twice_with_a_warning(text, tmp_path):
    outcome = succeed("train", text, text, "-m", tmp_path / "m.npz", "--json")
    assert outcome.json["rows"] == 122
    assert outcome.err == f"cwlearn: warning: {text} is given more than once, and read more than once\n"
    assert succeed("train", text, text, "-m", tmp_path / "m.npz", "--quiet").err == ""


def test_h05_threads_of_the_environment_that_are_no_number_are_ignored_with_a_warning(text, model):
    outcome = outcome_of("predict", text, "-m", model, env={"OMP_NUM_THREADS": "garbage"})
    assert (outcome.status, outcome.out) == (0, succeed("predict", text, "-m", model).out)
    assert outcome.err == "cwlearn: warning: OMP_NUM_THREADS='garbage' is ignored: expected a positive integer\n"


def test_u11_standard_input_is_read_once(model, tmp_path):
    assert "standard input" in fail("train", "-", "-", "-m", tmp_path / "m.npz", status=2)
    assert "standard input" in fail("predict", "-", "-", "-m", model, status=2)


def test_u09_a_terminal_and_no_file_is_bad_usage_and_no_waiting(model):
    owner, terminal_end = pty.openpty()
    try:
        for verb in ("train", "predict", "evaluate"):
            outcome = outcome_of(verb, "-m", model, stdin=terminal_end)
            assert outcome.status == 2
            assert "DATA" in outcome.err.splitlines()[-1]
    finally:
        os.close(owner)
        os.close(terminal_end)


# -- train -------------------------------------------------------------------------------------------------------------


def test_verbose_is_no_parameter_of_the_model(text, tmp_path):
    succeed("train", text, "-m", tmp_path / "m.npz", "-v")
    outcome = succeed("train", text, "-m", tmp_path / "m.npz", "--resume", tmp_path / "m.npz", "-q", "-v")
    assert (outcome.out, outcome.err) == ("", "")


def test_a_model_that_learned_nothing_is_no_surprise(text, tmp_path):
    outcome = succeed("train", text, "-m", tmp_path / "m.npz", "-a", "cw", "--confidence", 0.5)
    assert "nothing was learned" in outcome.err


def test_a_dash_is_standard_output_for_predictions_and_no_name_of_a_model(text, model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert succeed("predict", text, "-m", model, "-o", "-").out == succeed("predict", text, "-m", model).out
    assert "-m -" in fail("train", text, "-m", "-", status=2)
    assert "-" not in os.listdir(tmp_path)


def test_train_prints_json(text, tmp_path):
    X, y = loaded(text)
    report = succeed("train", text, "-m", tmp_path / "m.npz", "-a", "arow", "--epochs", 3, "--json")
    assert report.err == ""
    assert report.out.count("\n") == 1
    learner = model_file.load(tmp_path / "m.npz")
    facts = report.json
    assert facts["rows"] == len(y)
    assert facts["nonzeros"] == X.nnz
    assert facts["features"] == X.shape[1] == learner.state.n_features
    assert facts["labels"] == ["-1", "+1"]
    assert facts["updates"] == learner.statistics["updates"]
    assert facts["mistakes"] == learner.statistics["mistakes"]
    one_epoch = ["-a", "arow", "--epochs", 1, "--shuffle"]
    once = succeed("train", text, "-m", tmp_path / "o.npz", *one_epoch, "--json").json
    assert facts["progressive_error"] == once["mistakes"] / len(y), "that of the first epoch"
    assert facts["epochs"] == 3
    assert 0 < facts["seconds"] < 60


def test_train_says_the_same_in_words_and_nothing_if_it_is_to_be_quiet(text, tmp_path):
    outcome = succeed("train", text, "-m", tmp_path / "m.npz", "-a", "arow", "--epochs", 1)
    assert outcome.err == ""
    assert f"{tmp_path / 'm.npz'}: arow model of 25 features, labels -1, +1\n" in outcome.out
    assert "61 rows, 450 nonzeros, 1 epoch, " in outcome.out
    quiet = succeed("train", text, "-m", tmp_path / "m.npz", "--quiet")
    assert (quiet.out, quiet.err) == ("", "")


def test_verbose_prints_a_table_of_the_falling_error(tmp_path, text, monkeypatch):
    monkeypatch.setattr("cwlearn.core.learner.BLOCK_EFFORT", 20)
    outcome = succeed("train", text, "-m", tmp_path / "m.npz", "--epochs", 4, "--verbose", "--json")
    lines = outcome.err.splitlines()
    assert lines[0].split() == ["error", "newest", "rows", "updates", "features"]
    rows = [int(line.replace(" %", "").split()[2]) for line in lines[1:]]
    assert len(rows) > 4
    assert all(second >= 2 * first for first, second in itertools.pairwise(rows[:-1]))
    assert outcome.json["rows"] == 61


class Terminal:
    """A stream that is a terminal."""

    def __init__(self):
        self.text = ""

    def write(self, text):
        self.text += text

    def flush(self):
        pass

    def isatty(self):
        return True


@pytest.mark.parametrize(("words", "shown"), [([], True), (["--quiet"], False), (["--json"], False)], ids=str)
def test_a_terminal_sees_a_bar_if_the_wait_is_long_enough(words, shown, text, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(progress, "PATIENCE", 0)
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    for more in (["--epochs", "1"], []):
        assert cli.main(["train", str(text), "-m", str(tmp_path / "m.npz"), *words, *more]) == 0
        assert ("learning" in stream.text) is shown
    assert ("choosing" in stream.text) is shown
    monkeypatch.setattr(progress, "PATIENCE", 1000)
    stream.text = ""
    assert cli.main(["train", str(text), "-m", str(tmp_path / "m.npz")]) == 0
    assert stream.text == ""


@pytest.mark.parametrize("suffix", ["svm", "jsonl", "csv", "ft"])
def test_training_by_command_loads_numpy_only(suffix, text, tmp_path):
    if suffix != "svm":
        text = written(tmp_path / f"a.{suffix}", *documents(40))
    script = f"""
import sys
from cwlearn.cli import main as cli
more = ["--hash-bits", "8"] if {suffix != "svm"} else []
for words in (["--epochs", "1"], ["--epochs", "2"], ["--epochs", "2", "--memory", "4K"]):
    assert cli.main(["train", {str(text)!r}, "-m", {str(tmp_path / "m.npz")!r}, "--quiet", *words, *more]) == 0
for words in (["predict", {str(text)!r}, "-m"], ["evaluate", {str(text)!r}, "-m"], ["inspect"]):
    assert cli.main([*words, {str(tmp_path / "m.npz")!r}]) == 0
print("\\n", *sorted(sys.modules))
"""
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=ENVIRONMENT)
    loaded_names = set(result.stdout.splitlines()[-1].split())
    modules = {name.split(".")[0] for name in loaded_names}
    assert "numpy" in modules
    assert not loaded_names & {"cwlearn.core.merging", "cwlearn.parallel.tasks", "cwlearn.parallel.shards"}
    if suffix == "svm":
        of_documents = ("_records", "_hashing", "_fields", "_vw", "documents", "records", "hashing", "naming", "vw")
        assert not loaded_names & {"cwlearn.core._frequencies", *(f"cwlearn.text.{name}" for name in of_documents)}
    assert not modules & {"sklearn", "scipy", "dask", "matplotlib", "pandas", "tqdm", "joblib"}


# -- predict -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", RULES)
def test_predictions_are_those_of_the_estimator_with_the_labels_as_they_were_written(algorithm, text, tmp_path):
    model = tmp_path / "m.npz"
    succeed("train", text, "-m", model, "-a", algorithm, "--quiet")
    estimator = package.load(model)
    X, _ = loaded(text)
    names = {-1.0: "-1", 1.0: "+1"}
    expected = [names[label] for label in estimator.predict(X)]
    assert succeed("predict", text, "-m", model).out.split() == expected
    lines = [line.split() for line in succeed("predict", text, "-m", model, "--margin").out.splitlines()]
    assert [line[0] for line in lines] == expected
    mean, variance = estimator.margin(X)
    assert [line[1:] for line in lines] == [[f"{m:.9g}", f"{v:.9g}"] for m, v in zip(mean, variance, strict=True)]
    first, *lines = [line.split() for line in succeed("predict", text, "-m", model, "--proba").out.splitlines()]
    assert first == ["labels", "-1", "+1"]
    assert [line[0] for line in lines] == expected
    chances = np.array([line[1:] for line in lines], float)
    np.testing.assert_allclose(chances, estimator.predict_proba(X), rtol=1e-8, atol=1e-300)
    np.testing.assert_allclose(chances.sum(axis=1), 1, rtol=1e-8)
    assert [line[0] for line in lines] == [first[1:][row.argmax()] for row in chances]


def test_predictions_go_to_a_file_in_one_step(text, model, tmp_path):
    out = tmp_path / "out"
    out.write_text("old")
    outcome = succeed("predict", text, "-m", model, "-o", out)
    assert outcome.out == ""
    assert out.read_text() == succeed("predict", text, "-m", model).out
    facts = succeed("predict", text, "-m", model, "-o", out, "--json").json
    assert (facts["rows"], facts["output"]) == (61, str(out))
    assert "-o" in fail("predict", text, "-m", model, "--json", status=2)
    before = out.read_bytes()
    text.write_text("1 1:1\n" * 5 + "1 1\n")
    assert f"{text}:6:3: missing ':'" in fail("predict", text, "-m", model, "-o", out)
    assert out.read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == ["data.svm", "model.npz", "out"]


def test_c25_features_that_were_never_seen_are_counted_and_scored_with_the_prior(text, tmp_path):
    X, _ = loaded(text)
    more = sparse.csr_matrix(([2.0, 3.0, 4.0], [[0, 0, 5], [30, 70, 2000]]), (61, 2001))
    wide = sparse.csr_matrix((X.data, X.indices, X.indptr), (61, 2001)) + more
    other = tmp_path / "other.svm"
    lines = [line for line in text.read_text().splitlines() if line.split() and not line.startswith("#")]
    lines[0] += " 30:2 70:3"
    lines[5] += " 2000:4"
    other.write_text("\n".join(lines) + "\n")
    full = [[name, "--covariance", "full"] for name in ("cw", "sop", "logistic")]
    for algorithm in [*([name] for name in RULES), *full]:
        model = tmp_path / "m.npz"
        succeed("train", text, "-m", model, "-a", *algorithm, "--initial-variance", 0.5, "--quiet")
        learner = model_file.load(model)
        learner.grow(2001)
        mean, variance = learner.margins(as_rows(wide, learner.state.dtype))
        outcome = succeed("predict", other, "-m", model, "--margin")
        numbers = np.array([line.split()[1:] for line in outcome.out.splitlines()], float)
        np.testing.assert_allclose(numbers, np.column_stack([mean, variance]), rtol=1e-8)
        assert "3 of 453 values are of features that the model has never seen; they are ignored" in outcome.err
        assert succeed("predict", other, "-m", model, "--quiet").err == ""
        assert succeed("predict", text, "-m", model).err == ""
        assert "never seen; they are ignored\n" in succeed("evaluate", other, "-m", model).err


def test_models_with_a_kernel_predict_by_command(text, tmp_path):
    X, y = loaded(text)
    wide = sparse.csr_matrix((X.data, X.indices, X.indptr), (61, 41)) + sparse.csr_matrix(
        ([2.0], [[0], [40]]), (61, 41)
    )
    other = tmp_path / "other.svm"
    lines = [line for line in text.read_text().splitlines() if line.split() and not line.startswith("#")]
    other.write_text("\n".join([f"{lines[0]} 40:2", *lines[1:]]) + "\n")
    estimator = package.KernelAROWClassifier(random_state=0).fit(X, y)
    estimator.save(tmp_path / "m.npz")
    for path, matrix in ((text, X), (other, wide)):
        outcome = succeed("predict", path, "-m", tmp_path / "m.npz", "--margin")
        numbers = np.array([line.split()[1:] for line in outcome.out.splitlines()], float)
        learner = model_file.load(tmp_path / "m.npz")
        expected = learner.margins(as_rows(matrix, learner.state.dtype))
        np.testing.assert_allclose(numbers, np.column_stack(expected), rtol=1e-8, atol=1e-12)
    assert "error" in succeed("evaluate", text, "-m", tmp_path / "m.npz").out
    told = succeed("inspect", tmp_path / "m.npz").out
    assert f"kernel     kernel rbf, gamma {estimator._learner.state.gamma:g}" in told
    assert "covariance" not in told
    facts = json.loads(succeed("inspect", tmp_path / "m.npz", "--json").out)
    assert facts["kernel"]["kernel"] == "rbf"
    assert facts["kernel"]["kept_rows"] == estimator.n_kept_
    message = fail("train", text, "-m", tmp_path / "n.npz", "--resume", tmp_path / "m.npz")
    assert "m.npz: a model with a kernel can be resumed only in Python" in message


def test_an_index_of_any_size_can_be_predicted(model, tmp_path):
    path = tmp_path / "wide.svm"
    path.write_text(f"1 1:1 {2**31}:1 {2**62}:1\n-1 {2**40}:1\n1 2:1\n")
    outcome = succeed("predict", path, "-m", model)
    assert len(outcome.out.splitlines()) == 3
    assert (
        "warning: 3 of 5 values are of features that the model has never seen; they are ignored. Model and data"
        in outcome.err
    )
    assert ". Model and data do not seem to belong together\n" in outcome.err


def test_u13_lines_without_labels_need_no_labels(text, model, tmp_path):
    bare = tmp_path / "bare.svm"
    lines = [line for line in text.read_text().splitlines() if line.split() and not line.startswith("#")]
    rows = [line.replace("qid:4 ", "").partition(" ")[2] for line in lines]
    assert rows.count("") == 1  # a row without features is an empty line here
    bare.write_text("\n".join(rows) + "\n")
    assert f"{bare}:1:1: missing label" in fail("predict", bare, "-m", model)
    with_labels = succeed("predict", text, "-m", model).out
    assert succeed("predict", bare, "-m", model, "--no-labels").out == with_labels
    assert "data.svm:1:1" in fail("predict", text, "-m", model, "--no-labels")


@pytest.mark.parametrize("how", [[], ["--proba"], ["--margin"]], ids=str)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_x02_without_labels_every_line_gives_a_line(how, end, model, tmp_path):
    """One that is empty, blank or a comment is a row without features."""
    bare = tmp_path / "bare.svm"
    predict = ["predict", bare, "-m", model, "--no-labels", *how]
    bare.write_text("")
    first = succeed(*predict).out  # may name the labels
    lines = ["1:1 3:0.5", "", "2:1", "# a comment", " \t", "   # 1:1", "4:1 # with a comment", "", ""]
    answers = {}
    for line in lines:
        bare.write_text(line + end, newline="")
        answers[line] = succeed(*predict).out.removeprefix(first)
        assert answers[line].count("\n") == 1
    assert {answers[line] for line in lines if line.partition("#")[0].strip() == ""} == {answers[""]}
    assert answers[""] != answers["2:1"] or not how
    for last in (end, ""):
        bare.write_text(end.join([*lines, "2:1"]) + last, newline="")
        assert succeed(*predict).out == first + "".join(answers[line] for line in [*lines, "2:1"])


@pytest.mark.parametrize("chunk_bytes", [16, 1 << 20])
def test_x02_without_labels_a_line_that_is_skipped_gives_an_empty_line(chunk_bytes, model, tmp_path, monkeypatch):
    monkeypatch.setitem(Reader.__init__.__kwdefaults__, "chunk_bytes", chunk_bytes)
    bare = tmp_path / "bare.svm"
    bare.write_text("1:1\nbad\n\n1:1e39\n1:2 1:2\n# c\n3:1\n4\n")
    predict = ["predict", bare, "-m", model, "--no-labels", "--on-bad-line", "skip"]
    outcome = succeed(*predict)
    assert [number for number, line in enumerate(outcome.out.split("\n"), 1) if not line] == [2, 4, 5, 8, 9]
    assert [line.split(":")[3] for line in outcome.err.splitlines()] == ["2", "4", "5", "8"]
    outcome = cwlearn(*predict, "--max-bad", 2)
    assert outcome.status == 1
    assert [number for number, line in enumerate(outcome.out.split("\n"), 1) if not line] == [2, 4, 5]
    assert f"{bare}:5:5: index 1 occurs twice" in outcome.err


@pytest.mark.parametrize("content", [b"", b"# comment\n\n   \n", gzip.compress(b"", mtime=0)])
def test_f01_f02_a_text_without_rows_has_no_predictions_and_cannot_be_judged(content, model, tmp_path):
    path = tmp_path / "empty.svm"
    path.write_bytes(content)
    outcome = succeed("predict", path, "-m", model)
    assert (outcome.out, outcome.err) == ("", "")
    assert succeed("predict", path, "-m", model, "--proba").out == "labels -1 +1\n"
    assert f"{path}: no examples" in fail("evaluate", path, "-m", model)


def test_f01_standard_input_without_rows_is_called_stdin(model, tmp_path):
    for words in (["train", "-", "-m", tmp_path / "m.npz"], ["evaluate", "-", "-m", model]):
        outcome = outcome_of(*words, input=b"\n")
        assert outcome.status == 1
        assert outcome.err == "cwlearn: error: <stdin>: no examples\n"


def test_a_model_with_labels_that_are_no_numbers_predicts_and_says_why_it_does_no_more(text, tmp_path):
    X, y = loaded(text)
    model = tmp_path / "m.npz"
    package.AROWClassifier(random_state=0).fit(X, np.where(y > 0, "spam", "ham")).save(model)
    assert set(succeed("predict", text, "-m", model).out.split()) == {"ham", "spam"}
    for words in (["evaluate", text, "-m", model], ["train", text, "-m", tmp_path / "n.npz", "--resume", model]):
        message = fail(*words)
        assert "ham, spam" in message
        assert "could not convert" not in message


# -- evaluate ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", RULES)
def test_evaluate_agrees_with_scikit_learn(algorithm, text, tmp_path):
    model, other = tmp_path / "m.npz", tmp_path / "other.svm"
    succeed("train", text, "-m", model, "-a", algorithm, "--quiet")
    other.write_text(random_text(300, seed=5, noise=0.3), newline="")
    X, y = loaded(other)
    estimator = package.load(model)
    facts = succeed("evaluate", other, "-m", model, "--json").json
    predicted = estimator.predict(X)
    assert facts["rows"] == len(y)
    assert facts["mistakes"] == zero_one_loss(y, predicted, normalize=False)
    assert facts["error"] == pytest.approx(zero_one_loss(y, predicted))
    precision, recall, _, support = precision_recall_fscore_support(y, predicted)
    for number, name in enumerate(("-1", "+1")):
        assert facts["labels"][name]["rows"] == support[number]
        assert facts["labels"][name]["precision"] == pytest.approx(precision[number])
        assert facts["labels"][name]["recall"] == pytest.approx(recall[number])
    chances = estimator.predict_proba(X)
    assert facts["log_loss"] == pytest.approx(log_loss(y, chances))
    assert sum(bin["rows"] for bin in facts["calibration"]) == len(y)
    sure, right = chances.max(axis=1), predicted == y
    for bin in facts["calibration"]:
        inside = np.minimum((sure * 15).astype(int), 14) == round(15 * bin["from"])
        assert bin["rows"] == inside.sum()
        assert bin["predicted"] == pytest.approx(sure[inside].mean())
        assert bin["correct"] == pytest.approx(right[inside].mean())
    gaps = [abs(bin["predicted"] - bin["correct"]) * bin["rows"] for bin in facts["calibration"]]
    assert facts["calibration_error"] == pytest.approx(sum(gaps) / len(y))


def test_evaluate_prints_a_report(text, model):
    facts = succeed("evaluate", text, "-m", model, "--json").json
    outcome = succeed("evaluate", text, "-m", model)
    assert f"error {100 * facts['error']:.2f} % ({facts['mistakes']} of 61 rows)" in outcome.out
    assert f"log loss {facts['log_loss']:.4f}, calibration error {facts['calibration_error']:.4f}" in outcome.out
    assert outcome.err == ""


@pytest.mark.parametrize("several", [[], ["--multilabel"]])
def test_evaluate_prints_long_labels_in_columns(tmp_path, several):
    path, model = tmp_path / "a.txt", tmp_path / "m.npz"
    path.write_text("talk.politics.mideast\ta word\nhäm\x1b\tno word\n" * 3, encoding="utf-8")
    succeed("train", path, "-m", model, "-a", "arow", *several, "-q")
    lines = succeed("evaluate", path, "-m", model).out.splitlines()
    first = next(i for i, line in enumerate(lines) if line.split()[:1] == ["label"])
    table = lines[first : first + 3]
    assert sorted(line.split()[0] for line in table) == ["häm\\x1b", "label", "talk.politics.mideast"]
    assert len({line.index(line.split()[0]) + len(line.split()[0]) for line in table}) == 1
    assert len({len(line) for line in table}) == 1


def test_w29_evaluate_weighs_rows_by_the_importances_of_vowpal_wabbit(tmp_path):
    train, test, model = tmp_path / "a.vw", tmp_path / "b.vw", tmp_path / "m.npz"
    train.write_text("1 |a x y\n-1 |a z\n" * 5)
    test.write_text("1 2 |a x\n1 0.5 |a z\n-1 |a z y\n-1 0 |a x\n-1 3 |a x\n")
    succeed("train", train, "-m", model, "--quiet")
    facts = succeed("evaluate", test, "-m", model, "--json").json
    assert (facts["rows"], facts["mistakes"], facts["error"]) == (5, 3, 0.6)
    assert (facts["weight"], facts["weighted_error"]) == (6.5, pytest.approx(3.5 / 6.5))
    out = succeed("evaluate", test, "-m", model).out
    assert "error 60.00 % (3 of 5 rows)\nweighted by importance 53.85 % (sum of importances 6.5)\n" in out
    facts = succeed("evaluate", train, "-m", model, "--json").json
    assert facts["weight"] is None
    assert facts["weighted_error"] is None
    assert "importance" not in succeed("evaluate", train, "-m", model).out


def test_evaluate_weighs_a_regression_by_importances(tmp_path):
    train, test, model = tmp_path / "a.vw", tmp_path / "b.vw", tmp_path / "m.npz"
    train.write_text("1.5 |a x\n-2 |a z\n" * 20)
    test.write_text("1 2 |a x\n-1 |a z\n")
    succeed("train", train, "-m", model, "--task", "regression", "--quiet")
    first, second = map(float, succeed("predict", test, "-m", model).out.split())
    facts = succeed("evaluate", test, "-m", model, "--json").json
    assert facts["weight"] == 3
    assert facts["weighted_mae"] == pytest.approx((2 * abs(first - 1) + abs(second + 1)) / 3, rel=1e-6)
    assert facts["weighted_rmse"] == pytest.approx(((2 * (first - 1) ** 2 + (second + 1) ** 2) / 3) ** 0.5, rel=1e-6)
    assert "(sum of importances 3)" in succeed("evaluate", test, "-m", model).out


def test_evaluate_reads_the_targets_of_documents(tmp_path):
    data, model = tmp_path / "a.jsonl", tmp_path / "m.npz"
    data.write_text('{"text": "fine film", "label": 1.5}\n{"text": "bad film", "label": -2}\n' * 20)
    succeed("train", data, "-m", model, "--task", "regression", "--quiet")
    first, second = map(float, succeed("predict", data, "-m", model).out.split()[:2])
    facts = succeed("evaluate", data, "-m", model, "--json").json
    assert facts["mae"] == pytest.approx((abs(first - 1.5) + abs(second + 2)) / 2, abs=1e-7)
    data.write_text('{"text": "fine film", "label": "good"}\n')
    assert f"{data}:1: target good is not a number" in fail("evaluate", data, "-m", model)


def test_a_label_without_rows_or_predictions_has_no_recall_or_precision(text, model):
    text.write_text("+1 1:1\n" * 3)
    facts = succeed("evaluate", text, "-m", model, "--json").json
    assert facts["labels"]["-1"]["recall"] is None
    assert None in [facts["labels"][name]["precision"] for name in ("-1", "+1")]
    assert "-" in succeed("evaluate", text, "-m", model).out


def test_evaluate_refuses_a_label_that_the_model_does_not_know(text, model):
    text.write_text("+1 1:1\n# comment\n3 1:1\n")
    assert f"{text}:3: label 3 is not one of the labels -1, +1" in fail("evaluate", text, "-m", model)


# -- inspect and demo --------------------------------------------------------------------------------------------------


def test_inspect_tells_what_is_in_a_model(text, tmp_path):
    model = tmp_path / "m.npz"
    succeed("train", text, "-m", model, *flags(RULES["cw"](0.8, "variance"), dtype="float64"), "--quiet")
    learner = model_file.load(model)
    facts = succeed("inspect", model, "--top", 3, "--json").json
    assert facts["algorithm"] == "cw"
    assert facts["parameters"] == {
        "confidence": 0.8,
        "form": "variance",
        "projection": "kl",
        "covariance": "diagonal",
        "average": False,
        "forgetting": 0,
    }
    assert facts["dtype"] == "float64"
    assert facts["labels"] == ["-1", "+1"]
    assert facts["features"] == 25
    assert facts["rows"] == learner.statistics["rows"] == 610
    assert facts["updates"] == learner.statistics["updates"]
    assert facts["intercept"] == learner.state.mean[0]
    mean, variance = learner.state.mean[1:], learner.state.variance[1:]
    heaviest = np.argsort(-np.abs(mean))[:3]
    assert [weight["feature"] for weight in facts["weights"]] == heaviest.tolist()
    for weight in facts["weights"]:
        assert weight["weight"] == mean[weight["feature"]]
        assert weight["deviation"] == pytest.approx(np.sqrt(variance[weight["feature"]]))
        assert weight["label"] == ("+1" if weight["weight"] > 0 else "-1")
    known = learner.calibration
    assert facts["calibration"]["rows"] == known.observed == 61
    assert facts["calibration"]["uses"] == ("margin / deviation" if known.uses_deviation else "margin")
    assert (facts["calibration"]["slope"], facts["calibration"]["shift"]) == known.line
    assert not facts["calibration"]["held_back"]
    words = succeed("inspect", model, "--top", 3).out
    assert "calibrated on 61 rows before they were learned, by margin" in words
    assert (
        "cw (confidence 0.8, form variance, projection kl, covariance diagonal, average no, forgetting 0), float64"
        in words
    )
    assert len(words.partition("deviation")[2].splitlines()) == 1 + 3


def test_a_model_of_version_1_is_not_calibrated_and_says_so(tmp_path):
    model = Path(__file__).parents[1] / "core" / "golden" / "version-1.npz"
    (tmp_path / "data.svm").write_text("1 1:1\n-1 2:1\n")
    assert "calibrated no" in succeed("inspect", model).out
    assert succeed("inspect", model, "--json").json["calibration"] is None
    score = [tmp_path / "data.svm", "-m", model]
    for words in (["predict", *score, "--proba"], ["evaluate", *score]):
        outcome = succeed(*words)
        assert outcome.err.count("has no calibration, as models of older versions") == 1
        assert not succeed(*words, "--quiet").err
    assert not succeed("predict", tmp_path / "data.svm", "-m", model).err


def test_inspect_shows_the_averaged_weights_that_predict(text, tmp_path):
    model = tmp_path / "m.npz"
    succeed("train", text, "-m", model, "-a", "perceptron", "--average", "--quiet")
    facts = succeed("inspect", model, "--top", 25, "--json").json
    coefficients = package.load(model).coef_[0]
    assert {weight["feature"]: weight["weight"] for weight in facts["weights"]} == {
        column: value for column, value in enumerate(coefficients.tolist()) if value
    }


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("odd", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\r."])
def test_x04_only_a_line_feed_ends_a_name(odd, end, model, tmp_path):
    names = tmp_path / "names.txt"
    lines = [f"name{odd}{index}" for index in range(1, 26)]
    names.write_text(end.join(lines) + end, encoding="utf-8", newline="")
    facts = succeed("inspect", model, "--names", names, "--top", 25, "--json").json
    assert {weight["name"] for weight in facts["weights"]} >= {"name" + odd + "7", "name" + odd + "19"}
    assert all(weight["name"] == ["0", *lines][weight["feature"]] for weight in facts["weights"])


def test_inspect_takes_names_of_features_from_a_file_or_from_the_model(text, model, tmp_path):
    names = tmp_path / "names.txt"
    names.write_text("".join(f"größe{index}\n" for index in range(1, 20)), encoding="utf-8")
    facts = succeed("inspect", model, "--names", names, "--top", 25, "--json").json
    for weight in facts["weights"]:
        index = weight["feature"]
        assert weight["name"] == (f"größe{index}" if 1 <= index < 20 else str(index))
    assert "größe" in succeed("inspect", model, "--names", names).out
    assert "names.missing: No such file" in fail("inspect", model, "--names", tmp_path / "names.missing")
    import pandas as pd

    package.AROWClassifier().fit(pd.DataFrame(np.eye(2), columns=["left", "right"]), [0, 1]).save(model)
    assert {weight["name"] for weight in succeed("inspect", model, "--json").json["weights"]} == {"left", "right"}


def test_the_demo_shows_and_does_what_it_shows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    outcome = succeed("demo")
    assert outcome.err == ""
    commands = [line.removeprefix("$ cwlearn ").split() for line in outcome.out.splitlines() if line.startswith("$")]
    assert [words[0] for words in commands] == ["train", "evaluate", "inspect", "predict"]
    before = (tmp_path / "cwlearn-demo.npz").read_bytes()
    assert os.listdir(tmp_path) == ["cwlearn-demo.npz"]
    for words in commands:
        result = succeed(*words)
        if words[0] != "train":  # which tells the seconds
            assert result.out in outcome.out
    assert (tmp_path / "cwlearn-demo.npz").read_bytes() == before
    assert succeed(*commands[1], "--json").json["error"] < 0.1
    assert [line.split()[0] for line in succeed(*commands[3]).out.splitlines()] == ["labels", "spam", "ham"]
    assert re.search(r"^ *(click|free|remove) ", outcome.out, re.MULTILINE)  # words, not numbers of columns


# -- streams -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", ["-", "/dev/stdin", "fifo", "file"])
@pytest.mark.parametrize("epochs", [1, 3])
def test_f17_pipes_are_read_as_files_are(source, epochs, text, tmp_path):
    content = text.read_bytes()
    words = ["--epochs", epochs, "-m", tmp_path / "m.npz", "--quiet"]
    succeed("train", text, *words)
    expected = (tmp_path / "m.npz").read_bytes()
    (tmp_path / "m.npz").unlink()
    if source == "fifo":
        os.mkfifo(tmp_path / "fifo")
        writer = threading.Thread(target=(tmp_path / "fifo").write_bytes, args=[content], daemon=True)
        writer.start()
        outcome = outcome_of("train", tmp_path / "fifo", *words)
        writer.join(10)
    elif source == "file":
        with open(text, "rb") as file:
            outcome = outcome_of("train", "-", *words, stdin=file)
    else:
        outcome = outcome_of("train", source, *words, input=content)
    assert outcome.status == 0, outcome.err
    assert (tmp_path / "m.npz").read_bytes() == expected


def test_f17_standard_input_may_be_compressed_and_one_of_several(text, model):
    expected = succeed("predict", text, text, "-m", model).out
    outcome = outcome_of("predict", "-", text, "-m", model, input=gzip.compress(text.read_bytes()))
    assert (outcome.status, outcome.out) == (0, expected)
    outcome = outcome_of("evaluate", "-", "-m", model, input=b"1 1:1\n\n1 1:x\n")
    assert outcome.err == "cwlearn: error: <stdin>:3:3: value is not a decimal number (near '1:x')\n"


@pytest.mark.parametrize(
    "environment",
    [
        {"LANG": "C"},
        {"LC_ALL": "tr_TR.UTF-8"},
        {"LC_ALL": "de_DE"},
        {"PYTHONUTF8": "0", "LC_ALL": "C"},
    ],
    ids=str,
)
def test_u12_no_locale_changes_a_byte(environment, text, tmp_path):
    model, names = tmp_path / "größe.npz", tmp_path / "names.txt"
    names.write_text("".join(f"größe{index}\n" for index in range(1, 30)), encoding="utf-8")
    assert outcome_of("train", text, "-m", model, env=environment).status == 0
    content = model.read_bytes()
    succeed("train", text, "-m", model, "--quiet")
    assert model.read_bytes() == content
    for words in (["predict", text, "-m", model, "--margin"], ["inspect", model, "--names", names]):
        process = command(*words, env=environment)
        out, err = process.communicate()
        assert (process.returncode, err) == (0, b"")
        assert out.partition(b"arow")[2] == succeed(*words).out.encode().partition(b"arow")[2]
        assert out.isascii() == (words[0] == "predict")


def test_u05_a_reader_that_has_had_enough_ends_predict_quietly(text, model):
    text.write_text("1 1:1\n" * 300_000)
    for words in (["predict", text, "-m", model, "--margin"], ["evaluate", text, "-m", model], ["inspect", model]):
        process = command(*words, bufsize=0)
        if words[0] == "predict":
            assert process.stdout.readline().startswith(b"+1 ")
        process.stdout.close()
        assert process.stderr.read() == b""
        process.stderr.close()
        assert process.wait(20) in (0, 141)


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("buffered", [True, False])
def test_u06_a_full_standard_output_is_an_error(verb, buffered, text, model, tmp_path):
    words = {
        "train": [text, "-m", tmp_path / "m.npz"],
        "predict": [text, "-m", model],
        "evaluate": [text, "-m", model],
        "inspect": [model],
        "demo": ["-m", tmp_path / "m.npz"],
    }[verb]
    with open("/dev/full", "wb") as full:
        outcome = outcome_of(verb, *words, stdout=full, env={} if buffered else {"PYTHONUNBUFFERED": "1"})
    assert outcome.status == 1
    assert "No space left on device" in explained(outcome.err)


@pytest.mark.parametrize("verb", ["train", "predict", "evaluate", "inspect"])
def test_u06_a_closed_standard_output_is_an_error(verb, text, model, tmp_path):
    words = {"train": [text, "-m", tmp_path / "m.npz"], "inspect": [model]}.get(verb, [text, "-m", model])
    line = [*COMMAND, verb, *map(str, words)]
    shell = ["sh", "-c", 'exec "$@" >&-', "sh"]
    result = subprocess.run([*shell, *line], stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
    assert result.returncode == 1
    assert "standard output" in explained(result.stderr)
    if verb == "train":
        quiet = subprocess.run([*shell, *line, "--quiet"], stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
        assert (quiet.returncode, quiet.stderr) == (0, "")


def test_a_closed_standard_error_changes_nothing(text, tmp_path):
    line = [*COMMAND, "train", str(text), str(text), "-m", str(tmp_path / "m.npz"), "--json"]
    shell = ["sh", "-c", 'exec "$@" 2>&-', "sh"]
    result = subprocess.run([*shell, *line], stdout=subprocess.PIPE, text=True, env=ENVIRONMENT)
    assert result.returncode == 0
    assert json.loads(result.stdout)["rows"] == 122


# -- bad lines ---------------------------------------------------------------------------------------------------------


def bad_text(n_bad, n_rows=3000):
    lines = [f"{(-1) ** row} {row % 7}:1" for row in range(n_rows)]
    for number in range(n_bad):
        lines[100 + 200 * number] = "1 1:x"
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("epochs", [1, 2])
def test_u14_bad_lines_are_skipped_counted_and_reported(epochs, text, tmp_path, model):
    text.write_text(bad_text(10))
    skip = ["--on-bad-line", "skip", "--max-bad", 10]
    words = ["train", text, "-m", tmp_path / "m.npz", "--epochs", epochs, *skip, "--json"]
    outcome = succeed(*words)
    assert outcome.json["rows"] == 2990
    assert outcome.json["bad_lines"] == 10
    assert outcome.err.splitlines() == [
        f"cwlearn: warning: {text}:{101 + 200 * number}:3: value is not a decimal number (near '1:x'); line skipped"
        for number in range(10)
    ]
    expected = bits(model_file.load(tmp_path / "m.npz"))
    text.write_text("".join(line for line in bad_text(10).splitlines(True) if "x" not in line))
    succeed(*words)
    assert bits(model_file.load(tmp_path / "m.npz")) == expected

    text.write_text(bad_text(11))
    outcome = cwlearn(*words)
    assert outcome.status == 1
    assert f"cwlearn: error: {text}:2101:3: value is not a decimal number" in outcome.err
    assert outcome.err.count("warning: ") == 10


@pytest.mark.parametrize("verb", ["predict", "evaluate"])
def test_u14_bad_lines_are_skipped_in_the_other_verbs_too(verb, text, model):
    text.write_text(bad_text(3))
    outcome = cwlearn(verb, text, "-m", model)
    assert outcome.status == 1
    assert f"{text}:101:3: value is not" in explained(outcome.err)
    assert len(outcome.out.splitlines()) == (100 if verb == "predict" else 0)  # a stream, as far as it came
    outcome = succeed(verb, text, "-m", model, "--on-bad-line", "skip", "--max-bad", 3)
    assert [line.split(":")[3] for line in outcome.err.splitlines() if "warning" in line] == ["101", "301", "501"]
    if verb == "predict":
        assert len(outcome.out.splitlines()) == 2997
    assert cwlearn(verb, text, "-m", model, "--on-bad-line", "skip", "--max-bad", 2).status == 1


def test_debug_shows_where_an_error_arose(text, tmp_path):
    text.write_text("- 1:1\n")
    outcome = outcome_of("train", text, "-m", tmp_path / "m.npz", "--debug")
    assert outcome.status == 1
    assert "Traceback" in outcome.err
    assert "data.svm:1:1: label is not a number" in outcome.err


def test_r1_an_odd_file_name_is_printed_on_one_line(tmp_path):
    for name in (b"a b", b"two\nlines", b"\xff\xfe", b"x" * 255):
        path = os.path.join(os.fsencode(tmp_path), name)
        with open(path, "wb") as file:
            file.write(b"1 1:1\nbad\n")
        outcome = outcome_of("train", os.fsdecode(path), "-m", tmp_path / "m.npz")
        assert outcome.status == 1
        assert ":2:1: label is not a number (near 'bad')" in explained(outcome.err)
        assert outcome.err.count("\n") == 1
