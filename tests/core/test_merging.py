"""Merging models: compared with sequential training, in any order and tree, and on the command line."""

from __future__ import annotations

import copy
import json

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import cwlearn as package
from cwlearn.core import merging, model_file, rules
from cwlearn.core.learner import Learner
from cwlearn.core.merging import Sum
from cwlearn.core.rows import as_rows
from cwlearn.core.training import Training
from cwlearn.errors import ModelError
from tests.cases import GAUSSIAN, GRADIENT, RULES, labelled_rows, random_rows, rule_id
from tests.text_cases import fail, random_text, succeed

SECOND_ORDER = [rule for rule in RULES if rule.second_order]
FULL = [rules.CW(0.8, covariance="full"), rules.AROW(covariance="full"), rules.SOP(0.5, covariance="full")]
HOW = ["posterior", "kl", "l2"]


def learner_of(rule, n_labels=2, n_features=25, **training):
    classes = np.array([-1.0, 1.0]) if n_labels == 2 else np.arange(n_labels, dtype=float)
    return Learner(rule, Training(**training), classes, n_features)


def trained(rule, shards, n_labels=2, **training):
    """A learner for each part of the same rows."""
    X, y = random_rows(120, noise=0.1) if n_labels == 2 else labelled_rows(120, n_labels=n_labels, noise=0.1)
    learners = []
    for shard in range(shards):
        learner = learner_of(rule, n_labels, **training)
        learner.learn(as_rows(X[shard::shards], learner.state.dtype), y[shard::shards].copy())
        learners.append(learner)
    return learners


def merged(learners, how):
    return merging.merge(((f"model {i}", learner) for i, learner in enumerate(learners)), how)


def numbers(learner):
    state = learner.state
    spread = state.variance if learner.rule.covariance == "diagonal" else state.covariances
    return np.asarray(state.mean, float), np.asarray(spread, float)


def assert_close(one, other, tolerance):
    for ours, theirs in zip(numbers(one), numbers(other), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance * np.abs(theirs).max())


def test_posterior_is_sequential_training_where_every_row_updates():
    """Full AROW with a regularization so large that margins stay below 1: S^-1 and S^-1 mu are sums over the rows."""
    X, y = random_rows(300, 20)
    rule = rules.AROW(1e3, covariance="full")
    whole = learner_of(rule, n_features=20)
    whole.learn(as_rows(X, whole.state.dtype), y)
    assert whole.statistics["updates"] == len(y)
    parts = []
    for shard in range(7):
        learner = learner_of(rule, n_features=20)
        learner.learn(as_rows(X[shard::7], learner.state.dtype), y[shard::7].copy())
        assert learner.statistics["updates"] == len(y[shard::7])
        parts.append(learner)
    together = merged(parts, "posterior")
    assert_close(together, whole, 1e-9)
    assert together.statistics["rows"] == whole.statistics["rows"]
    assert together.statistics["updates"] == whole.statistics["updates"]


def test_posterior_of_regressions_is_ridge_regression_on_all_rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 6))
    t = X @ np.arange(6) + 1 + rng.standard_normal(300)
    new = package.AROWRegressor(2.0, covariance="full", epochs=1, random_state=0)
    parts = [clone(new).fit(X[i::5], t[i::5]) for i in range(5)]
    whole = clone(new).fit(X, t)
    together = package.merge(parts)
    np.testing.assert_allclose(together.coef_, whole.coef_, rtol=1e-9)
    np.testing.assert_allclose(together.covariance_, whole.covariance_, rtol=1e-9, atol=1e-12)
    noises = [part.noise_variance_ for part in parts]  # of equally many rows
    assert together.noise_variance_ == pytest.approx(np.mean(noises), rel=1e-9)
    far = package.merge([package.AROWRegressor(random_state=0).fit(X[i::5], t[i::5] + 1e4) for i in range(5)])
    assert far.score(X, t + 1e4) > 0.9, "each began at another target"


