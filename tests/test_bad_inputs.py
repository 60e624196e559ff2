"""Bad and odd inputs are numbered by kind, and a test answers for each of them by its name or that of a parameter.

L lines of text, F files and streams, C matrices, H parameters, M model files, U usage of the command line, E faults of
the environment, T threads, D Dask.
"""

from __future__ import annotations

import re
from pathlib import Path

ROWS = {"L": 63, "F": 24, "C": 30, "H": 16, "M": 17, "U": 14, "E": 13, "T": 5, "D": 8}
NAMES = re.compile(r"def test_(\w+)\(")
IDS = re.compile(r"(?<!\")\"([LFCHMUETD]\d\d)\b")


def test_every_bad_input_has_a_test_that_names_it():
    named = set()
    for path in Path(__file__).parent.glob("test_*.py"):
        text = path.read_text()
        named |= {word.upper() for name in NAMES.findall(text) for word in name.split("_")} | set(IDS.findall(text))
    assert not sorted({f"{kind}{number:02}" for kind, last in ROWS.items() for number in range(1, last + 1)} - named)
