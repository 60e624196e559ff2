"""`cwlearn demo`: some commands, shown and run."""

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
        ["train", f"{folder}/mails-train.jsonl.xz", "-m", arguments.model],
        ["evaluate", f"{folder}/mails-test.jsonl.xz", "-m", arguments.model],
        ["inspect", arguments.model, "--top", "15"],
        ["predict", f"{folder}/new.jsonl", "-m", arguments.model, "--proba"],
    ):
        put(f"$ cwlearn {shlex.join(words)}")
        module_of(words[0]).run(parse(words))
        put()
