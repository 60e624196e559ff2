"""Regression: recursive least squares against ridge regression, its deviations, and the command line."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import Ridge
from sklearn.metrics import mean_absolute_error, mean_squared_error, r2_score

import cwlearn as package
from cwlearn.core import model_file, rules
from cwlearn.core.learner import Learner
from cwlearn.core.metrics import RegressionMeasures
from cwlearn.core.rows import as_rows
from cwlearn.core.training import Training
from cwlearn.errors import DataError
from tests.references.full import FullReference
from tests.text_cases import fail, succeed


def linear_rows(n_rows=300, n_features=20, noise=0.5, seed=0, density=0.5):
    rng = np.random.default_rng(seed)
    X = sparse.random(n_rows, n_features, density, "csr", rng=rng, data_rvs=rng.standard_normal)
    return X, X @ rng.standard_normal(n_features) + 2 + noise * rng.standard_normal(n_rows)


def regression_text(X, t):
    lines = []
    for row, target in zip(X.tocsr(), t, strict=True):
        pairs = zip(row.indices, row.data.tolist(), strict=True)
        lines.append(" ".join([repr(float(target)), *(f"{j}:{x!r}" for j, x in pairs)]))
    return "".join(line + "\n" for line in lines)


@pytest.fixture
def data(tmp_path):
    X, t = linear_rows()
    path = tmp_path / "data.svm"
    path.write_text(regression_text(X, t))
    return path, X, t


@pytest.mark.parametrize("regularization", [0.1, 3.0])
@pytest.mark.parametrize("intercept", [True, False])
def test_one_pass_with_a_full_covariance_is_ridge_regression(regularization, intercept):
    X, t = linear_rows()
    extended = np.column_stack([np.full(len(t), float(intercept)), X.toarray()])
    expected = Ridge(regularization / 0.7, fit_intercept=False, solver="cholesky").fit(extended, t).coef_
    for shuffle in (True, False):
        model = package.AROWRegressor(
            regularization,
            covariance="full",
            initial_variance=0.7,
            epochs=1,
            shuffle=shuffle,
            fit_intercept=intercept,
            random_state=0,
        ).fit(X, t)
        assert model.n_updates_ == len(t)
        np.testing.assert_allclose(model.coef_, expected[1:], rtol=1e-8, atol=1e-10)
        assert model.intercept_ == pytest.approx(expected[0], rel=1e-8, abs=1e-10)
        precision = np.eye(21) / 0.7 + extended.T @ extended / regularization
        np.testing.assert_allclose(model.covariance_, np.linalg.inv(precision)[1:, 1:], rtol=1e-8, atol=1e-10)


def test_weights_are_those_of_ridge_regression():
    X, t = linear_rows()
    weights = np.random.default_rng(0).integers(0, 4, len(t))
    model = package.AROWRegressor(2.0, covariance="full", epochs=1, fit_intercept=False).fit(
        X, t, sample_weight=weights
    )
    expected = Ridge(2.0, fit_intercept=False, solver="cholesky").fit(X.toarray(), t, sample_weight=weights).coef_
    np.testing.assert_allclose(model.coef_, expected, rtol=1e-8)
    assert model.n_updates_ == np.count_nonzero(weights)


@pytest.mark.parametrize("regularization", [0.7, "auto"])
def test_the_full_covariance_agrees_with_a_dense_reference(regularization):
    X, t = linear_rows()
    learner = Learner(rules.AROWRegression(regularization, covariance="full"), Training(), np.empty(0), 20)
    learner.learn(as_rows(X, learner.state.dtype), t)
    auto = regularization == "auto"
    reference = FullReference("rls", 20, C=1.0 if auto else 1 / 0.7, relative=auto)
    reference.mean[0, 0] = t[0] if auto else 0.0
    reference.learn(X.toarray(), t)
    np.testing.assert_allclose(learner.state.means, reference.mean, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(learner.state.covariance(0), reference.covariance[0], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("projection", ["kl", "l2"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_diagonal_one_agrees_with_its_formula(projection, dtype):
    X, t = linear_rows()
    r = 0.7
    learner = Learner(rules.AROWRegression(r, projection), Training(dtype=dtype), np.empty(0), 20)
    learner.learn(as_rows(X, learner.state.dtype), t)
    mean, s, loss, surprise = np.zeros(21), np.ones(21), 0.0, 0.0
    for number, (row, target) in enumerate(zip(X.toarray(), t, strict=True), 1):
        x = np.append(1.0, row)
        v, error = s @ x**2, target - mean @ x
        mean += error / (v + r) * s * x
        s = 1 / (1 / s + x**2 / r) if projection == "kl" else s - (s * x) ** 2 / (v + r)
        loss, surprise = loss + error**2, surprise + number * error**2 / (v + r)
    tolerance = 1e-3 if dtype == "float32" else 1e-10
    np.testing.assert_allclose(learner.state.mean, mean, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(learner.state.variance, s, rtol=tolerance)
    assert learner.statistics["loss"] == pytest.approx(loss, rel=tolerance)
    assert learner.statistics["surprise"] == pytest.approx(surprise, rel=tolerance)
    assert learner.statistics["mistakes"] == 0
    assert learner.noise == pytest.approx(r)
    assert learner.scale == pytest.approx(surprise / np.arange(1, len(t) + 1).sum(), rel=tolerance)
    assert learner.progressive_error() == pytest.approx(np.sqrt(loss / len(t)), rel=tolerance)


def test_an_error_of_nothing_is_learned_from_too():
    """The row confirms what is known, so the confidence grows though the mean stays."""
    model = package.AROWRegressor(1.0, covariance="full", epochs=1).fit([[1.0], [0.5]], [0.0, 0.0])
    assert model.n_updates_ == 2
    assert not model.coef_.any()
    assert (model.variance_ < 1).all()


def test_deviations_foretell_the_errors_on_new_rows():
    X, t = linear_rows(6000, noise=0.5)
    for regularization in ("auto", 0.25):
        model = package.AROWRegressor(regularization, covariance="full", epochs=1, random_state=0)
        model.fit(X[:4000], t[:4000])
        prediction, deviation = model.predict(X[4000:], return_std=True)
        assert (prediction == model.predict(X[4000:])).all()
        z = (t[4000:] - prediction) / deviation
        assert np.mean(np.abs(z) < 1) == pytest.approx(0.683, abs=0.03)
        assert model.noise_variance_ == pytest.approx(0.25, rel=0.1)
    few = package.AROWRegressor(0.25, covariance="full", epochs=1).fit(X[:30], t[:30])
    assert (few.predict(X, return_std=True)[1] > few.noise_variance_**0.5).all(), "there is doubt about the weights too"


def test_the_default_follows_the_initial_variance_and_the_rows():
    X, t = linear_rows()
    for initial_variance in (1.0, 0.01):
        model = package.AROWRegressor(covariance="full", epochs=1, initial_variance=initial_variance).fit(X, t)
        length = np.mean(np.asarray(X.multiply(X).sum(axis=1)).ravel() + 1)
        assert model._learner.noise == pytest.approx(initial_variance * length)


@pytest.mark.parametrize("covariance", ["diagonal", "full"])
def test_targets_may_lie_far_from_0(covariance, tmp_path):
    """By default the intercept begins at the first target that counts; with a number for r at 0, as in ridge."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1000, 20))
    t = 10 * X[:, 0] + rng.standard_normal(1000)
    for offset in (0, 2000, -1e6):
        model = package.AROWRegressor(covariance=covariance, dtype="float64", random_state=0).fit(X, t + offset)
        assert model.score(X, t + offset) > 0.98
    weights = np.arange(10) > 2
    model = package.AROWRegressor(covariance=covariance, epochs=1, shuffle=False, dtype="float64")
    model.fit(0 * X[:10], np.arange(10.0), sample_weight=weights)
    assert model._learner.origin == 3
    model.save(tmp_path / "m.npz")
    again = package.load(tmp_path / "m.npz")
    assert again._learner.origin == 3
    assert again.intercept_ == model.intercept_
    ridge = package.AROWRegressor(1.0, covariance=covariance, epochs=1).fit(X, t + 2000)
    assert ridge._learner.origin == 0
    with pytest.raises(DataError, match=r"row \d"):
        package.AROWRegressor(covariance=covariance).fit(X[:2], [1e300, 1.0])


