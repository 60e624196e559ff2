"""Type checkers accept what users write and refuse what they misspell."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "typing"
ROOT = Path(__file__).parents[1]
REFUSED = {
    number
    for number, line in enumerate((FOLDER / "misuses.py").read_text().splitlines(), 1)
    if line.endswith("# refused")
}


def mypy(path):
    """The lines that mypy refuses."""
    path = path.relative_to(ROOT)  # as mypy prints it
    words = [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "--config-file", os.devnull, str(path)]
    result = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert result.returncode in (0, 1), result.stderr
    return {int(line) for line in re.findall(rf"^{re.escape(str(path))}:(\d+): error", result.stdout, re.MULTILINE)}


def basedpyright(path):
    """The lines that basedpyright refuses as errors."""
    words = [sys.executable, "-m", "basedpyright", "--outputjson", "--level", "error", str(path)]
    result = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=300)
    found = json.loads(result.stdout)["generalDiagnostics"]
    return {entry["range"]["start"]["line"] + 1 for entry in found if entry["severity"] == "error"}


@pytest.mark.parametrize("checker", [mypy, basedpyright])
def test_every_public_name_is_accepted_as_users_write_it(checker):
    assert checker(FOLDER / "uses.py") == set()


@pytest.mark.parametrize("checker", [mypy, basedpyright])
def test_misspelt_parameters_and_wrong_values_are_refused(checker):
    assert checker(FOLDER / "misuses.py") == REFUSED
