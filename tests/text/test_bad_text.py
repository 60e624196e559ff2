"""Bad and odd text and files: the expected result or error of each, with its place.

The names L01 ... and F01 ... are the rows of docs/odd_inputs.md that a test checks.
"""

from __future__ import annotations

import bz2
import gzip
import itertools
import lzma
import os
import re
import shutil
import struct
import subprocess
import sys
import threading
import time
import tracemalloc
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cwlearn import AROWClassifier, DataError, iter_svmlight, read_svmlight, train
from cwlearn.cli.main import main
from cwlearn.text._svmlight import DONE
from cwlearn.text.chunks import CHUNK_BYTES, Chunk, ChunkReader
from cwlearn.text.reader import Reader, Reading
from cwlearn.text.svmlight_errors import Grammar, find_flaw
from tests.text.test_svmlight import everything, parse, written

try:
    from compression import zstd
except ImportError:
    from backports import zstd

COMPRESS = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress, ".zst": zstd.compress}
BIG = "9" * 50

GOOD = {  # line: label, entries
    "L01-plain": (b"+1 1:0.5 3:2", 1, {1: 0.5, 3: 2}),
    "L02-1e0": (b"1e0 1:1", 1, {1: 1}),
    "L02-1.0": (b"1.0 1:1", 1, {1: 1}),
    "L03-forms": (b"1 1:1e-3 2:.5 3:5. 4:+3 5:-0", 1, {1: 0.001, 2: 0.5, 3: 5, 4: 3, 5: -0.0}),
    "L04-300-digits": (b"1 1:0." + b"1" * 300, 1, {1: float("0." + "1" * 300)}),
    "L05-1e-400": (b"1 1:1e-400", 1, {1: 0}),
    "L24-plus": (b"1 +1:1", 1, {1: 1}),
    "L24-zero": (b"1 01:1", 1, {1: 1}),
    "L26-index-0": (b"1 0:1 2:1", 1, {0: 1, 2: 1}),
    "L28-2^31-1": (b"1 2147483647:1", 1, {2**31 - 1: 1}),
    "L29-2^31": (b"1 2147483648:1", 1, {2**31: 1}),
    "L30-2^32+1": (b"1 4294967297:1", 1, {2**32 + 1: 1}),
    "L31-2^63-2": (b"1 9223372036854775806:1", 1, {2**63 - 2: 1}),
    "L36-explicit-zero": (b"1 1:0 2:1", 1, {1: 0, 2: 1}),
    "L36-explicit-zero-last": (b"1 1:1 2:0", 1, {1: 1, 2: 0}),
    "L37-label": (b"1", 1, {}),
    "L37-label-blank": (b"1 ", 1, {}),
    "L38-qid": (b"1 qid:3 1:1", 1, {1: 1}),
    "L39-qid-min": (b"1 qid:-9223372036854775807 1:1", 1, {1: 1}),
    "L39-qid-max": (b"1 qid:9223372036854775807 1:1", 1, {1: 1}),
    "L43-comment": (b"1 1:1 # note", 1, {1: 1}),
    "L43-comment-at-once": (b"1 1:1#note", 1, {1: 1}),
    "L43-comment-like-data": (b"1 1:1 # a:b 3:4", 1, {1: 1}),
    "L43-comment-like-an-entry": (b"1 1:1#3:4", 1, {1: 1}),
    "L43-after-label": (b"1#3:4", 1, {}),
    "L43-after-exponent": (b"1 1:1e0#3:4 5:6", 1, {1: 1}),
    "L44-bytes-in-comment": (b"1 1:1 #\xff\x00\xc3", 1, {1: 1}),
    "L46-leading-blanks": (b"  \t1 1:1", 1, {1: 1}),
    "L46-trailing-blanks": (b"1 1:1 \t ", 1, {1: 1}),
    "L46-tabs": (b"1\t1:1\t2:2\t\t12:3", 1, {1: 1, 2: 2, 12: 3}),
    "L47-vertical-tab": (b"1\v1:1\v2:2", 1, {1: 1, 2: 2}),
    "L47-form-feed": (b"1\f1:1.5\f2:2", 1, {1: 1.5, 2: 2}),
}
SKIPPED = {
    "L42-comment": b"# whole line",
    "L42-comment-like-data": b"  #1 1:1",
    "L44-bytes-in-comment": b"#\xff\x00\xc3",
    "L45-blank": b"",
    "L45-blanks": b" \t \v\f",
    "L48-CRLF": b"\r",
    "L48-blanks-CRLF": b" \t\r",
}
BAD = {  # line: column, token, what is wrong
    "L06-1e400": (b"1 1:1e400", 3, "1:1e400", "value out of range"),
    "L06--1e400": (b"1 1:-1e400", 3, "1:-1e400", "value out of range"),
    "L07-huge-exponent": (b"1 1:4e492493924924", 3, "1:4e492493924924", "value out of range"),
    "L07-huger-exponent": (b"1 1:1e" + BIG.encode(), 3, "1:1e" + BIG, "value out of range"),
    "L08-nan": (b"1 1:nan", 3, "1:nan", "value is not finite"),
    "L09-inf": (b"1 1:inf", 3, "1:inf", "value is not finite"),
    "L09--inf": (b"1 1:-inf", 3, "1:-inf", "value is not finite"),
    "L09-Infinity": (b"1 1:Infinity", 3, "1:Infinity", "value is not finite"),
    "L10-nan(abc)": (b"1 1:nan(abc)", 3, "1:nan(abc)", "value is not finite"),
    "L11-hex": (b"1 1:0x1p3", 3, "1:0x1p3", "not a decimal number"),
    "L11-hex-label": (b"0x10 1:1", 1, "0x10", "label is not a number"),
    "L12-underscore": (b"1 1:1_000", 3, "1:1_000", "not a decimal number"),
    "L12-underscore-label": (b"1_0 1:1", 1, "1_0", "label is not a number"),
    "L12-underscore-index": (b"1 1_0:1", 3, "1_0:1", "index is not an integer"),
    "L13-decimal-comma": (b"1 1:1,5", 3, "1:1,5", "not a decimal number"),
    "L14-two-points": (b"1 1:1.2.3", 3, "1:1.2.3", "not a decimal number"),
    "L14-d": (b"1 1:1d5", 3, "1:1d5", "not a decimal number"),
    "L14-abc": (b"1 1:abc", 3, "1:abc", "not a decimal number"),
    "L14-sign": (b"1 1:-", 3, "1:-", "not a decimal number"),
    "L14-point": (b"1 1:.", 3, "1:.", "not a decimal number"),
    "L14-e": (b"1 1:1e 2:1", 3, "1:1e", "not a decimal number"),
    "L14-e+": (b"1 1:1e+", 3, "1:1e+", "not a decimal number"),
    "L14-signs": (b"1 1:+-1", 3, "1:+-1", "not a decimal number"),
    "L15-no-value": (b"1 1:", 3, "1:", "missing value"),
    "L16-no-value-before-another": (b"1 1: 2:3", 3, "1:", "missing value"),
    "L17-blank-after-colon": (b"1 1: 2", 3, "1:", "missing value"),
    "L18-blank-before-colon": (b"1 1 :2", 3, "1", "missing ':'"),
    "L19-no-colon": (b"1 5", 3, "5", "missing ':'"),
    "L20-no-colon-in-the-middle": (b"1 1:1 5 6:1", 7, "5", "missing ':'"),
    "L21-two-colons": (b"1 1::2", 3, "1::2", "not a decimal number"),
    "L21-three-numbers": (b"1 1:2:3", 3, "1:2:3", "not a decimal number"),
    "L22-no-index": (b"1 :2", 3, ":2", "missing index"),
    "L23-abc": (b"1 abc:1", 3, "abc:1", "index is not an integer"),
    "L23-1.0": (b"1 1.0:1", 3, "1.0:1", "index is not an integer"),
    "L23-1e3": (b"1 1e3:1", 3, "1e3:1", "index is not an integer"),
    "L25-negative": (b"1 -1:1", 3, "-1:1", "negative index"),
    "L25--0": (b"1 -0:1", 3, "-0:1", "negative index"),
    "L31-2^63-1": (b"1 9223372036854775807:1", 3, "9223372036854775807:1", "index too large"),
    "L32-2^63": (b"1 9223372036854775808:1", 3, "9223372036854775808:1", "index too large"),
    "L32-2^64+1": (b"1 18446744073709551617:1", 3, "18446744073709551617:1", "index too large"),
    "L32-50-digits": (b"1 2:1 %b:1" % BIG.encode(), 7, BIG + ":1", "index too large"),
    "L34-unsorted": (b"1 3:1 1:1", 7, "1:1", "index 1 after 3: indices must rise"),
    "L35-duplicate": (b"1 2:1 2:5", 7, "2:5", "index 2 occurs twice"),
    "L40-qid-abc": (b"1 qid:abc 1:1", 3, "qid:abc", "qid is not an integer"),
    "L40-qid-1.0": (b"1 qid:1.0 1:1", 3, "qid:1.0", "qid is not an integer"),
    "L40-qid-empty": (b"1 qid: 1:1", 3, "qid:", "qid is not an integer"),
    "L40-qid-2^63": (b"1 qid:9223372036854775808", 3, "qid:9223372036854775808", "qid is not an integer of 64 bits"),
    "L40-qid-alone": (b"1 qid 1:1", 3, "qid", "must come right after the label"),
    "L41-qid-last": (b"1 1:1 qid:3", 7, "qid:3", "must come right after the label"),
    "L41-qid-twice": (b"1 qid:3 qid:3", 9, "qid:3", "must come right after the label"),
    "L41-QID": (b"1 QID:3 1:1", 3, "QID:3", "index is not an integer"),
    "L41-sid": (b"1 sid:3 1:1", 3, "sid:3", "index is not an integer"),
    "L53-NUL": (b"1 1:1\0 2:2", 3, "1:1\0", "not a decimal number"),
    "L53-NUL-between": (b"1 1:1 \0 2:2", 7, "\0", "missing ':'"),
    "L54-NUL-first": (b"\0 1 1:1", 1, "\0", "NUL byte"),
    "L55-NBSP": (b"1 1:1\xc2\xa02:2", 3, "1:1\xc2\xa02:2", "not a decimal number"),
    "L55-arabic-digits": ("1 1:٣".encode(), 3, "1:\xd9\xa3", "not a decimal number"),
    "L55-arabic-index": ("1 ٣:1".encode(), 3, "\xd9\xa3:1", "index is not an integer"),
    "L55-BOM-within": (b" \xef\xbb\xbf1 1:1", 2, "\xef\xbb\xbf1", "label is not a number"),
    "L56-name": (b"spam 1:1", 1, "spam", "label is not a number"),
    "L57-nan": (b"nan 1:1", 1, "nan", "label is not finite"),
    "L57-inf": (b"inf 1:1", 1, "inf", "label is not finite"),
    "L57--inf": (b"-inf 1:1", 1, "-inf", "label is not finite"),
    "L57-1e400": (b"1e400 1:1", 1, "1e400", "label out of range"),
    "L59-multilabel": (b"1,2 1:1", 1, "1,2", "several labels: `multilabel`"),
    "L60-no-label": (b"1:1 2:2", 1, "1:1", "missing label"),
    "L61-weight": (b"1:0.5 1:1", 1, "1:0.5", "label:weight is not supported"),
    "column-of-bytes": ("\t 1  1:1  2:ü 3".encode(), 11, "2:\xc3\xbc", "not a decimal number"),
    "control-characters": (b"1 1:\x1b[31m", 3, "1:\x1b[31m", "not a decimal number"),
    "long-token": (b"1 1:" + b"x" * 100, 3, "1:" + "x" * 100, "not a decimal number"),
}
CUT = {  # at the end of a file
    "L51-no-colon": (b"-1 1:1 2", 8, "2", "missing ':'"),
    "L52-no-value": (b"-1 1:1 2:", 8, "2:", "missing value"),
    "cut-exponent": (b"-1 1:1e", 4, "1:1e", "not a decimal number"),
    "cut-label": (b"-", 1, "-", "label is not a number"),
}


