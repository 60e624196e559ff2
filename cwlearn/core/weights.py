"""The heaviest weights of a model."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def heaviest(weights: NDArray[Any], most: int, labels: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
    """The indices of up to `most` weights, from the one farthest from 0 on.

    Weights that are 0 are left out.  Of equally heavy ones, the lower index comes first.  With `labels`, the number of
    the label of each weight, up to `most` of each label are returned, label by label.
    """
    candidates: NDArray[np.int64] = np.flatnonzero(weights)
    if labels is None and 0 < most < len(candidates):  # sort only those that are as heavy as the last one of all
        sizes = np.abs(weights[candidates])
        candidates = candidates[sizes >= np.partition(sizes, -most)[-most]]
    labels = np.zeros(len(candidates), np.int64) if labels is None else labels[candidates]
    order = np.lexsort((-np.abs(weights[candidates]), labels))  # which is stable
    labels = labels[order]
    rank = np.arange(len(order)) - np.searchsorted(labels, labels)  # within its label
    return candidates[order[rank < most]]
