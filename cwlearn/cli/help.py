"""`cwlearn help`: the help of a verb, with all its flags, or of an algorithm."""

from __future__ import annotations

import argparse
import textwrap

from cwlearn.cli.flags import add_options, rendered
from cwlearn.cli.parser import VERBS, Parser, did_you_mean, general_parser, parser_of
from cwlearn.core.rules import RULES, TASKS
from cwlearn.errors import UsageError
from cwlearn.utils.messages import put

EXAMPLE = """\
  cwlearn help train       all flags of train
  cwlearn help cw          the parameters of confidence-weighted learning"""


def add_flags(parser: Parser) -> None:
    parser.add_argument("topic", nargs="?", metavar="TOPIC", help=f"a verb, or an algorithm: {', '.join(RULES)}")


def run(arguments: argparse.Namespace) -> None:
    topic = arguments.topic
    if topic is None:
        text = general_parser().format_help()
    elif topic in VERBS:
        text = parser_of(topic).format_help(everything=True)
    elif topic in RULES:
        text = algorithm_help(topic)
    else:
        topics = [*VERBS, *RULES]
        suggestion = did_you_mean(topic, topics) or f": expected one of {', '.join(topics)}"
        raise UsageError(f"there is no help on {topic!r}{suggestion}")
    for line in text.splitlines():
        put(line)


def algorithm_help(name: str) -> str:
    """What an algorithm does, its paper and its parameters, for each task that it is there for."""
    rules = {task: by_name[name] for task, by_name in TASKS.items() if name in by_name}
    descriptions = []
    for task, rule in rules.items():
        first, _, more = (rule.__doc__ or "").partition("\n")  # None with python -OO
        title = f"{name}, {task}: " if len(rules) > 1 else f"{name}: "
        descriptions.append(rendered(f"{title}{first}\n{textwrap.dedent(more)}".strip()))
    parser = Parser(
        prog=f"cwlearn train -a {name}",
        usage=f"cwlearn train DATA -m MODEL -a {name} [FLAG ...]",
        description="\n\n".join(descriptions),
    )
    parser.epilog = "cwlearn train --help-all shows the flags that all algorithms share."
    add_options(parser.add_argument_group("parameters"), rules["classification"])
    return parser.format_help()
