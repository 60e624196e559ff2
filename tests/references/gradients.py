"""A slow, dense float64 reference of the learners that sum gradients, for any labels.

It is written from the papers and shares no code with the package.

    F13  McMahan et al., "Ad Click Prediction: a View from the Trenches", KDD 2013, Algorithm 1 (FTRL-Proximal)
    D11  Duchi, Hazan, Singer, "Adaptive Subgradient Methods", JMLR 12, 2011, section 5.1 (primal-dual, L1)
    E9   Crammer, Dredze, Kulesza, EMNLP 2009: difference vectors for more than two labels

`initial_variance` a stands for rows that are sqrt(a) times as long: the weights of the longer rows, times sqrt(a).
"""

import math

import numpy as np


def slope(loss, C, m):
    """Minus the derivative of C times the loss of a margin."""
    if loss == "hinge":
        return C if m < 1 else 0.0
    return C / (1 + math.exp(m)) if m < 700 else 0.0


class GradientReference:
    """One learner; entry 0 is the intercept.  With several labels all arrays are flat, label by label."""

    def __init__(
        self, rule, n_features, *, n_labels=1, initial_variance=1.0, bias=1.0, constraints=1, update="sequential"
    ):
        self.rule, self.bias, self.initial_variance = rule, bias, initial_variance
        self.shape = (n_labels, n_features + 1)
        self.constraints, self.update = min(constraints or n_labels, n_labels - 1), update
        self.z = np.zeros(n_labels * (n_features + 1))  # F13's; D11: the sum of all gradients
        self.n = np.zeros_like(self.z)  # the sum of their squares
        self.rows = self.updates = self.mistakes = 0
        self.binary = self  # as `LabelReference` has one

    @property
    def mean(self):
        """What the state of the package holds in place of means."""
        return self._shaped(-self.z)

    @property
    def variance(self):
        return self._shaped(np.sqrt(self.n))

    def _shaped(self, flat):
        return flat if self.shape[0] == 1 else flat.reshape(self.shape)

    def weights(self):
        rule, w = self.rule, np.zeros_like(self.z)
        for i, (z, n) in enumerate(zip(self.z, self.n, strict=True)):
            if rule.name == "ftrl":  # F13 Algorithm 1
                if abs(z) > rule.l1:
                    w[i] = -(z - math.copysign(rule.l1, z)) / ((rule.beta + math.sqrt(n)) / rule.alpha + rule.l2)
            elif n > 0:  # D11: sign(-g) eta t / H [|g| - lambda]_+, where t g is the sum over t rounds
                excess = abs(z) - rule.l1 * self.rows
                w[i] = math.copysign(rule.learning_rate / math.sqrt(n) * max(0.0, excess), -z)
        return w * math.sqrt(self.initial_variance)

    def _add(self, gradient):
        g = gradient * math.sqrt(self.initial_variance)
        w = self.weights() / math.sqrt(self.initial_variance)
        if self.rule.name == "ftrl":
            sigma = (np.sqrt(self.n + g**2) - np.sqrt(self.n)) / self.rule.alpha
            self.z = self.z + g - sigma * w
        else:
            self.z = self.z + g
        self.n = self.n + g**2

    def learn(self, X, y, weights=None):
        weights = np.ones(len(X)) if weights is None else weights
        for row, label, weight in zip(np.asarray(X, dtype=np.float64), y, weights, strict=True):
            if weight != 0:
                self._round(np.append(self.bias, row), label, float(weight))
        return self

    def _round(self, x, label, C):
        before = self.updates
        if self.shape[0] == 1:
            self.mistakes += label * float(self.weights() @ x) <= 0
            self._step([label * x], C)
        else:
            y = int(label)
            scores = self.weights().reshape(self.shape) @ x
            rivals = sorted((z for z in range(self.shape[0]) if z != y), key=lambda z: (-scores[z], z))
            vectors = [self._difference(x, y, rival) for rival in rivals[: self.constraints]]
            self.mistakes += scores[y] - scores[rivals[0]] <= 0
            if self.update == "parallel":
                self._step(vectors, C)
            else:
                for vector in vectors:
                    self._step([vector], C)
        self.updates = before + (self.updates > before)
        self.rows += 1

    def _difference(self, x, y, rival):
        flat = np.zeros(self.shape)
        flat[y], flat[rival] = x, -x
        return flat.reshape(-1)

    def _step(self, vectors, C):
        """One step for the average loss of some examples."""
        w = self.weights()
        slopes = [slope(self.rule.loss, C, float(w @ v)) if v.any() else 0.0 for v in vectors]
        if any(slopes):
            self.updates += 1
            self._add(-sum(s * v for s, v in zip(slopes, vectors, strict=True)) / len(vectors))

    def margins(self, X):
        rows = [np.append(self.bias, row) for row in np.asarray(X, dtype=np.float64)]
        w = self.weights()
        lengths = np.array([self.initial_variance * float(x @ x) for x in rows])
        if self.shape[0] == 1:
            return np.array([float(w @ x) for x in rows]), lengths
        scores = np.array([w.reshape(self.shape) @ x for x in rows])
        return scores, np.repeat(lengths[:, None], self.shape[0], axis=1)


class RiverFTRL:
    """FTRL-Proximal on dictionaries, after the formulas of river 0.26 (`optim.FTRLProximal`).

    river refreshes the weights of a row at the beginning of its step, after the gradient: its gradients belong to the
    weights of a round before.  Here the weights are refreshed before the gradient, as in the paper.
    """

    def __init__(self, alpha, beta, l1, l2):
        self.alpha, self.beta, self.l1, self.l2 = alpha, beta, l1, l2
        self.z, self.n = {}, {}

    def refreshed(self, names):
        weights = {}
        for name in names:
            z, n = self.z.get(name, 0.0), self.n.get(name, 0.0)
            if abs(z) > self.l1:
                weights[name] = -(((self.beta + n**0.5) / self.alpha + self.l2) ** -1) * (z - np.sign(z) * self.l1)
        return weights

    def learn(self, x, positive):
        weights = self.refreshed(x)
        p = 1 / (1 + math.exp(-sum(weights.get(name, 0.0) * value for name, value in x.items())))
        for name, value in x.items():
            g, n = (p - positive) * value, self.n.get(name, 0.0)
            s = ((n + g**2) ** 0.5 - n**0.5) / self.alpha
            self.z[name] = self.z.get(name, 0.0) + g - s * weights.get(name, 0.0)
            self.n[name] = n + g**2
