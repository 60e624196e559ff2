"""What is wrong with a line that `_svmlight.parse_rows` does not accept, in words and with its column.

This module is written for clarity, since it reads one line of a file.  It accepts and refuses the same lines as the
compiled parser; a test compares the two.

A line may be a gigabyte long: it is never copied, and its tokens are checked one by one.
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from cwlearn.text._svmlight import LONGEST_LABEL, NUMBERS, SETS, TEXTS
from cwlearn.text.chunks import CR_LINE_ENDS

TOKEN = re.compile(rb"[^ \t\v\f]++")
# A token, and its index if it is an entry of the usual form: correct in every grammar, unless the index is 0.
ENTRY = re.compile(rb"([0-9]{1,18}+):[+-]?[0-9]{1,20}+(?:\.[0-9]*+)?(?![^ \t\v\f])|[^ \t\v\f]++")
DECIMAL = re.compile(rb"[+-]?(?:[0-9]++\.?[0-9]*+|\.[0-9]++)(?:[eE][+-]?[0-9]++)?")  # ++, *+: no backtracking
SEVERAL = re.compile(rb"[0-9.eE+-]++(?:,[0-9.eE+-]++)++")
TEXT_LABEL = re.compile(rb"[^\x00-\x20\x7f:,]++")
INTEGER = re.compile(rb"([+-]?)([0-9]++)")
SPECIAL = re.compile(rb"[+-]?(?:nan|inf|infinity)(?:\(.*\))?", re.IGNORECASE)
INT64_MAX = 2**63 - 1
FLOAT32_END = 2.0**128 - 2.0**103  # numbers from here on round to infinity


@dataclass(frozen=True)
class Grammar:
    """The choices that there are for the form of a line."""

    labelled: int = NUMBERS  # it begins with a label, which is a number or a text, or with any number of texts
    lowest: int = 0  # the lowest index: 0, or 1 where indices count from one
    sort: bool = False  # indices need not rise


class Flaw(Exception):  # noqa: N818 (it is a flaw of the data)
    """What is wrong, at which byte of the line, and the token there."""

    def __init__(self, what: str, at: int, token: bytes = b"") -> None:
        near = ascii(token[:40].decode("latin-1")) + ("..." if len(token) > 40 else "")
        super().__init__(f"{what} (near {near})" if token else what)
        self.column = at + 1


def find_flaw(line: bytes, grammar: Grammar) -> Flaw | None:
    """The first flaw of a line, or None."""
    try:
        _check_line(line, grammar)
    except Flaw as flaw:
        return flaw
    return None


def _check_line(line: bytes, grammar: Grammar) -> None:
    end, stop = _ends(line)
    first = TOKEN.search(line, 0, stop)
    if first and b"\0" in first.group():
        raise Flaw("NUL byte: not text, or UTF-16", first.start(), first.group())
    if (carriage_return := line.find(b"\r", 0, end)) >= 0:  # even in a comment, which would swallow the lines behind it
        raise Flaw(CR_LINE_ENDS, carriage_return)
    start = 0
    if grammar.labelled and first:
        if grammar.labelled == SETS:
            start = _check_set(first.start(), first.group())
        else:
            _check_label(first.start(), first.group(), line, stop, grammar)
            start = first.end()
        query = TOKEN.search(line, start, stop)
        if query and query.group().startswith(b"qid:"):
            _check_query(query.start(), query.group())
            start = query.end()
    (_check_distinct if grammar.sort else _check_rising)(line, start, stop, grammar.lowest)


def _ends(line: bytes) -> tuple[int, int]:
    """The end of a line, without LF or CR LF, and the end of its data, without a comment."""
    end = len(line) - line.endswith(b"\n")
    end -= line.endswith(b"\r", 0, end)
    comment = line.find(b"#", 0, end)
    return end, end if comment < 0 else comment


def _check_rising(line: bytes, start: int, stop: int, lowest: int) -> None:
    previous = lowest - 1
    for match in ENTRY.finditer(line, start, stop):
        if match[1] is not None and (index := int(match[1])) > previous:
            previous = index
            continue
        at, token = match.start(), match.group()
        index = _checked_entry(at, token, lowest)
        if index == previous:
            raise Flaw(f"index {index} occurs twice in this line", at, token)
        if index < previous:
            raise Flaw(f"index {index} after {previous}: indices must rise (`unsorted` 'sort' sorts them)", at, token)
        previous = index


def _check_distinct(line: bytes, start: int, stop: int, lowest: int) -> None:
    """No index may occur twice; of this and all else that is wrong, the first is reported."""
    entries = _indices(line, start, stop, lowest)
    indices = array("q")  # eight bytes each, where a set would take a hundred
    flaw, wanted = None, 0
    while flaw is None and len(indices) == wanted:  # twice as many each time, so that an early flaw is found early
        wanted = max(1 << 10, 2 * wanted)
        try:
            indices.extend(islice(entries, wanted - len(indices)))
        except Flaw as error:
            flaw = error
        if (number := _first_repeated(indices)) is not None:
            match = next(islice(TOKEN.finditer(line, start, stop), number, None))
            raise Flaw(f"index {indices[number]} occurs twice in this line", match.start(), match.group())
    if flaw is not None:
        raise flaw


def _indices(line: bytes, start: int, stop: int, lowest: int) -> Iterator[int]:
    """The indices of entries; the first entry that is wrong raises its flaw."""
    for match in ENTRY.finditer(line, start, stop):
        if match[1] is not None and (index := int(match[1])) >= lowest:
            yield index
        else:
            yield _checked_entry(match.start(), match.group(), lowest)


def _first_repeated(indices: array[int]) -> int | None:
    """The position of the first number that is a repetition."""
    numbers = np.array(indices, np.int64)
    order = np.argsort(numbers, kind="stable")
    numbers = numbers[order]
    repeated = order[1:][numbers[1:] == numbers[:-1]]
    return int(repeated.min()) if len(repeated) else None


def label_type(head: bytes) -> int:
    """Whether the first label of a text is a number or a text."""
    for line in head.split(b"\n"):
        data = line.partition(b"#")[0].split()
        if data and TEXT_LABEL.fullmatch(data[0]) and not DECIMAL.fullmatch(data[0]) and data[0][:1].isalpha():
            return NUMBERS if SPECIAL.fullmatch(data[0]) else TEXTS
        if data:
            return NUMBERS
    return NUMBERS


def find_overflow(line: bytes, grammar: Grammar, dtype: np.dtype[Any]) -> str:
    """What is out of range for the dtype in a line without a flaw, whose row is not finite."""
    _, stop = _ends(line)
    tokens = TOKEN.finditer(line, 0, stop if dtype == np.float32 else 0)  # any value that was parsed fits float64
    for match in tokens:
        index, colon, value = match.group().partition(b":")
        if colon and index != b"qid" and abs(float(value)) >= FLOAT32_END:
            number = INTEGER.fullmatch(index)
            assert number is not None
            return f"the value of index {_number(number)}"
    return "the squared length of this row"


def _check_label(at: int, token: bytes, line: bytes, stop: int, grammar: Grammar) -> None:
    if grammar.labelled == TEXTS and TEXT_LABEL.fullmatch(token):
        _check_text_label(at, token)
        return
    if grammar.labelled == NUMBERS and DECIMAL.fullmatch(token):
        if math.isinf(float(token)):
            raise Flaw("label out of range", at, token)
        return
    if b"," in token and line.find(b":", 0, stop) < 0 and line[:stop].isascii():
        raise Flaw("looks like CSV: expected 'label index:value ...'", at, token)
    if SEVERAL.fullmatch(token):
        raise Flaw("several labels: `multilabel` (MultiLabelClassifier in Python) learns from such lines", at, token)
    if b":" in token:
        raise Flaw(
            "missing label (only the command `cwlearn predict` takes such lines, with `no_labels`); "
            "label:weight is not supported",
            at,
            token,
        )
    if SPECIAL.fullmatch(token):
        raise Flaw("label is not finite", at, token)
    if grammar.labelled == TEXTS:
        raise Flaw("label has a control character or a comma", at, token)
    raise Flaw("label is not a number", at, token)


def _check_set(at: int, token: bytes) -> int:
    """Check labels with commas between them; return the place behind them, or their own if there is an entry."""
    if b":" in token:
        return at
    for label in token.split(b","):
        if not label:
            raise Flaw("expected labels with commas between them, found a comma without a label", at, token)
        if not TEXT_LABEL.fullmatch(label):
            raise Flaw("label has a control character", at, token)
        _check_text_label(at, label)
        at += len(label) + 1
    return at - 1


def _check_text_label(at: int, token: bytes) -> None:
    if len(token) > LONGEST_LABEL:
        raise Flaw(f"label longer than {LONGEST_LABEL} bytes", at, token)
    try:
        token.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Flaw("label is not UTF-8", at + error.start, token) from None


def _number(match: re.Match[bytes]) -> int:
    """The number of an INTEGER without its sign; 2^63 if it is larger."""
    digits = match[2].lstrip(b"0")
    return 2**63 if len(digits) > 19 else min(2**63, int(digits or b"0"))


def _check_query(at: int, token: bytes) -> None:
    match = INTEGER.fullmatch(token[4:])
    if not match or _number(match) > INT64_MAX:
        raise Flaw("qid is not an integer of 64 bits", at, token)


def _checked_entry(at: int, token: bytes, lowest: int) -> int:
    """The index of an entry; an entry that is wrong raises its flaw."""
    left, colon, right = token.partition(b":")
    if token.startswith(b"qid"):
        raise Flaw("'qid:number' must come right after the label", at, token)
    if not colon:
        raise Flaw("missing ':', expected index:value", at, token)
    if not left:
        raise Flaw("missing index before ':'", at, token)
    match = INTEGER.fullmatch(left)
    if not match:
        raise Flaw("index is not an integer", at, token)
    if match[1] == b"-":
        raise Flaw("negative index", at, token)
    index = _number(match)
    if index >= INT64_MAX:
        raise Flaw("index too large: expected less than 2^63 - 1", at, token)
    if index < lowest:
        raise Flaw(f"index {index} where indices count from {lowest} (`zero_based` is False)", at, token)
    if not right:
        raise Flaw("missing value after ':'", at, token)
    if SPECIAL.fullmatch(right):
        raise Flaw("value is not finite", at, token)
    if not DECIMAL.fullmatch(right):
        raise Flaw("value is not a decimal number", at, token)
    if math.isinf(float(right)):
        raise Flaw("value out of range", at, token)
    return index
