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
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tqdm import tqdm

from bench.peer_environments import DEBIAN, PYPI, debian_root, python_of, version_of
from bench.processes import Run, present, run
from bench.report import Report, parser

SCRIPTS = Path(__file__).with_name("peer_scripts")
PASSES = (1, 5)


@dataclass(frozen=True)
class Peer:
    """Commands; words in capitals stand for files and numbers."""

    environment: str  # "" for ours
    train: str
    predict: str
    memory: str  # prints seconds; "" where the difference of passes is taken
    slow: bool = False  # one round is enough
    by_passes: dict[int, str] = field(default_factory=dict)  # what STOP stands for


def _sklearn(algorithm: str) -> Peer:
    script = "PYTHON SCRIPTS/sklearn_peer.py"
    return Peer(
        "scikit-learn",
        f"{script} train {algorithm} TRAIN.svm MODEL PASSES",
        f"{script} predict MODEL TEST.svm OUT",
        f"{script} memory {algorithm} TRAIN.svm",
    )


def _river(algorithm: str) -> Peer:
    script = "PYTHON SCRIPTS/river_peer.py"
    return Peer(
        "river",
        f"{script} train {algorithm} TRAIN.svm MODEL PASSES",
        f"{script} predict MODEL TEST.svm OUT",
        f"{script} memory {algorithm} TRAIN.svm",
        slow=True,
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
    "scikit-learn SGD": _sklearn("sgd"),
    "scikit-learn PA": _sklearn("pa"),
    "river logistic": _river("logistic"),
    "river PA": _river("pa"),
}


@dataclass
class Data:
    name: str
    folder: Path
    facts: dict[str, int]


def command(words: str, peer: Peer, data: Data, passes: int, folder: Path) -> tuple[list[str], dict[str, str]]:
    """The words of a command, and what its environment must say."""
    root = debian_root(peer.environment) if peer.environment in DEBIAN else None
    stands_for = {
        "LIBLINEAR_PYTHON": lambda: str(python_of("liblinear")),
        "PYTHON": lambda: str(python_of(peer.environment) if peer.environment else sys.executable),
        "BIN": lambda: f"{root}/usr/bin",
        "SCRIPTS": lambda: str(SCRIPTS),
        "TRAIN": lambda: f"{data.folder}/train",
        "TEST": lambda: f"{data.folder}/test",
        "MODEL": lambda: f"{folder}/model",
        "OUT": lambda: f"{folder}/out",
        "PASSES": lambda: str(passes),
        "BITS": lambda: str(data.facts["bits"]),
    }
    words = words.replace("STOP", peer.by_passes.get(passes, ""))
    for word, meaning in stands_for.items():
        if word in words:
            words = words.replace(word, meaning())
    libraries = [str(path.parent) for path in root.rglob("liblinear.so.*")] if root else []
    return words.split(), {"LD_LIBRARY_PATH": libraries[0]} if libraries else {}


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


