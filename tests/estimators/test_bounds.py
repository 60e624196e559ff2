"""The mistake bounds of the papers, and the lemmas that they stand on, on random runs."""

from __future__ import annotations

import numpy as np
import pytest

from cwlearn import AROWClassifier, AROWRegressor, CWClassifier, KernelAROWClassifier, bounds

SEEDS = [*range(20), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(20, 100))]


def random_run(seed, noise):
    """Rows on random scales, and labels of a random separator, some of them wrong."""
    rng = np.random.default_rng(seed)
    n_rows, n_features = int(rng.integers(30, 250)), int(rng.integers(2, 15))
    X = rng.standard_normal((n_rows, n_features)) * rng.exponential(1, n_features)
    separator = rng.standard_normal(n_features)
    y = X @ separator > 0
    y[:2] = [True, False] if noise else y[:2]
    return rng, X, y ^ (rng.random(n_rows) < noise), separator


def arow_run(seed):
    rng, X, y, separator = random_run(seed, noise=0.1)
    model = AROWClassifier(float(10 ** rng.uniform(-2, 2)), covariance="full", fit_intercept=bool(rng.integers(2)))
    return bounds.observe(model, X, y), separator * rng.uniform(0, 3)


@pytest.mark.parametrize("seed", SEEDS)
def test_arow_makes_no_more_mistakes_than_theorem_2_allows(seed):
    run, competitor = arow_run(seed)
    assert run.mistakes <= bounds.arow_bound(run, competitor)
    assert run.mistakes <= bounds.arow_bound(run, run.mean[run.has_intercept :], run.mean[0] * run.has_intercept)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("kind", ["flipped", "noisy"])
