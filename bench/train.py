"""From text to a model, by command: against Vowpal Wabbit, LIBLINEAR and scikit-learn.

Each run is a whole process: its start, one pass over a file that is in the page cache, saving the model.  LIBLINEAR is
the command liblinear-train (Debian: liblinear-tools); whoever fails on ten lines is reported as missing.  At full scale
the files take 5 GB of the folder CWLEARN_CACHE, and 3 GB more for a while.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from bench.processes import Run, present, run
from bench.promises import promise, report_promises, speed_ups
from bench.report import Report, Row, parser, positive
from bench.text_files import BITS, FEATURES, Files
from bench.timing import Times, contest

SGD = """
import pickle, sys
from sklearn.datasets import load_svmlight_file
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


def train(name: str, files: Files, kind: str, times: int = 1) -> Run:
    bits = str(BITS.get(kind, 18))
    text = files.path(kind, times, "vw" if name == "Vowpal Wabbit" else "svm")
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "model"
        stands_for = {"PYTHON": sys.executable, "FILE": str(text), "MODEL": str(model), "BITS": bits, "SGD": SGD}
        done = run(*(stands_for.get(word, word) for word in TRAINERS[name].split()))
        assert model.stat().st_size > 0
    return done


def seconds_of(name: str, files: Files, kind: str, times: int = 1) -> float:
    return train(name, files, kind, times).seconds


def one_pass(report: Report, files: Files, options: argparse.Namespace, times: int = 1) -> None:
    slow = "scikit-learn" if times > 1 else ""
    names = present(TRAINERS, lambda name: train(name, files, "ten"))
    kept: list[Row] = []
    for kind in FEATURES:
        run("wc", files.path(kind, times), files.path(kind, times, "vw"))  # into the page cache
        scaled = options.skip_slow and slow in names
        runs = {name: partial(seconds_of, name, files, kind, times) for name in names if not (scaled and name == slow)}
        found = contest(runs, options.repeat, [slow])
        if scaled:
            start, part = seconds_of(slow, files, "ten"), seconds_of(slow, files, kind)
            found[slow] = Times((start + times * (part - start),))
            report.say(f"The seconds of scikit-learn are scaled up from {files.megabytes(kind):.0f} MB.")
        size = files.megabytes(kind, times)
        speeds = {name: f"{size / of.best:,.0f}" for name, of in found.items()}
        report.contest(f"training on {kind}, {size:,.0f} MB", found, {"MB/s": speeds})
        kept += speed_ups(kind, found, "cwlearn", {name: target[times] for name, target in SPEED_UPS.items()})
    report_promises(report, kept)


def linear(report: Report, files: Files, options: argparse.Namespace) -> None:
    tasks = [("ten", 1), *((kind, times) for kind in FEATURES for times in (1, 10)), ("wide", 1)]
    runs = {f"{kind} x {times}": partial(seconds_of, "cwlearn", files, kind, times) for kind, times in tasks}
    found = contest(runs, 3 * options.repeat)
    report.contest("cwlearn train", found, {})
    beyond = {name: of.best - found["ten x 1"].best for name, of in found.items()}
    kept = []
    for kind in FEATURES:
        ratio = beyond[f"{kind} x 10"] / beyond[f"{kind} x 1"]
        what = f"{kind}: ten times the rows, without start-up"
        kept.append(promise(what, "≤ 10.5 x", f"{ratio:.2f} x", ratio <= 10.5))
    ratio = beyond["wide x 1"] / beyond["decimals x 1"]
    what = "as many nonzeros in 3 million features as in 47 thousand, without start-up"
    report_promises(report, [*kept, (what, "cache effects only", f"{ratio:.2f} x", "")])


def memory(report: Report, files: Files, options: argparse.Namespace) -> None:
    times = int(3000 * files.scale / files.megabytes("counts")) + 1
    limit = 300 + 8 * FEATURES["counts"] / 1e6
    try:
        peak = train("cwlearn", files, "counts", times).peak / 1e6
    finally:
        files.path("counts", times).unlink()
    what = f"peak of memory, one pass over {files.megabytes('counts', times):,.0f} MB of counts"
    target = f"< {limit:.0f} MB (300 MB + 8 bytes a feature)"
    report_promises(report, [promise(what, target, f"{peak:.0f} MB", peak < limit)])


PARTS: dict[str, Callable[[Report, Files, argparse.Namespace], None]] = {
    "small": one_pass,
    "large": partial(one_pass, times=10),
    "linear": linear,
    "memory": memory,
}


def main(words: Sequence[str]) -> None:
    flags = parser("train", __doc__, repeat=3)
    flags.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, metavar="PART", help=", ".join(PARTS))
    flags.add_argument(
        "--scale", type=positive(float), default=1, help="part of the rows, to try things out (default: 1)"
    )
    flags.add_argument("--skip-slow", action="store_true", help="scale scikit-learn up from 90 MB to 1 GB")
    options = flags.parse_args(words)
    report, files = Report("train", options.json), Files(options.scale)
    if options.scale != 1:
        report.say(f"A trial with {options.scale} of the rows: the targets are not meant for it.")
    for part in options.only:
        report.say(f"## {part}")
        PARTS[part](report, files, options)
    report.close()
