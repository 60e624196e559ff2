"""Full covariances, compared with a dense reference and with diagonal ones, also over a million updates."""

from __future__ import annotations

import copy
import signal
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest
from scipy import sparse
from threadpoolctl import threadpool_info

import cwlearn as package
from cwlearn.core import model_file, rules
from cwlearn.core.learner import Learner
from cwlearn.core.rows import as_rows
from cwlearn.core.states import base as state
from cwlearn.core.states import full as full_state
from cwlearn.core.states import kernel as kernel_state
from cwlearn.core.states.full import FullState
from cwlearn.core.training import Training
from cwlearn.errors import ModelError
from tests.cases import labelled_rows, random_rows, rule_id
from tests.references.full import FullReference
from tests.text_cases import fail, succeed

FULL = [
    rules.CW(confidence=0.8, form="variance", covariance="full"),
    rules.CW(confidence=0.8, form="stdev", covariance="full"),
    rules.AROW(regularization=0.7, covariance="full"),
    rules.AROW(regularization=0.7, confidence_weight=0.3, covariance="full"),
    rules.AROW(covariance="full"),
    rules.SCW(confidence=0.7, C=0.2, loss="hinge", covariance="full"),
    rules.SCW(confidence=0.7, C=0.2, covariance="full"),
    rules.SCW(loss="hinge", covariance="full"),
    rules.SCW(covariance="full"),
    rules.NHERD(C=0.3, covariance="full"),
    rules.NHERD(covariance="full"),
    rules.SOP(a=0.5, covariance="full"),
    rules.SOP(covariance="full"),
    rules.Logistic(covariance="full"),
]
ORTHOGONAL = [rule for rule in FULL if rule.name != "sop"]  # whose two forms are different algorithms


def learner_of(rule, n_features=25, n_labels=2, **training):
    labels = np.array([-1.0, 1.0]) if n_labels == 2 else np.arange(n_labels, dtype=float)
    return Learner(rule, Training(**training), labels, n_features)


def reference_of(learner):
    rule, training = learner.rule, learner.training
    auto = rule.strength == "auto"
    return FullReference(
        rule.kind,
        learner.state.n_features,
        blocks=learner.state.blocks,
        phi=rule.gain_factor if rule.kind == "arow" else rule.phi,
        C=1.0 if auto else rule.strength,
        relative=auto,
        initial_variance=learner.state.initial_variance,
        bias=learner.bias,
        constraints=training.n_constraints,
        update=training.multiclass_update,
    )


def rows_of(X):
    return as_rows(X, np.dtype(np.float64))


def assert_alike(learner, reference, X, tolerance=1e-9):
    assert learner.statistics["updates"] == reference.updates
    assert learner.statistics["mistakes"] == reference.mistakes
    for block in range(learner.state.blocks):
        scale = np.abs(reference.mean[block]).max()
        np.testing.assert_allclose(learner.state.means[block], reference.mean[block], atol=tolerance * scale)
        expected = reference.covariance[block]
        np.testing.assert_allclose(learner.state.covariance(block), expected, atol=tolerance * np.abs(expected).max())
    for ours, expected in zip(learner.margins(rows_of(X)), reference.margins(X.toarray()), strict=True):
        np.testing.assert_allclose(ours, expected, rtol=1e-9, atol=tolerance * np.abs(expected).max())


@pytest.mark.long
@pytest.mark.parametrize("rule", FULL, ids=rule_id)
def test_agrees_with_a_dense_reference_over_2000_updates(rule):
    """CW, SCW and SOP stop earlier, when they make no mistakes any more."""
    X, y = random_rows(20_000, 40, 0.3)
    learner = learner_of(rule, 40)
    reference = reference_of(learner)
    rows = 0
    while learner.statistics["updates"] < 2000 and rows < X.shape[0]:
        part = slice(rows, rows + 500)
        learner.learn(rows_of(X[part]), y[part])
        reference.learn(X[part].toarray(), y[part])
        rows += 500
    assert learner.statistics["updates"] >= {"cw": 500, "scw": 1000, "sop": 250}.get(rule.name, 2000)
    assert_alike(learner, reference, X[:200])


