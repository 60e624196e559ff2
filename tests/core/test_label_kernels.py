"""More than two labels: the kernel is compared with the reference and with claims of the paper (EMNLP 2009)."""

from __future__ import annotations

from dataclasses import replace
from itertools import cycle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from cwlearn import _kernels
from cwlearn.core import learner, rules
from cwlearn.core.states import diagonal as diagonal_state
from cwlearn.errors import DataError
from tests.cases import GAUSSIAN, RULES, labelled_rows, new_learner, reference_of, rows_of, rule_id

UPDATES = [(1, "sequential"), (2, "sequential"), (None, "sequential"), (2, "parallel"), (None, "parallel")]
EXACT = [(1, "exact"), (2, "exact"), (None, "exact")]
SOLVABLE = [rule for rule in RULES if rule.solvable]
CASES = [(rule, *update) for rule in RULES for update in [*UPDATES, *(EXACT if rule.solvable else [])]]


def case_id(value):
    return rule_id(value) if isinstance(value, rules.Rule) else str(value)


# Each rule and each update meets each of these, but not all three together.
FORMS = [("float64", 1e-10, True), ("float64", 1e-10, False), ("float32", 1e-3, True)]


@pytest.mark.parametrize(
    ("rule", "k", "update", "dtype", "tolerance", "intercept"),
    [(*case, *form) for case, form in zip(CASES, cycle(FORMS), strict=False)],
    ids=case_id,
)
def test_agrees_with_the_reference(rule, k, update, dtype, tolerance, intercept):
    X, y = labelled_rows(25, 15, 4)
    rng = np.random.default_rng(1)
    weights = rng.choice([0.0, 0.5, 1.0, 2.0], len(y)) if rule.takes_weights else np.empty(0)
    options = {"dtype": dtype, "fit_intercept": intercept, "initial_variance": 0.8}
    learner = new_learner(rule, 15, 4, n_constraints=k, multiclass_update=update, **options)
    slow = reference_of(learner)
    dense = X.toarray().astype(np.float64)
    rows = rows_of(X, learner)
    for _ in range(2):
        order = rng.permutation(len(y))
        learner.learn(rows, y, weights, order)
        slow.learn(dense[order], y[order], weights[order] if len(weights) else None)
    scale = np.abs(slow.mean).max() + 1e-300
    np.testing.assert_allclose(learner.state.mean.T, slow.mean, rtol=tolerance, atol=tolerance * scale)
    np.testing.assert_allclose(learner.state.variance.T, slow.variance, rtol=tolerance)
    for ours, theirs in zip(learner.margins(rows), slow.margins(dense), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance * np.abs(theirs).max())
    assert learner.statistics["rows"] == slow.binary.rows
    assert learner.statistics["updates"] > 0
    if not (isinstance(rule, rules.CW) and rule.phi == 0):  # whose margins are exactly 0 after an update, or nearly so
        assert learner.statistics["updates"] == slow.updates
        assert learner.statistics["mistakes"] == slow.mistakes
    assert learner.statistics["unsolved"] == 0


