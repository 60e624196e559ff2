"""Kernel classifiers: the dual form against the full covariance it stands for, kernels, and the budget."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import norm
from sklearn.datasets import make_moons
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS, rbf_kernel
from sklearn.svm import SVC

import cwlearn as package
from cwlearn.core import model_file, rules
from cwlearn.core.kernel_options import NAMES, KernelOptions
from cwlearn.core.learner import Learner
from cwlearn.core.rows import as_rows
from cwlearn.core.states import base as state_module
from cwlearn.core.states import kernel as kernel_state
from cwlearn.core.states.coefficients import Coefficients
from cwlearn.core.states.kept_rows import csr_of
from cwlearn.core.training import Training
from cwlearn.errors import DataError, ModelError
from tests.cases import labelled_rows, random_rows, rule_id

RULES = [
    rules.CW(0.8, "variance"),
    rules.CW(0.8, "stdev"),
    rules.AROW(0.7),
    rules.AROW(),
    rules.AROW(0.7, confidence_weight=0.3),
]


def learner_of(rule, kernel, n_features=25, n_labels=2, **training):
    labels = np.array([-1.0, 1.0]) if n_labels == 2 else np.arange(n_labels, dtype=float)
    return Learner(rule, Training(**training), labels, n_features, kernel)


def rows_of(X):
    return as_rows(X, np.dtype(np.float64))


@pytest.fixture
def moons():
    return make_moons(200, noise=0.15, random_state=0)


@pytest.mark.parametrize(
    ("rule", "n_labels", "update"),
    [
        pytest.param(rule, n_labels, update, id=f"{rule_id(rule)}-{n_labels}-{update}")
        for rule in RULES
        for n_labels, update in [(2, "sequential"), (5, "sequential"), (5, "parallel"), (5, "exact")]
        if rule.solvable or update != "exact"
    ],
)
@pytest.mark.parametrize("intercept", [False, True])
def test_the_linear_kernel_gives_the_full_covariance(rule, n_labels, update, intercept):
    X, y = random_rows(150) if n_labels == 2 else labelled_rows(150, n_labels=5)
    options = {"fit_intercept": intercept, "n_constraints": 2, "multiclass_update": update, "initial_variance": 0.5}
    full = learner_of(type(rule)(**{**vars(rule), "covariance": "full"}), None, 25, n_labels, **options)
    dual = learner_of(rule, KernelOptions("linear"), 25, n_labels, **options)
    for learner in (full, dual):
        for _ in range(3):
            learner.learn(rows_of(X), y)
    assert full.statistics["mistakes"] == dual.statistics["mistakes"]
    for ours, expected in zip(dual.margins(rows_of(X)), full.margins(rows_of(X)), strict=True):
        np.testing.assert_allclose(ours, expected, rtol=1e-7, atol=1e-7 * np.abs(expected).max())


def test_all_kernels_of_scikit_learn_are_known():
    assert set(NAMES) == set(PAIRWISE_KERNEL_FUNCTIONS)


@pytest.mark.parametrize("kernel", [name for name in NAMES if name not in ("additive_chi2", "sigmoid")])
@pytest.mark.parametrize("classifier", [package.KernelCWClassifier, package.KernelAROWClassifier])
def test_every_kernel_learns(classifier, kernel):
    rng = np.random.default_rng(0)
    X = rng.random((120, 4))  # not negative, as chi2 wants it
    y = X[:, 0] > X[:, 1]
    model = classifier(kernel=kernel, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.8
    for answer in (model.decision_function(X), model.predict_proba(X)):
        assert np.isfinite(answer).all()


def test_kernels_that_are_not_positive_definite_are_refused_where_it_shows():
    rng = np.random.default_rng(0)
    X = rng.random((120, 4))
    y = X[:, 0] > X[:, 1]
    for classifier in (package.KernelCWClassifier, package.KernelAROWClassifier):
        with pytest.raises(DataError, match="the kernel 'additive_chi2' is not positive definite on these rows"):
            classifier(kernel="additive_chi2").fit(X, y)
        with pytest.raises(DataError, match=r"row \d+: the kernel 'additive_chi2' is not positive definite"):
            classifier(kernel="additive_chi2", fit_intercept=False).fit(X, y)
    broken_off = package.KernelAROWClassifier(kernel="additive_chi2")
    with pytest.raises(DataError):
        broken_off.partial_fit(X, y, classes=[False, True])
    assert broken_off.n_kept_ == broken_off.n_updates_ > 0, "what was learned before has been counted"
    mild = package.KernelAROWClassifier(kernel="sigmoid", gamma=0.1, random_state=0).fit(X, y)
    assert mild.score(X, y) > 0.8


def test_a_function_is_a_kernel_too(moons):
    X, y = moons
    named = package.KernelAROWClassifier(gamma=2.0, random_state=0).fit(X, y)
    own = package.KernelAROWClassifier(kernel=lambda A, B: rbf_kernel(A, B, 2.0), random_state=0).fit(X, y)
    np.testing.assert_allclose(own.decision_function(X), named.decision_function(X), rtol=1e-9)
    with pytest.raises(DataError, match=r"the kernel returned an array of shape \(128,\) instead of \(128, 128\)"):
        package.KernelAROWClassifier(kernel=lambda A, B: A[:, 0]).fit(X, y)
    with pytest.raises(DataError, match="gives numbers that are not finite"):
        package.KernelAROWClassifier(kernel=lambda A, B: np.full((len(A), len(B)), np.nan)).fit(X, y)


def test_gamma_is_that_of_svc(moons):
    X, y = moons
    X = X * [1.0, 30.0]
    for gamma in ("scale", "auto", 0.7):
        ours = package.KernelCWClassifier(gamma=gamma).fit(X, y)
        assert ours._learner.state.gamma == pytest.approx(SVC(gamma=gamma).fit(X, y)._gamma)
    stream = package.KernelCWClassifier()
    stream.partial_fit(X[:50], y[:50], classes=[0, 1])
    before = stream._learner.state.gamma
    assert stream.partial_fit(100 * X[50:], y[50:])._learner.state.gamma == before, "it is settled by the first rows"


def test_it_learns_what_no_line_can_separate(moons):
    X, y = moons
    linear = package.AROWClassifier(covariance="full", random_state=0).fit(X, y)
    for classifier in (package.KernelCWClassifier, package.KernelAROWClassifier):
        model = classifier(gamma=2.0, random_state=0).fit(X, y)
        assert model.score(X, y) > 0.95 > linear.score(X, y)


def test_the_distribution_comes_from_the_variance_of_the_kernel(moons):
    X, y = moons
    model = package.KernelCWClassifier(random_state=0, fit_intercept=False).fit(X, y)
    mean, variance = model.margin(X)
    np.testing.assert_allclose(model.label_distribution(X)[:, 1], norm.cdf(mean / np.sqrt(variance)), atol=1e-12)
    far, near = model.margin(np.array([[100.0, 100.0], X[0]]))[1]
    assert far == pytest.approx(1.0), "far from all rows there is nothing but the prior"
    assert near < far


def test_several_labels(iris):
    X, y = iris
    for classifier in (package.KernelCWClassifier, package.KernelAROWClassifier):
        model = classifier(random_state=0).fit(X, y)
        assert model.score(X, y) > 0.95
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
        assert model.decision_function(X).shape == (150, 3)


def test_a_row_is_kept_once(moons):
    X, y = moons
    model = package.KernelAROWClassifier(epochs=5, random_state=0).fit(X, y)
    assert model.n_kept_ <= len(X) < model.n_updates_


def test_chunks_of_any_size_give_the_same_model_but_for_rounding(moons):
    X, y = moons
    whole = package.KernelCWClassifier(gamma=1.0).partial_fit(X, y, classes=[0, 1])
    chunked = package.KernelCWClassifier(gamma=1.0)
    for start in range(0, len(X), 7):
        chunked.partial_fit(X[start : start + 7], y[start : start + 7], classes=[0, 1])
    assert chunked.n_updates_ == whole.n_updates_
    np.testing.assert_allclose(chunked.decision_function(X), whole.decision_function(X), rtol=1e-9)


def test_sparse_rows_of_many_features_stay_sparse():
    rng = np.random.default_rng(0)
    X = sparse.random(60, 10**6, 1e-5, "csr", rng=rng)
    y = np.asarray(X.sum(axis=1)).ravel() > np.median(np.asarray(X.sum(axis=1)))
    model = package.KernelAROWClassifier(kernel="linear", random_state=0).fit(X, y)
    dense = package.KernelAROWClassifier(kernel="linear", random_state=0).fit(X[:, X.getnnz(axis=0) > 0].toarray(), y)
    np.testing.assert_allclose(
        model.decision_function(X), dense.decision_function(X[:, X.getnnz(axis=0) > 0].toarray()), rtol=1e-6
    )


def test_wide_rows_reach_kernels_in_a_form_that_they_take(monkeypatch):
    """CSR where scikit-learn's kernels know what to do with it, and dense elsewhere."""
    rng = np.random.default_rng(0)
    X = sparse.random(60, 2000, 0.01, "csr", rng=rng)
    y = np.arange(60) % 2
    seen = []
    original = kernel_state.pairwise_kernels

    def watched(A, B, *args, **kwargs):
        seen.append((sparse.issparse(A), sparse.issparse(B)))
        return original(A, B, *args, **kwargs)

    monkeypatch.setattr(kernel_state, "pairwise_kernels", watched)
    for kernel, is_sparse in (("rbf", True), ("linear", True), ("laplacian", True), ("chi2", False)):
        seen.clear()
        models = [package.KernelAROWClassifier(kernel=kernel, random_state=0).fit(rows, y) for rows in (X, X.toarray())]
        assert set(seen) == {(is_sparse, is_sparse)}
        np.testing.assert_allclose(models[0].decision_function(X), models[1].decision_function(X), rtol=1e-9)
    kinds = set()

    def own(A, B):
        kinds.add((type(A), type(B)))
        return sparse.csr_matrix(A @ B.T)  # what is sparse is welcome

    package.KernelAROWClassifier(kernel=own).fit(X, y).predict(X)
    assert kinds == {(np.ndarray, np.ndarray)}


