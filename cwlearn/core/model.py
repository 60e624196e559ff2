"""A model: a rule, a state, and labels or targets.  It predicts; `learner.Learner` also learns."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from cwlearn.core.margin_model import MarginModel
from cwlearn.core.probabilities import mean_outcome
from cwlearn.core.rows import Rows
from cwlearn.core.thresholds import cut_of

SCORES_AT_ONCE = 1 << 22  # rows x labels that are scored together


class Model(MarginModel):
    """Answers from margins: scores, labels, probabilities, deviations."""

    def spreads(self, rows: Rows, variance: NDArray[np.float64]) -> NDArray[np.float64]:
        """What the margins of rows are compared with: their variance or, without one of its own, their length.

        `_kernels.learn_rows` decides in the same way.
        """
        if self.compares_lengths:
            lengths = self.state.squared_lengths(rows, self.bias)
            return np.broadcast_to(lengths[:, None], variance.shape) if self.multilabel else lengths
        return variance

    @property
    def compares_lengths(self) -> bool:
        return self.several or not self.rule.second_order or self.rule.projection == "inclusive"

    def scores(self, rows: Rows, mean: NDArray[np.float64], variance: NDArray[np.float64]) -> NDArray[np.float64]:
        """What decides, from the margins of rows.

        Two labels: the log odds of the second one.  (Without any calibration: the score of the rule, which has the same
        sign as the margin.)  More: the mean of each label; the highest one wins (EMNLP 2009, section 5).  Several
        labels a row: the log odds of each label.
        """
        if self.several:
            return mean
        if self.multilabel:
            spread, scores = self.spreads(rows, variance), np.array(self.rule.score(mean, variance))  # not mean itself
            for label, known in enumerate(self.calibrations):
                if known is not None:
                    scores[:, label] = known.log_odds(mean[:, label], spread[:, label])
            return scores
        known = self.calibration
        return self.rule.score(mean, variance) if known is None else known.log_odds(mean, self.spreads(rows, variance))

    def chosen(self, scores: NDArray[np.float64]) -> NDArray[np.int64]:
        """The number of the predicted label, from the scores.  Ties go to the first label.

        Several labels a row: 1 for each label that is predicted, else 0.
        """
        return np.argmax(scores, axis=1) if self.several else (scores > self.cut).astype(np.int64)

    @property
    def cut(self) -> float:
        """The score above which the second of two labels, or one of several labels a row, is predicted."""
        threshold = self.training.threshold
        return 0.0 if threshold == 0.5 or self.multilabel else cut_of(threshold, self.calibration)

    def parts(self, rows: Rows, max_scores: int | None = None) -> Iterator[tuple[slice, Rows]]:
        """The rows in parts, each with at most `max_scores` scores: one for each row and block of weights."""
        step = max(1, (max_scores or SCORES_AT_ONCE) // self.state.blocks)
        for start in range(0, rows.n_rows, step):
            stop = min(start + step, rows.n_rows)
            yield slice(start, stop), rows if stop - start == rows.n_rows else rows.part(start, stop)

    def predictions(self, rows: Rows) -> NDArray[np.int64]:
        """The number of the predicted label of every row; several labels a row: as in `chosen`."""
        numbers = np.empty((rows.n_rows, self.state.blocks) if self.multilabel else rows.n_rows, np.int64)
        for which, part in self.parts(rows):
            numbers[which] = self.chosen(self.scores(part, *self.margins(part, only_mean=self.several)))
        return numbers

    # -- probabilities -------------------------------------------------------------------------------------------------

    def probabilities(
        self, rows: Rows, mean: NDArray[np.float64], variance: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """The chance of each label, by row, from the margins of the rows.

        The most probable label is the predicted one.  Several labels a row: the chance that the row has the label.  A
        model without calibration has the distribution of its rule.
        """
        known = self.calibration
        if self.multilabel:
            if not self.is_calibrated:
                self.check_distribution()
                return self.rule.probability(self.rule.score(mean, variance))
            chances = np.exp(-np.logaddexp(0, -self.scores(rows, mean, variance)))
            noise = np.array([known.best.noise for known in self.calibrations if known is not None])
            return np.asarray(noise / 2 + (1 - noise) * chances)
        if known is None:
            self.check_distribution()
            return self.label_distribution(mean, variance)
        return known.probabilities(mean, self.spreads(rows, variance))

    def check_distribution(self) -> None:
        """Refuse a distribution over weights where the rule has none."""
        if not self.rule.probabilistic:
            raise ValueError(
                f"this model of {self.rule.name} has neither variances nor a calibration, hence no probabilities: "
                f"they come with the first rows that it learns"
            )

    def label_distribution(self, mean: NDArray[np.float64], variance: NDArray[np.float64]) -> NDArray[np.float64]:
        """The probability that each label has the highest score, under the Gaussian over the weights."""
        if self.several:
            return self.rule.probabilities(mean, self.rule.score_variance(variance))
        score = self.rule.score(mean, variance)
        return np.column_stack([self.rule.probability(side) for side in (-score, score)])

    def drawn_distribution(
        self,
        mean: NDArray[np.float64],
        variance: NDArray[np.float64],
        draws: int,
        random_state: np.random.RandomState,
    ) -> NDArray[np.float64]:
        """The same, estimated from random scores.  Two labels count as several, the first of which has the score 0."""
        if self.several:
            variance = self.rule.score_variance(variance)
        else:
            variance = variance if self.rule.second_order else np.zeros_like(variance)
            mean, variance = (np.column_stack([np.zeros_like(part), part]) for part in (mean, variance))
        return mean_outcome(self.rule.outcome, mean, variance, draws, random_state)

    # -- regression ----------------------------------------------------------------------------------------------------

    @property
    def noise(self) -> float:
        """The rule's r as it is now: the variance of a target around w.x, in the unit of the state."""
        r = 1 / self.rule.kernel_fields()["C"]
        if self.rule.strength != "auto":
            return float(r)
        return float(r * self.state.initial_variance * self.statistics["squares"] / max(1, self.statistics["rows"]))

    @property
    def scale(self) -> float:
        """The factor from variances of the state to the unit of the targets.

        It is the mean of error^2 / (r + v) over the rows, each before it was learned from: 1 if the targets have the
        noise r.  Row t has the weight t, because the first errors tell more of the prior than of the noise.
        """
        rows = self.statistics["rows"]
        return 2 * self.statistics["surprise"] / max(1, rows * (rows + 1))

    def deviations(self, variance: NDArray[np.float64]) -> NDArray[np.float64]:
        """The standard deviation of each target around its prediction, from the variance of the margin."""
        with np.errstate(over="ignore"):
            deviations: NDArray[np.float64] = np.sqrt(self.scale * (self.noise + variance))
        return deviations
