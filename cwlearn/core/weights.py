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
    if labels is None:
        if 0 < most < len(weights):  # most of very many weights need not be sorted
            sizes = np.abs(weights)
            candidates = np.flatnonzero(sizes >= np.partition(sizes, -most)[-most])
            if len(candidates) < len(weights):
                chosen: NDArray[np.int64] = candidates[heaviest(weights[candidates], most)]
                return chosen
        labels = np.zeros(len(weights), np.int64)
    order = np.lexsort((-np.abs(weights), labels))  # which is stable
    labels = labels[order]
    rank = np.arange(len(order)) - np.searchsorted(labels, labels)  # within its label
    order = order[rank < most]
    nonzero: NDArray[np.int64] = order[weights[order] != 0]
    return nonzero
