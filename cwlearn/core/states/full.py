"""The Gaussian with a full covariance: one matrix for each block of weights, changed in place by BLAS.

A row costs a product Sx and a rank-one change of S.  Each passes over one triangle of S; the other triangle stays 0.  A
row of few features needs only its columns of S for the product.

With one triangle, S is always symmetric.  But rounding may cost positive definiteness in a direction whose variance has
fallen to about 1e-16 of others.  No row makes the variance along itself less than FLOOR of the initial one.  If a row
meets a smaller or negative variance all the same, a multiple of the unit matrix is added to S: the model is a little
less confident, S is sound again, and the row is learned from.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dsymm, dsymv, dsyr

from cwlearn.core.rows import Rows
from cwlearn.core.states.base import NONE, Arrays, LinearState, Weights, check_finite, check_layout, check_memory
from cwlearn.core.states.projected import ROW_EFFORT, ProjectedState, View

# No row makes the variance along itself less than this part of the initial one.  It is far above the rounding errors of
# sums in double, about 2^-52 of the largest number.
FLOOR = 2.0**-40
SPARSE = 64  # a product uses single columns if so many times their number is less than all columns
ROWS_AT_ONCE = 256  # rows in one matrix product


class FullState(ProjectedState, LinearState):
    """Mean and covariance by block.  Weight 0 is the intercept, weight j + 1 is feature j."""

    kind: ClassVar[str] = "full"
    arrays_of = ("means", "triangles")

    def __init__(self, n_features: int, blocks: int, initial_variance: float) -> None:
        super().__init__(blocks, initial_variance, FLOOR, np.dtype(np.float64))
        self.means: NDArray[np.float64] = np.empty((blocks, 0))
        self.covariances: NDArray[np.float64] = np.empty((0, 0, blocks), order="F")  # lower triangles
        self.repairs = 0  # how often a variance was lost to rounding
        self.grow(n_features)

    @staticmethod
    def nbytes(n_features: int, blocks: int) -> int:
        """The memory that such a state takes."""
        return blocks * 8 * (n_features + 1) * (n_features + 2)

    def grow(self, n_features: int) -> None:
        old, size = len(self.covariances), n_features + 1
        if size > old:
            bytes_needed = self.nbytes(n_features, self.blocks)
            labels = f" x {self.blocks:,} labels" if self.blocks > 1 else ""
            check_memory(
                bytes_needed, bytes_needed, f"full covariances of {n_features:,} features{labels}", "diagonal ones"
            )
            means = np.zeros((self.blocks, size))
            covariances = np.zeros((size, size, self.blocks), order="F")
            means[:, :old] = self.means
            covariances[:old, :old] = self.covariances
            new = np.arange(old, size)
            covariances[new, new] = self.initial_variance
            self.means, self.covariances = means, covariances

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.means.dtype

    @property
    def n_features(self) -> int:
        return len(self.covariances) - 1

    @property
    def mean(self) -> NDArray[np.float64]:
        return self.means[0] if self.blocks == 1 else self.means.T

    @property
    def variance(self) -> NDArray[np.float64]:
        diagonals = np.diagonal(self.covariances)  # by block
        return diagonals[0] if self.blocks == 1 else diagonals.T

    def effort(self, length: int, constraints: int) -> int:
        return min(self.blocks, constraints + 1) * (ROW_EFFORT + len(self.covariances) ** 2 // 64)

    @property
    def matrix_size(self) -> int:
        return len(self.covariances)

    @property
    def matrices(self) -> list[NDArray[np.float64]]:
        return [self.covariances[:, :, block] for block in range(self.blocks)]

    def covariance(self, block: int) -> NDArray[np.float64]:
        """The symmetric matrix of a block."""
        lower = self.covariances[:, :, block]
        return lower + np.tril(lower, -1).T

    def views(self, rows: Rows, order: list[int], bias: float) -> Iterator[View]:
        view = _RowView(self, bias)
        features = view.x[1:]
        for i in order:
            part = slice(rows.indptr[i], rows.indptr[i + 1])
            columns = rows.indices[part]
            features[columns] = rows.values[part]
            view.look(columns, math.sqrt(rows.squares[i] + bias * bias))
            yield view
            features[columns] = 0

    def margins(
        self, rows: Rows, bias: float, inclusive: bool, only_mean: bool = False
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        only_mean = only_mean and not inclusive
        rows, new_squares = self._without_new_features(rows)
        shape = (rows.n_rows, self.blocks)
        mean, variance = np.empty(shape), np.empty((0, self.blocks) if only_mean else shape)
        with np.errstate(over="ignore", invalid="ignore"):
            self._fill_margins(rows, bias, mean, variance)
        if not only_mean:
            variance += self.initial_variance * new_squares[:, None]
            np.maximum(variance, self.floor * (rows.squares + bias * bias)[:, None], out=variance)
        if inclusive:  # SOP counts the row itself into the correlation matrix; the signs stay the same
            mean /= 1 + variance
        if self.blocks == 1:
            mean, variance = mean[:, 0], variance[:, 0]
        return mean, NONE if only_mean else variance

    def _fill_margins(self, rows: Rows, bias: float, mean: NDArray[np.float64], variance: NDArray[np.float64]) -> None:
        """Fill in means and, unless `variance` is empty, variances, many rows at a time."""
        for start in range(0, rows.n_rows, ROWS_AT_ONCE):
            stop = min(start + ROWS_AT_ONCE, rows.n_rows)
            x = dense(rows.part(start, stop), bias, self.n_features)
            mean[start:stop] = x @ self.means.T
            for block in range(self.blocks) if len(variance) else ():
                products = dsymm(1.0, self.covariances[:, :, block], x.T, lower=1)
                variance[start:stop, block] = np.einsum("ji,ij->i", products, x)

    def _without_new_features(self, rows: Rows) -> tuple[Rows, NDArray[np.float64]]:
        """Rows without features that the state does not have, and the sum of the squares of these, by row."""
        if rows.n_features <= self.n_features:
            return rows, np.zeros(rows.n_rows)
        known = rows.indices < self.n_features
        row_of = np.repeat(np.arange(rows.n_rows), np.diff(rows.indptr))
        ends = np.append(0, np.cumsum(known))[rows.indptr]
        beyond: NDArray[np.float64] = rows.values[~known].astype(np.float64)
        squares: NDArray[Any] = np.bincount(row_of[~known], weights=beyond**2, minlength=rows.n_rows)
        return Rows(ends, rows.indices[known], rows.values[known], rows.squares, self.n_features), squares

    # -- merging -------------------------------------------------------------------------------------------------------

    def natural(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        precisions = np.stack([_inverse(self.covariance(block)) for block in range(self.blocks)], axis=-1)
        return precisions, np.einsum("ijz,zj->iz", precisions, self.means)

    def set_natural(self, precision: NDArray[np.float64], place: NDArray[np.float64]) -> None:
        covariances = np.stack([_inverse(precision[:, :, block]) for block in range(self.blocks)], axis=-1)
        self.set_moments(covariances, np.einsum("ijz,jz->iz", covariances, place))

    def moments(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        covariances = np.stack([self.covariance(block) for block in range(self.blocks)], axis=-1)
        return covariances, self.means.T.copy()

    def set_moments(self, covariance: NDArray[np.float64], mean: NDArray[np.float64]) -> None:
        self.means = np.ascontiguousarray(mean.T)
        for block in range(self.blocks):
            self.covariances[:, :, block] = np.tril(covariance[:, :, block])

    # -- model files ---------------------------------------------------------------------------------------------------

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Triangles are stored column by column, block by block."""
        size = len(self.covariances)
        triangles = np.empty((self.blocks, size * (size + 1) // 2))
        for matrix, triangle in zip(self.matrices, triangles, strict=True):
            pack(matrix, triangle)
        return {"means": self.means, "triangles": triangles}

    def check_layouts(self, n_features: int, arrays: Arrays) -> None:
        size = n_features + 1
        check_layout("mean", arrays["means"], np.float64, (self.blocks, size))
        check_layout("covariance", arrays["triangles"], np.float64, (self.blocks, size * (size + 1) // 2))

    def restored_bytes(self, n_features: int, arrays: Arrays) -> int:
        return self.nbytes(n_features, self.blocks)

    def restore(self, n_features: int, arrays: Arrays) -> None:
        self.check_layouts(n_features, arrays)
        self.grow(n_features)
        variances = self._stored_variances(n_features, arrays)
        for block, j, column in self._columns(n_features, arrays):
            self._check_column(j, column, variances[block])
            self.covariances[j:, j, block] = column
        self.means = self._stored_means(arrays)

    def stored(self, n_features: int, arrays: Arrays) -> Iterator[Weights]:
        self.check_layouts(n_features, arrays)
        means, variances = self._stored_means(arrays), self._stored_variances(n_features, arrays)
        for block, j, column in self._columns(n_features, arrays):
            self._check_column(j, column, variances[block])
        yield Weights(np.arange(means.size), means.T.reshape(-1), variances.T.reshape(-1))

    def _stored_means(self, arrays: Arrays) -> NDArray[np.float64]:
        means = arrays["means"][:]
        check_finite("mean", means)
        return means

    def _stored_variances(self, n_features: int, arrays: Arrays) -> NDArray[np.float64]:
        variances = np.empty((self.blocks, n_features + 1))
        for block, j, column in self._columns(n_features, arrays):
            check_finite("covariance", column)
            variances[block, j] = column[0]
        # Repairs may raise a variance a little above the initial one.
        if not ((variances > 0).all() and (variances <= 2 * self.initial_variance).all()):
            raise ValueError("its variances are not between 0 and the initial variance")
        return variances

    def _columns(self, n_features: int, arrays: Arrays) -> Iterator[tuple[int, int, NDArray[np.float64]]]:
        """The columns of the triangles of a file, from the diagonal down, each after its block and its number."""
        numbers, start = arrays["triangles"].reshape(-1), 0
        for block in range(self.blocks):
            for j in range(n_features + 1):
                stop = start + n_features + 1 - j
                yield block, j, numbers[start:stop]
                start = stop

    def _check_column(self, j: int, column: NDArray[np.float64], variance: NDArray[np.float64]) -> None:
        """Refuse |correlation| > 1, except for rounding."""
        if not (np.abs(column) <= np.sqrt(variance[j]) * np.sqrt(variance[j:]) + self.floor).all():
            raise ValueError(f"its covariances of weight {j} are larger than its variances allow")


class _RowView(View):
    """A row as a dense vector, and its products with the covariances."""

    def __init__(self, state: FullState, bias: float) -> None:
        self._state = state
        self.x = np.zeros(state.n_features + 1)
        self.x[0] = bias
        self._products: dict[int, NDArray[np.float64]] = {}  # Sx by label

    def look(self, columns: NDArray[Any], length: float) -> None:
        """Measure the row in x."""
        self._columns = columns
        self.length = length
        self.means = self._state.means @ self.x
        self._products.clear()

    def variance(self, label: int) -> float:
        S = self._state.covariances[:, :, label]
        product = self._product(S)
        self._products[label] = product
        v = float(self.x @ product)
        least = self._state.floor * self.length * self.length
        if v < least:  # lost to rounding: see the head of this file
            missing = (least - v) / (self.length * self.length)
            S[np.diag_indices(len(S))] += missing
            product += missing * self.x
            self._state.repairs += 1
            return least
        return v

    def _product(self, S: NDArray[np.float64]) -> NDArray[np.float64]:
        size = len(S)
        if SPARSE * len(self._columns) >= size:
            product: NDArray[np.float64] = dsymv(1.0, S, self.x, lower=1)
            return product
        product = np.zeros(size)
        for j in (0, *(self._columns + 1).tolist()):
            product[j:] += self.x[j] * S[j:, j]  # the column, from the diagonal down
            product[:j] += self.x[j] * S[j, :j]  # the row, up to the diagonal
        return product

    def move(self, label: int, along: float, shrink: float) -> None:
        product = self._products[label]
        if shrink:
            dsyr(-shrink, product, lower=1, a=self._state.covariances[:, :, label], overwrite_a=1)
        product *= along  # in place: an allocation could fail here, and leave a row half learned
        self._state.means[label] += product


def _inverse(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """The inverse of a positive definite matrix, exactly symmetric."""
    inverse = np.linalg.inv(matrix)
    return (inverse + inverse.T) / 2


def dense(rows: Rows, bias: float, n_features: int) -> NDArray[np.float64]:
    """Rows as a dense matrix, whose first column is the intercept."""
    x = np.zeros((rows.n_rows, n_features + 1))
    x[:, 0] = bias
    x[np.repeat(np.arange(rows.n_rows), np.diff(rows.indptr)), rows.indices + 1] = rows.values
    return x


def pack(lower: NDArray[np.float64], columns: NDArray[np.float64]) -> None:
    """Write a lower triangle as its columns, one after the other."""
    start = 0
    for j in range(len(lower)):
        columns[start : start + len(lower) - j] = lower[j:, j]
        start += len(lower) - j


def unpack(columns: NDArray[np.float64], lower: NDArray[np.float64]) -> None:
    start = 0
    for j in range(len(lower)):
        lower[j:, j] = columns[start : start + len(lower) - j]
        start += len(lower) - j
