"""The tables and reliability diagrams of `bench.calibration`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.plots import pyplot
from bench.report import Report

LARGE = 5000  # test rows


def _mean(results: Iterable[Any], number: Callable[[Any], float]) -> float:
    return float(np.mean([number(result) for result in results]))


def add_report(report: Report, results: Sequence[Any], sources: Sequence[str]) -> None:
    report.say(
        "# Calibration, measured\n\n`python -m bench calibration`\n\nLog loss and expected calibration error (ECE, 15 "
        "bins) on rows that were not learned. *Ours* is `predict_proba`; *uncalibrated* is the papers' distribution, "
        "`label_distribution`; *five folds* is scikit-learn's `CalibratedClassifierCV(cv=5)` around the same "
        "classifier, and for `auto` (`AutoClassifier`) around the class that won; *LR* is `LogisticRegression` with C "
        "chosen on a fifth of the rows. Means over all data sets (with 0 and 10 % wrong labels; as they are and with "
        "rows of length 1)."
    )
    regression = {_data(r): r for r in results if r.source == "tuned"}
    _add_aims(report, results, regression)
    for several, title in ((False, "two labels"), (True, "more than two labels")):
        some = [r for r in results if r.several == several]
        if some:
            _add_rules(report, title, some, regression)
    _add_sources(report, results, sources)
    _add_sets(report, results, regression)


def _data(r: Any) -> tuple[Any, ...]:
    return r.data, r.scale, r.wrong


def _key(r: Any) -> tuple[Any, ...]:
    return (*_data(r), r.rule, "1 pass" if r.mode == "stream" else r.mode)


def _pairs(results: Sequence[Any]) -> list[tuple[Any, Any]]:
    """Ours beside five folds; a stream beside the folds of one pass."""
    folds = {_key(r): r for r in results if r.source == "five folds"}
    return [(r, folds[_key(r)]) for r in results if r.source == "ours"]


def _add_aims(report: Report, results: Sequence[Any], regression: dict[tuple[Any, ...], Any]) -> None:
    """The aims, each with what was measured; once more without CW, whose last update may move all scores."""
    pairs = _pairs(results)
    plain, auto = ([pair for pair in pairs if (pair[0].rule == "auto") == is_auto] for is_auto in (False, True))
    _add_aims_of(report, "all classifiers", plain, regression)
    _add_aims_of(report, "all but CW", [pair for pair in plain if pair[0].rule != "CW"], regression)
    if auto:
        _add_aims_of(report, "AutoClassifier; five folds around the class that won", auto, regression)


def _add_aims_of(
    report: Report, who: str, pairs: Sequence[tuple[Any, Any]], regression: dict[tuple[Any, ...], Any]
) -> None:
    lines = []

    def add(aim: str, value: str, holds: bool) -> None:
        lines.append([aim, value, "yes" if holds else "**no**"])

    ours = [r for r, _ in pairs]
    more = _mean(pairs, lambda pair: pair[0].ece - pair[1].ece)
    add("ECE at most that of five folds + 0.005, on average", f"{more:+.4f}", more <= 0.005)
    for several, limit in ((False, 0.02), (True, 0.04)):
        large = [r for r in ours if r.several == several and r.test_rows >= LARGE]
        if large:
            worst, above = max(large, key=lambda r: r.ece), sum(r.ece >= limit for r in large)
            labels = "more labels" if several else "two labels"
            where = f"{worst.data}, {worst.scale}, {worst.wrong:.0%} wrong, {worst.rule}, {worst.mode}"
            text = f"{above} of {len(large)} above; worst {worst.ece:.4f} ({where})"
            add(f"ECE below {limit} with {LARGE:,} test rows or more, {labels}", text, not above)
    loss, tuned = _mean(ours, lambda r: r.log_loss), _mean(ours, lambda r: regression[_data(r)].log_loss)
    add("log loss at most that of tuned LR, on average", f"{loss:.4f} against {tuned:.4f}", loss <= tuned)
    folds = _mean(pairs, lambda pair: pair[1].log_loss)
    add("log loss within 3 % of five folds, on average", f"{loss / folds - 1:+.1%}", loss <= 1.03 * folds)
    batch = [pair for pair in pairs if pair[0].mode != "stream" and pair[0].rule != "auto"]  # whose time is a race
    if batch:
        times = sum(b.seconds for _, b in batch) / sum(a.seconds for a, _ in batch)
        add("a fifth of the time of five folds", f"1 / {times:.1f}", times >= 5)
    report.table([f"aim, {who}", "measured", "holds"], lines)


def _add_rules(report: Report, title: str, results: Sequence[Any], regression: dict[tuple[Any, ...], Any]) -> None:
    report.say(f"## By classifier, {title}")
    lines = []
    for rule, mode in dict.fromkeys((r.rule, r.mode) for r in results if r.source == "ours"):
        of = {
            source: [r for r in results if (r.rule, r.source) == (rule, source) and r.mode == wanted]
            for source, wanted in (
                ("ours", mode),
                ("uncalibrated", mode),
                ("five folds", mode.replace("stream", "1 pass")),
            )
        }
        for number, digits in (("log_loss", ".3f"), ("ece", ".4f"), ("error", ".2%")):
            cells = [_cell(some, number, digits) for some in of.values()]
            name = {"log_loss": "log loss", "ece": "ECE"}.get(number, number)
            lines.append(
                [f"{rule}, {mode}, {name}", *cells, _cell([regression[_data(r)] for r in of["ours"]], number, digits)]
            )
    report.table(["", "ours", "uncalibrated", "five folds", "LR"], lines)


def _cell(some: Sequence[Any], number: str, digits: str) -> str:
    return format(_mean(some, lambda r: getattr(r, number)), digits) if some else "-"


def _add_sources(report: Report, results: Sequence[Any], sources: Sequence[str]) -> None:
    report.say(
        "## Whose margins\n\nWith several epochs: margins of rows that the model has learned before, of a fifth of the "
        "rows that comes in with the last epoch, or with the last three. Means of log loss / ECE / error."
    )
    lines = []
    for rule, several in dict.fromkeys((r.rule, r.several) for r in results if r.source in sources):
        cells = []
        for source in sources:
            some = [r for r in results if (r.rule, r.several, r.source) == (rule, several, source)]
            cells.append(
                f"{_cell(some, 'log_loss', '.3f')} / {_cell(some, 'ece', '.4f')} / {_cell(some, 'error', '.2%')}"
            )
        lines.append([f"{rule}, {'more' if several else 'two'} labels", *cells])
    report.table(["", *sources], lines)


def _add_sets(report: Report, results: Sequence[Any], regression: dict[tuple[Any, ...], Any]) -> None:
    report.say("## By data set\n\nMeans over classifiers and modes: log loss (ECE).")
    lines = []
    for data, r in regression.items():
        some = [pair for pair in _pairs(results) if _data(pair[0]) == data]
        a, b = ([pair[i] for pair in some] for i in (0, 1))
        cells = [f"{_cell(of, 'log_loss', '.3f')} ({_cell(of, 'ece', '.4f')})" for of in (a, b, [r])]
        lines.append([f"{data[0]}, {data[1]}, {data[2]:.0%} wrong", f"{r.test_rows:,}", *cells])
    report.table(["data", "test rows", "ours", "five folds", "LR"], lines)


def add_plots(results: Sequence[Any], folder: str) -> None:
    """A page for one pass and one for the default epochs: a panel for each data set, a line for each classifier."""
    plt = pyplot()
    for mode, name in (("1 pass", "one-pass"), ("stream", "stream"), ("default epochs", "epochs")):
        some = [r for r in results if r.mode == mode and r.source in ("ours", "uncalibrated")]
        panels = list(dict.fromkeys((r.data, r.wrong) for r in some))
        columns = 6
        figure, axes = plt.subplots(-(-len(panels) // columns), columns, figsize=(15, 2.5 * -(-len(panels) // columns)))
        for axis in np.ravel(axes)[len(panels) :]:
            axis.set_axis_off()
        for axis, panel in zip(np.ravel(axes), panels, strict=False):
            _draw(axis, panel, [r for r in some if (r.data, r.wrong) == panel])
        np.ravel(axes)[0].legend(fontsize=5)
        figure.suptitle(f"Reliability, {mode}: correct (up) by predicted probability; grey: uncalibrated AROW")
        figure.tight_layout()
        figure.savefig(Path(folder) / f"calibration-{name}.png", dpi=80)
        plt.close(figure)


def _draw(axis: Any, panel: tuple[str, float], results: Sequence[Any]) -> None:
    axis.plot([0, 1], [0, 1], color="black", linewidth=0.5)
    for rule, source in dict.fromkeys((r.rule, r.source) for r in results):
        if source == "uncalibrated" and rule != "AROW":
            continue
        bins = np.sum([r.bins for r in results if (r.rule, r.source) == (rule, source)], axis=0)
        bins = bins[bins[:, 0] >= 20]
        style = {"color": "lightgrey"} if source == "uncalibrated" else {"label": rule}
        axis.plot(bins[:, 1] / bins[:, 0], bins[:, 2] / bins[:, 0], marker=".", markersize=3, linewidth=0.8, **style)
    axis.set_title(f"{panel[0]}, {panel[1]:.0%} wrong", fontsize=8)
    axis.tick_params(labelsize=6)
