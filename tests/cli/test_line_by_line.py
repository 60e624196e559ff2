"""`cwlearn predict -`: lines that come singly are answered singly, and lines of output in text and in JSON."""

from __future__ import annotations

import json
import os
import subprocess

import pytest

from cwlearn.cli import answers
from cwlearn.text.chunks import ChunkReader
from cwlearn.text.sources import Source
from tests.text_cases import command, fail, outcome_of, succeed

TEXTS = [("free prize now", "spam"), ("team meeting", "ham"), ("free cash", "spam"), ("lunch at noon", "ham")]
LINES = {
    "jsonl": [json.dumps({"text": text, "label": label}) for text, label in TEXTS],
    "csv": ["label,text", *(f'{label},"{text}"' for text, label in TEXTS)],
    "tsv": ["label\ttext", *(f"{label}\t{text}" for text, label in TEXTS)],
    "fasttext": [f"__label__{label} {text}" for text, label in TEXTS],
    "text": [f"{label}\t{text}" for text, label in TEXTS],
    "vw": [f"{label} |t {text}" for text, label in TEXTS],
    "svmlight": ["1 1:1 3:1", "-1 2:1", "1 1:1", "-1 2:2 4:1"],
}


def trained(format, folder):
    data, model = folder / f"data.{format}", folder / f"{format}.npz"
    data.write_text("\n".join(LINES[format]) + "\n")
    succeed("train", data, "--format", format, "-m", model, "-a", "arow", "--epochs", 2)
    return data, model


@pytest.mark.parametrize("format", LINES)
def test_u15_a_line_is_answered_before_the_next_one_is_sent(format, tmp_path):
    """The test would wait forever for an answer that comes only with the end of the input."""
    data, model = trained(format, tmp_path)
    expected = succeed("predict", data, "--format", format, "-m", model).out.splitlines()
    header = 1 if format in ("csv", "tsv") else 0
    with command("predict", "-", "--format", format, "-m", model, stdin=subprocess.PIPE) as process:
        for number, line in enumerate(LINES[format]):
            process.stdin.write(f"{line}\n".encode())
            process.stdin.flush()
            if number >= header:
                assert process.stdout.readline().decode().rstrip("\n") == expected[number - header]
        process.stdin.close()
        assert process.stdout.read() == b""
        assert process.wait(60) == 0, process.stderr.read()


