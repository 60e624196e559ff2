"""`cwlearn export`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cwlearn.cli.common import add_output, check_paths, warn_of_skipped_line
from cwlearn.cli.flags import add_memory, add_options, checked, given
from cwlearn.core import model_file
from cwlearn.core.learner import Learner
from cwlearn.core.parameters import COUNT
from cwlearn.errors import DataError, ModelError, UsageError
from cwlearn.export.scorer import Scorer
from cwlearn.text.batch import Batch
from cwlearn.text.labels import label_type_of
from cwlearn.text.reader import Reader, Reading
from cwlearn.text.sources import STDIN
from cwlearn.utils.atomic_file import check_writable, replaced_file
from cwlearn.utils.messages import put, put_json

KINDS = ("c", "js", "json", "onnx")
EXAMPLE = """\
  cwlearn export spam.npz --to c -o spam.c             a scorer of one file
  cwlearn export spam.npz --to js -o spam.js --keep 20000 --data test.jsonl"""


def add_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="file with the model")
    parser.add_argument("--to", required=True, choices=KINDS, metavar="KIND", help="c (C99), js, json or onnx")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="replace FILE in one step")
    parser.add_argument(
        "--keep", type=checked(COUNT), metavar="N", help="keep only the N columns that matter most for the scores"
    )
    parser.add_argument("--data", metavar="DATA", help="rows or documents on which the cost of --keep is measured")
    add_output(parser)
    group = parser.add_argument_group("reading of --data")
    add_options(group, Reading)
    add_memory(group)


def run(arguments: argparse.Namespace) -> None:
    if STDIN in (arguments.model, arguments.output):
        raise UsageError("models are read from files and scorers are written to files: - names none")
    if arguments.data is not None and arguments.keep is None:
        raise UsageError("--data measures the cost of --keep N: add it")
    check_paths([] if arguments.data is None else [arguments.data], [arguments.output], [arguments.model])
    check_writable(arguments.output)
    learner = model_file.load(arguments.model, getattr(arguments, "memory", None))
    try:
        scorer = Scorer.of(learner)
        whole, scorer = scorer, scorer if arguments.keep is None else scorer.pruned(arguments.keep)
        text = _exported(scorer, arguments.to)
    except DataError as error:
        raise ModelError(f"{arguments.model}: {error.what}") from None
    cost = None if arguments.data is None else _cost(learner, scorer, arguments)
    with replaced_file(arguments.output, keep=True) as file:
        file.write(text)
    report = {"output": arguments.output, "to": arguments.to, "bytes": len(text), "columns": len(scorer.columns)}
    report |= {"columns_of_the_model": len(whole.columns), "cost": cost}
    if arguments.json:
        put_json(report)
    elif not arguments.quiet:
        _print(report)


def _exported(scorer: Scorer, kind: str) -> bytes:
    """The file.  Each kind is imported only when it is asked for."""
    if kind == "onnx":
        from cwlearn.export.onnx_graph import onnx_bytes

        return onnx_bytes(scorer)
    if kind == "c":
        from cwlearn.export.c_source import c_source as source
    elif kind == "js":
        from cwlearn.export.js_source import js_source as source
    else:
        from cwlearn.export.json_source import json_source as source
    return source(scorer).encode("utf-8", "backslashreplace")


def _cost(learner: Learner, scorer: Scorer, arguments: argparse.Namespace) -> dict[str, Any]:
    """What is lost by pruning, on the given data."""
    from cwlearn.export.pruning import Cost, add_cost, pruned_learner  # which no other export needs

    reading, cost = Reading(**given(arguments, Reading)), Cost()
    pruned = pruned_learner(learner, scorer)
    for batch in _batches(learner, reading, arguments.data):
        rows = batch.rows
        if rows.n_features > learner.state.n_features:
            raise DataError(
                "has features that the model has never seen: measure the cost on data like those of the training",
                arguments.data,
            )
        truth = None if learner.rule.task == "regression" else _truth(learner, batch)
        for which, part in learner.parts(rows):
            add_cost(cost, learner, pruned, part, None if truth is None else truth[which])
    return cost.record()


def _batches(learner: Learner, reading: Reading, path: str) -> Iterator[Batch]:
    return iter(
        Reader(
            path,
            reading,
            dtype=learner.state.dtype,
            label_type=label_type_of(learner),
            optional_labels=True,
            hash_bits=learner.hash_bits,
            documents=learner.documents,
            only_documents=learner.documents is not None,
            on_skipped=warn_of_skipped_line,
        )
    )


def _truth(learner: Learner, batch: Batch) -> NDArray[np.int64]:
    """The numbers of the labels of a batch, -1 for those that the model does not know."""
    labelled = ~np.isnan(batch.labels)
    if batch.label_names is not None:
        numbers = {name: number for number, name in enumerate(learner.label_names)}
        known = np.array([*(numbers.get(name, -1) for name in batch.label_names), -1], np.int64)
        return known[np.where(labelled, batch.labels, -1).astype(np.int64)]
    places = np.minimum(np.searchsorted(learner.classes, batch.labels), len(learner.classes) - 1)
    return np.where(learner.classes[places] == batch.labels, places, -1).astype(np.int64)


def _print(report: dict[str, Any]) -> None:
    kept = f"{report['columns']:,} of {report['columns_of_the_model']:,} columns"
    put(f"{report['output']}: {report['to']}, {kept}, {report['bytes']:,} bytes")
    if (cost := report["cost"]) is None:
        return
    line = f"{cost['rows']:,} rows: {cost['changed']:,} get another label, probabilities change by up to "
    line += f"{cost['largest_change']:.3g}"
    if cost["labelled"]:
        before, after = (cost[name] / cost["labelled"] for name in ("mistakes", "mistakes_pruned"))
        line += f"; error {before:.4f} before, {after:.4f} after"
    put(line)
