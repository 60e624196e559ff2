"""The labels of classes: which are allowed, and how a model file stores them.

A label is a number, a string or a boolean, and all labels of a model are of one type.  Labels that a file could not
give back unchanged are refused before the model learns, not when it is saved.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cwlearn.core.parameters import label_value, plain
from cwlearn.errors import ModelError, listed

EXPECTED = "labels must be of one type, all numbers, all strings or all booleans"
NUMBERS = (bool, int, float, np.bool_, np.integer, np.floating)
LEAST_TABLE = 1 << 12  # of whole numbers: it costs nothing
WIDEST = 1 << 26  # bytes of a label
MOST_TEXT = 1 << 24  # bytes of all labels, as JSON
MOST_BYTES = 1 << 29  # and as an array


def small_span(labels: NDArray[Any], n: int) -> tuple[int, int] | None:
    """The least of some whole numbers and how many there are up to the largest, if a table of these suits n rows."""
    if labels.dtype.kind not in "iu" or not len(labels):
        return None
    low = int(labels.min())
    span = int(labels.max()) - low + 1
    return (low, span) if span <= max(LEAST_TABLE, 2 * n) and low + span <= 1 << 62 else None


def distinct_numbers(labels: NDArray[Any]) -> NDArray[Any] | None:
    """Different whole numbers, sorted, by a table; None if they are too far apart, or something else."""
    spans = small_span(labels, len(labels))
    if spans is None:
        return None
    low, span = spans
    found = np.zeros(span, bool)
    found[labels.astype(np.int64) - low] = True
    return (np.flatnonzero(found) + low).astype(labels.dtype)


def numbers_by_table(classes: NDArray[Any], labels: NDArray[Any]) -> NDArray[np.int64] | None:
    """The numbers of whole-number labels in `classes`, by a table; None if that does not suit, or one is unknown."""
    spans = small_span(classes, len(labels))
    if spans is None or labels.dtype.kind not in "iu" or not len(labels):
        return None
    low, span = spans
    if int(labels.min()) < low or int(labels.max()) >= low + span:
        return None
    table = np.full(span, -1)
    table[classes.astype(np.int64) - low] = np.arange(len(classes))
    numbers: NDArray[np.int64] = table[labels.astype(np.int64) - low]
    return numbers if numbers.min() >= 0 else None


def check_types(y: Any, mixed: bool = False) -> None:
    """Refuse labels of rows that are not numbers, strings or booleans, before they are compared or converted.

    Numbers and strings together are refused too, unless `mixed`.
    """
    dtype: Any = getattr(y, "dtype", None)
    kind = dtype.kind if isinstance(dtype, np.dtype) else "O"  # pandas has types of its own
    if kind in "biufU":
        return
    if kind == "c":
        raise ValueError(f"Complex data not supported: {EXPECTED}")  # in scikit-learn's words
    if kind != "O":
        raise ValueError(f"{EXPECTED}; found an array of {dtype}")
    try:
        values = np.asarray(y, dtype=object).ravel().tolist()
    except ValueError:  # nested lists, which scikit-learn refuses
        return
    numbers = texts = None
    for kind_of_value in {*map(type, values)}:
        row = next(row for row, value in enumerate(values) if type(value) is kind_of_value)
        if issubclass(kind_of_value, str):
            texts = row
        elif issubclass(kind_of_value, NUMBERS):
            numbers = row
        elif np.ndim(y):
            raise ValueError(f"{EXPECTED}; found {_shown(values[row])} in row {row}")
    if numbers is not None and texts is not None and not mixed:
        raise ValueError(f"{EXPECTED}; found {_shown(values[numbers])} and {_shown(values[texts])}")


def check_typed(y: NDArray[Any]) -> None:
    """Refuse numbers in an array of objects, which scikit-learn does not accept as labels."""
    if y.dtype == object and y.size and not isinstance(y.flat[0], str):
        raise ValueError(
            "Unknown label type: numbers in an array of objects; expected strings, or a type of numbers, such as int64"
        )


def check_labels(labels: NDArray[Any]) -> None:
    """Refuse sorted labels that a file would not give back unchanged."""
    for label in labels.tolist() if labels.dtype.kind in "UO" else ():
        if not _is_text(label):
            raise ValueError(
                f"label {_shown(label)} has a lone surrogate, which is no character, so it cannot be written"
            )
        if label.endswith("\0"):
            raise ValueError(f"label {_shown(label)} ends in NUL, which NumPy would leave off")
    text = json.dumps(as_json(labels))
    if len(text) > MOST_TEXT or labels.nbytes > MOST_BYTES:
        raise ValueError(
            f"labels are too many or too long to be saved: they take {len(text):,} bytes as text and "
            f"{labels.nbytes:,} as an array; at most {MOST_TEXT:,} and {MOST_BYTES:,} can be"
        )
    again = from_json(json.loads(text), lambda size: None)
    if again.dtype != labels.dtype or not (again == labels).all():
        raise ValueError(f"labels of type {labels.dtype} cannot be saved: they come back as {listed(again.tolist())}")


def listed_labels(labels: Sequence[Any], task: str, known: NDArray[Any] | None = None) -> NDArray[Any]:
    """The labels that a caller lists, sorted.

    Refused are a list for a regression, fewer than two labels, the same label twice, and others than the `known` ones
    of a model that continues.
    """
    if task == "regression":
        raise ValueError(f"`labels` are for classifiers, and a regression has none, got {labels!r}")
    check_types(labels)
    classes = np.unique(np.asarray(labels))
    if np.ndim(labels) != 1 or len(classes) < max(2, len(labels)):
        raise ValueError(f"`labels` must be two or more different ones, got {labels!r}")
    if classes.dtype.kind == "f" and not np.isfinite(classes).all():
        raise ValueError(f"`labels` must be finite numbers, or texts, got {labels!r}")
    if known is not None and not np.array_equal(classes, known):
        raise ValueError(f"`labels` must be those that the model has, {known.tolist()}, got {labels!r}")
    return classes


def text_labels(labels: NDArray[Any]) -> dict[float | str, str]:
    """Labels as they are in text, numbers by their value."""
    texts = labels.dtype.kind in "UO"
    return {label if texts else label_value(label): label_text(label) for label in labels.tolist()}


def label_text(label: Any) -> str:
    """A label as text: 1, not 1.0."""
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)


def as_json(labels: NDArray[Any]) -> dict[str, Any]:
    return {"dtype": labels.dtype.str, "values": [json_value(label) for label in labels.tolist()]}


def from_json(stored: dict[str, Any], take: Callable[[int], None], least: int = 1) -> NDArray[Any]:
    """The labels of a file, `least` or more.

    `take` gets the bytes that they need first; ValueError says what is wrong.
    """
    dtype, values = np.dtype(str(stored["dtype"])), stored["values"]
    if dtype.kind not in "biufUO" or dtype.itemsize > WIDEST:
        raise ValueError(f"its labels are of type {dtype}")
    if len(values) < least or not all(isinstance(value, (str, bool, int, float)) for value in values):
        raise ValueError(f"expected {'two' if least > 1 else 'one'} or more labels, found {listed(values)}")
    take(len(values) * dtype.itemsize)
    labels = np.array(values, dtype)
    if not (labels[:-1] < labels[1:]).all():
        raise ValueError(f"expected different, sorted labels, found {listed(values)}")
    return labels


def json_value(value: Any) -> Any:
    """A Python value that JSON can hold."""
    value = plain(value)
    if not isinstance(value, (str, bool, int, float, list, type(None))):
        raise ModelError(f"cannot save {value!r}: a model holds numbers, strings, booleans and None")
    return value


def _is_text(label: str) -> bool:
    try:
        label.encode()
    except UnicodeEncodeError:
        return False
    return True


def _shown(label: Any) -> str:
    return f"{label!r:.40} ({type(label).__name__})"
