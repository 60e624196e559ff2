"""Displays draw what the model says."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import coo_matrix
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler
from sklearn.svm import LinearSVC

import cwlearn as package

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

from cwlearn.displays import LearningCurveDisplay, ReliabilityDisplay, WeightsDisplay  # noqa: E402


@pytest.fixture(scope="module")
def data():
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X), y


@pytest.fixture(autouse=True)
def closed():
    yield
    matplotlib.pyplot.close("all")


def test_a_learning_curve_ends_with_all_rows(data):
    X, y = data
    model = package.AROWClassifier()
    display = LearningCurveDisplay.from_estimator(model, X[:400], y[:400], test=(X[400:], y[400:]), random_state=0)
    assert display.rows[-1] == 400
    assert (np.diff(display.rows) > 0).all()
    order = np.random.RandomState(0).permutation(400)
    whole = package.AROWClassifier().partial_fit(X[:400][order], y[:400][order], classes=[0, 1])
    assert display.progressive_error[-1] == whole._learner.statistics["mistakes"] / 400
    assert display.test_error[-1] == pytest.approx(1 - whole.score(X[400:], y[400:]))
    assert display.line_.get_ydata().tolist() == display.progressive_error.tolist()
    axes = display.ax_
    assert (axes.get_xscale(), axes.get_xlabel(), axes.get_ylabel()) == ("log", "rows seen", "error")
    assert axes.get_ylim()[0] == 0
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["AROWClassifier", "AROWClassifier, test"]
    assert not hasattr(model, "classes_")


def test_a_learning_curve_of_a_pipeline_is_that_of_its_last_step(data):
    X, y = load_breast_cancer(return_X_y=True)
    pipeline = make_pipeline(StandardScaler(), package.CWClassifier(confidence=0.7))
    drawn = LearningCurveDisplay.from_estimator(pipeline, X, y, test=(X[:90], y[:90]), random_state=0)
    scaled = data[0]
    expected = LearningCurveDisplay.from_estimator(pipeline[-1], scaled, y, test=(scaled[:90], y[:90]), random_state=0)
    assert drawn.progressive_error.tolist() == expected.progressive_error.tolist()
    assert drawn.test_error.tolist() == expected.test_error.tolist()
    assert drawn.name == "CWClassifier"
    assert not hasattr(pipeline[0], "scale_")
    alone = LearningCurveDisplay.from_estimator(make_pipeline(pipeline[-1]), scaled, y, random_state=0)
    assert alone.progressive_error.tolist() == expected.progressive_error.tolist()


def test_a_learning_curve_of_a_pipeline_takes_texts():
    texts, labels = ["good film", "bad film", "very good", "so bad"] * 10, [1, 0] * 20
    pipeline = make_pipeline(package.HashingVectorizer(n_features=2**10), package.AROWClassifier())
    display = LearningCurveDisplay.from_estimator(pipeline, texts, labels, test=(texts, labels), random_state=0)
    assert display.test_error[-1] == 0
    with pytest.raises(TypeError, match="a pipeline that ends with one"):
        LearningCurveDisplay.from_estimator(make_pipeline(StandardScaler(), LinearSVC()), np.eye(2), [0, 1])


@pytest.mark.parametrize("estimator", [package.CWClassifier(), package.PerceptronClassifier()])
def test_weights_are_the_heaviest_ones_with_their_deviations(data, estimator):
    model = estimator.fit(*data)
    display = WeightsDisplay.from_estimator(model, top=5)
    heaviest = np.argsort(-np.abs(model.coef_[0]), kind="stable")[:5]
    assert display.names == [str(j) for j in heaviest]
    assert display.weights.tolist() == model.coef_[0][heaviest].tolist()
    if isinstance(model, package.CWClassifier):
        np.testing.assert_allclose(display.deviations, np.sqrt(model.variance_[0][heaviest]))
    else:
        assert display.deviations is None
    named = WeightsDisplay.from_estimator(model, top=2, feature_names=load_breast_cancer().feature_names)
    assert named.names[0] == load_breast_cancer().feature_names[heaviest[0]]
    assert [text.get_text() for text in named.ax_.get_yticklabels()] == named.names


def test_weights_of_one_of_several_labels(iris):
    model = package.AROWClassifier(random_state=0).fit(*iris)
    display = WeightsDisplay.from_estimator(model, label="virginica")
    assert sorted(display.weights.tolist()) == sorted(model.coef_[2].tolist())
    with pytest.raises(ValueError, match=r"`label` must be one of .*'virginica'.*, got 'rose'"):
        WeightsDisplay.from_estimator(model, label="rose")


def test_weights_of_several_labels_are_the_heaviest_of_all(iris):
    model = package.AROWClassifier(random_state=0).fit(*iris)
    display = WeightsDisplay.from_estimator(model, top=5)
    heaviest = np.argsort(-np.abs(model.coef_.ravel()), kind="stable")[:5]
    assert display.weights.tolist() == model.coef_.ravel()[heaviest].tolist()
    assert display.names == [f"{place % 4} ({model.classes_[place // 4]})" for place in heaviest]
    np.testing.assert_allclose(display.deviations, np.sqrt(model.variance_.ravel()[heaviest]))
    several = package.MultiLabelClassifier(package.AROWClassifier(random_state=0)).fit(
        iris[0], np.eye(3)[[0, 1, 2] * 50]
    )
    assert all(name.endswith(("(0)", "(1)", "(2)")) for name in WeightsDisplay.from_estimator(several, top=3).names)


def test_weights_of_a_pipeline_have_the_names_that_its_steps_give():
    frame = load_breast_cancer(as_frame=True)
    pipeline = make_pipeline(StandardScaler(), package.AROWClassifier(random_state=0)).fit(frame.data, frame.target)
    display = WeightsDisplay.from_estimator(pipeline, top=3)
    assert display.names == [frame.feature_names[j] for j in np.argsort(-np.abs(pipeline[-1].coef_[0]))[:3]]
    longer = make_pipeline(StandardScaler(), Normalizer(), package.AROWClassifier(random_state=0))
    longer.fit(frame.data, frame.target)
    display = WeightsDisplay.from_estimator(longer, top=3)
    assert display.names == [frame.feature_names[j] for j in np.argsort(-np.abs(longer[-1].coef_[0]))[:3]]
    hashed = make_pipeline(package.HashingVectorizer(n_features=64), package.AROWClassifier(random_state=0))
    hashed.fit(["good film", "bad film"] * 5, [1, 0] * 5)
    assert WeightsDisplay.from_estimator(hashed, top=2).names == [
        str(j) for j in np.argsort(-np.abs(hashed[-1].coef_[0]), kind="stable")[:2]
    ]
    with pytest.raises(TypeError, match="a pipeline that ends with one, got LinearSVC"):
        WeightsDisplay.from_estimator(LinearSVC())


def test_weights_of_a_text_classifier_are_words(tmp_path):
    texts, labels = ["good film", "bad film"] * 10, [1, 0] * 10
    model = package.TextClassifier(package.AROWClassifier(random_state=0)).fit(iter(texts), labels)
    assert set(WeightsDisplay.from_estimator(model, top=4).names) == {"good", "bad", "good film", "bad film"}
    model.save(tmp_path / "m.npz")
    loaded = package.load(tmp_path / "m.npz")
    assert "good" in WeightsDisplay.from_estimator(make_pipeline(loaded), top=4).names


@pytest.mark.parametrize("estimator", [package.LogisticClassifier(), LogisticRegression()])
def test_reliability_compares_what_was_said_with_what_was_right(data, estimator):
    X, y = data
    model = estimator.fit(X[:300], y[:300])
    figure, ax = matplotlib.pyplot.subplots()
    display = ReliabilityDisplay.from_estimator(model, X[300:], y[300:], ax=ax, name="ours", line_kw={"marker": "x"})
    assert display.ax_ is ax
    assert display.figure_ is figure
    assert display.rows.sum() == len(y) - 300
    right = np.mean(model.predict(X[300:]) == y[300:])
    assert (display.correct * display.rows).sum() / display.rows.sum() == pytest.approx(right)
    assert display.line_.get_label() == "ours"
    assert display.line_.get_marker() == "x"


def test_weights_of_a_regression(data):
    model = package.AROWRegressor().fit(*data)
    display = WeightsDisplay.from_estimator(model, top=3, bar_kw={"height": 0.5})
    assert len(display.weights) == 3
    assert [bar.get_height() for bar in display.bars_] == [0.5] * 3


def test_arguments_that_do_not_fit_are_refused(data):
    X, y = data
    model = package.AROWClassifier().fit(X, y)
    with pytest.raises(ValueError, match="`label` is for models of more than two labels"):
        WeightsDisplay.from_estimator(model, label="nonsense")
    with pytest.raises(ValueError, match="`feature_names` must be 30 names, got 1"):
        WeightsDisplay.from_estimator(model, feature_names=["a"])
    for display in (LearningCurveDisplay, ReliabilityDisplay):
        with pytest.raises(ValueError, match="y must have one label for each of 569 rows"):
            display.from_estimator(model, X, y[:-1])
    LearningCurveDisplay.from_estimator(model, coo_matrix(X), y)


def test_estimators_without_what_is_drawn_are_refused(data):
    with pytest.raises(TypeError, match="expected a linear estimator of cwlearn"):
        WeightsDisplay.from_estimator(LogisticRegression())
    with pytest.raises(TypeError, match="has predict_proba"):
        ReliabilityDisplay.from_estimator(LinearSVC().fit(*data), *data)
    with pytest.raises(TypeError, match="expected a classifier of cwlearn"):
        LearningCurveDisplay.from_estimator(package.AROWRegressor(), *data)
    model = package.AROWClassifier().fit(*data)
    with pytest.raises(ValueError, match=r"y has the labels \[7\]"):
        ReliabilityDisplay.from_estimator(model, data[0], np.full(len(data[1]), 7))
