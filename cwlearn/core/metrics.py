"""Metrics of predictions, from counts and sums that grow row by row: any number of rows can be evaluated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

BINS = 15  # of the calibration table, as in Guo et al., ICML 2017
FEW_LABELS = 100  # the most labels for which the summary has a table of all pairs
STEP = 2**0.5  # ratio of two places of a curve over the rows


def places(rows: int) -> Iterator[tuple[int, int]]:
    """All rows in parts of growing length, for curves over the logarithm of the rows."""
    start = 0
    while start < rows:
        stop = min(rows, max(start + 1, int(start * STEP)))
        yield start, stop
        start = stop


class WeightedSums:
    """The sum of the weights of rows, and weighted sums of other numbers; nothing as long as all weights are 1."""

    def __init__(self, size: int) -> None:
        self._total, self._sums, self._differ = 0.0, np.zeros(size), False

    def add(self, weights: NDArray[np.float64] | None, *numbers: NDArray[Any]) -> None:
        """Add rows, and numbers of each; the weights are 1 if there are none."""
        self._differ |= weights is not None
        ones = np.ones(len(numbers[0])) if weights is None else weights
        self._total += float(ones.sum())
        self._sums += [float(ones @ of_rows) for of_rows in numbers]

    @property
    def total(self) -> float | None:
        return self._total if self._differ else None

    def mean(self, number: int) -> float | None:
        """The mean of one of the numbers; None without weights, or if they are all 0."""
        return float(self._sums[number] / self._total) if self._differ and self._total else None


class Measures:
    """Counts by true and predicted label; log loss and calibration if there are probabilities."""

    def __init__(self, names: list[str]) -> None:
        self.names = names
        self._pairs: Counter[int] = Counter()  # rows by the numbers of both labels; with many labels few pairs occur
        self.log_loss_sum = 0.0
        self.bins = np.zeros((BINS, 3))  # rows, sum of the probability of the prediction, rows predicted correctly
        self._weighted = WeightedSums(1)  # of mistakes

    def add(
        self,
        true: NDArray[np.int64],
        predicted: NDArray[np.int64],
        probabilities: NDArray[np.float64] | None = None,
        weights: NDArray[np.float64] | None = None,
    ) -> None:
        """Add rows: their true and predicted labels, as numbers from 0, the probability of each label, and weights."""
        self._weighted.add(weights, true != predicted)
        pairs, counts = np.unique(len(self.names) * true + predicted, return_counts=True)
        self._pairs.update(dict(zip(pairs.tolist(), counts.tolist(), strict=True)))
        if probabilities is None:
            return
        rows = np.arange(len(true))
        # A probability of 0 would have infinite loss; scikit-learn uses the same bound.
        self.log_loss_sum -= float(np.log(np.maximum(probabilities[rows, true], np.finfo(float).eps)).sum())
        probability = probabilities[rows, predicted]
        number = np.minimum((probability * BINS).astype(np.int64), BINS - 1)
        for column, weights in enumerate((np.ones(len(true)), probability, (true == predicted).astype(float))):
            self.bins[:, column] += np.bincount(number, weights, minlength=BINS)

    @property
    def pairs(self) -> list[list[int]]:
        """True label, predicted label, and the number of rows with both, for the pairs that occur."""
        return [[*divmod(pair, len(self.names)), rows] for pair, rows in sorted(self._pairs.items())]

    def summary(self, probabilities: bool) -> dict[str, Any]:
        """All metrics as plain numbers; 0 / 0 is None.

        `confusion` has a line for each true label and a column for each predicted one; beyond FEW_LABELS it is None,
        and `confusion_pairs` has the cells that are not 0.
        """
        pairs, size = self.pairs, len(self.names)
        of_label, predicted, hits = [0] * size, [0] * size, [0] * size
        for true, guess, count in pairs:
            of_label[true] += count
            predicted[guess] += count
            hits[true] += count if true == guess else 0
        rows, right = sum(of_label), sum(hits)
        few = size <= FEW_LABELS
        result: dict[str, Any] = {
            "rows": rows,
            "mistakes": rows - right,
            "error": _part(rows - right, rows),
            "weight": self._weighted.total,
            "weighted_error": self._weighted.mean(0),
            "labels": {
                name: {
                    "rows": of_label[z],
                    "precision": _part(hits[z], predicted[z]),
                    "recall": _part(hits[z], of_label[z]),
                }
                for z, name in enumerate(self.names)
            },
            "confusion": _table(pairs, size) if few else None,
            "confusion_pairs": None if few else pairs,
            "log_loss": None,
            "calibration_error": None,
            "calibration": [],
        }
        if probabilities and rows:
            result["log_loss"] = self.log_loss_sum / rows
            result["calibration_error"] = float(np.abs(self.bins[:, 1] - self.bins[:, 2]).sum() / rows)
            result["calibration"] = [
                {"from": number / BINS, "rows": int(n), "predicted": expected / n, "correct": correct / n}
                for number, (n, expected, correct) in enumerate(self.bins.tolist())
                if n
            ]
        return result


def _table(pairs: list[list[int]], size: int) -> list[list[int]]:
    table = [[0] * size for _ in range(size)]
    for true, predicted, rows in pairs:
        table[true][predicted] = rows
    return table


class RegressionMeasures:
    """Sums of errors, and how well the deviations predict their size."""

    def __init__(self) -> None:
        self.rows = 0
        self.absolute = self.squared = self.log_loss_sum = 0.0
        self.within = np.zeros(2)  # rows whose error is at most one deviation, and at most two
        self.has_deviations = True  # every deviation is positive
        self._center = 0.0  # the first target; sums of squares around 0 might cancel
        self._sums = np.zeros(2)  # of target - center and its square
        self._weighted = WeightedSums(2)  # of squared and absolute errors

    def add(
        self,
        true: NDArray[np.float64],
        predicted: NDArray[np.float64],
        deviations: NDArray[np.float64],
        weights: NDArray[np.float64] | None = None,
    ) -> None:
        if not len(true):
            return
        if not self.rows:
            self._center = float(true[0])
        self.rows += len(true)
        with np.errstate(over="ignore", invalid="ignore"):  # sums that are not finite are reported as None
            error, away = np.abs(predicted - true), true - self._center
            self.absolute += float(error.sum())
            self.squared += float((error**2).sum())
            self._weighted.add(weights, error**2, error)
            self._sums += (away.sum(), (away**2).sum())
            self.has_deviations &= bool((deviations > 0).all())
            if self.has_deviations:
                z = error / deviations
                self.log_loss_sum += float((np.log(deviations) + z**2 / 2 + np.log(2 * np.pi) / 2).sum())
                self.within += ((z <= 1).sum(), (z <= 2).sum())

    def summary(self) -> dict[str, Any]:
        """All metrics as plain numbers; 0 / 0 and numbers that are not finite are None."""
        rows = max(1, self.rows)
        with np.errstate(over="ignore", invalid="ignore"):
            spread = float(self._sums[1] - self._sums[0] ** 2 / rows)
            metrics = {
                "rmse": float(np.sqrt(self.squared / rows)),
                "mae": self.absolute / rows,
                "r2": 1 - self.squared / spread if spread > 0 else np.nan,
                "log_loss": self.log_loss_sum / rows if self.has_deviations else np.nan,
                "within_one_deviation": float(self.within[0]) / rows if self.has_deviations else np.nan,
                "within_two_deviations": float(self.within[1]) / rows if self.has_deviations else np.nan,
            }
            for name, mean in (("weighted_rmse", self._weighted.mean(0)), ("weighted_mae", self._weighted.mean(1))):
                metrics[name] = np.nan if mean is None else mean
            metrics["weighted_rmse"] = float(np.sqrt(metrics["weighted_rmse"]))
        finite = {name: value if np.isfinite(value) else None for name, value in metrics.items()}
        return {"rows": self.rows, "weight": self._weighted.total, **finite}


def _part(count: int, total: int) -> float | None:
    return count / total if total else None
