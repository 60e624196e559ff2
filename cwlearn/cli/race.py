"""The race of algorithms before a training: who took part, who won, and the command that trains the winner."""

from __future__ import annotations

import argparse
import shlex
from contextlib import closing
from dataclasses import asdict, fields, replace
from typing import Any

from cwlearn.cli.flags import flag, written
from cwlearn.cli.train_options import AUTO, wants_race
from cwlearn.core.choosing import Choice, Entry
from cwlearn.core.rule import Rule
from cwlearn.core.text_options import TextOptions
from cwlearn.core.training import Training
from cwlearn.parallel.sharing import Sharing
from cwlearn.text.choosing import choose_by_text
from cwlearn.text.reader import Reading
from cwlearn.text.resources import Resources
from cwlearn.utils.messages import put
from cwlearn.utils.progress import ProgressBar

SHOWN = 5  # candidates, the best ones
CHOOSING = (["-a", AUTO], ["--algorithm", AUTO], [f"--algorithm={AUTO}"], ["--epochs", AUTO], [f"--epochs={AUTO}"])


def race(
    arguments: argparse.Namespace,
    rule: Rule,
    training: Training,
    reading: Reading,
    resources: Resources,
    documents: TextOptions | None,
    sharing: Sharing,
    several: bool,
) -> tuple[Rule, Training, Choice | None]:
    """Rule and training for these data, whose rows may have `several` labels; the usual ones if too few can tell."""
    bar = ProgressBar(arguments.quiet or arguments.json)
    bar.begin("choosing", None, " rows")
    with closing(bar):
        choice = choose_by_text(
            arguments.data,
            rule,
            training,
            reading,
            resources,
            arguments.labels,
            documents,
            arguments.seed,
            alone=not wants_race(arguments, None),
            shards=sharing.wanted,
            how=sharing.how if sharing.wanted else None,
            report=bar.advance,
            budget=arguments.budget,
            several=several,
        )
    if choice is None:
        epochs = rule.default_epochs if training.epochs == AUTO else training.epochs
        return rule, replace(training, epochs=epochs), None
    return choice.rule, choice.training, choice


def print_race(choice: Choice, arguments: argparse.Namespace) -> None:
    """Print the best candidates, and the command that trains the winner."""
    of_labels = choice.rule.task == "classification"
    put(f"{len(choice.field)} candidates, judged by {choice.rows:,} rows that they had not learned:")
    put(f"{'error' if of_labels else 'squared error':>13} {'epochs':>6} {'raced':>6}  candidate")
    for entry in choice.field[:SHOWN]:
        loss = f"{100 * entry.error:.2f} %" if of_labels else f"{entry.error:.4g}"
        put(f"{loss:>13} {entry.training.epochs:>6} {entry.lasted:>6}  {' '.join(flags_of(entry))}")
    if len(choice.field) > SHOWN:
        put(f"{'':>13} {'':>6} {'':>6}  and {len(choice.field) - SHOWN} others behind them")
    put(f"the same without a race: cwlearn {shlex.join([*_words(arguments), *_plain_flags(choice, arguments)])}")


def _words(arguments: argparse.Namespace) -> list[str]:
    """The words of the command, without those that ask for a race."""
    words: list[str] = []
    for word in arguments.words:
        words.append(word)
        for asking in CHOOSING:
            if words[-len(asking) :] == asking:
                del words[-len(asking) :]
    return words


def _plain_flags(choice: Choice, arguments: argparse.Namespace) -> list[str]:
    """The flags that ask for the winner, and for its epochs if a flag does not."""
    words = flags_of(choice.field[0])
    if getattr(arguments, "epochs", AUTO) != AUTO:
        return words
    words += ["--epochs", str(choice.training.epochs)]
    return [*words, "--shuffle"] if choice.training.epochs == 1 and choice.training.shuffle else words


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
            "loss": entry.error,
            "lasted": entry.lasted,
        }
        for entry in choice.field
    ]
