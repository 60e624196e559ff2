"""`cwlearn tune`."""

from __future__ import annotations

import argparse
import shlex
from dataclasses import fields
from typing import Any

from cwlearn.cli.common import add_output, usage_checked
from cwlearn.cli.data_sets import add_reading, read, short_name
from cwlearn.cli.flags import checked, flag, given, written
from cwlearn.core.parameters import COUNT, SEED
from cwlearn.errors import UsageError
from cwlearn.evaluation.candidates import CANDIDATES, Candidate, OnlineCandidate
from cwlearn.evaluation.choosing import HELD_OUT, Tuning, tune
from cwlearn.text.reader import Reading
from cwlearn.utils.messages import put, put_json

EXAMPLE = """\
  cwlearn tune spam.svm -a cw                                     the usual values of its confidence
  cwlearn tune spam.svm -a arow --grid regularization=0.1,1,10    these"""


def add_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("data", metavar="DATA", help="svmlight text, plain or compressed; - is standard input")
    parser.add_argument("-a", "--algorithm", choices=CANDIDATES, default="arow", help="which one (default: arow)")
    parser.add_argument(
        "--grid",
        action="append",
        default=[],
        metavar="NAME=V1,V2,...",
        help="values of a parameter to try; may be given for several (default: the usual ones)",
    )
    parser.add_argument("--epochs", type=checked(COUNT), default=10, metavar="N", help="at most (default: 10)")
    parser.add_argument(
        "--held-out",
        type=checked(HELD_OUT),
        default=0.1,
        metavar="X",
        help="part of the rows to judge by (default: 0.1)",
    )
    parser.add_argument("--seed", type=checked(SEED), default=0, metavar="N", help="default: 0")
    add_output(parser)
    add_reading(parser)


def run(arguments: argparse.Namespace) -> None:
    candidate = CANDIDATES[arguments.algorithm]
    grid = _grid(arguments.grid, candidate)
    X, y = read(arguments.data, arguments)
    with usage_checked():
        found = tune(
            X,
            y,
            candidate,
            grid=grid,
            epochs=arguments.epochs,
            held_out=arguments.held_out,
            seed=arguments.seed,
            name=short_name(arguments.data),
        )
    if arguments.json:
        best = found.best
        tried = [{"setting": one.setting, "errors": one.errors} for one in found.tried]
        put_json(
            {
                "algorithm": candidate.name,
                "rows": found.rows,
                "held_out": found.checked,
                "setting": best.setting,
                "epochs": best.epochs,
                "error": best.error,
                "parameters": found.parameters,
                "tried": tried,
            }
        )
    elif not arguments.quiet:
        _show(arguments, found)


def _show(arguments: argparse.Namespace, found: Tuning) -> None:
    put(f"{found.candidate.title}: {found.rows:,} rows to learn from, {found.checked:,} to judge by")
    words = [_words(one.setting) or "(nothing to choose)" for one in found.tried]
    width = max(map(len, words))
    for text, one in zip(words, found.tried, strict=True):
        star = "  <- best" if one is found.best else ""
        epochs = f" after {one.epochs:2} {'epoch ' if one.epochs == 1 else 'epochs'}" if found.candidate.online else ""
        put(f"  {text:{width}}  {100 * one.error:6.2f} %{epochs}{star}")
    if isinstance(found.candidate, OnlineCandidate):
        rule = found.candidate.rule
        path = shlex.quote(arguments.data)
        options = {**found.parameters, **given(arguments, Reading)}
        flags = [f"{flag(name)} {written(value, name)}" for name, value in options.items()]
        put()
        put(f"  cwlearn train {path} -m MODEL -a {getattr(rule, 'name', '')} {' '.join(flags)}")


def _words(setting: dict[str, Any]) -> str:
    return ", ".join(f"{name} {written(value, name)}" for name, value in setting.items())


def _grid(texts: list[str], candidate: Candidate) -> dict[str, list[Any]] | None:
    """Values by parameter; of our rules they are read as the flags of `train` are."""
    if not texts:
        return None
    checks: dict[str, Any] = {}
    if isinstance(candidate, OnlineCandidate):
        checks = {item.name: item.metadata["check"] for item in fields(candidate.rule)}  # type: ignore[arg-type]
    grid: dict[str, list[Any]] = {}
    for text in texts:
        name, equals, values = text.partition("=")
        name = name.strip().replace("-", "_")
        if name in grid:
            raise UsageError(f"--grid {name} is given twice")
        if not equals or not values or not name:
            raise UsageError(f"--grid must be NAME=V1,V2,..., got {text!r}")
        if checks and (name not in checks or name in candidate.fixed):  # type: ignore[attr-defined]
            known = ", ".join(key for key in checks if key not in candidate.fixed)  # type: ignore[attr-defined]
            raise UsageError(f"--grid: {candidate.name} has no parameter {name} to tune; it has {known}")
        read_one = checked(checks[name]) if checks else _plain
        try:
            grid[name] = [read_one(value.strip()) for value in values.split(",")]
        except argparse.ArgumentTypeError as error:
            raise UsageError(f"--grid {name} {error}") from None
    return grid


def _plain(text: str) -> Any:
    """A value of an estimator of scikit-learn."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return {"none": None, "true": True, "false": False}.get(text.lower(), text)
