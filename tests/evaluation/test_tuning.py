"""Tuning: the best setting, its parameters, and refused arguments."""

from __future__ import annotations

import pytest
from sklearn.datasets import load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, SGDClassifier

from cwlearn import evaluation


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
