"""The kernels, compared with an independent reference and with claims of the papers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import sparse

from cwlearn import _kernels
from cwlearn._kernels import KINDS, exact_answer, rule_answer
from cwlearn.core import rules
from cwlearn.core._probabilities import normal_cdf
from cwlearn.core.states import diagonal as diagonal_state
from tests.cases import RULES, new_learner, random_rows, reference_of, rows_of, rule_id
from tests.references import binary as reference

FORMS = ["cw-variance", "cw-stdev"]
phis = st.floats(0.01, 5)
margins = st.floats(-1e6, 1e6)
scales = st.floats(1e-20, 1e20)


@pytest.mark.parametrize("intercept", [True, False], ids=["intercept", "plain"])
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-10), ("float32", 1e-4)])
@pytest.mark.parametrize("rule", RULES, ids=rule_id)
def test_agrees_with_the_reference(rule, dtype, tolerance, index, intercept):
    X, y = random_rows()
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    rng = np.random.default_rng(1)
    weights = rng.choice([0.0, 0.5, 1.0, 2.0], len(y)) if rule.takes_weights else np.empty(0)
    learner = new_learner(rule, dtype=dtype, fit_intercept=intercept, initial_variance=0.8)
    slow = reference_of(learner)
    dense = X.toarray().astype(np.float64)
    rows = rows_of(X, learner)
    assert rows.indices.dtype == index
    assert np.shares_memory(rows.indices, X.indices), "no copy of the column indices"
    for _ in range(3):
        order = rng.permutation(len(y))
        learner.learn(rows, y, weights, order)
        slow.learn(dense[order], y[order], weights[order] if len(weights) else None)

    scale = np.abs(slow.mean).max() + 1e-300
    np.testing.assert_allclose(learner.state.mean, slow.mean, rtol=tolerance, atol=tolerance * scale)
    np.testing.assert_allclose(learner.state.variance, slow.variance, rtol=tolerance)
    for ours, theirs in zip(learner.margins(rows), slow.margins(dense), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance * np.abs(theirs).max())
    assert learner.statistics["rows"] == slow.rows
    assert learner.statistics["updates"] == slow.updates > 0
    assert learner.statistics["mistakes"] == slow.mistakes


@pytest.mark.parametrize("power", [-52, -50, -48, 30])
def test_sop_begins_with_the_length_of_the_rows_however_short(power):
    """Also if the length is near 2^-100, the precision that the state really starts with."""
    X, y = random_rows()
    X = X.astype(np.float64) * 2.0**power
    learner = new_learner(rules.SOP(a="auto"), dtype="float64", fit_intercept=False)
    slow = reference_of(learner)
    rows = rows_of(X, learner)
    learner.learn(rows, y)
    slow.learn(X.toarray(), y)
    assert learner.statistics["updates"] == slow.updates > 0
    for ours, theirs in zip(learner.margins(rows), slow.margins(X.toarray()), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-10 * np.abs(theirs).max())


@settings(max_examples=300, deadline=None)
@given(kind=st.sampled_from(sorted(set(KINDS) - {"sop"})), phi=phis, C=st.floats(1e-3, 1e3), m=margins, v=scales)
def test_every_rule_answers_as_the_reference_does(kind, phi, C, m, v):
    alpha, gain = rule_answer(KINDS[kind], phi, C, m, v)
    assert alpha >= 0 or kind == "rls"  # a regression may go both ways
    assert gain >= 0
    expected_alpha, expected_gain = reference.step(kind, phi, C, m, v)
    # Close to the border of the constraint alpha is a difference of nearly equal numbers in any formula.
    slack = 1e-13 * (phi + abs(m) / v + abs(m) / np.sqrt(v) + phi / np.sqrt(v))
    assert alpha == pytest.approx(expected_alpha, rel=1e-8, abs=slack)
    assert gain == pytest.approx(expected_gain, rel=1e-8, abs=slack * phi * (1 + phi) / np.sqrt(v) + slack * phi)


@settings(max_examples=500, deadline=None)
@given(
    kind=st.sampled_from(FORMS),
    phi=phis,
    m=margins,
    scale=scales,
    q=st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=40),
)
def test_exact_update_meets_its_constraint_with_equality(kind, phi, m, scale, q):
    """Newton's method on 1/u and bisection find the same root, at which the constraint is tight."""
    q = np.array(q) * scale
    v = q.sum()
    assume(rule_answer(KINDS[kind], phi, 1.0, m, v)[0] > 0)
    alpha, gain = exact_answer(KINDS[kind], phi, m, q)
    left = np.sum(q / (1 + gain * q))
    bound = phi * (left if kind == "cw-variance" else np.sqrt(left))
    assert m + alpha * v == pytest.approx(bound, abs=1e-9 * (abs(m) + abs(bound)))
    expected_alpha, expected_gain = reference.exact_step(kind, phi, m, q)
    assert gain == pytest.approx(expected_gain, rel=1e-9)
    assert alpha == pytest.approx(expected_alpha, rel=1e-9)


