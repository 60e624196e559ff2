"""`compare`: cross-validate many classifiers on the same folds."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import closing, nullcontext
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from cwlearn.core.parameters import COUNT, SEED, Check, is_integer, is_number, require
from cwlearn.evaluation.algorithms import find_candidates
from cwlearn.evaluation.candidates import Candidate, Estimator
from cwlearn.evaluation.comparison import Comparison
from cwlearn.evaluation.data_sets import DataSet
from cwlearn.evaluation.journal import Journal
from cwlearn.evaluation.runner import TrialBar, TrialMonitor, run_trials
from cwlearn.evaluation.trials import TrialSettings
from cwlearn.utils.progress import ProgressBar

FOLDS = Check("an integer from 2 on", lambda value: is_integer(value) and value >= 2, int, "N")
NOISE = Check("a number with 0 <= noise < 1", lambda value: is_number(value) and 0 <= value < 1, float, "X")


def compare(
    X: Any,
    y: ArrayLike | None = None,
    *,
    algorithms: str | Sequence[str | Candidate] | Mapping[str, str | Candidate | Estimator] | None = None,
    folds: int = 10,
    noise: float | Sequence[float] = 0.0,
    epochs: int = 10,
    seed: int = 0,
    workers: int | None = None,
    journal: str | os.PathLike[str] | None = None,
    tuned_once: bool = False,
    feature_names: Sequence[str] | None = None,
    monitor: TrialMonitor | None = None,
    verbose: int = 0,
) -> Comparison:
    """Cross-validate many classifiers on the same folds.

    In each fold, every classifier chooses its parameters and its number of epochs by a single randomised run on the
    training rows, learns from all of them, and is tested.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n_rows, n_features), or dict
        The rows.  A dict of pairs (X, y) by name, without `y`, is several data sets.
    y : array of shape (n_rows,), optional
        The labels.
    algorithms : str, list of str, or dict, optional
        Names from `ALGORITHMS`.  A dict gives other names to them, or to estimators of scikit-learn, which are taken as
        they are.  By default all but the rarer forms of CW.
    folds : int, default=10
        Number of folds.
    noise : float or list of float, default=0.0
        The part of the training labels that is replaced by wrong ones.  Test labels are always the true ones.
    epochs : int, default=10
        The largest number of epochs to try.
    seed : int, default=0
        The same seed gives the same figures, except for the seconds, for any number of workers.
    workers : int, optional
        Trials at a time.  By default one for each usable core.
    journal : path, optional
        File to write finished trials to.  The same comparison goes on from it.
    tuned_once : bool, default=False
        Tune in the first fold only, for all folds.  This is cheaper, but the other folds are tested on rows that
        helped to choose the setting.
    feature_names : list of str, optional
        Names of the columns, for the report.  By default those of a data frame.
    monitor : TrialMonitor, optional
        Follows the progress.
    verbose : int, default=0
        Show a progress bar, on a terminal or in a notebook, unless there is a `monitor`.

    Returns
    -------
    comparison : Comparison
        The outcomes, with errors, ranks and p-values.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from cwlearn import evaluation
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> comparison = evaluation.compare(X, y, algorithms=["arow", "perceptron"], folds=3, epochs=2)
    >>> comparison.error("data", 0.0, "arow") < 0.2
    True
    """
    require("folds", folds, FOLDS)
    require("epochs", epochs, COUNT)
    require("seed", seed, SEED)
    if workers is not None:
        require("workers", workers, COUNT)
    comparison = Comparison(
        _data_sets(X, y, folds, seed, feature_names),
        find_candidates(algorithms),
        _noises(noise),
        TrialSettings(epochs, seed, tuned_once),
    )
    bar = ProgressBar(quiet=not verbose)
    with closing(bar), nullcontext() if journal is None else closing(Journal(journal, comparison)) as open_journal:
        comparison.outcomes = run_trials(comparison, workers, open_journal, monitor or TrialBar(bar))
    return comparison


def _noises(noise: float | Sequence[float]) -> list[float]:
    noises = [float(value) for value in np.atleast_1d(np.asarray(noise, float))]
    for value in noises:
        require("noise", value, NOISE)
    if not noises or len(set(noises)) < len(noises):
        raise ValueError(f"`noise` must be one or more different numbers, got {noise!r}")
    return noises


def _data_sets(
    X: Any, y: ArrayLike | None, n_folds: int, seed: int, feature_names: Sequence[str] | None
) -> list[DataSet]:
    data: Mapping[str, Any] = X if isinstance(X, Mapping) and y is None else {"data": (X, y)}
    if not data or not all(isinstance(pair, (tuple, list)) and len(pair) == 2 for pair in data.values()):
        raise TypeError("expected `X` and `y`, or a dict of pairs (X, y) by name")
    return [
        DataSet.from_matrix(
            name, rows, labels, n_folds, seed, _column_names(rows) if feature_names is None else feature_names
        )
        for name, (rows, labels) in data.items()
    ]


def _column_names(X: Any) -> list[str] | None:
    """The names of the columns of a data frame."""
    return [str(name) for name in X.columns] if hasattr(X, "columns") else None
