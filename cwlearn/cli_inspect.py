"""`cwlearn inspect`."""

from __future__ import annotations

import argparse
import json
import math
from dataclasses import fields
from typing import Any

import numpy as np

from cwlearn import model_file
from cwlearn.cli_common import feature_names
from cwlearn.errors import listed, shown
from cwlearn.flags import checked, written
from cwlearn.learner import Learner
from cwlearn.options import COUNT
from cwlearn.state import LinearState, State

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
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> None:
    learner = model_file.load(arguments.model)
    names = _feature_names(arguments.names, learner)
    state = learner.predictor
    linear = isinstance(state, LinearState)
    weights = heaviest(learner, state, arguments.top, names) if isinstance(state, LinearState) else []
    tally = learner.tally
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
        "features": learner.state.n_features,
        "features_moved": features_moved(learner.state),
        "hash_bits": learner.hash_bits,
        "n_constraints": learner.training.n_constraints,
        "multiclass_update": learner.training.multiclass_update,
        "rows": tally["rows"],
        "updates": tally["updates"],
        "mistakes": tally["mistakes"] if len(learner.classes) else None,
        "unsolved_updates": tally["unsolved"],
        "progressive_error": learner.progressive_error(),
        "noise_deviation": None if len(learner.classes) else math.sqrt(learner.scale * learner.noise),
        "intercept": state.mean[0].tolist() if isinstance(state, LinearState) else None,
        "unfinished": learner.unfinished,
        "weights": weights,
    }
    if arguments.json:
        print(json.dumps(facts, allow_nan=False))
        return
    parameters = ", ".join(f"{name} {written(value)}" for name, value in facts["parameters"].items())
    print(f"{shown(arguments.model)}: {facts['algorithm']} ({parameters}), {facts['dtype']}")
    if learner.unfinished is not None:
        print(f"a checkpoint after {learner.unfinished['done']:,} rows of an unfinished run")
    if learner.kernel is not None:
        print(f"kernel     {', '.join(f'{name} {written(value)}' for name, value in facts['kernel'].items())}")
    print(f"labels     {listed(facts['labels'])}" if facts["labels"] else "task       regression")
    hashed = f", hashed to {learner.hash_bits} bits" if learner.hash_bits else ""
    moved = f", {facts['features_moved']:,} of them moved by an update" if linear else ""
    print(f"features   {facts['features']:,}{moved}{hashed}")
    error = facts["progressive_error"]
    print(f"learned    {tally['rows']:,} rows, {tally['updates']:,} updates, progressive error {error:.4f}")
    if learner.several:
        print(f"constraints {facts['n_constraints'] or 'all'}, {facts['multiclass_update']}")
    if facts["noise_deviation"] is not None:
        print(f"noise      {facts['noise_deviation']:.4g} (standard deviation)")
    if linear:
        intercepts = np.atleast_1d(facts["intercept"]).tolist()
        print(f"intercept  {listed([f'{value:+.4f}' for value in intercepts])}")
    if weights:
        width = max(7, *(len(weight["name"]) for weight in weights))
        label = "  label" if facts["labels"] else ""
        print(f"\n{'feature':>{width}} {'weight':>10} {'deviation':>10}{label}")
        for weight in weights:
            label = f"  {weight['label']}" if facts["labels"] else ""
            print(f"{weight['name']:>{width}} {weight['weight']:+10.4f} {weight['deviation']:10.4f}{label}")


def kernel_facts(learner: Learner) -> dict[str, Any] | None:
    """The options of a kernel, with gamma as the rows have settled it, and how many of them are kept."""
    if learner.kernel is None:
        return None
    state: Any = learner.state
    options = {item.name: getattr(learner.kernel, item.name) for item in fields(learner.kernel)}
    return {**options, "gamma": state.gamma or options["gamma"], "kept_rows": len(state.kept)}


def features_moved(state: State) -> int | None:
    """Features of which a weight is not as it was in the beginning."""
    if not isinstance(state, LinearState):
        return None
    return int(state.touched[1:].reshape(state.n_features, state.blocks).any(axis=1).sum())


def heaviest(learner: Learner, state: LinearState, most: int, names: Any) -> list[dict[str, Any]]:
    """The weights farthest from 0; with more than two labels, of each of them."""
    scale = learner.scale if learner.rule.task == "regression" else 1.0  # to the unit of the targets
    mean, variance = (part[1:].reshape(state.n_features, state.blocks) for part in (state.mean, state.variance))
    weights = []
    for block in range(state.blocks):
        column = mean[:, block].astype(float)
        for j in np.argsort(-np.abs(column), kind="stable")[:most].tolist():
            if column[j]:
                weights.append(
                    {
                        "feature": j,
                        "name": names(j),
                        "label": _label_of(learner, block, column[j]),
                        "weight": float(column[j]),
                        "deviation": math.sqrt(scale * float(variance[j, block])),
                    }
                )
    return weights


def _label_of(learner: Learner, block: int, weight: float) -> str | None:
    """The label that a weight speaks for."""
    names = learner.label_names
    return None if not names else names[block if learner.several else int(weight > 0)]


def _feature_names(path: str | None, learner: Learner) -> Any:
    """A function from a column to its name: from a file with one name a line, the first being that of index 1."""
    if path is not None:
        names = feature_names(path)
        return lambda column: names[column] if column < len(names) else str(column)
    if learner.feature_names is not None:
        own = learner.feature_names
        return lambda column: own[column]
    return str
