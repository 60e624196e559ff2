"""scikit-learn's own checks, and the tools of its world that people put our classifiers into."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_class_weight_classifiers, parametrize_with_checks

from cwlearn.estimators.auto import AutoClassifier
from cwlearn.estimators.classifier import Weighted
from cwlearn.estimators.loading import (
    CLASSIFIERS,
    KERNEL_CLASSIFIERS,
    AROWClassifier,
    AROWRegressor,
    CWClassifier,
    KernelAROWClassifier,
    KernelCWClassifier,
    LogisticClassifier,
    NHERDClassifier,
    PassiveAggressiveClassifier,
    PerceptronClassifier,
)

SLOW_WITH_WEIGHTS = (NHERDClassifier, PerceptronClassifier)  # if one label counts ten million times as much as another
VARIANTS = [
    *(classifier() for classifier in CLASSIFIERS.values()),
    AutoClassifier(),
    AROWClassifier(epochs="auto"),
    PassiveAggressiveClassifier(loss="squared_hinge"),
    PerceptronClassifier(average=True),
    AROWClassifier(average=True),
    CWClassifier(form="variance", projection="exact", dtype="float64"),
    AROWClassifier(dtype="float64", projection="l2", regularization=1.0),
    CWClassifier(n_constraints=None),
    AROWClassifier(n_constraints=2, multiclass_update="parallel"),
    PassiveAggressiveClassifier(n_constraints=None, multiclass_update="exact"),
    AROWClassifier(covariance="full"),
    CWClassifier(covariance="full"),
    KernelAROWClassifier(),
    KernelCWClassifier(kernel="poly", n_constraints=None, multiclass_update="parallel"),
    AROWRegressor(),
    AROWRegressor(1.0, covariance="full", epochs=1),
]
# Two thirds of the time, for what the others go through: other rules of a full covariance, another kernel.
MORE = [
    *(
        classifier(covariance="full")
        for classifier in CLASSIFIERS.values()
        if "covariance" in classifier().get_params() and classifier not in (AROWClassifier, CWClassifier)
    ),
    *(classifier() for classifier in KERNEL_CLASSIFIERS.values() if classifier is not KernelAROWClassifier),
    KernelAROWClassifier(kernel="linear", budget=10),
]


def not_to_be_had(estimator):
    """A row of weight 2 is one step, two equal rows are two: no learner that goes row by row can treat them alike."""
    failing = {}
    order_matters = (
        isinstance(estimator, AROWRegressor) and estimator.covariance == "diagonal"
    )  # full: ridge regression
    if isinstance(estimator, Weighted) or order_matters:
        reason = "an online learner depends on the order and number of its rows"
        failing |= {f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in ("dense", "sparse")}
    if isinstance(estimator, PerceptronClassifier) and estimator.average:
        failing["check_class_weight_classifiers"] = "it passes after the 1000 passes that the check wants; see below"
    return failing


@parametrize_with_checks(VARIANTS, expected_failed_checks=not_to_be_had)
def test_h15_estimator_checks(estimator, check):
    check(estimator)


@pytest.mark.long
@parametrize_with_checks(MORE, expected_failed_checks=not_to_be_had)
def test_h15_estimator_checks_of_more_covariances_and_kernels(estimator, check):
    check(estimator)


@pytest.mark.parametrize("classifier", SLOW_WITH_WEIGHTS)
def test_class_weights_are_obeyed_after_as_many_passes_as_the_check_wants(classifier):
    """It sets `max_iter` to 1000; our estimators call it `epochs`."""
    check_class_weight_classifiers(classifier.__name__, classifier(epochs=1000))


def mails():
    rng = np.random.default_rng(0)
    words = {
        "ham": ["meeting", "agenda", "lunch", "report", "team", "budget"],
        "spam": ["win", "prize", "cash", "free", "offer", "click"],
    }
    labels = rng.choice(["ham", "spam"], 300)
    common = ["the", "of", "and", "to", "in"]
    texts = [" ".join(rng.choice([*words[label], *common], 12)) for label in labels]
    return texts, labels


@pytest.mark.parametrize("classifier", CLASSIFIERS.values(), ids=lambda classifier: classifier.__name__)
def test_pipeline_with_hashed_text(classifier):
    texts, labels = mails()
    model = make_pipeline(HashingVectorizer(n_features=2**18), classifier(random_state=0))
    assert cross_val_score(model, texts, labels, cv=3).mean() > 0.95
    model.fit(texts, labels)
    assert model.predict(["free cash prize", "budget meeting"]).tolist() == ["spam", "ham"]


def test_grid_search():
    texts, labels = mails()
    X = HashingVectorizer(n_features=2**12).transform(texts)
    search = GridSearchCV(
        AROWClassifier(random_state=0), {"regularization": [0.1, 1.0, "auto"], "epochs": [1, 2]}, cv=3
    )
    search.fit(X, labels)
    assert search.best_score_ > 0.95
    assert search.best_params_["regularization"] in (0.1, 1.0, "auto")


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("classifier", CLASSIFIERS.values(), ids=lambda classifier: classifier.__name__)
def test_calibration(classifier, method):
    texts, labels = mails()
    X = HashingVectorizer(n_features=2**12).transform(texts)
    model = CalibratedClassifierCV(classifier(random_state=0), method=method, cv=3).fit(X, labels)
    assert model.score(X, labels) > 0.95


@pytest.mark.parametrize("classifier", CLASSIFIERS.values(), ids=lambda classifier: classifier.__name__)
def test_h15_clone_pickle_and_deepcopy(classifier):
    texts, labels = mails()
    X = HashingVectorizer(n_features=2**12).transform(texts)
    model = classifier(epochs=2, random_state=3, initial_variance=0.5).fit(X, labels)
    assert clone(model).get_params() == model.get_params()
    assert not hasattr(clone(model), "coef_")
    for twin in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), clone(model).fit(X, labels)):
        assert (twin.decision_function(X) == model.decision_function(X)).all()
        assert twin.n_updates_ == model.n_updates_


def test_fit_is_epochs_of_shuffled_passes_and_partial_fit_one_pass_in_order():
    texts, labels = mails()
    X = HashingVectorizer(n_features=2**12).transform(texts)
    model = AROWClassifier(shuffle=False, epochs=3).fit(X, labels)
    stepwise = AROWClassifier()
    for _ in range(3):
        for part in np.array_split(np.arange(len(labels)), 7):
            stepwise.partial_fit(X[part], labels[part], classes=["ham", "spam"])
    assert (stepwise._learner.state.cells == model._learner.state.cells).all()
    warm = AROWClassifier(shuffle=False, epochs=1, warm_start=True)
    for _ in range(3):
        warm.fit(X, labels)
    assert (warm._learner.state.cells == model._learner.state.cells).all()
    shuffled = AROWClassifier(epochs=3, random_state=0).fit(X, labels)
    assert (shuffled._learner.state.cells != model._learner.state.cells).any()


def test_int64_indices_give_the_same_model():
    texts, labels = mails()
    X = HashingVectorizer(n_features=2**12).transform(texts).astype(np.float32)
    wide = X.copy()
    wide.indices, wide.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    models = [AROWClassifier(random_state=0).fit(matrix, labels) for matrix in (X, wide)]
    assert (models[0].coef_ == models[1].coef_).all()
    assert (models[0].predict(wide) == models[1].predict(X)).all()


@pytest.mark.parametrize(
    "classifier",
    [classifier for classifier in CLASSIFIERS.values() if issubclass(classifier, Weighted)],
    ids=lambda classifier: classifier.__name__,
)
def test_class_weights_and_sample_weights_scale_the_loss(classifier):
    texts, labels = mails()
    X = HashingVectorizer(n_features=2**12).transform(texts)
    by_class = classifier(class_weight={"ham": 3.0, "spam": 1.0}, random_state=0).fit(X, labels)
    by_row = classifier(random_state=0).fit(X, labels, sample_weight=np.where(labels == "ham", 3.0, 1.0))
    assert (by_class.coef_ == by_row.coef_).all()
    balanced = classifier(class_weight="balanced", random_state=0).fit(X, labels)
    counts = {label: np.sum(labels == label) for label in ("ham", "spam")}
    expected = {label: len(labels) / (2 * count) for label, count in counts.items()}
    assert (balanced.coef_ == classifier(class_weight=expected, random_state=0).fit(X, labels).coef_).all()
    assert (balanced.coef_ != classifier(random_state=0).fit(X, labels).coef_).any()


@pytest.mark.parametrize("classifier", [NHERDClassifier, PerceptronClassifier])
def test_balanced_weights_find_more_of_a_rare_label(classifier):
    rng = np.random.default_rng(0)
    y = rng.random(3000) < 0.04
    X = rng.standard_normal((3000, 20)) + 0.25 * y[:, None]
    recalls = []
    for class_weight in (None, "balanced"):
        model = classifier(average=True, class_weight=class_weight, random_state=0).fit(X[:2000], y[:2000])
        recalls.append(np.mean(model.predict(X[2000:])[y[2000:]]))
    assert recalls[1] > recalls[0] + 0.2


def test_weights_do_not_depend_on_the_chunks():
    texts, labels = mails()
    X = HashingVectorizer(n_features=2**12).transform(texts)
    order = np.argsort(labels, kind="stable")  # the first chunks have one label only
    weights = np.where(np.arange(len(labels)) % 3 == 0, 0.0, 1.5)
    weights[order[:10]] = 0  # and one chunk no weight at all
    whole, chunked = (AROWClassifier(class_weight={"spam": 5.0}) for _ in range(2))
    whole.partial_fit(X[order], labels[order], classes=["ham", "spam"], sample_weight=weights[order])
    for part in np.array_split(order, 30):
        chunked.partial_fit(X[part], labels[part], classes=["ham", "spam"], sample_weight=weights[part])
    assert (whole.coef_ == chunked.coef_).all()
    with pytest.raises(ValueError, match="`class_weight` names 'eggs'"):
        AROWClassifier(class_weight={"eggs": 1.0}).fit(X, labels)


def test_a_fit_that_fails_leaves_the_estimator_as_it_was():
    X, y = np.eye(6), [0, 1, 0, 1, 0, 1]
    model = AROWClassifier(random_state=0).fit(X, y)
    before = model.decision_function(X)
    broken = np.full((6, 12), np.nan)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(broken, y)
    assert (model.decision_function(X) == before).all()
    huge = PerceptronClassifier(shuffle=False)
    with pytest.raises(ValueError, match=r"row 1: .* not a finite number in float32"):
        huge.fit(np.array([[1.0], [3e37]]), [0, 1])
    assert not hasattr(huge, "coef_")


def test_parameters_that_change_between_calls_are_heard_or_refused():
    X, y = np.eye(6), [0, 1, 0, 1, 0, 1]
    model = AROWClassifier(warm_start=True, epochs=1, random_state=0).fit(X, y)
    model.set_params(epochs=5).fit(X, y)
    assert model._learner.statistics["rows"] == 6 * 6
    model.set_params(regularization=100.0).partial_fit(X, y)
    assert model._learner.rule.regularization == 100.0
    with pytest.raises(ValueError, match="`dtype` cannot change from 'float32' to 'float64'"):
        model.set_params(dtype="float64").partial_fit(X, y)


def test_first_calls_from_several_threads_lose_nothing():
    X, y = np.eye(8), np.array([0, 1] * 4)
    for _ in range(20):
        model = AROWClassifier()
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda row: model.partial_fit(X[[row]], y[[row]], classes=[0, 1]), range(8)))  # noqa: B023
        assert model._learner.statistics["rows"] == 8


def test_c30_weights_that_make_no_sense_are_refused():
    X, y = np.eye(4), [0, 1, 0, 1]
    for weights in ([1, 1, np.nan, 1], [1, 1, np.inf, 1], [1, -1, 1, 1], [1, 1], [0, 0, 0, 0]):
        with pytest.raises(ValueError):
            AROWClassifier().fit(X, y, sample_weight=weights)
    left_out = AROWClassifier(random_state=0, shuffle=False).fit(X, y, sample_weight=[1, 1, 0, 0])
    assert (left_out.coef_ == AROWClassifier(shuffle=False).fit(X[:2], y[:2]).coef_).sum() == 4
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'sample_weight'"):
        CLASSIFIERS["cw"]().fit(X, y, sample_weight=[1, 1, 1, 1])
    with pytest.raises(ValueError, match="`C=None` has no loss"):
        PassiveAggressiveClassifier(C=None).fit(X, y, sample_weight=[1, 1, 1, 1])
    with pytest.raises(ValueError, match="`class_weight` scales a loss, and pa with `C=None` has none"):
        PassiveAggressiveClassifier(C=None, class_weight={0: 2.0}).fit(X, y)


@pytest.mark.parametrize("columns", [5, 7])
@pytest.mark.parametrize("method", ["predict", "decision_function", "predict_proba", "margin", "partial_fit"])
def test_c25_another_number_of_columns_than_at_first_is_refused(columns, method):
    model = AROWClassifier().fit(np.eye(6), [0, 1] * 3)
    arguments = ([0, 1, 0],) if method == "partial_fit" else ()
    for X in (np.ones((3, columns)), sparse.csr_matrix(np.ones((3, columns)))):
        with pytest.raises(ValueError, match=f"X has {columns} features, but AROWClassifier is expecting 6"):
            getattr(model, method)(X, *arguments)


def test_h06_seeds_are_those_of_scikit_learn():
    texts, labels = mails()
    X = HashingVectorizer(n_features=2**12).transform(texts)

    def fitted(seed):
        return AROWClassifier(random_state=seed).fit(X, labels).coef_

    assert (fitted(3) == fitted(np.random.RandomState(3))).all()
    assert (fitted(3) != fitted(4)).any()
    assert (fitted(None) != fitted(None)).any()


def test_h08_h09_h10_c29_labels_and_states_that_make_no_sense_are_refused():
    X = np.eye(4)
    with pytest.raises(ValueError, match="y should be a 1d array"):
        AROWClassifier().fit(X, np.eye(4))
    with pytest.raises(ValueError, match="contains NaN"):
        AROWClassifier().fit(X, [0, 1, np.nan, 1])
    with pytest.raises(ValueError, match="found one class"):
        AROWClassifier().fit(X, [1, 1, 1, 1])
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        AROWClassifier().fit(X, [1.5, 2.5, 3.5, 1.5])
    for labels in ([None, "a"] * 2, ["a", "b", None, "a"], [0, "b"] * 2):
        with pytest.raises(ValueError, match="labels must be of one type"):
            AROWClassifier().fit(X, np.array(labels, object))
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        AROWClassifier().partial_fit(X, [0, 1, 0, 1])
    model = AROWClassifier().partial_fit(X, [0, 0, 0, 0], classes=[0, 1])
    for classes in ([], [0], [1, 2], [0, "a"]):
        with pytest.raises(ValueError):
            AROWClassifier().partial_fit(X, [0, 1, 0, 1], classes=classes)
    with pytest.raises(ValueError, match="not the same as on the first call"):
        model.partial_fit(X, [0, 1, 0, 1], classes=[0, 2])
    with pytest.raises(ValueError, match=r"row 2: label 7 is not one of the labels \[0, 1\]"):
        model.partial_fit(X, [0, 1, 7, 1])
    with pytest.raises(ValueError, match="balanced"):
        AROWClassifier(class_weight="balanced").partial_fit(X, [0, 1, 0, 1], classes=[0, 1])
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[4, 2\]"):
        AROWClassifier().fit(X, [0, 1])
    with pytest.raises(NotFittedError, match="not fitted yet"):
        AROWClassifier().predict(X)


def test_the_distribution_of_labels_is_that_of_the_gaussian():
    from scipy.stats import norm

    texts, labels = mails()
    X = HashingVectorizer(n_features=2**12).transform(texts)
    model = AROWClassifier(random_state=0).fit(X, labels)
    mean, variance = model.margin(X)
    np.testing.assert_allclose(model.label_distribution(X)[:, 1], norm.cdf(mean / np.sqrt(variance)), rtol=1e-12)
    np.testing.assert_allclose(model.label_distribution(X)[:, 0], norm.cdf(-mean / np.sqrt(variance)), rtol=1e-12)
    np.testing.assert_allclose(model.label_distribution(X).sum(1), 1, rtol=1e-14)
    nothing = sparse.csr_matrix((1, X.shape[1]))
    empty = AROWClassifier(fit_intercept=False).fit(X, labels)
    assert empty.label_distribution(nothing).tolist() == [[0.5, 0.5]]
    assert not hasattr(PassiveAggressiveClassifier(), "label_distribution")


@pytest.mark.parametrize("model", [AROWClassifier(), PassiveAggressiveClassifier(), PerceptronClassifier(average=True)])
@pytest.mark.parametrize("epochs", [1, 5])
def test_the_score_of_two_labels_is_the_log_odds_of_a_label_without_noise(model, epochs):
    texts, labels = mails()
    X = HashingVectorizer(n_features=2**12).transform(texts)
    model = clone(model).set_params(random_state=0, epochs=epochs).fit(X, labels)
    odds, chance = model.decision_function(X), model.predict_proba(X)
    noise = model._learner.calibration.best.noise
    assert 0 < noise < 0.2
    np.testing.assert_allclose(chance[:, 1], noise / 2 + (1 - noise) / (1 + np.exp(-odds)), rtol=1e-12)
    np.testing.assert_allclose(chance.sum(axis=1), 1, rtol=1e-12)
    assert (model.predict(X) == model.classes_[(odds > 0).astype(int)]).all()
    assert (model.predict(X) == model.classes_[chance.argmax(axis=1)]).all()


@pytest.mark.parametrize("bayesian", [True, False])
def test_logistic_probabilities_are_the_mean_of_the_sigmoid(bayesian):
    texts, labels = mails()
    X = HashingVectorizer(n_features=2**12).transform(texts)
    model = LogisticClassifier(bayesian=bayesian, random_state=0).fit(X[:50], labels[:50])
    mean, variance = model.margin(X)
    sd = np.sqrt(variance) if bayesian else 0.0  # by sampling; MacKay's formula is good to about 0.01
    draws = np.random.default_rng(0).normal(mean, sd, (20_000, len(mean)))
    expected = np.mean(1 / (1 + np.exp(-draws)), axis=0)
    np.testing.assert_allclose(model.label_distribution(X)[:, 1], expected, atol=0.02 if bayesian else 1e-12)


def test_margins_are_linear_in_the_weights():
    texts, labels = mails()
    X = HashingVectorizer(n_features=2**12).transform(texts)
    model = AROWClassifier(dtype="float64", random_state=0).fit(X, labels)
    mean, variance = model.margin(X)
    np.testing.assert_allclose(mean, (X @ model.coef_.T).ravel() + model.intercept_, rtol=1e-10, atol=1e-12)
    expected = (X.multiply(X) @ model.variance_.T).ravel() + model._learner.state.variance[0]
    np.testing.assert_allclose(variance, expected, rtol=1e-10)
