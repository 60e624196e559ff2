"""Journals: an interrupted comparison goes on, and the journal of another comparison is refused."""

from __future__ import annotations

import json
import os

import pytest
from sklearn.linear_model import LogisticRegression

from cwlearn import evaluation
from cwlearn.errors import DataError
from cwlearn.evaluation import journal
from cwlearn.evaluation.data_sets import DataSet
from cwlearn.evaluation.runner import TrialMonitor
from tests.evaluation.cases import FEW, without_seconds


class Interrupts(TrialMonitor):
    """Interrupts a comparison after some trials."""

    def __init__(self, after):
        self.left = after

    def trial_ended(self, outcome):
        self.left -= 1
        if not self.left:
            raise KeyboardInterrupt


def test_a_comparison_that_was_interrupted_goes_on(data, comparison, tmp_path):
    path = tmp_path / "journal"
    options = {"algorithms": FEW, "folds": 4, "epochs": 3, "journal": path}
    with pytest.raises(KeyboardInterrupt):
        evaluation.compare(*data, **options, monitor=Interrupts(5))
    kept = path.read_text().splitlines()
    assert 6 <= len(kept) < 17
    path.write_text("\n".join(kept) + '\n{"data_set": "da')  # an unfinished line
    again = evaluation.compare(*data, **options)
    assert without_seconds(again) == without_seconds(comparison)
    assert path.read_text().splitlines()[: len(kept)] == kept
    assert len(path.read_text().splitlines()) == 17
    before = path.read_bytes()
    evaluation.compare(*data, **options)
    assert path.read_bytes() == before


def test_the_journal_of_something_else_is_refused_and_stays(data, tmp_path):
    path = tmp_path / "journal"
    options = {"algorithms": ["perceptron"], "folds": 3, "epochs": 1, "journal": path}
    evaluation.compare(*data, **options)
    before = path.read_bytes()
    with pytest.raises(DataError, match="the journal of another comparison: it differs in data, seed; delete it"):
        evaluation.compare(*data, **options, seed=5)
    with pytest.raises(DataError, match="differs in data"):
        evaluation.compare(data[0] * 2, data[1], **options)
    assert path.read_bytes() == before
    for diary in ("a diary\n", "a diary without an end", "{}\n", "[1, 2]"):
        path.write_text(diary)
        with pytest.raises(DataError, match="the journal of"):
            evaluation.compare(*data, **options)
        assert path.read_text() == diary


def test_a_journal_knows_estimators_by_their_parameters(data, tmp_path):
    options = {"folds": 3, "journal": tmp_path / "journal"}
    evaluation.compare(*data, algorithms={"mine": LogisticRegression(C=1e-6)}, **options)
    with pytest.raises(DataError, match="another comparison: it differs in algorithms"):
        evaluation.compare(*data, algorithms={"mine": LogisticRegression(C=10)}, **options)


def test_a_journal_that_ended_in_its_first_line_begins_anew(data, tmp_path):
    path = tmp_path / "journal"
    options = {"algorithms": ["perceptron"], "folds": 3, "epochs": 1, "journal": path}
    evaluation.compare(*data, **options)
    whole = path.read_bytes()
    path.write_bytes(whole[:20])
    evaluation.compare(*data, **options)
    assert len(path.read_bytes().splitlines()) == 4


NESTED: list = []
for _ in range(100):
    NESTED = [NESTED]