def test_the_format_is_known_from_the_lines_that_have_come(tmp_path):
    _, model = trained("csv", tmp_path)
    with command("predict", "-", "-m", model, "--proba", stdin=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"labels ham spam\n"  # the model is ready before any line has come
        for line in ("label,text", 'spam,"free prize', 'now"'):  # a header, and a record of two lines
            process.stdin.write(f"{line}\n".encode())
            process.stdin.flush()
        assert process.stdout.readline().startswith(b"spam ")
        process.stdin.close()
        assert process.wait(60) == 0, process.stderr.read()


def read_by_a_pipe(parts, chunk_bytes):
    """The chunks of a pipe, each read as soon as a part with a line end has been written to it."""
    reading, writing = os.pipe()
    chunks = ChunkReader([Source(f"/dev/fd/{reading}")], chunk_bytes, 1 << 20, prompt=True)
    found = []
    for part in parts:
        os.write(writing, part)
        if b"\n" in part:
            chunk = chunks.next_chunk(chunks.new_buffer())
            found.append(chunk.text[chunk.start : chunk.stop].tobytes())
    os.close(writing)
    while (chunk := chunks.next_chunk(chunks.new_buffer())) is not None:
        found.append(chunk.text[chunk.start : chunk.stop].tobytes())
    os.close(reading)
    return found


def test_a_pause_in_a_line_waits_for_its_end_and_the_last_line_needs_none():
    parts = [b"1 1:1\n-1 2", b":1\n", b"1 3:1\n-1 ", b"4:1"]
    assert read_by_a_pipe(parts, 1 << 12) == [b"1 1:1\n", b"-1 2:1\n", b"1 3:1\n", b"-1 4:1\n"]


def test_lines_longer_than_a_chunk_come_whole_from_a_pipe():
    long = b"1 " + b" ".join(b"%d:1" % number for number in range(1, 800))
    assert read_by_a_pipe([b"1 1:1\n", long + b"\n", b"-1 2:1\n"], 64) == [b"1 1:1\n", long + b"\n", b"-1 2:1\n"]


# -- what an answer looks like -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def documents(tmp_path_factory):
    folder = tmp_path_factory.mktemp("answers")
    path, model = folder / "data.jsonl", folder / "m.npz"
    records = [
        {"id": number, "text": f"{word} {word}{number}", "label": word, "source": {"from": [word, None]}}
        for number in range(4)
        for word in ("red", "green", "dark\nblue")
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    succeed("train", path, "-m", model, "-a", "arow", "--epochs", 3)
    return path, model, records


def test_the_best_labels_are_those_of_the_highest_probability(documents):
    path, model, _ = documents
    every = [json.loads(line) for line in succeed("predict", path, "-m", model, "--proba", "--jsonl").out.splitlines()]
    best = [json.loads(line) for line in succeed("predict", path, "-m", model, "--top", 2, "--jsonl").out.splitlines()]
    for all_labels, two in zip(every, best, strict=True):
        ranked = sorted(all_labels["probabilities"].items(), key=lambda pair: -pair[1])
        assert [*two["probabilities"].items()] == ranked[:2]
        assert two["prediction"] == all_labels["prediction"] == ranked[0][0]
        assert sum(all_labels["probabilities"].values()) == pytest.approx(1)
    lines = succeed("predict", path, "-m", model, "--top", 2).out.splitlines()
    assert [line.split()[0] for line in lines[:3]] == ["red", "green", "dark\\nblue"]
    assert float(lines[0].split()[1]) == pytest.approx(best[0]["probabilities"]["red"], rel=1e-8)
    assert succeed("predict", path, "-m", model, "--top", 9).out.splitlines()[0].count(" ") == 5  # all three


def test_fields_of_the_input_come_back_beside_the_prediction(documents):
    path, model, records = documents
    lines = succeed("predict", path, "-m", model, "--keep", "id,source.from,label,nothing").out.splitlines()
    for line, record in zip(lines, records, strict=True):
        found = json.loads(line)
        assert found.pop("prediction") == record["label"]
        assert found == {
            "id": record["id"], "source.from": record["source"]["from"], "label": record["label"], "nothing": None
        }  # fmt: skip


def test_fields_of_csv_are_kept_as_texts(documents, tmp_path):
    _, model, _ = documents
    path = tmp_path / "new.csv"
    path.write_text('no,text\r\n007,"red, red"\r\n"8 ""a""",green\r\n')
    lines = succeed("predict", path, "-m", model, "--keep", "no").out.splitlines()
    assert [*map(json.loads, lines)] == [{"no": "007", "prediction": "red"}, {"no": '8 "a"', "prediction": "green"}]
    assert "expected a field 'nothing' in the header" in fail("predict", path, "-m", model, "--keep", "nothing")


def test_numbers_that_python_lacks_are_kept_as_texts(documents, tmp_path):
    _, model, _ = documents
    path = tmp_path / "new.jsonl"
    path.write_text(
        '{"text": "red", "id": 1e999}\n{"text": "red", "id": %s}\n{"text": "red", "id": -2.5}\n' % ("7" * 5000)
    )
    ids = [json.loads(line)["id"] for line in succeed("predict", path, "-m", model, "--keep", "id").out.splitlines()]
    assert ids == ["1e999", "7" * 5000, -2.5]


def test_u16_hostile_lines_give_one_error_each_and_nothing_of_them_is_printed_as_it_is(documents):
    _, model, _ = documents
    lines = [
        b'{"text": "red \\u001b[31m", "id": "\\u001b[2J<b>"}',
        b'{"text": "<script>", "id": ',
        b"\x1b]0;title\x07",
        b'{"id": 5}',
        b'{"text": "\xff\xfe", "id": 6}',
        b'{"text": "' + b"green " * 200_000 + b'", "id": 7}',
    ]
    outcome = outcome_of(
        "predict", "-", "-m", model, "--keep", "id", "--on-bad-line", "skip", "--format", "jsonl",
        input=b"".join(line + b"\n" for line in lines),
    )  # fmt: skip
    assert outcome.status == 0
    found = [json.loads(line) for line in outcome.out.splitlines()]
    assert ["error" in answer for answer in found] == [False, True, True, True, True, False]
    assert found[0] == {"id": "\x1b[2J<b>", "prediction": "red"}
    assert found[5] == {"id": 7, "prediction": "green"}
    assert "<stdin>:2" in found[1]["error"]
    assert "\x1b" not in outcome.out + outcome.err
    assert "\x07" not in outcome.out + outcome.err
    assert len(outcome.err.splitlines()) == 4


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["--keep", "prediction"], "--keep prediction would hide what is predicted"),
        (["--top", 2, "--margin"], "--top has probabilities"),
        (["--json"], "--jsonl makes them JSON lines"),
    ],
)
def test_flags_of_answers_that_do_not_fit_are_refused(words, what, documents):
    path, model, _ = documents
    assert what in fail("predict", path, "-m", model, *words, status=2)


