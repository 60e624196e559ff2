"""Merging models, as in JMLR 2012, section 7.10: how good merged models are, and how fast training on shards is.

    python -m bench distributed accuracy [--plot FILE]     one model, the average shard, l2, kl and posterior
    python -m bench distributed speed                      two workers against one, in threads and on Dask; memory

`accuracy` trains on 80 % of real data sets (see `bench.datasets`) and of a synthetic corpus of a million rows, in one
pass, divided into 10, 50 and 100 shards, and tests on the rest; four random divisions.  As in the paper, the parameter
of each algorithm is tuned for one model, within the training rows of another division.  `speed` trains on a text file
of 200 MB; the candidates take turns, and the best round counts.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from bench.datasets import load, zipf
from bench.plots import pyplot
from bench.report import Report, suite_parser, writable_file
from bench.text_files import Files
from bench.timing import time_in_turns, timed
from cwlearn import AROWClassifier, CWClassifier, distributed, merge
from cwlearn.core import rules
from cwlearn.core.training import Training
from cwlearn.parallel.shards import Sharing
from cwlearn.parallel.tasks import Plan, Shard
from cwlearn.parallel.threads import train_in_threads
from cwlearn.text.sources import Source

SHARDS = (10, 50, 100)
HOW = ("l2", "kl", "posterior")
ALGORITHMS: dict[str, tuple[Any, str, list[float]]] = {
    "CW variance": (CWClassifier(form="variance"), "confidence", [0.51, 0.55, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99]),
    "AROW": (AROWClassifier(), "regularization", [0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0]),
}
RUNS = 4
TUNING_SEED = 1000


def tuned(model: Any, parameter: str, values: list[float], X: Any, y: np.ndarray) -> Any:
    """The model with the value that is best if all rows train one model."""
    order = np.random.RandomState(TUNING_SEED).permutation(len(y))
    order = order[: len(y) * 4 // 5][:100_000]
    fit, check = order[: len(order) * 4 // 5], order[len(order) * 4 // 5 :]
    models = [clone(model).set_params(**{parameter: value}) for value in values]
    return max(models, key=lambda candidate: _fit(candidate, X, y, fit).score(X[check], y[check]))


def data_sets() -> Iterator[tuple[str, Any, np.ndarray]]:
    for name in ("a9a", "w8a", "mnist-3v5", "spamassassin", "reuters-acq-earn"):
        data = load(name)
        yield name, data.X, data.y
    X, y = zipf(1_000_000, 20, 200_000)
    yield "synthetic, 1M rows", X, (np.asarray(y) > 0).astype(int)


def accuracies(model: Any, X: Any, y: np.ndarray, seed: int) -> dict[str, float]:
    """By kind of model: the accuracy on held-out rows."""
    order = np.random.RandomState(seed).permutation(len(y))
    train, test = order[: len(y) * 4 // 5], order[len(y) * 4 // 5 :]
    result = {"one model": _fit(model, X, y, train).score(X[test], y[test])}
    for count in SHARDS:
        models = [_fit(model, X, y, train[start::count]) for start in range(count)]
        result[f"{count} average"] = float(np.mean([part.score(X[test], y[test]) for part in models]))
        for how in HOW:
            result[f"{count} {how}"] = merge(models, how).score(X[test], y[test])
    return result


def _fit(model: Any, X: Any, y: np.ndarray, rows: np.ndarray) -> Any:
    return clone(model).partial_fit(X[rows], y[rows], classes=[0, 1])


def accuracy(report: Report, plot: Path | None) -> None:
    columns = ["one model", *(f"{count} {how}" for count in SHARDS for how in ("average", *HOW))]
    results: dict[tuple[str, str], dict[str, float]] = {}
    rows = []
    not_better = behind_l2 = 0
    for name, X, y in data_sets():
        for algorithm, (untuned, parameter, values) in ALGORITHMS.items():
            model = tuned(untuned, parameter, values, X, y)
            runs = [accuracies(model, X, y, seed) for seed in range(RUNS)]
            mean = {key: 100 * float(np.mean([run[key] for run in runs])) for key in runs[0]}
            results[name, algorithm] = mean
            title = f"{name}, {algorithm} {getattr(model, parameter):g}"
            rows.append([title, *(f"{mean[key]:.2f}" for key in columns)])
            for count in SHARDS:
                merged = {how: mean[f"{count} {how}"] for how in HOW}
                not_better += min(merged.values()) <= mean[f"{count} average"]
                behind_l2 += max(merged["kl"], merged["posterior"]) < merged["l2"]
    report.table(["data, algorithm", *columns], rows)
    report.say(
        f"Of {len(results) * len(SHARDS)} cases: a merged model is no better than the average shard in {not_better}; "
        f"both kl and posterior are behind l2 in {behind_l2}."
    )
    if plot is not None:
        draw(results, plot)


def draw(results: dict[tuple[str, str], dict[str, float]], path: Path) -> None:
    plt = pyplot()
    colors = {"average": "#999999", "l2": "#c97b00", "kl": "#4e79a7", "posterior": "#1a7f37"}
    figure, axes = plt.subplots(
        2, len(results) // 2, figsize=(17, 7), constrained_layout=True, sharex=True, squeeze=False
    )
    for axis, ((name, algorithm), mean) in zip(axes.T.ravel(), results.items(), strict=True):
        axis.axhline(mean["one model"], color="black", linewidth=1, linestyle="--")
        for how, color in colors.items():
            values = [mean[f"{count} {how}"] for count in SHARDS]
            axis.plot(range(len(SHARDS)), values, "o-", color=color, label=how, linewidth=1.6, markersize=4)
        axis.set_title(f"{name}, {algorithm}", fontsize=9, loc="left")
        axis.set_xticks(range(len(SHARDS)), [str(count) for count in SHARDS])
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(alpha=0.25)
    for axis in axes[:, 0]:
        axis.set_ylabel("accuracy, %")
    for axis in axes[-1]:
        axis.set_xlabel("shards")
    handles, labels = axes.ravel()[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=4, frameon=False, fontsize=9)
    figure.savefig(path, dpi=100)


# -- speed -------------------------------------------------------------------------------------------------------------


def speed(report: Report, repeat: int) -> None:
    files = Files(1)
    path = files.path("decimals", max(1, round(200 / files.megabytes("decimals"))))
    report.say(f"{path.stat().st_size / 1e6:.0f} MB; seconds, best of {repeat}")
    engines = {"threads": _seconds_in_threads, "Dask processes": _seconds_on_dask}
    cases = [(name, shards, epochs) for name in engines for shards, epochs in ((2, 1), (8, 1), (8, 5))]
    runs = {
        f"{name}, {shards} shards, {epochs} epochs, {workers} workers": partial(
            engines[name], str(path), shards, epochs, workers
        )
        for name, shards, epochs in cases
        for workers in (1, 2)
    }
    times = time_in_turns(runs, repeat)
    best = [of.best for of in times.values()]
    rows = [
        [name, str(shards), str(epochs), f"{one:.2f}", f"{two:.2f}", f"{one / two:.2f}"]
        for (name, shards, epochs), one, two in zip(cases, best[::2], best[1::2], strict=True)
    ]
    report.table(["engine", "shards", "epochs", "one worker", "two workers", "times as fast"], rows)
    report.add_json("seconds", {name: list(of.seconds) for name, of in times.items()})
    report_client_memory(report)


def _seconds_in_threads(path: str, shards: int, epochs: int, workers: int) -> float:
    plan = Plan(rules.AROW(), Training(epochs=epochs, shuffle=epochs > 1), "posterior")
    parts = [Shard(part, part.full_name) for part in Source(path).split(shards)]
    return timed(lambda: train_in_threads(parts, plan, Sharing(workers=workers)))


@contextmanager
def _cluster(workers: int) -> Iterator[Any]:
    """A client of a cluster on this machine, with a process for each worker."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


