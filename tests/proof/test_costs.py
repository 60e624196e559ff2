"""Cost bounds: four times the bytes take no more than four times the steps of Python, and memory in proportion.

What compiled loops do is counted by `python -m tests.proof.costs`, in instructions.
"""

from __future__ import annotations

import contextlib
import gc
import json
import sys
import threading
import tracemalloc

import numpy as np
import pytest

from cwlearn.cli import learn
from cwlearn.core import model_file, sealed_archive
from cwlearn.errors import ModelError
from cwlearn.text import hashing
from cwlearn.text.characters import Characters
from cwlearn.text.hashing import Hasher, HashingSettings, NewArrays, documents_of
from tests.core.test_model_memory import learned
from tests.proof.cost_cases import cases, read, read_names, repeated, text_of
from tests.text_cases import cwlearn, succeed

SIZE, CHUNK = 1 << 11, 1 << 9
MEMORY = 64  # bytes of memory for a byte of text
READING = 300_000  # bytes that any reading takes


class Lines:
    """Counts the lines of Python that run, in all threads."""

    def __init__(self):
        self.count = 0

    def _step(self, frame, event, argument):
        self.count += 1
        return self._step

    def __enter__(self):
        threading.settrace(self._step)
        sys.settrace(self._step)
        return self

    def __exit__(self, *error):
        sys.settrace(None)
        threading.settrace(None)


