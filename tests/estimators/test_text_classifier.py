"""TextClassifier as an estimator of scikit-learn.  `tests/text/test_documents.py` compares it with files."""

from __future__ import annotations

import copy
import inspect
import pickle
import re
from dataclasses import fields

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import estimator_checks

import cwlearn
from cwlearn import (
    AROWClassifier,
    AROWRegressor,
    AutoClassifier,
    CWClassifier,
    KernelCWClassifier,
    PerceptronClassifier,
    TextClassifier,
)
from cwlearn.core.text_options import OF_FILES, TextOptions
from cwlearn.errors import DataError
from tests.text.document_cases import classifier, documents, everything, written
from tests.text_cases import bits

TEXTS, LABELS = documents(60)
OPTIONS = [item for item in fields(TextOptions) if item.name not in OF_FILES]
WITHOUT_DATA = [  # the checks of scikit-learn that bring no numbers for texts
    estimator_checks.check_estimator_cloneable,
    estimator_checks.check_estimator_repr,
    estimator_checks.check_estimator_tags_renamed,
    estimator_checks.check_get_params_invariance,
    estimator_checks.check_mixin_order,
    estimator_checks.check_no_attributes_set_in_init,
    estimator_checks.check_parameters_default_constructible,
    estimator_checks.check_set_params,
    estimator_checks.check_valid_tag_types,
]


@pytest.mark.parametrize("check", WITHOUT_DATA, ids=lambda check: check.__name__)
def test_checks_of_scikit_learn(check):
    check("TextClassifier", TextClassifier())


def test_its_tags_say_that_it_takes_texts():
    tags = TextClassifier().__sklearn_tags__()
    assert tags.input_tags.string
    assert not tags.input_tags.two_d_array
    assert is_classifier(TextClassifier())


def test_its_parameters_are_the_options_of_documents():
    """With the same types and defaults, in the same order, and the same help texts."""
    parameters = inspect.signature(TextClassifier).parameters
    names = [item.name for item in OPTIONS]
    assert [*parameters] == ["classifier", *names, "hash_bits"]
    sections = re.split(r"\n\n(\w+)\n-+\n", inspect.cleandoc(TextClassifier.__doc__))
    assert sections[1::2] == ["Parameters", "Attributes", "Examples"]
    described = re.split(r"^(\w+) : .*\n", sections[2] + "\n", flags=re.MULTILINE)[1:]
    assert described[::2] == [*parameters]
    helps = dict(zip(described[::2], map(inspect.cleandoc, described[1::2]), strict=True))
    for item in OPTIONS:
        parameter = parameters[item.name]
        assert parameter.default == item.default
        assert (parameter.kind is parameter.KEYWORD_ONLY) == (item.name != "ngram_range")
        text = " ".join(helps[item.name].split())
        assert text == item.metadata["help"].replace("('char_wb')", "").replace("  ", " ").replace(" .", ".") or (
            item.name == "idf" and text == item.metadata["help"].replace("rows", "texts")
        )
    assert list(TextClassifier().get_params(deep=False)) == [*parameters]


def test_it_works_in_the_tools_of_scikit_learn():
    search = GridSearchCV(
        classifier(), {"ngram_range": [(1, 1), (1, 2)], "classifier__regularization": [1.0, 2.0]}, cv=3
    )
    search.fit(TEXTS, LABELS)
    assert search.best_score_ > 0.9
    assert cross_val_score(classifier(epochs=5), TEXTS, LABELS, cv=3).mean() > 0.9
    pipeline = make_pipeline(FunctionTransformer(lambda texts: [text.upper() for text in texts]), classifier())
    assert pipeline.fit(TEXTS, LABELS).score(TEXTS, LABELS) > 0.9


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_copies_predict_and_learn_the_same(copied):
    model = classifier().fit(TEXTS[:30], LABELS[:30])
    twin = copied(model)
    assert everything(twin._learner) == everything(model._learner)
    if copied is not copy.copy:
        twin.partial_fit(TEXTS[30:], LABELS[30:])
        assert everything(twin._learner) != everything(model._learner)
        model.partial_fit(TEXTS[30:], LABELS[30:])
        assert everything(twin._learner) == everything(model._learner)


@pytest.mark.parametrize(
    "container",
    [list, tuple, np.array, lambda texts: np.array(texts, object), pd.Series, iter, lambda texts: (x for x in texts)],
    ids=["list", "tuple", "array", "array of objects", "Series", "iterator", "generator"],
)
def test_texts_come_in_any_container(container):
    expected = everything(classifier().fit(TEXTS, LABELS)._learner)
    model = classifier().fit(container(TEXTS), LABELS)
    assert everything(model._learner) == expected
    assert model.predict(container(TEXTS)).tolist() == classifier().fit(TEXTS, LABELS).predict(TEXTS).tolist()


