"""The folder in which benchmarks keep files: CWLEARN_CACHE (default: ``~/.cache/cwlearn-bench``)."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path


def cache_folder() -> Path:
    if chosen := os.environ.get("CWLEARN_CACHE"):
        return Path(chosen)
    home = os.environ.get("HOME")
    return (Path(home) / ".cache" if home else Path(tempfile.gettempdir())) / "cwlearn-bench"


def cached_folder(name: str, make: Callable[[Path], None]) -> Path:
    """A folder of the cache, filled by `make` if it does not exist.

    It appears in one step, so another process finds the complete folder or none.
    """
    folder = cache_folder() / name
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as unfinished:
            complete = Path(unfinished) / "complete"
            complete.mkdir()
            make(complete)
            try:
                complete.rename(folder)
            except OSError:  # another process was faster
                if not folder.is_dir():
                    raise
    return folder
