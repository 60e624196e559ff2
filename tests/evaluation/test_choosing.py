"""Tuning and comparing: ranks, McNemar and folds against hand-made cases, no look at test rows, journals, the page."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from itertools import combinations, pairwise
from math import comb
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import binomtest, rankdata
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from threadpoolctl import threadpool_info

from cwlearn import evaluation
from cwlearn.cli.common import feature_names
from cwlearn.core.learner import Learner
from cwlearn.errors import DataError
from cwlearn.evaluation import comparison
from cwlearn.evaluation.candidates import CANDIDATES, USUAL
from cwlearn.evaluation.data_sets import DataSet, dealt
from cwlearn.evaluation.report import page
from cwlearn.evaluation.significance import holm, mark, mcnemar, ranks
from cwlearn.evaluation.trials import TrialSettings, chosen, trial
from tests.cases import word_counts
from tests.text_cases import fail, random_text, succeed

FEW = ["cw", "arow", "perceptron", "naive-bayes"]


@pytest.fixture(scope="module")
def data():
    return word_counts()


@pytest.fixture(scope="module")
def found(data):
    return evaluation.compare(*data, algorithms=FEW, folds=4, epochs=3)


# -- statistics --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("one", "other"), [(0, 0), (0, 1), (3, 3), (10, 2), (2, 10), (40, 60), (500, 420), (1, 3000)])
def test_mcnemar_is_the_exact_binomial_test(one, other):
    expected = binomtest(one, one + other, 0.5).pvalue if one + other else 1.0
    assert mcnemar(one, other) == pytest.approx(expected, rel=1e-9)


def test_mcnemar_by_hand():
    """Of ten rows on which two classifiers differ, one gets two wrong: 2 (1 + 10 + 45) / 2^10."""
    assert mcnemar(2, 8) == pytest.approx(2 * (comb(10, 0) + comb(10, 1) + comb(10, 2)) / 2**10)
    assert [mark(p) for p in (0.2, 0.05, 0.04, 0.009, 0.0009)] == ["", "", "*", "**", "***"]


def test_holm_by_hand():
    """The smallest of four times 4, the next one times 3, and so on; never less than one before, never more than 1."""
    assert holm([0.01, 0.04, 0.03, 0.005]).tolist() == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.4]).tolist() == pytest.approx([0.9, 0.8])
    assert holm([0.9, 0.6]).tolist() == [1, 1]
    assert holm([]).tolist() == []


def of_noise(rng, candidates=8, rows=300):
    """A comparison of classifiers that all guess."""
    data_set = SimpleNamespace(name="noise", folds=1)
    names = [SimpleNamespace(name=f"guess {number}", title="") for number in range(candidates)]
    found = comparison.Comparison([data_set], names, [0.0], TrialSettings())
    for one in names:
        wrong = np.flatnonzero(rng.random(rows) < 0.5).tolist()
        found.outcomes["noise", 0.0, one.name, 0] = SimpleNamespace(error=len(wrong) / rows, wrong=wrong)
    return found


def test_x07_of_classifiers_that_all_guess_none_is_called_clearly_better():
    """Uncorrected, nearly every second report would say so; Holm promises at most one in twenty."""
    rng = np.random.default_rng(0)
    corrected = raw = 0
    for _ in range(300):
        found = of_noise(rng)
        best, *others = (found.candidates[j].name for j in found.order(0.0))
        corrected += any(found.corrected_p_value("noise", 0.0, best, other) < 0.05 for other in others)
        raw += any(found.p_value("noise", 0.0, best, other) < 0.05 for other in others)
    assert corrected <= 15 + 3 * (300 * 0.05 * 0.95) ** 0.5 < 100 < raw  # one in twenty, and three deviations


def test_x07_the_correction_counts_all_pairs_sets_and_noises(data):
    X, y = data
    found = evaluation.compare({"a": (X, y), "b": (X, y)}, algorithms=FEW, folds=2, epochs=1, noise=[0.0, 0.2])
    assert found.tests == 2 * 2 * 6
    pairs = list(combinations(FEW, 2))
    keys = [(name, noise, *pair) for name in ("a", "b") for noise in (0.0, 0.2) for pair in pairs]
    corrected = holm([found.p_value(*key) for key in keys])
    assert [found.corrected_p_value(*key) for key in keys] == pytest.approx(corrected.tolist())
    assert found.corrected_p_value("a", 0.0, "arow", "cw") == found.corrected_p_value("a", 0.0, "cw", "arow")


@pytest.mark.parametrize("errors", [[3, 1, 2], [1, 1, 1], [0.2, 0.1, 0.2, 0.4], [5]])
def test_ranks_are_scipys(errors):
    assert ranks(errors).tolist() == rankdata(errors).tolist()


def test_who_took_no_part_has_no_rank():
    assert ranks([0.2, np.nan, 0.1]).tolist()[::2] == [2, 1]
    assert np.isnan(ranks([0.2, np.nan, 0.1])[1])


# -- folds -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("folds", [2, 3, 10])
def test_folds_are_disjoint_whole_and_fair(folds):
    y = np.repeat([0, 1, 2], [50, 33, 7])
    order, bounds = dealt(y, folds, np.random.RandomState(0))
    assert sorted(order) == list(range(90))
    sizes = np.diff(bounds)
    assert sizes.max() - sizes.min() <= 1
    counts = np.array([np.bincount(y[order[a:b]], minlength=3) for a, b in pairwise(bounds)])
    assert (counts.max(axis=0) - counts.min(axis=0) <= 1).all()


@pytest.mark.parametrize("folds", [2, 3, 10])
def test_rows_to_learn_to_check_and_to_test_never_meet(data, folds):
    data_set = DataSet.of("data", *data, folds, seed=0)
    for fold in range(folds):
        test, check = data_set.fold(fold), data_set.check(fold)
        train = data_set.rest(test, check)
        parts = [set(range(200)[test]), set(range(200)[check]), set(train.tolist())]
        assert all(parts)
        assert sum(map(len, parts)) == len(set.union(*parts)) == 200


def test_noise_is_in_as_many_labels_as_asked_for_and_never_right():
    X, y = sparse.eye(9000, format="csr"), np.arange(9000) % 3
    data_set = DataSet.of("data", X, y, 3, seed=0)
    noisy = data_set.noisy(0.2, 0)
    assert np.mean(noisy != data_set.y) == pytest.approx(0.2, abs=0.02)
    assert (data_set.noisy(0.2, 0) == noisy).all()
    assert set(((noisy - data_set.y) % 3)[noisy != data_set.y]) == {1, 2}


def test_nothing_is_chosen_by_test_rows(data):
    """Whatever the labels of a fold are, its setting, epochs and model stay the same."""
    data_set = DataSet.of("data", *data, 4, seed=0)
    changed = data_set.y.copy()
    changed[data_set.fold(1)] = 1 - changed[data_set.fold(1)]
    for candidate in (CANDIDATES["cw"], CANDIDATES["svm"]):
        picks = [chosen(candidate, data_set, labels, 1, TrialSettings(3)) for labels in (data_set.y, changed)]
        assert picks[0] == picks[1]
        outcome = trial(candidate, data_set, 0.0, 1, TrialSettings(3))
        assert outcome.setting == picks[0].setting
        other = replace(data_set, y=changed)
        flipped = trial(candidate, other, 0.0, 1, TrialSettings(3))
        tested = set(range(200)[data_set.fold(1)])
        assert set(flipped.wrong) == tested - set(outcome.wrong)


def test_noise_is_in_training_only(data):
    data_set = DataSet.of("data", *data, 4, seed=0)
    outcome = trial(CANDIDATES["arow"], data_set, 0.3, 0, TrialSettings(2))
    assert outcome.rows == 50
    labels = data_set.noisy(0.3, 0)
    fitted = CANDIDATES["arow"].fitted(
        outcome.setting, data_set, labels, data_set.rest(data_set.fold(0)), TrialSettings(2).seed_of(0, True)
    )
    for _ in range(outcome.epochs):
        fitted.fit_epoch()
    wrong = np.flatnonzero(fitted.predict(data_set.fold(0)) != data_set.y[data_set.fold(0)]) + data_set.fold(0).start
    assert wrong.tolist() == outcome.wrong


# -- comparisons -------------------------------------------------------------------------------------------------------


def test_figures_come_from_the_outcomes(found):
    assert len(found.outcomes) == 16
    for one in FEW:
        outcomes = found.of("data", 0.0, one)
        assert [outcome.fold for outcome in outcomes] == [0, 1, 2, 3]
        assert found.error("data", 0.0, one) == np.mean([len(outcome.wrong) / 50 for outcome in outcomes])
        assert all(outcome.by_epoch[outcome.epochs - 1] == outcome.error for outcome in outcomes)
    wrong = [found.wrong("data", 0.0, one) for one in ("cw", "perceptron")]
    assert found.p_value("data", 0.0, "cw", "perceptron") == mcnemar(len(wrong[0] - wrong[1]), len(wrong[1] - wrong[0]))
    errors = found.errors(0.0)[0]
    assert found.mean_ranks(0.0).tolist() == rankdata(errors).tolist()
    assert errors[found.order(0.0)[0]] == errors.min()


def test_batch_learners_have_no_epochs_and_online_ones_do(found):
    assert all(len(outcome.by_epoch) == 3 for outcome in found.of("data", 0.0, "cw"))
    assert all(len(outcome.by_epoch) == 1 for outcome in found.of("data", 0.0, "naive-bayes"))
    for outcome in found.of("data", 0.0, "arow"):
        assert outcome.progress[-1] == [150, outcome.mistakes]


def without_seconds(found):
    return [{**outcome.as_dict(), "seconds": 0} for outcome in found.outcomes.values()]


@pytest.mark.parametrize("workers", [1, 3])
def test_the_same_seed_gives_the_same_figures_for_any_number_of_workers(data, found, workers):
    again = evaluation.compare(*data, algorithms=FEW, folds=4, epochs=3, workers=workers)
    assert without_seconds(again) == without_seconds(found)
    other = evaluation.compare(*data, algorithms=FEW, folds=4, epochs=3, seed=1)
    assert without_seconds(other) != without_seconds(found)


def test_the_same_seed_gives_the_same_page(data, found):
    again = evaluation.compare(*data, algorithms=FEW, folds=4, epochs=3)
    for outcome in (*again.outcomes.values(), *found.outcomes.values()):
        outcome.seconds = 0.5
    assert page(again) == page(found)


def test_folds_do_not_depend_on_the_name_of_the_data(data):
    figures = [evaluation.compare({name: data}, algorithms=["cw"], folds=3, epochs=2) for name in "ab"]
    assert figures[0].error("a", 0.0, "cw") == figures[1].error("b", 0.0, "cw")


def test_the_beginning_of_a_fold_has_its_share_of_every_label():
    y = np.repeat([0, 1], [90, 10])
    for seed in range(20):
        order, bounds = dealt(y, 2, np.random.RandomState(seed))
        assert 1 <= y[order[: bounds[1] // 5 * 2]].sum() <= 3


def test_who_did_not_take_part_everywhere_is_not_the_best(data):
    X, y = load_breast_cancer(return_X_y=True)
    found = evaluation.compare({"cells": (X, y), "words": data}, algorithms=["perceptron", "lda"], folds=3, epochs=1)
    assert found.error("cells", 0.0, "lda") < found.error("cells", 0.0, "perceptron")
    assert [found.candidates[j].name for j in found.order(0.0)] == ["perceptron", "lda"]
    text = page(found)
    assert not re.search(r"\bnan\b", text)
    assert 'title="for dense rows of at most 2,000 features">left out<' in text


def test_a_lead_that_is_not_one_everywhere_is_not_called_clear():
    rng = np.random.default_rng(0)
    X = np.c_[np.ones(300), rng.standard_normal(300)]
    y = X[:, 1] > 0
    sets = {"a": (X, y), "b": (X, y), "c": (X[:, ::-1] * [1, 1], rng.random(300) < 0.9)}
    good, bad = DummyClassifier(strategy="uniform", random_state=0), DummyClassifier(strategy="most_frequent")
    found = evaluation.compare(sets, algorithms={"good": good, "bad": bad, "cw": "cw"}, folds=3, epochs=2)
    text = page(found)
    best = found.candidates[found.order(0.0)[0]]
    beaten = [
        other.name
        for other in found.candidates
        if other is not best
        and all(
            found.corrected_p_value(name, 0.0, best.name, other.name) < 0.05
            and found.error(name, 0.0, best.name) < found.error(name, 0.0, other.name)
            for name in sets
        )
    ]
    said = re.search(r"clearly better than (\d) of the 2 others", text)
    assert (int(said[1]) if said else 0) == len(beaten)


def test_nobody_left_is_an_error_with_the_reasons(data):
    with pytest.raises(DataError, match="data: nobody is left to learn these data: lda is for dense rows"):
        evaluation.compare(*data, algorithms=["lda"], folds=3)


def test_errors_say_who_and_where(data, monkeypatch):
    X, y = data

    def learn(*args):
        raise DataError("cannot be learned", row=5)

    with monkeypatch.context() as patch:
        patch.setattr(Learner, "learn", learn)
        row = DataSet.of("data", X, y, 3, 0).order[5]
        with pytest.raises(DataError, match=rf"data: cw, fold 1 of 3: row {row}: cannot be learned"):
            evaluation.compare(X, y, algorithms=["cw"], folds=3, epochs=1, workers=1)
    with pytest.raises(DataError, match=r"data: mine, fold 1 of 3: ValueError: it predicts .* is it a classifier"):
        evaluation.compare(X, np.arange(200) % 2, algorithms={"mine": Ridge()}, folds=3, workers=1)


def test_estimators_see_the_labels_and_keep_their_seeds(data):
    weighted = LogisticRegression(class_weight={"yes": 2, "no": 1})
    seeded = SGDClassifier(max_iter=2, tol=None, random_state=3)
    piped = make_pipeline(MaxAbsScaler(), SGDClassifier(max_iter=2, tol=None))
    algorithms = {"weighted": weighted, "seeded": seeded, "piped": piped}
    found = [evaluation.compare(*data, algorithms=algorithms, folds=3, seed=seed) for seed in (0, 0)]
    assert without_seconds(found[0]) == without_seconds(found[1])
    data_set = found[0].data_sets[0]
    train = data_set.rest(data_set.fold(0))
    expected = clone(seeded).fit(data_set.X[train], data_set.classes[data_set.y[train]])
    wrong = expected.predict(data_set.X[data_set.fold(0)]) != data_set.classes[data_set.y[data_set.fold(0)]]
    assert found[0].of("data", 0.0, "seeded")[0].wrong == np.flatnonzero(wrong).tolist()


def test_blas_has_one_thread_for_each_trial():
    class Counts(DummyClassifier):
        def fit(self, X, y):
            seen.append(max((one["num_threads"] for one in threadpool_info()), default=1))
            return super().fit(X, y)

    seen = []
    evaluation.compare(np.eye(40), np.arange(40) % 2, algorithms={"counts": Counts()}, folds=2)
    assert set(seen) == {1}


@pytest.mark.parametrize("name", CANDIDATES)
def test_every_contestant_learns(name):
    X, y = load_iris(return_X_y=True)
    labels = y if name in ("lda", "cw") else y > 0
    found = evaluation.compare(X, labels, algorithms=[name], folds=3, epochs=2)
    assert found.error("data", 0.0, name) < 0.35


def test_who_cannot_learn_the_data_is_left_out_with_the_reason():
    X = sparse.random(60, 40, 0.1, random_state=0, data_rvs=np.random.default_rng(0).standard_normal, format="csr")
    found = evaluation.compare(X, np.arange(60) % 2, algorithms=["cw", "lda", "naive-bayes"], folds=3, epochs=1)
    assert found.refusals == {
        ("data", "lda"): "for dense rows of at most 2,000 features",
        ("data", "naive-bayes"): "for counts, and some values are negative",
    }
    assert np.isnan(found.error("data", 0.0, "lda"))
    assert "left out" in page(found)


def test_estimators_of_others_take_part(data):
    estimators = {"guess": DummyClassifier(), "prior": DummyClassifier(strategy="prior")}
    found = evaluation.compare(*data, algorithms=estimators, folds=3, noise=[0.0, 0.2])
    assert found.error("data", 0.2, "guess") > 0.2
    assert found.p_value("data", 0.0, "guess", "prior") == 1


def test_tuned_once_is_the_choice_of_the_first_fold(data):
    found = evaluation.compare(*data, algorithms=["cw"], folds=4, epochs=3, tuned_once=True)
    outcomes = found.of("data", 0.0, "cw")
    assert len({json.dumps([outcome.setting, outcome.epochs]) for outcome in outcomes}) == 1
    each = evaluation.compare(*data, algorithms=["cw"], folds=4, epochs=3).of("data", 0.0, "cw")
    assert (outcomes[0].setting, outcomes[0].epochs) == (each[0].setting, each[0].epochs)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"algorithms": ["cw", "magic"]}, r"algorithm must be one of .*, got 'magic'"),
        ({"algorithms": ["cw", "cw"]}, "different ones"),
        ({"algorithms": []}, "one or more"),
        ({"folds": 1}, "folds must be an integer from 2 on"),
        ({"noise": [0.1, 0.1]}, "one or more different numbers"),
        ({"noise": []}, "one or more different numbers"),
        ({"noise": 1.0}, "noise must be a number with 0 <= noise < 1"),
        ({"epochs": 0}, "epochs must be a positive integer"),
        ({"folds": 150}, "200 rows are too few for 150 folds"),
    ],
)
def test_what_makes_no_sense_is_refused(data, arguments, message):
    with pytest.raises(ValueError, match=message):
        evaluation.compare(*data, **{"algorithms": ["perceptron"], **arguments})


def test_labels_must_be_two_or_more_and_not_too_rare(data):
    X, _ = data
    with pytest.raises(DataError, match="two labels are needed to compare classifiers, found 1"):
        evaluation.compare(X, np.zeros(200), algorithms=["cw"])
    with pytest.raises(DataError, match="label 7 has too few rows to learn, to check and to test in 10 folds"):
        evaluation.compare(X, np.r_[7, np.arange(199) % 2], algorithms=["cw"])
    with pytest.raises(DataError, match="y must have one label for each of 200 rows"):
        evaluation.compare(X, [0, 1, 0], algorithms=["cw"], folds=2)


# -- journals ----------------------------------------------------------------------------------------------------------


class Interrupts(comparison.TrialMonitor):
    def __init__(self, after):
        self.left = after

    def ends(self, outcome):
        self.left -= 1
        if not self.left:
            raise KeyboardInterrupt


def test_a_comparison_that_was_interrupted_goes_on(data, found, tmp_path):
    path = tmp_path / "journal"
    options = {"algorithms": FEW, "folds": 4, "epochs": 3, "journal": path}
    with pytest.raises(KeyboardInterrupt):
        evaluation.compare(*data, **options, monitor=Interrupts(5))
    kept = path.read_text().splitlines()
    assert 6 <= len(kept) < 17
    path.write_text("\n".join(kept) + '\n{"data_set": "da')  # a line that was never finished
    again = evaluation.compare(*data, **options)
    assert without_seconds(again) == without_seconds(found)
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
            first = DataSet.of("data", *data, 3, 0).fold(entry["fold"]).start
            entry["wrong"] = [first, first]
        lines[2] = json.dumps(entry).encode()
    elif change == "an entry is left out":
        del entry["progress"]
        lines[2] = json.dumps(entry).encode()
    elif change == "nested too deeply":
        lines[2] = b"[" * 10**5 + b"]" * 10**5
    elif change == "too long":
        monkeypatch.setattr(comparison, "LINE_BYTES", 10_000)
        monkeypatch.setattr(comparison, "ROW_BYTES", 0)
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


def test_x09_journals_of_all_kinds_of_contestants_are_taken_back(data, tmp_path):
    """Whatever a trial can bring about is no forgery."""
    path = tmp_path / "journal"
    options = {"algorithms": [*evaluation.ALGORITHMS], "folds": 3, "epochs": 2, "noise": [0.0, 0.1], "journal": path}
    first = evaluation.compare(*data, **options)
    again = evaluation.compare(*data, **options, monitor=NothingBegins())
    assert without_seconds(first) == without_seconds(again)


class NothingBegins(comparison.TrialMonitor):
    def begins(self, what):
        raise AssertionError(what)


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


# -- tuning ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("held_out", [0.01, 0.1, 0.3, 0.4, 0.45])
def test_as_much_is_held_out_as_was_asked_for(data, held_out):
    assert evaluation.tune(*data, "perceptron", held_out=held_out, epochs=1).checked == round(200 * held_out)


@pytest.mark.parametrize(
    ("name", "estimator"),
    [("lda", LinearDiscriminantAnalysis), ("maxent", LogisticRegression), ("sgd", SGDClassifier)],
)
def test_parameters_of_rivals_make_the_estimator_that_was_tuned(name, estimator):
    X, y = load_iris(return_X_y=True)
    found = evaluation.tune(X, y, name, epochs=2)
    assert estimator(**found.parameters).fit(X, y).score(X, y) > 0.6


def test_tuning_finds_the_lowest_error(data):
    found = evaluation.tune(*data, "cw", grid={"confidence": [0.6, 0.9]}, epochs=4, held_out=0.25)
    assert [one.setting for one in found.tried] == [{"confidence": 0.6}, {"confidence": 0.9}]
    assert all(len(one.errors) == 4 for one in found.tried)
    assert found.best.error == min(error for one in found.tried for error in one.errors)
    assert found.best.errors[found.best.epochs - 1] == found.best.error
    assert found.rows + found.checked == 200
    assert found.parameters == {**found.best.setting, "epochs": found.best.epochs}
    again = evaluation.tune(*data, "cw", grid={"confidence": [0.6, 0.9]}, epochs=4, held_out=0.25)
    assert again.tried == found.tried


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"grid": {"C": [1.0]}}, "cw cannot be tuned by C; its usual grid is of confidence"),
        ({"grid": {"confidence": []}}, "a list of values for each parameter"),
        ({"grid": {"confidence": [2.0]}}, "confidence must be a number"),
        ({"held_out": 0.9}, "held_out must be"),
        ({"algorithm": "lda"}, "lda cannot learn these data"),
    ],
)
def test_tuning_refuses_what_makes_no_sense(data, options, message):
    with pytest.raises(ValueError, match=message):
        evaluation.tune(*data, **{"algorithm": "cw", **options})


# -- the command line --------------------------------------------------------------------------------------------------


@pytest.fixture
def texts(tmp_path):
    paths = []
    for number in range(2):
        paths.append(tmp_path / f"set-{number}.svm")
        lines = (random_text() * 3).splitlines(keepends=True)
        paths[-1].write_text("".join(lines[number:]), newline="")
    return paths


def test_compare_on_the_command_line(texts, tmp_path):
    flags = ["--algorithms", "cw,arow,svm", "--folds", 3, "--epochs", 2, "--noise", "0,0.1"]
    words = succeed("compare", *texts, *flags, "--report", tmp_path / "r.html").out
    assert "mean rank" in words
    assert "10 % of the training labels wrong" in words
    assert not (tmp_path / "r.html.journal").exists()
    assert "set-0" in (tmp_path / "r.html").read_text()
    report = succeed("compare", *texts, *flags, "--json").json
    assert {entry["algorithm"] for entry in report["results"]} == {"cw", "arow", "svm"}
    assert {(entry["data"], entry["noise"]) for entry in report["results"]} == {
        (data, noise) for data in ("set-0", "set-1") for noise in (0.0, 0.1)
    }
    for entry in report["results"]:
        assert entry["error"] == pytest.approx(np.mean(entry["errors"]))


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
def test_compare_refuses_what_makes_no_sense(texts, flags, message, status):
    assert message in fail("compare", texts[0], *flags, status=status)


def test_files_of_a_comparison_are_not_mixed_up(texts, tmp_path):
    flags = ["--algorithms", "perceptron", "--folds", 3]
    both = ["--report", tmp_path / "x", "--journal", tmp_path / "x"]
    assert "cannot be both" in fail("compare", texts[0], *flags, *both, status=2)
    (tmp_path / "names").write_text("a\nb\u2028c\n")
    assert "--names is for the page" in fail("compare", texts[0], *flags, "--names", tmp_path / "names", status=2)
    clash = ["--names", tmp_path / "names", "--report", tmp_path / "names"]
    assert "is both read and written" in fail("compare", texts[0], *flags, *clash, status=2)
    assert feature_names(tmp_path / "names")[:3] == ["0", "a", "b\u2028c"]


def test_ctrl_c_keeps_what_is_done_and_the_same_command_goes_on(texts, tmp_path):
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


def test_compare_names_a_bad_line(tmp_path):
    (tmp_path / "bad.svm").write_text("1 1:1\n2 2:x\n")
    assert "bad.svm:2:3: value is not a decimal number" in fail("compare", tmp_path / "bad.svm")
    assert "is wanted once" in fail("compare", *[tmp_path / "bad.svm"] * 2, status=2)


def test_tune_on_the_command_line(texts):
    words = succeed("tune", texts[0], "-a", "cw-variance", "--grid", "confidence=0.6,0.9", "--epochs", 3).out
    assert words.count(" %") == 2
    assert words.count("<- best") == 1
    assert re.search(
        r"cwlearn train .*set-0\.svm -m MODEL -a cw --form variance --confidence 0\.[69] --epochs [123]", words
    )
    report = succeed("tune", texts[0], "-a", "svm", "--grid", "C=0.1,1", "--json").json
    assert report["setting"]["C"] in (0.1, 1)
    assert len(report["tried"]) == 2


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["-a", "cw", "--grid", "confidence"], "--grid must be NAME=V1,V2,..., got 'confidence'"),
        (["-a", "cw", "--grid", "r=1"], "cw has no parameter r to tune; it has"),
        (["-a", "cw", "--grid", "confidence=2"], "--grid confidence must be a number"),
        (["-a", "cw-variance", "--grid", "form=stdev"], "no parameter form to tune"),
        (["--held-out", "0.9"], "must be a number with 0 < held_out"),
    ],
)
def test_tune_refuses_what_makes_no_sense(texts, flags, message):
    assert message in fail("tune", texts[0], *flags, status=2)


def test_the_usual_contestants_are_ours_and_rivals():
    assert {"cw", "arow", "perceptron", "pa", "sop", "sgd", "naive-bayes", "maxent", "svm", "lda"} <= set(USUAL)
