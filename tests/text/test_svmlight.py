"""svmlight text: numbers as `float` reads them, rows as scikit-learn reads them, the same for any number of threads.

Bad text is in `test_bad_text.py`.
"""

from __future__ import annotations

import bz2
import gzip
import io
import itertools
import math
import os
import random
import sys
import threading
import time
from contextlib import nullcontext
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.datasets import load_svmlight_file, load_svmlight_files

from cwlearn import DataError, iter_svmlight, native, read_svmlight
from cwlearn.core.rows import as_rows
from cwlearn.text import _svmlight
from cwlearn.text._svmlight import BAD_LINE, DONE, NEEDS_ROOM, PADDING, TOO_WIDE, checksum_lines, power_of_ten
from cwlearn.text.batch import Buffers
from cwlearn.text.chunks import Beginning, Chunk
from cwlearn.text.reader import Reader, Reading
from cwlearn.text.row_store import MemoryStore
from cwlearn.text.sources import Source
from cwlearn.text.svmlight import SvmlightParser
from cwlearn.text.svmlight_errors import Grammar
from cwlearn.utils import machine
from tests.cases import reserved

# How the parser can be run on this processor: a compiled module, and whether it finds marks 64 bytes at once.
FORMS = [
    (module, at_once)
    for module in {_svmlight, sys.modules[native.parse_rows.__module__]}
    for at_once in (False, True)
    if module.choose_marks(at_once)
]
GUARD = 8
GOLDEN = 0x9E3779B97F4A7C15  # it decides which columns meet, and models are kept for years: it never changes
INT64_MAX = 2**63 - 1

# As scikit-learn's own test data (comments, blank lines, one-based), and what else is odd but allowed.
SAMPLE = b"""# comment
# note: the next line is blank

+1 2:2.5 10:-5.2 15:1.5 # and an inline comment
2 5:1.0 12:-3
# another comment
3 20:27
4.0 21:1.0 # a:b 3:4

 1e0 1:0\t3:.5  7:5. \v8:+3\f9:-0\r
\t \r
-2
2 20:1e-400 0021:3#no space
"""
FILES = {  # those with queries have one in every row, without which scikit-learn returns fewer of them than rows
    "sample": SAMPLE,
    "CRLF": SAMPLE.replace(b"\r", b"").replace(b"\n", b"\r\n"),
    "no final newline": SAMPLE.rstrip(b"\n"),
    "labels only, and one entry": b"1\n2 \n\n3\n4 #\n1 1:1\n",
    "index 0": b"1 0:1 3:2\n-1 2:1\n",
    "leading blank line, indented rows, qid": b"\n    3 qid:1 1:5.2 2:1\n  2 qid:1 4:1\n\n 1 qid:-7 1:1 # d",
    "large numbers": b"1 qid:9223372036854775807 1:72048431380967004\n0 qid:-9223372036854775807 7:1e30\n",
}


def written(path, text):
    path.write_bytes(text)
    return path


# -- parse_rows by itself ----------------------------------------------------------------------------------------------


def parse_rows(arrays, text, start, stop, *options):
    """Parse by every compiled form and compare the results; `start` and `stop` do not count the padding."""
    first = None
    for module, at_once in FORMS:
        module.choose_marks(at_once)
        copies = [array.base.copy()[GUARD : GUARD + len(array)] for array in arrays.values()]
        answer = module.parse_rows(*copies, text, start + PADDING, stop + PADDING, *options)
        status, n_rows, lines, where, *found = answer
        result = status, n_rows, lines, where - PADDING, *found
        nnz = copies[0][n_rows]
        sizes = n_rows + 1, nnz, nnz, *(n_rows for _ in range(6))
        seen = [copy[:size].tobytes() for copy, size in zip(copies, sizes, strict=True)]
        assert first in (None, (result, seen))
        first = result, seen
    for array, copy in zip(arrays.values(), copies, strict=True):
        array.base[:] = copy.base
    return result


def padded(text):
    """A text between digits, since what surrounds it must not matter."""
    return np.frombuffer(b"8" * PADDING + text + b"9" * PADDING, np.uint8)


