"""The ratios that CI checks: the speed of our code as a part of that of a reference, on the same machine.

A reference does the least work that the task needs.  Our code and the reference take turns, so a busy machine slows
both.  A ratio that is more than 30 % below the committed baseline is measured again, up to five times, and fails only
if it stays below: noise passes, a slower loop does not.  Ratios depend on the processor, so there are several
baselines, and the first one whose facts all fit this machine counts.  On a kind of machine without one, failures are
only reported.  `--update` writes the baseline of this processor; use it on an idle machine.
"""

from __future__ import annotations

import json
import platform
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from bench.datasets import zipf
from bench.full import blas_seconds, passes, rows_of
from bench.kernels import kernel_pass, roofline_pass
from bench.native import roofline
from bench.processes import run
from bench.report import Report, suite_parser
from bench.text import made_up
from bench.timing import Runner, time_in_turns, timed
from cwlearn.core import rules
from cwlearn.core._probabilities import winning_probabilities
from cwlearn.core.frequencies import Frequencies
from cwlearn.core.learner import Learner
from cwlearn.core.rows import as_rows
from cwlearn.core.text_options import DEFAULT_BITS, TextOptions
from cwlearn.core.training import Training
from cwlearn.native import parse_rows
from cwlearn.text._svmlight import DONE, PADDING
from cwlearn.text.batch import Buffers
from cwlearn.text.hashing import Hasher, documents_of, settings_of

BASELINE = Path(__file__).with_name("baseline.json")
ALLOWED = 0.7  # of the baseline
RETRIES = 5

N_ROWS, N_WEIGHTS = 5_000, 50_000  # a state that stays in the cache, where loops differ the most
Pair = tuple[Runner, Runner]  # our code and its reference


