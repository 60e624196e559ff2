"""Where benchmarks keep what they made: the folder CWLEARN_CACHE (default: ``~/.cache/cwlearn-bench``)."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path


def cache_folder() -> Path:
    if chosen := os.environ.get("CWLEARN_CACHE"):
        return Path(chosen)
    home = os.environ.get("HOME")
    return (Path(home) / ".cache" if home else Path(tempfile.gettempdir())) / "cwlearn-bench"


def kept_folder(name: str, make: Callable[[Path], None]) -> Path:
    """A folder that was made once, in one step: whoever comes at the same time finds a whole one or none."""
    folder = cache_folder() / name
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as unfinished:
            made = Path(unfinished) / "made"
            made.mkdir()
            make(made)
            try:
                made.rename(folder)
            except OSError:  # another one was faster
                if not folder.is_dir():
                    raise
    return folder
