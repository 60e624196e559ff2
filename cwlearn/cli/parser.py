"""The parser of the command line: short help, errors on one line, and a guess at what was meant."""

from __future__ import annotations

import argparse
import re
import sys
import textwrap
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Any, NoReturn

from cwlearn._version import __version__
from cwlearn.errors import UsageError, shown

VERBS = {
    "train": "learn a model from data",
    "predict": "print the label of every row",
    "learn": "answer lines, and learn those that have a label",
    "evaluate": "measure how well a model predicts the labels of data",
    "query": "print the rows whose labels would teach a model most",
    "inspect": "print what is in a model file",
    "explain": "say why a model gives each row its label",
    "diff": "compare two models: which weights moved, which answers changed",
    "tune": "find the best parameters of an algorithm for data",
    "compare": "rank algorithms on data by cross-validation",
    "merge": "combine models that have learned from different rows into one",
    "export": "write a model as a scorer of one file: C, JavaScript, JSON or ONNX",
    "demo": "train, evaluate and inspect a spam filter, on data of the package",
    "help": "explain a verb or an algorithm",
}
EXIT_STATUS = """\
Exit status:
  0    success
  1    bad data, a bad model file or another failure
  2    wrong usage
  130  interrupted by Ctrl-C (SIGTERM: 143, SIGHUP: 129)"""
EXAMPLES = """\
  cwlearn demo                             a tour, on data of the package
  cwlearn train data.svm -m model.npz      learn, and then:
  cwlearn predict new.svm -m model.npz     predict
  cwlearn help train                       all flags of a verb
  cwlearn help cw                          an algorithm and its parameters"""


def parse(words: Sequence[str]) -> argparse.Namespace:
    """The arguments of a command, its verb in `verb` and all of it in `words`.

    Raise UsageError, or SystemExit after a help text.
    """
    if words and words[0] in VERBS:
        arguments = parser_of(words[0]).parse(words[1:])
        arguments.words = list(words)
        return arguments
    parser = general_parser()
    if words and not words[0].startswith("-"):
        parser.error(f"there is no verb {words[0]!r}{did_you_mean(words[0], VERBS)}")
    parser.parse(words)
    parser.error(f"a verb is missing: {', '.join(VERBS)}")


def general_parser() -> Parser:
    verbs = "\n".join(f"  {verb:10} {text}" for verb, text in VERBS.items())
    parser = Parser(
        prog="cwlearn",
        usage="cwlearn VERB [ARGUMENT ...]",
        description=f"Fast online linear classification for sparse data, with a confidence for every weight.\n\n"
        f"verbs:\n{verbs}",
        examples=EXAMPLES,
    )
    parser.add_help_flags()
    parser.add_argument("--version", action="version", version=f"cwlearn {__version__}", help="print the version")
    return parser


def parser_of(verb: str) -> Parser:
    """The parser of a verb, whose module is imported for it."""
    text = VERBS[verb]
    parser = Parser(
        prog=f"cwlearn {verb}", description=f"{text[0].upper()}{text[1:]}.", examples=module_of(verb).EXAMPLE
    )
    parser.set_defaults(verb=verb)
    module_of(verb).add_flags(parser)
    parser.add_argument("--debug", action="store_true", help="print a traceback if an error occurs")
    parser.add_help_flags()
    return parser


def module_of(verb: str) -> Any:
    """The module of a verb: it has `EXAMPLE`, `add_flags` and `run`."""
    return import_module(f"cwlearn.cli.{verb}")


def did_you_mean(word: str, choices: Iterable[str]) -> str:
    """A question that proposes the choice closest to a misspelt word; empty if none is close."""
    from difflib import get_close_matches

    by_lower = {choice.lower(): choice for choice in choices}
    beginnings = [choice for choice in by_lower if len(word) > 3 and choice.startswith(word.lower())]
    swapped = [choice for choice in by_lower if sorted(choice) == sorted(word.lower())]  # awor for arow
    roots = [choice for choice in by_lower if len(word) > 5 and choice.startswith(word.lower()[:-2])]  # classify
    close = beginnings or swapped or get_close_matches(word.lower(), by_lower, 1, cutoff=0.7) or roots
    return f"; did you mean {by_lower[close[0]]}?" if close else ""


