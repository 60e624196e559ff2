"""Data sets from files, for `tune` and `compare`."""

from __future__ import annotations

import argparse
import os
from contextlib import closing
from typing import Any

import numpy as np

from cwlearn.cli.common import usage_checked, warn_of_skipped_line
from cwlearn.cli.flags import add_options, given, given_text_options
from cwlearn.core.text_options import OF_FILES, TextOptions
from cwlearn.errors import DataError, shown
from cwlearn.text import compression, formats
from cwlearn.text.matrices import read_rows
from cwlearn.text.reader import Reading
from cwlearn.text.resources import Resources
from cwlearn.text.sources import STDIN, as_sources, total_size
from cwlearn.utils.progress import ProgressBar

SUFFIXES = (*(suffix for _, suffix in compression.FORMATS.values()), *formats.SUFFIXES, ".txt", ".dat")


def add_reading(parser: argparse.ArgumentParser) -> None:
    add_options(parser.add_argument_group("reading"), Reading)
    group = parser.add_argument_group("documents")
    add_options(group, TextOptions, without=OF_FILES)
    add_options(group, Resources, only=("hash_bits",))


def reading_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """The flags that say how data are read, and how documents become rows."""
    return {**given(arguments, Reading), **given(arguments, TextOptions), **given(arguments, Resources)}


def read(path: str, arguments: argparse.Namespace) -> tuple[Any, Any]:
    """The rows and their labels: texts, or numbers, which are integers if all of them are whole."""
    with usage_checked():
        reading, documents = Reading(**given(arguments, Reading)), given_text_options(arguments) or TextOptions()
        hash_bits = getattr(arguments, "hash_bits", None) or 0
    bar = ProgressBar(arguments.quiet or arguments.json)

    def skipped(flaw: DataError) -> None:
        bar.close()
        warn_of_skipped_line(flaw)

    bar.begin("reading", total_size(as_sources(path)), "B")
    with closing(bar):
        X, y = read_rows(path, reading, documents, hash_bits, skipped, bar.move_to)
    if y.dtype.kind == "U":
        return X, y
    are_integers = (np.abs(y) < 2**53).all() and (y == np.floor(y)).all()
    return X, y.astype(int) if are_integers else y


def short_name(path: str) -> str:
    """The name of a data set: that of its file, without folder and endings such as .svm.gz."""
    if path == STDIN:
        return "standard input"
    name = os.path.basename(path)
    while (stem := next((name.removesuffix(suffix) for suffix in SUFFIXES if name.endswith(suffix)), "")) != "":
        name = stem
    return shown(name)