@pytest.fixture
def few_objects():
    """Errors hold themselves alive until the collector comes, which `read` lets come for each: so it must be quick."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def costs(work):
    """(lines of Python, peak of memory) of some work."""
    work()
    tracemalloc.start()
    try:
        work()
        memory = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    with Lines() as lines:
        work()
    return lines.count, memory


def check_proportion(few, short, long, size):
    assert long[0] - few[0] <= 4.4 * max(short[0] - few[0], 0) + 2000
    assert long[1] <= few[1] + READING + MEMORY * size


@pytest.mark.usefixtures("few_objects")
@pytest.mark.parametrize(("door", "case", "how"), cases(), ids=lambda word: word.replace(" ", "-") or "plain")
def test_any_text_is_read_in_steps_and_memory_in_proportion(door, case, how, tmp_path):
    path = tmp_path / "a"

    def cost(size):
        path.write_bytes(text_of(door, case, size))
        return costs(lambda: read(path, door, case, how, CHUNK, gc.collect))

    check_proportion(cost(1), cost(SIZE), cost(4 * SIZE), 4 * SIZE)


@pytest.mark.usefixtures("few_objects")
@pytest.mark.parametrize("part", [b"\n", b"\r\n", b"a", b"\xff\n", b"\\\n"])
def test_a_file_of_names_is_read_in_steps_and_memory_in_proportion(part, tmp_path):
    path = tmp_path / "names"

    def cost(size):
        path.write_bytes(part * (size // len(part)))
        return costs(lambda: read_names(path))

    check_proportion(cost(1), cost(SIZE), cost(4 * SIZE), 4 * SIZE)


GOOD = b'{"text": "a word or two", "label": "a"}\n'
JOURNALS = {  # the rest of a journal that the model has not learned
    "lines": ("jsonl", repeated(GOOD)),
    "blank lines": ("jsonl", repeated(b"\n")),
    "a torn line": ("jsonl", repeated(b"x", b'{"text": "', b"")),
    "torn lines": ("jsonl", repeated(b"\r", GOOD, b"")),
    "a bad line behind good ones": ("jsonl", repeated(GOOD, b"", b"{\n")),
    "unknown labels": ("jsonl", repeated(GOOD.replace(b'"a"}', b'"c"}'))),
    "NUL": ("jsonl", repeated(b"\0")),
    "records": ("csv", repeated(b"a,some text\n", b"label,text\n")),
    "open quotes": ("csv", repeated(b'a,"b\n', b"label,text\n", b"")),
    "quotes": ("csv", repeated(b'""', b'label,text\na,"', b'"\n')),
}


@pytest.mark.usefixtures("few_objects")
@pytest.mark.parametrize("case", JOURNALS)
def test_a_journal_is_taken_up_in_steps_and_memory_in_proportion(case, tmp_path, monkeypatch):
    format, text = JOURNALS[case]
    monkeypatch.setattr(learn, "CHUNK_BYTES", CHUNK)
    data, nothing, model, journal = (tmp_path / name for name in ("data.csv", "no.csv", "m.npz", f"j.{format}"))
    data.write_text("label,text\na,red\nb,green\n")
    nothing.write_text("label,text\n")
    words = ["learn", nothing, "-m", model, "--journal", journal, "--threads", 1]
    succeed("train", data, "-m", model, "-a", "arow", "--epochs", 1, "--hash-bits", 8, "--names", 0, "-q")
    succeed(*words)
    known, statuses = model.read_bytes(), set()

    def take_up():
        statuses.add(cwlearn(*words).status)
        gc.collect()

    def cost(size):
        def work():
            model.write_bytes(known)
            journal.write_bytes(text(size))
            take_up()

        return costs(work)

    few, short, long = (cost(size) for size in (1, SIZE, 4 * SIZE))
    check_proportion(few, short, long, 4 * SIZE)
    if statuses == {0}:  # all is learned, and only compared with the hash from now on
        learned_before = costs(take_up)
        assert learned_before[0] <= few[0] + 2000
        assert learned_before[1] <= few[1] + READING
    else:
        assert case in ("a bad line behind good ones", "unknown labels", "NUL", "open quotes")


def in_header(**entries):
    """Headers that have more of something the longer they are."""
    return lambda header, members, size: header.update({name: make(size) for name, make in entries.items()})


def in_text(text):
    """A header that is no JSON of ours."""

    def change(header, members, size):
        members["header"] = np.frombuffer(text(size), np.uint8)

    return change


HOSTILE = {
    "a deep header": in_text(lambda size: b"[" * size),
    "a deep object": in_text(lambda size: b'{"a":' * (size // 5)),
    "digits": in_text(lambda size: b'{"version": ' + b"7" * size + b"}"),
    "a key again and again": in_text(lambda size: b'{"a": 1' + b', "a": 1' * (size // 8) + b"}"),
    "keys": in_text(lambda size: json.dumps({f"k{k}": k for k in range(size // 10)}).encode()),
    "escapes": in_text(lambda size: b'{"a": "' + b"\\u0041" * (size // 6) + b'"}'),
    "a long rule": in_header(rule=lambda size: "a" * size),
    "labels": in_header(classes=lambda size: [*map(str, range(size // 6))], labels=lambda size: {}),
    "label texts": in_header(label_texts=lambda size: [*map(str, range(size // 6))]),
    "words": in_header(words=lambda size: [[k, ["w"]] for k in range(size // 12)]),
    "words of a column": in_header(words=lambda size: [[1, ["w"] * (size // 5)]]),
    "members": lambda header, members, size: members.update({f"m{k}": np.zeros(1) for k in range(size // 250)}),
    "names": lambda header, members, size: members.update(names=np.frombuffer(b"a\n" * (size // 2), np.uint8)),
    "places": lambda header, members, size: members.update(places=np.arange(size // 8)),
    "places that fall": lambda header, members, size: members.update(places=np.arange(size // 8)[::-1].copy()),
}


@pytest.mark.usefixtures("few_objects")
@pytest.mark.parametrize("name", HOSTILE)
def test_any_forged_model_is_refused_in_steps_and_memory_in_proportion(name, tmp_path):
    path, learner = tmp_path / "m.npz", learned()

    def load():
        with contextlib.suppress(ModelError):
            model_file.load(path)

    def cost(size):
        members = model_file._members(learner)
        header = json.loads(members["header"].tobytes())
        sound = members["header"]
        HOSTILE[name](header, members, size)
        if members["header"] is sound:
            members["header"] = np.frombuffer(json.dumps(header).encode(), np.uint8)
        with path.open("wb") as file:
            sealed_archive.write(file, members)
        return costs(load)

    check_proportion(cost(500), cost(SIZE), cost(4 * SIZE), 4 * SIZE)


def test_a_text_of_many_scripts_is_begun_again_twice(monkeypatch):
    """Its characters need a page of the tables each, and each page that is missing would begin it again."""
    begun = []
    original = hashing.hash_documents
    monkeypatch.setattr(hashing, "hash_documents", lambda *words: (begun.append(1), original(*words))[1])
    monkeypatch.setattr(hashing, "characters", Characters)  # without the pages of other tests
    text = "word " + "".join(chr(page * 256 + 0x40) for page in range(0x20, 0x90))
    rows = Hasher(HashingSettings()).rows(documents_of([text, text]), NewArrays())
    assert len(rows.squares) == 2
    assert len(begun) == 3