@settings(max_examples=300, deadline=None)
@given(kind=st.sampled_from(FORMS), phi=st.just(0.0) | phis, z=st.floats(-3, 3, allow_subnormal=False), v=scales)
def test_alpha_is_zero_exactly_when_the_constraint_held(kind, phi, z, v):
    m = z * np.sqrt(v)
    held = m >= phi * v if kind == "cw-variance" else m / np.sqrt(v) >= phi
    assert (rule_answer(KINDS[kind], phi, 1.0, m, v)[0] == 0) == held


@settings(max_examples=100, deadline=None)
@given(form=st.sampled_from(["variance", "stdev"]), confidence=st.floats(0.51, 0.99), seed=st.integers(0, 10**6))
def test_a_row_is_classified_with_the_confidence_asked_for(form, confidence, seed):
    """After an exact update, read from the state itself: m = phi v or m = phi sqrt(v), to 1e-9."""
    X, y = random_rows(12, seed=seed)
    learner = new_learner(rules.CW(confidence, form, "exact"), dtype="float64")
    phi = learner.rule.phi
    rows = rows_of(X, learner)
    for row in range(len(y)):
        before = learner.statistics["updates"]
        mean, variance = learner.margins(rows)
        held = y[row] * mean[row] >= phi * (variance[row] if form == "variance" else np.sqrt(variance[row]))
        learner.learn(rows, y, order=np.array([row]))
        assert (learner.statistics["updates"] == before) == held
        if not held:
            mean, variance = learner.margins(rows)
            bound = phi * (variance[row] if form == "variance" else np.sqrt(variance[row]))
            assert y[row] * mean[row] == pytest.approx(bound, rel=1e-9, abs=1e-12)


SECOND_ORDER = [rule for rule in RULES if rule.second_order]


@pytest.mark.parametrize("scale", [1e-20, 1.0, 1e20])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("rule", SECOND_ORDER, ids=rule_id)
def test_variances_only_fall_and_stay_above_the_floor(rule, dtype, scale):
    """Also with random labels, which without a floor drive the variances of CW-stdev to 0 within about 160 rows."""
    X, _ = random_rows(400, seed=3)
    mixed = X.copy()
    mixed.data *= np.where(np.arange(X.nnz) % 3 == 0, scale, 1.0).astype(np.float32)
    y = np.random.default_rng(4).choice([-1.0, 1.0], len(X.indptr) - 1)
    learner = new_learner(rule, dtype=dtype)
    rows = rows_of(mixed, learner)
    for _ in range(5):
        for chunk in np.array_split(np.arange(len(y)), 10):
            before = learner.state.variance.copy()
            learner.learn(rows, y, order=chunk)
            assert (learner.state.variance <= before).all()
    assert (learner.state.variance >= learner.state.floor).all()
    assert learner.state.floor >= np.finfo(dtype).tiny, "no subnormal numbers, which are slow"
    assert np.isfinite(learner.state.cells).all()


