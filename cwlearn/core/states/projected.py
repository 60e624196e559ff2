"""Covariances that are not diagonal, learned from through the same compiled rules.

A row x depends on the Gaussian only through its marginal along x: with u = x / |x|, the single weight w.u has the mean
mu.u and the variance u'Su.  So the kernel gets each row as a model of one weight (for each label) whose feature has the
value |x|: margin mu.x, variance v = x'Sx.  Its update, by any rule and for any number of labels, is applied along Sx,
because all updates have this form (J12 eq. 11-13 and 20-27):

    mu += c Sx                       so that  mu.x   becomes the new mean of the margin
    S  -= b (Sx)(Sx)'                so that  x'Sx   becomes its new variance

With more than two labels there is one matrix S for each, and the covariance between labels is left out, as in the
diagonal state: the precision of each label's block grows by g xx' (the KL projection onto such blocks).
"""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cwlearn._kernels import PROJECTIONS
from cwlearn.core.label_sets import LabelSets
from cwlearn.core.rows import Rows
from cwlearn.core.states.base import BYTES, NONE, KernelRule, State, scratch_of
from cwlearn.errors import DataError
from cwlearn.native import learn_rows
from cwlearn.utils.signals import signals_wait

INCLUSIVE = PROJECTIONS["inclusive"]

THREADS_FROM = 400  # BLAS uses all threads for matrices of so many lines (measured on two cores)
ROW_EFFORT = 4096  # the Python code for a row takes as long as so many nonzeros of a diagonal state

# For the kernel: a row that has only an intercept.
_BOUNDS = np.zeros(2, np.int64)
_COLUMNS = np.empty(0, np.int32)
_SQUARES = np.zeros(1)
_ORDER = np.zeros(1, np.int64)


class _OneThread:
    """A context in which BLAS uses one thread.

    The limit applies to the whole process, so the first thread that enters sets it, and the last that leaves lifts it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._limit: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._limit = _controller().limit(limits=1, user_api="blas")
            self._inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                self._limit.restore_original_limits()

    def renew(self) -> None:
        """Take a free lock in the child of a fork."""
        self._lock = threading.Lock()


_ONE_THREAD = _OneThread()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_ONE_THREAD.renew)


def blas_threads(size: int) -> AbstractContextManager[None]:
    """Use one thread for small matrices: waking others takes longer than the work."""
    return nullcontext() if size >= THREADS_FROM else _ONE_THREAD


@cache
def _controller() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


class View(ABC):
    """The Gaussian as one row sees it, while it is learned from."""

    length: float  # |x|, the intercept included
    means: NDArray[np.float64]  # mu.x, by label

    def check(self) -> None:  # noqa: B027  most views have nothing to do
        """Raise a DataError if the row cannot be learned from."""

    @abstractmethod
    def variance(self, label: int) -> float:
        """x'Sx, not below the floor; must be called before `move`."""

    def prepare(self, labels: list[int]) -> None:  # noqa: B027  most views have nothing to do
        """Take all memory that `move` needs for these labels: it must not fail with a row half learned."""

    @abstractmethod
    def move(self, label: int, along: float, shrink: float) -> None:
        """mu += along Sx,  S -= shrink (Sx)(Sx)'."""

    def moved(self) -> None:  # noqa: B027  most views have nothing to do
        """Called after the last `move` of the row."""


