"""Documents that cannot be read, each with its exact message, and odd ones that can.

The names W01 ... are the rows of docs/odd_inputs.md that a test checks.
"""

from __future__ import annotations

import gzip
import json
import re
import tracemalloc

import pytest

import cwlearn as package
from cwlearn.core import model_file
from cwlearn.errors import DataError
from tests.text.document_cases import classifier, documents, everything, jsonl, written
from tests.text_cases import fail, outcome_of, set_chunk_bytes, succeed, trained

NO_TAB = "expected a label, a tab and text, found no tab; lines of text alone are `format='fasttext'`"

GOOD = {
    "jsonl": b'{"text": "a fine film", "label": "good"}\n{"text": "a dull one", "label": "bad"}\n',
    "csv": b"label,text\ngood,a fine film\nbad,a dull one\n",
    "tsv": b"label\ttext\ngood\ta fine film\nbad\ta dull one\n",
    "ft": b"__label__good a fine film\n__label__bad a dull one\n",
    "txt": b"good\ta fine film\nbad\ta dull one\n",
}
CR = "CR line ends: lines must end with LF or CR LF"
FASTTEXT = "this looks like fastText lines: use --format fasttext"
JSON = "this looks like JSON lines: use --format jsonl"
CSV = "this looks like CSV: use --format csv"
NEAR = "label:weight is not supported (near '{\"text\":'); "
LONG = "expected a label of at most 1,024 bytes, found 1,025: is it a text?"

