"""The race of algorithms before a training: who took part, who won, and the command that trains the winner."""

from __future__ import annotations

import argparse
import shlex
from dataclasses import asdict, fields, replace
from typing import Any

import numpy as np

from cwlearn.cli.common import warn
from cwlearn.cli.flags import flag, written
from cwlearn.cli.train_options import AUTO, wants_race
from cwlearn.core.choosing import Choice, Entry
from cwlearn.core.rule import Rule
from cwlearn.core.text_options import TextOptions
from cwlearn.core.training import Training
from cwlearn.errors import shown
from cwlearn.text.choosing import choose_by_text
from cwlearn.text.reader import Reading
from cwlearn.text.resources import Resources
from cwlearn.utils.messages import say

SHOWN = 5  # candidates, the best ones


def race(
    arguments: argparse.Namespace,
    rule: Rule,
    training: Training,
    reading: Reading,
    resources: Resources,
    documents: TextOptions | None,
) -> tuple[Rule, Training, Choice | None]:
    """Rule and training for these data; the usual ones if too few rows can tell."""
    alone = not wants_race(arguments, None)
    state = np.random.RandomState(arguments.seed)
    choice = choose_by_text(
        arguments.data, rule, training, reading, resources, arguments.labels, documents, state, alone=alone
    )
    if choice is None:
        epochs = rule.default_epochs if training.epochs == AUTO else training.epochs
        if not arguments.quiet and not arguments.json and not alone:
            warn(f"too few rows to choose an algorithm by: {rule.name}")
        return rule, replace(training, epochs=epochs), None
    if not arguments.quiet and not arguments.json and not alone:
        _print(choice, arguments)
    return choice.rule, choice.training, choice


def _print(choice: Choice, arguments: argparse.Namespace) -> None:
    measure = "error" if choice.rule.task == "classification" else "squared error"
    say(f"{len(choice.field)} candidates, judged by {choice.rows:,} rows that they had not learned:")
    say(f"{measure:>13} {'epochs':>6}  candidate")
    for entry in choice.field[:SHOWN]:
        loss = f"{100 * entry.loss:.2f} %" if choice.rule.task == "classification" else f"{entry.loss:.4g}"
        say(f"{loss:>13} {entry.training.epochs:>6}  {' '.join(flags_of(entry))}")
    if len(choice.field) > SHOWN:
        say(f"{'':>13} {'':>6}  and {len(choice.field) - SHOWN} others behind them")
    data = " ".join(shlex.quote(shown(path)) for path in arguments.data)
    say(
        f"the same without a race: cwlearn train {data} -m {shlex.quote(shown(arguments.model))} "
        f"{' '.join(flags_of(choice.field[0]))} --epochs {choice.training.epochs}"
    )


def flags_of(entry: Entry) -> list[str]:
    """The flags that ask for a candidate."""
    words = ["-a", entry.rule.name]
    for item in fields(entry.rule):
        value = getattr(entry.rule, item.name)
        if value != item.default and item.name != "class_weight":
            words += [flag(item.name)] if value is True else [flag(item.name), written(value)]
    if entry.training.initial_variance != 1:
        words += ["--initial-variance", written(entry.training.initial_variance)]
    if not entry.training.fit_intercept:
        words.append("--no-fit-intercept")
    return words


def race_record(choice: Choice) -> list[dict[str, Any]]:
    """The field as --json prints it."""
    return [
        {
            "algorithm": entry.rule.name,
            "parameters": asdict(entry.rule),
            "initial_variance": entry.training.initial_variance,
            "epochs": entry.training.epochs,
            "loss": entry.loss,
            "lasted": entry.lasted,
        }
        for entry in choice.field
    ]
