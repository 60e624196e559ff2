"""The labels of rows that may have several: an indicator matrix or lists of labels, checked."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cwlearn.core.class_labels import check_labels, check_typed, check_types
from cwlearn.core.label_sets import LabelSets
from cwlearn.core.rows import as_rows
from cwlearn.errors import DataError, listed

EXPECTED = (
    "Unknown label type: expected an indicator matrix of 0 and 1, a column for each label, or a list of labels for "
    "each row"
)


@dataclass(frozen=True, eq=False, repr=False)
class RowLabels:
    """The labels of rows: a set for each row, of numbers of `classes`."""

    classes: NDArray[Any]  # sorted
    sets: LabelSets
    sparse: bool  # they came as a sparse matrix

    def __len__(self) -> int:
        return len(self.sets.bounds) - 1


def row_labels(Y: Any, classes: NDArray[Any] | None = None) -> RowLabels:
    """Check the labels of rows.  `classes` are all labels, sorted, if they are known."""
    if hasattr(Y, "tocsr"):
        return _of_matrix(Y, classes, True)
    if isinstance(Y, np.ndarray) and Y.dtype != object:
        return _of_array(Y, classes)
    if hasattr(Y, "__array__") and np.asarray(Y).dtype != object:  # a data frame, for example
        return _of_array(np.asarray(Y), classes)
    if isinstance(Y, (str, bytes)) or not isinstance(Y, (Collection, np.ndarray)):
        raise ValueError(f"{EXPECTED}; got {Y!r:.60}")
    rows = [_listed(row, labels) for row, labels in enumerate(Y)]
    # Lists of 0 and 1, all as long as the first one, are an indicator matrix, as in scikit-learn.
    if rows and len({*map(len, rows)}) == 1 and rows[0] and all(_is_indicator(value) for row in rows for value in row):
        return _of_array(np.array(rows), classes)
    return _of_lists(rows, classes)


def _listed(row: int, labels: Any) -> list[Any]:
    """The labels of a row as a list."""
    if isinstance(labels, (str, bytes)) or not isinstance(labels, (Collection, np.ndarray)):
        raise ValueError(
            f"{EXPECTED}; row {row} is {labels!r:.60}: what has one label a row is for the classifier itself"
        )
    return labels.tolist() if isinstance(labels, np.ndarray) else [*labels]


def _is_indicator(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating, np.bool_)) and value in (0, 1)


def _of_array(Y: NDArray[Any], classes: NDArray[Any] | None) -> RowLabels:
    if Y.ndim != 2:
        raise ValueError(
            f"{EXPECTED}; got an array of {Y.ndim} dimensions: what has one label a row is for the classifier itself"
        )
    return _of_matrix(Y, classes, False)


def _of_matrix(Y: Any, classes: NDArray[Any] | None, sparse: bool) -> RowLabels:
    try:
        rows = as_rows(Y, np.dtype(np.float64))
    except DataError as error:
        raise ValueError(f"the labels: {error}") from None
    wrong = np.flatnonzero((rows.values != 0) & (rows.values != 1))
    if len(wrong):
        row = int(np.searchsorted(rows.indptr, wrong[0], side="right")) - 1
        raise ValueError(f"{EXPECTED}; row {row} has {rows.values[wrong[0]]:g} in column {rows.indices[wrong[0]]}")
    if not rows.n_features:
        raise ValueError(f"{EXPECTED}; got no column, hence no label")
    if classes is not None and len(classes) != rows.n_features:
        raise ValueError(f"the labels have {rows.n_features} columns, and there are {len(classes)} labels")
    ones = rows.values == 1
    bounds = np.append(0, np.cumsum(ones))[rows.indptr]
    known = np.arange(rows.n_features) if classes is None else classes
    return RowLabels(known, LabelSets(bounds, rows.indices[ones].astype(np.int32)), sparse)


def _of_lists(rows: list[list[Any]], classes: NDArray[Any] | None) -> RowLabels:
    if classes is None:
        classes = sorted_labels([*chain.from_iterable(rows)])
    number_of = {label: number for number, label in enumerate(classes.tolist())}
    for row, labels in enumerate(rows):
        for label in labels:
            if label not in number_of:
                raise DataError(
                    f"label {label!r:.60} is not one of the labels [{listed([repr(known) for known in number_of])}]",
                    row=row,
                )
    return RowLabels(classes, LabelSets.of({number_of[label] for label in labels} for labels in rows), False)


def sorted_labels(labels: Any) -> NDArray[Any]:
    """All different labels, sorted, and checked as those of a classifier."""
    check_types(labels)
    found = np.unique(np.asarray(labels))
    if not len(found):
        raise ValueError("no row has a label: there is nothing to learn")
    check_typed(found)
    check_labels(found)
    return found
