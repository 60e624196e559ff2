"""Features that a model has never seen, where it scores text."""

from __future__ import annotations

import numpy as np
import pytest

from cwlearn import AROWClassifier, KernelAROWClassifier
from cwlearn.core.rows import as_rows
from cwlearn.text.scoring import ScoredColumns
from tests.text_cases import succeed

X = np.array([[1.0, 0, 2], [0, 3, 0], [1, 1, 0]])
Y = [0, 1, 1]
SEEN = np.array([[1.0, 2.0, 0.0]])
HALF = np.array([[1.0, 2.0, 0.0, 5.0, 6.0]])
MOSTLY_UNSEEN = np.array([[1.0, 2.0, 0.0, 5.0, 6.0, 7.0]])


def rows_of(matrix):
    return as_rows(matrix, np.dtype("float32"))


def test_values_of_unseen_features_are_counted_among_all():
    columns = ScoredColumns(AROWClassifier().fit(X, Y)._learner)
    assert columns.of(rows_of(SEEN)).n_features == 3
    assert columns.warning() is None
    columns.of(rows_of(HALF))
    assert (columns.n_unseen, columns.n_values) == (2, 6)
    assert columns.warning() == "2 of 6 values are of features that the model has never seen; they are ignored"


@pytest.mark.parametrize(("matrix", "belongs"), [(HALF, True), (MOSTLY_UNSEEN, False)])
def test_model_and_data_do_not_belong_together_where_more_than_half_of_the_values_are_unseen(matrix, belongs):
    columns = ScoredColumns(AROWClassifier().fit(X, Y)._learner)
    columns.of(rows_of(matrix))
    assert ("Model and data do not seem to belong together" in columns.warning()) == (not belongs)


@pytest.mark.parametrize("covariance", ["diagonal", "full"])
def test_unseen_features_add_nothing_to_a_score_and_the_prior_to_its_variance(covariance):
    model = AROWClassifier(covariance=covariance, initial_variance=0.5).fit(X, Y)
    mean, variance = model.margin(SEEN)
    learner = model._learner
    columns = ScoredColumns(learner)
    rows = columns.of(as_rows(HALF, learner.state.dtype))
    np.testing.assert_allclose(learner.margins(rows)[0], mean, rtol=1e-6)
    np.testing.assert_allclose(learner.margins(rows)[1], variance + 0.5 * (5**2 + 6**2), rtol=1e-6)


def test_unseen_features_count_for_a_kernel():
    columns = ScoredColumns(KernelAROWClassifier(random_state=0).fit(X, Y)._learner)
    columns.of(as_rows(HALF, np.dtype("float64")))
    assert columns.warning().endswith("never seen; they count for its kernel")


def test_predict_and_evaluate_warn_of_unseen_features(text, tmp_path):
    succeed("train", text, "-m", tmp_path / "m.npz", "--quiet")
    other = tmp_path / "other.svm"
    other.write_text("1 1:1 2:1 100:1\n-1 3:1 99999999999:1\n")
    for verb in ("predict", "evaluate"):
        err = succeed(verb, other, "-m", tmp_path / "m.npz").err
        assert err == (
            "cwlearn: warning: 2 of 5 values are of features that the model has never seen; they are ignored\n"
        )
        assert succeed(verb, other, "-m", tmp_path / "m.npz", "--quiet").err == ""
    other.write_text("1 1:1 100:1\n-1 200:1 300:1\n")
    assert "do not seem to belong together" in succeed("predict", other, "-m", tmp_path / "m.npz").err
