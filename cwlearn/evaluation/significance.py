"""Which of two classifiers is better, and which of many: McNemar's test, Holm's correction and mean ranks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

MARKS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))  # of a difference that is unlikely to be chance
CLEAR = MARKS[-1][0]  # below which a difference is taken for one
LEGEND = ", ".join(f"{stars} {100 * limit:g} %" for limit, stars in MARKS[::-1])


def mcnemar(only_one: int, only_other: int) -> float:
    """How likely a difference at least so large is, if both classifiers are equally good: the exact, two-sided test of
    McNemar on the rows that one of them alone got wrong, and the other alone (under the hypothesis, a fair coin)."""
    rows = only_one + only_other
    if not rows:
        return 1.0
    from scipy.special import bdtr

    return min(1.0, 2 * float(bdtr(min(only_one, only_other), rows, 0.5)))


def holm(p_values: Sequence[float]) -> NDArray[np.float64]:
    """Probabilities of several tests, corrected for their number: where all differences are chance, the probability
    that even one of these falls below a limit is at most that limit, however the tests depend on each other (Holm, "A
    Simple Sequentially Rejective Multiple Test Procedure", 1979)."""
    given = np.asarray(p_values, np.float64)
    order = np.argsort(given, kind="stable")
    raised = np.maximum.accumulate(given[order] * np.arange(len(given), 0, -1))
    corrected = np.empty(len(given))
    corrected[order] = np.minimum(1, raised)
    return corrected


def mark(p: float) -> str:
    """Stars for a probability."""
    return next((stars for limit, stars in MARKS if p < limit), "")


def ranks(errors: Sequence[float] | NDArray[np.float64]) -> NDArray[np.float64]:
    """1 for the lowest error, and so on; equal ones share the mean of their places.  NaN has no rank."""
    values = np.asarray(errors, np.float64)
    found = np.full(len(values), np.nan)
    known = np.flatnonzero(~np.isnan(values))
    for place in known:
        below = int(np.sum(values[known] < values[place]))
        equal = int(np.sum(values[known] == values[place]))
        found[place] = below + (equal + 1) / 2
    return found