def least_arrays(size, *, labelled=True, dtype=np.float64, wide=True, rows=0, entries=0, without=None):
    """The shortest arrays that are accepted for `size` bytes after `rows` and `entries`; `without` is one shorter."""
    most_rows, most_entries = rows + (size // 2 + 1 if labelled else size), entries + size // 4 + 1
    kinds = {
        "indptr": (most_rows + 1, np.int64),
        "indices": (most_entries, np.int64 if wide else np.int32),
        "values": (most_entries, dtype),
        "squares": (most_rows, np.float64),
        "places": (most_rows, np.int64),
        "labels": (most_rows, np.float64),
        "label_starts": (most_rows, np.int64),
        "label_stops": (most_rows, np.int64),
        "queries": (most_rows, np.int64),
    }
    arrays = {name: np.full(n + 2 * GUARD, 77, kind) for name, (n, kind) in kinds.items()}
    arrays = {name: array[GUARD : -GUARD - (name == without)] for name, array in arrays.items()}
    arrays["indptr"][rows] = entries
    return arrays


def parse(text, *, labelled=True, lowest=0, sort=False, hash_bits=0, **kind):
    """Parse a text into the shortest arrays, and check that nothing is written outside them."""
    arrays = least_arrays(len(text), labelled=labelled, **kind)
    status, n_rows, lines, where, low, high = parse_rows(
        arrays, padded(text), 0, len(text), 0, labelled, lowest, sort, hash_bits
    )
    for array in arrays.values():
        assert (array.base[:GUARD] == 77).all()
        assert (array.base[-GUARD:] == 77).all()
    nnz = arrays["indptr"][n_rows]
    sizes = {
        "indptr": n_rows + 1,
        "indices": nnz,
        "values": nnz,
        "squares": n_rows,
        "places": n_rows,
        "labels": n_rows,
        "label_starts": n_rows,
        "label_stops": n_rows,
        "queries": n_rows,
    }
    rows = {name: arrays[name][:size] for name, size in sizes.items()}
    return SimpleNamespace(status=status, lines=lines, where=where, lowest=low, highest=high, **rows)


LINES = st.lists(
    st.sampled_from(
        [b"1", b"-2", b"1:1", b"2:2", b"3:1", b"99:1e5", b"qid:3", b"x", b"-x", b":", b"#", b"\r", b"", b"1:"]
    ),
    max_size=9,
).map(lambda tokens: b" ".join(tokens) + b"\n")


@settings(max_examples=300, deadline=None)
@given(st.lists(LINES, max_size=8), st.booleans(), st.integers(0, 1), st.booleans(), st.sampled_from([0, 1, 8]))
def test_nothing_is_written_outside_the_arrays(lines, labelled, lowest, sort, hash_bits):
    text = b"".join(lines)
    options = {"labelled": labelled, "lowest": lowest, "sort": sort, "hash_bits": hash_bits}
    wide, narrow = parse(text, **options), parse(text, wide=False, dtype=np.float32, **options)
    assert (wide.status, wide.where, wide.lines) == (narrow.status, narrow.where, narrow.lines)
    assert_array_equal(wide.indices, narrow.indices)
    assert (wide.status == DONE) == (wide.where == len(text))
    assert wide.lines == text[: wide.where].count(b"\n")


@pytest.mark.parametrize(
    ("labelled", "line"),
    [
        (True, b"1\n"),
        (True, b"1 1:1\n"),
        (True, b"1 1:1 2:1 3:1 4:1 5:1 6:1 7:1 8:1 9:1\n"),
        (False, b"1:1\n"),
        (False, b"\n"),
        (False, b"#\n1:1\n"),
        (False, b"1:1 2:1 3:1 4:1 5:1 6:1 7:1 8:1 9:1\n"),
    ],
)
def test_the_densest_texts_fit_the_shortest_arrays(labelled, line):
    found = parse(30 * line, labelled=labelled)
    assert (found.status, found.lines) == (DONE, 30 * line.count(b"\n"))
    assert len(found.labels) == found.lines
    assert len(found.indices) == 30 * line.count(b":")


SHORT = {"indices": "entries", "values": "entries"} | dict.fromkeys(
    ["indptr", "squares", "places", "labels", "label_starts", "label_stops", "queries"], "rows"
)


@pytest.mark.parametrize("labelled", [True, False])
@pytest.mark.parametrize("name", SHORT)
def test_parse_rows_never_writes_behind_arrays_that_are_too_short(name, labelled):
    text = b"1 1:1\n2\n" * 5 if labelled else b"1:1\n\n" * 5
    rest = padded(text), 0, len(text), 3, labelled, 0, False, 0
    sizes = {"labelled": labelled, "rows": 3, "entries": 7}
    arrays = least_arrays(len(text), **sizes)
    assert parse_rows(arrays, *rest)[:3] == (DONE, 13, 10)
    assert arrays["indptr"][13] == 12
    if SHORT[name] == "entries":
        with pytest.raises(ValueError, match="too short"):
            parse_rows(least_arrays(len(text), **sizes, without=name), *rest)
        return
    arrays[name] = arrays[name][: 12 + (name == "indptr")]  # room for all rows but one
    behind = arrays[name].base.copy()[GUARD + len(arrays[name]) :]
    assert parse_rows(arrays, *rest)[:4] == (NEEDS_ROOM, 12, 9, len(text) - text[::-1].index(b"\n", 1))
    assert arrays[name].base[GUARD + len(arrays[name]) :].tobytes() == behind.tobytes()


@pytest.mark.parametrize("queries", [False, True])
def test_chunks_of_very_short_lines_get_room_for_all_of_their_rows(queries):
    lines = [b"%d%s\n" % (1 - 2 * (k % 3 == 0), b" qid:3" * queries) for k in range(5000)] + [b"1 7:2\n"]
    chunk = Chunk.of_lines(b"".join(lines), Source("lines"))
    parser = SvmlightParser(Grammar(), np.dtype(np.float32), with_queries=queries)
    batch = parser.parse(chunk, Buffers(chunk.text), 0)
    assert batch.labels.tolist() == [int(line.split()[0]) for line in lines]
    assert batch.rows.indptr.tolist() == [0] * 5001 + [1]
    assert batch.places.tolist() == (np.cumsum([0, *map(len, lines)])[:-1] + chunk.start).tolist()
    assert batch.queries.tolist() == [3] * 5000 * queries + [0] * queries


@pytest.mark.parametrize("wide", [np.int32, np.int64])
def test_f21_entries_are_counted_in_64_bits(wide):
    """Two rows behind three thousand million entries."""
    text, first = b"1 1:1 7:2\n-1 3:4\n", 3_000_000_000
    indices, values = reserved(first + len(text), wide), reserved(first + len(text), np.float32)
    for module, at_once in FORMS:
        module.choose_marks(at_once)
        indptr, labels, squares = np.full(len(text), first), np.empty(len(text)), np.empty(len(text))
        spans = np.empty((2, len(text)), np.int64)
        places = np.empty(len(text), np.int64)
        place = PADDING, PADDING + len(text)
        answer = module.parse_rows(
            indptr,
            indices,
            values,
            squares,
            places,
            labels,
            *spans,
            np.empty(0, np.int64),
            padded(text),
            *place,
            0,
            True,
            0,
            False,
            0,
        )
        assert answer[:3] == (DONE, 2, 2)
        assert indptr[:3].tolist() == [first, first + 2, first + 3]
        assert indices[first : first + 3].tolist() == [1, 7, 3]
        assert values[first : first + 3].tolist() == [1, 2, 4]
        assert squares[:2].tolist() == [5, 16]
        indices[first:], values[first:] = 0, 0


def test_f21_rows_are_put_together_in_64_bits(monkeypatch):
    store, rows = MemoryStore("float32"), as_rows(np.eye(3), np.dtype("float32"))
    store.add(rows, np.ones(3))
    for name in ("indices", "values"):
        full = SimpleNamespace(size=3_000_000_000, dtype=store._arrays[name].dtype, append=lambda *_: None)
        monkeypatch.setitem(store._arrays, name, full)
    store.add(rows, np.ones(3))
    assert store._arrays["ends"].values.tolist() == [0, 1, 2, 3, *range(3_000_000_001, 3_000_000_004)]


@pytest.mark.parametrize(
    ("text", "start", "stop"),
    [
        (padded(b"1 1:1"), 0, 5),
        (padded(b"1 1:1\n")[:-1], 0, 6),
        (padded(b"1 1:1\n")[1:], -1, 5),
        (padded(b"1 1:1\n"), 0, 5),
        (padded(b"1 1:1\n"), 0, 7),
        (padded(b"1 1:1\n"), -1, 6),
        (padded(b"1 1:1\n"), 7, 6),
        (np.zeros(0, np.uint8), 0, 0),
    ],
    ids=[
        "no end",
        "short padding",
        "short padding before",
        "cut line",
        "far stop",
        "start < 0",
        "start > stop",
        "no text",
    ],
)
def test_parse_rows_refuses_text_without_line_end_or_padding(text, start, stop):
    with pytest.raises(ValueError, match="must end with a line, between paddings"):
        parse_rows(least_arrays(40), text, start, stop, 0, True, 0, False, 0)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("entries", value) for value in (-1, 20, 2**62)),
        *(("n_rows", value) for value in (-1, 10**6, 2**62)),
        *(("lowest", value) for value in (-1, 2)),
        *(("hash_bits", value) for value in (-1, 63)),
    ],
)
def test_parse_rows_refuses_numbers_that_make_no_sense(name, value):
    numbers = {"entries": 0, "n_rows": 0, "lowest": 0, "hash_bits": 0, name: value}
    arrays = least_arrays(20)
    arrays["indptr"][:] = numbers["entries"]
    with pytest.raises(ValueError, match=r"too short|must be between"):
        parse_rows(
            arrays, padded(b"1 1:1\n"), 0, 6, numbers["n_rows"], True, numbers["lowest"], False, numbers["hash_bits"]
        )


