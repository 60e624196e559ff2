"""AutoClassifier and epochs="auto": the winner is the plain classifier, to the bit."""

from __future__ import annotations

import copy
import gzip
import pickle

import numpy as np
import pytest
from sklearn.base import clone

import cwlearn
from cwlearn import (
    AROWClassifier,
    AROWRegressor,
    AutoClassifier,
    KernelAROWClassifier,
    PassiveAggressiveClassifier,
    TextClassifier,
    distributed,
)
from tests.cases import labelled_rows, random_rows
from tests.text.document_cases import documents, written
from tests.text_cases import bits, svmlight

X, Y = random_rows(150, noise=0.15)


@pytest.mark.parametrize(
    ("X", "y"),
    [random_rows(150, noise=0.15), random_rows(60), labelled_rows(200, noise=0.1)],
    ids=["noisy", "easy", "5"],
)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"fit_intercept": False},
        {"shuffle": False},
        {"epochs": 3},
        {"class_weight": "balanced"},
        {"dtype": "float64"},
    ],
    ids=str,
)
def test_the_winner_fitted_alone_is_the_same_model(X, y, options):
    model = AutoClassifier(random_state=0, **options).fit(X, y)
    assert not model.choice_.__sklearn_is_fitted__()
    assert bits(model.choice_.fit(X, y)._learner) == bits(model._learner)
    assert len(model.race_) >= 5
    assert model.race_[0]["algorithm"] == model._learner.rule.name


def test_weights_reach_the_race_and_the_winner():
    weights = np.linspace(0, 2, len(Y))
    model = AutoClassifier(random_state=0).fit(X, Y, sample_weight=weights)
    assert bits(model.choice_.fit(X, Y, sample_weight=weights)._learner) == bits(model._learner)
    assert "cw" not in {entry["algorithm"] for entry in model.race_}
    model = AutoClassifier(class_weight={-1.0: 9.0, 1.0: 1.0}, random_state=0).fit(X, Y)
    plain = AutoClassifier(random_state=0).fit(X, Y)
    assert model.choice_.class_weight == {-1.0: 9.0, 1.0: 1.0}
    assert (model.predict(X) < 0).sum() >= (plain.predict(X) < 0).sum()


def test_too_few_rows_are_learned_by_arow():
    model = AutoClassifier(random_state=0).fit(X[:10], Y[:10])
    assert isinstance(model.choice_, AROWClassifier)
    assert bits(AROWClassifier(random_state=0).fit(X[:10], Y[:10])._learner) == bits(model._learner)


def test_another_fit_chooses_anew():
    few = X[:10], Y[:10]
    model = AutoClassifier(random_state=0).fit(X, Y).fit(*few)
    assert bits(model._learner) == bits(AutoClassifier(random_state=0).fit(*few)._learner)


def test_copies_and_files_keep_the_winner(tmp_path):
    model = AutoClassifier(random_state=0).fit(X, Y)
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert bits(other._learner) == bits(model._learner)
        assert other.race_ == model.race_
        assert repr(other.choice_) == repr(model.choice_)
        other.partial_fit(X, Y)
        assert bits(other._learner) != bits(model._learner)
    assert not clone(model).__sklearn_is_fitted__()
    model.save(tmp_path / "m.npz")
    loaded = cwlearn.load(tmp_path / "m.npz")
    assert type(loaded) is type(model.choice_)
    assert bits(loaded._learner) == bits(model._learner)
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))


def test_a_stream_chooses_by_its_first_rows_and_goes_on_with_the_winner():
    model = AutoClassifier().partial_fit(X[:80], Y[:80], classes=[-1.0, 1.0])
    winner = model.choice_.partial_fit(X[:80], Y[:80], classes=[-1.0, 1.0])
    for part in (slice(80, 100), slice(100, None)):
        model.partial_fit(X[part], Y[part])
        winner.partial_fit(X[part], Y[part])
    assert bits(model._learner) == bits(winner._learner)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("rows", [random_rows(150, noise=0.15), labelled_rows(150)], ids=["2", "5"])
def test_a_file_and_its_rows_choose_the_same_and_give_the_same_bits(rows, threads, packed, tmp_path):
    X, y = rows
    text = svmlight(X, y, None).encode()
    path = tmp_path / ("a.svm.gz" if packed else "a.svm")
    path.write_bytes(gzip.compress(text) if packed else text)
    model = cwlearn.train(path, AutoClassifier(random_state=3), n_features=X.shape[1], threads=threads)
    fitted = AutoClassifier(random_state=3).fit(X, y)
    assert model.race_ == fitted.race_
    assert bits(model._learner)[1:] == bits(fitted._learner)[1:]


def test_a_file_of_documents_and_its_texts_choose_the_same(tmp_path):
    texts, labels = documents(120)
    path = written(tmp_path / "a.jsonl", texts, labels)
    classifier = AutoClassifier(fit_intercept=False, random_state=0)
    model = cwlearn.train(path, TextClassifier(classifier))
    fitted = TextClassifier(classifier).fit(texts, labels)
    assert model.classifier_.race_ == fitted.classifier_.race_
    assert bits(model._learner)[1:] == bits(fitted._learner)[1:]


@pytest.mark.parametrize(
    "estimator", [AROWClassifier, PassiveAggressiveClassifier, AROWRegressor, KernelAROWClassifier], ids=str
)
def test_epochs_that_choose_themselves_are_those_of_a_number(estimator):
    model = estimator(epochs="auto", random_state=0).fit(X, Y)
    epochs = model._learner.training.epochs
    assert epochs in (1, 2, 3, 5, 10, 20)
    plain = estimator(epochs=epochs, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(model.margin(X), plain.margin(X))
    stream, usual = estimator(epochs="auto"), estimator()
    for part in (slice(0, 70), slice(70, None)):
        more = {} if estimator is AROWRegressor else {"classes": [-1.0, 1.0]}
        stream.partial_fit(X[part], Y[part], **more)
        usual.partial_fit(X[part], Y[part], **more)
    np.testing.assert_array_equal(stream.margin(X), usual.margin(X))


def test_matrices_of_several_workers_are_told_how_to_choose():
    for estimator in (AutoClassifier(), AROWClassifier(epochs="auto")):
        with pytest.raises(ValueError, match="choose by some rows first"):
            distributed.fit(estimator, [(X, Y), (X, Y)])


def test_one_label_is_refused_as_by_the_others():
    with pytest.raises(ValueError, match="label"):
        AutoClassifier().fit(X, np.ones(len(Y)))


def test_a_choice_of_a_fit_that_failed_is_forgotten(monkeypatch):
    X, y = random_rows(200)
    model = AutoClassifier(random_state=0)

    def fail(*words, **more):
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr("cwlearn.core.learner.Learner.train", fail)
        with pytest.raises(MemoryError):
            model.fit(X, y)
    again = model.partial_fit(X[:6], y[:6], classes=[-1, 1])
    expected = AutoClassifier(random_state=0).partial_fit(X[:6], y[:6], classes=[-1, 1])
    assert type(again.choice_) is type(expected.choice_)
    assert (again.coef_ == expected.coef_).all()
