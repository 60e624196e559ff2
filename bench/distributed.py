"""Many models into one, as in JMLR 2012, section 7.10: how good merged models are, and how fast shards are learned.

    python -m bench distributed accuracy [--plot FILE]     one model, the average shard, l2, kl and posterior
    python -m bench distributed speed                      two workers against one, in threads and on Dask; memory

`accuracy` trains on 80 % of real data sets (see `bench.datasets`) and of a synthetic corpus of a million rows, in one
pass, cut into 10, 50 and 100 shards, and tests on the rest; four random divisions.  The parameter of each algorithm is
tuned for one model, within the training rows of another division, as the paper tunes.  `speed` trains on a text file of
200 MB; the candidates take turns, and the best of the rounds counts.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from bench.datasets import load, zipf
from bench.text_files import Files
from cwlearn import AROWClassifier, CWClassifier, merge

SHARDS = (10, 50, 100)
HOW = ("l2", "kl", "posterior")
ALGORITHMS: dict[str, tuple[Any, str, list[float]]] = {
    "CW variance": (CWClassifier(form="variance"), "confidence", [0.51, 0.55, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99]),
    "AROW": (AROWClassifier(), "regularization", [0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0]),
}
RUNS = 4
TUNING_SEED = 1000


def tuned(model: Any, parameter: str, values: list[float], X: Any, y: np.ndarray) -> Any:
    """With the value that is best for one model."""
    order = np.random.RandomState(TUNING_SEED).permutation(len(y))
    order = order[: len(y) * 4 // 5][:100_000]
    fit, check = order[: len(order) * 4 // 5], order[len(order) * 4 // 5 :]
    models = [clone(model).set_params(**{parameter: value}) for value in values]
    return max(models, key=lambda one: _fit(one, X, y, fit).score(X[check], y[check]))


def data_sets() -> Iterator[tuple[str, Any, np.ndarray]]:
    for name in ("a9a", "w8a", "mnist-3v5", "spamassassin", "reuters-acq-earn"):
        data = load(name)
        yield name, data.X, data.y
    X, y = zipf(1_000_000, 20, 200_000)
    yield "synthetic, 1M rows", X, (np.asarray(y) > 0).astype(int)


def accuracies(model: Any, X: Any, y: np.ndarray, seed: int) -> dict[str, float]:
    """By kind of model: accuracy on the rows that were held out."""
    order = np.random.RandomState(seed).permutation(len(y))
    train, test = order[: len(y) * 4 // 5], order[len(y) * 4 // 5 :]
    found = {"one model": _fit(model, X, y, train).score(X[test], y[test])}
    for count in SHARDS:
        models = [_fit(model, X, y, train[start::count]) for start in range(count)]
        found[f"{count} average"] = float(np.mean([one.score(X[test], y[test]) for one in models]))
        for how in HOW:
            found[f"{count} {how}"] = merge(models, how).score(X[test], y[test])
    return found


def _fit(model: Any, X: Any, y: np.ndarray, rows: np.ndarray) -> Any:
    return clone(model).partial_fit(X[rows], y[rows], classes=[0, 1])


def accuracy(plot: Path | None) -> None:
    columns = [f"{count} {how}" for count in SHARDS for how in ("average", *HOW)]
    results: dict[tuple[str, str], dict[str, float]] = {}
    print("| data | algorithm | one model | " + " | ".join(columns) + " |")
    print("|---|---|" + "---:|" * (len(columns) + 1))
    worse = lost = 0
    for name, X, y in data_sets():
        for algorithm, (untuned, parameter, values) in ALGORITHMS.items():
            model = tuned(untuned, parameter, values, X, y)
            runs = [accuracies(model, X, y, seed) for seed in range(RUNS)]
            mean = {key: 100 * float(np.mean([run[key] for run in runs])) for key in runs[0]}
            results[name, algorithm] = mean
            row = " | ".join(f"{mean[key]:.2f}" for key in ("one model", *columns))
            print(f"| {name} | {algorithm} {getattr(model, parameter):g} | {row} |", flush=True)
            for count in SHARDS:
                merged = {how: mean[f"{count} {how}"] for how in HOW}
                worse += min(merged.values()) <= mean[f"{count} average"]
                lost += max(merged["kl"], merged["posterior"]) < merged["l2"]
    cases = len(results) * len(SHARDS)
    print(
        f"\nOf {cases} cases: a merged model no better than the average shard in {worse}; both kl and posterior behind"
    )
    print(f"l2 in {lost}.")
    if plot is not None:
        draw(results, plot)


def draw(results: dict[tuple[str, str], dict[str, float]], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    colors = {"average": "#999999", "l2": "#c97b00", "kl": "#4e79a7", "posterior": "#1a7f37"}
    figure, axes = plt.subplots(2, len(results) // 2, figsize=(17, 7), constrained_layout=True, sharex=True)
    for axis, ((name, algorithm), mean) in zip(np.asarray(axes).T.ravel(), results.items(), strict=True):
        axis.axhline(mean["one model"], color="black", linewidth=1, linestyle="--")
        for how, color in colors.items():
            values = [mean[f"{count} {how}"] for count in SHARDS]
            axis.plot(range(len(SHARDS)), values, "o-", color=color, label=how, linewidth=1.6, markersize=4)
        axis.set_title(f"{name}, {algorithm}", fontsize=9, loc="left")
        axis.set_xticks(range(len(SHARDS)), [str(count) for count in SHARDS])
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(alpha=0.25)
    for axis in np.asarray(axes)[:, 0]:
        axis.set_ylabel("accuracy, %")
    for axis in np.asarray(axes)[-1]:
        axis.set_xlabel("shards")
    handles, labels = np.asarray(axes).ravel()[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=4, frameon=False, fontsize=9)
    figure.savefig(path, dpi=100)


# -- speed -------------------------------------------------------------------------------------------------------------


def speed(repeat: int) -> None:
    files = Files(1)
    path = files.path("decimals", max(1, round(200 / files.megabytes("decimals"))))
    print(f"{path.stat().st_size / 1e6:.0f} MB; seconds, best of {repeat}\n")
    print("| engine | shards | epochs | one worker | two workers | times as fast |")
    print("|---|---:|---:|---:|---:|---:|")
    best: dict[tuple[str, int, int, int], float] = {}
    engines = {"threads": _threads, "Dask processes": _dask}
    cases = [(name, parts, epochs) for name in engines for parts, epochs in ((2, 1), (8, 1), (8, 5))]
    for _ in range(repeat):
        for name, parts, epochs in cases:
            for workers in (1, 2):
                key = name, parts, epochs, workers
                best[key] = min(best.get(key, np.inf), engines[name](str(path), parts, epochs, workers))
    for case in cases:
        one, two = best[*case, 1], best[*case, 2]
        print(f"| {case[0]} | {case[1]} | {case[2]} | {one:.2f} | {two:.2f} | {one / two:.2f} |")
    memory()


def _threads(path: str, parts: int, epochs: int, workers: int) -> float:
    from cwlearn.core import rules
    from cwlearn.core.learner import Training
    from cwlearn.parallel.shards import Sharing, train_in_threads
    from cwlearn.parallel.tasks import Plan
    from cwlearn.text.resources import Resources
    from cwlearn.text.sources import Source

    plan = Plan(rules.AROW(), Training(epochs=epochs, shuffle=epochs > 1), "posterior", resources=Resources(threads=1))
    start = time.perf_counter()
    train_in_threads([(part, path) for part in Source(path).split(parts)], Sharing(workers=workers), plan, None)
    return time.perf_counter() - start


@contextmanager
def _cluster(workers: int) -> Iterator[Any]:
    """A client of a cluster on this machine, with a process for each worker."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