def _seconds_on_dask(path: str, shards: int, epochs: int, workers: int) -> float:
    """Without the start of the cluster."""
    with _cluster(workers) as client:
        parts = distributed.split(path, shards)
        distributed.fit(AROWClassifier(epochs=1, shuffle=False), parts, client)  # imports on all workers
        model = AROWClassifier(epochs=epochs, shuffle=epochs > 1)
        return timed(lambda: distributed.fit(model, parts, client))


CLIENT = """
import sys
from pathlib import Path
from cwlearn import AROWClassifier, distributed
from distributed import Client

def peak():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))

with Client(sys.argv[1]) as client:
    small = distributed.fit(AROWClassifier(epochs=1, shuffle=False), [sys.argv[2]] * 2, client, hash_bits=4)
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    before = peak()
    model = distributed.fit(AROWClassifier(epochs=1, shuffle=False), [sys.argv[2]] * 8, client, hash_bits=24)
    print(peak() - before, model._learner.state.cells.nbytes // 1024)
"""


def report_client_memory(report: Report) -> None:
    """The peak memory of the client for a model of 2^24 features, beyond that for a tiny model."""
    with tempfile.TemporaryDirectory() as folder, _cluster(2) as client:
        data = Path(folder) / "data.svm"
        rng = np.random.default_rng(0)
        data.write_text("".join(f"{rng.integers(2)} {j}:1 {j + 7}:2\n" for j in rng.integers(1, 2**30, 2000).tolist()))
        words = [sys.executable, "-c", CLIENT, client.scheduler.address, str(data)]
        added, model = map(int, subprocess.check_output(words, text=True).split())
    report.say(
        f"Client: a model of {model / 1024:.0f} MiB raised the peak memory by {added / 1024:.0f} MiB, "
        f"{added / model:.2f} times as much."
    )


def main(words: Sequence[str]) -> None:
    parser = suite_parser("distributed", __doc__, repeat=5)
    parser.add_argument("part", choices=["accuracy", "speed"])
    parser.add_argument("--plot", type=writable_file, metavar="FILE", help="also draw the accuracies to a file")
    options = parser.parse_args(words)
    report = Report("distributed", options)
    if options.part == "accuracy":
        accuracy(report, options.plot)
    else:
        speed(report, options.repeat)
    report.close()
