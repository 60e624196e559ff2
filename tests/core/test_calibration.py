"""Honest probabilities: the calibrators of the kernel against a slow reference, and what they promise."""

import threading

import numpy as np
import pytest

from cwlearn._kernels import MAP_SIZE
from cwlearn.core import rules
from cwlearn.core.calibration import Calibration, Calibrator
from cwlearn.core.kernel_options import KernelOptions
from cwlearn.core.learner import Learner
from cwlearn.core.merging import Sum, merge
from cwlearn.core.states.base import NONE
from cwlearn.core.training import Training
from tests.cases import RULES, labelled_rows, new_learner, random_rows, rows_of, rule_id
from tests.references.calibration import HORIZON, CalibrationReference

SOME = [
    rules.AROW(regularization=0.7),
    rules.AROW(regularization="auto", projection="l2", average=True),
    rules.CW(confidence=0.8),
    rules.SCW(C="auto"),
    rules.NHERD(C=0.3),
    rules.SOP(a=0.5),
    rules.Logistic(average=True),
    rules.PassiveAggressive(C=0.05, average=True),
    rules.Perceptron(),
]


def stream(n_labels, n_rows, seed=0, noise=0.15):
    if n_labels == 2:
        return random_rows(n_rows, seed=seed, noise=noise)
    return labelled_rows(n_rows, n_labels=n_labels, seed=seed, noise=noise)


def spread_of(learner, rows, variance):
    if learner.several or learner.rule.projection in ("fixed", "inclusive"):
        return rows.squares[0] + learner.bias**2
    return variance[0]


def observe_rows(learner, reference, rows, y, weights=NONE, settled=False, fresh=True):
    """Learn row by row; the reference sees the margin that the model predicts before it learns the row."""
    for i in range(rows.n_rows):
        row = rows.part(i, i + 1)
        mean, variance = learner.margins(row)
        weight = weights[i] if len(weights) else 1.0
        if weight > 0:
            scores = mean[0] if learner.several else float(mean[0])
            label = int(y[i]) if learner.several else y[i]
            reference.observe(scores, spread_of(learner, row, variance), label, weight, settled, fresh)
        learner.learn(row, y[i : i + 1], weights[i : i + 1], fresh=np.full(1, fresh, np.uint8), settled=settled)


def numbers_of(learner):
    known = learner.calibration
    return np.zeros(131) if known is None else known.numbers()


