"""CSV and TSV: the fields as Python's csv has them, the ends of records, and what is said of bad ones."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cwlearn.text._records import BAD_RECORD, DONE, STRING, end_of_last_record, end_of_record
from cwlearn.text.csv_errors import csv_column, csv_fields, find_csv_flaw
from cwlearn.text.reader import _read_delimiter
from cwlearn.text.record_errors import RecordFlaw, end_of
from tests.text.record_cases import split_csv

PIECES = st.lists(
    st.sampled_from(['"', '""', ",", ";", "\n", "\r\n", "\r", "\t", "a", "bc", " ", "é", "x" * 17]), max_size=6
)
TEXT = PIECES.map("".join)


def as_array(text: bytes) -> np.ndarray:
    return np.frombuffer(text, np.uint8)


def ends(text: bytes, delimiter: bytes = b",") -> list[int]:
    """Where the records of a text end."""
    places = [0]
    while places[-1] < len(text):
        places.append(end_of_record(as_array(text), places[-1], len(text), ord(delimiter)))
    return places[1:]


@settings(max_examples=400, deadline=None)
@given(
    st.integers(1, 4).flatmap(lambda n: st.lists(st.lists(TEXT, min_size=n, max_size=n), max_size=6)),
    st.sampled_from([",", ";", "\t", "|", " ", "\x00"]),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]),
)
def test_fields_are_those_that_python_wrote(rows, delimiter, line_end, quoting):
    if quoting == csv.QUOTE_MINIMAL:  # for which Python 3.11 does not quote a CR
        rows = [[value.replace("\r", "") for value in row] for row in rows]
    file = io.StringIO(newline="")
    csv.writer(file, delimiter=delimiter, lineterminator=line_end, quoting=quoting).writerows(rows)
    text = file.getvalue().encode()
    n_fields = len(rows[0]) if rows else 1
    columns = list(range(n_fields))[::-1]
    found = split_csv(text, columns, n_fields, delimiter.encode())
    assert found.status == DONE
    assert found.n_lines == text.count(b"\n")
    assert found.fields == [[(STRING, row[k].encode()) for k in columns] for row in rows]
    assert [0, *ends(text, delimiter.encode())][: len(rows)] == found.places
    for place, stop in zip(found.places, ends(text, delimiter.encode()), strict=True):
        assert find_csv_flaw(text[place:stop], n_fields, ord(delimiter)) is None
    only_last = split_csv(text, [n_fields - 1], n_fields, delimiter.encode())
    assert only_last.values(0) == found.values(0)


def by_python(text: bytes) -> list[list[str]] | None:
    """The records that are not empty, or None where text stands behind a closing quote, or a quote does not close."""
    try:
        rows = list(csv.reader(io.StringIO(text.decode(), newline=""), strict=True))
    except csv.Error:
        return None
    return [row for row in rows if row]


@settings(max_examples=1000, deadline=None)
@given(st.lists(st.sampled_from(['"', '""', ",", "\n", "\r\n", "a", "b", " ", "xyz" * 6]), max_size=20).map("".join))
def test_any_text_is_read_as_by_python(body):
    text = body.encode() + b"\n"
    rows = by_python(text)
    n_fields = len(rows[0]) if rows else 2
    found = split_csv(text, list(range(n_fields)), n_fields)
    sound = rows is not None and all(len(row) == n_fields for row in rows)
    assert (found.status == DONE) == sound
    if rows is not None and sound:
        assert [[value.decode() for _, value in record] for record in found.fields] == rows
    else:
        stop = end_of_record(as_array(text), found.place, len(text), ord(","))
        assert find_csv_flaw(text[found.place : stop], n_fields, ord(",")) is not None


@settings(max_examples=500, deadline=None)
@given(
    st.lists(st.sampled_from(['"', '""', ",", "\n", "\r\n", "a", "xyz" * 6]), max_size=30).map("".join),
    st.integers(0, 60),
)
def test_a_text_is_cut_behind_its_last_complete_record(body, cut):
    text = body.encode()[:cut]
    last = end_of_last_record(as_array(text), 0, len(text), ord(","))
    complete = [end for end in ends(text) if text[end - 1 : end] == b"\n"]
    if complete and complete[-1] == len(text) and _is_open(text):
        complete.pop()  # the line end belongs to a field whose quote is open
    assert last == (complete[-1] if complete else 0)


def _is_open(text: bytes) -> bool:
    """Whether the text ends within quotes."""
    places = [0, *ends(text)]
    try:
        csv_fields(text[places[-2] :], ord(","))
    except RecordFlaw as flaw:
        return "closing quote for" in str(flaw)
    return False


@pytest.mark.parametrize("chunk_bytes", [20, 33, 64, 1000])
def test_chunks_that_are_cut_so_have_all_records(chunk_bytes):
    rows = [[f"label{k}", 'many "words",\r\n' * (k % 4)] for k in range(50)]
    file = io.StringIO(newline="")
    csv.writer(file).writerows(rows)
    text = file.getvalue().encode()
    found, start, size = [], 0, chunk_bytes
    while start < len(text):
        stop = end_of_last_record(as_array(text), start, min(start + size, len(text)), ord(","))
        if stop == start:
            size *= 2
            continue
        found += split_csv(text[start:stop], [0, 1], 2).fields
        start, size = stop, chunk_bytes
    assert [[value.decode() for _, value in record] for record in found] == rows


@pytest.mark.parametrize("size", [*range(40), 5000])
def test_fields_of_any_length(size):
    text = bytes(97 + k % 26 for k in range(size))
    found = split_csv(b'%b,"%b""%b\n",x\r\n%b,%b,\n' % ((text,) * 5), [0, 1, 2], 3)
    assert found.fields == [
        [(STRING, text), (STRING, text + b'"' + text + b"\n"), (STRING, b"x")],
        [(STRING, text), (STRING, text), (STRING, b"")],
    ]
    assert found.n_lines == 3


BAD = [
    (b"a,b,c\n", "expected 4 fields as in the header, found 3", 0, 6),
    (b"a\r\n", "expected 4 fields as in the header, found 1", 0, 2),
    (b"a,b,c,d,e,f\n", "expected 4 fields as in the header, found 6", 0, 9),
    (b'a,"b\n', "expected a closing quote for this one, found none", 0, 3),
    (b'a,"b\n",c,"d""\n', "expected a closing quote for this one, found none", 1, 5),
    (b'a,"b"c,d\n', "expected ',' or a line end behind a closing quote, found 'c'", 0, 6),
    (b'a,"b\n\n" ,d\n', "expected ',' or a line end behind a closing quote, found ' '", 2, 2),
    (b'a,"b"\xc3,d\n', "expected ',' or a line end behind a closing quote, found byte 0xc3", 0, 6),
    (b"a,b\ra,b\r", "CR line ends: lines must end with LF or CR LF", 0, 4),
]


@pytest.mark.parametrize(("record", "what", "line", "column"), BAD)
def test_a_bad_record_is_explained(record, what, line, column):
    text = b"1,2,3,4\n" + (record if record.endswith(b"\n") else record + b"\n")
    found = split_csv(text, [0], 4)
    assert (found.status, found.place, found.n_lines) == (BAD_RECORD, 8, 1)
    flaw = find_csv_flaw(record, 4, ord(","))
    assert (str(flaw), flaw.line, flaw.column) == (what, line, column)


def test_an_unclosed_quote_takes_the_rest_of_the_text():
    text = b'a,"b\nc,d\n'
    assert end_of_record(as_array(text), 0, len(text), ord(",")) == len(text)
    assert end_of_last_record(as_array(text), 0, len(text), ord(",")) == 0


def test_a_long_line_of_quoted_fields_takes_time_in_proportion():
    text = b'"a",' * 1_000_000 + b'"a"\n'  # twice as many searches for the line end would take minutes
    assert end_of_record(as_array(text), 0, len(text), ord(",")) == len(text)
    assert end_of_last_record(as_array(text), 0, len(text), ord(",")) == len(text)


def test_a_column_is_found_by_name():
    header = [name.decode() for name in csv_fields(b'id,"the ""text""",label\r\n', ord(","))]
    assert header == ["id", 'the "text"', "label"]
    assert csv_column(header, "label") == 2
    with pytest.raises(RecordFlaw, match=r"expected a field 'lable' in the header, .*; did you mean 'label'\?"):
        csv_column(header, "lable")
    with pytest.raises(RecordFlaw, match="expected one field 'a' in the header, found 2"):
        csv_column(["a", "b", "a"], "a")


