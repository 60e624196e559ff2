"""`cwlearn tune`."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable
from contextlib import closing
from dataclasses import fields
from typing import Any

from cwlearn.cli.common import add_output, usage_checked
from cwlearn.cli.data_sets import add_reading, read, reading_options, short_name
from cwlearn.cli.flags import checked, flag, written
from cwlearn.core.parameters import COUNT, SEED
from cwlearn.errors import UsageError
from cwlearn.evaluation.algorithms import CANDIDATES
from cwlearn.evaluation.candidates import Candidate, ParameterValue, RuleCandidate, Setting
from cwlearn.evaluation.trials import SettingResult
from cwlearn.evaluation.tuning import HELD_OUT, Tuning, progress_on, tune
from cwlearn.utils.messages import put, put_json
from cwlearn.utils.progress import ProgressBar

EXAMPLE = """\
  cwlearn tune spam.svm -a cw                                     try the usual values of its confidence
  cwlearn tune spam.svm -a arow --grid regularization=0.1,1,10    try these values"""


def add_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("data", metavar="DATA", help="rows or documents, as for `cwlearn train`; - is standard input")
    parser.add_argument(
        "-a",
        "--algorithm",
        choices=CANDIDATES,
        default="arow",
        metavar="NAME",
        help=f"one of {', '.join(CANDIDATES)} (default: arow)",
    )
    parser.add_argument(
        "--grid",
        action="append",
        default=[],
        metavar="NAME=V1,V2,...",
        help="values of a parameter to try; repeat it for other parameters (default: those that `compare` tries)",
    )
    parser.add_argument(
        "--epochs", type=checked(COUNT), default=10, metavar="N", help="largest number of epochs to try (default: 10)"
    )
    parser.add_argument(
        "--held-out",
        type=checked(HELD_OUT),
        default=0.1,
        metavar="X",
        help="part of the rows to validate on (default: 0.1)",
    )
    parser.add_argument(
        "--seed", type=checked(SEED), default=0, metavar="N", help="seed of split and runs (default: 0)"
    )
    add_output(parser)
    add_reading(parser)


def run(arguments: argparse.Namespace) -> None:
    candidate = CANDIDATES[arguments.algorithm]
    grid = _grid(arguments.grid, candidate)
    X, y = read(arguments.data, arguments)
    bar = ProgressBar(arguments.quiet or arguments.json)

    with usage_checked(), closing(bar):
        tuning = tune(
            X,
            y,
            candidate,
            grid=grid,
            epochs=arguments.epochs,
            held_out=arguments.held_out,
            seed=arguments.seed,
            name=short_name(arguments.data),
            report=progress_on(bar),
        )
    if arguments.json:
        put_json(_summary(tuning))
    elif not arguments.quiet:
        _show(tuning)
        if isinstance(tuning.candidate, RuleCandidate):
            put()
            put(f"  {_train_command(tuning.candidate, tuning.parameters, arguments)}")


def _summary(tuning: Tuning) -> dict[str, Any]:
    """All figures, as plain numbers for JSON."""
    return {
        "algorithm": tuning.candidate.name,
        "rows": tuning.n_train_rows,
        "held_out": tuning.n_held_out_rows,
        "setting": tuning.best.setting,
        "epochs": tuning.best.epochs,
        "error": tuning.best.error,
        "parameters": tuning.parameters,
        "tried": [{"setting": result.setting, "errors": result.errors} for result in tuning.tried],
    }


def _show(tuning: Tuning) -> None:
    """A line for each setting."""
    rows = f"{tuning.n_train_rows:,} rows to learn from, {tuning.n_held_out_rows:,} to validate on"
    put(f"{tuning.candidate.title}: {rows}")
    settings = [_setting_text(result.setting) for result in tuning.tried]
    width = max(map(len, settings))
    for setting, result in zip(settings, tuning.tried, strict=True):
        epochs = _epochs_text(result) if tuning.candidate.online else ""
        mark = "  <- best" if result is tuning.best else ""
        put(f"  {setting:{width}}  {100 * result.error:6.2f} %{epochs}{mark}")


def _setting_text(setting: Setting) -> str:
    return ", ".join(f"{name} {written(value, name)}" for name, value in setting.items()) or "(nothing to choose)"


def _epochs_text(result: SettingResult) -> str:
    return f" after {result.epochs:2} {'epoch ' if result.epochs == 1 else 'epochs'}"


def _train_command(candidate: RuleCandidate, parameters: dict[str, Any], arguments: argparse.Namespace) -> str:
    """The command that trains with these parameters."""
    options = {**parameters, **reading_options(arguments)}
    flags = [
        flag(name if value else f"no_{name}") if isinstance(value, bool) else f"{flag(name)} {_quoted(value, name)}"
        for name, value in options.items()
    ]
    return f"cwlearn train {shlex.quote(arguments.data)} -m MODEL -a {candidate.rule.name} {' '.join(flags)}"


def _quoted(value: Any, name: str) -> str:
    """The value of a flag for a shell."""
    return shlex.quote(written(value, name))


def _grid(texts: list[str], candidate: Candidate) -> dict[str, list[ParameterValue]] | None:
    """The values to try for each parameter; None if the grid of the candidate is to be used."""
    grid: dict[str, list[ParameterValue]] = {}
    for text in texts:
        name, _, values = text.partition("=")
        name = name.strip().replace("-", "_")
        if not name or not values:
            raise UsageError(f"--grid must be NAME=V1,V2,..., got {text!r}")
        if name in grid:
            raise UsageError(f"--grid {name} is given twice")
        read_value = _reader(candidate, name)
        try:
            grid[name] = [read_value(value.strip()) for value in values.split(",")]
        except argparse.ArgumentTypeError as error:
            raise UsageError(f"--grid {name} {error}") from None
    return grid or None


def _reader(candidate: Candidate, name: str) -> Callable[[str], ParameterValue]:
    """Reads the values of a parameter: of a rule, as the flag of `train` does."""
    if not isinstance(candidate, RuleCandidate):
        return _guess_value
    checks = {item.name: item.metadata["check"] for item in fields(candidate.rule) if item.name not in candidate.fixed}
    if name not in checks:
        raise UsageError(f"--grid: {candidate.name} has no parameter {name} to tune; it has {', '.join(checks)}")
    return checked(checks[name])


def _guess_value(text: str) -> ParameterValue:
    """A value of an estimator of scikit-learn, whose type is not known."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return {"none": None, "true": True, "false": False}.get(text.lower(), text)
