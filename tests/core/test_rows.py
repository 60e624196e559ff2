"""Checked rows: which matrices are accepted, and that errors name the place of what is wrong.

The names C01 ... are the rows of docs/odd_inputs.md that each test answers for.
"""

from __future__ import annotations

import math
import sys

import joblib
import numpy as np
import pytest
from scipy import sparse

from cwlearn import AROWClassifier, _kernels, native
from cwlearn.core import rules
from cwlearn.core.rows import Rows, as_rows
from cwlearn.core.states import diagonal as diagonal_state
from cwlearn.errors import DataError
from tests.cases import new_learner, reserved

FLOAT32 = np.dtype(np.float32)
FLOAT64 = np.dtype(np.float64)
BUILDS = sorted({_kernels, sys.modules[native.learn_rows.__module__]}, key=lambda build: build.__name__)
METHODS = ["fit", "partial_fit", "predict", "decision_function"]


def good():
    return sparse.csr_matrix(np.array([[1, 0, 2, 0], [0, 3, 0, 0], [0, 0, 0, 0], [4, 5, 6, 7]], np.float32))


def with_parts(**parts):
    """A CSR matrix whose arrays were changed after SciPy had checked them."""
    X = good()
    for name, value in parts.items():
        setattr(X, name, value)
    return X


def columns(place, value):
    indices = good().indices
    indices[place] = value
    return indices


