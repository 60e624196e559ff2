"""What a learner guarantees beside the arithmetic: equal bits, order of rows, and threads."""

from __future__ import annotations

import contextlib
import copy
import itertools
import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cwlearn.core import learner as learner_module
from cwlearn.core import rules
from cwlearn.core.kernel_options import KernelOptions
from cwlearn.core.learner import Learner
from cwlearn.core.training import Training
from cwlearn.errors import DataError
from tests.cases import GAUSSIAN, RULES, new_learner, random_rows, rows_of, rule_id

AVERAGED = [rule for rule in RULES if rule.averaged]
SIGNS = np.array([-1.0, 1.0])


def bits(learner):
    counted = repr((learner.statistics, learner.calibration)).encode()
    return learner.state.cells.tobytes() + learner.state.average.tobytes() + counted


def slices(X, cuts):
    edges = [0, *sorted(cuts), X.shape[0]]
    return [slice(start, stop) for start, stop in itertools.pairwise(edges)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("rule", RULES, ids=rule_id)
@settings(max_examples=10, deadline=None)
@given(cuts=st.lists(st.integers(0, 61), max_size=8))
def test_any_chunking_gives_the_same_bits(rule, dtype, cuts):
    X, y = random_rows(noise=0.1)
    whole, chunked = new_learner(rule, dtype=dtype), new_learner(rule, dtype=dtype)
    whole.learn(rows_of(X, whole), y)
    for part in slices(X, cuts):
        chunked.learn(rows_of(X[part], chunked), y[part])
    assert bits(whole) == bits(chunked)


def test_blocks_of_the_kernel_change_nothing(monkeypatch):
    X, y = random_rows()
    whole, blocked = new_learner(rules.AROW()), new_learner(rules.AROW())
    whole.learn(rows_of(X, whole), y)
    monkeypatch.setattr(learner_module, "BLOCK_EFFORT", 20)
    done = []
    blocked.learn(rows_of(X, blocked), y, report=done.append)
    assert len(done) > 5
    assert sum(done) == len(y)
    assert bits(whole) == bits(blocked)


@pytest.mark.parametrize("rule", RULES, ids=rule_id)
def test_the_same_seed_gives_the_same_bits(rule):
    X, y = random_rows(noise=0.1)
    runs = []
    for seed in (7, 7, 8):
        learner = new_learner(rule, epochs=2)
        learner.train(rows_of(X, learner), y, np.empty(0), np.random.RandomState(seed))
        runs.append(bits(learner))
    assert runs[0] == runs[1]
    assert runs[0] != runs[2]


def test_a_state_beyond_the_cache_gives_the_same_bits():
    """Prefetching changes no result: the same rows in a state of 200 thousand cells."""
    X, y = random_rows()
    small = new_learner(rules.AROW())
    large = new_learner(rules.AROW(), n_features=200_000)
    small.learn(rows_of(X, small), y)
    wide = X.copy()
    wide.resize(X.shape[0], 200_000)
    large.learn(rows_of(wide, large), y)
    assert (large.state.cells[: 1 + X.shape[1]] == small.state.cells).all()
    assert (large.state.mean[1 + X.shape[1] :] == 0).all()


def test_c18_a_row_that_overflows_stops_the_pass_before_it():
    X, y = random_rows()
    X = X.copy()
    X.data[X.indptr[20] : X.indptr[21]] *= np.float32(1e34)
    y[20] = -y[20]  # a mistake, on which the perceptron takes a step as long as the row
    learner, short = new_learner(rules.Perceptron()), new_learner(rules.Perceptron())
    with pytest.raises(DataError, match=r"row 20: .* not a finite number in float32"):
        learner.learn(rows_of(X, learner), y)
    short.learn(rows_of(X[:20], short), y[:20])
    assert bits(learner) == bits(short)
    assert np.isfinite(learner.state.cells).all()


@pytest.mark.parametrize("rule", RULES, ids=rule_id)
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1e-40, 1e-20, 1e18, 1e76, 1e150])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_h11_huge_and_tiny_features_give_finite_weights_or_an_error(rule, dtype, scale, intercept):
    X, y = random_rows(noise=0.2)
    X = X.astype(np.float64) * scale
    if dtype == "float32" and scale > 1e38:
        return  # refused at the door
    learner = new_learner(rule, dtype=dtype, fit_intercept=intercept)
    rows = rows_of(X, learner)
    with contextlib.suppress(DataError):
        for _ in range(3):
            learner.learn(rows, y)
    assert np.isfinite(learner.state.cells).all()
    assert (learner.state.variance >= 0).all()
    assert rule.sums_gradients or (learner.state.variance > 0).all()