@cache
def _data(n_labels: int = 2) -> tuple[Any, np.ndarray]:
    return zipf(N_ROWS, 100, N_WEIGHTS if n_labels == 2 else N_WEIGHTS // n_labels, n_labels=n_labels)


def _kernel(rule: rules.Rule, n_labels: int = 2) -> Pair:
    X, y = _data(n_labels)
    order = np.arange(N_ROWS)
    return kernel_pass(rule, X, y, order, n_labels), roofline_pass(X, order, look_ahead=False)


def _margins() -> Pair:
    X, _ = _data()
    rows = as_rows(X, np.dtype(np.float32))
    learner = Learner(rules.AROW(), Training(), np.array([0, 1]), X.shape[1])
    return lambda: timed(lambda: learner.margins(rows)), roofline_pass(X, np.arange(N_ROWS), look_ahead=False)


def _parse(form: str, hash_bits: int = 0) -> tuple[np.ndarray, Runner]:
    """Text that stays in the cache, and the parsing of it."""
    X, y = zipf(300, 100, N_WEIGHTS)
    lines = []
    for row, label in zip(X, y, strict=True):
        values = row.data if form == ".6f" else np.ceil(9 * row.data**4)
        pairs = (f"{column}:{value:{form}}" for column, value in zip(row.indices, values, strict=True))
        lines.append(f"{2 * label - 1:+d} {' '.join(pairs)}\n")
    body = "".join(lines).encode()
    text = np.frombuffer(bytes(PADDING) + body + bytes(PADDING), np.uint8)
    stop, size = PADDING + len(body), len(body)
    arrays = (
        np.zeros(size // 2 + 3, np.int64),
        np.empty(size // 4 + 2, np.int32),
        np.empty(size // 4 + 2, np.float32),
        np.empty(size // 2 + 2),
        np.empty(size // 2 + 2, np.int64),
        np.empty(size // 2 + 2),
        *np.empty((2, size // 2 + 2), np.int64),
        np.empty(0, np.int64),
    )

    def parse() -> None:
        status, n_rows, *_ = parse_rows(*arrays, text, PADDING, stop, 0, True, 0, False, hash_bits)
        assert (status, n_rows) == (DONE, X.shape[0])

    return text[PADDING:stop], lambda: timed(parse)


def _reading(text: np.ndarray) -> Runner:
    return lambda: timed(lambda: roofline().read_words(text))


def _parser(form: str) -> Pair:
    text, parse = _parse(form)
    return parse, _reading(text)


def _hashed_columns() -> Pair:
    return _parse(".6f", hash_bits=20)[1], _parse(".6f")[1]


def _documents() -> Pair:
    texts = made_up(300)
    documents, memory = documents_of(texts), Buffers(np.empty(0, np.uint8))
    hasher = Hasher(settings_of(TextOptions(), DEFAULT_BITS))
    text = np.frombuffer("".join(texts).encode(), np.uint8)
    return lambda: timed(lambda: hasher.rows(documents, memory, np.float32)), _reading(text)


def _weighing() -> Pair:
    X, _ = _data()
    rows, frequencies = as_rows(X, np.dtype(np.float32)), Frequencies(X.shape[1], "l2")
    reference = roofline_pass(X, np.arange(N_ROWS), look_ahead=False)
    return lambda: timed(lambda: frequencies.count_and_weigh(rows)), reference


def _distribution() -> Pair:
    """Few of a thousand labels can win; the reference takes the deviation of each."""
    mean = np.random.default_rng(0).normal(size=(100, 1000))
    variance = np.full(mean.shape, 1e-4)
    return lambda: timed(lambda: winning_probabilities(mean, variance)), lambda: timed(lambda: np.sqrt(variance))


def _startup() -> Pair:
    def train() -> float:
        with tempfile.TemporaryDirectory() as folder:
            text, model = Path(folder, "ten.svm"), Path(folder, "model.npz")
            text.write_text("+1 1:1 2:0.5\n-1 2:1 3:1\n" * 5)
            words = ("-m", "cwlearn", "train", text, "-m", model, "--epochs", "1", "--quiet")
            return run(sys.executable, *words).seconds

    return train, lambda: run(sys.executable, "-c", "import numpy").seconds


def _full(d: int, n: int) -> Pair:
    """Both in one thread: on a busy machine two threads would mostly wait for each other."""

    def in_one_thread(runner: Runner) -> Runner:
        def run() -> float:
            with threadpool_limits(1):
                return runner()

        return run

    return in_one_thread(passes(rows_of(d, n, 1), d)), in_one_thread(lambda: blas_seconds(d, n))


RATIOS: dict[str, Callable[[], Pair]] = {
    "AROW, against gathering and writing back": lambda: _kernel(rules.AROW()),
    "CW, against gathering and writing back": lambda: _kernel(rules.CW()),
    "CW exact, against gathering and writing back": lambda: _kernel(rules.CW(projection="exact")),
    "CW with 20 labels, against gathering and writing back": lambda: _kernel(rules.CW(), 20),
    "margins, against gathering and writing back": _margins,
    "full covariance of 1,000 features, against two BLAS calls": lambda: _full(1000, 30),
    "parsing decimals, against reading words": lambda: _parser(".6f"),
    "parsing counts, against reading words": lambda: _parser(".0f"),
    "parsing hashed columns, against parsing them as they are": _hashed_columns,
    "hashing words and bigrams, against reading words": _documents,
    "weighing by frequencies, against gathering and writing back": _weighing,
    "distribution over 1,000 labels, against square roots": _distribution,
    "training on ten lines, against import numpy": _startup,
}


@dataclass
class Verdict:
    """The measurements of a ratio."""

    name: str
    baseline: float
    ratios: list[float]

    @property
    def passed(self) -> bool:
        return max(self.ratios) >= ALLOWED * self.baseline

    def __str__(self) -> str:
        measured = ", ".join(f"{ratio:.3g}" for ratio in self.ratios)
        part = max(self.ratios) / self.baseline
        return f"{self.name}: measured {measured}, at best {part:.0%} of the baseline {self.baseline:.3g}"


def ratio(pair: Pair, repeat: int) -> float:
    """The speed of our code, if that of the reference is 1."""
    ours, reference = pair
    times = time_in_turns({"ours": ours, "reference": reference}, repeat)
    return times["reference"].best / times["ours"].best


def judge(name: str, measure: Callable[[], float], baseline: float) -> Verdict:
    """Measure a ratio, and again while it is too low."""
    verdict = Verdict(name, baseline, [measure()])
    while not verdict.passed and len(verdict.ratios) <= RETRIES:
        verdict.ratios.append(measure())
    return verdict


def judge_all(baseline: Mapping[str, float], names: Sequence[str], repeat: int) -> list[Verdict]:
    return [judge(name, _measure(name, repeat), baseline[name]) for name in names]


def _measure(name: str, repeat: int) -> Callable[[], float]:
    pair = RATIOS[name]()
    ratio(pair, 2)  # everything that is slow only the first time
    return lambda: ratio(pair, repeat)


def _best_of(measure: Callable[[], float], times: int) -> float:
    return max(measure() for _ in range(times))


def kind_of_machine() -> dict[str, str]:
    """The facts that decide which loops run, ours and those of the C library, and how fast they are."""
    loops = parse_rows.__module__.rpartition(".")[2]  # without the folder, so that moving a module keeps the baseline
    return {
        "machine": platform.machine(),
        "system": platform.system(),
        "loops": loops,
        "processor": _processor(),
    }


def _processor() -> str:
    """Maker, family and model of the processor, where the system tells them."""
    try:
        lines = [line.partition(":") for line in Path("/proc/cpuinfo").read_text().splitlines()]
    except OSError:
        return platform.processor()
    facts = {name.strip(): value.strip() for name, _, value in reversed(lines)}
    return " ".join(facts.get(name, "?") for name in ("vendor_id", "cpu family", "model"))


def baseline_of(kind: Mapping[str, str], baselines: Sequence[Mapping[str, Any]]) -> tuple[Mapping[str, Any], bool]:
    """The first baseline whose facts all fit, and True; or the last one and False."""
    for baseline in baselines:
        if baseline["kind"].items() <= kind.items():
            return baseline, True
    return baselines[-1], False


def _write(ratios: Mapping[str, float]) -> None:
    """Put the baseline of this processor before all others."""
    kind = kind_of_machine()
    others = [baseline for baseline in json.loads(BASELINE.read_text()) if baseline["kind"] != kind]
    BASELINE.write_text(json.dumps([{"kind": kind, "ratios": ratios}, *others], indent=1) + "\n")


def main(words: Sequence[str]) -> None:
    parser = suite_parser("gate", __doc__, repeat=20)
    parser.add_argument("--update", action="store_true", help="write a new baseline")
    options = parser.parse_args(words)
    if options.update:
        best = {name: _best_of(_measure(name, options.repeat), RETRIES) for name in RATIOS}
        _write({name: float(f"{value:.3g}") for name, value in best.items()})
    baseline, comparable = baseline_of(kind_of_machine(), json.loads(BASELINE.read_text()))
    ratios = baseline["ratios"]
    if {*ratios} != {*RATIOS}:
        sys.exit(f"{BASELINE.name} has other ratios than the gate: {sorted({*ratios} ^ {*RATIOS})}; see --update")
    report = Report("gate", options)
    verdicts = judge_all(ratios, list(RATIOS), options.repeat)
    rows = [
        (v.name, f"{v.baseline:.3g}", f"{max(v.ratios):.3g}", f"{max(v.ratios) / v.baseline:.0%}", str(len(v.ratios)))
        for v in verdicts
    ]
    report.table(("ratio", "baseline", "measured", "of the baseline", "measurements"), rows)
    failed = [str(verdict) for verdict in verdicts if not verdict.passed]
    if failed and not comparable:
        report.say(f"The baseline is from another kind of machine, {baseline['kind']}, so these are no failures:")
        report.say("\n".join(failed))
    report.close()
    if failed and comparable:
        sys.exit("slower than the baseline:\n" + "\n".join(failed))
