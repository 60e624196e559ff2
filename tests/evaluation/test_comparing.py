"""Comparisons: figures, candidates of all kinds, refused arguments, and the same figures for the same seed."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import VotingClassifier
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.svm import SVC, LinearSVC
from threadpoolctl import threadpool_info

from cwlearn import evaluation
from cwlearn.core.learner import Learner
from cwlearn.errors import DataError
from cwlearn.evaluation.algorithms import CANDIDATES, DEFAULT_ALGORITHMS
from cwlearn.evaluation.data_sets import DataSet
from cwlearn.evaluation.report_page import page
from cwlearn.evaluation.significance import mcnemar
from tests.evaluation.cases import FEW, without_seconds


def test_figures_come_from_the_outcomes(comparison):
    assert len(comparison.outcomes) == 16
    for name in FEW:
        outcomes = comparison.outcomes_of("data", 0.0, name)
        assert [outcome.fold for outcome in outcomes] == [0, 1, 2, 3]
        assert comparison.error("data", 0.0, name) == np.mean([len(outcome.wrong) / 50 for outcome in outcomes])
        assert all(outcome.by_epoch[outcome.epochs - 1] == outcome.error for outcome in outcomes)
    cw, perceptron = (comparison.wrong_rows("data", 0.0, name) for name in ("cw", "perceptron"))
    p_value = mcnemar(len(cw - perceptron), len(perceptron - cw))
    assert comparison.p_value("data", 0.0, "cw", "perceptron") == p_value
    errors = comparison.errors(0.0)[0]
    assert comparison.mean_ranks(0.0).tolist() == rankdata(errors).tolist()
    assert errors[comparison.ranking(0.0)[0]] == errors.min()


def test_a_comparison_prints_its_errors_from_the_best_on(comparison):
    first, *lines = repr(comparison).splitlines()
    assert first == "Test errors in cross-validation"
    assert len(lines) == len(comparison.data_sets) * len(comparison.noises)
    shown = [float(part.split()[1]) for part in lines[0].partition(": ")[2].split(", ")]
    assert shown == sorted(shown)
    assert len(shown) == len(comparison.candidates)


def test_names_that_are_not_in_the_comparison_are_refused(comparison):
    with pytest.raises(ValueError, match="there is no data set 'words' in this comparison, but data"):
        comparison.error("words", 0.0, "cw")
    with pytest.raises(ValueError, match="there is no candidate 'svm' in this comparison, but cw, arow"):
        comparison.error("data", 0.0, "svm")
    with pytest.raises(ValueError, match=r"noise 0\.1 is not in this comparison, but 0\.0"):
        comparison.error("data", 0.1, "cw")


def test_online_learners_have_epochs_and_batch_learners_do_not(comparison):
    assert all(len(outcome.by_epoch) == 3 for outcome in comparison.outcomes_of("data", 0.0, "cw"))
    assert all(len(outcome.by_epoch) == 1 for outcome in comparison.outcomes_of("data", 0.0, "naive-bayes"))
    for outcome in comparison.outcomes_of("data", 0.0, "arow"):
        assert outcome.progress[-1] == [150, outcome.mistakes]


@pytest.mark.parametrize("workers", [1, 3])
def test_the_same_seed_gives_the_same_figures_for_any_number_of_workers(data, comparison, workers):
    again = evaluation.compare(*data, algorithms=FEW, folds=4, epochs=3, workers=workers)
    assert without_seconds(again) == without_seconds(comparison)
    other = evaluation.compare(*data, algorithms=FEW, folds=4, epochs=3, seed=1)
    assert without_seconds(other) != without_seconds(comparison)


def test_estimators_with_one_random_generator_for_all_threads_take_turns(data):
    X, y = data
    noisy = np.where(np.random.default_rng(0).random(len(y)) < 0.3, np.roll(y, 1), y)
    svm = LinearSVC(dual=True, C=10.0, max_iter=20)  # which does not converge: the order of its steps matters
    algorithms = {
        "svm": svm,
        "piped": make_pipeline(MaxAbsScaler(), svm),
        "several": VotingClassifier([("one", clone(svm)), ("other", SVC(probability=True))]),
        "logistic": LogisticRegression(solver="liblinear", dual=True, C=100.0, max_iter=5),
    }
    first, *others = (
        without_seconds(evaluation.compare(X, noisy, algorithms=algorithms, folds=4, workers=workers))
        for workers in (1, 4, 4)
    )
    assert all(other == first for other in others)


def test_folds_do_not_depend_on_the_name_of_the_data(data):
    comparisons = [evaluation.compare({name: data}, algorithms=["cw"], folds=3, epochs=2) for name in "ab"]
    assert comparisons[0].error("a", 0.0, "cw") == comparisons[1].error("b", 0.0, "cw")


def test_a_candidate_that_is_excluded_from_some_data_sets_is_not_the_best(data):
    cells = load_breast_cancer(return_X_y=True)
    comparison = evaluation.compare(
        {"cells": cells, "words": data}, algorithms=["perceptron", "lda"], folds=3, epochs=1
    )
    assert comparison.error("cells", 0.0, "lda") < comparison.error("cells", 0.0, "perceptron")
    assert [comparison.candidates[index].name for index in comparison.ranking(0.0)] == ["perceptron", "lda"]
    text = page(comparison)
    assert not re.search(r"\bnan\b", text)
    assert 'title="for dense rows of at most 2,000 features">left out<' in text


def test_an_error_with_all_reasons_if_no_candidate_is_left(data):
    with pytest.raises(DataError, match="data: no candidate can learn these data: lda is for dense rows"):
        evaluation.compare(*data, algorithms=["lda"], folds=3)


def test_errors_name_the_trial_and_the_row(data, monkeypatch):
    X, y = data

    def learn(*args):
        raise DataError("cannot be learned", row=5)

    with monkeypatch.context() as patch:
        patch.setattr(Learner, "learn", learn)
        row = DataSet.from_matrix("data", X, y, 3, 0).original_rows[5]
        with pytest.raises(DataError, match=rf"data: cw, fold 1 of 3: row {row}: cannot be learned"):
            evaluation.compare(X, y, algorithms=["cw"], folds=3, epochs=1, workers=1)
    with pytest.raises(DataError, match=r"data: mine, fold 1 of 3: ValueError: it predicts .* is it a classifier"):
        evaluation.compare(X, np.arange(200) % 2, algorithms={"mine": Ridge()}, folds=3, workers=1)


def test_estimators_see_the_labels_and_keep_their_seeds(data):
    weighted = LogisticRegression(class_weight={"yes": 2, "no": 1})
    seeded = SGDClassifier(max_iter=2, tol=None, random_state=3)
    piped = make_pipeline(MaxAbsScaler(), SGDClassifier(max_iter=2, tol=None))
    algorithms = {"weighted": weighted, "seeded": seeded, "piped": piped}
    first, second = (evaluation.compare(*data, algorithms=algorithms, folds=3, seed=0) for _ in range(2))
    assert without_seconds(first) == without_seconds(second)
    data_set = first.data_sets[0]
    train = data_set.rows_outside(data_set.fold(0))
    expected = clone(seeded).fit(data_set.X[train], data_set.classes[data_set.y[train]])
    wrong = expected.predict(data_set.X[data_set.fold(0)]) != data_set.classes[data_set.y[data_set.fold(0)]]
    assert first.outcomes_of("data", 0.0, "seeded")[0].wrong == np.flatnonzero(wrong).tolist()


def test_blas_has_one_thread_for_each_trial():
    class Counts(DummyClassifier):
        def fit(self, X, y):
            seen.append(max((library["num_threads"] for library in threadpool_info()), default=1))
            return super().fit(X, y)

    seen = []
    evaluation.compare(np.eye(40), np.arange(40) % 2, algorithms={"counts": Counts()}, folds=2)
    assert set(seen) == {1}


@pytest.mark.parametrize("name", CANDIDATES)
def test_every_candidate_learns(name):
    X, y = load_iris(return_X_y=True)
    labels = y if name in ("lda", "cw") else y > 0
    comparison = evaluation.compare(X, labels, algorithms=[name], folds=3, epochs=2)
    assert comparison.error("data", 0.0, name) < 0.35


def test_a_candidate_that_cannot_learn_the_data_is_excluded_with_the_reason():
    X = sparse.random(60, 40, 0.1, random_state=0, data_rvs=np.random.default_rng(0).standard_normal, format="csr")
    comparison = evaluation.compare(X, np.arange(60) % 2, algorithms=["cw", "lda", "naive-bayes"], folds=3, epochs=1)
    assert comparison.excluded == {
        ("data", "lda"): "for dense rows of at most 2,000 features",
        ("data", "naive-bayes"): "for counts, and some values are negative",
    }
    assert np.isnan(comparison.error("data", 0.0, "lda"))
    assert "left out" in page(comparison)


def test_other_estimators_can_take_part(data):
    estimators = {"guess": DummyClassifier(), "prior": DummyClassifier(strategy="prior")}
    comparison = evaluation.compare(*data, algorithms=estimators, folds=3, noise=[0.0, 0.2])
    assert comparison.error("data", 0.2, "guess") > 0.2
    assert comparison.p_value("data", 0.0, "guess", "prior") == 1


def test_tuned_once_is_the_choice_of_the_first_fold(data):
    comparison = evaluation.compare(*data, algorithms=["cw"], folds=4, epochs=3, tuned_once=True)
    outcomes = comparison.outcomes_of("data", 0.0, "cw")
    assert len({json.dumps([outcome.setting, outcome.epochs]) for outcome in outcomes}) == 1
    tuned_in_each = evaluation.compare(*data, algorithms=["cw"], folds=4, epochs=3).outcomes_of("data", 0.0, "cw")
    assert (outcomes[0].setting, outcomes[0].epochs) == (tuned_in_each[0].setting, tuned_in_each[0].epochs)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"algorithms": ["cw", "magic"]}, r"`algorithm` must be one of .*, got 'magic'"),
        ({"algorithms": ["cw", "cw"]}, "different ones"),
        ({"algorithms": []}, "one or more"),
        ({"folds": 1}, "`folds` must be an integer from 2 on"),
        ({"noise": [0.1, 0.1]}, "one or more different numbers"),
        ({"noise": []}, "one or more different numbers"),
        ({"noise": 1.0}, "`noise` must be a number with 0 <= noise < 1"),
        ({"epochs": 0}, "`epochs` must be a positive integer"),
        ({"folds": 150}, "200 rows are too few for 150 folds"),
    ],
)
def test_bad_arguments_are_refused(data, arguments, message):
    with pytest.raises(ValueError, match=message):
        evaluation.compare(*data, **{"algorithms": ["perceptron"], **arguments})


def test_the_default_algorithms_are_rules_of_this_package_and_of_scikit_learn():
    expected = {"cw", "arow", "perceptron", "pa", "sop", "sgd", "naive-bayes", "maxent", "svm", "lda"}
    assert expected <= set(DEFAULT_ALGORITHMS)
