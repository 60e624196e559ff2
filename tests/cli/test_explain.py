"""`cwlearn explain`: text, JSON lines, a page, and colours on a terminal only."""

from __future__ import annotations

import io
import json
import math
import os
import pty
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pytest

from cwlearn import AROWClassifier, AROWRegressor, KernelAROWClassifier, TextClassifier
from cwlearn.cli.explain import LONGEST, _colored_document, uses_color
from cwlearn.core.explaining import Piece, percent
from tests.text_cases import fail, succeed

TEXTS = ["Win a FREE prize now", "minutes of the budget meeting", "free cash, click now", "lunch with the team?"]
HOSTILE = "free \x1b[31mred <script>alert(1)</script> prize\x00 \u202ewin"


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.npz"
    TextClassifier(AROWClassifier(random_state=0)).fit(TEXTS * 3, ["spam", "ham"] * 6).save(path)
    return path


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "new.jsonl"
    texts = ["Click for the\nFREE budget", HOSTILE, ""]
    path.write_text("".join(json.dumps({"text": text, "label": "spam"}) + "\n" for text in texts))
    return path


def test_every_row_is_explained_with_the_words_of_its_document(model, data):
    out = succeed("explain", data, "-m", model).out
    blocks = out.rstrip("\n").split("\n\n")
    assert [block.split(": ")[0] for block in blocks] == [f"{data}:{line}" for line in (1, 2, 3)]
    assert re.search(r"^    [+-]\d\.\d{4} ± \d\.\d{4}   FREE$", blocks[0], re.MULTILINE)
    predicted = succeed("predict", data, "-m", model, "--proba").out.splitlines()[1:]
    for block, line in zip(blocks, predicted, strict=True):
        label, *chances = line.split()
        assert block.split(": ")[1].startswith(f"{label} {percent(max(map(float, chances)))}, not ")


def test_lines_of_json_add_up_to_the_margin(model, data):
    lines = [json.loads(line) for line in succeed("explain", data, "-m", model, "--json", "--top", 2).out.splitlines()]
    margins = succeed("predict", data, "-m", model, "--margin").out.splitlines()
    for number, (line, margin) in enumerate(zip(lines, margins, strict=True), 1):
        assert (line["line"], len(line["contributions"]) <= 2) == (number, True)
        total = line["intercept"] + line["others"] + math.fsum(item["contribution"] for item in line["contributions"])
        assert total == pytest.approx(line["margin"], abs=1e-9)
        assert abs(line["margin"]) == pytest.approx(abs(float(margin.split()[1])), abs=1e-8)


