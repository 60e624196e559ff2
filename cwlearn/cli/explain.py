"""`cwlearn explain`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator

from cwlearn.cli.common import check_paths, name_function
from cwlearn.cli.flags import checked
from cwlearn.cli.scoring import add_data_flags, batches_to_score, load_for_scoring
from cwlearn.core.explaining import LONGEST_ON_PAGE, TOP, Explanation
from cwlearn.core.parameters import COUNT
from cwlearn.core.states.base import LinearState
from cwlearn.errors import UsageError, shown
from cwlearn.text.explaining import explain_row_of_batch
from cwlearn.utils.atomic_file import check_writable, replaced_file
from cwlearn.utils.messages import put, put_colored, put_json

EXAMPLE = """\
  cwlearn explain new.jsonl -m reviews.npz                the words that count
  cwlearn explain new.jsonl -m reviews.npz --html a.html  documents, shaded
  cwlearn explain new.svm -m spam.npz --json --top 3      a line of JSON a row"""
LONGEST = 2000  # characters of a document on a terminal
STRONG = 0.25  # words that add this part of the strongest one, or more, are bold
COLORS = {True: "32", False: "31"}  # green speaks for the answer, red against it


def add_flags(parser: argparse.ArgumentParser) -> None:
    add_data_flags(parser)
    parser.add_argument(
        "--top",
        type=checked(COUNT),
        default=TOP,
        metavar="N",
        help=f"how many features of each row to print, those that matter most. Default: {TOP}",
    )
    parser.add_argument(
        "--html", metavar="FILE", help="write a page of the documents with their words shaded, instead of text"
    )
    parser.add_argument(
        "--names", metavar="FILE", help="file with the names of the features, one in each line, the first for index 1"
    )
    parser.add_argument("--no-labels", action="store_true", help="lines begin with a feature, not with a label")


def run(arguments: argparse.Namespace) -> None:
    check_paths(arguments.data, [arguments.html], [arguments.model])
    if arguments.html is not None and arguments.json:
        raise UsageError("--html and --json are two forms of the same: give one of them")
    if arguments.html is not None:
        check_writable(arguments.html)
    colored = arguments.html is None and not arguments.json and uses_color()
    found = _explanations(
        arguments, in_pieces=LONGEST if colored else LONGEST_ON_PAGE if arguments.html is not None else 0
    )
    if arguments.html is not None:
        _write_page(arguments, found)
        return
    for source, line, explanation in found:
        if arguments.json:
            put_json({"source": source, "line": line, **explanation.record()})
        else:
            _print(f"{shown(source)}:{line}: ", explanation, colored)


def uses_color() -> bool:
    """Whether standard output is a terminal, and its user wants colours (no-color.org)."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _explanations(arguments: argparse.Namespace, *, in_pieces: int) -> Iterator[tuple[str, int, Explanation]]:
    """Every row of the data, with its file and line."""
    learner = load_for_scoring(arguments)
    if not isinstance(learner.state, LinearState):
        raise UsageError("a kernel model has no weights by feature, hence no contributions")
    name_of = name_function(arguments.names, learner)
    labelled = not arguments.no_labels
    for batch, rows in batches_to_score(learner, arguments, labelled=labelled, needs_labels=False):
        for row in range(rows.n_rows):
            explanation = explain_row_of_batch(learner, batch, row, rows, name_of, arguments.top, in_pieces=in_pieces)
            yield batch.chunk.source.name, batch.line_of(row), explanation


def _print(place: str, explanation: Explanation, colored: bool) -> None:
    put(place + explanation.headline)
    if colored and explanation.pieces:
        put_colored([("  ", ""), *_colored_document(explanation)])
    for line in explanation.lines():
        put("  " + line)
    put()


def _colored_document(explanation: Explanation) -> Iterator[tuple[str, str]]:
    """The document on one line, in parts, each with the code of its colour."""
    largest, length = max(abs(piece.amount or 0.0) for piece in explanation.pieces), 0
    for text, amount in explanation.pieces:
        plain = text.replace("\r", "").replace("\n", " ").replace("\t", " ")[: LONGEST - length]
        length += len(plain)
        bold = "1;" if abs(amount or 0.0) >= STRONG * largest else ""
        yield plain, f"{bold}{COLORS[amount > 0]}" if amount else ""
        if length >= LONGEST:
            yield " ...", ""
            return


def _write_page(arguments: argparse.Namespace, found: Iterator[tuple[str, int, Explanation]]) -> None:
    from cwlearn.core.explanation_page import page  # which a terminal does not need

    items = [(f"{source}, line {line}", explanation) for source, line, explanation in found]
    text = page(f"Why {arguments.model} answers so", items)
    with replaced_file(arguments.html, keep=True) as file:
        file.write(text.encode("utf-8", "backslashreplace"))
    if not arguments.quiet:
        put(f"{len(items):,} rows explained in {shown(arguments.html)}")
