"""A data set to compare on: its rows lie in an order in which every fold is a slice, so nothing has to copy them."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cwlearn.core.rows import Rows, as_rows
from cwlearn.errors import DataError

MIN_DENSITY = 0.25  # the part of nonzero values from which a matrix counts as dense,
MAX_DENSE_FEATURES = 2000  # if it has at most this many columns
VALIDATION_PART = 5  # one in this many training rows validates settings


def stratified_folds(
    y: NDArray[np.int64], n_folds: int, random_state: np.random.RandomState
) -> tuple[NDArray[np.int64], list[int]]:
    """A random order of the rows, and the bounds of the folds in it.

    Each fold has its share of every label, and so has the beginning of each fold.
    """
    order = random_state.permutation(len(y))
    order = order[np.argsort(y[order], kind="stable")]  # label by label, at random within each
    folds = [_spread_labels(order[fold::n_folds], y, random_state) for fold in range(n_folds)]
    return np.concatenate(folds), [0, *np.cumsum([len(fold) for fold in folds]).tolist()]


def _spread_labels(
    rows: NDArray[np.int64], y: NDArray[np.int64], random_state: np.random.RandomState
) -> NDArray[np.int64]:
    """The rows in a random order in which the rows of each label are spread evenly."""
    position = np.empty(len(rows))
    for label in np.unique(y[rows]):
        same = np.flatnonzero(y[rows] == label)
        position[same] = (random_state.permutation(len(same)) + random_state.random_sample(len(same))) / len(same)
    return rows[np.argsort(position, kind="stable")]


@dataclass(frozen=True)
class DataSet:
    """Rows and their labels, fold after fold.  Labels are numbers: indices of `classes`."""

    name: str
    X: Any  # the rows as a CSR matrix, for scikit-learn
    rows: Rows  # the same rows, for the learners of this package; they share memory with X
    y: NDArray[np.int64]
    classes: NDArray[Any]
    fold_bounds: list[int]
    original_rows: NDArray[np.int64]  # the index of each row in the matrix that was given
    feature_names: list[str] | None = None

    @classmethod
    def from_matrix(
        cls, name: str, X: Any, y: ArrayLike, n_folds: int, seed: int, feature_names: Sequence[str] | None = None
    ) -> DataSet:
        """Check a matrix and its labels, and shuffle them into folds.

        Raises
        ------
        DataError
            If the matrix is malformed, the labels do not fit to it, or a label is too rare for so many folds.
        """
        from scipy.sparse import csr_matrix

        if not isinstance(name, str):
            raise TypeError(f"the name of a data set must be a string, got {name!r}")
        try:
            given = as_rows(X, np.dtype(np.float32))
        except ValueError as error:
            raise DataError(f"{name}: {error}") from None
        classes, numbers = _label_numbers(name, y, given.n_rows)
        if len(numbers) < 2 * n_folds:
            raise DataError(f"{name}: {len(numbers)} rows are too few for {n_folds} folds")
        order, bounds = stratified_folds(numbers, n_folds, np.random.RandomState(seed))
        shape = given.n_rows, given.n_features
        matrix = csr_matrix((given.values, given.indices, given.indptr), shape=shape)[order]
        indptr = matrix.indptr.astype(np.int64)
        rows = Rows(indptr, matrix.indices, matrix.data, given.squares[order], given.n_features)
        names = None if feature_names is None else [*feature_names]
        data_set = cls(name, matrix, rows, numbers[order], classes, bounds, order, names)
        data_set._check_rare_labels()
        return data_set

    def _check_rare_labels(self) -> None:
        """Refuse a label that is not among the rows to learn from in every fold."""
        if self.n_folds == 1:  # `tune` splits the rows itself
            return
        for fold in range(self.n_folds):
            train = self.rows_outside(self.fold(fold), self.validation(fold))
            counts = np.bincount(self.y[train], minlength=len(self.classes))
            if not counts.all():
                rare = self.classes.tolist()[int(np.argmin(counts))]
                raise DataError(
                    f"{self.name}: label {rare!r} has too few rows to train, validate and test in {self.n_folds} folds"
                )

    @property
    def n_folds(self) -> int:
        return len(self.fold_bounds) - 1

    def fold(self, number: int) -> slice:
        """The rows of a fold."""
        return slice(self.fold_bounds[number], self.fold_bounds[number + 1])

    def validation(self, fold: int) -> slice:
        """The rows that validate settings when this fold is tested: the next fold, or its beginning."""
        next_fold = self.fold((fold + 1) % self.n_folds)
        n_outside = len(self.y) - (self.fold_bounds[fold + 1] - self.fold_bounds[fold])
        return slice(next_fold.start, min(next_fold.stop, next_fold.start + max(1, n_outside // VALIDATION_PART)))

    def rows_outside(self, *parts: slice) -> NDArray[np.int64]:
        """The indices of the rows that are in none of these parts."""
        outside = np.ones(len(self.y), bool)
        for part in parts:
            outside[part] = False
        return np.flatnonzero(outside)

    def matrix(self, rows: NDArray[np.int64] | slice) -> Any:
        """Some rows as scikit-learn takes them: an array if the data are dense, else a CSR matrix."""
        X = self.X[rows]
        return X.toarray() if self.is_dense else X

    @cached_property
    def n_used_features(self) -> int:
        """How many features are nonzero in any row."""
        return len(np.unique(self.rows.indices))

    @cached_property
    def has_negative_values(self) -> bool:
        return bool((self.rows.values < 0).any())

    @cached_property
    def is_dense(self) -> bool:
        n_rows, n_features = self.X.shape
        return bool(n_features <= MAX_DENSE_FEATURES and len(self.rows.values) >= MIN_DENSITY * n_rows * n_features)

    def noisy_labels(self, noise: float, seed: int) -> NDArray[np.int64]:
        """The labels, a random part of which is replaced by wrong ones."""
        if not noise:
            return self.y
        random_state = np.random.RandomState([seed, int(noise * 1e6)])
        wrong = random_state.random_sample(len(self.y)) < noise
        shift = random_state.randint(1, len(self.classes), len(self.y))
        return np.where(wrong, (self.y + shift) % len(self.classes), self.y)

    @cached_property
    def fingerprint(self) -> str:
        """Identifies the data and their folds in a journal."""
        check = 0
        for array in (self.rows.indptr, self.rows.indices, self.rows.values, self.y, np.array(self.fold_bounds)):
            check = zlib.crc32(np.ascontiguousarray(array).view(np.uint8).data, check)
        return f"{len(self.y)}x{self.X.shape[1]}-{check:08x}"


@dataclass(frozen=True)
class TrainingRows:
    """The rows of a data set that a candidate learns from."""

    data_set: DataSet
    labels: NDArray[np.int64]  # of all rows of the data set; some may be wrong on purpose
    indices: NDArray[np.int64]  # of the rows to learn from


def _label_numbers(name: str, y: ArrayLike, n_rows: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The labels, sorted, and the number of the label of each row."""
    labels = np.asarray(y)
    if labels.shape != (n_rows,):
        raise DataError(f"{name}: y must have one label for each of {n_rows} rows, got shape {labels.shape}")
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise DataError(f"{name}: label {labels[~np.isfinite(labels)][0]} is not a finite number")
    try:
        classes, numbers = np.unique(labels, return_inverse=True)
    except TypeError:
        raise DataError(f"{name}: labels must be of one type, all numbers or all strings") from None
    if len(classes) < 2:
        raise DataError(f"{name}: two labels are needed to compare classifiers, found {len(classes)}")
    return classes, numbers
