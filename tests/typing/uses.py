"""Every public name, as a user would write it: type checkers must accept all of it (`tests/test_typing.py`)."""

from __future__ import annotations

from pathlib import Path
from typing import assert_type

import numpy as np
from numpy.typing import NDArray

import cwlearn
from cwlearn import (
    AdaGradClassifier,
    AROWClassifier,
    AROWRegressor,
    AutoClassifier,
    CWClassifier,
    DataError,
    FTRLClassifier,
    HashingVectorizer,
    KernelAROWClassifier,
    KernelCWClassifier,
    LogisticClassifier,
    ModelError,
    MultiLabelClassifier,
    NHERDClassifier,
    PassiveAggressiveClassifier,
    PerceptronClassifier,
    Predictor,
    ProbitClassifier,
    SCWClassifier,
    SOPClassifier,
    TextClassifier,
    iter_svmlight,
    load,
    load_predictor,
    merge,
    read_svmlight,
    train,
)


def main() -> None:
    X = np.eye(4)
    y = ["spam", "ham", "spam", "ham"]

    arow = AROWClassifier(random_state=0, regularization="auto", class_weight={"spam": 2.0}).fit(X, y)
    assert_type(arow, AROWClassifier)
    print(arow.predict(X).tolist())
    print(arow.label_distribution(X, draws=10, random_state=0).sum(axis=1))
    print(arow.predict_proba(X), *arow.margin(X))
    arow.partial_fit(X, y, sample_weight=np.ones(4))
    assert_type(arow.learn_one({0: 1.0}, "spam"), AROWClassifier)
    assert_type(arow.predict_proba_one(X[0])[arow.predict_one({0: 1.0})], float)
    assert_type(arow.explain(X[0], top=3).contributions[0].amount, float)
    print(arow.coef_ + arow.variance_)
    assert_type(arow.query(X, 2), NDArray[np.int64])
    assert_type(arow.decision_function(X, draws=3, random_state=0), NDArray[np.float64])
    LogisticClassifier(forgetting=1000, threshold="f1").fit(X, y)
    assert_type(arow.n_updates_ + arow.n_mistakes_, int)

    cw = CWClassifier(0.95, "variance", projection="exact", covariance="diagonal", n_constraints=None).fit(X, y)
    assert_type(cw.partial_fit(X, y), CWClassifier)
    SCWClassifier(confidence=0.9, C=1.0, loss="hinge", epochs=3, shuffle=False).fit(X, y)
    NHERDClassifier(C="auto", dtype="float64").fit(X, y)
    SOPClassifier(a=1.0).fit(X, y)
    print(ProbitClassifier(beta=0.5, average=True).fit(X, y).label_distribution(X, draws=3))
    print(FTRLClassifier(alpha=0.1, beta=1.0, l1=1.0, l2=0.0, loss="logistic").fit(X, y).predict_proba(X))
    AdaGradClassifier(0.1, l1=1e-4, loss="hinge").fit(X, y)
    LogisticClassifier(bayesian=False, learning_rate=0.1, verbose=0).fit(X, y)
    PassiveAggressiveClassifier(C=None, average=True, epochs="auto").fit(X, y)
    auto = AutoClassifier(class_weight="balanced", epochs="auto", random_state=0).fit(X, y)
    assert_type(auto, AutoClassifier)
    several = MultiLabelClassifier(AROWClassifier()).fit(X, [["a"], ["a", "b"]])
    assert_type(several, MultiLabelClassifier)
    assert_type(several.predict_proba(X), NDArray[np.float64])
    print(auto.choice_.predict(X), auto.race_[0]["algorithm"])
    PerceptronClassifier(average=True, warm_start=True).fit(X, y)
    KernelCWClassifier(kernel="rbf", gamma="scale", budget=100).fit(X, y)
    assert_type(KernelAROWClassifier(kernel=lambda a, b: a @ b.T).fit(X, y).n_kept_, int)
    regressor = AROWRegressor(covariance="full", regularization=1e-3).fit(X, [1.0, 2.0, 3.0, 4.0])
    print(regressor.intercept_ + regressor.scale_ + regressor.noise_variance_)

    vectorizer = HashingVectorizer(ngram_range=(1, 2), stop_words="english", norm=None, dtype=np.float32)
    print(vectorizer.transform(["some text"]).shape)
    documents = TextClassifier(ngram_range=(1, 2), weighting="count").fit(["good", "bad"], ["a", "b"])
    documents.partial_fit(["good"], ["a"])
    assert_type(documents.decision_function(["good"]), NDArray[np.float64])
    print(documents.query(["good", "bad"], n=1).tolist())
    print(documents.predict_proba(["good"]), documents.classes_)

    def from_files(path: Path) -> None:
        """Files in, model out."""
        arow.save(path)
        again = load(path)
        assert_type(load_predictor(path, max_memory="1G"), Predictor)
        print(load_predictor(path).predict(X), load_predictor(path).predict_one({0: 1.0}))
        again.predict(X)
        again.margin(X)
        again.save(str(path))
        assert_type(merge([arow, arow], how="kl", base=arow), AROWClassifier)
        matrix, targets = read_svmlight(
            path, n_features=10, dtype="float32", zero_based=True, threads=2, on_bad_line="skip"
        )
        _, _, queries = read_svmlight(path, n_features=3, on_large_index="ignore", zero_based="auto", query_id=True)
        assert_type(queries, NDArray[np.int64])
        for batch, some in iter_svmlight([path], rows=100, n_features=10, unsorted="sort"):
            arow.partial_fit(batch, some)
        assert_type(
            train(path, arow, labels=[0, 1], memory="1G", on_bad_line="skip", max_bad=3),
            AROWClassifier | TextClassifier,
        )
        texts = TextClassifier(arow, (1, 1), analyzer="char_wb", stop_words=["the"], idf=False, hash_bits=18)
        assert_type(train(path, texts, format="csv", text="title,body", label="class", header=True), TextClassifier)
        assert_type(merge([texts, texts]), TextClassifier)
        train([path], format="jsonl", labels=["spam", "ham"]).predict(["some text"])
        print(matrix.shape, targets.shape)

    try:
        from_files(Path("missing"))
    except (DataError, ModelError) as error:
        print(error)
    print(cwlearn.__version__)