@pytest.mark.parametrize("rule", GAUSSIAN, ids=rule_id)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_h12_a_variance_that_has_reached_its_floor_stays_there(rule, dtype):
    """No number of updates of one feature makes it 0, or a slow subnormal number."""
    X, y = np.array([[1.0], [1.0]]), np.array([1.0, -1.0])  # one of the two is always wrong
    learner = new_learner(rule, 1, dtype=dtype, fit_intercept=False)
    rows, state = rows_of(X, learner), learner.state
    turns = np.resize(np.arange(2), 20_000)
    learner.learn(rows, y, order=turns)
    assert state.variance[1] >= state.floor >= np.finfo(dtype).tiny
    state.variance[1] = max(state.floor, np.finfo(dtype).tiny)
    lowest = state.variance[1]
    learner.learn(rows, y, order=turns)
    assert state.variance[1] == lowest
    assert np.isfinite(state.cells).all()


def test_h12_a_million_updates_of_one_feature_leave_a_variance():
    X, y = np.array([[1.0], [1.0]]), np.array([1.0, -1.0])
    learner = new_learner(rules.AROW(regularization=1e-3), 1, fit_intercept=False)
    learner.learn(rows_of(X, learner), y, order=np.resize(np.arange(2), 10**6))
    assert learner.statistics["updates"] == 10**6
    assert learner.state.variance[1] >= learner.state.floor > 0
    assert np.isfinite(learner.state.mean[1])


@pytest.mark.parametrize("rule", RULES, ids=rule_id)
@pytest.mark.parametrize("change", ["all labels flip", "half of the labels are noise"])
def test_h13_contradictory_labels_leave_a_sound_model_that_still_learns(rule, change):
    X, y = random_rows(1000, seed=3, noise=0.5 if change == "half of the labels are noise" else 0)
    learner = new_learner(rule)
    rows = rows_of(X, learner)
    learner.learn(rows, y)
    before = learner.state.cells.copy()
    learner.learn(rows, -y)
    assert np.isfinite(learner.state.cells).all()
    assert (learner.state.variance > 0).all()
    assert (learner.state.mean != before[:, 0]).any()


@pytest.mark.parametrize(
    "rule",
    [
        rules.CW(),
        rules.AROW(),
        rules.SCW(),
        rules.SCW(loss="hinge"),
        rules.NHERD(),
        rules.SOP(),
        rules.PassiveAggressive(),
        rules.PassiveAggressive(loss="squared_hinge"),
        rules.Logistic(bayesian=False),
    ],
    ids=rule_id,
)
def test_defaults_do_not_depend_on_the_scale_of_the_features(rule):
    """Without an intercept, whose feature is always 1.  Powers of 2 keep the bits."""
    X, y = random_rows(300, noise=0.1)
    decisions = []
    for scale in (2.0**-40, 1.0, 2.0**30):
        learner = new_learner(rule, fit_intercept=False)
        rows = rows_of(X * np.float32(scale), learner)
        learner.learn(rows, y)
        decisions.append(learner.margins(rows)[0] > 0)
        assert learner.statistics["updates"] > 0
    assert (decisions[0] == decisions[1]).all()
    assert (decisions[2] == decisions[1]).all()


def test_a_prediction_during_a_pass_is_not_kept_after_it(monkeypatch):
    X, y = random_rows()
    learner = new_learner(rules.Perceptron(average=True))
    rows = rows_of(X, learner)
    monkeypatch.setattr(learner_module, "BLOCK_EFFORT", 20)
    learner.learn(rows, y, report=lambda done: learner.margins(rows))  # many times, each on another state
    assert (learner.margins(rows)[0] == copy.deepcopy(learner).margins(rows)[0]).all()


def test_options_that_the_state_was_built_with_cannot_change():
    learner = new_learner(rules.AROW(regularization=1.0))
    learner.reconfigure(rules.AROW(regularization=5.0), Training(epochs=3))
    assert learner.rule.regularization == 5.0
    for name, change in (("dtype", "float64"), ("initial_variance", 2.0), ("fit_intercept", False)):
        with pytest.raises(ValueError, match=f"`{name}` cannot change"):
            learner.reconfigure(rules.AROW(), Training(**{name: change}))


