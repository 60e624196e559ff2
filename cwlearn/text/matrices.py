"""svmlight files as SciPy matrices: all at once, or some rows at a time."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cwlearn.core.parameters import COUNT
from cwlearn.core.rows import Rows
from cwlearn.errors import DataError
from cwlearn.text.row_store import MemoryStore
from cwlearn.text.sources import total_size
from cwlearn.text.svmlight import NO_INDEX, Paths, Reader, Reading


def read_svmlight(
    paths: Paths,
    *,
    n_features: int | None = None,
    dtype: Any = "float64",
    zero_based: bool | str = "auto",
    query_id: bool = False,
    hash_bits: int | None = None,
    threads: int | None = None,
    **reading: Any,
) -> tuple[Any, ...]:
    """Read svmlight text into a CSR matrix X and labels y, as scikit-learn's `load_svmlight_file` does.

    For a model that was, or will be, used with text files (`train_svmlight`, `cwlearn train`, `cwlearn predict`), say
    `zero_based=True`: there the index in the text is the column, and nothing is ever guessed.

    Parameters
    ----------
    paths : path, or several, which are read as one
        Compressed files (gzip, bzip2, xz, Zstandard) are recognised; "-" is standard input.
    n_features : int, optional
        Columns of X; by default as many as the text has.
    dtype : "float64" or "float32"
        Of the values; they are rounded once.
    zero_based : "auto", True or False
        Whether indices count from zero; "auto" takes them to count from one if none of them is 0.
    query_id : bool
        Return the numbers after "qid:" as well.
    hash_bits : int, optional
        Hash the indices, as they are written, to so many bits, as `cwlearn train --hash-bits` does.
    threads : int, optional
        Threads that parse; by default one for each core that may be used.
    reading
        The other options of `cwlearn.text.svmlight.Reading`: `unsorted`, `on_bad_line`, `max_bad`, `max_line`.

    Returns
    -------
    X, y : csr_matrix and ndarray
        And the query numbers, if they were asked for.

    Examples
    --------
    >>> import os, tempfile
    >>> from cwlearn import read_svmlight
    >>> path = os.path.join(tempfile.mkdtemp(), "tiny.svm")
    >>> with open(path, "w") as file:
    ...     _ = file.write("+1 1:0.5 3:2  # a comment\\n-1 2:1\\n")
    >>> X, y = read_svmlight(path)
    >>> X.toarray().tolist(), y.tolist()
    ([[0.5, 0.0, 2.0], [0.0, 1.0, 0.0]], [1.0, -1.0])
    """
    if zero_based not in (True, False, "auto"):
        raise ValueError(f"zero_based must be True, False or 'auto', got {zero_based!r}")
    if not isinstance(zero_based, str):
        zero_based = bool(zero_based)
    reader = _reader(paths, zero_based, reading, dtype=dtype, queries=query_id, hash_bits=hash_bits, threads=threads)
    size = total_size(reader.paths)
    store = MemoryStore(reader.dtype)
    lowest = NO_INDEX
    for batch in reader:
        fraction = batch.chunk.position / size if size and batch.chunk.plain else 0
        store.add(batch.rows, batch.labels, batch.queries if query_id else None, fraction)
        lowest = min(lowest, batch.lowest)
    from_one = not hash_bits and (zero_based is False or (zero_based == "auto" and lowest > 0))
    X = _matrix(store.rows, store.n_features, n_features, from_one)
    return (X, store.labels, store.queries) if query_id else (X, store.labels)


def iter_svmlight(
    paths: Paths,
    rows: int = 10_000,
    *,
    n_features: int | None = None,
    dtype: Any = "float64",
    zero_based: bool = True,
    hash_bits: int | None = None,
    threads: int | None = None,
    **reading: Any,
) -> Iterator[tuple[Any, NDArray[np.float64]]]:
    """Read svmlight text as a stream: batches (X, y) of `rows` rows, the last one perhaps of fewer.

    A stream cannot wait for an index 0, so indices count from zero unless `zero_based` is False.  Without `n_features`
    the matrices are as wide as the largest index so far asks for; learners want all of them alike, so give it.  The
    other parameters are those of `read_svmlight`.
    """
    if not COUNT.accepts(rows):
        raise ValueError(f"rows must be {COUNT.words}, got {rows!r}")
    if zero_based not in (True, False):
        raise ValueError(f"zero_based must be True or False for a stream, which cannot guess, got {zero_based!r}")
    zero_based = bool(zero_based)
    reader = _reader(paths, zero_based, reading, dtype=dtype, hash_bits=hash_bits, threads=threads)
    return _batches_of(rows, reader, n_features, from_one=not zero_based and not hash_bits)


def _batches_of(
    rows: int, reader: Reader, n_features: int | None, from_one: bool
) -> Iterator[tuple[Any, NDArray[np.float64]]]:
    store = MemoryStore(reader.dtype)

    def part(start: int, stop: int) -> tuple[Any, NDArray[np.float64]]:
        return _matrix(found.part(start, stop), store.n_features, n_features, from_one), labels[start:stop]

    for batch in reader:
        store.add(batch.rows, batch.labels)
        found, labels = store.rows, store.labels
        whole = found.n_rows - found.n_rows % rows
        for start in range(0, whole, rows):
            yield part(start, start + rows)
        if whole:
            n_seen, store = store.n_features, MemoryStore(reader.dtype)  # what was handed out is no longer ours
            store.add(found.part(whole, found.n_rows), labels[whole:])
            store.n_features = n_seen
    found, labels = store.rows, store.labels
    if found.n_rows:
        yield part(0, found.n_rows)


def _warn(flaw: DataError) -> None:
    """A warning, of which nothing is kept, as `warnings.warn` would for each of many lines."""
    warnings.warn_explicit(f"{flaw}; line skipped", UserWarning, __file__, lineno=0)


def _reader(paths: Paths, zero_based: bool | str, reading: dict[str, Any], **options: Any) -> Reader:
    options["hash_bits"] = options["hash_bits"] or 0
    rules = Reading(zero_based="no" if zero_based is False else "auto", **reading)
    return Reader(paths, rules, tell=_warn, **options)


def _matrix(rows: Rows, n_found: int, n_features: int | None, from_one: bool) -> Any:
    from scipy.sparse import csr_matrix

    n_found = max(1, n_found - from_one)  # without any feature, one column, as in scikit-learn
    if n_features is not None and n_features < n_found and len(rows.indices):
        raise DataError(f"n_features was set to {n_features}, but the data have {n_found} features")
    indices = rows.indices - 1 if from_one else rows.indices
    X = csr_matrix((len(rows.squares), n_found if n_features is None else n_features), dtype=rows.values.dtype)
    kind = np.int32 if indices.dtype == np.int32 and len(indices) < 2**31 else np.int64  # SciPy wants one for both
    X.indptr, X.indices = rows.indptr.astype(kind, copy=False), indices.astype(kind, copy=False)
    X.data = rows.values  # all of it has been checked
    return X
