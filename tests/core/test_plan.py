"""Which rows are learned in which epoch, and which of them show what a score is worth."""

import numpy as np
import pytest

from cwlearn.core import rules
from cwlearn.core.states.base import ALL_FRESH
from cwlearn.core.training import Plan, Training
from tests.cases import new_learner, random_rows, rows_of


def epochs_of(n_rows, rule=None, **training):
    plan = Plan(rule or rules.AROW(), Training(**training), n_rows)
    return plan, list(plan.epochs(np.random.RandomState(0)))


@pytest.mark.parametrize("n_rows", [1, 399])
def test_few_rows_are_in_every_epoch_and_tested_in_the_first(n_rows):
    plan, epochs = epochs_of(n_rows, epochs=3)
    assert plan.total == 3 * n_rows
    for number, epoch in enumerate(epochs):
        assert sorted(epoch.order) == list(range(n_rows))
        assert not epoch.settled
        assert len(epoch.fresh) == 0 if number == 0 else not epoch.fresh.any()


def test_one_epoch_tests_all_rows():
    _, (epoch,) = epochs_of(5000, epochs=1)
    assert epoch.fresh is ALL_FRESH
    assert sorted(epoch.order) == list(range(5000))


@pytest.mark.parametrize(("rule", "last"), [(rules.AROW(), 3), (rules.CW(), 1)])
@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("n_epochs", [2, 3, 5, 10])
def test_a_fifth_of_many_rows_comes_in_with_the_last_epochs(rule, last, shuffle, n_epochs):
    n_rows = 2000
    plan, epochs = epochs_of(n_rows, rule, epochs=n_epochs, shuffle=shuffle)
    first = max(1, n_epochs - last)
    held = np.setdiff1d(np.arange(n_rows), epochs[0].order)
    assert abs(len(held) - n_rows / 5) < 40
    if not shuffle:
        assert held.tolist() == list(range(1600, 2000))
    for number, (order, fresh, settled, repeated) in enumerate(epochs):
        assert repeated == (number > 0)
        assert len(set(order)) == len(order)
        assert settled == (number >= first)
        if number < first:
            assert set(order) == set(range(n_rows)) - set(held)
            assert fresh is ALL_FRESH if number == 0 else fresh.tolist() == [0] * n_rows
        else:
            assert len(order) == n_rows
            assert np.flatnonzero(fresh).tolist() == (held.tolist() if number == first else [])
    assert abs(plan.total - sum(len(epoch.order) for epoch in epochs)) <= first * 40


def test_parts_of_the_rows_have_the_rows_of_the_whole():
    """As the windows of a disk store: the same rows are held back whatever else is in the window."""
    plan = Plan(rules.AROW(), Training(epochs=5), 3000)
    numbers = np.random.default_rng(0).permutation(3000)
    whole = plan.held_back(np.arange(3000))
    for part in np.array_split(numbers, 7):
        np.testing.assert_array_equal(plan.held_back(part), whole[part])
        order = np.arange(len(part))[::-1]
        np.testing.assert_array_equal(plan.epoch(0, order, part).order, [i for i in order if not whole[part[i]]])
        np.testing.assert_array_equal(plan.epoch(2, order, part).fresh, whole[part])
        assert not plan.epoch(3, order, part).fresh.any()


def test_a_model_counts_the_rows_of_its_plan():
    X, y = random_rows(1000)
    learner = new_learner(rules.AROW(), epochs=5)
    learner.train(rows_of(X, learner), y, np.empty(0), np.random.RandomState(0))
    held = int(Plan(learner.rule, learner.training, 1001).held_back(np.arange(1001)).sum())
    assert learner.statistics["rows"] == 5 * 1001 - 2 * held
    assert learner.calibration.rows == held
    assert learner.calibration.settled == 1


def test_the_first_epoch_tells_nothing_of_a_model_that_knows_its_rows_already():
    _, epochs = epochs_of(2000, rules.AROW(prior="naive-bayes"), epochs=4)
    assert [(len(epoch.fresh), int(epoch.fresh.any())) for epoch in epochs] == [
        (2000, 0),
        (2000, 1),
        (2000, 0),
        (2000, 0),
    ]


def test_the_noise_of_the_labels_is_known_from_the_first_epoch():
    """All that is known of the scores begins anew when the model is settled, except the noise."""
    X, y = random_rows(3000, noise=0.2)
    learner = new_learner(rules.AROW(), epochs=2)
    rows, plan = rows_of(X, learner), Plan(learner.rule, learner.training, 3001)
    first, last = plan.epochs(np.random.RandomState(0))
    learner.learn(rows, y, order=first.order, fresh=first.fresh)
    noise = learner.calibration.margin.noise
    assert noise > 0.15
    one = last.order[last.fresh[last.order] > 0][:1]
    learner.learn(rows, y, order=one, fresh=last.fresh, settled=last.settled)
    assert learner.calibration.observed == 1
    assert abs(learner.calibration.margin.noise - noise) < 0.05