@pytest.mark.parametrize(
    ("columns", "n_fields", "delimiter"),
    [
        ([2], 2, b","),
        ([-1], 2, b","),
        ([0, 0], 2, b","),
        ([], 0, b","),
        ([0], 2, b'"'),
        ([0], 2, b"\n"),
        ([0], 2, b"\r"),
    ],
)
def test_arguments_are_checked(columns, n_fields, delimiter):
    with pytest.raises(ValueError, match=r"delimiter|columns|field"):
        split_csv(b"a,b\n", columns, n_fields, delimiter)


def test_the_end_of_a_record_is_named_with_either_line_end():
    for text, end in ((b"", 0), (b"\n", 0), (b"\r\n", 0), (b"a\r\n", 1), (b"a\r", 1), (b"a", 1), (b"\ra\n", 2)):
        assert end_of(text) == end


@pytest.mark.parametrize(("text", "delimiter"), [("\\t", "\t"), ("tab", "\t"), ("\t", "\t"), (";", ";")])
def test_a_tab_may_be_given_by_its_name(text, delimiter):
    assert _read_delimiter(text) == delimiter


class Copied(bytes):
    """A record that counts the bytes that are copied out of it."""

    total = 0

    def __getitem__(self, key):
        part = super().__getitem__(key)
        Copied.total += len(part) if isinstance(part, bytes) else 1
        return part


@pytest.mark.parametrize("part", [b",", b"a,", b'"a",', b'"a""b",', b"\t"])
@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n", b"\r"])
def test_x08_no_byte_of_a_long_record_is_copied_more_than_a_few_times(part, end):
    """Instructions are counted by `tests.proof.costs`."""
    for find in (lambda record: find_csv_flaw(record, 2, ord(",")), lambda record: csv_fields(record, ord(","))):
        record, Copied.total = Copied(part * 2000 + end), 0
        find(record)
        assert Copied.total < 5 * len(record)
