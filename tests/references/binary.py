"""A slow, dense float64 reference of the online linear classifiers with a diagonal covariance, for any labels.

It is written from the formulas of the papers (with their errata) and shares no code with the package.

    J12  Crammer, Dredze, Pereira, "Confidence-Weighted Linear Classification for Text Categorization", JMLR 2012
    N8   Crammer, Dredze, Pereira, "Exact Convex Confidence-Weighted Learning", NIPS 2008
    A9   Crammer, Kulesza, Dredze, "Adaptive Regularization of Weight Vectors", NIPS 2009
    P6   Crammer, Dekel, Keshet, Shalev-Shwartz, Singer, "Online Passive-Aggressive Algorithms", JMLR 2006
    S12  Wang, Zhao, Hoi, "Exact Soft Confidence-Weighted Learning", ICML 2012
    H10  Crammer, Lee, "Learning via Gaussian Herding", NIPS 2010
    SOP  Cesa-Bianchi, Conconi, Gentile, "A Second-Order Perceptron Algorithm", SIAM J. Comput. 2005
    E9   Crammer, Dredze, Kulesza, "Multi-Class Confidence Weighted Algorithms", EMNLP 2009
    G10  Graepel, Candela, Borchert, Herbrich, "Web-Scale Bayesian Click-Through Rate Prediction", ICML 2010
    MIT  6.867 notes on classification, section 4 (Laplace approximation of logistic regression)

Letters: m = y mu.x (J12 eq. 7), v = x'Sx (J12 eq. 8); a rule answers with the step `alpha` on the mean and the gain
`g` in precision along x:  mu += y alpha S x (J12 eq. 11, 20),  S^-1 += g x x' (J12 eq. 13, 24).
"""

import math

import numpy as np
from scipy.special import erfcx

FIRST_ORDER = ("perceptron", "pa", "pa-i", "pa-ii", "logistic-sgd", "hinge-sgd")
SECOND_ORDER = (
    "cw-variance", "cw-stdev", "scw-i", "scw-ii", "arow", "nherd", "sop", "bayesian-logistic", "probit", "rls",
)  # fmt: skip
COVARIANCES = ("fixed", "kl", "l2", "exact", "inclusive")
LARGEST = 1e300  # of alpha and g: keeps them finite when the variances have all but vanished


def sigmoid(z):
    return 1.0 / (1.0 + math.exp(-z)) if z >= 0 else math.exp(z) / (1.0 + math.exp(z))


def bisect(function, low, high):
    """The root of an increasing function between low and high, by bisection down to neighbouring floats."""
    while True:
        middle = low + (high - low) / 2
        if not low < middle < high:
            return middle
        if function(middle) < 0:
            low = middle
        else:
            high = middle


def step(kind, phi, C, m, v):
    """(alpha, g) of one row with margin m and variance v; (0, 0) when the rule does not act."""
    if v <= 0:  # J12 erratum 7: an empty row never updates
        return 0.0, 0.0
    if kind == "perceptron":  # acts on a mistake only, y (mu.x) <= 0; C weighs its loss max(0, -m)
        return (C, 0.0) if m <= 0 else (0.0, 0.0)
    if kind == "sop":  # full SOP in the common form, prior S0 = I/a: A9's (7) and (8) with r = 1, on mistakes only
        return ((1 - m) / (v + 1), 1.0) if m <= 0 else (0.0, 0.0)
    if kind == "logistic-sgd":  # minus the derivative of log(1 + exp(-m)) in m, times the step
        return C * sigmoid(-m), 0.0
    if kind == "hinge-sgd":  # the same of max(0, 1 - m)
        return (C, 0.0) if m < 1 else (0.0, 0.0)
    if kind == "bayesian-logistic":  # MIT section 4: the mode along S x, and the Hessian there; C weighs the loss
        z = bisect(lambda z: z - m - C * v * sigmoid(-z), m, m + C * v)
        return C * sigmoid(-z), C * sigmoid(z) * sigmoid(-z)
    if kind == "probit":
        return _probit(1 / C, m, v)
    if kind == "rls":  # A9 footnote 1: recursive least squares with r = 1/C; m is the error mu.x - t
        return -m / (v + 1 / C), C
    if kind in ("cw-variance", "cw-stdev", "scw-i", "scw-ii"):
        if m >= phi * (v if kind == "cw-variance" else math.sqrt(v)):  # J12 (10); (9), (19) and erratum 8
            return 0.0, 0.0
        return _confidence_weighted(kind, phi, C, m, v)
    loss = max(0.0, 1 - m)
    if loss == 0:
        return 0.0, 0.0
    if kind == "pa":  # P6 Fig. 1
        return loss / v, 0.0
    if kind == "pa-i":  # P6 Fig. 1; J12 erratum 2
        return min(C, loss / v), 0.0
    if kind == "pa-ii":  # P6 Fig. 1
        return loss / (v + 1 / (2 * C)), 0.0
    if kind == "arow":  # A9 (1): lambda1 = C/2, lambda2 = phi lambda1; with phi = 1 its (7), (8), r = 1/C
        lambda1 = C / 2
        lambda2 = phi * lambda1
        return 2 * lambda1 * loss / (1 + 2 * lambda1 * v), 2 * lambda2
    if kind == "nherd":  # H10 full-covariance update
        return loss / (v + 1 / C), 2 * C + C**2 * v
    raise ValueError(f"unknown kind {kind!r}")


