"""A scorer for the JSON that `cwlearn export --to json` writes, from the description in docs/guide/serving.md alone."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer


def answer(model: dict[str, Any], row: dict[int, float]) -> tuple[str | float, list[float]]:
    """Label and probabilities of a row, or prediction and nothing."""
    place = {column: number for number, column in enumerate(model["columns"])}
    bias, blocks = model["bias"], len(model["intercept"])
    scores = [weight * bias for weight in model["intercept"]]
    variance, square = model["intercept_variance"] * bias**2, bias**2
    for column, value in sorted(row.items()):
        x = float(np.dtype(model["dtype"]).type(value))
        square += x * x
        known = place.get(column)
        own = model["prior_variance"] if known is None or model["variances"] is None else model["variances"][known]
        variance += own * x * x
        if known is not None:
            scores = [score + weight * x for score, weight in zip(scores, model["weights"][known], strict=True)]
    if model["task"] == "regression":
        return scores[0], []
    link = model["link"]
    unit = {"nothing": 1.0, "deviation": math.sqrt(variance), "length": math.sqrt(square)}[link["divisor"]]
    if blocks == 1:
        odds = link["slope"] * scores[0] / unit + link["shift"] if unit else link["shift"]
        chances = [1 / (1 + math.exp(odds)), 1 / (1 + math.exp(-odds))]
        return model["labels"][odds > link["cut"]], [link["noise"] / 2 + (1 - link["noise"]) * p for p in chances]
    powers = [math.exp(link["slope"] * (score - max(scores)) / (unit or 1)) for score in scores]
    return model["labels"][scores.index(max(scores))], [
        link["noise"] / blocks + (1 - link["noise"]) * power / sum(powers) for power in powers
    ]


def row_of(model: dict[str, Any], text: str) -> dict[int, float]:
    """The row of a text."""
    options = model["documents"]
    names = ("analyzer", "lowercase", "strip_accents", "stop_words")
    counter = HashingVectorizer(
        **{name: options[name] for name in names},
        token_pattern=options["token_pattern"] if options["analyzer"] == "word" else None,
        ngram_range=tuple(options["ngram_range"]),
        n_features=2 ** options["hash_bits"],
        norm=None,
        alternate_sign=False,
    )
    counted = counter.transform([text])
    place = {column: number for number, column in enumerate(model["columns"])}
    row = {}
    for column, count in zip(counted.indices.tolist(), counted.data.tolist(), strict=True):
        value = {"count": count, "binary": 1.0, "log": 1 + math.log(count)}[options["weighting"]]
        if options["idf"]:
            value = float(np.dtype(model["dtype"]).type(value))
            documents = model["counts"][place[column]] if column in place else model["default_count"]
            value *= math.log((1 + model["n_documents"]) / (1 + documents)) + 1
        row[column] = value
    norms = {None: 1.0, "l1": sum(row.values()), "l2": math.sqrt(sum(value**2 for value in row.values()))}
    return {column: value / (norms[options["norm"]] or 1) for column, value in row.items()}
