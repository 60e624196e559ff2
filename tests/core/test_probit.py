"""Bayesian probit regression: moments by quadrature, extreme margins, and probabilities of labels."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.special import log_ndtr, ndtr

import cwlearn as package
from cwlearn._kernels import KINDS, rule_answer
from cwlearn.core import rules
from tests.cases import labelled_rows, new_learner, random_rows, rows_of


def moments(m, v, beta):
    """Mean and variance of s ~ N(m, v), times the likelihood Phi(s / beta), by the trapezoidal rule."""
    s = m + np.sqrt(v) * np.linspace(-12, 12 + max(0.0, -m) / np.sqrt(v), 400_001)
    weight = -((s - m) ** 2) / (2 * v) + log_ndtr(s / beta)
    weight = np.exp(weight - weight.max())
    mean = np.sum(weight * s) / np.sum(weight)
    return mean, np.sum(weight * (s - mean) ** 2) / np.sum(weight)


@pytest.mark.parametrize("m", [-60.0, -8.0, -5.1, -4.9, -1.0, 0.0, 0.3, 2.0, 6.0])
def test_a_step_has_the_moments_of_the_posterior(m):
    for v, beta in itertools.product([0.01, 0.5, 3.0, 40.0], [0.1, 1.0, 5.0]):
        alpha, gain = rule_answer(KINDS["probit"], 0.0, 1 / beta**2, m, v)
        mean, variance = moments(m, v, beta)
        assert m + alpha * v == pytest.approx(mean, rel=1e-9, abs=1e-9)
        assert v / (1 + gain * v) == pytest.approx(variance, rel=1e-8)


@pytest.mark.parametrize("v", [1e-6, 1.0, 1e6])
def test_extreme_margins_give_finite_steps_that_rise_and_fall_smoothly(v):
    margins = np.concatenate([-np.geomspace(1e12, 1e-3, 400), np.geomspace(1e-3, 1e12, 400)])
    answers = np.array([rule_answer(KINDS["probit"], 0.0, 1.0, m, v) for m in margins])
    assert np.isfinite(answers).all()
    assert (answers >= 0).all()
    assert (np.diff(answers[:, 0]) <= 1e-12 * answers[:-1, 0]).all(), "a better margin asks for a smaller step"
    assert (answers[:, 1] * v / (1 + answers[:, 1] * v) < 1).all()
    far = margins < -1e5 * np.sqrt(1 + v)  # there, the step makes up for the margin
    np.testing.assert_allclose(answers[far, 0], -margins[far] / (1 + v), rtol=1e-9)


def test_both_branches_meet():
    for v in (0.1, 1.0, 10.0):
        border = -5 * np.sqrt(1 + v)
        above, below = (rule_answer(KINDS["probit"], 0.0, 1.0, border * (1 + side), v) for side in (-1e-12, 1e-12))
        np.testing.assert_allclose(above, below, rtol=1e-10)


def test_probabilities_are_those_of_the_labels():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((5000, 4))
    p = ndtr(X @ [1.0, -0.5, 0.0, 2.0])
    y = rng.random(5000) < p
    for covariance in ("diagonal", "full"):
        model = package.ProbitClassifier(covariance=covariance, epochs=1, random_state=0).fit(X, y)
        assert np.mean(np.abs(model.predict_proba(X)[:, 1] - p)) < 0.05
    np.testing.assert_allclose(model.coef_[0], [1.0, -0.5, 0.0, 2.0], atol=0.2)


def test_probabilities_count_the_noise_and_agree_with_draws():
    X, y = random_rows(noise=0.1)
    learner = new_learner(rules.Probit(beta=0.7))
    rows = rows_of(X, learner)
    learner.learn(rows, y)
    mean, variance = learner.margins(rows)
    expected = ndtr(mean / np.sqrt(0.49 + variance))
    np.testing.assert_allclose(learner.label_distribution(mean, variance)[:, 1], expected, rtol=1e-9)
    drawn = learner.drawn_distribution(mean, variance, 4000, np.random.RandomState(0))
    np.testing.assert_allclose(drawn[:, 1], expected, atol=0.03)


def test_probabilities_of_several_labels_agree_with_draws():
    X, y = labelled_rows(60, n_labels=4, noise=0.1)
    learner = new_learner(rules.Probit(beta=0.7), n_labels=4)
    rows = rows_of(X, learner)
    learner.learn(rows, y)
    margins = learner.margins(rows)
    exact = learner.label_distribution(*margins)
    np.testing.assert_allclose(exact.sum(axis=1), 1, rtol=1e-9)
    drawn = learner.drawn_distribution(*margins, 4000, np.random.RandomState(0))
    np.testing.assert_allclose(drawn, exact, atol=0.03)
