"""`cwlearn demo`: three commands, shown and run."""

from __future__ import annotations

import argparse
import os
import shlex

from cwlearn.cli.parser import module_of, parse
from cwlearn.utils.messages import put

FOLDER = os.path.join(os.path.dirname(os.path.dirname(__file__)), "demo")
EXAMPLE = "  cwlearn demo"


def add_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-m", "--model", default="cwlearn-demo.npz", metavar="MODEL", help="file to write to. Default: %(default)s"
    )


def run(arguments: argparse.Namespace) -> None:
    folder = os.path.relpath(FOLDER)
    for words in (
        ["train", f"{folder}/spam-train.svm.gz", "-m", arguments.model],
        ["evaluate", f"{folder}/spam-test.svm.gz", "-m", arguments.model],
        ["inspect", arguments.model, "--names", f"{folder}/words.txt", "--top", "20"],
    ):
        put(f"$ cwlearn {shlex.join(words)}")
        module_of(words[0]).run(parse(words))
        put()