def message_of(path, line, column, token, what):
    near = ascii(token[:40]) + ("..." if len(token) > 40 else "")
    return re.escape(f"{path}:{line}:{column}: ") + f".*{re.escape(what)}.*" + re.escape(f" (near {near})")


def check_error(error, path, line, column, token, what):
    assert re.fullmatch(message_of(path, line, column, token, what), str(error))
    assert str(error).isprintable()
    assert isinstance(error, ValueError)
    assert (error.path, error.line, error.column) == (str(path), line, column)


BEFORE = {
    "first": b"",
    "after comments": b"\xef\xbb\xbf# a comment\r\n\n \t\n#\n-1 1:1\r\n# x\n",
    "line 1042": b"-1 1:1 2:0.5 # good\n" * 1000 + b"\n# c\n \r\n" * 13 + b"1\n1\n",
}


@pytest.mark.parametrize(
    ("name", "before"),
    [case for case in itertools.product(BAD, BEFORE) if case != ("L56-name", "first")],  # labels are texts there
)
def test_a_bad_line_is_refused_with_its_place(tmp_path, name, before):
    line, *expected = BAD[name]
    for end in (b"\n", b"\r\n", b"", b" # c\n", b"\n1 1:1\nx\n"):
        path = written(tmp_path / "a", BEFORE[before] + line + end)
        number = BEFORE[before].count(b"\n") + 1
        with pytest.raises(DataError) as caught:
            read_svmlight(path)
        check_error(caught.value, path, number, *expected)
    assert before != "line 1042" or number == 1042


