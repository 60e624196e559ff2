"""The formulas of the rules: at chosen points, at the borders of their branches, and where digits might cancel."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal, localcontext

import numpy as np
import pytest

from cwlearn._kernels import KINDS, exact_answer, rule_answer
from cwlearn.core import rules
from tests.references import binary as reference

MARGINS = [-30.0, -2.3, -0.4, -1e-3, 0.0, 1e-3, 0.3, 0.7, 0.999, 1.0, 1.05, 1.5]
VARIANCES = [0.01, 0.6, 1.0, 3.0, 40.0]
CONFIDENCES = [0.0, 0.3, 1.0, 3.0]  # phi
STRENGTHS = [0.1, 0.7, 1.0, 5.0]  # C
SECOND_ORDER = ["cw-variance", "cw-stdev", "scw-i", "scw-ii"]


def assert_close(answers, expected, points, rtol, atol):
    """Compare many points at once, a hundred times faster than one by one."""
    answers, expected = np.array(answers), np.array(expected)
    wrong = ~np.isclose(answers, expected, rtol=rtol, atol=atol).all(axis=1)
    assert not wrong.any(), [(points[i], answers[i], expected[i]) for i in np.flatnonzero(wrong)[:3]]


@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"sop"}))
def test_formulas_are_those_of_the_reference(kind):
    points = list(itertools.product(CONFIDENCES, STRENGTHS, MARGINS, VARIANCES))
    answers = [rule_answer(KINDS[kind], *point) for point in points]
    assert_close(answers, [reference.step(kind, *point) for point in points], points, 1e-11, 1e-12)


def test_the_second_order_perceptron_counts_each_mistake_as_one():
    """The margin contains the rest of its formula."""
    for m, v in itertools.product(MARGINS, VARIANCES):
        assert rule_answer(KINDS["sop"], 0.3, 0.7, m, v) == ((1, 1) if m <= 0 else (0, 0))


@pytest.mark.parametrize("kind", ["pa", "pa-i", "pa-ii", "arow", "nherd"])
def test_a_margin_of_one_is_enough(kind):
    assert rule_answer(KINDS[kind], 1.0, 0.5, 1.0, 0.7) == (0, 0)
    assert rule_answer(KINDS[kind], 1.0, 0.5, math.nextafter(1, 0), 0.7)[0] > 0


@pytest.mark.parametrize("kind", SECOND_ORDER)
@pytest.mark.parametrize("phi", CONFIDENCES)
def test_a_margin_on_the_border_of_its_constraint_is_enough(kind, phi):
    v = 4.0  # whose root is exact
    border = phi * v if kind == "cw-variance" else phi * 2
    assert rule_answer(KINDS[kind], phi, 0.5, border, v) == (0, 0)
    assert rule_answer(KINDS[kind], phi, 0.5, border - 1e-9, v)[0] > 0


@pytest.mark.parametrize("kind", ["cw-variance", "cw-stdev"])
@pytest.mark.parametrize("n", [1, 2, 3, 8])
def test_exact_updates_are_those_of_the_reference(kind, n):
    """Different shares, in even and odd number, to the last digits, which depend on exact tangents."""
    shares = np.linspace(1, 4, n) / np.linspace(1, 4, n).sum()
    points = [
        (phi, m, v * shares)
        for phi, m, v in itertools.product([1e-3, 0.3, 3.0], MARGINS[1:], VARIANCES[1:])
        if rule_answer(KINDS[kind], phi, 1.0, m, v)[0] > 1e-9
    ]
    answers = [exact_answer(KINDS[kind], *point) for point in points]
    assert_close(answers, [reference.exact_step(kind, *point) for point in points], points, 2e-13, 0)


def printed(kind, phi, C, m, v):
    """The papers' roots (J12 eq. 18 and 31, S12 proposition 2), and the gain (J12 eq. 13, 24 and 28), in 100 digits."""
    with localcontext() as context:
        context.prec = 100
        phi, C, m, v = map(Decimal, (phi, C, m, v))
        if kind == "cw-variance":
            b = 1 + 2 * phi * m
            alpha = (-b + (b * b - 8 * phi * (m - phi * v)).sqrt()) / (4 * phi * v)
            return float(alpha), float(2 * alpha * phi)
        if kind == "scw-ii":
            n = v + 1 / (2 * C)
            gamma = phi * (phi**2 * m**2 * v**2 + 4 * n * v * (n + v * phi**2)).sqrt()
            alpha = (-(2 * m * n + phi**2 * m * v) + gamma) / (2 * (n**2 + n * v * phi**2))
        else:
            psi, zeta = 1 + phi**2 / 2, 1 + phi**2
            alpha = (-m * psi + (m**2 * phi**4 / 4 + v * phi**2 * zeta).sqrt()) / (v * zeta)
            alpha = min(C, alpha) if kind == "scw-i" else alpha
        b = alpha * v * phi
        return float(alpha), float(alpha * phi / ((-b + (b * b + 4 * v).sqrt()) / 2))


