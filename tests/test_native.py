"""The package without its compiled modules, and without a compiler to make them."""

from __future__ import annotations

import os
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


@pytest.mark.skipif(sys.platform == "win32", reason="there the registry names the compiler, not CC")
def test_without_a_compiler_the_build_says_at_once_what_to_do(tmp_path):
    root = Path(__file__).parents[1]
    words = [sys.executable, "setup.py", "--quiet", "build_ext", "--build-temp", tmp_path, "--build-lib", tmp_path]
    environment = {**os.environ, "CC": "/nonexistent/compiler"}
    result = subprocess.run(words, capture_output=True, text=True, timeout=60, cwd=root, env=environment)
    assert result.returncode == 1
    assert "Traceback" not in result.stderr
    assert "cwlearn has to be compiled here, and the C compiler does not work: " in result.stderr
    assert "/nonexistent/compiler" in result.stderr
    assert "pip install --only-binary cwlearn cwlearn" in result.stderr
    assert not list(tmp_path.rglob("*"))
