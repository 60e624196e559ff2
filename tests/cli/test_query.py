"""`cwlearn query`: the rows of files that are worth asking for."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest

from cwlearn import load
from tests.text_cases import fail, random_text, succeed

ROWS = [
    "1,good,a fine film",
    '2,bad,"a dull film,\nand long"',
    "3,good,fine acting",
    "4,bad,neither this nor that",
    "5,good,a fine and fine and fine film",
]


def test_it_prints_the_rows_that_the_estimator_chooses_whatever_the_threads(text, model, tmp_path):
    from cwlearn import read_svmlight

    X, _ = read_svmlight(text, n_features=load(model).n_features_in_)
    expected = (load(model).query(X, 7) + 1).tolist()
    for words in ([], ["--threads", "3"], ["--threads", "1"]):
        out = succeed("query", text, "-m", model, "-n", 7, *words).out
        assert [int(line) for line in out.split()] == expected


def test_it_shows_rows_and_json_has_their_places(text, model, tmp_path):
    lines = text.read_text().splitlines()
    out = succeed("query", text, "-m", model, "-n", 3, "--show").out.splitlines()
    report = succeed("query", text, "-m", model, "--questions", 3, "--json").json
    assert report["rows"] == sum(bool(line.partition("#")[0].strip()) for line in lines)
    assert len(report["queries"]) == len(out) == 3
    for line, query in zip(out, report["queries"], strict=True):
        assert line == f"{query['row']} {query['record']}"
        assert query["record"] == lines[query["line"] - 1]
        assert query["file"] == str(text)
    certainties = [query["certainty"] for query in report["queries"]]
    assert certainties[0] == min(certainties)


def test_several_compressed_files_and_unlabelled_rows_are_one_stream(text, model, tmp_path):
    packed = tmp_path / "more.svm.gz"
    packed.write_bytes(gzip.compress(random_text(seed=4).encode()))
    queries = succeed("query", text, packed, "-m", model, "-n", 20, "--json").json["queries"]
    assert {query["file"] for query in queries} == {str(text), str(packed)}
    bare = tmp_path / "bare.svm"
    bare.write_text("1:1 3:2\n2:1\n")
    assert sorted(succeed("query", bare, "-m", model, "--no-labels").out.split()) == ["1", "2"]


def test_documents_of_several_lines_are_shown_as_they_are(tmp_path):
    table, model = tmp_path / "data.csv", tmp_path / "m.npz"
    table.write_text("id,label,text\n" + "\n".join(ROWS) + "\n")
    succeed("train", table, "-m", model, "-a", "arow", "--text", "text", "--label", "label", "--quiet")
    queries = succeed("query", table, "-m", model, "--json").json["queries"]
    by_row = {query["row"]: query for query in queries}
    assert [by_row[row]["record"] for row in range(1, 6)] == ROWS
    assert [by_row[row]["line"] for row in range(1, 6)] == [2, 3, 5, 6, 7]
    shown = succeed("query", table, "-m", model, "--show").out
    assert r'2 2,bad,"a dull film,\nand long"' in shown


def test_new_features_of_different_rows_are_different_questions(tmp_path):
    """All features that a model has never seen share one column where rows are scored, but not here."""
    data, model, new = tmp_path / "a.svm", tmp_path / "m.npz", tmp_path / "new.svm"
    data.write_text("1 1:1\n-1 2:1\n" * 20)
    new.write_text("".join(f"1 {index}:1\n" for index in (1, 50, 50, 51, 52)))
    succeed("train", data, "-m", model, "-a", "arow", "--quiet")
    chosen = succeed("query", new, "-m", model, "-n", 3, "--quiet").out.split()
    assert sorted(chosen) == ["2", "4", "5"]


@pytest.mark.parametrize("number", ["0", "-3", "1.5", "many"])
def test_u02_a_number_of_questions_that_is_none_is_bad_usage(number, text, model):
    assert "positive integer" in fail("query", text, "-m", model, "-n", number, status=2)


def test_no_rows_are_an_error_and_a_regression_has_questions_too(text, model, tmp_path):
    empty, price = tmp_path / "empty.svm", tmp_path / "price.npz"
    empty.write_text("# nothing\n")
    assert "no examples" in fail("query", empty, "-m", model)
    succeed("train", text, "-m", price, "--task", "regression", "--quiet")
    queries = json.loads(succeed("query", text, "-m", price, "-n", 2, "--json").out)["queries"]
    assert np.isfinite([query["certainty"] for query in queries]).all()