@pytest.mark.parametrize("kind", SECOND_ORDER)
def test_no_digits_cancel(kind):
    """The printed formulas subtract nearly equal numbers; ours keep all digits."""
    points = [
        (phi, C, z * (v if kind == "cw-variance" else math.sqrt(v)), v)
        for phi in (0.01, 1.0, 3.0)
        for C in (1e-6, 1.0, 1e6)
        for z in (-1e8, -1e3, -1.0, -1e-8, 0.0, phi / 1e8, phi / 2)
        for v in (1e-12, 1e-3, 1.0, 1e3, 1e12)
    ]
    answers = [rule_answer(KINDS[kind], *point) for point in points]
    assert_close(answers, [printed(kind, *point) for point in points], points, 1e-13, 0)


def test_no_gain_is_more_than_1e300_of_the_precision():
    assert rule_answer(KINDS["arow"], 1e200, 1e200, 0.0, 4.0)[1] == 1e300 / 4
    assert rule_answer(KINDS["arow"], 1e200, 1e80, 0.0, 4.0)[1] == pytest.approx(1e280)


@pytest.mark.parametrize("kind", ["bayesian-logistic", "logistic-sgd"])
def test_a_margin_of_any_size_has_a_probability(kind):
    for m in (800.0, 1e5):
        assert rule_answer(KINDS[kind], 0.0, 0.7, m, 0.9) == (0, 0)
        alpha, gain = rule_answer(KINDS[kind], 0.0, 0.7, -m, 0.9)
        assert alpha == pytest.approx(0.7)
        assert gain == 0


def test_the_kernel_is_given_the_inverse_of_the_regularization():
    for rule in (rules.AROW, rules.AROWRegression):
        fields = rule(regularization=4.0).kernel_fields()
        assert (fields["C"], fields["relative"]) == (0.25, False)
        fields = rule(regularization="auto").kernel_fields()
        assert (fields["C"], fields["relative"]) == (1, True)


def test_rules_without_a_strength_have_one():
    for rule in (rules.CW(), rules.Perceptron(), rules.PassiveAggressive(C=None), rules.Logistic(), rules.SOP(a=3.0)):
        fields = rule.kernel_fields()
        assert (fields["C"], fields["relative"]) == (1, False)
    assert rules.SCW(C=0.3).strength == rules.NHERD(C=0.3).strength == rules.PassiveAggressive(C=0.3).strength == 0.3
    assert rules.Logistic(bayesian=False, learning_rate=0.3).strength == 0.3


def test_the_prior_of_the_second_order_perceptron():
    assert rules.SOP(a=4.0).prior_variance(8.0) == 2
    assert rules.SOP(covariance="full").prior_variance(8.0) == 8
    assert rules.SOP().prior_variance(8.0) == 2.0**100
    assert rules.AROW().prior_variance(8.0) == 8


def test_scores_are_means_in_units_of_their_deviation():
    mean, variance = np.array([1.0, -6.0, 0.0]), np.array([0.25, 9.0, 0.0])
    assert rules.AROW().score(mean, variance).tolist() == [2, -2, 0]
    assert rules.Perceptron().score(mean, variance).tolist() == mean.tolist()
    assert rules.Logistic(bayesian=False).score(mean, variance).tolist() == mean.tolist()
    expected = [1 / math.sqrt(1 + math.pi / 32), -6 / math.sqrt(1 + 9 * math.pi / 8), 0]
    assert rules.Logistic().score(mean, variance) == pytest.approx(expected, rel=1e-15)


def test_the_logistic_probability_is_a_sigmoid_of_any_score():
    score = np.array([-1000.0, -1.0, 0.0, 2.0, 1000.0])
    expected = [0, 1 / (1 + math.e), 0.5, 1 / (1 + math.exp(-2)), 1]
    assert rules.Logistic().probability(score) == pytest.approx(expected, rel=1e-14)


def test_labels_share_their_variance_unless_the_rule_requires_a_probability():
    variance = np.array([[1.0, 2.0, 6.0]])
    for rule in (rules.CW(), rules.SCW(), rules.Logistic()):
        assert rule.score_variance(variance).tolist() == [[1, 2, 6]]
    for rule in (rules.AROW(), rules.NHERD(), rules.SOP()):
        assert rule.second_order
        assert rule.score_variance(variance).tolist() == [[3, 3, 3]]
    for rule in (rules.Perceptron(), rules.PassiveAggressive(), rules.Logistic(bayesian=False)):
        assert not rule.second_order
        assert rule.score_variance(variance).tolist() == [[0, 0, 0]]


@pytest.mark.parametrize(
    ("m", "v"), [(-26.5, 1126.0), (-42.3, 548.0), (-7168.4, 28867.0), (-6567.5, 25423.0), (-9.9, 21.3)]
)
def test_bisection_corrects_newtons_method(m, v):
    """Logistic regression at points where the tangent leaves the bracket, once or ten times."""
    answer = rule_answer(KINDS["bayesian-logistic"], 0.0, 1.0, m, v)
    assert answer == pytest.approx(reference.step("bayesian-logistic", 0.0, 1.0, m, v), rel=1e-12)