def test_a_variance_that_rounding_has_lost_is_found_again():
    X, y = random_rows(30, 5, 1.0)
    learner = learner_of(rules.AROW(0.5), KernelOptions("linear"), 5)
    learner.learn(rows_of(X), y)
    block = learner.state.by_block[0]
    row = rows_of(X[:1])
    length = row.squares[0] + 1
    block.psi *= 1.0005 * length / (length - learner.margins(row)[1])  # as if rounding had done it: v < 0
    target = -np.sign(learner.margins(row)[0])
    assert learner.margins(row)[1] > 0
    learner.learn(row, target)
    assert block.a > 1
    after = learner.margins(row)[0] * target
    assert np.isfinite(after).all()


def test_explicit_zeros_do_not_make_another_row():
    rows = sparse.csr_matrix((np.array([1.0, 0.0, 1.0, -0.0]), [0, 1, 0, 2], [0, 2, 4]), (2, 3))
    model = package.KernelAROWClassifier(epochs=1, shuffle=False).fit(rows, [0, 1])
    assert model.n_kept_ == 1


def test_threads_may_predict_while_one_learns(moons):
    X, y = moons
    model = package.KernelAROWClassifier(gamma=1.0, budget=15).partial_fit(X[:20], y[:20], classes=[0, 1])
    with ThreadPoolExecutor(3) as pool:
        learning = [pool.submit(model.partial_fit, X[i : i + 20], y[i : i + 20]) for i in range(0, 200, 20)]
        answers = [pool.submit(model.predict_proba, X[:50]) for _ in range(30)]
        for future in (*learning, *answers):
            future.result()


