"""Probabilities of labels: quadrature is compared with other integrals, and random draws with quadrature."""

from __future__ import annotations

import itertools
import time

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score

import cwlearn as package
from cwlearn.core._probabilities import winning_probabilities
from cwlearn.estimators.loading import CLASSIFIERS

PROBABILISTIC = ["cw", "arow", "scw", "nherd", "sop", "logistic"]


@pytest.mark.long
def test_quadrature_is_exact_for_independent_scores():
    """The reference is adaptive quadrature, label by label.  Deviations have very different sizes."""
    rng = np.random.default_rng(0)
    for _ in range(25):
        n = rng.integers(2, 7)
        mean, sd = rng.normal(size=n) * 10 ** rng.uniform(-2, 1), 10 ** rng.uniform(-2.5, 1, size=n)
        probability = winning_probabilities(mean[None], sd[None] ** 2)[0]
        edges = np.sort(np.concatenate([mean + step * sd for step in (-9, -3, -1, 0, 1, 3, 9)]))
        for z in range(n):

            def integrand(t, mean=mean, sd=sd, z=z):
                others = norm.cdf(t, np.delete(mean, z), np.delete(sd, z))
                return norm.pdf(t, mean[z], sd[z]) * np.prod(others)

            parts = [quad(integrand, a, b, epsabs=1e-13, epsrel=1e-12)[0] for a, b in itertools.pairwise(edges)]
            assert probability[z] == pytest.approx(sum(parts), abs=1e-10)
        assert probability.sum() == pytest.approx(1, abs=1e-14)


@pytest.mark.parametrize("n", [5, 20, 100, 500])
@pytest.mark.parametrize("wide", [1.0, 8.0])
def test_quadrature_is_exact_for_many_labels(n, wide):
    """The product of many distribution functions bends sharply.  The reference is a fine trapezoid rule."""
    mean, sd = np.append(1.0, np.zeros(n - 1)), np.append(wide, np.ones(n - 1))
    t = np.linspace(-8.0, 1 + 9 * wide, 40_001)
    first, rest = norm.cdf(t, mean[0], sd[0]), norm.cdf(t)
    expected = np.trapezoid(norm.pdf(t, mean[0], sd[0]) * rest ** (n - 1), t)
    probability = winning_probabilities(mean[None], sd[None] ** 2)[0]
    assert probability[0] == pytest.approx(expected, abs=1e-11)
    expected = np.trapezoid(norm.pdf(t) * first * rest ** (n - 2), t)
    np.testing.assert_allclose(probability[1:], expected, atol=1e-11)


@pytest.mark.parametrize(("spread", "left_out"), [(0.0, 0), (1.0, 0), (10.0, 50), (100.0, 250)])
@pytest.mark.parametrize("unequal", [0.0, 0.5])
def test_what_is_left_out_is_less_than_a_billionth(spread, left_out, unequal):
    """Labels that cannot win take no part.  The reference integrates over all of them, by a fine trapezoid rule."""
    rng = np.random.default_rng(4)
    mean, sd = spread * rng.normal(size=300), np.exp(unequal * rng.normal(size=300))
    step = sd.min() / 8
    t = np.arange((mean - 9 * sd).max(), (mean + 9 * sd).max(), step)[:, None]
    below = norm.logcdf(t, mean, sd)
    expected = step * np.exp(norm.logpdf(t, mean, sd) + below.sum(axis=1, keepdims=True) - below).sum(axis=0)
    probability = winning_probabilities(mean[None], sd[None] ** 2)[0]
    assert np.abs(probability - expected).sum() < 1e-9
    assert (probability == 0).sum() >= left_out


def test_labels_that_cannot_win_cost_next_to_nothing():
    """Ten thousand labels of which three are far ahead, against the same three and 9,997 more beside them."""

    def seconds(mean):
        start = time.process_time()
        probability = winning_probabilities(np.tile(mean, (10, 1)), np.ones((10, len(mean))))
        return time.process_time() - start, probability[0]

    three = np.array([0.3, 0.1, 0.0])
    fast, probability = min(
        (seconds(np.append(three, np.full(9997, -12.0))) for _ in range(3)), key=lambda pair: pair[0]
    )
    slow, _ = seconds(np.append(three, np.zeros(9997)))
    np.testing.assert_allclose(probability[:3], winning_probabilities(three[None], np.ones((1, 3)))[0], atol=1e-9)
    assert fast < slow / 20  # a hundredth where it was measured