def test_rows_without_any_feature_say_nothing_about_the_noise(tmp_path):
    for covariance in ("diagonal", "full"):
        model = package.AROWRegressor(covariance=covariance, fit_intercept=False, epochs=1, shuffle=False)
        model.fit([[0.0, 0.0], [1.0, 0.0], [2.0, 1.0]], [3.5, 2.0, 4.0]).save(tmp_path / "m.npz")
        assert np.isfinite(package.load(tmp_path / "m.npz").predict([[1.0, 1.0]], return_std=True)).all()


def test_what_can_be_learned_can_be_saved_and_loaded(tmp_path):
    """Sums of errors stay finite, or the row is refused."""
    X = np.ones((1000, 1))
    model = package.AROWRegressor(1.0, dtype="float64", epochs=1)
    with pytest.raises(DataError, match="another scale"):
        model.fit(X, np.where(np.arange(1000) % 2, 1e153, -1e153))
    model.fit(X, np.where(np.arange(1000) % 2, 1e140, -1e140)).save(tmp_path / "m.npz")
    assert np.isfinite(package.load(tmp_path / "m.npz").scale_)


def test_targets_in_another_unit_change_nothing_but_the_unit():
    X, t = linear_rows()
    for options in ({}, {"covariance": "full"}):
        one = package.AROWRegressor(random_state=0, dtype="float64", **options).fit(X, t)
        thousand = package.AROWRegressor(random_state=0, dtype="float64", **options).fit(X, 1000 * t)
        for ours, theirs in zip(one.predict(X, return_std=True), thousand.predict(X, return_std=True), strict=True):
            np.testing.assert_allclose(theirs, 1000 * ours, rtol=1e-9)


