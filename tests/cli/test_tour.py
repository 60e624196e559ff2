"""The tour of docs/start/command_line.md prints what the page says."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

import cwlearn
from tests.text_cases import succeed

PAGE = Path(__file__).parents[2] / "docs" / "start" / "command_line.md"
MAILS = Path(cwlearn.__file__).with_name("demo")
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")


def words_and_numbers(text):
    """A text without its numbers and the space around them, and these; without what only the clock knows."""
    text = re.sub(r"[\d.]+ s;", "s;", text)
    return NUMBER.sub("0", re.sub(" +", " ", text)), [float(number.replace(",", "")) for number in NUMBER.findall(text)]


def test_the_commands_of_the_tour_print_what_the_page_says(tmp_path, monkeypatch):
    for path in MAILS.glob("*.jsonl*"):
        shutil.copy(path, tmp_path)
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```text\n\$ cwlearn (.*)\n((?:.*\n)*?)```$", PAGE.read_text(), re.MULTILINE)
    assert len(blocks) >= 5
    for command, expected in blocks:
        lines, expected_lines = succeed(*shlex.split(command)).out.splitlines(), expected.splitlines()
        where = next((i for i, line in enumerate(lines) if line.split()[0:1] == expected_lines[0].split()[0:1]), 0)
        words, numbers = words_and_numbers("\n".join(lines[where : where + len(expected_lines)]))
        expected_words, expected_numbers = words_and_numbers("\n".join(expected_lines))
        assert words == expected_words, f"cwlearn {command}"
        assert numbers == pytest.approx(expected_numbers, rel=0.02), f"cwlearn {command}"  # other processors round