BAD_JSON = {  # the last line of a file: column, message
    "W01-in-a-string": (b'{"text": "a fi', 10, "truncated: expected '\"' at the end of this string, found none"),
    "W01-in-a-key": (b'{"text": "a", "la', 15, "truncated: expected '\"' at the end of this string, found none"),
    "W01-in-an-object": (
        b'{"text": "a", "label": "x"',
        27,
        "truncated: expected ',' or '}', found the end of the line",
    ),
    "W01-behind-a-comma": (
        b'{"text": "a",',
        14,
        "truncated: expected a key in double quotes, found the end of the line",
    ),
    "W02-text": (
        b'{"txt": "a", "label": "x"}',
        1,
        "expected a field 'text' in this line, found txt, label; did you mean 'txt'?",
    ),
    "W02-label": (
        b'{"text": "a", "Label": 1}',
        1,
        "expected a field 'label' in this line, found text, Label; did you mean 'Label'?",
    ),
    "W02-nothing": (b"{}", 1, "expected a field 'text' in this line, found none"),
    "W03-missing": (b'{"text": "a"}', 1, "expected a field 'label' in this line, found text"),
    "W03-null": (b'{"text": "a", "label": null}', 24, "expected a label in field 'label', found null"),
    "W03-array": (b'{"text": "a", "label": ["x"]}', 24, "expected a label in field 'label', found an array"),
    "W03-object": (b'{"text": "a", "label": {"x": 1}}', 24, "expected a label in field 'label', found an object"),
    "W03-empty": (b'{"text": "a", "label": ""}', 24, "expected a label in field 'label', found an empty text"),
    "W03-blank": (b'{"text": "a", "label": " \\n"}', 24, "expected a label in field 'label', found an empty text"),
    "W04-array": (b'{"text": ["a"], "label": "x"}', 10, "expected a text in field 'text', found an array"),
    "W04-object": (b'{"text": {"a": 1}, "label": "x"}', 10, "expected a text in field 'text', found an object"),
    "W05-escape": (
        b'{"text": "a\\x", "label": "x"}',
        12,
        "expected one of \" \\ / b f n r t u behind a backslash, found 'x'",
    ),
    "W05-digits": (
        b'{"text": "a\\u12g4", "label": "x"}',
        12,
        "expected four hexadecimal digits behind \\u, found '12g4'",
    ),
    "W06-high": (b'{"text": "a\\ud800", "label": "x"}', 12, "expected a pair of surrogates, found a lone \\ud800"),
    "W06-low": (b'{"text": "\\ude00\\ud83d", "label": "x"}', 11, "expected a pair of surrogates, found a lone \\ude00"),
    "W06-label": (b'{"text": "a", "label": "\\ud800"}', 25, "expected a pair of surrogates, found a lone \\ud800"),
    "W07-text": (b'{"text": "caf\xe9 noir", "label": "x"}', 14, "expected UTF-8, found byte 0xe9"),
    "W07-label": (b'{"text": "a", "label": "\xff"}', 25, "expected UTF-8, found byte 0xff"),
    "W07-overlong": (b'{"text": "\xc0\xaf", "label": "x"}', 11, "expected UTF-8, found byte 0xc0"),
    "W07-surrogate": (b'{"text": "\xed\xa0\x80", "label": "x"}', 11, "expected UTF-8, found byte 0xed"),
    "W08-text": (b'{"text": "a\0b", "label": "x"}', 12, "expected an escape, found the control character 0x00"),
    "W08-label": (
        b'{"text": "a", "label": "a\\u0000"}',
        1,
        "expected a label of text, found a NUL byte in it (near 'a\\x00')",
    ),
    "W09-two": (b'{"text": "a", "label": 1} {}', 27, "expected the end of the line behind an object, found '{'"),
    "W09-comma": (b'{"text": "a", "label": 1,}', 26, "expected a key in double quotes, found '}'"),
    "W09-quotes": (b"{'text': 'a', 'label': 1}", 2, 'expected a key in double quotes, found "\'"'),
    "W09-NaN": (b'{"text": "a", "label": NaN}', 24, "expected a number or null, found NaN, which is not JSON"),
    "W09-number": (b"12", 1, "expected an object, '{...}', found '1'"),
    "W09-deep": (
        b'{"x": ' + b"[" * 300 + b"]" * 300 + b"}",
        262,
        "expected at most 256 objects and arrays in one another",
    ),
    "W17-label": (b'{"text": "a", "label": "' + b"x" * 1025 + b'"}', 25, LONG),
}
BAD_CSV = {
    "W10-open": (b'good,"a fine\nbad,a', 6, "expected a closing quote for this one, found none"),
    "W11-behind": (b'good,"a" b', 9, "expected ',' or a line end behind a closing quote, found ' '"),
    "W12-few": (b"good", 5, "expected 2 fields as in the header, found 1"),
    "W12-many": (b"good,a,b", 8, "expected 2 fields as in the header, found 3"),
    "W03-no-label": (b",a", 1, "expected a label in field 1, found nothing"),
    "W07-text": (b"good,a \xff", 8, "expected UTF-8, found byte 0xff"),
    "W07-label": (b"g\xff,a", 2, "expected UTF-8, found byte 0xff"),
    "W08-label": (b"go\0d,a", 1, "expected a label of text, found a NUL byte in it (near 'go\\x00d')"),
    "W17-label": (b"x" * 1025 + b",a", 1, LONG),
}
BAD_LINES = {
    "ft W03-none": (
        b"no label here",
        1,
        "expected a label, a word that begins with __label__, found none (near 'no label here')",
    ),
    "ft W03-two": (b"__label__a __label__b c", 12, "expected one label, found 2 (near '__label__b')"),
    "ft W07-text": (b"__label__good \xff", 15, "expected UTF-8, found byte 0xff"),
    "ft W07-label": (b"__label__\xff a", 10, "expected UTF-8, found byte 0xff"),
    "ft W08-label": (b"__label__go\0d a", 10, "expected a label of text, found a NUL byte in it (near 'go\\x00d')"),
    "ft W17-label": (b"__label__" + b"x" * 1025 + b" a", 10, LONG),
    "txt W03-none": (b"\ta text", 1, "expected a label before the tab, found nothing"),
    "txt W03-no-tab": (b"no tab", 1, f"{NO_TAB} (near 'no tab')"),
    "txt W07-text": (b"good\t\xff", 6, "expected UTF-8, found byte 0xff"),
    "txt W07-label": (b"g\xff\ta", 2, "expected UTF-8, found byte 0xff"),
    "txt W17-label": (b"x" * 1025 + b"\ta", 1, LONG),
    "tsv W12-many": (b"good\ta\tb", 8, "expected 2 fields as in the header, found 3"),
}
CASES = {
    **{f"jsonl {name}": case for name, case in BAD_JSON.items()},
    **{f"csv {name}": case for name, case in BAD_CSV.items()},
    **BAD_LINES,
}


