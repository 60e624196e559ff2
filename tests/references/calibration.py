"""A slow float64 reference of the calibrators: what the scores of rows were worth before they were learned.

It is written from the formulas at the top of `_calibration.pxd`, with matrices, and shares no code with the package.

Row t (from 1) weighs w_t = Gamma(t + r) / Gamma(t), about t^r, in every mean; r is the recency, 2 or, once the model is
settled, 0.5.  The noise begins as if 4 of 100 labels had been random; its recency is 4.  What was known before row t
is worth w_(t-1) / w_t = (t - 1) / (t - 1 + r) of what it was, and never more than 1 / (1 + 1 / HORIZON).

What is known holds for scores relative to the root of their mean square; from 33 rows on it holds per unit of the
score instead, if the model is settled or has more than two labels.

    Guo, Pleiss, Sun, Weinberger, "On Calibration of Modern Neural Networks", ICML 2017 (temperature scaling)
"""

import math

import numpy as np

HORIZON, HEAVIEST = 65536, 2**20
PRIOR_MEAN = (2.0, 0.0)  # of slope and shift
PRIOR_VARIANCES = (100.0, 16.0)


def is_observed(observed, row, several):
    """The first 1024 (several labels: 512), then row t with the chance 1024 / t, by a hash of 24 bits."""
    rows = 512 if several else 1024
    return observed < rows or ((row * 0x9E3779B97F4A7C15) % 2**64 // 2**40) * row < rows * 2**24


class OneScore:
    """A Gaussian over slope and shift, or over the slope alone if there are several labels."""

    def __init__(self):
        self.mean_square = self.loss = 0.0
        self.noise = 0.04  # as if the labels of 4 of 100 rows had been random
        self.mean, self.covariance = np.array(PRIOR_MEAN), np.diag(PRIOR_VARIANCES)

    def remember(self, old, new, t, recency):
        """The mean of the t rows so far."""
        share = (1 + recency) / (t + recency)  # w_t / (w_1 + ... + w_t)
        return (1 - share) * old + share * new

    def remember_noise(self, chance, t):
        """A mean with the recency 4, which begins with 100 rows of the prior."""
        share = 5 / (t + 104)
        self.noise = min(max((1 - share) * self.noise + share * chance, 1e-9), 0.98)

    def grow_old(self, t, recency):
        if t > 1:
            growth = max((t - 1 + recency) / (t - 1), 1 + 1 / HORIZON)
            factors = np.sqrt(np.minimum(growth, PRIOR_VARIANCES / np.diag(self.covariance)))
            self.covariance = self.covariance * np.outer(factors, factors)

    def remember_square(self, square, t, recency, several):
        before, self.mean_square = self.mean_square, self.remember(self.mean_square, square, t, recency)
        if t > 32 and (several or recency == 0.5) and before > 1e-200:
            unit = math.sqrt(self.mean_square / before)
            if abs(self.mean[0]) * unit < 1e12:
                self.mean = self.mean * [unit, 1]
                self.covariance = self.covariance * np.outer([unit, 1], [unit, 1])

    def observe_two(self, score, y, weight, t, recency):
        self.remember_square(score**2, t, recency, False)
        x = np.array([score / math.sqrt(self.mean_square) if self.mean_square > 1e-200 else 0.0, 1.0])
        self.grow_old(t, recency)
        m, v = y * (self.mean @ x), x @ self.covariance @ x
        right = 1 / (1 + math.exp(-m))
        p = self.noise / 2 + (1 - self.noise) * right
        self.loss = self.remember(self.loss, -math.log(p), t, recency)
        # Fisher's scoring: one step along the gradient of log p, by the precision after the row.
        steepness = (1 - self.noise) * right * (1 - right)
        information = weight * steepness**2 / (p * (1 - p))
        alpha = weight * steepness / p / (1 + information * v)
        if weight * v > 0.5:  # z = m + weight v sigmoid(-z), the exact mode without noise, lies below this
            alpha = min(alpha, (max(m, 0) + math.log1p(weight * v) - m) / v)
        self.mean = self.mean + y * alpha * (self.covariance @ x)
        self.covariance = np.linalg.inv(np.linalg.inv(self.covariance) + information * np.outer(x, x))
        self.remember_noise(self.noise * (1 - right) / p, t)

    def log_odds(self, score):
        """Those of a score, before it is observed."""
        f = score / math.sqrt(self.mean_square) if self.mean_square > 1e-200 else 0.0
        return self.mean @ [f, 1.0]

    def observe_several(self, scores, label, weight, t, recency):
        self.remember_square((scores.max() - scores.mean()) ** 2, t, recency, True)
        if self.mean_square <= 1e-200:
            return
        self.grow_old(t, recency)
        f = (scores - scores.max()) / math.sqrt(self.mean_square)
        before, precision = self.mean[0], 1 / self.covariance[0, 0]
        soft = np.exp(before * f) / np.exp(before * f).sum()
        p = self.noise / len(f) + (1 - self.noise) * soft[label]
        self.loss = self.remember(self.loss, -math.log(p), t, recency)
        right = (1 - self.noise) * soft[label] / p  # the chance that the label is not noise
        curvature = weight * right * (soft @ f**2 - (soft @ f) ** 2)
        slope = before + weight * right * (f[label] - soft @ f) / (curvature + precision)
        self.mean = np.array([min(max(slope, before / 2), 2 * before), 0.0])
        self.covariance[0, 0] = 1 / (precision + curvature)
        wrong = self.noise / len(f) * (1 - soft[label]) / p  # the chance that the label is not the true one
        self.remember_noise(wrong * len(f) / (len(f) - 1), t)

    def numbers(self):
        (a, b), (_, c) = self.covariance
        return [self.mean_square, *self.mean, a, b, c, self.loss, self.noise]


class CalibrationReference:
    """Both calibrators, over a stream of scores."""

    def __init__(self):
        self.observed = self.settled = self.rows = 0
        self.margin, self.deviation = OneScore(), OneScore()
        self.odds = np.zeros(64)  # how the log odds are distributed, in intervals of 1/4 from -8 to 8

    def observe(self, scores, spread, label, weight=1.0, settled=False, fresh=True):
        """A row; `label` is -1 or +1 and `scores` one number, or the number of the label and all scores."""
        row, self.rows = self.rows, self.rows + 1
        if not fresh or not is_observed(self.observed, row, np.ndim(scores) > 0):
            return
        if self.observed == 0 or (settled and not self.settled):
            self.observed, self.settled = 0, int(settled)
            self.margin, self.deviation = OneScore(), OneScore()
            self.odds = np.zeros(64)
        self.observed = min(self.observed + 1, HORIZON)
        recency, weight, length = 0.5 if settled else 2, min(weight, HEAVIEST), math.sqrt(spread)
        if np.ndim(scores) == 0:
            divided = scores / length if spread > 1e-200 else 0.0
            best, score = (self.deviation, divided) if self.deviation.loss < self.margin.loss else (self.margin, scores)
            row_odds = np.zeros(64)
            row_odds[np.digitize(best.log_odds(score), np.arange(-31, 32) / 4)] = weight
            self.odds = best.remember(self.odds, row_odds, self.observed, recency)
            self.margin.observe_two(scores, label, weight, self.observed, recency)
            self.deviation.observe_two(divided, label, weight, self.observed, recency)
        else:
            divided = scores / length if spread > 1e-200 else scores
            self.margin.observe_several(scores, label, weight, self.observed, recency)
            self.deviation.observe_several(divided, label, weight, self.observed, recency)

    def numbers(self):
        return np.array([self.observed, self.settled, *self.margin.numbers(), *self.deviation.numbers(), *self.odds])
