"""Commands as candidates: each in a process of its own, which has to succeed.

Nothing here imports anything big: a child's peak of memory is at least what its parent held when it was started.
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

# Nothing that changes how Python runs: it may keep the bytecode of modules, as it does everywhere else.
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")} | {"LC_ALL": "C"}


@dataclass(frozen=True)
class Run:
    seconds: float
    peak: int  # bytes
    output: str


def run(*command: str | Path, more: Mapping[str, str] | None = None) -> Run:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        start = time.perf_counter()
        child = subprocess.Popen(command, stdout=out, stderr=err, env={**ENVIRONMENT, **(more or {})})
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        if child.returncode:
            raise RuntimeError(f"exit code {child.returncode}: {err.read().decode(errors='replace').strip()[-500:]}")
        return Run(seconds, usage.ru_maxrss * 1024, out.read().decode())


def present(names: Iterable[str], attempt: Callable[[str], object]) -> list[str]:
    """Those that manage something small; of the others it is said that they are missing, and on stderr why."""
    found = []
    for name in names:
        try:
            attempt(name)
            found.append(name)
        except (OSError, RuntimeError) as error:
            print(f"Missing: {name}; `pip install -e '.[bench]'` installs what PyPI has.\n", flush=True)
            print(f"{name}: {str(error).splitlines()[-1]}", file=sys.stderr)
    return found
