"""A data set to compare on: rows in an order in which every fold is a slice, so that nobody has to copy them."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cwlearn.core.rows import Rows, as_rows
from cwlearn.errors import DataError

DENSE, NARROW = 0.25, 2000  # part of the values that is not 0, and features, for methods that want dense rows
CHECKED = 5  # one in so many training rows is for choosing a setting, or a fold of them if that is less


def dealt(y: NDArray[np.int64], folds: int, random_state: np.random.RandomState) -> tuple[NDArray[np.int64], list[int]]:
    """An order of the rows, and the bounds of the folds in it: at random, each with its share of every label; and so
    has each beginning of a fold."""
    order = random_state.permutation(len(y))
    order = order[np.argsort(y[order], kind="stable")]  # label by label, at random within each
    decks = [_spread(order[fold::folds], y, random_state) for fold in range(folds)]
    return np.concatenate(decks), [0, *np.cumsum([len(deck) for deck in decks]).tolist()]


def _spread(rows: NDArray[np.int64], y: NDArray[np.int64], random_state: np.random.RandomState) -> NDArray[np.int64]:
    """The rows at random, but those of each label spread evenly over all of them."""
    place = np.empty(len(rows))
    for label in np.unique(y[rows]):
        same = np.flatnonzero(y[rows] == label)
        place[same] = (random_state.permutation(len(same)) + random_state.random_sample(len(same))) / len(same)
    return rows[np.argsort(place, kind="stable")]


@dataclass(frozen=True)
class DataSet:
    """Rows, and the numbers of their labels, fold after fold."""

    name: str
    X: Any  # CSR
    rows: Rows  # the same, for our learners
    y: NDArray[np.int64]
    classes: NDArray[Any]
    bounds: list[int]  # of the folds
    order: NDArray[np.int64]  # which of the given rows each was
    feature_names: list[str] | None = None

    @classmethod
    def of(
        cls, name: str, X: Any, y: Any, folds: int, seed: int, feature_names: Sequence[str] | None = None
    ) -> DataSet:
        from scipy.sparse import csr_matrix

        if not isinstance(name, str):
            raise TypeError(f"the name of a data set must be a string, got {name!r}")
        try:
            given = as_rows(X, np.dtype(np.float32))
        except ValueError as error:
            raise DataError(f"{name}: {error}") from None
        classes, numbers = _labels(name, y, given.n_rows)
        if len(numbers) < 2 * folds:
            raise DataError(f"{name}: {len(numbers)} rows are too few for {folds} folds")
        order, bounds = dealt(numbers, folds, np.random.RandomState(seed))
        X = csr_matrix((given.values, given.indices, given.indptr), shape=(given.n_rows, given.n_features))[order]
        names = None if feature_names is None else [*feature_names]
        data_set = cls(name, X, as_rows(X, np.dtype(np.float32)), numbers[order], classes, bounds, order, names)
        for fold in range(folds if folds > 1 else 0):
            left = np.bincount(
                data_set.y[data_set.rest(data_set.fold(fold), data_set.check(fold))], minlength=len(classes)
            )
            if not left.all():
                rare = classes.tolist()[int(np.argmin(left))]
                raise DataError(
                    f"{name}: label {rare!r} has too few rows to learn, to check and to test in {folds} folds"
                )
        return data_set

    @property
    def folds(self) -> int:
        return len(self.bounds) - 1

    def fold(self, number: int) -> slice:
        return slice(self.bounds[number], self.bounds[number + 1])

    def rest(self, *parts: slice) -> NDArray[np.int64]:
        """The rows that are in none of these parts."""
        left = np.ones(len(self.y), bool)
        for part in parts:
            left[part] = False
        return np.flatnonzero(left)

    def check(self, fold: int) -> slice:
        """Of the rows outside a fold, some to choose a setting by: the next fold, or a part of it."""
        start, stop = self.bounds[(fold + 1) % self.folds], self.bounds[(fold + 1) % self.folds + 1]
        outside = len(self.y) - (self.bounds[fold + 1] - self.bounds[fold])
        return slice(start, min(stop, start + max(1, outside // CHECKED)))

    def matrix(self, which: NDArray[np.int64] | slice) -> Any:
        """Some rows as scikit-learn wants them."""
        X = self.X[which]
        return X.toarray() if self.dense else X

    @cached_property
    def n_used(self) -> int:
        """Features that any row has."""
        return len(np.unique(self.rows.indices))

    @cached_property
    def signed(self) -> bool:
        return bool((self.rows.values < 0).any())

    @cached_property
    def dense(self) -> bool:
        n_rows, n_features = self.X.shape
        return bool(n_features <= NARROW and len(self.rows.values) >= DENSE * n_rows * n_features)

    def noisy(self, part: float, seed: int) -> NDArray[np.int64]:
        """The labels, this part of them, drawn at random, replaced by another one."""
        if not part:
            return self.y
        random_state = np.random.RandomState([seed, int(part * 1e6)])
        wrong = random_state.random_sample(len(self.y)) < part
        shift = random_state.randint(1, len(self.classes), len(self.y))
        return np.where(wrong, (self.y + shift) % len(self.classes), self.y)

    @cached_property
    def fingerprint(self) -> str:
        """By which a journal knows that it is of the same data, in the same folds."""
        check = 0
        for array in (self.rows.indptr, self.rows.indices, self.rows.values, self.y, np.array(self.bounds)):
            check = zlib.crc32(np.ascontiguousarray(array).view(np.uint8).data, check)
        return f"{len(self.y)}x{self.X.shape[1]}-{check:08x}"


def _labels(name: str, y: Any, n_rows: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The labels there are, and the number of each row's."""
    y = np.asarray(y)
    if y.shape != (n_rows,):
        raise DataError(f"{name}: y must have one label for each of {n_rows} rows, got shape {y.shape}")
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise DataError(f"{name}: label {y[~np.isfinite(y)][0]} is not a finite number")
    try:
        classes, numbers = np.unique(y, return_inverse=True)
    except TypeError:
        raise DataError(f"{name}: labels must be of one type, all numbers or all strings") from None
    if len(classes) < 2:
        raise DataError(f"{name}: two labels are needed to compare classifiers, found {len(classes)}")
    return classes, numbers
