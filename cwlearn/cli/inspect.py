"""`cwlearn inspect`."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cwlearn.cli.common import name_function
from cwlearn.cli.flags import add_memory, checked, written
from cwlearn.core import model_file
from cwlearn.core.calibration import Calibration
from cwlearn.core.learner import Learner
from cwlearn.core.parameters import COUNT
from cwlearn.core.states.base import LinearState, Weights
from cwlearn.core.weights import heaviest
from cwlearn.errors import UsageError, listed, shown
from cwlearn.utils.messages import put, put_json

EXAMPLE = """\
  cwlearn inspect reviews.npz --top 20               words, if they are kept
  cwlearn inspect reviews.npz --names-from r.jsonl   words, from documents
  cwlearn inspect spam.npz --names words.txt         names from a list"""


def add_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="file with the model")
    parser.add_argument(
        "--top",
        type=checked(COUNT),
        default=10,
        metavar="N",
        help="how many of the heaviest weights to print; with more than two labels, or several a row, for each label. "
        "Default: 10",
    )
    parser.add_argument(
        "--names", metavar="FILE", help="file with the names of the features, one in each line, the first for index 1"
    )
    parser.add_argument(
        "--names-from",
        metavar="DATA",
        help="documents in which to look for the words behind the heaviest columns, if the model has learned documents",
    )
    add_memory(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> None:
    with model_file.opened(arguments.model, getattr(arguments, "memory", None)) as model:
        learner, summary = model.learner, None
        if isinstance(learner.state, LinearState):  # there may be many weights: read some at a time
            summary = WeightSummary(learner, arguments.top)
            for weights in learner.state.stored(model.n_features, model.arrays):
                summary.add(weights)
        else:
            model.restored()
    if arguments.names_from is not None:
        _find_words(learner, summary, arguments.names_from)
    facts = _facts(learner, model.n_features, summary, name_function(arguments.names, learner))
    if arguments.json:
        put_json(facts)
        return
    _print_facts(arguments.model, learner, facts)
    if facts["weights"]:
        put()
        _print_weights(facts["weights"], with_labels=bool(facts["labels"]))


def _find_words(learner: Learner, summary: WeightSummary | None, path: str) -> None:
    """Find the words behind the columns that are printed."""
    from cwlearn.text.naming import words_of  # which a model alone does not need
    from cwlearn.text.reader import Reader

    if learner.documents is None or summary is None:
        raise UsageError("--names-from is for a model of documents, and this one has learned rows of numbers")
    columns = np.unique(summary.columns)
    reader = Reader(path, labelled=False, documents=learner.documents, only_documents=True, hash_bits=learner.hash_bits)
    learner.words = words_of(reader, columns)


def _facts(
    learner: Learner, n_features: int, summary: WeightSummary | None, name_of: Callable[[int], str]
) -> dict[str, Any]:
    """What there is to say about a model, as --json prints it."""
    statistics = learner.statistics
    return {
        "task": learner.task,
        "algorithm": learner.rule.name,
        "parameters": {
            item.name: getattr(learner.rule, item.name)
            for item in sorted(fields(learner.rule), key=lambda item: bool(item.kw_only))
            if learner.kernel is None or item.name not in ("projection", "covariance")
        },
        "kernel": _kernel_facts(learner),
        "dtype": learner.state.dtype.name,
        "initial_variance": learner.training.initial_variance,
        "labels": learner.label_names,
        "features": n_features,
        "features_moved": None if summary is None else summary.features_moved,
        "nonzero_weights": None if summary is None else summary.nonzero_weights,
        "hash_bits": learner.hash_bits,
        "documents": learner.documents and learner.documents.record(),
        "n_constraints": learner.training.n_constraints,
        "multiclass_update": learner.training.multiclass_update,
        "rows": statistics["rows"],
        "updates": statistics["updates"],
        "mistakes": statistics["mistakes"] if len(learner.classes) else None,
        "unsolved_updates": statistics["unsolved"],
        "progressive_error": learner.progressive_error(),
        "calibration": None if learner.multilabel else _calibration_facts(learner, learner.calibration),
        "calibrations": _calibrations(learner) if learner.multilabel else None,
        "noise_deviation": None if len(learner.classes) else math.sqrt(learner.scale * learner.noise),
        "intercept": None if summary is None else summary.intercept,
        "unfinished": learner.unfinished,
        "weights": [] if summary is None else summary.heaviest(name_of),
    }


def _calibrations(learner: Learner) -> dict[str, Any]:
    """The calibration of each label, if a row may have several."""
    known = zip(learner.label_names, learner.calibrations, strict=True)
    return {name: _calibration_facts(learner, calibration) for name, calibration in known}


def _calibration_facts(learner: Learner, known: Calibration | None) -> dict[str, Any] | None:
    """What the probabilities are fitted to; None without a calibration."""
    if known is None:
        return None
    return {
        "rows": known.rows,
        "held_back": bool(known.settled),
        "uses": "margin / deviation" if known.uses_deviation else "margin",
        "slope": known.line[0],
        "shift": None if learner.several else known.line[1],
        "noise": known.best.noise,
        "log_loss": known.best.loss,
    }


def _kernel_facts(learner: Learner) -> dict[str, Any] | None:
    """The options of a kernel, with the gamma that was chosen, and the number of rows that are kept."""
    if learner.kernel is None:
        return None
    state: Any = learner.state
    options = {item.name: getattr(learner.kernel, item.name) for item in fields(learner.kernel)}
    return {**options, "gamma": state.gamma or options["gamma"], "kept_rows": len(state.kept)}


def _print_facts(path: str, learner: Learner, facts: dict[str, Any]) -> None:
    put(f"{shown(path)}: {facts['algorithm']} ({_named_values(facts['parameters'])}), {facts['dtype']}")
    if learner.unfinished is not None:
        put(f"a checkpoint after {learner.unfinished['done']:,} rows of an unfinished run")
    if facts["kernel"] is not None:
        put(f"kernel     {_named_values(facts['kernel'])}")
    put(f"labels     {listed(facts['labels'])}" if facts["labels"] else "task       regression")
    hashed = f", hashed to {learner.hash_bits} bits" if learner.hash_bits else ""
    moved = "" if facts["features_moved"] is None else f", {facts['features_moved']:,} of them moved by an update"
    put(f"features   {facts['features']:,}{moved}{hashed}")
    if learner.rule.sums_gradients:
        put(f"weights    {facts['nonzero_weights']:,} of them are not 0")
    if learner.documents is not None:
        options = {item.name: getattr(learner.documents, item.name) for item in fields(learner.documents)}
        put(f"documents  {_named_values({name: value for name, value in options.items() if value not in (None, ())})}")
    error = learner.progressive_error_text()
    put(f"learned    {facts['rows']:,} rows, {facts['updates']:,} updates, progressive error {error}")
    if learner.multilabel:
        put(f"several    labels a row: {len(facts['labels']):,}, each with a calibration of its own")
    elif facts["labels"]:
        put(f"calibrated {_calibration_line(facts['calibration'])}")
    if learner.several:
        put(f"several    constraints {facts['n_constraints'] or 'all'}, {facts['multiclass_update']}")
    if facts["noise_deviation"] is not None:
        put(f"noise      {facts['noise_deviation']:.4g} (standard deviation)")
    if facts["intercept"] is not None:
        intercepts = np.atleast_1d(facts["intercept"]).tolist()
        put(f"intercept  {listed([f'{value:+.4f}' for value in intercepts])}")


def _calibration_line(facts: dict[str, Any] | None) -> str:
    if facts is None:
        return "no: the probabilities are those of the sign of the score"
    rows = f"{facts['rows']:,} rows {'held back at first' if facts['held_back'] else 'before they were learned'}"
    shift = "" if facts["shift"] is None else f", shift {facts['shift']:+.3f}"
    line = f"slope {facts['slope']:.4g}{shift}, noise {facts['noise']:.2%}"
    return f"on {rows}, by {facts['uses']}, {line}, log loss {facts['log_loss']:.4f}"


def _named_values(values: dict[str, Any]) -> str:
    return ", ".join(f"{name} {written(value)}" for name, value in values.items())


def _print_weights(weights: list[dict[str, Any]], with_labels: bool) -> None:
    names = [shown(weight["name"]) for weight in weights]
    width = max(7, *map(len, names))
    known = any(weight["deviation"] is not None for weight in weights)
    columns = ["weight", *(["deviation"] if known else [])]
    put(f"{'feature':>{width}}{''.join(f' {name:>10}' for name in columns)}{'  label' if with_labels else ''}")
    for name, weight in zip(names, weights, strict=True):
        label = f"  {weight['label']}" if with_labels else ""
        deviation = f" {weight['deviation']:10.4f}" if known else ""
        put(f"{name:>{width}} {weight['weight']:+10.4f}{deviation}{label}")


class WeightSummary:
    """The number of features that were updated, the intercept, and the weights farthest from 0.

    Of equal weights, the first ones count.  With more than two labels, each label has its own heaviest weights.
    """

    def __init__(self, learner: Learner, n_heaviest: int) -> None:
        self._learner, self._n_heaviest = learner, n_heaviest
        self.features_moved = 0  # features with a weight that an update has changed
        self.nonzero_weights = 0  # without intercepts
        self._last_moved = 0
        blocks = learner.state.blocks
        self._intercepts: NDArray[Any] = np.zeros(blocks, learner.state.dtype)
        self._thresholds = np.zeros(blocks)  # by label; lighter weights cannot be among the heaviest any more
        self._labels, self._lines = np.empty((2, 0), np.int64)  # of the heaviest so far, label by label
        self._means, self._variances = np.empty((2, 0))

    def add(self, weights: Weights) -> None:
        """Take some weights into account; they must come in the order of their places.  Line 0 of each label is its
        intercept."""
        learner = self._learner
        lines, labels = np.divmod(weights.places, learner.state.blocks)
        self._count_moved(lines[weights.touched(learner.state.prior_variance)])
        if learner.derives:
            learner.turn_into_predicting(learner.statistics, *weights[1:])
        first = lines == 0
        self._intercepts[labels[first]] = weights.mean[first]
        self.nonzero_weights += int(np.count_nonzero(weights.mean[~first]))
        heavy = ~first & (np.abs(weights.mean) > self._thresholds[labels])
        self._keep_heaviest(labels[heavy], lines[heavy], weights.mean[heavy], weights.variance[heavy])

    def _count_moved(self, lines: NDArray[np.int64]) -> None:
        lines = lines[lines > self._last_moved]  # without the intercept, and features that are counted
        if len(lines):
            self.features_moved += 1 + int(np.count_nonzero(np.diff(lines)))
            self._last_moved = int(lines[-1])

    def _keep_heaviest(self, *more: NDArray[Any]) -> None:
        if not len(more[0]):
            return
        so_far = (self._labels, self._lines, self._means, self._variances)
        parts = [np.concatenate(pair) for pair in zip(so_far, more, strict=True)]
        kept = heaviest(parts[2], self._n_heaviest, parts[0])
        self._labels, self._lines, self._means, self._variances = (part[kept] for part in parts)
        counts = np.bincount(self._labels, minlength=len(self._thresholds))
        lightest = np.cumsum(counts) - 1  # of each label
        full = counts == self._n_heaviest
        self._thresholds[full] = np.abs(self._means[lightest[full]])

    @property
    def intercept(self) -> Any:
        """A number, or one for each label."""
        return self._intercepts.tolist() if self._learner.by_label else self._intercepts.tolist()[0]

    @property
    def columns(self) -> NDArray[np.int64]:
        """The columns of the heaviest weights."""
        return self._lines - 1

    def heaviest(self, name_of: Callable[[int], str]) -> list[dict[str, Any]]:
        """The heaviest weights, with the names of their features."""
        learner, labels = self._learner, self._learner.label_names
        scale = learner.scale if learner.rule.task == "regression" else 1.0  # to the unit of the targets
        parts = (self._labels, self._lines - 1, self._means, self._variances)
        return [
            {
                "feature": feature,
                "name": name_of(feature),
                "label": labels[block if learner.by_label else int(mean > 0)] if labels else None,
                "weight": mean,
                "deviation": math.sqrt(scale * variance) if learner.rule.second_order else None,
            }
            for block, feature, mean, variance in zip(*(part.tolist() for part in parts), strict=True)
        ]
