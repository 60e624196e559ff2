"""Mutants of the whole package: is a change of any function of Python noticed by the tests of its room?

    python -m tests.proof.package_mutants                      all rooms
    python -m tests.proof.package_mutants core text.labels     a room, or modules
    python -m tests.proof.package_mutants --share 0.1          a tenth of the mutants, always the same ones
    python -m tests.proof.package_mutants core --with text     the survivors in core, with the tests of another room
    python -m tests.proof.package_mutants --report             no work: the table of what the log has, and the survivors

Each mutant is tried with those tests of its room (TESTS) that run its line, the fastest first, for `--seconds` at most.
Every result goes to the log at once, and what the log has is not tried again, until the statement changes: the command
can be interrupted and go on.  Survivors need a test, or a line with a reason in `equivalent_package_mutants.py`.
Formulas of compiled modules: see `mutants.py`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import zlib
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.proof.equivalent_package_mutants import EQUIVALENT
from tests.proof.mutator import Mutant
from tests.proof.python_mutator import module_of, mutants_of
from tests.proof.special_builds import ROOT

# The folders of tests of each room; "" is the top of the package.
TESTS = {
    "core": [
        "tests/core",
        *("tests/estimators", "tests/cli/test_multilabel.py"),
        *("tests/text/test_document_models.py", "tests/text/test_documents.py", "tests/text/test_feedback.py"),
    ],
    "text": [
        *("tests/text", "tests/cli/test_learn.py", "tests/cli/test_line_by_line.py", "tests/cli/test_explain.py"),
        *("tests/cli/test_multilabel.py", "tests/cli/test_race.py", "tests/estimators/test_text_classifier.py"),
        *("tests/estimators/test_vectorizer.py", "tests/evaluation/test_data_sets.py", "tests/parallel/test_shards.py"),
    ],
    "utils": [
        *("tests/utils", "tests/cli/test_faults.py", "tests/cli/test_learn.py", "tests/text/test_resuming.py"),
        *("tests/core/test_model_file.py", "tests/core/test_interruptions.py"),
    ],
    "cli": [
        "tests/cli",
        *("tests/core/test_merging.py", "tests/export"),
        *("tests/text/test_bad_documents.py", "tests/text/test_documents.py", "tests/text/test_resuming.py"),
    ],
    "estimators": [
        *("tests/estimators", "tests/core/test_class_labels.py", "tests/core/test_merging.py"),
        *("tests/core/test_model_file.py", "tests/core/test_draws.py", "tests/text/test_documents.py"),
    ],
    "evaluation": ["tests/evaluation", "tests/cli/test_compare.py", "tests/cli/test_tune.py"],
    "export": ["tests/export"],
    "parallel": ["tests/parallel", "tests/cli/test_shards.py"],
    "": ["tests/test_package.py", "tests/test_native.py", "tests/estimators", "tests/parallel"],
}
GATHER = 7200.0  # seconds for all tests of a room, with their lines


@dataclass(frozen=True)
class Trial:
    path: str
    module: str
    mutant: Mutant
    lines: tuple[int, int]

    @property
    def key(self) -> str:
        return f"{self.mutant.rule}: {self.mutant.statement}: {self.mutant.change}"

    @property
    def reason(self) -> str:
        """Why no test can notice it; empty if one can."""
        return next((entry.reason for entry in EQUIVALENT if entry.covers(self.mutant)), "")

    @property
    def request(self) -> dict[str, Any]:
        return {"path": str(ROOT / self.path), "module": self.module, "number": self.mutant.number}


def trials() -> list[Trial]:
    found = []
    for path in sorted(ROOT.glob("cwlearn/**/*.py")):
        module = module_of(path, ROOT)
        name = str(path.relative_to(ROOT))
        found += [Trial(name, module, mutant, lines) for mutant, lines in mutants_of(path.read_text(), module)]
    return found


def room_of(trial: Trial) -> str:
    return trial.module.partition(".")[0] if "." in trial.module else ""


class Server:
    """Another process, which tries one mutant after the other."""

    def __init__(self, room: str):
        words = [sys.executable, "-m", "tests.proof.python_mutant_server", *TESTS[room]]
        self.process = subprocess.Popen(words, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, **request: Any) -> str | int:
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            sys.exit("the tests could not be collected")
        result = json.loads(answer)
        if isinstance(result, str) and result.startswith("the server"):
            sys.exit(result)
        return result

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait()


class Coverage:
    """Which tests of a room run which lines, gathered once."""

    def __init__(self, kept: Path, server: Server):
        if not kept.exists():
            print("gathering which tests run which lines", flush=True)
            if answer := server.ask(gather=str(kept), seconds=GATHER):
                sys.exit(f"the tests could not be run: {answer}")
        kept_ = json.loads(kept.read_text())
        self.seconds: dict[str, float] = kept_["seconds"]
        self.lines: dict[str, dict[str, list[str]]] = kept_["lines"]

    def tests(self, trial: Trial, seconds: float) -> list[str]:
        """Those that run the mutant, the fastest first, one at least."""
        lines = self.lines.get(trial.path, {})
        first, last = trial.lines
        names = {name for line in range(first, last + 1) for name in lines.get(str(line), ())}
        chosen: list[str] = []
        for name in sorted(names, key=lambda name: (self.seconds[name], name)):
            seconds -= self.seconds[name]
            if chosen and seconds < 0:
                break
            chosen.append(name)
        return chosen


def run_with(room: str, wanted: list[Trial], arguments: argparse.Namespace) -> None:
    """Try some with the tests of a room, and log each result."""
    servers = [Server(room) for _ in range(arguments.processes)]
    coverage = Coverage(arguments.log.with_suffix(f".{room or 'top'}.json"), servers[0])
    idle = list(servers)

    def attempt(trial: Trial) -> None:
        names = coverage.tests(trial, arguments.seconds)
        server = idle.pop()
        answer: str | int = ""
        while names:
            limit = 20 + 10 * sum(coverage.seconds[name] for name in names)
            answer = server.ask(**trial.request, tests=names, seconds=limit)
            if not isinstance(answer, str) or answer not in names:
                break
            beside = names[: names.index(answer) + 1]
            if not server.ask(**{**trial.request, "number": 0}, tests=beside, seconds=limit):
                break  # it passes without the mutant, behind the same tests
            names.remove(answer)
            answer = ""
        idle.append(server)
        run_before = results(arguments.log).get(trial.key) == "survived"
        result = "killed" if answer else "survived" if names or run_before else "not run"
        line = json.dumps({"key": trial.key, "result": result, "by": answer})
        with arguments.log.open("a") as log:
            log.write(line + "\n")
        if not answer and not trial.reason:
            print(f"{result}: {trial.mutant}", flush=True)

    with ThreadPoolExecutor(arguments.processes) as threads:
        for _ in threads.map(attempt, wanted):
            pass
    for server in servers:
        server.close()


def results(log: Path) -> dict[str, str]:
    lines = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    return {line["key"]: line["result"] for line in lines}


def report(chosen: list[Trial], log: Path) -> int:
    """Print the table, and what is missed; return how many are."""
    known = results(log)
    tried = [trial for trial in chosen if trial.key in known]
    missed = [trial for trial in tried if known[trial.key] != "killed" and not trial.reason]
    count: Counter[tuple[str, str]] = Counter()
    for trial in chosen:
        count[trial.module, "mutants"] += 1
        if trial.key in known:
            result = known[trial.key] if known[trial.key] == "killed" or not trial.reason else "equivalent"
            count[trial.module, "tried"] += 1
            count[trial.module, result] += 1
    columns = ["mutants", "tried", "killed", "equivalent", "survived", "not run"]
    print(f"| module | {' | '.join(columns)} | killed, of those that are not equivalent |")
    print("|---|" + "---:|" * (len(columns) + 1))
    modules = [module for module in dict.fromkeys(trial.module for trial in chosen) if count[module, "tried"]]
    total = {column: sum(count[module, column] for module in modules) for column in columns}
    for module in modules:
        _row(f"`{module}`", {column: count[module, column] for column in columns})
    _row("all", total)
    print(*(f"{known[trial.key]}: {trial.mutant}" for trial in missed), sep="\n")
    return len(missed)


def _row(name: str, count: dict[str, int]) -> None:
    possible = count["tried"] - count["equivalent"]
    share = f"{100 * count['killed'] / possible:.1f} %" if possible else ""
    print(f"| {name} | {' | '.join(map(str, count.values()))} | {share} |")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="*", metavar="MODULE", help="rooms or modules, such as text or text.labels")
    parser.add_argument("--share", type=float, default=1.0, help="of the mutants, from 0 to 1")
    parser.add_argument("--seconds", type=float, default=20.0, help="of tests for each mutant")
    parser.add_argument("--log", type=Path, default=ROOT / "build/package_mutants.jsonl")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--again", action="store_true", help="try the survivors of the log again, after new tests")
    parser.add_argument(
        "--with", dest="others", choices=list(TESTS), help="room whose tests are tried on the survivors"
    )
    parser.add_argument("--report", action="store_true")
    arguments = parser.parse_args()
    chosen = [trial for trial in trials() if zlib.crc32(trial.key.encode()) < arguments.share * 2**32]
    if arguments.modules:
        names = tuple(arguments.modules)
        chosen = [trial for trial in chosen if any(f"{trial.module}.".startswith(f"{name}.") for name in names)]
        if not chosen:
            parser.error("no mutants are in these modules")
    if not arguments.report:
        arguments.log.parent.mkdir(exist_ok=True)
        known = results(arguments.log)
        survivors = [trial for trial in chosen if known.get(trial.key, "killed") != "killed" and not trial.reason]
        new = [trial for trial in chosen if trial.key not in known]
        wanted = survivors if arguments.others else [*new, *survivors] if arguments.again else new
        for room in TESTS:
            if there := [trial for trial in wanted if (arguments.others or room_of(trial)) == room]:
                run_with(room, there, arguments)
    return int(report(chosen, arguments.log) > 0)


if __name__ == "__main__":
    sys.exit(main())