def test_parse_rows_continues_where_it_stopped_and_reports_an_index_that_is_too_wide():
    text = padded(b"1 7:1\n:\n2 5:2 2147483648:1\n")
    arrays = least_arrays(30, wide=False)
    assert parse_rows(arrays, text, 0, 27, 0, True, 0, False, 0) == (BAD_LINE, 1, 1, 6, 7, 7)
    assert parse_rows(arrays, text, 8, 27, 1, True, 0, False, 0) == (TOO_WIDE, 1, 0, 8, INT64_MAX, -1)
    arrays["indices"] = least_arrays(30)["indices"]
    assert parse_rows(arrays, text, 8, 27, 1, True, 0, False, 0) == (DONE, 2, 1, 27, 5, 2**31)
    assert arrays["indptr"][:3].tolist() == [0, 1, 3]
    assert arrays["indices"][1:3].tolist() == [5, 2**31]
    assert arrays["values"][:3].tolist() == [1, 2, 1]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 300), max_size=80, unique=True))
def test_sorting_keeps_each_value_with_its_index(indices):
    found = parse(b"1" + b"".join(b" %d:%d" % (index, index + 1) for index in indices) + b"\n", sort=True)
    assert found.status == DONE
    assert found.indices.tolist() == sorted(indices)
    assert found.values.tolist() == [index + 1 for index in sorted(indices)]
    twice = b"1" + b"".join(b" %d:1" % index for index in [*indices, *indices[:1]]) + b"\n"
    assert parse(twice, sort=True).status == (BAD_LINE if indices else DONE)


# -- values ------------------------------------------------------------------------------------------------------------


def bits(numbers):
    return numbers.view(np.int64 if numbers.dtype == np.float64 else np.int32).tolist()


def halfway(value, nudge):
    """All digits of the number half way to the next double, or of one that differs from it in the last of them."""
    middle = (Fraction(value) + Fraction(math.nextafter(value, math.inf))) / 2
    with localcontext(prec=2000):
        text = f"{Decimal(middle.numerator) / middle.denominator:f}"
    if nudge < 0 and text[-1] != "0":
        return f"{text[:-1]}{int(text[-1]) - 1}{'' if '.' in text else '.'}9"
    return text + ("" if "." in text else ".") + "0001" * nudge if nudge > 0 else text


def tie(odd, power):
    """An integer of 54 bits, the last of them 1, that is half way between two doubles, written with an exponent."""
    if power < 0:
        return f"{(2**53 + odd) * 5**-power}e{power}"
    lowest = 2**53 // 5**power + 1
    return f"{(lowest + odd % lowest) | 1}e{power}"


def long_mantissa(sign, zeros, digits, point, exponent):
    point %= len(digits) + 1
    return f"{sign}{'0' * zeros}{digits[:point]}.{digits[point:]}e{exponent}"


# fmt: off
EDGES = [
    "0", "-0", "+0", "0.", ".0", "-.0", "5.", ".5", "-5.", "+.5", "00", "007", "-000.5", "0e0", "0e999", "0e-999",
    "1.e5", "0e99999999999999999999", "1e-400", "-1e-400", "1e400", "-1e400", "1e-99999999999", "4e492493924924",
    "1.E+5", "1e05", "4.9406564584124654e-324", "2.4703282292062327e-324", "2.4703282292062328e-324",
    "2.2250738585072011e-308", "1e+005", "2.2250738585072014e-308", "1.7976931348623157e308",
    "1.7976931348623158e308", "1.7976931348623159e308", "1e308", "1e309", "1e22", "1e23", "1e-22", "1e-23",
    "9007199254740991", "9007199254740992", "9007199254740993", "8.589973e9", "9223372036854775808",
    "18446744073709551615", "18446744073709551616", "9999999999999999999", "99999999999999999999", "9999999",
    "99999999", "9999999.9999999", "9999999.99999999", "99999999.9999999", "0.1234567", "0.12345678",
    "999.1234567890123456", "1000.123456789", "0.0000000000000001", "0.00000000000000001", "0.9999999999999999",
]
# fmt: on
FINITE = st.floats(allow_nan=False, allow_infinity=False)
NUMBERS = st.one_of(
    st.from_regex(r"[+-]?([0-9]{1,25}\.?[0-9]{0,25}|\.[0-9]{1,25})([eE][+-]?[0-9]{1,3})?", fullmatch=True),
    st.builds(
        long_mantissa,
        st.sampled_from(["", "-", "+"]),
        st.sampled_from([0, 1, 7, 8, 30]),
        st.sampled_from([1, 7, 8, 15, 16, 17, 18, 19, 20, 21, 30, 300]).flatmap(
            lambda n: st.integers(0, 10**n - 1).map(lambda number: f"{number:0{n}}")
        ),
        st.integers(0, 300),
        st.integers(-345, 310),
    ),
    st.builds(lambda form, value: form % value, st.sampled_from(["%r", "%.17g", "%.16e", "%.30e", "%f"]), FINITE),
    st.builds(lambda form, n: form % (n * 5e-324), st.sampled_from(["%r", "%.17g", "%.40e"]), st.integers(1, 2**52)),
    st.builds(halfway, st.floats(0, 1e308) | st.floats(0, 3e-308) | st.floats(0, 1e6), st.sampled_from([0, 1, -1])),
    st.builds(tie, st.integers(0, 2**52 - 1).map(lambda n: 2 * n + 1), st.integers(-4, 22)),
    st.sampled_from(EDGES),
)
ENDS = st.sampled_from([b"", b" ", b"\t", b"#c", b" # c", b"\r", b" 9:9", b"\v9:1"])


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(NUMBERS.map(str.encode), ENDS), min_size=1, max_size=30))
def test_every_value_and_label_is_what_float_gives(numbers):
    finite = [(text, end) for text, end in numbers if math.isfinite(float(text))]
    expected = np.array([float(text) for text, _ in finite])
    for dtype in (np.float64, np.float32):
        found = parse(b"".join(b"%s 5:%s%s\n" % (text, text, end) for text, end in finite), dtype=dtype)
        assert found.status == DONE
        assert set(found.indices.tolist()) <= {5, 9}
        assert (found.indices[found.indptr[:-1]] == 5).all()
        assert bits(found.labels) == bits(expected)
        with np.errstate(over="ignore"):
            assert bits(found.values[found.indptr[:-1]]) == bits(expected.astype(dtype))
    for text, end in numbers:
        if math.isinf(float(text)):
            assert parse(b"1 5:%s%s\n" % (text, end)).status == BAD_LINE
            assert parse(b"%s 5:1%s\n" % (text, end)).status == BAD_LINE


