"""Sets of labels: what rows with any number of labels have as targets."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cwlearn.core.kernel_options import KernelOptions
from cwlearn.core.rule import Rule

MOST_LABELS = 2**31 - 1


class LabelSets(NamedTuple):
    """Sets of label numbers: those of set k are labels[bounds[k]:bounds[k + 1]].

    The target of a row is the number of its set, so that equal sets need be stored once.
    """

    bounds: NDArray[np.int64]
    labels: NDArray[np.int32]

    @classmethod
    def of(cls, sets: Iterable[Iterable[int]]) -> LabelSets:
        listed = [np.fromiter(numbers, np.int32) for numbers in sets]
        bounds = np.zeros(len(listed) + 1, np.int64)
        np.cumsum([len(numbers) for numbers in listed], out=bounds[1:])
        return cls(bounds, np.concatenate(listed) if listed else np.empty(0, np.int32))

    def indicators(self, targets: NDArray[np.float64], n_labels: int) -> NDArray[np.bool_]:
        """Which labels the rows with these targets have: a line for each row, a column for each label."""
        numbers = targets.astype(np.int64)
        starts, lengths = self.bounds[numbers], np.diff(self.bounds)[numbers]
        has = np.zeros((len(numbers), n_labels), bool)
        before = np.cumsum(lengths) - lengths
        entries = np.arange(int(lengths.sum())) + np.repeat(starts - before, lengths)
        has[np.repeat(np.arange(len(numbers)), lengths), self.labels[entries]] = True
        return has


def check_multilabel(rule: Rule, kernel: KernelOptions | None) -> None:
    """Refuse several labels a row where the learner cannot have them."""
    if rule.task == "regression":
        raise ValueError("several labels a row are for classifiers, and a regression has none")
    if kernel is not None:
        raise ValueError("several labels a row are there for linear classifiers, not with a kernel")
    if rule.covariance == "full":
        raise ValueError(
            "several labels a row need `covariance='diagonal'`: the labels of a row share its cells, and a full "
            "covariance has none"
        )
    if rule.informed:
        raise ValueError("`prior` is for one label a row: it counts rows by their only label")
    if rule.half_life:
        raise ValueError("`forgetting` is for one label a row: the labels of a row would need a time each")
    if getattr(rule, "class_weight", None) is not None:
        raise ValueError(
            "`class_weight` is for one label a row; with several labels a row, a threshold of the probabilities weighs "
            "the labels"
        )