BROKEN = {
    "C01 index is the number of columns": ({"indices": columns(3, 4)}, r"row 3: index 4 is not between 0 and 3"),
    "C02 index too large": ({"indices": columns(2, 10**6)}, r"row 1: index 1000000 is not between 0 and 3"),
    "C02 index far too large": ({"indices": columns(2, 2**31 - 1)}, r"row 1: index 2147483647 is not between"),
    "C03 negative index": ({"indices": columns(0, -1)}, r"row 0: index -1 is not between 0 and 3"),
    "C03 most negative index": ({"indices": columns(5, -(2**31))}, r"row 3: index -2147483648 is not between"),
    "C04 indptr falls": ({"indptr": np.array([0, 3, 2, 3, 7])}, r"row 1: indptr falls from 3 to 2"),
    "C05 indptr does not begin with 0": ({"indptr": np.array([1, 2, 3, 3, 7])}, r"begin with 0, got 1"),
    "C06 indptr ends too far": ({"indptr": np.array([0, 2, 3, 3, 9])}, r"row 3: indptr ends at 9, .* 7 values"),
    "C06 indptr too far in the middle": ({"indptr": np.array([0, 2, 30, 3, 7])}, r"row 2: indptr falls from 30 to 3"),
    "C07 indptr negative": ({"indptr": np.array([0, -2, 3, 3, 7])}, r"row 0: indptr falls from 0 to -2"),
    "C08 indptr too short": ({"indptr": np.array([0, 2, 3, 7])}, r"indptr must have 5 entries for 4 rows, got 4"),
    "C08 indptr too long": ({"indptr": np.array([0, 2, 3, 3, 7, 7])}, r"indptr must have 5 entries for 4 rows, got 6"),
    "C09 data shorter than indices": ({"data": np.ones(6, np.float32)}, r"same length, got 7 and 6"),
    "C09 indices shorter than data": ({"indices": np.zeros(5, np.int32)}, r"same length, got 5 and 7"),
    "C11 float indices": ({"indices": good().indices.astype(float)}, r"indices must be integers, got float64"),
    "C11 two-dimensional indices": ({"indices": good().indices[None]}, r"indices must have 1 dimension, got 2"),
    "C17 NaN": ({"data": np.array([1, 2, 3, 4, np.nan, 6, 7], np.float32)}, r"NaN: row 3, column 1 is nan"),
    "C17 infinity": (
        {"data": np.array([1, -np.inf, 3, 4, 5, 6, 7], np.float32)},
        r"infinity.*: row 0, column 2 is -inf",
    ),
    "C18 overflow of the squared length": ({"data": np.full(7, 1e200)}, r"row 0: the squares .* add up to infinity"),
    "C24 complex": ({"data": np.full(7, 1j)}, r"values must be real numbers, got complex128"),
    "C24 strings": ({"data": np.full(7, "a")}, r"values must be real numbers, got <U1"),
    "C24 objects": ({"data": np.full(7, "a", object)}, r"values must be real numbers, got object"),
    "C24 dates": ({"data": np.full(7, "2020-01-01", "M8[D]")}, r"values must be real numbers, got datetime64"),
    "uint64 beyond int64": ({"indices": np.full(7, 2**64 - 1, np.uint64)}, r"indices holds 18446744073709551615"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_malformed_matrix_is_refused(name):
    parts, message = BROKEN[name]
    with pytest.raises(DataError, match=message):
        as_rows(with_parts(**parts), FLOAT64)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", BROKEN)
def test_no_malformed_matrix_reaches_a_kernel(name, method):
    """Every public method raises a ValueError, and no weight changes."""
    y = [0, 1, 1, 0]
    model = AROWClassifier(dtype="float64", random_state=0).fit(good(), y)
    before = model._learner.state.cells.copy()
    arguments = (y,) if "fit" in method else ()
    with pytest.raises(ValueError):
        getattr(model, method)(with_parts(**BROKEN[name][0]), *arguments)
    assert (model._learner.state.cells == before).all()


def test_values_too_large_for_float32_are_named():
    with pytest.raises(DataError, match=r"too large for float32: row 0, column 2 is 1e\+39"):
        as_rows(with_parts(data=np.array([1, 1e39, 3, 4, 5, 6, 7])), FLOAT32)
    as_rows(with_parts(data=np.array([1, 1e39, 3, 4, 5, 6, 7])), FLOAT64)


def broken_csc():
    X = good().tocsc()
    X.indices = X.indices.copy()
    X.indices[0] = 10**9
    return X


def broken_coo():
    X = good().tocoo()
    X.row[0] = 10**9
    return X


def broken_bsr():
    X = good().tobsr((2, 2))
    X.indices = X.indices.copy()
    X.indices[0] = 10**9
    return X


def broken_coo_with_nan():
    X = good().tocoo()
    X.coords = (X.row.astype(float) * np.nan, X.col)
    return X


def broken_lil():
    X = good().tolil()
    X.data[0] = [1.0, 2.0, 3.0] * 1000
    return X


def broken_lil_rows():
    X = good().tolil()
    X.rows, X.data = X.rows[:2], X.data[:2]
    return X


def broken_dia():
    X = sparse.dia_matrix(good())
    X.data = X.data[0]
    return X


@pytest.mark.parametrize(
    "make", [broken_csc, broken_coo, broken_coo_with_nan, broken_bsr, broken_lil, broken_lil_rows, broken_dia]
)
def test_other_formats_are_checked_before_scipy_converts_them(make):
    """SciPy converts without checks and would write out of bounds."""
    with pytest.raises(DataError):
        as_rows(make(), FLOAT32)
    with pytest.raises(ValueError):
        AROWClassifier().fit(make(), [0, 1, 1, 0])


@pytest.mark.parametrize("kind", ["csc", "coo", "lil", "dok", "bsr", "dia"])
def test_c22_other_formats_give_the_same_rows(kind):
    same(as_rows(good().asformat(kind), FLOAT32), as_rows(good(), FLOAT32))
    for X in (good()[:3], good()[:, :3], good()[:1], good()[:, :1]):
        same(as_rows(X.asformat(kind), FLOAT32), as_rows(X.tocsr(), FLOAT32))


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "lil", "dok"])
@pytest.mark.parametrize("shape", [(3, 0), (0, 3), (0, 0)])
def test_c20_c21_matrices_without_rows_or_columns_are_rows(kind, shape):
    rows = as_rows(sparse.csr_matrix(shape).asformat(kind), FLOAT32)
    assert (rows.n_rows, rows.n_features, len(rows.values)) == (*shape, 0)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.bool_, np.int64, np.float32, np.float64])