@pytest.mark.parametrize("how", ["posterior"])
def test_regressions_with_different_first_intercepts_merge_in_any_grouping(how):
    X = np.random.default_rng(0).standard_normal((5, 3))
    starts = [0.0, 500.0, -300.0]
    parts = [
        package.AROWRegressor(epochs=1, dtype="float64").fit(X[: 3 + i], X[: 3 + i, 0] + o)
        for i, o in enumerate(starts)
    ]
    together = package.merge(parts, how)
    pairwise = package.merge([package.merge(parts[:2], how), parts[2]], how)
    np.testing.assert_allclose(pairwise.intercept_, together.intercept_, rtol=1e-12)


@pytest.mark.parametrize("rule", [*SECOND_ORDER, *FULL], ids=rule_id)
@pytest.mark.parametrize("n_labels", [2, 4])
@pytest.mark.parametrize("how", HOW)
def test_order_and_tree_do_not_matter(rule, n_labels, how):
    learners = trained(rule, 6, n_labels, dtype="float64")
    straight = merged(learners, how)
    rng = np.random.default_rng(0)
    for _ in range(5):
        sums = [Sum.of(how, learners[i], f"model {i}") for i in rng.permutation(6)]
        while len(sums) > 1:
            i, j = sorted(rng.choice(len(sums), 2, replace=False))
            sums[i] += sums.pop(j)
        other = sums[0].learner()
        assert_close(other, straight, 1e-12)
        assert other.statistics["rows"] == straight.statistics["rows"]