def test_several_epochs_bring_the_diagonal_one_close_to_the_best_line():
    X, t = linear_rows(1000)
    best = Ridge(1.0).fit(X, t).score(X, t)
    assert package.AROWRegressor(random_state=0).fit(X, t).score(X, t) > best - 0.01
    assert package.AROWRegressor(covariance="full", random_state=0).fit(X, t).score(X, t) > best - 0.002


@pytest.mark.parametrize("covariance", ["diagonal", "full"])
def test_chunks_files_and_warm_starts_go_on_to_the_same_bits(covariance, tmp_path):
    X, t = linear_rows()
    whole = package.AROWRegressor(covariance=covariance).partial_fit(X, t)
    chunked = package.AROWRegressor(covariance=covariance)
    for start in range(0, len(t), 33):
        chunked.partial_fit(X[start : start + 33], t[start : start + 33])
        chunked.save(tmp_path / "m.npz")
        chunked = package.load(tmp_path / "m.npz")
        assert isinstance(chunked, package.AROWRegressor)
    warm = package.AROWRegressor(covariance=covariance, warm_start=True, epochs=1, shuffle=False)
    warm.fit(X[:100], t[:100]).fit(X[100:], t[100:])
    for other in (chunked, warm):
        assert other._learner.statistics == whole._learner.statistics
        for ours, theirs in zip(other.predict(X, return_std=True), whole.predict(X, return_std=True), strict=True):
            assert (ours == theirs).all()


def test_targets_that_make_no_sense_are_refused_and_the_model_stands():
    model = package.AROWRegressor(dtype="float64", warm_start=True).fit([[1.0], [2.0]], [1.0, 2.0])
    before = model.predict([[3.0]])
    for bad, message in (
        ([1.0, np.nan], "NaN"),
        ([1.0, np.inf], "infinity"),
        (["a", "b"], "could not convert string|dtype"),
        ([[1.0, 2.0], [1.0, 2.0]], "y should be a 1d array"),
        ([1.0], "inconsistent numbers of samples"),
    ):
        with pytest.raises(ValueError, match=message):
            model.partial_fit([[1.0], [2.0]], bad)
    with pytest.raises(DataError, match=r"row 1.*bring the features or targets to another scale"):
        model.partial_fit([[1.0], [2.0]], [1.0, 1e200])
    for name in ("n_constraints", "multiclass_update", "class_weight"):
        with pytest.raises(TypeError, match=f"unexpected keyword argument {name!r}"):
            package.AROWRegressor(**{name: 1})
    assert np.isfinite(before).all()
    assert not hasattr(model, "predict_proba")