def test_l56_labels_are_texts_if_the_first_one_is_a_word(tmp_path):
    path = written(tmp_path / "a", b"# c\nspam 1:1\n-1 2:1\nh\xc3\xa4m 1:2 # c\nspam\n")
    X, y = read_svmlight(path)
    assert y.tolist() == ["spam", "-1", "häm", "spam"]
    assert X.toarray().tolist() == [[0, 1, 0], [0, 0, 1], [0, 2, 0], [0, 0, 0]]
    assert [part.tolist() for _, part in iter_svmlight(path, rows=3, n_features=3)] == [["spam", "-1", "häm"], ["spam"]]
    model = train(path, AROWClassifier(random_state=0))
    assert model.classes_.tolist() == ["-1", "häm", "spam"]
    for line, column, what in (
        (b"a,b 1:1", 1, "label has a control character or a comma"),
        (b"\xff 1:1", 1, "label is not UTF-8"),
        (b"a" * 1025, 1, "label longer than 1024 bytes"),
        (b"spam 1:x", 6, "not a decimal number"),
        (b"1:1 2:1", 1, "missing label"),
    ):
        assert_refused(
            written(tmp_path / "b", b"ham 1:1\n" + line + b"\n"), f":2:{column}: .*{re.escape(what)}", line=2
        )


@pytest.mark.parametrize("name", CUT)
def test_a_cut_last_line_is_refused(tmp_path, name):
    line, *expected = CUT[name]
    path = written(tmp_path / "a", b"1 1:1\n# c\n" + line)
    with pytest.raises(DataError) as caught:
        read_svmlight(path)
    check_error(caught.value, path, 3, *expected)


@pytest.mark.parametrize("name", GOOD)
def test_an_odd_line_is_accepted(tmp_path, name):
    line, label, entries = GOOD[name]
    for before, end in itertools.product((b"", b"7 3:3\n# c\n"), (b"\n", b"\r\n", b"", b"\n7 3:3\n")):
        path = written(tmp_path / "a", before + line + end)
        X, y = read_svmlight(path, zero_based=True)
        row = int(bool(before))
        start, stop = X.indptr[row : row + 2]
        assert y[row] == label
        assert X.indices[start:stop].tolist() == list(entries)
        assert X.data[start:stop].tobytes() == np.array(list(entries.values()), float).tobytes()
        assert X.shape[0] == 1 + row + end.count(b"7")
        assert not entries or X.shape[1] == max([*entries, 3 * (b"7" in before + end)]) + 1


@pytest.mark.parametrize("name", SKIPPED)
def test_a_line_without_data_is_skipped_and_counted(tmp_path, name):
    path = written(tmp_path / "a", 3 * (SKIPPED[name] + b"\n") + b"1 1:1\n" + SKIPPED[name] + b"\n-1 2:1")
    assert read_svmlight(path)[1].tolist() == [1, -1]
    path.write_bytes(3 * (SKIPPED[name] + b"\n") + b"1 x\n")
    with pytest.raises(DataError, match=":4:3: "):
        read_svmlight(path)


def test_l38_l39_queries_are_exact(tmp_path):
    path = written(tmp_path / "a", b"1 qid:9223372036854775807 1:1\n1 qid:-9223372036854775807\n1 1:1\n1 qid:+03#\n")
    assert read_svmlight(path, query_id=True)[2].tolist() == [2**63 - 1, 1 - 2**63, 0, 3]


def test_l13_a_locale_with_a_decimal_comma_changes_nothing(tmp_path):
    """Also where many digits make the parser ask the C library."""
    make = ["localedef", "-i", "de_DE", "-f", "UTF-8", str(tmp_path / "de_DE.UTF-8")]
    if shutil.which("localedef") is None or subprocess.run(make, capture_output=True).returncode != 0:
        pytest.skip("no such locale can be made here")
    digits = "0." + "1" * 30
    code = (
        "import locale, cwlearn\n"
        "locale.setlocale(locale.LC_ALL, '')\n"
        "assert locale.localeconv()['decimal_point'] == ','\n"
        f"print(cwlearn.read_svmlight({str(written(tmp_path / 'a', b'1 1:1.5 2:' + digits.encode()))!r})[0].data)\n"
        f"try: cwlearn.read_svmlight({str(written(tmp_path / 'b', b'1 1:1,5'))!r})\n"
        "except cwlearn.DataError as error: print(error.column)"
    )
    environment = {**os.environ, "LOCPATH": str(tmp_path), "LC_ALL": "de_DE.UTF-8"}
    assert python(code, env=environment).stdout == f"{np.array([1.5, float(digits)])}\n3\n".encode()


def test_l26_the_base_of_indices_can_be_stated(tmp_path):
    path = written(tmp_path / "a", b"1 1:1\n1 0:1 2:1\n")
    for base in (True, "auto"):
        assert read_svmlight(path, zero_based=base)[0].indices.tolist() == [1, 0, 2]
    with pytest.raises(DataError) as caught:
        read_svmlight(path, zero_based=False)
    check_error(caught.value, path, 2, 3, "0:1", "index 0 where indices count from 1 (`zero_based` is False)")
    with pytest.raises(DataError, match=re.escape(str(caught.value))):
        next(iter_svmlight(path, zero_based=False))


def test_l27_two_files_have_the_same_columns(tmp_path):
    """Guessed over both, or not at all."""
    a, b = written(tmp_path / "a", b"1 0:1 3:1\n"), written(tmp_path / "b", b"-1 1:1\n")
    assert read_svmlight([a, b])[0].indices.tolist() == [0, 3, 1]
    assert read_svmlight([b, a])[0].indices.tolist() == [1, 0, 3]
    assert [X.indices.tolist() for X, _ in iter_svmlight([b, a], rows=1)] == [[1], [0, 3]]
    model = train([a, b], AROWClassifier(random_state=0))
    assert model.coef_[0, 3] > 0 > model.coef_[0, 1]


