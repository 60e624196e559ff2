"""Copies of the project, compiled in another way than users get it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def copy(folder: Path) -> None:
    """Copy the files of the project, without what git ignores."""
    listed = subprocess.check_output(["git", "ls-files", "-coz", "--exclude-standard"], cwd=ROOT)
    for name in map(os.fsdecode, listed.split(b"\0")[:-1]):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)


def compile_in(folder: Path, environment: dict[str, str]) -> None:
    """Build the compiled modules of a copy in place, with these variables for compiler and setup.py."""
    words = [sys.executable, "setup.py", "-q", "build_ext", "--inplace", "--force"]
    subprocess.run(words, cwd=folder, env={**os.environ, **environment}, check=True)


@contextmanager
def build(kept: Path | None, environment: dict[str, str]) -> Iterator[Path]:
    """A copy that is compiled so; if it is to be kept, it is taken as it is the next time, sources and all."""
    with tempfile.TemporaryDirectory() as name:
        folder = kept.resolve() if kept else Path(name)
        if not list(folder.glob("cwlearn/*.so")):
            copy(folder)
            compile_in(folder, environment)
        yield folder