# -- budget ------------------------------------------------------------------------------------------------------------


def test_forgetting_a_row_is_never_having_learned_from_it():
    """For AROW with a linear kernel, S^-1 and S^-1 mu are sums over the rows (A9, lemma 3); now one less."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((15, 30)), np.where(rng.random(15) < 0.5, 1.0, -1.0)
    learner = learner_of(rules.AROW(0.7), KernelOptions("linear"), 30, fit_intercept=False)
    learner.learn(rows_of(X), y)
    state, block = learner.state, learner.state.by_block[0]
    kept = [csr_of([row], 30).toarray()[0] for row in state.kept]
    learned = [(x, next(label for row, label in zip(X, y, strict=True) if (row == x).all())) for x in kept]
    for number in (4, 0, len(learned) - 3):
        state.forget(number)
        learned[number] = learned[-1]
        learned.pop()
        assert len(state.kept) == block.n == len(learned)
        precision = np.eye(30) + sum(np.outer(x, x) for x, _ in learned) / 0.7
        mean = np.linalg.solve(precision, sum(label * x for x, label in learned) / 0.7)
        found = learner.margins(rows_of(X))
        np.testing.assert_allclose(found[0], X @ mean, atol=1e-11)
        np.testing.assert_allclose(found[1], [x @ np.linalg.solve(precision, x) for x in X], atol=1e-11)


@pytest.mark.parametrize("classifier", [package.KernelCWClassifier, package.KernelAROWClassifier])
@pytest.mark.parametrize("budget", [1, 5, 40])
def test_no_more_rows_are_kept_than_the_budget(moons, iris, classifier, budget):
    for X, y in (moons, iris):
        model = classifier(budget=budget, random_state=0).fit(X, y)
        state = model._learner.state
        assert model.n_kept_ == len(state.kept) <= budget
        assert all(block.n <= budget for block in state.by_block)
        assert sorted({int(row) for block in state.by_block for row in block.members[: block.n]}) == list(
            range(model.n_kept_)
        )
        assert np.isfinite(model.decision_function(X)).all()
        if budget == 40:
            assert model.score(X, y) > 0.85


def test_the_row_that_is_forgotten_is_the_one_that_is_missed_least():
    """Of all rows, its loss changes the quadratic fit of AROW, y'(r I + K)^-1 y, the least."""
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((12, 40)) * rng.exponential(1, (12, 1)), np.where(rng.random(12) < 0.5, 1.0, -1.0)
    learner = learner_of(rules.AROW(0.7), KernelOptions("linear"), 40, fit_intercept=False)
    learner.learn(rows_of(X), y)
    kept = np.array([csr_of([row], 40).toarray()[0] for row in learner.state.kept])
    labels = np.array([next(label for row, label in zip(X, y, strict=True) if (row == x).all()) for x in kept])

    def fit(rows):
        return labels[rows] @ np.linalg.solve(0.7 * np.eye(len(rows)) + kept[rows] @ kept[rows].T, labels[rows])

    everything = np.arange(len(kept))
    losses = [fit(everything) - fit(np.delete(everything, i)) for i in everything]
    assert learner.state.least_important() == np.argmin(losses)