def test_l28_l29_l30_l31_an_index_that_needs_too_much_memory_is_refused_before_it_is_taken(tmp_path):
    """Where the weights are dense."""
    for index in (2**31 - 1, 2**31, 2**32 + 1, 2**63 - 2):
        path = written(tmp_path / "a", b"1 1:1\n-1 1:1 %d:1\n" % index)
        with pytest.raises(DataError, match=rf"a:2: index {index} needs [0-9,]+ bytes"):
            train(path, AROWClassifier(), memory=1 << 20)
        assert train(path, AROWClassifier(), hash_bits=10).n_features_in_ == 1024


def test_l34_l35_unsorted_lines_can_be_sorted(tmp_path):
    path = written(tmp_path / "a", b"1 3:3 1:1 20:20 2:2\n-1 1:1\n")
    X, _ = read_svmlight(path, unsorted="sort", zero_based=True)
    assert X.indices.tolist() == [1, 2, 3, 20, 1]
    assert X.data.tolist() == [1, 2, 3, 20, 1]
    path.write_bytes(b"1 3:3 1:1 3:4\n")
    with pytest.raises(DataError) as caught:
        read_svmlight(path, unsorted="sort")
    check_error(caught.value, path, 1, 11, "3:4", "index 3 occurs twice")


def test_l58_a_fraction_is_no_class(tmp_path):
    path = written(tmp_path / "a", b"1 1:1\n1.5 1:1\n")
    assert read_svmlight(path)[1].tolist() == [1, 1.5]
    with pytest.raises(DataError, match=f"^{re.escape(str(path))}:2: label 1.5 is not a whole number"):
        train(path, AROWClassifier())


@pytest.mark.parametrize(
    "text",
    [b"1 1:1\r-1 2:1\r", b"1 1:1\r-1 2:1", b"1 1:1\r" * 5000, b"# c\r1 1:1\r", b"1 1:1 # c\r-1 2:2\r"],
    ids=["two lines", "cut", "many", "comment first", "comment behind"],
)
@pytest.mark.parametrize("chunk_bytes", [16, 1 << 20])
def test_l49_line_ends_of_cr_only_are_refused(tmp_path, text, chunk_bytes):
    """Also where a comment would otherwise swallow the rest."""
    path = written(tmp_path / "a", text)
    with pytest.raises(DataError, match="CR line ends") as caught:
        everything(Reader(path, chunk_bytes=chunk_bytes))
    assert caught.value.line == 1


def test_l48_lf_and_crlf_mean_the_same(tmp_path):
    lines = [b"1 1:1 2:2", b"-1", b"# c", b"", b"1 3:.5 ", b"2 4:1e1", b"2 5:1 #"]
    found = []
    for ends in ([b"\n"] * 7, [b"\r\n"] * 7, [b"\n", b"\r\n"] * 4, [b"\r\n", b"\n"] * 4):
        text = b"".join(line + end for line, end in zip(lines, ends, strict=False))
        found.append(everything(Reader(written(tmp_path / "a", text), queries=True)))
    assert found[0][1:] == [[1, 2, 3, 4, 5], [1, 2, 0.5, 10, 1], [1, -1, 1, 2, 2], 5 * [0], [1, 2, 5, 6, 7]]
    assert found == 4 * found[:1]


def test_l50_the_last_row_needs_no_line_end(tmp_path):
    assert read_svmlight(written(tmp_path / "a", b"1 1:1\n-1 1:2"))[0].data.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("before", "digit", "behind", "what"),
    [
        (b"1 ", b"0", b"x:1", "index is not an integer"),
        (b"", b"1", b"x 1:1", "label is not a number"),
        (b"", b"1", b".x", "label is not a number"),
        (b"1 1:", b"1", b"x", "value is not a decimal number"),
        (b"1 1:.", b"1", b"x", "value is not a decimal number"),
        (b"1 1:1e", b"1", b"x", "value is not a decimal number"),
        (b"1 qid:", b"0", b"x", "qid is not an integer"),
    ],
)
def test_finding_a_flaw_takes_time_in_proportion_to_the_token(before, digit, behind, what):
    start = time.perf_counter()
    flaw = find_flaw(before + digit * 10_000 + behind + b"\n", Grammar())
    assert time.perf_counter() - start < 0.5
    assert what in str(flaw)
    assert flaw.column == (3 if before else 1)


@pytest.mark.parametrize(
    ("before", "behind", "what"),
    [(b"1 ", b":1\n", "index too large"), (b"", b"", "label out of range"), (b"1 1:", b" 2:2", "value out of range")],
    ids=["L33-index", "L63-label", "value"],
)
def test_ten_megabytes_of_digits_are_refused(tmp_path, before, behind, what):
    path = written(tmp_path / "a", b"# c\n" + before + b"1" * 10_000_000 + behind)
    start = time.perf_counter()
    with pytest.raises(DataError) as caught:
        read_svmlight(path)
    assert time.perf_counter() - start < 5
    token = (before[2:].decode() + "1" * 50) if before else "1" * 50
    check_error(caught.value, path, 2, 3 if before else 1, token, what)


@pytest.mark.parametrize("n", [200_000, 10_000_000])
def test_l62_a_very_long_row_is_read(tmp_path, n):
    row = np.tile(np.frombuffer(b"00000000:1 ", np.uint8), (n, 1))
    for place in range(8):
        row[:, 7 - place] += (np.arange(n, dtype=np.int32) // 10**place % 10).astype(np.uint8)
    path = written(tmp_path / "a", b"1 1:1\n-1 " + row.tobytes() + b"\n1 1:1\n")
    X, y = read_svmlight(path, zero_based=True)
    assert y.tolist() == [1, -1, 1]
    assert np.diff(X.indptr).tolist() == [1, n, 1]
    assert (X.indices[1 : n + 1] == np.arange(n)).all()
    assert (X.data == 1).all()


def test_l33_a_token_of_ten_megabytes_takes_memory_in_proportion(tmp_path):
    path = written(tmp_path / "a", b"1 " + b"1" * 10_000_000 + b":1\n")
    code = (
        "import resource, scipy.sparse, cwlearn\n"
        "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "read, before = cwlearn.read_svmlight, peak()\n"
        f"try: read({str(path)!r})\n"
        "except cwlearn.DataError: print((peak() - before) // 1024)"
    )
    assert int(python(code).stdout) < 64


# -- files and streams -------------------------------------------------------------------------------------------------


def python(code, **options):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, timeout=60, **options)