class ProjectedState(State):
    """A state that learns row by row, each projected on one weight for each label."""

    @abstractmethod
    def views(self, rows: Rows, order: list[int], bias: float) -> Iterator[View]:
        """The views of the rows in `order`.  A view may be reused for the next row."""

    @property
    @abstractmethod
    def matrix_size(self) -> int:
        """Lines of the largest matrix that BLAS works on."""

    @property
    @abstractmethod
    def matrices(self) -> list[NDArray[np.float64]]:
        """The matrices that BLAS changes in place."""

    def _check_writable(self) -> None:
        """Refuse read-only matrices, which BLAS would write to, and others of which BLAS would change a copy."""
        for matrix in self.matrices:
            if not (matrix.flags.writeable and matrix.flags.f_contiguous):
                raise ValueError(
                    "the model's arrays are read-only (a mapped file?): copy.deepcopy it to go on learning"
                )

    def learn(
        self,
        rows: Rows,
        targets: NDArray[np.float64],
        weights: NDArray[np.float64],
        fresh: NDArray[np.uint8],
        order: NDArray[np.int64],
        rule: KernelRule,
        counts: NDArray[np.void],
        sets: LabelSets | None = None,
        calibrations: NDArray[np.float64] | None = None,
    ) -> int:
        assert sets is None, "a learner refuses several labels a row"
        projected = rule.copy()
        if rule["projection"] != INCLUSIVE:  # for a single weight all projections are the same
            projected["projection"] = PROJECTIONS["kl"]
        scratch = scratch_of(0, self.blocks, rule["constraints"])
        numbers = order.tolist()
        self._check_writable()
        with (
            signals_wait() as between_rows,  # first: a signal must not come while the limit of threads is set or lifted
            np.errstate(over="ignore", invalid="ignore"),  # the kernel refuses numbers that are not finite
            blas_threads(self.matrix_size),
        ):
            for done, (i, view) in enumerate(zip(numbers, self.views(rows, numbers, rule["bias"]), strict=True)):
                row = slice(i, i + 1)
                try:
                    if not self._learn_row(view, targets[row], weights[row], fresh[row], projected, scratch, counts):
                        return done
                except DataError as error:
                    raise DataError(error.what, row=i) from None
                between_rows()
        return len(order)

    def _learn_row(
        self,
        view: View,
        target: NDArray[np.float64],
        weight: NDArray[np.float64],
        fresh: NDArray[np.uint8],
        rule: KernelRule,
        scratch: tuple[NDArray[np.float64], NDArray[np.int64]],
        counts: NDArray[np.void],
    ) -> bool:
        """Learn from one row and count it; False if a number would not be finite."""
        if len(weight) and not weight[0]:
            return True
        view.check()
        length = rule["bias"] = view.length
        cells = np.full((2, self.blocks), self.initial_variance)  # the means of the labels, then their variances
        cells[0] = view.means / length if length else 0
        labels = self._labels_of(cells[0] * length, target, rule)
        for label in labels if length else ():
            cells[1, label] = view.variance(label) / (length * length)
        mean, variance = cells.copy()
        after = counts.copy()
        done = learn_rows(
            cells.reshape(-1), NONE, NONE, *scratch, _BOUNDS, _COLUMNS, NONE, _SQUARES, target, weight, fresh, _ORDER,
            rule, after.view(BYTES),
        )  # fmt: skip
        if not done or not np.isfinite(cells[0]).all():
            return False
        if after["updates"][0] > counts["updates"][0]:
            moving = [z for z in labels if cells[0, z] != mean[z] or cells[1, z] != variance[z]]
            view.prepare(moving)
            for label in moving:
                s = variance[label]
                along = (cells[0, label] - mean[label]) / (s * length)
                view.move(label, along, (1 - cells[1, label] / s) / (s * length * length))
            view.moved()
        counts[:] = after
        return True

    def _labels_of(self, scores: NDArray[np.float64], target: NDArray[np.float64], rule: KernelRule) -> list[int]:
        """The labels whose variances the kernel reads: the true one and its highest-scoring rivals, ties to the lower.

        SOP reads all of them, because its scores depend on the variances.
        """
        if self.blocks == 1 or rule["projection"] == INCLUSIVE or rule["constraints"] >= self.blocks - 1:
            return list(range(self.blocks))
        true = int(target[0])
        ranked = [label for label in np.argsort(-scores, kind="stable").tolist() if label != true]
        return [true, *ranked[: rule["constraints"]]]