def _probit(noise, m, v):
    """G10 (9)-(12) with beta^2 = noise: mean += V / sigma S x and s (1 - s x^2 W / sigma^2) in the common form."""
    sigma = math.sqrt(noise + v)
    t = m / sigma
    V = math.sqrt(2 / math.pi) / erfcx(-t / math.sqrt(2)) if t < 30 else 0.0
    rest = 1 - V * (V + t)
    if t < -40:  # the asymptotic series of 1 - W, since the difference cancels
        rest = 1 / t**2 - 6 / t**4 + 50 / t**6 - 518 / t**8
    return V / sigma, (1 - rest) / (noise + v * rest)  # W / sigma^2 = g / (1 + g v)


def _confidence_weighted(kind, phi, C, m, v):
    """Closed forms for a row that violates its constraint."""
    if kind == "cw-variance":
        if phi == 0:  # the limit of (18): J12 erratum 7
            return max(0.0, -m) / v, 0.0
        # J12 (18). It cancels for small phi^2 v: Newton steps on the equation it solves, J12 (16), restore the digits.
        alpha = (-(1 + 2 * phi * m) + math.sqrt((1 + 2 * phi * m) ** 2 - 8 * phi * (m - phi * v))) / (4 * phi * v)
        for _ in range(3):
            shrunk = 1 + 2 * alpha * phi * v
            alpha -= (m + alpha * v - phi * v / shrunk) / (v + 2 * phi**2 * v**2 / shrunk**2)
        alpha = max(0.0, alpha)
        return alpha, 2 * alpha * phi  # J12 (13)
    if kind == "scw-ii":  # S12 Proposition 2
        n = v + 1 / (2 * C)
        gamma = phi * math.sqrt(phi**2 * m**2 * v**2 + 4 * n * v * (n + v * phi**2))
        alpha = max(0.0, (-(2 * m * n + phi**2 * m * v) + gamma) / (2 * (n**2 + n * v * phi**2)))
    else:  # J12 (31), N8 (14)
        psi, zeta = 1 + phi**2 / 2, 1 + phi**2
        alpha = max(0.0, (-m * psi + math.sqrt(m**2 * phi**4 / 4 + v * phi**2 * zeta)) / (v * zeta))
        if kind == "scw-i":  # S12 Proposition 1
            alpha = min(C, alpha)
    # J12 (24): g = alpha phi / sqrt(v+). J12 (28): sqrt(v+) = (-b + sqrt(b^2 + 4 v))/2 = 2 v/(b + sqrt(b^2 + 4 v)) with
    # b = alpha v phi; the second way of writing it, because the difference cancels for m << 0.
    b = alpha * v * phi
    g = alpha * phi * (b + math.sqrt(b * b + 4 * v)) / (2 * v)
    return min(alpha, LARGEST), min(g, LARGEST)


