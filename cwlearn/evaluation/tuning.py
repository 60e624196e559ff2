"""`tune`: find the best setting of one classifier."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from cwlearn.core.parameters import COUNT, SEED, Check, is_number, require
from cwlearn.errors import DataError, listed
from cwlearn.evaluation.algorithms import find_candidate
from cwlearn.evaluation.candidates import Candidate, ParameterValue, RuleCandidate
from cwlearn.evaluation.data_sets import DataSet, TrainingRows
from cwlearn.evaluation.threads import one_core_each
from cwlearn.evaluation.trials import SettingResult, TrialSettings, best_setting, try_settings
from cwlearn.utils.progress import ProgressBar
from cwlearn.utils.templates import environment

HELD_OUT = Check("a number with 0 < held_out <= 0.5", lambda value: is_number(value) and 0 < value <= 0.5, float, "X")


@dataclass(repr=False)
class Tuning:
    """The result of `tune`."""

    candidate: Candidate
    n_train_rows: int
    n_held_out_rows: int
    tried: list[SettingResult]  # each setting, with its error after each epoch
    fixed: dict[str, Any]  # the parameters that were not tuned

    @property
    def best(self) -> SettingResult:
        """The setting with the lowest error; the first of several."""
        return best_setting(self.tried)

    @property
    def parameters(self) -> dict[str, Any]:
        """The best parameters, as the constructor of the estimator takes them."""
        epochs = {"epochs": self.best.epochs} if isinstance(self.candidate, RuleCandidate) else {}
        return {**self.fixed, **self.best.setting, **epochs}

    def __repr__(self) -> str:
        """The best setting and its error, in a line."""
        best = ", ".join(f"{name}={value!r}" for name, value in self.parameters.items())
        return f"{self.candidate.title} is best with {best}: error {_percent(self.best.error)}"

    def _repr_html_(self) -> str:
        """All settings as a table, for a notebook."""
        return environment("cwlearn.evaluation").get_template("tuning.html.jinja").render(tuning=self, percent=_percent)


def _percent(error: float) -> str:
    return f"{100 * error:.2f} %"


def progress_on(bar: ProgressBar) -> Callable[[int, int], object]:
    """A `report` of `tune` that shows a bar."""

    def report(done: int, total: int) -> None:
        if not done:
            bar.begin("tuning", total, " epochs")
        bar.move_to(done)

    return report


def tune(
    X: Any,
    y: ArrayLike,
    algorithm: str | Candidate = "arow",
    *,
    grid: Mapping[str, Sequence[ParameterValue]] | None = None,
    epochs: int = 10,
    held_out: float = 0.1,
    seed: int = 0,
    name: str = "data",
    report: Callable[[int, int], object] | None = None,
    verbose: int = 0,
) -> Tuning:
    """Try the settings of an algorithm by a single randomised run each, as the papers do.

    A run learns from most of the rows, and counts the mistakes on the others after each epoch.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n_rows, n_features)
        The rows.
    y : array of shape (n_rows,)
        The labels.
    algorithm : str, default="arow"
        One of `cwlearn.evaluation.ALGORITHMS`.
    grid : dict of sequences, optional
        The values to try for each parameter.  By default those that `compare` tries.
    epochs : int, default=10
        The largest number of epochs to try.
    held_out : float, default=0.1
        The part of the rows that settings are validated on.
    seed : int, default=0
        Seed of the split and of the orders of the rows.
    name : str, default="data"
        The name of the data in error messages.
    report : callable, optional
        Called with the epochs that are done and those of all settings: first with 0, then after each epoch.
    verbose : int, default=0
        Show a progress bar, on a terminal or in a notebook, unless there is a `report`.

    Returns
    -------
    tuning : Tuning
        With `parameters` for the estimator, the `best` setting, and all settings that were `tried`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from cwlearn import AROWClassifier, evaluation
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> tuning = evaluation.tune(X, y, "arow", grid={"regularization": [0.1, 1.0, 10.0]})
    >>> model = AROWClassifier(**tuning.parameters).fit(X, y)
    """
    require("epochs", epochs, COUNT)
    require("seed", seed, SEED)
    require("held_out", held_out, HELD_OUT)
    candidate = _with_grid(find_candidate(algorithm), grid)
    data_set = DataSet.from_matrix(name, X, y, 1, seed)
    if reason := candidate.exclusion_reason(data_set):
        raise ValueError(f"{candidate.name} cannot learn these data: it is {reason}")
    validation = slice(0, max(1, round(held_out * len(data_set.y))))
    train = data_set.rows_outside(validation)
    if len(np.unique(data_set.y[train])) < len(data_set.classes):
        raise DataError(f"{name}: some labels have too few rows to train and validate")
    training_rows = TrainingRows(data_set, data_set.y, train)
    bar = ProgressBar(quiet=not verbose)
    with closing(bar), one_core_each():
        tried = try_settings(
            candidate, training_rows, validation, TrialSettings(epochs, seed), report=report or progress_on(bar)
        )
    return Tuning(candidate, len(train), validation.stop, tried, candidate.fixed_parameters(data_set))


def _with_grid(candidate: Candidate, grid: Mapping[str, Sequence[ParameterValue]] | None) -> Candidate:
    """The candidate with other values to try."""
    if grid is None:
        return candidate
    if any(isinstance(values, str) or not np.iterable(values) or not len(values) for values in grid.values()):
        raise ValueError(f"`grid` must have a list of values for each parameter, got {dict(grid)!r}")
    changed = replace(candidate, grid={name: tuple(values) for name, values in grid.items()})
    if isinstance(changed, RuleCandidate):
        for setting in changed.settings:
            try:
                changed.rule(**changed.fixed, **setting)
            except TypeError:
                raise ValueError(
                    f"{candidate.name} cannot be tuned by {listed(list(grid))}; its usual grid is of "
                    f"{listed(list(candidate.grid)) or 'nothing'}"
                ) from None
    return changed
