"""Inputs of the fuzzer as records of documents: what a fast splitter says of them is what a slow explainer says."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np

from cwlearn.text import json_errors, svmlight_errors
from cwlearn.text._fields import add_fields, columns_of
from cwlearn.text._records import BAD_RECORD, DONE, MISSING, NUMBER, STRING, end_of_last_record, end_of_record
from cwlearn.text._vw import name_vw, split_vw
from cwlearn.text.csv_errors import csv_fields, find_csv_flaw
from cwlearn.text.formats import FORMATS, choose, detect, wrong_format_hint
from cwlearn.text.json_errors import find_json_flaw, json_field_flaw
from cwlearn.text.record_errors import RecordFlaw, find_fasttext_flaw, find_label_flaw, find_tabbed_flaw, find_utf8_flaw
from cwlearn.text.vw_errors import find_vw_flaw
from tests.text.record_cases import (
    PADDING,
    Records,
    padded,
    split_csv,
    split_fasttext,
    split_json,
    split_plain,
    split_tabbed,
)

JSON_FIELDS = ("a", "b.c", "text")


def json_records(data: bytes) -> None:
    """Lines of JSON: the same records as by the slow reader, the same fields as by Python."""
    text = data + b"\n"
    found = split_json(text, *JSON_FIELDS)
    for line in _lines_of(text, found, b" \t\r"):
        assert find_json_flaw(line, JSON_FIELDS) is None, line
    if found.status == BAD_RECORD:
        line = text[found.place :].split(b"\n", 1)[0]
        _check_flaw(find_json_flaw(line + b"\n", JSON_FIELDS), line)
    for place, fields in zip(found.places, found.fields, strict=True):
        line = text[place:].split(b"\n", 1)[0]
        for name in JSON_FIELDS:
            json_field_flaw(line, name)
        if find_utf8_flaw(line) is None:
            value = json.loads(line, parse_int=str, parse_float=str).get("text")
            if isinstance(value, str):
                assert fields[2][1] == value.encode(), line


def csv_records(data: bytes) -> None:
    """CSV: the same records as by the slow reader; a cut finds the same ends as a walk from record to record."""
    delimiter, n_fields = (
        b",\t;|"[data[0] % 4 : data[0] % 4 + 1] if data else b",",
        1 + (data[0] // 4 % 4 if data else 0),
    )
    text = data[1:] + b"\n"
    array = np.frombuffer(text, np.uint8)
    found = split_csv(text, list(range(n_fields)), n_fields, delimiter)
    place = 0
    expected = []
    while place < found.place:
        stop = end_of_record(array, place, len(text), delimiter[0])
        if text[place:stop].strip(b"\r\n") or text[place:stop] not in (b"\n", b"\r\n"):
            expected.append([(STRING, value) for value in csv_fields(text[place:stop], delimiter[0])])
        place = stop
    assert (place, expected) == (found.place, found.fields)
    if found.status == BAD_RECORD:
        stop = end_of_record(array, place, len(text), delimiter[0])
        _check_flaw(find_csv_flaw(text[place:stop], n_fields, delimiter[0]), text[place:stop])
    cut = end_of_last_record(array, 0, len(text), delimiter[0])
    assert cut >= found.place
    assert cut == 0 or text[cut - 1 : cut] == b"\n"


def line_records(data: bytes) -> None:
    """fastText lines, label<TAB>text and plain lines."""
    text = data + b"\n"
    plain = split_plain(text)
    assert plain.values(1) == [line.removesuffix(b"\r") for line in text.split(b"\n")[:-1]]
    labelled = split_fasttext(text, b"_l")
    assert labelled.status == plain.status == DONE
    for place, count, fields in zip(labelled.places, labelled.counts, labelled.fields, strict=True):
        line = text[place:].split(b"\n", 1)[0]
        assert (find_fasttext_flaw(line, b"_l") is None) == (count == 1)
        assert len(fields[1][1]) + 2 * count <= len(line)
        find_label_flaw(line, fields[0][1])
    tabbed = split_tabbed(text)
    for line in _lines_of(text, tabbed, b" \t\v\f\r"):
        assert find_tabbed_flaw(line) is None
    if tabbed.status == BAD_RECORD:
        _check_flaw(find_tabbed_flaw(text[tabbed.place :].split(b"\n", 1)[0]), text)


def vw_records(data: bytes) -> None:
    """Vowpal Wabbit lines: sound rows, and the same ones as by the slow reader."""
    n_features = 1 + (data[0] if data else 0) ** 4 // 2
    text = data[1:] + b"\n"
    room, size = text.count(b"\n"), len(text) // 2 + 1
    indptr, places = np.zeros(room + 1, np.int64), np.empty(room, np.int64)
    indices, values = np.empty(size, np.int32), np.empty(size, np.float32)
    starts, stops, kinds = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.uint8)
    squares, importances = np.empty(room), np.empty(room)
    status, n, lines, place = split_vw(
        *(indptr, indices, values, squares, places, starts, stops, kinds, importances),
        *(padded(text), PADDING, PADDING + len(text), 0, n_features),
    )
    assert status in (DONE, BAD_RECORD)
    assert lines == text[: place - PADDING].count(b"\n")
    assert all(map(math.isfinite, importances[:n].tolist()))
    bounds = indptr[: n + 1].tolist()
    for start, stop in itertools.pairwise(bounds):
        row = indices[start:stop].tolist()
        assert row == sorted(set(row))
        assert not row or 0 <= row[0] <= row[-1] < n_features
    for at in places[:n].tolist():
        assert find_vw_flaw(text[at - PADDING :].split(b"\n", 1)[0], labelled=False) is None
    if status == BAD_RECORD:
        line = text[place - PADDING :].split(b"\n", 1)[0]
        _check_flaw(find_vw_flaw(line, labelled=False), line)
    if n_features < 1 << 16:
        names: dict[int, dict[str, int]] = {}
        every = np.full((n_features + 7) // 8, 255, np.uint8)
        name_vw(padded(text), PADDING, PADDING + len(text), n_features, every, names)
        assert {*indices[: bounds[-1]].tolist()} <= {*names} <= {*range(n_features)}
        assert all(count > 0 for counts in names.values() for count in counts.values())


def field_features(data: bytes) -> None:
    """Further fields as features: the same rows as by dictionaries, from cells of JSON and of CSV."""
    choice = data[0] if data else 0
    names = [b"a", b"b", b"price"][: 1 + choice % 3]
    decimals, beside, n_features = choice & 4 > 0, choice & 8 > 0, 3 + choice // 16 * 37
    pattern = svmlight_errors.DECIMAL if decimals else json_errors.DECIMAL
    cells = data[1:].split(b"\n")
    n_rows = len(cells) // len(names)
    bounds = np.cumsum([0, *map(len, cells)])
    shape = len(names), n_rows
    starts, stops = (bounds[at : at + n_rows * len(names)].reshape(shape, order="F").copy() for at in (0, 1))
    kinds, expected = np.full(shape, STRING, np.uint8), []
    for row in range(n_rows):
        entries = {column: [0.5, 0.0] for column in range(row % 3)}
        for field, name in enumerate(names):
            cell = cells[row * len(names) + field]
            is_number = pattern.fullmatch(cell) is not None
            if not decimals:
                kinds[field, row] = NUMBER if is_number else STRING if cell else MISSING
            value = float(cell) if is_number else 1.0 if cell else 0.0
            value = abs(value) if math.isinf(value) else value  # the sign of what is out of range does not matter
            if value:
                (column,) = columns_of([name if is_number else name + b"=" + cell], n_features)
                entries.setdefault(column, [0.0, 0.0])[1] += value
        expected.append(sorted((column, *values) for column, values in entries.items()))
    indptr = np.cumsum([0, *(row % 3 for row in range(n_rows))])
    indices = np.array([column for row in range(n_rows) for column in range(row % 3)], np.int32)
    room = len(indices) + n_rows * len(names) + 1
    new_indptr, new_indices, values = np.empty(n_rows + 1, np.int64), np.empty(room, np.int32), np.empty(room)
    extras, squares = np.empty(room if beside else 0), np.empty(n_rows)
    nnz = add_fields(
        *(new_indptr, new_indices, values, extras, squares, indptr, indices, np.full(len(indices), 0.5)),
        *(np.frombuffer(b"".join(cells) + b" ", np.uint8), starts, stops, kinds, names, decimals, n_features),
    )
    assert nnz == new_indptr[-1] == sum(map(len, expected))
    sums = values[:nnz] + extras[:nnz] if beside else values[:nnz]
    of_rows = [(column, value + extra) for row in expected for column, value, extra in row]
    assert new_indptr.tolist() == [0, *itertools.accumulate(map(len, expected))]
    assert new_indices[:nnz].tolist() == [column for column, _ in of_rows]
    np.testing.assert_array_equal(sums, [value for _, value in of_rows])


def formats(data: bytes) -> None:
    """Any bytes have a format, or none, and a hint."""
    assert detect(data) in (*FORMATS, None)
    for path in ("a", "a.txt"):
        assert choose(path, data) in FORMATS
    for name in FORMATS:
        wrong_format_hint(data, name)


def _lines_of(text: bytes, found: Records, blanks: bytes) -> list[bytes]:
    """The lines that a splitter has read, each a record unless it is blank."""
    lines = [line for line in text[: found.place].split(b"\n")[:-1] if line.strip(blanks)]
    assert len(lines) == len(found.fields)
    assert found.n_lines == text[: found.place].count(b"\n")
    return lines


def _check_flaw(flaw: RecordFlaw | None, record: bytes) -> None:
    assert flaw is not None, record
    assert 1 <= flaw.column <= len(record) + 1
    assert 0 <= flaw.line <= record.count(b"\n")
