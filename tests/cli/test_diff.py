"""`cwlearn diff`: which weights moved, and which answers changed."""

from __future__ import annotations

import json

import numpy as np
import pytest

from cwlearn import AROWClassifier, AROWRegressor, load
from tests.text_cases import fail, succeed


@pytest.fixture
def models(tmp_path):
    """A model, and the same after more rows that contradict it."""
    X = np.eye(4)[[0, 1, 2, 3] * 3]
    model = AROWClassifier(random_state=0).partial_fit(X, [0, 1] * 6, classes=[0, 1])
    model.save(tmp_path / "old.npz")
    model.partial_fit(np.eye(4)[[2] * 9], [1] * 9)
    model.save(tmp_path / "new.npz")
    return tmp_path / "old.npz", tmp_path / "new.npz"


def rows_file(tmp_path):
    path = tmp_path / "rows.svm"
    path.write_text("0 0:1\n1 1:1\n1 2:1\n# a comment\n0 0:1 7:1\n1 2:2\n")
    return path


def test_weights_are_ranked_by_deviations_of_the_old_model(models):
    facts = json.loads(succeed("diff", *models, "--json", "--top", 2).out)
    old, new = map(load, models)
    before = np.append(old.intercept_, old.coef_[0]).astype(float)
    after = np.append(new.intercept_, new.coef_[0]).astype(float)
    deviations = np.sqrt(np.append(old._learner.state.variance[0], old.variance_[0]).astype(float))
    moves = (after - before) / deviations
    order = np.argsort(-np.abs(moves))[:2]
    assert [item["feature"] for item in facts["weights"]] == [None if k == 0 else k - 1 for k in order.tolist()]
    assert [item["deviations"] for item in facts["weights"]] == pytest.approx(moves[order])
    assert [item["new"] for item in facts["weights"]] == pytest.approx(after[order])
    assert facts["weights_moved"] == np.count_nonzero(moves)
    assert facts["mean_deviations"] == pytest.approx(np.sqrt(np.mean(moves[moves != 0] ** 2)))
    assert facts["rows_learned"] == [12, 21]
    assert facts["rows"] is None


def test_rows_whose_label_changed_are_named(models, tmp_path):
    path = rows_file(tmp_path)
    facts = json.loads(succeed("diff", *models, path, "--json", "-q").out)
    labels = [succeed("predict", path, "-m", model, "-q").out.split() for model in models]
    changed = [row for row, (old, new) in enumerate(zip(*labels, strict=True)) if old != new]
    assert (facts["rows"], facts["changed"]) == (5, len(changed))
    assert changed
    lines = [1, 2, 3, 5, 6]
    assert [item["line"] for item in facts["changes"]] == [lines[row] for row in changed]
    assert {(item["old"], item["new"]) for item in facts["changes"]} == {("0", "1")}
    out = succeed("diff", *models, path, "--top", 1, "-q").out
    assert f"{len(changed)} of 5 rows have another label now" in out
    assert f"{path}:{lines[changed[0]]}: 0 " in out
    assert ("more" in out) == (len(changed) > 1)


def test_a_model_does_not_differ_from_itself(models, tmp_path):
    out = succeed("diff", models[0], models[0], rows_file(tmp_path), "-q").out
    assert "0 moved" in out
    assert "0 of 5 rows" in out


def test_models_of_different_size_and_of_several_labels_are_compared(tmp_path):
    paths = []
    for size in (3, 5):
        X, y = size * np.eye(size), np.arange(size) % 3
        AROWClassifier(random_state=0).partial_fit(X, y, classes=[0, 1, 2]).save(tmp_path / f"{size}.npz")
        paths.append(tmp_path / f"{size}.npz")
    facts = json.loads(succeed("diff", *paths, "--json", "--top", 50).out)
    assert {item["feature"] for item in facts["weights"]} == {None, 0, 1, 2, 3, 4}
    assert {(item["feature"] is None, item["name"] == "(intercept)") for item in facts["weights"]} == {
        (True, True), (False, False)
    }  # fmt: skip
    assert {item["label"] for item in facts["weights"]} == {"0", "1", "2"}


def test_models_that_cannot_be_compared_are_refused(models, tmp_path):
    other = tmp_path / "other.npz"
    AROWClassifier(random_state=0).fit(np.eye(4), [5, 6, 5, 6]).save(other)
    assert "differ in their labels" in fail("diff", models[0], other)
    AROWRegressor(random_state=0).fit(np.eye(4), [5, 6, 5, 6]).save(other)
    assert "differ in their task" in fail("diff", models[0], other)
    assert "none that could change" in fail("diff", other, other, rows_file(tmp_path), status=2)
    assert "0 moved" in succeed("diff", other, other).out
