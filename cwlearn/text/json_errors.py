"""What is wrong with a line of JSON that `_records.split_json` does not accept, or with a field of a line."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from cwlearn.text._records import FALSE, MAX_DEPTH, MISSING, NULL, NUMBER, OTHER, STRING, TRUE
from cwlearn.text.chunks import CR_LINE_ENDS
from cwlearn.text.record_errors import RecordFlaw, end_of, found_at, shortened, unknown_field

SPACE = re.compile(rb"[ \t\r]*+")
PLAIN = re.compile(rb'[^"\\\x00-\x1f]*+')
DECIMAL = re.compile(rb"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?")
ESCAPE = re.compile(rb'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})')
# Escapes of a sound string: a pair of surrogates, a surrogate without another one (group 1), any other.
SURROGATE = re.compile(rb"\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|u([dD][89a-fA-F]..)|.)")
WORDS = {b"true": TRUE, b"false": FALSE, b"null": NULL}
EMPTY = re.compile(rb'"(?: |\\[fnrt])*+"')  # without anything but white space
WORD = re.compile(rb"[a-z]++")
NOT_FINITE = re.compile(rb"-?(?:NaN|Infinity)")
MOST_NAMES = 1000  # of fields that are kept for a message
LABELS = "a label, or a list of texts and numbers,"

Path = tuple[str, ...]  # keys that lead to a value


class _Line:
    """A line of JSON, read by the grammar (RFC 8259).  The first flaw ends it with an exception."""

    def __init__(self, record: bytes, wanted: Sequence[str] = ()) -> None:
        self.record, self.at = record, 0
        self.names: dict[str, None] = {}  # of fields, in their order
        self.kinds = dict.fromkeys(wanted, MISSING)
        self.places = dict.fromkeys(wanted, 0)
        self._wanted: dict[str, Path] = {name: tuple(name.split(".")) for name in wanted}
        self._literal: set[str] = set()  # wanted fields that were found by their whole name
        self._skip_space()
        if self._next() != b"{":
            raise self._unexpected("an object, '{...}'")
        self._object((), 1)
        end = self.at
        self._skip_space()
        if self.at < len(record) and self._next() != b"\n":
            if b"\r" in record[end : self.at]:
                raise RecordFlaw(CR_LINE_ENDS, record, record.index(b"\r", end))
            raise self._unexpected("the end of the line behind an object")

    # -- values --------------------------------------------------------------------------------------------------------

    def _value(self, path: Path | None, depth: int, hits: Sequence[str]) -> None:
        """Read a value, which is that of some wanted fields; the path of values in arrays is None."""
        start = self.at
        kind = self._kind_of_value()
        for name in hits:
            self.kinds[name], self.places[name] = kind, start
        if kind == STRING:
            self._string(checked=bool(hits))
        elif kind == OTHER:
            if depth == MAX_DEPTH:
                raise RecordFlaw(f"expected at most {MAX_DEPTH} objects and arrays in one another", self.record, start)
            if self._next() == b"{":
                self._object(path, depth + 1)
            else:
                self._array(depth + 1)

    def _kind_of_value(self) -> int:
        """The kind of the value that begins here; words and numbers are read."""
        start = self._next()
        if start == b'"':
            return STRING
        if start in (b"{", b"["):
            return OTHER
        word = WORD.match(self.record, self.at)
        match = DECIMAL.match(self.record, self.at)
        if match is not None:
            self.at = match.end()
            return NUMBER
        for text, kind in WORDS.items():
            if word is not None and word.group().startswith(text):
                self.at += len(text)
                return kind
        if not_finite := NOT_FINITE.match(self.record, self.at):
            name = not_finite.group().decode("ascii")
            raise RecordFlaw(f"expected a number or null, found {name}, which is not JSON", self.record, self.at)
        raise self._unexpected("a value")

    def _object(self, path: Path | None, depth: int) -> None:
        self._advance()
        if self._next() != b"}":
            while True:
                key = self._key()
                inner = None if path is None else (*path, key)
                self._value(inner, depth, self._hits(key, inner))
                if self._at_end("}"):
                    break
        self.at += 1

    def _array(self, depth: int) -> None:
        self._advance()
        if self._next() != b"]":
            while True:
                self._value(None, depth, ())
                if self._at_end("]"):
                    break
        self.at += 1

    def _at_end(self, bracket: str) -> bool:
        """Whether an object or array ends behind a value, or goes on behind a comma."""
        self._skip_space()
        if self._next() == b",":
            self._advance()
            return False
        if self._next() != bracket.encode():
            raise self._unexpected(f"',' or '{bracket}'")
        return True

    # -- strings -------------------------------------------------------------------------------------------------------

    def _key(self) -> str:
        """Read a key and the colon behind it."""
        if self._next() != b'"':
            raise self._unexpected("a key in double quotes")
        start = self.at
        self._string(checked=False)
        raw = self.record[start : self.at].decode("utf-8", "surrogateescape")
        self._skip_space()
        if self._next() != b":":
            raise self._unexpected("':' behind a key")
        self._advance()
        return str(json.loads(raw))

    def _string(self, checked: bool) -> None:
        """Read a string; `checked` refuses surrogates that are not pairs."""
        start, record = self.at, self.record
        self.at += 1
        while True:
            match = PLAIN.match(record, self.at)
            assert match is not None
            self.at = match.end()
            if self._next() == b'"':
                break
            if self.at >= end_of(record):
                raise RecordFlaw("truncated: expected '\"' at the end of this string, found none", record, start)
            if self._next() != b"\\":
                byte = record[self.at]
                raise RecordFlaw(f"expected an escape, found the control character 0x{byte:02x}", record, self.at)
            escape = ESCAPE.match(record, self.at)
            if escape is None:
                raise self._bad_escape()
            self.at = escape.end()
        for match in SURROGATE.finditer(record, start, self.at) if checked else ():
            if match[1]:
                found = "\\u" + match[1].decode("ascii")
                raise RecordFlaw(f"expected a pair of surrogates, found a lone {found}", record, match.start())
        self.at += 1

    def _bad_escape(self) -> RecordFlaw:
        if self.record[self.at + 1 : self.at + 2] == b"u":
            digits = self.record[self.at + 2 : min(self.at + 6, end_of(self.record))]
            found = digits.decode("latin-1")
            return RecordFlaw(f"expected four hexadecimal digits behind \\u, found {found!a}", self.record, self.at)
        found = found_at(self.record, self.at + 1)
        expected = 'one of " \\ / b f n r t u'
        return RecordFlaw(f"expected {expected} behind a backslash, found {found}", self.record, self.at)

    # -- wanted fields -------------------------------------------------------------------------------------------------

    def _hits(self, key: str, path: Path | None) -> list[str]:
        """The wanted fields that the value of a key is; of two members with the same key the last one counts."""
        if path is None:
            return []
        if len(self.names) < MOST_NAMES:
            self.names[".".join(path)] = None
        hits = []
        for name, parts in self._wanted.items():
            if len(path) == 1 and key == name:
                self._literal.add(name)
                hits.append(name)
            elif name not in self._literal and parts == path:
                hits.append(name)
            elif name not in self._literal and parts[: len(path)] == path:
                self.kinds[name] = MISSING
        return hits

    # -- bytes ---------------------------------------------------------------------------------------------------------

    def _next(self) -> bytes:
        return self.record[self.at : self.at + 1]

    def _skip_space(self) -> None:
        match = SPACE.match(self.record, self.at)
        assert match is not None
        self.at = match.end()

    def _advance(self) -> None:
        self.at += 1
        self._skip_space()

    def _unexpected(self, expected: str) -> RecordFlaw:
        at = min(self.at, end_of(self.record))
        truncated = "truncated: " if at == end_of(self.record) else ""
        return RecordFlaw(f"{truncated}expected {expected}, found {found_at(self.record, at)}", self.record, at)


def find_json_flaw(record: bytes, wanted: Sequence[str] = ()) -> RecordFlaw | None:
    """The first flaw of a line, or None; only in wanted fields a surrogate must be one of a pair."""
    try:
        _Line(record, wanted)
    except RecordFlaw as flaw:
        return flaw
    return None


def json_field_flaw(record: bytes, field: str, what: str = "a label", optional: bool = False) -> RecordFlaw | None:
    """Why a field of a sound line cannot be what is expected, or None; a label that is `optional` may be missing."""
    line = _Line(record, [field])
    kind, place = line.kinds[field], line.places[field]
    if optional and (kind in (MISSING, NULL) or EMPTY.match(record, place)):
        return None
    if kind == MISSING:
        return RecordFlaw(unknown_field(field, list(line.names), "this line"), record, 0)
    if what == LABELS:
        unfit = kind in (OTHER, STRING) and not _has_labels(record, place)
    else:
        unfit = kind == OTHER or (what == "a label" and (kind == NULL or EMPTY.match(record, place) is not None))
    return _wrong_kind(record, field, what, place) if unfit else None


def _has_labels(record: bytes, place: int) -> bool:
    """Whether a value of a sound line is a label or a list of labels."""
    value, _ = json.JSONDecoder().raw_decode(record[place:].decode("utf-8", "surrogateescape"))
    if isinstance(value, str):
        return bool(value) and "\0" not in value
    labels = value if isinstance(value, list) else [None]
    return all(isinstance(label, (int, float)) or (isinstance(label, str) and _is_label(label)) for label in labels)


def _is_label(text: str) -> bool:
    """Whether a text of a list can be a label: NUL stands between labels, and a surrogate alone is no character."""
    return bool(text) and not any(letter == "\0" or "\ud800" <= letter <= "\udfff" for letter in text)


def json_extra_flaw(record: bytes, field: str) -> RecordFlaw | None:
    """Why a field of a sound line cannot be a feature, or None; it may be missing or null."""
    line = _Line(record, [field])
    if line.kinds[field] != OTHER:
        return None
    return _wrong_kind(record, field, "a number, a text, true, false or null", line.places[field])


def _wrong_kind(record: bytes, field: str, what: str, place: int) -> RecordFlaw:
    found = {
        b'"': "an empty text" if EMPTY.match(record, place) else "a text with NUL",
        b"{": "an object",
        b"[": "an array",
    }.get(record[place : place + 1], "null")
    return RecordFlaw(f"expected {what} in field {shortened(field)!r}, found {found}", record, place)