def test_a_lower_budget_holds_from_the_next_call(moons):
    X, y = moons
    model = package.KernelCWClassifier().partial_fit(X, y, classes=[0, 1])
    assert model.n_kept_ > 5
    sure = np.argmax(np.abs(model.decision_function(X)))
    model.set_params(budget=5).partial_fit(X[[sure]], y[[sure]])
    assert model.n_kept_ == 5


def test_memory_for_kept_rows_is_asked_for_before_it_is_taken(monkeypatch):
    monkeypatch.setattr(state_module, "free_memory", lambda: 10**7)
    block = Coefficients(1.0)
    with pytest.raises(
        MemoryError, match=r"the coefficients of 3,000 kept rows need .* a budget and so fewer rows need"
    ):
        block.make_room(3000)
    X, y = random_rows(60)
    wide = sparse.csr_matrix((X.data, X.indices, X.indptr), (61, 10**6))
    with pytest.raises(MemoryError, match="61 rows of 1,000,000 features need"):
        package.KernelAROWClassifier(kernel=lambda A, B: A @ B.T).fit(wide, y)


def test_a_budget_that_is_never_reached_changes_nothing(moons):
    X, y = moons
    free = package.KernelCWClassifier(random_state=0).fit(X, y)
    bound = package.KernelCWClassifier(random_state=0, budget=10_000).fit(X, y)
    assert (free.decision_function(X) == bound.decision_function(X)).all()


def test_labels_that_contradict_each_other_do_not_break_it():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((100, 2)).round(1), rng.integers(0, 3, 100)  # rounded, so that rows come twice
    for labels in (y, y > 0):
        for model in (package.KernelCWClassifier(0.95, random_state=0), package.KernelAROWClassifier(1e-6)):
            mean, variance = model.fit(X, labels).margin(X)
            assert np.isfinite(mean).all()
            assert (variance > 0).all()


# -- files and refusals ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("budget", [None, 12])
def test_models_come_back_from_their_files_and_go_on(moons, iris, tmp_path, budget):
    for X, y in (moons, iris):
        model = package.KernelAROWClassifier(kernel="poly", degree=2, coef0=1.0, budget=budget, warm_start=True)
        model.set_params(shuffle=False, epochs=1).fit(X, y)
        model.save(tmp_path / "m.npz")
        again = package.load(tmp_path / "m.npz")
        assert again.get_params() == model.get_params()
        np.testing.assert_allclose(again.predict_proba(X), model.predict_proba(X), rtol=1e-9)
        for one in (model, again):
            one.fit(X, y)
        np.testing.assert_allclose(again.decision_function(X), model.decision_function(X), rtol=1e-9)


