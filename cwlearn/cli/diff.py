"""`cwlearn diff`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from cwlearn.cli.common import DATA_HELP, add_output, check_paths, name_function
from cwlearn.cli.flags import checked
from cwlearn.cli.scoring import add_reading_flags, batches_to_score
from cwlearn.core import model_file
from cwlearn.core.differences import Difference, check_comparable, difference
from cwlearn.core.explaining import percent
from cwlearn.core.learner import Learner
from cwlearn.core.parameters import COUNT
from cwlearn.core.rows import Rows
from cwlearn.errors import UsageError, shown
from cwlearn.text.scoring import ScoredColumns
from cwlearn.utils.messages import put, put_json

EXAMPLE = """\
  cwlearn diff old.npz new.npz                  the weights that moved most
  cwlearn diff old.npz new.npz test.jsonl       and the rows whose label changed
  cwlearn diff old.npz new.npz test.svm --json  as one JSON object"""


def add_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("old", metavar="OLD", help="file with a model")
    parser.add_argument("new", metavar="NEW", help="file with another one, such as the same after more rows")
    parser.add_argument("data", nargs="*", default=[], metavar="DATA", help=f"rows to answer with both: {DATA_HELP}")
    parser.add_argument(
        "--top",
        type=checked(COUNT),
        default=10,
        metavar="N",
        help="how many weights, and how many changed rows, to print. Default: 10",
    )
    parser.add_argument(
        "--names", metavar="FILE", help="file with the names of the features, one in each line, the first for index 1"
    )
    add_output(parser)
    add_reading_flags(parser)


def run(arguments: argparse.Namespace) -> None:
    check_paths(arguments.data)
    memory = getattr(arguments, "memory", None)
    old, new = model_file.load(arguments.old, memory), model_file.load(arguments.new, memory)
    check_comparable(old, new)
    if arguments.data and not len(old.classes):
        raise UsageError("DATA is for models with labels: a regression has none that could change")
    facts = _weight_facts(difference(old, new, arguments.top), arguments, old, new)
    facts["rows"] = facts["changed"] = facts["changes"] = None
    if arguments.data:
        facts["rows"], facts["changed"], facts["changes"] = _answers(old, new, arguments)
    if arguments.json:
        put_json(facts)
    else:
        _print(facts)


def _weight_facts(found: Difference, arguments: argparse.Namespace, old: Learner, new: Learner) -> dict[str, Any]:
    name_of, labels = name_function(arguments.names, new if new.words else old), old.label_names
    learned = [learner.statistics["rows"] for learner in (old, new)]
    return {
        "rows_learned": learned,
        "weights_moved": found.n_moved,
        "mean_deviations": found.mean_deviations,
        "weights": [
            {
                "feature": None if item.column < 0 else item.column,
                "name": "(intercept)" if item.column < 0 else name_of(item.column),
                "label": labels[item.block if old.several else int(item.new > item.old)] if labels else None,
                "old": item.old,
                "new": item.new,
                "deviations": item.deviations,
            }
            for item in found.most
        ],
    }


def _answers(old: Learner, new: Learner, arguments: argparse.Namespace) -> tuple[int, int, list[dict[str, Any]]]:
    """The number of rows, that of those whose label changed, and the first of them."""
    names, n_rows, n_changed = old.label_names, 0, 0
    changes: list[dict[str, Any]] = []
    columns = ScoredColumns(new)
    for batch, rows in batches_to_score(old, arguments, labelled=True, needs_labels=False):
        answers = [_chosen(learner, part) for learner, part in ((old, rows), (new, columns.of(batch.rows)))]
        n_rows += rows.n_rows
        for row, (before, after) in enumerate(zip(*answers, strict=True)):
            if before[0] == after[0]:
                continue
            n_changed += 1
            if len(changes) < arguments.top:
                changes.append(
                    {
                        "source": batch.chunk.source.name,
                        "line": batch.line_of(row),
                        "old": names[before[0]],
                        "new": names[after[0]],
                        "old_probability": before[1],
                        "new_probability": after[1],
                    }
                )
    return n_rows, n_changed, changes


def _chosen(learner: Learner, rows: Rows) -> Iterator[tuple[int, float | None]]:
    """The number of the predicted label of each row, and its chance, if the model has a calibration."""
    for _, part in learner.parts(rows):
        margins = learner.margins(part)
        numbers = learner.chosen(learner.scores(part, *margins)).tolist()
        if learner.calibration is None:
            yield from ((number, None) for number in numbers)
            continue
        chances = learner.probabilities(part, *margins)
        yield from ((number, float(chances[row, number])) for row, number in enumerate(numbers))


def _print(facts: dict[str, Any]) -> None:
    before, after = facts["rows_learned"]
    put(f"learned    {before:,} rows, and {after:,}")
    put(f"weights    {facts['weights_moved']:,} moved, by {facts['mean_deviations']:.3g} deviations on average")
    if facts["weights"]:
        names = [shown(item["name"]) for item in facts["weights"]]
        width = max(7, *map(len, names))
        with_labels = facts["weights"][0]["label"] is not None
        put()
        put(f"{'feature':>{width}} {'old':>10} {'new':>10} {'deviations':>10}{'  towards' if with_labels else ''}")
        for name, item in zip(names, facts["weights"], strict=True):
            label = f"  {item['label']}" if with_labels else ""
            put(f"{name:>{width}} {item['old']:+10.4f} {item['new']:+10.4f} {item['deviations']:+10.2f}{label}")
    if facts["rows"] is None:
        return
    put()
    put(f"answers    {facts['changed']:,} of {facts['rows']:,} rows have another label now")
    for item in facts["changes"]:
        chances = [item["old_probability"], item["new_probability"]]
        old, new = (f"{item[side]}{'' if chance is None else ' ' + percent(chance)}" for side, chance in
                    zip(("old", "new"), chances, strict=True))  # fmt: skip
        put(f"{shown(item['source'])}:{item['line']}: {old} -> {new}")
    if facts["changed"] > len(facts["changes"]):
        put(f"and {facts['changed'] - len(facts['changes']):,} more")
