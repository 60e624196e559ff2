"""Feedback in bulk: the answers and the model of rows that are scored and learned one by one."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest

from cwlearn.core import model_file
from cwlearn.core.row_by_row import RowByRow
from cwlearn.text import feedback as feedbacks
from cwlearn.text.feedback import Feedback
from cwlearn.text.labels import label_type_of
from cwlearn.text.reader import Reader, Reading
from tests.proof.kills import bits
from tests.text_cases import succeed


def documents(count, n_labels, seed):
    """JSON lines: some have no label, a few an unknown one, and a few have numbers that cannot be learned."""
    rng = random.Random(seed)
    for number in range(count):
        label = rng.randrange(n_labels)
        text = " ".join(f"w{rng.randrange(40 * label, 40 * label + 200)}" for _ in range(rng.randrange(8)))
        record = {"text": text, "label": f"l{label}", "a": 1, "b": 2}
        if seed and number % 3 == 0:
            record["label"] = None
        if seed and number % 97 == 5:
            record |= {"a": 3e38, "b": -3e38}
        if seed and number % 101 == 7:
            record["label"] = "unknown"
        yield json.dumps(record)


def numbers(count, n_labels, seed):
    """svmlight lines, whose features become more and more."""
    rng = random.Random(seed)
    for number in range(count):
        label = rng.randrange(n_labels)
        columns = sorted({rng.randrange(1, 20 + 10 * label + (number if seed else 0)) for _ in range(6)})
        huge = seed and number % 97 == 5
        entries = " ".join(f"{column}:{3e38 if huge else rng.gauss(label, 1):.6g}" for column in columns)
        yield f"{'' if seed and number % 3 == 0 else label} {entries}".strip()


def outcome(model, data, format):
    """All that is scored, as bytes, what is learned and refused, and the model then."""
    learner = model_file.load(model)
    feedback, found = Feedback(learner, 1 << 30), []
    reader = Reader(
        [data],
        Reading(on_bad_line="skip", max_bad=1 << 40, format=format),
        dtype=learner.state.dtype,
        label_type=label_type_of(learner),
        optional_labels=True,
        hash_bits=learner.hash_bits,
        documents=learner.documents,
        only_documents=learner.documents is not None,
        chunk_bytes=1 << 14,
    )
    for batch in reader:
        scored = {}
        for known, which, rows, mean, variance in feedback.go_through(batch):
            chances = known.probabilities(rows, mean, variance)
            assert len(which) == rows.n_rows == len(mean) == len(variance)
            scored |= {row: (mean[at].tobytes(), chances[at].tobytes()) for at, row in enumerate(which)}
        flaws = {row: str(flaw) for row, flaw in feedback.flaws.items()}
        assert scored.keys() | flaws.keys() == set(range(batch.rows.n_rows))
        assert not scored.keys() & flaws.keys()
        found.append((sorted(scored.items()), feedback.learned.tolist(), sorted(flaws.items())))
    return found, bits(learner), learner.state.n_features


@pytest.mark.parametrize("rows_at_once", [1024, 7])
@pytest.mark.parametrize("n_labels", [2, 4])
@pytest.mark.parametrize("rule", ["perceptron", "arow", "arow --dtype float64", "cw"])
@pytest.mark.parametrize("lines", [documents, numbers], ids=lambda lines: lines.__name__)
def test_rows_in_bulk_have_the_bits_of_rows_one_by_one(lines, rule, n_labels, rows_at_once, tmp_path, monkeypatch):
    format = "jsonl" if lines is documents else "svmlight"
    old, new, model = tmp_path / f"old.{format}", tmp_path / f"new.{format}", tmp_path / "m.npz"
    old.write_text("".join(line + "\n" for line in lines(60, n_labels, 0)))
    new.write_text("".join(line + "\n" for line in lines(1500, n_labels, 1)))
    fields = ["--fields", "a,b"] if lines is documents else []
    succeed("train", old, "-m", model, "-a", *rule.split(), "--epochs", 1, "--format", format, *fields)
    monkeypatch.setattr(feedbacks, "ROWS_AT_ONCE", rows_at_once)
    in_bulk = outcome(model, new, format)
    monkeypatch.setattr(RowByRow, "suits", staticmethod(lambda learner: False))
    assert in_bulk == outcome(model, new, format)
    learned = np.concatenate([part[1] for part in in_bulk[0]])
    assert 0 < learned.sum() < len(learned)


def test_many_rows_take_few_calls(tmp_path, monkeypatch):
    data, model = tmp_path / "data.jsonl", tmp_path / "m.npz"
    data.write_text("".join(line + "\n" for line in documents(20_000, 3, 0)))
    succeed("train", data, "-m", model, "-a", "arow", "--epochs", 1)
    calls, go_on = [], RowByRow.go_on
    monkeypatch.setattr(RowByRow, "go_on", lambda self, first: calls.append(first) or go_on(self, first))
    outcome(model, data, "jsonl")
    assert 0 < len(calls) < 2000