def test_fields_of_lines_without_names_cannot_be_kept(tmp_path):
    data, model = trained("svmlight", tmp_path)
    assert "--keep is for JSON lines and CSV, found svmlight" in fail("predict", data, "-m", model, "--keep", "id")


def test_numbers_beside_a_prediction_have_their_names_in_json(documents, tmp_path):
    path, model, _ = documents
    _, columns, *lines = (
        succeed("predict", path, "-m", model, "--margin").out.replace("dark\\nblue", "blue").splitlines()
    )
    first = json.loads(succeed("predict", path, "-m", model, "--margin", "--jsonl").out.splitlines()[0])
    assert [*first["margins"]] == ["dark\nblue", "green", "red"]
    numbers = [value for pair in first["margins"].values() for value in (pair["mean"], pair["variance"])]
    assert numbers == pytest.approx([*map(float, columns.split()[1:])], rel=1e-8)
    assert len(lines) == 11
    data = tmp_path / "data.svm"
    data.write_text("".join(f"{number} 1:{number}\n" for number in range(8)))
    succeed("train", data, "-m", tmp_path / "r.npz", "--task", "regression")
    deviation = float(succeed("predict", data, "-m", tmp_path / "r.npz", "--std").out.splitlines()[3].split()[1])
    found = json.loads(succeed("predict", data, "-m", tmp_path / "r.npz", "--std", "--jsonl").out.splitlines()[3])
    assert found == {"prediction": found["prediction"], "deviation": pytest.approx(deviation, rel=1e-8)}
    assert found["deviation"] > 0


@pytest.mark.parametrize("flag", ["--proba", "--margin", "--top=1"])
def test_scores_of_many_rows_become_text_a_part_at_a_time(flag, documents, monkeypatch):
    path, model, records = documents
    expected = succeed("predict", path, "-m", model, flag).out
    monkeypatch.setattr(answers, "LINES_AT_ONCE", 6)  # scores of three labels
    sizes, original = [], answers.Answers.numbers
    monkeypatch.setattr(
        answers.Answers,
        "numbers",
        lambda self, model, rows, *words: (sizes.append(rows.n_rows), original(self, model, rows, *words))[1],
    )
    assert succeed("predict", path, "-m", model, flag).out == expected
    assert sizes == [2] * (len(records) // 2)
