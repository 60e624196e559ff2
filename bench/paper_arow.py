"""AROW, NIPS 2009: label noise."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from bench.datasets import DOMAIN_PAIRS, load, scaled
from bench.paper_jmlr import CHECKED, TASKS
from bench.paper_runs import Comparisons, bold_if
from bench.plots import pyplot
from bench.report import markdown_table
from cwlearn.evaluation.algorithms import CANDIDATES
from cwlearn.evaluation.significance import ranks

LEVELS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.3)
AROW = {"AROW": "arow", "CW": "cw-variance", "PA": "pa", "SOP": "sop"}
AROW_TABLE = {
    "AROW": (1.51, 1.44, 1.38, 1.42, 1.25, 1.25),
    "CW": (1.63, 1.87, 1.95, 2.08, 2.42, 2.76),
    "PA": (2.95, 2.83, 2.78, 2.61, 2.33, 2.08),
    "SOP": (3.91, 3.87, 3.89, 3.89, 4.00, 3.91),
}
ErrorsByNoise = dict[float, np.ndarray]  # a row for each data set, a column for each algorithm


def _text_sets() -> Iterator[tuple[str, tuple[Any, np.ndarray]]]:
    for task in TASKS[:10]:
        data = load(task.data)
        yield task.data, (scaled(data.X, task.scale)[:2000], data.y[:2000])
    for name in (*DOMAIN_PAIRS, "reuters-acq-earn", "reuters-money-fx-interest", "reuters-crude-ship"):
        data = load(name)
        yield name, (data.X[:2000], data.y[:2000])


def _digit_sets() -> Iterator[tuple[str, tuple[Any, np.ndarray]]]:
    for name in ("usps", "mnist"):
        data = load(name)
        for pair in combinations(range(10), 2):
            rows = np.flatnonzero(np.isin(data.y, pair))[:2000]
            yield f"{name} {pair[0]}/{pair[1]}", (data.X[rows], data.y[rows])


def arow(comparisons: Comparisons, out: Path) -> str:
    """The section about NIPS 2009."""
    candidates = [CANDIDATES[name] for name in AROW.values()]
    by_kind = {
        "text": comparisons.compare("arow text", dict(_text_sets()), candidates, noise=LEVELS),
        "digits": comparisons.compare("arow digits", dict(_digit_sets()), candidates, noise=LEVELS, folds=3),
    }
    tables = {kind: {level: comparison.errors(level) for level in LEVELS} for kind, comparison in by_kind.items()}
    names = [data_set.name for data_set in by_kind["text"].data_sets]
    checked = [names.index(task.data) for task in TASKS if task.name in CHECKED]
    tables["20 Newsgroups and sentiment alone"] = {level: tables["text"][level][checked] for level in LEVELS}
    tables["all"] = {level: np.vstack([tables[kind][level] for kind in by_kind]) for level in LEVELS}
    sections = [_rank_table(kind, errors) for kind, errors in reversed(tables.items())]
    _draw(tables, out / "papers-arow.png")
    return "\n\n".join(["## AROW, NIPS 2009: label noise", EXPLANATION, "### Table 1: mean rank", *sections, FIGURE_3])


def _rank_table(kind: str, errors: ErrorsByNoise) -> str:
    means = {level: np.mean([ranks(row) for row in errors[level]], axis=0) for level in LEVELS}
    rows = []
    for number, name in enumerate(AROW):
        cells = []
        for column, level in enumerate(LEVELS):
            text = bold_if(means[level][number] == min(means[level]), f"{means[level][number]:.2f}")
            cells.append(text + (f" ({AROW_TABLE[name][column]:.2f})" if kind == "all" else ""))
        rows.append([name, *cells])
    head = ["noise", *(f"{level:g}" for level in LEVELS)]
    return f"{kind}, {len(errors[0.0])} data sets:\n\n{markdown_table(head, rows)}"


EXPLANATION = """Training labels are flipped with the probability at the top of a column; test labels are true. Mean
rank of the four algorithms (1 is best); that of the paper, over its 100 data sets, in brackets. Text: the ten text sets
above, six pairs of Amazon domains, three pairs of Reuters-21578 topics (instead of the paper's RCV1), ten-fold. Digits:
all pairs of USPS and of MNIST, three-fold (the paper has the standard test sets). At most 2,000 rows each, and the
variance form of CW, as in the paper."""
FIGURE_3 = """### Figure 3: AROW against CW

Accuracy of AROW (vertical) and of CW (horizontal): above the line AROW is better. Text in the upper row, digits in the
lower row.

![Accuracy of AROW against CW at three levels of noise](papers-arow.png)"""


def _draw(tables: dict[str, ErrorsByNoise], path: Path) -> None:
    plt = pyplot()
    levels = (0.0, 0.1, 0.3)
    figure, axes = plt.subplots(2, len(levels), figsize=(10.5, 7), constrained_layout=True)
    for line, kind in enumerate(("text", "digits")):
        for axis, level in zip(axes[line], levels, strict=True):
            errors = tables[kind][level]
            arow_accuracy, cw_accuracy = 100 - 100 * errors[:, 0], 100 - 100 * errors[:, 1]
            low = min(arow_accuracy.min(), cw_accuracy.min()) - 1
            axis.plot([low, 100], [low, 100], color="black", linewidth=0.8)
            color = "#1a7f37" if kind == "text" else "#4e79a7"
            axis.scatter(cw_accuracy, arow_accuracy, s=18, alpha=0.7, color=color, linewidths=0)
            axis.set_title(f"{kind}, noise {level:g}", loc="left", fontsize=10)
            axis.set_aspect("equal")
            axis.spines[["top", "right"]].set_visible(False)
            axis.grid(alpha=0.25)
        axes[line][0].set_ylabel("AROW, %")
    for axis in axes[-1]:
        axis.set_xlabel("CW, %")
    figure.savefig(path, dpi=100)
    plt.close(figure)
