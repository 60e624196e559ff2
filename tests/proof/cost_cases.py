"""Texts that cost a reader the most, by door: each of about as many bytes as are asked for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from cwlearn.cli.common import feature_names
from cwlearn.core.text_options import TextOptions
from cwlearn.text.labels import Labels
from cwlearn.text.reader import Reader, Reading
from cwlearn.text.set_labels import SetLabels

EVERYTHING = 10**9  # bad lines, of which none ends the reading
MARKS = "a" + "\u0301" * 50


def repeated(part: bytes | str, before: bytes = b"", behind: bytes = b"\n") -> Callable[[int], bytes]:
    """The same part again and again."""
    text = part.encode() if isinstance(part, str) else part
    return lambda size: before + text * (size // len(text)) + behind


def numbered(form: bytes, before: bytes = b"", behind: bytes = b"", falling: bool = False) -> Callable[[int], bytes]:
    """The same form with other numbers each time."""

    def made(size: int) -> bytes:
        numbers = range(size // len(form % 10000))
        return before + b"".join(form % k for k in (reversed(numbers) if falling else numbers)) + behind

    return made


def in_json(text: str) -> Callable[[int], bytes]:
    return repeated(text, b'{"label": "a", "text": "', b'"}\n')


ROWS: dict[str, Callable[[int], bytes]] = {
    "rows": repeated(b"1 1:1 2:2\n"),
    "a long row": numbered(b"%d:1 ", b"1 ", b"\n"),
    "a row that falls": numbered(b"%d:1 ", b"1 ", b"\n", falling=True),
    "an index again and again": repeated(b"7:1 ", b"1 "),
    "the last index twice": numbered(b"%d:1 ", b"1 ", b"5:1\n"),
    "bad lines": repeated(b"x\n"),
    "bad lines of a good beginning": repeated(b"1 1:1 2:1 3:x\n"),
    "a number of many digits": repeated(b"7", b"1 1:0."),
    "digits, then none": repeated(b"7", b"1 1:", b"x\n"),
    "an exponent of many digits": repeated(b"7", b"1 1:1e-"),
    "blanks": repeated(b" ", b"1"),
    "a comment": repeated(b"#"),
    "labels": numbered(b"a%d 1:1\n"),
    "returns": repeated(b"\r"),
    "NUL": repeated(b"\0"),
}
JSON: dict[str, Callable[[int], bytes]] = {
    "documents": repeated(b'{"text": "a word or two", "label": "a"}\n'),
    "bad lines": repeated(b'{"text": "some text"\n'),
    "bad ends": repeated(b'{"text": "a", "label": "a"}}\n'),
    "a long key": repeated(b"k", b'{"', b'": 1, "text": "a", "label": "a"}\n'),
    "a key again and again": repeated(b'"text": "b", ', b"{", b'"label": "a"}\n'),
    "keys of parts": repeated(b'"meta": {"title": 1}, ', b"{", b'"text": "a", "label": "a"}\n'),
    "a deep array": repeated(b"[", b'{"a": '),
    "deep lines": repeated(b'{"a": ' + b"[" * 40 + b"]" * 40 + b', "text": "a", "label": "b"}\n'),
    "escapes": in_json(r"\\\""),
    "surrogates": in_json(r"\ud83d\ude00"),
    "lone surrogates": repeated(rb'{"label": "a", "text": "\ud83d"}' + b"\n"),
    "quotes": repeated(b'"'),
    "a list of labels": repeated(b'"a", ', b'{"text": "a", "label": [', b'"b"]}\n'),
    "lists that are none": repeated(b'"label": ["a", ["b"]], ', b"{", b'"text": "a"}\n'),
    "labels": numbered(b'{"text": "a", "label": "%d"}\n'),
    "bytes that are no UTF-8": repeated(b'{"text": "\xff", "label": "a"}\n'),
    "a long word": in_json("a"),
    "different words": numbered(b"word%d ", b'{"label": "a", "text": "', b'"}\n'),
    "combining marks": in_json(MARKS),
    "sigmas behind marks": in_json("\u03a3'''''"),
    "letters that grow": in_json("\u0130"),
    "ligatures": in_json("\ufdfa"),
    "scripts": lambda size: in_json("a ")(size)[:-3] + "".join(map(chr, range(0x4000, 0xA000, 256))).encode() + b'"}\n',
}
CSV: dict[str, Callable[[int], bytes]] = {
    "records": repeated(b"a,some text\n", b"label,text\n"),
    "bad lines": repeated(b"a word or two\n", b"label,text\n"),
    "quotes": repeated(b'""', b'label,text\na,"', b'"\n'),
    "open quotes": repeated(b'a,"b\n', b"label,text\n"),
    "text behind quotes": repeated(b'"a"b,c\n', b"label,text\n"),
    "quotes within fields": repeated(b'a,b"\n', b"label,text\n"),
    "line ends in quotes": repeated(b"\n", b'label,text\na,"', b'"\n'),
    "empty lines": repeated(b"\n", b"label,text\n"),
    "a long header": numbered(b"name%d,", b"label,text,", b"z\n"),
    "fields": repeated(b",", b"label,text\n"),
    "returns": repeated(b"\r", b"label,text\n"),
}
FASTTEXT: dict[str, Callable[[int], bytes]] = {
    "documents": repeated(b"__label__a some text\n"),
    "labels in a line": numbered(b"__label__%d ", b"", b"text\n"),
    "labels": numbered(b"__label__%d text\n"),
    "almost labels": repeated(b"__label_"),
    "labels without a name": repeated(b"__label__ "),
    "underscores": repeated(b"_"),
}
VW: dict[str, Callable[[int], bytes]] = {
    "rows": repeated(b"1 |a b c:2\n"),
    "bars": repeated(b"|", b"1 "),
    "namespaces": repeated(b"|" + b"n" * 255 + b" f "),
    "a long name": repeated(b"n", b"1 | "),
    "a long namespace": repeated(b"n", b"1 |"),
    "a feature again and again": repeated(b"a:1e-3 ", b"1 | "),
    "features": numbered(b"f%d ", b"1 | "),
    "colons": repeated(b":", b"1 | a"),
    "bad lines": repeated(b"1 without a bar\n"),
    "words before the bar": repeated(b"1 "),
    "labels": numbered(b"a%d | b\n"),
}
TABBED: dict[str, Callable[[int], bytes]] = {
    "documents": repeated(b"a\tsome text\n"),
    "bad lines": repeated(b"no tab in here\n"),
    "tabs": repeated(b"\t", b"a"),
    "labels": numbered(b"%d\ttext\n"),
}
DOORS = {"svmlight": ROWS, "jsonl": JSON, "csv": CSV, "fasttext": FASTTEXT, "vw": VW, "text": TABBED}
SETS = {"a list of labels", "lists that are none", "labels in a line", "labels without a name"}
ANALYZERS: dict[str, dict[str, Any]] = {
    "char": {"analyzer": "char", "ngram_range": (2, 4)},
    "char_wb": {"analyzer": "char_wb", "ngram_range": (2, 4)},
}
OF_TEXTS = ("a long word", "combining marks", "sigmas behind marks", "letters that grow", "ligatures")


def cases() -> list[tuple[str, str, str]]:
    """(door, case, how it is read)."""
    plain = [(door, case, "") for door, texts in DOORS.items() for case in texts]
    sorted_rows = [("svmlight", case, "sort") for case in ROWS if "row" in case or "index" in case]
    hashed = [("svmlight", "a long row", "hash")]
    return plain + sorted_rows + hashed + [("jsonl", case, how) for how in ANALYZERS for case in OF_TEXTS]


def text_of(door: str, case: str, size: int) -> bytes:
    return DOORS[door][case](size)


def read(
    path: Path, door: str, case: str, how: str, chunk_bytes: int, on_skipped: Callable[[], object] = lambda: None
) -> None:
    """Read a file to its end, with its bad lines; explain each of them, and count its labels."""
    reading = Reading(
        format=door, on_bad_line="skip", max_bad=EVERYTHING, unsorted="sort" if how == "sort" else "error"
    )
    labels = SetLabels() if case in SETS else Labels()
    reader = Reader(
        str(path),
        reading,
        label_type=labels.type if case in SETS else None,
        documents=TextOptions(**ANALYZERS.get(how, {})),
        hash_bits=18 if how == "hash" or door != "svmlight" else 0,
        threads=1,
        chunk_bytes=chunk_bytes,
        on_skipped=lambda flaw: on_skipped(),
    )
    for batch in reader:
        labels.add(batch)


def read_names(path: Path) -> None:
    feature_names(str(path))