def exact_step(kind, phi, m, q):
    """(alpha, g) of the exact diagonal update (J12 section 6.2), with q_p = s_p x_p^2, by bisection."""
    q = np.asarray(q, dtype=np.float64)
    q = q[q > 0]  # J12 erratum 14: the zero entries may not enter (34)
    v = math.fsum(q)
    if kind not in ("cw-variance", "cw-stdev"):
        raise ValueError(f"no exact diagonal update for {kind!r}")
    if v <= 0 or m >= phi * (v if kind == "cw-variance" else math.sqrt(v)):
        return 0.0, 0.0
    if phi == 0:
        return max(0.0, -m) / v, 0.0
    if kind == "cw-variance":  # J12 (33); above L the paper's own, below U the step that needs no help from S
        alpha = bisect(lambda a: m + a * v - np.sum(phi * q / (1 + 2 * a * phi * q)), max(0.0, -m / v), phi - m / v)
        return alpha, 2 * alpha * phi

    # J12 (34) in the unknown g = alpha phi / sqrt(u), u(g) = x'S_new x = sum q/(1 + g q), because g from alpha cancels
    # for m << 0 (errata B8): m + alpha v = phi sqrt(u) reads m + sqrt(u) (g v/phi - phi) = 0, increasing in g.
    # Bracket: alpha <= U = (phi sqrt(v) - m)/v and u >= v/(1 + g v), so that g^2 <= U^2 phi^2 (1 + g v)/v.
    def deviation(g):
        return math.sqrt(np.sum(q / (1 + g * q)))

    k = phi * (phi * math.sqrt(v) - m) / v
    high = min(k * (k + math.hypot(k, 2 / math.sqrt(v))) / 2, LARGEST)
    g = bisect(lambda g: m + deviation(g) * (g * v / phi - phi), 0.0, high)
    return g * deviation(g) / phi, g


def shrunk(covariance, variance, x, g, floor):
    """The variances after a gain g in precision along x."""
    q = variance * x**2
    v = float(np.sum(q))
    if covariance in ("kl", "exact"):  # J12 section 6.1 with erratum 11; N8 (15); J12 section 6.2
        return np.maximum(variance / (1 + g * q), floor)
    if covariance == "l2":
        # J12 section 6.1: s_p - beta (s_p x_p)^2, beta = g/(1 + g v), or s_p (1 + g sum_{k != p} q_k)/(1 + g v).
        # The sum over the other features is taken as such, since the difference (and v - q_p) would cancel.
        others = np.append(0.0, np.cumsum(q)[:-1]) + np.append(np.cumsum(q[::-1])[::-1][1:], 0.0)
        return np.maximum(np.where(x != 0, variance * (1 + g * others) / (1 + g * v), variance), floor)
    return variance