@pytest.mark.parametrize("rule", [rules.AROW(0.7), rules.CW(0.8), rules.AROW(0.7, covariance="full")], ids=rule_id)
def test_each_method_is_its_formula(rule):
    learners = trained(rule, 3, dtype="float64", initial_variance=0.5)
    full = rule.covariance == "full"
    S = [learner.state.covariance(0) if full else np.diag(learner.state.variance) for learner in learners]
    mu = [learner.state.mean for learner in learners]
    A, prior = [np.linalg.inv(matrix) for matrix in S], np.eye(len(mu[0])) / 0.5
    total = sum(precision @ mean for precision, mean in zip(A, mu, strict=True))
    expected = {
        "kl": (np.linalg.inv(sum(A)), np.linalg.solve(sum(A), total)),
        "posterior": (np.linalg.inv(sum(A) - 2 * prior), np.linalg.solve(sum(A) - 2 * prior, total)),
        "l2": (sum(S) / 3, sum(mu) / 3),
    }
    for how, (covariance, mean) in expected.items():
        state = merged(learners, how).state
        np.testing.assert_allclose(state.mean, mean, rtol=1e-9, atol=1e-12)
        found = state.covariance(0) if full else np.diag(state.variance)
        np.testing.assert_allclose(found, covariance, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    "rule", [rules.AROW(), rules.CW(covariance="full"), rules.Perceptron(average=True)], ids=rule_id
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_models_of_different_widths_are_aligned_by_column(rule, dtype):
    X, y = random_rows(60)
    how = "posterior" if rule.second_order else "l2"
    narrow, wide = learner_of(rule, dtype=dtype), learner_of(rule, n_features=40, dtype=dtype)
    narrow.learn(as_rows(X, narrow.state.dtype), y)
    more = sparse.hstack([sparse.csr_matrix((61, 15)), X]).tocsr()
    wide.learn(as_rows(more, wide.state.dtype), y)
    grown = learner_of(rule, dtype=dtype)
    grown.learn(as_rows(X, grown.state.dtype), y)
    grown.grow(40)
    for pair, expected in (([narrow, wide], [grown, wide]), ([wide, narrow], [wide, grown])):
        together, reference = merged(pair, how), merged(expected, how)
        assert together.state.n_features == 40
        for ours, theirs in zip(numbers(together), numbers(reference), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-15)
    assert narrow.state.n_features == 25, "the models stay as they are"


@pytest.mark.parametrize("rule", [*GAUSSIAN, *FULL], ids=rule_id)
@pytest.mark.parametrize("n_labels", [2, 3])
def test_merged_models_predict_save_resume_and_merge_again(rule, n_labels, tmp_path):
    how = "posterior" if rule.second_order else "l2"
    learners = trained(rule, 4, n_labels)
    together = merged([merged(learners[:2], how), merged(learners[2:], how)], how)
    X, y = random_rows(60) if n_labels == 2 else labelled_rows(60, n_labels=3)
    rows = as_rows(X, together.state.dtype)
    model_file.save(together, tmp_path / "m.npz")
    again = model_file.load(tmp_path / "m.npz")
    for ours, theirs in zip(again.margins(rows), together.margins(rows), strict=True):
        assert (ours == theirs).all()
    for learner in (together, again):
        learner.learn(rows, y)
    for ours, theirs in zip(again.margins(rows), together.margins(rows), strict=True):
        assert np.isfinite(ours).all()
        assert (ours == theirs).all()


@pytest.mark.parametrize("rule", GRADIENT, ids=rule_id)
@pytest.mark.parametrize("how", HOW)
def test_sums_of_gradients_cannot_be_merged(rule, how):
    with pytest.raises(ModelError, match=f"models of {rule.name} cannot be merged: each holds gradients at weights"):
        merged(trained(rule, 2), how)


def test_averaged_models_are_merged_by_their_averages():
    learners = trained(rules.Perceptron(average=True), 3, dtype="float64")
    together = merged(learners, "l2")
    expected = np.mean([learner.predictor.mean for learner in learners], axis=0)
    np.testing.assert_allclose(together.predictor.mean, expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("rule", [rules.AROW(average=True), rules.SOP(a=0.5, average=True)], ids=rule_id)
@pytest.mark.parametrize("n_labels", [2, 3])
def test_averages_are_merged_with_the_confidences_of_the_last_weights(rule, n_labels):
    learners = trained(rule, 3, n_labels, dtype="float64", initial_variance=0.5)
    A = [1 / learner.state.variance for learner in learners]
    means = [learner.predictor.mean for learner in learners]
    assert all(abs(learner.state.mean - mean).max() > 0.01 for learner, mean in zip(learners, means, strict=True))
    total = sum(precision * mean for precision, mean in zip(A, means, strict=True))
    expected = {
        "kl": total / sum(A),
        "posterior": total / (sum(A) - 2 / learners[0].state.initial_variance),
        "l2": sum(means) / 3,
    }
    for how, mean in expected.items():
        np.testing.assert_allclose(merged(learners, how).predictor.mean, mean, rtol=1e-9, atol=1e-12)
        grouped = merged([merged(learners[1:], how), learners[0]], how) if how == "posterior" else None
        if grouped:
            np.testing.assert_allclose(grouped.predictor.mean, mean, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("how", ["posterior", "kl"])
def test_averages_of_a_common_base_count_once(how):
    base, *learners = trained(rules.AROW(average=True), 3, dtype="float64")
    X, y = random_rows(60)
    for part in range(2):
        learners[part] = copy.deepcopy(base)
        learners[part].learn(as_rows(X[part::2], base.state.dtype), y[part::2].copy())
    A, start = [1 / learner.state.variance for learner in learners], 1 / base.state.variance
    total = sum(precision * learner.predictor.mean for precision, learner in zip(A, learners, strict=True))
    expected = (total - start * base.predictor.mean) / (sum(A) - start)
    together = merging.merge([(str(part), learner) for part, learner in enumerate(learners)], how, base)
    np.testing.assert_allclose(together.predictor.mean, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("how", ["posterior", "l2"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("initial_variance", [1.0, 0.7, 0.3, 0.1])
@pytest.mark.parametrize("count", [3, 10])
def test_weights_that_no_model_has_touched_stay_untouched(how, dtype, initial_variance, count):
    X, y = random_rows(60)
    wide = sparse.hstack([X, sparse.csr_matrix((61, 975))]).tocsr()
    learner = learner_of(rules.AROW(), n_features=1000, dtype=dtype, initial_variance=initial_variance)
    learner.learn(as_rows(wide, learner.state.dtype), y)
    assert merged([learner] * count, how).state.touched.sum() == learner.state.touched.sum() < 30


def test_regressions_merge_in_any_order_and_from_a_base(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 4))
    t = X @ np.arange(4) + 1000 + rng.standard_normal(400)
    parts = [package.AROWRegressor(dtype="float64", epochs=1).fit(X[i::4], t[i::4]) for i in range(4)]
    one, other = package.merge(parts), package.merge(parts[::-1])
    np.testing.assert_allclose([one.intercept_, *one.coef_], [other.intercept_, *other.coef_], rtol=1e-12)
    noisy = package.AROWRegressor(epochs=1, warm_start=True).fit(X[:20], t[:20] + 50 * rng.standard_normal(20))
    base = noisy._learner
    sums = Sum("posterior")
    for part in range(4):
        learner = copy.deepcopy(base)
        learner.learn(as_rows(X[part::4], learner.state.dtype), t[part::4].copy())
        sums += Sum.of("posterior", learner, f"model {part}", base)
    together = sums.learner(base)
    assert together.statistics["rows"] == 20 + 400
    assert together.scale > 0
    model_file.save(together, tmp_path / "m.npz")
    assert model_file.load(tmp_path / "m.npz").scale == together.scale


@pytest.mark.parametrize("covariance", ["diagonal", "full"])
def test_kl_counts_a_common_base_once(covariance):
    """The prior counts once, too; otherwise confidences would grow from round to round without any row."""
    (base,) = trained(rules.AROW(0.7, covariance=covariance), 1, dtype="float64")
    idle = Sum("kl")
    for part in range(5):
        idle += Sum.of("kl", copy.deepcopy(base), f"model {part}", base)
    spread = numbers(idle.learner(base))[1]
    precision = 1 / spread if covariance == "diagonal" else np.linalg.inv(idle.learner(base).state.covariance(0))
    before = 1 / base.state.variance if covariance == "diagonal" else np.linalg.inv(base.state.covariance(0))
    np.testing.assert_allclose(precision, before, rtol=1e-9, atol=1e-9)


def test_sums_of_different_kinds_cannot_be_added():
    with pytest.raises(ValueError, match="how='kl' and how='l2' cannot be added"):
        Sum("kl") + Sum("l2")


def test_confidences_beat_averages_and_single_shards():
    rng = np.random.default_rng(0)
    X = sparse.random(6000, 3000, 0.005, "csr", rng=rng)
    y = X @ rng.standard_normal(3000) > 0
    train, test = slice(0, 5000), slice(5000, 6000)
    parts = [package.AROWClassifier(epochs=1, random_state=0).fit(X[train][i::20], y[train][i::20]) for i in range(20)]
    scores = {how: package.merge(parts, how).score(X[test], y[test]) for how in HOW}
    alone = np.mean([part.score(X[test], y[test]) for part in parts])
    assert min(scores.values()) > alone + 0.02
    assert max(scores["posterior"], scores["kl"]) >= scores["l2"]


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (package.CWClassifier(), "rule 'arow' and 'cw'"),
        (package.AROWRegressor(), "task 'classification' and 'regression'"),
        (package.AROWClassifier(2.0), "regularization 'auto' and 2.0"),
        (package.AROWClassifier(covariance="full"), "covariance 'diagonal' and 'full'"),
        (package.AROWClassifier(initial_variance=2.0), "initial_variance 1.0 and 2.0"),
        (package.AROWClassifier(fit_intercept=False), "fit_intercept True and False"),
        (package.AROWClassifier(dtype="float64"), "dtype 'float32' and 'float64'"),
    ],
)
def test_m13_models_of_different_kinds_are_refused_and_both_are_named(other, message):
    X = np.eye(3)
    model = package.AROWClassifier().fit(X, [0, 1, 0])
    with pytest.raises(ModelError, match=f"model 0 and model 1 cannot be merged: .*{message}"):
        package.merge([model, other.fit(X, [0, 1, 0])])


def test_m13_labels_features_and_hashes_must_agree(tmp_path):
    X = np.eye(3)
    model = package.AROWClassifier().fit(X, [0, 1, 0])
    with pytest.raises(ModelError, match="labels 0, 1 and 0, 2"):
        package.merge([model, package.AROWClassifier().fit(X, [0, 2, 0])])
    with pytest.raises(ModelError, match="labels 0, 1 and 0, 1, 2"):
        package.merge([model, package.AROWClassifier().fit(X, [0, 1, 2])])
    pandas = pytest.importorskip("pandas")
    named = [package.AROWClassifier().fit(pandas.DataFrame(X, columns=list(c)), [0, 1, 0]) for c in ("abc", "axc")]
    with pytest.raises(ModelError, match="column 1 named 'b' and 'x'"):
        package.merge(named)
    (tmp_path / "data.svm").write_text(random_text(), newline="")
    for bits in (5, 6):
        succeed(
            "train", tmp_path / "data.svm", "-m", tmp_path / f"{bits}.npz", "--hash-bits", bits, "-a", "arow", "--quiet"
        )
    message = fail("merge", tmp_path / "5.npz", tmp_path / "6.npz", "-m", tmp_path / "out.npz")
    assert "hash_bits 5 and 6" in message
    assert not (tmp_path / "out.npz").exists()


def test_models_that_cannot_be_merged_are_refused():
    X = np.eye(3)
    with pytest.raises(ModelError, match="models of perceptron have no confidences: `how='l2'` is the only way"):
        package.merge([package.PerceptronClassifier().fit(X, [0, 1, 0])])
    with pytest.raises(TypeError, match="model 0: expected a linear estimator of cwlearn"):
        package.merge([package.KernelAROWClassifier().fit(X, [0, 1, 0])])
    with pytest.raises(ValueError, match="`how` must be 'posterior' or 'kl' or 'l2', got 'mean'"):
        package.merge([package.AROWClassifier().fit(X, [0, 1, 0])], how="mean")
    with pytest.raises(ModelError, match="no model to merge"):
        package.merge([])
    with pytest.raises(ValueError, match="not fitted yet"):
        package.merge([package.AROWClassifier()])


@pytest.mark.parametrize("how", HOW)
def test_the_command_line_merges_as_python_does(text, tmp_path, how):
    lines = text.read_text().splitlines(keepends=True)
    paths = []
    for part in range(3):
        path = tmp_path / f"{part}.svm"
        path.write_text("".join(lines[part::3]))
        succeed("train", path, "-m", tmp_path / f"{part}.npz", "--labels=-1,+1", "-a", "arow", "--quiet")
        paths.append(tmp_path / f"{part}.npz")
    report = json.loads(succeed("merge", *paths, "-m", tmp_path / "all.npz", "--how", how, "--json").out)
    expected = package.merge([package.load(path) for path in paths], how)
    found = package.load(tmp_path / "all.npz")
    assert (found.coef_ == expected.coef_).all()
    assert (found.variance_ == expected.variance_).all()
    assert report["models"] == 3
    assert report["rows"] == found._learner.statistics["rows"]
    assert report["labels"] == ["-1", "+1"]
    words = succeed("merge", *paths, "-m", tmp_path / "all.npz")
    assert "merged from 3 models: " in words.out
    succeed("predict", text, "-m", tmp_path / "all.npz")
    succeed("train", "-a", "arow", text, "-m", tmp_path / "more.npz", "--resume", tmp_path / "all.npz", "--epochs", "1")


def test_merge_refuses_what_it_cannot_use(model, tmp_path):
    succeed("merge", model, model, "-m", model)  # onto one of its own
    assert "must be 'posterior' or 'kl' or 'l2'" in fail("merge", model, "-m", tmp_path / "o", "--how", "x", status=2)
    assert "No such file" in fail("merge", model, tmp_path / "none.npz", "-m", tmp_path / "o")
    (tmp_path / "junk.npz").write_bytes(b"junk")
    assert "junk.npz: not a cwlearn model" in fail("merge", model, tmp_path / "junk.npz", "-m", tmp_path / "o")
    assert not (tmp_path / "o").exists()


@pytest.mark.parametrize("how", HOW)
def test_the_base_of_all_models_counts_once(tmp_path, how):
    X, y = random_rows(300, 20)
    options = {"covariance": "full", "regularization": 1e3, "epochs": 1, "shuffle": False}
    base = package.AROWClassifier(**options).fit(X[:60], y[:60])
    paths = []
    models = []
    for shard in range(3):
        model = copy.deepcopy(base).partial_fit(X[60 + shard :: 3], y[60 + shard :: 3])
        models.append(model)
        paths.append(tmp_path / f"{shard}.npz")
        model.save(paths[-1])
    base.save(tmp_path / "base.npz")
    together = package.merge(models, how, base=base)
    assert together._learner.statistics["rows"] == len(y)
    if how == "posterior":
        whole = package.AROWClassifier(**options).fit(X, y)
        np.testing.assert_allclose(together.coef_, whole.coef_, rtol=1e-9)
    succeed("merge", *paths, "-m", tmp_path / "all.npz", "--how", how, "--base", tmp_path / "base.npz")
    assert (package.load(tmp_path / "all.npz").coef_ == together.coef_).all()


def test_a_base_that_a_model_cannot_have_started_from_is_refused():
    X, y = random_rows(60)
    small, large = package.AROWClassifier().fit(X[:, :10], y), package.AROWClassifier().fit(X, y)
    with pytest.raises(ModelError, match=r"model 0 cannot have gone on from the base: it has 10 features"):
        package.merge([small], base=large)
    with pytest.raises(ModelError, match="model 0 and the base cannot be merged"):
        package.merge([large], base=package.CWClassifier().fit(X, y))
    with pytest.raises(ModelError, match="model 0 and the base cannot be merged: labels"):
        package.merge([large], base=package.AROWClassifier().fit(X, y + 1))
    stranger = package.AROWClassifier(random_state=0).fit(X[:, ::-1], y)
    with pytest.raises(ModelError, match=r"it is less certain of some weights|the base"):
        package.merge([package.AROWClassifier(epochs=30, random_state=0).fit(X, y)], base=stranger)
    with pytest.raises(NotFittedError, match=r"^base: this AROWClassifier is not fitted yet"):
        package.merge([package.AROWClassifier()], base=package.AROWClassifier())
    with pytest.raises(NotFittedError, match="model 1: this AROWClassifier is not fitted yet"):
        package.merge([large, package.AROWClassifier()])


def test_adding_sums_does_not_change_them():
    one, other = (Sum.of("posterior", learner, "m") for learner in trained(rules.AROW(), 2))
    before = copy.deepcopy(one)
    total = Sum("posterior") + one
    total += other
    total.learner()
    for name in ("_spread", "_place"):
        assert (getattr(one, name) == getattr(before, name)).all()
    assert one.count == 1
    assert one._statistics == before._statistics


def learned_columns(columns, n_labels=2, covariance="diagonal"):
    """A learner that has learned about these columns only."""
    X = np.zeros((2 * len(columns), max(columns) + 1))
    for row in range(len(X)):
        X[row, columns[row // 2]] = 1
    y = np.arange(len(X)) % n_labels if n_labels > 2 else np.where(np.arange(len(X)) % 2, 1.0, -1.0)
    learner = learner_of(rules.AROW(covariance=covariance), n_labels, X.shape[1])
    learner.learn(as_rows(X, learner.state.dtype), y.astype(float))
    return learner


@pytest.mark.parametrize("n_labels", [2, 3])
@pytest.mark.parametrize("covariance", ["diagonal", "full"])
def test_a_model_that_shares_hardly_a_feature_is_a_warning(n_labels, covariance):
    first, second = (
        learned_columns(columns, n_labels, covariance) for columns in (range(0, 30), [*range(29, 45), *range(60, 64)])
    )
    with pytest.warns(UserWarning, match="^model 1 shares 1 of 20 learned features with the models before") as warned:
        merged([first, second], "posterior")
    assert len(warned) == 1


def test_a_tenth_of_the_smaller_model_is_enough_to_merge_without_a_warning():
    """Warnings are errors in this suite."""
    merged([learned_columns(range(0, 100)), learned_columns([99, *range(200, 209)])], "posterior")
    merged([learned_columns([99, *range(200, 209)]), learned_columns(range(0, 100))], "posterior")


def test_a_model_is_compared_with_all_models_before_it():
    models = [learned_columns(columns) for columns in (range(0, 10), range(9, 30), range(20, 40))]
    merged(models, "posterior")
    with pytest.warns(UserWarning, match="model 1 shares 0 of 10"):
        merged([models[0], models[2], models[1]], "posterior")


def test_a_model_that_has_learned_nothing_merges_without_a_warning():
    merged([learned_columns(range(0, 10)), learner_of(rules.AROW())], "posterior")


@pytest.mark.filterwarnings("default::UserWarning")
def test_the_warning_names_the_file_on_the_command_line(tmp_path):
    for name, columns in (("a.npz", range(0, 10)), ("b.npz", range(10, 30))):
        model_file.save(learned_columns(columns), tmp_path / name)
    outcome = succeed("merge", tmp_path / "a.npz", tmp_path / "b.npz", "-m", tmp_path / "c.npz")
    assert f"warning: {tmp_path / 'b.npz'} shares 0 of 10 learned features with the models before it" in outcome.err