def test_quadrature_for_two_labels_is_the_closed_form():
    rng = np.random.default_rng(1)
    mean, variance = rng.normal(size=(50, 2)), rng.uniform(1e-3, 10, size=(50, 2))
    expected = norm.cdf((mean[:, 0] - mean[:, 1]) / np.sqrt(variance.sum(axis=1)))
    np.testing.assert_allclose(winning_probabilities(mean, variance)[:, 0], expected, atol=1e-13)


def test_extreme_scores_have_probabilities():
    nothing = np.zeros((1, 3))
    assert winning_probabilities(nothing, nothing).tolist() == [[1 / 3] * 3]
    assert winning_probabilities(np.array([[1.0, 2.0, 2.0]]), nothing).tolist() == [[0, 0.5, 0.5]]
    certain = winning_probabilities(np.array([[1e6, 1e6 + 1e-3, 0.0]]), np.array([[1e-20, 1e-8, 0.0]]))
    assert certain.tolist() == [[0, 1, 0]]
    huge = winning_probabilities(np.array([[1e150, -1e150, 0.0]]), np.array([[1e300, 1e300, 1e-300]]))
    assert huge.sum() == pytest.approx(1)
    tiny = winning_probabilities(np.array([[0.0, 1e-200, 0.0]]), np.full((1, 3), 1e-300))
    np.testing.assert_allclose(tiny, 1 / 3)
    assert np.isnan(winning_probabilities(np.array([[np.nan, 0.0]]), np.ones((1, 2)))).all()
    assert winning_probabilities(np.empty((0, 4)), np.empty((0, 4))).shape == (0, 4)


@pytest.mark.parametrize("name", PROBABILISTIC)
def test_sampling_converges_to_the_probabilities(name, iris):
    X, y = iris
    model = CLASSIFIERS[name](random_state=0).fit(X[::5], y[::5])
    exact = model.label_distribution(X)
    np.testing.assert_allclose(exact.sum(axis=1), 1, rtol=1e-12)
    errors = []
    for draws in (100, 10_000):
        sampled = model.label_distribution(X, draws=draws, random_state=3)
        assert (sampled == model.label_distribution(X, draws=draws, random_state=3)).all(), "seeded"
        np.testing.assert_allclose(sampled.sum(axis=1), 1, rtol=1e-12)
        errors.append(np.abs(sampled - exact).max())
    if name == "logistic":
        assert errors[1] < 0.1  # MacKay's formula is an approximation
    else:
        assert errors[1] < 5 * 0.5 / np.sqrt(10_000)  # five standard errors
        assert errors[1] < errors[0]


def test_sampling_converges_for_two_labels(iris):
    X, y = iris
    for name in PROBABILISTIC:
        model = CLASSIFIERS[name](random_state=0).fit(X[50:], y[50:])
        sampled = model.label_distribution(X, draws=5000, random_state=0)
        assert np.abs(sampled - model.label_distribution(X)).max() < 0.05
    sgd = package.LogisticClassifier(bayesian=False, random_state=0).fit(5 * X[50:], y[50:])
    np.testing.assert_allclose(
        sgd.label_distribution(X, draws=3, random_state=0), sgd.label_distribution(X), atol=1e-12
    )
    with pytest.raises(ValueError, match="`draws` must be a positive integer, got 0"):
        model.label_distribution(X, draws=0)


def test_probabilities_are_those_of_the_margins(iris):
    X, y = iris
    for name in ("cw", "scw"):
        model = CLASSIFIERS[name](random_state=0).fit(X, y)
        mean, variance = model.margin(X)
        assert mean.shape == variance.shape == (150, 3)
        np.testing.assert_allclose(model.label_distribution(X), winning_probabilities(mean, variance), rtol=1e-14)
    logistic = package.LogisticClassifier(bayesian=False, random_state=0).fit(X, y)
    scores = np.exp(logistic.decision_function(X))
    np.testing.assert_allclose(logistic.label_distribution(X), scores / scores.sum(axis=1, keepdims=True), rtol=1e-10)


@pytest.mark.parametrize("name", ["arow", "nherd", "sop"])
def test_seldom_updated_labels_are_not_the_most_probable(name):
    """One label has few rows, and two have none, so their variance is that of the prior."""
    X, y = load_digits(return_X_y=True)
    few = np.flatnonzero((y != 9) | (np.cumsum(y == 9) <= 3))
    model = CLASSIFIERS[name]().partial_fit(X[few], y[few], classes=range(12))
    for probability in (model.label_distribution(X), model.predict_proba(X)):
        same = np.argmax(probability, axis=1) == model.predict(X)
        assert same.mean() > 0.999  # equal scores may be ranked either way
        assert roc_auc_score(y == 0, probability[:, 0]) > 0.95
