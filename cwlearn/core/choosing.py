"""No knobs: rule, parameters and epochs that suit the rows, found by a race of candidates.

Candidates learn some of the rows and are judged by others.  After each round those that are clearly behind drop out
(paired differences, so that rows that are hard for all do not matter), and the rest goes on to more epochs.  Of few
rows all are used to judge, in three folds; of many, a third is enough.  What wins is a plain rule with plain options:
whoever gives them to it trains the same model.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cwlearn.core.field import Options, options_of
from cwlearn.core.kernel_options import KernelOptions
from cwlearn.core.label_sets import LabelSets
from cwlearn.core.learner import Learner
from cwlearn.core.naive_bayes import LabelCounts
from cwlearn.core.rows import Rows
from cwlearn.core.rule import Rule
from cwlearn.core.states.diagonal import DiagonalState
from cwlearn.core.states.factory import blocks_of
from cwlearn.core.training import AUTO_EPOCHS, DEFAULT_BUDGET, Training
from cwlearn.errors import DataError
from cwlearn.utils.machine import free_memory

FOLDS = 3  # five choose no better, and take twice as long
FIFTHS = 5  # if the order of rows matters
LATEST = 3  # fifths that judge then; the first two would have too little before them
TENTHS = 10  # of one pass in the order of the rows: all but the first four judge before they are learned
JUDGING_ROWS = 4000  # are enough to tell candidates apart: with more rows, not all folds are used
MOST_ROWS = 60_000  # a race takes a sample of more rows
# All candidates together take no longer than `budget` runs of AROW with USUAL_EPOCHS, less one for the winner.  A row
# takes them EFFORT times as long as AROW, judging included.  So many rows are always allowed; with 100 nonzeros they
# take less than half a second.
USUAL_EPOCHS, EFFORT, FREE_ROWS = 10, 1.75, 250_000
FEW_COLUMNS = 32  # for each nonzero; more of them are searched for, not marked
FEW_LABELS = 8  # with more, a row takes as much longer as there are more
FEWEST_ROWS = 20  # fewer rows cannot choose
ROUNDS = {1: 4, 2: 3, 3: 2, 5: 1, 10: 0}  # epochs, and how many candidates go on from there at most
MORE_EPOCHS = 20  # are tried if there is only one candidate, whatever it is
# So many standard errors of a paired difference drop a candidate, if it is also behind by a part of the best loss: half
# of it after one epoch, and less later.  Some need epochs to come to the front.
CLEAR, PATIENCE = 2.0, 0.5
# A row that is hardly right is half a mistake: the loss falls from 1 to 0 where the lead of the true label goes from
# -SOFT to SOFT, in units of the usual lead.  Chance moves such rows, and mistakes alone would let it decide.
SOFT = 0.3


class Fold(NamedTuple):
    """Which rows are learned, and which of the others judge."""

    learned: NDArray[np.bool_]
    judging: NDArray[np.bool_]


@dataclass
class Racer:
    """A candidate in the race: its rule, and the losses of the judging rows after each number of epochs.

    By the losses it is judged; the errors are what people know: the part of mistakes, or the mean squared error.
    """

    rule: Rule
    training: Training
    losses: dict[int, NDArray[np.float64]] = field(default_factory=dict)  # by the number of epochs
    errors: dict[int, float] = field(default_factory=dict)
    learners: list[Learner] = field(default_factory=list)

    @property
    def best_epochs(self) -> int:
        """After how many epochs it was best; if their number is given, the last one counts."""
        if self.training.epochs != AUTO_EPOCHS:
            return max(self.losses)
        return min(self.losses, key=lambda epochs: (float(self.losses[epochs].mean()), epochs))

    @property
    def loss(self) -> float:
        """The mean loss after its best number of epochs."""
        return float(self.losses[self.best_epochs].mean())


@dataclass(frozen=True)
class Entry:
    """How a candidate did: its error on rows that it had not learned, and in how many epochs it took part."""

    rule: Rule
    training: Training  # with the best number of epochs
    error: float
    lasted: int


@dataclass(frozen=True)
class Choice:
    """What won, and the field, best first."""

    rule: Rule
    training: Training
    field: tuple[Entry, ...]
    rows: int  # that judged


@dataclass(frozen=True)
class Race:
    """Rows, with their labels as a learner takes them, that candidates are judged by."""

    classes: NDArray[Any]
    rows: Rows
    targets: NDArray[np.float64]
    weights: NDArray[np.float64]
    report: Callable[[int], object] = lambda rows: None  # gets the numbers of rows learned
    budget: float = DEFAULT_BUDGET  # the time of choice and winner together, in runs of USUAL_EPOCHS
    sets: LabelSets | None = None  # of labels, if rows may have several: targets are their numbers

    @property
    def competing(self) -> bool:
        """Whether a row has one of more than two labels."""
        return len(self.classes) > 2 and self.sets is None

    @property
    def _blocks(self) -> int:
        return blocks_of(len(self.classes), self.sets is not None)

    def choose(
        self, options: Sequence[Options], random_state: np.random.RandomState, kernel: KernelOptions | None = None
    ) -> Choice | None:
        """The best rule and training; where the epochs are 'auto', with the best number of them, up to 10; if
        there is but one candidate, up to 20.

        A candidate that cannot learn these rows drops out.  If none can, there is no choice, and the training says why.
        """
        epochs, shuffle = options[0][1].epochs, options[0][1].shuffle
        one_pass = epochs == 1 and not shuffle
        rounds = _rounds(epochs, alone=len(options) == 1)
        effort = _passes(len(options), rounds) * (1 - 1 / (TENTHS if one_pass else FOLDS))
        allowed = (self.budget - 1) * USUAL_EPOCHS / EFFORT * self.rows.n_rows
        most = max(FREE_ROWS * FEW_LABELS / max(FEW_LABELS, self._blocks), allowed) / effort  # rows, in all folds
        sample = self._sample(shuffle, random_state, min(MOST_ROWS, int(most)))._with_few_columns()
        racers = [Racer(rule, training) for rule, training in options]
        known: dict[int, LabelCounts] = {}
        if one_pass:
            folds = sample._tenths()
        else:
            n_folds = max(1, min(sample._affordable(racers), int(most / max(1, sample.rows.n_rows))))
            folds = sample._folds(shuffle, random_state)[:n_folds]
        judges = [sample._taken(fold.judging) for fold in folds]
        racing, done, seed = racers, 0, int(random_state.randint(2**31 - 1))
        for number, most in rounds.items():
            orders = [_orders(fold, range(done, number), shuffle, seed) for fold in folds]
            for racer in racing:
                if not done:
                    racer.learners = sample._learners(racer, folds[:1] if one_pass else folds, kernel, known)
                    if one_pass:
                        racer.learners *= len(folds)  # the same one learns tenth after tenth
                sample._advance(racer, number, orders, judges)
            racers = [racer for racer in racers if racer.losses]
            if not racers:
                return None
            done, racing = number, _still_racing([racer for racer in racing if number in racer.losses], number, most)
            if not racing:
                break
        return _choice(racers, len(np.concatenate([judge.targets for judge in judges])))

    def _learners(
        self,
        racer: Racer,
        folds: list[Fold],
        kernel: KernelOptions | None,
        known: dict[int, LabelCounts],
    ) -> list[Learner]:
        """A new learner for each fold; none if the weights cannot keep the variance that these rows ask for.

        `known` are counts by fold, for priors; it gets those that are missing.
        """
        several = self.sets is not None
        make = partial(Learner, racer.rule, racer.training, self.classes, self.rows.n_features, kernel, several)
        try:
            learners = [make() for _ in folds]
        except ValueError:
            return []
        for number, learner in enumerate(learners if racer.rule.informed else ()):
            if number not in known:
                known[number] = learner.new_label_counts()
                learner.count_labels(known[number], self.rows, self.targets, self.weights, folds[number].learned)
            learner.set_prior(known[number])
        return learners

    def _advance(
        self, racer: Racer, number: int, orders: list[list[NDArray[np.int64]]], judges: Sequence[Race]
    ) -> None:
        """Let a candidate learn up to a number of epochs, and judge it; without losses if it cannot learn the rows."""
        judged = []
        try:
            for learner, passes, judge in zip(racer.learners, orders, judges, strict=False):
                self._learn(learner, passes)
                judged.append(judge._judge(learner))
        except DataError:  # numbers beyond what it can keep
            racer.learners = []
        if racer.learners:
            losses, errors = (np.concatenate(of_folds) for of_folds in zip(*judged, strict=True))
            racer.losses[number], racer.errors[number] = losses, float(errors.mean())

    def _learn(self, learner: Learner, passes: Sequence[NDArray[np.int64]]) -> None:
        nothing_new = np.zeros(self.rows.n_rows, np.uint8)  # no time for probabilities
        for order in passes:
            learner.learn(self.rows, self.targets, self.weights, order, self.report, nothing_new, sets=self.sets)

    def _sample(self, shuffle: bool, random_state: np.random.RandomState, most: int) -> Race:
        """Some of very many rows: any of them or, if their order matters, every second, third, ..."""
        n_rows = self.rows.n_rows
        if n_rows <= most:
            return self
        chosen = random_state.permutation(n_rows)[:most] if shuffle else np.arange(most) * n_rows // most
        keep = np.zeros(n_rows, bool)
        keep[chosen] = True
        return self._taken(keep)

    def _with_few_columns(self) -> Race:
        """The same rows, with only the columns that occur, because there are many learners."""
        indices, n_features = self.rows.indices, self.rows.n_features
        if n_features <= FEW_COLUMNS * len(indices):
            occurs = np.zeros(n_features, bool)
            occurs[indices] = True
            numbers = (np.cumsum(occurs, dtype=np.int32) - 1)[indices]
        else:
            numbers = np.unique(indices, return_inverse=True)[1].astype(np.int32)
        rows = replace(self.rows, indices=numbers, n_features=int(numbers.max(initial=0)) + 1)
        return replace(self, rows=rows)

    def _affordable(self, racers: list[Racer]) -> int:
        """How many folds there is memory for, at least one."""
        size = sum(
            DiagonalState.nbytes(
                self.rows.n_features, self._blocks, np.dtype(racer.training.dtype), racer.rule.averaged
            )
            for racer in racers
        )
        return max(1, min(FOLDS, free_memory() // 4 // size))

    def _taken(self, keep: NDArray[np.bool_]) -> Race:
        weights = self.weights[keep] if len(self.weights) else self.weights
        return replace(self, rows=self.rows.where(keep), targets=self.targets[keep], weights=weights)

    def _folds(self, shuffle: bool, random_state: np.random.RandomState) -> list[Fold]:
        """As many as are needed for JUDGING_ROWS.

        Without a shuffle the latest fifth judges what the rows before it have taught; of fewer rows, the fifths before
        it, too.
        """
        n_rows = self.rows.n_rows
        parts = FOLDS if shuffle else FIFTHS
        needed = max(1, math.ceil(JUDGING_ROWS * parts / n_rows))
        if shuffle:
            numbers = random_state.permutation(n_rows) % parts
            return [Fold(numbers != fold, numbers == fold) for fold in range(min(parts, needed))]
        part, places = n_rows // parts, np.arange(n_rows)
        starts = [n_rows - part * (fold + 1) for fold in range(min(LATEST, needed))]
        return [Fold(places < start, (places >= start) & (places < start + part)) for start in starts]

    def _tenths(self) -> list[Fold]:
        """One pass in the order of the rows: each of the latest tenths judges, and is learned before the next one does.

        So one learner is enough, and a judge sees it with almost as many rows as it will have learned.  Of many rows
        the last two tenths judge.
        """
        n_rows, places = self.rows.n_rows, np.arange(self.rows.n_rows)
        latest = min(6, max(2, math.ceil(JUDGING_ROWS * TENTHS / n_rows)))
        edges = [n_rows * tenth // TENTHS for tenth in range(TENTHS - latest, TENTHS + 1)]
        learned = [0, *edges[:-2]]
        return [
            Fold((places >= before) & (places < start), (places >= start) & (places < stop))
            for before, start, stop in zip(learned, edges[:-1], edges[1:], strict=True)
        ]

    def _judge(self, learner: Learner) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Losses and errors of the rows, which the learner has not learned.

        The error is 1 for a wrong label, or the squared one; if rows may have several labels, it is the part of wrong
        decisions.
        """
        if self.sets is not None:
            errors = np.empty(self.rows.n_rows)
            for which, part in learner.parts(self.rows):
                true = self.sets.indicators(self.targets[which], self._blocks)
                errors[which] = ((learner.margins(part, only_mean=True)[0] > 0) != true).mean(axis=1)
            losses = errors
        else:
            mean, _ = learner.margins(self.rows, only_mean=learner.several)
            if learner.rule.task == "regression":
                losses = errors = (mean - self.targets) ** 2
            else:
                errors = (learner.targets(learner.chosen(mean)) != self.targets).astype(np.float64)
                lead = _leads(mean, self.targets.astype(np.int64)) if learner.several else mean * self.targets
                width = SOFT * float(np.median(np.abs(lead))) if len(lead) else 0.0
                losses = np.clip((1 - lead / width) / 2, 0, 1) if width > 0 else errors
        return (losses * self.weights, errors * self.weights) if len(self.weights) else (losses, errors)


