"""Learning rows whose values depend on the document frequencies so far."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from cwlearn.core.label_sets import LabelSets
from cwlearn.core.learner import Learner
from cwlearn.core.rows import Rows
from cwlearn.text.monitor import Monitor


def learn_weighed(
    learner: Learner,
    rows: Rows,
    targets: NDArray[np.float64],
    weights: NDArray[np.float64],
    order: NDArray[np.int64] | None,
    report: Callable[[int], None],
    monitor: Monitor,
    sets: LabelSets | None = None,
) -> None:
    """Weigh rows by the frequencies so far, and learn them, so many at once that these belong to the same rows.

    A checkpoint is written between two such parts only.
    """
    assert learner.frequencies is not None
    first = 0 if order is None else rows.n_rows - len(order)  # rows that a checkpoint has learned
    step = learner.rows_at_once(rows)
    for start in range(first, rows.n_rows, step):
        stop = min(start + step, rows.n_rows)
        which = slice(start, stop)
        with monitor.undisturbed():
            part = learner.frequencies.count_and_weigh(rows.part(start, stop))
            learner.learn(part, targets[which], weights[which] if len(weights) else weights, None, report, sets=sets)
