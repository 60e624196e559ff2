"""What the verbs of the command line have in common."""

from __future__ import annotations

import argparse
import os

from cwlearn.errors import shown
from cwlearn.terminal import say
from cwlearn.text_files import STDIN

DATA_HELP = (
    "svmlight text: 'label index:value index:value ...'. - is standard input; gzip, bzip2, xz and Zstandard are "
    "recognised; several files are one stream"
)


class UsageError(Exception):
    """What was asked for makes no sense; the words are for the one who asked."""


def check_paths(data: list[str], output: str | None) -> None:
    """Refuse what cannot be meant; the same file twice can be."""
    if data.count(STDIN) > 1:
        raise UsageError("standard input (-) can be read only once")
    for number, path in enumerate(data):
        both_exist = output is not None and path != STDIN and os.path.exists(output) and os.path.exists(path)
        if output is not None and both_exist and os.path.samefile(path, output):
            raise UsageError(f"{shown(output)} is both read and written")
        if path in data[:number]:
            say(f"warning: {shown(path)} is given more than once, and read more than once")


def add_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("-q", "--quiet", action="store_true", help="say nothing but errors")
