"""What is wrong with a line that `_vw.split_vw` does not accept."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from cwlearn.text._vw import MAX_NAMESPACE
from cwlearn.text.chunks import CR_LINE_ENDS
from cwlearn.text.record_errors import BARE_CR, RecordFlaw, end_of
from cwlearn.text.svmlight_errors import DECIMAL

WORD = re.compile(rb"[^ \t\v\f\r\n|]++")
PART = re.compile(rb"\||[^ \t\v\f\r\n|]++")  # of what stands behind the first bar


def find_vw_flaw(line: bytes, labelled: bool = True) -> RecordFlaw | None:
    """The first flaw of a line, or None; `labelled` lines must have a label."""
    try:
        _check_line(line, labelled)
    except RecordFlaw as flaw:
        return flaw
    return None


def _check_line(line: bytes, labelled: bool) -> None:
    if cr := BARE_CR.search(line):
        raise RecordFlaw(CR_LINE_ENDS, line, cr.start())
    bar = line.find(b"|")
    if bar < 0:
        raise RecordFlaw("expected '|' before features, found none", line, end_of(line))
    words = [(match.start(), match.group()) for match in WORD.finditer(line, 0, bar)]
    _check_head(line, words, labelled, touches_bar=bool(words) and words[-1][0] + len(words[-1][1]) == bar)
    _check_features(line, bar)


def _check_head(line: bytes, words: list[tuple[int, bytes]], labelled: bool, touches_bar: bool) -> None:
    tags = [number for number, (_, word) in enumerate(words) if word.startswith(b"'")]
    tag = tags[0] if tags else len(words) - 1 if touches_bar else len(words)
    before, behind = words[:tag], words[tag + 1 :]
    for number, (at, word) in enumerate(before[1:], 1):
        if number > 2:
            raise RecordFlaw(
                "expected label, importance and base at most before '|', found another word", line, at, word
            )
        value = _number(line, at, word, "importance" if number == 1 else "base")
        if number == 1 and value < 0:
            raise RecordFlaw("expected an importance of 0 or more, found a negative one", line, at, word)
        if number == 2 and value != 0:
            raise RecordFlaw("expected a base of 0, found another: a base is not supported", line, at, word)
    if behind:
        raise RecordFlaw("expected '|' behind a tag, found another word", line, behind[0][0], behind[0][1])
    if labelled and not before:
        why = " (a word that touches '|' is a tag: put a blank between)" if touches_bar and not tags else ""
        raise RecordFlaw(f"expected a label before '|', found none{why}", line, 0)


def _check_features(line: bytes, bar: int) -> None:
    after_bar = False
    for match in PART.finditer(line, bar):
        at, part = match.start(), match.group()
        if part == b"|":
            space = line[at + 1 : at + 2]
            after_bar = space not in (b"", b" ", b"\t", b"\v", b"\f", b"\r", b"\n", b"|")
            continue
        name, colon, value = part.partition(b":")
        what = "namespace" if after_bar else "feature"
        if not name:
            raise RecordFlaw(f"expected the name of a {what} before ':', found none", line, at, part)
        if after_bar and len(name) > MAX_NAMESPACE:
            raise RecordFlaw(f"expected a namespace of at most {MAX_NAMESPACE} bytes, found {len(name)}", line, at)
        if colon:
            _number(line, at + len(name) + 1, value, "scale" if after_bar else "value")
        after_bar = False


def _number(line: bytes, at: int, word: bytes, what: str) -> float:
    if not word:
        raise RecordFlaw(f"expected a {what} behind ':', found none", line, at)
    if not DECIMAL.fullmatch(word):
        article = "an" if what == "importance" else "a"
        raise RecordFlaw(f"expected {article} {what} that is a decimal number, found another word", line, at, word)
    value = float(word)
    if math.isinf(value):
        raise RecordFlaw(f"{what} out of range", line, at, word)
    return value


# -- lines without a flaw ----------------------------------------------------------------------------------------------


def find_vw_label(line: bytes) -> bytes:
    """The first word before the first bar, which is the label of a line that has one."""
    words = line.partition(b"|")[0].split()
    return words[0] if words else b""


def find_vw_overflow(line: bytes, dtype: np.dtype[Any]) -> str:
    """What is too large in a line whose row is not finite: a value, or the length of the row."""
    most = float(np.finfo(dtype).max)
    scale, after_bar = 1.0, False
    for match in PART.finditer(line, line.find(b"|")):
        part = match.group()
        if part == b"|":
            after_bar, scale = line[match.end() : match.end() + 1].strip() != b"", 1.0
            continue
        name, _, written = part.partition(b":")
        value = float(written or 1)
        if after_bar:
            scale, after_bar = value, False
        elif abs(value * scale) > most:
            return f"the value {value * scale:g} of the feature {name.decode('utf-8', 'replace')}"
    return "the length of the row"
