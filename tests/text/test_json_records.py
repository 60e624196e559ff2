"""JSON lines: the fields as Python's json has them, and what is said of lines that are not JSON."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cwlearn.text._records import (
    BAD_RECORD,
    DONE,
    FALSE,
    MAX_DEPTH,
    MAX_FIELDS,
    MISSING,
    NULL,
    NUMBER,
    OTHER,
    STRING,
    TRUE,
    JsonFields,
)
from cwlearn.text.json_errors import find_json_flaw, json_field_flaw
from tests.text.record_cases import Field, split_json

WANTED = ("a", "b.c", "text", "", "a.b.c", "é")
KEYS = st.sampled_from(["a", "b", "c", "b.c", "text", "", "x", "a.b.c", "é", "a.b"]) | st.text(max_size=3)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=40),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


class Number(str):
    """A number as it is written."""


def loaded(line: bytes) -> dict[str, Any] | None:
    """The object of a line as Python has it, strings in Latin-1; None if it is not JSON."""

    def refuse(text: str) -> None:
        raise ValueError(text)

    try:
        value = json.loads(line.decode("latin-1"), parse_int=Number, parse_float=Number, parse_constant=refuse)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def field_of(record: dict[str, Any], name: str) -> Field:
    """A field by its whole name, or as a member of members."""
    value: Any = record
    for key in [name] if name in record else name.split("."):
        if not isinstance(value, dict) or key not in value:
            return MISSING, b""
        value = value[key]
    if isinstance(value, bool):
        return (TRUE, b"true") if value else (FALSE, b"false")
    if value is None:
        return NULL, b"null"
    if isinstance(value, Number):
        return NUMBER, value.encode()
    if isinstance(value, str):
        return STRING, value.encode()
    return OTHER, b""


def read(line: bytes) -> dict[str, Any]:
    return json.loads(line, parse_int=Number, parse_float=Number)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.dictionaries(KEYS, VALUES, max_size=6), max_size=5),
    st.booleans(),
    st.sampled_from([(",", ":"), (", ", ": "), ("\t, ", " :\t")]),
    st.sampled_from(["\n", "\r\n", " \n\n"]),
)
def test_fields_are_those_of_python(records, ensure_ascii, separators, line_end):
    lines = [json.dumps(record, ensure_ascii=ensure_ascii, separators=separators) for record in records]
    text = "".join(line + line_end for line in lines).encode()
    found = split_json(text, *WANTED)
    assert found.status == DONE
    assert found.n_lines == text.count(b"\n")
    assert found.fields == [[field_of(read(line.encode()), name) for name in WANTED] for line in lines]
    assert [text[place : place + 1] for place in found.places] == [b"{"] * len(lines)


PIECES = rb"""" \ { } [ ] , : 0 - 1.5 e3 true null \u d83d \ude00 x \n NaN""".split()
PIECES += [b" ", b"\t", b"\x00", b"\x1f", b"\x7f", b"\xff", b"\r"]


def mutated(line: bytes, chance: random.Random) -> bytes:
    """A line with some bytes replaced, taken out or added."""
    for _ in range(chance.randrange(4)):
        at, size = chance.randrange(len(line) + 1), chance.randrange(3)
        line = line[:at] + chance.choice(PIECES) * chance.randrange(2) + line[at + size :]
    return line.replace(b"\n", b"")