def assert_refused(path, what, line=None, **options):
    with pytest.raises(DataError, match=what) as caught:
        read_svmlight(path, **options)
    assert str(caught.value).startswith(f"{path}:{line}:" if line else f"{path}: ")
    assert str(caught.value).isprintable()
    assert caught.value.line == line


@pytest.mark.parametrize(
    "text", [b"", b"# c", b"#\n\n \t\n", b"\xef\xbb\xbf"], ids=["F01-empty", "F02-comment", "F02-blanks", "F03-mark"]
)
def test_files_without_rows(tmp_path, capsys, text):
    path, model = written(tmp_path / "a", text), tmp_path / "model.npz"
    assert read_svmlight(path)[0].shape[0] == 0
    assert main(["train", str(path), "-m", str(model)]) == 1
    assert re.fullmatch(f"cwlearn: error: {re.escape(str(path))}: no examples.*\n", capsys.readouterr().err)
    assert not model.exists()
    assert main(["train", str(written(tmp_path / "b", b"1 1:1\n-1 2:1\n")), "-m", str(model), "-q"]) == 0
    assert main(["predict", str(path), "-m", str(model)]) == 0
    assert capsys.readouterr().out == ""


def test_f03_a_byte_order_mark_is_skipped_at_the_beginning_of_a_file_only(tmp_path):
    a, b = written(tmp_path / "a", b"\xef\xbb\xbf1 1:1"), written(tmp_path / "b", b"\xef\xbb\xbf-1 1:2\n")
    assert read_svmlight([a, b])[1].tolist() == [1, -1]
    assert_refused(written(tmp_path / "c", b"1 1:1\n\xef\xbb\xbf1 1:1"), "label is not a number", line=2)
    assert_refused(written(tmp_path / "d", 2 * b"\xef\xbb\xbf" + b"1 1:1"), "label is not a number", line=1)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"])
def test_f04_utf_16_is_recognised(tmp_path, encoding):
    assert_refused(written(tmp_path / "a", "1 1:1\r\n-1 2:2\r\n".encode(encoding)), "UTF-16", line=1)
    if encoding == "utf-16":
        assert_refused(written(tmp_path / "b", b"\xfe\xff" + "1 1:1\n".encode("utf-16-be")), "UTF-16", line=1)


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"1,0.5,2\n0,1,3\n", "looks like CSV"),
        (b"label,a,b\n1,0.5,2\n", "looks like CSV"),
        (b"1, 0.5, 2\n", "looks like CSV"),
        (b'{"a": 1, "b": [1, 2]}\n', "label"),
        (b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x03\0>\0", "NUL byte"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "label is not a number"),
        (b"PK\x03\x04\x14\0", "NUL byte"),
        (bytes(range(256)), "NUL byte"),
        (b"<html>", "label is not a number"),
    ],
    ids=["CSV", "CSV with names", "CSV with blanks", "JSON", "ELF", "PNG", "zip", "all bytes", "HTML"],
)
def test_f05_f06_what_is_no_svmlight_text_is_refused_at_line_1(tmp_path, content, what):
    assert_refused(written(tmp_path / "a", content), what, line=1)


