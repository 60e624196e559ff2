"""What the verbs of the command line share."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress

from cwlearn.cli.flags import rendered
from cwlearn.core import model_file
from cwlearn.core.learner import Learner
from cwlearn.errors import DataError, ModelError, UsageError, shown
from cwlearn.text.sources import STDIN
from cwlearn.utils.atomic_file import new_file_like
from cwlearn.utils.messages import say

DATA_HELP = (
    "documents (JSON lines, CSV, TSV, fastText, 'label<TAB>text', Parquet), Vowpal Wabbit lines or svmlight text, "
    "plain or compressed by gzip, bzip2, xz or Zstandard; - is standard input; several files are read as one"
)


def warn(text: str) -> None:
    """Print a warning; options in backticks become flags."""
    say(f"warning: {rendered(text)}")


def warn_of_skipped_line(flaw: DataError) -> None:
    warn(f"{flaw}; line skipped")


def warn_of_repeats(paths: list[str]) -> None:
    """Warn of files that are given twice, which may be a mistake."""
    for path in dict.fromkeys(paths):
        if paths.count(path) > 1:
            warn(f"{shown(path)} is given more than once, and read more than once")


def check_paths(data: list[str], outputs: Iterable[str | None] = (), also_read: Iterable[str] = ()) -> None:
    """Refuse to read standard input twice, and to write to a file that is read."""
    if data.count(STDIN) > 1:
        raise UsageError("standard input (-) can be read only once")
    for output in outputs:
        for path in (*data, *also_read):
            if output is not None and path != STDIN and _is_same_file(path, output):
                raise UsageError(f"{shown(output)} is both read and written")


def _is_same_file(path: str, other: str) -> bool:
    return os.path.exists(path) and os.path.exists(other) and os.path.samefile(path, other)


def feature_names(path: str) -> list[str]:
    """The names of features by column, from a file with one name in each line, the first for index 1.

    Only a line feed ends a line, as in data.  Other characters that Unicode calls line ends belong to a name.
    """
    with open(path, encoding="utf-8-sig", errors="backslashreplace", newline="") as file:
        lines = file.read().removesuffix("\n").split("\n")
    return ["0", *(line.removesuffix("\r") for line in lines)]


def name_function(path: str | None, learner: Learner) -> Callable[[int], str]:
    """A function from a column to the name of its feature, by a file of names or by the model."""
    if path is not None:
        names = feature_names(path)
        return lambda column: names[column] if column < len(names) else str(column)
    if learner.feature_names is not None:
        own_names = learner.feature_names
        return lambda column: str(own_names[column])
    if learner.words:
        words = {column: " | ".join(names) for column, names in learner.words.items()}
        return lambda column: words.get(column, str(column))
    return str


def save_model(learner: Learner, path: str) -> None:
    """Save a model; if that fails, save it in another place, which the error names."""
    try:
        model_file.save(learner, path)
    except OSError as error:
        other_path = _save_elsewhere(learner, path)
        if other_path is None:
            raise
        reason = f"{error.strerror or error}; the model is in {shown(other_path)} instead"
        raise OSError(error.errno, reason, path) from None


def _save_elsewhere(learner: Learner, path: str) -> str | None:
    """Save a model under another name, or in another folder; return its path, or None if that fails as well."""
    for folder in _other_folders(path):
        with suppress(OSError):
            new_path = new_file_like(path, folder)
            try:
                model_file.save(learner, new_path)
            except BaseException:
                os.unlink(new_path)
                raise
            return new_path
    return None


def _other_folders(path: str) -> Iterator[str]:
    yield os.path.dirname(path)
    yield os.curdir
    import tempfile

    with suppress(OSError):  # there may be no folder for temporary files
        yield tempfile.gettempdir()


@contextmanager
def usage_checked() -> Iterator[None]:
    """Turn errors about options into usage errors."""
    try:
        yield
    except (TypeError, ValueError) as error:
        if isinstance(error, (DataError, ModelError)):
            raise
        raise UsageError(str(error)) from None


def add_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing but errors")
