"""Options: dataclass fields that carry their own help text and check.

A dataclass is the one source of the checks, the command-line flags and the error messages of its options.  The
estimators repeat names and defaults in their constructors, and a test compares both.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np


def _unreadable(text: str) -> Any:
    raise ValueError(f"{text!r} cannot be written on a command line")


@dataclass(frozen=True)
class Check:
    """What an option accepts: in words, as a test, and as text on a command line."""

    words: str
    accepts: Callable[[Any], object]  # truthy for yes
    read: Callable[[str], Any] = _unreadable  # text to a value, or ValueError
    form: str = "VALUE"  # the form of the text, for a usage line

    def __or__(self, other: Check) -> Check:
        def read(text: str) -> Any:
            try:
                value = self.read(text)
            except ValueError:
                return other.read(text)
            return value if self.accepts(value) else other.read(text)

        return Check(
            " or ".join(dict.fromkeys(f"{self.words} or {other.words}".split(" or "))),
            lambda value: self.accepts(value) or other.accepts(value),
            read,
            "|".join(dict.fromkeys(f"{self.form}|{other.form}".split("|"))),
        )


def is_integer(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    if is_integer(value):
        return abs(int(value)) < 2**1023
    return isinstance(value, (float, np.floating)) and math.isfinite(float(value))


def plain(value: Any) -> Any:
    """A NumPy scalar as a Python number, so that arithmetic does not depend on the type of an argument."""
    if isinstance(value, np.floating):
        return float(value)
    return value.item() if isinstance(value, np.generic) else value


def read_size(text: str) -> int:
    """Bytes, as in 300M or 4G."""
    units = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([KMGT]?)I?B?", text.strip().upper())
    if not match:
        raise ValueError(f"expected a number of bytes such as 500M or 4G, got {text!r}")
    return int(float(match[1]) * units[match[2]])


def _read_none(text: str) -> None:
    if text.lower() != "none":
        raise ValueError(f"expected none, got {text!r}")


def _read_all(text: str) -> None:
    if text.lower() not in ("all", "none"):
        raise ValueError(f"expected all, got {text!r}")


class LabelError(ValueError):
    """A number or text that cannot be a label."""


def label_value(label: Any) -> float:
    """A label, or the text of one, as a double."""
    value = float(label)
    if abs(value) >= 2**53:
        raise LabelError(f"label {label} is too large: from 2^53 on not all whole numbers can be told apart")
    return value


def _read_class_weight(text: str) -> Any:
    """'balanced', or label:weight pairs with commas between them; the labels are all numbers, or all texts."""
    if text == "balanced":
        return text
    pairs = [pair.rpartition(":")[::2] for pair in text.split(",")]
    labels: list[float | str] = [label.strip() for label, _ in pairs]
    if not all(labels):
        raise ValueError(f"expected 'balanced' or label:weight,label:weight, got {text!r}")
    try:
        labels = [label_value(label) for label in labels]
    except LabelError:
        raise
    except ValueError:
        pass
    weights = {label: float(weight) for label, (_, weight) in zip(labels, pairs, strict=True)}
    if len(weights) < len(pairs):
        raise LabelError(f"a label stands twice in {text!r}")
    return weights


POSITIVE = Check("a positive number", lambda value: is_number(value) and value > 0, float, "X")
TIMES = Check(
    "a number of at least 1, such as 3x",
    lambda value: is_number(value) and value >= 1,
    lambda text: float(text.removesuffix("x")),
    "X",
)
NOT_NEGATIVE = Check("a number >= 0", lambda value: is_number(value) and value >= 0, float, "X")
NUMBER = Check("a finite number", is_number, float, "X")
BOOLEAN = Check("True or False", lambda value: isinstance(value, (bool, np.bool)))
COUNT = Check("a positive integer", lambda value: is_integer(value) and value >= 1, int, "N")
LEVEL = Check("an integer >= 0", lambda value: isinstance(value, (int, np.integer)) and value >= 0, int, "N")
SEED = Check(
    "an integer from 0 to 4294967295", lambda value: is_integer(value) and 0 <= value < 2**32, int, "N"
)  # NumPy's limits
SIZE = Check("a positive number of bytes", lambda value: is_integer(value) and value >= 1, read_size, "SIZE")
THREADS = Check(
    "an integer from 1 to 1024, or -1 for all cores",
    lambda value: is_integer(value) and (1 <= value <= 1024 or value == -1),
    int,
    "N",
)
NOTHING = Check("None", lambda value: value is None, _read_none, "none")
ALL = Check("None", lambda value: value is None, _read_all, "all")
CONFIDENCE = Check(
    "a number with 0.5 <= confidence < 1", lambda value: is_number(value) and 0.5 <= value < 1, float, "X"
)
FRACTION = Check("a number between 0 and 1", lambda value: is_number(value) and 0 < value < 1, float, "X")
CLASS_WEIGHT = Check(
    "None, 'balanced' or a dict of positive numbers by label",
    lambda value: (
        value is None
        or (isinstance(value, str) and value == "balanced")
        or (isinstance(value, Mapping) and all(is_number(weight) and weight > 0 for weight in value.values()))
    ),
    _read_class_weight,
    "balanced|LABEL:X,...",
)
ANYTHING = Check("any value", lambda value: True)


def one_of(*choices: str) -> Check:
    return Check(
        " or ".join(map(repr, choices)),
        lambda value: isinstance(value, str) and value in choices,
        str,
        "|".join(choices),
    )


HOW = one_of("posterior", "kl", "l2")  # to merge models


def option(default: Any, check: Check, text: str, *, keyword_only: bool = False, compare: bool = True) -> Any:
    """A dataclass field with a check and a help text; options that differ only where not `compare` are equal."""
    return field(default=default, metadata={"check": check, "help": text}, kw_only=keyword_only, compare=compare)


def require(name: str, value: Any, check: Check) -> None:
    """Refuse a value that the check does not accept."""
    if not check.accepts(value):
        raise ValueError(f"`{name}` must be {check.words}, got {value!r}")


class Options:
    """Base of the dataclasses made of options: every value is checked when an instance is built."""

    def __post_init__(self) -> None:
        for item in fields(self):  # type: ignore[arg-type]
            value = getattr(self, item.name)
            require(item.name, value, item.metadata["check"])
            object.__setattr__(self, item.name, plain(value))  # the dataclass is frozen
