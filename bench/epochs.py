"""`epochs="auto"` of each class against its usual number of epochs and against ten: error and time.

    python -m bench epochs [--sets NAME,...] [--markdown FILE]

The data sets and wrong labels are those of `bench noise`.  Times are CPU seconds of `fit`, as multiples of ten epochs
of the same class, each the best of two.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from tqdm import tqdm

from bench.choosing import noisy
from bench.imbalance import OURS
from bench.noise import NOISES, SETS, Task, tasks
from bench.report import Report, suite_parser
from cwlearn.core.training import AUTO_EPOCHS

TEN = 10
MANY = 9000  # rows from which on the aim for the time holds
Found = tuple[float, float]  # error in percent and seconds


def measure(estimator: Any, task: Task, y: np.ndarray) -> Found:
    X, n_train = task.X, task.n_train
    seconds = []
    for _ in range(2):
        start = time.process_time()
        estimator.fit(X[:n_train], y)
        seconds.append(time.process_time() - start)
    return float(100 * np.mean(estimator.predict(X[n_train:]) != task.y[n_train:])), min(seconds)


def main(words: Sequence[str]) -> None:
    parser = suite_parser("epochs", __doc__)
    parser.add_argument("--sets", type=lambda text: text.split(","), default=list(SETS), help="default: thirteen")
    options = parser.parse_args(words)
    report = Report("epochs", options)
    found: dict[tuple[str, Any, float], list[Found]] = {}
    n_rows = []
    for _, task in tqdm(list(tasks(options.sets)), unit="set"):
        n_rows.append(task.n_train)
        for noise in NOISES:
            y = noisy(task.y[: task.n_train], noise)
            for model in OURS:
                of_epochs = {
                    epochs: measure(model(epochs=epochs, random_state=0), task, y)
                    for epochs in (AUTO_EPOCHS, model._rule.default_epochs, TEN)
                }
                for epochs, of_task in of_epochs.items():
                    found.setdefault((model._rule.name, epochs, noise), []).append(of_task)
    heads = [f"{100 * noise:g} %" for noise in NOISES]
    rows = []
    for model in OURS:
        name, usual = model._rule.name, model._rule.default_epochs
        errors = {
            epochs: [float(np.mean([error for error, _ in found[name, epochs, noise]])) for noise in NOISES]
            for epochs in (AUTO_EPOCHS, usual, TEN)
        }
        ratios = np.array([
            [own / ten for (_, own), (_, ten) in zip(found[name, AUTO_EPOCHS, z], found[name, TEN, z], strict=True)]
            for z in NOISES
        ])  # fmt: skip
        many = np.array(n_rows) >= MANY
        times = [f"{of_rows.mean():.2f}" if of_rows.size else "-" for of_rows in (ratios[:, ~many], ratios[:, many])]
        numbers = [f"{error:.2f}" for epochs in (AUTO_EPOCHS, usual, TEN) for error in errors[epochs]]
        rows.append([name, *numbers, str(usual), *times])
    of_tasks = f"over {len(n_rows)} data sets and scales"
    report.say(f"Mean error in percent {of_tasks}, and times of 'auto' in runs of {TEN} epochs")
    report.table(
        ["rule", *(f"auto, {head}" for head in heads), *(f"usual, {head}" for head in heads),
         *(f"{TEN}, {head}" for head in heads), "usual", f"time below {MANY} rows", "time above"],
        rows,
    )  # fmt: skip
    report.close()
