"""
Merging models of parts
=======================

Data often lie in several places. A model can learn from each part, and :func:`~cwlearn.merge` makes one model of
them. A weight that one model knows well counts more than one that another model has hardly seen (Crammer, Dredze,
Pereira, JMLR 13, 2012, section 7.10).
"""

# %%
# Rows in many parts
# ------------------
# The rows have a few frequent features and many rare ones, as texts do. Each part sees some of the rare features
# only now and then.

import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse import csr_matrix

from cwlearn import AROWClassifier, merge

N_WORDS, ROWS, LENGTH = 5_000, 24_000, 30
rng = np.random.default_rng(0)
chance = 1 / np.arange(1, N_WORDS + 1)
words = rng.choice(N_WORDS, (ROWS, LENGTH), p=chance / chance.sum())
X = csr_matrix((np.ones(words.size), words.ravel(), np.arange(0, words.size + 1, LENGTH)), (ROWS, N_WORDS))
X.sum_duplicates()
y = X @ rng.standard_normal(N_WORDS) > 0
X, X_test, y, y_test = X[:16_000], X[16_000:], y[:16_000], y[16_000:]

# %%
# One model for each part, and three ways to merge them
# -----------------------------------------------------

PARTS = [1, 2, 4, 8, 16, 32]
lines = {"average part": [], "l2": [], "kl": [], "posterior": []}
for n_parts in PARTS:
    parts = [
        AROWClassifier(regularization=20.0, epochs=3, random_state=0).fit(X[part::n_parts], y[part::n_parts])
        for part in range(n_parts)
    ]
    lines["average part"].append(100 - 100 * np.mean([model.score(X_test, y_test) for model in parts]))
    for how in ("l2", "kl", "posterior"):
        lines[how].append(100 - 100 * merge(parts, how=how).score(X_test, y_test))

figure, ax = plt.subplots(figsize=(7.5, 4.5), layout="constrained")
styles = {"average part": ("#777777", 8), "l2": ("#D55E00", -1), "kl": ("#009E73", -8), "posterior": ("#0072B2", 0)}
for name, errors in lines.items():
    colour, raised = styles[name]
    ax.plot(PARTS, errors, marker="o", color=colour, linewidth=2)
    ax.annotate(
        name, (32, errors[-1]), (10, raised), textcoords="offset points", color=colour, va="center", weight="bold"
    )
    print(f"{name:>12}:", "  ".join(f"{error:4.1f}" for error in errors))
ax.axhline(lines["posterior"][0], color="#555555", linestyle=":", linewidth=1)
ax.set(xscale="log", xlabel="parts of the 16,000 rows", ylabel="test error (%)", ylim=(0, 18), xlim=(0.9, 75))
ax.set_xticks(PARTS, PARTS, minor=False)
ax.minorticks_off()
ax.spines[["top", "right"]].set_visible(False)
ax.spines["bottom"].set_bounds(1, 32)
plt.show()

# %%
# The grey line is a model that knows its own part only. The dotted line is one model of all rows. ``"posterior"``,
# the default, adds what each model has learned beyond the common start. ``"kl"`` is the sum of the paper, which
# counts the start once for each model. ``"l2"`` averages the weights, whatever their confidence.
