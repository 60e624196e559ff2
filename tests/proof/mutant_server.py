"""The tests with one mutant after the other, of the copy of the project in which this is run; see `mutants.py`.

Each line of standard input has the number of a mutant and the names of test files, first those to be tried first; the
answer is PASSED, FAILED, or minus the number of a signal.  Tests are collected once, and every mutant has a fork of it.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys

import pytest

from cwlearn import _kernels, native

PASSED, FAILED = 0, 1
SECONDS = 900
# What repeats others in float32, or compares the kernel with itself, could notice hardly more than the rest.
WORDS = ["-q", "-s", "-p", "no:cacheprovider", "--hypothesis-seed=0"]
CHOICE = "not float32 and not processors and not chunking and not cache"


class Forks:
    """Takes the place of pytest's own loop over the tests."""

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        for line in sys.stdin:
            number, files = json.loads(line)
            items = [item for name in files for item in session.items if item.path.name == name]
            child = os.fork()
            if child == 0:
                os.environ["CWLEARN_MUTANT"] = str(number)
                signal.alarm(SECONDS)
                os._exit(self.run(session, items))
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), file=sys.__stdout__, flush=True)
        return True

    def run(self, session: pytest.Session, items: list[pytest.Item]) -> int:
        for item, following in zip(items, [*items[1:], None], strict=True):
            with open(os.devnull, "w") as null, contextlib.redirect_stdout(null):
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if session.testsfailed:
                return FAILED
        return PASSED


if __name__ == "__main__":
    if native.learn_rows is not _kernels.learn_rows:
        sys.exit("the tests would run other kernels than those with the mutants")
    sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - for the life of the process
    sys.exit(pytest.main([*WORDS, "-k", CHOICE, *sys.argv[1:]], plugins=[Forks()]))
