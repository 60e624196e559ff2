"""The heaviest weights of a model."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def heaviest(weights: NDArray[Any], most: int) -> NDArray[np.int64]:
    """The indices of up to `most` weights, from the one farthest from 0 on.

    Weights that are 0 are left out.  Of equally heavy ones, the lower index comes first.
    """
    order = np.argsort(-np.abs(weights), kind="stable")[:most]
    nonzero: NDArray[np.int64] = order[weights[order] != 0]
    return nonzero
