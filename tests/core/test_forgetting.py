"""Variances that grow back: the arithmetic, and all guarantees of a learner beside it."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest

from cwlearn import AROWClassifier, AROWRegressor, KernelAROWClassifier, LogisticClassifier, load, merge
from cwlearn.core import merging, model_file, rules
from cwlearn.core.learner import Learner
from cwlearn.core.training import Training
from cwlearn.errors import ModelError
from tests.cases import labelled_rows, new_learner, random_rows, reference_of, rows_of, rule_id
from tests.references import forgetting

FORGETFUL = [
    rules.CW(confidence=0.8, forgetting=7.5),
    rules.CW(confidence=0.7, form="variance", projection="exact", forgetting=20),
    rules.AROW(regularization=0.7, forgetting=5),
    rules.AROW(regularization="auto", projection="l2", average=True, forgetting=12),
    rules.SCW(confidence=0.7, C=0.2, loss="hinge", forgetting=3),
    rules.NHERD(C="auto", forgetting=30),
    rules.SOP(a=0.5, forgetting=9),
    rules.SOP(a="auto", forgetting=9),
    rules.Logistic(forgetting=1),
    rules.Probit(beta=0.7, forgetting=1000),
]
each_rule = pytest.mark.parametrize("rule", FORGETFUL, ids=rule_id)


def data(n_labels, **options):
    return random_rows(**options) if n_labels == 2 else labelled_rows(n_labels=n_labels, **options)


def learned(rule, n_labels=2, cuts=(), **training):
    X, y = data(n_labels)
    learner = new_learner(rule, n_labels=n_labels, **training)
    for part in np.split(np.arange(len(y)), cuts):
        learner.learn(rows_of(X[part], learner), y[part])
    return learner


def bits(learner):
    counted = repr((learner.statistics, learner.calibration)).encode()
    return b"".join(array.tobytes() for array in (learner.state.cells, learner.state.average, learner.state.stamps)) + (
        counted
    )


@pytest.mark.parametrize("n_labels", [2, 4])
@each_rule
def test_it_agrees_with_a_slow_reference_over_several_epochs(rule, n_labels):
    X, y = data(n_labels)
    weights = np.where(np.arange(len(y)) % 11 == 3, 0.0, 1.0)  # a row of weight 0 is none: no time passes
    learner = new_learner(rule, n_labels=n_labels, dtype="float64", initial_variance=0.8)
    reference = reference_of(learner)
    for _ in range(3):
        learner.learn(rows_of(X, learner), y, weights)
        forgetting.learn(reference, X.toarray(), y, rule.forgetting, weights)
    state = learner.state.present(rule.half_life, learner.statistics["rows"])
    np.testing.assert_allclose(state.mean.T, reference.mean, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(state.variance.T, reference.variance, rtol=1e-10)
    if n_labels == 2:
        mean, variance = reference.margins(X.toarray())
        np.testing.assert_allclose(learner.margins(rows_of(X, learner))[0], mean, rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(learner.margins(rows_of(X, learner))[1], variance, rtol=1e-9)


@pytest.mark.parametrize(("update", "constraints"), [("parallel", 3), ("exact", 3), ("sequential", None)])
def test_it_agrees_for_several_constraints(update, constraints):
    rule = rules.CW(confidence=0.8, form="variance", forgetting=6)
    X, y = data(5)
    training = {"n_constraints": constraints, "multiclass_update": update, "dtype": "float64"}
    learner = new_learner(rule, n_labels=5, **training)
    reference = forgetting.learn(reference_of(learner), X.toarray(), y, 6)
    learner.learn(rows_of(X, learner), y)
    state = learner.state.present(6, learner.statistics["rows"])
    np.testing.assert_allclose(state.mean.T, reference.mean, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(state.variance.T, reference.variance, rtol=1e-9)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n_labels", [2, 4])
@each_rule
def test_any_chunking_gives_the_same_bits(rule, n_labels, dtype):
    whole = learned(rule, n_labels, dtype=dtype)
    assert bits(whole) == bits(learned(rule, n_labels, cuts=(1, 2, 17, 30), dtype=dtype))
    assert whole.state.stamps.max() > 0


@pytest.mark.parametrize("n_labels", [2, 4])
@each_rule
def test_a_saved_or_pickled_model_goes_on_to_the_same_bits(rule, n_labels, tmp_path):
    X, y = data(n_labels, seed=4)
    learner = learned(rule, n_labels)
    model_file.save(learner, tmp_path / "m.npz")
    others = [model_file.load(tmp_path / "m.npz"), pickle.loads(pickle.dumps(learner)), copy.deepcopy(learner)]
    for one in (learner, *others):
        one.learn(rows_of(X, one), y)
    assert len({bits(one) for one in (learner, *others)}) == 1


def test_touched_weights_alone_are_stored_with_their_stamps(tmp_path):
    X, y = data(2)
    learner = Learner(rules.AROW(forgetting=8), Training(), np.array([-1.0, 1.0]), 5000)
    learner.learn(replace(rows_of(X, learner), n_features=5000), y)
    model_file.save(learner, tmp_path / "m.npz")
    assert (tmp_path / "m.npz").stat().st_size < 10_000
    with np.load(tmp_path / "m.npz") as stored:
        assert len(stored["places"]) == len(stored["stamps"]) <= 26
    assert bits(model_file.load(tmp_path / "m.npz")) == bits(learner)


def test_without_forgetting_there_is_no_third_array(tmp_path):
    learner = learned(rules.AROW())
    assert learner.state.stamps.size == 0
    model_file.save(learner, tmp_path / "m.npz")
    with np.load(tmp_path / "m.npz") as stored:
        assert "stamps" not in stored.files


@pytest.mark.parametrize(("stamp", "message"), [(-1.0, "stamps"), (np.nan, "stamps"), (1e6, "later than its last row")])
def test_a_file_with_impossible_stamps_is_refused(stamp, message, tmp_path):
    learner = learned(rules.AROW(forgetting=8))
    learner.state.stamps[3] = stamp
    model_file.save(learner, tmp_path / "m.npz")
    with pytest.raises(ModelError, match=message):
        model_file.load(tmp_path / "m.npz")


def test_variances_grow_by_half_of_the_precision_in_a_half_life_and_never_beyond_the_prior():
    model = AROWClassifier(
        forgetting=10, initial_variance=2.0, fit_intercept=False, regularization=1.0, dtype="float64"
    )
    model.partial_fit(np.eye(2)[:1], [1], classes=[0, 1])
    learned_precision = 1 / model._learner.state.variance[1] - 1 / 2
    empty = np.zeros((9, 2))
    model.partial_fit(empty, [0] * 9)  # ten rows have passed
    assert 1 / model.variance_[0, 0] - 1 / 2 == pytest.approx(learned_precision / 2, rel=1e-12)
    mean = model.coef_[0, 0]
    for _ in range(200):
        model.partial_fit(empty, [0] * 9)
    assert model.variance_[0, 0] == 2.0
    assert model.coef_[0, 0] == mean
    assert model.margin(np.eye(2))[1].tolist() == [2.0, 2.0]


def test_a_model_that_forgets_follows_a_change():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4000, 5))
    y = (X @ np.array([1.0, -1, 2, 0, 1]) * np.where(np.arange(4000) < 2000, 1, -1) > 0).astype(int)
    wrong = {}
    for half_life in (0, 100):
        model = AROWClassifier(forgetting=half_life).partial_fit(X[:3000], y[:3000], classes=[0, 1])
        wrong[half_life] = np.mean(model.predict(X[3000:]) != y[3000:])
    assert wrong[100] < 0.1
    assert wrong[100] < wrong[0] / 2


def test_a_regression_forgets_as_recursive_least_squares_does():
    X, _ = random_rows()
    model = AROWRegressor(regularization=0.5, forgetting=4, dtype="float64", epochs=1, shuffle=False)
    model.fit(X, X @ np.arange(25.0))
    fresh = AROWRegressor(regularization=0.5, dtype="float64", epochs=1, shuffle=False).fit(X, X @ np.arange(25.0))
    assert (model.variance_ >= fresh.variance_).all()
    assert (model.variance_ > fresh.variance_).any()


@pytest.mark.parametrize("how", ["posterior", "kl", "l2"])
def test_models_are_merged_by_what_they_know_now(how):
    X, y = random_rows(n_rows=120)
    parts = [
        AROWClassifier(forgetting=15, dtype="float64").partial_fit(X[i::2], y[i::2], classes=[-1, 1]) for i in (0, 1)
    ]
    merged = merge(parts, how=how)
    precisions = [1 / part.variance_[0] for part in parts]
    expected = {
        "posterior": 1 / (precisions[0] + precisions[1] - 1),
        "kl": 1 / (precisions[0] + precisions[1]),
        "l2": (parts[0].variance_[0] + parts[1].variance_[0]) / 2,
    }[how]
    np.testing.assert_allclose(merged.variance_[0], expected, rtol=1e-12)
    assert (merged._learner.state.stamps == merged._learner.statistics["rows"]).all()
    merged.partial_fit(X, y)


def test_a_base_cannot_be_subtracted_from_a_model_that_has_forgotten_a_part_of_it():
    base = learned(rules.AROW(forgetting=8))
    later = copy.deepcopy(base)
    X, y = data(2, seed=3)
    later.learn(rows_of(X, later), y)
    with pytest.raises(ModelError, match="forgotten a part of their base"):
        merging.merge([("one", later)], "posterior", base)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: rules.AROW(forgetting=-1), "a number >= 0"),
        (lambda: rules.AROW(forgetting=0.5), "0, or at least 1"),
        (lambda: rules.AROW(forgetting="1h"), "a number >= 0"),
        (lambda: rules.AROW(forgetting=np.inf), "a number >= 0"),
        (lambda: rules.AROW(forgetting=5, covariance="full"), "needs `covariance='diagonal'`"),
        (lambda: rules.Logistic(forgetting=5, bayesian=False), "needs `bayesian=True`"),
    ],
)
def test_h17_a_half_life_that_makes_no_sense_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_half_life_cannot_change_once_learning_has_begun():
    X, y = data(2)
    model = LogisticClassifier(forgetting=5).partial_fit(X, y, classes=[-1, 1])
    with pytest.raises(ValueError, match="`forgetting` cannot change from 5"):
        model.set_params(forgetting=0).partial_fit(X, y)
    assert not hasattr(KernelAROWClassifier(), "forgetting")


def test_the_command_line_forgets_too(text, tmp_path):
    from tests.text_cases import succeed

    path = tmp_path / "m.npz"
    succeed("train", text, "-m", path, "-a", "arow", "--forgetting", 50, "--epochs", 1, "--quiet")
    model = load(path)
    assert model.forgetting == 50
    shown = succeed("inspect", path, "--top", 1, "--json").json
    assert shown["parameters"]["forgetting"] == 50
    deviation = np.sqrt(model.variance_[0][np.argmax(np.abs(model.coef_[0]))])
    assert f"{deviation:.4g}"[:4] in repr(shown)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda stamps: stamps[1:], "its stamps is float64"),
        (lambda stamps: stamps.astype(np.float32), "its stamps is float32"),
    ],
)
def test_stamps_of_a_file_that_do_not_fit_are_refused(change, message, tmp_path, monkeypatch):
    X, y = random_rows(20, 5)
    learner = new_learner(rules.AROW(forgetting=100.0), 5)
    learner.learn(rows_of(X, learner), y)
    arrays = {name: array.copy() for name, array in learner.state.arrays().items()}
    arrays["stamps"] = change(arrays["stamps"])
    monkeypatch.setattr(learner.state, "arrays", lambda: arrays)
    model_file.save(learner, tmp_path / "m.npz")
    with pytest.raises(ModelError, match=message):
        model_file.load(tmp_path / "m.npz")
