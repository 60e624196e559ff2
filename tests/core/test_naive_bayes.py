"""The naive Bayes prior: its arithmetic, what it keeps of all other guarantees, and where it is refused."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from scipy import sparse

from cwlearn import AROWClassifier, NHERDClassifier, SCWClassifier, distributed, load, merge
from cwlearn.core import model_file, rules
from cwlearn.core._label_counts import count_rows
from cwlearn.core.kernel_options import KernelOptions
from cwlearn.core.learner import Learner
from cwlearn.core.merging import check_confidences
from cwlearn.core.naive_bayes import LabelCounts
from cwlearn.core.states.base import NONE
from cwlearn.core.training import FEWEST_ROWS, Plan, Training
from cwlearn.errors import ModelError
from tests.cases import INFORMED, labelled_rows, new_learner, random_rows, rows_of, rule_id
from tests.references import naive_bayes

each_rule = pytest.mark.parametrize("rule", INFORMED, ids=rule_id)


def data(n_labels, **options):
    """Rows of which many have one feature, and one value is a stored zero."""
    X, y = random_rows(**options) if n_labels == 2 else labelled_rows(n_labels=n_labels, **options)
    X = sparse.csr_matrix(X)
    X.data[7] = 0
    return X, y


def with_prior(rule, X, y, n_labels, weights=NONE, counted=None, parts=1, **training):
    learner = new_learner(rule, X.shape[1], n_labels, **training)
    counts = learner.new_label_counts()
    counted = np.ones(len(y), bool) if counted is None else counted
    for part in np.array_split(np.arange(len(y)), parts):
        own = weights[part] if len(weights) else weights
        learner.count_labels(counts, rows_of(X[part], learner), y[part], own, counted[part])
    learner.set_prior(counts)
    return learner


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n_labels", [2, 5])
@each_rule
def test_means_and_variances_are_those_of_a_slow_reference(rule, n_labels, dtype):
    X, y = data(n_labels)
    X = abs(X)
    counted = np.arange(len(y)) % 5 != 2
    learner = with_prior(rule, X, y, n_labels, counted=counted, initial_variance=0.7, dtype=dtype)
    numbers = (y if n_labels > 2 else y > 0).astype(int)
    means, variances = naive_bayes.prior(X.toarray().tolist(), numbers, n_labels, counted, 0.7, learner.state.floor)
    shape = X.shape[1], -1
    tolerance = 1e-11 if dtype == "float64" else 1e-5
    np.testing.assert_allclose(learner.state.mean[1:].reshape(shape).T, means, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(learner.state.variance[1:].reshape(shape).T, variances, rtol=tolerance)
    assert len(np.unique(learner.state.variance)) > 5
    untouched = new_learner(rule, X.shape[1], n_labels, initial_variance=0.7, dtype=dtype).state
    assert (learner.state.mean[0] == untouched.mean[0]).all()  # the intercept is no feature
    assert (learner.state.variance[0] == learner.state.dtype.type(0.7)).all()


@pytest.mark.parametrize("n_labels", [2, 4])
def test_rows_may_come_in_any_parts_and_order_and_those_of_weight_zero_are_none(n_labels):
    X, y = data(n_labels)
    rule = rules.AROW(prior="naive-bayes")
    whole = with_prior(rule, X, y, n_labels).state.cells
    order = np.random.default_rng(0).permutation(len(y))
    assert (with_prior(rule, X[order], y[order], n_labels, parts=7).state.cells == whole).all()
    weights = np.where(np.arange(len(y)) % 3 == 0, 0.0, 0.5)
    some = with_prior(rule, X, y, n_labels, weights).state.cells
    assert (some == with_prior(rule, X, y, n_labels, counted=weights > 0).state.cells).all()
    assert (some != whole).any()


def test_a_feature_that_tells_more_has_more_variance_and_one_that_no_row_has_the_usual_one():
    y = np.resize([-1.0, 1.0], 40)
    X = sparse.csr_matrix(np.column_stack([np.ones(40), y > 0, np.arange(40) == 3, np.zeros(40)]).astype(float))
    variance = with_prior(rules.AROW(prior="naive-bayes"), X, y, 2).state.variance[1:]
    assert variance[0] < variance[3] == 1 / 32 < variance[1]


def test_scales_of_columns_do_not_matter_and_more_columns_neither():
    X, y = data(2)
    rule = rules.NHERD(prior="naive-bayes")
    variance = with_prior(rule, X, y, 2).state.variance
    wide = sparse.hstack([X @ sparse.diags(np.linspace(-3.1, 9, X.shape[1])), sparse.csr_matrix((len(y), 9))], "csr")
    wider = with_prior(rule, wide, y, 2).state.variance
    assert (wider[: len(variance)] == variance).all()
    assert (wider[len(variance) :] == 1 / 32).all()


def test_if_nothing_tells_labels_apart_all_variances_are_equal():
    y = np.resize([-1.0, 1.0], 30)
    dense = sparse.csr_matrix(np.random.default_rng(0).uniform(1, 2, (319, 3)))
    rule = rules.AROW(prior="naive-bayes")
    of_ten = with_prior(rule, dense, np.arange(319) % 10, 10).state
    assert (of_ten.mean == new_learner(rule, 3, 10).state.mean).all()
    for X in (sparse.csr_matrix(np.ones((30, 4))), sparse.csr_matrix((30, 4))):
        state = with_prior(rule, X, y, 2).state
        for variance in (state.variance, of_ten.variance):
            assert (variance[1:] == 1 / 32).all()
            assert (variance[0] == 1).all()


@pytest.mark.parametrize("n_rows", [FEWEST_ROWS - 50, FEWEST_ROWS + 50])
@pytest.mark.parametrize("epochs", [1, 2, 6])
def test_rows_that_calibrate_are_not_counted_and_come_in_late(n_rows, epochs):
    rule, training = rules.AROW(prior="naive-bayes"), Training(epochs=epochs, random_state=0)
    plan = Plan(rule, training, n_rows)
    held = plan.held_back(np.arange(n_rows))
    assert 0.1 * n_rows < held.sum() < 0.3 * n_rows
    first = max(0, epochs - 3) if epochs > 1 else 0
    for number, epoch in enumerate(plan.epochs(np.random.RandomState(0))):
        late = number >= max(first, 1 if epochs > 1 else 0)
        assert held[epoch.order].any() == late
        assert (epoch.fresh.astype(bool) == (held if number == max(first, epochs > 1) else False)).all()
        assert epoch.settled == (late and epochs > 1)
    X, y = random_rows(n_rows - 1, noise=0.1)
    model = AROWClassifier(prior="naive-bayes", epochs=epochs, random_state=0).fit(X, y)
    assert model._learner.calibration is not None
    by_hand = with_prior(rule, X, y, 2, counted=~held)
    for epoch in plan.epochs(np.random.RandomState(0)):
        by_hand.learn(rows_of(X, by_hand), y, order=epoch.order, fresh=epoch.fresh, settled=epoch.settled)
    assert (by_hand.state.cells == model._learner.state.cells).all()


@pytest.mark.parametrize("n_labels", [2, 4])
@each_rule
def test_a_saved_or_pickled_model_goes_on_to_the_same_bits(rule, n_labels, tmp_path):
    X, y = data(n_labels)
    learner = with_prior(rule, X, y, n_labels)
    learner.learn(rows_of(X, learner), y)
    model_file.save(learner, tmp_path / "m.npz")
    others = [model_file.load(tmp_path / "m.npz"), pickle.loads(pickle.dumps(learner)), copy.deepcopy(learner)]
    for one in (learner, *others):
        one.learn(rows_of(X, one), y)
        assert one.rule == rule
    assert len({one.state.cells.tobytes() for one in (learner, *others)}) == 1


def test_a_warm_start_goes_on_without_another_prior():
    X, y = random_rows(100)
    model = NHERDClassifier(prior="naive-bayes", random_state=0, warm_start=True, epochs=1, shuffle=False).fit(X, y)
    twin = copy.deepcopy(model).partial_fit(X[:50], y[:50])
    model.fit(X[:50], y[:50])
    assert (model.coef_ == twin.coef_).all()


def test_rows_that_come_bit_by_bit_have_no_prior():
    X, y = random_rows(60)
    model = AROWClassifier(prior="naive-bayes")
    with pytest.raises(ValueError, match="counts all rows before it learns the first one"):
        model.partial_fit(X, y, classes=[-1, 1])
    learner = Learner(rules.AROW(prior="naive-bayes"), Training(), np.array([-1.0, 1.0]), 25)
    assert not learner.learn_alone(np.array([1], np.int32), np.ones(1, np.float32), 1.0)
    with pytest.raises(ValueError, match="counts all rows before it learns the first one"):
        learner.learn(rows_of(X[:1], learner), y[:1])
    assert not learner.statistics["rows"]
    model.fit(X, y).partial_fit(X, y)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: rules.AROW(prior="naive"), "'equal' or 'naive-bayes'"),
        (lambda: rules.AROW(prior="naive-bayes", covariance="full"), "needs `covariance='diagonal'`"),
        (lambda: rules.SCW(prior="naive-bayes", forgetting=9), "needs `forgetting=0`"),
        (
            lambda: Learner(rules.AROW(prior="naive-bayes"), Training(), np.array(["a", "b"]), 3, KernelOptions()),
            "has no kernel form",
        ),
        (
            lambda: Learner(rules.NHERD(prior="naive-bayes"), Training(), np.array(["a", "b"]), 3, multilabel=True),
            "one label a row",
        ),
    ],
)
def test_h20_a_prior_that_makes_no_sense_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_prior_cannot_change_once_learning_has_begun():
    X, y = random_rows(60)
    model = AROWClassifier().fit(X, y)
    with pytest.raises(ValueError, match="`prior` cannot change from 'equal' to 'naive-bayes'"):
        model.set_params(prior="naive-bayes").partial_fit(X, y)


def test_models_are_merged_by_plain_averages_alone(tmp_path):
    X, y = random_rows(120)
    parts = [AROWClassifier(prior="naive-bayes", random_state=0).fit(X[i::2], y[i::2]) for i in (0, 1)]
    for how in ("posterior", "kl"):
        with pytest.raises(ModelError, match="`how='l2'` is the only way"):
            merge(parts, how=how)
        with pytest.raises(ModelError, match="`how='l2'` is the only way"):
            check_confidences(rules.NHERD(prior="naive-bayes"), how)
    merged = merge(parts, how="l2")
    np.testing.assert_allclose(merged.variance_, (parts[0].variance_ + parts[1].variance_) / 2, rtol=1e-6)
    np.testing.assert_allclose(merged.coef_, (parts[0].coef_ + parts[1].coef_) / 2, rtol=1e-5, atol=1e-7)
    merged.save(tmp_path / "m.npz")
    assert load(tmp_path / "m.npz").prior == "naive-bayes"


def test_values_whose_sign_tells_labels_apart_leave_means_alone():
    y = np.resize([-1.0, 1.0], 60)
    X = sparse.csr_matrix(np.column_stack([-2 * (y > 0), -3.0 * (y < 0), np.arange(60) % 3 == 0]).astype(float))
    state = with_prior(rules.AROW(prior="naive-bayes"), X, y, 2).state
    assert not state.mean.any()
    assert len(np.unique(state.variance)) > 1


@pytest.mark.parametrize("n_labels", [2, 4])
def test_values_that_cancel_leave_means_alone(n_labels):
    rng = np.random.default_rng(1)
    y = rng.integers(n_labels, size=900)
    size = rng.choice([0.1, 0.2, 0.7], (900, 3)) * (rng.random((900, 3)) < np.where(y[:, None] > 0, 0.8, 0.4))
    half, targets = sparse.csr_matrix(size), (y if n_labels > 2 else np.where(y > 0, 1.0, -1.0))
    X = sparse.vstack([half, -half], "csr")
    rule = rules.AROW(prior="naive-bayes")
    state, before = with_prior(rule, X, np.tile(targets, 2), n_labels).state, new_learner(rule, 3, n_labels).state.mean
    assert (state.mean == before).all()
    assert len(np.unique(state.variance)) > 1
    assert (with_prior(rule, half, targets, n_labels).state.mean != before).any()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_tiny_values_can_be_learned(dtype):
    rng = np.random.default_rng(2)
    y = rng.choice([-1.0, 1.0], 600)
    X = sparse.csr_matrix((rng.random((600, 8)) < np.where(y[:, None] > 0, 0.6, 0.3)) * 1e-39)
    model = AROWClassifier(prior="naive-bayes", epochs=2, dtype=dtype, random_state=0).fit(X, y)
    assert np.isfinite(model.coef_).all()


def test_few_words_that_tell_much_by_themselves_are_found_among_many():
    rng = np.random.default_rng(0)
    y = np.resize([-1, 1], 600)
    tilt = np.where(rng.random(2000) < 0.01, rng.choice([0.1, 10.0], 2000), 1.0)
    X = sparse.csr_matrix((rng.random((600, 2000)) < np.where(y[:, None] > 0, 0.03 * tilt, 0.03)).astype(float))
    errors = {}
    for prior in ("equal", "naive-bayes"):
        model = SCWClassifier(prior=prior, random_state=0).fit(X[:200], y[:200])
        errors[prior] = np.mean(model.predict(X[200:]) != y[200:])
    assert errors["naive-bayes"] < 0.8 * errors["equal"]


def test_rows_that_were_held_back_are_as_uncertain_as_new_ones_of_which_half_the_words_are_new():
    rng = np.random.default_rng(0)
    y = np.resize([-1, 1], 3000)
    tells = rng.random((3000, 20)) < np.where(y[:, None] > 0, 0.5, 0.2)
    words = sparse.csr_matrix((np.ones(60_000), rng.integers(0, 200_000, 60_000), np.arange(0, 60_001, 20)))
    words.resize(3000, 200_000)
    X = sparse.hstack([sparse.csr_matrix(tells.astype(float)), words], "csr")
    model = AROWClassifier(prior="naive-bayes", regularization=0.1, random_state=0).fit(X[:2000], y[:2000])
    chances = model.predict_proba(X[2000:])[:, 1]
    right = np.where(y[2000:] > 0, chances, 1 - chances)
    sure = np.maximum(chances, 1 - chances)
    assert abs(np.mean(right > 0.5) - sure.mean()) < 0.03
    assert -np.log(right).mean() < 0.35


def test_a_file_has_only_words_that_were_counted_or_learned_and_new_words_are_evidence_of_nothing(tmp_path):
    X, y = random_rows(100)
    wide = sparse.csr_matrix((X.data, X.indices, X.indptr), (X.shape[0], 100_000))
    model = AROWClassifier(prior="naive-bayes", fit_intercept=False, random_state=0).fit(wide, y)
    model.save(tmp_path / "m.npz")
    assert (tmp_path / "m.npz").stat().st_size < 20_000
    assert (load(tmp_path / "m.npz")._learner.state.cells == model._learner.state.cells).all()
    new = sparse.csr_matrix(([2.0], ([0], [90_000])), (1, 100_000))
    assert model.explain(new).evidence == 0
    assert model.explain(wide[:1]).evidence > 0.5
    np.testing.assert_allclose(model.margin(new)[1], 4 / 32)


def test_shards_average_models_of_their_own_priors():
    X, y = random_rows(200)
    parts = [(X[i::2], y[i::2]) for i in (0, 1)]
    with pytest.raises(ModelError, match="`how='l2'` is the only way"):
        distributed.fit(AROWClassifier(prior="naive-bayes"), parts)
    model = distributed.fit(AROWClassifier(prior="naive-bayes"), parts, how="l2")
    assert model.prior == "naive-bayes"


@pytest.mark.parametrize("n_labels", [2, 5])
def test_weights_of_one_label_at_a_time_are_those_of_all_at_once(n_labels, monkeypatch):
    X, y = data(n_labels)
    expected = with_prior(rules.AROW(prior="naive-bayes"), X, y, n_labels).state.cells.tobytes()
    monkeypatch.setattr("cwlearn.core.naive_bayes.MOST_KEPT", 0)
    assert with_prior(rules.AROW(prior="naive-bayes"), X, y, n_labels).state.cells.tobytes() == expected


def test_rows_that_are_counted_after_a_state_was_made_count_for_the_next_one():
    X, y = data(2)
    expected = with_prior(rules.AROW(prior="naive-bayes"), X, y, 2).state.cells.tobytes()
    learner, counts = new_learner(rules.AROW(prior="naive-bayes"), X.shape[1], 2), None
    for part in np.array_split(np.arange(len(y)), 2):
        counts = counts or learner.new_label_counts()
        learner.count_labels(counts, rows_of(X[part], learner), y[part], NONE, np.ones(len(part), bool))
        new = new_learner(rules.AROW(prior="naive-bayes"), X.shape[1], 2)
        new.set_prior(counts)
    assert new.state.cells.tobytes() == expected


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"numbers": [0, 2]}, "out of range"),
        ({"numbers": [0, -1]}, "out of range"),
        ({"indices": [0, 1, 3]}, "out of range"),
        ({"indices": [0, -1, 2]}, "out of range"),
        ({"indptr": [0, 2, 4]}, "out of range"),
        ({"indptr": [0, 2, 1]}, "out of range"),
        ({"indptr": [0, 3]}, "do not fit"),
        ({"counted": [1]}, "do not fit"),
        ({"values": [1.0, 2.0]}, "do not fit"),
        ({"sums": 2}, "do not fit"),
        ({"sizes": 4}, "do not fit"),
    ],
    ids=str,
)
def test_no_count_is_beyond_the_arrays(changed, message):
    arrays = {
        "numbers": [0, 1],
        "indices": [0, 1, 2],
        "indptr": [0, 2, 3],
        "counted": [1, 1],
        "values": [1.0, 2.0, 3.0],
    }
    given = {"sums": 3, "sizes": 3} | arrays | changed
    types = {"numbers": np.int64, "indices": np.int32, "indptr": np.int64, "counted": np.uint8, "values": np.float32}
    with pytest.raises(ValueError, match=message):
        count_rows(
            np.zeros((2, 3), np.uint32), np.zeros(given["sums"]), np.zeros(given["sizes"]),
            *(np.array(given[name], types[name]) for name in ("indptr", "indices", "values", "numbers", "counted")),
        )  # fmt: skip


def test_counts_that_need_too_much_memory_are_refused_before_it_is_taken():
    with pytest.raises(MemoryError, match="the counts of 1,000,000,000,000 features x 3 labels"):
        LabelCounts(10**12, 3)
