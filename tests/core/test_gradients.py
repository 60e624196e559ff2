"""FTRL-Proximal and AdaGrad: what they promise beyond the agreement with the reference, which `test_kernels` checks."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

import cwlearn as package
from cwlearn.core import model_file, rules
from cwlearn.core.states.gradients import GradientState
from cwlearn.errors import DataError, ModelError
from tests.cases import GRADIENT, labelled_rows, new_learner, random_rows, reference_of, rows_of, rule_id
from tests.core.test_model_file import reseal
from tests.references.gradients import RiverFTRL
from tests.text_cases import fail, random_text, succeed


@pytest.mark.parametrize("rule", GRADIENT, ids=rule_id)
def test_agrees_with_the_reference_over_many_epochs(rule):
    X, y = random_rows(80, noise=0.1)
    learner = new_learner(rule, dtype="float64", initial_variance=0.8)
    slow = reference_of(learner)
    rows = rows_of(X, learner)
    for _ in range(6):
        learner.learn(rows, y)
        slow.learn(X.toarray(), y)
    np.testing.assert_allclose(learner.predictor.mean, slow.weights(), rtol=1e-10, atol=1e-11)
    assert ((learner.predictor.mean == 0) == (slow.weights() == 0)).all()


@pytest.mark.parametrize(("l1", "l2"), [(0.0, 1.0), (0.3, 0.2)])
def test_agrees_with_the_formulas_of_river_on_dense_rows(l1, l2):
    """With river itself the same was found once: its optimizer, given gradients at the refreshed weights."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 6))
    y = np.where(X[:, 0] - X[:, 1] + rng.standard_normal(200) > 0, 1.0, -1.0)
    rule = rules.FTRL(alpha=0.05, beta=1.0, l1=l1, l2=l2)
    learner = new_learner(rule, 6, dtype="float64", fit_intercept=False)
    theirs = RiverFTRL(0.05, 1.0, l1, l2)
    for _ in range(3):
        learner.learn(rows_of(sparse.csr_matrix(X), learner), y)
        for row, label in zip(X, y, strict=True):
            theirs.learn(dict(enumerate(row)), label > 0)
    weights = theirs.refreshed(range(6))
    np.testing.assert_allclose(learner.predictor.mean[1:], [weights.get(i, 0.0) for i in range(6)], rtol=1e-9)


@pytest.mark.parametrize("rule", [rules.FTRL(), rules.AdaGrad()], ids=rule_id)
@pytest.mark.parametrize("n_labels", [2, 4])
def test_more_l1_leaves_fewer_weights(rule, n_labels):
    X, y = random_rows(300, 60, noise=0.1) if n_labels == 2 else labelled_rows(300, 60, n_labels, noise=0.1)
    left = []
    for l1 in (0.0, 1.0, 4.0, 1000.0):
        learner = new_learner(replace(rule, l1=l1 if rule.name == "ftrl" else l1 / 100), 60, n_labels)
        learner.state.cells[:] = 0
        learner.learn(rows_of(X, learner), y)
        left.append(np.count_nonzero(learner.predictor.mean[1:]))
    assert left[0] > left[1] > left[2] > left[3] == 0


@pytest.mark.parametrize("rule", GRADIENT, ids=rule_id)
@pytest.mark.parametrize("n_labels", [2, 3])
def test_sums_of_squares_only_grow_and_untouched_cells_stay_empty(rule, n_labels):
    X, y = random_rows(noise=0.2) if n_labels == 2 else labelled_rows(n_labels=3, noise=0.2)
    learner = new_learner(rule, 40, n_labels)
    learner.state.cells[:] = 0
    rows = rows_of(sparse.hstack([X, sparse.csr_matrix((X.shape[0], 15))]).tocsr(), learner)
    before = learner.state.variance.copy()
    for row in range(X.shape[0]):
        learner.learn(rows, y, order=np.array([row]))
        assert (learner.state.variance >= before).all()
        before = learner.state.variance.copy()
    assert not learner.state.touched[26:].any()
    assert learner.state.touched[1:26].any()
    assert (learner.predictor.variance == learner.state.initial_variance).all()


@pytest.mark.parametrize("rule", [rules.FTRL(), rules.FTRL(loss="hinge"), rules.AdaGrad()], ids=rule_id)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rows_whose_squares_would_not_be_finite_are_refused(rule, dtype):
    X = np.eye(3) * (1e20 if dtype == "float32" else 1e140)
    learner = new_learner(rule, 3, dtype=dtype)
    with pytest.raises(DataError, match="not a finite number"):
        learner.learn(rows_of(sparse.csr_matrix(X), learner), np.array([1.0, -1.0, 1.0]))
    assert (learner.state.cells == 0).all()


@pytest.mark.parametrize("name", ["FTRLClassifier", "AdaGradClassifier"])
def test_the_logistic_loss_gives_a_distribution_and_the_hinge_loss_none(name):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4000, 5))
    p = 1 / (1 + np.exp(-2 * X[:, 0]))
    y = rng.random(4000) < p
    model = getattr(package, name)(random_state=0, epochs=3).fit(X, y)
    for probabilities in (model.predict_proba(X), model.label_distribution(X)):
        assert np.mean(np.abs(probabilities[:, 1] - p)) < 0.05
        assert np.allclose(probabilities.sum(axis=1), 1)
    hinge = getattr(package, name)(loss="hinge", random_state=0).fit(X, y)
    assert not hasattr(hinge, "label_distribution")
    assert np.mean(np.abs(hinge.predict_proba(X)[:, 1] - p)) < 0.1
    assert hinge.score(X, y) > 0.75


def test_a_file_with_sums_that_cannot_be_is_refused(tmp_path):
    X, y = random_rows()
    learner = new_learner(rules.FTRL(l1=0.1))
    learner.learn(rows_of(X, learner), y)
    model_file.save(learner, tmp_path / "m.npz")
    assert isinstance(model_file.load(tmp_path / "m.npz").state, GradientState)
    for bad in (-1.0, np.nan, np.inf):
        model_file.save(learner, tmp_path / "bad.npz")

        def change(header, members, bad=bad):
            members["cells"][3, 1] = bad
            return members

        reseal(tmp_path / "bad.npz", change)
        with pytest.raises(ModelError, match=r"not finite|roots of its sums"):
            model_file.load(tmp_path / "bad.npz")


def test_inspect_tells_how_many_weights_are_left(tmp_path):
    (tmp_path / "a.svm").write_text(random_text())
    model = tmp_path / "m.npz"
    succeed("train", tmp_path / "a.svm", "-m", model, "-a", "ftrl", "--l1", 40, "--quiet")
    facts = succeed("inspect", model, "--json").json
    loaded = package.load(model)
    assert facts["nonzero_weights"] == np.count_nonzero(loaded.coef_) < facts["features_moved"]
    assert f"weights    {facts['nonzero_weights']:,} of them are not 0" in succeed("inspect", model).out
    assert json.dumps(facts)


def test_shards_are_refused_before_anything_is_read(tmp_path):
    (tmp_path / "a.svm").write_text(random_text())
    words = fail("train", tmp_path / "a.svm", "-m", tmp_path / "m.npz", "-a", "ftrl", "--workers", 2)
    assert "models of ftrl cannot be merged" in words
