"""Documents as shards: files that can be cut and that cannot, and frequencies that add up."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

import cwlearn as package
from cwlearn import distributed
from cwlearn.errors import DataError
from cwlearn.parallel.shards import files_as_shards
from cwlearn.text import sampling
from cwlearn.text.sources import Source
from tests.parallel.clusters import ignore_dask_warnings
from tests.text_cases import bits

pytestmark = ignore_dask_warnings


def documents(n, seed):
    random = np.random.RandomState(seed)
    for _ in range(n):
        label = random.randint(2)
        words = [f"w{random.randint(30)}" for _ in range(6)] + [["fine", "dull"][label]]
        yield {"label": ("good", "bad")[label], "text": "\n".join(words), "x": float(random.rand())}


def write_json(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def write_csv(path, rows):
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, ["label", "text", "x"])
        writer.writeheader()
        writer.writerows(rows)
    return path


@pytest.fixture
def files(tmp_path):
    return [write_json(tmp_path / f"{part}.jsonl", documents(100, part)) for part in range(3)]


def test_the_same_documents_give_the_same_bits_in_threads_and_on_a_cluster(files, client):
    options = {"fields": ["x"], "hash_bits": 12}
    one = distributed.fit(package.TextClassifier(package.AROWClassifier(epochs=2, random_state=0)), files, **options)
    other = distributed.fit(package.AROWClassifier(epochs=2, random_state=0), files, client, **options)
    assert isinstance(one, package.TextClassifier)
    assert isinstance(other, package.TextClassifier)
    assert one._learner.frequencies.n_documents == other._learner.frequencies.n_documents == 300
    assert one._learner.documents.fields == ("x",)
    assert bits(one._learner) == bits(other._learner)


def test_frequencies_add_up_to_those_of_one_run(files):
    shared = distributed.fit(package.TextClassifier(package.AROWClassifier(random_state=0)), files)
    alone = package.train(files)
    assert shared._learner.frequencies.counts.tolist() == alone._learner.frequencies.counts.tolist()
    texts = [row["text"] for row in documents(100, 0)]
    labels = [row["label"] for row in documents(100, 0)]
    assert shared.score(texts, labels) > 0.95
    assert (
        distributed.fit(package.TextClassifier(package.AROWClassifier(random_state=0)), files).predict(texts).tolist()
        == shared.predict(texts).tolist()
    )


def test_csv_is_not_cut_since_records_may_span_lines(tmp_path, files):
    path = write_csv(tmp_path / "a.csv", documents(300, 7))
    assert distributed.split(path, 4) == [Source(str(path))]
    assert len(distributed.split(files[0], 4)) == 4
    assert len(files_as_shards([str(path)], 4)) == 1
    assert len(files_as_shards([str(files[0])], 4)) == 4
    unnamed = tmp_path / "table"
    unnamed.write_bytes(path.read_bytes())
    assert len(distributed.split(unnamed, 4, "csv")) == 1
    model = distributed.fit(package.TextClassifier(), [path, *distributed.split(files[0], 2)])
    assert model._learner.frequencies.n_documents == 400


def test_the_words_of_a_large_csv_file_are_those_of_its_beginning(tmp_path, monkeypatch):
    path = write_csv(tmp_path / "a.csv", documents(300, 7))
    monkeypatch.setattr(sampling, "SAMPLE_BYTES", 4000)
    assert sampling.sampled([Source(str(path))]) == [Source(str(path), 0, 4000, whole=False)]
    model = package.train(path)
    assert any("fine" in names for names in model._learner.words.values())


def test_named_features_as_shards(tmp_path):
    for part in range(2):
        rows = documents(100, part)
        (tmp_path / f"{part}.vw").write_text(
            "".join(f"{row['label']} 2 |t {row['text'].replace(chr(10), ' ')}\n" for row in rows)
        )
    paths = [tmp_path / "0.vw", tmp_path / "1.vw"]
    model = distributed.fit(package.AROWClassifier(random_state=0), paths, hash_bits=10)
    assert type(model) is package.AROWClassifier
    assert model.n_features_in_ == 1 << 10
    assert bits(model._learner) == bits(
        distributed.fit(package.AROWClassifier(random_state=0), paths, hash_bits=10)._learner
    )
    with pytest.raises(DataError, match="named features"):
        distributed.fit(package.TextClassifier(), paths)


def test_what_does_not_fit_is_refused(tmp_path, files):
    with pytest.raises(TypeError, match="a TextClassifier learns from files of documents"):
        distributed.fit(package.TextClassifier(), [(np.eye(2), [0, 1])])
    with pytest.raises(ValueError, match="`fields` is for shards of text, and these are matrices"):
        distributed.fit(package.AROWClassifier(), [(np.eye(2), [0, 1])], fields=["x"])
    (tmp_path / "a.svm").write_text("1 1:1\n-1 2:1\n")
    with pytest.raises(DataError, match="rows of numbers"):
        distributed.fit(package.TextClassifier(), [tmp_path / "a.svm"])
