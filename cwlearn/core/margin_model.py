"""A rule, a state and what has been counted: weights that predict, and the margins that they give."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from cwlearn._kernels import CALIBRATION_SIZE
from cwlearn.core.calibration import Calibration
from cwlearn.core.class_labels import label_text
from cwlearn.core.journal_mark import JournalMark
from cwlearn.core.kernel_options import KernelOptions
from cwlearn.core.label_sets import check_multilabel
from cwlearn.core.rows import Rows
from cwlearn.core.rule import Rule
from cwlearn.core.states.base import NONE, LinearState, State
from cwlearn.core.states.diagonal import DiagonalState, aged
from cwlearn.core.states.factory import blocks_of, new_state
from cwlearn.core.statistics import (
    COUNTED,
    STATISTICS,
    Repeated,
    Statistics,
    new_statistics,
    progressive_error,
    statistics_of,
)
from cwlearn.core.text_options import TextOptions
from cwlearn.core.training import Training, check_threshold, check_update
from cwlearn.utils.locks import ForkSafeLock

if TYPE_CHECKING:
    from cwlearn.core.frequencies import Frequencies

WEIGHTS_BY_ANSWER = 1 << 12  # that are derived in the time that the answer for one row takes without that
DERIVED = ("_derived", "_calibrated", "kept", "lock")  # attributes that no copy takes over


class MarginModel:
    """A rule, a state and labels.

    `classes` are sorted.  Of two labels the second one is the positive one; of more, each has its own block of weights.
    A regression has none.  With `multilabel` a row may have any number of labels, and each label is a binary problem
    with a block of weights and a calibration of its own.
    """

    # Class attributes, which older pickles lack:
    journal: JournalMark | None = None  # how much of a journal of feedback it has learned
    _repeated: Repeated = (0, 0)

    def __init__(
        self,
        rule: Rule,
        training: Training,
        classes: NDArray[Any],
        n_features: int,
        kernel: KernelOptions | None = None,
        multilabel: bool = False,
    ) -> None:
        check_update(rule, training)
        if multilabel:
            check_multilabel(rule, kernel)
        else:
            check_threshold(training, len(classes))
        self.multilabel = multilabel
        self.rule = rule
        self.training = training
        self.classes = classes
        self.kernel = kernel
        self._counts: NDArray[np.void] = np.zeros(1, STATISTICS)
        self._calibrations = np.zeros((len(classes) if multilabel else 0, CALIBRATION_SIZE))  # by label
        self.feature_names: NDArray[Any] | None = None  # strings, if the rows came with names
        self.label_texts: list[str] | None = None  # the labels as they are written, if they came from text
        self.hash_bits = 0  # columns are hashes of so many bits; 0: they are the indices
        self.documents: TextOptions | None = None  # how documents become rows; None: it has learned rows of numbers
        self.frequencies: Frequencies | None = None  # of features in documents, if they weigh their values
        self.words: dict[int, list[str]] = {}  # of some columns, if these are hashes of documents
        self.origin = 0.0  # the first mean of the intercept
        self.unfinished: dict[str, Any] | None = None  # of a checkpoint: the run it belongs to, and its progress
        self.state = new_state(rule, training, kernel, blocks_of(len(classes), multilabel), n_features)
        self._reset()

    def _reset(self) -> None:
        """Drop what is derived from the state, and take a new lock."""
        self._derived: tuple[NDArray[np.void], State] | None = None  # of the rows that were counted then
        self._calibrated: tuple[NDArray[np.void], Calibration | None] | None = None
        self.kept: dict[str, Any] = {}  # what others have made of the model's options, and keep with it
        self.lock = ForkSafeLock("this model")  # held while the state changes, and by a save between two blocks

    def __getstate__(self) -> dict[str, Any]:
        """A deep copy, because another thread may learn while the model is pickled."""
        with self.lock:
            return copy.deepcopy({key: value for key, value in vars(self).items() if key not in DERIVED})

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._reset()

    def __deepcopy__(self, memo: Any) -> Self:
        twin = object.__new__(type(self))
        twin.__setstate__(self.__getstate__())
        return twin

    @property
    def statistics(self) -> Statistics:
        """A copy of what has been counted since the first row."""
        repeated = self._repeated  # first: a thread that learns sets them last, and there must not be more than all
        return statistics_of(self._counts, repeated)

    @statistics.setter
    def statistics(self, statistics: Statistics) -> None:
        counts = self._counts.copy()  # never changed in place: what is derived from them knows them by their identity
        for name in COUNTED:
            counts[name] = statistics[name]  # type: ignore[literal-required]
        repeated = statistics["repeated_rows"], statistics["repeated_mistakes"]
        self._counts, self._repeated = counts, repeated

    @property
    def n_learned(self) -> int:
        """The rows that were learned."""
        return int(self._counts["rows"][0])

    @property
    def counts(self) -> NDArray[np.void]:
        """What has been counted so far.  Learning counts in a copy, so that this array never changes."""
        return self._counts

    def set_counts(self, counts: NDArray[np.void]) -> None:
        """Take over new counts, which must not change any more."""
        self._counts = counts

    def with_counts(self, counts: NDArray[np.void]) -> Self:
        """This model with the counts of another moment, to turn margins of that moment into probabilities."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin._counts = counts
        return twin

    @property
    def calibration(self) -> Calibration | None:
        """What scores are worth, as rows have shown before they were learned; None if none has."""
        counts, calibrated = self._counts, self._calibrated
        if calibrated is None or calibrated[0] is not counts:
            calibrated = self._calibrated = counts, Calibration.of(counts["calibration"][0].copy())
        return calibrated[1]

    @property
    def calibrations(self) -> list[Calibration | None]:
        """That of each label if a row may have several; else the only one."""
        if self.multilabel:
            return [*map(Calibration.of, self._calibrations.copy())]
        return [self.calibration]

    def set_calibrations(self, numbers: Sequence[NDArray[np.float64]]) -> None:
        """Take over what a file or a merge knows of scores, in the order of `calibrations`."""
        if self.multilabel:
            self._calibrations[:] = numbers
        else:
            counts = self._counts.copy()
            counts["calibration"] = numbers[0]
            self._counts = counts

    @property
    def is_calibrated(self) -> bool:
        """Whether rows have shown what scores are worth."""
        return all(known is not None for known in self.calibrations)

    def progressive_error(self, since: Statistics | None = None) -> float | None:
        """The error on rows before they were learned: see `statistics.progressive_error`; on those after `since`.

        If rows may have several labels, it is the part of wrong decisions, one for each row and label (Hamming loss).
        None for rows whose labels a prior of naive Bayes has counted before: it would tell nothing of new ones.
        """
        if self.rule.informed and (since is None or not since["rows"]):
            return None
        labels = None if self.rule.task == "regression" else self.state.blocks if self.multilabel else 1
        return progressive_error(self.statistics, since or new_statistics(), labels)

    def progressive_error_text(self, since: Statistics | None = None) -> str:
        """The progressive error as people read it: in percent, or in the unit of the targets."""
        error = self.progressive_error(since)
        if error is None:
            return "-"
        return f"{error:.4g}" if self.rule.task == "regression" else f"{100 * error:.2f} %"

    @property
    def bias(self) -> float:
        """Value of the feature that is always on."""
        return 1.0 if self.training.fit_intercept else 0.0

    @property
    def task(self) -> str:
        """The task of the rule, or "multilabel"."""
        return "multilabel" if self.multilabel else self.rule.task

    @property
    def several(self) -> bool:
        """Whether there are more than two labels, of which each row has one."""
        return len(self.classes) > 2 and not self.multilabel

    @property
    def by_label(self) -> bool:
        """Whether each label has weights of its own."""
        return self.several or self.multilabel

    @property
    def label_names(self) -> list[str]:
        """The labels as text."""
        return self.label_texts or [label_text(label) for label in self.classes.tolist()]

    def set_documents(self, documents: TextOptions, hash_bits: int) -> None:
        """Have learned documents, and not rows of numbers."""
        self.documents, self.hash_bits = documents, hash_bits
        if documents.idf and self.frequencies is None:
            from cwlearn.core.frequencies import Frequencies  # which other models do not need

            self.frequencies = Frequencies(1 << hash_bits, documents.norm)

    def weighed(self, rows: Rows) -> Rows:
        """Rows of documents as the model takes them: by the frequencies of all documents that it has learned."""
        return rows if self.frequencies is None else self.frequencies.weigh(rows)

    # -- scores --------------------------------------------------------------------------------------------------------

    @property
    def predictor(self) -> State:
        """The state that predicts.

        It has the averaged mean, or the prior that the rows suggest, if the rule asks for one of them.
        """
        derived, state = self._derived, self.state
        if not self.derives:
            return state
        assert isinstance(state, DiagonalState)  # no other state takes such rules
        if derived is None or derived[0] is not self._counts:  # rows have been learned since
            with self.lock:  # weights and counts are of the same moment
                derived, counts = self._derived, self._counts
                if derived is None or derived[0] is not counts:
                    derived = (counts, state.changed(partial(self.turn_into_predicting, self.statistics)))
                    self._derived = derived
        return derived[1]

    @property
    def derives(self) -> bool:
        """Whether one state learns and another one, derived from it, predicts."""
        rule = self.rule
        return rule.sums_gradients or (
            (rule.averaged or rule.follows_rows or rule.half_life > 0) and self.n_learned > 0
        )

    @property
    def derives_anew(self) -> bool:
        """Whether the state that predicts must be derived before the next answer."""
        return self.derives and (self._derived is None or self._derived[0] is not self._counts)

    def answers_by_row(self) -> bool:
        """Whether the next row is answered with its own weights alone, because deriving all of them would take longer.

        So long as no row is learned, this ends once the answers have taken about as long as deriving them all.
        """
        if not self.derives_anew:
            return False
        counts, answers = self.kept.get("answers by row", (None, 0))
        answers = answers + 1 if counts is self._counts else 1
        self.kept["answers by row"] = self._counts, answers
        return bool(answers * WEIGHTS_BY_ANSWER < self.state.n_features * self.state.blocks)

    def weights_at(self, columns: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Mean and variance of the weights that predict, of the intercept and of some columns.

        No others are derived, so this takes as long as there are columns.
        """
        state = self.state
        assert isinstance(state, LinearState)  # a kernel has no weights
        at = np.concatenate([[0], np.asarray(columns, np.int64) + 1])
        with self.lock:
            mean, variance = state.mean[at], state.variance[at]
            if self.derives:
                assert isinstance(state, DiagonalState)  # no other state takes such rules
                average = state.average[at] if state.averaged else state.average
                stamps = state.stamps[at] if state.stamps.size else NONE
                self.turn_into_predicting(self.statistics, mean, variance, average, stamps)
        return mean, variance

    def turn_into_predicting(
        self,
        statistics: Statistics,
        mean: NDArray[Any],
        variance: NDArray[Any],
        average: NDArray[np.float64],
        stamps: NDArray[np.float64],
    ) -> None:
        """Change weights that learn, after the rows of `statistics`, into weights that predict, in place.

        An averaged rule predicts with the mean of the means after each row.  An update in round t counts for the rounds
        t..T, so this is mu_T - (1/T) sum_t (t - 1) delta_t.  A rule whose prior follows the rows adds a precision to
        that of every weight and keeps precision * mean.  A rule that sums gradients makes weights of them.  If a rule
        forgets, variances are those of now.
        """
        if stamps.size:
            rows, prior = statistics["rows"], self.state.initial_variance
            variance[:] = aged(variance, stamps, self.rule.half_life, rows, prior)
        if self.rule.sums_gradients:
            mean[:] = self.rule.weights(mean, variance, statistics["rows"], self.state.initial_variance)
            variance[:] = self.state.initial_variance
        elif self.rule.follows_rows:
            precision = max(0.0, statistics["squares"] / statistics["rows"] - 1 / self.state.initial_variance)
            ratio = 1 + variance.astype(np.float64) * precision
            mean[:] = mean / ratio
            variance[:] = variance / ratio
        elif self.rule.averaged:
            mean -= average / statistics["rows"]

    def margins(self, rows: Rows, only_mean: bool = False) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and variance of w.x for every row, under the Gaussian over w; with more than two labels, by label."""
        # A diagonal state is read without the lock.  The arrays of other states may change their shape.
        with nullcontext() if isinstance(self.state, DiagonalState) else self.lock:
            margins = self.predictor.margins(rows, self.bias, self.rule.projection == "inclusive", only_mean)
        if self.multilabel:  # even of a single label
            return margins[0].reshape(rows.n_rows, -1), margins[1].reshape(rows.n_rows, -1)
        return margins

    def margins_alone(self, row: Rows) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and variance for a single row, which may have features that the model has not.

        If another state predicts than the one that learns, only the weights of the row are derived: there may be
        millions of others, and each row that is learned changes some of them.
        """
        state = self.state
        beyond = len(row.indices) > 0 and int(row.indices[-1]) >= state.n_features
        if not isinstance(state, DiagonalState) or not (self.derives or beyond):
            return self.margins(row)
        small = state.part(row.indices)
        if self.derives:
            small = small.changed(partial(self.turn_into_predicting, self.statistics))
        columns = np.arange(len(row.indices), dtype=np.int32)
        row = Rows(row.indptr, columns, row.values, row.squares, len(columns))
        return small.margins(row, self.bias, self.rule.projection == "inclusive")
