"""`cwlearn demo`: three commands, shown and run."""

from __future__ import annotations

import argparse
import os

from cwlearn.cli import evaluate as cli_evaluate
from cwlearn.cli import inspect as cli_inspect
from cwlearn.cli import train as cli_train
from cwlearn.utils.messages import put

FOLDER = os.path.join(os.path.dirname(os.path.dirname(__file__)), "demo")
EXAMPLE = "  cwlearn demo"


def add_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-m", "--model", default="cwlearn-demo.npz", metavar="MODEL", help="file to write to (default: %(default)s)"
    )


def run(arguments: argparse.Namespace) -> None:
    folder = os.path.relpath(FOLDER)
    for verb, words in (
        (cli_train, [f"{folder}/spam-train.svm.gz", "-m", arguments.model]),
        (cli_evaluate, [f"{folder}/spam-test.svm.gz", "-m", arguments.model]),
        (cli_inspect, [arguments.model, "--names", f"{folder}/words.txt", "--top", "20"]),
    ):
        put(f"$ cwlearn {verb.__name__.rpartition('.')[2]} {' '.join(words)}")
        parser = argparse.ArgumentParser()
        verb.add_flags(parser)
        verb.run(parser.parse_args(words))
        put()
