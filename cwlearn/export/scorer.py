"""What scores need of a model: a few arrays and numbers, from which every export is written."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cwlearn.core.calibration import LARGEST
from cwlearn.core.learner import Learner
from cwlearn.core.states.base import LinearState
from cwlearn.core.states.diagonal import DiagonalState
from cwlearn.core.text_options import TextOptions
from cwlearn.errors import DataError

# What the score of a row is divided by, before it becomes a probability.
NOTHING, DEVIATION, LENGTH = "nothing", "deviation", "length"


@dataclass(frozen=True, eq=False)
class Scorer:
    """A linear model, as it predicts.  Columns that are not listed have the mean 0 and the prior variance."""

    task: str
    labels: list[str]
    n_features: int
    dtype: np.dtype[Any]  # of the values of rows
    bias: float  # the value of the intercept's feature
    intercept: NDArray[np.float64]  # by block: one for two labels or a regression, else one for each label
    intercept_variance: float
    columns: NDArray[np.int64]  # they rise
    means: NDArray[Any]  # by column and block
    variances: NDArray[Any] | None  # by column, if scores are divided by the deviation
    prior_variance: float
    slope: float  # log odds are slope * score / divisor + shift
    shift: float
    noise: float  # the part of labels that is random, so that no probability is 0 or 1
    cut: float  # two labels: the log odds above which the second one is predicted
    divisor: str
    documents: TextOptions | None
    hash_bits: int
    counts: NDArray[np.int64] | None  # by column: the documents that have it, if that weighs values
    n_documents: int
    default_count: int  # of a column that is not listed

    @property
    def blocks(self) -> int:
        return len(self.intercept)

    @property
    def several(self) -> bool:
        return self.blocks > 1

    @classmethod
    def of(cls, learner: Learner) -> Scorer:
        """What scores need; DataError if a model does not score by weights alone."""
        state, known = learner.predictor, learner.calibration
        regression = learner.rule.task == "regression"
        if not isinstance(state, LinearState):
            raise DataError("a kernel machine has no weights to export")
        if learner.multilabel:
            raise DataError("a model of several labels a row cannot be exported")
        if learner.rule.projection == "inclusive":
            raise DataError(f"the score of {learner.rule.name} is not a sum over weights, so it cannot be exported")
        if known is None and not regression:
            raise DataError("this model has no calibration, hence no probabilities to export")
        slope, shift = (1.0, 0.0) if known is None or regression else known.line
        noise = 0.0 if known is None or regression else known.best.noise
        cut = 0.0 if learner.several or regression else min(max(learner.cut, -LARGEST), LARGEST)
        divisor = NOTHING
        if known is not None and not regression and known.uses_deviation:
            divisor = LENGTH if learner.several or not learner.rule.second_order else DEVIATION
        if divisor == DEVIATION and not isinstance(state, DiagonalState):
            raise DataError("a full covariance is needed for the probabilities of this model, and is not exported")
        means = np.asarray(state.mean).reshape(len(state.mean), -1)
        variances = np.asarray(state.variance) if isinstance(state, DiagonalState) and state.blocks == 1 else None
        counts = None if learner.frequencies is None else learner.frequencies.counts.astype(np.int64)
        listed = (means[1:] != 0).any(axis=1)
        if divisor == DEVIATION and variances is not None:
            listed |= variances[1:] != state.prior_variance
        if counts is not None:
            listed[: len(counts)] |= counts > 0
        columns = np.flatnonzero(listed)
        return cls(
            task=learner.rule.task,
            labels=list(learner.label_names) if not regression else [],
            n_features=state.n_features,
            dtype=state.dtype,
            bias=learner.bias,
            intercept=means[0].astype(np.float64),
            intercept_variance=0.0 if variances is None else float(variances[0]),
            columns=columns,
            means=means[columns + 1],
            variances=variances[columns + 1] if divisor == DEVIATION and variances is not None else None,
            prior_variance=state.prior_variance,
            slope=slope,
            shift=shift,
            noise=noise,
            cut=cut,
            divisor=divisor,
            documents=learner.documents,
            hash_bits=learner.hash_bits,
            counts=None if counts is None else counts[columns],
            n_documents=0 if learner.frequencies is None else learner.frequencies.n_documents,
            default_count=0,
        )

    def idf(self, counts: Any) -> Any:
        """What the value of a feature is multiplied by that so many documents have."""
        return 1 + math.log(1 + self.n_documents) - np.log1p(counts)

    def pruned(self, keep: int) -> Scorer:
        """Only the columns that matter most: those with the largest sum of squared contributions to the scores.

        That is (weight * value)^2, summed over the rows so far.  Documents are counted.  Of other rows the precision
        that a weight has gained tells the sum of its squared values; without any of both only the weight counts.
        """
        if keep >= len(self.columns):
            return self
        spread = self.means - self.means.mean(axis=1, keepdims=True) if self.several else self.means
        size = np.abs(spread.astype(np.float64)).max(axis=1, initial=0)
        if self.counts is not None:
            size *= self.idf(self.counts) * np.sqrt(self.counts)
        elif self.variances is not None:
            size *= np.sqrt(np.maximum(1 / self.variances.astype(np.float64) - 1 / self.prior_variance, 0))
        order = np.argsort(-size, kind="stable")
        kept = np.sort(order[:keep])
        return replace(
            self,
            columns=self.columns[kept],
            means=self.means[kept],
            variances=None if self.variances is None else self.variances[kept],
            counts=None if self.counts is None else self.counts[kept],
            default_count=self._usual_count(order[keep:]),
        )

    def _usual_count(self, dropped: NDArray[np.int64]) -> int:
        """The count that stands for all dropped columns: a feature of a document that was dropped has it on average."""
        if self.counts is None or not (total := self.counts[dropped].sum()):
            return 0
        logarithm = (self.counts[dropped] * np.log1p(self.counts[dropped])).sum() / total
        return round(math.expm1(logarithm))
