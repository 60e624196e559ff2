"""Runs tests with one mutant after the other, for `package_mutants.py`; its arguments are the folders of the tests.

The process imports the package and collects the tests once; each mutant gets a fork of it, in which the functions of
the changed source have new code.  A request is a line of JSON, {"gather": FILE, "seconds": ...} or {"path": ...,
"module": ..., "number": ..., "tests": [...], "seconds": ...}.  So is the answer: the test that failed, "" if none did,
or minus the number of the signal that ended it.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import pkgutil
import resource
import select
import signal
import sys
import tempfile
import time
import types
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.proof.python_mutator import mutated
from tests.proof.special_builds import ROOT

WORDS = ["-q", "-s", "--tb=no", "-p", "no:cacheprovider", "--hypothesis-seed=0", "--timeout=60"]
WORDS += ["-o", "tmp_path_retention_policy=none"]
# Not the longest proofs, nor tests of what the machine does: of time, and of the number of processors.
CHOICE = "not float32 and not processors and not chunking and not faster and not seconds and not linear"
LONGEST = 30.0  # seconds of a test that takes part
CASES = 16  # of one test
MEMORY = 4 << 30  # in addition to what the process has
FILE_SIZE = 1 << 30


def import_all() -> None:
    for module in pkgutil.walk_packages([str(ROOT / "cwlearn")], "cwlearn."):
        if not module.name.endswith("__main__"):
            with contextlib.suppress(ImportError):  # what is not installed
                importlib.import_module(module.name)


def few_cases(items: list[pytest.Item]) -> list[pytest.Item]:
    """Of each test, some of its cases: a grid of hundreds finds hardly more in Python, and takes too long."""
    tests: dict[str, list[pytest.Item]] = {}
    for item in items:
        tests.setdefault(item.nodeid.partition("[")[0], []).append(item)
    return [item for cases in tests.values() for item in cases[:: -(-len(cases) // CASES)]]


def codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes(constant)


def mutate(path: str, module: str, number: int) -> None:
    """Give the functions of a file the code of a mutant."""
    new = compile(mutated(Path(path).read_text(), module, number), path, "exec")
    found = {(each.co_qualname, each.co_firstlineno): each for each in codes(new)}
    for function in gc.get_objects():
        if isinstance(function, types.FunctionType) and function.__code__.co_filename == path:
            function.__code__ = found[function.__code__.co_qualname, function.__code__.co_firstlineno]


class Server:
    """Takes the place of pytest's own loop over the tests."""

    def __init__(self) -> None:
        self.failed = ""
        self.bad: set[str] = set()

    def pytest_configure(self) -> None:
        from hypothesis import settings

        settings.register_profile("mutants", database=None, derandomize=True, deadline=None)
        settings.load_profile("mutants")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed or report.skipped:
            self.bad.add(report.nodeid)
        if report.failed:
            self.failed = report.nodeid

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.testsfailed:  # not collected
            return True
        import_all()
        self.items = {item.nodeid: item for item in few_cases(session.items)}
        for line in sys.stdin:
            request = json.loads(line)
            work = self.gather if "gather" in request else self.try_mutant
            answer = forked(partial(work, session, request), request["seconds"])
            print(json.dumps(answer), file=ANSWERS, flush=True)
        return True

    def run(self, session: pytest.Session, names: list[str]) -> Iterator[str]:
        items = [self.items[name] for name in names]
        for item, following in zip(items, [*items[1:], None], strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            yield item.nodeid

    def try_mutant(self, session: pytest.Session, request: dict[str, Any]) -> str:
        if request["number"]:  # 0: none, to see whether the tests pass here
            mutate(request["path"], request["module"], request["number"])
        for _ in self.run(session, request["tests"]):
            if self.failed:
                return self.failed
        return ""

    def gather(self, session: pytest.Session, request: dict[str, Any]) -> str:
        """Write which tests run which lines of the package, and how long they take."""
        from coverage import Coverage

        measured = Coverage(data_file=None, config_file=False, include=[str(ROOT / "cwlearn/*")])
        measured.start()
        seconds, names = {}, list(self.items)
        running = self.run(session, names)
        for name in names:
            measured.switch_context(name)
            began = time.perf_counter()
            next(running)
            seconds[name] = time.perf_counter() - began
        measured.stop()
        data = measured.get_data()
        good = {name for name in names if name not in self.bad and seconds[name] < LONGEST}
        lines = {
            str(Path(path).relative_to(ROOT)): {
                line: sorted(good.intersection(tests)) for line, tests in data.contexts_by_lineno(path).items()
            }
            for path in data.measured_files()
        }
        Path(request["gather"]).write_text(json.dumps({"seconds": seconds, "lines": lines}))
        return ""


def forked(work: Callable[[], str], seconds: float) -> str | int:
    """What `work` returns in a fork of this process, or the number of the signal that ended it."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.setsid()
        os.close(reading)
        null = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(null, stream)
        size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, size + MEMORY))
        resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_SIZE, FILE_SIZE))
        result = "the server"
        try:
            result = work()
        except BaseException as error:
            result = f"the server: {error!r}"
        with contextlib.suppress(OSError):
            os.write(writing, result.encode()[:4000])
        os._exit(0)
    os.close(writing)
    end = os.pidfd_open(child)
    ended = select.select([end], [], [], seconds)[0]
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.close(end)
    with open(reading, "rb") as answer:
        text = answer.read().decode() if ended and status == 0 else ""
    if not ended:
        return -signal.SIGALRM
    return text if status == 0 else status


if __name__ == "__main__":
    ANSWERS = os.fdopen(os.dup(1), "w")
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    with tempfile.TemporaryDirectory() as folder:  # other runs of pytest clean up the one that they share
        words = [*WORDS, f"--basetemp={folder}/tests", "-k", CHOICE]
        sys.exit(pytest.main([*words, *sys.argv[1:]], plugins=[Server()]))
