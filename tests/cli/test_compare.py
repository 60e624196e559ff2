"""`cwlearn compare`: its table, its files, and what it refuses."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from cwlearn.cli import compare
from cwlearn.cli.common import feature_names
from cwlearn.cli.data_sets import short_name
from tests.text_cases import fail, random_text, succeed


@pytest.fixture
def texts(tmp_path):
    """Two data sets."""
    paths = [tmp_path / f"set-{number}.svm" for number in range(2)]
    lines = (random_text() * 3).splitlines(keepends=True)
    for number, path in enumerate(paths):
        path.write_text("".join(lines[number:]), newline="")
    return paths


def test_compare_on_the_command_line(texts, tmp_path):
    flags = ["--algorithms", "cw,arow,svm", "--folds", 3, "--epochs", 2, "--noise", "0,0.1"]
    output = succeed("compare", *texts, *flags, "--report", tmp_path / "r.html").out
    assert "mean rank" in output
    assert "10 % of the training labels wrong" in output
    assert not (tmp_path / "r.html.journal").exists()
    assert "set-0" in (tmp_path / "r.html").read_text()
    report = succeed("compare", *texts, *flags, "--json").json
    assert {entry["algorithm"] for entry in report["results"]} == {"cw", "arow", "svm"}
    assert {(entry["data"], entry["noise"]) for entry in report["results"]} == {
        (data, noise) for data in ("set-0", "set-1") for noise in (0.0, 0.1)
    }
    for entry in report["results"]:
        assert entry["error"] == pytest.approx(np.mean(entry["errors"]))
        assert 0 < entry["training_seconds"] < 60
        assert (
            set(entry["p_values"]) == set(entry["corrected_p_values"]) == {"cw", "arow", "svm"} - {entry["algorithm"]}
        )
        assert all(entry["corrected_p_values"][other] >= p for other, p in entry["p_values"].items())
        if entry["algorithm"] == "svm":
            assert entry["calibration_error"] is entry["calibration_error_before"] is None
        else:
            assert 0 <= entry["calibration_error"] != entry["calibration_error_before"] <= 1


def test_the_table_shows_intervals_and_marks_what_does_not_differ_clearly(texts):
    flags = ["--algorithms", "arow,cw,perceptron", "--folds", 3, "--epochs", 2]
    results = {entry["algorithm"]: entry for entry in succeed("compare", texts[0], *flags, "--json").json["results"]}
    lines = succeed("compare", texts[0], *flags).out.splitlines()
    best = lines[1].split()[0]
    assert f"= no clear difference from {best}: McNemar's test at 5 %," in lines
    assert "*" not in "".join(lines)
    assert max(map(len, lines)) < 80
    for number, line in enumerate(lines[1:4]):
        found = re.match(r"(\w+) +([\d.]+) \(([\d.]+)-([\d.]+)\) (=| ) ", line)
        name, error, low, high = found[1], *map(float, found.groups()[1:4])
        assert low <= error <= high
        assert error == pytest.approx(100 * results[name]["error"], abs=0.5)
        level = number > 0 and results[name]["corrected_p_values"][best] >= 0.05
        assert found[5] == ("=" if level else " ")


@pytest.mark.parametrize(
    ("flags", "message", "status"),
    [
        (["--algorithms", "cw,magic"], "'magic' is not one of cw", 2),
        (["--algorithms", "cw,cw"], "must be different ones", 2),
        (["--folds", "1"], "must be an integer from 2 on", 2),
        (["--noise", "0,2"], "must be a number with 0 <= noise < 1", 2),
        (["--folds", "5000"], "too few for 5000 folds", 1),
        (["--report", "/nowhere/r.html"], "nowhere", 1),
    ],
)
def test_compare_refuses_bad_flags(texts, flags, message, status):
    assert message in fail("compare", texts[0], *flags, status=status)


@pytest.mark.parametrize("flag", ["--report", "--journal"])
def test_a_file_that_cannot_be_written_is_known_before_the_data_are_read(flag, texts, monkeypatch):
    monkeypatch.setattr(compare, "read", None)
    assert "there is no such folder to write to" in fail("compare", texts[0], flag, "/nowhere/r.html")


def test_files_of_a_comparison_do_not_overwrite_each_other(texts, tmp_path):
    flags = ["--algorithms", "perceptron", "--folds", 3]
    both = ["--report", tmp_path / "x", "--journal", tmp_path / "x"]
    assert "cannot be both" in fail("compare", texts[0], *flags, *both, status=2)
    (tmp_path / "names").write_text("a\nb\u2028c\n")
    assert "--names is for the report" in fail("compare", texts[0], *flags, "--names", tmp_path / "names", status=2)
    clash = ["--names", tmp_path / "names", "--report", tmp_path / "names"]
    assert "is both read and written" in fail("compare", texts[0], *flags, *clash, status=2)
    assert feature_names(tmp_path / "names")[:3] == ["0", "a", "b\u2028c"]


def test_ctrl_c_keeps_finished_trials_and_the_same_command_goes_on(texts, tmp_path):
    flags = ["--folds", "10", "--epochs", "10", "--report", str(tmp_path / "r.html"), "--workers", "1"]
    command = [sys.executable, "-m", "cwlearn", "compare", str(texts[0]), *flags]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
        journal = tmp_path / "r.html.journal"
        while process.poll() is None and not (journal.exists() and journal.read_bytes().count(b"\n") > 5):
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        message = process.communicate()[1]
    assert process.returncode == 130
    assert re.search(r"interrupted after \d+ of \d+ trials; the same command goes on from .*r\.html\.journal", message)
    kept = journal.read_bytes().count(b"\n")
    assert kept > 5
    assert subprocess.run(command, capture_output=True).returncode == 0
    assert (tmp_path / "r.html").exists()
    assert not journal.exists()


def test_compare_names_a_bad_line_and_a_repeated_file(tmp_path):
    (tmp_path / "bad.svm").write_text("1 1:1\n2 2:x\n")
    assert "bad.svm:2:3: value is not a decimal number" in fail("compare", tmp_path / "bad.svm")
    assert "a data set is given twice" in fail("compare", *[tmp_path / "bad.svm"] * 2, status=2)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("a/spam.svm.gz", "spam"),
        ("spam.svmlight", "spam"),
        ("spam", "spam"),
        (".svm", ".svm"),
        ("x.svm.txt.zst", "x"),
        ("-", "standard input"),
        ("a\n.svm", r"a\n"),
    ],
)
def test_a_data_set_has_the_name_of_its_file(path, name):
    assert short_name(path) == name