@pytest.mark.parametrize(
    "change",
    [
        {"data_set": "other"},
        {"data_set": ["data"]},
        {"candidate": "arow"},
        {"noise": 0.5},
        {"noise": float("nan")},
        {"fold": 3},
        {"fold": -1},
        {"fold": True},
        {"fold": 1.0},
        {"rows": 0},
        {"rows": 10**9},
        {"rows": "3"},
        {"wrong": None},
        {"wrong": {}},
        {"wrong": [-1]},
        {"wrong": [10**6]},
        {"wrong": [1.5]},
        {"wrong": ["1"]},
        {"wrong": "twice"},
        {"wrong": [*range(1000)]},
        {"setting": {"C": 1}},
        {"setting": NESTED},
        {"by_epoch": [float("nan")]},
        {"by_epoch": [2.0]},
        {"by_epoch": []},
        {"by_epoch": [0.5] * 100},
        {"epochs": 0},
        {"epochs": 2},
        {"epochs": 0.5},
        {"progress": [[1]]},
        {"progress": [[2, 0], [1, 0]]},
        {"progress": [[1, 2**70]]},
        {"progress": [["a", "b"]]},
        {"mistakes": -1},
        {"mistakes": 0.5},
        {"updates": float("inf")},
        {"seconds": float("nan")},
        {"seconds": -1},
        {"bins": [[1, 2, 3]]},
        {"bins": [[0, 0, float("inf")]] * 10},
        {"bins": {}},
        {"distribution_bins": [[1, 2, 3]]},
        {"more": 1},
        "an entry is left out",
        "nested too deeply",
        "too long",
        "a list",
    ],
    ids=lambda change: str(change)[:40],
)
def test_x09_entries_that_no_trial_can_have_written_are_refused(change, data, tmp_path, monkeypatch):
    path = tmp_path / "journal"
    options = {"algorithms": ["perceptron"], "folds": 3, "epochs": 1, "journal": path}
    evaluation.compare(*data, **options)
    lines = path.read_bytes().splitlines()
    entry = json.loads(lines[2])
    if isinstance(change, dict):
        entry.update(change)
        if change.get("wrong") == "twice":
            first = DataSet.from_matrix("data", *data, 3, 0).fold(entry["fold"]).start
            entry["wrong"] = [first, first]
        lines[2] = json.dumps(entry).encode()
    elif change == "an entry is left out":
        del entry["progress"]
        lines[2] = json.dumps(entry).encode()
    elif change == "nested too deeply":
        lines[2] = b"[" * 10**5 + b"]" * 10**5
    elif change == "too long":
        monkeypatch.setattr(journal, "LINE_BYTES", 10_000)
        monkeypatch.setattr(journal, "ROW_BYTES", 0)
        lines[2] = lines[2] + b" " * 10**5
    else:
        lines[2] = b"[1, 2]"
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    before = path.read_bytes()
    with pytest.raises(DataError, match="journal:3: not the journal of a comparison: "):
        evaluation.compare(*data, **options)
    assert path.read_bytes() == before


def test_x09_a_journal_is_a_regular_file(data, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for odd in ("/dev/zero", tmp_path / "pipe"):
        with pytest.raises(DataError, match="not a regular file"):
            evaluation.compare(*data, algorithms=["perceptron"], folds=3, epochs=1, journal=odd)


def test_x09_journals_of_all_kinds_of_candidates_are_taken_back(data, tmp_path):
    """Whatever a trial can bring about is no forgery."""
    path = tmp_path / "journal"
    options = {"algorithms": [*evaluation.ALGORITHMS], "folds": 3, "epochs": 2, "noise": [0.0, 0.1], "journal": path}
    first = evaluation.compare(*data, **options)
    again = evaluation.compare(*data, **options, monitor=NothingBegins())
    assert without_seconds(first) == without_seconds(again)


class NothingBegins(TrialMonitor):
    def trial_started(self, what):
        raise AssertionError(what)


def test_a_monitor_is_told_of_all_trials_and_of_each_that_has_ended(data, tmp_path):
    class Counts(TrialMonitor):
        def __init__(self):
            self.told = []

        def started(self, count):
            self.told.append(count)

        def trial_ended(self, outcome):
            self.told.append(outcome.fold)

    options = {"algorithms": ["perceptron"], "folds": 3, "epochs": 1, "journal": tmp_path / "journal"}
    for _ in range(2):  # the second time all of them are in the journal
        monitor = Counts()
        evaluation.compare(*data, **options, monitor=monitor)
        assert monitor.told[0] == 3
        assert sorted(monitor.told[1:]) == [0, 1, 2]
    about = json.loads((tmp_path / "journal").read_text().splitlines()[0])
    assert [*about] == ["versions", "data", "algorithms", "noise", "folds", "epochs", "seed", "tuned_once"]
    assert [*about["versions"]] == ["cwlearn", "numpy", "scikit-learn"]