def test_x03_duplicate_entries_are_added_alike_in_every_format(dtype):
    rng = np.random.default_rng(0)
    row, column = rng.integers(0, 6, 200), rng.integers(0, 5, 200)
    values = (rng.integers(60, 127, 200) * (0.1 if np.dtype(dtype).kind == "f" else 1)).astype(dtype)
    order = np.argsort(row, kind="stable")
    indptr = np.append(0, np.cumsum(np.bincount(row, minlength=6)))
    rows = sparse.csr_matrix((values[order], column[order], indptr), shape=(6, 5))
    by_column = np.argsort(column, kind="stable")
    columns = sparse.csc_matrix(
        (values[by_column], row[by_column], np.append(0, np.cumsum(np.bincount(column, minlength=5)))), shape=(6, 5)
    )
    blocks = sparse.bsr_matrix((values[order].reshape(-1, 1, 1), column[order], indptr), shape=(6, 5))
    given = {"coo": sparse.coo_matrix((values, (row, column)), shape=(6, 5)), "csc": columns, "bsr": blocks}
    expected = as_rows(rows, FLOAT32)
    assert expected.values.max() > 127 or np.dtype(dtype).kind != "i"
    sums = np.zeros((6, 5))
    np.add.at(sums, (row, column), values.astype(np.float32).astype(float))
    assert np.allclose(expected.values, sums[sums != 0], rtol=1e-6)
    for matrix in given.values():
        same(as_rows(matrix, FLOAT32), expected)
    models = [
        AROWClassifier(random_state=0).fit(matrix, [0, 1, 1, 0, 1, 0]).coef_ for matrix in (rows, *given.values())
    ]
    assert all((model == models[0]).all() for model in models)


def test_checking_a_bsr_matrix_does_not_cut_off_the_callers_arrays():
    X = good().tobsr((2, 2))
    X.data, X.indices = np.concatenate([X.data, X.data]), np.concatenate([X.indices, X.indices])
    shape = X.data.shape
    as_rows(X, FLOAT32)
    assert X.data.shape == shape


def test_the_place_of_a_nan_is_right_whatever_the_format():
    X = np.zeros((4, 4))
    X[2, 0], X[0, 0] = np.nan, 1
    columns = sparse.csc_matrix(X)
    columns.indices, columns.data = columns.indices[::-1].copy(), columns.data[::-1].copy()
    for matrix in (X, sparse.csr_matrix(X), columns, sparse.coo_matrix(X)):
        with pytest.raises(DataError, match="row 2, column 0 is nan"):
            as_rows(matrix, FLOAT32)


def test_c22_pandas_sparse_frames():
    import pandas as pd

    frame = pd.DataFrame.sparse.from_spmatrix(good(), columns=list("abcd"))
    model = AROWClassifier(random_state=0).fit(frame, [0, 1, 1, 0])
    plain = AROWClassifier(random_state=0).fit(good(), [0, 1, 1, 0])
    assert (model.coef_ == plain.coef_).all()
    assert model.feature_names_in_.tolist() == list("abcd")


def test_c22_arrays_lists_and_sparse_arrays_give_the_same_rows():
    expected = as_rows(good(), FLOAT32)
    for X in (
        good().toarray(),
        good().toarray().tolist(),
        sparse.csr_array(good()),
        np.asfortranarray(good().toarray()),
    ):
        same(as_rows(X, FLOAT32), expected)


@pytest.mark.parametrize(
    "X", [np.ones(3), np.ones((2, 2, 2)), 3.0, sparse.csr_array(np.ones(3)), sparse.coo_array(np.ones(3))], ids=repr
)
def test_c23_anything_but_two_dimensions_is_refused(X):
    with pytest.raises(DataError, match="2 dimensions"):
        as_rows(X, FLOAT32)


INTEGERS = [np.int16, np.uint8, np.uint32, np.int32, np.int64, ">i4", ">i8"]


@pytest.mark.parametrize("bounds", INTEGERS)
@pytest.mark.parametrize("dtype", INTEGERS)
def test_c10_c12_all_integer_types_of_indices_work(dtype, bounds):
    X = with_parts(indices=good().indices.astype(dtype), indptr=good().indptr.astype(bounds))
    rows = as_rows(X, FLOAT32)
    assert rows.indptr.dtype == np.int64
    assert rows.indices.dtype in (np.dtype(np.int32), np.dtype(np.int64))
    same(rows, as_rows(good(), FLOAT32))


