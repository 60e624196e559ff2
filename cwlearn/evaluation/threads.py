"""Threads of trials that run side by side, one for each core."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import threadpool_limits


@contextmanager
def one_core_each() -> Iterator[None]:
    """Around all threads that fit: let each use one thread of BLAS, and keep scikit-learn's warnings quiet.

    The warnings say that iterations did not suffice; the errors in the table show it, too.
    """
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.filterwarnings("ignore", module="sklearn")
        yield


def limit_openmp() -> None:
    """Let this thread start no others by OpenMP, whose limit, unlike that of BLAS, holds for one thread only."""
    threadpool_limits(1, user_api="openmp")
