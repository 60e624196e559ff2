"""How fast text is read and learned from: against scikit-learn, XGBoost, Vowpal Wabbit and LIBLINEAR.

    python -m bench.text [--only PART ...] [--scale S] [--repeat N] [--skip-slow]

Prints Markdown: the seconds of all contestants, and each promise with its target.  Contestants of one table take turns,
each run in a process of its own with the file in the page cache; the best of the rounds counts.  A contestant that
fails on ten lines is reported as missing, and the reason goes to stderr.  LIBLINEAR is the command liblinear-train
(Debian: liblinear-tools).  At full scale the files take 5 GB of the folder CWLEARN_CACHE, and 3 GB more for a while.

This program imports nothing big: a child's peak of memory is at least what its parent held when it was started.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from importlib import metadata
from pathlib import Path

from bench.text_files import KINDS, Files

CORES = len(os.sched_getaffinity(0))
# Nothing that changes how Python runs: it may keep the bytecode of modules, as it does everywhere else.
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")} | {"LC_ALL": "C"}
FEATURES = {kind: KINDS[kind][2] for kind in ("decimals", "counts")}
TIME_A_READER = """
import sys, time
{imports}
def read(path): return {call}
read(sys.argv[1])  # whatever is done only once is done
start = time.perf_counter()
held = read(sys.argv[2])
print(time.perf_counter() - start)
"""
OURS = "cwlearn.read_svmlight(path, dtype='{dtype}', threads={threads}, zero_based=True)"
SKLEARN = "from sklearn.datasets import load_svmlight_file"
READERS = {  # float64 but for XGBoost, which has float32 only
    "cwlearn": ("import cwlearn", OURS.format(dtype="float64", threads=CORES)),
    "cwlearn, float32": ("import cwlearn", OURS.format(dtype="float32", threads=CORES)),
    "cwlearn, one thread": ("import cwlearn", OURS.format(dtype="float64", threads=1)),
    "scikit-learn": (SKLEARN, "load_svmlight_file(path, zero_based=True)"),
    "XGBoost": ("import xgboost", "xgboost.DMatrix(path + '?format=libsvm')"),
}
COMPARE_READERS = f"""
import sys, cwlearn
{SKLEARN}
(X, y), (Z, z) = cwlearn.read_svmlight(sys.argv[1], zero_based=True), load_svmlight_file(sys.argv[1], zero_based=True)
assert X.shape == Z.shape and (X != Z).nnz == 0 and (y == z).all(), "cwlearn and scikit-learn read different things"
"""
SGD = f"""
import pickle, sys
{SKLEARN}
from sklearn.linear_model import SGDClassifier
X, y = load_svmlight_file(sys.argv[1], zero_based=True)
X.indices, X.indptr = X.indices.astype("int32"), X.indptr.astype("int32")  # SGDClassifier refuses those that it gets
pickle.dump(SGDClassifier(max_iter=1, tol=None).fit(X, y), open(sys.argv[2], "wb"))
"""
TRAINERS = {
    "cwlearn": "PYTHON -m cwlearn train FILE -m MODEL -a arow --epochs 1 --quiet",
    "Vowpal Wabbit": "PYTHON -m vowpalwabbit -d FILE --loss_function hinge -f MODEL --quiet -b BITS",
    "LIBLINEAR": "liblinear-train -q -s 1 -e 1e9 FILE MODEL",  # so lax that it stops after one iteration
    "scikit-learn": "PYTHON -c SGD FILE MODEL",
}
SPEED_UPS = {"Vowpal Wabbit": {1: 3, 10: 5}, "LIBLINEAR": {1: 6, 10: 15}, "scikit-learn": {1: 20, 10: 50}}
Row = tuple[str, ...]


@dataclass(frozen=True)
class Run:
    seconds: float
    peak: int  # bytes
    output: str


def run(*command: str | Path) -> Run:
    """Run a command that has to succeed."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        start = time.perf_counter()
        child = subprocess.Popen(command, stdout=out, stderr=err, env=ENVIRONMENT)
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        if child.returncode:
            raise RuntimeError(f"exit code {child.returncode}: {err.read().decode(errors='replace').strip()[-500:]}")
        return Run(seconds, usage.ru_maxrss * 1024, out.read().decode())