def _leads(mean: NDArray[np.float64], true: NDArray[np.int64]) -> NDArray[np.float64]:
    """By how much the scores of the true labels are above the highest of the others."""
    rows = np.arange(len(true))
    others = mean.copy()
    others[rows, true] = -np.inf
    leads: NDArray[np.float64] = mean[rows, true] - others.max(axis=1)
    return leads


def _rounds(epochs: int | str, alone: bool) -> dict[int, int]:
    """After how many epochs candidates are judged, and how many of them go on then at most.

    A given number of epochs is the last round; of very many, the first 20 tell enough.
    """
    if not isinstance(epochs, int):
        return dict.fromkeys((*ROUNDS, MORE_EPOCHS), 1) if alone else ROUNDS
    last = min(epochs, MORE_EPOCHS)
    return {number: most for number, most in ROUNDS.items() if number < last} | {last: 0}


def _passes(racing: int, rounds: dict[int, int]) -> int:
    """How many epochs all candidates make together, at most."""
    passes = done = 0
    for number, most in rounds.items():
        passes += racing * (number - done)
        done, racing = number, min(racing, most)
    return passes


def _orders(fold: Fold, epochs: range, shuffle: bool, seed: int) -> list[NDArray[np.int64]]:
    """The orders of the rows that are learned; the same ones for all candidates, so that chance favours none."""
    learned = np.flatnonzero(fold.learned)
    return [np.random.RandomState(seed + epoch).permutation(learned) if shuffle else learned for epoch in epochs]


