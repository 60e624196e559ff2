"""Which format a file has: by its name, by its first lines, and what is said where it has another."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cwlearn.text.formats import (
    FORMATS,
    HEAD_BYTES,
    LINE_FORMATS,
    choose,
    delimiter_of,
    detect,
    suffix_format,
    wrong_format_hint,
)
from cwlearn.text.records import RECORD_FORMATS

EXAMPLES = {
    "svmlight": [
        b"1 1:0.5 3:2\n-1 2:1\n",
        b"+1 1:1\r\n-1 2:1e-3\r\n",
        b"# a comment | with bars, commas\n\n 1 qid:3 1:1 2:-.5 # x\n2 qid:3 1:1\n",
        b"spam 1:1 7:2\nham 3:1\n",
        b"1,2 3:4\n3 5:6\n",
        b"1:0.5 3:2\n2:1\n",
        b"1\n-1\n1\n",
        b"1\n-1\n1 5:2\n",
        b"0.5 1:1",
        b"1 1:1\nbad line\n1 2:1\n",
        b"1\t1:1\t2:3\n-1\t4:5\n",
        b"\xef\xbb\xbf1 1:1\n",
        b"1 qid:7\n-1 qid:7\n",
        b"1 1:0.5 2:0.25 3:",
    ],
    "jsonl": [
        b'{"text": "a|b, c", "label": 1}\n{"text": "x", "label": 2}\n',
        b'\n  { "a": 1}\n',
        b"{}\n",
        b'{"text": "__label__a 1:2"}\n',
        b'[{"a": 1},\n {"a": 2}]\n',
        b'{\n  "a": 1\n}\n',
        b'{"cut": "here',
    ],
    "csv": [
        b"label,text\nspam,hello\nham,bye\n",
        b'id,label,text\r\n1,spam,"hello, you\nthere"\r\n2,ham,"bye"\r\n',
        b"label;text\nspam;hello, you\nham;bye\n",
        b"Review Title,Star Rating,Review (text)\na,5,b\n",
        b'"label","text"\n"spam","hello |x"\n',
        b'label,text\nspam,hello\nham,"cut he',
    ],
    "tsv": [
        b"id\tlabel\ttext\n1\tspam\thello\n2\tham\tbye\n",
        b"label\ttext\nspam\thello, you\n",
        b"PhraseId\tSentenceId\tPhrase\tSentiment\n1\t1\tA series\t1\n",
    ],
    "fasttext": [
        b"__label__spam hello, you\n__label__ham bye\n",
        b"hello __label__spam\nbye|now __label__ham __label__x\n",
        b"__label__1 , 1:2\n",
    ],
    "vw": [
        b"1 |f hello you:2\n-1 |f bye\n",
        b"|f a b\n|f c\n",
        b"spam 2.0 'tag|words hello |other:2 x:1\n",
        b"1 1.0 tag|f a\n2 1.0 tag|f b\n",
        b"1 | 3:4 5:6\n0 | 7:8\n",
    ],
    "text": [
        b"spam\thello you\nham\tbye\n",
        b"1\tgood, really\n0\tbad: 5 of 10\n",
        b"spam\thello\tyou\nham\tbye\n",
        b"1\thello",
    ],
    "parquet": [b"PAR1\x15\x04\x15"],
    None: [
        b"",
        b"\n\n",
        b"# only a comment\n",
        b"hello world\nanother line, with a comma\n",
        b"1,0.5,2\n0,1,3\n",
        b"1 1:abc\n",
        b"a|b|c\n1|2|3\n",
        b"Hello, my friend\nBye, my foe\n",
        b"\x00\xff\xfe\n",
    ],
}


@pytest.mark.parametrize(
    ("expected", "head"), [(name, head) for name, heads in EXAMPLES.items() for head in heads], ids=repr
)
def test_a_format_is_detected(expected, head):
    assert detect(head) == expected


def test_all_formats_have_an_example():
    assert set(EXAMPLES) == {*FORMATS, None}


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32))
def test_svmlight_is_never_taken_for_another_format(seed):
    chance = random.Random(seed)
    lines = []
    for _ in range(chance.randrange(1, 30)):
        label = chance.choice(["1", "-1", "+1", "0.5", "3", "1e3", "-0"])
        query = chance.choice(["", "", f"qid:{chance.randrange(9)}"])
        indices = sorted(chance.sample(range(100), chance.randrange(6)))
        entries = [f"{index}:{chance.choice(['1', '-0.5', '1e-9', '.5', '7.', '+2'])}" for index in indices]
        comment = chance.choice(["", "", "# a | b, c\t{", "#"])
        blank = chance.choice([" ", " ", "\t", "  "])
        lines.append(blank.join(filter(None, [label, query, *entries, comment])))
        lines += [chance.choice(["", "# comment, with | all", " "])] * (chance.random() < 0.2)
    text = "".join(line + chance.choice(["\n", "\n", "\r\n"]) for line in lines).encode()
    assert detect(text) == "svmlight"
    assert detect(text[: chance.randrange(len(text)) + 1]) in ("svmlight", None)
    assert choose("data", text) == choose("data.txt", text) == "svmlight"


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_have_a_format_or_none(head):
    assert detect(head) in (*FORMATS, None)
    assert choose("x", head) in FORMATS
    assert 0 <= delimiter_of(head, "csv") < 256


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a.jsonl", "jsonl"),
        ("a.ndjson.gz", "jsonl"),
        ("a.JSON", "jsonl"),
        ("dir.csv/a.csv.zst", "csv"),
        ("a.tsv.xz", "tsv"),
        ("a.tab", "tsv"),
        ("a.svm.bz2", "svmlight"),
        ("a.svmlight", "svmlight"),
        ("a.libsvm", "svmlight"),
        ("a.vw", "vw"),
        ("a.ft", "fasttext"),
        ("a.fasttext", "fasttext"),
        ("a.parquet", "parquet"),
        ("a.txt", None),
        ("a.txt.gz", None),
        ("a", None),
        (".csv", None),
        ("-", None),
        ("a.csv.gz.gz", None),
    ],
)
def test_the_end_of_a_name(path, expected):
    assert suffix_format(path) == expected


def test_the_format_that_is_given_counts_most_then_the_name():
    head = b"1 |f a\n"
    assert choose("a.csv", head, "svmlight") == "svmlight"
    assert choose("a.csv", head) == "csv"
    assert choose("a.txt", head) == choose("a", head) == "vw"
    with pytest.raises(ValueError, match=r"`format` must be 'auto' or 'svmlight' or .* got 'arff'"):
        choose("a", head, "arff")


@pytest.mark.parametrize(
    ("path", "head", "expected"),
    [
        ("a.txt", b"hello world\nand so on\n", "text"),
        ("a.txt.gz", b"hello world\nand so on\n", "text"),
        ("a", b"hello world\n", "svmlight"),
        ("a.txt", b"1 1:abc\n", "svmlight"),
        ("a.txt", b"x 1:abc\n", "svmlight"),
        ("a.txt", b"1:2 1:abc\n", "svmlight"),
        ("a.txt", b"", "svmlight"),
        ("a.txt", b"# comment\n", "svmlight"),
    ],
)
def test_what_cannot_be_detected_is_svmlight_or_lines(path, head, expected):
    assert choose(path, head) == expected


def test_a_wrong_format_is_named():
    assert wrong_format_hint(b"1 |f a b\n", "svmlight") == "this looks like Vowpal Wabbit: use `format='vw'`"
    assert wrong_format_hint(b'{"a": 1}\n', "csv") == "this looks like JSON lines: use `format='jsonl'`"
    assert wrong_format_hint(b"1 1:1\n", "jsonl") == "this looks like svmlight text: use `format='svmlight'`"
    assert wrong_format_hint(b"1 |f a b\n", "vw") == ""
    assert wrong_format_hint(b"1 1:abc\n", "svmlight") == ""
    assert wrong_format_hint(b"a\tb\nc\td\n", "tsv") == ""


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (b"a,b\n", b","),
        (b"a;b\n", b";"),
        (b"a|b", b"|"),
        (b"a\tb\n", b"\t"),
        (b'"a,b";c\n', b";"),
        (b"", b","),
        (b"\na\n", b","),
    ],
)
def test_the_delimiter_is_that_of_the_first_line(head, expected):
    assert delimiter_of(head, "csv") == ord(expected)
    assert delimiter_of(head, "tsv") == ord("\t")


def test_a_long_head_is_cut():
    line = json.dumps({"text": "x" * HEAD_BYTES}).encode()
    assert detect(line[:HEAD_BYTES]) == "jsonl"
    rows = [f"{k},{'word ' * 100}" for k in range(300)]
    assert detect("\n".join(["label,text", *rows]).encode()[:HEAD_BYTES]) == "csv"
    rng = np.random.default_rng(1)
    svmlight = "".join(f"1 {k}:{value}\n" for k, value in enumerate(rng.random(5000)))
    assert detect(svmlight.encode()[:HEAD_BYTES]) == "svmlight"


def test_every_format_says_whether_its_files_can_be_cut():
    assert {*RECORD_FORMATS, *LINE_FORMATS} == {*FORMATS}
