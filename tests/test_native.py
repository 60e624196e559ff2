"""The package without its compiled modules."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import cwlearn


@pytest.mark.parametrize(
    "code", ["import cwlearn", "from cwlearn import AROWClassifier", "import cwlearn.native", "import cwlearn.__main__"]
)
def test_a_source_tree_that_is_not_compiled_names_the_command_that_compiles_it(code, tmp_path):
    package = tmp_path / "cwlearn"
    shutil.copytree(Path(cwlearn.__file__).parent, package, ignore=shutil.ignore_patterns("*.so", "*.pyd", "*.c"))
    words = [sys.executable, "-c", code]  # the working directory comes first on the path
    result = subprocess.run(words, capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert result.returncode == 1
    error = result.stderr.splitlines()[-1]
    assert error.startswith(f"ImportError: cwlearn is not compiled in {package}: ")
    assert "python setup.py build_ext --inplace" in error
    assert "pip install -e ." in error