class Page(HTMLParser):
    """Checks that elements are closed, and collects them."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.text = [], [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        if tag not in ("meta", "link", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def test_the_page_is_one_file_without_scripts_and_shades_words(model, data, tmp_path):
    path = tmp_path / "page.html"
    assert "3 rows explained" in succeed("explain", data, "-m", model, "--html", path).out
    text = path.read_text(encoding="utf-8")
    page = Page(text)
    assert page.tags.count("article") == 3
    assert "script" not in page.tags
    assert not re.search(r"https?://|@import|url\(", text)
    assert all(character.isprintable() for character in text.replace("\n", ""))
    assert "<mark" in text
    assert " (for) " in page.text  # which a screen reader says, as colours are not seen by all
    assert "\\x1b[31mred" in "".join(page.text)
    assert "prefers-color-scheme: dark" in text


def test_u16_documents_of_megabytes_are_shown_in_part_and_escaped(tmp_path):
    """Many words, and one word without an end."""
    model, data, path = (tmp_path / name for name in ("model.npz", "new.jsonl", "page.html"))
    texts = ["free <b> " * 20_000, "x" * 1_000_000]
    TextClassifier(AROWClassifier(random_state=0)).fit([*texts, *TEXTS], ["spam", "ham"] * 3).save(model)
    data.write_text("".join(json.dumps({"text": text, "label": "spam"}) + "\n" for text in texts))
    succeed("explain", data, "-m", model, "--html", path)
    text = path.read_text(encoding="utf-8")
    assert len(text) < 2_000_000  # a mark takes many times the room of its word
    assert "<b>" not in text
    assert text.count(" ...") == 2
    outcome = succeed("explain", data, "-m", model)
    assert len(outcome.out) < 5000
    assert "x" * 100 + "..." in outcome.out
    records = map(json.loads, succeed("explain", data, "-m", model, "--json").out.splitlines())
    assert texts[1] in {item["name"] for record in records for item in record["contributions"]}


BROWSER = next((path for name in ("chromium", "google-chrome") if (path := shutil.which(name))), None)


@pytest.mark.skipif(BROWSER is None, reason="needs chromium")
def test_a_browser_shows_the_page_without_a_warning(model, data, tmp_path):
    page = tmp_path / "page.html"
    succeed("explain", data, "-m", model, "--html", page)
    flags = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom"]
    flags += ["--no-first-run", "--disable-background-networking", "--enable-logging=stderr", "--v=0"]
    shown = subprocess.run([BROWSER, *flags, page.as_uri()], capture_output=True, text=True, timeout=120, check=True)
    assert "CONSOLE" not in shown.stderr
    assert shown.stdout.count("<article") == 3


def run_on_terminal(words, **environment):
    """What a command writes to a terminal."""
    leader, follower = pty.openpty()
    clean = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    command = [sys.executable, "-m", "cwlearn", *map(str, words)]
    with subprocess.Popen(command, stdout=follower, env={**clean, "TERM": "xterm", **environment}) as process:
        os.close(follower)
        text = b""
        try:
            while part := os.read(leader, 1 << 16):
                text += part
        except OSError:  # the end, on Linux
            pass
    assert process.returncode == 0
    os.close(leader)
    return text.decode()


def test_words_are_coloured_on_a_terminal_only(model, data):
    words = ["explain", data, "-m", model, "-q"]
    colored, plain = run_on_terminal(words), run_on_terminal(words, NO_COLOR="1")
    assert re.search("\x1b\\[(1;)?3[12]mFREE\x1b\\[0m", colored)
    assert set(re.findall("\x1b[^a-zA-Z]*[a-zA-Z]", colored)) <= {
        f"\x1b[{code}m" for code in ("0", "31", "32", "1;31", "1;32")
    }
    assert "\\x1b[31m" in colored  # that of the document, escaped
    assert "\x1b" not in plain
    assert "\x1b" not in succeed(*words).out


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("stream", "environment", "expected"),
    [
        (Terminal, {}, True),
        (Terminal, {"TERM": "xterm"}, True),
        (Terminal, {"NO_COLOR": ""}, True),
        (Terminal, {"NO_COLOR": "1"}, False),
        (Terminal, {"TERM": "dumb"}, False),
        (io.StringIO, {"TERM": "xterm"}, False),
    ],
)
def test_who_wants_colours(stream, environment, expected, monkeypatch):
    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "stdout", stream())
    assert uses_color() == expected


def colored(*pieces):
    return [*_colored_document(SimpleNamespace(pieces=[Piece(*piece) for piece in pieces]))]


def test_colours_tell_for_and_against_and_how_much():
    found = colored(("free", 2.0), ("\r\n", None), ("a\tb", 0.49), ("cash", -0.5), ("!", 0.0))
    assert found == [("free", "1;32"), (" ", ""), ("a b", "32"), ("cash", "1;31"), ("!", "")]
    found = colored(("x" * (LONGEST - 1), 1.0), ("yz", -1.0), ("w", 1.0))
    assert found == [("x" * (LONGEST - 1), "1;32"), ("y", "1;31"), (" ...", "")]


def test_rows_of_numbers_have_names_and_regressions_have_no_label(tmp_path):
    rows, names = tmp_path / "rows.svm", tmp_path / "names.txt"
    rows.write_text("+1 1:1 3:2\n-1 2:1 9:1\n")
    names.write_text("wool\ncotton\nsilk\n")
    path = tmp_path / "model.npz"
    succeed("train", rows, "-m", path, "-a", "arow", "--epochs", 3, "-q")
    out = succeed("explain", rows, "-m", path, "--names", names).out
    assert f"{rows}:1: +1 " in out
    assert ", not -1" in out
    assert re.search(r"  silk$", out, re.MULTILINE)
    AROWRegressor(random_state=0).fit(np.eye(4), [0.0, 1.0, 2.0, 3.0]).save(path)
    line = json.loads(succeed("explain", rows, "-m", path, "--json", "-q").out.splitlines()[1])
    assert (line["label"], [item["column"] for item in line["contributions"]]) == (None, [2])  # 9 is not known


def test_features_of_vowpal_wabbit_and_further_fields_have_their_names(tmp_path):
    rows, path = tmp_path / "rows.vw", tmp_path / "model.npz"
    rows.write_text("1 |words wool:2 cotton\n-1 |words silk\n")
    succeed("train", rows, "-m", path, "-a", "arow", "--epochs", 2, "-q")
    assert "words^wool" in succeed("explain", rows, "-m", path).out
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"text": "a Warm day", "label": "a", "kind": "mail", "size": 2}\n{"text": "x", "label": "b"}\n')
    succeed("train", rows, "-m", path, "-a", "arow", "--fields", "kind,size", "--epochs", 2, "-q")
    out = succeed("explain", rows, "-m", path).out
    for name in ("kind=mail", "size", "Warm day"):
        assert re.search(rf"   {name}$", out, re.MULTILINE)


def test_what_cannot_be_explained_is_refused(model, data, tmp_path):
    assert "give one of them" in fail("explain", data, "-m", model, "--json", "--html", tmp_path / "p", status=2)
    KernelAROWClassifier(random_state=0).fit(np.eye(3), [0, 1, 0]).save(tmp_path / "kernel.npz")
    rows = tmp_path / "rows.svm"
    rows.write_text("1 1:1\n")
    assert "no weights by feature" in fail("explain", rows, "-m", tmp_path / "kernel.npz", status=2)
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"text": "fine", "label": "spam"}\n{"text": \x1b}\n')
    assert "bad.jsonl:2" in fail("explain", bad, "-m", model, "--html", tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()