def test_a_function_cannot_be_saved(moons, tmp_path):
    model = package.KernelCWClassifier(kernel=rbf_kernel).fit(*moons)
    with pytest.raises(ModelError, match="cannot save <function rbf_kernel"):
        model.save(tmp_path / "m.npz")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda arrays: arrays["members"].fill(99), "of rows that it has not kept"),
        (lambda arrays: arrays["indices"].fill(99), "columns that are not features"),
        (lambda arrays: arrays["indices"].put(-1, 5), "columns that are not features"),
        (lambda arrays: arrays["indices"].put(0, -1), "columns that are not features"),
        (lambda arrays: arrays["indices"].put(1, 0), "columns that do not rise"),
        (lambda arrays: arrays["indptr"].fill(0), "its values is float64"),
        (lambda arrays: arrays["indptr"].put(0, 1), "do not fit"),
        (lambda arrays: arrays["indptr"].put(1, 7 * 5), "do not fit"),
        (lambda arrays: arrays.update(indices=arrays["indices"][:-1]), "its columns is int64"),
        (lambda arrays: arrays.update(members=arrays["members"][:-1]), "its members is int64"),
        (lambda arrays: arrays["counts"].fill(-1), "do not fit"),
        (lambda arrays: arrays["triangles"].fill(np.inf), "not finite"),
        (lambda arrays: arrays.update(coefficients=arrays["coefficients"][:-1]), "its coefficients is float64"),
        (lambda arrays: arrays["values"].fill(1.0), "kept twice"),
        (lambda arrays: arrays["indices"].fill(0), "columns that do not rise"),
        (lambda arrays: arrays["members"].fill(0), "two coefficients for one row"),
        (lambda arrays: arrays["triangles"].fill(1.0), "not negative definite"),
        (lambda arrays: arrays["priors"].fill(-1.0), "its initial variances are"),
        (lambda arrays: arrays["priors"].fill(2.1), "its initial variances are"),
        (lambda arrays: arrays["gamma"].fill(0.0), "its gamma is 0.0"),
        (lambda arrays: arrays["gamma"].fill(-1.0), "its gamma is -1.0"),
        (lambda arrays: arrays.update(gamma=np.array([np.nan])), "not finite"),
    ],
)
def test_arrays_that_make_no_sense_are_refused(tmp_path, monkeypatch, change, message):
    X, y = random_rows(20, 5, 1.0)
    learner = learner_of(rules.AROW(), KernelOptions(), 5)
    learner.learn(rows_of(X), y)
    arrays = {name: array.copy() for name, array in learner.state.arrays().items()}
    change(arrays)
    monkeypatch.setattr(learner.state, "arrays", lambda: arrays)
    model_file.save(learner, tmp_path / "m.npz")
    with pytest.raises(ModelError, match=message):
        model_file.load(tmp_path / "m.npz")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"kernel": "precomputed"},
            "`kernel` must be 'additive_chi2' or .* or a function of two matrices, got 'precomputed'",
        ),
        ({"gamma": -1.0}, "`gamma` must be a positive number or 'scale' or 'auto', got -1.0"),
        ({"degree": 2.5}, "`degree` must be a positive integer, got 2.5"),
        ({"coef0": np.nan}, "`coef0` must be a finite number, got nan"),
        ({"budget": 0}, "`budget` must be a positive integer or None, got 0"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(moons, parameters, message):
    with pytest.raises(ValueError, match=message):
        package.KernelAROWClassifier(**parameters).fit(*moons)


def test_parameters_of_the_linear_classes_are_not_offered():
    for name in ("covariance", "projection", "dtype"):
        with pytest.raises(TypeError, match=f"unexpected keyword argument {name!r}"):
            package.KernelCWClassifier(**{name: "kl"})


def test_what_was_learned_with_cannot_change(moons):
    model = package.KernelCWClassifier(warm_start=True).fit(*moons)
    with pytest.raises(ValueError, match="`kernel` cannot change from 'rbf' to 'linear' once learning has begun"):
        model.set_params(kernel="linear").fit(*moons)
    model.set_params(kernel="rbf", budget=3).fit(*moons)
    assert model.n_kept_ == 3, "but the budget can"


def test_weights_count(moons):
    X, y = moons
    left_out = package.KernelAROWClassifier(random_state=0, shuffle=False).fit(X, y, sample_weight=np.arange(200) < 100)
    half = package.KernelAROWClassifier(random_state=0, shuffle=False, gamma=left_out._learner.state.gamma)
    np.testing.assert_allclose(
        half.fit(X[:100], y[:100]).decision_function(X), left_out.decision_function(X), rtol=1e-9
    )
    with pytest.raises(TypeError, match="unexpected keyword argument 'sample_weight'"):
        package.KernelCWClassifier().fit(X, y, sample_weight=np.ones(200))