def read(name: str, files: Files, kind: str) -> Run:
    """Time a call in a process of its own, which has read something before."""
    imports, call = READERS[name]
    script = TIME_A_READER.format(imports=imports, call=call)
    done = run(sys.executable, "-c", script, files.path("ten"), files.path(kind))
    return replace(done, seconds=float(done.output))


def train(name: str, files: Files, kind: str, times: int = 1) -> Run:
    """Time a whole process: its start, one pass over the file, saving the model."""
    bits = "22" if kind == "counts" else "18"  # a place for each feature; 18 is Vowpal Wabbit's default
    text = files.path(kind, times, "vw" if name == "Vowpal Wabbit" else "svm")
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "model"
        stands_for = {"PYTHON": sys.executable, "FILE": str(text), "MODEL": str(model), "BITS": bits, "SGD": SGD}
        done = run(*(stands_for.get(word, word) for word in TRAINERS[name].split()))
        assert model.stat().st_size > 0
    return done


def present(names: Iterable[str], attempt: Callable[[str, Files, str], Run], files: Files) -> list[str]:
    """Return those that manage ten lines, and say which are missing."""
    found = []
    for name in names:
        try:
            attempt(name, files, "ten")
            found.append(name)
        except (OSError, RuntimeError) as error:
            print(f"Missing: {name}.\n", flush=True)
            print(f"{name}: {error}", file=sys.stderr)
    return found


def contest(contestants: Mapping[str, Callable[[], Run]], repeat: int, once: str = "") -> dict[str, float]:
    """Best seconds of each, all taking turns; the one named ``once`` has a single turn."""
    best: dict[str, float] = {}
    for turn in range(repeat):
        for name, contestant in contestants.items():
            if turn == 0 or name != once:
                best[name] = min(best.get(name, float("inf")), contestant().seconds)
    return best


def table(head: Row, rows: Iterable[Row]) -> None:
    lines = [head, ("---", *["---:"] * (len(head) - 1)), *rows]
    print(*(f"| {' | '.join(line)} |" for line in lines), sep="\n", end="\n\n", flush=True)


def promises(rows: list[Row]) -> None:
    if rows:
        table(("promise", "target", "measured", ""), rows)


def promise(what: str, target: str, measured: str, kept: bool) -> Row:
    return what, target, measured, "pass" if kept else "**fail**"


def speed_ups(where: str, best: dict[str, float], ours: str, targets: dict[str, float]) -> Iterable[Row]:
    for rival, target in targets.items():
        if ours in best and rival in best:
            ratio = best[rival] / best[ours]
            yield promise(f"{where}: {ours} against {rival}", f"≥ {target} x", f"{ratio:.1f} x", ratio >= target)


def speeds(title: str, megabytes: float, best: dict[str, float]) -> None:
    rows = ((name, f"{seconds:.3f}", f"{megabytes / seconds:,.0f}") for name, seconds in best.items())
    table((f"{title}, {megabytes:,.0f} MB", "seconds", "MB/s"), rows)


def startup(files: Files, options: argparse.Namespace) -> None:
    runs = {"`import numpy`": partial(run, sys.executable, "-c", "import numpy")}
    runs |= {name: partial(train, name, files, "ten") for name in present(TRAINERS, train, files)}
    best = contest(runs, 5 * options.repeat)
    table(("training on ten lines", "seconds"), ((name, f"{seconds:.3f}") for name, seconds in best.items()))
    if ours := best.get("cwlearn"):
        ratio = ours / best["`import numpy`"]
        promises([promise('start-up against `python -c "import numpy"`', "< 2 x", f"{ratio:.2f} x", ratio < 2)])


def reading(files: Files, options: argparse.Namespace) -> None:
    names = present(READERS, read, files)
    rows: list[Row] = []
    for kind in FEATURES:
        size, path = files.megabytes(kind), files.path(kind)
        if {"cwlearn", "scikit-learn"} <= {*names}:
            run(sys.executable, "-c", COMPARE_READERS, path)
        runs = {
            "`cat`": partial(run, "sh", "-c", 'cat "$0" > /dev/null', path),
            "`wc -l`": partial(run, "wc", "-l", path),
        }
        runs |= {name: partial(read, name, files, kind) for name in names}
        best = contest(runs, options.repeat)
        speeds(f"reading {kind}", size, best)
        rows += speed_ups(kind, best, "cwlearn", {"scikit-learn": 20})
        rows += speed_ups(kind, best, "cwlearn, float32", {"XGBoost": 2.5})
        if one := best.get("cwlearn, one thread"):
            wc = size / best["`wc -l`"]
            target = f"≥ {wc / 5:.0f} MB/s (400 where `wc -l` makes 2,000; here {wc:,.0f})"
            rows.append(promise(f"{kind}: one thread", target, f"{size / one:.0f} MB/s", size / one >= wc / 5))
    promises(rows)


