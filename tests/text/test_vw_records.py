"""Vowpal Wabbit lines: columns by hash, exact values, and what is said of bad lines."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cwlearn.text import _hashing
from cwlearn.text._records import BAD_RECORD, DONE, MISSING, NEEDS_ROOM, STRING
from cwlearn.text._vw import MAX_NAMESPACE, split_vw
from cwlearn.text.vw_errors import find_vw_flaw
from tests.text.record_cases import PADDING, padded


@dataclass
class Rows:
    status: int
    n_lines: int
    place: int
    rows: list[dict[int, float]]
    labels: list[bytes | None]
    importances: list[float]


def split(text: bytes, n_features: int = 1 << 20, dtype: type = np.float64, rows: int = 2, entries: int = 3) -> Rows:
    """Parse with arrays that have little room at first."""
    chunk, start, n, n_lines = padded(text), PADDING, 0, 0
    arrays = _arrays(rows, entries, dtype)
    arrays[0][0] = 0
    while True:
        status, n, lines, start = split_vw(*arrays, chunk, start, PADDING + len(text), n, n_features)
        n_lines += lines
        if status != NEEDS_ROOM:
            break
        rows, entries = 2 * rows + 1, 2 * entries + 1
        larger = _arrays(rows, entries, dtype)
        for old, new in zip(arrays, larger, strict=True):
            new[: len(old)] = old
        arrays = larger
    indptr, indices, values, squares, places, starts, stops, kinds, importances = arrays
    found = []
    for k in range(n):
        span = slice(indptr[k], indptr[k + 1])
        assert (np.diff(indices[span]) > 0).all()
        assert squares[k] == pytest.approx(float(np.sum(values[span].astype(float) ** 2)), nan_ok=True)
        assert kinds[k] == STRING or (kinds[k] == MISSING and starts[k] == stops[k] == 0)
        found.append(dict(zip(indices[span].tolist(), values[span].tolist(), strict=True)))
    assert (np.diff(places[:n]) > 0).all()
    labels = [chunk[starts[k] : stops[k]].tobytes() if kinds[k] == STRING else None for k in range(n)]
    return Rows(status, n_lines, start - PADDING, found, labels, importances[:n].tolist())


def _arrays(rows: int, entries: int, dtype: type) -> tuple[np.ndarray, ...]:
    return (
        np.empty(rows + 1, np.int64),
        np.empty(entries, np.int32),
        np.empty(entries, dtype),
        np.empty(rows),
        *(np.empty(rows, np.int64) for _ in range(3)),
        np.empty(rows, np.uint8),
        np.empty(rows),
    )


def column(name: bytes, n_features: int) -> int:
    return abs(_hashing.murmur_of(name)) % n_features


def by_hand(line: bytes, n_features: int) -> dict[int, float]:
    """The features of a sound line, summed in their order."""
    row: dict[int, float] = {}
    for part in line[line.index(b"|") + 1 :].split(b"|"):
        words = part.split()
        name, scale = b"", 1.0
        if words and not part[:1].isspace():
            name, _, text = words.pop(0).partition(b":")
            scale = float(text or b"1")
        for word in words:
            feature, _, text = word.partition(b":")
            key = column(name + b"^" + feature if name else feature, n_features)
            row[key] = row.get(key, 0.0) + float(text or b"1") * scale
    return row


NAMES = st.text(st.characters(exclude_characters=" \t\v\f\r\n|:", exclude_categories=["Cs"]), min_size=1, max_size=20)
VALUES = st.floats(-1e9, 1e9).map(repr) | st.integers(-99, 99).map(str) | st.just("")
FEATURES = st.lists(st.tuples(NAMES, VALUES), max_size=60)
SPACES = st.lists(st.tuples(NAMES | st.just(""), VALUES, FEATURES), min_size=1, max_size=3)


def written(spaces: list) -> str:
    def with_value(name: str, value: str) -> str:
        return f"{name}:{value}" if name and value else name

    return " ".join(
        "|" + with_value(name, scale) + "".join(" " + with_value(*feature) for feature in features)
        for name, scale, features in spaces
    )


@settings(max_examples=200, deadline=None)
@given(
    st.lists(SPACES, max_size=4),
    st.sampled_from([1, 7, 1000, 1 << 20, 2**31 - 1]),
    st.sampled_from(["\n", "\r\n", "\n\n"]),
)
def test_rows_are_those_by_hand(lines, n_features, line_end):
    texts = ["1 " + written(spaces) for spaces in lines]
    text = "".join(line + line_end for line in texts).encode()
    found = split(text, n_features)
    assert (found.status, found.n_lines) == (DONE, text.count(b"\n"))
    for row, line in zip(found.rows, texts, strict=True):
        expected = by_hand(line.encode(), n_features)
        assert row == expected
        assert find_vw_flaw(line.encode()) is None


def test_values_of_float32_are_rounded_once():
    line = b"|a x:0.1 x:0.2 y:1e-40\n"
    found = split(line, dtype=np.float32)
    expected = {key: float(np.float32(value)) for key, value in by_hand(line, 1 << 20).items()}
    assert found.rows == [expected]


@pytest.mark.parametrize("n", [1, 31, 32, 33, 99, 100, 101, 5000])
@pytest.mark.parametrize("n_features", [1, 100, 1 << 16, 2**31 - 1])
def test_rows_of_any_length(n, n_features):
    chance = random.Random(n)
    line = "| " + " ".join(f"f{chance.randrange(n)}:{chance.random()}" for _ in range(n))
    assert split(line.encode() + b"\n", n_features).rows == [by_hand(line.encode(), n_features)]


@pytest.mark.parametrize(
    ("line", "label", "importance"),
    [
        (b"1 |a b", b"1", 1.0),
        (b"spam 2.5 |a b", b"spam", 2.5),
        (b"spam 0 0.0 |a b", b"spam", 0.0),
        (b"1:0.5 |a", b"1:0.5", 1.0),
        (b"1 'tag |a b", b"1", 1.0),
        (b"1 2 'tag|a b", b"1", 2.0),
        (b"1 2 0 tag|a b", b"1", 2.0),
        (b"'tag |a b", None, 1.0),
        (b"tag|a b", None, 1.0),
        (b"|a b", None, 1.0),
        (b"  -1\t|a b", b"-1", 1.0),
        ("größe |a b".encode(), "größe".encode(), 1.0),
    ],
)
def test_what_stands_before_the_features(line, label, importance):
    found = split(line + b"\n")
    assert (found.labels, found.importances) == ([label], [importance])
    assert (find_vw_flaw(line) is None) == (label is not None)
    assert find_vw_flaw(line, labelled=False) is None


@pytest.mark.parametrize("line", [b"1 |", b"1 | ", b"1 |a", b"1 |a |b", b"1 ||a:2|", b"1 |a|b \r"])
def test_rows_without_features(line):
    found = split(line + b"\n\n")
    assert (found.status, found.rows, found.n_lines) == (DONE, [{}], 2)
    assert find_vw_flaw(line) is None


def test_a_bar_begins_a_namespace_wherever_it_stands():
    assert split(b"1 |a x|b:2 y\n").rows == [by_hand(b"1 |a x |b:2 y", 1 << 20)]
    assert split(b"1 |a x\n").rows != split(b"1 |b x\n").rows
    assert split(b"1 |a x\n").rows == [{column(b"a^x", 1 << 20): 1.0}]
    assert split(b"1 | x\n").rows == [{column(b"x", 1 << 20): 1.0}]


def test_values_out_of_range_are_seen_in_the_squares():
    text = b"1 |a x:1e30\n1 |a x:1e200\n"
    arrays = _arrays(3, 3, np.float32)
    arrays[0][0] = 0
    split_vw(*arrays, padded(text), PADDING, PADDING + len(text), 0, 100)
    assert np.isfinite(arrays[3][:2]).tolist() == [True, False]


BAD = [
    (b"1 2 3", "expected '|' before features, found none", 6),
    (b"1 x |a b", "expected an importance that is a decimal number, found another word (near 'x')", 3),
    (b"1 -2 |a b", "expected an importance of 0 or more, found a negative one (near '-2')", 3),
    (b"1 1e999 |a b", "importance out of range (near '1e999')", 3),
    (b"1 1 0.5 |a b", "expected a base of 0, found another: a base is not supported (near '0.5')", 5),
    (b"1 1 x |a b", "expected a base that is a decimal number, found another word (near 'x')", 5),
    (b"1 1 0 4 |a", "expected label, importance and base at most before '|', found another word (near '4')", 7),
    (b"1 'tag x |a", "expected '|' behind a tag, found another word (near 'x')", 8),
    (b"1 |a b:x", "expected a value that is a decimal number, found another word (near 'x')", 8),
    (b"1 |a b:", "expected a value behind ':', found none", 8),
    (b"1 |a b:1:2", "expected a value that is a decimal number, found another word (near '1:2')", 8),
    (b"1 |a b:nan", "expected a value that is a decimal number, found another word (near 'nan')", 8),
    (b"1 |a b:1e999", "value out of range (near '1e999')", 8),
    (b"1 |a :5", "expected the name of a feature before ':', found none (near ':5')", 6),
    (b"1 |:5 b", "expected the name of a namespace before ':', found none (near ':5')", 4),
    (b"1 |a:x b", "expected a scale that is a decimal number, found another word (near 'x')", 6),
    (b"1 |" + b"n" * 256 + b" b", "expected a namespace of at most 255 bytes, found 256", 4),
    (b"1 |a b\r1 |a c\r", "CR line ends: lines must end with LF or CR LF", 7),
]


@pytest.mark.parametrize(("line", "what", "column"), BAD)
def test_a_bad_line_is_explained(line, what, column):
    found = split(b"\n1 |a b\n" + line + b"\n")
    assert (found.status, found.place, found.n_lines) == (BAD_RECORD, 8, 2)
    flaw = find_vw_flaw(line + b"\n")
    assert (str(flaw), flaw.column) == (what, column)


def test_a_missing_label_is_explained():
    assert str(find_vw_flaw(b"|a b\n")) == "expected a label before '|', found none"
    what = "expected a label before '|', found none (a word that touches '|' is a tag: put a blank between)"
    assert str(find_vw_flaw(b"1|a b\n")) == what


@settings(max_examples=1000, deadline=None)
@given(
    st.lists(
        st.sampled_from(["1", "-2.5", "a", "b", ":", "|", " ", "\t", "'", "\r", "0", "e9", "n" * 100, "é"]), max_size=14
    )
)
def test_what_is_not_vw_is_found_by_both(pieces):
    line = "".join(pieces).encode()
    found = split(line + b"\n")
    if line.strip(b" \t\r") or re.search(rb"\r(?!$)", line):
        assert (found.status == DONE) == (find_vw_flaw(line + b"\n", labelled=False) is None)
    if found.status == DONE and found.rows:
        assert found.rows == [by_hand(line, 1 << 20)]


def test_arguments_are_checked():
    text = b"1 |a b\n"
    sound = [*_arrays(2, 2, np.float64), padded(text), PADDING, PADDING + len(text), 0, 10]
    sound[0][:] = 0
    assert split_vw(*sound)[0] == DONE
    for number, value in (
        (0, np.zeros(2, np.int64)),
        (0, np.full(3, 5, np.int64)),
        (3, np.empty(1)),
        (5, np.empty(1, np.int64)),
        (7, np.empty(1, np.uint8)),
        (8, np.empty(1)),
        (10, PADDING - 1),
        (11, PADDING + 3),
        (12, -1),
        (12, 3),
        (13, 0),
        (13, 2**31),
    ):
        given_ = [*sound[:number], value, *sound[number + 1 :]]
        with pytest.raises(ValueError, match=r"text|room|range|short|n_features"):
            split_vw(*given_)


def test_the_length_of_a_namespace_is_bounded():
    name = b"n" * MAX_NAMESPACE
    assert split(b"1 |%b x\n" % name).rows == [{column(name + b"^x", 1 << 20): 1.0}]
