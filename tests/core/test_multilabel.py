"""Several labels a row: one binary learner for each label, all in one pass."""

from __future__ import annotations

import copy
import json

import numpy as np
import pytest

from cwlearn.core import merging, model_file, rules
from cwlearn.core.kernel_options import KernelOptions
from cwlearn.core.label_sets import LabelSets
from cwlearn.core.learner import Learner
from cwlearn.core.states.base import NONE
from cwlearn.core.training import Training
from cwlearn.errors import DataError, ModelError
from tests.cases import RULES, new_learner, random_rows, reference_of, rows_of, rule_id
from tests.references.multilabel import MultiLabelReference

N_FEATURES = 25
HALVES = (slice(0, 30), slice(30, 61))
SOME_RULES = [
    rules.AROW(),
    rules.AROW(regularization=2.0, projection="l2", average=True),
    rules.CW(),
    rules.CW(form="variance", projection="exact"),
    rules.SCW(),
    rules.SOP(a="auto"),
    rules.Perceptron(average=True),
    rules.Logistic(),
    rules.FTRL(l1=0.1),
    rules.AdaGrad(l1=0.01),
]


def rows_with_sets(n_labels=5, n_rows=60, seed=0, noise=0.0):
    """Sparse rows, one of them empty, and the labels of each by as many separators; some rows have no label."""
    X, _ = random_rows(n_rows, N_FEATURES, seed=seed)
    rng = np.random.default_rng(seed + 1)
    has = X @ rng.standard_normal((N_FEATURES, n_labels)) > 0.3 * np.arange(n_labels)
    has ^= rng.random(has.shape) < noise
    return X, [np.flatnonzero(row).tolist() for row in has]


def new_multilabel(rule, n_labels=5, **training):
    return Learner(rule, Training(**training), np.arange(n_labels), N_FEATURES, multilabel=True)


def learn(learner, X, sets, weights=NONE, order=None, **more):
    targets = np.arange(len(sets), dtype=float)
    learner.learn(rows_of(X, learner), targets, weights, order, sets=LabelSets.of(sets), **more)
    return learner


def signs(sets, label):
    return np.array([1.0 if label in labels else -1.0 for labels in sets])


def numbers(learner):
    """All that a learner knows, as bytes."""
    arrays = [learner.state.cells, learner.state.average, learner._counts, learner._calibrations]
    return b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)


@pytest.mark.parametrize("rule", RULES, ids=rule_id)
def test_agrees_with_a_binary_reference_for_each_label(rule):
    # No row of these comes to lie on the border of its constraint, where rounding would decide whether it counts.
    X, sets = rows_with_sets(3, n_rows=40, seed=9)
    rng = np.random.default_rng(1)
    weights = rng.choice([0.0, 0.5, 1.0, 2.0], len(sets)) if rule.takes_weights else np.empty(0)
    options = {"dtype": "float64", "initial_variance": 0.8}
    learner = new_multilabel(rule, 3, **options)
    binaries = [new_learner(rule, N_FEATURES, **options) for _ in range(3)]
    slow = MultiLabelReference([reference_of(binary) for binary in binaries])
    for label, binary in enumerate(binaries):  # some rules begin with other means than 0
        learner.state.mean[:, label] = binary.state.mean
    dense = X.toarray().astype(np.float64)
    for _ in range(3):
        order = rng.permutation(len(sets))
        learn(learner, X, sets, weights, order)
        slow.learn(dense[order], [sets[row] for row in order], weights[order] if len(weights) else None)
    for label, binary in enumerate(slow.binaries):
        scale = np.abs(binary.mean).max() + 1e-300
        np.testing.assert_allclose(learner.state.mean[:, label], binary.mean, rtol=1e-10, atol=1e-10 * scale)
        np.testing.assert_allclose(learner.state.variance[:, label], binary.variance, rtol=1e-10)
        for ours, theirs in zip(learner.margins(rows_of(X, learner)), binary.margins(dense), strict=True):
            np.testing.assert_allclose(ours[:, label], theirs, rtol=1e-10, atol=1e-10 * np.abs(theirs).max())
    assert learner.statistics["updates"] == slow.updates > 0
    assert learner.statistics["mistakes"] == slow.mistakes