@pytest.mark.parametrize("dtype", [np.bool, np.int8, np.int64, np.float16, ">f4", ">f8", np.longdouble])
def test_c12_c24_all_real_types_of_values_work(dtype):
    X = with_parts(data=good().data.astype(dtype))
    np.testing.assert_array_equal(as_rows(X, FLOAT64).values, X.data.astype(np.float64))


def test_c24_integers_that_a_double_cannot_hold_are_rounded():
    X = with_parts(data=np.array([2**53 + 1, 2**63 - 1, -(2**63), 1, 2, 3, 4]))
    assert as_rows(X, FLOAT64).values[:3].tolist() == [2.0**53, 2.0**63, -(2.0**63)]


def test_c13_slices_and_transposed_views_give_their_own_rows():
    for X in (good()[::2], good().T, good().T[:, ::-1], good().toarray()[::2, ::-1], good().toarray().T):
        dense = X.toarray() if sparse.issparse(X) else X
        same(as_rows(X, FLOAT32), as_rows(np.ascontiguousarray(dense), FLOAT32))


def test_c13_c14_strided_read_only_unaligned_and_memory_mapped_arrays_work(tmp_path):
    expected = as_rows(good(), FLOAT32)
    strided = np.repeat(good().data, 2)[::2]
    raw = np.frombuffer(b"x" + good().data.tobytes(), np.uint8)[1:].view(np.float32)
    path = tmp_path / "values"
    good().data.tofile(path)
    mapped = np.memmap(path, np.float32, "r")
    frozen = good()
    for array in (frozen.data, frozen.indices, frozen.indptr):
        array.setflags(write=False)
    joblib.dump(good(), tmp_path / "matrix")
    shared = joblib.load(tmp_path / "matrix", mmap_mode="r")
    assert isinstance(shared.indices, np.memmap)
    for X in (with_parts(data=strided), with_parts(data=raw), with_parts(data=mapped), frozen, shared):
        same(as_rows(X, FLOAT32), expected)
        AROWClassifier().fit(X, [0, 1, 1, 0]).predict(X)


def test_c15_c16_unsorted_and_duplicate_columns_are_corrected_in_a_copy():
    shuffled = with_parts(
        indices=np.array([2, 0, 1, 3, 0, 2, 1], np.int32), data=np.array([2, 1, 3, 7, 4, 6, 5], np.float32)
    )
    columns, values = shuffled.indices.copy(), shuffled.data.copy()
    same(as_rows(shuffled, FLOAT32), as_rows(good(), FLOAT32))
    doubled = sparse.csr_matrix(
        (np.array([1, 1, 1, 3, 4, 2.5, 6, 7, 2.5]), np.array([0, 2, 2, 1, 0, 1, 2, 3, 1]), np.array([0, 3, 4, 4, 9])),
        shape=(4, 4),
    )
    entries = doubled.nnz
    same(as_rows(doubled, FLOAT32), as_rows(good(), FLOAT32))
    assert doubled.nnz == entries
    assert (shuffled.indices == columns).all()
    assert (shuffled.data == values).all()


def test_c19_subnormal_values_and_negative_zero():
    X = with_parts(data=np.array([1e-45, -0.0, 3, 4, 5, 6, 7], np.float32))
    rows = as_rows(X, FLOAT32)
    assert rows.values[0] == np.float32(1e-45)
    AROWClassifier().fit(X, [0, 1, 1, 0])


def test_c20_c21_empty_matrices():
    with pytest.raises(ValueError, match="0 sample"):
        AROWClassifier().fit(sparse.csr_matrix((0, 4)), [])
    with pytest.raises(ValueError, match="0 feature"):
        AROWClassifier().fit(sparse.csr_matrix((4, 0)), [0, 1, 0, 1])
    model = AROWClassifier().fit(sparse.csr_matrix((4, 3)), [0, 1, 1, 1])
    assert model.intercept_[0] > 0
    assert model.predict(sparse.csr_matrix((0, 3))).shape == (0,)
    assert model.predict_proba(sparse.csr_matrix((0, 3))).shape == (0, 2)