def is_sound(line: bytes) -> bool:
    """Whether the line is an object of JSON, and its wanted strings have no lone surrogate."""
    record = loaded(line)
    if record is None:
        return False
    try:
        wanted = [field_of(record, name) for name in ("a", "b.c")]
    except UnicodeEncodeError:
        return False
    return len(wanted) == 2


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(KEYS, VALUES, min_size=1, max_size=4), st.integers(0, 2**32))
def test_what_is_not_json_is_found_by_all_three(record, seed):
    chance = random.Random(seed)
    for _ in range(20):
        line = mutated(json.dumps(record, ensure_ascii=chance.random() < 0.5).encode(), chance)
        if not line.strip(b" \t\r"):
            continue
        found = split_json(line + b"\n", "a", "b.c")
        flaw = find_json_flaw(line, ["a", "b.c"])
        assert (found.status == DONE) == (flaw is None) == (len(found.fields) == 1), line
        if b'"a"' not in line.replace(b'"a"', b"", 1) and b'"c"' not in line.replace(b'"c"', b"", 1):
            # A lone surrogate in a member that a later one replaces is refused, but Python cannot tell.
            assert (flaw is None) == is_sound(line), line
        if found.status == DONE:
            try:
                read(line)
            except UnicodeDecodeError:
                continue
            assert found.fields[0] == [field_of(read(line), name) for name in ("a", "b.c")]


@pytest.mark.parametrize(
    ("line", "kind", "value"),
    [
        (rb'{"a": "\"\\\/\b\f\n\r\t"}', STRING, b'"\\/\x08\x0c\n\r\t'),
        (rb'{"a": "\u0041\u00e9\u20ac\ud83d\ude00\uD83D\uDE00"}', STRING, "Aé€😀😀".encode()),
        (rb'{"a": "\u0000"}', STRING, b"\0"),
        (rb'{"\u0061": "escaped key"}', STRING, b"escaped key"),
        (rb'{"\ud83d": 1, "a": 2}', NUMBER, b"2"),
        (rb'{"b": "\ud83d", "a": "lone surrogates elsewhere"}', STRING, b"lone surrogates elsewhere"),
        (b'{"a": "\xff"}', STRING, b"\xff"),
        (b'{"a": "first", "a": "last"}', STRING, b"last"),
        (b'{"a": "first", "a": {}}', OTHER, b""),
        (b'{"a": -0.5e-7}', NUMBER, b"-0.5e-7"),
        (b'{"a": 123456789012345678901234567890}', NUMBER, b"123456789012345678901234567890"),
        (b'{"a": true}', TRUE, b"true"),
        (b'{"a": false}', FALSE, b"false"),
        (b'{"a": null}', NULL, b"null"),
        (b'{"a": [1, {"a": 2}]}', OTHER, b""),
        (b'{"b": {"a": 1}, "c": [{"a": 2}]}', MISSING, b""),
        (b"{}", MISSING, b""),
        (b' \t{ "a" : "x" }\t\r', STRING, b"x"),
    ],
)
def test_a_field(line, kind, value):
    assert split_json(line + b"\n", "a").fields == [[(kind, value)]]
    assert find_json_flaw(line, ["a"]) is None


@pytest.mark.parametrize(
    ("line", "value"),
    [
        (b'{"b": {"c": "nested"}}', b"nested"),
        (b'{"b.c": "whole", "b": {"c": "nested"}}', b"whole"),
        (b'{"b": {"c": "nested"}, "b.c": "whole"}', b"whole"),
        (b'{"b": {"c": "first"}, "b": {"c": "last"}}', b"last"),
        (b'{"b": {"c": "first"}, "b": {"d": 1}}', b""),
        (b'{"b": {"c": "first"}, "b": 5}', b""),
        (b'{"b": [{"c": "in an array"}]}', b""),
        (b'{"x": {"b": {"c": "too deep"}}}', b""),
        (b'{"x": {"b.c": "too deep"}}', b""),
    ],
)
def test_a_dotted_field(line, value):
    assert split_json(line + b"\n", "b.c").values(0) == [value]


def test_a_field_and_its_member_may_both_be_wanted_and_twice():
    found = split_json(b'{"b": {"c": {"d": 1}}}\n', "b", "b.c.d", "b.c", "b.c.d")
    assert found.fields == [[(OTHER, b""), (NUMBER, b"1"), (OTHER, b""), (NUMBER, b"1")]]