def _dask(path: str, parts: int, epochs: int, workers: int) -> float:
    """Without the time that a cluster takes to start."""
    from cwlearn import distributed

    with _cluster(workers) as client:
        shards = distributed.split(path, parts)
        distributed.fit(AROWClassifier(epochs=1, shuffle=False), shards, client)  # imports, on all workers
        start = time.perf_counter()
        distributed.fit(AROWClassifier(epochs=epochs, shuffle=epochs > 1), shards, client)
        return time.perf_counter() - start


CLIENT = """
import sys
from pathlib import Path
from cwlearn import AROWClassifier, distributed
from distributed import Client

def peak():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))

with Client(sys.argv[1]) as client:
    small = distributed.fit(AROWClassifier(epochs=1, shuffle=False), [sys.argv[2]] * 2, client, hash_bits=4)
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    before = peak()
    model = distributed.fit(AROWClassifier(epochs=1, shuffle=False), [sys.argv[2]] * 8, client, hash_bits=24)
    print(peak() - before, model._learner.state.cells.nbytes // 1024)
"""


def memory() -> None:
    """The client's peak for a model of 2^24 features, beyond what it takes for a tiny one."""
    with tempfile.TemporaryDirectory() as folder, _cluster(2) as client:
        data = Path(folder) / "data.svm"
        rng = np.random.default_rng(0)
        data.write_text("".join(f"{rng.integers(2)} {j}:1 {j + 7}:2\n" for j in rng.integers(1, 2**30, 2000).tolist()))
        words = [sys.executable, "-c", CLIENT, client.scheduler.address, str(data)]
        more, model = map(int, subprocess.check_output(words, text=True).split())
    print(
        f"\nclient: a model of {model / 1024:.0f} MiB raised its peak by {more / 1024:.0f} MiB, "
        f"{more / model:.2f} times as much"
    )


def main(words: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench distributed", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["accuracy", "speed"])
    parser.add_argument("--plot", type=Path, help="picture of the accuracies to write")
    parser.add_argument("--repeat", type=int, default=5, help="rounds of `speed` (default: 5)")
    arguments = parser.parse_args(words)
    accuracy(arguments.plot) if arguments.what == "accuracy" else speed(arguments.repeat)
