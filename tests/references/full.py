"""A slow, dense reference of full covariances, for any number of labels and for targets.

It inverts precision matrices for every row, while the package changes covariances in place.  Like `binary`, whose
scalar steps it uses, it is written from the formulas of the papers.
"""

import math

import numpy as np

from tests.references.binary import step


def minimise_exactly(phi, m, true_v, rival_v):
    """The steps of all rivals that meet every CW-variance constraint at once (E9 section 5.2, errata).

    Bisection on their sum A: for a given A each alpha_j is the root of its own increasing constraint, or 0.
    """

    def slack(j, a, total):
        left = true_v / (1 + 2 * phi * total * true_v) + rival_v[j] / (1 + 2 * phi * a * rival_v[j])
        return m[j] + total * true_v + a * rival_v[j] - phi * left

    def own(j, total):
        low, high = 0.0, 1.0
        if slack(j, 0.0, total) >= 0:
            return 0.0
        while slack(j, high, total) < 0:
            high *= 2
        for _ in range(200):
            middle = (low + high) / 2
            low, high = (middle, high) if slack(j, middle, total) < 0 else (low, middle)
        return high

    low, high = 0.0, 1.0
    while sum(own(j, high) for j in range(len(m))) > high:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if sum(own(j, middle) for j in range(len(m))) > middle else (low, middle)
    return [own(j, high) for j in range(len(m))]


class FullReference:
    """Mean and precision of each block: one block for two labels or a regression, otherwise one for each label."""

    def __init__(
        self,
        kind,
        n_features,
        *,
        blocks=1,
        phi=0.0,
        C=1.0,
        initial_variance=1.0,
        bias=1.0,
        relative=False,
        constraints=1,
        update="sequential",
    ):
        self.kind, self.phi, self.C, self.relative, self.bias = kind, phi, C, relative, bias
        self.initial_variance, self.blocks, self.update = initial_variance, blocks, update
        self.constraints = min(constraints or blocks, blocks - 1)
        self.mean = np.zeros((blocks, n_features + 1))
        self.precision = np.array([np.eye(n_features + 1) / initial_variance] * blocks)
        self.rows = self.updates = self.mistakes = 0
        self.sum_of_squares = 0.0

    @property
    def covariance(self):
        return np.linalg.inv(self.precision)

    def learn(self, X, y, weights=None):
        weights = np.ones(len(y)) if weights is None else weights
        for row, target, weight in zip(np.asarray(X, dtype=np.float64), y, weights, strict=True):
            if weight:
                self._round(np.append(self.bias, row), float(target), float(weight))
        return self

    def _round(self, x, target, weight):
        self.rows += 1
        self.sum_of_squares += (1 + (self.blocks > 1)) * float(x @ x)
        C = self.C * weight
        if self.relative:
            scale = self.initial_variance * self.sum_of_squares / self.rows
            C /= math.sqrt(scale) if self.kind == "scw-i" else scale
        if self.blocks > 1:
            self._several(x, int(target), C)
            return
        m, v = self._margin(0, x)
        if self.kind == "rls":
            alpha, g = step("rls", self.phi, C, m - target, v)
            target = 1.0
        else:
            alpha, g = step(self.kind, self.phi, C, target * m, v)
            self.mistakes += target * m <= 0
        self.updates += alpha != 0 or g > 0
        self._move(0, x, target * alpha, g)

    def _margin(self, z, x):
        return float(self.mean[z] @ x), float(x @ np.linalg.solve(self.precision[z], x))

    def _score(self, z, x):
        """SOP counts the row into the correlation matrix (errata, SOP)."""
        m, v = self._margin(z, x)
        return m / (1 + v) if self.kind == "sop" else m

    def _move(self, z, x, alpha, g):
        self.mean[z] = self.mean[z] + alpha * np.linalg.solve(self.precision[z], x)
        self.precision[z] = self.precision[z] + g * np.outer(x, x)

    def _after_sop(self, z, x, sign):
        """Mean and precision of a block that x is counted into: SOP keeps A = precision and the sum A mean of y x."""
        precision = self.precision[z] + np.outer(x, x)
        return np.linalg.solve(precision, self.precision[z] @ self.mean[z] + sign * x), precision

    def _several_sop(self, x, y, rivals):
        """As SOP with one label does on a mistake, for the true label and each rival that it loses to."""
        lost = [r for r in rivals if self._score(y, x) - self._score(r, x) <= 0]
        if self.update == "sequential":
            for r in rivals:
                if self._score(y, x) - self._score(r, x) <= 0:
                    for z, sign in ((y, 1), (r, -1)):
                        self.mean[z], self.precision[z] = self._after_sop(z, x, sign)
        else:  # the averages of the means and precisions that each of them alone would lead to
            for z, sign, times in ((y, 1, len(lost)), *((r, -1, 1) for r in lost)):
                mean, precision = self._after_sop(z, x, sign)
                part = times / len(rivals)
                self.mean[z] = part * mean + (1 - part) * self.mean[z]
                self.precision[z] = part * precision + (1 - part) * self.precision[z]
        self.updates += len(lost) > 0

    def _several(self, x, y, C):
        scores = [self._score(z, x) for z in range(self.blocks)]
        rivals = sorted((z for z in range(self.blocks) if z != y), key=lambda z: (-scores[z], z))[: self.constraints]
        self.mistakes += scores[y] - scores[rivals[0]] <= 0
        found = []
        if not x.any():  # an empty row never updates
            return
        if self.kind == "sop":
            self._several_sop(x, y, rivals)
            return
        if self.update == "exact":
            (true_m, true_v), others = self._margin(y, x), [self._margin(r, x) for r in rivals]
            alphas = minimise_exactly(self.phi, [true_m - m for m, _ in others], true_v, [v for _, v in others])
            found = [(r, alpha, 2 * self.phi * alpha) for r, alpha in zip(rivals, alphas, strict=True)]
            self._apply(x, y, found)
        elif self.update == "parallel":
            for r in rivals:
                found.append((r, *self._step(x, y, r, C)))
            self._apply(x, y, [(r, alpha / len(rivals), g / len(rivals)) for r, alpha, g in found])
        else:
            for r in rivals:
                alpha, g = self._step(x, y, r, C)
                found.append((r, alpha, g))
                self._apply(x, y, [(r, alpha, g)])
        self.updates += any(alpha > 0 for _, alpha, _ in found)

    def _step(self, x, y, r, C):
        m, v = self._margin(y, x)[0] - self._margin(r, x)[0], self._margin(y, x)[1] + self._margin(r, x)[1]
        return step(self.kind, self.phi, C, m, v)

    def _apply(self, x, y, steps):
        """All at once, from the covariances that there are."""
        self._move(y, x, sum(alpha for _, alpha, _ in steps), sum(g for _, _, g in steps))
        for r, alpha, g in steps:
            self._move(r, x, -alpha, g)

    def margins(self, X):
        rows = [np.append(self.bias, row) for row in np.asarray(X, dtype=np.float64)]
        mean = np.array([[self._score(z, x) for z in range(self.blocks)] for x in rows])
        variance = np.array([[self._margin(z, x)[1] for z in range(self.blocks)] for x in rows])
        return (mean, variance) if self.blocks > 1 else (mean[:, 0], variance[:, 0])