@pytest.mark.parametrize("form", ["%r", "%.17g", "%.18e", "%.7g", "%.12f", "%.25e"])
def test_many_random_doubles_are_what_float_gives(form):
    rng = np.random.default_rng(len(form))
    numbers = rng.integers(0, 2**64, 17_000, np.uint64).view(np.float64)
    more = rng.standard_normal(5000)
    texts = [form % number for number in np.concatenate([numbers[np.isfinite(numbers)], more, more.round(3)]).tolist()]
    found = parse("".join(f"1 1:{text}\n" for text in texts).encode())
    assert found.status == DONE
    assert bits(found.values) == bits(np.array([float(text) for text in texts]))


@pytest.mark.parametrize("text", ["nan", "inf", "infinity", "nan(1)", "1e309", "2e308", "1" + "0" * 400, "9" * 310])
def test_what_is_not_a_finite_number_is_refused(text):
    for sign, spelling in itertools.product(("", "+", "-"), (text, text.upper(), text.title())):
        assert parse(f"1 1:{sign}{spelling}\n".encode()).status == BAD_LINE
        assert parse(f"{sign}{spelling} 1:1\n".encode()).status == BAD_LINE


def test_the_only_float32_whose_shortest_decimal_is_another_one_is_what_scikit_learn_makes_of_it(tmp_path):
    text = b"-1 1:7.038531e-26 2:-7.038531e-26\n"  # by way of the double: half way between two float32
    found = parse(text, dtype=np.float32).values
    assert bits(found) == bits(np.array([7.038531e-26, -7.038531e-26]).astype(np.float32))
    assert bits(found[:1]) != bits(np.array([np.float32(np.longdouble("7.038531e-26"))]))
    path = written(tmp_path / "a", text)
    assert bits(found) == bits(load_svmlight_file(str(path), dtype=np.float32)[0].data)


@settings(max_examples=30, deadline=None)
@given(st.lists(FINITE.filter(lambda value: abs(value) < 1e150), min_size=1, max_size=20))
def test_read_svmlight_rounds_once(tmp_path_factory, values):
    texts = [f"{value:.25e}" for value in values]
    path = written(tmp_path_factory.mktemp("values") / "a", "".join(f"1 1:{text}\n" for text in texts).encode())
    expected = np.array([float(text) for text in texts])
    assert bits(read_svmlight(path)[0].data) == bits(expected)
    with np.errstate(over="ignore"):
        expected = expected.astype(np.float32)
    if np.isfinite(expected).all():
        assert bits(read_svmlight(path, dtype="float32")[0].data) == bits(expected)
    else:
        with pytest.raises(DataError, match=f":{np.isinf(expected).argmax() + 1}: .* out of range for float32"):
            read_svmlight(path, dtype="float32")


def test_a_row_whose_squared_length_overflows_is_refused_by_its_line(tmp_path):
    with pytest.raises(DataError, match=r":3: the squared length of this row is out of range for float64"):
        read_svmlight(written(tmp_path / "a", b"# c\n1 1:1\n-1 1:1 2:1e200\n1 1:1\n"))


def test_powers_of_ten_have_128_bits_and_bracket_the_power():
    for q in range(-342, 309):
        power, exact = power_of_ten(q), Fraction(10) ** q
        assert power.bit_length() == 128
        unit = Fraction(2) ** (exact.numerator.bit_length() - exact.denominator.bit_length() - 128)
        unit *= 1 if exact < 2**128 * unit else 2
        if 0 <= q <= 55:
            assert power * unit == exact
        elif -27 <= q < 0:
            assert (power - 1) * unit < exact < power * unit
        else:
            assert power * unit < exact < (power + 1) * unit


# -- hashing -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("hash_bits", [1, 2, 8, 20, 31, 32, 40, 62])
def test_hashed_columns_follow_the_formula_and_values_that_meet_are_added(tmp_path, hash_bits):
    rng = np.random.default_rng(hash_bits)
    rows = [np.unique(rng.integers(0, 10 ** rng.integers(1, 18), 40)).tolist() for _ in range(50)] + [[]]
    lines = ["1 " + " ".join(f"{index}:{index % 9}" for index in row) for row in rows]
    path = written(tmp_path / "a", "\n".join(lines).encode())
    X, _ = read_svmlight(path, hash_bits=hash_bits)
    assert X.shape == (51, 2**hash_bits)
    for row, indices in enumerate(rows):
        expected: dict[int, float] = {}
        for index in indices:
            column = index * GOLDEN % 2**64 >> (64 - hash_bits)
            expected[column] = expected.get(column, 0) + index % 9
        start, stop = X.indptr[row : row + 2]
        assert X.indices[start:stop].tolist() == sorted(expected)
        assert X.data[start:stop].tolist() == [expected[column] for column in sorted(expected)]
    for threads in (1, 3):
        assert_same(read_svmlight(path, hash_bits=hash_bits, threads=threads)[:1], [X])