def _still_racing(racing: list[Racer], epochs: int, most: int) -> list[Racer]:
    """Those that may still win after some epochs: not clearly behind the best one so far, at most `most`."""
    if not racing:
        return []
    leader = min(racing, key=lambda racer: racer.loss)
    best = leader.losses[leader.best_epochs]
    patience = PATIENCE / epochs * leader.loss if len(racing) > 1 else 0.0  # alone it is only behind itself
    left: list[Racer] = []
    for racer in sorted(racing, key=lambda racer: racer.loss):
        behind = racer.losses[epochs] - best
        error = float(behind.std()) / math.sqrt(max(1, len(behind)))
        if float(behind.mean()) <= CLEAR * error + patience and len(left) < most:
            left.append(racer)
        else:
            racer.learners = []  # which take memory
    return left


def _choice(racers: list[Racer], rows: int) -> Choice:
    """The winner and the field."""
    given = racers[0].training.epochs != AUTO_EPOCHS  # then only those that came so far can win
    # Of equal ones, the first in the field.
    ranked = sorted(racers, key=lambda racer: (-max(racer.losses) if given else 0, racer.loss))
    entries = [
        Entry(
            racer.rule,
            racer.training if given else replace(racer.training, epochs=racer.best_epochs),
            racer.errors[racer.best_epochs],
            max(racer.losses),
        )
        for racer in ranked
    ]
    return Choice(entries[0].rule, entries[0].training, tuple(entries), rows)


def choose(
    race: Race,
    task: str,
    training: Training,
    class_weight: Any,
    random_state: np.random.RandomState,
    how: str | None = None,
) -> Choice | None:
    """The best of the field for these rows; None if they are too few to tell."""
    if race.rows.n_rows < FEWEST_ROWS:
        return None
    options = options_of(task, race.rows, training, race.competing, class_weight, how)
    return race.choose(options, random_state)


def choose_epochs(race: Race, learner: Learner, random_state: np.random.RandomState) -> Training:
    """The training of a learner with a number of epochs, if these are 'auto': what suits the rows, or the usual one."""
    training = learner.training
    if training.epochs != AUTO_EPOCHS:
        return training
    enough = race.rows.n_rows >= FEWEST_ROWS
    choice = race.choose([(learner.rule, training)], random_state, learner.kernel) if enough else None
    return replace(training, epochs=learner.rule.default_epochs) if choice is None else choice.training
