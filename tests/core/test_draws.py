"""Draws of weights and scores have the moments of the Gaussian that the model has learned."""

from __future__ import annotations

import numpy as np
import pytest

from cwlearn import (
    AROWClassifier,
    AROWRegressor,
    AutoClassifier,
    CWClassifier,
    FTRLClassifier,
    KernelAROWClassifier,
    LogisticClassifier,
    PassiveAggressiveClassifier,
    SOPClassifier,
    TextClassifier,
)
from cwlearn.core.draws import root_of
from tests.cases import labelled_rows, random_rows

DRAWS = 4000
MODELS = [
    CWClassifier(random_state=0),
    AROWClassifier(initial_variance=0.5, dtype="float64", random_state=0),
    AROWClassifier(average=True, fit_intercept=False, random_state=0),
    AROWClassifier(covariance="full", random_state=0),
    KernelAROWClassifier(kernel="rbf", gamma=0.1, random_state=0),
]


def data(n_labels):
    return random_rows(noise=0.1) if n_labels == 2 else labelled_rows(n_labels=n_labels, noise=0.1)


@pytest.mark.parametrize("n_labels", [2, 4])
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_drawn_scores_have_the_mean_and_the_variance_of_the_margins(model, n_labels):
    X, y = data(n_labels)
    model.fit(X, y)
    mean, variance = model.margin(X)
    scores = model.decision_function(X, draws=DRAWS, random_state=0)
    assert scores.shape == (DRAWS, *mean.shape)
    error = np.sqrt(variance / DRAWS) + 1e-12
    assert (np.abs(scores.mean(axis=0) - mean) < 5 * error).all()
    np.testing.assert_allclose(scores.var(axis=0), variance, rtol=0.15, atol=1e-12)


@pytest.mark.parametrize("model", [*MODELS[:1], *MODELS[3:]], ids=repr)
def test_one_weight_vector_scores_all_rows_of_a_draw(model):
    X, y = data(2)
    model.fit(X, y)
    twice = X[[3, 3, 5]]
    scores = model.decision_function(twice, draws=50, random_state=1)
    np.testing.assert_allclose(scores[:, 0], scores[:, 1], rtol=1e-6, atol=1e-6)
    assert np.std(scores[:, 0] - scores[:, 2]) > 0.01


@pytest.mark.parametrize("n_labels", [2, 4])
@pytest.mark.parametrize("covariance", ["diagonal", "full"])
def test_drawn_weights_have_the_moments_of_the_weights(covariance, n_labels):
    X, y = data(n_labels)
    model = AROWClassifier(covariance=covariance, random_state=0).fit(X, y)
    generator = np.random.RandomState(3)
    drawn = [model.sample_weights(generator) for _ in range(1000)]
    coefficients = np.stack([coef for coef, _ in drawn])
    intercepts = np.stack([intercept for _, intercept in drawn])
    assert coefficients.shape[1:] == model.coef_.shape
    assert intercepts.shape[1:] == model.intercept_.shape
    assert (np.abs(coefficients.mean(axis=0) - model.coef_) < 5 * np.sqrt(model.variance_ / 1000)).all()
    np.testing.assert_allclose(coefficients.var(axis=0), model.variance_, rtol=0.3)
    if covariance == "full" and n_labels == 2:
        np.testing.assert_allclose(np.cov(coefficients[:, 0].T), model.covariance_, atol=0.12)


def test_a_seed_repeats_a_draw_and_scores_are_those_of_the_weights():
    X, y = data(2)
    model = AROWClassifier(dtype="float64", random_state=0).fit(X, y)
    coef, intercept = model.sample_weights(7)
    again, _ = model.sample_weights(np.random.RandomState(7))
    assert np.array_equal(coef, again)
    every_column = np.eye(X.shape[1])  # with all columns in use both draw the same weights
    scores = model.decision_function(every_column, draws=1, random_state=7)
    np.testing.assert_allclose(scores[0], (every_column @ coef.T + intercept)[:, 0], rtol=1e-12)


def test_weights_of_a_regression_are_in_the_unit_of_its_targets():
    X, _ = random_rows()
    y = 100 * (X @ np.arange(25.0)) + np.random.default_rng(0).standard_normal(X.shape[0])
    small, large = (AROWRegressor(random_state=0).fit(X, factor * y) for factor in (1, 10))
    ratio = np.std(large.sample_weights(0)[0] - large.coef_) / np.std(small.sample_weights(0)[0] - small.coef_)
    assert ratio == pytest.approx(10, rel=1e-3)


def test_texts_have_draws_too():
    texts = ["a fine film", "a dull film", "fine acting", "dull and long"] * 3
    model = TextClassifier(AROWClassifier(random_state=0)).fit(texts, ["good", "bad"] * 6)
    scores = model.decision_function(["fine", "dull"], draws=200, random_state=0)
    assert scores.shape == (200, 2)
    assert scores[:, 0].mean() > scores[:, 1].mean()


def test_where_no_gaussian_was_learned_nothing_is_drawn():
    X, y = data(2)
    for model in (PassiveAggressiveClassifier(), FTRLClassifier()):
        assert not hasattr(model, "sample_weights")
    model = LogisticClassifier(bayesian=False).fit(X, y)
    with pytest.raises(ValueError, match="logistic learns no variances"):
        model.decision_function(X, draws=3)
    with pytest.raises(ValueError, match="logistic learns no variances"):
        model.sample_weights()
    assert not hasattr(KernelAROWClassifier(), "sample_weights")
    assert hasattr(AutoClassifier(), "sample_weights")


@pytest.mark.parametrize("draws", [0, -1, 1.5, "many", True])
def test_h19_the_number_of_draws_is_checked(draws):
    X, y = data(2)
    with pytest.raises(ValueError, match="draws"):
        SOPClassifier().fit(X, y).decision_function(X, draws=draws)


def test_no_rows_have_no_scores():
    X, y = data(2)
    assert AROWClassifier().fit(X, y).decision_function(X[:0], draws=2).shape == (2, 0)
    assert KernelAROWClassifier().fit(X, y).decision_function(X[:0], draws=2).shape == (2, 0)


def test_a_covariance_that_rounding_made_indefinite_still_has_a_root():
    vector = np.array([[1.0, 2.0, 3.0]])
    covariance = vector.T @ vector - 1e-15 * np.eye(3)
    root = root_of(covariance)
    np.testing.assert_allclose(root @ root.T, covariance, atol=1e-12)
