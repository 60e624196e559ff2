"""Data sets from text, for `tune` and `compare`."""

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

ENDS = (*(suffix for _, suffix in FORMATS.values()), ".svm", ".svmlight", ".libsvm", ".txt", ".dat")


def add_reading(parser: argparse.ArgumentParser) -> None:
    add_options(parser.add_argument_group("reading"), Reading)


def read(path: str, arguments: argparse.Namespace) -> tuple[Any, Any]:
    """Rows, whose columns are the indices in the text, and labels, which are whole numbers where they look so."""
    X, y = read_svmlight(path, dtype="float32", **given(arguments, Reading))
    return X, y.astype(int) if (np.abs(y) < 2**53).all() and (y == np.floor(y)).all() else y


def short_name(path: str) -> str:
    """What to call a data set."""
    if path == STDIN:
        return "standard input"
    name = os.path.basename(path)
    while (shorter := next((name.removesuffix(end) for end in ENDS if name.endswith(end)), name)) not in ("", name):
        name = shorter
    return shown(name)
