"""Parquet files: the model of the same documents in JSON, and errors that name the row."""

from __future__ import annotations

import json
import sys
import tracemalloc

import numpy as np
import pytest

from cwlearn.core import model_file
from cwlearn.core.text_options import TextOptions
from cwlearn.errors import DataError
from cwlearn.text import formats
from cwlearn.text.parquet import ParquetText
from cwlearn.text.reader import Reader, Reading
from tests.text_cases import bits, fail, succeed

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

TEXTS = ['a "quoted" fine\nfilm, new', "dull\r\nand long", "été 日本", "", "fine, fine"]


def documents(n=3000):
    return [
        {"text": f"{TEXTS[k % 5]} w{k % 97}", "label": ("good", "bad")[k % 2], "x": k / 7, "other": [k]}
        for k in range(n)
    ]


def write(path, rows, **options):
    parquet.write_table(pyarrow.Table.from_pylist(rows), path, **options)
    return path


@pytest.fixture
def path(tmp_path):
    return write(tmp_path / "a.parquet", documents(), row_group_size=700)


@pytest.mark.parametrize("name", ["a.parquet", "table"])
def test_the_model_is_that_of_the_same_documents_in_json(tmp_path, name):
    path, lines = write(tmp_path / name, documents()), tmp_path / "a.jsonl"
    lines.write_text("".join(json.dumps(row) + "\n" for row in documents()))
    for more in (["--epochs", 1], ["--epochs", 3, "--fields", "x"]):
        succeed("train", path, "-m", tmp_path / "p.npz", *more)
        succeed("train", lines, "-m", tmp_path / "j.npz", *more)
        one, other = (model_file.load(tmp_path / model) for model in ("p.npz", "j.npz"))
        assert bits(one) == bits(other)
        assert one.words == other.words
        assert (
            succeed("predict", path, "-m", tmp_path / "p.npz").out
            == succeed("predict", lines, "-m", tmp_path / "p.npz").out
        )


def test_other_types_become_text(tmp_path):
    rows = documents(200)
    table = pyarrow.Table.from_pylist(rows)
    encoded = table.set_column(1, "label", table["label"].dictionary_encode())
    encoded = encoded.set_column(0, "text", encoded["text"].cast(pyarrow.large_string()))
    parquet.write_table(encoded, tmp_path / "a.parquet")
    (batch,) = Reader(tmp_path / "a.parquet", documents=TextOptions())
    assert batch.rows.n_rows == 200
    assert batch.label_names == ["good", "bad"]
    numbers = [{"text": "a", "label": k} for k in range(3)]
    (batch,) = Reader(write(tmp_path / "b.parquet", numbers), documents=TextOptions())
    assert batch.label_names == ["0", "1", "2"]


def test_a_null_text_is_an_empty_one_and_a_null_label_is_an_error(tmp_path):
    rows = documents(2500)
    rows[3]["text"] = rows[2000]["label"] = None
    path = write(tmp_path / "a.parquet", rows, row_group_size=100)
    for chunk_bytes in (300, 1 << 20):
        with pytest.raises(DataError, match=r"a\.parquet: row 2001: expected a label in field 1, found nothing$"):
            list(Reader(path, documents=TextOptions(), chunk_bytes=chunk_bytes))
        skipped = []
        reading = Reading(on_bad_line="skip")
        reader = Reader(path, reading, documents=TextOptions(), chunk_bytes=chunk_bytes, on_skipped=skipped.append)
        assert sum(batch.rows.n_rows for batch in reader) == 2499
        assert [str(flaw).partition("row ")[2][:5] for flaw in skipped] == ["2001:"]
    only_text = Reader(path, documents=TextOptions(), needs_labels=False)
    assert sum(batch.rows.n_rows for batch in only_text) == 2500


def test_a_label_that_the_model_lacks_is_named_with_its_row(tmp_path, path):
    succeed("train", path, "-m", tmp_path / "m.npz")
    rows = documents(2500)
    rows[1777]["label"] = "ugly"
    other = write(tmp_path / "b.parquet", rows)
    assert "b.parquet: row 1778: label ugly is not one of the labels" in fail(
        "evaluate", other, "-m", tmp_path / "m.npz"
    )


def test_files_that_cannot_be_read(tmp_path, path):
    model = tmp_path / "m.npz"
    assert "a.parquet: expected a field 'txt' in the file, found text, label" in fail(
        "train", path, "-m", model, "--text", "txt"
    )
    assert "expected texts, numbers or booleans in field 'other', found list<" in fail(
        "train", path, "-m", model, "--fields", "other"
    )
    (tmp_path / "b.parquet").write_text("nothing")
    assert "expected Parquet data, which begin with PAR1" in fail("train", tmp_path / "b.parquet", "-m", model)
    (tmp_path / "c.parquet").write_bytes(path.read_bytes()[:2000])
    assert "c.parquet: damaged Parquet data: " in fail("train", tmp_path / "c.parquet", "-m", model)
    damaged = bytearray(path.read_bytes())
    damaged[200:1200] = bytes(1000)
    (tmp_path / "d.parquet").write_bytes(damaged)
    assert "d.parquet: damaged Parquet data" in fail("train", tmp_path / "d.parquet", "-m", model)
    (tmp_path / "a.svm").write_text("1 1:1\n-1 2:1\n")
    succeed("train", tmp_path / "a.svm", "-m", model)
    assert "a.parquet: documents (Parquet), expected rows of numbers" in fail("predict", path, "-m", model)


