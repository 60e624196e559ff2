"""`cwlearn inspect`."""

from __future__ import annotations

import argparse
import json
from dataclasses import fields
from typing import Any

import numpy as np

from cwlearn import model_file
from cwlearn.errors import shown
from cwlearn.flags import checked, written
from cwlearn.learner import Learner
from cwlearn.options import COUNT

EXAMPLE = "  cwlearn inspect spam.npz --top 20 --names words.txt"


def add_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="file with the model")
    parser.add_argument("--top", type=checked(COUNT), default=10, metavar="N", help="weights to show (default: 10)")
    parser.add_argument("--names", metavar="FILE", help="names of the features, one a line, the first that of index 1")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> None:
    learner = model_file.load(arguments.model)
    names = _feature_names(arguments.names, learner)
    state = learner.predictor
    mean, deviation = state.mean[1:].astype(float), np.sqrt(state.variance[1:].astype(float))
    top = np.argsort(-np.abs(mean), kind="stable")[: arguments.top]
    weights = [
        {
            "feature": int(j),
            "name": names(int(j)),
            "label": learner.label_names[int(mean[j] > 0)],
            "weight": float(mean[j]),
            "deviation": float(deviation[j]),
        }
        for j in top.tolist()
        if mean[j]
    ]
    tally = learner.tally
    facts: dict[str, Any] = {
        "algorithm": learner.rule.name,
        "parameters": {item.name: getattr(learner.rule, item.name) for item in fields(learner.rule)},
        "dtype": learner.training.dtype,
        "initial_variance": learner.training.initial_variance,
        "labels": learner.label_names,
        "features": learner.state.n_features,
        "features_moved": int((learner.state.cells[1:] != (0, learner.state.initial_variance)).any(axis=1).sum()),
        "hash_bits": learner.hash_bits,
        "rows": tally["rows"],
        "updates": tally["updates"],
        "mistakes": tally["mistakes"],
        "intercept": float(state.mean[0]),
        "unfinished": learner.unfinished,
        "weights": weights,
    }
    if arguments.json:
        print(json.dumps(facts))
        return
    parameters = ", ".join(f"{name} {written(value)}" for name, value in facts["parameters"].items())
    print(f"{shown(arguments.model)}: {facts['algorithm']} ({parameters}), {facts['dtype']}")
    if learner.unfinished is not None:
        print(f"a checkpoint after {learner.unfinished['done']:,} rows of an unfinished run")
    print(f"labels     {' '.join(facts['labels'])}")
    hashed = f", hashed to {learner.hash_bits} bits" if learner.hash_bits else ""
    print(f"features   {facts['features']:,}, {facts['features_moved']:,} of them moved by an update{hashed}")
    error = tally["mistakes"] / max(1, tally["rows"])
    print(f"learned    {tally['rows']:,} rows, {tally['updates']:,} updates, progressive error {error:.4f}")
    print(f"intercept  {facts['intercept']:+.4f}")
    if weights:
        width = max(len(weight["name"]) for weight in weights)
        print(f"\n{'feature':>{max(width, 7)}} {'weight':>10} {'deviation':>10}  label")
        for weight in weights:
            print(
                f"{weight['name']:>{max(width, 7)}} {weight['weight']:+10.4f} {weight['deviation']:10.4f}  "
                f"{weight['label']}"
            )


def _feature_names(path: str | None, learner: Learner) -> Any:
    """A function from a column to its name: from a file with one name a line, the first being that of index 1."""
    if path is not None:
        with open(path, encoding="utf-8", errors="backslashreplace") as file:
            lines = file.read().splitlines()
        return lambda column: lines[column - 1] if 1 <= column <= len(lines) else str(column)
    if learner.feature_names is not None:
        own = learner.feature_names
        return lambda column: own[column]
    return str