@pytest.mark.parametrize("hash_bits", [4, 10, 18, 22, 26, 31])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_hashed_rows_of_any_length_rise_and_are_the_same_bits_in_all_forms(hash_bits, dtype):
    """Long rows, and those in which three indices meet, are sorted in another way."""
    rng = np.random.default_rng(hash_bits)
    rows = [
        np.unique(rng.integers(0, 10**8, size))
        for size in (0, 1, 2, 3, 7, 8, 9, 60, 63, 64, 65, 500, 1023, 1024, 1025, 2047, 2048, 2049, 4000)
    ]
    values = [rng.integers(1, 1000, len(row)) for row in rows]  # so small that their sums are exact
    lines = [
        "1" + "".join(f" {index}:{value}" for index, value in zip(*pair, strict=True))
        for pair in zip(rows, values, strict=True)
    ]
    found = parse("".join(f"{line}\n" for line in lines).encode(), hash_bits=hash_bits, dtype=dtype, wide=False)
    bounds = found.indptr.tolist()
    for (start, stop), row, of in zip(itertools.pairwise(bounds), rows, values, strict=True):
        hashed = row.astype(np.uint64) * np.uint64(GOLDEN) >> np.uint64(64 - hash_bits)
        columns, places = np.unique(hashed, return_inverse=True)
        assert_array_equal(found.indices[start:stop], columns)
        assert_array_equal(found.values[start:stop], np.bincount(places, of, len(columns)))


def test_hashing_takes_indices_as_written_and_still_refuses_one_twice(tmp_path):
    path = written(tmp_path / "a", b"1 3:1\n")
    columns = [read_svmlight(path, hash_bits=20, zero_based=base)[0].indices.tolist() for base in (True, False, "auto")]
    assert columns == 3 * [[3 * GOLDEN % 2**64 >> 44]]
    with pytest.raises(DataError, match="index 3 occurs twice"):
        read_svmlight(written(tmp_path / "b", b"1 3:1 3:2\n"), hash_bits=20)


@pytest.mark.parametrize("hash_bits", [-1, 63, 64])
def test_hash_bits_out_of_range_are_refused(tmp_path, hash_bits):
    with pytest.raises(ValueError, match="`hash_bits` must be None or an integer from 1 to 62"):
        read_svmlight(written(tmp_path / "a", b"1 3:1\n"), hash_bits=hash_bits)


# -- as scikit-learn reads ---------------------------------------------------------------------------------------------


def assert_same(ours, theirs):
    assert len(ours) == len(theirs)
    for mine, their in zip(ours, theirs, strict=True):
        assert mine.shape == their.shape
        assert mine.dtype == their.dtype
        if sparse.issparse(mine):
            assert mine.format == "csr"
            assert_array_equal(mine.indptr, their.indptr)
            assert_array_equal(mine.indices, their.indices)
            mine, their = mine.data, their.data
        assert_array_equal(mine, their)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("zero_based", [True, False, "auto"])
@pytest.mark.parametrize("name", FILES)
def test_the_same_as_scikit_learn(tmp_path, name, zero_based, dtype):
    path = written(tmp_path / "a", FILES[name])
    for n_features, query_id in itertools.product((None, 40), {False, b"qid" in FILES[name]}):
        options = {"zero_based": zero_based, "query_id": query_id, "dtype": dtype, "n_features": n_features}
        if name == "index 0" and zero_based is False:
            with pytest.raises(ValueError):
                load_svmlight_file(path, **options)
            with pytest.raises(DataError, match=":1:3: index 0 where indices count from 1"):
                read_svmlight(path, **options)
        else:
            assert_same(read_svmlight(path, **options), load_svmlight_file(path, **options))


@st.composite
def friendly_texts(draw, queries):
    """Text that both readers accept."""
    lines = []
    for _ in range(draw(st.integers(1, 12))):
        entries = draw(st.dictionaries(st.integers(0, 30), st.floats(-1e9, 1e9), max_size=6))
        query = draw(st.lists(st.integers(-INT64_MAX, INT64_MAX), min_size=queries, max_size=1))
        tokens = [draw(st.sampled_from([b"1", b"-1", b"+1", b"2.0", b" 3", b"\t-0.5e1"]))]
        tokens += [b"qid:%d" % number for number in query]
        tokens += [b"%d:%r" % entry for entry in sorted(entries.items())]
        blank = draw(st.sampled_from([b" ", b"\t", b"  ", b" \v", b"\f"]))
        comment = draw(st.sampled_from([b"", b" ", b"# c 1:2", b" #\xff\x00", b"\t"]))
        end = draw(st.sampled_from([b"\n", b"\r\n", b"\n\n", b"\n# c\n", b"\n \t\n"]))
        lines.append(blank.join(tokens) + comment + end)
    return b"".join(lines)


@settings(max_examples=100, deadline=None)
@given(st.data(), st.sampled_from([True, "auto"]), st.booleans())
def test_the_same_as_scikit_learn_on_random_files(tmp_path_factory, data, zero_based, query_id):
    text = data.draw(friendly_texts(query_id)) + b"1 qid:1 1:1"
    path = written(tmp_path_factory.mktemp("random") / "a", text)
    options = {"zero_based": zero_based, "query_id": query_id, "n_features": 40}
    assert_same(read_svmlight(path, **options), load_svmlight_file(io.BytesIO(text), **options))


@pytest.mark.parametrize("text", [b"", b"# c\n\n", b"1\n-1\n"], ids=["empty", "comments", "labels only"])
def test_a_file_without_features_has_the_shape_that_scikit_learn_gives_it(tmp_path, text):
    path = written(tmp_path / "a", text)
    assert_same(read_svmlight(path), load_svmlight_file(path))


