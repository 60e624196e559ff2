"""The command line: which verbs and flags there are, and what becomes of an error."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import sys
from pathlib import Path

from cwlearn._version import __version__
from cwlearn.cli_inspect import inspect
from cwlearn.cli_paths import UsageError
from cwlearn.cli_score import evaluate, predict
from cwlearn.cli_train import DEFAULT_RULE, train
from cwlearn.errors import DataError, ModelError, shown
from cwlearn.flags import add_options, add_rules, checked
from cwlearn.learner import Training
from cwlearn.options import COUNT, LEVEL, POSITIVE
from cwlearn.out_of_core import Space
from cwlearn.rules import RULES
from cwlearn.svmlight import Reading
from cwlearn.terminal import Terminated, ended_by_signals, say

DEMO = Path(__file__).parent / "demo"

DATA_HELP = (
    "svmlight text: 'label index:value index:value ...'. - is standard input; gzip, bzip2, xz and Zstandard are "
    "recognised; several files are one stream"
)


def main(argv: list[str] | None = None) -> int:
    """Run a command; return the exit status: 0 done, 1 bad data or model or a fault, 2 bad usage, 130 interrupted."""
    arguments = sys.argv[1:] if argv is None else argv
    status = 1
    try:
        with ended_by_signals():
            status = run(arguments)
        if sys.stdout is not None:
            sys.stdout.flush()
        return status
    except SystemExit as end:  # argparse has said what there was to say
        return int(end.code or 0)
    except Terminated as end:
        return 128 + end.number
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        if "--debug" in arguments:
            raise
        if isinstance(error, BrokenPipeError):  # whoever read our output has had enough
            status = 0
        else:
            say(f"error: {_words(error)}")
        _forget_output()
        return status


def run(argv: list[str]) -> int:
    """Parse the arguments and do what they say; errors are exceptions."""
    parser = _parser()
    arguments = parser.parse_args(argv)
    if arguments.verb is None:
        parser.print_usage(sys.stderr)
        say("error: a verb is missing: train, predict, evaluate, inspect or demo (cwlearn --help says more)")
        return 2
    try:
        arguments.do(arguments)
    except UsageError as error:
        say(f"error: {error}")
        return 2
    return 0


def _words(error: Exception) -> str:
    """An error as one line for people."""
    if isinstance(error, OSError) and error.strerror:
        return f"{shown(error.filename)}: {error.strerror}" if error.filename else error.strerror
    if isinstance(error, MemoryError):
        return f"out of memory; --memory, --hash-bits or --epochs 1 need less{f' ({error})' if str(error) else ''}"
    if isinstance(error, (DataError, ModelError, ValueError, OSError)):
        return str(error)
    return f"{type(error).__name__}: {error} (a fault of cwlearn; --debug shows where)"


def _forget_output() -> None:
    """Nobody is there to write to: make the interpreter's last flush go nowhere, instead of failing once more."""
    with contextlib.suppress(Exception):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _Parser(argparse.ArgumentParser):
    """Takes -1,+1 for a value, not for a flag."""

    def __init__(self, **kwargs: object) -> None:
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False, **kwargs)  # type: ignore[arg-type]
        self._negative_number_matcher = re.compile(r"^-[0-9.][0-9.,eE+-]*$")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="cwlearn",
        description="Confidence-weighted online learning of linear classifiers from sparse data.",
        epilog="Example:\n  cwlearn demo                          the whole tour, on data that come with the package\n"
        "  cwlearn train data.svm -m model.npz   then: cwlearn predict new.svm -m model.npz",
    )
    parser.add_argument("--version", action="version", version=f"cwlearn {__version__}")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", parser_class=_Parser)
    _add_train(verbs)
    _add_predict(verbs)
    _add_evaluate(verbs)
    _add_inspect(verbs)
    _add_demo(verbs)
    return parser


def _verb(verbs: argparse._SubParsersAction[_Parser], name: str, text: str, example: str) -> _Parser:
    verb = verbs.add_parser(
        name, help=text, description=text[0].upper() + text[1:] + ".", epilog=f"Example:\n{example}"
    )
    verb.add_argument("--debug", action="store_true", help="show where in the program an error arose")
    return verb


def _add_output(verb: _Parser) -> None:
    verb.add_argument("--json", action="store_true", help="print one JSON object")
    verb.add_argument("-q", "--quiet", action="store_true", help="say nothing but errors")


