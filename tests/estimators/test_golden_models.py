"""Models that earlier releases have saved load, and answer as they did: `golden_models` writes them."""

import json

import numpy as np
import pytest

import cwlearn
from tests.estimators.golden_models import GOLDEN, MODELS, TEXT_MODELS, TEXTS, answers, rows

FILES = sorted(GOLDEN.glob("*/*.npz"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_model_of_an_earlier_release_answers_as_it_did(path, tmp_path):
    expected = json.loads(path.with_name("answers.json").read_text())[path.stem]
    model, X = cwlearn.load(path), TEXTS[:4] if path.stem in TEXT_MODELS else rows()[:4]
    np.testing.assert_allclose(answers(model, X), expected, rtol=1e-12)  # logarithms differ from system to system
    model.save(tmp_path / "again.npz")
    assert answers(cwlearn.load(tmp_path / "again.npz"), X) == answers(model, X)


def test_every_kind_of_model_has_a_file_of_this_release():
    release = cwlearn.__version__.split(".dev")[0]
    assert {path.stem for path in FILES if path.parent.name == release} == {*MODELS, *TEXT_MODELS}
