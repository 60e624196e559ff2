"""Command-line flags made from options: the name, the check, the help text and the default are those of the option."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterable
from dataclasses import Field, fields
from typing import Any

from cwlearn.core.model_file import USUAL_MEMORY, USUAL_TIMES
from cwlearn.core.parameters import BOOLEAN, SIZE, Check, LabelError, Options
from cwlearn.core.rules import RULES

OTHER_NAMES = {"n_features": "features", "random_state": "seed"}
Group = Any  # what argparse's add_argument_group returns


def flag(name: str) -> str:
    """The flag of an option."""
    return "--" + OTHER_NAMES.get(name, name).replace("_", "-")


def rendered(text: str) -> str:
    """A message of the library, with flags for the names of options in backticks."""
    return re.sub(r"`([a-z_]+)`", lambda match: flag(match[1]), text)


def checked(check: Check) -> Callable[[str], Any]:
    """Text to a value that the check accepts."""

    def read(text: str) -> Any:
        try:
            value = check.read(text)
            understood = check.accepts(value)
        except LabelError as error:
            raise argparse.ArgumentTypeError(str(error)) from None
        except ValueError:
            understood = False
        if not understood:
            none = "all" if check.form.endswith("all") else "none"
            raise argparse.ArgumentTypeError(f"must be {check.words.replace('None', none)}, got {text!r}")
        return value

    return read


def add(group: Group, name: str, check: Check, text: str) -> None:
    """A flag that leaves no trace unless it is given."""
    text = text.replace("%", "%%")
    if check is BOOLEAN:
        group.add_argument(
            flag(name), dest=name, action=argparse.BooleanOptionalAction, default=argparse.SUPPRESS, help=text
        )
    else:
        group.add_argument(
            flag(name), dest=name, type=checked(check), default=argparse.SUPPRESS, metavar=check.form, help=text
        )


def add_options(group: Group, owner: type[Options], without: Iterable[str] = (), **defaults: str) -> None:
    """A flag for each option; `defaults` are words for those that differ here."""
    for item in _fields(owner):
        if item.name not in without:
            default = defaults.get(item.name) or written(item.default)
            add(group, item.name, item.metadata["check"], f"{item.metadata['help']} Default: {default}.")


def add_memory(group: Group) -> None:
    """What bounds the memory for a model that is read from a file."""
    usual = f"{USUAL_MEMORY >> 30}G and {USUAL_TIMES} times its file"
    add(group, "memory", SIZE, f"Bytes that a model may take in memory, such as 4G. Default: {usual}.")


def add_rules(group: Group) -> None:
    """A flag for each option of the rules; one that several have in common tells what it is for each."""
    owners: dict[str, list[tuple[str, Field[Any]]]] = {}
    for rule in RULES.values():
        for item in _fields(rule):
            owners.setdefault(item.name, []).append((rule.name, item))
    for name, items in owners.items():
        texts: dict[str, list[str]] = {}
        for rule_name, item in items:
            texts.setdefault(f"{item.metadata['help']} Default: {written(item.default)}.", []).append(rule_name)
        text = " ".join(f"[{', '.join(rules)}] {text}" for text, rules in texts.items())
        checks = {item.metadata["check"].form: item.metadata["check"] for _, item in items}
        add(group, name, max(checks.values(), key=lambda check: len(check.form)), text)


def given(arguments: argparse.Namespace, owner: type[Options]) -> dict[str, Any]:
    """The options of a dataclass that were given as flags."""
    return {item.name: getattr(arguments, item.name) for item in _fields(owner) if hasattr(arguments, item.name)}


def written(value: Any, name: str = "") -> str:
    """A value of an option as it would be written on the command line."""
    if value is None and name == "n_constraints":
        return "all"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _fields(owner: type[Options]) -> tuple[Field[Any], ...]:
    return fields(owner)  # type: ignore[arg-type]
