"""Metrics of predictions where a row may have several labels, from counts that grow row by row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

BEST = (1, 3, 5)  # labels of which `precision_at` tells how many are right


class MultiLabelMeasures:
    """Counts by label, and sums over rows."""

    def __init__(self, names: list[str]) -> None:
        self.names = names
        self.rows = self.exact = 0  # all rows, and those whose labels are all right
        self._counts = np.zeros((3, len(names)), np.int64)  # by label: true, predicted, both
        self._best = dict.fromkeys((k for k in BEST if k <= len(names)), 0)  # true labels among the k highest scores
        self._ranking_loss = self._log_loss = 0.0

    def add(
        self,
        true: NDArray[np.bool_],
        predicted: NDArray[np.bool_],
        scores: NDArray[np.float64],
        probabilities: NDArray[np.float64] | None = None,
    ) -> None:
        """Add rows: a line for each, a column for each label."""
        self.rows += len(true)
        self.exact += int((true == predicted).all(axis=1).sum())
        self._counts += np.stack([part.sum(axis=0) for part in (true, predicted, true & predicted)])
        ranked = np.take_along_axis(true, np.argsort(-scores, axis=1, kind="stable")[:, : max(self._best)], axis=1)
        for k in self._best:
            self._best[k] += int(np.count_nonzero(ranked[:, :k]))
        self._ranking_loss += float(ranking_losses(true, scores).sum())
        if probabilities is not None:
            right = np.where(true, probabilities, 1 - probabilities)
            self._log_loss -= float(np.log(np.maximum(right, np.finfo(float).eps)).sum())

    def summary(self, probabilities: bool) -> dict[str, Any]:
        """All metrics as plain numbers; 0 / 0 is None, and 0 in the mean of `macro_f1`, as in scikit-learn."""
        of_label, predicted, hits = (part.tolist() for part in self._counts)
        decisions = self.rows * len(self.names)
        wrong = sum(of_label) + sum(predicted) - 2 * sum(hits)
        f1_by_label = [_f1(*counts) for counts in zip(of_label, predicted, hits, strict=True)]
        return {
            "rows": self.rows,
            "labels_per_row": _part(sum(of_label), self.rows),
            "micro_f1": _f1(sum(of_label), sum(predicted), sum(hits)),
            "macro_f1": float(np.mean([f1 or 0.0 for f1 in f1_by_label])),
            "precision": _part(sum(hits), sum(predicted)),
            "recall": _part(sum(hits), sum(of_label)),
            "precision_at": {str(k): _part(right, k * self.rows) for k, right in self._best.items()},
            "ranking_loss": _part(self._ranking_loss, self.rows),
            "hamming_loss": _part(wrong, decisions),
            "exact_rows": _part(self.exact, self.rows),
            "log_loss": _part(self._log_loss, decisions) if probabilities else None,
            "labels": {
                name: {
                    "rows": of_label[z],
                    "precision": _part(hits[z], predicted[z]),
                    "recall": _part(hits[z], of_label[z]),
                    "f1": f1_by_label[z],
                }
                for z, name in enumerate(self.names)
            },
        }


def ranking_losses(true: NDArray[np.bool_], scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """By row, the part of the pairs of a true and a false label whose scores are in the wrong order, or equal.

    A row without such a pair has none (Schapire, Singer, Machine Learning 39, 2000, ranking loss).
    """
    order = np.argsort(scores, axis=1)
    has, ranked = np.take_along_axis(true, order, axis=1), np.take_along_axis(scores, order, axis=1)
    # The false labels from each place on, and the first place of each score.
    behind = np.cumsum(~has[:, ::-1], axis=1)[:, ::-1]
    places = np.broadcast_to(np.arange(scores.shape[1]), scores.shape).copy()
    places[:, 1:][ranked[:, 1:] == ranked[:, :-1]] = 0
    first = np.maximum.accumulate(places, axis=1)
    wrong = np.where(has, np.take_along_axis(behind, first, axis=1), 0).sum(axis=1)
    pairs = has.sum(axis=1) * (~has).sum(axis=1)
    losses: NDArray[np.float64] = np.divide(wrong, pairs, out=np.zeros(len(true)), where=pairs > 0)
    return losses


def _f1(true: int, predicted: int, hits: int) -> float | None:
    return _part(2 * hits, true + predicted)


def _part(count: float, total: int) -> float | None:
    return count / total if total else None
