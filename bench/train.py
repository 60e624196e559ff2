"""From text to a model, by command: against Vowpal Wabbit, LIBLINEAR and scikit-learn.

Each run is a whole process: its start, one pass over a file that is in the page cache, saving the model.  The peers are
those of this Python and of the PATH (LIBLINEAR: liblinear-train, from Debian's liblinear-tools).  A candidate that
fails on ten lines is reported as missing.  At full scale the files take 5 GB of the folder CWLEARN_CACHE, and 3 GB more
for a while.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from bench.peer_commands import PEERS
from bench.processes import Run, available, run
from bench.report import Report, Row, positive, suite_parser
from bench.targets import report_targets, speed_up_rows, target_row
from bench.text_files import BITS, FEATURES, Files
from bench.timing import Times, time_in_turns

TRAINERS = {
    "cwlearn": PEERS["cwlearn AROW"],
    "Vowpal Wabbit": PEERS["Vowpal Wabbit"],
    "LIBLINEAR": PEERS["LIBLINEAR"],
    "scikit-learn": PEERS["scikit-learn SGD"],
}
SPEED_UPS = {"Vowpal Wabbit": {1: 3, 10: 5}, "LIBLINEAR": {1: 6, 10: 15}, "scikit-learn": {1: 20, 10: 50}}


def train(name: str, files: Files, kind: str, times: int = 1) -> Run:
    """One pass of a candidate over a file that is repeated so many times."""
    peer = TRAINERS[name]
    data = files.path(kind, times, peer.suffix)
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "model"
        values: dict[str, Callable[[], object]] = {
            "PYTHON": lambda: sys.executable,
            "LIBLINEAR_TRAIN": lambda: "liblinear-train",
            "TRAIN": lambda: data.with_suffix(""),
            "MODEL": lambda: model,
            "BITS": lambda: BITS.get(kind, 18),
        }
        process = run(*peer.command(peer.train, 1, values))
        assert model.stat().st_size > 0
    return process


def seconds_of(name: str, files: Files, kind: str, times: int = 1) -> float:
    return train(name, files, kind, times).seconds


def one_pass(report: Report, files: Files, options: argparse.Namespace, times: int = 1) -> None:
    slow = "scikit-learn" if times > 1 else ""
    names = available(TRAINERS, lambda name: train(name, files, "ten"))
    targets: list[Row] = []
    for kind in FEATURES:
        run("wc", files.path(kind, times), files.path(kind, times, "vw"))  # into the page cache
        extrapolated = options.skip_slow and slow in names
        candidates = [name for name in names if not (extrapolated and name == slow)]
        runs = {name: partial(seconds_of, name, files, kind, times) for name in candidates}
        seconds = time_in_turns(runs, options.repeat, [slow])
        if extrapolated:
            start, part = seconds_of(slow, files, "ten"), seconds_of(slow, files, kind)
            seconds[slow] = Times((start + times * (part - start),))
            report.say(f"The seconds of scikit-learn are extrapolated from {files.megabytes(kind):.0f} MB.")
        size = files.megabytes(kind, times)
        speeds = {name: f"{size / of.best:,.0f}" for name, of in seconds.items()}
        report.times(f"training on {kind}, {size:,.0f} MB", seconds, {"MB/s": speeds})
        targets += speed_up_rows(kind, seconds, "cwlearn", {name: aim[times] for name, aim in SPEED_UPS.items()})
    report_targets(report, targets)


def linear(report: Report, files: Files, options: argparse.Namespace) -> None:
    tasks = [("ten", 1), *((kind, times) for kind in FEATURES for times in (1, 10)), ("wide", 1)]
    runs = {f"{kind} x {times}": partial(seconds_of, "cwlearn", files, kind, times) for kind, times in tasks}
    seconds = time_in_turns(runs, 3 * options.repeat)
    report.times("cwlearn train", seconds, {})
    without_start = {name: of.best - seconds["ten x 1"].best for name, of in seconds.items()}
    targets = []
    for kind in FEATURES:
        ratio = without_start[f"{kind} x 10"] / without_start[f"{kind} x 1"]
        what = f"{kind}: ten times the rows, without start-up"
        targets.append(target_row(what, "≤ 10.5 x", f"{ratio:.2f} x", ratio <= 10.5))
    ratio = without_start["wide x 1"] / without_start["decimals x 1"]
    what = "as many nonzeros in 3 million features as in 47 thousand, without start-up"
    report_targets(report, [*targets, (what, "cache effects only", f"{ratio:.2f} x", "")])


def memory(report: Report, files: Files, options: argparse.Namespace) -> None:
    times = int(3000 * files.scale / files.megabytes("counts")) + 1
    limit = 300 + 8 * FEATURES["counts"] / 1e6
    try:
        peak = train("cwlearn", files, "counts", times).peak / 1e6
    finally:
        files.path("counts", times).unlink()
    what = f"peak memory of one pass over {files.megabytes('counts', times):,.0f} MB of counts"
    target = f"< {limit:.0f} MB (300 MB + 8 bytes per feature)"
    report_targets(report, [target_row(what, target, f"{peak:.0f} MB", peak < limit)])


PARTS: dict[str, Callable[[Report, Files, argparse.Namespace], None]] = {
    "small": one_pass,
    "large": partial(one_pass, times=10),
    "linear": linear,
    "memory": memory,
}


def main(words: Sequence[str]) -> None:
    parser = suite_parser("train", __doc__, repeat=3)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, metavar="PART", help=", ".join(PARTS))
    parser.add_argument(
        "--scale", type=positive(float), default=1, help="part of the rows, to try things out (default: 1)"
    )
    parser.add_argument("--skip-slow", action="store_true", help="extrapolate scikit-learn from 90 MB to 1 GB")
    options = parser.parse_args(words)
    report, files = Report("train", options), Files(options.scale)
    if options.scale != 1:
        report.say(f"A trial with {options.scale} of the rows: the targets are meant for all rows.")
    for part in options.only:
        report.say(f"## {part}")
        PARTS[part](report, files, options)
    report.close()
