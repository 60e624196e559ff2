"""What is wrong with a line that `_svmlight.parse_rows` does not accept, in words and with its column.

Written for clarity, since it reads one line of a file.  It accepts and refuses what the compiled parser does; a test
holds the two against each other.

A line may be a gigabyte long: it is never copied, and its tokens are judged one by one.
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

TOKEN = re.compile(rb"[^ \t\v\f]++")
# A token, and its index if it is an entry such as most are: sound, whatever the grammar, but for an index 0.
ENTRY = re.compile(rb"([0-9]{1,18}+):[+-]?[0-9]{1,20}+(?:\.[0-9]*+)?(?![^ \t\v\f])|[^ \t\v\f]++")
DECIMAL = re.compile(rb"[+-]?(?:[0-9]++\.?[0-9]*+|\.[0-9]++)(?:[eE][+-]?[0-9]++)?")  # ++, *+: never looks back
SEVERAL = re.compile(rb"[0-9.eE+-]++(?:,[0-9.eE+-]++)++")
INTEGER = re.compile(rb"([+-]?)([0-9]++)")
SPECIAL = re.compile(rb"[+-]?(?:nan|inf|infinity)(?:\(.*\))?", re.IGNORECASE)
INT64_MAX = 2**63 - 1
FLOAT32_END = 2.0**128 - 2.0**103  # from here on, numbers round to infinity
CR_LINE_ENDS = "CR line ends: lines must end with LF or CR LF"


@dataclass(frozen=True)
class Grammar:
    """What a line may look like, as far as that can be chosen."""

    labelled: bool = True  # it begins with a label
    lowest: int = 0  # index: 0, or 1 where indices count from one
    sort: bool = False  # indices need not rise


class Flaw(Exception):  # noqa: N818 (it is one of the data)
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
    if (found := line.find(b"\r", 0, end)) >= 0:  # even in a comment, which would swallow the lines behind it
        raise Flaw(CR_LINE_ENDS, found)
    start = 0
    if grammar.labelled and first:
        _check_label(first.start(), first.group(), line, stop)
        start = first.end()
        query = TOKEN.search(line, start, stop)
        if query and query.group().startswith(b"qid:"):
            _check_query(query.start(), query.group())
            start = query.end()
    (_check_unlike if grammar.sort else _check_rising)(line, start, stop, grammar.lowest)


def _ends(line: bytes) -> tuple[int, int]:
    """Where a line ends, without LF or CR LF, and where what is read of it does, which is without a comment."""
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
            raise Flaw(f"index {index} stands twice in this line", at, token)
        if index < previous:
            raise Flaw(f"index {index} after {previous}: indices must rise, or be sorted by --unsorted sort", at, token)
        previous = index


def _check_unlike(line: bytes, start: int, stop: int, lowest: int) -> None:
    """No index may stand there twice; of this and what else is wrong, the first is told."""
    entries = _indices(line, start, stop, lowest)
    indices = array("q")  # eight bytes each, where a set would take a hundred
    flaw, wanted = None, 0
    while flaw is None and len(indices) == wanted:  # twice as many each time: what comes early is found early
        wanted = max(1 << 10, 2 * wanted)
        try:
            indices.extend(islice(entries, wanted - len(indices)))
        except Flaw as found:
            flaw = found
        if (number := _first_repeated(indices)) is not None:
            match = next(islice(TOKEN.finditer(line, start, stop), number, None))
            raise Flaw(f"index {indices[number]} stands twice in this line", match.start(), match.group())
    if flaw is not None:
        raise flaw


def _indices(line: bytes, start: int, stop: int, lowest: int) -> Iterator[int]:
    """The indices of entries, up to the first that is not sound."""
    for match in ENTRY.finditer(line, start, stop):
        if match[1] is not None and (index := int(match[1])) >= lowest:
            yield index
        else:
            yield _checked_entry(match.start(), match.group(), lowest)


def _first_repeated(indices: array[int]) -> int | None:
    """The place of the first number that has come before."""
    numbers = np.array(indices, np.int64)
    order = np.argsort(numbers, kind="stable")
    numbers = numbers[order]
    repeated = order[1:][numbers[1:] == numbers[:-1]]
    return int(repeated.min()) if len(repeated) else None


def find_overflow(line: bytes, grammar: Grammar, dtype: np.dtype[Any]) -> str:
    """What is out of range for the dtype in a line without a flaw, whose row is not finite."""
    _, stop = _ends(line)
    tokens = TOKEN.finditer(line, 0, stop if dtype == np.float32 else 0)  # any value that was read is a float64
    for match in islice(tokens, int(grammar.labelled), None):
        index, _, value = match.group().partition(b":")
        if index != b"qid" and abs(float(value)) >= FLOAT32_END:
            number = INTEGER.fullmatch(index)
            assert number is not None
            return f"the value of index {_number(number)}"
    return "the squared length of this row"


def _check_label(at: int, token: bytes, line: bytes, stop: int) -> None:
    if DECIMAL.fullmatch(token):
        if math.isinf(float(token)):
            raise Flaw("label out of range", at, token)
        return
    if b"," in token and line.find(b":", 0, stop) < 0 and line[:stop].isascii():
        raise Flaw("looks like CSV: expected 'label index:value ...'", at, token)
    if SEVERAL.fullmatch(token):
        raise Flaw("several labels: data of this kind (--multilabel elsewhere) are not supported", at, token)
    if b":" in token:
        raise Flaw(
            "missing label (only `predict --no-labels` takes such lines); label:weight is not supported", at, token
        )
    if SPECIAL.fullmatch(token):
        raise Flaw("label is not finite", at, token)
    raise Flaw("label is not a number", at, token)


def _number(match: re.Match[bytes]) -> int:
    """What the digits of an INTEGER say; 2^63 if they say more."""
    digits = match[2].lstrip(b"0")
    return 2**63 if len(digits) > 19 else min(2**63, int(digits or b"0"))


def _check_query(at: int, token: bytes) -> None:
    match = INTEGER.fullmatch(token[4:])
    if not match or _number(match) > INT64_MAX:
        raise Flaw("qid is not an integer of 64 bits", at, token)


def _checked_entry(at: int, token: bytes, lowest: int) -> int:
    """The index of a sound entry."""
    left, colon, right = token.partition(b":")
    if token.startswith(b"qid"):
        raise Flaw("'qid:number' must stand right after the label", at, token)
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
        raise Flaw(f"index {index} where indices must count from {lowest} (--zero-based no)", at, token)
    if not right:
        raise Flaw("missing value after ':'", at, token)
    if SPECIAL.fullmatch(right):
        raise Flaw("value is not finite", at, token)
    if not DECIMAL.fullmatch(right):
        raise Flaw("value is not a decimal number", at, token)
    if math.isinf(float(right)):
        raise Flaw("value out of range", at, token)
    return index
