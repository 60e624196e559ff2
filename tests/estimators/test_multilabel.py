"""MultiLabelClassifier: what it takes as labels, scikit-learn's checks, and its files."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import cwlearn
from cwlearn import (
    AROWClassifier,
    AutoClassifier,
    CWClassifier,
    KernelAROWClassifier,
    MultiLabelClassifier,
    PassiveAggressiveClassifier,
    TextClassifier,
    distributed,
)
from cwlearn.core.field import LABELS

ONE_LABEL = "its data have one label a row, or name two classes for one column"
NOT_TO_BE_HAD = {
    **dict.fromkeys(
        [
            "check_n_features_in_after_fitting",
            "check_estimators_dtypes",
            "check_sample_weights_pandas_series",
            "check_sample_weights_not_an_array",
            "check_sample_weights_shape",
            "check_sample_weights_not_overwritten",
            "check_estimator_sparse_array",
            "check_estimator_sparse_matrix",
            "check_classifier_data_not_an_array",
            "check_classifiers_one_label_sample_weights",
            "check_classifiers_classes",
            "check_estimators_partial_fit_n_features",
            "check_classifiers_train",
            "check_decision_proba_consistency",
            "check_classifier_not_supporting_multiclass",
            "check_fit2d_1feature",
        ],
        ONE_LABEL,
    ),
    **{
        f"check_sample_weight_equivalence_on_{kind}_data": "an online learner depends on the order and number of rows"
        for kind in ("dense", "sparse")
    },
}


@parametrize_with_checks(
    [MultiLabelClassifier(AROWClassifier(random_state=0))], expected_failed_checks=lambda estimator: NOT_TO_BE_HAD
)
def test_estimator_checks_that_apply(estimator, check):
    check(estimator)


def data(n_rows=120, n_labels=5):
    rng = np.random.default_rng(0)
    X = sparse.random(n_rows, 30, 0.3, "csr", random_state=0)
    return X, (X @ rng.standard_normal((30, n_labels)) > 0.2).astype(int)


def model(**options):
    return MultiLabelClassifier(AROWClassifier(random_state=0, **options))


X, Y = data()


@pytest.mark.parametrize(
    "labels",
    [
        sparse.csr_matrix(Y),
        sparse.csc_matrix(Y),
        sparse.coo_array(Y),
        Y.astype(bool),
        Y.astype(float),
        Y.tolist(),
        pd.DataFrame(Y),
    ],
    ids=["csr", "csc", "coo", "bool", "float", "lists of 0 and 1", "data frame"],
)
def test_an_indicator_matrix_of_any_kind_is_learned_alike(labels):
    fitted, expected = model().fit(X, labels), model().fit(X, Y)
    assert np.array_equal(fitted.coef_, expected.coef_)
    predicted = fitted.predict(X)
    assert sparse.issparse(predicted) == sparse.issparse(labels)
    assert np.array_equal(predicted.toarray() if sparse.issparse(predicted) else predicted, expected.predict(X))
    assert fitted.classes_.tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("kind", [list, tuple, set, np.array])
def test_lists_of_labels_are_learned_as_the_matrix_is(kind):
    names = np.array(["a", "b", "c", "d", "e"])
    lists = [kind(names[row == 1].tolist()) for row in Y]
    fitted = model().fit(X, lists)
    assert fitted.classes_.tolist() == names.tolist()
    assert np.array_equal(fitted.coef_, model().fit(X, Y).coef_)
    assert [set(labels) for labels in fitted.predict_labels(X)] == [
        set(names[row == 1].tolist()) for row in fitted.predict(X)
    ]
    assert fitted.score(X, lists) == model().fit(X, Y).score(X, Y)


def test_is_one_binary_classifier_for_each_label():
    fitted = model().fit(X, Y)
    for label in range(5):
        binary = AROWClassifier(random_state=0).fit(X, Y[:, label])
        assert np.array_equal(fitted.coef_[label], binary.coef_[0])
        assert np.array_equal(fitted.predict(X)[:, label], binary.predict(X))
    reference = OneVsRestClassifier(AROWClassifier(random_state=0)).fit(X, Y)
    assert np.array_equal(fitted.predict(X), reference.predict(X))
    np.testing.assert_allclose(fitted.predict_proba(X), reference.predict_proba(X), rtol=1e-12)
    np.testing.assert_allclose(fitted.decision_function(X), reference.decision_function(X), rtol=1e-9, atol=1e-12)


def test_chunks_give_the_bits_of_one_call():
    whole = model().partial_fit(X, Y)
    parts = model()
    for start in range(0, 120, 50):
        parts.partial_fit(X[start : start + 50], Y[start : start + 50])
    assert np.array_equal(whole.coef_, parts.coef_)
    assert np.array_equal(whole.predict_proba(X), parts.predict_proba(X))


def test_partial_fit_needs_the_labels_of_lists():
    with pytest.raises(ValueError, match="classes must be passed"):
        model().partial_fit(X[:2], [["a"], ["b", "a"]])
    fitted = model().partial_fit(X[:2], [["a"], ["b", "a"]], classes=["c", "b", "a"])
    assert fitted.classes_.tolist() == ["a", "b", "c"]
    with pytest.raises(ValueError, match="'d' is not one of the labels"):
        fitted.partial_fit(X[:1], [["d"]])
    with pytest.raises(ValueError, match="not the same as on the first call"):
        fitted.partial_fit(X[:1], [["a"]], classes=["a"])
    with pytest.raises(ValueError, match="the labels have 5 columns, and there are 3 labels"):
        fitted.partial_fit(X, Y)


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (Y[:, 0], "what has one label a row is for the classifier itself"),
        (["a"] * 120, "row 0 is 'a'"),
        ([1] * 120, "row 0 is 1"),
        ("a", "got 'a'"),
        (2 * Y, "has 2 in column"),
        (Y - 0.5, "has -0.5 in column"),
        (np.full((120, 2), np.nan), "NaN"),
        (np.zeros((120, 0)), "no column"),
        ([[]] * 120, "no row has a label"),
        ([["a", 1]] * 120, "labels must be of one type"),
        ([[None]] * 120, "labels must be of one type"),
        (Y[:50], "inconsistent numbers of samples"),
        (None, "requires y to be passed"),
    ],
)
def test_other_labels_are_refused(labels, words):
    estimator = model()
    with pytest.raises(ValueError, match=words):
        estimator.fit(X, labels)
    with pytest.raises(NotFittedError):
        estimator.predict(X)


@pytest.mark.parametrize(
    ("classifier", "words"),
    [
        (KernelAROWClassifier(), "linear classifier"),
        (AutoClassifier(class_weight="balanced"), "class_weight"),
        (AutoClassifier(budget=0), "budget"),
        (AROWClassifier(covariance="full"), "covariance='diagonal'"),
        (AROWClassifier(class_weight="balanced"), "class_weight"),
        (AROWClassifier(class_weight={1: 2.0}), "class_weight"),
        ("arow", "linear classifier"),
    ],
)
def test_classifiers_that_cannot_are_refused(classifier, words):
    with pytest.raises((TypeError, ValueError), match=words):
        MultiLabelClassifier(classifier).fit(X, Y)


def test_epochs_are_chosen_by_wrong_decisions_on_all_labels():
    chosen = model(epochs="auto").fit(X, Y)
    epochs = chosen._learner.training.epochs
    assert epochs in (1, 2, 3, 5, 10, 20)
    assert np.array_equal(chosen.coef_, model(epochs=epochs).fit(X, Y).coef_)


def test_a_race_chooses_the_rule_of_all_labels(tmp_path):
    raced = MultiLabelClassifier(AutoClassifier(random_state=0)).fit(X, Y)
    assert len(raced.race_) == sum("prior" not in candidate.options for candidate in LABELS)
    assert raced.race_[0]["error"] == min(entry["error"] for entry in raced.race_)
    raced.save(tmp_path / "m.npz")
    winner = cwlearn.load(tmp_path / "m.npz").classifier.set_params(random_state=0)
    assert np.array_equal(MultiLabelClassifier(winner).fit(X, Y).coef_, raced.coef_)
    raced.partial_fit(X[:10], Y[:10])  # goes on with the winner
    assert raced.fit(X, Y).race_[0]["algorithm"] == winner._rule.name
    with pytest.raises(ValueError, match="`partial_fit` needs a rule"):
        MultiLabelClassifier(AutoClassifier()).partial_fit(X, Y)


def test_files_race_as_matrices_do(tmp_path):
    lines = []
    for row, has in zip(X, Y, strict=True):
        entries = " ".join(f"{column}:{float(value)!r}" for column, value in zip(row.indices, row.data, strict=True))
        lines.append(f"{','.join(map(str, np.flatnonzero(has)))} {entries}\n")
    (tmp_path / "a.svm").write_text("".join(lines))
    for classifier in (AutoClassifier(random_state=0), PassiveAggressiveClassifier(epochs="auto", random_state=0)):
        fitted = MultiLabelClassifier(clone(classifier)).fit(X.sorted_indices(), Y)
        trained = cwlearn.train(tmp_path / "a.svm", MultiLabelClassifier(classifier), n_features=30)
        assert np.array_equal(trained.coef_, fitted.coef_)


@pytest.mark.parametrize("n_labels", [1, 5])
@pytest.mark.parametrize("classifier", [AROWClassifier(), PassiveAggressiveClassifier(), CWClassifier(average=True)])
def test_the_most_probable_label_is_explained_as_its_own_classifier_would(classifier, n_labels):
    classifier.set_params(random_state=0, dtype="float64")
    fitted = MultiLabelClassifier(classifier).fit(X, Y[:, :n_labels])
    for row in (0, 7, 50):
        found, chances = fitted.explain(X[row]), fitted.predict_proba(X[row])[0]
        label = int(chances.argmax())
        assert (found.label, found.rival) == (label, None)
        assert fitted.explain(X[row].toarray()[0]).margin == pytest.approx(found.margin, rel=1e-12)
        assert found.probability == pytest.approx(chances[label], abs=1e-12)
        binary = clone(classifier).fit(X, Y[:, label]).explain(X[row])
        sign = 1 if binary.label else -1
        assert found.margin == pytest.approx(sign * binary.margin, abs=1e-9)
        assert found.evidence == pytest.approx(binary.evidence, abs=1e-9)
        amounts = {item.column: sign * item.amount for item in binary.contributions}
        assert {item.column: item.amount for item in found.contributions} == pytest.approx(amounts, abs=1e-12)


def test_sample_weights_of_0_leave_rows_out():
    weights = np.repeat([1.0, 0.0], 60)
    options = {"epochs": 1, "shuffle": False}
    assert np.array_equal(model(**options).fit(X, Y, weights).coef_, model(**options).fit(X[:60], Y[:60]).coef_)
    with pytest.raises(ValueError, match="no loss"):
        MultiLabelClassifier(CWClassifier()).fit(X, Y, weights)


def test_warm_start_goes_on():
    options = {"epochs": 1, "shuffle": False}
    warm = model(**options, warm_start=True).fit(X[:60], Y[:60]).fit(X[60:], Y[60:])
    assert np.array_equal(warm.coef_, model().partial_fit(X, Y).coef_)


def test_a_saved_model_comes_back_and_is_merged(tmp_path):
    halves = [model(epochs=3).fit(X[part], Y[part]) for part in (slice(0, 60), slice(60, 120))]
    halves[0].save(tmp_path / "m.npz")
    again = cwlearn.load(tmp_path / "m.npz")
    assert isinstance(again, MultiLabelClassifier)
    assert again.classifier.epochs == 3
    assert np.array_equal(again.predict_proba(X), halves[0].predict_proba(X))
    merged = cwlearn.merge([again, halves[1]])
    assert isinstance(merged, MultiLabelClassifier)
    assert f1_score(Y, merged.predict(X), average="micro") > 0.8
    with pytest.raises(ValueError, match="cannot be merged"):
        cwlearn.merge([halves[0], model(epochs=3).fit(X, Y[:, :3])])


def test_works_in_a_pipeline_and_a_grid_search():
    pipeline = make_pipeline(MaxAbsScaler(), model())
    search = GridSearchCV(
        pipeline, {"multilabelclassifier__classifier__regularization": [0.1, 1.0]}, cv=2, scoring="f1_micro"
    )
    search.fit(X, Y)
    assert search.best_score_ > 0.5
    assert clone(model()).get_params()["classifier__random_state"] == 0


def test_documents_may_have_several_labels(tmp_path):
    texts = ["good film", "bad film", "good book", "a bad book"]
    labels = [["good", "film"], ["bad", "film"], ["good", "book"], ["bad", "book"]]
    fitted = TextClassifier(MultiLabelClassifier(AROWClassifier(random_state=0)), hash_bits=12).fit(texts, labels)
    assert fitted.predict(texts).tolist() == [[0, 0, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1], [1, 1, 0, 0]]
    fitted.save(tmp_path / "m.npz")
    again = cwlearn.load(tmp_path / "m.npz")
    assert np.array_equal(again.predict_proba(texts), fitted.predict_proba(texts))
    file = tmp_path / "a.jsonl"
    records = [{"text": text, "label": names} for text, names in zip(texts, labels, strict=True)]
    file.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    estimator = TextClassifier(MultiLabelClassifier(AROWClassifier(random_state=0)), hash_bits=12)
    trained = cwlearn.train(file, estimator)
    assert np.array_equal(trained.predict_proba(texts), fitted.predict_proba(texts))


def test_the_file_of_an_indicator_is_trained_as_it_is_fitted(tmp_path):
    file = tmp_path / "a.svm"
    with file.open("w") as out:
        for row, labels in zip(X.astype(np.float32), Y, strict=True):
            entries = " ".join(f"{j}:{float(v)!r}" for j, v in sorted(zip(row.indices, row.data, strict=True)))
            out.write(f"{','.join(map(str, np.flatnonzero(labels)))} {entries}\n")
    trained = cwlearn.train(file, MultiLabelClassifier(PassiveAggressiveClassifier(random_state=0)), n_features=30)
    fitted = MultiLabelClassifier(PassiveAggressiveClassifier(random_state=0)).fit(X.astype(np.float32), Y)
    assert trained.classes_.tolist() == [0, 1, 2, 3, 4]
    assert np.array_equal(trained.coef_, fitted.coef_)


def test_shards_of_files_are_learned_and_matrices_refused(tmp_path):
    labels = [["good", "film"], ["bad", "film"], ["good", "book"], ["bad", "book"]]
    texts = ["good film", "bad film", "good book", "a bad book"]
    records = [{"text": text, "label": names} for text, names in zip(texts, labels, strict=True)]
    for name in "ab":
        (tmp_path / f"{name}.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records))
    estimator = TextClassifier(MultiLabelClassifier(AROWClassifier(random_state=0)), hash_bits=12)
    fitted = distributed.fit(estimator, [tmp_path / "a.jsonl", tmp_path / "b.jsonl"])
    assert fitted.predict(texts).tolist() == [[0, 0, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1], [1, 1, 0, 0]]
    with pytest.raises(TypeError, match="several labels a row are learned from files"):
        distributed.fit(MultiLabelClassifier(), [(X, Y), (X, Y)])