def _add_train(verbs: argparse._SubParsersAction[_Parser]) -> None:
    verb = _verb(
        verbs,
        "train",
        "learn a model from data",
        "  cwlearn train mails.svm -m spam.npz                          a model with all defaults\n"
        "  cwlearn train big.svm.gz -m big.npz -a cw --epochs 1         one pass, in bounded memory\n"
        "  cwlearn train more.svm -m big.npz --resume big.npz --epochs 1   go on where it stopped",
    )
    verb.add_argument("data", nargs="+", metavar="DATA", help=DATA_HELP)
    verb.add_argument("-m", "--model", required=True, metavar="MODEL", help="file to write the model to")
    verb.add_argument("-a", "--algorithm", choices=RULES, help=f"which one (default: {DEFAULT_RULE})")
    verb.add_argument("--resume", metavar="MODEL", help="go on with this model, exactly where it stopped")
    verb.add_argument("--force", action="store_true", help="resume with other parameters or data than before")
    verb.add_argument(
        "--checkpoint", type=checked(POSITIVE), metavar="MINUTES", help="keep a copy in MODEL.checkpoint so often"
    )
    verb.add_argument("--labels", type=_labels, metavar="A,B", help="all the labels there are (default: those found)")
    verb.add_argument("--seed", type=checked(LEVEL), default=0, metavar="N", help="of the shuffles (default: 0)")
    _add_output(verb)
    verb.add_argument("-v", "--verbose", action="store_true", help="print a table of the error as it falls")
    epochs = {rule.default_epochs: [] for rule in RULES.values()}  # type: dict[int, list[str]]
    for rule in RULES.values():
        epochs[rule.default_epochs].append(rule.name)
    add_rules(verb.add_argument_group("parameters of the algorithms"))
    add_options(
        verb.add_argument_group("training"),
        Training,
        without=("random_state", "warm_start", "verbose"),
        epochs=", ".join(f"{number} ({', '.join(names)})" for number, names in epochs.items()),
        shuffle="yes, but for one epoch, which takes the rows as they come and so keeps none of them",
    )
    add_options(verb.add_argument_group("memory"), Space)
    add_options(verb.add_argument_group("reading"), Reading)
    verb.set_defaults(do=train)


def _add_scoring(verb: _Parser) -> None:
    verb.add_argument("data", nargs="+", metavar="DATA", help=DATA_HELP)
    verb.add_argument("-m", "--model", required=True, metavar="MODEL", help="file with the model")
    _add_output(verb)
    group = verb.add_argument_group("reading")
    add_options(group, Space, without=("features", "hash_bits", "memory"))
    add_options(group, Reading)


def _add_predict(verbs: argparse._SubParsersAction[_Parser]) -> None:
    verb = _verb(
        verbs,
        "predict",
        "print the label of every row",
        "  cwlearn predict new.svm -m spam.npz                    one label a line\n"
        "  cwlearn predict new.svm -m spam.npz --proba -o out     with the probability of each label",
    )
    _add_scoring(verb)
    verb.add_argument("-o", "--output", metavar="FILE", help="write there, in one step, not to standard output")
    kind = verb.add_mutually_exclusive_group()
    kind.add_argument(
        "--proba", action="store_true", help="add the probability of each label, as the first line names them"
    )
    kind.add_argument("--margin", action="store_true", help="add the mean and the variance of the margin")
    verb.add_argument(
        "--no-labels", action="store_true", help="the lines of DATA begin with a feature, not with a label"
    )
    verb.set_defaults(do=predict)


def _add_evaluate(verbs: argparse._SubParsersAction[_Parser]) -> None:
    verb = _verb(
        verbs,
        "evaluate",
        "tell how well a model predicts the labels of data",
        "  cwlearn evaluate test.svm -m spam.npz",
    )
    _add_scoring(verb)
    verb.set_defaults(do=evaluate)


def _add_inspect(verbs: argparse._SubParsersAction[_Parser]) -> None:
    verb = _verb(
        verbs,
        "inspect",
        "tell what is in a model file",
        "  cwlearn inspect spam.npz --top 20 --names words.txt",
    )
    verb.add_argument("model", metavar="MODEL", help="file with the model")
    verb.add_argument(
        "--top", type=checked(COUNT), default=10, metavar="N", help="heaviest weights to show (default: 10)"
    )
    verb.add_argument(
        "--names", metavar="FILE", help="names of the features, one a line, the first being that of index 1"
    )
    verb.add_argument("--json", action="store_true", help="print one JSON object")
    verb.set_defaults(do=inspect)


def _add_demo(verbs: argparse._SubParsersAction[_Parser]) -> None:
    verb = _verb(
        verbs, "demo", "train, evaluate and inspect a spam filter, on data that come with the package", "  cwlearn demo"
    )
    verb.add_argument(
        "-m",
        "--model",
        default="cwlearn-demo.npz",
        metavar="MODEL",
        help="file to write the model to (default: %(default)s)",
    )
    verb.set_defaults(do=_demo)


def _demo(arguments: argparse.Namespace) -> None:
    """Run, and show, three commands."""
    for command in (
        ["train", str(DEMO / "spam-train.svm.gz"), "-m", arguments.model],
        ["evaluate", str(DEMO / "spam-test.svm.gz"), "-m", arguments.model],
        ["inspect", arguments.model, "--names", str(DEMO / "words.txt"), "--top", "20"],
    ):
        print(
            f"$ cwlearn {' '.join(os.path.relpath(word) if word.startswith(str(DEMO)) else word for word in command)}"
        )
        run(command)
        print()


def _labels(text: str) -> dict[float, str]:
    """Labels with commas between them."""
    try:
        labels = {float(part): part.strip() for part in text.split(",")}
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be numbers with commas between them, got {text!r}") from None
    if len(labels) != 2:
        raise argparse.ArgumentTypeError(f"must be two different labels, got {text!r}")
    return labels
