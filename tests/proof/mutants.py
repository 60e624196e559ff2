"""A mutation check: is a flipped sign, operator, comparison or constant in the formula of any rule caught by a test?

    python -m tests.proof.mutants                  try all of them, and report what the tests did not notice
    python -m tests.proof.mutants --rule scw_2     those of one function (of `rule_step`: of one branch, by its kind)
    python -m tests.proof.mutants --list           only say what would be tried

All mutants are compiled into one build, in a copy of the project: `a + b` becomes `mutant_add(17, a, b)`, which is
`a - b` where the environment variable CWLEARN_MUTANT is 17.  So a mutant costs a run of the tests and no build.  The
runs are forks of a process that has imported everything, and the examples of hypothesis are the same for all of them.
Mutants that no test could notice are listed in `equivalent_mutants.py`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.proof.equivalent_mutants import reason_of
from tests.proof.mutant_server import PASSED
from tests.proof.mutator import Mutant, mutants_of, mutate
from tests.proof.special_builds import ROOT, compile_in, copy

# By the file of the formula, those first that are quickest to notice something.
RULES, KERNELS, LABELS, REGRESSION = (f"test_{name}.py" for name in ("rules", "kernels", "label_kernels", "regression"))
TESTS = {
    "_rules.pxd": [RULES, KERNELS],
    "core/rules.py": [RULES, KERNELS],
    "_cells.pxd": [RULES, KERNELS, LABELS],
    "_exact_labels.pxi": [LABELS],
    "_parallel_labels.pxi": [LABELS],
    "_label_row.pxi": [LABELS],
    "_label_scores.pxi": [LABELS],
    "_averages.pxd": [KERNELS, LABELS],
    "_kernels.pyx": [KERNELS, REGRESSION, LABELS],
}


class Server:
    """Another process, which runs the tests with one mutant after the other."""

    def __init__(self, folder: Path):
        files = [*(f"tests/core/{name}" for name in (RULES, KERNELS, LABELS)), f"tests/estimators/{REGRESSION}"]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.proof.mutant_server", *files],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(folder)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def survives(self, number: int, files: list[str]) -> bool:
        self.process.stdin.write(json.dumps([number, files]) + "\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline()) == PASSED  # a signal, or too much time, are noticed by anybody


def build(folder: Path) -> None:
    """A copy with all mutants in it, compiled once: hardly optimised, and in the form for every processor only."""
    copy(folder)
    replace(folder / "setup.py", 'VARIANTS["_v3"] =', "_ =")
    replace(folder / "setup.py", '"-O3", "-funroll-loops"', '"-O1"')
    # Not just for want of the other form: an editable install would find that of the project itself.
    replace(folder / "cwlearn/native.py", "if runs_v3():", "if False:")
    mutate(folder)
    compile_in(folder, {})


def replace(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    if old not in text:
        sys.exit(f"{path.name} has no {old!r} any more, which must become {new!r}")
    path.write_text(text.replace(old, new))


def run(mutants: list[Mutant], processes: int) -> list[Mutant]:
    """Those that survive, said at once."""
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(processes) as threads:
        build(Path(name))
        servers = [Server(Path(name)) for _ in range(processes)]
        needed = dict.fromkeys(name for mutant in mutants for name in TESTS[mutant.place.partition(":")[0]])
        if not servers[0].survives(0, list(needed)):
            sys.exit("the tests fail without any mutant")
        idle = list(servers)

        def survives(mutant: Mutant) -> bool:
            server = idle.pop()
            try:
                survived = server.survives(mutant.number, TESTS[mutant.place.partition(":")[0]])
            finally:
                idle.append(server)
            if survived:
                print(mutant, f"({reason})" if (reason := reason_of(mutant)) else "", flush=True)
            return survived

        survivors = [
            mutant for mutant, survived in zip(mutants, threads.map(survives, mutants), strict=True) if survived
        ]
        for server in servers:
            server.process.stdin.close()
            server.process.wait()
    return survivors


def table(mutants: list[Mutant], survivors: list[Mutant]) -> str:
    tried = Counter(mutant.rule for mutant in mutants)
    equivalent = Counter(mutant.rule for mutant in survivors if reason_of(mutant))
    missed = Counter(mutant.rule for mutant in survivors if not reason_of(mutant))
    lines = ["| formula | mutants | killed | equivalent | missed |", "|---|---:|---:|---:|---:|"]
    for rule, count in tried.items():
        killed = count - equivalent[rule] - missed[rule]
        lines.append(f"| `{rule}` | {count} | {killed} | {equivalent[rule]} | {missed[rule]} |")
    all_equivalent, all_missed = equivalent.total(), missed.total()
    killed = len(mutants) - all_equivalent - all_missed
    lines.append(f"| all | {len(mutants)} | {killed} | {all_equivalent} | {all_missed} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rule", action="append", metavar="NAME", help="only this one; more than once for several")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--processes", type=int, default=2)
    arguments = parser.parse_args()
    mutants = [mutant for mutant in mutants_of(ROOT) if not arguments.rule or mutant.rule in arguments.rule]
    if unknown := {*(arguments.rule or ())} - {mutant.rule for mutant in mutants_of(ROOT)}:
        parser.error(f"no formula is called {', '.join(sorted(unknown))}; --list shows all")
    if arguments.list:
        print(*mutants, sep="\n")
        return 0
    survivors = run(mutants, arguments.processes)
    print(table(mutants, survivors))
    return int(any(not reason_of(mutant) for mutant in survivors))


if __name__ == "__main__":
    sys.exit(main())