@pytest.mark.parametrize("name", CASES)
def test_a_bad_record_is_refused_with_its_place(name, tmp_path, monkeypatch):
    suffix, _, _ = name.partition(" ")
    record, column, message = CASES[name]
    path = tmp_path / f"a.{suffix}"
    header = GOOD[suffix].splitlines(keepends=True)[0] if suffix in ("csv", "tsv") else b""
    body = GOOD[suffix].removeprefix(header)
    for copies, end, size in (
        (1, b"\n", 1 << 21),
        (1, b"", 1 << 21),
        (1, b"\r\n", 16),
        (40, b"\n", 16),
        (40, b"", 500),
    ):
        path.write_bytes(header + body * copies + record + end)
        line = 1 + len(header.splitlines()) + 2 * copies
        set_chunk_bytes(monkeypatch, size)
        for threads in (1, 4):
            with pytest.raises(DataError) as caught:
                package.train(path, classifier(), threads=threads)
            assert str(caught.value) == f"{path}:{line}:{column}: {message}"
            assert (caught.value.path, caught.value.line, caught.value.column) == (str(path), line, column)
    succeed("train", written(tmp_path / "b.jsonl", *documents(20)), "-m", tmp_path / "m.npz", "--quiet")
    before = (tmp_path / "m.npz").read_bytes()
    of_command = message.replace("`format='fasttext'`", "--format fasttext")
    assert fail("train", path, "-m", tmp_path / "m.npz") == f"cwlearn: error: {path}:{line}:{column}: {of_command}"
    assert (tmp_path / "m.npz").read_bytes() == before
    if not name.startswith(("ft W03", "txt W03", "csv W03", "jsonl W03", "jsonl W02-label")) and "label" not in name:
        packed = tmp_path / f"c.{suffix}.gz"
        packed.write_bytes(gzip.compress(path.read_bytes()))
        message = fail("predict", packed, "-m", tmp_path / "m.npz", "-o", tmp_path / "out")
        assert message.startswith(f"cwlearn: error: {packed}:{line}:{column}:")
        assert not (tmp_path / "out").exists()


GOOD_ANYWAY = {
    "W13-mark": lambda data: b"\xef\xbb\xbf" + data,
    "W14-CRLF": lambda data: data.replace(b"\n", b"\r\n"),
    "W16-no-line-end": lambda data: data.rstrip(b"\n"),
}


@pytest.mark.parametrize("suffix", GOOD)
@pytest.mark.parametrize("name", GOOD_ANYWAY)
def test_a_mark_and_other_line_ends_change_nothing(name, suffix, tmp_path):
    path = tmp_path / f"a.{suffix}"
    path.write_bytes(GOOD[suffix])
    expected = everything(package.train(path, classifier())._learner)
    path.write_bytes(GOOD_ANYWAY[name](GOOD[suffix]))
    assert everything(package.train(path, classifier())._learner) == expected
    if suffix != "txt":
        outcome = outcome_of("train", "-", "-m", tmp_path / "m.npz", "--quiet", input=path.read_bytes())
        assert outcome.status == 0, outcome.err


@pytest.mark.parametrize(("suffix", "column"), [("jsonl", 41), ("csv", 11), ("tsv", 11), ("ft", 27)])
def test_w15_line_ends_of_cr_only_are_named(suffix, column, tmp_path):
    path = tmp_path / f"a.{suffix}"
    path.write_bytes(GOOD[suffix].replace(b"\n", b"\r"))
    with pytest.raises(DataError) as caught:
        package.train(path, classifier())
    assert str(caught.value) == f"{path}:1:{column}: {CR}"


def test_w15_a_cr_within_a_line_belongs_to_the_text(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"good\ta fine\rfilm\nbad\ta dull one\n")
    expected = classifier().fit(["a fine\rfilm", "a dull one"], ["good", "bad"])
    assert everything(package.train(path, classifier())._learner) == everything(expected._learner)


@pytest.mark.parametrize(
    ("name", "data"),
    [("a.jsonl", b""), ("a.csv", b""), ("a.ft", b""), ("a.txt", b""), ("b.jsonl", b"\n \r\n\n"), ("b.ft", b" \n\n")],
)
def test_w16_files_without_records(name, data, tmp_path):
    path = tmp_path / name
    path.write_bytes(data)
    assert fail("train", path, "-m", tmp_path / "m.npz") == f"cwlearn: error: {path}: no examples"
    model = tmp_path / "n.npz"
    succeed("train", written(tmp_path / "c.jsonl", *documents(20)), "-m", model, "--quiet")
    if not name.endswith("txt"):  # an empty file without a format is svmlight
        assert succeed("predict", path, "-m", model).out == ""
        assert fail("evaluate", path, "-m", model) == f"cwlearn: error: {path}: no examples"
    other = written(tmp_path / "d.jsonl", *documents(30))
    if name.endswith("jsonl"):
        assert everything(trained(path, other, "--epochs", 1)) == everything(trained(other, "--epochs", 1))