def assert_agrees(learner, reference):
    np.testing.assert_allclose(numbers_of(learner), reference.numbers(), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("n_labels", [2, 5])
@pytest.mark.parametrize("rule", SOME, ids=rule_id)
def test_the_calibrators_agree_with_the_reference(rule, n_labels):
    X, y = stream(n_labels, 400)
    learner, reference = new_learner(rule, n_labels=n_labels, dtype="float64"), CalibrationReference()
    observe_rows(learner, reference, rows_of(X, learner), y)
    assert reference.seen == 401 or (isinstance(rule, rules.CW) and n_labels == 2)  # whose scores jump
    assert_agrees(learner, reference)


@pytest.mark.parametrize("n_labels", [2, 4])
def test_of_thousands_of_rows_the_first_are_observed_then_ever_fewer(n_labels):
    X, y = stream(n_labels, 12_000)
    learner, reference = new_learner(rules.AROW(), n_labels=n_labels, dtype="float64"), CalibrationReference()
    observe_rows(learner, reference, rows_of(X, learner), y)
    rows = learner.statistics["rows"]
    first, many = (4096, 1024) if n_labels == 2 else (1024, 512)
    change = min(rows, first**2 / many)
    # The sum of (first / t)^2, then of many / t; chance takes sixteens.
    expected = first * (2 - first / change) + many * np.log(rows / change)
    assert abs(reference.seen - expected) < 4 * np.sqrt(16 * expected)
    assert reference.seen < 0.7 * rows
    assert_agrees(learner, reference)


@pytest.mark.parametrize("n_labels", [2, 5])
def test_weights_of_rows_count_and_rows_of_weight_0_do_not(n_labels):
    X, y = stream(n_labels, 300)
    weights = np.random.default_rng(1).choice([0.0, 0.3, 1.0, 7.5, 1e7], len(y))
    learner, reference = new_learner(rules.AROW(), n_labels=n_labels, dtype="float64"), CalibrationReference()
    observe_rows(learner, reference, rows_of(X, learner), y, weights)
    assert reference.seen == np.count_nonzero(weights)
    assert_agrees(learner, reference)


@pytest.mark.parametrize("n_labels", [2, 5])
def test_a_settled_model_begins_its_calibration_anew_and_learned_rows_are_not_observed(n_labels):
    X, y = stream(n_labels, 300)
    learner, reference = new_learner(rules.SCW(), n_labels=n_labels, dtype="float64"), CalibrationReference()
    rows = rows_of(X, learner)
    observe_rows(learner, reference, rows, y)
    observe_rows(learner, reference, rows, y, fresh=False)
    assert reference.seen == 301
    observe_rows(learner, reference, rows, y, settled=True)
    assert (reference.seen, reference.settled) == (301, 1)
    observe_rows(learner, reference, rows, y)  # as `partial_fit` after `fit`
    assert reference.seen == 602
    assert reference.settled == 1
    assert_agrees(learner, reference)


@pytest.mark.parametrize("n_labels", [2, 5])
def test_no_more_than_the_horizon_counts(n_labels):
    X, y = stream(n_labels, 300)
    learner, reference = new_learner(rules.AROW(), n_labels=n_labels, dtype="float64"), CalibrationReference()
    rows = rows_of(X, learner)
    observe_rows(learner, reference, rows, y)
    reference.observed = HORIZON - 10
    numbers = numbers_of(learner)
    numbers[0] = HORIZON - 10
    learner.set_calibrations([numbers])
    observe_rows(learner, reference, rows, y)
    assert reference.observed == HORIZON
    assert_agrees(learner, reference)


def test_scores_that_jump_begin_anew():
    """As after an update of CW that moves all weights: what was known of smaller scores is worth nothing."""
    X, y = stream(2, 303)
    learner, reference = new_learner(rules.AROW(), dtype="float64"), CalibrationReference()
    rows = rows_of(X, learner)
    observe_rows(learner, reference, rows, y)
    assert learner.calibration.rows == 304
    assert not learner.calibration.waiting
    noise = learner.calibration.margin.noise
    learner.state.mean[...] *= 100
    observe_rows(learner, reference, rows.part(0, 16), y)
    assert learner.calibration.rows == 16
    assert learner.calibration.margin.noise == pytest.approx(noise, rel=0.5)
    assert_agrees(learner, reference)


def test_labels_that_take_turns_do_not_hide_half_of_the_rows():
    rng = np.random.default_rng(0)
    y = np.tile([1.0, -1.0], 20_000)
    X = (y[:, None] * rng.random((40_000, 3)) + rng.standard_normal((40_000, 3))).astype(np.float32)
    learner = new_learner(rules.AROW(), n_features=3)
    learner.learn(rows_of(X, learner), y)
    assert abs(learner.calibration.best.shift) < 0.3


@pytest.mark.parametrize("n_labels", [2, 5])
@pytest.mark.parametrize("rule", RULES, ids=rule_id)
def test_any_chunking_gives_the_same_calibration(rule, n_labels):
    X, y = stream(n_labels, 5500, noise=0.05)
    whole, parts = (new_learner(rule, n_labels=n_labels) for _ in range(2))
    rows = rows_of(X, whole)
    whole.learn(rows, y)
    for start, stop in [(0, 1), (1, 700), (700, 700), (700, 4100), (4100, 4105), (4105, 5501)]:
        parts.learn(rows.part(start, stop), y[start:stop])
    np.testing.assert_array_equal(numbers_of(whole), numbers_of(parts))
    assert 1024 < whole.calibration.rows < 5501  # a hash has chosen among later rows
    np.testing.assert_array_equal(
        whole.probabilities(rows, *whole.margins(rows)), parts.probabilities(rows, *parts.margins(rows))
    )


@pytest.mark.parametrize("n_labels", [2, 20])
@pytest.mark.parametrize("rule", RULES, ids=rule_id)
def test_the_most_probable_label_is_the_predicted_one(rule, n_labels):
    X, y = stream(n_labels, 500, noise=0.2)
    learner = new_learner(rule, n_labels=n_labels, epochs=5, random_state=0)
    rows = rows_of(X, learner)
    learner.train(rows, y, NONE, np.random.RandomState(0))
    probabilities = learner.probabilities(rows, *learner.margins(rows))
    np.testing.assert_array_equal(probabilities.argmax(axis=1), learner.predictions(rows))
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-12)


