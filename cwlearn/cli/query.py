"""`cwlearn query`."""

from __future__ import annotations

import argparse
import time
from typing import Any

from cwlearn.cli.common import check_paths
from cwlearn.cli.flags import checked
from cwlearn.cli.scoring import add_data_flags, batches_to_score, load_for_scoring
from cwlearn.core.parameters import COUNT
from cwlearn.core.queries import Pool, certainty
from cwlearn.core.rows import Rows
from cwlearn.errors import DataError, shown
from cwlearn.text.batch import Batch
from cwlearn.text.sources import Source
from cwlearn.utils.messages import put, put_json

EXAMPLE = """\
  cwlearn query new.jsonl -m reviews.npz -n 20          numbers, best first
  cwlearn query new.jsonl -m reviews.npz -n 20 --show   and the rows themselves"""


def add_flags(parser: argparse.ArgumentParser) -> None:
    add_data_flags(parser)
    parser.add_argument(
        "-n", "--questions", type=checked(COUNT), default=100, metavar="N", help="how many rows; 100 by default"
    )
    parser.add_argument("--show", action="store_true", help="print each row behind its number")
    parser.add_argument("--no-labels", action="store_true", help="lines begin with a feature, not with a label")


def run(arguments: argparse.Namespace) -> None:
    check_paths(arguments.data)
    learner = load_for_scoring(arguments)
    start = time.perf_counter()
    pool, n_rows = Pool(arguments.questions), 0
    for batch, rows in batches_to_score(learner, arguments, labelled=not arguments.no_labels, needs_labels=False):
        # As they are in the file: features that are new to the model differ from each other.
        own = Rows(rows.indptr, batch.rows.indices, rows.values, rows.squares, batch.rows.n_features)
        pool.add(own, certainty(learner, rows), lambda row, batch=batch: _note(batch, row))  # type: ignore[misc]
        n_rows += rows.n_rows
    if not n_rows:
        raise DataError("no examples", Source(arguments.data[0]).name)
    chosen = pool.chosen(learner)
    if arguments.json:
        queries = [{"row": row + 1, "certainty": value, **note} for row, value, note in chosen]
        put_json({"rows": n_rows, "queries": queries, "seconds": time.perf_counter() - start})
        return
    for row, _, note in chosen:
        put(f"{row + 1} {shown(note['record'])}" if arguments.show else str(row + 1))


def _note(batch: Batch, row: int) -> dict[str, Any]:
    """Where a row stands, and what is there."""
    of_table = batch.chunk.of_table
    record = batch.record_of(row).rstrip(b"\r\n").decode("utf-8", "backslashreplace")
    return {
        "file": batch.chunk.source.name,
        "line": None if of_table else batch.line_of(row),
        "record": record,
    }
