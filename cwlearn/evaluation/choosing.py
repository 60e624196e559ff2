"""Choosing a classifier by evidence: `tune` finds the best setting of one, `compare` ranks many."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cwlearn.core.parameters import COUNT, SEED, Check, is_integer, is_number, require
from cwlearn.errors import DataError, listed
from cwlearn.evaluation import comparison as _comparison
from cwlearn.evaluation.candidates import (
    CANDIDATES,
    USUAL,
    BatchCandidate,
    Candidate,
    OnlineCandidate,
    of_estimator,
    side_by_side,
)
from cwlearn.evaluation.comparison import Comparison, Journal, TrialMonitor
from cwlearn.evaluation.data_sets import DataSet
from cwlearn.evaluation.report import page
from cwlearn.evaluation.trials import TrialSettings, Tried, best
from cwlearn.evaluation.trials import tune as _tune
from cwlearn.utils.atomic_file import replaced_file

__all__ = ["ALGORITHMS", "Comparison", "Tuning", "compare", "report", "tune"]

FOLDS = Check("an integer from 2 on", lambda value: is_integer(value) and value >= 2, int, "N")
HELD_OUT = Check("a number with 0 < held_out <= 0.5", lambda value: is_number(value) and 0 < value <= 0.5, float, "X")
NOISE = Check("a number with 0 <= noise < 1", lambda value: is_number(value) and 0 <= value < 1, float, "X")


@dataclass
class Tuning:
    """What tuning has found: `tried` has an error for each setting and epoch, `best` is the lowest of them."""

    candidate: Candidate
    rows: int  # learned from
    checked: int  # rows that were held out
    tried: list[Tried]
    fixed: dict[str, Any]  # parameters that were not tuned

    @property
    def best(self) -> Tried:
        return best(self.tried)

    @property
    def parameters(self) -> dict[str, Any]:
        """The best ones, as the estimator takes them."""
        epochs = {"epochs": self.best.epochs} if isinstance(self.candidate, OnlineCandidate) else {}
        return {**self.fixed, **self.best.setting, **epochs}


def tune(
    X: Any,
    y: Any,
    algorithm: str | Candidate = "arow",
    *,
    grid: Mapping[str, Sequence[Any]] | None = None,
    epochs: int = 10,
    held_out: float = 0.1,
    seed: int = 0,
    name: str = "data",
) -> Tuning:
    """Try the settings of an algorithm on a single randomised run, as the papers do: learn from most of the rows, after
    each epoch count the mistakes on the others.

    Parameters
    ----------
    X, y : rows and labels
    algorithm : str
        One of `cwlearn.evaluation.choosing.ALGORITHMS`.
    grid : dict of sequences, optional
        Values to try, by parameter; by default the usual ones of the algorithm.
    epochs : int
        How many epochs to try.
    held_out : float
        The part of the rows that settings are judged by.
    seed : int
    name : str
        What errors call the data.

    Returns
    -------
    tuning : Tuning
        With `best`, `parameters` (for the estimator) and `tried`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from cwlearn import AROWClassifier, evaluation
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> found = evaluation.tune(X, y, "arow", grid={"regularization": [0.1, 1.0, 10.0]})
    >>> model = AROWClassifier(**found.parameters).fit(X, y)
    """
    require("epochs", epochs, COUNT)
    require("seed", seed, SEED)
    require("held_out", held_out, HELD_OUT)
    candidate = with_grid(_candidate(algorithm), grid)
    data_set = DataSet.of(name, X, y, 1, seed)
    if why := candidate.refuses(data_set):
        raise ValueError(f"{candidate.name} cannot learn these data: it is {why}")
    check = slice(0, max(1, round(held_out * len(data_set.y))))
    train = data_set.rest(check)
    if len(np.unique(data_set.y[train])) < len(data_set.classes):
        raise DataError(f"{name}: some labels have too few rows to learn from and to judge by")
    with side_by_side():
        tried = _tune(candidate, data_set, data_set.y, train, check, TrialSettings(epochs, seed))
    fixed = dict(candidate.fixed) if isinstance(candidate, OnlineCandidate) else {}
    if isinstance(candidate, BatchCandidate):
        fixed = candidate.make(data_set).get_params(deep=False)
    return Tuning(candidate, len(train), check.stop, tried, fixed)


def compare(
    X: Any,
    y: Any = None,
    *,
    algorithms: Sequence[str | Candidate] | Mapping[str, Any] | None = None,
    folds: int = 10,
    noise: float | Sequence[float] = 0.0,
    epochs: int = 10,
    seed: int = 0,
    workers: int | None = None,
    journal: str | os.PathLike[str] | None = None,
    tuned_once: bool = False,
    feature_names: Sequence[str] | None = None,
    monitor: TrialMonitor | None = None,
) -> Comparison:
    """Cross-validate many classifiers on the same folds.

    In each fold every one chooses its parameter and its number of epochs by a single randomised run on the training
    rows, learns from all of these, and is tested.

    Parameters
    ----------
    X, y : rows and labels
        Or, without y, a dict of such pairs by name: several data sets.
    algorithms : names from `ALGORITHMS`, optional
        Or a dict of them, or of estimators of scikit-learn, by name; estimators are taken as they are.
    folds, epochs : int
        How many folds, and how many epochs at most.
    noise : float or several
        The part of the training labels that is replaced by wrong ones; tests are always on the true ones.
    seed : int
        The same one gives the same figures, but for the seconds.
    workers : int, optional
        Trials at a time; by default one for each core that may be used.
    journal : path, optional
        Where to write what is done; a comparison that was ended early goes on from it.
    tuned_once : bool
        Tune in the first fold only, for all of them: cheaper, but other folds are tested on rows that had a say.
    feature_names : optional
        For the heaviest weights in a report.
    monitor : optional
        Hears how it goes.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from cwlearn import evaluation
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> found = evaluation.compare(X, y, algorithms=["arow", "perceptron"], folds=3, epochs=2)
    >>> bool(found.error("data", 0.0, "arow") < 0.2)
    True
    """
    require("folds", folds, FOLDS)
    require("epochs", epochs, COUNT)
    require("seed", seed, SEED)
    if workers is not None:
        require("workers", workers, COUNT)
    noises = [float(value) for value in np.atleast_1d(np.asarray(noise, float))]
    for value in noises:
        require("noise", value, NOISE)
    if not noises or len(set(noises)) < len(noises):
        raise ValueError(f"noise must be one or more different numbers, got {noise!r}")
    data = X if isinstance(X, Mapping) and y is None else {"data": (X, y)}
    if not data or not all(isinstance(pair, (tuple, list)) and len(pair) == 2 for pair in data.values()):
        raise TypeError("expected X and y, or a dict of pairs (X, y) by name")
    data_sets = [
        DataSet.of(name, rows, labels, folds, seed, feature_names if feature_names is not None else _columns(rows))
        for name, (rows, labels) in data.items()
    ]
    made = _comparison.compared(data_sets, _candidates(algorithms), noises, TrialSettings(epochs, seed, tuned_once))
    book = None if journal is None else Journal(journal, made)
    try:
        return _comparison.run(made, workers, book, monitor)
    finally:
        if book is not None:
            book.close()


def report(found: Comparison, path: str | os.PathLike[str]) -> None:
    """Write a comparison as a page of HTML, which needs nothing else to be looked at."""
    text = page(found).encode()
    with replaced_file(path) as file:
        file.write(text)


ALGORITHMS = tuple(CANDIDATES)


def _candidates(algorithms: Sequence[str | Candidate] | Mapping[str, Any] | None) -> list[Candidate]:
    if isinstance(algorithms, str):
        algorithms = [algorithms]
    if isinstance(algorithms, Mapping):
        found = [
            replace(_candidate(one), name=name, title=name)
            if isinstance(one, (str, Candidate))
            else of_estimator(name, one)
            for name, one in algorithms.items()
        ]
    else:
        found = [_candidate(one) for one in (USUAL if algorithms is None else algorithms)]
    names = [one.name for one in found]
    if not names or len(set(names)) < len(names):
        raise ValueError(f"algorithms must be one or more different ones, got {listed(names)}")
    return found


def _columns(X: Any) -> list[str] | None:
    """The names of the columns of a data frame."""
    return [str(name) for name in X.columns] if hasattr(X, "columns") else None


def _candidate(algorithm: str | Candidate) -> Candidate:
    if isinstance(algorithm, Candidate):
        return algorithm
    if algorithm not in CANDIDATES:
        raise ValueError(f"algorithm must be one of {', '.join(CANDIDATES)}, got {algorithm!r}")
    return CANDIDATES[algorithm]


def with_grid(candidate: Candidate, grid: Mapping[str, Sequence[Any]] | None) -> Candidate:
    """Other values to choose from."""
    if grid is None:
        return candidate
    if any(isinstance(values, str) or not np.iterable(values) or not len(values) for values in grid.values()):
        raise ValueError(f"grid must have a list of values for each parameter, got {dict(grid)!r}")
    changed = replace(candidate, grid={name: tuple(values) for name, values in grid.items()})
    if isinstance(changed, OnlineCandidate):
        for setting in changed.settings:
            try:
                changed.rule(**changed.fixed, **setting)
            except TypeError:
                raise ValueError(
                    f"{candidate.name} cannot be tuned by {listed(list(grid))}; its usual grid is of "
                    f"{listed(list(candidate.grid)) or 'nothing'}"
                ) from None
    return changed
