"""cwlearn and its peers on the same files, in one run: LIBLINEAR, Vowpal Wabbit, scikit-learn (SGD, PA) and river.

For each: seconds from text to a saved model after one and five passes, the peak of memory, millions of nonzeros a
second over rows that are held in memory, and the error on other rows.  Every peer has an environment of its own, made
from PyPI or Debian's packages when it is first needed; one that cannot be had is reported as missing.  All are at their
defaults (hinge loss where there is a choice).  LIBLINEAR has no number of passes: for one, it is told to be content
after one iteration; for five, it stops when it likes.  Vowpal Wabbit's rate in memory is that of the passes after the
first, over its binary cache.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tqdm import tqdm

from bench.peer_environments import DEBIAN, PYPI, debian_root, python_of, version_of
from bench.peer_report import PASSES, Results, losses, plot, tabulate
from bench.processes import Run, present, run
from bench.report import Report, new_file, parser, positive

SCRIPTS = Path(__file__).with_name("peer_scripts")


@dataclass(frozen=True)
class Peer:
    """Commands; words in capitals stand for files and numbers."""

    environment: str  # "" for ours
    train: str
    predict: str
    memory: str  # prints seconds; "" where the difference of passes is taken
    slow: bool = False  # one round is enough
    by_passes: dict[int, str] = field(default_factory=dict)  # what STOP stands for


def _script(name: str, environment: str, algorithm: str, slow: bool = False) -> Peer:
    script = f"PYTHON SCRIPTS/{name}_peer.py"
    return Peer(
        environment,
        f"{script} train {algorithm} TRAIN.svm MODEL PASSES",
        f"{script} predict MODEL TEST.svm OUT",
        f"{script} memory {algorithm} TRAIN.svm",
        slow,
    )


def _ours(algorithm: str) -> Peer:
    return Peer(
        "",
        f"PYTHON -m cwlearn train TRAIN.svm -m MODEL -a {algorithm} --epochs PASSES --seed 0 --quiet",
        "PYTHON -m cwlearn predict TEST.svm -m MODEL -o OUT --quiet",
        f"PYTHON SCRIPTS/cwlearn_memory.py {algorithm} TRAIN.svm",
    )


PEERS = {
    "cwlearn AROW": _ours("arow"),
    "cwlearn CW": _ours("cw"),
    "Vowpal Wabbit": Peer(
        "vowpalwabbit",
        "PYTHON -m vowpalwabbit -d TRAIN.vw -f MODEL --loss_function hinge -b BITS --quiet STOP",
        "PYTHON -m vowpalwabbit -t -i MODEL -d TEST.vw -p OUT --quiet",
        "",
        by_passes={1: "", 5: "--passes 5 --holdout_off -k --cache_file MODEL.cache"},
    ),
    "LIBLINEAR": Peer(
        "liblinear-tools",
        "BIN/liblinear-train -q -s 1 STOP TRAIN.svm MODEL",
        "BIN/liblinear-predict -q TEST.svm MODEL OUT",
        "LIBLINEAR_PYTHON SCRIPTS/liblinear_memory.py TRAIN.svm",
        by_passes={1: "-e 1e9", 5: ""},
    ),
    "scikit-learn SGD": _script("sklearn", "scikit-learn", "sgd"),
    "scikit-learn PA": _script("sklearn", "scikit-learn", "pa"),
    "river logistic": _script("river", "river", "logistic", slow=True),
    "river PA": _script("river", "river", "pa", slow=True),
}


@dataclass
class Data:
    name: str
    folder: Path
    facts: dict[str, int]


def command(words: str, peer: Peer, data: Data, passes: int, folder: Path) -> tuple[list[str], dict[str, str]]:
    """The words of a command, and what its environment must say."""
    root = debian_root(peer.environment) if peer.environment in DEBIAN else None
    stands_for: dict[str, Callable[[], object]] = {
        "LIBLINEAR_PYTHON": lambda: python_of("liblinear"),
        "PYTHON": lambda: python_of(peer.environment) if peer.environment else sys.executable,
        "BIN": lambda: f"{root}/usr/bin",
        "SCRIPTS": lambda: SCRIPTS,
        "TRAIN": lambda: data.folder / "train",
        "TEST": lambda: data.folder / "test",
        "MODEL": lambda: folder / "model",
        "OUT": lambda: folder / "out",
        "PASSES": lambda: passes,
        "BITS": lambda: data.facts["bits"],
    }
    name = re.compile("|".join(rf"\b{word}\b" for word in stands_for))
    made = [
        name.sub(lambda match: str(stands_for[match[0]]()), word)
        for word in words.replace("STOP", peer.by_passes.get(passes, "")).split()
    ]
    libraries = [str(path.parent) for path in root.rglob("liblinear.so.*")] if root else []
    return made, {"LD_LIBRARY_PATH": libraries[0]} if libraries else {}


def execute(words: str, peer: Peer, data: Data, passes: int, folder: Path) -> Run:
    made, more = command(words, peer, data, passes, folder)
    return run(*made, more=more)


def error_of(out: Path, test: Path) -> float:
    with open(out) as found, open(test) as true:
        pairs = [
            (float(line.split()[0]) > 0, float(row.split(maxsplit=1)[0]) > 0)
            for line, row in zip(found, true, strict=True)
        ]
    return sum(a != b for a, b in pairs) / len(pairs)


def assess(names: Sequence[str], data: Data, repeat: int, tick: Callable[[], object]) -> Results:
    """All that is said of the peers on a data set, by peer; in each round all of them have a turn."""
    found: Results = {name: {"in memory": []} for name in names}
    with tempfile.TemporaryDirectory() as scratch:
        for turn in range(repeat):
            for name in names:
                if turn == 0 or not PEERS[name].slow:
                    _turn(PEERS[name], data, Path(scratch), found[name])
                tick()
    for name, result in found.items():
        if not PEERS[name].memory:
            first, last = (min(result[f"seconds {passes}"]) for passes in PASSES)
            if last - first > 0.05:  # else what is not the passes would decide
                result["in memory"] = [(last - first) / (PASSES[1] - PASSES[0])]
    return found


def _turn(peer: Peer, data: Data, folder: Path, result: dict[str, Any]) -> None:
    for passes in PASSES:
        done = execute(peer.train, peer, data, passes, folder)
        result.setdefault(f"seconds {passes}", []).append(done.seconds)
        result[f"peak {passes}"] = max(done.peak, result.get(f"peak {passes}", 0))
        if f"error {passes}" not in result:
            execute(peer.predict, peer, data, passes, folder)
            result[f"error {passes}"] = error_of(folder / "out", data.folder / "test.svm")
    if peer.memory:
        result["in memory"].append(float(execute(peer.memory, peer, data, 1, folder).output))


def ten_lines(data: Data, folder: Path) -> Data:
    """The beginning of a data set, for who cannot do that can do nothing."""
    for name in ("train.svm", "test.svm", "train.vw", "test.vw"):
        with open(data.folder / name) as source:
            folder.joinpath(name).write_text("".join(line for line, _ in zip(source, range(10), strict=False)))
    return Data("ten", folder, data.facts)


def main(words: Sequence[str]) -> None:
    flags = parser("peers", __doc__, repeat=3)
    flags.add_argument(
        "--scale", type=positive(float), default=0.3, help="part of the 100,000 synthetic rows (default: 0.3)"
    )
    flags.add_argument("--data", nargs="+", metavar="NAME", help="only these (decimals, counts, w8a, ...)")
    flags.add_argument("--plot", type=new_file, metavar="FILE", help="picture to write")
    options = flags.parse_args(words)
    report = Report("peers", options.json)
    make = [sys.executable, "-m", "bench.peer_files", "--scale", str(options.scale)]
    folders = json.loads(subprocess.check_output(make, text=True))
    if unknown := {*(options.data or ())} - {*folders}:
        flags.error(f"unknown data {', '.join(sorted(unknown))}: there are {', '.join(folders)}")
    chosen = [
        Data(name, Path(folder), json.loads(Path(folder, "facts.json").read_text()))
        for name, folder in folders.items()
        if not options.data or name in options.data
    ]
    with tempfile.TemporaryDirectory() as few, tempfile.TemporaryDirectory() as scratch:
        small = ten_lines(chosen[0], Path(few))
        names = present(PEERS, lambda name: _turn(PEERS[name], small, Path(scratch), {"in memory": []}))
    used = {PEERS[name].environment for name in names} | ({"liblinear"} if "LIBLINEAR" in names else set())
    report.say(f"Versions: {', '.join(version_of(name) for name in (*PYPI, *DEBIAN) if name in used)}.")
    everything: dict[str, Results] = {}
    with tqdm(total=len(chosen) * len(names) * options.repeat, disable=None, leave=False) as bar:
        for data in chosen:
            everything[data.name] = assess(names, data, options.repeat, bar.update)
            tabulate(report, data.name, data.facts, everything[data.name])
    losses(report, everything)
    report.keep("results", everything)
    report.close()
    if options.plot:
        plot(everything, options.plot)