@pytest.mark.parametrize("projection", ["kl", "l2", "exact"])
def test_cw_stdev_keeps_learning_from_noisy_labels(projection):
    """With all variances at 0 no row would ever update the model again."""
    X, y = random_rows(2000, seed=5, noise=0.1)
    learner = new_learner(rules.CW(0.9, "stdev", projection), dtype="float32")
    rows = rows_of(X, learner)
    learner.learn(rows, y)
    before = learner.state.cells.copy()
    updates = learner.statistics["updates"]
    learner.learn(rows, y)
    assert learner.statistics["updates"] > updates
    assert (learner.state.cells[:, 0] != before[:, 0]).any()


@pytest.mark.parametrize("projection", ["kl", "l2", "exact"])
@pytest.mark.parametrize("power", [-20, 6, 30])
def test_cw_stdev_does_not_depend_on_the_initial_variance(projection, power):
    """NIPS 2008, Lemma 3, exact for powers of 4: means scale by sqrt(a), variances by a, decisions do not change."""
    X, y = random_rows(300, seed=6, noise=0.1)
    one, other = (
        new_learner(rules.CW(0.8, "stdev", projection), dtype="float64", initial_variance=a) for a in (1.0, 4.0**power)
    )
    for learner in (one, other):
        learner.learn(rows_of(X, learner), y)
    assert one.statistics == other.statistics
    np.testing.assert_allclose(other.state.mean, one.state.mean * 2.0**power, rtol=1e-12)
    np.testing.assert_allclose(other.state.variance, one.state.variance * 4.0**power, rtol=1e-12)


def test_cw_variance_depends_on_the_initial_variance():
    """The lemma does not hold for the variance form: there (a, phi) is the same as (1, phi sqrt(a))."""
    X, y = random_rows(300, seed=6)
    one, other = (new_learner(rules.CW(0.8, "variance"), initial_variance=a) for a in (1.0, 16.0))
    for learner in (one, other):
        learner.learn(rows_of(X, learner), y)
    assert one.statistics != other.statistics


@pytest.mark.parametrize("rule", RULES, ids=rule_id)
def test_an_empty_row_without_intercept_changes_nothing(rule):
    learner = new_learner(rule, fit_intercept=False)
    before = learner.state.cells.copy()
    learner.learn(rows_of(sparse.csr_matrix((3, 25), dtype=np.float32), learner), np.ones(3))
    assert (learner.state.cells == before).all()
    assert learner.statistics["rows"] == learner.statistics["mistakes"] == 3
    assert learner.statistics["updates"] == 0


@pytest.mark.parametrize("rule", RULES, ids=rule_id)
def test_l36_explicit_zeros_change_nothing(rule):
    X, y = random_rows()
    padded = X.copy()
    padded.data[::4] = 0
    clean = padded.copy()
    clean.eliminate_zeros()
    cells = []
    for matrix in (padded, clean):
        learner = new_learner(rule)
        learner.learn(rows_of(matrix, learner), y)
        cells.append(learner.state.cells)
    assert (cells[0] == cells[1]).all()


@pytest.mark.parametrize("rule", RULES, ids=rule_id)
def test_e11_all_processors_get_the_same_bits(rule, monkeypatch):
    """The AVX2 build, if it exists and runs here, and the build for every processor agree."""
    X, y = random_rows(300, seed=8, noise=0.1)
    builds = [_kernels]
    if _kernels.runs_v3():
        builds.append(pytest.importorskip("cwlearn._kernels_v3"))
    results = set()
    for build in builds:
        monkeypatch.setattr(diagonal_state, "learn_rows", build.learn_rows)
        monkeypatch.setattr(diagonal_state, "margin_rows", build.margin_rows)
        learner = new_learner(rule)
        rows = rows_of(X, learner)
        learner.learn(rows, y)
        results.add((learner.state.cells.tobytes(), learner.margins(rows)[1].tobytes()))
    assert len(results) == 1


def test_normal_cdf():
    from scipy.stats import norm

    z = np.array([-np.inf, -40, -8, -1, 0, 0.5, 6, np.inf])
    np.testing.assert_allclose(normal_cdf(z), norm.cdf(z), rtol=1e-13)