def assess(name: str, data: Data, repeat: int, tick: Callable[[], object]) -> dict[str, Any]:
    """All that is said of a peer on a data set."""
    peer, found = PEERS[name], {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for passes in PASSES:
            runs = [execute(peer.train, peer, data, passes, folder) for _ in range(1 if peer.slow else repeat)]
            execute(peer.predict, peer, data, passes, folder)
            found[f"seconds {passes}"] = [each.seconds for each in runs]
            found[f"peak {passes}"] = max(each.peak for each in runs)
            found[f"error {passes}"] = error_of(folder / "out", data.folder / "test.svm")
            tick()
        if peer.memory:
            seconds = [
                float(execute(peer.memory, peer, data, 1, folder).output) for _ in range(1 if peer.slow else repeat)
            ]
        else:
            first, last = (min(found[f"seconds {passes}"]) for passes in PASSES)
            seconds = [max(last - first, 1e-9) / (PASSES[1] - PASSES[0])]
        found["in memory"] = seconds
        tick()
    return found


def tabulate(report: Report, data: Data, results: dict[str, dict[str, Any]]) -> None:
    facts = data.facts
    report.say(
        f"## {data.name}\n\n{facts['rows']:,} rows to learn from, {facts['test']:,} to test on, {facts['features']:,} "
        f"features, {facts['nonzeros']:,} nonzeros."
    )
    best = {key: min(result[key] for result in results.values()) for key in ("error 1", "error 5")}
    rows = []
    for name, result in results.items():
        seconds = [
            f"{min(s):.2f} ({statistics.median(s):.2f}, {(max(s) - min(s)) / statistics.median(s):.0%})"
            for s in (result["seconds 1"], result["seconds 5"])
        ]
        errors = [
            f"**{100 * result[key]:.2f}**" if result[key] == least else f"{100 * result[key]:.2f}"
            for key, least in best.items()
        ]
        rate = facts["nonzeros"] / min(result["in memory"]) / 1e6
        peak = f"{max(result['peak 1'], result['peak 5']) / 2**20:,.0f}"
        rows.append((name, *seconds, f"{rate:,.1f}", peak, *errors))
    head = (
        "", "one pass, s: best (median, spread)", "five passes, s", "M nonzeros/s in memory", "peak, MiB",
        "error after one, %", "after five, %",
    )  # fmt: skip
    report.table(head, rows)


def losses(report: Report, everything: dict[str, dict[str, dict[str, Any]]]) -> None:
    """Where one of ours is not the best."""
    lines = []
    titles = {
        "seconds 1": "time of one pass",
        "seconds 5": "time of five",
        "in memory": "rate in memory",
        "peak 1": "memory",
    }
    for name, results in everything.items():
        for key, title in (titles | {"error 1": "error after one pass", "error 5": "error after five"}).items():
            values = {peer: min(v) if isinstance(v := result[key], list) else v for peer, result in results.items()}
            ours = min((value, peer) for peer, value in values.items() if peer.startswith("cwlearn"))
            ahead = sorted((value, peer) for peer, value in values.items() if value < ours[0])
            if ahead:
                said = ", ".join(f"{peer} ({_said(key, value)})" for value, peer in ahead)
                lines.append((name, title, f"{ours[1]} ({_said(key, ours[0])})", said))
    report.say("## Where others are ahead of the better one of ours")
    report.table(("data", "in", "ours", "ahead"), lines)


def _said(key: str, value: float) -> str:
    if key.startswith("error"):
        return f"{100 * value:.2f} %"
    return f"{value / 2**20:,.0f} MiB" if key.startswith("peak") else f"{value:.3g} s"


COLORS = ("#d1242f", "#bc4c00", "#4e79a7", "#1a7f37", "#b07aa1", "#8250df", "#777777", "#444444")


def plot(everything: dict[str, dict[str, dict[str, Any]]], path: Path) -> None:
    """Error against seconds from text: an open mark after one pass, a filled one after five."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.ticker import LogLocator, NullFormatter

    figure, axes = plt.subplots(1, len(everything), figsize=(4.2 * len(everything), 4.4), constrained_layout=True)
    for axis, (title, results) in zip(axes if len(everything) > 1 else [axes], everything.items(), strict=True):
        for (name, result), color in zip(results.items(), COLORS, strict=False):
            seconds = [min(result[f"seconds {passes}"]) for passes in PASSES]
            errors = [100 * result[f"error {passes}"] for passes in PASSES]
            axis.plot(seconds, errors, "-", color=color, linewidth=1)
            axis.plot(seconds[0], errors[0], "o", color=color, markerfacecolor="white")
            axis.plot(seconds[1], errors[1], "o", color=color, label=name)
        axis.set_xscale("log")
        axis.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.xaxis.set_major_formatter("{x:g}")
        axis.xaxis.set_minor_formatter(NullFormatter())
        axis.set_title(title, loc="left", fontsize=10.5)
        axis.set_xlabel("seconds from text to a model")
        axis.grid(alpha=0.25)
        axis.spines[["top", "right"]].set_visible(False)
    figure.axes[0].set_ylabel("error on other rows, %")
    figure.legend(
        *figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=8.5, frameon=False
    )
    figure.savefig(path, dpi=110)


def main(words: Sequence[str]) -> None:
    flags = parser("peers", __doc__, repeat=3)
    flags.add_argument("--scale", type=float, default=0.3, help="part of the 100,000 synthetic rows (default: 0.3)")
    flags.add_argument("--data", nargs="+", metavar="NAME", help="only these (decimals, counts, w8a, ...)")
    flags.add_argument("--plot", type=Path, help="picture to write")
    options = flags.parse_args(words)
    report = Report("peers", options.json)
    make = [sys.executable, "-m", "bench.peer_files", "--scale", str(options.scale)]
    folders = json.loads(subprocess.check_output(make, text=True))
    chosen = [
        Data(name, Path(folder), json.loads(Path(folder, "facts.json").read_text()))
        for name, folder in folders.items()
        if not options.data or name in options.data
    ]
    names = present(
        PEERS, lambda name: command(f"{PEERS[name].train} {PEERS[name].memory}", PEERS[name], chosen[0], 1, Path())
    )
    versions = ", ".join(
        version_of(name) for name in (*PYPI, *DEBIAN) if any(PEERS[n].environment == name for n in names)
    )
    report.say(f"Versions: {versions}.")
    everything: dict[str, dict[str, dict[str, Any]]] = {}
    with tqdm(total=len(chosen) * len(names) * (len(PASSES) + 1), disable=None, leave=False) as bar:
        for data in chosen:
            everything[data.name] = {name: assess(name, data, options.repeat, bar.update) for name in names}
            tabulate(report, data, everything[data.name])
    losses(report, everything)
    report.keep("results", everything)
    report.close()
    if options.plot:
        plot(everything, options.plot)
