"""Data races of the compiled modules, as the thread sanitizer of gcc sees them.

    python -m tests.proof.races [--build FOLDER] [--log FILE] MODULE [ARGUMENTS]     such as tests.proof.concurrency

A module (also pytest) runs on a copy of the project that is built with TSan.  Python's own code is not, but its locks
are calls that TSan knows.  A thread may predict while another one learns: it reads weights of before and after a row,
each of them whole (`KNOWN`).  Any other race ends the run with status 1, and is shown.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.proof.sanitized import gcc
from tests.proof.special_builds import build

OPTIONS = "die_after_fork=0:exitcode=0:history_size=4"
ACCESS = re.compile(r"^ +(?:Previous )?(?:atomic )?(read|write) of size", re.IGNORECASE | re.MULTILINE)
CALL = re.compile(r"__pyx_pf_\w*_\d+(?P<name>[a-z]\w*) ")  # the function of a compiled module that Python has called
KNOWN = {("read by margin_rows", "write by learn_rows")}


def pairs(report: str) -> Counter[tuple[str, ...]]:
    """What two threads did at once, and how often it was seen."""
    found: Counter[tuple[str, ...]] = Counter()
    for warning in report.split("WARNING: ThreadSanitizer: ")[1:]:
        kind, accesses = warning.partition(" (")[0], list(ACCESS.finditer(warning))
        stacks = [warning[match.end() :].partition("\n\n")[0] for match in accesses]
        names = [match["name"] if (match := CALL.search(stack)) else "other code" for stack in stacks]
        done = sorted(f"{match[1].lower()} by {name}" for match, name in zip(accesses, names, strict=True))
        found[tuple(done) if kind == "data race" else (kind, *done)] += 1
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, metavar="FOLDER", help="keep the build there, and take it the next time")
    parser.add_argument("--log", type=Path, metavar="FILE", help="add a summary to this file")
    parser.add_argument("words", nargs=argparse.REMAINDER, metavar="MODULE [ARGUMENTS]")
    options = parser.parse_args()
    variables, preloaded = gcc("thread")
    with build(options.build, variables) as folder, tempfile.TemporaryDirectory() as reports:
        environment = {**os.environ, "PYTHONPATH": str(folder), "LD_PRELOAD": preloaded}
        environment["TSAN_OPTIONS"] = f"{OPTIONS}:log_path={reports}/report"
        # TSan keeps its notes at fixed addresses, which must be free.
        words = ["setarch", "--addr-no-randomize", sys.executable, "-m", *options.words]
        status = subprocess.run(words, cwd=folder, env=environment).returncode
        texts = [path.read_text(errors="replace") for path in sorted(Path(reports).iterdir())]
    found = sum(map(pairs, texts), Counter[tuple[str, ...]]())
    unknown = {pair: count for pair, count in found.items() if pair not in KNOWN}
    lines = [f"{' '.join(options.words)}: exit status {status}, {len(unknown)} races that are not known"]
    lines += [f"  {count:,} x {' and '.join(pair)}" for pair, count in found.most_common()]
    print(*(text for text in texts if pairs(text).keys() & unknown.keys()), *lines, sep="\n")
    if options.log:
        with options.log.open("a") as log:
            log.writelines(f"{line}\n" for line in lines)
    return status or int(bool(unknown))


if __name__ == "__main__":
    sys.exit(main())
