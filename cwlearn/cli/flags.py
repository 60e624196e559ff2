"""Command-line flags made from options: name, check, help text and default are those of the option."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Container
from dataclasses import Field, fields
from functools import cache, reduce
from operator import or_
from typing import Any

from cwlearn.core.model_file import USUAL_MEMORY, USUAL_TIMES
from cwlearn.core.parameters import BOOLEAN, SIZE, Check, LabelError, Options
from cwlearn.core.rules import RULES
from cwlearn.core.text_options import OF_FILES, TextOptions

Group = Any  # a parser, or what its add_argument_group returns

# Options whose flag has another name.
OTHER_NAMES = {"n_features": "features", "random_state": "seed", "max_memory": "memory", "ngram_range": "ngrams"}
# Names that messages may mention, beside the fields of the option classes.
VERB_OPTIONS = (
    "algorithm", "algorithms", "base", "budget", "checkpoint", "data", "folds", "force", "grid", "held_out", "html",
    "interval", "journal", "jsonl", "keep", "labels", "multilabel", "names", "names_from", "new_journal", "no_labels",
    "noise", "questions", "report", "resume", "seed", "show", "task", "to", "top", "tuned_once",
)  # fmt: skip


def flag(name: str) -> str:
    """The flag of an option: `n_constraints` is --n-constraints, `n_features` is --features."""
    return "--" + OTHER_NAMES.get(name, name).replace("_", "-")


def rendered(text: str) -> str:
    """A message of the library in the words of the command line.

    Options in backticks become flags: `n_features` becomes --features, `form='variance'` becomes --form variance and
    `shuffle=False` becomes --no-shuffle.  Other words in backticks stay as they are.
    """
    return re.sub(r"`([A-Za-z_][A-Za-z_0-9]*)(?:=([^`]+))?`", _as_flag, text)


def _as_flag(match: re.Match[str]) -> str:
    name, value = match.groups()
    if name not in _option_names():
        return match[0]
    if value in (None, "True"):
        return flag(name)
    if value == "False":
        return flag(f"no_{name}")
    return f"{flag(name)} {'none' if value == 'None' else value.strip(chr(34) + chr(39))}"


@cache
def _option_names() -> frozenset[str]:
    from cwlearn.core.training import Training
    from cwlearn.parallel.sharing import Sharing
    from cwlearn.text.reader import Reading
    from cwlearn.text.resources import Resources

    owners = (*RULES.values(), Training, Resources, Reading, TextOptions, Sharing)
    return frozenset([*OTHER_NAMES, *VERB_OPTIONS, *(item.name for owner in owners for item in _fields(owner))])


def checked(check: Check) -> Callable[[str], Any]:
    """A function that turns the text of a flag into a value that the check accepts."""

    def read(text: str) -> Any:
        try:
            value = check.read(text)
            accepted = check.accepts(value)
        except LabelError as error:
            raise argparse.ArgumentTypeError(str(error)) from None
        except ValueError:
            accepted = False
        if not accepted:
            none = "all" if check.form.endswith("all") else "none"
            raise argparse.ArgumentTypeError(f"must be {check.words.replace('None', none)}, got {text!r}")
        return value

    return read


def add_flag(group: Group, name: str, check: Check, text: str) -> None:
    """Add the flag of an option; the parsed arguments have it only if it is given."""
    text = text.replace("%", "%%")
    if check is BOOLEAN:
        group.add_argument(
            flag(name), dest=name, action=argparse.BooleanOptionalAction, default=argparse.SUPPRESS, help=text
        )
    else:
        form = check.form.removeprefix("none|")
        group.add_argument(
            flag(name), dest=name, type=checked(check), default=argparse.SUPPRESS, metavar=form, help=text
        )


def add_options(
    group: Group,
    owner: type[Options],
    without: Container[str] = (),
    only: Container[str] | None = None,
    texts: dict[str, str] | None = None,
) -> None:
    """Add a flag for each option of a dataclass; `texts` are help texts that differ here."""
    for item in _fields(owner):
        if item.name not in without and (only is None or item.name in only):
            text = (texts or {}).get(item.name) or _help_of(item)
            add_flag(group, item.name, item.metadata["check"], text)


def add_memory(group: Group) -> None:
    """Add the flag that bounds the memory for a model that is read from a file."""
    usual = f"{USUAL_MEMORY >> 30}G and {USUAL_TIMES} times its file"
    add_flag(group, "memory", SIZE, f"Bytes that a model may take in memory, such as 4G. Default: {usual}.")


def add_rules(group: Group) -> None:
    """Add a flag for each option of the rules; the text says which rules have it, and where they differ."""
    owners: dict[str, list[tuple[str, Field[Any]]]] = {}
    for rule in RULES.values():
        for item in _fields(rule):
            owners.setdefault(item.name, []).append((rule.name, item))
    for name, items in owners.items():
        add_flag(
            group,
            name,
            _any_of([item.metadata["check"] for _, item in items]),
            _shared_help({rule: _help_of(item) for rule, item in items}),
        )


def _any_of(checks: list[Check]) -> Check:
    """What one of the checks accepts; those that another one includes are left out."""
    forms = {check.form: set(check.form.split("|")) for check in checks}
    widest = {check.form: check for check in checks if not any(forms[check.form] < form for form in forms.values())}
    return reduce(or_, widest.values())


def _shared_help(texts: dict[str, str]) -> str:
    """The help texts of an option, by rule, as one text in which no sentence stands twice."""
    rules_by_sentence: dict[str, list[str]] = {}
    for rule, text in texts.items():
        for sentence in re.split(r"(?<=\.) (?=[A-Z'])", text):
            rules_by_sentence.setdefault(sentence, []).append(rule)
    parts, last_rules = [], None
    for sentence, rules in sorted(rules_by_sentence.items(), key=lambda pair: pair[0].startswith("Default: ")):
        parts.append(sentence if rules == last_rules else f"[{', '.join(rules)}] {sentence}")
        last_rules = rules
    return " ".join(parts)


def _help_of(item: Field[Any]) -> str:
    """The help text of an option for the command line, with its default."""
    text = re.sub(r"\bNone\b", "none", rendered(item.metadata["help"]))
    if item.default is None and re.search(r"\b(none|default)\b", text):
        return text  # which says what happens by default
    default: Any = item.default
    return f"{text} Default: {_size_text(default) if item.metadata['check'] is SIZE else written(default)}."


def _size_text(size: int) -> str:
    """A number of bytes as short as it can be typed."""
    units = {"G": 1 << 30, "M": 1 << 20, "K": 1 << 10}
    return next((f"{size // factor}{unit}" for unit, factor in units.items() if size % factor == 0), str(size))


def given(arguments: argparse.Namespace, owner: type[Options]) -> dict[str, Any]:
    """The options of a dataclass that were given as flags."""
    return {item.name: getattr(arguments, item.name) for item in _fields(owner) if hasattr(arguments, item.name)}


def given_text_options(arguments: argparse.Namespace) -> TextOptions | None:
    """How texts become rows, if flags say that; the names of fields are left to `Reading`."""
    options = {name: value for name, value in given(arguments, TextOptions).items() if name not in OF_FILES}
    return TextOptions(**options) if options else None


def written(value: Any, name: str = "") -> str:
    """The value of an option as it is typed on the command line."""
    if value is None and name == "n_constraints":
        return "all"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def names_of(owner: type[Options] | Options) -> list[str]:
    """The names of the options of a dataclass."""
    return [item.name for item in _fields(owner)]


def _fields(owner: type[Options] | Options) -> list[Field[Any]]:
    """The options in the order of the constructor: keyword-only ones last."""
    return sorted(fields(owner), key=lambda item: bool(item.kw_only))  # type: ignore[arg-type]
