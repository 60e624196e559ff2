"""Formats of text files: which one a file has, by the end of its name and by its first lines."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import PurePath

import numpy as np

from cwlearn.core.parameters import one_of, require
from cwlearn.text import compression
from cwlearn.text.svmlight_errors import DECIMAL

NAMES = {  # of all formats, as messages say them
    "svmlight": "svmlight text",
    "jsonl": "JSON lines",
    "csv": "CSV",
    "tsv": "TSV",
    "fasttext": "fastText lines",
    "vw": "Vowpal Wabbit",
    "text": "lines of a label, a tab and text",
    "parquet": "Parquet",
}
FORMATS = tuple(NAMES)
LINE_FORMATS = ("svmlight", "vw")  # no documents: a line is a row
AUTO = "auto"
SUFFIXES = {
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".ft": "fasttext",
    ".fasttext": "fasttext",
    ".vw": "vw",
    ".parquet": "parquet",
}
HEAD_BYTES = 1 << 16  # that are enough to detect a format
MOST_LINES = 50  # that are looked at
DELIMITERS = b",;\t|"

# Patterns, compiled when they are first used: a file whose suffix says its format needs none of them.
BLANK = rb"[ \t\v\f]"
NUMBER = rb"[+-]?(?:[0-9]++\.?[0-9]*+|\.[0-9]++)(?:[eE][+-]?[0-9]++)?"
PAIRS = rb"\+?[0-9]++:" + NUMBER + rb"(?:" + BLANK + rb"++\+?[0-9]++:" + NUMBER + rb")*+"
QUERY = rb"(?:qid:[+-]?[0-9]++(?:" + BLANK + rb"++|$))?"
SVMLIGHT = [  # a line without its comment: with features, perhaps without a label; or with a number as label alone
    rb"(?:[^ \t\v\f:|]++" + BLANK + rb"++)?" + QUERY + PAIRS,
    NUMBER + rb"(?:" + BLANK + rb"++|$)" + QUERY,
]
NEARLY_SVMLIGHT = NUMBER + rb"(?![^ \t\v\f])|(?:\S++\s++)?\S*[0-9]:"  # how a line with an error may begin
CUT_WORD = rb"(?:\+?[0-9]*+(?::[0-9.eE+-]*+)?|q|qi|qid|qid:[0-9]*+)$"  # the last word of a line that is cut
LABEL = rb"(?<!\S)__label__"
OBJECT = rb'\[?[ \t]*+\{[ \t\r\n]*+["}]'
HEADER = rb"[A-Za-z_][A-Za-z0-9_]*+(?:[ .:/()-]++[A-Za-z0-9_]++){0,3}+\)?"
COMMON_NAMES = frozenset(  # of columns, which tell a header from a record
    b"label labels class category target sentiment topic y id text texts document content body message review sentence"
    b" title comment summary description".split()
)


def suffix_format(path: str | os.PathLike[str]) -> str | None:
    """The format that the end of a file's name stands for, apart from that of a compressed file."""
    name = PurePath(os.fspath(path).lower())
    if name.suffix in [suffix for _, suffix in compression.FORMATS.values()]:
        name = PurePath(name.stem)
    return SUFFIXES.get(name.suffix)


def choose(path: str | os.PathLike[str], head: bytes, given: str = AUTO) -> str:
    """The format of a file with these first bytes, decompressed; `given` is one of FORMATS, or AUTO."""
    require("format", given, one_of(AUTO, *FORMATS))
    if given != AUTO:
        return given
    found = suffix_format(path) or detect(head)
    if found is None:
        lines = _data_lines(head)
        of_words = bool(lines) and not _most(lines, lambda line: re.match(NEARLY_SVMLIGHT, line) is not None)
        found = "text" if of_words and ".txt" in PurePath(os.fspath(path).lower()).suffixes else "svmlight"
    return found


def detect(head: bytes) -> str | None:
    """The format that a text with these first bytes has, or None."""
    if head.startswith(b"PAR1"):
        return "parquet"
    head = head.removeprefix(b"\xef\xbb\xbf")
    if re.match(OBJECT, head.lstrip()):
        return "jsonl"
    lines = _data_lines(head)
    if not lines:
        return None
    if _most(lines, _is_svmlight) or (b"\n" not in head and _is_svmlight(_without_cut_word(lines[0]))):
        return "svmlight"
    if _most(lines, lambda line: re.search(LABEL, line) is not None):
        return "fasttext"
    if _most(lines, _is_vw):
        return "vw"
    if _has_header(head, b"\t"):
        return "tsv"
    if _has_header(head, b",") or _has_header(head, b";"):
        return "csv"
    if all(b"\t" in line.strip(b" \r") for line in lines):
        return "text"
    return None