@pytest.mark.parametrize("labels", [[0, 1], [30, 20, 10], [True, False], ["a", "b"], ["x", "y", "z"]], ids=str)
def test_labels_are_of_any_type(labels, tmp_path):
    y = [labels[number % len(labels)] for number in range(60)]
    model = classifier().fit(TEXTS, y)
    assert model.classes_.tolist() == sorted(labels)
    assert set(model.predict(TEXTS).tolist()) <= set(labels)
    model.save(tmp_path / "m.npz")
    assert cwlearn.load(tmp_path / "m.npz").predict(TEXTS).tolist() == model.predict(TEXTS).tolist()


def test_weights_of_texts_are_those_of_the_classifier():
    doubled = classifier().fit(TEXTS, LABELS, sample_weight=np.full(60, 2.0))
    assert everything(doubled._learner) != everything(classifier().fit(TEXTS, LABELS)._learner)
    ones = classifier().fit(TEXTS, LABELS, sample_weight=np.ones(60))
    assert everything(ones._learner) == everything(classifier().fit(TEXTS, LABELS)._learner)
    with pytest.raises(TypeError):
        TextClassifier(CWClassifier()).fit(TEXTS, LABELS, sample_weight=np.ones(60))


def test_probabilities_are_always_there_and_a_distribution_if_the_classifier_has_some():
    model = classifier().fit(TEXTS, LABELS)
    np.testing.assert_allclose(model.predict_proba(TEXTS).sum(axis=1), 1)
    mean, variance = model.margin(TEXTS)
    assert mean.shape == variance.shape == (60,)
    np.testing.assert_allclose(model.label_distribution(TEXTS).sum(axis=1), 1)
    np.testing.assert_allclose(model.label_distribution(TEXTS, draws=2000, random_state=0).sum(axis=1), 1)
    without = TextClassifier(PerceptronClassifier()).fit(TEXTS, LABELS)
    assert not hasattr(without, "label_distribution")
    assert not hasattr(TextClassifier(PerceptronClassifier()), "label_distribution")
    np.testing.assert_allclose(without.predict_proba(TEXTS).sum(axis=1), 1)


def test_fit_does_not_change_what_it_is_given():
    inner, stop_words = AROWClassifier(), ["the"]
    model = TextClassifier(inner, stop_words=stop_words, hash_bits=10).fit(TEXTS, LABELS)
    assert not inner.__sklearn_is_fitted__()
    assert model.classifier is inner
    assert model.stop_words is stop_words
    assert model.classifier_.__sklearn_is_fitted__()


def test_the_default_chooses_by_itself():
    model = TextClassifier(hash_bits=10).fit(TEXTS, LABELS).classifier_
    assert isinstance(model, AutoClassifier)
    assert (model.epochs, model.fit_intercept) == ("auto", False)
    assert not model.choice_.fit_intercept


def test_it_is_as_good_as_tf_idf_on_easy_texts():
    texts, labels = documents(300, seed=1)
    vectorizer = TfidfVectorizer()
    X = vectorizer.fit_transform(texts[:200])
    score = AROWClassifier(random_state=0).fit(X, labels[:200]).score(vectorizer.transform(texts[200:]), labels[200:])
    assert classifier(epochs=5).fit(texts[:200], labels[:200]).score(texts[200:], labels[200:]) >= score - 0.01


@pytest.mark.parametrize(
    ("error", "message", "fit"),
    [
        (
            ValueError,
            "expected a list of texts, got one text: put",
            lambda: classifier().fit("text", ["a"]),
        ),
        (ValueError, "got one text", lambda: classifier().fit(TEXTS, LABELS).predict("text")),
        (NotFittedError, "not fitted yet", lambda: classifier().predict(["text"])),
        (NotFittedError, "not fitted yet", lambda: classifier().classes_),
        (NotFittedError, "not fitted yet", lambda: classifier().save("m.npz")),
        (ValueError, "`ngram_range` must be two integers", lambda: classifier(ngram_range=(2, 1)).fit(TEXTS, LABELS)),
        (ValueError, "`weighting` must be 'count'", lambda: classifier(weighting="tf").fit(TEXTS, LABELS)),
        (
            ValueError,
            "`hash_bits` must be an integer from 1 to",
            lambda: classifier(hash_bits=31).fit(TEXTS, LABELS),
        ),
        (ValueError, "`token_pattern` must be", lambda: classifier(token_pattern="x").fit(TEXTS, LABELS)),
        (ValueError, "`stop_words` must be", lambda: classifier(stop_words="english").fit(TEXTS, LABELS)),
        (TypeError, "`classifier` must be a linear", lambda: TextClassifier(AROWRegressor()).fit(TEXTS, LABELS)),
        (TypeError, "`classifier` must be a linear", lambda: TextClassifier(KernelCWClassifier()).fit(TEXTS, LABELS)),
        (ValueError, "inconsistent numbers of samples", lambda: classifier().fit(TEXTS, LABELS[1:])),
        (ValueError, "surrogate", lambda: classifier().fit(["\ud800", "b"], ["a", "b"])),
        (ValueError, "classes", lambda: classifier().partial_fit(TEXTS, LABELS)),
    ],
)
def test_wrong_use_is_refused(error, message, fit):
    with pytest.raises(error, match=message):
        fit()


