"""`cwlearn learn`: answers before learning, the journal, and what becomes of both after a fault."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import tempfile

import pytest

from cwlearn.cli import learn
from cwlearn.core import model_file
from tests.cli.test_line_by_line import LINES, TEXTS, trained
from tests.proof.kills import bits
from tests.text_cases import command, cwlearn, explained, fail, outcome_of, succeed

RULES = ["arow", "perceptron --average", "ftrl", "arow --covariance full"]
UNLABELLED = {
    "jsonl": '{"text": "free lunch", "label": null}',
    "csv": ',"free lunch"',
    "tsv": "\tfree lunch",
    "fasttext": "free lunch",
    "text": "\tfree lunch",
    "vw": "|t free lunch",
    "svmlight": "1:1 9:2",
}


def answers_of(outcome):
    assert outcome.status == 0, outcome.err
    return outcome.out.splitlines()


def learned(*words, lines):
    """Learn lines of a file, in this process."""
    with tempfile.NamedTemporaryFile("w") as file:
        file.write("".join(f"{line}\n" for line in lines))
        file.flush()
        return cwlearn("learn", file.name, *words)


@pytest.fixture
def model(tmp_path):
    _, path = trained("jsonl", tmp_path)
    return path


@pytest.fixture
def journal(tmp_path):
    return tmp_path / "journal.jsonl"


@pytest.mark.parametrize("format", LINES)
def test_a_line_is_answered_by_the_model_before_it_and_then_learned(format, tmp_path):
    """The answers are those of `predict` with a model that `train --resume` has brought as far, line by line."""
    data, model = trained(format, tmp_path)
    header = LINES[format][:1] if format in ("csv", "tsv") else []
    lines = [*LINES[format][len(header) :][::-1], UNLABELLED[format], LINES[format][-1], UNLABELLED[format]]
    step, journal, one = tmp_path / "step.npz", tmp_path / f"j.{data.suffix[1:]}", tmp_path / f"one.{format}"
    step.write_bytes(model.read_bytes())
    expected = []
    for line in lines:
        unlabelled = ["--no-labels"] if line == UNLABELLED[format] and format in ("svmlight", "text") else []
        one.write_text("\n".join([*header, line.lstrip("\t") if unlabelled else line]) + "\n")
        words = ["--format", format, "-m", step, "--proba"]
        expected.append(succeed("predict", one, *words, *unlabelled).out.splitlines()[1])
        if line != UNLABELLED[format]:
            succeed("train", one, "--format", format, "-m", step, "--resume", step, "--epochs", 1, "--no-shuffle")
    outcome = learned(
        "-m", model, "--journal", journal, "--format", format, "--proba", lines=[*header, *lines]
    )  # fmt: skip
    assert answers_of(outcome)[1:] == expected
    assert bits(model_file.load(model)) == bits(model_file.load(step))
    kept = [line for line in lines if line != UNLABELLED[format]]
    assert journal.read_text().splitlines() == [*header, *kept]


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_answers_and_learns_as_if_the_lines_came_one_by_one(rule, tmp_path):
    lines = [f"{(-1) ** number} {number % 5 + 1}:{number % 3 + 1} {number % 7 + 9}:1" for number in range(60)]
    data, model, whole = tmp_path / "data.svm", tmp_path / "m.npz", tmp_path / "whole.npz"
    data.write_text("\n".join(lines[:20]) + "\n")
    algorithm, *flags = rule.split()
    succeed("train", data, "-m", model, "-a", algorithm, *flags, "--epochs", 1)
    whole.write_bytes(model.read_bytes())
    single = [*lines[20:40], "3:1 40:2", *lines[40:]]
    together = answers_of(learned("-m", whole, "--margin", lines=single))
    one_by_one = []
    with command("learn", "-", "-m", model, "--margin", stdin=subprocess.PIPE) as process:
        for line in single:
            process.stdin.write(f"{line}\n".encode())
            process.stdin.flush()
            one_by_one.append(process.stdout.readline().decode().rstrip("\n"))
        process.stdin.close()
        assert process.wait(60) == 0
    assert one_by_one == together
    assert bits(model_file.load(model)) == bits(model_file.load(whole))


def test_the_journal_is_taken_up_after_a_kill_and_its_torn_line_is_dropped(model, journal):
    base = model.read_bytes()
    with command("learn", "-", "-m", model, "--journal", journal, stdin=subprocess.PIPE) as process:
        for line in LINES["jsonl"]:
            process.stdin.write(f"{line}\n".encode())
            process.stdin.flush()
            process.stdout.readline()
        process.kill()
    assert journal.read_text().splitlines() == LINES["jsonl"]
    with open(journal, "ab") as file:
        file.write(b'{"text": "fr')
    assert "took up 4 lines" in learned("-m", model, "--journal", journal, lines=[]).err
    outcome = learned("-m", model, "--journal", journal, lines=[LINES["jsonl"][0]])
    assert "took up" not in outcome.err
    assert journal.read_text().splitlines() == [*LINES["jsonl"], LINES["jsonl"][0]]
    again = model.with_name("again.npz")
    again.write_bytes(base)
    succeed("train", journal, "-m", again, "--resume", again, "--epochs", 1, "--no-shuffle")
    assert bits(model_file.load(model)) == bits(model_file.load(again))


def test_the_journal_of_rows_of_numbers_is_taken_up_to_the_same_bits(tmp_path):
    _, model = trained("svmlight", tmp_path)
    journal, known = tmp_path / "j.svm", tmp_path / "known.npz"
    learned("-m", model, "--journal", journal, lines=[])
    known.write_bytes(model.read_bytes())
    learned("-m", model, "--journal", journal, lines=LINES["svmlight"])
    other = tmp_path / "other.npz"
    other.write_bytes(model.read_bytes())
    model.write_bytes(known.read_bytes())  # as if it had been killed before it was written
    opened = len(os.listdir("/proc/self/fd"))
    outcome = learned("-m", model, "--journal", journal, lines=[])
    assert f"took up {len(LINES['svmlight'])} lines" in outcome.err
    assert len(os.listdir("/proc/self/fd")) == opened
    assert bits(model_file.load(model)) == bits(model_file.load(other))


def refused(model, journal, *words):
    """The error of a start that must change nothing."""
    before = [path.read_bytes() if path.exists() else None for path in (model, journal)]
    error = fail("learn", "-", "-m", model, "--journal", journal, *words)
    assert [path.read_bytes() if path.exists() else None for path in (model, journal)] == before
    return error


def test_u17_a_journal_that_is_not_the_models_is_refused_and_nothing_is_lost(model, journal, tmp_path):
    learned("-m", model, "--journal", journal, lines=LINES["jsonl"])
    kept = journal.read_bytes()
    journal.write_bytes(kept.replace(b"free", b"FREE"))
    assert "was changed, or belongs to another model. Restore it" in refused(model, journal)
    journal.write_bytes(kept[:-10])
    assert "was changed, or belongs to another model" in refused(model, journal)
    os.unlink(journal)
    assert "there is no such journal" in refused(model, journal)
    folder = tmp_path / "other"
    folder.mkdir()
    _, other = trained("jsonl", folder)
    journal.write_bytes(kept)
    assert "knows nothing of it: give the model that it belongs to" in refused(other, journal)
    assert "a new journal must be empty" in refused(other, journal, "--new-journal")
    outcome = learned("-m", model, "--journal", journal, lines=[])  # the right one goes on
    assert outcome.status == 0, outcome.err
    second = tmp_path / "second.jsonl"
    assert "has learned" in refused(model, second)
    outcome = learned("-m", model, "--journal", second, "--new-journal", lines=LINES["jsonl"][:1])
    assert outcome.status == 0, outcome.err
    assert second.read_text().splitlines() == LINES["jsonl"][:1]


def test_u17_a_journal_that_no_line_of_the_model_has_reached_is_known_by_its_file(model, journal, tmp_path):
    learned("-m", model, "--journal", journal, lines=[])
    with open(journal, "a") as file:  # as if it had been killed before its first write of the model
        file.write(f"{LINES['jsonl'][0]}\n")
    copied = tmp_path / "copied.jsonl"
    copied.write_bytes(journal.read_bytes())
    assert "knows nothing of it" in refused(model, copied)
    assert "took up 1 lines" in learned("-m", model, "--journal", journal, lines=[]).err


def test_u17_a_line_of_the_rest_that_was_damaged_is_an_error_with_its_place(model, journal):
    learned("-m", model, "--journal", journal, lines=LINES["jsonl"])
    with open(journal, "a") as file:
        file.write('{"text": "nothing"}\n')
    error = refused(model, journal)
    assert f"{journal}:5: a line without a label. The journal was damaged or changed" in error
    journal.write_text("".join(f"{line}\n" for line in [*LINES["jsonl"], '{"text": ', *LINES["jsonl"]]))
    assert f"{journal}:5:" in refused(model, journal)


def test_the_end_says_how_many_lines_were_answered_learned_and_bad(model, journal):
    lines = [*LINES["jsonl"], UNLABELLED["jsonl"], "{", '{"text": "a", "label": "eggs"}']
    outcome = learned("-m", model, "--journal", journal, lines=lines)
    assert outcome.err.splitlines()[-1] == f"cwlearn: {model}: 5 answers, 4 lines learned, 2 bad lines"
    outcome = learned("-m", model, "--journal", journal, lines=lines[:5])
    assert outcome.err == f"cwlearn: {model}: 5 answers, 4 lines learned\n"
    assert learned("-q", "-m", model, "--journal", journal, lines=lines[:5]).err == ""


@pytest.mark.parametrize("with_journal", [False, True])
def test_a_model_that_cannot_be_written_meanwhile_is_a_warning_that_names_the_journal(
    with_journal, model, journal, monkeypatch
):
    words = ["--journal", journal] if with_journal else []
    assert learned("-m", model, *words, lines=[]).status == 0
    before = model_file.load(model).statistics["rows"]
    fails = iter([OSError("no room")])
    original = model_file.save

    def save(*words):
        for error in fails:
            raise error
        original(*words)

    monkeypatch.setattr(model_file, "save", save)
    monkeypatch.setattr(learn, "save_model", save)
    outcome = learned("-m", model, *words, "--interval", 1e-9, lines=LINES["jsonl"])
    assert outcome.status == 0
    kept = f"; {journal} has all that was learned" if with_journal else ""
    assert outcome.err.splitlines()[0] == f"cwlearn: warning: the model was not written: no room{kept}"
    assert model_file.load(model).statistics["rows"] == before + 4


def test_a_model_of_documents_does_not_learn_rows_of_numbers(model):
    before = model.read_bytes()
    assert "documents" in explained(learned("-m", model, "--format", "svmlight", lines=["1 1:1"]).err)
    assert model.read_bytes() == before


def test_u17_other_formats_do_not_go_into_one_journal(model, journal, tmp_path):
    learned("-m", model, "--journal", journal, lines=LINES["jsonl"])
    outcome = learned(
        "-m",
        model,
        "--journal",
        journal,
        "--format",
        "jsonl",
        "--text",
        "body",
        lines=['{"body": "a", "label": "ham"}'],
    )
    assert f"{journal}:1:" in explained(outcome.err)
    assert "or these flags are not those that it was written with" in outcome.err
    outcome = learned("-m", model, "--journal", tmp_path / "new.csv", "--new-journal", lines=LINES["jsonl"])
    assert "the name of the journal is one of csv, and the lines are jsonl" in outcome.err
    assert journal.read_text().splitlines() == LINES["jsonl"]


def test_u18_a_second_writer_is_refused(model, journal, tmp_path):
    with command("learn", "-", "-m", model, "--journal", journal, "--proba", stdin=subprocess.PIPE) as process:
        process.stdout.readline()  # it has begun
        error = fail("learn", "-", "-m", model)
        assert f"process {process.pid} learns into this model: end it first" in error
        other = tmp_path / "copy.npz"
        other.write_bytes(model.read_bytes())
        assert "another process writes to this journal" in fail("learn", "-", "-m", other, "--journal", journal)
        process.stdin.close()
        assert process.wait(60) == 0
    assert not [name for name in os.listdir(tmp_path) if name.endswith(".lock")]


def test_u19_a_full_disk_ends_it_with_everything_that_was_answered(model, journal, monkeypatch):
    """The disk takes the beginning of the second batch, and then nothing more."""
    learned("-m", model, "--journal", journal, lines=LINES["jsonl"])
    before, kept = model.read_bytes(), journal.read_bytes()
    original, room = os.write, [10]

    def write(descriptor, text):
        if not os.path.samestat(os.fstat(descriptor), os.stat(journal)):
            return original(descriptor, text)
        if not room:
            raise OSError(errno.ENOSPC, "No space left on device")
        return original(descriptor, text[: room.pop()])

    monkeypatch.setattr(os, "write", write)
    outcome = learned("-m", model, "--journal", journal, lines=LINES["jsonl"])
    assert outcome.status == 1
    assert outcome.out == ""
    what = "No space left on device; the lines without an answer were not learned: make room, and start again"
    assert outcome.err == f"cwlearn: error: {journal}: {what}\n"
    assert (model.read_bytes(), journal.read_bytes()) == (before, kept)
    monkeypatch.undo()
    assert len(answers_of(learned("-m", model, "--journal", journal, lines=LINES["jsonl"]))) == 4


def test_u20_hostile_lines_are_errors_and_the_stream_goes_on_without_them(model, journal):
    lines = [
        b'{"text": "free prize", "label": "spam"}',
        b'{"text": "free \x1b[31m", "label": "spam"',
        b'{"text": "<b>x", "label": "eggs"}',
        b'{"text": "x", "label": {"a": 1}}',
        b'{"text": "\xff", "label": "spam"}',
        b"\x00\x01\x02",
        b'{"text": "free \x00 prize", "label": "spam"}',
        b'{"text": "free \\ud800 prize", "label": "spam"}',
        b'{"text": "free", "label": "\\u001b]0;title\\u0007\\u009b31m\\u202e"}',
        b"[" * 100_000,
        b'{"text": "' + b"lunch " * 200_000 + b'", "label": "ham"}',
    ]
    base = model.with_name("base.npz")
    base.write_bytes(model.read_bytes())
    outcome = outcome_of(
        "learn", "-", "-m", model, "--journal", journal, "--jsonl", "--format", "jsonl",
        input=b"".join(line + b"\n" for line in lines),
    )  # fmt: skip
    assert outcome.status == 0, outcome.err
    found = [json.loads(line) for line in outcome.out.splitlines()]
    assert ["error" in answer for answer in found] == [False, *[True] * 9, False]
    assert "label eggs is not one of the labels ham, spam" in found[2]["error"]
    assert len(outcome.err.splitlines()) == 10  # one for each, and what was done
    assert all(character.isprintable() or character == "\n" for character in outcome.out + outcome.err)
    assert journal.read_bytes() == lines[0] + b"\n" + lines[-1] + b"\n"
    succeed("train", journal, "-m", base, "--resume", base, "--epochs", 1, "--no-shuffle")
    assert bits(model_file.load(model)) == bits(model_file.load(base))


def test_u20_a_row_that_cannot_be_learned_leaves_no_trace(tmp_path):
    data, model = trained("svmlight", tmp_path)
    succeed("train", data, "-m", model, "-a", "perceptron", "--epochs", 1)
    journal = tmp_path / "j.svm"
    lines = ["1 1:1", "-1 1:3e38 2:3e38", f"1 {10**15}:1", "7 1:1", "-1 2:1"]
    outcome = learned("-m", model, "--journal", journal, "--memory", "1G", lines=lines)
    assert [bool(line) for line in answers_of(outcome)] == [True, False, False, False, True]
    assert journal.read_text().splitlines() == [lines[0], lines[-1]]
    for what in ("is not a finite number in float32", f"index {10**15} needs", "label 7 is not one of the labels"):
        assert what in outcome.err
    assert model_file.load(model).state.n_features == 5


def test_a_document_without_a_label_is_told_what_else_is_wrong_with_it(model):
    text = b'{"text": "\xff"}\n{"text": "\xff", "label": null}\n{"label": "ham"}\n'
    outcome = outcome_of("learn", "-", "-m", model, "--jsonl", "--format", "jsonl", input=text)
    errors = [json.loads(line)["error"] for line in outcome.out.splitlines()]
    assert ["UTF-8" in error for error in errors] == [True, True, False]
    with model.with_name("a.jsonl").open("wb") as file:
        file.write(text)
    outcome = cwlearn("learn", model.with_name("a.jsonl"), "-m", model, "--jsonl")
    assert [json.loads(line)["error"].partition(":")[2] for line in outcome.out.splitlines()] == [
        error.partition(":")[2] for error in errors
    ]


def test_a_signal_ends_it_with_the_model_written(model, journal):
    with command("learn", "-", "-m", model, "--journal", journal, stdin=subprocess.PIPE) as process:
        process.stdin.write(f"{LINES['jsonl'][0]}\n".encode())
        process.stdin.flush()
        process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 128 + signal.SIGTERM
    assert model_file.load(model).journal.bytes == journal.stat().st_size


def test_regressions_learn_targets(tmp_path):
    data, model = tmp_path / "data.svm", tmp_path / "m.npz"
    data.write_text("".join(f"{number} 1:{number}\n" for number in range(8)))
    succeed("train", data, "-m", model, "--task", "regression")
    first, second, third = answers_of(learned("-m", model, "--std", lines=["1:3", "30 1:3", "1:3"]))
    assert first == second
    assert float(third.split()[0]) > float(first.split()[0])


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["-m", "-"], "a model is a file"),
        (["-m", "{model}", "--new-journal"], "--new-journal needs --journal FILE"),
        (["-m", "{model}", "--journal", "j.jsonl.gz"], "a journal is plain text"),
        (["-m", "{model}", "--journal", "{model}"], "is both read and written"),
    ],
)
def test_flags_of_learn_that_do_not_fit_are_refused(words, what, model):
    assert what in fail("learn", "-", *(word.format(model=model) for word in words), status=2)


def test_a_checkpoint_is_no_model_to_learn_into(tmp_path, model):
    learner = model_file.load(model)
    learner.unfinished = {"done": 1, "memory": None}
    model_file.save(learner, model)
    assert "a checkpoint; `cwlearn train --resume` finishes its training first" in fail("learn", "-", "-m", model)


def test_a_document_that_cannot_be_learned_is_not_counted_either(tmp_path):
    """Its words weigh those of later documents."""
    data, model, other = tmp_path / "data.jsonl", tmp_path / "m.npz", tmp_path / "other.npz"
    records = [{"text": text, "label": label, "a": 1, "b": 2} for text, label in TEXTS]
    data.write_text("".join(json.dumps(record) + "\n" for record in records))
    succeed("train", data, "-m", model, "-a", "perceptron", "--epochs", 1, "--fields", "a,b")
    other.write_bytes(model.read_bytes())
    lines = [json.dumps(record) for record in records]
    bad = json.dumps({"text": "free lunch", "label": "ham", "a": 3e38, "b": -3e38})
    outcome = learned("-m", model, lines=[*lines, bad, *lines])
    assert "is not a finite number" in outcome.err
    assert [bool(answer) for answer in answers_of(outcome)] == [True] * 4 + [False] + [True] * 4
    learned("-m", other, lines=[*lines, *lines])
    assert bits(model_file.load(model)) == bits(model_file.load(other))
    assert model_file.load(model).frequencies.n_documents == model_file.load(other).frequencies.n_documents
