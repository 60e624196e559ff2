"""The rows that are worth asking for: uncertain ones, different ones, and the same ones however the stream is cut."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from cwlearn import (
    AROWClassifier,
    AROWRegressor,
    CWClassifier,
    FTRLClassifier,
    KernelAROWClassifier,
    PerceptronClassifier,
    TextClassifier,
)
from cwlearn.core.queries import Pool, _Told, certainty
from cwlearn.core.rows import as_rows
from tests.cases import labelled_rows, random_rows

MODELS = [
    CWClassifier(random_state=0),
    AROWClassifier(covariance="full", dtype="float64", random_state=0),
    AROWClassifier(average=True, fit_intercept=False, random_state=0),
    PerceptronClassifier(random_state=0),
    FTRLClassifier(l1=0.1, random_state=0),
    KernelAROWClassifier(random_state=0),
]


@pytest.mark.parametrize("n_labels", [2, 4])
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_the_first_question_is_the_row_of_which_the_model_is_least_certain(model, n_labels):
    X, y = random_rows() if n_labels == 2 else labelled_rows(n_labels=4)
    model.fit(X, y)
    new, _ = random_rows(seed=5)
    mean, variance = model.margin(new)
    if not model._learner.rule.second_order:
        lengths = new.multiply(new).sum(axis=1).A1 + model._learner.bias
        variance = lengths if n_labels == 2 else np.repeat(lengths[:, None], 4, axis=1)
    if n_labels > 2:
        if isinstance(model, CWClassifier):
            top = np.argsort(-mean, axis=1)[:, :2]
            variance = np.take_along_axis(variance, top, axis=1).sum(axis=1)
        else:  # the mean over the labels, as the probabilities have it
            variance = 2 * variance.mean(axis=1)
        ordered = np.sort(mean, axis=1)
        mean = ordered[:, -1] - ordered[:, -2]
    with np.errstate(divide="ignore", invalid="ignore"):
        expected = np.where(variance > 0, np.abs(mean) / np.sqrt(variance), np.inf)
    chosen = model.query(new, 10)
    assert chosen[0] == np.argmin(expected)
    assert len(set(chosen.tolist())) == 10
    found = certainty(model._learner, as_rows(new, model._learner.state.dtype))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-9)


def test_a_regression_asks_where_its_deviation_is_largest():
    X, _ = random_rows()
    model = AROWRegressor(random_state=0).fit(X, X @ np.arange(25.0))
    assert model.query(X, 1)[0] == np.argmax(model.margin(X)[1])


def test_rows_that_are_alike_are_not_all_asked_for():
    """Ten nearly equal rows are a little less certain than another row: that one is asked second."""
    model = AROWClassifier(random_state=0).fit(np.eye(6), [0, 1, 0, 1, 0, 1])
    X = np.zeros((11, 6))
    X[:10, 0] = 1 + 1e-3 * np.random.default_rng(0).random(10)
    X[10, 2] = 1.2
    chosen = model.query(X, 3).tolist()
    assert chosen[1] == 10
    rows = as_rows(X, model._learner.state.dtype)
    assert np.argsort(certainty(model._learner, rows))[-1] == 10


def test_of_identical_rows_only_the_first_is_asked_for():
    X, y = random_rows()
    model = AROWClassifier(random_state=0).fit(X, y)
    chosen = model.query(sparse.vstack([X] * 3).tocsr(), 200)
    assert sorted(chosen.tolist()) == list(range(X.shape[0]))


@pytest.mark.parametrize("n", [1, 7, 30])
@pytest.mark.parametrize("step", [1, 13, 400])
def test_questions_do_not_depend_on_how_a_stream_is_cut_and_memory_is_bounded(n, step):
    X, y = random_rows(n_rows=400, seed=3)
    X = sparse.vstack([X, X[:50]]).tocsr()
    model = AROWClassifier(random_state=0).fit(X[:100], y[:100])
    learner, pool = model._learner, Pool(n)
    for start in range(0, X.shape[0], step):
        rows = as_rows(X[start : start + step], learner.state.dtype)
        pool.add(rows, certainty(learner, rows), lambda row, start=start: start + row)
        assert len(pool._rows) <= 10 * n
    chosen = pool.chosen(learner)
    assert [number for number, _, _ in chosen] == model.query(X, n).tolist()
    assert all(number == note for number, _, note in chosen)


def test_rows_that_teach_nothing_come_last_and_a_young_model_asks_for_different_rows():
    model = AROWClassifier(fit_intercept=False).partial_fit(np.eye(4)[:1], ["a"], classes=["a", "b"])
    X = np.array([[0, 0, 0, 0], [0, 1, 0, 0], [0, 1, 1e-6, 0], [0, 0, 0, 1]], float)
    chosen = model.query(X, 4).tolist()
    assert chosen == [1, 3, 2]  # nothing is asked of a row without features


def test_texts_are_asked_for_by_number():
    texts = ["a fine film", "a dull film", "fine acting", "dull and long"]
    model = TextClassifier(AROWClassifier(random_state=0)).fit(texts, ["good", "bad"] * 2)
    assert model.query(["fine", "neither nor", "dull"], 1).tolist() == [1]


@pytest.mark.parametrize("n", [0, -1, 2.5, "all", None])
def test_h19_the_number_of_questions_is_checked(n):
    X, y = random_rows()
    with pytest.raises(ValueError, match="`n` must be a positive integer"):
        AROWClassifier().fit(X, y).query(X, n)


@pytest.mark.parametrize("second_order", [True, False])
def test_columns_that_the_model_does_not_have_count_with_the_prior(second_order):
    """That just behind its last one, and far beyond."""
    model = AROWClassifier() if second_order else PerceptronClassifier()
    model.fit(np.eye(3)[[0, 1, 2] * 5], [0, 1, 0] * 5)
    rows = [(np.array([0]), np.ones(1)), (np.array([3]), np.ones(1)), (np.array([1, 10**12]), np.ones(2))]
    told = _Told(model._learner, rows)
    state = model._learner.state
    known = state.variance[1:3] if second_order else np.ones(2)
    assert told._variance == pytest.approx([known[0], known[1], 1.0, 1.0])


def test_numbers_of_any_size_are_compared():
    model = AROWClassifier(dtype="float64").fit(np.array([[1.0, 0], [0, 1]]), [0, 1])
    chosen = model.query(np.array([[1e150, 1], [1, 1e-200], [1e-150, 1e-150], [0, 1.0]]), 4)
    assert sorted(chosen.tolist()) == [0, 1, 2, 3]
