"""Thresholds for costs, F-measures and both recalls."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score, f1_score, recall_score

from cwlearn import (
    AdaGradClassifier,
    AROWClassifier,
    AutoClassifier,
    CWClassifier,
    FTRLClassifier,
    LogisticClassifier,
    NHERDClassifier,
    PassiveAggressiveClassifier,
    PerceptronClassifier,
    ProbitClassifier,
    SCWClassifier,
    SOPClassifier,
    TextClassifier,
    load,
    merge,
)
from cwlearn.core.calibration import ODDS, Calibration, Calibrator
from cwlearn.core.thresholds import cut_of
from tests.cases import labelled_rows, random_rows
from tests.text_cases import fail, succeed

CLASSIFIERS = [
    CWClassifier, AROWClassifier, SCWClassifier, NHERDClassifier, SOPClassifier, LogisticClassifier, ProbitClassifier,
    FTRLClassifier, AdaGradClassifier, PassiveAggressiveClassifier, PerceptronClassifier,
]  # fmt: skip
EDGES = 0.25 * (np.arange(ODDS) - ODDS // 2)
NOISE = Calibrator().noise
CHANCES = NOISE / 2 + (1 - NOISE) / (1 + np.exp(-(EDGES + 0.125)))


@pytest.fixture(scope="module")
def rare():
    """Rows of which 3 in 100 have the second label, for learning and for testing."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((8000, 15)).astype(np.float32)
    score = X @ rng.standard_normal(15) + 2.0 * rng.standard_normal(8000)
    y = (score > np.quantile(score, 0.97)).astype(int)
    return X[:4000], y[:4000], X[4000:], y[4000:]


def known(rows):
    return Calibration(100.0, 0.0, Calibrator(), Calibrator(), tuple(rows))


@pytest.mark.parametrize(("name", "beta"), [("f0.5", 0.5), ("f1", 1.0), ("f2", 2.0)])
def test_the_threshold_has_the_highest_expected_measure_of_all(name, beta):
    rows = np.random.default_rng(1).random(ODDS) * np.exp(-np.abs(EDGES + 3))
    expected = []
    for k in range(ODDS):
        hits = np.sum((rows * CHANCES)[k:])
        precision, recall = hits / np.sum(rows[k:]), hits / np.sum(rows * CHANCES)
        expected.append((1 + beta**2) * precision * recall / (beta**2 * precision + recall))
    assert cut_of(name, known(rows)) == EDGES[np.argmax(expected)]


def test_balanced_is_the_share_of_the_second_label():
    """The mean of both recalls is highest where each row is predicted as what is more probable than on average."""
    rows = np.exp(-((EDGES + 3) ** 2) / 4)
    share = (np.sum(rows * CHANCES) / np.sum(rows) - NOISE / 2) / (1 - NOISE)
    assert cut_of("balanced", known(rows)) == pytest.approx(np.log(share / (1 - share)), abs=0.25)


@pytest.mark.parametrize("name", ["f1", "balanced"])
def test_nothing_known_is_a_threshold_of_one_half(name):
    assert cut_of(name, None) == cut_of(name, known(np.zeros(ODDS))) == 0


def test_a_number_is_the_chance_from_which_on_the_second_label_is_predicted(rare):
    X, y, test, _ = rare
    model = AROWClassifier(threshold=0.2, random_state=0).fit(X, y)
    assert np.array_equal(model.predict(test), (model.predict_proba(test)[:, 1] > 0.2).astype(int))
    usual = AROWClassifier(random_state=0).fit(X, y)
    assert np.array_equal(usual.decision_function(test), model.decision_function(test))
    assert model.predict(test).sum() > usual.predict(test).sum()


@pytest.mark.parametrize("classifier", CLASSIFIERS)
def test_a_rare_label_is_found_by_every_rule(classifier, rare):
    X, y, test, truth = rare
    usual, f1, balanced = (
        classifier(threshold=threshold, random_state=0).fit(X, y).predict(test) for threshold in (0.5, "f1", "balanced")
    )
    assert recall_score(truth, f1) > recall_score(truth, usual) + 0.1
    assert f1_score(truth, f1) > f1_score(truth, usual) + 0.02
    assert balanced_accuracy_score(truth, balanced) > balanced_accuracy_score(truth, usual) + 0.1


