"""`cwlearn compare`."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from cwlearn.cli.common import add_output, check_paths, feature_names, usage_checked
from cwlearn.cli.data_sets import add_reading, read, short_name
from cwlearn.cli.flags import checked
from cwlearn.core.parameters import COUNT, SEED
from cwlearn.errors import UsageError, shown
from cwlearn.evaluation.candidates import CANDIDATES, USUAL
from cwlearn.evaluation.choosing import FOLDS, NOISE, compare, report
from cwlearn.evaluation.comparison import Comparison, TrialMonitor
from cwlearn.evaluation.significance import LEGEND, mark
from cwlearn.evaluation.trials import Outcome
from cwlearn.utils.atomic_file import check_writable
from cwlearn.utils.messages import put, put_json, say
from cwlearn.utils.progress import ProgressBar

EXAMPLE = """\
  cwlearn compare spam.svm --report spam.html                      all the usual ones, ten-fold, with a page to look at
  cwlearn compare a.svm b.svm --algorithms cw,arow,svm             on two data sets, with mean ranks
  cwlearn compare a.svm --algorithms cw,arow,pa --noise 0,0.1,0.3  with some training labels wrong"""


def add_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "data", nargs="+", metavar="DATA", help="svmlight text, plain or compressed; each file is a data set of its own"
    )
    parser.add_argument(
        "--algorithms",
        type=_algorithms,
        default=list(USUAL),
        metavar="A,B,...",
        help=f"of {', '.join(CANDIDATES)} (default: all but {', '.join(sorted(set(CANDIDATES) - set(USUAL)))})",
    )
    parser.add_argument("--folds", type=checked(FOLDS), default=10, metavar="N", help="default: 10")
    parser.add_argument(
        "--noise", type=_noises, default=[0.0], metavar="X,Y,...", help="part of the training labels to make wrong"
    )
    parser.add_argument("--epochs", type=checked(COUNT), default=10, metavar="N", help="at most (default: 10)")
    parser.add_argument(
        "--tuned-once", action="store_true", help="tune in the first fold for all: faster, a little too favourable"
    )
    parser.add_argument("--report", metavar="FILE.html", help="page to write: table, curves, reliability, weights")
    parser.add_argument("--names", metavar="FILE", help="names of the features, one a line, for the report")
    parser.add_argument(
        "--journal",
        metavar="FILE",
        help="keep what is done there; the same command goes on from it (default: FILE.html.journal until it is done)",
    )
    parser.add_argument("--workers", type=checked(COUNT), metavar="N", help="folds at a time (default: cores)")
    parser.add_argument("--seed", type=checked(SEED), default=0, metavar="N", help="default: 0")
    add_output(parser)
    add_reading(parser)


def _algorithms(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in CANDIDATES:
            raise argparse.ArgumentTypeError(f"{name!r} is not one of {', '.join(CANDIDATES)}")
    if len(set(names)) < len(names):
        raise argparse.ArgumentTypeError(f"must be different ones, got {text!r}")
    return names


def _noises(text: str) -> list[float]:
    found = [checked(NOISE)(part.strip()) for part in text.split(",")]
    if len(set(found)) < len(found):
        raise argparse.ArgumentTypeError(f"must be different ones, got {text!r}")
    return found


class _BarMonitor(TrialMonitor):
    """A bar that tells of data set, algorithm and fold."""

    def __init__(self, bar: ProgressBar) -> None:
        self._bar, self.trials, self.done = bar, 0, 0

    def starts(self, trials: int) -> None:
        self.trials = trials
        self._bar.begin("comparing", trials, " trials")

    def begins(self, what: str) -> None:
        self._bar.advance(0, now=what)

    def ends(self, outcome: Outcome) -> None:
        self.done += 1
        self._bar.advance(1)


def run(arguments: argparse.Namespace) -> None:
    journal = arguments.journal or (f"{arguments.report}.journal" if arguments.report else None)
    check_paths(arguments.data, [arguments.report, journal], [arguments.names] if arguments.names else [])
    if arguments.report is not None and arguments.report == journal:
        raise UsageError(f"{shown(journal)} cannot be both the report and the journal")
    if arguments.names is not None and arguments.report is None:
        raise UsageError("--names is for the page: add --report FILE.html")
    for path in (arguments.report, journal):
        if path is not None:
            check_writable(path)
    names = [short_name(path) for path in arguments.data]
    if len(set(names)) < len(names):
        names = [shown(path) for path in arguments.data]
    if len(set(names)) < len(names):
        raise UsageError("each data set is wanted once")
    start = time.perf_counter()
    data = {name: read(path, arguments) for name, path in zip(names, arguments.data, strict=True)}
    bar = ProgressBar(arguments.quiet or arguments.json)
    monitor = _BarMonitor(bar)
    try:
        with usage_checked():
            found = compare(
                data,
                algorithms=arguments.algorithms,
                folds=arguments.folds,
                noise=arguments.noise,
                epochs=arguments.epochs,
                seed=arguments.seed,
                workers=arguments.workers,
                journal=journal,
                tuned_once=arguments.tuned_once,
                feature_names=None if arguments.names is None else feature_names(arguments.names),
                monitor=monitor,
            )
    except KeyboardInterrupt:
        kept = f"the same command goes on from {shown(journal)}" if journal else "--journal FILE would have kept them"
        say(f"interrupted after {monitor.done:,} of {monitor.trials:,} trials; {kept}")
        raise
    finally:
        bar.end()
    if arguments.report is not None:
        report(found, arguments.report)
        if arguments.journal is None and journal is not None:
            with suppress(FileNotFoundError):
                os.unlink(journal)
    if arguments.json:
        put_json({**summary(found), "seconds": time.perf_counter() - start})
    elif not arguments.quiet:
        for noise in found.noises:
            for line in _table(found, noise):
                put(line)
        if arguments.report is not None:
            put()
            put(f"{arguments.report}: open it in a browser")


def summary(found: Comparison) -> dict[str, Any]:
    """All figures, as plain numbers."""
    results = []
    for noise in found.noises:
        mean_ranks = found.mean_ranks(noise)
        for j, one in enumerate(found.candidates):
            for data_set in found.data_sets:
                outcomes = found.of(data_set.name, noise, one.name)
                if not outcomes:
                    continue
                setting, epochs = found.setting(data_set.name, noise, one.name)
                results.append(
                    {
                        "data": data_set.name,
                        "noise": noise,
                        "algorithm": one.name,
                        "error": found.error(data_set.name, noise, one.name),
                        "errors": [outcome.error for outcome in outcomes],
                        "mean_rank": float(mean_ranks[j]),
                        "online_mistakes": [outcome.mistakes for outcome in outcomes],
                        "setting": setting,
                        "epochs": epochs,
                        "training_seconds": float(np.mean([outcome.seconds for outcome in outcomes])),
                        "p_values": _by_rival(found, found.p_value, data_set.name, noise, one.name),
                        "corrected_p_values": _by_rival(found, found.corrected_p_value, data_set.name, noise, one.name),
                    }
                )
    left_out = [{"data": data, "algorithm": name, "why": why} for (data, name), why in found.refusals.items()]
    return {
        "folds": found.data_sets[0].folds,
        "seed": found.trial_settings.seed,
        "results": results,
        "left_out": left_out,
    }


def _by_rival(
    found: Comparison, p_value: Callable[..., float], data_set: str, noise: float, name: str
) -> dict[str, float]:
    rivals = [one.name for one in found.candidates if one.name != name]
    return {rival: p for rival in rivals if not np.isnan(p := p_value(data_set, noise, name, rival))}


def _table(found: Comparison, noise: float) -> list[str]:
    """The ranking, for a terminal."""
    several = len(found.data_sets) > 1
    errors, mean_ranks = found.errors(noise), found.mean_ranks(noise)
    order = found.order(noise)
    best = found.candidates[order[0]].name
    rows = [
        ["algorithm", *(["mean rank"] if several else []), *(data_set.name for data_set in found.data_sets), "training"]
    ]
    for j in order:
        name = found.candidates[j].name
        cells = [name, *([f"{mean_ranks[j]:.2f}"] if several else [])]
        for i, data_set in enumerate(found.data_sets):
            stars = mark(found.corrected_p_value(data_set.name, noise, best, name))
            cells.append("-" if np.isnan(errors[i, j]) else f"{100 * errors[i, j]:.2f} %{stars:3}")
        seconds = np.mean([one.seconds for data_set in found.data_sets for one in found.of(data_set.name, noise, name)])
        rows.append([*cells, f"{seconds:.3f} s"])
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "  ".join(
            cell.ljust(width) if not column else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
    head = [f"{100 * noise:g} % of the training labels wrong:"] if noise or len(found.noises) > 1 else []
    out = [f"{name} left out of {data}: {why}" for (data, name), why in found.refusals.items()]
    stars = (
        f"test error of {found.data_sets[0].folds} folds; stars: differs from {best} by McNemar's test, corrected for "
        f"{found.tests:,} comparisons ({LEGEND})"
    )
    return [*head, *lines, stars, *out]
