"""A classifier that chooses its own rule, parameters and epochs."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from cwlearn.core import rules
from cwlearn.core.choosing import Choice, Race, choose
from cwlearn.core.kernel_options import KernelOptions
from cwlearn.core.learner import Learner
from cwlearn.core.parameters import TIMES, require
from cwlearn.core.rows import as_rows
from cwlearn.core.rule import Rule
from cwlearn.core.training import DEFAULT_BUDGET, Training
from cwlearn.estimators.base import Linear
from cwlearn.estimators.classifier import LinearClassifier, Probabilistic, Weighted
from cwlearn.utils.progress import bar_class


class Racing(Linear):
    """An estimator that may choose its rule by a race of candidates, and goes on with the winner."""

    _decided: tuple[Rule, Training]
    race_: list[dict[str, Any]]

    @property
    @abstractmethod
    def _race_budget(self) -> float | None:
        """The budget of the race, checked; None if there is to be none."""

    def _options(self) -> tuple[Rule, Training, KernelOptions | None]:
        """What was chosen or, before that, what the parameters say."""
        return (*self._decided, None) if "_decided" in vars(self) else self._given_options()

    def _given_options(self) -> tuple[Rule, Training, KernelOptions | None]:
        return super()._options()

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        decided = self.__dict__.pop("_decided", None)
        try:
            return super()._fit(X, y, sample_weight)
        except BaseException:
            if decided is not None:
                self._decided = decided
            raise

    def _chosen(self, learner: Learner, race: Race, random_state: np.random.RandomState) -> Learner:
        budget, choice = self._race_budget, None
        if budget is not None:
            with _progress(learner.training.verbose) as report:
                race = replace(race, report=report, budget=budget)
                weight = getattr(learner.rule, "class_weight", None)
                choice = choose(race, learner.rule.task, learner.training, weight, random_state)
        if choice is None:
            return super()._chosen(learner, race, random_state)
        self._decide(choice)
        return self._new_learner(choice.rule, choice.training, learner.classes, race.rows.n_features, None)

    def _decide(self, choice: Choice) -> None:
        """Go on with the winner of a race."""
        self._decided = choice.rule, choice.training
        self.race_ = [
            {
                "algorithm": entry.rule.name,
                "parameters": asdict(entry.rule),
                "epochs": entry.training.epochs,
                "error": entry.error,
                "lasted": entry.lasted,
            }
            for entry in choice.field
        ]


class AutoClassifier(Racing, Weighted, Probabilistic, LinearClassifier):
    """The classifier without knobs: it tries rules, parameters and numbers of epochs on the rows, and takes the best.

    Nine candidates learn some of the rows and are judged by others; those that are clearly behind drop out, the rest
    goes on to more epochs.  Up to some 4,000 rows all judge, in three folds; of more rows a third is enough.  The
    winner learns all rows.

    `partial_fit` chooses by the rows of its first call, in one pass, and goes on with the winner.

    Parameters
    ----------
    budget : float, default=3.0
        The most rows that choosing and learning may take, as a multiple of one run with ten epochs. A race of 250,000
        rows in all, some tenths of a second, is always allowed.
    class_weight : dict, "balanced" or None, default=None
        Weight of the loss by label. 'balanced' is n_rows / (n_labels * rows of the label).
    fit_intercept : bool, default=True
        Learn an intercept, as the weight of a feature that is always 1.
    epochs : int or "auto", default="auto"
        Passes over the rows; 'auto' chooses them, too.
    shuffle : bool, default=True
        Take the rows in a new random order in every epoch. Otherwise the latest rows judge.
    random_state : int, RandomState or None, default=None
        Seed or generator of the shuffles.
    n_constraints : int or None, default=1
        With more than two labels: how many of the highest-scoring wrong labels the true one must beat. None is all.
    threshold : float or {"f0.5", "f1", "f2", "balanced"}, default=0.5
        With two labels: the chance from which on the second one is predicted. 'f1' is the one with the highest F1
        of that label, and so on; 'balanced' that with the highest mean of both recalls.
    dtype : {"float32", "float64"}, default="float32"
        Precision of the weights. Sums are always float64.
    verbose : int, default=0
        Show a progress bar on standard error during `fit`.

    Attributes
    ----------
    choice_ : the classifier that won, not fitted; fitted to the same rows it gives the same model
    race_ : list of dicts, how each candidate did, best first
    classes_ : the labels
    coef_, intercept_, variance_ : as those of the winner

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from cwlearn import AutoClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AutoClassifier(random_state=0).fit(X / X.max(axis=0), y)
    >>> model.score(X / X.max(axis=0), y) > 0.95
    True
    """

    _rule = rules.AROW  # for rows that are too few to choose by

    def __init__(
        self,
        *,
        budget: float = DEFAULT_BUDGET,
        class_weight: Mapping[Any, float] | Literal["balanced"] | None = None,
        fit_intercept: bool = True,
        epochs: int | Literal["auto"] = "auto",
        shuffle: bool = True,
        random_state: int | np.random.RandomState | None = None,
        n_constraints: int | None = 1,
        threshold: float | Literal["f0.5", "f1", "f2", "balanced"] = 0.5,
        dtype: Literal["float32", "float64"] = "float32",
        verbose: int = 0,
    ) -> None:
        self.budget = budget
        self.class_weight = class_weight
        self.fit_intercept = fit_intercept
        self.epochs = epochs
        self.shuffle = shuffle
        self.random_state = random_state
        self.n_constraints = n_constraints
        self.threshold = threshold
        self.dtype = dtype
        self.verbose = verbose

    @property
    def _race_budget(self) -> float:
        require("budget", self.budget, TIMES)
        return self.budget

    def _partial_fit(self, X: Any, y: Any, classes: NDArray[Any], sample_weight: Any) -> Self:
        if not self.__sklearn_is_fitted__():
            self.__dict__.pop("_decided", None)
            rule, training, _ = self._given_options()
            training = replace(training, epochs=1, shuffle=False)
            rows_of, labels = self._validate(X, y, reset=True)
            learner = Learner(rule, training, classes, rows_of.shape[1])
            rows = as_rows(rows_of, learner.state.dtype)
            weights = self._row_weights(sample_weight, labels, learner)
            race = Race(classes, rows, learner.encode(labels), weights, budget=self._race_budget)
            choice = choose(race, rule.task, training, self.class_weight, training.generator())
            if choice is not None:
                self._decide(choice)
        return super()._partial_fit(X, y, classes, sample_weight)

    @property
    def choice_(self) -> LinearClassifier:
        from cwlearn.estimators.loading import estimator_of  # which knows all classes, this one too

        winner = estimator_of(self._fitted)
        assert isinstance(winner, LinearClassifier)
        winner.set_params(random_state=self.random_state)
        return winner


@contextmanager
def _progress(verbose: int) -> Iterator[Callable[[int], object]]:
    """A function to call with the rows that candidates have learned; it shows a bar if `verbose`."""
    if not verbose:
        yield lambda done: None
        return
    with bar_class()(desc="choosing", unit=" rows", unit_scale=True) as bar:
        yield bar.update