@pytest.mark.parametrize("size", [*range(70), 1000, 100_000])
def test_strings_of_any_length(size):
    text = bytes(97 + k % 26 for k in range(size))
    for middle in (b"", b"\\n"):
        found = split_json(b'{"x": "%b", "a": "%b%b%b"}\n' % (text, text, middle, text), "a")
        assert found.values(0) == [text + middle.replace(b"\\n", b"\n") + text]


def test_depth_has_a_limit():
    def nested(depth: int) -> bytes:
        return b'{"a":' * (depth - 1) + b"{}" + b"}" * (depth - 1)

    assert split_json(nested(MAX_DEPTH) + b"\n", "a").status == DONE
    assert find_json_flaw(nested(MAX_DEPTH)) is None
    assert split_json(nested(MAX_DEPTH + 1) + b"\n", "a").status == BAD_RECORD
    flaw = find_json_flaw(nested(MAX_DEPTH + 1))
    assert str(flaw) == f"expected at most {MAX_DEPTH} objects and arrays in one another"
    assert flaw.column == 5 * MAX_DEPTH + 1
    assert split_json(b'{"a":' + b"[" * 100_000 + b"\n").status == BAD_RECORD


def test_a_bad_line_ends_the_call_and_leaves_the_lines_before_it():
    text = b'\n{"a": 1}\n{"a": "long text" "b"}\n{"a": 2}\n'
    found = split_json(text, "a")
    assert (found.status, found.n_lines, found.place) == (BAD_RECORD, 2, 10)
    assert found.values(0) == [b"1"]
    rest = split_json(text, "a", start=text.index(b'{"a": 2'))
    assert (rest.status, rest.values(0)) == (DONE, [b"2"])


BAD = [
    (b'["a"]', "expected an object, '{...}', found '['", 1),
    (b'  "a"', "expected an object, '{...}', found '\"'", 3),
    (b'{"a": 1', "truncated: expected ',' or '}', found the end of the line", 8),
    (b'{"a": 1,', "truncated: expected a key in double quotes, found the end of the line", 9),
    (b'{"a"', "truncated: expected ':' behind a key, found the end of the line", 5),
    (b'{"a":', "truncated: expected a value, found the end of the line", 6),
    (b'{"a": "x', "truncated: expected '\"' at the end of this string, found none", 7),
    (b'{"a": "x\\', 'expected one of " \\ / b f n r t u behind a backslash, found the end of the line', 9),
    (b'{"a": [1, 2', "truncated: expected ',' or ']', found the end of the line", 12),
    (b'{"a": 1,}', "expected a key in double quotes, found '}'", 9),
    (b'{"a": 1, }', "expected a key in double quotes, found '}'", 10),
    (b'{"a": [1,]}', "expected a value, found ']'", 10),
    (b"{'a': 1}", 'expected a key in double quotes, found "\'"', 2),
    (b'{"a" 1}', "expected ':' behind a key, found '1'", 6),
    (b'{"a": 1 "b": 2}', "expected ',' or '}', found '\"'", 9),
    (b'{"a": 1} {"a": 2}', "expected the end of the line behind an object, found '{'", 10),
    (b'{"a": 1}}', "expected the end of the line behind an object, found '}'", 9),
    (b'{"a": 1]', "expected ',' or '}', found ']'", 8),
    (b'{"a": tru}', "expected a value, found 't'", 7),
    (b'{"a": True}', "expected a value, found 'T'", 7),
    (b'{"a": 01}', "expected ',' or '}', found '1'", 8),
    (b'{"a": 1.}', "expected ',' or '}', found '.'", 8),
    (b'{"a": +1}', "expected a value, found '+'", 7),
    (b'{"a": .5}', "expected a value, found '.'", 7),
    (b'{"a": NaN}', "expected a number or null, found NaN, which is not JSON", 7),
    (b'{"a": -Infinity}', "expected a number or null, found -Infinity, which is not JSON", 7),
    (b'{"a": "x\\q"}', "expected one of \" \\ / b f n r t u behind a backslash, found 'q'", 9),
    (b'{"a": "\\u12G4"}', "expected four hexadecimal digits behind \\u, found '12G4'", 8),
    (b'{"a": "\\u12', "expected four hexadecimal digits behind \\u, found '12'", 8),
    (b'{"a": "\\ud83d"}', "expected a pair of surrogates, found a lone \\ud83d", 8),
    (b'{"a": "x\\ud83d\\u0041"}', "expected a pair of surrogates, found a lone \\ud83d", 9),
    (b'{"a": "\\\\\\ude00\\ud83d"}', "expected a pair of surrogates, found a lone \\ude00", 10),
    (b'{"a": "x\ty"}', "expected an escape, found the control character 0x09", 9),
    (b'{"a": "x\x00y"}', "expected an escape, found the control character 0x00", 9),
    (b'{"a\x01": 1}', "expected an escape, found the control character 0x01", 4),
    (b'{"a": \xff}', "expected a value, found byte 0xff", 7),
    (b'{"a": 1}\x00', "expected the end of the line behind an object, found byte 0x00", 9),
]


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n"])
@pytest.mark.parametrize(("line", "what", "column"), BAD)
def test_a_bad_line_is_explained(line, what, column, line_end):
    assert split_json(line + line_end, "a").status == BAD_RECORD
    flaw = find_json_flaw(line + line_end, ["a"])
    assert (str(flaw), flaw.column, flaw.line) == (what, column, 0)


