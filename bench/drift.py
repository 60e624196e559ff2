"""Streams that drift: what `forgetting` wins there, and what it costs where nothing drifts.

    python -m bench drift [--markdown FILE] [--plot FILE]

Every model makes one pass over a stream in its order, and is tested by each row before it learns it (progressive
error).  `forgetting` is a half-life in rows.  "restarts" sets all variances to the initial one every so many rows, and
keeps the means, which is the simplest form of ARCOR (Vaits, Crammer, ALT 2011).
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, vstack

from bench.datasets import data_folder, load, scaled, zipf
from bench.plots import pyplot
from bench.report import Report, suite_parser
from cwlearn import HashingVectorizer
from cwlearn.core import rules
from cwlearn.core.learner import Learner
from cwlearn.core.rows import as_rows
from cwlearn.core.training import Training

HALF_LIVES = (0, 100, 300, 1000, 3000, 10_000, 30_000)
RULES: dict[str, Callable[[float], rules.Rule]] = {
    "AROW": lambda half_life: rules.AROW(forgetting=half_life),
    "SCW": lambda half_life: rules.SCW(forgetting=half_life),
    "CW": lambda half_life: rules.CW(forgetting=half_life),
    "NHERD": lambda half_life: rules.NHERD(forgetting=half_life),
    "logistic": lambda half_life: rules.Logistic(forgetting=half_life),
    "probit": lambda half_life: rules.Probit(forgetting=half_life),
}
Stream = tuple[Any, np.ndarray]


def dense_stream(kind: str, n: int = 30_000, d: int = 30) -> Stream:
    """Gaussian rows whose separator stays, flips twice, or turns slowly; a tenth of the labels is wrong."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    first, second = np.linalg.qr(rng.standard_normal((d, 2)))[0].T
    time = np.arange(n) / n
    angle = {"still": 0 * time, "flips": np.pi * ((3 * time).astype(int) % 2), "turns": 2 * np.pi * time}[kind]
    scores = np.cos(angle) * (X @ first) + np.sin(angle) * (X @ second)
    y = (scores > 0) ^ (rng.random(n) < 0.1)
    return csr_matrix(X.astype(np.float32)), y.astype(np.int64)


def words_stream(turns: bool) -> Stream:
    """Sparse rows as uneven as words; every 10,000 rows the labels of all change, or never."""
    X, y = zipf(30_000, 40, 20_000)
    changed = (np.arange(len(y)) // 10_000) % 2 == 1
    return X, np.where(changed & turns, 1 - y, y)


def inboxes() -> Stream:
    """The mails of three users one after the other (ECML 2006): new words, and other ideas of what spam is."""
    parts = [load(name) for name in ("spam-u00", "spam-u01", "spam-u02")]
    width = max(part.X.shape[1] for part in parts)
    rows = [csr_matrix((part.X.data, part.X.indices, part.X.indptr), (part.X.shape[0], width)) for part in parts]
    return scaled(csr_matrix(vstack(rows)), "unit"), np.concatenate([part.y for part in parts])


def newswire() -> Stream:
    """Reuters-21578 in the order of its stories: is it about earnings?"""
    with lzma.open(data_folder() / "reuters21578" / "reuters21578.jsonl.xz", "rt") as file:
        stories = [json.loads(line) for line in file]
    stories = [story for story in stories if story["has_topics"] == "YES"]
    X = HashingVectorizer(n_features=1 << 18).transform(f"{story['title']} {story['body']}" for story in stories)
    return csr_matrix(X.astype(np.float32)), np.array([int("earn" in story["topics"]) for story in stories])


STREAMS: dict[str, Callable[[], Stream]] = {
    "separator turns once round": lambda: dense_stream("turns"),
    "separator flips twice": lambda: dense_stream("flips"),
    "words, labels flip twice": lambda: words_stream(True),
    "three inboxes": inboxes,
    "newswire of 1987": newswire,
    "separator stays": lambda: dense_stream("still"),
    "words, nothing changes": lambda: words_stream(False),
}


def progressive_error(rule: rules.Rule, X: Any, y: np.ndarray, restart: int = 0) -> float:
    """The error in percent on rows before they were learned from."""
    learner = Learner(rule, Training(), np.array([0, 1]), X.shape[1])
    rows, targets = as_rows(X, learner.state.dtype), learner.targets(y)
    step = restart or rows.n_rows
    for start in range(0, rows.n_rows, step):
        if start:
            learner.state.variance[:] = learner.state.prior_variance
        part = slice(start, min(start + step, rows.n_rows))
        learner.learn(rows.part(part.start, part.stop), targets[part])
    return 100 * learner.progressive_error()


def draw(curves: dict[str, dict[str, list[float]]], path: Path) -> None:
    plt = pyplot()
    figure, axes = plt.subplots(2, 4, figsize=(13, 6))
    axes.flat[-1].axis("off")
    for axis, (title, lines) in zip(axes.flat, curves.items(), strict=False):
        for name, errors in lines.items():
            points = axis.plot(HALF_LIVES[1:], errors[1:], marker=".", label=name)
            axis.axhline(errors[0], color=points[0].get_color(), linestyle=":")
        axis.set_xscale("log")
        axis.set_title(title, fontsize=10)
    axes[0, 0].set_ylabel("progressive error, %")
    axes[1, 0].set_xlabel("half-life in rows; dotted: without forgetting")
    axes[0, 0].legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=80)


def main(words: Sequence[str]) -> None:
    parser = suite_parser("drift", __doc__)
    parser.add_argument("--plot", type=Path, metavar="FILE", help="also draw the errors by half-life")
    options = parser.parse_args(words)
    report = Report("drift", options)
    report.say("Progressive error in percent, by the half-life in rows (0: nothing is forgotten).")
    curves: dict[str, dict[str, list[float]]] = {}
    for title, make in STREAMS.items():
        X, y = make()
        lines = {name: [progressive_error(make(h), X, y) for h in HALF_LIVES] for name, make in RULES.items()}
        curves[title] = lines
        restarts = [progressive_error(rules.AROW(), X, y, n) for n in HALF_LIVES]
        report.say(f"{title}: {X.shape[0]:,} rows, {X.nnz / X.shape[0]:.0f} features each")
        table = {**lines, "AROW, restarts": restarts}
        report.table(
            ["rule", *(f"{h:,}" for h in HALF_LIVES)],
            ([name, *(f"{error:.2f}" for error in errors)] for name, errors in table.items()),
        )
    if options.plot:
        draw(curves, options.plot)
    report.close()