def test_without_pyarrow_there_is_one_kind_sentence(tmp_path, path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    message = fail("train", path, "-m", tmp_path / "m.npz")
    assert "Parquet data: reading them needs the package pyarrow (pip install 'cwlearn[parquet]')" in message


def test_memory_does_not_grow_with_the_file(tmp_path):
    text = pyarrow.array(["word " * 400] * 20_000)
    table = pyarrow.table({"text": text, "label": pyarrow.array(np.arange(20_000) % 2)})
    parquet.write_table(table, tmp_path / "a.parquet", row_group_size=1000, use_dictionary=False)
    del table, text
    before = pyarrow.total_allocated_bytes()
    most = 0
    tracemalloc.start()
    for _ in Reader(tmp_path / "a.parquet", documents=TextOptions(), threads=1):
        most = max(most, pyarrow.total_allocated_bytes() - before)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 16e6  # of 40 MB of text
    assert peak < 60e6


def test_a_dot_leads_into_a_structure_as_in_json(tmp_path):
    rows = [
        {
            "meta": {"body": {"text": row["text"]}, "class": row["label"]},
            "lang": {"code": [None, "en", "de"][number % 3]},
        }
        for number, row in enumerate(documents(300))
    ]
    rows[4]["lang"] = None
    lines = tmp_path / "a.jsonl"
    lines.write_text("".join(json.dumps(row) + "\n" for row in rows))
    models = []
    for data in (write(tmp_path / "a.parquet", rows), lines):
        models.append(tmp_path / f"{data.name}.npz")
        names = ("--text", "meta.body.text", "--label", "meta.class", "--fields", "lang.code")
        succeed("train", data, "-m", models[-1], *names)
    one, other = map(model_file.load, models)
    assert bits(one) == bits(other)


def test_w28_a_structure_is_no_text_and_a_wrong_field_of_it_gets_a_hint(tmp_path):
    rows = [{"text": "a", "label": "b", "meta": {"lang": "en"}}, {"text": "c", "label": "d", "meta": {"lang": "de"}}]
    path, model = write(tmp_path / "a.parquet", rows), tmp_path / "m.npz"
    message = fail("train", path, "-m", model, "--fields", "meta")
    assert "expected texts, numbers or booleans in field 'meta', found struct<lang: " in message
    message = fail("train", path, "-m", model, "--fields", "meta.lag")
    assert (
        "expected a field 'meta.lag' in the file, found text, label, meta, meta.lang; did you mean 'meta.lang'?"
        in message
    )


def test_a_table_is_known_by_its_first_bytes_whatever_its_name(path, tmp_path):
    unnamed = path.rename(tmp_path / "table")
    (first, *_) = Reader(str(unnamed), documents=TextOptions(), hash_bits=10)
    assert first.parser.name == "parquet"
    assert formats.detect(b"PAR1\x15") == "parquet"


@pytest.mark.parametrize("kind", [pyarrow.string(), pyarrow.large_string()], ids=str)
@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("coded", [False, True])  # in memory, too, when it was written
def test_x08_a_text_that_is_stored_once_and_repeated_takes_the_memory_of_a_few(kind, nested, coded, tmp_path):
    """A thousand rows of a hundred kilobytes each, in a few kilobytes, between rows of usual length."""
    codes, known = [0, None, *[1] * 1000, 2, 0], ["a b", "x" * 100_000, "é"]
    column = pyarrow.DictionaryArray.from_arrays(pyarrow.array(codes), pyarrow.array(known, kind))
    column = column if coded else column.cast(kind)
    column = pyarrow.StructArray.from_arrays([column], ["body"]) if nested else column
    parquet.write_table(pyarrow.table({"text": column}), tmp_path / "a.parquet", compression="zstd")
    assert (tmp_path / "a.parquet").stat().st_size < 10_000
    del column
    pool = pyarrow.default_memory_pool()
    buffer, found, before, most = bytearray(1 << 16), bytearray(), pool.bytes_allocated(), 0
    names = ["text.body" if nested else "text"]
    with open(tmp_path / "a.parquet", "rb", buffering=0) as raw, ParquetText(raw, names, "a.parquet") as text:
        while done := text.readinto(buffer):
            found += buffer[:done]
            most = max(most, pool.bytes_allocated() - before)
    expected = "".join(f'"{"" if code is None else known[code]}"\n' for code in codes)
    assert found.decode().partition("\n")[2] == expected
    assert most < 25 << 20
