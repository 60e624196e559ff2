"""What a model counts.  Its progressive error is that of the first pass: later ones meet rows that it knows."""

import numpy as np
import pytest

from cwlearn.core import merging, model_file, rules
from cwlearn.core.learner import Learner
from cwlearn.core.states.base import NONE
from cwlearn.core.training import Training
from tests.cases import random_rows, rows_of

NOISY_X, NOISY_Y = random_rows(500, noise=0.2)


def trained(epochs, rule=None, n_rows=300):
    """A model after so many epochs; with more than one, 400 rows or more are not all in the first of them."""
    rule = rule or rules.AROW()
    learner = Learner(rule, Training(epochs=epochs), () if rule.task == "regression" else np.array([-1.0, 1.0]), 25)
    rows = rows_of(NOISY_X[:n_rows], learner)
    learner.train(rows, NOISY_Y[:n_rows].copy(), NONE, np.random.RandomState(0))
    return learner


@pytest.mark.parametrize("rule", [rules.AROW(), rules.Perceptron(), rules.AROWRegression(), rules.SCW()])
def test_the_progressive_error_is_that_of_the_first_pass(rule):
    once, often = trained(1, rule), trained(4, rule)
    assert often.progressive_error() == pytest.approx(once.progressive_error(), rel=1e-12)
    assert once.progressive_error() > 0.1
    statistics = often.statistics
    assert (statistics["rows"], statistics["repeated_rows"]) == (4 * 300, 3 * 300)
    assert statistics["mistakes"] - statistics["repeated_mistakes"] == once.statistics["mistakes"]


def test_rows_that_are_held_back_at_first_are_not_of_the_first_pass():
    learner = trained(5, n_rows=500)
    first = learner.statistics["rows"] - learner.statistics["repeated_rows"]
    assert 350 < first < 450


def test_no_new_row_is_no_progressive_error():
    learner = trained(2)
    assert learner.progressive_error(learner.statistics) is None
    assert learner.progressive_error_text(learner.statistics) == "-"
    assert learner.progressive_error_text() == f"{100 * learner.progressive_error():.2f} %"
    assert "%" not in trained(2, rules.AROWRegression()).progressive_error_text()


def test_files_and_merges_keep_the_first_pass_apart(tmp_path):
    one, other = trained(3), trained(2)
    model_file.save(one, tmp_path / "m.npz")
    assert model_file.load(tmp_path / "m.npz").statistics == one.statistics
    both = merging.merge([("one", one), ("other", other)], "kl").statistics
    assert {name: one.statistics[name] + other.statistics[name] for name in both} == pytest.approx(both)


def test_a_model_that_was_pickled_before_repeated_rows_were_counted_has_none():
    learner = trained(1)
    state = learner.__getstate__()
    state.pop("_repeated", None)
    twin = object.__new__(Learner)
    twin.__setstate__(state)
    assert twin.statistics == learner.statistics


def test_rows_of_later_epochs_may_come_in_any_parts():
    rng = np.random.default_rng(3)
    targets = rng.normal(size=501) * 10 ** rng.normal(size=501)
    found = set()
    for parts in (1, 2, 7, 501):
        learner = Learner(rules.AROWRegression(), Training(), (), 25)
        rows = rows_of(NOISY_X, learner)
        learner.learn(rows, targets)
        for part in np.array_split(np.arange(501), parts):
            learner.learn(rows, targets, order=part, repeated=True)
        found.add((*learner.statistics.values(), learner.progressive_error()))
    assert len(found) == 1
    assert learner.statistics["repeated_rows"] == 501
