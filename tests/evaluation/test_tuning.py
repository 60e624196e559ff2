"""Tuning: the best setting, its parameters, and refused arguments."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_classification
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, SGDClassifier

from cwlearn import evaluation
from cwlearn.errors import DataError


@pytest.mark.parametrize("held_out", [0.01, 0.1, 0.3, 0.4, 0.45])
def test_as_many_rows_are_held_out_as_asked_for(data, held_out):
    tuning = evaluation.tune(*data, "perceptron", held_out=held_out, epochs=1)
    assert tuning.n_held_out_rows == round(200 * held_out)


@pytest.mark.parametrize(
    ("name", "estimator"),
    [("lda", LinearDiscriminantAnalysis), ("maxent", LogisticRegression), ("sgd", SGDClassifier)],
)
def test_parameters_make_the_estimator_that_was_tuned(name, estimator):
    X, y = load_iris(return_X_y=True)
    tuning = evaluation.tune(X, y, name, epochs=2)
    assert estimator(**tuning.parameters).fit(X, y).score(X, y) > 0.6


def test_tuning_finds_the_lowest_error(data):
    options = {"grid": {"confidence": [0.6, 0.9]}, "epochs": 4, "held_out": 0.25}
    tuning = evaluation.tune(*data, "cw", **options)
    assert [result.setting for result in tuning.tried] == [{"confidence": 0.6}, {"confidence": 0.9}]
    assert all(len(result.errors) == 4 for result in tuning.tried)
    assert tuning.best.error == min(error for result in tuning.tried for error in result.errors)
    assert tuning.best.errors[tuning.best.epochs - 1] == tuning.best.error
    assert tuning.n_train_rows + tuning.n_held_out_rows == 200
    assert tuning.parameters == {**tuning.best.setting, "epochs": tuning.best.epochs}
    assert evaluation.tune(*data, "cw", **options).tried == tuning.tried


def test_the_probabilities_are_those_after_the_best_epoch():
    X, y = make_classification(600, flip_y=0.2, random_state=0)
    options = {"grid": {"regularization": [0.1, 10.0]}, "held_out": 0.3, "seed": 2}
    best = evaluation.tune(X, y, "arow", epochs=5, **options).best
    assert 1 < best.epochs < 5
    # A run that ends there has learned the same rows in the same orders.
    shorter = evaluation.tune(X, y, "arow", epochs=best.epochs, **options).best
    assert (shorter.probabilities, shorter.distribution) == (best.probabilities, best.distribution)
    assert best.probabilities.calibration_error < best.distribution.calibration_error
    assert best.probabilities.log_loss < best.distribution.log_loss


def test_a_classifier_without_probabilities_has_no_figures_of_them(data):
    assert evaluation.tune(*data, "svm").best.probabilities is None
    assert evaluation.tune(*data, "perceptron", epochs=1).best.distribution is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"grid": {"C": [1.0]}}, "cw cannot be tuned by C; its usual grid is of confidence"),
        ({"grid": {"confidence": []}}, "a list of values for each parameter"),
        ({"grid": {"confidence": [2.0]}}, "`confidence` must be a number"),
        ({"held_out": 0.9}, "`held_out` must be"),
        ({"algorithm": "lda"}, "lda cannot learn these data"),
    ],
)
def test_bad_arguments_are_refused(data, options, message):
    with pytest.raises(ValueError, match=message):
        evaluation.tune(*data, **{"algorithm": "cw", **options})


def test_a_tuning_shows_itself_in_a_line_and_in_a_notebook_as_a_table(data):
    tuning = evaluation.tune(*data, "cw", grid={"confidence": [0.6, 0.9]}, epochs=2)
    assert " is best with " in repr(tuning)
    assert "\n" not in repr(tuning)
    assert f"error {100 * tuning.best.error:.2f} %" in repr(tuning)
    page = tuning._repr_html_()
    assert page.count("<tr>") == 3
    assert page.count(">best<") == 1


def test_one_row_is_held_out_at_least_and_labels_without_a_row_to_learn_are_refused():
    X, y = np.eye(8), np.arange(8) % 2
    tuning = evaluation.tune(X, y, "perceptron", held_out=0.01, epochs=1)
    assert (tuning.n_held_out_rows, tuning.n_train_rows) == (1, 7)
    rare, refusals = [0] * 7 + [1], []
    for seed in range(8):  # the only row of a label is among those that are held out, or not
        try:
            evaluation.tune(X, rare, "perceptron", held_out=0.4, epochs=1, seed=seed)
        except DataError as error:
            refusals.append(str(error))
    assert 0 < len(refusals) < 8
    assert {*refusals} == {"data: some labels have too few rows to train and validate"}
