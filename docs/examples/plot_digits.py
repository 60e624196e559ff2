"""
More than two labels: digits
============================

Every classifier takes any number of labels. Each label has its own weights. A row asks that its true label gets a
higher score than its rivals, the wrong labels. ``n_constraints`` says how many rivals: the strongest one, some, or
all (Crammer, Dredze, Kulesza, EMNLP 2009, section 5).
"""

# %%
# One rival, three, or all nine
# -----------------------------

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from cwlearn import AROWClassifier

X, y = load_digits(return_X_y=True)
X, X_test, y, y_test = train_test_split(X / 16, y, test_size=0.4, random_state=0)
EPOCHS, RUNS = 10, 3


def errors(n_constraints, seed):
    """The error on the test rows after each epoch."""
    rng = np.random.default_rng(seed)
    model = AROWClassifier(n_constraints=n_constraints)
    result = []
    for _ in range(EPOCHS):
        order = rng.permutation(len(y))
        model.partial_fit(X[order], y[order], classes=range(10))
        result.append(100 - 100 * model.score(X_test, y_test))
    return result


choices = {"one rival": (1, "#0072B2", "o"), "three": (3, "#D55E00", "s"), "all nine": (None, "#009E73", "^")}
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
epochs = np.arange(1, EPOCHS + 1)
for name, (n_constraints, colour, marker) in choices.items():
    mean = np.mean([errors(n_constraints, seed) for seed in range(RUNS)], axis=0)
    ax.plot(epochs, mean, marker=marker, color=colour, linewidth=2, label=name)
    print(f"{name}: {mean[0]:.1f} % error after one epoch, {mean[-1]:.1f} % after {EPOCHS}")
ax.set(xlabel="epochs", ylabel="test error (%), mean of 3 runs", ylim=(0, None))
ax.set_xticks(epochs)
ax.legend(title="each row is compared with", frameon=False)
ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# Several rivals teach more in the first pass. Later, the differences are small: one rival is the fastest, and the
# default.
#
# What was learned
# ----------------
# A weight of each pixel speaks for or against a digit. The second line shows the deviations: dark pixels are well
# known, bright ones hardly ever had ink.

model = AROWClassifier(random_state=0).fit(X, y)
figure, axes = plt.subplots(2, 10, figsize=(8.6, 2.4), layout="constrained")
largest = np.abs(model.coef_).max()
for label, (upper, lower) in enumerate(axes.T):
    weights = upper.imshow(model.coef_[label].reshape(8, 8), cmap="PuOr_r", vmin=-largest, vmax=largest)
    deviations = lower.imshow(np.sqrt(model.variance_[label]).reshape(8, 8), cmap="cividis", vmin=0, vmax=1)
    upper.set_title(str(label))
    for ax in (upper, lower):
        ax.set(xticks=[], yticks=[])
figure.colorbar(weights, ax=axes[0].tolist(), shrink=0.9, label="weight")
figure.colorbar(deviations, ax=axes[1].tolist(), shrink=0.9, label="deviation")
plt.show()
