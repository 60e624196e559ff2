"""`predict_one`, `predict_proba_one` and `learn_one`: the answers and the bits of the methods for many rows."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from cwlearn import (
    AROWClassifier,
    AROWRegressor,
    DataError,
    FTRLClassifier,
    KernelAROWClassifier,
    LogisticClassifier,
    PassiveAggressiveClassifier,
    SOPClassifier,
    TextClassifier,
)
from cwlearn.core import margin_model as models
from cwlearn.core.one_row import measured
from cwlearn.native import measure_row

MODELS = [
    AROWClassifier(random_state=0),
    AROWClassifier(random_state=0, dtype="float64", fit_intercept=False),
    AROWClassifier(random_state=0, average=True),
    AROWClassifier(random_state=0, covariance="full"),
    SOPClassifier(a="auto", random_state=0),
    FTRLClassifier(l1=0.1, random_state=0),
    PassiveAggressiveClassifier(average=True, class_weight={0: 2.0}, random_state=0),
    LogisticClassifier(bayesian=False, random_state=0),
    KernelAROWClassifier(kernel="rbf", gamma=0.5, epochs=1, random_state=0),
]
TEXTS = ["A fine film, Émile!", "a dull film", "fine acting ΣΑΣ", "dull and long", "", "fine, fine, fine film"]
KINDS = ["good", "bad", "good", "bad", "bad", "good"]


def rows(n_labels, n=60, d=12):
    rng = np.random.default_rng(n_labels)
    dense = np.where(rng.random((n, d)) < 0.4, rng.normal(size=(n, d)), 0)
    dense[5] = 0
    X = sparse.csr_matrix(dense)
    return X, np.arange(n) % n_labels


def as_dict(row):
    return dict(zip(row.indices.tolist(), row.data.tolist(), strict=True))


@pytest.mark.parametrize("n_labels", [2, 4])
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_one_row_is_answered_as_many_rows_are(model, n_labels):
    X, y = rows(n_labels)
    model = pickle.loads(pickle.dumps(model)).fit(X, y)
    labels, chances = model.predict(X), model.predict_proba(X)
    for number in range(12):
        row = X[number]
        backwards = dict(reversed(as_dict(row).items()))
        shuffled = sparse.csr_matrix((row.data[::-1], row.indices[::-1], row.indptr), row.shape)
        for given in (row, row.astype(np.float32), row.tocoo(), row.toarray()[0], backwards, shuffled):
            assert model.predict_one(given) == labels[number]
        if isinstance(model, KernelAROWClassifier) or model.get_params().get("covariance") == "full":
            # BLAS adds up in another order.
            np.testing.assert_allclose([*model.predict_proba_one(row).values()], chances[number])
            continue
        assert [*model.predict_proba_one(row).values()] == chances[number].tolist()
        assert model.predict(row).tolist() == [labels[number]]
        assert model.predict_proba(row).tolist() == [chances[number].tolist()]


@pytest.mark.parametrize("n_labels", [2, 4])
@pytest.mark.parametrize("model", MODELS[:8], ids=str)
def test_learning_row_by_row_gives_the_bits_of_partial_fit(model, n_labels):
    X, y = rows(n_labels)
    one, many = (pickle.loads(pickle.dumps(model)).partial_fit(X[:5], y[:5], classes=range(n_labels)) for _ in "ab")
    for number in range(5, 30):
        row = X[number] if number % 2 else as_dict(X[number])
        before = one.predict_one(X[number + 1])  # of weights that are derived for this row alone
        assert before == many.predict(X[number + 1])[0]
        one.learn_one(row, int(y[number]))
        many.partial_fit(X[number], y[number : number + 1])
    assert one.coef_.tolist() == many.coef_.tolist()
    assert one.variance_.tolist() == many.variance_.tolist()
    assert (one.n_updates_, one.n_mistakes_) == (many.n_updates_, many.n_mistakes_)
    assert one.predict_proba(X).tolist() == many.predict_proba(X).tolist()


def test_weights_are_derived_for_one_row_or_once_for_all(monkeypatch):
    X, y = rows(2, d=12)
    monkeypatch.setattr(models, "WEIGHTS_BY_ANSWER", 4)  # three answers are as much work as all weights
    model = FTRLClassifier(random_state=0).partial_fit(X, y, classes=[0, 1])
    answers = []
    for _ in range(4):
        answers.append(measured((X[0].indices, X[0].data), model._learner))
        derived = model._learner._derived
    assert len(set(answers)) == 1
    assert derived is not None
    model.learn_one(X[1], 1)
    model.predict_one(X[0])
    assert model._learner._derived is derived  # not anew: this row alone


def test_a_regression_answers_and_learns_one_row():
    X, _ = rows(2)
    targets = X @ np.arange(12.0) + 3
    one, many = (AROWRegressor(random_state=0).partial_fit(X[:3], targets[:3]) for _ in "ab")
    for number in range(3, 20):
        assert one.predict_one(as_dict(X[number])) == many.predict(X[number])[0]
        one.learn_one(X[number], targets[number])
        many.partial_fit(X[number], targets[number : number + 1])
    assert one.coef_.tolist() == many.coef_.tolist()
    with pytest.raises(DataError, match="finite target"):
        one.learn_one(X[0], float("nan"))


def test_names_of_features_are_the_keys_of_a_dictionary():
    import pandas as pd

    frame = pd.DataFrame([[1.0, 0.0], [0.0, 1.0]], columns=["wool", "cotton"])
    model = AROWClassifier(random_state=0).fit(frame, ["warm", "cool"])
    assert model.predict_one({"cotton": 1.0}) == model.predict(frame)[1] == "cool"
    assert model.predict_one({"wool": 2, "cotton": 1.0}) == "warm"
    with pytest.raises(DataError, match="no feature 'silk'"):
        model.predict_one({"silk": 1.0})
    with pytest.raises(DataError, match="no feature 1"):
        model.predict_one({1: 1.0})
    model._learner.grow(3)
    model._learner.feature_names[2] = "silk"
    assert model.predict_one({"silk": 1.0}) in ("cool", "warm")
    assert model.explain({"wool": 2.0}).contributions[0].name == "wool"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({12: 1.0}, "index 12 is not between 0 and 11"),
        ({-1: 1.0}, "index -1 is not between 0 and 11"),
        ({10**30: 1.0}, "columns as the keys"),
        ({1.5: 1.0}, "columns as the keys"),
        ({"a": 1.0}, "columns as the keys"),
        ({1: "a"}, "numbers as the values"),
        ({1: "1.5"}, "numbers as the values"),
        ({1: [1.0]}, "numbers as the values"),
        ({1: 10**400}, "numbers as the values"),
        ({1: None}, "numbers as the values"),
        ({1: float("nan")}, "NaN"),
        ({1: 1e300}, "too large for float32"),
        (np.zeros(11), "11 features, but 12 were expected"),
        (np.zeros((2, 12)), "expected one row, got 2"),
        (sparse.csr_matrix((2, 12)), "expected one row, got 2"),
        (sparse.csr_matrix((1, 13)), "13 features"),
    ],
)
def test_what_is_no_row_is_refused_with_its_flaw(row, message):
    X, y = rows(2)
    model = AROWClassifier(random_state=0).fit(X, y)
    before = model.coef_.copy()
    for action in (model.predict_one, model.predict_proba_one, lambda given: model.learn_one(given, 1)):
        with pytest.raises(DataError, match=message):
            action(row)
    assert model.coef_.tolist() == before.tolist()


@pytest.mark.parametrize("method", ["predict", "predict_one"])
def test_broken_matrices_are_refused_before_the_kernel_reads_them(method):
    X, y = rows(2)
    model = AROWClassifier(random_state=0).fit(X, y)
    for name, array in [
        ("indices", np.array([1, 99], np.int32)),
        ("indices", np.array([-5, 3], np.int64)),
        ("indices", np.array([1.0, 2.0])),
        ("data", np.array([1.0])),
        ("data", np.array([np.inf, 1.0])),
        ("data", np.array(["a", "b"])),
        ("indptr", np.array([0, 5], np.int32)),
        ("indptr", np.array([0.0, 2.0])),
    ]:
        row = sparse.csr_matrix((np.array([1.0, 2.0]), np.array([1, 3]), np.array([0, 2])), (1, 12))
        setattr(row, name, array)
        with pytest.raises(ValueError):
            getattr(model, method)(row)


def test_the_compiled_entry_refuses_rows_that_do_not_fit():
    cells, none = np.zeros(8, np.float32), np.empty(0)
    values = np.ones(2, np.float32)
    assert measure_row(cells, np.array([0, 2]), values, none, none, 1.0, False, 1) == (2.0, 0.0, 0.0)
    for columns in ([0, 3], [2, 0], [1, 1], [-1, 0], [0]):
        assert measure_row(cells, np.array(columns), values, none, none, 1.0, False, 1) is None
    assert measure_row(cells, np.array([0, 1]), values * np.inf, none, none, 1.0, False, 1) is None
    unaligned = np.frombuffer(b"\0" + values.tobytes(), np.float32, offset=1)
    assert measure_row(cells, np.array([0, 2]), unaligned, none, none, 1.0, False, 1) is None
    for mean, blocks in ((none, 2), (np.empty(3), 2), (none, 0), (np.empty(9), 9)):
        with pytest.raises(ValueError):
            measure_row(cells, np.array([0, 1]), values, mean, none, 1.0, False, blocks)


def test_labels_that_are_not_known_are_refused():
    X, y = rows(2)
    model = AROWClassifier(random_state=0).fit(X, y)
    with pytest.raises(NotFittedError):
        AROWClassifier().predict_one(X[0])
    with pytest.raises(NotFittedError):
        AROWClassifier().learn_one(X[0], 1)
    for label in (2, "a", [1], None):
        with pytest.raises(DataError, match="label"):
            model.learn_one(X[0], label)
    with pytest.raises(ValueError, match="balanced"):
        AROWClassifier(class_weight="balanced").fit(X, y).learn_one(X[0], 1)


@pytest.mark.parametrize("options", [{}, {"idf": False}, {"analyzer": "char_wb", "strip_accents": "unicode"}], ids=str)
def test_one_text_is_answered_and_learned_as_many_are(options):
    one, many = (
        TextClassifier(AROWClassifier(epochs=1, shuffle=False), **options, hash_bits=10).fit(TEXTS, KINDS) for _ in "ab"
    )
    for text, kind in zip(TEXTS, KINDS, strict=True):
        assert one.predict_one(text) == one.predict([text])[0] == one.predict(TEXTS)[TEXTS.index(text)]
        assert [*one.predict_proba_one(text.encode()).values()] == one.predict_proba([text])[0].tolist()
        one.learn_one(text, kind)
        many.partial_fit([text], [kind])
        assert one.classifier_.coef_.tolist() == many.classifier_.coef_.tolist()
    assert one.predict_one("film " * 100_000) == one.predict(["film " * 100_000])[0]


def test_a_text_that_cannot_be_learned_is_not_counted():
    model = TextClassifier(AROWClassifier(), hash_bits=10).fit(TEXTS, KINDS)
    counts = model._learner.frequencies.counts.copy()
    with pytest.raises(DataError, match="label"):
        model.learn_one("fine film", "unknown")
    for text, message in ((b"\xff", "not UTF-8 at byte 0"), ("\ud800", "surrogate")):
        with pytest.raises(DataError, match=message):
            model.predict_one(text)
    with pytest.raises(TypeError, match="expected a text, got int"):
        model.predict_one(7)
    assert model._learner.frequencies.counts.tolist() == counts.tolist()
    assert model._learner.frequencies.n_documents == len(TEXTS)
