"""Samples of large texts: whole records from all over them, so that a race can learn them."""

import csv
import io
from itertools import pairwise

import pytest

from cwlearn.core.text_options import TextOptions
from cwlearn.text import choosing, sampling
from cwlearn.text.reader import Reader
from cwlearn.text.sources import Source
from tests.text.document_cases import documents, written
from tests.text_cases import fail, random_text, succeed


def rows_of(sources):
    """The rows of a text, each as bytes."""
    rows = []
    for batch in Reader(sources, documents=TextOptions(), hash_bits=10, chunk_bytes=500):
        bounds = batch.rows.indptr.tolist()
        for start, stop in pairwise(bounds):
            rows.append(batch.rows.indices[start:stop].tobytes() + batch.rows.values[start:stop].tobytes())
    return rows


def large_file(folder, suffix):
    path = folder / f"a.{suffix}"
    if suffix == "svm":
        path.write_text(random_text(400))
        return path
    return written(path, *documents(400))


@pytest.mark.parametrize("size", [1000, 1501, 7000])
@pytest.mark.parametrize("suffix", ["svm", "jsonl", "csv", "tsv", "ft", "txt"])
def test_a_sample_has_whole_records_only(suffix, size, tmp_path, monkeypatch):
    path = large_file(tmp_path, suffix)
    monkeypatch.setattr(sampling, "SAMPLE_BYTES", size)
    monkeypatch.setattr(sampling, "SAMPLE_PIECES", 4)
    sources = sampling.sampled([Source(str(path))])
    assert all(not source.whole for source in sources)
    sample, rows = rows_of(sources), rows_of([Source(str(path))])
    assert 0 < len(sample) < len(rows)
    assert set(sample) <= set(rows)


def test_a_sample_ends_before_a_record_of_several_lines_that_it_cuts(tmp_path, monkeypatch):
    path, file = tmp_path / "a.csv", io.StringIO()
    csv.writer(file).writerows([["label", "text"], *([str(row % 2), f"fine {row}\nfilm {row}"] for row in range(300))])
    path.write_text(file.getvalue())
    rows = rows_of([Source(str(path))])
    for size in range(1000, 1100):
        monkeypatch.setattr(sampling, "SAMPLE_BYTES", size)
        sample = rows_of(sampling.sampled([Source(str(path))]))
        assert sample
        assert sample == rows[: len(sample)]


def test_records_of_many_lines_are_no_reason_for_a_smaller_race(tmp_path, monkeypatch):
    path, file = tmp_path / "a.csv", io.StringIO()
    lines = "\nfine film" * 40
    csv.writer(file).writerows([["label", "text"], *([str(row % 2), f"{row % 2}{row}{lines}"] for row in range(400))])
    path.write_text(file.getvalue())
    monkeypatch.setattr(choosing, "MOST_ROWS", 500)
    out = succeed("train", path, "-m", tmp_path / "m.npz").out
    assert "judged by 400 rows" in out  # all of them, in folds


@pytest.mark.parametrize("suffix", ["svm", "jsonl", "csv", "ft"])
def test_a_large_file_has_a_race(suffix, tmp_path, monkeypatch):
    path = large_file(tmp_path, suffix)
    monkeypatch.setattr(choosing, "MOST_BYTES", 10_000)
    report = succeed("train", path, "-m", tmp_path / "m.npz", "--json").json
    assert report["rows"] >= 400
    assert len(report["race"]) > 1


def test_the_first_bad_line_is_named_though_a_sample_meets_another_one(tmp_path, monkeypatch):
    path = large_file(tmp_path, "svm")
    lines = path.read_text().splitlines()
    monkeypatch.setattr(choosing, "MOST_BYTES", 1 << 13)
    monkeypatch.setattr(sampling, "SAMPLE_BYTES", 1 << 13)
    monkeypatch.setattr(sampling, "SAMPLE_PIECES", 4)
    for first in range(20, 200, 15):
        bad = ["1 1:x" if n in (first, 2 * first) else line for n, line in enumerate(lines)]
        path.write_text("".join(f"{line}\n" for line in bad))
        assert fail("train", path, "-m", tmp_path / "m.npz").startswith(f"cwlearn: error: {path}:{first + 1}:3: ")
