"""Data and a comparison that the tests of this room share."""

from __future__ import annotations

import pytest

from cwlearn import evaluation
from tests.cases import word_counts
from tests.evaluation.cases import FEW


@pytest.fixture(scope="session")
def data():
    return word_counts()


@pytest.fixture(scope="session")
def comparison(data):
    return evaluation.compare(*data, algorithms=FEW, folds=4, epochs=3)
