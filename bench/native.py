"""Builds the benchmarks' own compiled loop, with the package's flags, when it is first asked for."""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path
from types import ModuleType

BUILD = """
import sys
from Cython.Build import cythonize
from setuptools import Extension, setup
setup(
    name="bench",
    ext_modules=cythonize(
        [Extension("_roofline", [sys.argv.pop(1)], extra_compile_args=sys.argv.pop(1).split())],
        compiler_directives={"language_level": 3, "boundscheck": False, "wraparound": False, "initializedcheck": False},
        build_dir=".",
    ),
)
"""


def package_flags() -> str:
    """The compiler flags of the package, from where they are written."""
    text = Path(__file__).parents[1].joinpath("setup.py").read_text()
    match = re.search(r"^FLAGS = (\[.*\])$", text, re.MULTILINE)
    assert match
    return "" if sys.platform == "win32" else " ".join(ast.literal_eval(match[1]))


def build() -> ModuleType:
    source = Path(__file__).with_name("_roofline.pyx")
    key = zlib.crc32(source.read_bytes() + BUILD.encode() + sys.version.encode())
    folder = Path(tempfile.gettempdir()) / f"cwlearn-bench-{os.getuid()}-{key:08x}"
    if not list(folder.glob("_roofline*.so")):
        folder.mkdir(mode=0o700, exist_ok=True)
        command = [sys.executable, "-c", BUILD, str(source), package_flags(), "build_ext", "--inplace"]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
    (library,) = folder.glob("_roofline*.so")
    spec = importlib.util.spec_from_file_location("_roofline", library)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


roofline = build()
