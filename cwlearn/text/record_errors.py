"""What is wrong with a record of a document format, in words and with its place.

This module has what all formats share, and the formats of simple lines; `json_errors.py`, `csv_errors.py` and
`vw_errors.py` have the others.  They are written for clarity, since they read one record of a file, and accept and
refuse the same records as the compiled splitters; tests compare the two.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from cwlearn.errors import listed
from cwlearn.text.chunks import CR_LINE_ENDS
from cwlearn.text.svmlight_errors import Flaw

BARE_CR = re.compile(rb"\r(?!\n)(?=.)", re.DOTALL)
MOST_NAMES = 10  # of fields that a message lists
LONGEST_NAME = 40
LONGEST_LABEL = 1 << 10  # bytes
UTF8_BLOCK = 1 << 20  # bytes that are decoded at once, since a record may be a gigabyte long


class RecordFlaw(Flaw):
    """What is wrong with a record.  `line` counts the lines of the record before it, `column` the bytes in its line."""

    def __init__(self, what: str, record: bytes, at: int, token: bytes = b"") -> None:
        super().__init__(what, at - (record.rfind(b"\n", 0, at) + 1), token)
        self.line = record.count(b"\n", 0, at)


def end_of(record: bytes) -> int:
    """The end of a record without its LF or CR LF."""
    end = len(record) - record.endswith(b"\n")
    return end - record.endswith(b"\r", 0, end)


def found_at(record: bytes, at: int) -> str:
    """What stands at a byte of a record, for a message."""
    if at >= end_of(record):
        return "the end of the line"
    byte = record[at]
    return ascii(chr(byte)) if 0x20 <= byte < 0x7F else f"byte 0x{byte:02x}"


def shortened(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else name[:LONGEST_NAME] + "..."


def unknown_field(field: str, names: Sequence[str], where: str) -> str:
    """The message for a field that is not there, with those that are and the one that may be meant."""
    from difflib import get_close_matches

    short = [shortened(name) for name in names]
    by_lower = {name.lower(): name for name in reversed(short)}
    close = get_close_matches(shortened(field).lower(), by_lower, 1)
    hint = f"; did you mean {by_lower[close[0]]!r}?" if close else ""
    return f"expected a field {shortened(field)!r} in {where}, found {listed(short, MOST_NAMES) or 'none'}{hint}"


def find_utf8_flaw(record: bytes) -> RecordFlaw | None:
    """The first byte that is not UTF-8."""
    at = 0
    while at < len(record):
        block = record[at : at + UTF8_BLOCK]
        try:
            block.decode("utf-8")
        except UnicodeDecodeError as error:
            at += error.start
            if error.reason == "unexpected end of data" and error.start and at + 4 <= len(record):
                continue  # a character that the block has cut
            return RecordFlaw(f"expected UTF-8, found byte 0x{record[at]:02x}", record, at)
        at += len(block)
    return None


def find_label_flaw(record: bytes, label: bytes) -> RecordFlaw | None:
    """What is wrong with a label as a name, wherever it stands in the record."""
    at = max(record.find(label), 0)
    if len(label) > LONGEST_LABEL:
        what = f"expected a label of at most {LONGEST_LABEL:,} bytes, found {len(label):,}: is it a text?"
        return RecordFlaw(what, record, at)
    if not label.strip():
        return RecordFlaw("expected a label, found nothing", record, at)
    if b"\0" in label:
        return RecordFlaw("expected a label of text, found a NUL byte in it", record, at, label)
    if find_utf8_flaw(label):
        return find_utf8_flaw(record) or RecordFlaw("expected a label in UTF-8", record, at, label)
    return None


def find_fasttext_flaw(record: bytes, prefix: bytes) -> RecordFlaw | None:
    """Whether there is one label in a line, and only one."""
    word = re.compile(rb"(?<![^ \t\v\f\r\n])" + re.escape(prefix) + rb"[^ \t\v\f\r\n]*+")
    labels = list(word.finditer(record))
    name = prefix.decode("utf-8", "replace")
    if not labels:
        return RecordFlaw(
            f"expected a label, a word that begins with {name}, found none", record, 0, _beginning(record)
        )
    if len(labels) > 1:
        at = labels[1].start()
        bare = BARE_CR.search(record)
        if bare is not None and bare.start() < at:
            return RecordFlaw(CR_LINE_ENDS, record, at)
        return RecordFlaw(f"expected one label, found {len(labels)}", record, at, labels[1].group())
    return None


def find_tabbed_flaw(record: bytes) -> RecordFlaw | None:
    """Whether there is a tab in a line."""
    if b"\t" in record[: end_of(record)]:
        return None
    what = "expected a label, a tab and text, found no tab; lines of text alone are `format='fasttext'`"
    return RecordFlaw(what, record, 0, _beginning(record))


def _beginning(record: bytes) -> bytes:
    """The first bytes of a record, one more than a message shows."""
    return record[: min(end_of(record), 41)]
