"""Data sets from svmlight text, for `tune` and `compare`."""

from __future__ import annotations

import argparse
import os
from typing import Any

import numpy as np

from cwlearn.cli.flags import add_options, given
from cwlearn.errors import shown
from cwlearn.text.compression import FORMATS
from cwlearn.text.matrices import read_svmlight
from cwlearn.text.reader import Reading
from cwlearn.text.sources import STDIN

SUFFIXES = (*(suffix for _, suffix in FORMATS.values()), ".svm", ".svmlight", ".libsvm", ".txt", ".dat")


def add_reading(parser: argparse.ArgumentParser) -> None:
    add_options(parser.add_argument_group("reading"), Reading)


def read(path: str, arguments: argparse.Namespace) -> tuple[Any, Any]:
    """The rows, whose columns are the indices in the text, and the labels: integers if all of them are whole."""
    X, y = read_svmlight(path, dtype="float32", **given(arguments, Reading))
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
