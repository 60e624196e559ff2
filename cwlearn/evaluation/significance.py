"""Which of two classifiers is better, and which of many: McNemar's test, Holm's correction, intervals and ranks."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

LEVELS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))  # p-values below a level get its stars
NORMAL_95 = 1.959963984540054  # 95 % of a normal distribution are within so many standard deviations
SIGNIFICANT = LEVELS[-1][0]  # a difference with a p-value below this is called clear


def mcnemar(only_first_wrong: int, only_second_wrong: int) -> float:
    """The p-value of McNemar's exact, two-sided test of two classifiers on the same rows.

    Rows on which both are right or both are wrong do not count.  If the classifiers are equally good, each of the
    others is a toss of a fair coin; the p-value is the probability of a difference at least as large as this one.
    """
    rows = only_first_wrong + only_second_wrong
    if not rows:
        return 1.0
    from scipy.special import bdtr

    return min(1.0, 2 * float(bdtr(min(only_first_wrong, only_second_wrong), rows, 0.5)))


def holm(p_values: Sequence[float]) -> NDArray[np.float64]:
    """The p-values of several tests, corrected for their number.

    If all differences are chance, the probability that any corrected p-value falls below a level is at most that
    level, however the tests depend on each other (Holm, "A Simple Sequentially Rejective Multiple Test Procedure",
    1979).
    """
    raw = np.asarray(p_values, np.float64)
    order = np.argsort(raw, kind="stable")
    raised = np.maximum.accumulate(raw[order] * np.arange(len(raw), 0, -1))
    corrected = np.empty(len(raw))
    corrected[order] = np.minimum(1, raised)
    return corrected


def wilson(wrong: int, rows: int) -> tuple[float, float]:
    """The 95 % confidence interval of an error rate (Wilson, "Probable Inference, the Law of Succession", 1927).

    It lies inside of 0 and 1, and has a width even if no row is wrong.
    """
    error, z2 = wrong / rows, NORMAL_95**2
    middle = (error + z2 / (2 * rows)) / (1 + z2 / rows)
    half = NORMAL_95 * math.sqrt(error * (1 - error) / rows + z2 / (4 * rows**2)) / (1 + z2 / rows)
    return max(0.0, middle - half), min(1.0, middle + half)


def decimals(half_width: float) -> int:
    """How many decimals of a number mean something: two digits of half the width of its interval, at most three."""
    return 3 if half_width <= 0 else min(3, max(0, 1 - math.floor(math.log10(half_width))))


def stars(p_value: float) -> str:
    """The stars of a p-value, as in `LEVELS`; none if it is not significant."""
    return next((stars for level, stars in LEVELS if p_value < level), "")


def ranks(errors: Sequence[float] | NDArray[np.float64]) -> NDArray[np.float64]:
    """The rank of each error: 1 for the lowest; equal errors share the mean of their ranks.  NaN has the rank NaN."""
    errors = np.asarray(errors, np.float64)
    result = np.full(len(errors), np.nan)
    present = np.flatnonzero(~np.isnan(errors))
    for index in present:
        lower = int(np.sum(errors[present] < errors[index]))
        equal = int(np.sum(errors[present] == errors[index]))
        result[index] = lower + (equal + 1) / 2
    return result
