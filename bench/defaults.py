"""Why the defaults are what they are: each second-order class against its best setting on a grid, on real data.

    python -m bench.defaults [--quick] [--save FILE.npz]

Every data set is learned as raw counts, as 0/1 and as rows of unit length.  For every class, error is the mean over
five splits of a tenth of the rows held out; "gap" is how much worse the class does with its defaults than with the best of all settings of the grid
(parameters x epochs), both in points (percent of rows).  The promise is a gap of at most 2 points everywhere.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import fields, replace

import numpy as np
from tqdm import tqdm

from bench.datasets import NAMES, load, scaled
from cwlearn import rules
from cwlearn.learner import Learner, Training
from cwlearn.rows import as_rows

SPLITS = 5
EPOCHS = (1, 2, 3, 5, 10)
CONFIDENCES = (0.55, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
STRENGTHS = (1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0, 1e3, 1e4)
GRIDS: dict[str, list[rules.Rule]] = {
    "cw": [rules.CW(confidence=c) for c in CONFIDENCES],
    "arow": [rules.AROW(regularization=r) for r in STRENGTHS],
    "scw": [rules.SCW(confidence=c, C=C) for c in (0.6, 0.8, 0.9, 0.99) for C in STRENGTHS[:-2]],
    "nherd": [rules.NHERD(C=C) for C in STRENGTHS[:-1]] + [rules.NHERD(C=1e-4), rules.NHERD(C=1e-5)],
    "sop": [rules.SOP(a=a) for a in STRENGTHS[:-1]],
    "logistic": [rules.Logistic()],
}


def errors(rule: rules.Rule, X, y, epochs: tuple[int, ...] = EPOCHS, initial_variance: float = 1.0) -> np.ndarray:
    """Held-out error after each number of epochs, mean over the splits."""
    n_test = len(y) // 10
    result = np.zeros(len(epochs))
    training = Training(initial_variance=initial_variance)
    rows = as_rows(X, np.dtype(training.dtype))
    targets = np.where(y == 1, 1.0, -1.0)
    for split in range(SPLITS):
        test = np.arange(split * n_test, (split + 1) * n_test)  # the loaders have shuffled the rows already
        train = np.setdiff1d(np.arange(len(y)), test)
        rng = np.random.default_rng(split)
        learner = Learner(rule, training, np.array([0, 1]), X.shape[1])
        for epoch in range(1, max(epochs) + 1):
            learner.learn(rows, targets, order=rng.permutation(train))
            if epoch in epochs:
                mean, _ = learner.margins(rows)
                result[epochs.index(epoch)] += np.mean((mean[test] > 0) != (y[test] == 1)) / SPLITS
    return 100 * result
