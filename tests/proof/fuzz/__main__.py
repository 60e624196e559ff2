"""Run a target with atheris.

    python -m tests.proof.fuzz text|model|csr|json|csv|lines|vw|fields|formats [--runs N] [--seconds S] [--corpus DIR]

New branches of Python code guide the search.  With `python -m tests.proof.sanitized fuzz ...` those of compiled code do
so, too, under the address and undefined-behaviour sanitizers.  An input that takes a second of the processor, crashes,
or raises ends the run, and is kept in the folder.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

try:
    import atheris
except ImportError:
    sys.exit("atheris is needed: pip install -e '.[test,proof]'")
import sklearn.metrics.pairwise  # noqa: F401  a model with a kernel would load it, and take a second for that

TARGETS = {  # and their modules
    "text": ["text.svmlight", "text.svmlight_errors"],
    "model": ["core.model_file", "core.sealed_archive"],
    "csr": ["core.rows"],
    "json": ["text.json_errors"],
    "csv": ["text.csv_errors"],
    "lines": ["text.record_errors"],
    "vw": ["text.vw_errors"],
    "fields": ["text.svmlight_errors"],
    "formats": ["text.formats"],
}
CORPUS = Path(__file__).parent / "corpus"


def in_time(target: Callable[[bytes], None]) -> Callable[[bytes], None]:
    def run(data: bytes) -> None:
        start = time.process_time()
        target(data)
        seconds = time.process_time() - start
        assert seconds < 1, f"{seconds:.1f} seconds for {len(data)} bytes"

    return run


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.proof.fuzz", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--runs", type=int, default=10_000_000)
    parser.add_argument("--seconds", type=int, default=0, help="end after so many")
    parser.add_argument("--corpus", type=Path, help="folder for what it finds (default: a new one)")
    parser.add_argument("--blind", action="store_true", help="do not follow Python, which takes its time")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    found = arguments.corpus or Path(tempfile.mkdtemp())
    found.mkdir(parents=True, exist_ok=True)
    print(f"what is found is kept in {found}", flush=True)
    flags = [
        f"-runs={arguments.runs}",
        f"-max_total_time={arguments.seconds}",
        f"-seed={arguments.seed}",
        "-max_len=200",
        "-use_counters=0",  # how often a branch was taken tells little, and takes time
        "-keep_seed=1",  # even if nothing guides
        "-detect_leaks=0",
        "-timeout=30",  # of the clock, which runs on while others have the processor
        "-rss_limit_mb=4096",
        "-print_final_stats=1",
        f"-artifact_prefix={found}/",
    ]
    followed = [] if arguments.blind else TARGETS[arguments.target]
    for name in followed:
        assert find_spec(f"cwlearn.{name}"), f"there is no module cwlearn.{name} to follow"
    with atheris.instrument_imports(include=[f"cwlearn.{name}" for name in followed] or ["nothing"]):
        from tests.proof.fuzz import targets
    target = in_time(targets.TARGETS[arguments.target])
    atheris.Setup([sys.argv[0], *flags, str(found), str(CORPUS / arguments.target)], target)
    atheris.Fuzz()


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    main()
