"""Further fields of documents as features: the same in JSON, CSV and Parquet, beside the weighed text."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.feature_extraction import FeatureHasher

import cwlearn as package
from cwlearn.core import model_file, rules
from cwlearn.core.frequencies import Frequencies
from cwlearn.core.rows import as_rows
from cwlearn.core.text_options import TextOptions
from cwlearn.core.training import Training
from cwlearn.errors import DataError
from cwlearn.text.batch import Buffers
from cwlearn.text.hashing import Hasher, documents_of, settings_of
from cwlearn.text.reader import Reader, Reading
from cwlearn.text.resources import Resources
from cwlearn.text.run import Run
from tests.text_cases import bits, fail, succeed

BITS = 8  # few, so that words and fields meet in one column
NAMES = ("stars", "lang", "seen")


def records(n=200, seed=0):
    random = np.random.RandomState(seed)
    words = [f"word{k}" for k in range(30)]
    for _ in range(n):
        label = ("good", "bad")[random.randint(2)]
        stars = [None, 0, 5, round(random.randn(), 4), -1e-3][random.randint(5)]
        lang = [None, "en", 'a "b"', "1e5x", "été"][random.randint(5)]
        seen = [None, True, False][random.randint(3)]
        text = " ".join(random.choice(words, random.randint(8)))
        yield {"text": text, "label": label, "stars": stars, "lang": lang, "seen": seen}


def write(folder, format, rows):
    rows = list(rows)
    path = folder / f"a.{format}"
    if format == "parquet":
        pyarrow = pytest.importorskip("pyarrow")
        from pyarrow import parquet

        parquet.write_table(pyarrow.Table.from_pylist(rows), path, row_group_size=70)
    elif format == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        with open(path, "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(rows[0])
            for row in rows:
                cells = [str(cell).lower() if isinstance(cell, bool) else cell for cell in row.values()]
                writer.writerow(cells)
    return path


def expected(rows, options, dtype="float64"):
    """Rows made slowly: the text by the hasher, weighed, and then the fields by scikit-learn's hasher."""
    rows = list(rows)
    hashed = Hasher(settings_of(options, BITS)).rows(documents_of([row["text"] for row in rows]), Buffers(np.empty(0)))
    text = csr_matrix((hashed.values, hashed.indices, hashed.indptr), (len(rows), 1 << BITS))
    frequencies = None
    if options.idf:
        frequencies = Frequencies(1 << BITS, options.norm)
        checked = as_rows(text, np.dtype("float64"))
        frequencies.count(checked)
        text.data = frequencies.weigh(checked).values
    features = [
        {
            (
                name
                if isinstance(row[name], float | int) and not isinstance(row[name], bool)
                else _name(name, row[name])
            ): (float(row[name]) if isinstance(row[name], float | int) and not isinstance(row[name], bool) else 1.0)
            for name in NAMES
            if row[name] is not None
        }
        for row in rows
    ]
    return text + FeatureHasher(1 << BITS, alternate_sign=False).transform(features), frequencies


def _name(field, value):
    return f"{field}={str(value).lower() if isinstance(value, bool) else value}"