@pytest.mark.parametrize("rule", FULL, ids=rule_id)
@pytest.mark.parametrize(
    ("constraints", "update"),
    [(1, "sequential"), (2, "sequential"), (2, "parallel"), (None, "parallel"), (None, "exact")],
)
def test_agrees_with_a_dense_reference_for_several_labels(rule, constraints, update):
    if update == "exact" and not rule.solvable:
        with pytest.raises(ValueError, match="multiclass_update='exact'"):
            learner_of(rule, 25, 5, n_constraints=constraints, multiclass_update=update)
        return
    X, y = labelled_rows(150, 25, 5)
    learner = learner_of(rule, 25, 5, n_constraints=constraints, multiclass_update=update, fit_intercept=False)
    reference = reference_of(learner)
    start = np.random.default_rng(9).standard_normal((5, 26))  # scores that no two ways of rounding rank differently
    learner.state.means[:], reference.mean[:] = start, start
    learner.learn(rows_of(X), y)
    reference.learn(X.toarray(), y)
    assert_alike(learner, reference, X)


@pytest.mark.parametrize("rule", ORTHOGONAL, ids=rule_id)
@pytest.mark.parametrize("n_labels", [2, 4])
def test_equals_the_diagonal_covariance_if_rows_are_orthogonal(rule, n_labels):
    """Rows with one feature each keep a full covariance diagonal."""
    rng = np.random.default_rng(0)
    X = sparse.csr_matrix((rng.standard_normal(300), (np.arange(300), rng.integers(0, 20, 300))), shape=(300, 20))
    y = np.argmax(X @ rng.standard_normal((20, n_labels)), axis=1).astype(float)  # no noise: CW would reach its floor
    y = 2 * y - 1 if n_labels == 2 else y
    full = learner_of(rule, 20, n_labels, fit_intercept=False)
    options = {"covariance": "diagonal"}
    diagonal = learner_of(type(rule)(**{**vars(rule), **options}), 20, n_labels, fit_intercept=False, dtype="float64")
    for learner in (full, diagonal):
        learner.learn(rows_of(X), y)
    # (CW leaves a row exactly on the border of its constraint, and the next one, here, finds it there: whether that
    # counts as an update is for rounding to decide.)
    assert full.statistics["mistakes"] == diagonal.statistics["mistakes"]
    np.testing.assert_allclose(full.state.mean, diagonal.state.mean, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(full.state.variance, diagonal.state.variance, rtol=1e-9, atol=1e-12)
    off_diagonal = [
        full.state.covariance(z) - np.diag(np.diag(full.state.covariance(z))) for z in range(len(full.state.means))
    ]
    assert not np.any(off_diagonal)


@pytest.mark.long
def test_stays_positive_definite_over_a_million_updates():
    """Every row updates, so the covariance has a closed form to compare with: the inverse of I + X'X / r."""
    rng = np.random.default_rng(0)
    mix = rng.standard_normal((8, 8)) * np.logspace(0, -3, 8)  # features that are correlated, on scales of 1 to 1000
    learner = Learner(rules.AROWRegression(1.0, covariance="full"), Training(fit_intercept=False), np.empty(0), 8)
    precision = np.eye(8)
    for _ in range(20):
        X = rng.standard_normal((50_000, 8)) @ mix
        precision += X.T @ X
        learner.learn(rows_of(X), X @ np.ones(8) + rng.standard_normal(len(X)))
    assert learner.statistics["updates"] == 1_000_000
    assert learner.state.repairs == 0
    found = learner.state.covariance(0)[1:, 1:]
    assert np.linalg.eigvalsh(found).min() > 0
    factor = np.linalg.cholesky(precision)
    drift = factor.T @ found @ factor - np.eye(8)  # the relative error in every direction
    assert np.abs(drift).max() < 1e-8


@pytest.mark.parametrize("form", ["variance", "stdev"])
def test_contradictory_labels_leave_a_sound_matrix(form):
    """Noisy labels make CW drive variances towards 0; they stay above rounding errors."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((3000, 5)), np.where(rng.random(3000) < 0.5, 1.0, -1.0)
    learner = learner_of(rules.CW(0.95, form, covariance="full"), 5)
    learner.learn(rows_of(X), y)
    assert np.isfinite(learner.state.means).all()
    mean, variance = learner.margins(rows_of(X))
    assert np.isfinite(mean).all()
    assert (variance > 0).all()


def test_a_variance_that_was_lost_is_found_again():
    X, y = random_rows(50, 6, 0.9)
    learner = learner_of(rules.AROW(0.5, covariance="full"), 6)
    learner.learn(rows_of(X), y)
    values, vectors = np.linalg.eigh(learner.state.covariance(0))
    values[0] = -1e-3 * values[-1]  # as if rounding had done it
    learner.state.covariances[:, :, 0] = np.tril((vectors * values) @ vectors.T)
    assert np.linalg.eigvalsh(learner.state.covariance(0)).min() < 0
    x = vectors[:, 0]
    row = np.array([x[1:] / x[0]])  # a multiple of the lost direction
    assert learner.margins(rows_of(row))[1] > 0, "a negative variance is never shown"
    learner.learn(rows_of(row), -np.sign(learner.margins(rows_of(row))[0]))
    assert learner.state.repairs == 1
    assert np.linalg.eigvalsh(learner.state.covariance(0)).min() > -1e-12
    assert np.isfinite(learner.state.means).all()


def test_the_repair_moves_the_mean_as_the_repaired_matrix_would():
    learner = learner_of(rules.AROW(0.5, covariance="full"), 2, fit_intercept=False)
    lower = learner.state.covariances[:, :, 0]
    lower[1, 1] = -0.25  # lost
    learner.learn(rows_of([[2.0, 0.0]]), np.array([1.0]))
    least = learner.state.floor
    assert lower[2, 2] == pytest.approx(1 + 0.25 + least)
    along = 1 / (4 * least + 0.5) * least * 2  # AROW: (1 - m) / (v + r) S x with the variance that was repaired
    np.testing.assert_allclose(learner.state.means[0], [0, along, 0], rtol=1e-6)


def test_rows_of_few_features_use_only_their_columns():
    rng = np.random.default_rng(0)
    X = sparse.random(60, 300, 0.01, "csr", rng=rng, data_rvs=rng.standard_normal)
    y = np.where(rng.random(60) < 0.5, 1.0, -1.0)
    results = []
    for most in (1, 10**9):  # by columns, and by the whole matrix
        learner = learner_of(rules.AROW(1.0, covariance="full"), 300)
        full_state.SPARSE, before = most, full_state.SPARSE
        try:
            learner.learn(rows_of(X), y)
        finally:
            full_state.SPARSE = before
        results.append((learner.state.means[0], learner.state.covariance(0)))
    np.testing.assert_allclose(results[0][0], results[1][0], atol=1e-14)
    np.testing.assert_allclose(results[0][1], results[1][1], atol=1e-14)


def test_learning_takes_no_second_matrix():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((20, 500)), np.where(rng.random(20) < 0.5, 1.0, -1.0)
    learner = learner_of(rules.AROW(1.0, covariance="full"), 500)
    rows = rows_of(X)
    tracemalloc.start()
    learner.learn(rows, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.1 * learner.state.covariances.nbytes
    assert learner.state.covariances.nbytes < 1.01 * 8 * 501 * 502


def test_a_model_larger_than_the_memory_is_refused(monkeypatch):
    monkeypatch.setattr(state, "free_memory", lambda: 10**8)
    X = sparse.csr_matrix(np.eye(3, 10_000))
    with pytest.raises(
        MemoryError, match="full covariances of 10,000 features need 800,240,016 bytes; 100,000,000 are"
    ):
        package.AROWClassifier(covariance="full").fit(X, [0, 1, 0])
    with pytest.raises(MemoryError, match="of 10,000 features x 3 labels need"):
        package.AROWClassifier(covariance="full").fit(X, [0, 1, 2])


@pytest.mark.parametrize("rule", FULL, ids=rule_id)
@pytest.mark.parametrize("n_labels", [2, 4])
def test_any_chunking_gives_the_same_bits(rule, n_labels):
    X, y = random_rows(60) if n_labels == 2 else labelled_rows(60, n_labels=4)
    whole, chunked = learner_of(rule, 25, n_labels), learner_of(rule, 25, n_labels)
    weights = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)  # 0 leaves a row out
    weights = weights if rule.takes_weights else state.NONE
    whole.learn(rows_of(X), y, weights)
    for start in range(0, len(y), 7):
        part = slice(start, start + 7)
        chunked.learn(rows_of(X[part]), y[part], weights[part])
    assert whole.statistics == chunked.statistics
    assert whole.state.means.tobytes() == chunked.state.means.tobytes()
    assert whole.state.covariances.tobytes() == chunked.state.covariances.tobytes()


def test_features_that_come_later_begin_with_the_prior():
    X, y = random_rows(60)
    wide, growing = learner_of(FULL[1], 40), learner_of(FULL[1], 25)
    growing.learn(rows_of(X[:, :25]), y)
    growing.grow(40)
    wide.learn(rows_of(sparse.hstack([X, sparse.csr_matrix((61, 15))]).tocsr()), y)
    np.testing.assert_allclose(growing.state.means, wide.state.means, atol=1e-13)
    np.testing.assert_allclose(growing.state.covariances, wide.state.covariances, atol=1e-13)


@pytest.mark.parametrize("n_labels", [2, 3])
def test_models_come_back_from_their_files_and_go_on(tmp_path, n_labels):
    X, y = random_rows(60) if n_labels == 2 else labelled_rows(60, n_labels=3)
    learner = learner_of(rules.SCW(covariance="full"), 25, n_labels)
    learner.learn(rows_of(X), y)
    model_file.save(learner, tmp_path / "m.npz")
    again = model_file.load(tmp_path / "m.npz")
    assert isinstance(again.state, FullState)
    for one in (learner, again):
        one.learn(rows_of(X), y)
    assert learner.statistics == again.statistics
    assert (learner.state.means == again.state.means).all()
    assert (learner.state.covariances == again.state.covariances).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda arrays: arrays.update(means=arrays["means"][:, 1:]), "its mean is float64"),
        (lambda arrays: arrays.update(triangles=arrays["triangles"][:, 1:]), "its covariance is float64"),
        (lambda arrays: arrays["triangles"].fill(np.nan), "not finite"),
        (lambda arrays: arrays["triangles"].fill(-1.0), "not between 0 and the initial variance"),
        (lambda arrays: arrays["triangles"].fill(9.0), "not between 0 and the initial variance"),
        (lambda arrays: arrays["triangles"].__setitem__((0, 1), 2.0), "larger than its variances allow"),
        (lambda arrays: arrays.pop("triangles"), "unexpected members"),
    ],
)
def test_arrays_that_make_no_sense_are_refused(tmp_path, monkeypatch, change, message):
    learner = learner_of(rules.AROW(covariance="full"), 4)
    arrays = {name: array.copy() for name, array in learner.state.arrays().items()}
    change(arrays)
    monkeypatch.setattr(learner.state, "arrays", lambda: arrays)
    model_file.save(learner, tmp_path / "m.npz")
    with pytest.raises(ModelError, match=message):
        model_file.load(tmp_path / "m.npz")


@pytest.mark.parametrize("variance", [0.99, 1.01])
def test_variances_of_a_file_may_be_twice_the_initial_one_but_no_more(tmp_path, monkeypatch, variance):
    learner = learner_of(rules.AROW(covariance="full"), 4, initial_variance=0.5)
    arrays = {name: array.copy() for name, array in learner.state.arrays().items()}
    arrays["triangles"][0, 0] = variance
    monkeypatch.setattr(learner.state, "arrays", lambda: arrays)
    model_file.save(learner, tmp_path / "m.npz")
    if variance < 1:
        assert model_file.load(tmp_path / "m.npz").state.covariance(0)[0, 0] == variance
    else:
        with pytest.raises(ModelError, match="not between 0 and the initial variance"):
            model_file.load(tmp_path / "m.npz")


def test_estimators_show_what_they_have_learned(iris, tmp_path):
    X, y = iris
    model = package.CWClassifier(covariance="full", random_state=0).fit(X, y)
    assert model.covariance_.shape == (3, 4, 4)
    assert (model.covariance_ == model.covariance_.transpose(0, 2, 1)).all()
    np.testing.assert_array_equal(np.diagonal(model.covariance_, axis1=1, axis2=2), model.variance_)
    two = package.AROWClassifier(covariance="full", random_state=0).fit(X[:100], y[:100])
    assert two.covariance_.shape == (4, 4)
    mean, _ = two.margin(X[:100])
    np.testing.assert_allclose(mean, X[:100] @ two.coef_[0] + two.intercept_[0], atol=1e-12)
    assert two.coef_.dtype == np.float64, "whatever dtype says"
    two.save(tmp_path / "m.npz")
    again = package.load(tmp_path / "m.npz")
    assert again.get_params() == two.get_params()
    assert (again.predict_proba(X) == two.predict_proba(X)).all()
    with pytest.raises(AttributeError, match="covariance='full' only"):
        package.AROWClassifier().fit(X, y).covariance_  # noqa: B018


def test_it_beats_the_diagonal_covariance_if_features_are_correlated():
    rng = np.random.default_rng(0)
    hidden = rng.standard_normal((600, 10))
    X = hidden @ rng.standard_normal((10, 10))
    y = hidden[:, 0] > 0
    scores = {
        covariance: package.CWClassifier(covariance=covariance, epochs=1, random_state=0).fit(X, y).n_mistakes_
        for covariance in ("diagonal", "full")
    }
    assert scores["full"] < 0.7 * scores["diagonal"]


def test_arrays_that_are_read_only_are_refused_before_blas_writes_to_them(iris, tmp_path):
    X, y = iris
    for model in (
        package.AROWClassifier(covariance="full", random_state=0),
        package.KernelAROWClassifier(random_state=0),
    ):
        joblib.dump(model.fit(X, y), tmp_path / "m.joblib")
        mapped = joblib.load(tmp_path / "m.joblib", mmap_mode="r")
        assert (mapped.predict(X) == model.predict(X)).all()
        with pytest.raises(ValueError, match="read-only"):
            mapped.partial_fit(X, y)
        copy.deepcopy(model).partial_fit(X, y)


def test_an_interrupted_pass_has_counted_what_it_learned(monkeypatch):
    X, y = random_rows(60)
    learner = learner_of(rules.AROW(1.0, covariance="full"))
    calls = iter(range(100))
    original = full_state.dsyr

    def interrupted(*args, **kwargs):
        if next(calls) == 20:
            raise KeyboardInterrupt
        return original(*args, **kwargs)

    monkeypatch.setattr(full_state, "dsyr", interrupted)
    before = learner.statistics
    with pytest.raises(KeyboardInterrupt):
        learner.learn(rows_of(X), y)
    assert learner.statistics["updates"] == 20
    assert before["updates"] == 0


@pytest.mark.parametrize("make", [
    lambda: package.AROWClassifier(1.0, covariance="full"),
    lambda: package.KernelAROWClassifier(1.0, gamma=1.0),
    lambda: package.KernelAROWClassifier(1.0, gamma=1.0, budget=6),
], ids=["full", "kernel", "budget"])  # fmt: skip
@pytest.mark.parametrize("n_labels", [2, 3])
@pytest.mark.parametrize("when", [3, 8, 15])
def test_ctrl_c_waits_for_the_end_of_a_row(monkeypatch, make, n_labels, when):
    X, y = random_rows(60, 5, 1.0) if n_labels == 2 else labelled_rows(60, 5, 3, 1.0)
    model, calls = make(), iter(range(10_000))
    for module in (full_state, kernel_state):

        def pressed(*args, original=module.dsyr, **kwargs):
            answer = original(*args, **kwargs)
            if next(calls) == when:
                signal.raise_signal(signal.SIGINT)
            return answer

        monkeypatch.setattr(module, "dsyr", pressed)  # fmt: skip
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X, y, classes=np.unique(y))
    rows = model._learner.statistics["rows"]
    assert 0 < rows < len(y)
    again = make().partial_fit(X[:rows], y[:rows], classes=np.unique(y))
    assert again._learner.statistics == model._learner.statistics
    np.testing.assert_allclose(model.margin(X), again.margin(X), rtol=1e-9, atol=1e-12)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_the_number_of_blas_threads_is_restored():
    X, y = random_rows(200, 5, 1.0)
    before = [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: package.AROWClassifier(covariance="full", epochs=2).fit(X, y), range(12)))
    assert [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"] == before


def test_the_size_of_blocks_depends_on_the_cost_of_a_row():
    two, many = learner_of(FULL[0], 500), learner_of(FULL[0], 500, 20)
    assert two.state.effort(500, 1) > 500**2 / 64
    assert many.state.effort(500, 19) == 20 * two.state.effort(500, 1)


def test_sop_predicts_with_the_row_counted_in(iris):
    """With more than two labels, each mean is divided by one plus its variance, and the highest one wins."""
    X, y = iris
    model = package.SOPClassifier(covariance="full", random_state=0).fit(X, y)
    X = 5 * np.random.default_rng(0).standard_normal((500, 4))
    raw = X @ model.coef_.T + model.intercept_
    _, variance = model.margin(X)
    np.testing.assert_allclose(model.decision_function(X), raw / (1 + variance), rtol=1e-9)
    assert (model.predict(X) == model.classes_[np.argmax(raw / (1 + variance), axis=1)]).all()
    assert (np.argmax(raw, axis=1) != np.argmax(raw / (1 + variance), axis=1)).any(), "which makes a difference"


def test_memory_for_the_command_line_counts_the_matrix(tmp_path):
    path = tmp_path / "data.svm"
    path.write_text("1 1:1\n2 999:1\n")
    message = fail("train", path, "-m", tmp_path / "m", "--covariance", "full", "--memory", "1M")
    assert "index 999 needs 8,024,016 bytes for the weights of 2 labels, more than the 1,048,576 allowed" in message
    assert "--covariance diagonal and --hash-bits need less" in message
    succeed("train", path, "-m", tmp_path / "m", "--covariance", "full", "--memory", "9M")
    message = fail("train", path, "-m", tmp_path / "n", "--resume", tmp_path / "m", "--covariance", "diagonal")
    assert "was trained with --covariance full, not diagonal; a resumed model keeps that" in message


def test_options_that_do_not_go_together_are_refused():
    with pytest.raises(ValueError, match="`covariance='full'` needs `bayesian=True`"):
        package.LogisticClassifier(bayesian=False, covariance="full").fit([[1.0], [2.0]], [0, 1])
    with pytest.raises(ValueError, match="`covariance` must be 'diagonal' or 'full', got 'banded'"):
        package.AROWClassifier(covariance="banded").fit([[1.0], [2.0]], [0, 1])
    with pytest.raises(TypeError, match="unexpected keyword argument 'covariance'"):
        package.PerceptronClassifier(covariance="full")
    model = package.AROWClassifier(warm_start=True).fit([[1.0], [2.0]], [0, 1])
    with pytest.raises(ValueError, match="`covariance` cannot change from 'diagonal' to 'full'"):
        model.set_params(covariance="full").fit([[1.0], [2.0]], [0, 1])


def test_values_that_would_overflow_are_refused_and_leave_the_model_unchanged():
    learner = learner_of(rules.AROW(1.0, covariance="full"), 2)
    learner.learn(rows_of([[1.0, 2.0]]), np.array([1.0]))
    means, covariances, statistics = learner.state.means.copy(), learner.state.covariances.copy(), learner.statistics
    learner.state.means[:] = means = np.array([[0, 1e200, 0]])
    with pytest.raises(ValueError, match=r"row 0.*not a finite number in float64"):
        learner.learn(rows_of([[1e150, 0.0]]), np.array([-1.0]))
    assert learner.statistics == statistics
    assert (learner.state.means == means).all()
    assert (learner.state.covariances == covariances).all()


@pytest.mark.parametrize("n_labels", [2, 3])
def test_a_row_without_features_is_counted_with_a_margin_of_0(n_labels):
    """As with a diagonal covariance, where it moves nothing either."""
    X, y = sparse.csr_matrix((4, 3)), [0, 1, 0, n_labels - 1]
    full, diagonal = (
        package.AROWClassifier(covariance=covariance, fit_intercept=False, dtype="float64").partial_fit(
            X, y, classes=range(n_labels)
        )
        for covariance in ("full", "diagonal")
    )
    assert full.n_mistakes_ == diagonal.n_mistakes_
    assert full.n_updates_ == diagonal.n_updates_
    assert not full.coef_.any()
    assert (full.margin(X)[0] == 0).all()
