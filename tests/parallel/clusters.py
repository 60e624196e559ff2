"""Dask clusters on this machine."""

from __future__ import annotations

from contextlib import contextmanager

import pytest


@contextmanager
def local_cluster(workers):
    """A client of a new cluster, with a process for each worker."""
    pytest.importorskip("distributed", reason="Dask is not installed")
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


# Dask itself calls what is deprecated, and leaves sockets open.
ignore_dask_warnings = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