@pytest.mark.parametrize(("n_labels", "dtype"), [(1, "float32"), (3, "float64"), (23, "float32")])
@pytest.mark.parametrize("rule", SOME_RULES, ids=rule_id)
def test_has_the_bits_of_a_binary_learner_for_each_label(rule, n_labels, dtype):
    X, sets = rows_with_sets(n_labels, n_rows=420, noise=0.1)  # so many that some rows are held back
    training = {"epochs": 4, "dtype": dtype}
    learner = new_multilabel(rule, n_labels, **training)
    rows, targets = rows_of(X, learner), np.arange(len(sets), dtype=float)
    learner.train(rows, targets, np.empty(0), np.random.RandomState(5), LabelSets.of(sets))
    for label in range(0, n_labels, 1 + n_labels // 4):
        binary = Learner(rule, Training(**training), np.array([0, 1]), N_FEATURES)
        binary.train(rows, signs(sets, label), np.empty(0), np.random.RandomState(5))
        mean, variance = (part.reshape(-1, n_labels)[:, label] for part in (learner.state.mean, learner.state.variance))
        assert np.array_equal(mean, binary.state.mean)
        assert np.array_equal(variance, binary.state.variance)
        assert learner.calibrations[label] == binary.calibration is not None
        ours = learner.probabilities(rows, *learner.margins(rows))[:, label]
        theirs = binary.probabilities(rows, *binary.margins(rows))[:, 1]
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)  # only the variances are summed in another order


@pytest.mark.parametrize("rule", SOME_RULES, ids=rule_id)
def test_chunks_of_any_size_give_the_same_bits(rule):
    X, sets = rows_with_sets(7, noise=0.1)
    whole = learn(new_multilabel(rule, 7), X, sets)
    parts = new_multilabel(rule, 7)
    for start in range(0, len(sets), 9):
        learn(parts, X[start : start + 9], sets[start : start + 9])
    assert numbers(whole) == numbers(parts)


def test_equal_sets_may_be_shared():
    X, sets = rows_with_sets()
    different = [[*labels] for labels in {tuple(labels) for labels in sets}]
    assert len(different) < len(sets)
    targets = np.array([different.index(labels) for labels in sets], float)
    shared = new_multilabel(rules.AROW())
    shared.learn(rows_of(X, shared), targets, sets=LabelSets.of(different))
    assert numbers(shared) == numbers(learn(new_multilabel(rules.AROW()), X, sets))
    has = LabelSets.of(different).indicators(targets, 5)
    assert [np.flatnonzero(row).tolist() for row in has] == sets


@pytest.mark.parametrize(
    ("target", "bounds", "labels"),
    [
        (1.0, [0, 1], [0]),  # no such set
        (-1.0, [0, 1], [0]),
        (np.nan, [0, 1], [0]),
        (0.0, [0, 2], [0]),  # beyond the labels
        (0.0, [-1, 1], [0]),
        (0.0, [1, 0], [0]),
        (0.0, [0, 1], [5]),  # no such label
        (0.0, [0, 1], [-1]),
    ],
)
def test_a_wrong_set_is_an_error_that_changes_nothing(target, bounds, labels):
    learner = new_multilabel(rules.AROW())
    X, _ = rows_with_sets()
    before = numbers(learner)
    sets = LabelSets(np.array(bounds, np.int64), np.array(labels, np.int32))
    with pytest.raises(DataError):
        learner.learn(rows_of(X[:1], learner), np.array([target]), sets=sets)
    assert numbers(learner) == before


@pytest.mark.parametrize("calibrations", [None, np.zeros((4, 16)), np.zeros((5, 15))])
def test_the_kernel_refuses_calibrations_that_do_not_fit(calibrations):
    learner = new_multilabel(rules.AROW())
    X, sets = rows_with_sets()
    targets, order = np.zeros(len(sets)), np.arange(len(sets))
    rule, counts = learner._kernel_rule(False), learner._counts
    arguments = (targets, np.empty(0), np.empty(0, np.uint8), order, rule, counts)
    with pytest.raises(ValueError, match="calibration"):
        learner.state.learn(rows_of(X, learner), *arguments, LabelSets.of(sets), calibrations)


def test_a_row_that_is_not_finite_changes_no_label():
    learner = learn(new_multilabel(rules.PassiveAggressive(C=None), dtype="float64"), *rows_with_sets())
    X, sets = rows_with_sets()
    learner.state.mean[:, 3] = 1e308
    before = numbers(learner)
    with pytest.raises(DataError, match="not a finite number"):
        learn(learner, X[:1].astype(np.float64) * 1e100, sets[:1])
    assert numbers(learner) == before


