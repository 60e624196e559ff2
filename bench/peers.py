"""cwlearn and its peers on the same files, in one run: LIBLINEAR, Vowpal Wabbit, scikit-learn (SGD, PA) and river.

For each: seconds from text to a saved model after one and five passes, peak memory, millions of nonzeros per second
over rows in memory, and the error on other rows.  Every peer has its own environment, which is made from packages of
PyPI or Debian at the first use; a peer that cannot be installed is reported as missing.  All have their default
parameters (hinge loss if there is a choice).  LIBLINEAR has no number of passes: for one pass, its tolerance ends it
after one iteration; for five, it stops by its own criterion.  Vowpal Wabbit's rate in memory is that of the passes
after the first one, over its binary cache.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tqdm import tqdm

from bench.peer_commands import PEERS, Peer
from bench.peer_environments import DEBIAN, PYPI, debian_root, python_of, version_of
from bench.peer_report import PASSES, Results, plot, report_data, report_losses
from bench.processes import Run, available, run
from bench.report import Report, positive, suite_parser, writable_file


@dataclass
class Data:
    name: str
    folder: Path
    facts: dict[str, int]


def execute(template: str, peer: Peer, data: Data, passes: int, folder: Path) -> Run:
    """Run a command of a peer in its environment."""
    root = debian_root(peer.environment) if peer.environment in DEBIAN else None
    values: dict[str, Callable[[], object]] = {
        "LIBLINEAR_PYTHON": lambda: python_of("liblinear"),
        "LIBLINEAR_TRAIN": lambda: f"{root}/usr/bin/liblinear-train",
        "LIBLINEAR_PREDICT": lambda: f"{root}/usr/bin/liblinear-predict",
        "PYTHON": lambda: python_of(peer.environment) if peer.environment else sys.executable,
        "TRAIN": lambda: data.folder / "train",
        "TEST": lambda: data.folder / "test",
        "MODEL": lambda: folder / "model",
        "OUT": lambda: folder / "out",
        "BITS": lambda: data.facts["bits"],
    }
    libraries = [str(path.parent) for path in root.rglob("liblinear.so.*")] if root else []
    environment = {"LD_LIBRARY_PATH": libraries[0]} if libraries else {}
    return run(*peer.command(template, passes, values), environment=environment)


def error_of(out: Path, test: Path) -> float:
    """The part of the test rows whose prediction has the wrong sign."""
    with open(out) as predictions, open(test) as rows:
        wrong = [
            (float(prediction.split()[0]) > 0) != (float(row.split(maxsplit=1)[0]) > 0)
            for prediction, row in zip(predictions, rows, strict=True)
        ]
    return sum(wrong) / len(wrong)


def measure(names: Sequence[str], data: Data, repeat: int, report_turn: Callable[[], object]) -> Results:
    """All measurements on a data set, by peer; the peers take turns in each round."""
    results: Results = {name: {"in memory": []} for name in names}
    with tempfile.TemporaryDirectory() as scratch:
        for turn in range(repeat):
            for name in names:
                if turn == 0 or not PEERS[name].slow:
                    take_turn(PEERS[name], data, Path(scratch), results[name])
                report_turn()
    for name, result in results.items():
        if not PEERS[name].memory:
            first, last = (min(result[f"seconds {passes}"]) for passes in PASSES)
            if last - first > 0.05:  # shorter differences are mostly noise
                result["in memory"] = [(last - first) / (PASSES[1] - PASSES[0])]
    return results


def take_turn(peer: Peer, data: Data, folder: Path, result: dict[str, Any]) -> None:
    for passes in PASSES:
        process = execute(peer.train, peer, data, passes, folder)
        result.setdefault(f"seconds {passes}", []).append(process.seconds)
        result[f"peak {passes}"] = max(process.peak, result.get(f"peak {passes}", 0))
        if f"error {passes}" not in result:
            execute(peer.predict, peer, data, passes, folder)
            result[f"error {passes}"] = error_of(folder / "out", data.folder / "test.svm")
    if peer.memory:
        result["in memory"].append(float(execute(peer.memory, peer, data, 1, folder).output))


def ten_lines(data: Data, folder: Path) -> Data:
    """The beginning of a data set, to find out which peers run at all."""
    for name in ("train.svm", "test.svm", "train.vw", "test.vw"):
        with open(data.folder / name) as source:
            folder.joinpath(name).write_text("".join(line for line, _ in zip(source, range(10), strict=False)))
    return Data("ten", folder, data.facts)


def main(words: Sequence[str]) -> None:
    parser = suite_parser("peers", __doc__, repeat=3)
    parser.add_argument(
        "--scale", type=positive(float), default=0.3, help="part of the 100,000 synthetic rows (default: 0.3)"
    )
    parser.add_argument("--data", nargs="+", metavar="NAME", help="only these (decimals, counts, w8a, ...)")
    parser.add_argument("--peers", nargs="+", choices=PEERS, metavar="NAME", help="only these (cwlearn AROW, ...)")
    parser.add_argument("--plot", type=writable_file, metavar="FILE", help="also draw a plot to a file")
    options = parser.parse_args(words)
    report = Report("peers", options)
    make = [sys.executable, "-m", "bench.peer_files", "--scale", str(options.scale)]
    folders = json.loads(subprocess.check_output(make, text=True))
    if unknown := {*(options.data or ())} - {*folders}:
        parser.error(f"unknown data {', '.join(sorted(unknown))}: there are {', '.join(folders)}")
    chosen = [
        Data(name, Path(folder), json.loads(Path(folder, "facts.json").read_text()))
        for name, folder in folders.items()
        if not options.data or name in options.data
    ]
    with tempfile.TemporaryDirectory() as few, tempfile.TemporaryDirectory() as scratch:
        small = ten_lines(chosen[0], Path(few))
        names = available(
            options.peers or PEERS, lambda name: take_turn(PEERS[name], small, Path(scratch), {"in memory": []})
        )
    used = {PEERS[name].environment for name in names} | ({"liblinear"} if "LIBLINEAR" in names else set())
    report.say(f"Versions: {', '.join(version_of(name) for name in (*PYPI, *DEBIAN) if name in used)}.")
    results: dict[str, Results] = {}
    with tqdm(total=len(chosen) * len(names) * options.repeat, disable=None, leave=False) as bar:
        for data in chosen:
            results[data.name] = measure(names, data, options.repeat, bar.update)
            report_data(report, data.name, data.facts, results[data.name])
    report_losses(report, results)
    report.add_json("results", results)
    report.close()
    if options.plot:
        plot(results, options.plot)
