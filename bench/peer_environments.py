"""An environment for each peer, in the folder CWLEARN_CACHE, made from packages of PyPI or Debian."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from bench.cache import cache_folder

PYPI = {
    "vowpalwabbit": ["vowpalwabbit"],
    "scikit-learn": ["scikit-learn"],
    "river": ["river"],
    "fasttext": ["fasttext"],
    "liblinear": ["liblinear-official", "scipy", "setuptools"],
}
DEBIAN = {"liblinear-tools": ["liblinear-tools", "liblinear4"]}


def _folder(name: str) -> Path:
    return cache_folder() / "peers" / name


def _run(*words: str | Path, cwd: Path | None = None) -> None:
    process = subprocess.run(words, cwd=cwd, capture_output=True, text=True)
    if process.returncode:
        raise RuntimeError(f"{' '.join(map(str, words))}: {(process.stderr or process.stdout).strip()[-500:]}")


def python_of(name: str) -> Path:
    """The interpreter of an environment, which is made at the first use."""
    folder = _folder(name)
    if not folder.joinpath("complete").exists():
        _run(sys.executable, "-m", "venv", "--clear", folder)
        _run(folder / "bin" / "python", "-m", "pip", "install", "--quiet", *PYPI[name])
        folder.joinpath("complete").touch()
    return folder / "bin" / "python"


def debian_root(name: str) -> Path:
    """The folder in which packages are unpacked; nothing is installed on the system."""
    folder = _folder(name)
    if not folder.joinpath("complete").exists():
        folder.mkdir(parents=True, exist_ok=True)
        for package in DEBIAN[name]:
            _run("apt-get", "download", package, cwd=folder)
        for archive in folder.glob("*.deb"):
            _run("dpkg", "-x", archive, folder)
        folder.joinpath("complete").touch()
    return folder


def version_of(name: str) -> str:
    """The first package of an environment and its version."""
    if name in DEBIAN:
        (archive,) = _folder(name).glob(f"{DEBIAN[name][0]}_*.deb")
        return "LIBLINEAR " + archive.name.split("_")[1].split("+")[0]
    code = f"from importlib.metadata import version; print(version({PYPI[name][0]!r}))"
    return f"{PYPI[name][0]} " + subprocess.check_output([python_of(name), "-c", code], text=True).strip()
