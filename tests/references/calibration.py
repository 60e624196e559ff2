"""A slow float64 reference of the calibrators: what the scores of rows were worth before they were learned.

It is written from the formulas at the top of `_calibration.pxd`, with matrices, and shares no code with the package.

Row t (from 1) weighs w_t = Gamma(t + r) / Gamma(t), about t^r, in every mean; r is the recency, 2 or, once the model is
settled, 0.5.  The noise begins as if 4 of 100 labels had been random, or as it was before the model was settled; its
recency is 4, with more than two labels 1.  What was known before row t is worth
w_(t-1) / w_t = (t - 1) / (t - 1 + r) of what it was, and never more than 1 / (1 + 1 / HORIZON).

From the 65th row on, 16 rows of two labels are observed at once, by one step of Fisher's scoring for their sum, or one
by one if four times the change of the slope and the change of the shift are more than 4 in sum.  If 4 of the 16 scores
are more than 4 times the root of the mean square, all begins anew with them, except the noise.

What is known holds for scores relative to the root of their mean square; from 33 rows on it holds per unit of the
score instead, if the model is settled or has more than two labels.

    Guo, Pleiss, Sun, Weinberger, "On Calibration of Modern Neural Networks", ICML 2017 (temperature scaling)
"""

import copy
import math

import numpy as np

HORIZON, HEAVIEST = 65536, 2**20
PRIOR_MEAN = (2.0, 0.0)  # of slope and shift
PRIOR_VARIANCES = (100.0, 16.0)