@pytest.mark.parametrize("suffix", COMPRESS)
def test_f07_f08_f09_f10_f11_f12_f15_compressed_files_are_read_and_damaged_ones_refused(tmp_path, suffix):
    compress = COMPRESS[suffix]
    first = compress(b"1 1:1\n" * 10)
    random = np.random.default_rng(0)
    second = compress(b"".join(b"-1 2:%r\n" % value for value in random.standard_normal(2000).tolist()))
    path = tmp_path / f"a{suffix}"
    assert read_svmlight(written(path, first + second))[0].shape == (2010, 3)
    assert read_svmlight(written(tmp_path / "a.txt", first + second))[0].shape == (2010, 3)
    assert_refused(written(path, b"1 1:1\n"), f"not [a-z0-9]+ data, though its name ends with {suffix}")
    assert_refused(written(path, b""), f"not [a-z0-9]+ data, though its name ends with {suffix}")
    for cut in (*range(6, len(first)), len(first) + len(second) - 1, len(first) + len(second) // 2):
        assert_refused(written(path, (first + second)[:cut]), "truncated|damaged")
    for place in (0, 10, 1000, len(second) // 2):
        with pytest.raises(DataError):
            read_svmlight(written(path, first + second[:place] + bytes(8) + second[place + 8 :]))
    assert_refused(written(path, first + b"1 1:1\n"), "damaged")
    assert_refused(written(path, compress("1 1:1\n".encode("utf-16"))), "looks like UTF-16", line=1)
    assert_refused(written(path, compress(first)), "label is not a number|NUL byte|CR line ends", line=1)


def test_f09_f10_f12_gzip_trailers_are_checked(tmp_path):
    data = gzip.compress(b"1 1:1\n" * 10)
    path = tmp_path / "a.gz"
    for place in range(1, 9):
        damaged = bytearray(data)
        damaged[-place] ^= 1
        assert_refused(written(path, damaged), "damaged")
    assert read_svmlight(written(path, data + bytes(1000)))[0].shape == (10, 2)
    assert_refused(written(path, data + bytes(10) + b"x"), "damaged")


def blocked_gzip(texts):
    """As bgzip writes: small members that name their size, and an empty one at the end."""
    blocks = []
    for text in [*texts, b""]:
        packer = zlib.compressobj(wbits=-15)
        body = packer.compress(text) + packer.flush()
        head = b"\x1f\x8b\x08\x04" + bytes(5) + b"\xff\x06\0BC\x02\0" + struct.pack("<H", len(body) + 25)
        blocks.append(head + body + struct.pack("<II", zlib.crc32(text), len(text)))
    return b"".join(blocks)


def test_f11_blocked_gzip_is_read(tmp_path):
    lines = b"".join(b"%d 1:%d\n" % (k, k) for k in range(1000))
    data = blocked_gzip(lines[start : start + 77] for start in range(0, len(lines), 77))
    X, y = read_svmlight(written(tmp_path / "a.gz", data))
    assert y.tolist() == X.data.tolist() == list(range(1000))


def test_f14_a_long_line_is_refused_with_bounded_memory(tmp_path, monkeypatch):
    path = written(tmp_path / "a.gz", gzip.compress(b"1 1:1\n" + b"1" * (64 << 20), 1))
    sizes = []
    next_chunk = ChunkReader.next_chunk

    def spy(self, text):
        chunk = next_chunk(self, text)
        sizes.append(0 if chunk is None else len(chunk.text))
        return chunk

    monkeypatch.setattr(ChunkReader, "next_chunk", spy)
    with pytest.raises(DataError, match=r"a.gz:2: line longer than 1048576 bytes \(`max_line`\)"):
        read_svmlight(path, max_line=1 << 20, threads=8)
    assert max(sizes) < 5 << 20


REFUSED = {
    "wrong suffix": ("a.gz", b"1 1:1\n"),
    "cut": ("a.gz", gzip.compress(b"1 1:1\n" * 99)[:-9]),
    "UTF-16": ("a", "1 1:1".encode("utf-16")),
    "bad line": ("a", b"1 x\n" + b"1 1:1\n" * 1_000_000),
    "long line": ("a", b"1" * 3000),
    "long line in gzip": ("a.gz", gzip.compress(b"1" * 3000)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_file_that_is_refused_is_closed(tmp_path, name):
    path = written(tmp_path / REFUSED[name][0], REFUSED[name][1])
    with pytest.raises(DataError, match=re.escape(str(path))):
        read_svmlight(path, max_line=1000, threads=2)
    assert not [fd for fd in Path("/proc/self/fd").glob("*") if fd.exists() and fd.samefile(path)]


@pytest.mark.parametrize("chunk_bytes", [16, 24, 32, 50, 100, 1000])
@pytest.mark.parametrize("end", [b"\n", b"", b"\r\n", b"\n1 1:1\n"])
def test_the_longest_line_does_not_depend_on_the_chunks(tmp_path, end, chunk_bytes):
    room = 50 - end.startswith(b"\r")
    fits, too_long = b"1" + b" " * (room - 4) + b"1:1", b"1" + b" " * (room - 3) + b"1:1"
    reader = Reader(tmp_path / "a", Reading(max_line=50), chunk_bytes=chunk_bytes)
    written(tmp_path / "a", b"1 1:1\n" + fits + end)
    assert everything(reader)[3][:2] == [1, 1]
    written(tmp_path / "a", b"1 1:1\n" + too_long + end)
    with pytest.raises(DataError, match=":2: line longer than 50 bytes"):
        everything(reader)


def test_f16_files_that_cannot_be_opened(tmp_path, capsys):
    (tmp_path / "broken").symlink_to(tmp_path / "nowhere")
    cases = {"missing": FileNotFoundError, "": IsADirectoryError, "broken": FileNotFoundError}
    if os.geteuid() != 0:
        written(tmp_path / "secret", b"1 1:1\n").chmod(0)
        cases["secret"] = PermissionError
    for name, error in cases.items():
        path = str(tmp_path / name)
        with pytest.raises(error) as caught:
            read_svmlight(path)
        assert caught.value.filename == path
        assert main(["train", path, "-m", str(tmp_path / "model")]) == 1
        assert capsys.readouterr().err == f"cwlearn: error: {path}: {caught.value.strerror}\n"


def test_f17_a_fifo_is_read_once(tmp_path):
    """With pauses within lines."""
    path = tmp_path / "fifo"
    os.mkfifo(path)

    def write():
        with open(path, "wb", buffering=0) as file:
            for piece in (b"1", b" 1:", b"1\n-1 ", b"2:2", b"5\n" + b"1 3:3\n" * 1000):
                file.write(piece)
                time.sleep(0.005)

    writer = threading.Thread(target=write)
    writer.start()
    X, y = read_svmlight(path)
    writer.join()
    assert y.tolist() == [1, -1] + 1000 * [1]
    assert X.data.tolist() == [1, 25] + 1000 * [3]


def test_f17_an_open_pipe_is_read_by_its_number(tmp_path):
    """Process substitution."""
    reading, writing = os.pipe()
    os.write(writing, gzip.compress(b"1 1:1\n-1 1:2"))
    os.close(writing)
    try:
        assert read_svmlight(f"/dev/fd/{reading}")[0].data.tolist() == [1, 2]
    finally:
        os.close(reading)


@pytest.mark.parametrize("name", ["-", "/dev/stdin"])
def test_f17_standard_input_is_read_and_named(name):
    code = (
        "from cwlearn import DataError, read_svmlight\n"
        f"try: print(read_svmlight({name!r})[0].data)\n"
        "except DataError as error: print(error)"
    )
    assert python(code, input=gzip.compress(b"1 1:1\n-1 1:2")).stdout == b"[1. 2.]\n"
    shown = "<stdin>" if name == "-" else name
    expected = f"{shown}:2:4: value is not finite (near '1:nan')\n"
    assert python(code, input=b"1 1:1\n-1 1:nan").stdout == expected.encode()


@pytest.mark.parametrize("size", [0, 1000, 1003])
def test_f18_a_file_that_shrinks_is_refused(tmp_path, size):
    path = written(tmp_path / "a", b"1 1:1\n" * 10_000)
    batches = iter(Reader(path, threads=1, chunk_bytes=64))
    next(batches)
    os.truncate(path, size)
    with pytest.raises(DataError, match="a: the file shrank while it was read"):
        list(batches)


def test_f18_a_file_that_grows_or_is_replaced_gives_whole_lines(tmp_path):
    path = written(tmp_path / "a", b"1 1:1\n" * 1000)
    batches = iter(Reader(path, threads=1, chunk_bytes=64))
    n_rows = next(batches).rows.n_rows
    with open(path, "ab") as file:
        file.write(b"1 1:1\n" * 100)
    n_rows += next(batches).rows.n_rows
    os.replace(written(tmp_path / "b", b"nothing of the kind"), path)
    assert 1000 <= n_rows + sum(batch.rows.n_rows for batch in batches) <= 1100


TRICKY = (
    b"\xef\xbb\xbf# a comment that is longer than the smallest chunks\n1 qid:7 1:0.5 22:1e-3\r\n\r\n"
    b"-1 3:123456789.123456789 4:-0 # a long comment after a row: 1 1:1\n#\n \t\n+1 2147483648:1\n"
    b"2 1:1 2:2 3:3 4:4 5:5 6:6 7:7 8:8 9:9 10:10\n-1\n-1 5:5"
)


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_f19_f20_the_chunks_do_not_matter(tmp_path, threads):
    """Every size, so that every place is once the end of a chunk."""
    path = written(tmp_path / "a", TRICKY)
    expected = everything(Reader(path, queries=True, threads=1))
    assert expected[3] == [1, -1, 1, 2, -1, -1]
    assert expected[5] == [2, 4, 7, 8, 9, 10]
    for chunk_bytes in range(16, len(TRICKY) + 3):
        assert everything(Reader(path, queries=True, threads=threads, chunk_bytes=chunk_bytes)) == expected


@pytest.mark.parametrize("chunk_bytes", [16, 20, 31, 1 << 20])
def test_f19_every_place_of_a_line_end_may_be_the_end_of_a_chunk(tmp_path, chunk_bytes):
    for shift in range(40):
        path = written(tmp_path / "a", b"#" * shift + b"\n1 1:1 2:22\r\n-1 333:3\n\n1 4:4")
        found = everything(Reader(path, queries=True, threads=2, chunk_bytes=chunk_bytes))
        assert found[1:4] == [[1, 2, 333, 4], [1, 22, 3, 4], [1, -1, 1]]
        assert found[5] == [2, 3, 5]


def test_f20_the_same_lines_are_skipped_whatever_the_chunks(tmp_path):
    """Even where a CR stands within a long line."""
    path = written(tmp_path / "a", TRICKY + b"\n1 1:1\r2:2 in a line that is long -1 3:3\n1 1:x\n1 6:6\n")
    for chunk_bytes in range(16, 400, 7):
        told = []
        reading = Reading(on_bad_line="skip")
        reader = Reader(path, reading, queries=True, threads=2, chunk_bytes=chunk_bytes, on_skipped=told.append)
        assert everything(reader)[5] == [2, 4, 7, 8, 9, 10, 13]
        assert [(flaw.line, flaw.column) for flaw in told] == [(11, 6), (12, 3)]


def test_f20_a_cr_within_a_long_comment_means_the_same_whatever_the_chunks(tmp_path):
    """Dropped with the comment, or refused, but never cut there."""
    path = written(tmp_path / "a", b"1 1:1 # a comment \r with more of it behind 1 1:1\n-1 2:2\n")
    outcomes = set()
    for chunk_bytes in range(16, 80):
        try:
            outcomes.add(str(everything(Reader(path, queries=True, chunk_bytes=chunk_bytes))))
        except DataError as error:
            outcomes.add(str(error))
    assert len(outcomes) == 1


def test_f22_the_line_of_an_error_is_exact_with_many_threads(tmp_path):
    good = b"1 1:1 2:2\n" * 100
    for lines in (1, 2, 3):
        path = written(tmp_path / "a", 50 * good + lines * b"1 1:1\n" + b"1 1:x")
        with pytest.raises(DataError) as caught:
            everything(Reader(path, threads=64, chunk_bytes=len(good) + 1))
        assert (caught.value.line, caught.value.column) == (5001 + lines, 3)


def test_f23_the_first_of_two_errors_is_reported_always(tmp_path):
    good = b"1 1:1 2:2\n" * 50
    path = written(tmp_path / "a", 3 * good + b"x\n" + 3 * good + b"1 1:y\n" + good)
    for repeat in range(50):
        with pytest.raises(DataError) as caught:
            everything(Reader(path, threads=1 + repeat % 8, chunk_bytes=200 + repeat))
        assert (caught.value.line, caught.value.column) == (151, 1)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        (b"with a space", "with a space"),
        (b"new\nline", "new\\nline"),
        (b"\xff\xfe.svm", "\\udcff\\udcfe.svm"),
        ("ünï".encode(), "ünï"),
        (b"x" * 255, "x" * 255),
        (b"-", "-"),
    ],
    ids=["space", "newline", "not UTF-8", "UTF-8", "255 bytes", "dash"],
)
def test_f24_file_names_of_all_kinds(tmp_path, name, shown):
    path = tmp_path / os.fsdecode(name)
    assert read_svmlight(written(path, b"1 1:1\n"))[0].shape == (1, 2)
    with pytest.raises(DataError) as caught:
        read_svmlight(str(written(path, b"1 1:1\nx")))
    assert str(caught.value) == f"{tmp_path}/{shown}:2:1: label is not a number (near 'x')"
    assert caught.value.path == str(path)


# -- the cost of bad text ----------------------------------------------------------------------------------------------

ENTRIES_OF_A_LINE = 60_000
RISING = b"".join(b" %d:1" % number for number in range(ENTRIES_OF_A_LINE))
LONG_LINES = {  # each with the column of its flaw, and more for the grammar
    "a repeated index at the beginning": (b"1 1:1" + 150_000 * b" 1:1", 7, {}),
    "a repeated index at the end": (b"1" + RISING + b" %d:2" % (ENTRIES_OF_A_LINE - 1), 2 + len(RISING) + 1, {}),
    "no order": (b"1 9:9" + RISING, 7, {}),
    "a value at the end": (b"1" + RISING + b" 999999:x", 2 + len(RISING) + 1, {}),
    "no order, a repeated index at the end": (b"1 999999:1" + RISING + b" 5:5", 11 + len(RISING) + 1, {"sort": True}),
    "no order, repeated indices": (b"1 2:1" + 150_000 * b" 1:1", 11, {"sort": True}),
    "no labels, a repeated index": (RISING[1:] + RISING, len(RISING) + 1, {"labelled": False}),
    "several labels": (b"1," * 300_000 + b"1 1:1", 1, {}),
    "CSV": (b"1," * 300_000 + b"1", 1, {}),
    "one token": (b"1 1:" + b"1" * 600_000, 3, {}),
    "a long comment": (b"1 x # " + RISING, 3, {}),
    "blanks": (b"1 x" + b" " * 600_000, 3, {}),
}


@pytest.mark.parametrize("name", LONG_LINES)
def test_x08_a_long_bad_line_takes_memory_in_proportion(name):
    line, column, grammar = LONG_LINES[name]
    tracemalloc.start()
    flaw = find_flaw(line + b"\n", Grammar(**grammar))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert flaw.column == column
    assert peak < 6 * len(line)


@pytest.mark.parametrize("line", [b"1 1:1" + 2_000_000 * b" 1:1" + b"\n", b"1 1:1" + 2_000_000 * b" 1:x" + b"\n"])
def test_x08_a_small_file_of_one_long_bad_line_takes_little_memory(tmp_path, line):
    """Eight megabytes of text in nine kilobytes."""
    path = written(tmp_path / "a.gz", gzip.compress(line))
    code = (
        "import cwlearn\n"
        "def most(): return next(int(line.split()[1]) for line in open('/proc/self/status') if 'VmHWM' in line)\n"
        f"cwlearn.read_svmlight({str(written(tmp_path / 'b.gz', gzip.compress(b'1 1:1')))!r}, threads=1)\n"
        "before = most()\n"
        f"try: cwlearn.read_svmlight({str(path)!r}, threads=1)\n"
        "except cwlearn.DataError as error: print(error.column)\n"
        "print(most() - before)"
    )
    column, kilobytes = map(int, python(code).stdout.split())
    assert column == 7
    assert kilobytes * 1024 < 10 * len(line)


@pytest.mark.parametrize("bad", [b"1 1:1e39\n", b"x\n", b"1 2:1 1:1\n"], ids=["overflow", "no label", "order"])
def test_x08_many_bad_lines_take_time_and_memory_in_proportion(tmp_path, monkeypatch, bad):
    """The lines of a chunk are searched once, however many are bad, and nothing is kept of those reported."""
    looks = []
    original = Chunk.line_places
    monkeypatch.setattr(Chunk, "line_places", lambda chunk: (looks.append(1), original(chunk))[1])
    text = (b"1 1:1\n" + 9 * bad) * 200
    path = written(tmp_path / "a", text)
    told = 0

    def tell(flaw):
        nonlocal told
        told += 1

    reader = Reader(path, Reading(on_bad_line="skip", max_bad=10**6), threads=1, on_skipped=tell)
    tracemalloc.start()
    assert sum(batch.rows.n_rows for batch in reader) == 200
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert told == 1800
    assert len(looks) <= 1
    assert peak < 4 * CHUNK_BYTES + 60 * len(text)


def test_x08_warnings_of_many_bad_lines_are_shown_and_not_kept(tmp_path):
    path = written(tmp_path / "a", b"1 1:1\n" + b"x\n" * 1000)
    code = (
        "import sys, cwlearn\n"
        f"cwlearn.read_svmlight({str(path)!r}, on_bad_line='skip', max_bad=1000)\n"
        "print(max(len(getattr(module, '__warningregistry__', ())) for module in [*sys.modules.values()]))"
    )
    outcome = python(code)
    assert outcome.stderr.count(b"label is not a number (near 'x'); line skipped") == 1000
    assert int(outcome.stdout) < 1000


# -- two readers of one line -------------------------------------------------------------------------------------------

# fmt: off
PIECES = st.sampled_from([
    b"1", b"-1", b"+1", b"0", b"007", b"1.5", b".5", b"5.", b".", b"1e5", b"1e", b"e5", b"1e-400", b"1e400", b"-0",
    b"+-1", b"nan", b"-inf", b"Infinity", b"0x1p3", b"1_0", b"1,2", b"12345678", b"123456789", b"2147483648",
    b"4294967297", b"9223372036854775806", b"9223372036854775807", b"9223372036854775808", b"0" * 30 + b"9",
    b"9" * 30, b"1" * 400, b"0." + b"1" * 30, b"1234567.1234567", b"1234567.12345678", b"1.123456789012345678",
    b"qid", b"q", b"QID", b"x", b"#", b"\0", b"\r", b"\xc2\xa0", b"\xff", b"'", b"\x1c", b"\x85", b"",
])
# fmt: on
ENTRIES = st.builds(
    lambda index, value: b"%d:%b" % (index, value),
    st.integers(0, 12) | st.sampled_from([9999999, 10**8 - 1, 10**8, 2**31, 2**62]),
    st.sampled_from([b"1", b"-2.5", b"1e3", b".5", b"12345678.5", b"0", b"3.", b"+4", b"0.1234567890123456"]),
)
TOKENS = st.one_of(
    ENTRIES,
    st.builds(lambda left, right: left + b":" + right, PIECES, PIECES),
    PIECES,
    st.builds(lambda number: b"qid:" + number, PIECES),
    st.binary(max_size=5).map(lambda token: token.replace(b"\n", b"")),
)
BLANKS = st.sampled_from([b" ", b" ", b" ", b"\t", b"  ", b"\v", b"\f", b" \t", b"\r", b"", b"#"])


@st.composite
def lines(draw):
    """Lines, most of which are correct or nearly correct."""
    line = draw(st.sampled_from([b"", b"", b"1 ", b"-1\t", b"2 qid:3 ", b" ", b"1"]))
    sound = draw(st.booleans())
    for _ in range(draw(st.integers(0, 6))):
        line += draw(ENTRIES if sound else TOKENS) + draw(BLANKS)
    return line + draw(st.sampled_from([b"\n", b"\n", b"\r\n", b"# 1:2\n", b"\r\r\n"]))


GRAMMARS = [Grammar(*kind) for kind in itertools.product((True, False), (0, 1), (True, False))]


def reference(line, grammar):
    """The content of a correct line, read as simply as possible."""
    tokens = line.rstrip(b"\r\n").partition(b"#")[0].split()
    if not tokens and grammar.labelled:
        return None
    label = float(tokens.pop(0)) if grammar.labelled else 0.0
    query = int(tokens.pop(0)[4:]) if tokens and tokens[0].startswith(b"qid:") else 0
    entries = [token.split(b":") for token in tokens]
    return label, query, sorted((int(index), float(value)) for index, value in entries)


@settings(max_examples=1500, deadline=None)
@given(lines())
def test_a_line_has_a_flaw_if_and_only_if_the_parser_refuses_it(line):
    """And if it has none, the parser reads what is written there."""
    for grammar in GRAMMARS:
        options = {"labelled": grammar.labelled, "lowest": grammar.lowest, "sort": grammar.sort}
        found = parse(b"1:1\n" * (not grammar.labelled) + line, **options)
        flaw = find_flaw(line, grammar)
        assert (found.status == DONE) == (flaw is None), flaw
        if flaw is not None:
            assert 1 <= flaw.column <= len(line)
            assert str(flaw).isprintable()
            continue
        expected = reference(line, grammar)
        rows = len(found.indptr) - 1 - (not grammar.labelled)
        assert rows == (expected is not None)
        if expected is not None:
            start = found.indptr[-2]
            entries = list(zip(found.indices[start:].tolist(), found.values[start:].tolist(), strict=True))
            labels = found.labels[-1] if grammar.labelled else 0.0
            assert (labels, found.queries[-1], entries) == expected