@pytest.mark.parametrize("name", ["indptr", "indices", "data"])
def test_c27_each_array_of_the_caller_is_read_once(name):
    """A matrix that returns another array the second time cannot pass the checks."""
    asked = []

    def answer(shifty):
        asked.append(name)
        kept = getattr(X, name)
        return kept if len(asked) == 1 else np.full(len(kept), 10**9, kept.dtype)

    X = good()
    kind = type("Shifty", (sparse.csr_matrix,), {name: property(answer)})
    shifty = kind.__new__(kind)
    shifty.__dict__.update({key: value for key, value in vars(X).items() if key != name})
    same(as_rows(shifty, FLOAT32), as_rows(X, FLOAT32))
    assert asked == [name]


@pytest.mark.parametrize("build", BUILDS, ids=lambda build: build.__name__)
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_c28_f21_rows_and_entries_are_counted_in_64_bits(build, index, monkeypatch):
    """Row 2^31 + 5 follows as many empty rows, and its two entries follow 3 * 10^9 others."""
    monkeypatch.setattr(diagonal_state, "learn_rows", build.learn_rows)
    monkeypatch.setattr(diagonal_state, "margin_rows", build.margin_rows)
    row, first = 2**31 + 5, 3_000_000_000
    indptr, squares, y = reserved(row + 2, np.int64), reserved(row + 1, np.float64), reserved(row + 1, np.float64)
    indices, values = reserved(first + 2, index), reserved(first + 2, np.float32)
    indptr[row : row + 2] = first, first + 2
    indices[first:], values[first:], y[row] = (1, 3), (2, 5), 1
    assert build.check_rows(squares[:1], indptr[row:], indices, values, 4) == (-1, True)
    squares[row] = squares[0]
    far, near = new_learner(rules.AROW(), 4), new_learner(rules.AROW(), 4)
    monkeypatch.setattr(Rows, "longest", 2)  # which would look at all of them
    far.learn(Rows(indptr, indices, values, squares, 4), y, order=np.array([row]))
    rows = as_rows(np.array([[0, 2, 0, 5]]), FLOAT32)
    near.learn(rows, np.ones(1))
    assert near.statistics["updates"] == 1
    assert (far.state.cells == near.state.cells).all()
    assert far.margins(Rows(indptr[row:], indices, values, squares[:1], 4)) == near.margins(rows)


def test_squared_lengths():
    rng = np.random.default_rng(0)
    X = sparse.random(50, 40, 0.4, "csr", np.float32, rng)
    np.testing.assert_allclose(as_rows(X, FLOAT32).squares, np.square(X.toarray(), dtype=np.float64).sum(1), rtol=1e-6)


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_of_any_length_are_checked_to_their_last_entry(dtype, index):
    """The loops take eight entries at once, and what is left one by one."""
    rng = np.random.default_rng(0)
    for length in range(1, 40):
        values, columns = rng.standard_normal(length).astype(dtype), np.arange(length, dtype=index) * 2
        bounds, squares, expected = np.array([0, length]), np.empty(1), set()
        for build in BUILDS:
            assert build.check_rows(squares, bounds, columns, values, 2 * length) == (-1, True)
            assert squares[0] == pytest.approx(math.fsum(float(value) ** 2 for value in values), rel=1e-14)
            expected.add(squares.tobytes())
            assert build.check_rows(squares, bounds, columns, values, 2 * length - 2) == (0, True)
            for place in range(length):
                wrong = columns.copy()
                wrong[place] = -1
                assert build.check_rows(squares, bounds, wrong, values, 2 * length)[0] == 0
                wrong[place] = columns[place - 1]  # repeats the one before it or, at the first place, the last one
                assert build.check_rows(squares, bounds, wrong, values, 2 * length) == (-1, length == 1)
                bad = values.copy()
                bad[place] = np.nan
                build.check_rows(squares, bounds, columns, bad, 2 * length)
                assert np.isnan(squares[0])
        assert len(expected) == 1


def same(a, b):
    for name in ("indptr", "indices", "values", "squares"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    assert a.n_features == b.n_features