def is_observed(observed, row, several):
    """The first 4096 (several labels: 1024), then row t of a block of 16 with a chance, by a hash of 24 bits."""
    t = row // 16 * 16
    chance = (row // 16 * 0x9E3779B97F4A7C15) % 2**64 // 2**40 / 2**24
    first, many = (1024, 512) if several else (4096, 1024)
    return observed < first or chance < max(many / t, (first / t) ** 2)


class OneScore:
    """A Gaussian over slope and shift, or over the slope alone if there are several labels."""

    def __init__(self, noise=0.04):
        self.mean_square = self.loss = 0.0
        self.noise = noise
        self.mean, self.covariance = np.array(PRIOR_MEAN), np.diag(PRIOR_VARIANCES)

    def remember(self, old, new, t, recency, rows=1):
        """The mean of the t rows so far, of which `new` are the latest."""
        share = rows * (1 + recency) / (t + recency)  # w_t / (w_1 + ... + w_t)
        return (1 - share) * old + share * new

    def remember_noise(self, chance, t, recency=4, rows=1):
        """A mean with a recency of its own, which begins with 100 rows of the prior."""
        share = rows * (1 + recency) / (t + recency + 100)
        self.noise = min(max((1 - share) * self.noise + share * chance, 1e-9), 0.98)

    def grow_old(self, t, recency, rows=1):
        if t > rows:
            growth = 1 + rows * max(recency / (t - rows), 1 / HORIZON)
            factors = np.sqrt(np.minimum(growth, PRIOR_VARIANCES / np.diag(self.covariance)))
            self.covariance = self.covariance * np.outer(factors, factors)

    def remember_square(self, square, t, recency, several, rows=1):
        before, self.mean_square = self.mean_square, self.remember(self.mean_square, square, t, recency, rows)
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

    def observe_together(self, scores, y, weights, t, recency):
        """16 rows, the last of which is row t."""
        before, rows = copy.deepcopy(self.__dict__), len(y)
        self.remember_square(np.mean(scores**2), t, recency, False, rows)
        self.grow_old(t, recency, rows)
        f = scores / math.sqrt(self.mean_square) if self.mean_square > 1e-200 else 0 * scores
        x = np.column_stack([f, np.ones(rows)])
        right = 1 / (1 + np.exp(-y * (x @ self.mean)))
        p = self.noise / 2 + (1 - self.noise) * right
        steepness = (1 - self.noise) * right * (1 - right)
        information = (x.T * (weights * steepness**2 / (p * (1 - p)))) @ x
        self.covariance = np.linalg.inv(np.linalg.inv(self.covariance) + information)
        step = self.covariance @ (x.T @ (weights * y * steepness / p))
        if 4 * abs(step[0]) + abs(step[1]) > 4:
            self.__dict__.update(before)
            for i in range(rows):
                self.observe_two(scores[i], y[i], weights[i], min(t - rows + i + 1, HORIZON), recency)
            return
        self.mean = self.mean + step
        self.loss = self.remember(self.loss, -np.log(p).mean(), t, recency, rows)
        self.remember_noise((self.noise * (1 - right) / p).mean(), t, rows=rows)

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
        self.remember_noise(wrong * len(f) / (len(f) - 1), t, recency=1)

    def numbers(self):
        (a, b), (_, c) = self.covariance
        return [self.mean_square, *self.mean, a, b, c, self.loss, self.noise]


class CalibrationReference:
    """Both calibrators, over a stream of scores."""

    def __init__(self):
        self.observed = self.settled = self.rows = 0
        self.margin, self.deviation = OneScore(), OneScore()
        self.odds = np.zeros(64)  # how the log odds are distributed, in intervals of 1/4 from -8 to 8
        self.waiting = []  # rows of two labels

    def observe(self, scores, spread, label, weight=1.0, settled=False, fresh=True):
        """A row; `label` is -1 or +1 and `scores` one number, or the number of the label and all scores."""
        row, self.rows = self.rows, self.rows + 1
        begins = settled and not self.settled
        if not fresh or not (begins or is_observed(self.observed, row, np.ndim(scores) > 0)):
            return
        if begins:
            self.settled = 1
            self.begin()
        recency, weight = 0.5 if settled else 2, min(weight, HEAVIEST)
        if np.ndim(scores) == 0:
            self.waiting.append((scores, spread, label * weight))
            if self.observed < 64 or len(self.waiting) == 16:
                self.observe_waiting(recency)
        else:
            self.observed = min(self.observed + 1, HORIZON)
            divided = scores / math.sqrt(spread) if spread > 1e-200 else scores
            self.margin.observe_several(scores, label, weight, self.observed, recency)
            self.deviation.observe_several(divided, label, weight, self.observed, recency)

    def begin(self):
        self.observed = 0
        self.margin, self.deviation = OneScore(self.margin.noise), OneScore(self.deviation.noise)
        self.odds, self.waiting = np.zeros(64), []

    def observe_waiting(self, recency):
        scores, spreads, pulls = np.transpose(self.waiting)
        rows = len(pulls)
        if rows > 1 and np.sum(np.abs(scores) > 4 * math.sqrt(self.margin.mean_square)) >= 4:
            waited = self.waiting
            self.begin()
            for row in waited:
                self.waiting = [row]
                self.observe_waiting(recency)
            return
        self.waiting = []
        self.observed = min(self.observed + rows, HORIZON)
        known = spreads > 1e-200
        divided = np.where(known, scores / np.sqrt(np.where(known, spreads, 1)), 0)
        best, score = (self.deviation, divided) if self.deviation.loss < self.margin.loss else (self.margin, scores)
        row_odds = np.zeros(64)
        for i in range(rows):
            row_odds[np.digitize(best.log_odds(score[i]), np.arange(-31, 32) / 4)] += abs(pulls[i]) / rows
        self.odds = best.remember(self.odds, row_odds, self.observed, recency, rows)
        for part, numbers in ((self.margin, scores), (self.deviation, divided)):
            if rows == 1:
                part.observe_two(numbers[0], np.sign(pulls[0]), abs(pulls[0]), self.observed, recency)
            else:
                part.observe_together(numbers, np.sign(pulls), np.abs(pulls), self.observed, recency)

    @property
    def seen(self):
        """The rows that were or will be observed."""
        return self.observed + len(self.waiting)

    def numbers(self):
        waiting = np.zeros((3, 16))
        if self.waiting:
            waiting[:, : len(self.waiting)] = np.transpose(self.waiting)
        known = [self.observed, self.settled, *self.margin.numbers(), *self.deviation.numbers(), *self.odds]
        return np.array([*known, len(self.waiting), *waiting.ravel()])