def test_h13_the_bound_holds_where_labels_flip_in_mid_stream_and_where_half_are_noise(kind, seed):
    _, X, y, separator = random_run(seed, noise=0.5 if kind == "noisy" else 0.05)
    if kind == "flipped":
        y[len(y) // 2 :] ^= True
    run = bounds.observe(AROWClassifier(1.0, covariance="full", fit_intercept=False), X, y)
    assert len(y) // 8 < run.mistakes <= bounds.arow_bound(run, separator)


@pytest.mark.parametrize("seed", SEEDS)
def test_cw_makes_no_more_mistakes_than_theorem_4_allows(seed):
    rng, X, y, separator = random_run(seed, noise=0)
    if len(set(y)) < 2:
        y[0] = not y[0]
        X[0] *= -1
    run = bounds.observe(CWClassifier(float(rng.uniform(0.55, 0.99)), covariance="full", fit_intercept=False), X, y)
    phi = run.rule.phi
    steps = (run.margins_after - run.margins) / run.variances
    progress = np.sum((steps**2 * run.variances)[run.updated])
    assert run.mistakes <= (1 + phi**2) / phi**2 * progress <= bounds.cw_bound(run, separator)


@pytest.mark.parametrize("seed", range(5))
def test_the_bounds_are_their_theorems_summed_update_by_update(seed):
    run, u = arow_run(seed)
    r, updated = run.rule.regularization, run.updated
    margins = run.y[updated] * (run.x[updated][:, run.has_intercept :] @ u + 0.5 * run.has_intercept)
    u_squared, n_right = u @ u + 0.25 * run.has_intercept, (run.margins[updated] > 0).sum()
    log_det = np.log1p(run.variances[updated] / r).sum()  # each update multiplies the determinant by 1 + v / r
    first = np.sqrt(r * u_squared + margins @ margins) * np.sqrt(log_det + n_right)
    expected = first + np.maximum(0, 1 - margins).sum() - n_right
    assert bounds.arow_bound(run, u, 0.5 * run.has_intercept) == pytest.approx(expected, rel=1e-9)
    _, X, y, u = random_run(seed, noise=0)
    run = bounds.observe(CWClassifier(0.7 + 0.05 * seed, covariance="full", fit_intercept=False), X, y)
    u = u * (run.margins_after / (run.y * (run.x @ u)))[run.updated].max()
    values, vectors = np.linalg.eigh(run.covariance)
    divergence = (values - np.log(values) - 1 + (vectors.T @ u) ** 2 / values).sum()
    expected = (1 / run.rule.phi**2 + 1) * divergence
    assert bounds.cw_bound(run, u) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_lemmas_3_and_4_of_the_arow_paper_hold(seed):
    """Lemma 3: what an update adds to u'S^-1 mu and to mu'S^-1 mu.  Lemma 4: the sum of v / (v + r) over the updates is
    at most log det S^-1 (with the indices of the errata)."""
    run, u = arow_run(seed)
    r, d = run.rule.regularization, run.x.shape[1]
    u = np.append(0.0, u) if run.has_intercept else u
    precision, natural = np.eye(d), np.zeros(d)  # S^-1 and S^-1 mu
    for x, y, m, v, updated in zip(run.x, run.y, run.margins, run.variances, run.updated, strict=True):
        mean = np.linalg.solve(precision, natural)
        assert y * mean @ x == pytest.approx(m, rel=1e-9, abs=1e-9)
        assert x @ np.linalg.solve(precision, x) == pytest.approx(v, rel=1e-9)
        if not updated:
            continue
        new_mean = mean + (1 - m) / (v + r) * y * np.linalg.solve(precision, x)  # the update itself: A9 (7)-(9)
        new_precision = precision + np.outer(x, x) / r
        new_natural = new_precision @ new_mean
        assert u @ new_natural == pytest.approx(u @ natural + y * u @ x / r, rel=1e-9, abs=1e-9)
        loss = 1 - m
        gain = (v + r - loss**2 * r) / (r * (v + r))
        assert new_mean @ new_natural == pytest.approx(mean @ natural + gain, rel=1e-9, abs=1e-9)
        precision, natural = new_precision, new_natural
    np.testing.assert_allclose(run.mean, np.linalg.solve(precision, natural), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(run.covariance, np.linalg.inv(precision), rtol=1e-9, atol=1e-9)
    v = run.variances[run.updated]
    assert np.sum(v / (v + r)) <= np.linalg.slogdet(precision)[1] + 1e-9


def test_the_bounds_can_be_tight_and_loose():
    """With u = 0 the bound is the number of mistakes itself; with a large u it is far off."""
    run, competitor = arow_run(3)
    assert bounds.arow_bound(run, 0 * competitor) == pytest.approx(run.mistakes)
    assert bounds.arow_bound(run, 1e3 * competitor) > 100 * run.mistakes


def test_competitors_of_any_length_have_a_bound():
    run, competitor = arow_run(3)
    assert bounds.arow_bound(run, 1e308 * np.sign(competitor)) == np.inf
    _, X, y, separator = random_run(0, 0)
    run = bounds.observe(CWClassifier(covariance="full", fit_intercept=False), X, y)
    for factor in (1e-300, 1e300):
        assert bounds.cw_bound(run, factor * separator) == pytest.approx(bounds.cw_bound(run, separator))
    with pytest.raises(ValueError, match="intercept must be a finite number, got nan"):
        bounds.cw_bound(run, separator, intercept=np.nan)


def test_observing_leaves_the_estimator_as_it_is():
    _, X, y, _ = random_run(0, 0.1)
    model = AROWClassifier(1.0, covariance="full")
    run = bounds.observe(model, X, y)
    assert not hasattr(model, "n_features_in_")
    fitted = AROWClassifier(1.0, covariance="full").partial_fit(X, y, classes=[False, True])
    assert run.mistakes == fitted.n_mistakes_
    assert run.updated.sum() == fitted.n_updates_
    np.testing.assert_allclose(run.mean[1:], fitted.coef_[0])


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (AROWClassifier(), "covariance='full' and initial_variance=1.0"),
        (AROWClassifier(covariance="full", initial_variance=2.0), "covariance='full' and initial_variance=1.0"),
        (AROWClassifier(covariance="full"), "a number for regularization"),
        (AROWClassifier(1.0, covariance="full", confidence_weight=2.0), "confidence_weight=1"),
        (CWClassifier(covariance="full"), "is about AROW"),
        (AROWClassifier(1.0, covariance="full", class_weight={True: 2.0}), "class_weight=None"),
    ],
)
def test_runs_that_the_theorem_is_not_about_are_refused(model, message):
    _, X, y, separator = random_run(0, 0.1)
    with pytest.raises(ValueError, match=message):
        bounds.arow_bound(bounds.observe(model, X, y), separator)


def test_competitors_that_make_no_sense_are_refused():
    _, X, y, separator = random_run(0, 0)
    run = bounds.observe(CWClassifier(covariance="full", fit_intercept=False), X, y)
    with pytest.raises(ValueError, match="must be right on every row with an update; on row"):
        bounds.cw_bound(run, -separator)
    with pytest.raises(ValueError, match=f"expected {X.shape[1]} weights, got 1"):
        bounds.cw_bound(run, [1.0])
    with pytest.raises(ValueError, match="the run learned none"):
        bounds.cw_bound(run, separator, intercept=1.0)
    with pytest.raises(ValueError, match="is about CW in its stdev form"):
        bounds.cw_bound(bounds.observe(CWClassifier(form="variance", covariance="full"), X, y), separator)
    with pytest.raises(ValueError, match="weights that are finite numbers"):
        bounds.cw_bound(run, np.nan * separator)
    for other in (AROWRegressor(), KernelAROWClassifier()):
        with pytest.raises(TypeError, match="about linear classifiers"):
            bounds.observe(other, X, y)
    with pytest.raises(ValueError, match="two labels, found 3"):
        bounds.observe(CWClassifier(covariance="full"), X, np.arange(len(X)) % 3)