class Parser(argparse.ArgumentParser):
    """A parser whose help leaves out rare flags, and whose errors are UsageErrors of one line with a hint.

    It takes -1,+1 for a value, not for a flag.
    """

    def __init__(self, *, prog: str, description: str, examples: str = "", usage: str | None = None) -> None:
        super().__init__(
            prog=prog,
            usage=usage,
            description=description,
            epilog="\n\n".join([*([f"Examples:\n{examples}"] if examples else []), EXIT_STATUS]),
            formatter_class=_Formatter,
            allow_abbrev=False,
            add_help=False,
        )
        self.color = False  # escape sequences would be escaped; Python 3.14 writes them
        self._negative_number_matcher = re.compile(r"^-[0-9.][0-9.,:eE+-]*$")
        self._positionals.title, self._optionals.title = "arguments", "flags"
        self._rare_groups: list[Any] = []  # argparse._ArgumentGroup

    def add_rare_group(self, title: str) -> Any:
        """A group of flags that --help leaves out and --help-all shows."""
        group = self.add_argument_group(title)
        self._rare_groups.append(group)
        return group

    def add_help_flags(self) -> None:
        self.add_argument("-h", "--help", nargs=0, action=_PrintHelp, help="print this help")
        text = "print this help with all flags" if self._rare_groups else argparse.SUPPRESS
        self.add_argument("--help-all", nargs=0, action=_PrintHelp, help=text)

    def format_help(self, everything: bool = False) -> str:
        formatter = self._get_formatter()
        formatter.add_usage(self.usage or self._short_usage(), self._actions, self._mutually_exclusive_groups)
        formatter.add_text(self.description)
        for group in self._action_groups:
            if everything or group not in self._rare_groups:
                formatter.start_section(group.title)
                formatter.add_arguments(group._group_actions)
                formatter.end_section()
        if self._rare_groups and not everything:
            titles = ", ".join(str(group.title) for group in self._rare_groups)
            formatter.add_text(f"{self.prog} --help-all shows more flags: {titles}.")
        formatter.add_text(self.epilog)
        return formatter.format_help()

    def _short_usage(self) -> str:
        """The arguments that must be given, in place of a list of all flags."""
        formatter = self._get_formatter()
        words = [self.prog]
        for action in self._actions:
            if not action.option_strings:
                words.append(formatter._format_args(action, str(action.metavar)))
            elif action.required:
                words.append(f"{action.option_strings[0]} {action.metavar}")
        return " ".join([*words, "[FLAG ...]"])

    def parse(self, words: Sequence[str]) -> argparse.Namespace:
        """Parse words; a misspelt flag is named first, even if something is missing as well."""
        for word in words:
            name = word.partition("=")[0]
            if word == "--":
                break
            if name.startswith("--") and " " not in name and name not in self._option_string_actions:
                self.error(f"there is no flag {name}{did_you_mean(name, self._option_string_actions)}")
        return self.parse_args(words)

    def error(self, message: str) -> NoReturn:
        rare = {
            name for group in self._rare_groups for action in group._group_actions for name in action.option_strings
        }
        named = re.match(r"argument (--[\w-]+)", message)
        help_flag = "--help-all" if named and named[1] in rare else "--help"
        message = self._reworded(message)
        separator = " See" if message.endswith("?") else "; see"
        raise UsageError(f"{message}{separator} {self.prog} {help_flag}")

    def _reworded(self, message: str) -> str:
        """argparse's messages in fewer words."""
        if missing := re.fullmatch(r"the following arguments are required: (.*)", message):
            names = missing[1]
            for action in self._actions:
                if action.option_strings:
                    names = names.replace(
                        "/".join(action.option_strings), f"{action.option_strings[0]} {action.metavar}"
                    )
            return re.sub(r", (?!.*, )", " and ", names) + (" are missing" if "," in missing[1] else " is missing")
        if flag := re.fullmatch(r"argument (\S+): expected (?:one|at least one) argument", message):
            return f"{flag[1]} needs a value"
        return re.sub(r"\bargument (?=-)", "", message)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            choices = [*map(str, action.choices)]
            what = f"{value!r} is not one of {', '.join(choices)}{did_you_mean(str(value), choices)}"
            raise argparse.ArgumentError(action, what)

    def _print_message(self, message: str, file: Any = None) -> None:
        """Print a help text, escaped."""
        super()._print_message("\n".join(map(shown, message.split("\n"))) if message else message, file)


class _PrintHelp(argparse.Action):
    """--help and --help-all."""

    def __call__(self, parser: argparse.ArgumentParser, *arguments: Any) -> None:
        assert isinstance(parser, Parser)
        parser._print_message(parser.format_help(everything=self.dest == "help_all"), sys.stdout)
        parser.exit()


class _Formatter(argparse.HelpFormatter):
    """Formats help: each text is a sentence, and a value is named once for all spellings of a flag."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=28)

    def _format_action_invocation(self, action: argparse.Action) -> str:
        if not action.option_strings:
            return super()._format_action_invocation(action)
        if isinstance(action, argparse.BooleanOptionalAction):
            return f"--[no-]{action.option_strings[0].removeprefix('--')}"
        value = "" if action.nargs == 0 else f" {self._format_args(action, action.dest.upper())}"
        return ", ".join(action.option_strings) + value

    def _get_help_string(self, action: argparse.Action) -> str:
        text = action.help or ""
        start = text[:1] if text.startswith("svmlight") else text[:1].upper()
        return f"{start}{text[1:]}{'' if text.endswith(('.', '?')) else '.'}"

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        """Wrap long lines, except indented ones, which are tables."""
        lines = text.splitlines()
        return "\n".join(line if line.startswith(" ") else textwrap.fill(line, width) for line in lines)
