"""From JSON lines to a saved model with bigrams, in one pass: against scikit-learn, Vowpal Wabbit and fastText.

Each run is a whole process: its start, one pass over a file that is in the page cache, saving the model.  The rivals
have a part of the documents only; Vowpal Wabbit and fastText read them in their own formats, as lower-case words, and
what it takes to make these is not counted.  All speeds are in MB of JSON lines.  Every rival has its own environment,
which is made from packages of PyPI at the first use.  "One thread" also means one core.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tqdm import tqdm

from bench.peer_commands import SCRIPTS
from bench.peer_environments import PYPI, python_of, version_of
from bench.processes import Run, available, run
from bench.report import CORES, Report, Row, positive, suite_parser
from bench.targets import report_targets, target_row

SPEED_UPS = {"scikit-learn": 30, "Vowpal Wabbit": 3, "fastText": 8}
MOST_MEMORY = 300e6  # bytes of cwlearn, beside the model
OURS = "cwlearn SCW"
MODES = {"one thread": 1, "all threads": CORES}


@dataclass(frozen=True)
class Trainer:
    """The commands of a candidate; TRAIN, TEST, MODEL, OUT and THREADS are placeholders."""

    environment: str  # of `peer_environments`; "" for cwlearn itself
    suffix: str  # of its files
    train: str
    predict: str
    uses_threads: bool = True
    slow: bool = False  # so that one round is enough

    def command(self, template: str, values: dict[str, object]) -> list[str]:
        python = python_of(self.environment) if self.environment else Path(sys.executable)
        return [str(python), *(str(values.get(word, word)) for word in template.split())]


def _cwlearn(algorithm: str) -> Trainer:
    return Trainer(
        "",
        "jsonl",
        f"-m cwlearn train TRAIN -m MODEL -a {algorithm} --epochs 1 --threads THREADS --quiet",
        "-m cwlearn predict TEST -m MODEL -o OUT --quiet",
    )


TRAINERS = {
    OURS: _cwlearn("scw"),  # what documents have by default
    "cwlearn AROW": _cwlearn("arow"),
    "scikit-learn": Trainer(
        "scikit-learn",
        "jsonl",
        f"{SCRIPTS}/sklearn_documents.py train TRAIN MODEL",
        f"{SCRIPTS}/sklearn_documents.py predict MODEL TEST OUT",
        uses_threads=False,
        slow=True,
    ),
    "Vowpal Wabbit": Trainer(
        "vowpalwabbit",
        "vw",
        "-m vowpalwabbit -d TRAIN -f MODEL --ngram 2 -b 20 --loss_function hinge --quiet",
        "-m vowpalwabbit -t -i MODEL -d TEST -p OUT --quiet",
    ),
    "fastText": Trainer(
        "fasttext",
        "fasttext",
        f"{SCRIPTS}/fasttext_documents.py train THREADS TRAIN MODEL",
        f"{SCRIPTS}/fasttext_documents.py predict MODEL TEST OUT",
    ),
}


@dataclass
class Result:
    """The runs of a candidate over one file."""

    size: float  # of the JSON lines, MB
    documents: int
    runs: list[Run] = field(default_factory=list)
    model: int = 0  # bytes
    error: float | None = None

    @property
    def seconds(self) -> float:
        """The least, since other load on the machine can only add time."""
        return min(run.seconds for run in self.runs)

    @property
    def cpu(self) -> float:
        return min(run.cpu for run in self.runs)

    @property
    def peak(self) -> int:
        return max(run.peak for run in self.runs)

    def row(self) -> list[str]:
        error = "" if self.error is None else f"{100 * self.error:.2f}"
        return [
            f"{self.cpu:.2f}",
            f"{self.seconds:.2f}",
            f"{self.size / self.cpu:,.1f}",
            f"{self.size / self.seconds:,.1f}",
            f"{self.documents / self.seconds:,.0f}",
            f"{self.peak / 1e6:,.0f}",
            f"{self.model / 1e6:,.0f}",
            error,
        ]


HEAD = ("CPU, s", "wall, s", "MB/s of CPU", "MB/s", "documents/s", "peak, MB", "model, MB", "error, %")


def train(name: str, data: Path, threads: int, model: Path) -> Run:
    trainer = TRAINERS[name]
    command = trainer.command(
        trainer.train, {"TRAIN": data.with_suffix(f".{trainer.suffix}"), "MODEL": model, "THREADS": threads}
    )
    return run(*(("taskset", "-c", "0") if threads == 1 and CORES > 1 else ()), *command)


def error_of(name: str, test: Path, model: Path) -> float:
    """The part of the test documents that get the wrong label."""
    trainer = TRAINERS[name]
    out = model.with_suffix(".out")
    test_file = test.with_suffix(f".{trainer.suffix}")
    run(*trainer.command(trainer.predict, {"TEST": test_file, "MODEL": model, "OUT": out}))
    with open(out) as predictions, open(test.with_suffix(".jsonl")) as lines:
        wrong = [
            is_positive(found) != (json.loads(line)["label"] == "positive")
            for found, line in zip(predictions, lines, strict=True)
        ]
    return sum(wrong) / len(wrong)


def is_positive(prediction: str) -> bool:
    """What a prediction says: the name of a label first, or a number."""
    word = prediction.split()[0].removeprefix("__label__")
    return word == "positive" if word in ("positive", "negative") else float(word) > 0


def measure(plan: Sequence[tuple[str, str, str]], folder: Path, facts: dict[str, int], repeat: int) -> list[Result]:
    """The results of candidates in modes on files, which take turns."""
    results = [Result((folder / f"{data}.jsonl").stat().st_size / 1e6, facts[data]) for _, _, data in plan]
    with tempfile.TemporaryDirectory() as scratch:
        turns = [(turn, number) for turn in range(repeat) for number in range(len(plan))]
        for turn, number in tqdm(turns, leave=False, disable=None):
            (name, mode, data), result = plan[number], results[number]
            if turn and TRAINERS[name].slow:
                continue
            model = Path(scratch) / "model"
            result.runs.append(train(name, folder / data, MODES[mode], model))
            if turn == 0:
                result.model, result.error = model.stat().st_size, error_of(name, folder / "test", model)
    return results


def stages(path: Path, repeat: int) -> list[Row]:
    """The CPU seconds of each stage of cwlearn on one thread, and their shares."""
    seconds = json.loads(run(sys.executable, "-m", "bench.document_stages", path, str(repeat)).output)
    size, total = path.stat().st_size / 1e6, sum(seconds.values())
    rows = [(name, f"{of:.3f}", f"{of / total:.0%}", f"{size / of:,.0f}") for name, of in seconds.items()]
    return [*rows, ("all", f"{total:.3f}", "100%", f"{size / total:,.0f}")]


def targets(results: dict[tuple[str, str, str], Result]) -> list[Row]:
    ours = results[OURS, "one thread", "all"]
    rows = []
    for name, target in SPEED_UPS.items():
        if (rival := results.get((name, "one thread", "part"))) is None:
            continue
        ratio = (ours.size / ours.cpu) / (rival.size / rival.cpu)
        rows.append(target_row(f"MB/s of CPU, against {name}", f"≥ {target} x", f"{ratio:.1f} x", ratio >= target))
        mine = results[OURS, "one thread", "part"].error
        if mine is not None and rival.error is not None:
            what = f"error after the same documents, against {name}"
            measured = f"{100 * mine:.2f} %"
            rows.append(target_row(what, f"≤ {100 * rival.error:.2f} %", measured, mine <= rival.error))
    limit = (MOST_MEMORY + max(result.model for key, result in results.items() if key[0] == OURS)) / 1e6
    peak = max(result.peak for key, result in results.items() if key[0] == OURS) / 1e6
    return [*rows, target_row("peak memory", f"≤ {limit:.0f} MB", f"{peak:.0f} MB", peak <= limit)]


def main(words: Sequence[str]) -> None:
    parser = suite_parser("documents", __doc__, repeat=3)
    parser.add_argument(
        "--megabytes", type=positive(float), default=1000, help="size of the JSON lines for cwlearn (default: 1000)"
    )
    parser.add_argument("--part", type=positive(float), default=100, help="and for the rivals (default: 100)")
    options = parser.parse_args(words)
    report = Report("documents", options)
    sizes = ["--megabytes", str(options.megabytes), "--part", str(options.part)]
    folder = Path(subprocess.check_output([sys.executable, "-m", "bench.document_files", *sizes], text=True).strip())
    facts = json.loads(folder.joinpath("facts.json").read_text())
    with tempfile.TemporaryDirectory() as scratch:
        names = available(TRAINERS, lambda name: train(name, folder / "test", 1, Path(scratch) / "model"))
    used = {TRAINERS[name].environment for name in names}
    report.say(f"Versions: {', '.join(version_of(name) for name in PYPI if name in used)}.")
    report.say(
        f"all: {facts['all']:,} documents, part: {facts['part']:,} documents, to test on: {facts['test']:,} reviews."
    )
    run("wc", *sorted(folder.iterdir()))  # into the page cache
    plan = [
        *(
            (name, mode, "part")
            for name in names
            for mode in MODES
            if mode == "one thread" or TRAINERS[name].uses_threads
        ),
        *((name, mode, "all") for name in names for mode in MODES if not TRAINERS[name].environment),
    ]
    results = dict(zip(plan, measure(plan, folder, facts, options.repeat), strict=True))
    for data in ("part", "all"):
        rows = [[f"{name}, {mode}", *result.row()] for (name, mode, of), result in results.items() if of == data]
        report.table([f"{results[OURS, 'one thread', data].size:,.0f} MB", *HEAD], rows)
    report.say("The stages of one pass on one thread, each measured as what it adds to those before it:")
    report.table(("", "CPU, s", "share", "MB/s"), stages(folder / "part.jsonl", options.repeat))
    report_targets(report, targets(results))
    report.close()
