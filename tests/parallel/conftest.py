"""A Dask cluster for the tests of this folder."""

from __future__ import annotations

import pytest

from tests.parallel.clusters import local_cluster


@pytest.fixture(scope="module")
def client():
    """A client of two worker processes."""
    with local_cluster(2) as client:
        yield client
