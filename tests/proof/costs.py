"""Instructions for each text of `cost_cases.py`, of n and of 4n bytes: at most four times as many, and a little.

    python -m tests.proof.costs [csv vw ...] [--size N] [--log FILE]

It needs valgrind (callgrind) and a C compiler.  A sort of a long row may take a little more: n log n steps.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.proof.cost_cases import DOORS, cases, read, text_of

MOST = 5.0  # times the instructions for four times the text, which leaves room for sorting
SLACK = 2_000_000  # instructions: a square of 10,000 would be fifty times as many
REQUESTS = """
#include <valgrind/callgrind.h>
void begin(void) { CALLGRIND_START_INSTRUMENTATION; CALLGRIND_ZERO_STATS; }
void end(const char *name) { CALLGRIND_DUMP_STATS_AT(name); CALLGRIND_STOP_INSTRUMENTATION; }
"""
TOTAL = re.compile(r"^(?:summary|totals): (\d+)", re.MULTILINE)
CHUNK = 1 << 12


def count(folder: Path, size: int, doors: list[str]) -> None:
    """What callgrind runs: each case with little text, with n and with 4n bytes; a dump for each."""
    requests = ctypes.CDLL(str(folder / "requests.so"))
    path = folder / "text"
    for number, (door, case, how) in enumerate(cases()):
        if door not in doors:
            continue
        for part, bytes_wanted in enumerate((1, size, 4 * size)):
            path.write_bytes(text_of(door, case, bytes_wanted))
            if part == 0:  # so that no module is loaded later
                read(path, door, case, how, CHUNK)
            requests.begin()
            read(path, door, case, how, CHUNK)
            requests.end(f"case {number} {part}".encode())


def table(folder: Path, size: int, doors: list[str]) -> tuple[list[str], int]:
    """The rows of the report, and how many cases cost too much."""
    totals = {}
    for path in folder.glob("out.*"):
        text = path.read_text()
        if (trigger := re.search(r"case (\d+) (\d)", text)) and (total := TOTAL.search(text)):
            totals[int(trigger[1]), int(trigger[2])] = int(total[1])
    rows, faults = [], 0
    for number, (door, case, how) in enumerate(cases()):
        if door not in doors:
            continue
        few, short, long = (totals[number, part] for part in range(3))
        fault = long - few > MOST * max(short - few, 0) + SLACK
        faults += fault
        name = f"{case} ({how})" if how else case
        each = (long - short) / (3 * size)
        rows.append(f"| {door} | {name} | {short:,} | {long:,} | {each:,.0f}{' **' if fault else ''} |")
    return rows, faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("doors", nargs="*", metavar="FORMAT", help=f"some of {', '.join(DOORS)} (default: all)")
    parser.add_argument("--size", type=int, default=1 << 14)
    parser.add_argument("--log", type=Path, metavar="FILE")
    parser.add_argument("--count", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    doors = options.doors or [*DOORS]
    if unknown := set(doors) - set(DOORS):
        parser.error(f"{min(unknown)} is none of {', '.join(DOORS)}")
    if options.count:
        count(options.count, options.size, doors)
        return 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "requests.c").write_text(REQUESTS)
        words = ["cc", "-shared", "-fPIC", "-O1", str(folder / "requests.c"), "-o", str(folder / "requests.so")]
        subprocess.run(words, check=True)
        valgrind = ["valgrind", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={folder}/out"]
        words = [sys.executable, "-m", "tests.proof.costs", *doors, "--size", str(options.size), "--count", name]
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
        subprocess.run([*valgrind, *words], check=True, env=environment, stderr=subprocess.DEVNULL)
        rows, faults = table(folder, options.size, doors)
    report = "\n".join(
        [
            "# What texts cost",
            "",
            f"`python -m tests.proof.costs --size {options.size}`: instructions (callgrind) to read the text of each "
            f"case in `tests/proof/cost_cases.py`, of {options.size:,} bytes and of four times as many, and for each "
            f"byte more. {faults} of {len(rows)} cases take more than {MOST:g} times as many, and {SLACK:,} more, "
            f"without what any text takes.",
            "",
            "| format | text | instructions | four times the text | for a byte more |",
            "|---|---|---:|---:|---:|",
            *rows,
            "",
        ]
    )
    print(report)
    if options.log:
        options.log.write_text(report)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
