"""Commands as candidates, each in its own process, which must succeed.

This module imports nothing large: the peak memory of a child is at least the memory of its parent at the start.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

# Without variables that change how Python runs: it may cache bytecode, as it does for users.
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")} | {"LC_ALL": "C"}


@dataclass(frozen=True)
class Run:
    """A finished process."""

    seconds: float
    cpu: float  # seconds of all threads
    peak: int  # bytes
    output: str


def run(*command: str | Path, environment: Mapping[str, str] | None = None) -> Run:
    """Run a command; `environment` adds variables."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        start = time.perf_counter()
        child = subprocess.Popen(command, stdout=out, stderr=err, env={**ENVIRONMENT, **(environment or {})})
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        if child.returncode:
            raise RuntimeError(f"exit code {child.returncode}: {err.read().decode(errors='replace').strip()[-500:]}")
        return Run(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, out.read().decode())


def available(names: Iterable[str], attempt: Callable[[str], object]) -> list[str]:
    """The candidates whose attempt at a small task succeeds; the others are reported as missing."""
    result = []
    for name in names:
        try:
            attempt(name)
            result.append(name)
        except (OSError, RuntimeError) as error:
            print(f"Missing: {name}; `pip install -e '.[bench]'` installs the packages from PyPI.\n", flush=True)
            print(f"{name}: {str(error).splitlines()[-1]}", file=sys.stderr)
    return result