def test_a_failed_fit_leaves_the_model_as_it_was():
    model = classifier().fit(TEXTS, LABELS)
    before = everything(model._learner)
    for texts, labels in ((["\ud800", "b"], ["a", "b"]), (TEXTS, LABELS[1:]), (TEXTS, ["one"] * 60)):
        with pytest.raises(ValueError):
            clone(model).fit(texts, labels)
        with pytest.raises(ValueError):
            model.fit(texts, labels)
        assert everything(model._learner) == before
    for texts, labels in ((["\ud800", "b"], ["bad", "good"]), (TEXTS, LABELS[1:]), (TEXTS, ["new"] * 60)):
        with pytest.raises(ValueError):
            model.partial_fit(texts, labels)
        assert everything(model._learner) == before


def test_options_that_change_after_fit_do_not_change_the_model():
    model = classifier().fit(TEXTS, LABELS)
    expected = model.decision_function(TEXTS)
    model.set_params(ngram_range=(1, 1), analyzer="char", idf=False, hash_bits=12)
    assert (model.decision_function(TEXTS) == expected).all()
    again = classifier().fit(TEXTS, LABELS).partial_fit(TEXTS, LABELS)
    assert everything(model.partial_fit(TEXTS, LABELS)._learner) == everything(again._learner)
    other = classifier(ngram_range=(1, 1), analyzer="char", idf=False, hash_bits=12)
    assert everything(model.fit(TEXTS, LABELS)._learner) == everything(other.fit(TEXTS, LABELS)._learner)


def test_what_is_no_text_is_refused():
    model = TextClassifier().fit(["a fine film", "a dull one"], ["good", "bad"])
    with pytest.raises(TypeError, match="expected a list or a column of strings; one of them is not a string"):
        model.predict(["fine", 5])


def test_texts_before_one_that_cannot_be_learned_are_counted_and_no_others(monkeypatch):
    texts, labels = ["a fine film", "a poor film", "no film at all", "a fine plot"], ["good", "bad", "bad", "good"]
    model, straight = (
        cwlearn.TextClassifier(cwlearn.AROWClassifier()).partial_fit(texts, labels, classes=["bad", "good"])
        for _ in range(2)
    )
    straight.partial_fit(texts[:2], labels[:2])
    partial_fit = cwlearn.AROWClassifier.partial_fit

    def fail_at_the_third(self, X, y, classes=None):
        partial_fit(self, X[:2], y[:2], classes)
        raise DataError("not a finite number", row=2)

    monkeypatch.setattr(cwlearn.AROWClassifier, "partial_fit", fail_at_the_third)
    with pytest.raises(DataError):
        model.partial_fit(texts, labels)
    assert bits(model._learner) == bits(straight._learner)
    assert model._learner.frequencies.n_documents == straight._learner.frequencies.n_documents == 6
    assert np.array_equal(model._learner.frequencies.counts, straight._learner.frequencies.counts)


def test_a_file_keeps_the_words_and_the_frequencies_that_its_texts_do(tmp_path):
    path = written(tmp_path / "a.jsonl", TEXTS, LABELS)
    model = TextClassifier(AROWClassifier(random_state=0), hash_bits=9).fit(TEXTS, LABELS)
    trained = cwlearn.train(path, TextClassifier(AROWClassifier(random_state=0), hash_bits=9))
    assert len(model._learner.frequencies.counts) == len(trained._learner.frequencies.counts) == 1 << 9
    assert (model._learner.frequencies.counts == trained._learner.frequencies.counts).all()
    assert model._learner.words == trained._learner.words
    assert len(model._learner.words) > 10


@pytest.mark.parametrize("empty", [[], (), np.array([], dtype=object)], ids=type)
def test_no_texts_have_no_labels_and_teach_nothing(empty):
    model = TextClassifier().fit(["a b", "c d"] * 3, [0, 1] * 3)
    assert model.predict(empty).shape == (0,)
    assert model.predict_proba(empty).shape == (0, 2)
    with pytest.raises(ValueError, match="0 sample"):
        TextClassifier().fit(empty, [])
