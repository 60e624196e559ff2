"""Files as SciPy matrices: all at once, or some rows at a time."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from cwlearn.core.frequencies import Frequencies
from cwlearn.core.parameters import COUNT, NOTHING, Check, is_integer, one_of, require
from cwlearn.core.rows import Rows
from cwlearn.core.text_options import TextOptions
from cwlearn.errors import DataError
from cwlearn.native import check_rows
from cwlearn.text.batch import NO_INDEX, Batch
from cwlearn.text.labels import Labels
from cwlearn.text.reader import OnBadLine, Reader, Reading, Unsorted
from cwlearn.text.row_store import MemoryStore
from cwlearn.text.sources import Path, Paths, total_size

Dtype = Literal["float32", "float64"] | type[np.float32] | type[np.float64] | np.dtype[np.floating[Any]]
OnLargeIndex = Literal["error", "ignore"]
INDEX_BITS = Check("an integer from 1 to 62", lambda value: is_integer(value) and 1 <= value <= 62, int, "N")


@overload
def read_svmlight(
    paths: Paths,
    *,
    n_features: int | None = None,
    on_large_index: OnLargeIndex = "error",
    dtype: Dtype = "float64",
    zero_based: bool | Literal["auto"] = True,
    query_id: Literal[False] = False,
    hash_bits: int | None = None,
    threads: int | None = None,
    unsorted: Unsorted = "error",
    on_bad_line: OnBadLine = "error",
    max_bad: int = Reading.max_bad,
    max_line: int = Reading.max_line,
) -> tuple[Any, NDArray[Any]]: ...


@overload
def read_svmlight(
    paths: Paths,
    *,
    n_features: int | None = None,
    on_large_index: OnLargeIndex = "error",
    dtype: Dtype = "float64",
    zero_based: bool | Literal["auto"] = True,
    query_id: Literal[True],
    hash_bits: int | None = None,
    threads: int | None = None,
    unsorted: Unsorted = "error",
    on_bad_line: OnBadLine = "error",
    max_bad: int = Reading.max_bad,
    max_line: int = Reading.max_line,
) -> tuple[Any, NDArray[Any], NDArray[np.int64]]: ...


def read_svmlight(
    paths: Paths,
    *,
    n_features: int | None = None,
    on_large_index: OnLargeIndex = "error",
    dtype: Dtype = "float64",
    zero_based: bool | Literal["auto"] = True,
    query_id: bool = False,
    hash_bits: int | None = None,
    threads: int | None = None,
    unsorted: Unsorted = "error",
    on_bad_line: OnBadLine = "error",
    max_bad: int = Reading.max_bad,
    max_line: int = Reading.max_line,
) -> tuple[Any, NDArray[Any]] | tuple[Any, NDArray[Any], NDArray[np.int64]]:
    """Read svmlight text into a CSR matrix X and labels y, as scikit-learn's `load_svmlight_file` does.

    The index in the text is the column of X, as in `cwlearn.train` and on the command line.

    Parameters
    ----------
    paths : path, or several, which are read as one
        Compressed files (gzip, bzip2, xz, Zstandard) are recognised; "-" is standard input.
    n_features : int, optional
        Columns of X; by default as many as the text has.
    on_large_index : {"error", "ignore"}, default="error"
        What to do with entries beyond `n_features`: "ignore" leaves them out.
    dtype : {"float64", "float32"}, default="float64"
        Type of the values; they are rounded once.
    zero_based : bool or "auto", default=True
        False: indices count from one, and index 1 is column 0.  "auto": indices count from one if none of them is 0.
    query_id : bool, default=False
        Return the numbers after "qid:" as well.
    hash_bits : int, optional
        Hash the indices, as they are written, to this number of bits, as `cwlearn.train` does.
    threads : int, optional
        Threads that parse; by default one for each core that may be used.
    unsorted : {"error", "sort"}, default="error"
        What to do with a line whose indices do not rise.
    on_bad_line : {"error", "skip"}, default="error"
        Stop at the first bad line, or warn and go on without its row.
    max_bad : int, default=100
        How many bad lines to skip; one more is an error.
    max_line : int, default=1073741824
        Bytes of the longest line.

    Returns
    -------
    X : csr_matrix
        One row for each line with data.
    y : ndarray
        The labels: float64, or strings if the first label is no number.
    queries : ndarray of int64
        The query numbers, 0 where a line has none.  Only with `query_id`.

    Examples
    --------
    >>> import os, tempfile
    >>> from cwlearn import read_svmlight
    >>> path = os.path.join(tempfile.mkdtemp(), "tiny.svm")
    >>> with open(path, "w") as file:
    ...     _ = file.write("+1 0:0.5 2:2  # a comment\\n-1 1:1\\n")
    >>> X, y = read_svmlight(path)
    >>> X.toarray().tolist(), y.tolist()
    ([[0.5, 0.0, 2.0], [0.0, 1.0, 0.0]], [1.0, -1.0])
    """
    if not (isinstance(zero_based, (bool, np.bool)) or zero_based == "auto"):
        raise ValueError(f"`zero_based` must be True, False or 'auto', got {zero_based!r}")
    _check_size(n_features, on_large_index, hash_bits)
    from_one = zero_based != "auto" and not zero_based
    reader = Reader(
        paths,
        Reading(unsorted, on_bad_line, max_bad, max_line, format="svmlight"),
        dtype=dtype,
        queries=query_id,
        hash_bits=hash_bits or 0,
        lowest_index=int(from_one),
        threads=threads,
        on_skipped=_warn,
    )
    size = total_size(reader.sources)
    store = MemoryStore(reader.dtype)
    lowest, names = NO_INDEX, _Names()
    for batch in reader:
        fraction = batch.chunk.position / size if size and batch.chunk.plain else 0
        names.add(batch)
        store.add(batch.rows, batch.labels, batch.queries if query_id else None, fraction)
        lowest = min(lowest, batch.lowest)
    if zero_based == "auto":
        from_one = lowest > 0
    X = _matrix(store.rows, store.n_features, n_features, on_large_index, from_one and not hash_bits)
    y = names.of(store.labels)
    return (X, y, store.queries) if query_id else (X, y)


def iter_svmlight(
    paths: Paths,
    rows: int = 10_000,
    *,
    n_features: int | None = None,
    on_large_index: OnLargeIndex = "error",
    dtype: Dtype = "float64",
    zero_based: bool = True,
    hash_bits: int | None = None,
    threads: int | None = None,
    unsorted: Unsorted = "error",
    on_bad_line: OnBadLine = "error",
    max_bad: int = Reading.max_bad,
    max_line: int = Reading.max_line,
) -> Generator[tuple[Any, NDArray[Any]], None, None]:
    """Read svmlight text as a stream of batches (X, y).

    Without `n_features` a matrix is as wide as the largest index so far.  Learners need batches of the same width, so
    give it.

    Parameters
    ----------
    paths : path, or several, which are read as one
        Compressed files (gzip, bzip2, xz, Zstandard) are recognised; "-" is standard input.
    rows : int, default=10_000
        Rows of a batch; the last batch may have fewer.
    n_features : int, optional
        Columns of X; by default as many as the text has so far.
    on_large_index : {"error", "ignore"}, default="error"
        What to do with entries beyond `n_features`: "ignore" leaves them out.
    dtype : {"float64", "float32"}, default="float64"
        Type of the values; they are rounded once.
    zero_based : bool, default=True
        False: indices count from one, and index 1 is column 0.
    hash_bits : int, optional
        Hash the indices, as they are written, to this number of bits, as `cwlearn.train` does.
    threads : int, optional
        Threads that parse; by default one for each core that may be used.
    unsorted : {"error", "sort"}, default="error"
        What to do with a line whose indices do not rise.
    on_bad_line : {"error", "skip"}, default="error"
        Stop at the first bad line, or warn and go on without its row.
    max_bad : int, default=100
        How many bad lines to skip; one more is an error.
    max_line : int, default=1073741824
        Bytes of the longest line.

    Yields
    ------
    X : csr_matrix
        One row for each line with data.
    y : ndarray
        The labels: float64, or strings if the first label is no number.
    """
    require("rows", rows, COUNT)
    if not isinstance(zero_based, (bool, np.bool)):
        raise ValueError(f"`zero_based` must be True or False for a stream, which cannot guess, got {zero_based!r}")
    _check_size(n_features, on_large_index, hash_bits)
    reader = Reader(
        paths,
        Reading(unsorted, on_bad_line, max_bad, max_line, format="svmlight"),
        dtype=dtype,
        hash_bits=hash_bits or 0,
        lowest_index=int(not zero_based),
        threads=threads,
        on_skipped=_warn,
    )
    from_one = not zero_based and not hash_bits
    return _batches(reader, rows, lambda part, width: _matrix(part, width, n_features, on_large_index, from_one))


def _batches(
    reader: Reader, n_rows: int, matrix: Callable[[Rows, int], Any]
) -> Generator[tuple[Any, NDArray[Any]], None, None]:
    """Batches of `n_rows` rows; `matrix` makes one of some rows, given the columns seen so far."""
    store = MemoryStore(reader.dtype)
    names = _Names()
    for batch in reader:
        names.add(batch)
        store.add(batch.rows, batch.labels)
        rows, labels, width = store.rows, store.labels, store.n_features
        whole = rows.n_rows - rows.n_rows % n_rows
        for start in range(0, whole, n_rows):
            yield matrix(rows.part(start, start + n_rows), width), names.of(labels[start : start + n_rows])
        if whole:
            store = MemoryStore(reader.dtype)  # the old memory belongs to the matrices now
            store.add(rows.part(whole, rows.n_rows), labels[whole:])
            store.n_features = width
    if store.rows.n_rows:
        yield matrix(store.rows, store.n_features), names.of(store.labels)


def read_rows(
    path: Path,
    reading: Reading,
    documents: TextOptions,
    hash_bits: int,
    on_skipped: Callable[[DataError], object],
    report: Callable[[int], object] = lambda position: None,
) -> tuple[Any, NDArray[Any]]:
    """Rows or documents of any format as a matrix and labels, for trials that learn from it again and again.

    Documents are weighed by the frequencies of all of them, as in several epochs.  `report` gets the bytes read so far.
    """
    reader = Reader(path, reading, documents=documents, hash_bits=hash_bits, on_skipped=on_skipped)
    store, names = MemoryStore(reader.dtype), _Names()
    options = None
    for batch in reader:
        names.add(batch)
        if batch.weights is not None:
            row = int(np.argmax(batch.weights != 1))
            raise batch.row_error(row, f"the importance of this row is {batch.weights[row]:g}, expected 1 for trials")
        store.add(batch.rows, batch.labels)
        options = batch.documents
        report(batch.chunk.position)
    rows = store.rows
    if options is not None and options.idf:
        frequencies = Frequencies(rows.n_features, options.norm)
        frequencies.count(rows)
        rows = frequencies.weigh(rows)
    return _matrix(rows, store.n_features, None, "error", from_one=False), names.of(store.labels)


class _Names:
    """The labels of rows, if they are texts."""

    def __init__(self) -> None:
        self._labels = Labels()

    def add(self, batch: Batch) -> None:
        if batch.label_names is not None:
            self._labels.add(batch)

    def of(self, labels: NDArray[np.float64]) -> NDArray[Any]:
        """The texts of labels, or numbers as they are."""
        return np.array([*self._labels.texts])[labels.astype(np.int64)] if len(self._labels) else labels


def _check_size(n_features: int | None, on_large_index: str, hash_bits: int | None) -> None:
    require("n_features", n_features, NOTHING | COUNT)
    require("hash_bits", hash_bits, NOTHING | INDEX_BITS)
    require("on_large_index", on_large_index, one_of("error", "ignore"))
    if on_large_index == "ignore" and n_features is None:
        raise ValueError("`on_large_index` 'ignore' needs `n_features`")


def _warn(flaw: DataError) -> None:
    """Warn of a bad line.  Unlike `warnings.warn` it keeps nothing of each of many lines."""
    warnings.warn_explicit(f"{flaw}; line skipped", UserWarning, __file__, lineno=0)


def _matrix(rows: Rows, width: int, n_features: int | None, on_large_index: OnLargeIndex, from_one: bool) -> Any:
    """A CSR matrix of rows, which have been checked; `width` is the number of columns of all rows so far."""
    from scipy.sparse import csr_matrix

    width = max(1, width - from_one)  # without any feature, one column, as in scikit-learn
    if n_features is not None and n_features < width and len(rows.indices):
        if on_large_index == "error":
            raise DataError(f"`n_features` is {n_features}, but the data have {width} features")
        rows = _without_columns_from(n_features + from_one, rows)
    indices = rows.indices - 1 if from_one else rows.indices
    X = csr_matrix((rows.n_rows, width if n_features is None else n_features), dtype=rows.values.dtype)
    kind = np.int32 if indices.dtype == np.int32 and len(indices) < 2**31 else np.int64  # SciPy wants one for both
    X.indptr, X.indices = rows.indptr.astype(kind, copy=False), indices.astype(kind, copy=False)
    X.data = rows.values
    return X


def _without_columns_from(n_features: int, rows: Rows) -> Rows:
    """The rows without the columns from `n_features` on."""
    kept = rows.indices < n_features
    indptr = np.append(0, np.cumsum(kept))[rows.indptr]
    indices = rows.indices[kept].astype(np.int32 if n_features <= 2**31 else np.int64, copy=False)
    values, squares = rows.values[kept], np.empty(rows.n_rows)
    check_rows(squares, indptr, indices, values, n_features)
    return Rows(indptr, indices, values, squares, n_features)
