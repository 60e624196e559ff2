"""Checked rows: every matrix becomes `Rows` before native code reads it.

SciPy matrices are read by their attributes, each once, so this module does not import SciPy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cwlearn.errors import DataError
from cwlearn.native import check_rows


@dataclass(frozen=True, eq=False, repr=False)
class Rows:
    """Sound CSR rows: `indptr` rises from 0 to nnz, columns rise strictly within a row, values are finite."""

    indptr: NDArray[np.int64]  # a private copy: the caller cannot change the bounds during a pass
    indices: NDArray[Any]  # int32 or int64
    values: NDArray[Any]  # float32 or float64
    squares: NDArray[np.float64]  # squared length of each row
    n_features: int
    weights: NDArray[np.float64] | None = None  # of the loss of each row; None: all are 1
    extras: NDArray[Any] | None = None  # what is added to the values once frequencies have weighed them; None: nothing

    @property
    def n_rows(self) -> int:
        return len(self.squares)

    def part(self, start: int, stop: int) -> Rows:
        """The rows from `start` to `stop`."""
        first, last = self.indptr[start], self.indptr[stop]
        return Rows(
            self.indptr[start : stop + 1] - first,
            self.indices[first:last],
            self.values[first:last],
            self.squares[start:stop],
            self.n_features,
            None if self.weights is None else self.weights[start:stop],
            None if self.extras is None else self.extras[first:last],
        )

    def where(self, keep: NDArray[np.bool_]) -> Rows:
        """Some of the rows."""
        lengths = np.diff(self.indptr)
        entries = np.repeat(keep, lengths)
        return Rows(
            np.append(0, np.cumsum(lengths[keep])),
            self.indices[entries],
            self.values[entries],
            self.squares[keep],
            self.n_features,
            None if self.weights is None else self.weights[keep],
            None if self.extras is None else self.extras[entries],
        )

    @property
    def longest(self) -> int:
        if self.n_rows == 1:  # a row that comes alone must not wait for NumPy
            return len(self.indices)
        return int(np.diff(self.indptr).max(initial=0))


def as_rows(X: Any, dtype: np.dtype[Any], *, n_features: int | None = None) -> Rows:
    """Check X, a sparse matrix or a 2-D array, and convert it to `dtype`; the caller's arrays are not written to."""
    if hasattr(X, "tocsr"):
        indptr, indices, values, shape = _csr_parts(X)
    else:
        indptr, indices, values, shape = _dense_parts(X)
    if n_features is not None and shape[1] != n_features:
        raise DataError(f"X has {shape[1]} features, but {n_features} were expected")
    return _checked(indptr, indices, values, shape, dtype)


def _csr_parts(X: Any) -> tuple[Any, Any, Any, tuple[int, int]]:
    shape = X.shape
    if len(shape) != 2:
        raise DataError(f"expected a matrix with 2 dimensions, got {len(shape)}")
    if X.format == "coo":
        return *_coo_parts(X), (int(shape[0]), int(shape[1]))
    if X.format != "csr":
        _check_before_conversion(X)
        try:
            X = X.tocsr()
        except (IndexError, TypeError, ValueError) as error:
            raise DataError(f"malformed {X.format.upper()} matrix: {error}") from None
    return X.indptr, X.indices, X.data, (int(shape[0]), int(shape[1]))


def _coo_parts(X: Any) -> tuple[Any, Any, Any]:
    """The rows of a COO matrix, without adding duplicate entries.

    SciPy would add them in their own type, where 100 + 100 may be -56, and in an unspecified order.
    """
    places = []
    for name, given, size in zip(("row", "column"), (X.row, X.col), X.shape, strict=True):
        numbers = _integers(given, f"{name} indices")
        if len(numbers) != len(X.data):
            raise DataError(f"COO matrix has {len(numbers)} {name} indices for {len(X.data)} values")
        bad = np.flatnonzero((numbers < 0) | (numbers >= size))
        if len(bad):
            raise DataError(f"entry {bad[0]}: {name} index {numbers[bad[0]]} is not between 0 and {size - 1}")
        places.append(numbers)
    rows, columns = places
    values = np.asarray(X.data)
    if (rows[1:] < rows[:-1]).any():
        order = np.argsort(rows, kind="stable")
        rows, columns, values = rows[order], columns[order], values[order]
    indptr = np.zeros(X.shape[0] + 1, np.int64)
    np.cumsum(np.bincount(rows.astype(np.int64, copy=False), minlength=X.shape[0]), out=indptr[1:])
    return indptr, columns, values


def _check_before_conversion(X: Any) -> None:
    """Refuse broken arrays: SciPy converts in C++ without checks, and would crash the interpreter."""
    if X.format == "csc":
        _sound(X.indptr, X.indices, X.data, X.shape[::-1], np.dtype(np.float64), "column")
    elif X.format == "lil":
        if not len(X.rows) == len(X.data) == X.shape[0]:
            raise DataError(f"LIL matrix has {len(X.rows)} lists of columns and {len(X.data)} of values")
        for row, (columns, values) in enumerate(zip(X.rows, X.data, strict=True)):
            if len(columns) != len(values):
                raise DataError(f"row {row}: LIL matrix has {len(columns)} columns and {len(values)} values")
    elif X.format == "bsr":
        try:  # a new matrix, because the check may shorten its arrays
            type(X)((X.data, X.indices, X.indptr), shape=X.shape).check_format(full_check=True)
        except (IndexError, ValueError) as error:
            raise DataError(f"malformed BSR matrix: {error}") from None


