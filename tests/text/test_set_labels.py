"""Text whose rows may have several labels: the same sets from every format, and the same model from any reading."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cwlearn.core import rules
from cwlearn.core.training import Training
from cwlearn.errors import DataError
from cwlearn.text._records import DONE as SPLIT
from cwlearn.text._svmlight import DONE, SETS
from cwlearn.text.batch import Buffers, unfit_labels
from cwlearn.text.chunks import Chunk
from cwlearn.text.json_errors import LABELS, find_json_flaw, json_field_flaw
from cwlearn.text.reader import Reading
from cwlearn.text.records import Fields, JsonLines
from cwlearn.text.resources import Resources
from cwlearn.text.run import Run
from cwlearn.text.set_labels import SetLabels
from cwlearn.text.sources import Source
from cwlearn.text.svmlight_errors import Grammar, find_flaw
from tests.core.test_multilabel import numbers
from tests.text.test_svmlight import parse

TEXTS = ["good film here", "bad film", "nothing at all", "film good", "good and bad", "here"]
SETS_OF_TEXTS = [["a", "b"], ["b"], [], ["a"], ["c", "a", "b"], ["c"]]


ONE_PASS = (rules.AROW(), Training(epochs=1, shuffle=False))


def written(path, text):
    path.write_bytes(text)
    return path


def as_jsonl(texts, sets):
    return b"".join(json.dumps({"text": t, "label": s}).encode() + b"\n" for t, s in zip(texts, sets, strict=True))


def as_fasttext(texts, sets):
    lines = (
        " ".join([*(f"__label__{label}" for label in labels), text]) for text, labels in zip(texts, sets, strict=True)
    )
    return "".join(f"{line}\n" for line in lines).encode()


def as_csv(texts, sets):
    return "".join(["text,label\n", *(f'{t},"{", ".join(s)}"\n' for t, s in zip(texts, sets, strict=True))]).encode()


def as_tabbed(texts, sets):
    return "".join(f"{','.join(s)}\t{t}\n" for t, s in zip(texts, sets, strict=True)).encode()


FORMATS = {"jsonl": as_jsonl, "fasttext": as_fasttext, "csv": as_csv, "text": as_tabbed}


def trained(path, training=None, labels=None, **options):
    labels = SetLabels() if labels is None else labels
    run = Run([path], rules.AROW(), training or Training(epochs=2, random_state=3), labels=labels, **options)
    return run.train()


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_of_documents_gives_the_same_model(format, tmp_path):
    path = written(tmp_path / "a", FORMATS[format](TEXTS, SETS_OF_TEXTS))
    learner = trained(path, reading=Reading(format=format))
    other = trained(written(tmp_path / "b", as_jsonl(TEXTS, SETS_OF_TEXTS)), reading=Reading(format="jsonl"))
    assert learner.multilabel
    assert learner.label_names == ["a", "b", "c"]
    assert numbers(learner) == numbers(other)


def as_vw(sets):
    """Lines with and without labels, an importance and a tag, as Vowpal Wabbit's multilabel_oaa takes them."""
    heads = (",".join(labels) + (" 2 'tag" if labels and row % 3 == 1 else "") for row, labels in enumerate(sets))
    lines = (f"{head} |n {text} w:0.5\n" for head, text in zip(heads, TEXTS, strict=True))
    return "".join(lines).encode()


def test_each_label_of_vowpal_wabbit_lines_is_learned_as_a_label_alone_is(tmp_path):
    learner = trained(written(tmp_path / "a", 4 * as_vw(SETS_OF_TEXTS)), reading=Reading(format="vw"))
    assert learner.label_names == ["a", "b", "c"]
    for number, label in enumerate(learner.label_names):
        heads = [["1" if label in labels else "0"] for labels in SETS_OF_TEXTS]
        lines = 4 * as_vw(heads)
        alone = Run(
            [written(tmp_path / label, lines)], rules.AROW(), Training(epochs=2, random_state=3), Reading(format="vw")
        ).train()
        assert np.array_equal(learner.state.cells[:, :, number], alone.state.cells)


