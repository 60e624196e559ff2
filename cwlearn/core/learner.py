"""A model that learns.  Everything above (estimators, command line, files) uses it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cwlearn._kernels import UPDATES
from cwlearn.core.class_labels import label_text, numbers_by_table
from cwlearn.core.kernel_options import KernelOptions
from cwlearn.core.label_sets import LabelSets, check_multilabel
from cwlearn.core.model import Model
from cwlearn.core.naive_bayes import LabelCounts
from cwlearn.core.parameters import plain
from cwlearn.core.rows import Rows
from cwlearn.core.rule import EQUAL, Rule
from cwlearn.core.states.base import ALL_FRESH, NONE, KernelRule, LinearState, scratch_of
from cwlearn.core.states.diagonal import DiagonalState
from cwlearn.core.statistics import copy_of_counts, count_as_repeated
from cwlearn.core.training import Plan, Training, check_class_weight, check_threshold, check_update
from cwlearn.errors import DataError, listed
from cwlearn.native import RoomForOne
from cwlearn.utils.progress import bar_class

# Work between two looks at signals and the progress bar, in nonzeros: long enough to cost nothing, short enough for
# Ctrl-C.
BLOCK_EFFORT = 1 << 24
FIRST_ROW: NDArray[np.int64] = np.zeros(1, np.int64)
EXACT_TOLERANCE = 1e-12  # of the exact update of several labels: relative error of its step
EXACT_SWEEPS = 100  # the most iterations of the exact update; it seldom needs more than ten


class Learner(Model):
    """A model that learns, row by row."""

    _has_prior = False  # that was made of all rows; a class attribute for pickles

    def reconfigure(self, rule: Rule, training: Training, kernel: KernelOptions | None = None) -> None:
        """Take over changed options.  Those that the state was built with cannot change any more."""
        with self.lock:
            check_update(rule, training)
            if self.multilabel:
                check_multilabel(rule, kernel)
            else:
                check_threshold(training, len(self.classes))
            built_with = {
                "initial_variance": (self.state.initial_variance, rule.prior_variance(training.initial_variance)),
                "dtype": (self.training.dtype, training.dtype),
                "fit_intercept": (self.training.fit_intercept, training.fit_intercept),
                "prior": (getattr(self.rule, "prior", EQUAL), getattr(rule, "prior", EQUAL)),
                "average": (self.rule.averaged, rule.averaged),
                "forgetting": (self.rule.half_life, rule.half_life),
                "covariance": (self.rule.covariance, rule.covariance),
                **{
                    item.name: (getattr(self.kernel, item.name), getattr(kernel, item.name))
                    for item in (fields(self.kernel) if self.kernel else ())
                    if item.name != "budget"
                },
            }
            for name, (old, new) in built_with.items():
                if old != new:
                    raise ValueError(
                        f"`{name}` cannot change from {old!r} to {new!r} once learning has begun; `fit` with "
                        f"`warm_start=False` begins anew"
                    )
            self.rule, self.training, self.kernel = rule, training, kernel
            self.state.reconfigure(kernel)

    def grow(self, n_features: int) -> None:
        """Make room for more features."""
        with self.lock:
            if n_features > self.state.n_features:
                names = self.feature_names
                if names is not None:  # a new feature is named by its number
                    more = [str(column) for column in range(self.state.n_features, n_features)]
                    names = np.concatenate([names, np.array(more, object)])
                self.state.grow(n_features)
                self.feature_names = names
                self._derived = None

    # -- labels --------------------------------------------------------------------------------------------------------

    @property
    def weighs_classes(self) -> bool:
        """Whether the rows of some labels count more than those of others."""
        return getattr(self.rule, "class_weight", None) is not None

    def class_weights(self, numbers: NDArray[np.int64], counts: list[int] | None = None) -> NDArray[np.float64]:
        """What `class_weight` multiplies the loss of each row by; empty for 1.

        `counts` are the rows of each label, for 'balanced'; by default those among the rows.
        """
        class_weight, labels = getattr(self.rule, "class_weight", None), self.classes.tolist()
        if class_weight is None:
            return NONE
        check_class_weight(self.rule)
        weights = np.ones(len(labels))
        if isinstance(class_weight, str):  # 'balanced', as in scikit-learn
            counts = counts or np.bincount(numbers, minlength=len(labels)).tolist()
            for number, rows in enumerate(counts):
                weights[number] = sum(counts) / (len(labels) * rows) if rows else 1.0
        else:
            for label, weight in class_weight.items():
                weights[self._number_of(label, labels)] = weight
        return weights[numbers]

    def _number_of(self, label: Any, labels: list[Any]) -> int:
        """The number of a label that `class_weight` names.  A number may stand for its text, as on a command line."""
        for same in (label, label_text(label)) if isinstance(label, float) else (label,):
            if same in labels:
                return labels.index(same)
        raise ValueError(f"`class_weight` names {label!r}, which is not one of the labels {self._listed_classes()}")

    def number(self, labels: NDArray[Any]) -> NDArray[np.int64]:
        """The numbers of labels in `classes`.  A label that is not among them is an error that names it."""
        if self.several:
            known = numbers_by_table(self.classes, labels)
            if known is not None:
                return known
            try:
                numbers = np.minimum(np.searchsorted(self.classes, labels), len(self.classes) - 1)
            except TypeError:  # numbers among strings have no order
                number_of = {label: number for number, label in enumerate(self.classes.tolist())}
                numbers = np.array([number_of.get(label, 0) for label in labels.tolist()], np.int64)
            unknown = np.asarray(self.classes[numbers] != labels)
        else:
            second = np.asarray(labels == self.classes[1])  # much faster than a search
            numbers, unknown = second.astype(np.int64), ~(second | np.asarray(labels == self.classes[0]))
        if unknown.any():
            row = int(np.flatnonzero(unknown)[0])
            raise DataError(f"label {plain(labels[row])!r} is not one of the labels {self._listed_classes()}", row=row)
        return numbers

    def _listed_classes(self) -> str:
        """The labels for a message; the first ones of very many."""
        return f"[{listed([repr(label) for label in self.classes.tolist()])}]"

    def encode(self, labels: NDArray[Any]) -> NDArray[np.float64]:
        """Labels as the kernel takes them: +1 and -1 for two, their numbers for more.  Targets stay as they are."""
        if self.rule.task == "regression":
            return np.asarray(labels, np.float64)
        return self.targets(self.number(labels))

    def targets(self, numbers: NDArray[np.int64]) -> NDArray[np.float64]:
        """The numbers of labels as the kernel takes them."""
        targets = numbers.astype(np.float64)
        return targets if self.several else 2 * targets - 1

    # -- learning ------------------------------------------------------------------------------------------------------

    def train(
        self,
        rows: Rows,
        targets: NDArray[np.float64],
        weights: NDArray[np.float64],
        random_state: np.random.RandomState,
        sets: LabelSets | None = None,
    ) -> None:
        """Make `epochs` passes, shuffled or not, with a progress bar if `verbose`."""
        plan = Plan(self.rule, self.training, rows.n_rows)
        if self.wants_prior:
            counts = self.new_label_counts()
            self.count_labels(counts, rows, targets, weights, ~plan.held_back(np.arange(rows.n_rows)))
            self.set_prior(counts)
        with progress(plan.total, self) as report:
            for epoch in plan.epochs(random_state):
                self.learn(rows, targets, weights, epoch.order, report, *epoch[1:], sets=sets)

    @property
    def wants_prior(self) -> bool:
        """Whether all rows are to be counted before the first one is learned: see `naive_bayes`."""
        return self.rule.informed and not self.n_learned

    def new_label_counts(self) -> LabelCounts:
        """Counts of no rows so far."""
        return LabelCounts(self.state.n_features, len(self.classes))

    def count_labels(
        self,
        counts: LabelCounts,
        rows: Rows,
        targets: NDArray[np.float64],
        weights: NDArray[np.float64],
        counted: NDArray[np.bool_],
    ) -> None:
        """Count some of the rows, as they are given to `learn`; those of weight 0 are none."""
        numbers = (targets if self.several else targets > 0).astype(np.int64)
        counts.add(rows, numbers, counted & (weights > 0) if len(weights) else counted)

    def set_prior(self, counts: LabelCounts) -> None:
        """Begin with the prior of these rows."""
        assert isinstance(self.state, DiagonalState)
        with self.lock:
            counts.put_into(self.state)
            self._has_prior = True

    def learn(
        self,
        rows: Rows,
        targets: NDArray[np.float64],
        weights: NDArray[np.float64] = NONE,
        order: NDArray[np.int64] | None = None,
        report: Callable[[int], object] = lambda done: None,
        fresh: NDArray[np.uint8] = ALL_FRESH,
        settled: bool = False,
        repeated: bool = False,
        sets: LabelSets | None = None,
    ) -> None:
        """Make one pass over the rows in `order` (default: as they come); `report` gets the number of rows done.

        `fresh`, `settled` and `repeated` are those of an `Epoch`: the scores of fresh rows show what a score is worth.
        If rows may have several labels, targets are numbers of `sets`.

        A row that cannot be learned is an error that names it; the rows before it have been learned.  A second thread
        that learns with the same learner waits for its turn.
        """
        single = rows.n_rows == 1
        if order is None:
            order = FIRST_ROW if single else np.arange(rows.n_rows)
        assert self.multilabel == (sets is not None)
        rule = self._kernel_rule(settled)
        block = max(1, len(order)) if single else self.rows_at_once(rows)
        with self.lock:
            self._begin_at_target(targets, weights, order)
            self.unfinished = None  # an unfinished run cannot be resumed after other rows
            for start in range(0, len(order), block):
                piece = order[start : start + block]
                # Other threads read the old ones, and later the new ones, as a whole.
                before, counts, known = self._counts, copy_of_counts(self._counts), self._calibrations.copy()
                try:
                    done = self.state.learn(rows, targets, weights, fresh, piece, rule, counts, sets, known)
                finally:
                    again = count_as_repeated(self._repeated, before, counts) if repeated else self._repeated
                    self._counts, self._calibrations, self._repeated = counts, known, again
                if done < len(piece):
                    raise self.not_finite(int(piece[done]))
                report(done)

    def learn_alone(self, columns: NDArray[Any], values: NDArray[Any], target: float, weight: float = 1.0) -> bool:
        """Learn from one row, in a few microseconds, as `learn` would.

        False if the row is not as simple as that, or not sound: then nothing was learned, and `learn` knows more.
        """
        state, rule = self.state, self.rule
        if not isinstance(state, DiagonalState) or self.multilabel or (rule.begins_at_target and not self.n_learned):
            return False
        with self.lock:
            self.unfinished = None
            counts = copy_of_counts(self._counts)
            try:
                room = self._room_for_one(len(columns))
                learned = state.learn_alone(room, columns, values, target, weight, counts)
            except (TypeError, ValueError):  # arrays of other types, or with gaps
                learned = False
            finally:
                self._counts = counts
            return learned

    def _room_for_one(self, length: int) -> RoomForOne:
        """What the kernel needs to learn a row of such a length; kept for the next rows."""
        rule, kept = self._kernel_rule(settled=False), self.kept.get("room for one")
        if kept is None or kept[0] is not rule or kept[1] < length:
            longest = 2 * length + 100
            scratch = scratch_of(longest, self.state.blocks, rule["constraints"])
            kept = self.kept["room for one"] = rule, longest, RoomForOne(rule, *scratch)
        room: RoomForOne = kept[2]
        return room

    def not_finite(self, row: int) -> DataError:
        """Why a row cannot be learned whose margin or step is not finite."""
        which = "features" if len(self.classes) else "features or targets"
        return DataError(
            f"the margin of this row, or the step to learn from it, is not a finite number in {self.state.dtype}: "
            f"bring the {which} to another scale",
            row=row,
        )

    def rows_at_once(self, rows: Rows) -> int:
        """How many of these rows are learned between two looks at signals."""
        mean_length = max(1, len(rows.values) // max(1, rows.n_rows)) * (self.state.blocks if self.multilabel else 1)
        return max(1, BLOCK_EFFORT // self.state.effort(mean_length, self._constraints))

    @property
    def _constraints(self) -> int:
        return min(self.training.n_constraints or self.state.blocks, self.state.blocks)

    def _kernel_rule(self, settled: bool) -> KernelRule:
        """The rule as the kernel takes it; kept as long as the options are the same objects."""
        rule, training, kept = self.rule, self.training, self.kept.get("rule")
        if kept is None or kept[0] is not rule or kept[1] is not training or kept[2] is not settled:
            kept = self.kept["rule"] = rule, training, settled, self._new_kernel_rule(settled)
        kernel_rule: KernelRule = kept[3]
        return kernel_rule

    def _new_kernel_rule(self, settled: bool) -> KernelRule:
        if self.wants_prior and not self._has_prior:
            raise ValueError(
                "`prior='naive-bayes'` counts all rows before it learns the first one, and these come bit by bit: "
                "`fit` them, or begin with `prior='equal'`"
            )
        return KernelRule(
            **self.rule.kernel_fields(),
            bias=self.bias,
            initial_variance=self.state.initial_variance,
            floor=self.state.floor,
            blocks=self.state.blocks,
            constraints=self._constraints,
            update=UPDATES[self.training.multiclass_update],
            tolerance=EXACT_TOLERANCE,
            sweeps=EXACT_SWEEPS,
            settled=settled,
        )

    def _begin_at_target(
        self, targets: NDArray[np.float64], weights: NDArray[np.float64], order: NDArray[np.int64]
    ) -> None:
        """If the rule asks for it, set the intercept to the first target that is learned from."""
        if not (self.rule.begins_at_target and self.training.fit_intercept) or self.statistics["rows"]:
            return
        first = order[:1] if not len(weights) else order[weights[order] > 0][:1]
        if len(first):
            assert isinstance(self.state, LinearState)
            target = float(targets[first[0]])
            if abs(target) < float(np.finfo(self.state.dtype).max):  # otherwise the kernel refuses the row
                self.state.mean[0] = self.origin = target


@contextmanager
def progress(total: int, learner: Learner) -> Iterator[Callable[[int], object]]:
    """A function to call with the rows done.  It shows a bar with the progressive error if the learner is verbose."""
    if not learner.training.verbose:
        yield lambda done: None
        return
    with bar_class()(total=total, unit=" rows", unit_scale=True) as bar:

        def advance(done: int) -> None:
            bar.update(done)
            bar.set_postfix(error=learner.progressive_error_text())

        yield advance