@pytest.mark.parametrize("classifier", [c for c in CLASSIFIERS if "class_weight" in c().get_params()])
def test_balanced_class_weights_raise_the_recall_with_every_loss(classifier, rare):
    X, y, test, truth = rare
    usual, balanced = (
        classifier(class_weight=weight, random_state=0).fit(X, y).predict(test) for weight in (None, "balanced")
    )
    assert recall_score(truth, balanced) > recall_score(truth, usual) + 0.3


def test_files_merges_streams_and_races_keep_the_threshold(rare, tmp_path):
    X, y, test, _ = rare
    parts = [LogisticClassifier(threshold="f1").partial_fit(X[i::2], y[i::2], classes=[0, 1]) for i in (0, 1)]
    merged = merge(parts)
    merged.save(tmp_path / "m.npz")
    again = load(tmp_path / "m.npz")
    assert again.threshold == "f1"
    cuts = [cut_of("f1", model._learner.calibration) for model in (*parts, merged)]
    assert min(cuts[:2]) - 0.25 <= cuts[2] <= max(cuts[:2]) + 0.25
    assert cuts[2] < 0
    assert np.array_equal(again.predict(test), merged.predict(test))
    auto = AutoClassifier(threshold=0.1, random_state=0).fit(X[:500], y[:500])
    assert np.array_equal(auto.predict(test), (auto.predict_proba(test)[:, 1] > 0.1).astype(int))
    texts = TextClassifier(AROWClassifier(threshold=0.999, random_state=0)).fit(["a b", "c d"] * 9, ["no", "yes"] * 9)
    assert set(texts.predict(["a", "x", "y"])) == {"no"}


def test_a_chance_below_the_noise_is_always_reached_and_one_above_it_never():
    quiet = known(np.zeros(ODDS))
    assert cut_of(NOISE / 2 - 1e-9, quiet) == -np.inf
    assert cut_of(1 - NOISE / 2 + 1e-9, quiet) == np.inf
    cut = cut_of(0.3, quiet)
    assert pytest.approx(0.3) == NOISE / 2 + (1 - NOISE) / (1 + np.exp(-cut))


@pytest.mark.parametrize("threshold", [0, 1, -0.1, 1.5, "f3", None, "0.5", np.nan])
def test_h18_a_threshold_that_is_none_is_refused(threshold):
    X, y = random_rows()
    with pytest.raises(ValueError, match="`threshold` must be"):
        AROWClassifier(threshold=threshold).fit(X, y)


def test_h18_a_threshold_of_several_labels_is_refused(text, tmp_path):
    X, y = labelled_rows(n_labels=3)
    with pytest.raises(ValueError, match="decides between two labels; here are 3"):
        AROWClassifier(threshold=0.3).fit(X, y)


def test_the_command_line_has_thresholds_for_training_and_for_scoring(text, tmp_path):
    plain, low = tmp_path / "plain.npz", tmp_path / "low.npz"
    succeed("train", text, "-m", plain, "-a", "arow", "--quiet")
    succeed("train", text, "-m", low, "-a", "arow", "--threshold", "0.05", "--quiet")
    assert load(low).threshold == 0.05
    counts = {}
    for name, words in {"plain": [plain], "low": [low], "given": [plain, "--threshold", "0.05"]}.items():
        counts[name] = succeed("predict", text, "-m", *words).out
    assert counts["plain"] != counts["low"] == counts["given"]
    report = succeed("evaluate", text, "-m", plain, "--threshold", "f2", "--json").json
    assert {"precision", "recall"} <= next(iter(report["labels"].values())).keys()
    assert "between 0 and 1" in fail("predict", text, "-m", plain, "--threshold", "2", status=2)


def test_h18_a_regression_has_no_threshold(text, tmp_path):
    path = tmp_path / "price.npz"
    succeed("train", text, "-m", path, "--task", "regression", "--quiet")
    assert "decides between two labels" in fail("predict", text, "-m", path, "--threshold", "0.3", status=2)
    words = ("train", text, "-m", path, "--task", "regression", "--threshold", "0.3")
    assert "not for --task regression" in fail(*words, status=2)
