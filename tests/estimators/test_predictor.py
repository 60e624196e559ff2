"""`load_predictor`: the answers of the estimator, without scikit-learn."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import cwlearn
from cwlearn import AROWClassifier, AROWRegressor, DataError, FTRLClassifier, KernelAROWClassifier, TextClassifier

TEXTS = ["Win a FREE prize now", "minutes of the budget meeting", "free cash, click now", "", "Σίσυφος, Zoë"]


def both(model, path):
    model.save(path)
    return cwlearn.load(path), cwlearn.load_predictor(path)


@pytest.mark.parametrize("labels", [["a", "b", "a", "b", "b"], ["a", "b", "c", "b", "c"]], ids=["two", "three"])
@pytest.mark.parametrize("classifier", [AROWClassifier(average=True), FTRLClassifier()], ids=str)
def test_texts_are_answered_as_by_the_estimator(tmp_path, classifier, labels):
    model, predictor = both(TextClassifier(classifier, hash_bits=12).fit(TEXTS, labels), tmp_path / "m.npz")
    assert predictor.predict(TEXTS).tolist() == model.predict(TEXTS).tolist()
    assert predictor.predict_proba(TEXTS).tolist() == model.predict_proba(TEXTS).tolist()
    assert predictor.margin(TEXTS)[0].tolist() == model.margin(TEXTS)[0].tolist()
    assert predictor.classes_.tolist() == model.classes_.tolist()
    for text in TEXTS:
        assert predictor.predict_one(text) == model.predict_one(text)
        assert predictor.predict_proba_one(text) == model.predict_proba_one(text)
        assert predictor.explain(text) == model.explain(text)


def test_matrices_dictionaries_and_regressions_are_answered_too(tmp_path):
    X = np.random.default_rng(0).normal(size=(40, 5))
    model, predictor = both(AROWClassifier(random_state=0).fit(X, X[:, 0] > 0), tmp_path / "m.npz")
    assert predictor.predict(X).tolist() == model.predict(X).tolist()
    assert predictor.predict_proba(X).tolist() == model.predict_proba(X).tolist()
    assert predictor.predict_one({0: 1.0}) is True
    assert predictor.explain({0: 1.0}).label is True
    assert predictor.n_features_in_ == 5
    with pytest.raises(DataError, match="4 features, but 5"):
        predictor.predict(X[:, :4])
    model, predictor = both(AROWRegressor(random_state=0).fit(X, X @ np.arange(5.0)), tmp_path / "m.npz")
    assert predictor.predict(X).tolist() == model.predict(X).tolist()
    assert predictor.predict_one(X[0]) == model.predict_one(X[0])
    for ask in (predictor.predict_proba, predictor.predict_proba_one):
        with pytest.raises(ValueError, match="no probabilities"):
            ask(X[:1])
    model, predictor = both(KernelAROWClassifier(random_state=0, epochs=1).fit(X, X[:, 0] > 0), tmp_path / "m.npz")
    assert predictor.predict(X).tolist() == model.predict(X).tolist()


def test_texts_that_are_none_are_refused(tmp_path):
    _, predictor = both(TextClassifier(AROWClassifier(), hash_bits=12).fit(TEXTS, [0, 1, 0, 1, 1]), tmp_path / "m.npz")
    for texts, message in (("one text", "put it into a list"), ([b"\xff"], "not UTF-8"), (["\ud800"], "surrogate")):
        with pytest.raises(ValueError, match=message):
            predictor.predict(texts)
    with pytest.raises(TypeError, match="got int"):
        predictor.predict([1])


def test_dictionaries_with_further_fields_are_answered(tmp_path):
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"text": "warm", "label": "a", "kind": "mail"}\n{"text": "cold", "label": "b", "kind": "web"}\n')
    model = cwlearn.train(rows, AROWClassifier(epochs=2), fields=["kind"])
    model, predictor = both(model, tmp_path / "m.npz")
    record = {"text": "Cold", "kind": "mail"}
    assert predictor.predict_one(record) == model.predict_one(record) == model.predict([record])[0]
    assert predictor.predict([record]).tolist() == model.predict([record]).tolist()
    assert {item.name for item in predictor.explain(record).contributions} == {"Cold", "kind=mail"}


def test_nothing_heavy_is_loaded_for_the_first_answer(tmp_path):
    path = tmp_path / "m.npz"
    TextClassifier(AROWClassifier(), hash_bits=12).fit(TEXTS, [0, 1, 0, 1, 1]).save(path)
    code = f"""
import sys, cwlearn
model = cwlearn.load_predictor({str(path)!r})
model.predict(["free"]), model.predict_one("free"), model.predict_proba_one("free")
print(*sys.modules)
"""
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "numpy" in loaded
    assert not {"scipy", "sklearn", "jinja2", "tqdm", "argparse"} & {*loaded}
    assert "cwlearn.text.documents" not in loaded  # nor the readers of files
