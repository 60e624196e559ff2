"""The ratios that CI watches: our speed as a part of that of the least that could be done, on the same machine.

Ours and its yardstick take turns, so that a busy machine slows both.  A ratio more than 30 % below the committed one is
measured again, up to three times, and fails only if it stays there: noise comes and goes, a slower loop stays.  On
another kind of machine than that of the baseline ratios may be others, and are only reported.  `--update` commits to
what is measured now; take it on an idle machine.
"""

from __future__ import annotations

import json
import platform
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import starmap
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from bench.datasets import zipf
from bench.full import blas_seconds, passes, rows_of
from bench.kernels import kernel_pass, roofline_pass
from bench.native import roofline
from bench.processes import run
from bench.report import Report, parser
from bench.timing import contest, timed
from cwlearn.core import rules
from cwlearn.core.learner import Learner
from cwlearn.core.rows import as_rows
from cwlearn.core.training import Training
from cwlearn.native import parse_rows
from cwlearn.text._svmlight import DONE, PADDING

BASELINE = Path(__file__).with_name("baseline.json")
ALLOWED = 0.7  # of the baseline
AGAIN = 3

N_ROWS, N_WEIGHTS = 5_000, 50_000  # a state that stays in the cache, where loops differ the most
Runner = Callable[[], float]


@cache
def _data(n_labels: int = 2) -> tuple[Any, np.ndarray]:
    return zipf(N_ROWS, 100, N_WEIGHTS if n_labels == 2 else N_WEIGHTS // n_labels, n_labels=n_labels)


def _kernel(rule: rules.Rule, n_labels: int = 2) -> tuple[Runner, Runner]:
    X, y = _data(n_labels)
    order = np.arange(N_ROWS)
    return kernel_pass(rule, X, y, order, n_labels), roofline_pass(X, order, look_ahead=False)


def _margins() -> tuple[Runner, Runner]:
    X, _ = _data()
    rows = as_rows(X, np.dtype(np.float32))
    learner = Learner(rules.AROW(), Training(), np.array([0, 1]), X.shape[1])
    return lambda: timed(lambda: learner.margins(rows)), roofline_pass(X, np.arange(N_ROWS), look_ahead=False)


def _parser(form: str) -> tuple[Runner, Runner]:
    """Text that stays in the cache, too."""
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
        np.empty(size // 2 + 2),
        np.empty(0, np.int64),
    )

    def parse() -> None:
        status, n_rows, *_ = parse_rows(*arrays, text, PADDING, stop, 0, True, 0, False, 0)
        assert (status, n_rows) == (DONE, X.shape[0])

    return lambda: timed(parse), lambda: timed(lambda: roofline().count_lines(text[PADDING:stop]))


def _startup() -> tuple[Runner, Runner]:
    def train() -> float:
        with tempfile.TemporaryDirectory() as folder:
            text, model = Path(folder, "ten.svm"), Path(folder, "model.npz")
            text.write_text("+1 1:1 2:0.5\n-1 2:1 3:1\n" * 5)
            words = ("-m", "cwlearn", "train", text, "-m", model, "--epochs", "1", "--quiet")
            return run(sys.executable, *words).seconds

    return train, lambda: run(sys.executable, "-c", "import numpy").seconds


def _full(d: int, n: int) -> tuple[Runner, Runner]:
    """Both in one thread, since two that wait for each other on a busy machine measure only that."""

    def alone(runner: Runner) -> Runner:
        def run() -> float:
            with threadpool_limits(1):
                return runner()

        return run

    return alone(passes(rows_of(d, n, 1), d)), alone(lambda: blas_seconds(d, n))


WATCHED: dict[str, Callable[[], tuple[Runner, Runner]]] = {
    "AROW, against gathering and writing back": lambda: _kernel(rules.AROW()),
    "CW, against gathering and writing back": lambda: _kernel(rules.CW()),
    "CW exact, against gathering and writing back": lambda: _kernel(rules.CW(projection="exact")),
    "CW with 20 labels, against gathering and writing back": lambda: _kernel(rules.CW(), 20),
    "margins, against gathering and writing back": _margins,
    "full covariance of 1,000 features, against two BLAS calls": lambda: _full(1000, 30),
    "parsing decimals, against counting lines": lambda: _parser(".6f"),
    "parsing counts, against counting lines": lambda: _parser(".0f"),
    "training on ten lines, against import numpy": _startup,
}


@dataclass
class Verdict:
    name: str
    baseline: float
    ratios: list[float]  # of each measurement

    @property
    def passed(self) -> bool:
        return max(self.ratios) >= ALLOWED * self.baseline

    def __str__(self) -> str:
        found = ", ".join(f"{ratio:.3g}" for ratio in self.ratios)
        share = max(self.ratios) / self.baseline
        return f"{self.name}: measured {found}, at best {share:.0%} of the baseline {self.baseline:.3g}"


def ratio(pair: tuple[Runner, Runner], repeat: int) -> float:
    """How fast ours is, if the yardstick is 1."""
    ours, yardstick = pair
    times = contest({"ours": ours, "yardstick": yardstick}, repeat)
    return times["yardstick"].best / times["ours"].best


def judge(name: str, measure: Callable[[], float], baseline: float) -> Verdict:
    verdict = Verdict(name, baseline, [measure()])
    while not verdict.passed and len(verdict.ratios) <= AGAIN:
        verdict.ratios.append(measure())
    return verdict


def judge_all(baseline: Mapping[str, float], names: Sequence[str], repeat: int) -> list[Verdict]:
    return [judge(name, _measure(name, repeat), baseline[name]) for name in names]


def _measure(name: str, repeat: int) -> Callable[[], float]:
    pair = WATCHED[name]()
    ratio(pair, 2)  # whatever is slow only the first time
    return lambda: ratio(pair, repeat)


def kind_of_machine() -> dict[str, str]:
    """What decides which loops run, ours and those of the C library."""
    return {"machine": platform.machine(), "system": platform.system(), "loops": parse_rows.__module__}


def main(words: Sequence[str]) -> None:
    flags = parser("gate", __doc__, repeat=20)
    flags.add_argument("--update", action="store_true", help="write the baseline")
    options = flags.parse_args(words)
    if options.update:
        found = {name: max(starmap(_measure(name, options.repeat), [()] * AGAIN)) for name in WATCHED}
        rounded = {name: float(f"{value:.3g}") for name, value in found.items()}
        BASELINE.write_text(json.dumps({"kind": kind_of_machine(), "ratios": rounded}, indent=1) + "\n")
    baseline = json.loads(BASELINE.read_text())
    ratios = baseline["ratios"]
    if {*ratios} != {*WATCHED}:
        sys.exit(f"{BASELINE.name} is not about what is watched: {sorted({*ratios} ^ {*WATCHED})}; see --update")
    report = Report("gate", options.json)
    verdicts = judge_all(ratios, list(WATCHED), options.repeat)
    rows = [
        (v.name, f"{v.baseline:.3g}", f"{max(v.ratios):.3g}", f"{max(v.ratios) / v.baseline:.0%}", str(len(v.ratios)))
        for v in verdicts
    ]
    report.table(("ratio", "baseline", "measured", "of it", "measurements"), rows)
    report.close()
    failed = [str(verdict) for verdict in verdicts if not verdict.passed]
    if failed and baseline["kind"] != kind_of_machine():
        report.say(f"The baseline is that of another kind of machine: {baseline['kind']}. So this says nothing:")
        report.say("\n".join(failed))
    elif failed:
        sys.exit("slower than it was:\n" + "\n".join(failed))
