"""Compiles the reference loops of the benchmarks at the first use, with the compiler flags of the package."""

from __future__ import annotations

import ast
import importlib.util
import re
import subprocess
import sys
import zlib
from functools import cache
from pathlib import Path
from types import ModuleType

from bench.cache import cached_folder

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
    """The compiler flags of the package, from `setup.py`."""
    text = Path(__file__).parents[1].joinpath("setup.py").read_text()
    match = re.search(r"^FLAGS = (\[.*\])$", text, re.MULTILINE)
    assert match
    return "" if sys.platform == "win32" else " ".join(ast.literal_eval(match[1]))


@cache
def roofline() -> ModuleType:
    """The compiled module of `_roofline.pyx`."""
    source, flags = Path(__file__).with_name("_roofline.pyx"), package_flags()
    key = zlib.crc32(b"".join([source.read_bytes(), BUILD.encode(), flags.encode(), sys.version.encode()]))
    command = [sys.executable, "-c", BUILD, str(source), flags, "build_ext", "--inplace"]

    def make(folder: Path) -> None:
        subprocess.run(command, cwd=folder, check=True, capture_output=True)

    folder = cached_folder(f"roofline-{key:08x}", make)
    (library,) = (path for path in folder.glob("_roofline*") if path.suffix in (".so", ".pyd"))
    spec = importlib.util.spec_from_file_location("_roofline", library)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
