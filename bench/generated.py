"""Ten generated data sets, each hard for a linear classifier in a way of its own.

They are not like the sets of `bench.datasets`, by which defaults and candidates were chosen, and their test part can be
as large as wanted, so that chance is small.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.sparse import csr_matrix

from bench.datasets import DataSet, zipf

N_ROWS = 20_000


def generate(name: str) -> DataSet:
    """The set of this name, one of GENERATED; always the same."""
    X, y = GENERATED[name](np.random.default_rng(1))
    return DataSet(name, csr_matrix(X, dtype=np.float32), y.astype(np.int64))


def _words(
    length: int, n_features: int, n_labels: int
) -> Callable[[np.random.Generator], tuple[csr_matrix, np.ndarray]]:
    """Rows of random words; a random linear function of them tells the label."""
    return lambda rng: zipf(N_ROWS, length, n_features, seed=11, n_labels=n_labels, noise=0.05)


def _topics(
    length: int, n_words: int, n_labels: int, contrast: float, burst: float = 0.0
) -> Callable[[np.random.Generator], tuple[csr_matrix, np.ndarray]]:
    """Documents whose words are drawn by label, as naive Bayes assumes; with `burst` words often come again."""

    def make(rng: np.random.Generator) -> tuple[csr_matrix, np.ndarray]:
        usual = 1 / np.arange(1, n_words + 1) ** 1.05
        chances = usual * np.exp(contrast * rng.standard_normal((n_labels, n_words)))
        ends = np.cumsum(chances / chances.sum(axis=1, keepdims=True), axis=1)
        y = rng.integers(0, n_labels, N_ROWS)
        lengths = np.maximum(1, rng.poisson(length, N_ROWS))
        rows = np.repeat(np.arange(N_ROWS), lengths)
        uniform = rng.random(len(rows))
        words = np.empty(len(rows), np.int64)
        for label in range(n_labels):
            own = y[rows] == label
            words[own] = np.minimum(np.searchsorted(ends[label], uniform[own]), n_words - 1)
        again = (rng.random(len(rows)) < burst) & (np.concatenate([[-1], rows[:-1]]) == rows)
        for at in np.flatnonzero(again):
            words[at] = words[at - 1]
        X = csr_matrix((np.ones(len(rows), np.float32), (rows, words)), (N_ROWS, n_words))
        return X, y

    return make


def _gaussian(
    n_features: int, useful: int, spread: float, noise: float, share: float = 0.5
) -> Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray]]:
    """Dense rows, of whose features some tell the label; their scales differ by up to exp(2 * spread)."""

    def make(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        X = rng.standard_normal((N_ROWS, n_features))
        score = X[:, :useful] @ rng.standard_normal(useful) / np.sqrt(useful)
        y = score > np.quantile(score, 1 - share)
        return X * np.exp(spread * rng.uniform(-1, 1, n_features)), y ^ (rng.random(N_ROWS) < noise)

    return make


def _correlated(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Five labels, each a cloud of its own shape, in features of which most follow ten hidden ones."""
    hidden = rng.standard_normal((N_ROWS, 10))
    y = np.argmax(hidden @ rng.standard_normal((10, 5)) + 0.5 * rng.standard_normal((N_ROWS, 5)), axis=1)
    return hidden @ rng.standard_normal((10, 100)) + 0.5 * rng.standard_normal((N_ROWS, 100)), y


def _copies(rng: np.random.Generator) -> tuple[csr_matrix, np.ndarray]:
    """Rows that nearly repeat one of few, as forwarded mails do; most of the originals occur in both parts."""
    X, y = zipf(N_ROWS // 4, 60, 20_000, seed=12, noise=0.1)
    of = rng.integers(0, X.shape[0], N_ROWS)
    copies = X[of]
    copies.data *= rng.random(len(copies.data)) < 0.7
    copies.eliminate_zeros()
    return copies, y[of]


GENERATED: dict[str, Callable[[np.random.Generator], tuple[csr_matrix | np.ndarray, np.ndarray]]] = {
    "gen-words": _words(30, 5_000, 2),
    "gen-words-20": _words(60, 2_000, 20),
    "gen-topics": _topics(60, 20_000, 2, 0.3),
    "gen-topics-10": _topics(40, 10_000, 10, 0.5, burst=0.3),
    "gen-dense": _gaussian(30, 30, 0.0, 0.1),
    "gen-scales": _gaussian(50, 50, 2.5, 0.05),
    "gen-few": _gaussian(300, 5, 0.0, 0.05),
    "gen-rare": _gaussian(60, 20, 1.0, 0.01, share=0.05),
    "gen-correlated": _correlated,
    "gen-copies": _copies,
}