@pytest.mark.parametrize("n_labels", [3, 4, 5, 7, 8, 11, 16, 17, 19, 20, 21, 33, 45])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_scores_are_sums_whatever_the_number_of_labels(n_labels, dtype):
    """The kernel sums four labels in a vector, and up to 20 labels together."""
    X, y = labelled_rows(30, 12, n_labels, density=0.5)
    model = new_learner(rules.AROW(), 12, n_labels, dtype=dtype)
    rows = rows_of(X, model)
    model.learn(rows, y)
    dense = np.column_stack([np.ones(X.shape[0]), X.toarray().astype(np.float64)])
    mean, variance = model.margins(rows)
    assert mean.shape == variance.shape == (X.shape[0], n_labels)
    np.testing.assert_allclose(mean, dense @ model.state.mean.astype(np.float64), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(variance, dense**2 @ model.state.variance.astype(np.float64), rtol=1e-12)
    alone, nothing = model.margins(rows, only_mean=True)
    assert (alone == mean).all()
    assert nothing.size == 0
    assert (model.predictions(rows) == np.argmax(mean, axis=1)).all()


def steps_of(model, x, before, label):
    """The step of each block's mean for a row, read from the features that are not 0."""
    mean, variance = before
    moved = (model.state.mean - mean) / (variance * x[:, None] + (x[:, None] == 0))
    alphas = np.array([moved[x != 0, z].mean() for z in range(mean.shape[1])])
    np.testing.assert_allclose(moved[x != 0], np.broadcast_to(alphas, moved[x != 0].shape), rtol=1e-6, atol=1e-9)
    return alphas[label], -np.delete(alphas, label)


@pytest.mark.parametrize("rule", SOLVABLE, ids=rule_id)
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), n_labels=st.integers(3, 12), scale=st.sampled_from([0.01, 1.0, 30.0]))
def test_exact_updates_meet_the_kkt_conditions(rule, seed, n_labels, scale):
    """Read from the state: every constraint holds to 1e-8, and alpha_j > 0 only where it is tight (or, PA-I, at C)."""
    if rule.strength == "auto":
        return  # C changes from row to row
    X, y = labelled_rows(12, 10, n_labels, density=0.6, seed=seed, noise=0.3)
    X = X * np.float32(scale)
    model = new_learner(rule, 10, n_labels, dtype="float64", n_constraints=None, multiclass_update="exact")
    rows = rows_of(X, model)
    cw = rule.kind == "cw-variance"
    for row in range(len(y)):
        label = int(y[row])
        x = np.append(1.0, X[[row]].toarray()[0].astype(np.float64))
        before = model.state.mean.copy(), model.state.variance.copy()
        model.learn(rows, y, order=np.array([row]))
        total, alphas = steps_of(model, x, before, label)
        assert total == pytest.approx(alphas.sum(), rel=1e-8, abs=1e-10)
        assert (alphas >= -1e-10).all()
        score, variance = x @ model.state.mean, x**2 @ model.state.variance
        slack = score[label] - np.delete(score, label)
        if cw:
            slack -= rule.phi * (variance[label] + np.delete(variance, label))
        else:
            slack -= 1
            if rule.kind == "pa-ii":
                slack += alphas / (2 * rule.strength)
        size = 1 + np.abs(x @ before[0]).max() + (rule.phi * (x**2 @ before[1]).max() if cw else 0)
        capped = alphas >= rule.strength * (1 - 1e-9) if rule.kind == "pa-i" else np.zeros(len(alphas), bool)
        assert (slack[~capped] >= -1e-8 * size).all()
        assert (np.abs(slack[(alphas > 1e-9) & ~capped]) <= 1e-8 * size).all()
        if rule.kind == "pa-i":
            assert (alphas <= rule.strength * (1 + 1e-9)).all()
    assert model.statistics["unsolved"] == 0


@pytest.mark.parametrize("sweeps", [1, 2, 3])
@pytest.mark.parametrize("rule", SOLVABLE, ids=rule_id)
def test_an_exact_update_that_ends_early_is_counted_and_does_no_harm(rule, sweeps, monkeypatch):
    X, y = labelled_rows(400, n_labels=20, noise=0.1)
    monkeypatch.setattr(learner, "EXACT_SWEEPS", sweeps)
    model = new_learner(rule, n_labels=20, dtype="float64", n_constraints=None, multiclass_update="exact")
    model.learn(rows_of(X, model), y)
    assert 0 < model.statistics["unsolved"] <= model.statistics["updates"]
    assert np.isfinite(model.state.cells).all()
    assert np.abs(model.state.mean).max() < 1e3


@pytest.mark.parametrize("sweeps", [1, 2, 3])
@pytest.mark.parametrize("rule", SOLVABLE, ids=rule_id)
def test_an_exact_update_that_ends_early_moves_the_rivals_as_far_as_the_true_label(rule, sweeps, monkeypatch):
    """The steps of the last sweep are scaled to their sum."""
    X, y = labelled_rows(30, 10, 8, density=0.6, noise=0.3)
    monkeypatch.setattr(learner, "EXACT_SWEEPS", sweeps)
    model = new_learner(rule, 10, 8, dtype="float64", n_constraints=None, multiclass_update="exact")
    rows = rows_of(X, model)
    for row in range(len(y)):
        x = np.append(1.0, X[[row]].toarray()[0].astype(np.float64))
        before = model.state.mean.copy(), model.state.variance.copy()
        model.learn(rows, y, order=np.array([row]))
        total, alphas = steps_of(model, x, before, int(y[row]))
        assert total == pytest.approx(alphas.sum(), rel=1e-8, abs=1e-10)
    assert model.statistics["unsolved"] > 0


def test_only_some_rules_have_an_exact_update():
    for rule in (rules.CW(), rules.CW(form="variance", projection="l2"), rules.AROW(), rules.Perceptron(), rules.SOP()):
        with pytest.raises(ValueError, match="`multiclass_update='exact'` is there for CW with `form='variance'`"):
            new_learner(rule, n_labels=3, multiclass_update="exact")


