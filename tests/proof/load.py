"""Runs the tests again and again on a machine that is too busy, and reports what failed even once.

    python -m tests.proof.load                              ten times, all tests
    python -m tests.proof.load --times 100 tests/parallel   other arguments go to pytest

Each core has three processes of pytest and one that only counts: every test is interrupted often and waits long.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections import Counter

import pytest

BUSY = "while True: pass"


class Outcomes:
    """Counts the tests that ran, and keeps those that failed, with the first message."""

    def __init__(self) -> None:
        self.tests = 0
        self.failed: Counter[str] = Counter()
        self.messages: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.tests += report.when == "call"
        if report.failed:
            self.failed[report.nodeid] += 1
            self.messages.setdefault(report.nodeid, report.longreprtext)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=10)
    cores = os.cpu_count() or 1
    parser.add_argument("--processes", type=int, default=3 * cores, help="of pytest")
    parser.add_argument("--busy", type=int, default=cores, help="processes that only count")
    arguments, words = parser.parse_known_args()
    words = ["-q", "-p", "no:cacheprovider", f"--numprocesses={arguments.processes}", *words]
    outcomes = Outcomes()
    busy = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(arguments.busy)]
    try:
        for time_ in range(1, arguments.times + 1):
            began = time.monotonic()
            if pytest.main(words, plugins=[outcomes]) not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
                return 1
            failed = outcomes.failed.total()
            print(
                f"run {time_}: {outcomes.tests} tests so far, {failed} failed, {time.monotonic() - began:.0f} s",
                flush=True,
            )
    finally:
        for process in busy:
            process.kill()
            process.wait()
    for name, count in outcomes.failed.most_common():
        print(f"failed {count} times of {arguments.times}: {name}\n{outcomes.messages[name]}")
    return int(bool(outcomes.failed))


if __name__ == "__main__":
    sys.exit(main())
