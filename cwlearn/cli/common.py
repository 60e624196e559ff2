"""What the verbs of the command line have in common."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

from cwlearn.core import model_file
from cwlearn.core.learner import Learner
from cwlearn.errors import DataError, ModelError, UsageError, shown
from cwlearn.text.sources import STDIN
from cwlearn.utils.atomic_file import new_file_like

DATA_HELP = (
    "svmlight text: 'label index:value index:value ...'. - is standard input; gzip, bzip2, xz and Zstandard are "
    "recognised; several files are one stream (with --workers, a shard each)"
)


def check_paths(data: list[str], outputs: Iterable[str | None] = (), also_read: Iterable[str] = ()) -> None:
    """Refuse what cannot be meant."""
    if data.count(STDIN) > 1:
        raise UsageError("standard input (-) can be read only once")
    for output in outputs:
        for path in (*data, *also_read):
            both_exist = output is not None and path != STDIN and os.path.exists(output) and os.path.exists(path)
            if output is not None and both_exist and os.path.samefile(path, output):
                raise UsageError(f"{shown(output)} is both read and written")


def feature_names(path: str) -> list[str]:
    """Names by column, from a file with one in each line, the first being that of index 1.

    Only a line feed ends a line here, as in data: other characters that Unicode calls line ends belong to a name.
    """
    with open(path, encoding="utf-8-sig", errors="backslashreplace", newline="") as file:
        lines = file.read().removesuffix("\n").split("\n")
    return ["0", *(line.removesuffix("\r") for line in lines)]


def save_model(learner: Learner, path: str) -> None:
    """Save what was learned; if that fails, save it elsewhere, and let the error say where."""
    try:
        model_file.save(learner, path)
    except OSError as error:
        place = _saved_elsewhere(learner, path)
        if place is None:
            raise
        reason = f"{error.strerror or error}; the model is in {shown(place)} instead"
        raise OSError(error.errno, reason, path) from None


def _saved_elsewhere(learner: Learner, path: str) -> str | None:
    """Where a model is that cannot be saved under its name, if it can be saved at all."""
    for folder in _other_folders(path):
        with suppress(OSError):
            place = new_file_like(path, folder)
            try:
                model_file.save(learner, place)
            except BaseException:
                os.unlink(place)
                raise
            return place
    return None


def _other_folders(path: str) -> Iterator[str]:
    yield os.path.dirname(path)
    yield os.curdir
    import tempfile

    with suppress(OSError):  # there may be none
        yield tempfile.gettempdir()


@contextmanager
def usage_checked() -> Iterator[None]:
    """Options that do not fit together are bad usage, as a bad option is."""
    try:
        yield
    except (TypeError, ValueError) as error:
        if isinstance(error, (DataError, ModelError)):
            raise
        raise UsageError(str(error)) from None


def add_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("-q", "--quiet", action="store_true", help="say nothing but errors")