class Reference:
    """One binary learner with a diagonal covariance; entry 0 of `mean` and `variance` is the intercept."""

    def __init__(
        self,
        kind,
        n_features,
        *,
        phi=0.0,
        C=1.0,
        covariance="kl",
        initial_variance=1.0,
        bias=1.0,
        relative=False,
        averaged=False,
        floor=0.0,
    ):
        if kind not in FIRST_ORDER + SECOND_ORDER or covariance not in COVARIANCES:
            raise ValueError(f"unknown kind or covariance: {kind!r}, {covariance!r}")
        if covariance == "exact" and kind not in ("cw-variance", "cw-stdev"):
            raise ValueError("only the CW kinds have an exact diagonal update")
        if covariance == "inclusive" and (kind != "sop" or (averaged and relative)):
            raise ValueError("only SOP predicts with the row inside the correlation matrix, averaged for a fixed a")
        self.kind, self.phi, self.C, self.covariance = kind, phi, C, covariance
        self.initial_variance, self.bias, self.floor = initial_variance, bias, floor
        self.relative, self.averaged = relative, averaged
        self.mean = np.zeros(n_features + 1)
        self.variance = np.full(n_features + 1, float(initial_variance))
        self.rows = self.updates = self.mistakes = 0
        self._sum_of_means = np.zeros(n_features + 1)  # of the means held after each round
        self._sum_of_norms = 0.0  # of x.x + bias^2 over the rounds
        self._z = np.zeros(n_features + 1)  # inclusive SOP only: sum of y x over the mistakes
        self._A = np.full(n_features + 1, 1.0 / initial_variance)  # inclusive SOP only: a + sum of x^2 over them

    def _extended(self, x):
        return np.concatenate(([self.bias], np.asarray(x, dtype=np.float64)))

    def _score(self, x, mean):
        if self.covariance == "inclusive":  # SOP, diagonal: the row itself is already in the correlation matrix
            if mean is self.mean:
                return float(np.sum(x * self._z / (self._correlation() + x**2)))
            return float(np.sum(x * mean * self._A / (self._A + x**2)))  # another mean in place of z / A
        return float(np.sum(mean * x))

    def _correlation(self):
        """A; if relative, with the mean of the rounds' squared lengths in place of the multiple of I it began with."""
        if self.relative and self.rows:
            prior = 1 / self.initial_variance
            return self._A - prior + max(prior, self._sum_of_norms / self.rows)
        return self._A

    def learn(self, X, y, weights=None):
        weights = np.ones(len(X)) if weights is None else weights
        for row, label, weight in zip(np.asarray(X, dtype=np.float64), y, weights, strict=True):
            if weight != 0:
                self._round(self._extended(row), float(label), float(weight))
        return self

    def _round(self, x, y, weight):
        self.rows += 1
        self._sum_of_norms += float(np.sum(x**2))
        q = self.variance * x**2
        m, v = y * self._score(x, self.mean), float(np.sum(q))
        self.mistakes += m <= 0
        if v > 0:
            C = self.C * weight
            if self.relative:  # SCW-I's C is a cap on alpha, which scales as 1/sqrt(v); elsewhere 1/C stands beside v
                scale = self.initial_variance * self._sum_of_norms / self.rows
                C /= math.sqrt(scale) if self.kind == "scw-i" else scale
            self._update(x, y, m, v, q, C)
        self._sum_of_means += self.mean

    def _update(self, x, y, m, v, q, C):
        if self.covariance == "inclusive":
            if m <= 0:
                self.updates += 1
                self._z += y * x
                self._A += x**2
                if self.floor > 0:
                    self._A = np.minimum(self._A, 1 / self.floor)
                self.mean, self.variance = self._z / self._A, 1 / self._A
            return
        if self.covariance == "exact":
            alpha, g = exact_step(self.kind, self.phi, m, q)
        else:
            alpha, g = step(self.kind, self.phi, C, m, v)
        if alpha == 0 and g == 0:
            return
        self.updates += 1
        self.mean = self.mean + y * alpha * self.variance * x
        self.variance = shrunk(self.covariance, self.variance, x, g, self.floor)

    def margins(self, X):
        """Score and variance of each row; the score is taken with the mean of the rounds' means if `averaged`."""
        mean = self._sum_of_means / self.rows if self.averaged and self.rows else self.mean
        variance = 1 / self._correlation() if self.covariance == "inclusive" else self.variance
        rows = [self._extended(row) for row in np.asarray(X, dtype=np.float64)]
        return np.array([self._score(x, mean) for x in rows]), np.array([np.sum(variance * x**2) for x in rows])