@pytest.mark.parametrize("zero_based", [True, False, "auto"])
@pytest.mark.parametrize("last", [b"3 0:5\n", b"3 2:5"], ids=["index 0", "no index 0"])
def test_several_files_share_the_columns_that_scikit_learn_gives_them(tmp_path, last, zero_based):
    texts = [b"1 1:1 2:2\n", b"-1 3:3", b"2 7:7\r\n", last]
    paths = [written(tmp_path / str(number), text) for number, text in enumerate(texts)]
    if b" 0:" in last and zero_based is False:
        with pytest.raises(DataError, match="3:1:3: index 0"):
            read_svmlight(paths, zero_based=zero_based)
    else:
        parts = load_svmlight_files([str(path) for path in paths], zero_based=zero_based)
        together = sparse.vstack(parts[::2], "csr"), np.concatenate(parts[1::2])
        assert_same(read_svmlight(paths, zero_based=zero_based), together)


@pytest.mark.parametrize(("suffix", "compress"), [(".gz", gzip.compress), (".bz2", bz2.compress)])
def test_compressed_files_are_read_as_scikit_learn_reads_them(tmp_path, suffix, compress):
    path = written(tmp_path / f"a{suffix}", compress(SAMPLE))
    assert_same(read_svmlight(path, zero_based="auto"), load_svmlight_file(str(path), zero_based="auto"))
    assert_same(read_svmlight(path), read_svmlight(str(written(tmp_path / "a", SAMPLE))))