def test_unknown_labels_are_named():
    learner = new_learner(rules.CW())
    with pytest.raises(DataError, match=r"row 2: label .*5.* is not one of the labels \[-1\.0, 1\.0\]"):
        learner.encode(np.array([1.0, -1.0, 5.0]))


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("rule", AVERAGED, ids=rule_id)
def test_averaged_weights_are_the_mean_over_the_rounds(rule, dtype, average):
    X, y = random_rows(noise=0.2)
    learner = new_learner(replace(rule, average=average), dtype=dtype)
    rows = rows_of(X, learner)
    held = []
    for row in range(len(y)):
        learner.learn(rows, y, order=np.array([row]))
        held.append(learner.state.mean.astype(np.float64))
    expected = np.mean(held, axis=0) if average else held[-1]
    tolerance = 1e-12 if dtype == "float64" else 1e-6
    scale = np.abs(held).max()
    np.testing.assert_allclose(learner.predictor.mean, expected, rtol=tolerance, atol=tolerance * scale)
    assert (learner.predictor.variance == learner.state.variance).all()


@pytest.mark.parametrize("epochs", [1, 10])
@pytest.mark.parametrize("rule", [rules.PassiveAggressive, rules.Perceptron])
def test_averages_help_when_labels_are_noisy(rule, epochs):
    """First-order rules, that is, on rows that were not learned: AROW is an average of its rows without it."""
    errors = np.zeros(2)
    for seed in range(3, 6):
        X, y = random_rows(4000, 400, 0.02, seed=seed, noise=0.2)
        _, clean = random_rows(4000, 400, 0.02, seed=seed)
        for number, average in enumerate((False, True)):
            learner = new_learner(rule(average=average), 400, shuffle=False, epochs=epochs)
            learner.train(rows_of(X[:2000], learner), y[:2000], np.empty(0), np.random.RandomState(0))
            predicted = learner.margins(rows_of(X[2000:], learner))[0] > 0
            errors[number] += np.mean(predicted != (clean[2000:] > 0))
    assert errors[1] < 0.99 * errors[0]


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: rules.AROW(covariance="full", average=True), "`average=True` needs `covariance='diagonal'`"),
        (lambda: rules.SOP(average=True), "`average=True` needs a number for `a`"),
        (lambda: Learner(rules.CW(average=True), Training(), SIGNS, 3, KernelOptions()), "has no kernel form"),
    ],
)
def test_averages_are_refused_where_there_are_none(make, reason):
    with pytest.raises(ValueError, match=reason):
        make()


def test_copies_and_pickles_are_independent():
    X, y = random_rows()
    learner = new_learner(rules.PassiveAggressive(average=True))
    rows = rows_of(X, learner)
    learner.learn(rows, y)
    learner.margins(rows)
    twins = [copy.deepcopy(learner), pickle.loads(pickle.dumps(learner))]
    assert all(bits(twin) == bits(learner) for twin in twins)
    for each in (learner, *twins):
        each.learn(rows, y)
    assert all(bits(twin) == bits(learner) for twin in twins)


@pytest.mark.parametrize("rule", [rules.AROW(), rules.Perceptron(average=True)], ids=rule_id)
def test_t04_threads_may_predict_with_one_model(rule):
    X, y = random_rows(2000, seed=1)
    learner = new_learner(rule)
    rows = rows_of(X, learner)
    learner.learn(rows, y)
    expected = copy.deepcopy(learner).margins(rows)
    with ThreadPoolExecutor(8) as pool:
        for mean, variance in pool.map(lambda _: learner.margins(rows), range(64)):
            assert (mean == expected[0]).all()
            assert (variance == expected[1]).all()


def test_h14_threads_that_learn_with_one_model_take_turns():
    X, y = random_rows(500, seed=2)
    learner = new_learner(rules.CW(confidence=0.7))
    rows = rows_of(X, learner)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: learner.learn(rows, y), range(8)))
    straight = new_learner(rules.CW(confidence=0.7))
    for _ in range(8):
        straight.learn(rows, y)
    assert bits(learner) == bits(straight)


def test_c26_columns_that_change_during_a_pass_are_never_followed_out_of_bounds():
    """Another thread may change them while the GIL is released; here they change between the check and the pass."""
    X, y = random_rows()
    learner = new_learner(rules.CW(projection="exact"))
    rows = rows_of(X, learner)
    for wild in (10**9, -5, -(2**31)):
        X.indices[X.indptr[30]] = wild
        with pytest.raises(DataError, match="row 30"):
            learner.learn(rows, y)
        assert np.isnan(learner.margins(rows)[0][30])
    assert np.isfinite(learner.state.cells).all()


def test_progress_goes_to_standard_error(capsys):
    X, y = random_rows()
    learner = new_learner(rules.AROW(), verbose=1, epochs=2)
    learner.train(rows_of(X, learner), y, np.empty(0), np.random.RandomState(0))
    out, err = capsys.readouterr()
    assert out == ""
    assert "error=" in err
