"""Learning from feedback: each row is scored by the model before it, and learned if it has a label.

The rows go through the model one by one, in a compiled loop where the model allows it.  So neither the answers nor the
model depend on how the lines came.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cwlearn._kernels import LEARNED, LEFT_OUT, MAP_SIZE, SCORED
from cwlearn.core.learner import Learner
from cwlearn.core.row_by_row import RowByRow
from cwlearn.core.rows import Rows
from cwlearn.core.states.base import NONE
from cwlearn.core.states.diagonal import DiagonalState
from cwlearn.errors import DataError, listed
from cwlearn.text.batch import Batch
from cwlearn.text.labels import target_value
from cwlearn.text.monitor import Monitor
from cwlearn.text.resources import WeightLimit
from cwlearn.text.weighing import learn_weighed

ROWS_AT_ONCE = 1024  # that are prepared together; if one of them cannot be learned, the rest is prepared again
FEW_ROWS = 64  # that are scored one by one in any case
SCORES_AT_ONCE = 1 << 18  # rows x labels that are kept until they become answers


class Scored(NamedTuple):
    """Neighbouring rows and their margins, with the model whose counts make probabilities of these."""

    model: Learner
    numbers: list[int]  # of the rows in their batch
    rows: Rows
    mean: NDArray[np.float64]
    variance: NDArray[np.float64]


class Examples(NamedTuple):
    """What is to be learned of a batch, by row."""

    targets: NDArray[np.float64]
    weights: NDArray[np.float64]  # empty: all are 1
    labelled: NDArray[np.bool_]
    todo: NDArray[np.uint8]  # SCORED, LEARNED or LEFT_OUT
    flaws: dict[int, DataError]  # of rows that are neither scored nor learned


class Feedback:
    """A model that answers and learns."""

    def __init__(self, learner: Learner, memory: int) -> None:
        if getattr(learner.rule, "class_weight", None) == "balanced":
            raise ValueError("`class_weight` 'balanced' must count all rows first, which a stream does not allow")
        self.learner = learner
        self._limit = WeightLimit(learner.rule, learner.training, None, memory)
        self._numbers = {name: number for number, name in enumerate(learner.label_names)}
        self.learned: NDArray[np.bool_] = np.zeros(0, bool)  # rows of the last batch that were learned
        self.flaws: dict[int, DataError] = {}  # of rows of the last batch, in place of their answers

    # -- answers and learning ------------------------------------------------------------------------------------------

    def go_through(self, batch: Batch) -> Iterator[Scored]:
        """Score each row, and learn it then if it has a label; what is wrong with a row goes to `flaws`."""
        learner, rows = self.learner, batch.rows
        examples = self._examples(batch)
        self.flaws, self.learned = dict(examples.flaws), np.zeros(rows.n_rows, bool)
        if self._can_be_scored_at_once(rows, examples):
            for which, part in learner.parts(learner.weighed(rows), SCORES_AT_ONCE):
                yield Scored(learner, [*range(which.start, which.stop)], part, *learner.margins(part))
            return
        for start in range(0, rows.n_rows, step := self._rows_at_once()):
            numbers = range(start, min(start + step, rows.n_rows))
            in_bulk = self._fits(rows, examples, numbers)
            yield from (self._in_bulk if in_bulk else self._one_by_one)(batch, examples, numbers)

    def _rows_at_once(self) -> int:
        return max(1, min(ROWS_AT_ONCE, SCORES_AT_ONCE // self.learner.state.blocks))

    def _fits(self, rows: Rows, examples: Examples, part: range) -> bool:
        """Whether rows can be gone through by the kernel; the model gets the features of those that are learned."""
        learner, bounds = self.learner, rows.indptr
        if not RowByRow.suits(learner):
            return False
        which = slice(part.start, part.stop)
        ends = bounds[part.start + 1 : part.stop + 1]
        last = np.full(len(part), -1)  # the highest feature of each row
        some = ends > bounds[which]
        last[some] = rows.indices[ends[some] - 1]
        taught = examples.todo[which] == LEARNED
        if not learner.hash_bits:
            learner.grow(int(last[taught].max(initial=-1)) + 1)
        return int(last[examples.todo[which] != LEFT_OUT].max(initial=-1)) < learner.state.n_features

    def _in_bulk(self, batch: Batch, examples: Examples, part: range) -> Iterator[Scored]:
        """Neighbouring rows, in few calls."""
        learner, row, stop = self.learner, part.start, part.stop
        while row < stop:
            which = slice(row, stop)
            rows, todo = batch.rows.part(row, stop), examples.todo[which]
            quick = RowByRow(learner, rows, examples.targets[which], examples.weights[which], todo)
            done, flawed = 0, False
            while done < rows.n_rows and not flawed:
                first = done
                done, flawed, counts = quick.go_on(first)
                self.learned[row + first : row + done] = todo[first:done] == LEARNED
                if flawed:
                    self._refuse(batch, row + done - 1)
                numbers = [row + number for number in range(first, done) if row + number not in self.flaws]
                if numbers:
                    yield self._scored(quick, counts, [number - row for number in numbers], numbers)
            if flawed and learner.frequencies is not None:  # those that were counted and not learned
                counted = todo == LEARNED
                counted[: done - 1] = False
                learner.frequencies.forget(rows.where(counted))
            row += done

    def _refuse(self, batch: Batch, row: int) -> None:
        """Answer a row that cannot be learned with the reason."""
        self.flaws[row] = batch.row_error(row, self.learner.not_finite(row).what)
        self.learned[row] = False

    def _scored(self, quick: RowByRow, counts: NDArray[np.void], which: list[int], numbers: list[int]) -> Scored:
        model, first, stop = self.learner.with_counts(counts), which[0], which[-1] + 1
        if stop - first == len(which):
            rows, part = quick.asked.part(first, stop), slice(first, stop)
            return Scored(model, numbers, rows, quick.mean[part], quick.variance[part])
        keep = np.zeros(quick.asked.n_rows, bool)
        keep[which] = True
        return Scored(model, numbers, quick.asked.where(keep), quick.mean[which], quick.variance[which])

    def _one_by_one(self, batch: Batch, examples: Examples, part: range) -> Iterator[Scored]:
        """Rows by themselves, for any model."""
        learner = self.learner
        run = _Run(learner)
        for number in part:
            if number in self.flaws:
                continue
            if run.ends_before(learner):
                yield run.scored()
                run = _Run(learner)
            counts = learner.counts
            row = _One(learner, batch.rows, number)
            row.score()
            if examples.todo[number] == LEARNED and not self._learn(row, examples, batch):
                continue
            run.add(row, counts)
        if run.numbers:
            yield run.scored()

    def _can_be_scored_at_once(self, rows: Rows, examples: Examples) -> bool:
        state = self.learner.state
        fits = not isinstance(state, DiagonalState) or rows.n_features <= state.n_features
        return rows.n_rows > FEW_ROWS and fits and not examples.todo.any()

    def _learn(self, row: _One, examples: Examples, batch: Batch) -> bool:
        """Learn one row; False if that is not possible, and then nothing of it is learned."""
        try:
            row.learn(examples)
        except DataError as error:
            self.flaws[row.number] = batch.row_error(row.number, error.what)
            return False
        self.learned[row.number] = True
        return True

    def learn_all(self, batch: Batch) -> None:
        """Learn a batch of a journal, whose rows were all learned before, without scoring it."""
        learner, rows = self.learner, batch.rows
        if not rows.n_rows:
            return
        examples = self._examples(batch)
        if examples.flaws:
            raise next(iter(examples.flaws.values()))
        if not examples.labelled.all():
            raise batch.row_error(int(np.argmin(examples.labelled)), "a line without a label")
        if learner.frequencies is not None:
            learn_weighed(learner, rows, examples.targets, examples.weights, None, lambda done: None, Monitor())
            return
        learner.grow(rows.n_features)
        learner.learn(rows, examples.targets, examples.weights)

    # -- labels --------------------------------------------------------------------------------------------------------

    def _examples(self, batch: Batch) -> Examples:
        """The targets of a batch, and what cannot be learned of it.  A label that is not a number (NaN) is none."""
        rows, learner = batch.rows, self.learner
        labelled = ~np.isnan(batch.labels)
        flaws = self._oversized(batch, labelled)
        if learner.rule.task == "regression":
            targets, weights = self._values(batch, labelled, flaws), NONE
        else:
            numbers = self._label_numbers(batch, labelled, flaws)
            targets, weights = learner.targets(numbers), learner.class_weights(numbers)
        if rows.weights is not None:
            if not learner.rule.takes_weights:
                for row in np.flatnonzero(labelled & (rows.weights != 1)).tolist():
                    what = f"the importance of this row is {rows.weights[row]:g}, and {learner.rule.name} takes none"
                    flaws.setdefault(row, batch.row_error(row, what))
            weights = rows.weights * weights if len(weights) else rows.weights
        todo = np.where(labelled, LEARNED, SCORED).astype(np.uint8)
        todo[[*flaws]] = LEFT_OUT
        return Examples(targets, weights, labelled, todo, flaws)

    def _oversized(self, batch: Batch, labelled: NDArray[np.bool_]) -> dict[int, DataError]:
        """The rows whose columns would need more memory than is allowed."""
        rows, n_labels = batch.rows, len(self.learner.classes)
        if batch.hash_bits or self._limit.allows(batch.highest, n_labels):
            return {}
        flaws = {}
        for row in np.flatnonzero(labelled & (np.diff(rows.indptr) > 0)).tolist():
            index = int(rows.indices[rows.indptr[row + 1] - 1])
            if not self._limit.allows(index, n_labels):
                flaws[row] = batch.row_error(row, self._limit.refusal(index, n_labels))
        return flaws

    def _values(self, batch: Batch, labelled: NDArray[np.bool_], flaws: dict[int, DataError]) -> NDArray[np.float64]:
        """The targets of a regression."""
        if batch.label_names is None:
            return np.where(labelled, batch.labels, 0.0)
        values = np.array([*map(target_value, batch.label_names), np.nan])
        targets = values[np.where(labelled, batch.labels, -1).astype(np.int64)]
        for row in np.flatnonzero(labelled & np.isnan(targets)).tolist():
            name = batch.label_names[int(batch.labels[row])]
            flaws.setdefault(row, batch.row_error(row, f"target {name} is not a number"))
        return targets

    def _label_numbers(
        self, batch: Batch, labelled: NDArray[np.bool_], flaws: dict[int, DataError]
    ) -> NDArray[np.int64]:
        """The numbers of the labels; 0 for rows without one."""
        learner = self.learner
        if batch.label_names is not None:
            known = np.array([*(self._numbers.get(name, -1) for name in batch.label_names), 0], np.int64)
            numbers = known[np.where(labelled, batch.labels, len(known) - 1).astype(np.int64)]
        else:
            labels = np.where(labelled, batch.labels, learner.classes[0])
            numbers = np.minimum(np.searchsorted(learner.classes, labels), len(learner.classes) - 1).astype(np.int64)
            numbers[learner.classes[numbers] != labels] = -1
        for row in np.flatnonzero(numbers < 0).tolist():
            (text,) = batch.label_texts([row])
            what = f"label {text} is not one of the labels {listed(learner.label_names)}"
            flaws.setdefault(row, batch.row_error(row, what))
        return np.maximum(numbers, 0)


class _One:
    """One row of a batch."""

    def __init__(self, learner: Learner, rows: Rows, number: int) -> None:
        self._learner, self._rows, self.number = learner, rows, number

    def score(self) -> None:
        """Find its margin by the model as it is now."""
        self.weighed = self._learner.weighed(self._rows.part(self.number, self.number + 1))
        self.margin = self._learner.margins_alone(self.weighed)

    def learn(self, examples: Examples) -> None:
        """Learn it; a DataError says why that is not possible, and then nothing of it is learned."""
        learner = self._learner
        frequencies, row = learner.frequencies, self._rows
        if not learner.hash_bits and row.indptr[self.number + 1] > row.indptr[self.number]:
            learner.grow(int(row.indices[row.indptr[self.number + 1] - 1]) + 1)
        try:
            row = row.part(self.number, self.number + 1)
            row = row if frequencies is None else frequencies.count_and_weigh(row)
            one = slice(self.number, self.number + 1)
            learner.learn(row, examples.targets[one], examples.weights[one])
        except DataError:
            if frequencies is not None:
                frequencies.forget(self._rows.part(self.number, self.number + 1))
            raise


class _Run:
    """Neighbouring rows whose scores are worth the same, since the counts that tell it have not changed."""

    def __init__(self, learner: Learner) -> None:
        self._learner, self._counts = learner, learner.counts
        self.numbers: list[int] = []
        self._rows: list[_One] = []
        self._most = max(1, SCORES_AT_ONCE // learner.state.blocks)

    def ends_before(self, learner: Learner) -> bool:
        """Whether the next row, which the model scores as it is now, belongs to another run."""
        if not self.numbers:
            self._counts = learner.counts
            return False
        if len(self.numbers) >= self._most:
            return True
        if self._counts is learner.counts:
            return False
        if learner.rule.task == "regression":  # whose deviations depend on all counts
            return True
        before, now = (of["calibration"][0, :MAP_SIZE] for of in (self._counts, learner.counts))
        return before.tobytes() != now.tobytes()

    def add(self, row: _One, counts: NDArray[np.void]) -> None:
        if not self.numbers:
            self._counts = counts
        self.numbers.append(row.number)
        self._rows.append(row)

    def scored(self) -> Scored:
        model = self._learner.with_counts(self._counts)
        rows, means, variances = zip(*((row.weighed, *row.margin) for row in self._rows), strict=True)
        return Scored(model, self.numbers, joined(rows), np.concatenate(means), np.concatenate(variances))


def joined(parts: tuple[Rows, ...]) -> Rows:
    """Some rows as one matrix."""
    lengths = np.concatenate([np.diff(part.indptr) for part in parts])
    return Rows(
        np.append(0, np.cumsum(lengths)),
        np.concatenate([part.indices for part in parts]),
        np.concatenate([part.values for part in parts]),
        np.concatenate([part.squares for part in parts]),
        max(part.n_features for part in parts),
    )
