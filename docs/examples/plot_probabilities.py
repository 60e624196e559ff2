"""
Honest probabilities
====================

Of the rows with a predicted probability of 0.9, about 90 % should have this label. ``predict_proba`` keeps this
promise: every model watches, while it learns, what its scores are worth. ``label_distribution`` is another thing.
It is the papers' distribution: how certain the model is of the sign of the score.
"""

# %%
# Rows whose labels are partly chance
# -----------------------------------
# The rows are made. The chance of a label rises with the score of its row, and then 15 % of the labels are turned
# around. So even the best model would be wrong in more than 15 % of all cases, and no row is certain.

import matplotlib.pyplot as plt
import numpy as np

from cwlearn import AROWClassifier

rng = np.random.default_rng(0)
X = rng.standard_normal((12_000, 40)) * (rng.random((12_000, 40)) < 0.3)
y = rng.random(12_000) < 1 / (1 + np.exp(-2 * X @ rng.standard_normal(40)))
y ^= rng.random(12_000) < 0.15
model = AROWClassifier(epochs=1, random_state=0).fit(X[:6000], y[:6000])
X_test, y_test = X[6000:], y[6000:]

# %%
# Two answers to one question
# ---------------------------


def reliability(chance, labels, bins=10):
    """The mean of the predicted chance, the part of True labels, and the number of rows, by bin."""
    which = np.minimum((chance * bins).astype(int), bins - 1)
    used = [part for b in range(bins) if (part := which == b).sum() >= 20]
    return np.array([(chance[part].mean(), labels[part].mean(), part.sum()) for part in used]).T


answers = {
    "predict_proba": (model.predict_proba(X_test)[:, 1], "#0072B2"),
    "label_distribution": (model.label_distribution(X_test)[:, 1], "#D55E00"),
}
figure, (ax, below) = plt.subplots(2, 1, figsize=(5.6, 7), sharex=True, height_ratios=[3, 1], layout="constrained")
ax.plot([0, 1], [0, 1], color="#888888", linewidth=1, linestyle=":")
for name, (chance, colour) in answers.items():
    predicted, observed, rows = reliability(chance, y_test)
    ax.plot(predicted, observed, "o-", color=colour, linewidth=2)
    gap = np.average(np.abs(predicted - observed), weights=rows)
    loss = -np.mean(np.log(np.clip(np.where(y_test, chance, 1 - chance), 1e-15, 1)))
    print(f"{name}: calibration error {gap:.3f}, log loss {loss:.3f}")
    below.hist(chance, np.linspace(0, 1, 21), histtype="step", color=colour, linewidth=2)
ax.text(0.47, 0.30, "predict_proba", color="#0072B2", weight="bold")
ax.text(0.19, 0.66, "label_distribution", color="#D55E00", weight="bold")
ax.set(ylabel="part of rows with the label True", ylim=(0, 1), xlim=(0, 1), title="6,000 rows that were not learned")
below.set(xlabel="predicted probability of True", ylabel="rows")
for panel in (ax, below):
    panel.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# The blue points lie on the diagonal. The orange ones are nearly all at 0 or 1 (below): after 6,000 rows the model
# is certain of most signs, but the labels are still partly chance. Use ``predict_proba`` for decisions, and
# ``label_distribution`` to see where more rows would help.
#
# The difference comes from the chance in the labels. If no label is turned around, both are close: the calibration
# error is 0.006 with ``predict_proba`` and 0.019 with ``label_distribution``.
