"""Marked control characters and markup go into every verb, by every way in, and come out of none."""

from __future__ import annotations

import html.parser
import json

import pytest

from cwlearn.cli.parser import VERBS
from tests.text_cases import cwlearn

TITLE, CLEAR, BACK = "\x1b]0;owned\x07", "\x1b[2J", "\u202e"
MARKUP = "<script>owned()</script><img src=x onerror=owned()>\"'&"
MARKS = [TITLE, CLEAR, BACK, "\x9b31m", "\x00", "\r", "\n", MARKUP]
TAINT = "".join(MARKS)
LABELS = [f"{label}{TAINT}".replace("\x00", "") for label in ("good", "bad")]  # no label has a NUL


class Page(html.parser.HTMLParser):
    """The elements and attributes of a page that would run something."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("script", "img") or any(name.startswith("on") for name, _ in attrs):
            self.found.append(tag)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Documents whose labels, words, fields, kept values and file names are tainted, and two models of them."""
    monkeypatch.chdir(tmp_path)
    lines = []
    for number in range(60):
        text = f"{'fine' if number % 2 else 'poor'}{TAINT}film word{number % 7}{TAINT}end"
        lines.append(
            {"text": text, "label": LABELS[number % 2], "id": f"{number}{TAINT}", f"field{TAINT}": f"x{TAINT}"}
        )
    documents = "".join(json.dumps(line) + "\n" for line in lines)
    (tmp_path / f"data{CLEAR}{BACK}.jsonl").write_text(documents)
    (tmp_path / f"bad{CLEAR}{BACK}.jsonl").write_text(documents + f'{{"text": "x{MARKUP}", "label": {CLEAR}\n')
    (tmp_path / "names.txt").write_text(f"name{CLEAR}\n" * 50, encoding="utf-8")
    for model, epochs in (("old", 1), ("new", 2)):
        assert cwlearn("train", *DATA, "-m", f"{model}{CLEAR}.npz", "-a", "arow", "--epochs", epochs).status == 0
    return tmp_path


DATA, BAD = [f"data{CLEAR}{BACK}.jsonl"], [f"bad{CLEAR}{BACK}.jsonl"]
OLD, NEW = f"old{CLEAR}.npz", f"new{CLEAR}.npz"
ASKED = ["-m", NEW]
FIELD = ["--fields", f"field{TAINT}"]
COMMANDS: dict[str, list[list[str]]] = {
    "train": [
        [*DATA, "-m", f"m{CLEAR}.npz"],
        [*DATA, "-m", f"m{CLEAR}.npz", "-a", "cw", *FIELD],
        [*BAD, "-m", f"m{CLEAR}.npz", "--on-bad-line", "skip", "-a", "cw"],
        [*DATA, "-m", "m.npz", "--labels", f"a{CLEAR},b{BACK}"],
    ],
    "predict": [[*DATA, *ASKED, *more] for more in ([], ["--proba"], ["--top", "2"], ["--jsonl"], ["--keep", "id"])],
    "learn": [
        [*BAD, "--on-bad-line", "skip", *ASKED, *more]
        for more in ([], ["--proba"], ["--jsonl"], ["--journal", f"j{CLEAR}.jsonl"])
    ],
    "evaluate": [[*DATA, *ASKED], [*BAD, *ASKED], [*BAD, *ASKED, "--on-bad-line", "skip"], [*DATA, *ASKED, "--json"]],
    "query": [[*DATA, *ASKED, "-n", "5"]],
    "inspect": [[NEW], [NEW, "--json"], [NEW, "--names-from", *DATA], [NEW, "--names", "names.txt"], DATA],
    "explain": [[*DATA, *ASKED], [*DATA, *ASKED, "--json"], [*DATA, *ASKED, "--html", f"page{CLEAR}.html"]],
    "diff": [[OLD, NEW], [OLD, NEW, *DATA], [OLD, NEW, *DATA, "--json"], [OLD, *DATA]],
    "tune": [[*DATA, "-a", "arow", "--epochs", "2"], [*BAD, "--epochs", "1"]],
    "compare": [
        [*DATA, "--algorithms", "arow,pa", "--folds", "2", "--epochs", "1", "--report", f"report{CLEAR}.html"],
        [*DATA, "--algorithms", f"arow{CLEAR}", "--folds", "2"],
    ],
    "merge": [[OLD, NEW, "-m", f"merged{CLEAR}.npz"], [OLD, *DATA, "-m", "m.npz"]],
    "export": [
        [NEW, "--to", kind, "-o", f"scorer{CLEAR}.{kind}", "--keep", "20", "--data", *DATA]
        for kind in ("c", "js", "json")
    ],
    "demo": [["-m", f"demo{CLEAR}.npz"]],
    "help": [[f"arow{CLEAR}"]],
}


def test_every_verb_is_tried():
    assert set(COMMANDS) == set(VERBS)


@pytest.mark.parametrize("verb", COMMANDS)
def test_no_byte_of_any_input_reaches_a_terminal_or_a_page_as_it_is(verb, folder):
    statuses = set()
    for words in COMMANDS[verb]:
        outcome = cwlearn(verb, *words)
        statuses.add(outcome.status)
        assert "Traceback" not in outcome.err, outcome.err
        for stream in (outcome.out, outcome.err):
            for line in stream.split("\n"):
                assert all(mark not in line for mark in MARKS[:-2]), (words, line)
                assert line.isprintable(), (words, line)
    assert 0 in statuses or verb == "help"
    for page in folder.glob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert not Page(text).found
        assert all(mark not in text for mark in MARKS[:5])
