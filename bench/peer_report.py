"""The output of `peers`: a table for each data set, a table of the cases in which peers are ahead, and a plot."""

from __future__ import annotations

import statistics
from math import inf
from pathlib import Path
from typing import Any

from bench.plots import pyplot
from bench.report import Report

PASSES = (1, 5)
Results = dict[str, dict[str, Any]]  # by peer; see `peers.measure`


def report_data(report: Report, name: str, facts: dict[str, int], results: Results) -> None:
    report.say(
        f"## {name}\n\n{facts['rows']:,} training rows, {facts['test']:,} test rows, {facts['features']:,} "
        f"features, {facts['nonzeros']:,} nonzeros."
    )
    best = {key: min(result[key] for result in results.values()) for key in ("error 1", "error 5")}
    rows = []
    for peer, result in results.items():
        seconds = [
            f"{min(s):.2f} ({statistics.median(s):.2f}, {(max(s) - min(s)) / statistics.median(s):.0%})"
            for s in (result["seconds 1"], result["seconds 5"])
        ]
        errors = [
            f"**{100 * result[key]:.2f}**" if result[key] == least else f"{100 * result[key]:.2f}"
            for key, least in best.items()
        ]
        rate = f"{facts['nonzeros'] / min(s) / 1e6:,.1f}" if (s := result["in memory"]) else "too short to tell"
        peak = f"{_value(result, 'peak') / 2**20:,.0f}"
        rows.append((peer, *seconds, rate, peak, *errors))
    head = (
        "", "one pass, s: best (median, spread)", "five passes, s", "M nonzeros/s in memory", "peak, MiB",
        "error after one, %", "after five, %",
    )  # fmt: skip
    report.table(head, rows)


def report_losses(report: Report, data_sets: dict[str, Results]) -> None:
    """A table of the cases in which cwlearn is not the best."""
    rows = []
    titles = {
        "seconds 1": "time of one pass",
        "seconds 5": "time of five",
        "in memory": "rate in memory",
        "peak": "memory",
        "error 1": "error after one pass",
        "error 5": "error after five",
    }
    for name, results in data_sets.items():
        for key, title in titles.items():
            values = {peer: _value(result, key) for peer, result in results.items()}
            ours = min((value, peer) for peer, value in values.items() if peer.startswith("cwlearn"))
            ahead = sorted((value, peer) for peer, value in values.items() if value < ours[0])
            if ahead:
                better = ", ".join(f"{peer} ({_with_unit(key, value)})" for value, peer in ahead)
                rows.append((name, title, f"{ours[1]} ({_with_unit(key, ours[0])})", better))
    report.say("## Where peers are ahead of the better one of cwlearn's algorithms")
    report.table(("data", "in", "cwlearn", "ahead"), rows)


def _value(result: dict[str, Any], key: str) -> float:
    if key == "peak":
        return float(max(result[f"peak {passes}"] for passes in PASSES))
    return float(min(result[key], default=inf)) if isinstance(result[key], list) else float(result[key])


def _with_unit(key: str, value: float) -> str:
    if key.startswith("error"):
        return f"{100 * value:.2f} %"
    return f"{value / 2**20:,.0f} MiB" if key.startswith("peak") else f"{value:.3g} s"


COLORS = ("#d1242f", "#bc4c00", "#4e79a7", "#1a7f37", "#b07aa1", "#8250df", "#777777", "#444444")


def plot(data_sets: dict[str, Results], path: Path) -> None:
    """Error against seconds from text: an open mark after one pass, a filled one after five."""
    plt = pyplot()
    from matplotlib.ticker import LogLocator, NullFormatter

    figure, axes = plt.subplots(1, len(data_sets), figsize=(4.2 * len(data_sets), 4.4), constrained_layout=True)
    for axis, (title, results) in zip(axes if len(data_sets) > 1 else [axes], data_sets.items(), strict=True):
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
