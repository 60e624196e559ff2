"""Run a target with atheris.

    python -m tests.fuzz text|model|csr [--runs N] [--seconds S] [--corpus FOLDER]

Coverage of Python code guides it; with `python -m tests.sanitized fuzz ...` that of the compiled code, too, under the
address and undefined-behaviour sanitizers.  An input that takes a second, crashes, or raises is kept in the folder.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["cwlearn"]):
    from tests.fuzz.targets import TARGETS

CORPUS = Path(__file__).parent / "corpus"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--runs", type=int, default=10_000_000)
    parser.add_argument("--seconds", type=int, default=0, help="end after so many")
    parser.add_argument("--corpus", type=Path, help="folder for what it finds (default: one that is thrown away)")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    found = arguments.corpus or Path(tempfile.mkdtemp())
    found.mkdir(parents=True, exist_ok=True)
    flags = [
        f"-runs={arguments.runs}",
        f"-max_total_time={arguments.seconds}",
        f"-seed={arguments.seed}",
        "-max_len=512",
        "-timeout=1",
        "-rss_limit_mb=4096",
        "-print_final_stats=1",
        f"-artifact_prefix={found}/",
    ]
    target = TARGETS[arguments.target]
    atheris.Setup([sys.argv[0], *flags, str(found), str(CORPUS / arguments.target)], target)
    try:
        atheris.Fuzz()
    finally:
        if arguments.corpus is None:
            shutil.rmtree(found, ignore_errors=True)


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    main()