class LabelReference:
    """Several labels (E9): a block of weights for each, and the binary rules on difference vectors, written in full.

    Flat arrays of n_labels * (n_features + 1) entries, label by label, the intercept first.
    """

    def __init__(self, kind, n_labels, n_features, *, constraints=1, update="sequential", **options):
        self.shape = (n_labels, n_features + 1)
        self.constraints, self.update = min(constraints or n_labels, n_labels - 1), update
        self.binary = Reference(kind, n_labels * (n_features + 1) - 1, **options)
        self.mistakes = self.updates = 0

    @property
    def mean(self):
        return self.binary.mean.reshape(self.shape)

    @property
    def variance(self):
        return self.binary.variance.reshape(self.shape)

    def vector(self, x, *signs):
        """f(x, y) for signs (y, 1); the difference vector of y and r for (y, 1), (r, -1)."""
        flat = np.zeros(self.shape)
        for label, sign in signs:
            flat[label] = sign * x
        return flat.reshape(-1)

    def scores(self, x, mean):
        return np.array([self.binary._score(self.vector(x, (z, 1)), mean) for z in range(self.shape[0])])

    def learn(self, X, y, weights=None):
        weights = np.ones(len(X)) if weights is None else weights
        for row, label, weight in zip(np.asarray(X, dtype=np.float64), y, weights, strict=True):
            if weight != 0:
                self._round(np.append(self.binary.bias, row), int(label), float(weight))
        return self

    def _round(self, x, y, weight):
        b = self.binary
        b.rows += 1
        b._sum_of_norms += 2 * float(np.sum(x**2))
        C = b.C * weight
        if b.relative:
            scale = b.initial_variance * b._sum_of_norms / b.rows
            C /= math.sqrt(scale) if b.kind == "scw-i" else scale
        scores = self.scores(x, b.mean)
        rivals = sorted((z for z in range(self.shape[0]) if z != y), key=lambda z: (-scores[z], z))
        vectors = [self.vector(x, (y, 1), (r, -1)) for r in rivals[: self.constraints]]
        self.mistakes += b._score(vectors[0], b.mean) <= 0
        before = b.mean, b.variance, b._z, b._A
        b.updates = 0
        if self.update == "sequential":
            for g in vectors:
                self._single(g, C)
        elif self.update == "parallel":
            results = []
            for g in vectors:
                b.mean, b.variance, b._z, b._A = before
                b._z, b._A = b._z.copy(), b._A.copy()
                self._single(g, C)
                results.append((b.mean, b.variance))
            b.mean = np.mean([mean for mean, _ in results], axis=0)
            b.variance = 1 / np.mean([1 / variance for _, variance in results], axis=0)
            b._A, b._z = 1 / b.variance, b.mean / b.variance
        else:
            alphas = self.hildreth(vectors, C)
            b.updates = int(any(alphas))
            b.mean, b.variance = self._moved(vectors, alphas)
        self.updates += b.updates > 0
        b._sum_of_means += b.mean

    def _single(self, g, C):
        b = self.binary
        q = b.variance * g**2
        v = float(np.sum(q))
        if v > 0:
            b._update(g, 1.0, b._score(g, b.mean), v, q, C)

    def _moved(self, vectors, alphas):
        """E9 section 5.2 as corrected: the covariance before the row moves the mean, precisions add up."""
        b = self.binary
        mean = b.mean + b.variance * sum(alpha * g for alpha, g in zip(alphas, vectors, strict=True))
        gain = 2 * b.phi * sum(alpha * g**2 for alpha, g in zip(alphas, vectors, strict=True))
        return mean, b.variance if b.covariance == "fixed" else b.variance / (1 + b.variance * gain)

    def slack(self, g, alpha, mean, variance, C):
        """How much more than asked for the constraint of g has."""
        b = self.binary
        if b.kind == "cw-variance":
            return float(np.sum(mean * g) - b.phi * np.sum(variance * g**2))
        return float(np.sum(mean * g)) - 1 + (alpha / (2 * C) if b.kind == "pa-ii" else 0)

    def hildreth(self, vectors, C):
        """Cycle over the constraints, moving each alpha until its constraint is tight or it is 0 (or C: PA-I)."""
        alphas = [0.0] * len(vectors)
        most = C if self.binary.kind == "pa-i" else math.inf
        for _ in range(100_000):
            change = 0.0
            for j, g in enumerate(vectors):

                def slack(alpha, j=j, g=g):
                    moved = self._moved(vectors, [*alphas[:j], alpha, *alphas[j + 1 :]])
                    return self.slack(g, alpha, *moved, C)

                if slack(0.0) >= 0 or not g.any():  # J12 erratum 7: an empty row never updates
                    alpha = 0.0
                else:
                    high = 1.0
                    while slack(high) < 0 and high < most:
                        high *= 2
                    high = min(high, most)
                    alpha = most if slack(high) < 0 else bisect(slack, 0.0, high)
                change = max(change, abs(alpha - alphas[j]))
                alphas[j] = alpha
            if change <= 1e-14 * max(alphas):
                return alphas
        raise AssertionError("Hildreth's cycle did not converge")

    def margins(self, X):
        """Score and variance of each label, by row."""
        b = self.binary
        mean = b._sum_of_means / b.rows if b.averaged and b.rows else b.mean
        variance = 1 / b._correlation() if b.covariance == "inclusive" else b.variance
        rows = [np.append(b.bias, row) for row in np.asarray(X, dtype=np.float64)]
        scores = np.array([self.scores(x, mean) for x in rows])
        return scores, np.array([variance.reshape(self.shape) @ x**2 for x in rows])
