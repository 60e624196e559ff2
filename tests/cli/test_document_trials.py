"""`tune`, `compare` and `train --workers` with documents."""

from __future__ import annotations

import json
import shlex

import numpy as np
import pytest

from cwlearn.cli.data_sets import short_name
from cwlearn.core import model_file
from tests.text_cases import fail, succeed

LABELS = ("<b>good</b>", "bad & ugly")


def documents(n=200, seed=0):
    random = np.random.RandomState(seed)
    for _ in range(n):
        label = random.randint(2)
        words = [f"w{random.randint(30)}" for _ in range(6)] + (
            [["fine", "dull"][label]] if random.rand() < 0.8 else []
        )
        yield {"body": " ".join(words), "y": LABELS[label], "stars": float(random.rand() + 2 * label)}


@pytest.fixture
def path(tmp_path):
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in documents()))
    return tmp_path / "a.jsonl"


FLAGS = ["--text", "body", "--label", "y"]


def test_tune_prints_a_command_that_trains(path, tmp_path):
    more = [*FLAGS, "--fields", "stars", "--ngrams", "1,1", "--no-idf", "--hash-bits", 12]
    out = succeed("tune", path, *more, "--epochs", 2, "--grid", "regularization=0.1,1").out
    words = shlex.split(next(line for line in out.splitlines() if "cwlearn train" in line))
    assert words[words.index("--fields") + 1] == "stars"
    assert "--no-idf" in words
    words[words.index("MODEL")] = str(tmp_path / "m.npz")
    succeed(*words[1:])
    learner = model_file.load(tmp_path / "m.npz")
    assert (learner.hash_bits, learner.documents.fields, learner.documents.idf) == (12, ("stars",), False)


def test_compare_shows_labels_escaped(path, tmp_path):
    page = tmp_path / "r.html"
    flags = ["--algorithms", "arow,pa", "--folds", 3, "--epochs", 2, "--hash-bits", 10]
    out = succeed("compare", path, *FLAGS, *flags, "--report", page).out
    assert "arow" in out
    text = page.read_text()
    assert "&lt;b&gt;good&lt;/b&gt;" in text
    assert "<b>good</b>" not in text
    error = succeed("compare", path, *FLAGS, *flags, "--json").json["results"][0]["error"]
    assert error < 0.3


def test_all_rows_are_weighed_by_the_frequencies_of_all(path):
    """Trials learn from the rows that several epochs of `train` learn from."""
    from cwlearn.core import rules
    from cwlearn.core.text_options import TextOptions
    from cwlearn.core.training import Training
    from cwlearn.text.matrices import read_rows
    from cwlearn.text.reader import Reading
    from cwlearn.text.run import Run

    reading = Reading(text="body", label="y", fields=("stars",))
    X, y = read_rows(path, reading, TextOptions(), 10, lambda flaw: None)
    run = Run(path, rules.AROW(), Training(epochs=2, shuffle=False), reading)
    run.train()
    assert X.shape == (200, 1 << 10)
    assert sorted(set(y)) == sorted(LABELS)
    other = Run(path, rules.AROW(), Training(epochs=2, shuffle=False), reading, _resources(10))
    other.train()
    stored = other._store.rows
    assert stored.indices.tolist() == X.indices.tolist()
    assert stored.values.tolist() == X.data.tolist()


def _resources(bits):
    from cwlearn.text.resources import Resources

    return Resources(hash_bits=bits)


@pytest.mark.parametrize("name", ["a.jsonl.gz", "a.csv", "a.tsv.zst", "a.vw", "a.parquet", "a.ft", "a.svm"])
def test_a_data_set_has_the_name_of_its_file_without_suffixes(name):
    assert short_name(f"folder/{name}") == "a"


def test_a_bad_record_of_a_data_set_is_named(path):
    with open(path, "a") as file:
        file.write("{\n")
    assert "a.jsonl:201:2: " in fail("tune", path, *FLAGS)


def test_several_workers_learn_from_parts_of_a_file_and_name_the_words(path, tmp_path):
    model = tmp_path / "m.npz"
    report = succeed("train", path, *FLAGS, "-m", model, "--workers", 2, "--epochs", 1, "--json").json
    assert report["rows"] == 200
    learner = model_file.load(model)
    assert learner.documents.text == "body"
    assert learner.frequencies.n_documents == 200
    assert any("fine" in names for names in learner.words.values())
    assert succeed("evaluate", path, "-m", model, "--json").json["error"] < 0.3