# -- the command line --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"covariance": "full"}, {"regularization": 2.0, "projection": "l2"}])
@pytest.mark.parametrize("epochs", [1, 3])
def test_the_command_line_gives_the_bits_of_fit(data, tmp_path, options, epochs):
    path, X, t = data
    flags = [part for name, value in options.items() for part in (f"--{name}", str(value))]
    succeed(
        "train", path, "-m", tmp_path / "m.npz", "-a", "arow", "--task", "regression", "--epochs", str(epochs), *flags
    )
    model = package.load(tmp_path / "m.npz")
    fitted = package.AROWRegressor(epochs=epochs, shuffle=epochs > 1, random_state=0, **options).fit(X, t)
    assert (model.coef_ == fitted.coef_).all()
    assert (model.variance_ == fitted.variance_).all()
    assert model.get_params() == fitted.get_params()
    streamed = package.train(path, package.AROWRegressor(**fitted.get_params()))
    assert (streamed.coef_ == fitted.coef_).all()


def test_train_reports_errors_and_no_mistakes(data, tmp_path):
    path, _, t = data
    report = json.loads(
        succeed("train", path, "-m", tmp_path / "m", "-a", "arow", "--task", "regression", "--json").out
    )
    assert report["task"] == "regression"
    assert report["labels"] == []
    assert report["mistakes"] is None
    assert report["rows"] == len(t)
    assert report["updates"] == 10 * len(t)
    learner = model_file.load(tmp_path / "m")
    assert report["progressive_error"] == pytest.approx(learner.progressive_error())
    words = succeed("train", path, "-m", tmp_path / "m", "-a", "arow", "--task", "regression", "-v")
    assert "arow regression of 20 features\n" in words.out
    assert "3,000 updates; root mean squared error" in words.out
    assert words.out.endswith(" in the first epoch\n")
    assert "newest" in words.err


def test_predict_and_evaluate(data, tmp_path):
    path, X, t = data
    succeed("train", "-a", "arow", path, "-m", tmp_path / "m.npz", "--task", "regression", "--covariance", "full")
    model = package.load(tmp_path / "m.npz")
    prediction, deviation = model.predict(X, return_std=True)
    plain = np.array([float(line) for line in succeed("predict", path, "-m", tmp_path / "m.npz").out.split()])
    np.testing.assert_allclose(plain, prediction, rtol=1e-8)
    both = np.loadtxt(succeed("predict", path, "-m", tmp_path / "m.npz", "--std").out.splitlines())
    np.testing.assert_allclose(both, np.column_stack([prediction, deviation]), rtol=1e-8)
    report = json.loads(succeed("evaluate", path, "-m", tmp_path / "m.npz", "--json").out)
    assert report["rows"] == len(t)
    assert report["rmse"] == pytest.approx(np.sqrt(mean_squared_error(t, prediction)))
    assert report["mae"] == pytest.approx(mean_absolute_error(t, prediction))
    assert report["r2"] == pytest.approx(r2_score(t, prediction))
    z = np.abs(t - prediction) / deviation
    assert report["within_one_deviation"] == pytest.approx(np.mean(z <= 1))
    assert report["log_loss"] == pytest.approx(np.mean(np.log(deviation) + z**2 / 2 + np.log(2 * np.pi) / 2))
    assert "root mean squared error" in succeed("evaluate", path, "-m", tmp_path / "m.npz").out
    told = succeed("inspect", tmp_path / "m.npz").out
    assert "task       regression" in told
    assert "label" not in told
    assert f"noise      {model.noise_variance_**0.5:.4g} (standard deviation)" in told
    facts = json.loads(succeed("inspect", tmp_path / "m.npz", "--json").out)
    assert facts["mistakes"] is None
    first = facts["weights"][0]
    assert first["deviation"] == pytest.approx(np.sqrt(model.scale_ * model.variance_[first["feature"]]))


def test_models_without_features_and_with_huge_targets_can_be_inspected(tmp_path):
    path = tmp_path / "data.svm"
    for text, flags in (("1\n2\n3\n", []), ("1\n2\n1\n", ["--task", "classification"]),
                        ("1e30 1:1\n-1e30 2:1\n1e30 1:2\n5 3:1\n", ["--epochs", "1"])):  # fmt: skip
        path.write_text(text)
        succeed("train", "-a", "arow", path, "-m", tmp_path / "m", "--task", "regression", *flags)
        succeed("inspect", tmp_path / "m")
        json.loads(succeed("inspect", tmp_path / "m", "--json").out, parse_constant=lambda text: pytest.fail(text))


def test_measures_of_targets_far_from_0_do_not_cancel():
    rng = np.random.default_rng(0)
    measures = RegressionMeasures()
    true = 1e9 + rng.standard_normal(1000)
    predicted = true + 0.1 * rng.standard_normal(1000)
    for start in range(0, 1000, 100):
        part = slice(start, start + 100)
        measures.add(true[part], predicted[part], np.full(100, 0.1))
    assert measures.summary()["r2"] == pytest.approx(r2_score(true, predicted), abs=1e-6)