def _dense_parts(X: Any) -> tuple[Any, Any, Any, tuple[int, int]]:
    array = np.asarray(X)
    if array.ndim != 2:
        raise DataError(f"expected a matrix with 2 dimensions, got {array.ndim}")
    n_rows, n_features = array.shape
    flat = np.flatnonzero(array)
    indptr = np.zeros(n_rows + 1, np.int64)
    np.cumsum(np.count_nonzero(array, axis=1), out=indptr[1:])
    indices = (flat % max(n_features, 1)).astype(np.int32 if n_features < 2**31 else np.int64)
    return indptr, indices, array.ravel()[flat], (n_rows, n_features)


def _integers(given: Any, name: str) -> NDArray[Any]:
    array: NDArray[Any] = np.asarray(given)
    if array.ndim != 1:
        raise DataError(f"{name} must have 1 dimension, got {array.ndim}")
    if array.dtype.kind not in "iu":
        raise DataError(f"{name} must be integers, got {array.dtype}")
    if array.dtype.kind == "u" and len(array) and array.max() > np.iinfo(np.int64).max:
        raise DataError(f"{name} holds {array.max()}, more than a 64-bit signed integer")
    return array


def _floats(array: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
    array = np.asarray(array)
    if array.ndim != 1:
        raise DataError(f"values must have 1 dimension, got {array.ndim}")
    if array.dtype.kind not in "biuf":
        raise DataError(f"values must be real numbers, got {array.dtype}")
    with np.errstate(over="ignore", invalid="ignore"):  # overflow and NaN are reported later, with their place
        numbers: NDArray[Any] = np.require(array, dtype, ["C", "A"])
    return numbers


def _sound(
    indptr: Any, indices: Any, values: Any, shape: tuple[int, int], dtype: np.dtype[Any], what: str
) -> tuple[Rows, bool]:
    """Rows whose bounds and columns are sound, and whether columns rise strictly.  Values may not be finite yet."""
    n_rows, n_features = shape
    if n_rows < 0 or n_features < 0:
        raise DataError(f"a matrix cannot have the shape {shape}")
    bounds = np.array(_integers(indptr, "indptr"), np.int64)
    columns = _integers(indices, "indices")
    if columns.dtype not in (np.dtype(np.int32), np.dtype(np.int64)) or not columns.dtype.isnative:
        columns = columns.astype(np.int64)
    columns = np.require(columns, None, ["C", "A"])
    numbers = _floats(values, dtype)
    if len(bounds) != n_rows + 1:
        raise DataError(f"indptr must have {n_rows + 1} entries for {n_rows} {what}s, got {len(bounds)}")
    if bounds[0] != 0:
        raise DataError(f"indptr must begin with 0, got {bounds[0]}")
    if len(columns) != len(numbers):
        raise DataError(f"indices and values must have the same length, got {len(columns)} and {len(numbers)}")
    falling = np.flatnonzero(np.diff(bounds) < 0)
    if len(falling):
        row = falling[0]
        raise DataError(f"{what} {row}: indptr falls from {bounds[row]} to {bounds[row + 1]}")
    if bounds[-1] != len(numbers):
        row = min(int(np.searchsorted(bounds, len(numbers), side="right")), n_rows) - 1
        raise DataError(f"{what} {row}: indptr ends at {bounds[-1]}, but there are {len(numbers)} values")

    squares = np.empty(n_rows)
    outside, canonical = check_rows(squares, bounds, columns, numbers, n_features)
    if outside >= 0:
        inside = columns[bounds[outside] : bounds[outside + 1]]
        first = inside[(inside < 0) | (inside >= n_features)][0]
        raise DataError(f"{what} {outside}: index {first} is not between 0 and {n_features - 1}")
    return Rows(bounds, columns, numbers, squares, n_features), canonical


def _checked(indptr: Any, indices: Any, values: Any, shape: tuple[int, int], dtype: np.dtype[Any]) -> Rows:
    given = np.asarray(values)
    rows, canonical = _sound(indptr, indices, given, shape, dtype, "row")
    if not np.isfinite(rows.squares).all():
        raise DataError(_not_finite(rows, given))
    return rows if canonical else _canonical(rows)


def _not_finite(rows: Rows, given: NDArray[Any]) -> str:
    """A message about the first value that is not finite, beginning with the words of scikit-learn."""
    row = int(np.flatnonzero(~np.isfinite(rows.squares))[0])
    places = np.arange(rows.indptr[row], rows.indptr[row + 1])
    bad = places[~np.isfinite(rows.values[places])]
    if not len(bad):
        return f"row {row}: the squares of its values add up to infinity: bring the features to another scale"
    place = bad[0]
    where = f"row {row}, column {rows.indices[place]}"
    if np.isfinite(given[place]):
        return f"Input X contains infinity or a value too large for {rows.values.dtype}: {where} is {given[place]}"
    kind = "NaN" if np.isnan(given[place]) else "infinity or a value too large"
    return f"Input X contains {kind}: {where} is {given[place]}"


def _canonical(rows: Rows) -> Rows:
    """A copy with sorted columns; values of equal columns are added, as by SciPy's sum_duplicates."""
    row_of = np.repeat(np.arange(rows.n_rows), np.diff(rows.indptr))
    order = np.lexsort((rows.indices, row_of))
    row_of, columns, values = row_of[order], rows.indices[order], rows.values[order]
    first = np.ones(len(order), bool)
    first[1:] = (row_of[1:] != row_of[:-1]) | (columns[1:] != columns[:-1])
    starts = np.flatnonzero(first)
    indptr = np.zeros(rows.n_rows + 1, np.int64)
    np.cumsum(np.bincount(row_of[starts], minlength=rows.n_rows), out=indptr[1:])
    summed = np.add.reduceat(values.astype(np.float64), starts) if len(starts) else values
    return _checked(indptr, columns[starts], summed, (rows.n_rows, rows.n_features), rows.values.dtype)