@pytest.mark.parametrize("chunk_bytes", [200, 1 << 20])
@pytest.mark.parametrize("options", [TextOptions(), TextOptions(idf=False), TextOptions(norm=None, weighting="count")])
@pytest.mark.parametrize("format", ["jsonl", "csv", "parquet"])
def test_fields_are_added_to_the_weighed_text(tmp_path, format, options, chunk_bytes):
    path = write(tmp_path, format, records())
    X, frequencies = expected(records(), options)
    counted = Frequencies(1 << BITS, options.norm)
    reader = Reader(
        path, Reading(fields=NAMES), dtype="float64", hash_bits=BITS, documents=options, chunk_bytes=chunk_bytes
    )
    if options.idf:
        for batch in reader:
            counted.count(batch.rows)
        assert counted.counts.tolist() == frequencies.counts.tolist()
        assert counted.n_documents == frequencies.n_documents == 200
    at = 0
    for batch in reader:
        rows = counted.weigh(batch.rows) if options.idf else batch.rows
        assert rows.extras is None
        assert (batch.rows.extras is not None) == options.idf
        found = csr_matrix((rows.values, rows.indices, rows.indptr), (rows.n_rows, 1 << BITS))
        np.testing.assert_allclose(found.toarray(), X[at : at + rows.n_rows].toarray(), rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(rows.squares, np.asarray(found.multiply(found).sum(axis=1)).ravel(), rtol=1e-12)
        assert all((np.diff(found[row].indices) > 0).all() for row in range(rows.n_rows))
        at += rows.n_rows
    assert at == 200


def trained(path, memory=None, chunk_bytes=1 << 20, **training):
    return Run(
        path,
        rules.AROW(),
        Training(**{"shuffle": False, **training}),
        Reading(fields=NAMES),
        Resources(hash_bits=BITS, memory=memory),
        chunk_bytes=chunk_bytes,
    ).train()


@pytest.mark.parametrize("epochs", [1, 3])
def test_all_formats_and_stores_give_the_same_model(tmp_path, epochs):
    path = write(tmp_path, "jsonl", records())
    first = trained(path, epochs=epochs)
    assert bits(trained(write(tmp_path, "csv", records()), epochs=epochs)) == bits(first)
    for memory, chunk_bytes in ((None, 100), (6000, 300)):
        other = trained(path, epochs=epochs, memory=memory, chunk_bytes=chunk_bytes)
        assert bits(other) == bits(first)
        assert other.frequencies.counts.tolist() == first.frequencies.counts.tolist()


def test_a_model_keeps_its_fields_and_their_names(tmp_path):
    rows = [{f"my {name}": value for name, value in row.items()} for row in records()]
    path, model = tmp_path / "a.jsonl", tmp_path / "m.npz"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    flags = ["--text", "my text", "--label", "my label", "--fields", "my stars,my lang"]
    succeed("train", path, "-m", model, *flags, "--epochs", 1)
    learner = model_file.load(model)
    assert (learner.documents.text, learner.documents.label) == ("my text", "my label")
    assert learner.documents.fields == ("my stars", "my lang")
    names = {name for names in learner.words.values() for name in names}
    assert {"my stars", "my lang=en", "word3"} <= names
    succeed("evaluate", path, "-m", model)
    assert len(succeed("predict", path, "-m", model).out.split()) == 200
    succeed("train", path, "-m", tmp_path / "n.npz", "--resume", model)
    both = trained_twice(path, flags, tmp_path)
    assert bits(model_file.load(tmp_path / "n.npz")) == bits(both)
    assert "--fields of the model are my stars, my lang, not my lang" in fail(
        "predict", path, "-m", model, "--fields", "my lang", status=2
    )
    assert "--fields my stars,my lang, not my lang" in fail(
        "train", path, "-m", model, "--resume", model, "--fields", "my lang", status=1
    )


def trained_twice(path, flags, folder):
    succeed("train", path, "-m", folder / "t.npz", *flags, "--epochs", 1)
    succeed("train", path, "-m", folder / "t.npz", *flags, "--resume", folder / "t.npz")
    return model_file.load(folder / "t.npz")


def test_names_that_are_given_override_those_of_the_model(tmp_path):
    path, other, model = tmp_path / "a.jsonl", tmp_path / "b.jsonl", tmp_path / "m.npz"
    path.write_text('{"body": "fine", "y": "p"}\n{"body": "dull", "y": "n"}\n')
    other.write_text('{"review": "fine"}\n')
    succeed("train", path, "-m", model, "--text", "body", "--label", "y")
    assert "expected a field 'body'" in fail("predict", other, "-m", model)
    assert succeed("predict", other, "-m", model, "--text", "review").out == "p\n"


def test_data_without_fields_are_refused(tmp_path):
    path, model = write(tmp_path, "jsonl", records()), tmp_path / "m.npz"
    succeed("train", path, "-m", model, "--fields", "stars,lang")
    (tmp_path / "a.ft").write_text("__label__good word1\n")
    assert "fastText lines have no fields, and stars, lang are wanted" in fail(
        "evaluate", tmp_path / "a.ft", "-m", model
    )
    (tmp_path / "b.csv").write_text("label,text,lang\ngood,word1,en\n")
    assert "expected a field 'stars' in the header" in fail("evaluate", tmp_path / "b.csv", "-m", model)
    texts = package.load(model)
    with pytest.raises(
        ValueError, match="record 0: expected a dictionary with the fields text, stars, lang, got 'word1'"
    ):
        texts.predict(["word1"])
    with pytest.raises(ValueError, match="this model has learned the fields stars, lang, too"):
        texts.partial_fit(["word1"], ["good"])


@pytest.mark.parametrize("options", [[], ["--no-idf", "--norm", "none"]])
def test_a_model_with_fields_predicts_dictionaries_as_it_predicts_files(tmp_path, options):
    path, model, names = write(tmp_path, "jsonl", records()), tmp_path / "m.npz", ("stars", "lang", "seen")
    succeed("train", path, "-m", model, "--fields", ",".join(names), "--hash-bits", BITS, *options)
    margins = [line.split()[1:] for line in succeed("predict", path, "-m", model, "--margin").out.splitlines()]
    estimator = package.load(model)
    given = [{name: value for name, value in record.items() if name != "label"} for record in records()]
    mean, variance = estimator.margin(given)
    assert [[f"{m:.9g}", f"{v:.9g}"] for m, v in zip(mean.tolist(), variance.tolist(), strict=True)] == margins
    assert estimator.predict([]).tolist() == []
    assert (
        len(estimator.predict([{"text": "word1", "stars": np.int64(5)}, {"text": "word2", "stars": np.float32(2)}]))
        == 2
    )


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"stars": 5}, "record 1: expected a field 'text'"),
        ({"text": "a", "stars": [5]}, "record 1: expected a number, a text, true, false or null in field 'stars'"),
        ({"text": "a", "stars": float("nan")}, "record 1: expected a number or null, found NaN"),
        ({"text": "a", "stars": 1e39}, "record 1: the number 1e\\+39 in field 'stars' is out of range"),
        ({"text": "\ud800"}, "record 1: expected a pair of surrogates"),
    ],
)
def test_a_bad_dictionary_is_named_by_its_number(tmp_path, record, message):
    path, model = write(tmp_path, "jsonl", records()), tmp_path / "m.npz"
    succeed("train", path, "-m", model, "--fields", "stars")
    with pytest.raises(ValueError, match=message):
        package.load(model).predict([{"text": "fine"}, record, {"text": "fine"}])