def svmlight(n_rows=300, n_labels=12, seed=0):
    """Lines of rows whose labels depend on their features; the last label first comes late."""
    rng = np.random.default_rng(seed)
    weights = rng.standard_normal((40, n_labels))
    lines = []
    for row in range(n_rows):
        columns = np.sort(rng.choice(40, 6, replace=False))
        has = np.flatnonzero(weights[columns].sum(axis=0) > 1.5)
        labels = [label for label in has if label < n_labels - 1 or row > n_rows // 2]
        entries = " ".join(f"{column}:{1 + column % 3}" for column in columns)
        lines.append(f"{','.join(map(str, rng.permutation(labels)))} {entries}\n")
    return "".join(lines).encode()


@pytest.mark.parametrize("training", [Training(epochs=1, shuffle=False), Training(epochs=3, random_state=1)])
def test_chunks_and_threads_do_not_matter(training, tmp_path):
    path = written(tmp_path / "a", svmlight())
    models = [
        numbers(trained(path, training, chunk_bytes=size, resources=Resources(threads=threads, memory=memory)))
        for size, threads, memory in ((1 << 20, 1, None), (100, 1, None), (300, 3, None), (1 << 20, 2, None))
    ]
    assert len({*models}) == 1


def test_rows_in_a_file_are_learned_like_rows_in_memory(tmp_path):
    """Without a shuffle the order is the same."""
    path = written(tmp_path / "a", svmlight(600))
    training = Training(epochs=2, shuffle=False)
    in_memory = trained(path, training)
    in_file = trained(path, training, resources=Resources(n_features=40, memory=20_000), chunk_bytes=1000)
    assert numbers(in_memory) == numbers(in_file)


def test_whole_numbers_are_sorted_as_such_and_other_labels_as_texts(tmp_path):
    learner = trained(written(tmp_path / "a", b"10,2 1:1\n-1 2:1\n"))
    assert learner.classes.tolist() == [-1, 2, 10]
    assert learner.label_names == ["-1", "2", "10"]
    learner = trained(written(tmp_path / "b", b"10,2 1:1\n01 2:1\n"))
    assert learner.classes.tolist() == ["01", "10", "2"]


def test_a_label_that_the_model_does_not_have_is_refused_with_its_line(tmp_path):
    path = written(tmp_path / "a", b"1 1:1\n 1:1\n2,7 2:1\n")
    with pytest.raises(DataError, match=r"a:3: label 7 is not one of the labels 1, 2"):
        trained(path, labels=SetLabels({1.0: "1", 2.0: "2"}))


def test_a_text_without_any_label_teaches_nothing(tmp_path):
    with pytest.raises(DataError, match="no row has a label"):
        trained(written(tmp_path / "a", b"1:1\n2:1\n"))


TOKENS = st.sampled_from(
    [b"1", b"a", b",", b":", b"1:1", b"2:0.5", b"qid:3", b" ", b" ", b"\xc3\xa9", b"\xff", b"\x01", b"#", b"\t"]
)


@settings(max_examples=200, deadline=None)
@given(st.lists(TOKENS, max_size=9).map(b"".join))
def test_a_line_has_a_flaw_if_and_only_if_the_parser_refuses_it(line):
    found = parse(line + b"\n", labelled=SETS)
    flaw = find_flaw(line + b"\n", Grammar(SETS))
    assert (found.status == DONE) == (flaw is None), flaw
    if flaw is None and len(found.places):
        start, stop = found.label_starts[0] - 64, found.label_stops[0] - 64
        first = line.partition(b"#")[0].split()[0]
        assert line[start:stop] == (b"" if b":" in first else first)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(["a", "é", "", " ", "a\0b", "\ud800", "x" * 1100]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=5,
)


@settings(max_examples=150, deadline=None)
@given(VALUES)
def test_a_json_label_has_a_flaw_if_and_only_if_the_splitter_refuses_it(value):
    line = json.dumps({"text": "x", "label": value}).encode()
    format = JsonLines(True, "label", ("text",), multilabel=True)
    chunk = Chunk.of_lines(line + b"\n", Source("-"))
    fields = Fields.of(Buffers(chunk.text), format.n_fields, chunk.size, 1)
    status, n_records, *_ = format.split(fields, chunk, chunk.start, 0, 0)
    flaw = find_json_flaw(line, ("label", "text"))
    assert (status == SPLIT) == (flaw is None)
    if flaw is not None:
        return
    assert n_records == 1
    assert bool(format.missing(fields)[0]) == (json_field_flaw(line, "label", LABELS) is not None)
    if not format.missing(fields)[0] and value not in (None, []):
        labels = value if isinstance(value, list) else [value]
        span = fields.scratch[fields.starts[0, 0] : fields.stops[0, 0]].tobytes()
        written = [json.dumps(label) if not isinstance(label, str) else label for label in labels]
        assert span.decode().split("\0") == written
        unfit = unfit_labels(fields.scratch, fields.starts[0], fields.stops[0], "\0")
        assert unfit[0] == any(not label.strip() or len(label.encode()) > 1024 for label in written)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.svm", b"1,,2 1:1\n", "a.svm:1:3: expected labels with commas between them, found a comma without a label"),
        ("a.svm", b"1, 1:1\n", "a.svm:1:3: expected labels with commas between them, found a comma without a label"),
        ("a.svm", b"1 1:1\n,2:1\n", "a.svm:2:1: index is not an integer"),
        ("a.jsonl", b'{"text": "x", "label": [["a"]]}\n', "expected a label, or a list of texts and numbers, in field"),
        ("a.jsonl", b'{"text": "x", "label": ""}\n', "in field 'label', found an empty text"),
        ("a.jsonl", b'{"text": "x", "label": {"a": 1}}\n', "in field 'label', found an object"),
        ("a.jsonl", b'{"text": "x", "labels": ["a"]}\n', "did you mean 'labels'"),
        ("a.csv", b'text,label\nx,"a,,b"\n', "a.csv:2:1: expected a label, found nothing"),
        ("a.ft", b"__label__a __label__ x\n", "a.ft:1:1: expected a label, found nothing"),
        ("a.ft", b"__label__ __label__a x\n", "a.ft:1:1: expected a label, found nothing"),
        ("a.ft", b"x\n__label__ x\n", "a.ft:2:1: expected a label, found nothing"),
        ("a.ft", b"__label__ x __label__\n", "a.ft:1:1: expected a label, found nothing"),
        ("a.vw", b"1 | a\n1,,3 | a\n", "a.vw:2:1: expected a label, found nothing"),
        ("a.vw", b"1, | a\n", "a.vw:1:1: expected a label, found nothing"),
    ],
)
def test_odd_labels_are_refused_with_their_place(name, text, message, tmp_path):
    format = {"ft": "fasttext", "vw": "vw"}.get(name[2:], "auto")
    with pytest.raises(DataError, match=message.replace("[", r"\[")):
        trained(written(tmp_path / name, text), reading=Reading(format=format))


def test_odd_labels_can_be_skipped(tmp_path):
    path = written(tmp_path / "a.svm", b"1,2 1:1\n1,,2 1:1\n2 2:1\n 3:1\n")
    run = Run([path], *ONE_PASS, reading=Reading(on_bad_line="skip"), labels=SetLabels())
    assert run.train().label_names == ["1", "2"]
    assert (run.rows, run.bad_lines) == (3, 1)
