"""Where benchmarks keep what they made: the folder CWLEARN_CACHE (default: ``~/.cache/cwlearn-bench``)."""

import os
import tempfile
from pathlib import Path


def cache_folder() -> Path:
    if chosen := os.environ.get("CWLEARN_CACHE"):
        return Path(chosen)
    home = os.environ.get("HOME")
    return (Path(home) / ".cache" if home else Path(tempfile.gettempdir())) / "cwlearn-bench"