def test_dictionaries_have_plain_values(tmp_path):
    path, model = write(tmp_path, "jsonl", records()), tmp_path / "m.npz"
    succeed("train", path, "-m", model, "--fields", "stars")
    with pytest.raises(TypeError, match=r"expected texts, numbers, booleans or None in records, got \{1\}"):
        package.load(model).predict([{"text": "fine", "stars": {1}}])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            '{"text": "a", "label": "b", "x": [1]}',
            "2:34: expected a number, a text, true, false or null in field 'x', found an array",
        ),
        ('{"text": "a", "label": "b", "x": 1e39}', "2: the number 1e+39 in field 'x' is out of range for float32"),
        ('{"text": "a", "label": "b", "x": 1e999}', "2: the number inf in field 'x' is out of range for float32"),
    ],
)
def test_bad_fields_are_named(tmp_path, line, message):
    (tmp_path / "a.jsonl").write_text('{"text": "a", "label": "b", "x": null}\n' + line + "\n")
    reader = Reader(tmp_path / "a.jsonl", Reading(fields=("x",)), documents=TextOptions())
    with pytest.raises(DataError) as caught:
        list(reader)
    assert str(caught.value).endswith(f"a.jsonl:{message}") or f"a.jsonl:{message}:" in str(caught.value)
    skipping = Reading(fields=("x",), on_bad_line="skip")
    assert sum(batch.rows.n_rows for batch in Reader(tmp_path / "a.jsonl", skipping, documents=TextOptions())) == 1


def test_the_label_is_no_feature(tmp_path):
    path = write(tmp_path, "jsonl", records())
    with pytest.raises(ValueError, match="`fields` has 'label', which is the field of the text or of the label"):
        package.train(path, fields=["label"])


def test_cells_of_csv_that_are_decimals_are_numbers(tmp_path):
    (tmp_path / "a.csv").write_text(
        "label,text,x\na,t,1.50\nb,t,+2e0\na,t,1.2.3\nb,t,\na,t,0x1\nb,t,1e\na,t,-\nb,t,.5\n"
    )
    reader = Reader(
        tmp_path / "a.csv", Reading(fields=("x",)), hash_bits=20, documents=TextOptions(idf=False, norm=None)
    )
    (batch,) = reader
    values = FeatureHasher(1 << 20, alternate_sign=False).transform(
        [{"x": 1.5}, {"x": 2}, {"x=1.2.3": 1}, {}, {"x=0x1": 1}, {"x=1e": 1}, {"x=-": 1}, {"x": 0.5}]
    )
    rows = batch.rows
    found = csr_matrix((rows.values, rows.indices, rows.indptr), values.shape)
    assert (found != values.astype("float32")).nnz == 0
