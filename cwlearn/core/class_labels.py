"""The labels of classes: which there can be, and how a model file has them.

A label is a number, a string or a boolean, and all of a model are of one type.  What a file could not give back as it
was is refused at the door, and not once the model has learned.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cwlearn.core.parameters import plain
from cwlearn.errors import ModelError, listed

EXPECTED = "labels must be of one type, all numbers, all strings or all booleans"
NUMBERS = (bool, int, float, np.bool_, np.integer, np.floating)
WIDEST = 1 << 26  # bytes of a label
MOST_TEXT = 1 << 24  # bytes of all labels, as JSON
MOST_BYTES = 1 << 29  # and as an array


def check_types(y: Any, mixed: bool = False) -> None:
    """Refuse labels of rows that are of another type or, unless that may be, `mixed`, before anybody compares them or
    makes strings of them."""
    dtype: Any = getattr(y, "dtype", None)
    kind = dtype.kind if isinstance(dtype, np.dtype) else "O"  # those of pandas are not NumPy's
    if kind in "biufU":
        return
    if kind == "c":
        raise ValueError(f"Complex data not supported: {EXPECTED}")  # in scikit-learn's words
    if kind != "O":
        raise ValueError(f"{EXPECTED}; found an array of {dtype}")
    try:
        values = np.asarray(y, dtype=object).ravel().tolist()
    except ValueError:  # nested lists: scikit-learn will say what it thinks of their shape
        return
    numbers = texts = None
    for found in {*map(type, values)}:
        row = next(row for row, value in enumerate(values) if type(value) is found)
        if issubclass(found, str):
            texts = row
        elif issubclass(found, NUMBERS):
            numbers = row
        elif np.ndim(y):
            raise ValueError(f"{EXPECTED}; found {_shown(values[row])} in row {row}")
    if numbers is not None and texts is not None and not mixed:
        raise ValueError(f"{EXPECTED}; found {_shown(values[numbers])} and {_shown(values[texts])}")


def check_typed(y: NDArray[Any]) -> None:
    """Refuse numbers that are kept as objects, which scikit-learn would take for no labels at all."""
    if y.dtype == object and y.size and not isinstance(y.flat[0], str):
        raise ValueError(
            "Unknown label type: numbers in an array of objects; expected strings, or a type of numbers, such as int64"
        )


def check_labels(labels: NDArray[Any]) -> None:
    """Refuse labels of a classifier, different and sorted ones, that would not come back from a file as they are."""
    for label in labels.tolist() if labels.dtype.kind in "UO" else ():
        if not _is_text(label):
            raise ValueError(
                f"label {_shown(label)} has a lone surrogate, which is no character, so it cannot be written"
            )
        if label.endswith("\0"):
            raise ValueError(f"label {_shown(label)} ends in NUL, which NumPy would leave off")
    found = json.dumps(as_json(labels))
    if len(found) > MOST_TEXT or labels.nbytes > MOST_BYTES:
        raise ValueError(
            f"labels are too many or too long to be saved: they take {len(found):,} bytes as text and "
            f"{labels.nbytes:,} as an array; at most {MOST_TEXT:,} and {MOST_BYTES:,} can be"
        )
    again = from_json(json.loads(found), lambda size: None)
    if again.dtype != labels.dtype or not (again == labels).all():
        raise ValueError(f"labels of type {labels.dtype} cannot be saved: they come back as {listed(again.tolist())}")


def as_json(labels: NDArray[Any]) -> dict[str, Any]:
    return {"dtype": labels.dtype.str, "values": [json_value(label) for label in labels.tolist()]}


def from_json(found: dict[str, Any], take: Callable[[int], None]) -> NDArray[Any]:
    """The labels of a file, after `take` has heard how many bytes they need; ValueError says what is not sound."""
    dtype, values = np.dtype(str(found["dtype"])), found["values"]
    if dtype.kind not in "biufUO" or dtype.itemsize > WIDEST:
        raise ValueError(f"its labels are of type {dtype}")
    if len(values) < 2 or not all(isinstance(value, (str, bool, int, float)) for value in values):
        raise ValueError(f"expected two or more labels, found {listed(values)}")
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
