"""`cwlearn compare`."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from cwlearn.cli.common import add_output, check_paths, feature_names, usage_checked
from cwlearn.cli.data_sets import add_reading, read, short_name
from cwlearn.cli.flags import checked
from cwlearn.core.parameters import COUNT, SEED
from cwlearn.errors import UsageError, shown
from cwlearn.evaluation.algorithms import ALGORITHMS, DEFAULT_ALGORITHMS
from cwlearn.evaluation.comparing import FOLDS, NOISE, compare
from cwlearn.evaluation.comparison import Comparison
from cwlearn.evaluation.report_page import report
from cwlearn.evaluation.runner import TrialBar
from cwlearn.evaluation.significance import SIGNIFICANT
from cwlearn.utils.atomic_file import check_writable
from cwlearn.utils.messages import put, put_json, say
from cwlearn.utils.progress import ProgressBar

EXAMPLE = """\
  cwlearn compare spam.svm --report spam.html                      ten folds, all usual algorithms, and a page
  cwlearn compare a.svm b.svm --algorithms cw,arow,svm             two data sets, with mean ranks
  cwlearn compare a.svm --algorithms cw,arow,pa --noise 0,0.1,0.3  with some training labels wrong"""


def add_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "data", nargs="+", metavar="DATA", help="rows or documents, as for `cwlearn train`; each file is one data set"
    )
    on_request = sorted(set(ALGORITHMS) - set(DEFAULT_ALGORITHMS))
    parser.add_argument(
        "--algorithms",
        type=_algorithms,
        default=list(DEFAULT_ALGORITHMS),
        metavar="A,B,...",
        help=f"some of {', '.join(ALGORITHMS)} (default: all but {', '.join(on_request)})",
    )
    parser.add_argument("--folds", type=checked(FOLDS), default=10, metavar="N", help="number of folds (default: 10)")
    parser.add_argument(
        "--noise",
        type=_noises,
        default=[0.0],
        metavar="X,Y,...",
        help="part of the training labels to make wrong (default: 0)",
    )
    parser.add_argument(
        "--epochs", type=checked(COUNT), default=10, metavar="N", help="largest number of epochs to try (default: 10)"
    )
    parser.add_argument(
        "--tuned-once", action="store_true", help="tune in the first fold for all: faster, a little too favourable"
    )
    parser.add_argument("--report", metavar="FILE.html", help="page to write: table, curves, reliability, weights")
    parser.add_argument(
        "--names", metavar="FILE", help="names of the features, one in each line, the first for index 1; for the report"
    )
    parser.add_argument(
        "--journal",
        metavar="FILE",
        help="file to keep finished trials in; the same command goes on from it (default: FILE.html.journal, which is "
        "deleted at the end)",
    )
    parser.add_argument("--workers", type=checked(COUNT), metavar="N", help="trials at a time (default: cores)")
    parser.add_argument(
        "--seed", type=checked(SEED), default=0, metavar="N", help="seed of folds and runs (default: 0)"
    )
    add_output(parser)
    add_reading(parser)


def _algorithms(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in ALGORITHMS:
            raise argparse.ArgumentTypeError(f"{name!r} is not one of {', '.join(ALGORITHMS)}")
    _check_different(names, text)
    return names


def _noises(text: str) -> list[float]:
    noises = [checked(NOISE)(part.strip()) for part in text.split(",")]
    _check_different(noises, text)
    return noises


def _check_different(values: Sequence[object], text: str) -> None:
    if len(set(values)) < len(values):
        raise argparse.ArgumentTypeError(f"must be different ones, got {text!r}")


def run(arguments: argparse.Namespace) -> None:
    journal = arguments.journal or (f"{arguments.report}.journal" if arguments.report else None)
    _check_files(arguments, journal)
    names = _data_set_names(arguments.data)
    start = time.perf_counter()
    data = {name: read(path, arguments) for name, path in zip(names, arguments.data, strict=True)}
    comparison = _compare(data, arguments, journal)
    if arguments.report is not None:
        report(comparison, arguments.report)
        if arguments.journal is None and journal is not None:
            with suppress(FileNotFoundError):
                os.unlink(journal)
    if arguments.json:
        put_json({**summary(comparison), "seconds": time.perf_counter() - start})
    elif not arguments.quiet:
        for noise in comparison.noises:
            for line in table(comparison, noise):
                put(line)
        if arguments.report is not None:
            put()
            put(f"{arguments.report}: open it in a browser")


def _check_files(arguments: argparse.Namespace, journal: str | None) -> None:
    """Refuse files that would overwrite each other, or cannot be written, before the work begins."""
    check_paths(arguments.data, [arguments.report, journal], [arguments.names] if arguments.names else [])
    if arguments.report is not None and arguments.report == journal:
        raise UsageError(f"{shown(arguments.report)} cannot be both the report and the journal")
    if arguments.names is not None and arguments.report is None:
        raise UsageError("--names is for the report: add --report FILE.html")
    for path in (arguments.report, journal):
        if path is not None:
            check_writable(path)


def _data_set_names(paths: list[str]) -> list[str]:
    """Names of files without folder and ending or, if some are the same, whole paths."""
    for names in ([short_name(path) for path in paths], [shown(path) for path in paths]):
        if len(set(names)) == len(names):
            return names
    raise UsageError("a data set is given twice")


def _compare(data: dict[str, tuple[Any, Any]], arguments: argparse.Namespace, journal: str | None) -> Comparison:
    monitor = TrialBar(ProgressBar(arguments.quiet or arguments.json))
    try:
        with usage_checked():
            return compare(
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
        monitor.bar.end()  # or the message would stand on its line
        advice = f"the same command goes on from {shown(journal)}" if journal else "--journal FILE would have kept them"
        say(f"interrupted after {monitor.n_ended:,} of {monitor.n_trials:,} trials; {advice}")
        raise
    finally:
        monitor.bar.end()


def summary(comparison: Comparison) -> dict[str, Any]:
    """All figures, as plain numbers for JSON."""
    results = [
        _result(comparison, data_set.name, noise, candidate.name, float(mean_rank))
        for noise in comparison.noises
        for candidate, mean_rank in zip(comparison.candidates, comparison.mean_ranks(noise), strict=True)
        for data_set in comparison.data_sets
        if (data_set.name, candidate.name) not in comparison.excluded
    ]
    left_out = [
        {"data": data_set, "algorithm": candidate, "why": reason}
        for (data_set, candidate), reason in comparison.excluded.items()
    ]
    return {
        "folds": comparison.data_sets[0].n_folds,
        "seed": comparison.trial_settings.seed,
        "results": results,
        "left_out": left_out,
    }


def _result(comparison: Comparison, data_set: str, noise: float, name: str, mean_rank: float) -> dict[str, Any]:
    """The figures of a candidate on a data set."""
    outcomes = comparison.outcomes_of(data_set, noise, name)
    setting, epochs = comparison.usual_setting(data_set, noise, name)

    def against_others(p_value: Callable[[str, float, str, str], float]) -> dict[str, float]:
        others = [candidate.name for candidate in comparison.candidates if candidate.name != name]
        return {other: p for other in others if not np.isnan(p := p_value(data_set, noise, name, other))}

    return {
        "data": data_set,
        "noise": noise,
        "algorithm": name,
        "error": comparison.error(data_set, noise, name),
        "errors": [outcome.error for outcome in outcomes],
        "mean_rank": mean_rank,
        "calibration_error": _or_none(comparison.calibration_error(data_set, noise, name)),
        "calibration_error_before": _or_none(comparison.calibration_error(data_set, noise, name, calibrated=False)),
        "online_mistakes": [outcome.mistakes for outcome in outcomes],
        "setting": setting,
        "epochs": epochs,
        "training_seconds": float(np.mean([outcome.seconds for outcome in outcomes])),
        "p_values": against_others(comparison.p_value),
        "corrected_p_values": against_others(comparison.corrected_p_value),
    }


def _or_none(number: float) -> float | None:
    """JSON has no NaN."""
    return None if np.isnan(number) else number


def table(comparison: Comparison, noise: float) -> list[str]:
    """The ranking, as lines for a terminal."""
    several = len(comparison.data_sets) > 1
    mean_ranks, ranking = comparison.mean_ranks(noise), comparison.ranking(noise)
    best = comparison.candidates[ranking[0]].name
    names = [data_set.name for data_set in comparison.data_sets]
    rows = [["algorithm", *(["mean rank"] if several else []), *names, "calibration", "training"]]
    for index in ranking:
        candidate = comparison.candidates[index].name
        mean_rank = [f"{mean_ranks[index]:.2f}"] if several else []
        errors = [_error_cell(comparison, name, noise, candidate, best) for name in names]
        seconds = np.mean(
            [outcome.seconds for name in names for outcome in comparison.outcomes_of(name, noise, candidate)]
        )
        rows.append(
            [candidate, *mean_rank, *errors, _calibration_cell(comparison, noise, candidate), f"{seconds:.3f} s"]
        )
    heading = [f"{100 * noise:g} % of the training labels wrong:"] if noise or len(comparison.noises) > 1 else []
    legend = [
        f"test error in % of {comparison.data_sets[0].n_folds} folds (95 % interval)",
        f"= no clear difference from {best}: McNemar's test at {100 * SIGNIFICANT:g} %,",
        f"  Holm's correction for {comparison.n_tests:,} comparison{'' if comparison.n_tests == 1 else 's'}",
        "calibration: error of the probabilities (of the papers' own, uncalibrated)",
    ]
    left_out = [f"{name} left out of {data_set}: {why}" for (data_set, name), why in comparison.excluded.items()]
    return [*heading, *_aligned(rows), *legend, *left_out]


def _calibration_cell(comparison: Comparison, noise: float, candidate: str) -> str:
    """The mean calibration error over the data sets, and before calibration."""
    after, before = (
        [
            error
            for data_set in comparison.data_sets
            if not np.isnan(error := comparison.calibration_error(data_set.name, noise, candidate, calibrated))
        ]
        for calibrated in (True, False)
    )
    return (f"{np.mean(after):.3f}" if after else "-") + (f" ({np.mean(before):.3f})" if before else "")


def _error_cell(comparison: Comparison, data_set: str, noise: float, candidate: str, best: str) -> str:
    """The error in percent with its interval, in digits that mean something, and a mark if the best is not better."""
    error = comparison.error(data_set, noise, candidate)
    if np.isnan(error):
        return "-  "
    digits = comparison.decimals(data_set, noise)
    error_text, *ends = (
        f"{100 * part:.{digits}f}" for part in (error, *comparison.interval(data_set, noise, candidate))
    )
    level = candidate != best and comparison.corrected_p_value(data_set, noise, best, candidate) >= SIGNIFICANT
    return f"{error_text} ({'-'.join(ends)}) {'=' if level else ' '}"


def _aligned(rows: list[list[str]]) -> list[str]:
    """Rows as lines, with the first column to the left and the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows]
