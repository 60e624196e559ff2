"""`cwlearn predict` and `cwlearn evaluate`."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from cwlearn import model_file
from cwlearn.atomic_file import check_writable, replace_file
from cwlearn.cli_paths import UsageError, check_paths
from cwlearn.errors import DataError
from cwlearn.flags import given
from cwlearn.labels import Labels
from cwlearn.learner import Learner
from cwlearn.measures import Measures
from cwlearn.rows import Rows
from cwlearn.svmlight import Batch, Reader, Reading
from cwlearn.terminal import Bar, say


def scored(learner: Learner, arguments: argparse.Namespace, labelled: bool) -> Iterator[tuple[Batch, Rows]]:
    """Batches, with their rows as the model has its columns.

    A feature that the model has never seen has the mean 0 and the variance of the prior.  It is counted, and scored
    with one cell that is added for all of them.
    """
    seen = learner.state.n_features
    learner.grow(seen + 1)
    reader = Reader(
        arguments.data,
        Reading(**given(arguments, Reading)),
        dtype=learner.training.dtype,
        labelled=labelled,
        hash_bits=learner.hash_bits,
        threads=getattr(arguments, "threads", None),
    )
    bar = Bar(arguments.quiet or arguments.json)
    unseen = bad = 0
    for batch in reader:
        rows = batch.rows
        for flaw in reader.skipped[bad:]:
            say(f"warning: {flaw}; line skipped")
        bad = len(reader.skipped)
        if rows.n_features > seen:
            unseen += int(np.count_nonzero(rows.indices >= seen))
            columns = np.minimum(rows.indices, seen).astype(np.int32 if seen < 2**31 else np.int64)
            rows = Rows(rows.indptr, columns, rows.values, rows.squares, seen + 1)
        yield batch, rows
        bar.move_to(batch.chunk.position)
    bar.close()
    if unseen and not arguments.quiet:
        say(f"{unseen:,} values are of features that the model has never seen; they add nothing to the score")


def predict(arguments: argparse.Namespace) -> None:
    learner = model_file.load(arguments.model)
    check_paths(arguments.data, arguments.output)
    if arguments.proba and not learner.rule.probabilistic:
        raise UsageError(f"a model of {learner.rule.name} has no probabilities; --margin has its margins")
    if arguments.json and arguments.output is None:
        raise UsageError("--json would mix with the predictions on standard output: add -o FILE")
    start = time.perf_counter()
    rows = 0

    def write(file: IO[bytes]) -> None:
        nonlocal rows
        if arguments.proba:
            file.write(f"labels {' '.join(learner.label_names)}\n".encode())
        for _, known in scored(learner, arguments, not arguments.no_labels):
            rows += known.n_rows
            file.write(_prediction_lines(learner, known, arguments))

    if arguments.output is None:
        if sys.stdout is None:
            raise OSError("standard output is closed")
        write(sys.stdout.buffer)
    else:
        check_writable(arguments.output)
        replace_file(arguments.output, write)
    if arguments.json:
        print(json.dumps({"rows": rows, "output": arguments.output, "seconds": time.perf_counter() - start}))


def _prediction_lines(learner: Learner, rows: Rows, arguments: argparse.Namespace) -> bytes:
    mean, variance = learner.margins(rows)
    scores = learner.rule.score(mean, variance)
    lines = [learner.label_names[code] for code in (scores > 0).astype(int).tolist()]
    more: list[NDArray[np.float64]] = []
    if arguments.proba:
        more = list(learner.probabilities(scores).T)
    elif arguments.margin:
        more = [mean, variance]
    for column in more:
        lines = [f"{line} {number:.9g}" for line, number in zip(lines, column.tolist(), strict=True)]
    return "".join(line + "\n" for line in lines).encode()


def evaluate(arguments: argparse.Namespace) -> None:
    learner = model_file.load(arguments.model)
    check_paths(arguments.data, None)
    measures = Measures(learner.label_names)
    labels = Labels(dict(zip(map(float, learner.classes.tolist()), learner.label_names, strict=True)))
    probabilistic = learner.rule.probabilistic
    start = time.perf_counter()
    for batch, rows in scored(learner, arguments, labelled=True):
        labels.meet(batch)
        scores = learner.scores(rows)
        true = (learner.encode(batch.labels) > 0).astype(np.int64)
        measures.add(true, (scores > 0).astype(np.int64), learner.probabilities(scores) if probabilistic else None)
    report = measures.summary(probabilistic)
    if not report["rows"]:
        raise DataError("no examples", arguments.data[0])
    if arguments.json:
        print(json.dumps({**report, "seconds": time.perf_counter() - start}))
    else:
        _print_evaluation(report)


def _print_evaluation(report: dict[str, Any]) -> None:
    def percent(part: float | None) -> str:
        return "-" if part is None else f"{100 * part:.2f} %"

    print(f"error {percent(report['error'])} ({report['mistakes']:,} of {report['rows']:,} rows)")
    print(f"\n{'label':>10} {'rows':>10} {'precision':>10} {'recall':>10}")
    for name, of in report["labels"].items():
        print(f"{name:>10} {of['rows']:10,} {percent(of['precision']):>10} {percent(of['recall']):>10}")
    if report["log_loss"] is not None:
        print(f"\nlog loss {report['log_loss']:.4f}, calibration error {report['calibration_error']:.4f}")
        print(f"{'predicted':>10} {'correct':>10} {'rows':>10}")
        for line in report["calibration"]:
            print(f"{percent(line['predicted']):>10} {percent(line['correct']):>10} {line['rows']:10,}")
