"""For all tests: some text, a model of it, a data set of three labels, and signals that mean what they usually mean."""

import os
import signal

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.preprocessing import StandardScaler

from tests.text_cases import random_text, succeed

os.environ.pop("OMP_NUM_THREADS", None)  # which would be the share of every worker
# Whoever started us (nohup, a script) may ignore some, and children inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture
def text(tmp_path):
    """A small svmlight file."""
    path = tmp_path / "data.svm"
    path.write_text(random_text(), newline="")
    return path


@pytest.fixture
def files(tmp_path):
    """Eight files, among which the lines of a text are divided."""
    lines = (random_text() * 8).splitlines(keepends=True)
    paths = [tmp_path / f"part-{number}.svm" for number in range(8)]
    for number, path in enumerate(paths):
        path.write_text("".join(lines[number::8]), newline="")
    return paths


@pytest.fixture
def model(text, tmp_path):
    """The file of a model that was trained on it."""
    path = tmp_path / "model.npz"
    succeed("train", text, "-m", path, "-a", "arow", "--quiet")
    return path


@pytest.fixture(scope="session")
def iris():
    """Scaled features, and names for labels."""
    X, y = load_iris(return_X_y=True)
    return StandardScaler().fit_transform(X), np.array(["setosa", "versicolor", "virginica"])[y]
