"""How fast text is read into a matrix: against scikit-learn, XGBoost, and tools that only look for line ends.

The candidates take turns, each in its own process, which reads a small file first.  The files are in the page cache.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial

from bench.processes import available, run
from bench.report import CORES, Report, Row, positive, suite_parser
from bench.targets import report_targets, speed_up_rows, target_row
from bench.text_files import FEATURES, Files
from bench.timing import time_in_turns

SCRIPT = """
import sys, time
{imports}
def read(path): return {call}
read(sys.argv[1])  # everything that happens only once happens now
start = time.perf_counter()
rows = read(sys.argv[2])
print(time.perf_counter() - start)
"""
OURS = "cwlearn.read_svmlight(path, dtype='{dtype}', threads={threads})"
SKLEARN = "from sklearn.datasets import load_svmlight_file"
READERS = {  # float64, except for XGBoost, which has float32 only
    "cwlearn": ("import cwlearn", OURS.format(dtype="float64", threads=CORES)),
    "cwlearn, float32": ("import cwlearn", OURS.format(dtype="float32", threads=CORES)),
    "cwlearn, one thread": ("import cwlearn", OURS.format(dtype="float64", threads=1)),
    "scikit-learn": (SKLEARN, "load_svmlight_file(path, zero_based=True)"),
    "XGBoost": ("import xgboost", "xgboost.DMatrix(path + '?format=libsvm')"),
}
COMPARE = f"""
import sys, cwlearn
{SKLEARN}
(X, y), (Z, z) = cwlearn.read_svmlight(sys.argv[1]), load_svmlight_file(sys.argv[1], zero_based=True)
assert X.shape == Z.shape and (X != Z).nnz == 0 and (y == z).all(), "cwlearn and scikit-learn read different things"
"""


def read(name: str, files: Files, kind: str) -> float:
    imports, call = READERS[name]
    script = SCRIPT.format(imports=imports, call=call)
    return float(run(sys.executable, "-c", script, files.path("ten"), files.path(kind)).output)


def main(words: Sequence[str]) -> None:
    parser = suite_parser("parse", __doc__, repeat=5)
    parser.add_argument(
        "--scale", type=positive(float), default=1, help="part of the rows, to try things out (default: 1)"
    )
    options = parser.parse_args(words)
    report, files = Report("parse", options), Files(options.scale)
    names = available(READERS, lambda name: read(name, files, "ten"))
    targets: list[Row] = []
    for kind in FEATURES:
        size, path = files.megabytes(kind), files.path(kind)
        if {"cwlearn", "scikit-learn"} <= {*names}:
            run(sys.executable, "-c", COMPARE, path)
        runs = {"`wc -l`": lambda path=path: run("wc", "-l", path).seconds}
        runs |= {name: partial(read, name, files, kind) for name in names}
        times = time_in_turns(runs, options.repeat)
        speeds = {name: f"{size / of.best:,.0f}" for name, of in times.items()}
        report.times(f"reading {kind}, {size:,.0f} MB", times, {"MB/s": speeds})
        targets += speed_up_rows(kind, times, "cwlearn", {"scikit-learn": 20})
        targets += speed_up_rows(kind, times, "cwlearn, float32", {"XGBoost": 2.5})
        if one := times.get("cwlearn, one thread"):
            wc, speed = size / times["`wc -l`"].best, size / one.best
            aim = f"≥ {wc / 5:.0f} MB/s (400 where `wc -l` makes 2,000; here {wc:,.0f})"
            targets.append(target_row(f"{kind}: one thread", aim, f"{speed:.0f} MB/s", speed >= wc / 5))
    report_targets(report, targets)
    report.close()