@pytest.mark.parametrize("rule", SOME, ids=rule_id)
@pytest.mark.parametrize(("n_labels", "epochs"), [(2, 1), (2, 5), (5, 1), (5, 5)])
def test_random_labels_have_the_chance_of_their_share(rule, n_labels, epochs):
    rng = np.random.default_rng(3)
    X, _ = random_rows(4000, seed=4)
    share = 0.7 if n_labels == 2 else 1 / n_labels
    y = np.where(rng.random(4001) < 0.7, 1.0, -1.0) if n_labels == 2 else rng.integers(0, 5, 4001).astype(float)
    learner = new_learner(rule, n_labels=n_labels, epochs=epochs)
    learner.state.mean[:] = 0
    rows = rows_of(X, learner)
    learner.train(rows, y, NONE, np.random.RandomState(0))
    other = rows_of(random_rows(1000, seed=5)[0], learner)
    probabilities = learner.probabilities(other, *learner.margins(other))
    assert abs(probabilities[:, -1].mean() - share) < 0.08
    assert probabilities.max(axis=1).mean() < (0.85 if n_labels == 2 else 0.4)


@pytest.mark.parametrize("n_labels", [2, 3])
@pytest.mark.parametrize("covariance", ["full", "kernel"])
def test_full_covariances_and_kernels_agree_with_the_reference(covariance, n_labels):
    X, y = stream(n_labels, 120)
    kernel = KernelOptions(kernel="rbf", gamma=0.05) if covariance == "kernel" else None
    rule = rules.AROW(covariance="full") if kernel is None else rules.AROW()
    classes = np.array([-1.0, 1.0]) if n_labels == 2 else np.arange(3.0)
    learner, reference = Learner(rule, Training(), classes, 25, kernel), CalibrationReference()
    rows = rows_of(X, learner)
    lengths = learner.state.squared_lengths(rows, learner.bias)
    for i in range(rows.n_rows):
        row = rows.part(i, i + 1)
        mean, variance = learner.margins(row)
        spread = lengths[i] if n_labels == 3 else variance[0]
        reference.observe(mean[0], spread, int(y[i]) if n_labels == 3 else y[i])
        learner.learn(row, y[i : i + 1])
    assert_agrees(learner, reference)


def test_an_rbf_kernel_has_rows_of_equal_length():
    X, _ = random_rows()
    kernel = KernelOptions("rbf", gamma=0.1)
    learner = Learner(rules.AROW(), Training(fit_intercept=False), np.array([-1.0, 1.0]), 25, kernel)
    np.testing.assert_allclose(learner.state.squared_lengths(rows_of(X, learner), 0.0), 1)


def test_empty_rows_have_a_chance_too():
    X, y = random_rows(500, noise=0.1)
    learner = new_learner(rules.AROW(), fit_intercept=False)
    learner.learn(rows_of(X, learner), y)
    empty = rows_of(X[-1:], learner)
    probabilities = learner.probabilities(empty, *learner.margins(empty))
    assert 0.3 < probabilities[0, 0] < 0.7


@pytest.mark.parametrize("scale", [1e-30, 1e-15, 1e15])
@pytest.mark.parametrize("n_labels", [2, 5])
def test_the_size_of_rows_and_weights_breaks_nothing(scale, n_labels):
    X, y = stream(n_labels, 300)
    learner = new_learner(rules.AROW(regularization="auto"), n_labels=n_labels, dtype="float64", fit_intercept=False)
    learner.state.mean[:] = 0
    rows = rows_of(X.astype(np.float64) * scale, learner)
    learner.learn(rows, y, np.full(len(y), 1e30))
    assert np.isfinite(numbers_of(learner)).all()
    with np.errstate(all="raise", under="ignore"):
        probabilities = learner.probabilities(rows, *learner.margins(rows))
    assert np.isfinite(probabilities).all()


@pytest.mark.parametrize("slope", [1e40, 1e-300, -3.0])
@pytest.mark.parametrize("mean_square", [0.0, 1e-190, 1e200])
@pytest.mark.parametrize(("loss", "noise"), [(0.0, 1e-300), (5.0, 1 - 1e-16)])
def test_odd_calibrations_give_probabilities_without_a_warning(slope, mean_square, loss, noise):
    part = Calibrator(mean_square, slope, 1e40, 1e-40, 0.0, 1e-40, loss, noise)
    known = Calibration(5.0, 0.0, part, part._replace(loss=1.0))
    mean, spread = np.array([-1e300, -1.0, 0.0, 1e-300, 1e300]), np.array([0.0, 1.0, 0.0, 1e-300, 1e300])
    with np.errstate(all="raise", under="ignore"):
        assert np.isfinite(known.log_odds(mean, spread)).all()
        several = known.probabilities(np.stack([mean, -mean, mean / 2], axis=1), spread)
    np.testing.assert_allclose(several.sum(axis=1), 1)


