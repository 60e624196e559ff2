"""The naive Bayes prior: a weight may move as far as its feature tells about the labels.

    RSTK  Rennie, Shih, Teevan, Karger, "Tackling the poor assumptions of naive Bayes text classifiers", ICML 2003:
          complement naive Bayes.  Its weight of a feature for a label is minus the log of what share the feature has in
          the rows of all other labels, r = -log((n + 1) / (N + features)); here less its mean over the labels
    WM    Wang, Manning, "Baselines and bigrams", ACL 2012: NB-SVM, which multiplies values by r; n counts rows, not
          values.  Of two labels r is half their log-count ratio

To a Gaussian, a value times r with the variance 1 is the value with the variance r^2, which needs nothing more when the
model predicts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cwlearn.core.rows import Rows
from cwlearn.core.states.base import check_memory
from cwlearn.core.states.diagonal import DiagonalState

# The initial variance is that of features whose r^2 is so many times the usual one.  All that tell more have it, too:
# nothing may exceed it, and these are few.  A feature that was not counted has the usual variance: see `factory`.
MOST = 32
LEAD = 1.0
LEAST_SQUARE = 1e-20  # a smaller mean of r^2 is rounding alone
# A lead below this part of the sum of |value r| of a row is chance: values of both signs cancel, or hardly tell labels
# apart.  Means would have to be huge for it.
LEAST_LEAD = 0.01
SMALLEST_LEAD = 1e-30  # from here on no mean exceeds float32
MOST_KEPT = 1 << 22  # weights that are kept while all labels are compared; of more, those of one label at a time


class PriorWeights(NamedTuple):
    """What counts of labels tell."""

    seen: NDArray[np.int64]  # the features that counted rows have
    ratio: Callable[[int], NDArray[np.float64]]  # of a label: RSTK's weights of these features, less their means
    square: float  # the usual one of a ratio
    lead: float
    reach: float


class LabelCounts:
    """How many rows of each label have each feature."""

    def __init__(self, n_features: int, n_labels: int) -> None:
        size = np.dtype(np.uint32).itemsize * n_features * n_labels
        check_memory(size, size, f"the counts of {n_features:,} features x {n_labels:,} labels", "other priors")
        self._counts: NDArray[np.uint32] = np.zeros((n_labels, n_features), np.uint32)
        self._sums = np.zeros(n_features)  # of values
        self._sizes = np.zeros(n_features)  # of values without their signs
        self._n_rows = 0
        self._weights: PriorWeights | None = None  # of all rows that were counted

    def add(self, rows: Rows, numbers: NDArray[np.int64], counted: NDArray[np.bool_]) -> None:
        """Count some of the rows, whose labels have these numbers."""
        from cwlearn.core._label_counts import count_rows  # which other rules do not need

        parts = rows.indptr, rows.indices, rows.values, numbers, counted.view(np.uint8)
        self._n_rows += count_rows(self._counts, self._sums, self._sizes, *parts)
        self._weights = None

    def put_into(self, state: DiagonalState) -> None:
        """Give the weights of a new state the means and variances of the prior.

        Features that no counted row has keep the usual variance, and so do all if nothing tells the labels apart.  So
        a row that was held back has the same deviation as a new one, whose words may be new, too, and calibrates it.
        If values do not tell labels apart, as where positive and negative ones cancel, all means stay 0.
        """
        state.variance[0] = state.initial_variance  # the intercept is no feature
        known = self._weights = self._weights or self._weigh()
        if known.square < LEAST_SQUARE:
            return
        at = known.seen + 1
        for block, label in enumerate(range(len(self._counts)) if state.blocks > 1 else (1,)):
            ratio = known.ratio(label)
            mean, variance = (
                (state.mean, state.variance) if state.blocks == 1 else (state.mean[:, block], state.variance[:, block])
            )
            own = state.initial_variance / (MOST * known.square) * np.square(ratio)
            variance[at] = np.clip(own, state.floor, state.initial_variance)
            if known.lead > max(SMALLEST_LEAD, LEAST_LEAD * known.reach):
                mean[at] = LEAD / known.lead * ratio

    def _weigh(self) -> PriorWeights:
        """What the counts tell; kept, because several states may begin with the same prior."""
        n_labels, seen = len(self._counts), np.flatnonzero(self._sizes)
        counts = self._counts[:, seen]
        total = counts.sum(axis=0, dtype=np.float64)

        def computed(label: int) -> NDArray[np.float64]:
            elsewhere = total - counts[label]
            shares: NDArray[np.float64] = (elsewhere + 1) / (elsewhere.sum() + len(seen))
            return -np.log(shares)

        weight: Callable[[int], NDArray[np.float64]] = computed
        if n_labels * len(seen) <= MOST_KEPT:
            weight = [computed(label) for label in range(n_labels)].__getitem__
        middle = sum(map(weight, range(n_labels)), np.zeros(len(seen))) / n_labels
        usual_value = self._sums[seen] / total
        square = lead = reach = 0.0
        for label in range(n_labels):
            ratio = weight(label) - middle
            square += float((total * ratio * ratio).sum()) / max(1.0, n_labels * total.sum())
            # By how much a label is ahead of the mean of the others in its own rows, which are half of all this.
            lead += float((counts[label] * usual_value * ratio).sum()) / max(1, self._n_rows)
            # The same without signs, for the usual label.
            reach += float((self._sizes[seen] * np.abs(ratio)).sum()) / (n_labels * max(1, self._n_rows))
        if n_labels > 2:
            lead *= n_labels / (n_labels - 1)
        return PriorWeights(seen, lambda label: weight(label) - middle, square, lead, reach)