@pytest.mark.parametrize(
    ("line", "field", "what", "column"),
    [
        (b'{"txt": 1, "x": 2}', "text", "expected a field 'text' in this line, found txt, x; did you mean 'txt'?", 1),
        (b'{"Text": 1}', "text", "expected a field 'text' in this line, found Text; did you mean 'Text'?", 1),
        (b"{}", "text", "expected a field 'text' in this line, found none", 1),
        (b'{"m": {"it": 1}}', "m.ti", "expected a field 'm.ti' in this line, found m, m.it; did you mean 'm.it'?", 1),
        (b'{"text": null}', "text", "expected a label in field 'text', found null", 10),
        (b'{"text": [1]}', "text", "expected a label in field 'text', found an array", 10),
        (b'{"text": {"a": 1}}', "text", "expected a label in field 'text', found an object", 10),
    ],
)
def test_a_field_that_does_not_fit_is_explained(line, field, what, column):
    flaw = json_field_flaw(line, field)
    assert (str(flaw), flaw.column) == (what, column)


def test_not_more_than_ten_fields_are_listed():
    line = json.dumps({f"field{k}": k for k in range(30)}).encode()
    message = str(json_field_flaw(line, "zzz"))
    assert message.endswith("field8, field9 and 20 more")
    assert json_field_flaw(line, "field3") is None


def test_too_many_fields_are_refused():
    names = [f"f{k}" for k in range(MAX_FIELDS)]
    line = json.dumps({name: name for name in names}).encode() + b"\n"
    assert split_json(line, *names).fields == [[(STRING, name.encode()) for name in names]]
    with pytest.raises(ValueError, match=f"expected at most {MAX_FIELDS} fields, got {MAX_FIELDS + 1}"):
        JsonFields([*names, "one more"])


@pytest.mark.parametrize(
    "line", [b'{"b.c": "x", "b": {"c": 5}}', b'{"b": {"c": 5}, "b.c": "x"}', b'{"b": {"c": [1]}, "b.c": "x", "b": 7}']
)
def test_a_name_that_stands_there_as_it_is_goes_before_a_path_wherever_it_stands(line):
    assert split_json(line + b"\n", "b.c").fields == [[(STRING, b"x")]]
    assert json_field_flaw(line, "b.c") is None
    assert json_field_flaw(line.replace(b'"x"', b"7.5"), "b.c") is None
    assert "expected a label in field 'b.c', found an array" in str(json_field_flaw(line.replace(b'"x"', b"[]"), "b.c"))