def training(files: Files, options: argparse.Namespace, times: int = 1) -> None:
    slow = "scikit-learn" if times > 1 else ""
    names = present(TRAINERS, train, files)
    rows: list[Row] = []
    for kind in FEATURES:
        run("wc", files.path(kind, times), files.path(kind, times, "vw"))  # into the page cache
        scaled = options.skip_slow and slow in names
        runs = {name: partial(train, name, files, kind, times) for name in names if not (scaled and name == slow)}
        best = contest(runs, options.repeat, slow)
        if scaled:
            start, part = train(slow, files, "ten").seconds, train(slow, files, kind).seconds
            best[slow] = start + times * (part - start)
            print(f"The seconds of scikit-learn are scaled up from {files.megabytes(kind):.0f} MB.\n")
        speeds(f"training on {kind}", files.megabytes(kind, times), best)
        rows += speed_ups(kind, best, "cwlearn", {name: target[times] for name, target in SPEED_UPS.items()})
    promises(rows)


def linear(files: Files, options: argparse.Namespace) -> None:
    if not present(["cwlearn"], train, files):
        return
    tasks = [("ten", 1), *((kind, times) for kind in FEATURES for times in (1, 10)), ("wide", 1)]
    runs = {f"{kind} x {times}": partial(train, "cwlearn", files, kind, times) for kind, times in tasks}
    best = contest(runs, 3 * options.repeat)
    table(("cwlearn train", "seconds"), ((name, f"{seconds:.3f}") for name, seconds in best.items()))
    beyond = {name: seconds - best["ten x 1"] for name, seconds in best.items()}
    rows = []
    for kind in FEATURES:
        ratio = beyond[f"{kind} x 10"] / beyond[f"{kind} x 1"]
        rows.append(
            promise(f"{kind}: ten times the rows, without start-up", "≤ 10.5 x", f"{ratio:.2f} x", ratio <= 10.5)
        )
    ratio = beyond["wide x 1"] / beyond["decimals x 1"]
    what = "as many nonzeros in 3 million features as in 47 thousand, without start-up"
    promises([*rows, (what, "cache effects only", f"{ratio:.2f} x", "")])


def memory(files: Files, options: argparse.Namespace) -> None:
    if not present(["cwlearn"], train, files):
        return
    times = int(3000 * files.scale / files.megabytes("counts")) + 1
    limit = 300 + 8 * FEATURES["counts"] / 1e6
    try:
        peak = train("cwlearn", files, "counts", times).peak / 1e6
    finally:
        files.path("counts", times).unlink()
    what = f"peak of memory, one pass over {files.megabytes('counts', times):,.0f} MB of counts"
    promises([promise(what, f"< {limit:.0f} MB (300 MB + 8 bytes a feature)", f"{peak:.0f} MB", peak < limit)])


PARTS: dict[str, Callable[[Files, argparse.Namespace], None]] = {
    "startup": startup,
    "reading": reading,
    "training": training,
    "training-large": partial(training, times=10),
    "linear": linear,
    "memory": memory,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--scale", type=float, default=1, help="part of the rows, to try things out (default 1)")
    parser.add_argument("--repeat", type=int, default=3, help="rounds of a contest (default 3)")
    parser.add_argument("--skip-slow", action="store_true", help="scale scikit-learn up from 90 MB to 1 GB")
    options = parser.parse_args()
    packages = ("numpy", "scikit-learn", "xgboost", "xgboost-cpu", "vowpalwabbit")
    versions = {found.name: found.version for found in metadata.distributions() if found.name in packages}
    print(f"{CORES} cores, {platform.machine()}, Python {platform.python_version()}", end="")
    print(*(f", {name} {version}" for name, version in sorted(versions.items())), sep="", end="\n\n", flush=True)
    if options.scale != 1:
        print(f"A trial with {options.scale} of the rows: the targets are not meant for it.\n")
    files = Files(options.scale)
    for part in options.only:
        print(f"## {part}\n", flush=True)
        PARTS[part](files, options)


if __name__ == "__main__":
    main()