@pytest.mark.parametrize("rule", RULES, ids=rule_id)
def test_one_constraint_is_the_same_in_sequence_and_in_parallel(rule):
    X, y = labelled_rows()
    one = new_learner(rule, n_labels=5, dtype="float64")
    other = new_learner(rule, n_labels=5, dtype="float64", multiclass_update="parallel")
    for model in (one, other):
        model.learn(rows_of(X, model), y)
    np.testing.assert_allclose(other.state.cells, one.state.cells, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize(("k", "update"), [*UPDATES, (None, "exact")], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("rule", GAUSSIAN, ids=rule_id)
def test_variances_only_fall_and_stay_above_the_floor(rule, dtype, k, update):
    """Also with a fixed covariance, and of an unused intercept: 0.1 * 3 / 3 is more than 0.1."""
    if update == "exact" and not rule.solvable:
        return
    X, _ = labelled_rows(150, seed=3)
    y = np.random.default_rng(4).integers(0, 4, X.shape[0]).astype(float)
    options = {"dtype": dtype, "initial_variance": 0.1, "fit_intercept": False}
    model = new_learner(rule, n_labels=4, n_constraints=k, multiclass_update=update, **options)
    first = model.state.variance.copy()
    rows = rows_of(X, model)
    for _ in range(3):
        for chunk in np.array_split(np.arange(len(y)), 5):
            before = model.state.variance.copy()
            model.learn(rows, y, order=chunk)
            assert (model.state.variance <= before).all()
    assert (model.state.variance >= model.state.floor * (1 - 1e-6)).all()
    assert np.isfinite(model.state.cells).all()
    if not rule.second_order:
        assert (model.state.variance == first).all()


@pytest.mark.parametrize(("k", "update"), [*UPDATES, (None, "exact")], ids=str)
@pytest.mark.parametrize("rule", RULES, ids=rule_id)
def test_all_processors_get_the_same_bits(rule, k, update, monkeypatch):
    if update == "exact" and not rule.solvable:
        return
    X, y = labelled_rows(60, seed=8, noise=0.1)
    assert len(set(results_by_processor(rule, X, y, 5, monkeypatch, n_constraints=k, multiclass_update=update))) == 1


@pytest.mark.parametrize("n_labels", [3, 4, 7, 8, 9, 16, 17, 20, 21, 31, 64, 65, 70, 129, 200])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_all_processors_get_the_same_bits_whatever_the_number_of_labels(n_labels, dtype, monkeypatch):
    """AVX-512 sums eight labels in a vector, up to 64 together, and masks the rest; AVX2 ranks four at once."""
    X, y = labelled_rows(60, n_labels=n_labels, seed=8, noise=0.3)
    for k in (1, 7, 30):
        results = results_by_processor(rules.CW(), X, y, n_labels, monkeypatch, n_constraints=k, dtype=dtype)
        assert len(set(results)) == 1


def results_by_processor(rule, X, y, n_labels, monkeypatch, **options):
    """Weights and margins in each form that this processor can run."""
    forms = [(_kernels, False)]
    if _kernels.runs_v3():
        v3 = pytest.importorskip("cwlearn._kernels_v3")
        forms += [(v3, wide) for wide in (False, True)]
    for build, wide in forms:
        can = build.choose_scores(wide)
        try:
            monkeypatch.setattr(diagonal_state, "learn_rows", build.learn_rows)
            monkeypatch.setattr(diagonal_state, "margin_rows", build.margin_rows)
            model = new_learner(rule, n_labels=n_labels, **options)
            rows = rows_of(X, model)
            model.learn(rows, y)
            yield (model.state.cells.tobytes(), *(part.tobytes() for part in model.margins(rows)))
        finally:
            build.choose_scores(True)
        if not can:
            return


@pytest.mark.parametrize(("k", "update"), [*UPDATES, (None, "exact")], ids=str)
@pytest.mark.parametrize("rule", [rules.CW(form="variance"), rules.PassiveAggressive(average=True)], ids=rule_id)
def test_any_chunking_gives_the_same_bits(rule, k, update):
    X, y = labelled_rows(noise=0.1)
    whole, chunked = (new_learner(rule, n_labels=5, n_constraints=k, multiclass_update=update) for _ in range(2))
    whole.learn(rows_of(X, whole), y)
    for part in np.array_split(np.arange(len(y)), 7):
        chunked.learn(rows_of(X[part], chunked), y[part])
    assert whole.state.cells.tobytes() == chunked.state.cells.tobytes()
    assert whole.state.average.tobytes() == chunked.state.average.tobytes()
    assert whole.statistics == chunked.statistics


@pytest.mark.parametrize("n_labels", [3, 12])
def test_a_state_beyond_the_cache_gives_the_same_bits(n_labels):
    """Prefetching changes no result."""
    X, y = labelled_rows(n_labels=n_labels)
    wide = X.copy()
    wide.resize(X.shape[0], 200_000)
    small, large = (new_learner(rules.AROW(), width, n_labels) for width in (25, 200_000))
    large.state.mean[:] = 0
    large.state.mean[:26] = small.state.mean
    small.learn(rows_of(X, small), y)
    large.learn(rows_of(wide, large), y)
    assert (large.state.cells[:26] == small.state.cells).all()
    assert (large.margins(rows_of(wide, large))[0] == small.margins(rows_of(X, small))[0]).all()


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_columns_of_either_width_give_the_same_bits_and_none_is_followed_out_of_bounds(index):
    """Four columns of 32 bits are checked at once, others one by one; the wild one takes each place in a row."""
    X, y = labelled_rows(60, 40, 5, density=0.4)
    model, other = (new_learner(rules.AROW(), 40, 5) for _ in range(2))
    other.learn(rows_of(X, other), y)
    X.indices = X.indices.astype(index)
    rows = rows_of(X, model)
    assert rows.indices.dtype == index
    model.learn(rows, y)
    assert (model.state.cells == other.state.cells).all()
    expected = model.margins(rows)[0]
    start, stop = rows.indptr[7], rows.indptr[8]
    assert stop - start > 8
    for place in range(start, stop):
        for wild in (40, -1, 2**31 - 1, -(2**31), *((2**40, 2**63 - 1, -(2**63)) if index is np.int64 else ())):
            kept, rows.indices[place] = rows.indices[place], wild
            found = model.margins(rows)[0]
            rows.indices[place] = kept
            assert np.isnan(found[7]).all()
            assert (np.delete(found, 7, 0) == np.delete(expected, 7, 0)).all()


@pytest.mark.parametrize("n_labels", [12, 5])  # more rivals than lie side by side, and fewer
@pytest.mark.parametrize(("k", "update"), [*UPDATES, (None, "exact")], ids=str)
def test_a_row_that_overflows_changes_nothing(k, update, n_labels):
    """The means of its only feature are so large that the step back is too long for float32."""
    X, y = labelled_rows(n_labels=n_labels)
    X = X.tolil()
    X[:, 24] = 0
    X[20] = 0
    X[20, 24] = 1
    X = X.tocsr()
    rule = rules.PassiveAggressive(C=None)
    model, short = (new_learner(rule, n_labels=n_labels, n_constraints=k, multiclass_update=update) for _ in range(2))
    for each in (model, short):
        each.state.mean[25] = 1e34
        each.state.mean[25, int(y[20])] = -1e34
    with pytest.raises(DataError, match=r"row 20: .* not a finite number in float32"):
        model.learn(rows_of(X, model), y)
    short.learn(rows_of(X[:20], short), y[:20])
    assert (model.state.cells == short.state.cells).all()
    assert model.statistics == short.statistics


def test_a_score_that_overflows_changes_nothing():
    model = new_learner(rules.AROW(), 2, 3, dtype="float64")
    model.state.mean[1:] = 1e308
    before = model.state.cells.copy()
    with pytest.raises(DataError, match="row 0"):
        model.learn(rows_of(sparse.csr_matrix(np.full((1, 2), 10.0)), model), np.array([1.0]))
    assert (model.state.cells == before).all()
    assert model.statistics["rows"] == 0


@pytest.mark.parametrize("n_labels", [2, 3])
def test_a_row_too_long_to_be_counted_changes_nothing(n_labels):
    """Its squared length is finite, but the sum of all of them is not."""
    X = sparse.csr_matrix(np.array([[1.2e154, 0.0], [1.2e154, 0.0]]))
    rule = rules.PassiveAggressive(C=None)
    model = new_learner(rule, 2, n_labels, dtype="float64", initial_variance=1e-20, fit_intercept=False)
    model.state.mean[:] = 0
    rows = rows_of(X, model)
    y = np.array([1.0, -1.0 if n_labels == 2 else 0.0])
    if n_labels == 2:
        model.learn(rows, y, order=np.array([0]))  # difference vectors are twice as long: there, one row is too much
    before = model.state.cells.copy()
    with pytest.raises(DataError, match="row"):
        model.learn(rows, y, order=np.array([1]))
    assert (model.state.cells == before).all()


@pytest.mark.parametrize("rule", [rules.CW(projection="exact"), rules.Perceptron()], ids=rule_id)
def test_columns_and_labels_that_change_during_a_pass_are_never_followed_out_of_bounds(rule):
    """Another thread may change them while the GIL is released; here they change between the check and the pass.

    The perceptron would use any number that it reads as a weight.
    """
    X, y = labelled_rows()
    model = new_learner(rule, n_labels=5, n_constraints=None)
    rows = rows_of(X, model)
    kept = X.indices[X.indptr[30]]
    for wild in (10**9, -5, -(2**31)):
        X.indices[X.indptr[30]] = wild
        with pytest.raises(DataError, match="row 30"):
            model.learn(rows, y)
        assert all(np.isnan(part[30]).all() for part in model.margins(rows))
    X.indices[X.indptr[30]] = kept
    for wild in (-1.0, 5.0, 1e300, -1e300, np.nan, np.inf):
        y[7] = wild
        with pytest.raises(DataError, match="row 7"):
            model.learn(rows, y)
    assert np.isfinite(model.state.cells).all()


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize(("rule", "k", "update"), [case for case in CASES if case[0].averaged], ids=case_id)
def test_averaged_weights_are_the_mean_over_the_rounds(rule, average, k, update):
    X, y = labelled_rows(noise=0.2)
    rule = replace(rule, average=average)
    model = new_learner(rule, n_labels=5, dtype="float64", n_constraints=k, multiclass_update=update)
    rows = rows_of(X, model)
    held = []
    for row in range(len(y)):
        model.learn(rows, y, order=np.array([row]))
        held.append(model.state.mean.copy())
    expected = np.mean(held, axis=0) if average else held[-1]
    np.testing.assert_allclose(model.predictor.mean, expected, rtol=1e-12, atol=1e-12 * np.abs(held).max())


@pytest.mark.parametrize("rule", RULES, ids=rule_id)
def test_an_empty_row_without_intercept_changes_nothing(rule):
    model = new_learner(rule, n_labels=4, n_constraints=None, fit_intercept=False)
    before = model.state.cells.copy()
    model.learn(rows_of(sparse.csr_matrix((3, 25), dtype=np.float32), model), np.array([0.0, 1.0, 3.0]))
    assert (model.state.cells == before).all()
    assert model.statistics["rows"] == model.statistics["mistakes"] == 3


def test_equal_scores_rank_the_lower_label_first():
    """With means of 0 all rivals have equal scores, and only the blocks of the lowest wrong labels move."""
    X = sparse.csr_matrix(np.ones((1, 25), np.float32))
    cases = [(1, 0, [0, 1]), (1, 3, [0, 3]), (2, 1, [0, 1, 2]), (3, 5, [0, 1, 2, 5]), (18, 9, [*range(19)])]
    for k, label, expected in cases:
        for n_labels in (6, 21) if k < 6 else (21,):
            model = new_learner(rules.AROW(), n_labels=n_labels, n_constraints=k)
            model.state.mean[:] = 0
            model.learn(rows_of(X, model), np.array([float(label)]))
            assert np.flatnonzero(model.state.touched.any(axis=0)).tolist() == expected


@settings(max_examples=60, deadline=None)
@given(st.data(), st.integers(3, 40))
def test_rivals_are_the_labels_with_the_highest_scores(data, n_labels):
    """Scores are the means of the intercept, many equal.  Up to 16 rivals are found one by one, more by a heap."""
    scores = np.array(
        data.draw(st.lists(st.sampled_from([-2.0, -1.0, -0.0, 0.0, 1.5]), min_size=n_labels, max_size=n_labels))
    )
    k, label = data.draw(st.integers(1, n_labels - 1)), data.draw(st.integers(0, n_labels - 1))
    model = new_learner(
        rules.PassiveAggressive(C=None), n_labels=n_labels, n_constraints=k, multiclass_update="parallel"
    )
    model.state.mean[0] = scores
    scores[label] = -np.inf
    expected = sorted(np.argsort(-scores, kind="stable")[:k].tolist())
    before = model.state.mean[0].copy()
    model.state.mean[0, label] = before[label] = -5  # each rival must be beaten
    model.learn(rows_of(sparse.csr_matrix((1, 25), dtype=np.float32), model), np.array([float(label)]))
    assert np.flatnonzero(model.state.mean[0] != before).tolist() == sorted([*expected, label])


def test_two_labels_keep_the_binary_learner():
    """With a diagonal covariance two blocks would be another algorithm."""
    model = new_learner(rules.CW(), n_labels=2, n_constraints=None, multiclass_update="parallel")
    assert model.state.cells.shape == (26, 2)
    assert not model.several