def test_evaluating_huge_targets_gives_json_that_can_be_read(data, tmp_path):
    path, _, _ = data
    succeed("train", "-a", "arow", path, "-m", tmp_path / "m", "--task", "regression", "--epochs", "1")
    path.write_text("1e200 1:1\n-1e200 1:1\n")
    outcome = succeed("evaluate", path, "-m", tmp_path / "m", "--json")
    assert outcome.err == ""
    report = json.loads(outcome.out, parse_constant=lambda text: pytest.fail(text))
    assert report["rmse"] is None
    assert "root mean squared error -" in succeed("evaluate", path, "-m", tmp_path / "m").out


def test_resuming_goes_on_to_the_same_bits(data, tmp_path):
    path, X, t = data
    (tmp_path / "a.svm").write_text(regression_text(X[:100], t[:100]))
    (tmp_path / "b.svm").write_text(regression_text(X[100:], t[100:]))
    options = ["--task", "regression", "--epochs", "1", "--covariance", "full"]
    succeed("train", "-a", "arow", path, "-m", tmp_path / "whole", *options)
    succeed("train", "-a", "arow", tmp_path / "a.svm", "-m", tmp_path / "part", "--features", "20", *options)
    succeed(
        "train",
        "-a",
        "arow",
        tmp_path / "b.svm",
        "-m",
        tmp_path / "part",
        "--resume",
        tmp_path / "part",
        "--epochs",
        "1",
    )
    whole, part = (model_file.load(tmp_path / name) for name in ("whole", "part"))
    assert whole.statistics == part.statistics
    assert (whole.state.means == part.state.means).all()


def test_targets_may_be_any_number_and_all_the_same(tmp_path):
    path = tmp_path / "data.svm"
    path.write_text("1.5 1:1\n-2e3 2:1\n1.5 1:2\n")
    succeed("train", "-a", "arow", path, "-m", tmp_path / "m", "--task", "regression")
    path.write_text("7 1:1\n7 1:2\n")
    succeed("train", "-a", "arow", path, "-m", tmp_path / "m", "--task", "regression", "--epochs", "1")
    report = json.loads(succeed("evaluate", path, "-m", tmp_path / "m", "--json").out)
    assert report["r2"] is None
    path.write_text("")
    assert "no examples" in fail("train", "-a", "arow", path, "-m", tmp_path / "m", "--task", "regression")
    path.write_text("7 1:1\nnan 1:2\n")
    assert "data.svm:2" in fail("train", "-a", "arow", path, "-m", tmp_path / "m", "--task", "regression")


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["-a", "cw"], "--task regression is there for the algorithm arow, not for cw"),
        (["--labels", "1,2"], "--labels is not for --task regression, which has no labels"),
        (["--n-constraints", "2"], "--n-constraints is not for --task regression"),
        (["--class-weight", "balanced"], "--class-weight is not a parameter of arow for regression"),
        (["--confidence", "0.9"], "--confidence is not a parameter of arow"),
    ],
)
def test_flags_that_make_no_sense_are_refused(data, tmp_path, flags, message):
    assert message in fail(
        "train", "-a", "arow", data[0], "-m", tmp_path / "m", "--task", "regression", *flags, status=2
    )


def test_models_of_the_other_task_are_told_apart(data, tmp_path):
    path, _, _ = data
    labelled = tmp_path / "labelled.svm"
    labelled.write_text("1 1:1\n2 2:1\n")
    succeed("train", "-a", "arow", path, "-m", tmp_path / "r", "--task", "regression", "--epochs", "1")
    succeed("train", "-a", "arow", labelled, "-m", tmp_path / "c", "--epochs", "1")
    assert "a regression has no probabilities; --std" in fail(
        "predict", path, "-m", tmp_path / "r", "--proba", status=2
    )
    assert "--std is for a regression" in fail("predict", labelled, "-m", tmp_path / "c", "--std", status=2)
    for model, task in (("r", "classification"), ("c", "regression")):
        message = fail(
            "train", "-a", "arow", labelled, "-m", tmp_path / "m", "--resume", tmp_path / model, "--task", task
        )
        assert f"not {task}; a resumed model keeps that" in message