@pytest.mark.parametrize("n_labels", [1, 2, 6])
@pytest.mark.parametrize("rule", [rules.AROW(average=True), rules.SCW(), rules.FTRL(l1=0.5)], ids=rule_id)
def test_a_model_file_gives_all_back_and_goes_on_with_the_same_bits(rule, n_labels, tmp_path):
    X, sets = rows_with_sets(n_labels)
    learner = learn(new_multilabel(rule, n_labels), X[:40], sets[:40])
    model_file.save(learner, tmp_path / "m.npz")
    again = model_file.load(tmp_path / "m.npz")
    assert again.multilabel
    assert again.task == "multilabel"
    assert numbers(again) == numbers(learner)
    assert numbers(learn(again, X[40:], sets[40:])) == numbers(learn(learner, X[40:], sets[40:]))


@pytest.mark.parametrize("records", [None, [], [None, None], [{}, None, None, None, None], {"0": None}])
def test_a_file_with_other_calibrations_than_labels_is_refused(records, tmp_path, monkeypatch):
    header = model_file._header
    monkeypatch.setattr(model_file, "_header", lambda learner: {**header(learner), "calibrations": records})
    model_file.save(learn(new_multilabel(rules.AROW()), *rows_with_sets()), tmp_path / "m.npz")
    with pytest.raises(ModelError, match="calibration"):
        model_file.load(tmp_path / "m.npz")


def test_a_release_that_knows_one_label_a_row_refuses_the_file():
    """The task is another one, so that no release takes the labels for classes."""
    header = json.loads(json.dumps(model_file._header(new_multilabel(rules.AROW()))))
    assert header["task"] == "multilabel"
    assert "calibration" not in header


def test_a_merge_is_that_of_each_label():
    X, sets = rows_with_sets(4)
    halves = [learn(new_multilabel(rules.AROW(), 4, dtype="float64"), X[part], sets[part]) for part in HALVES]
    merged = merging.merge([("a", halves[0]), ("b", halves[1])], "posterior")
    assert merged.multilabel
    for label in range(4):
        binaries = []
        for part in HALVES:
            binary = Learner(rules.AROW(), Training(dtype="float64"), np.array([0, 1]), N_FEATURES)
            binary.learn(rows_of(X[part], binary), signs(sets[part], label))
            binaries.append(binary)
        alone = merging.merge([("a", binaries[0]), ("b", binaries[1])], "posterior")
        assert np.array_equal(merged.state.mean[:, label], alone.state.mean)
        assert np.array_equal(merged.state.variance[:, label], alone.state.variance)
        assert merged.calibrations[label] == alone.calibration
    more = merging.merge([("a", merged), ("b", halves[0])], "posterior")
    assert more.statistics["rows"] == merged.statistics["rows"] + halves[0].statistics["rows"]


def test_models_with_one_and_with_several_labels_a_row_are_not_merged():
    several = learn(new_multilabel(rules.AROW(), 3), *rows_with_sets(3))
    X, _ = rows_with_sets(3)
    one = Learner(rules.AROW(), Training(), np.arange(3), N_FEATURES)
    one.learn(rows_of(X, one), np.zeros(X.shape[0]))
    with pytest.raises(ModelError, match="several labels a row"):
        merging.merge([("a", several), ("b", one)], "posterior")


@pytest.mark.parametrize(
    ("rule", "kernel", "words"),
    [
        (rules.AROW(covariance="full"), None, "covariance='diagonal'"),
        (rules.AROW(class_weight="balanced"), None, "class_weight"),
        (rules.AROW(class_weight={0: 2.0}), None, "class_weight"),
        (rules.AROW(), KernelOptions(), "kernel"),
        (rules.AROWRegression(), None, "regression"),
    ],
)
def test_refuses_what_it_cannot_learn(rule, kernel, words):
    with pytest.raises(ValueError, match=words):
        Learner(rule, Training(), np.arange(3), 0, kernel, multilabel=True)


def test_the_progressive_error_is_the_part_of_wrong_decisions():
    X, sets = rows_with_sets()
    learner = learn(new_multilabel(rules.AROW()), X, sets)
    assert learner.progressive_error() == learner.statistics["mistakes"] / (5 * len(sets))
    twin = copy.deepcopy(learner)
    assert numbers(twin) == numbers(learner)