def test_what_scikit_learn_promises_of_its_reader(tmp_path):
    path = written(tmp_path / "a", SAMPLE)
    X, y = read_svmlight(path, zero_based=False)
    assert X.shape == (7, 21)
    assert y.tolist() == [1, 2, 3, 4, 1, -2, 2]
    assert [X[0, 1], X[0, 9], X[0, 14], X[1, 4], X[1, 11], X[2, 19], X[3, 20]] == [2.5, -5.2, 1.5, 1, -3, 27, 1]
    assert X[0, 0] == X[5, 3] == 0
    X[0, 1] *= 2
    y[0] = 9
    assert X[0, 1] == 5
    assert X.has_sorted_indices
    for base in (True, False, "auto"):
        theirs = load_svmlight_file(path, n_features=22, zero_based=base)
        assert_same(read_svmlight(str(path), n_features=22, zero_based=base), theirs)
    with pytest.raises(DataError, match="`n_features` is 20, but the data have 22"):
        read_svmlight(path, n_features=20)
    with pytest.raises(TypeError):
        read_svmlight(0.42)
    with pytest.raises(TypeError, match="got an open file"), open(path, "rb") as file:
        read_svmlight(file)
    assert_same(read_svmlight(os.fsencode(path)), read_svmlight(path))
    assert_same(read_svmlight(path, zero_based=np.False_), read_svmlight(path, zero_based=False))
    with pytest.raises(DataError):
        read_svmlight([path, written(tmp_path / "bad", b"x"), path])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"zero_based": "yes"}, "`zero_based` must be True, False or 'auto', got 'yes'"),
        ({"unsorted": "drop"}, "`unsorted` must be"),
        ({"on_bad_line": "ignore"}, "`on_bad_line` must be"),
        ({"max_bad": -1}, "`max_bad` must be"),
        ({"threads": 0}, "`threads` must be"),
        ({"threads": -2}, "`threads` must be None or an integer from 1 to 1024, or -1 for all cores, got -2"),
        ({"threads": 10**6}, "`threads` must be"),
    ],
)
def test_h05_options_out_of_range_are_refused(tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        read_svmlight(written(tmp_path / "a", SAMPLE), **options)


@pytest.mark.parametrize(
    ("share", "threads"), [("", 64), ("3", 3), ("3,2", 3), ("100", 64), *[(odd, None) for odd in ("0", "-1", "many")]]
)
def test_h05_t03_threads_are_no_more_than_the_share_of_this_process(tmp_path, monkeypatch, share, threads):
    """As joblib and Dask tell it to their workers; what is no number is ignored with a warning."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(64), raising=False)
    monkeypatch.setattr(machine, "open", lambda path, mode: io.BytesIO(b"max 100000\n"), raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", share)
    with nullcontext() if threads else pytest.warns(UserWarning, match=f"OMP_NUM_THREADS='{share}' is ignored"):
        assert Reader(tmp_path / "a").threads == (threads or 64)
    with nullcontext() if threads else pytest.warns(UserWarning, match="expected a positive integer"):
        assert Reader(tmp_path / "a", threads=-1).threads == (threads or 64)
    assert Reader(tmp_path / "a", threads=9).threads == 9


@pytest.mark.parametrize(("quota", "threads"), [(b"250000 100000\n", 2), (b"10000 100000\n", 1), (b"", 64)])
def test_t03_threads_are_no_more_than_the_share_of_the_container(tmp_path, monkeypatch, quota, threads):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(64), raising=False)
    monkeypatch.setattr(machine, "open", lambda path, mode: io.BytesIO(quota), raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert Reader(tmp_path / "a").threads == threads


# -- readers -----------------------------------------------------------------------------------------------------------


def random_text(n_rows, seed=0):
    rng = random.Random(seed)
    lines = []
    for _ in range(n_rows):
        entries = [f"{k}:{rng.gauss(0, 1):.{rng.randrange(20)}g}" for k in range(30) if rng.random() < 0.3]
        lines.append(" ".join([f"{rng.choice([1, -1])} qid:{rng.randrange(9)}", *entries]))
        if rng.random() < 0.1:
            lines.append(rng.choice(["", "# comment", "  \t"]))
    return "\n".join(lines).encode()


def everything(reader):
    """Copies of all arrays of a reader, and the line of each row."""
    parts = []
    for batch in reader:
        rows, lines = batch.rows, [batch.line_of(row) for row in range(batch.rows.n_rows)]
        arrays = np.diff(rows.indptr), rows.indices, rows.values, batch.labels, batch.queries, np.array(lines, int)
        parts.append([array.copy() for array in arrays])
    return [np.concatenate(arrays).tolist() for arrays in zip(*parts, strict=True)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_t01_the_same_bits_with_any_number_of_threads(tmp_path, dtype):
    paths = [written(tmp_path / str(seed), random_text(200, seed)) for seed in range(3)]
    expected = everything(Reader(paths, dtype=dtype, queries=True, threads=1))
    for threads, chunk_bytes in itertools.product((1, 2, 3, 8, 64), (100, 1 << 10, 1 << 20)):
        reader = Reader(paths, dtype=dtype, queries=True, threads=threads, chunk_bytes=chunk_bytes)
        assert everything(reader) == expected
        assert everything(reader) == expected
    X, y, queries = read_svmlight(paths, dtype=dtype, query_id=True, zero_based=True, threads=8)
    assert [np.diff(X.indptr).tolist(), X.indices.tolist(), X.data.tolist()] == expected[:3]
    assert [y.tolist(), queries.tolist()] == expected[3:5]


def checksums(reader):
    """The checksum of a text, put together from its batches."""
    beginning = Beginning()
    for batch in reader:
        beginning = beginning.followed_by(batch.n_lines, batch.checksum)
    return beginning


@pytest.mark.parametrize("threads", [1, 3])
def test_x06_the_checksum_of_a_text_does_not_depend_on_the_chunks(tmp_path, threads):
    text = random_text(200)
    path, last = written(tmp_path / "a", text), len(text.split(b"\n"))
    expected = checksums(Reader(path, checksums=True))
    assert expected.lines == last
    for chunk_bytes in (50, 100, 333, 5000):
        assert checksums(Reader(path, threads=threads, chunk_bytes=chunk_bytes, checksums=True)) == expected
    whole = checksum_lines(np.frombuffer(text + b"\n", np.uint8), 0, len(text) + 1)
    assert (expected.lines, whole) == (last, expected.checksum)


def test_x06_checksums_of_the_shortest_lines_differ():
    lines = [b"", *(bytes(line) for size in (1, 2) for line in itertools.product(range(32), repeat=size))]
    lines = [line for line in lines if b"\n" not in line]
    sums = {checksum_lines(np.frombuffer(line + b"\n", np.uint8), 0, len(line) + 1) for line in lines}
    assert len(sums) == len(lines)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.binary(max_size=40).map(lambda line: line.replace(b"\n", b"")), min_size=1), st.data())
def test_x06_a_checksum_tells_of_every_byte_and_of_the_order_of_lines(lines, data):
    def of(lines):
        text = b"".join(line + b"\n" for line in lines)
        return checksum_lines(np.frombuffer(text, np.uint8), 0, len(text))

    cut = data.draw(st.integers(0, len(lines)))
    assert Beginning().followed_by(cut, of(lines[:cut])).followed_by(len(lines) - cut, of(lines[cut:])).checksum == of(
        lines
    )
    number = data.draw(st.integers(0, len(lines) - 1))
    line = lines[number]
    place = data.draw(st.integers(0, len(line)))
    for other in (line[:place] + b"\0" + line[place:], line[:place] + b"\0" + line[place + 1 :], line[:place]):
        assert (of([*lines[:number], other, *lines[number + 1 :]]) == of(lines)) == (other == line)
    assert (of(lines[::-1]) == of(lines)) == (lines[::-1] == lines)


@pytest.mark.parametrize(("start", "stop"), [(-1, 2), (0, 1), (0, 5), (3, 2)])
def test_x06_a_checksum_is_of_whole_lines(start, stop):
    with pytest.raises(ValueError, match="must end with a line"):
        checksum_lines(np.frombuffer(b"1\n2\n", np.uint8), start, stop)


@pytest.mark.parametrize("threads", [1, 3])
def test_x02_without_labels_rows_are_lines(tmp_path, threads):
    """Whatever the chunks, and with lines that are left out."""
    lines = [b"1:1", b"", b"# c", b" \t", b"2:2 # 3", b"x", b"\r", b"7:1e39", b"", b"3:1e30 4:4", b"5", b"9:9"]
    path = written(tmp_path / "a", b"\n".join(lines))
    for chunk_bytes in (16, 20, 31, 1 << 20):
        told = []
        reading = Reading(on_bad_line="skip")
        options = {"labelled": False, "threads": threads, "chunk_bytes": chunk_bytes, "on_skipped": told.append}
        found = everything(Reader(path, reading, **options))
        assert found[5] == [1, 2, 3, 4, 5, 7, 9, 10, 12]
        assert found[0] == [1, 0, 0, 0, 1, 0, 0, 2, 1]
        assert [flaw.line for flaw in told] == [6, 8, 11]


@pytest.mark.parametrize("rows", [1, 7, 100, 399, 400, 401, 10_000])
@pytest.mark.parametrize("zero_based", [True, False])
def test_batches_have_as_many_rows_as_asked_for_and_together_are_the_whole(tmp_path, rows, zero_based):
    text = random_text(400).replace(b" 0:", b" 40:") if not zero_based else random_text(400)
    path = written(tmp_path / "a", text)
    options = {"zero_based": zero_based, "n_features": 50, "unsorted": "sort"}
    batches = list(iter_svmlight(path, rows, **options))
    assert [X.shape for X, _ in batches[:-1]] == [(rows, 50)] * ((400 - 1) // rows)
    assert sum(X.shape[0] for X, _ in batches) == 400
    together = sparse.vstack([X for X, _ in batches], "csr"), np.concatenate([y for _, y in batches])
    assert_same(together, read_svmlight(path, **options))


def test_batches_grow_with_the_largest_index_and_never_guess(tmp_path):
    path = written(tmp_path / "a", b"1 1:1\n-1 3:1\n")
    assert [X.shape[1] for X, _ in iter_svmlight(path, rows=2)] == [4]
    assert list(iter_svmlight(written(tmp_path / "b", b"# c\n"))) == []
    for wrong in ({"zero_based": "auto"}, {"rows": 0}, {"rows": 1.5}):
        with pytest.raises(ValueError, match="must be"):
            iter_svmlight(path, **wrong)
    with pytest.raises(DataError, match=":1:3: index 0"):
        next(iter_svmlight(written(tmp_path / "c", b"1 0:1\n"), zero_based=False))


def test_small_batches_of_a_large_chunk_take_time_in_proportion(tmp_path):
    path = written(tmp_path / "a", b"1 1:1\n" * 340_000)
    start = time.perf_counter()
    assert sum(1 for _ in itertools.islice(iter_svmlight(path, rows=1), 2000)) == 2000
    assert time.perf_counter() - start < 0.8


def test_a_reader_that_is_not_read_to_the_end_leaves_no_thread_and_no_open_file(tmp_path):
    path = written(tmp_path / "a", random_text(3000))
    before = threading.active_count()
    for reader in (Reader(path, threads=4, chunk_bytes=1 << 10), Reader([path, "missing"], threads=4)):
        batches = iter(reader)
        next(batches)
        batches.close()
    assert threading.active_count() == before
    assert not [fd for fd in Path("/proc/self/fd").glob("*") if fd.exists() and fd.samefile(path)]


# -- bad lines that are skipped ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("chunk_bytes", [16, 100, 1 << 20])
@pytest.mark.parametrize("threads", [1, 3])
def test_bad_lines_are_skipped_counted_and_reported(tmp_path, threads, chunk_bytes):
    good = random_text(200).split(b"\n")
    bad = {3: b"x 1:1", 4: b"1 1:nan", 50: b"1 2:1 1:1", 120: b"1 5", 199: b"\xff"}
    lines = [bad.get(number, line) for number, line in enumerate(good, 1)]
    path = written(tmp_path / "a", b"\n".join(lines))
    kept = written(tmp_path / "b", b"\n".join(b"#" if number in bad else line for number, line in enumerate(lines, 1)))
    for _ in range(2):
        told = []
        reading = Reading(on_bad_line="skip")
        reader = Reader(path, reading, queries=True, threads=threads, chunk_bytes=chunk_bytes, on_skipped=told.append)
        assert everything(reader) == everything(Reader(kept, queries=True))
        assert [flaw.line for flaw in told] == sorted(bad)
        assert [str(flaw).split(" (near")[0] for flaw in told] == [
            f"{path}:3:1: label is not a number",
            f"{path}:4:3: value is not finite",
            f"{path}:50:7: index 1 after 2: indices must rise (`unsorted` 'sort' sorts them)",
            f"{path}:120:3: missing ':', expected index:value",
            f"{path}:199:1: label is not a number",
        ]


@pytest.mark.parametrize("chunk_bytes", [16, 100, 1 << 20])
@pytest.mark.parametrize("threads", [1, 8])
def test_the_eleventh_bad_line_is_an_error(tmp_path, threads, chunk_bytes):
    lines = [b"x" if number % 7 == 0 else b"1 1:1" for number in range(1, 101)]
    path = written(tmp_path / "a", b"\n".join(lines))
    reading = Reading(on_bad_line="skip", max_bad=10)
    with pytest.raises(DataError) as caught:
        everything(Reader(path, reading, threads=threads, chunk_bytes=chunk_bytes))
    assert (caught.value.line, caught.value.column) == (77, 1)
    assert str(caught.value) == f"{path}:77:1: label is not a number (near 'x')"
    path.write_bytes(b"\n".join(lines[:76]))
    reader = Reader(path, reading, threads=threads, chunk_bytes=chunk_bytes)
    assert len(everything(reader)[3]) == 66
    assert reader.n_skipped == 10


@pytest.mark.parametrize("chunk_bytes", [16, 100, 1 << 20])
def test_bad_lines_count_in_the_order_of_the_text_whatever_is_wrong_with_them(tmp_path, chunk_bytes):
    """Not first those that cannot be read, and then those whose numbers are too large."""
    path = written(tmp_path / "a", b"1 1:1e39\n" + b"x\n" * 4 + b"1 1:1\n1 1:1e39\n" + b"x\n" * 20)
    told = []
    reading = Reading(on_bad_line="skip", max_bad=5)
    with pytest.raises(DataError, match=r"a:7: the value of index 1 is out of range for float32"):
        list(Reader(path, reading, chunk_bytes=chunk_bytes, on_skipped=told.append))
    assert [flaw.line for flaw in told] == [1, 2, 3, 4, 5]


def test_read_svmlight_warns_of_lines_that_it_skips(tmp_path):
    with pytest.warns(UserWarning, match=r"a:2:1: label is not a number \(near 'x'\)"):
        X, _ = read_svmlight(written(tmp_path / "a", b"1 1:1\nx\n-1 1:2\n"), on_bad_line="skip")
    assert X.shape == (2, 2)


# -- columns -----------------------------------------------------------------------------------------------------------


def test_the_index_in_a_file_is_the_column_unless_another_base_is_asked_for(tmp_path):
    path = written(tmp_path / "a", b"1 1:1 3:3\n-1 2:2\n")
    assert read_svmlight(path)[0].toarray().tolist() == [[0, 1, 0, 3], [0, 0, 2, 0]]
    for base in (False, "auto"):
        assert read_svmlight(path, zero_based=base)[0].toarray().tolist() == [[1, 0, 3], [0, 2, 0]]
    assert [X.indices.tolist() for X, _ in iter_svmlight(path, rows=1)] == [[1, 3], [2]]
    assert [X.indices.tolist() for X, _ in iter_svmlight(path, rows=1, zero_based=False)] == [[0, 2], [1]]


@pytest.mark.parametrize("zero_based", [True, False, "auto"])
@pytest.mark.parametrize("n_features", [1, 7, 20, 21, 22, 30])
def test_larger_indices_can_be_left_out_on_request(tmp_path, n_features, zero_based):
    """What is left is the left part of the whole matrix."""
    path = written(tmp_path / "a", SAMPLE)
    whole, y = read_svmlight(path, zero_based=zero_based, n_features=30)
    options = {"zero_based": zero_based, "n_features": n_features, "on_large_index": "ignore"}
    assert_same(read_svmlight(path, **options), (whole[:, :n_features], y))
    if zero_based != "auto":
        for rows in (1, 3, 100):
            batches = list(iter_svmlight(path, rows, **options))
            assert_same([sparse.vstack([X for X, _ in batches], "csr")], [whole[:, :n_features]])


def test_huge_indices_that_are_left_out_make_no_wide_matrix(tmp_path):
    path = written(tmp_path / "a", b"1 1:1 4:4\n-1 1:2 9223372036854775806:5\n1\n")
    X, _ = read_svmlight(path, n_features=3, on_large_index="ignore")
    assert X.toarray().tolist() == [[0, 1, 0], [0, 2, 0], [0, 0, 0]]
    assert X.indices.dtype == X.indptr.dtype == np.int32
    for read in (read_svmlight, lambda *args, **options: list(iter_svmlight(*args, **options))):
        with pytest.raises(DataError, match="`n_features` is 3, but the data have"):
            read(path, n_features=3)
        with pytest.raises(ValueError, match="`on_large_index` 'ignore' needs `n_features`"):
            read(path, on_large_index="ignore")
        with pytest.raises(ValueError, match="`on_large_index` must be 'error' or 'ignore', got 'drop'"):
            read(path, n_features=3, on_large_index="drop")
