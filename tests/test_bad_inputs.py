"""Every row of docs/odd_inputs.md has a test with its number in the name, or in the name of a parameter."""

from __future__ import annotations

import re
from pathlib import Path

TABLE = Path(__file__).parents[1] / "docs" / "odd_inputs.md"
NAMES = re.compile(r"def test_(\w+)\(")
IDS = re.compile(r"(?<!\")\"([LFCHMUETDXW]\d\d)\b")


def test_every_bad_input_has_a_test_that_names_it():
    rows = re.findall(r"^\| ([A-Z]\d\d) \|", TABLE.read_text(), re.MULTILINE)
    assert len(rows) == len({*rows}) == 247
    named = set()
    for path in Path(__file__).parent.rglob("test_*.py"):
        text = path.read_text()
        named |= {word.upper() for name in NAMES.findall(text) for word in name.split("_")} | set(IDS.findall(text))
    assert not sorted({*rows} - named)
