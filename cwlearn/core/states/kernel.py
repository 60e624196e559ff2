"""The Gaussian in the dual form of the representer theorems (N8 theorem 2, A9 lemma 1), for any kernel.

The state keeps the rows that caused an update and, for each block of weights, coefficients nu and a matrix Psi:

    mu = X'nu,   S = a I + X'Psi X      so that      mu.x = nu.k,   x'Sx = a K(x, x) + k'Psi k,   k = K(X, x)

In these terms Sx = a x + X'(Psi k) has the coefficients Psi k on the kept rows, and a on x itself, which is kept from
now on.  An intercept is a feature that is always 1, so it adds 1 to the kernel.

No row is kept twice.  To forget row i means to take out what it added to the natural parameters S^-1 and S^-1 mu, as if
it had never been learned from.  With S^-1 = I/a + X'GX, G diagonal, this is the inverse of Woodbury's formula:

    nu -= Psi_i nu_i / Psi_ii,   Psi -= Psi_i Psi_i' / Psi_ii      so that line and column i are 0, and S has grown

The mean then fits what was learned worse by nu_i^2 / |Psi_ii| (as in sparse online Gaussian processes: Csato, Opper,
"Sparse On-Line Gaussian Processes", 2002).  Beyond a budget, the row with the smallest such loss is forgotten.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dsymm, dsymv, dsyr
from sklearn.metrics.pairwise import pairwise_kernels

from cwlearn.core.kernel_options import KernelOptions
from cwlearn.core.rows import Rows
from cwlearn.core.states.base import NONE, Arrays, check_finite, check_layout, check_memory
from cwlearn.core.states.coefficients import Coefficients, coefficients_bytes, triangle_size
from cwlearn.core.states.kept_rows import NO_COLUMNS, Row, check_kept_rows, csr_of, row_of
from cwlearn.core.states.projected import ROW_EFFORT, ProjectedState, View
from cwlearn.errors import DataError, listed

# No row makes the variance along itself less than this part of the initial one.  The variance is a sum of numbers as
# large as the initial one, however small it gets, and the more confident a row, the larger its entries in Psi.  So the
# limit is higher than that of `full`: Psi can grow to about 2^20, far from where rounding would matter.
FLOOR = 2.0**-20
ROWS_AT_ONCE = 128  # rows whose kernels are computed together
TAKE_CSR = ("cosine", "laplacian", "linear", "poly", "polynomial", "rbf", "sigmoid")
TINY = 1e-100
INDEFINITE = 1e-3  # rounding never makes a variance as negative as this part of the initial one
FEW_FEATURES = 1024  # matrices with at most so many columns are always dense
DENSE = 0.1  # others are dense if at least this part of their values is not 0
ROW_BYTES = 1024  # memory of a kept row beside its numbers: Python objects


class KernelState(ProjectedState):
    """Kept rows, and their coefficients by block."""

    kind: ClassVar[str] = "kernel"
    arrays_of = (
        "gamma", "priors", "indptr", "indices", "values", "counts", "members", "coefficients", "triangles",
    )  # fmt: skip

    def __init__(self, n_features: int, blocks: int, initial_variance: float, options: KernelOptions) -> None:
        super().__init__(blocks, initial_variance, FLOOR, np.dtype(np.float64))
        self.options = options
        self.gamma: float | None = None  # None until the first rows are known
        self.kept: list[Row] = []  # columns and values
        self.by_block = [Coefficients(self.initial_variance) for _ in range(blocks)]
        self._n_features = n_features
        self._keys: list[bytes] = []  # digests of the kept rows
        self._numbers: dict[bytes, int] = {}  # numbers of the kept rows, by key

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(np.float64)

    @property
    def n_features(self) -> int:
        return self._n_features

    def grow(self, n_features: int) -> None:
        self._n_features = max(n_features, self._n_features)

    def effort(self, length: int, constraints: int) -> int:
        largest = max(block.n for block in self.by_block)
        return len(self.kept) * length + min(self.blocks, constraints + 1) * (ROW_EFFORT + largest**2 // 64)

    @property
    def matrix_size(self) -> int:
        return max(len(block.nu) for block in self.by_block)

    @property
    def matrices(self) -> list[NDArray[np.float64]]:
        return [block.psi for block in self.by_block]

    def reconfigure(self, kernel: KernelOptions | None) -> None:
        assert kernel is not None
        self.options = kernel

    # -- kernels -------------------------------------------------------------------------------------------------------

    def _matrices(self, rows: list[Row], width: int) -> tuple[Any, Any]:
        """Rows and the kept rows as matrices: both CSR, if they are sparse and the kernel takes CSR, or both dense.

        A row of text or a model file may have a column far above all others.  So columns are counted anew where there
        are more of them than values: time and memory do not depend on the largest one.
        """
        kernel = self.options.kernel
        values = sum(len(values) for _, values in rows)
        sparse = kernel in TAKE_CSR and width > FEW_FEATURES and values < DENSE * len(rows) * width
        kept = self.kept
        if width > values + sum(len(values) for _, values in kept) and (
            sparse or not (callable(kernel) or kernel in TAKE_CSR)
        ):
            used = np.unique(np.concatenate([NO_COLUMNS, *(columns for columns, _ in (*rows, *kept))]))
            rows, kept = ([(np.searchsorted(used, columns), v) for columns, v in some] for some in (rows, kept))
            width = max(1, len(used))
        x, y = (csr_of(some, width) for some in (rows, kept))
        if sparse:
            return x, y
        size = 8 * width * (len(rows) + len(kept))
        check_memory(size, size, f"{len(rows) + len(kept):,} rows of {width:,} features", "sparse kernels")
        return x.toarray(), y.toarray()

    def gram(self, A: Any, B: Any, bias: float) -> NDArray[np.float64]:
        """The kernels of the rows of two matrices, plus what the intercept adds."""
        options = self.options
        if not (A.shape[0] and B.shape[0]):
            return np.empty((A.shape[0], B.shape[0]))
        if callable(options.kernel):
            returned = options.kernel(A, B)
            kernels = np.asarray(returned.toarray() if hasattr(returned, "toarray") else returned, np.float64)
            expected = (A.shape[0], B.shape[0])
            if kernels.shape != expected:
                raise DataError(f"the kernel returned an array of shape {kernels.shape} instead of {expected}")
        else:
            with np.errstate(over="ignore", invalid="ignore"):
                kernels = pairwise_kernels(
                    A,
                    B,
                    options.kernel,
                    filter_params=True,
                    gamma=1 / max(1, self.n_features) if self.gamma is None else self.gamma,
                    degree=options.degree,
                    coef0=options.coef0,
                )
        if not np.isfinite(kernels).all():
            raise DataError(f"the kernel {options.kernel!r} gives numbers that are not finite for these rows")
        return np.asarray(kernels, np.float64) + bias * bias

    def begin(self, rows: Rows) -> None:
        """Choose gamma from the first rows, as scikit-learn's SVC does."""
        gamma = self.options.gamma
        if self.gamma is None:
            if gamma == "scale":
                cells = max(1, rows.n_rows * rows.n_features)
                mean = rows.values.sum(dtype=np.float64) / cells
                squares = ((rows.values - mean) ** 2).sum() + mean**2 * (cells - len(rows.values))
                variance = rows.n_features * squares / cells
                gamma = 1 / variance if 1e-300 < variance < np.inf else 1.0
            self.gamma = 1 / rows.n_features if isinstance(gamma, str) else gamma

    # -- learning ------------------------------------------------------------------------------------------------------

    def views(self, rows: Rows, order: list[int], bias: float) -> Iterator[View]:
        self.begin(rows)
        self.keep_to_budget()
        for start in range(0, len(order), ROWS_AT_ONCE):
            chosen = [row_of(rows, i) for i in order[start : start + ROWS_AT_ONCE]]
            x, kept = self._matrices(chosen, max(self.n_features, rows.n_features))
            own = self.gram(x, x, bias)
            known = np.empty((len(chosen), len(self.kept) + len(chosen)))  # K(x, kept row), with room for these rows
            known[:, : len(self.kept)] = self.gram(x, kept, bias)
            for t, row in enumerate(chosen):
                yield _RowView(self, row, t, known, own)

    def keep(self, row: Row) -> tuple[int, bool]:
        """The number of a row among the kept ones, and whether it is new."""
        key = hashlib.blake2b(row[0].tobytes() + row[1].tobytes(), digest_size=16).digest()
        number = self._numbers.setdefault(key, len(self.kept))
        if number < len(self.kept):
            return number, False
        self.kept.append(row)
        self._keys.append(key)
        return number, True

    def least_important(self) -> int:
        """The number of the kept row whose loss changes the means least."""
        importance = np.zeros(len(self.kept))
        for block in self.by_block:
            n = block.n
            # The diagonal is 0 if the confidence is 0.5, which leaves S unchanged.
            diagonal = np.maximum(-np.diagonal(block.psi)[:n], TINY)
            importance[block.members[:n]] += block.nu[:n] ** 2 / diagonal
        return int(np.argmin(importance))

    def forget(self, number: int) -> None:
        """Forget a kept row; the last kept row gets its number."""
        last = len(self.kept) - 1
        for block in self.by_block:
            block.forget(number)
            block.rename(last, number)
        self._numbers[self._keys[last]] = number
        del self._numbers[self._keys[number]]
        self.kept[number], self._keys[number] = self.kept[last], self._keys[last]
        self.kept.pop()
        self._keys.pop()

    def keep_to_budget(self) -> list[tuple[int, int]]:
        """Forget rows beyond the budget; return the number of each, and the number of the row that takes its place."""
        replaced = []
        while self.options.budget is not None and len(self.kept) > self.options.budget:
            number, last = self.least_important(), len(self.kept) - 1
            self.forget(number)
            replaced.append((number, last))
        return replaced

    def margins(
        self, rows: Rows, bias: float, inclusive: bool, only_mean: bool = False
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        shape = (rows.n_rows, self.blocks)
        mean, variance = np.empty(shape), np.empty(shape)
        width = max(self.n_features, rows.n_features)
        for start in range(0, rows.n_rows, ROWS_AT_ONCE):
            part = slice(start, min(start + ROWS_AT_ONCE, rows.n_rows))
            x, kept = self._matrices([row_of(rows, i) for i in range(part.start, part.stop)], width)
            known = self.gram(x, kept, bias) if self.kept else np.empty((len(mean[part]), 0))
            own = NONE if only_mean else np.diagonal(self.gram(x, x, bias))
            for z, block in enumerate(self.by_block):
                k = block.kernels(known)
                mean[part, z] = k @ block.nu
                if not only_mean:
                    fall = np.einsum("ij,ji->i", k, dsymm(1.0, block.psi, k.T, lower=1)) if block.n else 0
                    least = self.floor * np.maximum(own, 0)
                    variance[part, z] = np.maximum(block.a * own + fall, least)
        if self.blocks == 1:
            mean, variance = mean[:, 0], variance[:, 0]
        return mean, NONE if only_mean else variance

    def joint(self, rows: Rows, bias: float) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
        """Mean and covariance of the margins of all rows together, by block."""
        size = 8 * rows.n_rows * rows.n_rows
        check_memory(size, size, f"the covariances of {rows.n_rows:,} margins", "fewer rows")
        chosen = [row_of(rows, i) for i in range(rows.n_rows)]
        x, kept = self._matrices(chosen, max(self.n_features, rows.n_features))
        own = self.gram(x, x, bias)
        known = self.gram(x, kept, bias) if self.kept else np.empty((rows.n_rows, 0))
        for block in self.by_block:
            k = block.kernels(known)
            fall = k @ dsymm(1.0, block.psi, k.T, lower=1) if block.n else 0
            yield k @ block.nu, block.a * own + fall

    def squared_lengths(self, rows: Rows, bias: float) -> NDArray[np.float64]:
        squares, width = np.empty(rows.n_rows), max(self.n_features, rows.n_features)
        for start in range(0, rows.n_rows, ROWS_AT_ONCE):
            part = slice(start, min(start + ROWS_AT_ONCE, rows.n_rows))
            x, _ = self._matrices([row_of(rows, i) for i in range(part.start, part.stop)], width)
            squares[part] = np.maximum(np.diagonal(self.gram(x, x, bias)), 0)
        return squares

    # -- model files ---------------------------------------------------------------------------------------------------

    def arrays(self) -> dict[str, NDArray[Any]]:
        blocks, kept = self.by_block, self.kept
        return {
            "gamma": np.array([self.gamma or 0.0]),
            "priors": np.array([block.a for block in blocks]),
            "indptr": np.cumsum([0, *(len(columns) for columns, _ in kept)]),
            "indices": np.concatenate([NO_COLUMNS, *(columns for columns, _ in kept)]),
            "values": np.concatenate([NONE, *(values for _, values in kept)]),
            "counts": np.array([block.n for block in blocks]),
            "members": np.concatenate([block.members[: block.n] for block in blocks]),
            "coefficients": np.concatenate([block.nu[: block.n] for block in blocks]),
            "triangles": np.concatenate([NONE, *(block.triangle() for block in blocks)]),
        }

    def check_layouts(self, n_features: int, arrays: Arrays) -> None:
        n_kept = max(0, len(arrays["indptr"]) - 1)
        check_layout("gamma", arrays["gamma"], np.float64, (1,))
        check_layout("priors", arrays["priors"], np.float64, (self.blocks,))
        check_layout("bounds of rows", arrays["indptr"], np.int64, (n_kept + 1,))
        check_layout("counts", arrays["counts"], np.int64, (self.blocks,))
        counts = arrays["counts"][:]
        if (counts < 0).any() or (counts > n_kept).any():
            raise ValueError("its kept rows do not fit its state")
        values, coefficients = int(arrays["indptr"][n_kept:][0]), int(counts.sum())
        check_layout("values", arrays["values"], np.float64, (values,))
        check_layout("columns", arrays["indices"], np.int64, (values,))
        check_layout("members", arrays["members"], np.int64, (coefficients,))
        check_layout("coefficients", arrays["coefficients"], np.float64, (coefficients,))
        check_layout("matrices", arrays["triangles"], np.float64, (sum(map(triangle_size, counts.tolist())),))

    def restored_bytes(self, n_features: int, arrays: Arrays) -> int:
        kept = 16 * len(arrays["values"]) + ROW_BYTES * len(arrays["indptr"])
        return kept + sum(coefficients_bytes(count) for count in arrays["counts"][:].tolist() if count)

    def restore(self, n_features: int, arrays: Arrays) -> None:
        self.check_layouts(n_features, arrays)
        indptr, indices, values = (arrays[name][:] for name in ("indptr", "indices", "values"))
        counts, members, coefficients = (arrays[name][:] for name in ("counts", "members", "coefficients"))
        gamma, priors = float(arrays["gamma"][:][0]), arrays["priors"][:]
        n_kept = len(indptr) - 1
        for name, numbers in (("values", values), ("coefficients", coefficients), ("gamma", np.array(gamma))):
            check_finite(name, numbers)
        check_kept_rows(indptr, indices, n_features)
        if not (gamma > 0 or (gamma == 0 and not n_kept)):
            raise ValueError(f"its gamma is {gamma}")
        if not ((priors >= self.initial_variance) & (priors <= 2 * self.initial_variance)).all():
            raise ValueError(f"its initial variances are {listed(priors.tolist())}, not about {self.initial_variance}")
        if len(members) and not (members.min() >= 0 and members.max() < n_kept):
            raise ValueError("its coefficients are of rows that it has not kept")
        self.grow(n_features)
        self.gamma = gamma or None
        for start, stop in zip(indptr[:-1].tolist(), indptr[1:].tolist(), strict=True):
            if not self.keep((indices[start:stop], values[start:stop]))[1]:
                raise ValueError("a row is kept twice")
        first = first_cell = 0
        for block, a, count in zip(self.by_block, priors.tolist(), counts.tolist(), strict=True):
            part, size = slice(first, first + count), triangle_size(count)
            triangle = arrays["triangles"][first_cell : first_cell + size]
            block.restore(a, members[part], coefficients[part], triangle)
            first, first_cell = first + count, first_cell + size


class _RowView(View):
    """Row `t` of those whose kernels were computed together: `known` with the kept rows, `own` with each other."""

    def __init__(
        self,
        state: KernelState,
        row: Row,
        t: int,
        known: NDArray[np.float64],
        own: NDArray[np.float64],
    ) -> None:
        self._state, self._row, self._t, self._known, self._own = state, row, t, known, own
        self._square = float(own[t, t])
        k = known[t, : len(state.kept)]
        self._definite = self._square > 0 or not (self._square or k.any() or own[t].any())
        self.length = math.sqrt(max(0.0, self._square))
        self._kernels = [block.kernels(k) for block in state.by_block]
        self.means = np.array([block.nu @ mine for block, mine in zip(state.by_block, self._kernels, strict=True)])
        self._products: dict[int, NDArray[np.float64]] = {}  # Psi k by label

    def check(self) -> None:
        if not self._definite:
            raise self._not_definite()

    def variance(self, label: int) -> float:
        block, k = self._state.by_block[label], self._kernels[label]
        product = dsymv(1.0, block.psi, k, lower=1) if block.n else np.zeros(len(k))
        self._products[label] = product
        v = block.a * self._square + float(k @ product)
        least = self._state.floor * self._square
        if v < -INDEFINITE * block.a * self._square:
            raise self._not_definite()
        if v < least:  # lost by rounding: add the missing part of the unit matrix to S, as `full` does
            block.a += (least - v) / self._square
            return least
        return v

    def _not_definite(self) -> DataError:
        return DataError(
            f"the kernel {self._state.options.kernel!r} is not positive definite on these rows, so there is no "
            f"Gaussian to learn: use another kernel or other parameters, or bring the features to another scale"
        )

    def prepare(self, labels: list[int]) -> None:
        state = self._state
        for label in labels:
            state.by_block[label].make_room(state.by_block[label].n + 1)
        products = {label: np.zeros(len(state.by_block[label].nu)) for label in labels}  # longer than the old ones
        number, new = state.keep(self._row)
        if new:
            self._known[:, number] = self._own[:, self._t]
        for label, product in products.items():
            block = state.by_block[label]
            product[: len(self._products[label])] = self._products[label]
            product[block.place_of(number)] += block.a
        self._products.update(products)

    def move(self, label: int, along: float, shrink: float) -> None:
        block, product = self._state.by_block[label], self._products[label]
        if shrink:
            dsyr(-shrink, product, lower=1, a=block.psi, overwrite_a=1)
        product *= along
        block.nu += product

    def moved(self) -> None:
        state = self._state
        for number, last in state.keep_to_budget():
            self._known[:, number] = self._known[:, last]