def test_a_regression_has_none():
    X, _ = random_rows()
    learner = Learner(rules.AROWRegression(), Training(), np.empty(0), 25)
    learner.learn(rows_of(X, learner), np.ones(61))
    assert learner.calibration is None


def merged(learners):
    return merge([(f"model {number}", learner) for number, learner in enumerate(learners)], "posterior")


def trained(seed, n_labels=2, n_rows=300, rule=None):
    X, y = stream(n_labels, n_rows, seed=seed)
    learner = new_learner(rule or rules.AROW(), n_labels=n_labels, dtype="float64")
    learner.learn(rows_of(X, learner), y)
    return learner


@pytest.mark.parametrize("n_labels", [2, 5])
def test_a_model_that_is_merged_alone_keeps_its_probabilities(n_labels):
    learner = trained(0, n_labels)
    alone = merged([learner])
    rows = rows_of(stream(n_labels, 100, seed=8)[0], learner)
    before, after = (part.calibration.probabilities(*scores_of(learner, rows)) for part in (learner, alone))
    np.testing.assert_allclose(after, before, rtol=1e-9)
    numbers = numbers_of(learner)
    numbers[MAP_SIZE:] = 0  # rows that wait have told nothing yet
    np.testing.assert_allclose(numbers_of(alone), numbers, rtol=1e-9, atol=1e-12)


def scores_of(learner, rows):
    mean, variance = learner.margins(rows)
    return mean, learner.spreads(rows, variance)


@pytest.mark.parametrize("n_labels", [2, 5])
def test_order_and_tree_of_a_merge_do_not_matter_for_the_calibration(n_labels):
    learners = [trained(seed, n_labels, 150 + 100 * seed) for seed in range(4)]
    one = merged(learners)
    other = merged(learners[::-1])
    left, right = (Sum.of("posterior", learners[i], "a model") for i in (0, 1))
    left += right
    third, fourth = (Sum.of("posterior", learners[i], "a model") for i in (2, 3))
    fourth += third
    left += fourth
    for same in (other, left.learner()):
        np.testing.assert_allclose(numbers_of(same), numbers_of(one), rtol=1e-12, atol=1e-15)


def test_information_adds_up_in_a_merge():
    learners = [trained(seed, n_rows=400) for seed in range(3)]
    total = merged(learners).calibration

    def information(part):
        covariance = np.array([[part.slope_variance, part.covariance], [part.covariance, part.shift_variance]])
        size = np.diag([np.sqrt(part.mean_square), 1.0])
        return size @ (np.linalg.inv(covariance) - np.diag([1 / 100, 1 / 16])) @ size

    assert total.observed == 3 * 400  # one row of each waits
    for name in ("margin", "deviation"):
        parts = [getattr(learner.calibration, name) for learner in learners]
        np.testing.assert_allclose(
            information(getattr(total, name)), sum(map(information, parts)), rtol=1e-9, atol=1e-9
        )
        losses = np.mean([part.loss for part in parts])
        assert getattr(total, name).loss == pytest.approx(losses)


def test_a_prediction_beside_learning_reads_a_whole_calibration():
    """Every reader gets the numbers of one moment: those after some whole call of the kernel."""
    X, y = random_rows(2000, noise=0.2)
    learner, twin = new_learner(rules.AROW()), new_learner(rules.AROW())
    rows = rows_of(X, learner)
    pieces = [(start, start + 20) for start in range(0, 2000, 20)]
    possible = {np.zeros(131).tobytes()}
    for _ in range(10):
        for start, stop in pieces:
            twin.learn(rows.part(start, stop), y[start:stop])
            possible.add(numbers_of(twin).tobytes())
    seen, stop_reading = [], threading.Event()

    def read():
        while not stop_reading.is_set():
            seen.append(numbers_of(learner).tobytes())

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    for _ in range(10):
        for start, stop in pieces:
            learner.learn(rows.part(start, stop), y[start:stop])
    stop_reading.set()
    for thread in threads:
        thread.join()
    assert seen
    assert set(seen) <= possible
