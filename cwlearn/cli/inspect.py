"""`cwlearn inspect`."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cwlearn.cli.common import feature_names
from cwlearn.cli.flags import add_memory, checked, written
from cwlearn.core import model_file
from cwlearn.core.learner import Learner
from cwlearn.core.parameters import COUNT
from cwlearn.core.states.base import LinearState, Weights
from cwlearn.errors import listed, shown
from cwlearn.utils.messages import put, put_json

EXAMPLE = "  cwlearn inspect spam.npz --top 20 --names words.txt"


def add_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="file with the model")
    parser.add_argument(
        "--top",
        type=checked(COUNT),
        default=10,
        metavar="N",
        help="weights to show, of each label if there are more than two (default: 10)",
    )
    parser.add_argument("--names", metavar="FILE", help="names of the features, one a line, the first that of index 1")
    add_memory(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> None:
    with model_file.opened(arguments.model, getattr(arguments, "memory", None)) as model:
        learner, survey = model.learner, None
        if isinstance(learner.state, LinearState):  # read some at a time, as there may be many
            survey = Survey(learner, arguments.top)
            for some in learner.state.stored(model.n_features, model.arrays):
                survey.add(some)
        else:
            model.restored()
    names = _feature_names(arguments.names, learner)
    weights = [] if survey is None else survey.told(names)
    statistics = learner.statistics
    facts: dict[str, Any] = {
        "task": learner.rule.task,
        "algorithm": learner.rule.name,
        "parameters": {
            item.name: getattr(learner.rule, item.name)
            for item in sorted(fields(learner.rule), key=lambda item: bool(item.kw_only))
            if learner.kernel is None or item.name not in ("projection", "covariance")
        },
        "kernel": kernel_facts(learner),
        "dtype": learner.state.dtype.name,
        "initial_variance": learner.training.initial_variance,
        "labels": learner.label_names,
        "features": model.n_features,
        "features_moved": None if survey is None else survey.features_moved,
        "hash_bits": learner.hash_bits,
        "n_constraints": learner.training.n_constraints,
        "multiclass_update": learner.training.multiclass_update,
        "rows": statistics["rows"],
        "updates": statistics["updates"],
        "mistakes": statistics["mistakes"] if len(learner.classes) else None,
        "unsolved_updates": statistics["unsolved"],
        "progressive_error": learner.progressive_error(),
        "noise_deviation": None if len(learner.classes) else math.sqrt(learner.scale * learner.noise),
        "intercept": None if survey is None else survey.intercept,
        "unfinished": learner.unfinished,
        "weights": weights,
    }
    if arguments.json:
        put_json(facts)
        return
    parameters = ", ".join(f"{name} {written(value)}" for name, value in facts["parameters"].items())
    put(f"{shown(arguments.model)}: {facts['algorithm']} ({parameters}), {facts['dtype']}")
    if learner.unfinished is not None:
        put(f"a checkpoint after {learner.unfinished['done']:,} rows of an unfinished run")
    if learner.kernel is not None:
        put(f"kernel     {', '.join(f'{name} {written(value)}' for name, value in facts['kernel'].items())}")
    put(f"labels     {listed(facts['labels'])}" if facts["labels"] else "task       regression")
    hashed = f", hashed to {learner.hash_bits} bits" if learner.hash_bits else ""
    moved = f", {facts['features_moved']:,} of them moved by an update" if survey else ""
    put(f"features   {facts['features']:,}{moved}{hashed}")
    error = facts["progressive_error"]
    put(f"learned    {statistics['rows']:,} rows, {statistics['updates']:,} updates, progressive error {error:.4f}")
    if learner.several:
        put(f"constraints {facts['n_constraints'] or 'all'}, {facts['multiclass_update']}")
    if facts["noise_deviation"] is not None:
        put(f"noise      {facts['noise_deviation']:.4g} (standard deviation)")
    if survey:
        intercepts = np.atleast_1d(facts["intercept"]).tolist()
        put(f"intercept  {listed([f'{value:+.4f}' for value in intercepts])}")
    if weights:
        names = [shown(weight["name"]) for weight in weights]
        width = max(7, *map(len, names))
        label = "  label" if facts["labels"] else ""
        put()
        put(f"{'feature':>{width}} {'weight':>10} {'deviation':>10}{label}")
        for name, weight in zip(names, weights, strict=True):
            label = f"  {weight['label']}" if facts["labels"] else ""
            put(f"{name:>{width}} {weight['weight']:+10.4f} {weight['deviation']:10.4f}{label}")


def kernel_facts(learner: Learner) -> dict[str, Any] | None:
    """The options of a kernel, with gamma as the rows have settled it, and how many of them are kept."""
    if learner.kernel is None:
        return None
    state: Any = learner.state
    options = {item.name: getattr(learner.kernel, item.name) for item in fields(learner.kernel)}
    return {**options, "gamma": state.gamma or options["gamma"], "kept_rows": len(state.kept)}


class Survey:
    """What is told of the weights of a model: how many features were moved, the intercept, and the weights farthest
    from 0, of equal ones the first; with more than two labels, of each label."""

    def __init__(self, learner: Learner, most: int) -> None:
        self._learner, self._most = learner, most
        self.features_moved = 0  # of which a weight is not as it was in the beginning
        self._last_moved = 0
        blocks = learner.state.blocks
        self._intercepts: NDArray[Any] = np.zeros(blocks, learner.state.dtype)
        self._heavier_than = np.zeros(blocks)  # what is not cannot be among the heaviest of its label any more
        self._labels, self._lines = np.empty((2, 0), np.int64)  # of the heaviest so far, label by label
        self._means, self._variances = np.empty((2, 0))

    def add(self, weights: Weights) -> None:
        """Heed some weights, which must come in the order of their places; line 0 of each label is its intercept."""
        learner = self._learner
        lines, labels = np.divmod(weights.places, learner.state.blocks)
        self._count_moved(lines[weights.touched(learner.state.prior_variance)])
        if learner.derives:
            learner.turn_into_predicting(learner.statistics, *weights[1:])
        first = lines == 0
        self._intercepts[labels[first]] = weights.mean[first]
        heavy = ~first & (np.abs(weights.mean) > self._heavier_than[labels])
        self._keep_heaviest(labels[heavy], lines[heavy], weights.mean[heavy], weights.variance[heavy])

    def _count_moved(self, lines: NDArray[np.int64]) -> None:
        lines = lines[lines > self._last_moved]  # the intercept is no feature, and the last one may have labels here
        if len(lines):
            self.features_moved += 1 + int(np.count_nonzero(np.diff(lines)))
            self._last_moved = int(lines[-1])

    def _keep_heaviest(self, *more: NDArray[Any]) -> None:
        if not len(more[0]):
            return
        known = (self._labels, self._lines, self._means, self._variances)
        labels, lines, means, variances = (np.concatenate(pair) for pair in zip(known, more, strict=True))
        order = np.lexsort((lines, -np.abs(means), labels))
        labels = labels[order]
        rank = np.arange(len(order)) - np.searchsorted(labels, labels)
        last = rank == self._most - 1
        self._heavier_than[labels[last]] = np.abs(means[order][last])
        order = order[rank < self._most]
        self._labels = labels[rank < self._most]
        self._lines, self._means, self._variances = lines[order], means[order], variances[order]

    @property
    def intercept(self) -> Any:
        """A number, or one for each label."""
        return self._intercepts.tolist() if self._learner.several else self._intercepts.tolist()[0]

    def told(self, names: Callable[[int], str]) -> list[dict[str, Any]]:
        """The heaviest weights, with the names of their features."""
        learner, labels = self._learner, self._learner.label_names
        scale = learner.scale if learner.rule.task == "regression" else 1.0  # to the unit of the targets
        parts = (self._labels, self._lines - 1, self._means, self._variances)
        return [
            {
                "feature": feature,
                "name": names(feature),
                "label": labels[block if learner.several else int(mean > 0)] if labels else None,
                "weight": mean,
                "deviation": math.sqrt(scale * variance),
            }
            for block, feature, mean, variance in zip(*(part.tolist() for part in parts), strict=True)
        ]


def _feature_names(path: str | None, learner: Learner) -> Any:
    """A function from a column to its name: from a file with one name a line, the first being that of index 1."""
    if path is not None:
        names = feature_names(path)
        return lambda column: names[column] if column < len(names) else str(column)
    if learner.feature_names is not None:
        own = learner.feature_names
        return lambda column: own[column]
    return str
