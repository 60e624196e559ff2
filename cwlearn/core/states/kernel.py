"""The Gaussian in the dual form of the representer theorems (N8 theorem 2, A9 lemma 1), for any kernel.

Nothing is held but rows that were updated on, and for each block of weights coefficients nu and a matrix Psi of them:

    mu = X'nu,   S = a I + X'Psi X      so that      mu.x = nu.k,   x'Sx = a K(x, x) + k'Psi k,   k = K(X, x)

In these terms Sx = a x + X'(Psi k) is a vector c: Psi k on the kept rows, and a on x itself, which is kept from now on.
An intercept is a feature that is always 1, so it adds 1 to the kernel.

A row that is kept already is not kept twice.  To forget row i is to take out what it had added to the natural
parameters S^-1 and S^-1 mu, as if it had never been learned from.  With S^-1 = I/a + X'GX, G diagonal, that is the
inverse of Woodbury's formula:

    nu -= Psi_i nu_i / Psi_ii,   Psi -= Psi_i Psi_i' / Psi_ii      so that line and column i are 0, and S has grown

and nu_i^2 / |Psi_ii| is how much worse the mean fits what was learned (as in sparse online Gaussian processes: Csato,
Opper, "Sparse On-Line Gaussian Processes", 2002).  Beyond a budget the row with the least of it goes.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dsymm, dsymv, dsyr
from scipy.sparse import csr_matrix
from sklearn.metrics.pairwise import pairwise_kernels

from cwlearn.core.kernel_options import KernelOptions
from cwlearn.core.rows import Rows
from cwlearn.core.states.base import NONE, Arrays, check_finite, check_layout, check_memory
from cwlearn.core.states.full import pack, unpack
from cwlearn.core.states.projected import ROW_EFFORT, ProjectedState, View
from cwlearn.errors import DataError, listed

# No row makes the variance along itself less than this part of the initial one.  It is a sum of numbers as large as the
# latter, however small it gets, and the more confident a row, the larger its entries in Psi: so the limit is higher
# than that of a matrix S, and lets Psi grow to 2^20 or so, far from where the sums lose their meaning.
FLOOR = 2.0**-20
ROWS_AT_ONCE = 128  # whose kernels are computed together
TAKE_CSR = ("cosine", "laplacian", "linear", "poly", "polynomial", "rbf", "sigmoid")
TINY = 1e-100
INDEFINITE = 1e-3  # of the initial variance: no rounding makes a variance as negative as that
FEW = 1024  # features, up to which matrices are always dense
ROW_BYTES = 1024  # that a kept row takes, beside its numbers: objects of Python
DENSE = 0.1  # and beyond it, where this part of the values or more are not 0

Row = tuple[NDArray[np.int64], NDArray[np.float64]]  # columns and values


class Block:
    """The coefficients of one block of weights, over `members`, numbers of kept rows.

    Arrays have room for more members, for which they hold zeros: BLAS wants whole matrices.
    """

    def __init__(self, a: float) -> None:
        self.a = a  # the initial variance, and what repairs have added to it
        self.n = 0
        self.members: NDArray[np.int64] = np.empty(0, np.int64)
        self.nu: NDArray[np.float64] = np.empty(0)
        self.psi: NDArray[np.float64] = np.empty((0, 0), order="F")  # its lower triangle

    def make_room(self, n: int) -> None:
        if n > len(self.nu):
            room = _room(n)
            check_memory(
                8 * room * room, 8 * room * room, f"the coefficients of {n:,} kept rows", "a budget and so fewer rows"
            )
            members, nu, psi = np.zeros(room, np.int64), np.zeros(room), np.zeros((room, room), order="F")
            members[: self.n], nu[: self.n] = self.members[: self.n], self.nu[: self.n]
            psi[: self.n, : self.n] = self.psi[: self.n, : self.n]
            self.members, self.nu, self.psi = members, nu, psi

    def kernels(self, k: NDArray[np.float64]) -> NDArray[np.float64]:
        """Those of the members, from those of all kept rows (along the last axis), and zeros."""
        mine = np.zeros((*k.shape[:-1], len(self.nu)))
        mine[..., : self.n] = k[..., self.members[: self.n]]
        return mine

    def place_of(self, row: int) -> int:
        """The place of a kept row among the members, where it may be new; there must be room."""
        found = np.flatnonzero(self.members[: self.n] == row)
        if len(found):
            return int(found[0])
        self.members[self.n] = row
        self.n += 1
        return self.n - 1

    def forget(self, row: int) -> None:
        """Take a kept row out; the last member takes its place."""
        found = np.flatnonzero(self.members[: self.n] == row)
        if not len(found):
            return
        place, last = int(found[0]), self.n - 1
        gone = self._column(place)
        if gone[place] < 0:
            self.nu -= gone * (self.nu[place] / gone[place])
            dsyr(-1 / gone[place], gone, lower=1, a=self.psi, overwrite_a=1)
        self._set_column(place, np.zeros_like(gone))
        if place != last:
            moved = self._column(last)
            self._set_column(last, np.zeros_like(moved))
            moved[place], moved[last] = moved[last], 0
            self._set_column(place, moved)
            self.members[place], self.nu[place] = self.members[last], self.nu[last]
        self.nu[last] = 0
        self.n = last

    def rename(self, row: int, new: int) -> None:
        """A kept row has got another number."""
        members = self.members[: self.n]
        members[members == row] = new

    def _column(self, j: int) -> NDArray[np.float64]:
        return np.concatenate([self.psi[j, :j], self.psi[j:, j]])

    def _set_column(self, j: int, column: NDArray[np.float64]) -> None:
        self.psi[j, :j], self.psi[j:, j] = column[:j], column[j:]


class KernelState(ProjectedState):
    """Kept rows, and coefficients of them by block."""

    kind: ClassVar[str] = "kernel"
    arrays_of: ClassVar[tuple[str, ...]] = (
        "gamma", "priors", "indptr", "indices", "values", "counts", "members", "coefficients", "triangles",
    )  # fmt: skip

    def __init__(self, n_features: int, blocks: int, initial_variance: float, options: KernelOptions) -> None:
        super().__init__(blocks, initial_variance, FLOOR, np.dtype(np.float64))
        self.options = options
        self.gamma: float | None = None  # of the kernel; it may depend on the first rows
        self.kept: list[Row] = []  # columns and values
        self.by_block = [Block(self.initial_variance) for _ in range(blocks)]
        self._n_features = n_features
        self._keys: list[bytes] = []  # what the kept rows hold, in short
        self._numbers: dict[bytes, int] = {}  # of the kept rows, by key

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
        """Rows, and the kept ones, as scikit-learn wants them: dense or, where there are many features and few values
        and the kernel can do with it, CSR, both alike."""
        values = sum(len(values) for _, values in rows)
        sparse = self.options.kernel in TAKE_CSR and width > FEW and values < DENSE * len(rows) * width
        x, kept = (_csr(some, width) for some in (rows, self.kept))
        if sparse:
            return x, kept
        size = 8 * width * (len(rows) + len(self.kept))
        check_memory(size, size, f"{len(rows) + len(self.kept):,} rows of {width:,} features", "sparse kernels")
        return x.toarray(), kept.toarray()

    def gram(self, A: Any, B: Any, bias: float) -> NDArray[np.float64]:
        """The kernels of the rows of two matrices, with what an intercept adds."""
        options = self.options
        if not (A.shape[0] and B.shape[0]):
            return np.empty((A.shape[0], B.shape[0]))
        if callable(options.kernel):
            found = options.kernel(A, B)
            kernels = np.asarray(found.toarray() if hasattr(found, "toarray") else found, np.float64)
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
                    gamma=self.gamma,
                    degree=options.degree,
                    coef0=options.coef0,
                )
        if not np.isfinite(kernels).all():
            raise DataError(f"the kernel {options.kernel!r} gives numbers that are not finite for these rows")
        return np.asarray(kernels, np.float64) + bias * bias

    def begin(self, rows: Rows) -> None:
        """Settle gamma by the rows that learning begins with, as scikit-learn's SVC does."""
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
            chosen = [_row(rows, i) for i in order[start : start + ROWS_AT_ONCE]]
            x, kept = self._matrices(chosen, max(self.n_features, rows.n_features))
            own = self.gram(x, x, bias)
            known = np.empty((len(chosen), len(self.kept) + len(chosen)))  # K(x, kept row), with room for these rows
            known[:, : len(self.kept)] = self.gram(x, kept, bias)
            for t, row in enumerate(chosen):
                yield _RowView(self, row, t, known, own)

    def keep(self, row: Row) -> tuple[int, bool]:
        """The number of a row among the kept ones, and whether it is new there."""
        key = hashlib.blake2b(row[0].tobytes() + row[1].tobytes(), digest_size=16).digest()
        number = self._numbers.setdefault(key, len(self.kept))
        if number < len(self.kept):
            return number, False
        self.kept.append(row)
        self._keys.append(key)
        return number, True

    def least(self) -> int:
        """The kept row that can be forgotten with the least harm."""
        harm = np.zeros(len(self.kept))
        for block in self.by_block:
            n = block.n
            diagonal = np.maximum(-np.diagonal(block.psi)[:n], TINY)  # 0 where confidence is 0.5: S never changes
            harm[block.members[:n]] += block.nu[:n] ** 2 / diagonal
        return int(np.argmin(harm))

    def forget(self, number: int) -> None:
        """Forget a kept row; the last one gets its number."""
        last = len(self.kept) - 1
        for block in self.by_block:
            block.forget(number)
            block.rename(last, number)
        self._numbers[self._keys[last]] = number
        del self._numbers[self._keys[number]]
        self.kept[number], self._keys[number] = self.kept[last], self._keys[last]
        self.kept.pop()
        self._keys.pop()

    def keep_to_budget(self) -> Iterator[tuple[int, int]]:
        """Forget what is too much; the numbers of those that go, and of the last ones, which get these numbers."""
        gone = []
        while self.options.budget is not None and len(self.kept) > self.options.budget:
            gone.append((self.least(), len(self.kept) - 1))
            self.forget(gone[-1][0])
        return iter(gone)

    def margins(
        self, rows: Rows, bias: float, inclusive: bool, only_mean: bool = False
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        shape = (rows.n_rows, self.blocks)
        mean, variance = np.empty(shape), np.empty(shape)
        width = max(self.n_features, rows.n_features)
        for start in range(0, rows.n_rows, ROWS_AT_ONCE):
            part = slice(start, min(start + ROWS_AT_ONCE, rows.n_rows))
            x, kept = self._matrices([_row(rows, i) for i in range(part.start, part.stop)], width)
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

    # -- model files ---------------------------------------------------------------------------------------------------

    def arrays(self) -> dict[str, NDArray[Any]]:
        blocks, kept = self.by_block, self.kept
        return {
            "gamma": np.array([self.gamma or 0.0]),
            "priors": np.array([block.a for block in blocks]),
            "indptr": np.cumsum([0, *(len(columns) for columns, _ in kept)]),
            "indices": np.concatenate([np.empty(0, np.int64), *(columns for columns, _ in kept)]),
            "values": np.concatenate([NONE, *(values for _, values in kept)]),
            "counts": np.array([block.n for block in blocks]),
            "members": np.concatenate([block.members[: block.n] for block in blocks]),
            "coefficients": np.concatenate([block.nu[: block.n] for block in blocks]),
            "triangles": np.concatenate([NONE, *map(_triangle, blocks)]),
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
        check_layout("matrices", arrays["triangles"], np.float64, (int(_cells(counts).sum()),))

    def restored_bytes(self, n_features: int, arrays: Arrays) -> int:
        kept = 16 * len(arrays["values"]) + ROW_BYTES * len(arrays["indptr"])
        return kept + sum(block_bytes(count) for count in arrays["counts"][:].tolist() if count)

    def restore(self, n_features: int, arrays: Arrays) -> None:
        self.check_layouts(n_features, arrays)
        indptr, indices, values = (arrays[name][:] for name in ("indptr", "indices", "values"))
        counts, members, coefficients = (arrays[name][:] for name in ("counts", "members", "coefficients"))
        gamma, priors = float(arrays["gamma"][:][0]), arrays["priors"][:]
        n_kept = len(indptr) - 1
        for name, numbers in (("values", values), ("coefficients", coefficients), ("gamma", np.array(gamma))):
            check_finite(name, numbers)
        if indptr[0] != 0 or not (indptr[1:] >= indptr[:-1]).all():
            raise ValueError("its kept rows do not fit its state")
        if len(indices) and not (indices.min() >= 0 and indices.max() < n_features):
            raise ValueError("its kept rows have columns that are not features")
        first_of_row = np.zeros(len(indices) + 1, bool)
        first_of_row[indptr] = True
        if not (first_of_row[1:-1] | (indices[1:] > indices[:-1])).all():
            raise ValueError("its kept rows have columns that do not rise")
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
            size = _cells(count)
            triangle = arrays["triangles"][first_cell : first_cell + size]
            check_finite("matrices", triangle)
            block.a = a
            block.make_room(count)
            block.n = count
            block.members[:count] = members[first : first + count]
            block.nu[:count] = coefficients[first : first + count]
            unpack(triangle, block.psi[:count, :count])
            if len(np.unique(block.members[:count])) < count:
                raise ValueError("it has two coefficients for one row")
            if (np.diagonal(block.psi) > 0).any():
                raise ValueError("its matrices are not negative definite")
            first, first_cell = first + count, first_cell + size


def _cells(n: Any) -> Any:
    """Of the triangle of a matrix of n lines."""
    return n * (n + 1) // 2


def _room(n: int) -> int:
    """Lines for which a matrix of n has room."""
    return n + max(16, n // 5)


def block_bytes(n: int) -> int:
    """The memory that the coefficients of n rows take, with room for more, and their triangle while it is read."""
    return 8 * (_room(n) * (_room(n) + 2) + int(_cells(n)))


class _RowView(View):
    """Row `t` of those whose kernels were computed together, `known` with the kept rows and `own` among themselves."""

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
        if v < least:  # lost by rounding: S gets as much of the unit matrix as it takes, as in `full_state`
            block.a += (least - v) / self._square
            return least
        return v

    def _not_definite(self) -> DataError:
        return DataError(
            f"the kernel {self._state.options.kernel!r} is not positive definite on these rows, so there is no "
            f"Gaussian to learn: take another one or other parameters of it, or bring the features to another scale"
        )

    def prepare(self, labels: list[int]) -> None:
        state = self._state
        for label in labels:
            state.by_block[label].make_room(state.by_block[label].n + 1)
        products = {label: np.zeros(len(state.by_block[label].nu)) for label in labels}  # there is room for more now
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


def _row(rows: Rows, i: int) -> Row:
    """Columns and values of one row, without those that are 0, so that equal rows are the same bytes."""
    part = slice(rows.indptr[i], rows.indptr[i + 1])
    columns, values = rows.indices[part].astype(np.int64), rows.values[part].astype(np.float64)
    given = values != 0
    return (columns, values) if given.all() else (columns[given], values[given])


def _triangle(block: Block) -> NDArray[np.float64]:
    columns = np.empty(block.n * (block.n + 1) // 2)
    pack(block.psi[: block.n, : block.n], columns)
    return columns


def _csr(rows: list[Row], width: int) -> Any:
    bounds = np.cumsum([0, *(len(columns) for columns, _ in rows)])
    columns = np.concatenate([np.empty(0, np.int64), *(columns for columns, _ in rows)])
    values = np.concatenate([NONE, *(values for _, values in rows)])
    return csr_matrix((values, columns, bounds), shape=(len(rows), width))
