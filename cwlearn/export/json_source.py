"""A model as one JSON object, whose layout docs/guide/serving.md describes."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import numpy as np

from cwlearn._version import __version__
from cwlearn.core.text_options import TOKENS
from cwlearn.export.scorer import Scorer

FORMAT, VERSION = "cwlearn scorer", 1


def json_source(scorer: Scorer) -> str:
    """The object, in one line for each of its fields."""
    lines = (f"{json.dumps(name)}: {json.dumps(value, allow_nan=False)}" for name, value in _fields(scorer).items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _fields(scorer: Scorer) -> dict[str, Any]:
    documents = None
    if scorer.documents is not None:
        documents = {**TOKENS, **asdict(scorer.documents), "hash_bits": scorer.hash_bits}
    return {
        "format": FORMAT,
        "version": VERSION,
        "written_by": __version__,
        "task": scorer.task,
        "labels": scorer.labels,
        "n_features": scorer.n_features,
        "dtype": str(scorer.dtype),
        "bias": scorer.bias,
        "link": {name: getattr(scorer, name) for name in ("slope", "shift", "noise", "cut", "divisor")},
        "prior_variance": scorer.prior_variance,
        "intercept": scorer.intercept.tolist(),
        "intercept_variance": scorer.intercept_variance,
        "hash_bits": scorer.hash_bits,
        "documents": documents,
        "n_documents": scorer.n_documents,
        "default_count": scorer.default_count,
        "columns": scorer.columns.tolist(),
        "counts": None if scorer.counts is None else scorer.counts.tolist(),
        "variances": None if scorer.variances is None else scorer.variances.astype(np.float64).tolist(),
        "weights": scorer.means.astype(np.float64).tolist(),
    }
