"""Rows that a kernel machine keeps: columns and values, one by one or as a matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from cwlearn.core.rows import Rows
from cwlearn.core.states.base import NONE

NO_COLUMNS = np.empty(0, np.int64)

Row = tuple[NDArray[np.int64], NDArray[np.float64]]  # columns and values


def row_of(rows: Rows, i: int) -> Row:
    """Columns and values of one row.  Zeros are left out, so that equal rows have equal bytes."""
    part = slice(rows.indptr[i], rows.indptr[i + 1])
    columns, values = rows.indices[part].astype(np.int64), rows.values[part].astype(np.float64)
    nonzero = values != 0
    return (columns, values) if nonzero.all() else (columns[nonzero], values[nonzero])


def csr_of(rows: list[Row], width: int) -> Any:
    """Rows as a matrix."""
    bounds = np.cumsum([0, *(len(columns) for columns, _ in rows)])
    columns = np.concatenate([NO_COLUMNS, *(columns for columns, _ in rows)])
    values = np.concatenate([NONE, *(values for _, values in rows)])
    return csr_matrix((values, columns, bounds), shape=(len(rows), width))


def check_kept_rows(indptr: NDArray[np.int64], indices: NDArray[np.int64], n_features: int) -> None:
    """Refuse bounds and columns of a model file that are not those of sound rows."""
    if indptr[0] != 0 or not (indptr[1:] >= indptr[:-1]).all():
        raise ValueError("its kept rows do not fit its state")
    if len(indices) and not (indices.min() >= 0 and indices.max() < n_features):
        raise ValueError("its kept rows have columns that are not features")
    first_of_row = np.zeros(len(indices) + 1, bool)
    first_of_row[indptr] = True
    if not (first_of_row[1:-1] | (indices[1:] > indices[:-1])).all():
        raise ValueError("its kept rows have columns that do not rise")