def test_w16_a_file_with_a_header_only_has_no_examples(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b"label,text\n")
    assert fail("train", path, "-m", tmp_path / "m.npz") == f"cwlearn: error: {path}: no examples"


def test_w18_a_long_document_takes_memory_in_proportion(tmp_path, monkeypatch):
    """The text is there a few times: in the chunk, in the scratch, and as bytes."""
    size = 20 << 20
    path = tmp_path / "a.jsonl.gz"
    long = json.dumps({"text": "word " * (size // 5), "label": "bad"}).encode()
    path.write_bytes(gzip.compress(GOOD["jsonl"] + long + b"\n" + GOOD["jsonl"], 1))
    tracemalloc.start()
    try:
        model = package.train(path, classifier(), threads=1)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert model._learner.statistics["rows"] == 5
    assert peak < 12 * size
    with pytest.raises(DataError) as caught:
        package.train(path, classifier(), max_line=1 << 20)
    assert str(caught.value) == f"{path}:3: line longer than 1048576 bytes (`max_line`)"


def test_w18_a_quote_that_never_closes_is_found_in_bounded_memory(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(GOOD["csv"] + b'good,"' + b"a word,\n" * (1 << 20))
    with pytest.raises(DataError) as caught:
        package.train(path, classifier())
    assert str(caught.value) == f"{path}:4:6: expected a closing quote for this one, found none"
    with pytest.raises(DataError, match=r"a\.csv:4: line longer than 1048576 bytes"):
        package.train(path, classifier(), max_line=1 << 20)


def test_w19_many_labels(tmp_path):
    labels = [f"label {number:05}" for number in range(5000)]
    texts = [f"word{number}" for number in range(5000)]
    path = tmp_path / "a.jsonl"
    path.write_text(jsonl(texts, labels))
    outcome = succeed(
        "train", path, "-m", tmp_path / "m.npz", "--epochs", 1, "-a", "pa", "--hash-bits", 4, "--names", 0
    )
    assert "5,000 labels in 5,000 rows: are they classes?" in outcome.err
    assert model_file.load(tmp_path / "m.npz").classes.tolist() == labels


def test_w20_another_header_in_the_second_file_is_refused(tmp_path):
    a, b = tmp_path / "a.csv", tmp_path / "b.csv"
    a.write_bytes(GOOD["csv"])
    b.write_bytes(b"text,label\na,good\n")
    message = fail("train", a, b, "-m", tmp_path / "m.npz")
    assert (
        message == f"cwlearn: error: {b}:1:1: expected the header of the first file, 'label,text', found 'text,label'"
    )
    b.write_bytes(GOOD["csv"].replace(b"\n", b"\r\n"))
    assert succeed("train", a, b, "-m", tmp_path / "m.npz", "--json").json["rows"] == 4


@pytest.mark.parametrize(
    ("suffix", "data", "message"),
    [
        ("jsonl", GOOD["csv"], "1:1: expected an object, '{...}', found 'l'; this looks like CSV: use --format csv"),
        ("jsonl", GOOD["tsv"], "1:1: expected an object, '{...}', found 'l'; this looks like TSV: use --format tsv"),
        ("jsonl", GOOD["ft"], "1:1: expected an object, '{...}', found '_'; " + FASTTEXT),
        (
            "jsonl",
            b"1 1:1\n-1 2:1\n",
            "1:1: expected an object, '{...}', found '1'; this looks like svmlight text: use --format svmlight",
        ),
        (
            "jsonl",
            b"1 |f a b\n-1 |f c\n",
            "1:1: expected an object, '{...}', found '1'; this looks like Vowpal Wabbit: use --format vw",
        ),
        (
            "csv",
            GOOD["ft"],
            "1:1: expected a field 'label' in the header, found __label__good a fine film; " + FASTTEXT,
        ),
        (
            "csv",
            GOOD["jsonl"],
            '1:1: expected a field \'label\' in the header, found {"text": "a fine film",  "label": "good"}; ' + JSON,
        ),
        (
            "ft",
            GOOD["csv"],
            "1:1: expected a label, a word that begins with __label__, found none (near 'label,text'); " + CSV,
        ),
        (
            "svm",
            GOOD["jsonl"],
            "1:1: missing label (only the command `cwlearn predict` takes such lines, with --no-labels); "
            + NEAR
            + JSON,
        ),
    ],
)
def test_w21_a_wrong_format_is_recognised_and_named(suffix, data, message, tmp_path):
    path = tmp_path / f"a.{suffix}"
    path.write_bytes(data)
    assert fail("train", path, "-m", tmp_path / "m.npz") == f"cwlearn: error: {path}:{message}"


def test_w21_the_format_that_is_named_reads_the_file(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(GOOD["jsonl"])
    assert succeed("train", path, "-m", tmp_path / "m.npz", "--format", "jsonl", "--json").json["rows"] == 2


@pytest.mark.parametrize(
    ("header", "words", "message"),
    [
        ("label,txet", [], "1:1: expected a field 'text' in the header, found label, txet; did you mean 'txet'?"),
        ("text,text", [], "1:1: expected a field 'label' in the header, found text, text"),
        ("label,text", ["--label", "class"], "1:1: expected a field 'class' in the header, found label, text"),
        ("text,text", ["--label", "text"], "1:1: expected one field 'text' in the header, found 2"),
        (
            "label,text",
            ["--text", "label"],
            "1:1: expected different fields for --label and --text, found the same one twice",
        ),
        ('label,"text', [], "1:7: expected a closing quote for this one, found none"),
        ("a,b", ["--no-header"], "1:1: expected a field 'label' in the first line, found 1, 2"),
        (
            "good,a fine film",
            [],
            "1:1: expected a field 'label' in the header, found good, a fine film; if the first line is no "
            "header, give --no-header, and numbers of columns as --text and --label",
        ),
    ],
)
def test_w22_a_header_without_the_fields_is_refused(header, words, message, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(f"{header}\ngood,a fine film\nbad,a dull one\n")
    assert fail("train", path, "-m", tmp_path / "m.npz", *words) == f"cwlearn: error: {path}:{message}"


def test_w23_values_that_are_no_strings(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": 1999, "label": 1}\n{"text": null, "label": 2.50}\n{"text": true, "label": false}\n')
    expected = classifier().fit(["1999", "", "true"], ["1", "2.50", "false"])
    assert everything(package.train(path, classifier())._learner) == everything(expected._learner)
    path.write_text('{"text": "a b", "label": "x", "label": "y"}\n{"text": "cd", "text": "ef gh", "label": "x"}\n')
    model = package.train(path, classifier())
    assert model.classes_.tolist() == ["x", "y"]  # of two members with the same key the last one counts


def test_w24_documents_for_a_regression(tmp_path):
    texts, _ = documents(40)
    path = written(tmp_path / "a.jsonl", texts, [str(1.5 * number) for number in range(40)])
    succeed("train", path, "-m", tmp_path / "m.npz", "--task", "regression", "--quiet")
    predictions = succeed("predict", path, "-m", tmp_path / "m.npz").out.split()
    assert len([float(number) for number in predictions]) == 40
    path.write_bytes(GOOD["jsonl"])
    message = fail("train", path, "-m", tmp_path / "n.npz", "--task", "regression")
    assert message == f"cwlearn: error: {path}:1: target good is not a number"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--hash-bits", 31], "--hash-bits must be an integer from 1 to 30, got 31"),
        (["--ngrams", "3,1"], "--ngrams: must be two integers with 1 <= low <= high <= 64, got '3,1'"),
        (["--format", "xml"], "--format: must be "),
        (
            ["--delimiter", "ab"],
            "--delimiter: must be none or one ASCII character that is no quote and no line end, got 'ab'",
        ),
        (["--weighting", "tf"], "--weighting: must be 'count' or 'binary' or 'log', got 'tf'"),
        (["--token-pattern", "x"], "--token-pattern: must be "),
        (["--text", ""], "--text: must be none or the name of a field, got ''"),
    ],
)
def test_w25_options_out_of_range_are_refused(words, message, tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(GOOD["csv"])
    outcome = fail("train", path, "-m", tmp_path / "m.npz", *words, status=1 if words[0] == "--hash-bits" else 2)
    assert re.search(re.escape(message), outcome), outcome