def delimiter_of(head: bytes, chosen: str) -> int:
    """The delimiter of CSV or TSV: a tab, or what stands between the fields of the first line."""
    if chosen == "tsv":
        return ord("\t")
    first = next((line for line in head.removeprefix(b"\xef\xbb\xbf").splitlines() if line), b"")
    bare = re.sub(rb'"(?:[^"]|"")*+"', b"", first)
    return next((delimiter for delimiter in DELIMITERS if delimiter in bare), ord(","))


def wrong_format_hint(head: bytes, used: str) -> str:
    """What to say of a text that cannot be read in one format because it has another; empty if it may have."""
    found = detect(head)
    if found is None or found == used or {found, used} == {"tsv", "text"}:
        return ""
    return f"this looks like {NAMES[found]}: use `format='{found}'`"


# -- lines -------------------------------------------------------------------------------------------------------------


def _data_lines(head: bytes) -> list[bytes]:
    """The first lines that are neither blank nor comments of svmlight, without one that is cut."""
    head = head.removeprefix(b"\xef\xbb\xbf")[:HEAD_BYTES]
    lines = head.split(b"\n")
    if len(lines) > 1:
        lines.pop()
    lines = [line.removesuffix(b"\r") for line in lines]
    return [line for line in lines if line.strip() and not line.lstrip().startswith(b"#")][:MOST_LINES]


def _most(lines: Sequence[bytes], matches: Callable[[bytes], bool]) -> bool:
    return 2 * sum(map(matches, lines)) > len(lines)


def _is_svmlight(line: bytes) -> bool:
    data = line.partition(b"#")[0].strip()
    return any(re.fullmatch(pattern, data) for pattern in SVMLIGHT)


def _without_cut_word(line: bytes) -> bytes:
    """The only line of a head, which may be cut, without its last word if that may be a part of svmlight."""
    before, blank, last = line.replace(b"\t", b" ").rpartition(b" ")
    return before if blank and re.match(CUT_WORD, last) else line


def _is_vw(line: bytes) -> bool:
    """A bar at the beginning or behind a blank or a tag, and behind a label and numbers at most."""
    before, bar, _ = line.partition(b"|")
    words = before.split()
    if words and (words[-1].startswith(b"'") or not before[-1:].isspace()):
        tag = words.pop()
        if not tag.startswith(b"'") and not words:
            return False  # a table with bars between its columns
    return bool(bar) and len(words) <= 3 and all(DECIMAL.fullmatch(word) for word in words[1:])


def _has_header(head: bytes, delimiter: bytes) -> bool:
    """Whether the records begin with different names, and have as many fields each."""
    records = _records(head, delimiter[0])
    if len(records) < 2 or len(records[0]) < 2 or len({len(record) for record in records}) > 1:
        return False
    header = [name.strip() for name in records[0]] if delimiter == b"\t" else records[0]
    if len(set(header)) < len(header) or not all(re.fullmatch(HEADER, name) and len(name) <= 60 for name in header):
        return False
    if len(header) == 2 and delimiter == b"\t":  # it may be a label and text
        return any(name.lower() in COMMON_NAMES for name in header)
    return True


def _records(head: bytes, delimiter: int) -> list[list[bytes]]:
    """The fields of the first records; empty if one is not CSV."""
    from cwlearn.text._records import end_of_record  # which svmlight text does not need
    from cwlearn.text.csv_errors import csv_fields
    from cwlearn.text.record_errors import RecordFlaw

    text = np.frombuffer(head, np.uint8)
    records: list[list[bytes]] = []
    place = 0
    while place < len(head) and len(records) < MOST_LINES:
        stop = end_of_record(text, place, len(head), delimiter)
        record = head[place:stop]
        is_last, place = stop == len(head), stop  # the last one may be cut
        if not record.strip(b"\r\n"):
            continue
        try:
            fields = csv_fields(record, delimiter)
        except RecordFlaw:
            return records if is_last else []
        if not is_last or record.endswith(b"\n") or not records or len(fields) == len(records[0]):
            records.append(fields)
    return records
