"""The functions that a row passes, from the one that is called to the kernel: few, and none that only forwards."""

from __future__ import annotations

import sys

import pytest

from cwlearn import AROWClassifier
from cwlearn.cli import main as cli
from cwlearn.core.states import diagonal
from tests.cases import random_rows
from tests.text_cases import succeed


@pytest.fixture
def functions_from(monkeypatch):
    """A function that makes a call, and returns the functions of each way from the entry to a kernel."""
    paths = set()

    def recording(kernel):
        def record(*arguments):
            path, frame = [], sys._getframe(1)
            while frame is not None:
                path.append(frame.f_code)
                frame = frame.f_back
            paths.add(tuple(path[::-1]))
            return kernel(*arguments)

        return record

    for name in ("learn_rows", "margin_rows"):
        monkeypatch.setattr(diagonal, name, recording(getattr(diagonal, name)))

    def call(entry, function, *arguments):
        paths.clear()
        function(*arguments)
        return {tuple(code.co_qualname for code in path[path.index(entry.__code__) :]) for path in paths}

    return call


def test_a_row_passes_five_functions_of_fit(functions_from):
    X, y = random_rows()
    model = AROWClassifier()
    paths = functions_from(AROWClassifier.fit, model.fit, X, y)
    assert paths == {("Weighted.fit", "OnlineEstimator._fit", "Learner.train", "Learner.learn", "DiagonalState.learn")}
    paths = functions_from(AROWClassifier.predict, model.predict, X)
    assert paths == {("Classifier.predict", "Model.predictions", "MarginModel.margins", "DiagonalState.margins")}


def test_a_row_passes_seven_functions_of_the_command_that_trains(functions_from, text, tmp_path):
    words = ["train", text, "-m", tmp_path / "m.npz", "-a", "arow", "--epochs", 1]
    paths = functions_from(cli.main, succeed, *words)
    learning = ("Run.train", "Run._learn", "Learner.learn", "DiagonalState.learn")
    assert paths == {("main", "run", "_learn_alone", *learning)}


def test_a_row_passes_five_functions_of_the_command_that_predicts(functions_from, text, model, capsysbinary):
    paths = functions_from(cli.main, succeed, "predict", text, "-m", model)
    assert paths == {("main", "run", "_predict", "MarginModel.margins", "DiagonalState.margins")}
