"""The chance from which on the second of two labels is predicted.

A stated cost gives it directly, because the probabilities are honest: if a false alarm costs a, and a miss costs b, it
is a / (a + b).  Measures of all rows need to know how probabilities are distributed.  The calibration has counted the
log odds of rows before they were learned; a row with the chance p adds p to the expected hits above a threshold, and
1 - p to the false alarms.
"""

from __future__ import annotations

import math

import numpy as np

from cwlearn.core.calibration import ODDS, ODDS_WIDTH, Calibration

WEIGHTS = {"f0.5": 0.25, "f1": 1.0, "f2": 4.0}  # the squares of beta in F-beta


def cut_of(threshold: float | str, known: Calibration | None) -> float:
    """The log odds from which on the second label is predicted; odds leave out the noise, which a chance has."""
    noise = 0.0 if known is None else known.best.noise
    if not isinstance(threshold, str):
        certain = (threshold - noise / 2) / (1 - noise)
        if threshold == 0.5 or not 0 < certain < 1:  # then it is all or nothing
            return 0.0 if threshold == 0.5 else math.copysign(math.inf, certain - 0.5)
        return math.log(certain) - math.log1p(-certain)
    rows = np.zeros(ODDS) if known is None else np.array(known.odds)
    if not rows.any():
        return 0.0
    edges = ODDS_WIDTH * (np.arange(ODDS) - ODDS // 2)
    chance = noise / 2 + (1 - noise) / (1 + np.exp(-(edges + ODDS_WIDTH / 2)))
    # By threshold, the lower edge of an interval: what lies above it.
    hits, predicted = (np.cumsum(numbers[::-1])[::-1] for numbers in (rows * chance, rows))
    all_hits, all_rows = hits[0], predicted[0]
    if threshold == "balanced":
        measure = hits / all_hits - (predicted - hits) / (all_rows - all_hits)
    else:  # F-beta is (1 + beta^2) hits / (predicted + beta^2 all hits)
        measure = hits / (predicted + WEIGHTS[threshold] * all_hits)
    return float(edges[int(np.argmax(measure))])
