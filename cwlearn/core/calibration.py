"""What a score is worth: probabilities of labels, from what the kernel has observed (`_calibration.pxd`)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from cwlearn._kernels import CALIBRATION_SIZE, MAP_SIZE
from cwlearn.core.parameters import is_number
from cwlearn.core.probabilities import softmax

ODDS, ODDS_WIDTH = 64, 0.25  # intervals of log odds around 0
TOGETHER = 16  # so many rows of two labels are observed at once
# Those of `_calibration.pxd`.
PRIOR_SLOPE, PRIOR_SLOPE_VARIANCE, PRIOR_SHIFT_VARIANCE, PRIOR_NOISE = 2.0, 100.0, 16.0, 0.04
FEW_ROWS = 16  # after so many, a shift needs two standard errors
LEAST_SLOPE = 1e-9  # a higher score is never worth less
LEAST_SQUARE = 1e-200  # nothing is divided by the root of a smaller number, here and there
LARGEST = 1e100  # of scores
HEAVIEST = 1 << 20  # of weights of rows
# Of the mean square and of the other numbers of a calibrator in a file; far beyond all that occur.
LARGEST_SQUARE, LARGEST_NUMBER = 1e200, 1e40
LEAST_NOISE, MOST_NOISE = 1e-9, 0.98  # those of `_calibration.pxd`, too
ALMOST_1 = 1 - 1e-9  # the most that slope and shift may be correlated


class Calibrator(NamedTuple):
    """A logistic regression of the label on a score; see the struct of the same name in `_calibration.pxd`."""

    mean_square: float = 0.0
    slope: float = PRIOR_SLOPE
    shift: float = 0.0
    slope_variance: float = PRIOR_SLOPE_VARIANCE
    covariance: float = 0.0
    shift_variance: float = PRIOR_SHIFT_VARIANCE
    loss: float = 0.0
    noise: float = PRIOR_NOISE

    def line(self, observed: float) -> tuple[float, float]:
        """What a score is multiplied by, and what is added to it, after so many rows.

        The shift moves predictions only by what exceeds its standard error: the rest may be chance.  (Of few rows, this
        error says little itself, and more is needed.)  The slope is the
        one that goes with the shift which is left (the mean of the Gaussian, given it).  It never falls: if it would,
        the scores say nothing, and the shift is the one that goes with no slope.
        """
        unsure = 1 + FEW_ROWS / observed
        shift = _beyond(self.shift, unsure * math.sqrt(self.shift_variance))
        slope = self.slope - self.covariance / self.shift_variance * (self.shift - shift)
        if slope < LEAST_SLOPE:
            slope, given = LEAST_SLOPE, self.covariance / self.slope_variance
            error = math.sqrt(max(0.0, self.shift_variance - given * self.covariance))
            shift = _beyond(self.shift - given * (self.slope - slope), unsure * error)
        return (slope / math.sqrt(self.mean_square) if self.mean_square > LEAST_SQUARE else LEAST_SLOPE), shift


@dataclass(frozen=True)
class Calibration:
    """Both calibrators: of the margin, and of the margin over its deviation."""

    observed: float
    settled: float
    margin: Calibrator
    deviation: Calibrator
    odds: tuple[float, ...] = (0.0,) * ODDS  # two labels: the rows in each interval of log odds, in any unit
    # Two labels: rows that wait to be observed together, each with its score, squared deviation, and weight (negative
    # if it has the first label).  They change nothing yet.
    waiting: tuple[tuple[float, float, float], ...] = ()

    @classmethod
    def of(cls, numbers: NDArray[np.float64]) -> Self | None:
        """The calibration that the kernel has in an array; None before the first row."""
        if not numbers[0]:
            return None
        observed, settled, *rest = numbers.tolist()
        half = len(Calibrator._fields)
        margin, deviation, rest = rest[:half], rest[half : 2 * half], rest[2 * half :]
        odds, waiting, rows = rest[:ODDS], int(rest[ODDS]), np.reshape(rest[ODDS + 1 :], (3, TOGETHER))
        their = (*(tuple(row) for row in rows.T[:waiting].tolist()),)
        return cls(observed, settled, Calibrator(*margin), Calibrator(*deviation), tuple(odds), their)

    def numbers(self) -> NDArray[np.float64]:
        """The array of the kernel."""
        rows = np.zeros((3, TOGETHER))
        if self.waiting:
            rows[:, : len(self.waiting)] = np.transpose(self.waiting)
        known = [self.observed, self.settled, *self.margin, *self.deviation, *self.odds, len(self.waiting)]
        return np.concatenate([known, rows.ravel()])

    @property
    def rows(self) -> int:
        """How many rows were seen, at most some 65,000."""
        return int(self.observed) + len(self.waiting)

    @cached_property
    def uses_deviation(self) -> bool:
        """Whether the margin over its deviation told more than the margin."""
        return self.deviation.loss < self.margin.loss

    @property
    def best(self) -> Calibrator:
        return self.deviation if self.uses_deviation else self.margin

    @cached_property
    def line(self) -> tuple[float, float]:
        """That of the better calibrator."""
        return self.best.line(self.observed)

    def log_odds_of_row(self, mean: float, spread: float) -> float:
        """`log_odds` of one row, to the bit, without arrays: these take ten times as long."""
        slope, shift = self.line
        score = mean * slope
        if self.uses_deviation:
            score = score / math.sqrt(spread) if spread > LEAST_SQUARE else 0.0
        return min(max(score, -LARGEST), LARGEST) + shift

    def log_odds(self, mean: NDArray[np.float64], spread: NDArray[np.float64]) -> NDArray[np.float64]:
        """The log odds that the second of two labels is right; a label that is given can still be wrong by chance."""
        return self._scores(mean, spread) + self.line[1]

    def probabilities(self, mean: NDArray[np.float64], spread: NDArray[np.float64]) -> NDArray[np.float64]:
        """The probability of each of two (then `mean` has one column) or more labels."""
        noise = self.best.noise
        if mean.ndim == 1:
            odds = self.log_odds(mean, spread)
            chances: NDArray[np.float64] = np.exp(-np.logaddexp(0, np.column_stack([odds, -odds])))
        else:
            chances = softmax(self._scores(mean, spread[:, None]))
        chances *= 1 - noise
        chances += noise / chances.shape[1]
        return chances

    def _scores(self, mean: NDArray[np.float64], spread: NDArray[np.float64]) -> NDArray[np.float64]:
        """The scores by the better calibrator, without any shift; they stay finite."""
        with np.errstate(over="ignore"):
            scores = mean * self.line[0]
            if self.uses_deviation:
                known, length = spread > LEAST_SQUARE, np.sqrt(spread)
                if mean.ndim == 1:  # as the kernel has it: nothing is known of a row without any variance
                    scores = np.divide(scores, length, out=np.zeros_like(scores), where=known)
                else:
                    scores /= np.where(known, length, 1)
        return np.clip(scores, -LARGEST, LARGEST, out=scores)

    def record(self) -> dict[str, Any]:
        """The calibration as a model file has it."""
        return {
            "observed": self.observed,
            "settled": self.settled,
            "margin": list(self.margin),
            "deviation": list(self.deviation),
            "odds": list(self.odds),
            "waiting": [list(row) for row in self.waiting],
        }


def _beyond(number: float, error: float) -> float:
    """What a number has beyond an error."""
    return number - min(max(number, -error), error)


def from_records(records: Any, count: int) -> list[NDArray[np.float64]]:
    """The arrays of the kernel for so many calibrations, some of which may not have begun."""
    if not isinstance(records, list) or len(records) != count:
        raise ValueError("it has not one calibration for each of its labels")
    return [np.zeros(CALIBRATION_SIZE) if record is None else from_record(record) for record in records]


def from_record(record: Any) -> NDArray[np.float64]:
    """The array of the kernel, from a model file; ValueError if it is not sound."""
    try:
        # The first models with a calibration had neither odds nor rows that wait.
        odds, waiting = record.get("odds", [0.0] * ODDS), record.get("waiting", [])
        numbers = [record["observed"], record["settled"], *record["margin"], *record["deviation"], *odds]
        rows = [number for row in waiting for number in row]
    except (AttributeError, KeyError, TypeError):
        numbers = []
    if len(numbers) != MAP_SIZE or not all(map(is_number, [*numbers, *rows])):
        raise ValueError("its calibration is not complete")
    if len(waiting) >= TOGETHER or not all(map(_can_wait, waiting)):
        raise ValueError("its calibration is not sound")
    array = np.zeros(CALIBRATION_SIZE)
    array[:MAP_SIZE], array[MAP_SIZE] = numbers, len(waiting)
    if waiting:
        array[MAP_SIZE + 1 :].reshape(3, TOGETHER)[:, : len(waiting)] = np.transpose(waiting)
    known = Calibration.of(array)
    if known is None or not 0 < known.observed <= LARGEST_NUMBER or known.settled not in (0, 1):
        raise ValueError("its calibration is not sound")
    if not all(0 <= share <= LARGEST_NUMBER for share in known.odds):
        raise ValueError("its calibration is not sound")
    if not (_is_sound(known.margin) and _is_sound(known.deviation)):
        raise ValueError("its calibration is not sound")
    return array


def _can_wait(row: Sequence[Any]) -> bool:
    """Whether the kernel can observe this row."""
    if len(row) != 3:
        return False
    score, spread, weight = map(float, row)
    fits = spread <= LEAST_SQUARE or score * score < LARGEST_SQUARE * spread
    return fits and abs(score) < LARGEST and spread >= 0 and abs(weight) <= HEAVIEST


def _is_sound(part: Calibrator) -> bool:
    """Whether all can be computed with these numbers that is computed with those of the kernel."""
    least, product = min(part.slope_variance, part.shift_variance), part.slope_variance * part.shift_variance
    return (
        0 <= part.mean_square <= LARGEST_SQUARE
        and all(abs(number) <= LARGEST_NUMBER for number in part[1:])
        and least >= 1 / LARGEST_NUMBER
        and part.covariance**2 < product
        and LEAST_NOISE <= part.noise <= MOST_NOISE
    )


class CalibrationSum:
    """What several models know of their scores, added up: each counts by its information, the prior once.

    Slopes are per unit of the score here, so that models whose scores have different sizes agree.  All numbers are
    sums, hence order and grouping do not matter.  Rows that wait (fewer than TOGETHER by model) have told nothing yet,
    and are left out.
    """

    def __init__(self) -> None:
        self._observed = self._settled = 0.0
        # By calibrator: mean square, loss and noise, then precision (3) and precision x mean (2).
        self._sums = np.zeros((2, 8))
        self._odds = np.zeros(ODDS)

    def add(self, known: Calibration | None) -> None:
        if known is None:
            return
        self._observed += known.observed
        self._settled = max(self._settled, known.settled)
        self._odds += known.observed * np.array(known.odds)
        for sums, part in zip(self._sums, (known.margin, known.deviation), strict=True):
            sums += [*(known.observed * of for of in (part.mean_square, part.loss, part.noise)), *_information(part)]

    def __iadd__(self, other: CalibrationSum) -> Self:
        self._observed += other._observed
        self._settled = max(self._settled, other._settled)
        self._sums += other._sums
        self._odds += other._odds
        return self

    def numbers(self) -> NDArray[np.float64]:
        """The array of the kernel for the merged model."""
        if not self._observed:
            return np.zeros(CALIBRATION_SIZE)
        margin, deviation = (_calibrator(self._observed, *sums) for sums in self._sums.tolist())
        odds = tuple((self._odds / self._observed).tolist())
        return Calibration(self._observed, self._settled, margin, deviation, odds).numbers()


def _information(part: Calibrator) -> list[float]:
    """What a calibrator adds to precision, and to precision x mean, per unit of the score."""
    a, b, c = part.slope_variance, part.covariance, part.shift_variance
    determinant = a * c - b * b
    pa, pb, pc = c / determinant, -b / determinant, a / determinant
    place = pa * part.slope + pb * part.shift - PRIOR_SLOPE / PRIOR_SLOPE_VARIANCE
    unit = math.sqrt(part.mean_square)
    return [
        (pa - 1 / PRIOR_SLOPE_VARIANCE) * unit * unit,
        pb * unit,
        pc - 1 / PRIOR_SHIFT_VARIANCE,
        place * unit,
        pb * part.slope + pc * part.shift,
    ]


def _calibrator(
    observed: float,
    squares: float,
    losses: float,
    noise: float,
    pa: float,
    pb: float,
    pc: float,
    slope: float,
    shift: float,
) -> Calibrator:
    """The calibrator with this information beside the prior."""
    unit = math.sqrt(squares / observed) or 1.0
    pa = max(pa, 0.0) / (unit * unit) + 1 / PRIOR_SLOPE_VARIANCE
    pc = max(pc, 0.0) + 1 / PRIOR_SHIFT_VARIANCE
    limit = ALMOST_1 * math.sqrt(pa * pc)
    pb = min(max(pb / unit, -limit), limit)
    slope, determinant = slope / unit + PRIOR_SLOPE / PRIOR_SLOPE_VARIANCE, pa * pc - pb * pb
    a, b, c = pc / determinant, -pb / determinant, pa / determinant
    means = (of / observed for of in (losses, noise))
    return Calibrator(squares / observed, a * slope + b * shift, b * slope + c * shift, a, b, c, *means)
