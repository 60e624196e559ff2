"""What is wrong with a line that `_svmlight.parse_rows` does not accept, in words and with its column.

Written for clarity, since it reads one line of a file.  It accepts and refuses what the compiled parser does; a test
holds the two against each other.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

TOKEN = re.compile(rb"[^ \t\v\f]+")
DECIMAL = re.compile(rb"[+-]?(?:[0-9]++\.?[0-9]*+|\.[0-9]++)(?:[eE][+-]?[0-9]++)?")  # ++, *+: never looks back
SEVERAL = re.compile(rb"[0-9.eE+-]++(?:,[0-9.eE+-]++)+")
INTEGER = re.compile(rb"([+-]?)([0-9]++)")
SPECIAL = re.compile(rb"[+-]?(?:nan|inf|infinity)(?:\(.*\))?", re.IGNORECASE)
INT64_MAX = 2**63 - 1
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
    whole = line.removesuffix(b"\n").removesuffix(b"\r")
    text = whole.partition(b"#")[0]
    tokens = [(match.start(), match.group()) for match in TOKEN.finditer(text)]
    if tokens and b"\0" in tokens[0][1]:
        raise Flaw("NUL byte: not text, or UTF-16", *tokens[0])
    if b"\r" in whole:  # even in a comment, which would swallow the lines behind it
        raise Flaw(CR_LINE_ENDS, whole.index(b"\r"))
    if grammar.labelled and tokens:
        _check_label(*tokens.pop(0), rest=text)
        if tokens and tokens[0][1].startswith(b"qid:"):
            _check_query(*tokens.pop(0))
    seen: set[int] = set()
    previous = -1
    for at, token in tokens:
        index = _checked_entry(at, token, grammar.lowest)
        if index in seen or index == previous:
            raise Flaw(f"index {index} stands twice in this line", at, token)
        if grammar.sort:
            seen.add(index)
        elif index < previous:
            raise Flaw(f"index {index} after {previous}: indices must rise, or be sorted by --unsorted sort", at, token)
        previous = index


def _check_label(at: int, token: bytes, rest: bytes) -> None:
    if DECIMAL.fullmatch(token):
        if math.isinf(float(token)):
            raise Flaw("label out of range", at, token)
        return
    if b"," in token and b":" not in rest and rest.isascii():
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
