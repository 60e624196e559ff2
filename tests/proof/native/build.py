"""Doors, compiled with clang for libFuzzer, or with the usual compiler without it."""

from __future__ import annotations

import os
import runpy
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.proof.sanitized import CHECKED
from tests.proof.special_builds import ROOT

HERE = Path(__file__).parent
DOORS = {  # and the inputs of the other fuzzer that they begin with
    "svmlight": "text",
    "json": "json",
    "csv": "csv",
    "lines": "lines",
    "vw": "vw",
    "documents": "lines",
    "rows": "csr",
}
VECTORS = {"none": ["-DCWLEARN_NO_VECTORS"], "baseline": [], "wide": ["-march=x86-64-v3"]}


def clang() -> str:
    names = [f"clang-{version}" for version in range(21, 13, -1)] + ["clang"]
    found = next((path for name in names if (path := shutil.which(name))), None)
    return found or sys.exit("clang is needed, with libFuzzer: install Debian's clang and libclang-rt-dev")


def library(compiler: str, name: str) -> str:
    """A runtime library of clang."""
    stem, kind = name.split(".")
    folder = Path(subprocess.check_output([compiler, "-print-resource-dir"], text=True).strip())
    return str(next(folder.rglob(f"libclang_rt.{stem}-x86_64.{kind}"), "") or sys.exit(f"clang has no library {name}"))


def compile_door(
    door: str,
    folder: Path,
    vectors: str = "baseline",
    sanitized: bool = False,
    compiler: str | None = None,
    flags: Sequence[str] = (),
) -> None:
    """Put the module of a door into a folder; without a compiler, by the usual one and without libFuzzer."""
    from Cython.Build import cythonize
    from setuptools import Distribution, Extension
    from setuptools.command.build_ext import build_ext

    settings = _settings()
    flags = [*settings["FLAGS"], "-fno-wrapv", *VECTORS[vectors], *flags]
    links: list[str] = []
    if compiler is None:
        flags += ["-DWITHOUT_LIBFUZZER"]
    else:
        os.environ.update(CC=compiler, LDSHARED=f"{compiler} -shared")
        if sanitized:
            flags += ["-fsanitize=fuzzer-no-link,address,undefined", "-shared-libasan", *CHECKED.split()]
            flags += ["-fsanitize-recover=pointer-overflow"]  # else none can be left out (`NOT_OURS`)
        else:  # guided by branches alone, which takes half of the time
            flags += ["-fsanitize-coverage=inline-8bit-counters,pc-table"]
        links = [
            "-Wl,--whole-archive",
            library(compiler, "fuzzer_no_main.a"),
            "-Wl,--no-whole-archive",
            "-lstdc++",
            "-lpthread",
            "-lm",
        ]
        if sanitized:
            links += [
                "-fsanitize=address,undefined",
                "-shared-libasan",
                "-Wl,-Bsymbolic",
            ]  # else ASan takes the counters
    objects = []
    if door == "decimals":
        objects = [str(folder / "shortest.o")]
        words = ["c++", "-std=c++17", "-O2", "-fPIC", "-c", str(HERE / "shortest.cpp"), "-o", *objects]
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(words, check=True)
        links = [*links, "-lstdc++"]
    module = Extension(
        f"{door}_door",
        [str(HERE / f"{door}.pyx")],
        include_dirs=[str(ROOT / "cwlearn"), str(ROOT / "cwlearn" / "text")],
        extra_compile_args=flags,
        extra_link_args=links,
        extra_objects=objects,
    )
    made = cythonize(
        [module],
        compiler_directives=settings["DIRECTIVES"],
        include_path=[str(ROOT)],
        build_dir=str(folder / "c"),
        quiet=True,
    )
    command = build_ext(Distribution({"ext_modules": made}))
    command.build_lib, command.build_temp = str(folder), str(folder / "temporary")
    command.ensure_finalized()
    command.run()


def _settings() -> dict[str, Any]:
    """What `setup.py` sets, which is not run to its end."""
    from setuptools._distutils import core

    before, core._setup_stop_after = core._setup_stop_after, "init"
    words, sys.argv = sys.argv, ["setup.py"]
    try:
        return runpy.run_path(str(ROOT / "setup.py"))
    finally:
        core._setup_stop_after, sys.argv = before, words
