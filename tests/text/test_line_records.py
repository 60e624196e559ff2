"""fastText lines, label<TAB>text, plain lines and spans: what becomes of them, and what is said of bad ones."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cwlearn.text import _records
from cwlearn.text._records import (
    BAD_RECORD,
    DONE,
    MISSING,
    NEEDS_ROOM,
    NULL,
    OTHER,
    SLACK,
    STRING,
    JsonFields,
    intern_spans,
    join_spans,
    joined_size,
)
from cwlearn.text.chunks import CR_LINE_ENDS
from cwlearn.text.record_errors import (
    UTF8_BLOCK,
    find_fasttext_flaw,
    find_label_flaw,
    find_tabbed_flaw,
    find_utf8_flaw,
)
from tests.text.record_cases import PADDING, padded, split_fasttext, split_plain, split_tabbed

NO_TAB = "expected a label, a tab and text, found no tab; lines of text alone are `format='fasttext'`"

WORDS = ["__label__", "__label__a", "_", "x", " ", "  ", "\t", "\r", "word", "é", "w" * 20]
LINES = st.lists(st.lists(st.sampled_from(WORDS), max_size=8).map("".join), max_size=6)
LABEL = b"__label__"


def by_words(line: bytes) -> tuple[list[bytes], bytes]:
    """Labels and text of a line, word by word."""
    labels, parts, at = [], [], 0
    while at < len(line):
        end = at
        while end < len(line) and line[end : end + 1] not in (b" ", b"\t", b"\v", b"\f", b"\r"):
            end += 1
        if line.startswith(b"__label__", at):
            labels.append(line[at + 9 : end])
            if end == len(line) and parts:
                parts[-1] = parts[-1][:-1]
            parts = [part for part in parts if part]
            at = end + 1
        else:
            parts.append(line[at : end + 1])
            at = end + 1
    return labels, b"".join(parts)


@settings(max_examples=400, deadline=None)
@given(LINES)
def test_labels_are_cut_out_of_fasttext_lines(lines):
    text = "".join(line + "\n" for line in lines).encode()
    found = split_fasttext(text)
    expected = [by_words(line.encode().removesuffix(b"\r")) for line in lines if line.strip()]
    assert (found.status, found.n_lines) == (DONE, len(lines))
    assert found.counts == [len(labels) for labels, _ in expected]
    assert found.values(0) == [labels[0] if labels else b"" for labels, _ in expected]
    assert [record[0][0] for record in found.fields] == [STRING if labels else MISSING for labels, _ in expected]
    assert found.values(1) == [words for _, words in expected]


@pytest.mark.parametrize(
    ("line", "labels", "text"),
    [
        (b"__label__a hello world", 1, b"hello world"),
        (b"__label__a __label__b hello", 2, b"hello"),
        (b"hello __label__a world", 1, b"hello world"),
        (b"hello world __label__a", 1, b"hello world"),
        (b"hello __label__a __label__b", 2, b"hello"),
        (b"  __label__a  hello\t", 1, b"   hello\t"),
        (b"x__label__a hello", 0, b"x__label__a hello"),
        (b"__label__a", 1, b""),
        (b"_ __ __label_ __labe", 0, b"_ __ __label_ __labe"),
    ],
)
def test_a_fasttext_line(line, labels, text):
    for line_end in (b"\n", b"\r\n"):
        found = split_fasttext(line + line_end)
        assert (found.counts, found.values(1)) == ([labels], [text])


def test_another_prefix():
    found = split_fasttext(b"#spam buy #now\n", b"#")
    assert (found.fields, found.counts) == ([[(STRING, b"spam"), (STRING, b"buy")]], [2])
    for prefix in (b"", b"a b", b"\n"):
        with pytest.raises(ValueError, match="prefix"):
            split_fasttext(b"a\n", prefix)


@settings(max_examples=200, deadline=None)
@given(LINES)
def test_plain_lines_and_lines_with_a_tab(lines):
    text = "".join(line + "\n" for line in lines).encode()
    bodies = [line.encode().removesuffix(b"\r") for line in lines]
    found = split_plain(text)
    assert (found.status, found.n_lines) == (DONE, len(lines))
    assert found.fields == [[(MISSING, b""), (STRING, body)] for body in bodies]
    tabbed = split_tabbed(text)
    kept = [body for body in bodies if body.strip()]
    bad = [number for number, body in enumerate(kept) if b"\t" not in body]
    sound = kept[: bad[0]] if bad else kept
    assert tabbed.status == (BAD_RECORD if bad else DONE)
    assert tabbed.fields == [[(STRING, part) for part in body.split(b"\t", 1)] for body in sound]
    assert all((find_tabbed_flaw(body) is None) == (b"\t" in body) for body in kept)


# -- flaws -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("flaw", "what", "column"),
    [
        (find_tabbed_flaw(b"spam hello\r\n"), f"{NO_TAB} (near 'spam hello')", 1),
        (
            find_fasttext_flaw(b"no label\n", LABEL),
            "expected a label, a word that begins with __label__, found none (near 'no label')",
            1,
        ),
        (
            find_fasttext_flaw(b"__label__a x __label__b\n", LABEL),
            "expected one label, found 2 (near '__label__b')",
            14,
        ),
        (find_fasttext_flaw(b"__label__a x\r__label__b y\r", LABEL), CR_LINE_ENDS, 14),
        (find_utf8_flaw(b"abc\xff\n"), "expected UTF-8, found byte 0xff", 4),
        (find_utf8_flaw(b"caf\xe9 au lait\n"), "expected UTF-8, found byte 0xe9", 4),
        (find_utf8_flaw(b"x\xed\xa0\x80\n"), "expected UTF-8, found byte 0xed", 2),
        (find_utf8_flaw("é\n".encode() + b"x\xc3"), "expected UTF-8, found byte 0xc3", 2),
        (find_label_flaw(b"a\0b\tx", b"a\0b"), "expected a label of text, found a NUL byte in it (near 'a\\x00b')", 1),
        (find_label_flaw(b"text,\xff\n", b"\xff"), "expected UTF-8, found byte 0xff", 6),
        (find_label_flaw(b"\ttext\n", b""), "expected a label, found nothing", 1),
    ],
)
def test_a_flaw_is_explained(flaw, what, column):
    assert (str(flaw), flaw.column) == (what, column)


def test_sound_records_have_no_flaw():
    assert find_fasttext_flaw(b"x __label__a\n", b"__label__") is None
    assert find_label_flaw("é\tx".encode(), "é".encode()) is None
    assert find_utf8_flaw("a\0é€😀\n".encode()) is None
    assert find_utf8_flaw(b"x" * (UTF8_BLOCK - 1) + "€".encode() * 9) is None
    flaw = find_utf8_flaw(b"x" * (UTF8_BLOCK - 1) + "€".encode() * 9 + b"\xe2\x82")
    assert flaw is not None
    assert flaw.column == UTF8_BLOCK + 27


def test_the_line_of_a_flaw_is_that_within_the_record():
    flaw = find_utf8_flaw(b'a,"b\nc\xff"\n')
    assert flaw is not None
    assert (flaw.line, flaw.column) == (1, 2)


# -- arguments ---------------------------------------------------------------------------------------------------------


def arguments(text: bytes = b"a\tb\n", n_fields: int = 2, room: int = 4, scratch: int | None = None) -> list:
    size = len(text) + SLACK if scratch is None else scratch
    shape = n_fields, room
    arrays = [np.empty(room, np.int64), np.empty(shape, np.int64), np.empty(shape, np.int64), np.empty(shape, np.uint8)]
    return [*arrays, np.empty(size, np.uint8), padded(text), PADDING, PADDING + len(text), 0, 0]


def test_arguments_are_checked_before_the_loop():
    assert _records.split_tabbed(*arguments())[0] == DONE
    for given_ in (
        arguments(b"a\tb"),
        arguments(scratch=4 + SLACK - 1),
        arguments(n_fields=3),
        [*arguments()[:6], PADDING - 1, *arguments()[7:]],
        [*arguments()[:7], PADDING + 5, 0, 0],
        [*arguments()[:8], 5, 0],
        [*arguments()[:8], 0, 1],
        [*arguments()[:8], 0, -1],
        [*arguments()[:8], -1, 0],
        [np.empty(5, np.int64), *arguments()[1:]],
    ):
        with pytest.raises(ValueError, match=r"text|room|range|scratch|fields"):
            _records.split_tabbed(*given_)
    with pytest.raises(ValueError, match="as many fields"):
        _records.split_json(*arguments(b"{}\n"), JsonFields(["a"]))
    with pytest.raises(ValueError, match="counts"):
        _records.split_fasttext(*arguments()[:4], np.empty(3, np.int32), *arguments()[4:], b"x")
    with pytest.raises(TypeError):
        _records.split_json(*arguments(b"{}\n"), None)


def test_without_any_room_nothing_is_read():
    assert _records.split_plain(*arguments(room=0)) == (NEEDS_ROOM, 0, 0, PADDING, 0)
    assert _records.split_json(*arguments(b"\n{}\n", n_fields=0, room=0), JsonFields([]))[0] == NEEDS_ROOM


def test_an_empty_text_has_no_records():
    for function in (_records.split_plain, _records.split_tabbed):
        assert function(*arguments(b"")) == (DONE, 0, 0, PADDING, 0)


# -- spans -------------------------------------------------------------------------------------------------------------


def spans(texts: list[bytes]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    sizes = np.array([len(text) for text in texts], np.int64)
    stops = np.cumsum(sizes)
    return np.frombuffer(b"".join(texts), np.uint8), stops - sizes, stops


@settings(max_examples=200, deadline=None)
@given(st.lists(st.binary(max_size=20)))
def test_spans_are_numbered_as_they_first_occur(texts):
    codes, firsts = intern_spans(*spans(texts))
    different = list(dict.fromkeys(texts))
    assert [different[code] for code in codes.tolist()] == texts
    assert firsts == [texts.index(text) for text in different]


def test_a_million_labels_have_numbers():
    names = [b"label %d" % k for k in range(1_000_000)]
    order = list(range(1_000_000))
    random.Random(1).shuffle(order)
    codes, firsts = intern_spans(*spans([*names, *(names[k] for k in order)]))
    assert codes[:1_000_000].tolist() == firsts == list(range(1_000_000))
    assert codes[1_000_000:].tolist() == order


def test_spans_outside_of_the_buffer_are_refused():
    buffer = np.zeros(3, np.uint8)
    for start, stop in ((0, 4), (-1, 2), (2, 1)):
        with pytest.raises(ValueError, match="outside"):
            intern_spans(buffer, np.array([start]), np.array([stop]))
    with pytest.raises(ValueError, match="differ"):
        intern_spans(buffer, np.array([0]), np.array([1, 2]))


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.lists(
            st.tuples(st.binary(max_size=9), st.sampled_from([STRING, MISSING, NULL, OTHER])), min_size=3, max_size=3
        )
    )
)
def test_fields_are_joined_by_line_ends(records):
    buffer, starts, stops = spans([value for record in records for value, _ in record])
    starts, stops = starts.reshape(-1, 3).T, stops.reshape(-1, 3).T
    kinds = np.array([[kind for _, kind in record] for record in records], np.uint8).reshape(-1, 3).T
    n = len(records)
    out = np.full(7 + joined_size(starts, stops), 0xEE, np.uint8)
    out_starts, out_stops = np.empty(n, np.int64), np.empty(n, np.int64)
    used = join_spans(out_starts, out_stops, out, 7, buffer, starts, stops, kinds)
    documents = [out[start:stop].tobytes() for start, stop in zip(out_starts, out_stops, strict=True)]
    assert documents == [b"\n".join(value for value, kind in record if kind == STRING) for record in records]
    assert used == (out_stops[-1] if n else 7)
    assert (out[:7] == 0xEE).all()


def test_join_checks_its_arguments():
    one = np.zeros((1, 1), np.int64)
    kinds = np.ones((1, 1), np.uint8)
    place, out, buffer = np.empty(1, np.int64), np.empty(2, np.uint8), np.zeros(2, np.uint8)
    assert join_spans(place, place, out, 0, buffer, one, one + 1, kinds) == 1
    for given_ in (
        (place, place, out, 1, buffer, one, one + 1, kinds),
        (place, place, out, -1, buffer, one, one, kinds),
        (place[:0], place, out, 0, buffer, one, one, kinds),
        (place, place, out, 0, buffer, one, one + 3, kinds),
        (place, place, out, 0, buffer, one, one, kinds[:0]),
    ):
        with pytest.raises(ValueError, match=r"room|short|outside|shape"):
            join_spans(*given_)
