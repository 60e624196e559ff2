"""
Two moons with a kernel
=======================

A linear model cannot follow a curve. :class:`~cwlearn.KernelCWClassifier` learns the same Gaussian in the feature
space of a kernel (Crammer, Dredze, Pereira, NIPS 2008, theorem 2). So it has a confidence there, too: it knows
where it has seen nothing.
"""

# %%
# Learn
# -----
# ``budget`` limits the rows that are kept. Beyond it, the least important row is dropped.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from cwlearn import KernelCWClassifier

X, y = make_moons(200, noise=0.15, random_state=0)
X_test, y_test = make_moons(2000, noise=0.15, random_state=1)
model = KernelCWClassifier(gamma=2.0, budget=50, epochs=2, random_state=0).fit(X, y)
print(f"{model.n_kept_} of {len(X)} rows are kept; test error {1 - model.score(X_test, y_test):.1%}")

# %%
# The surface, and what the model does not know
# ---------------------------------------------

across, up = np.meshgrid(np.linspace(-2.5, 3.5, 91), np.linspace(-2, 2.5, 69))
grid = np.column_stack([across.ravel(), up.ravel()])
mean, variance = model.margin(grid)
certainty = model.label_distribution(grid)[:, 1]

figure, axes = plt.subplots(1, 2, figsize=(8.6, 3.5), sharex=True, sharey=True, layout="constrained")
surfaces = {
    "probability that the score is positive": (certainty, "PuOr_r", 0, 1),
    "standard deviation of the score": (np.sqrt(variance), "cividis", 0, None),
}
for ax, (title, (values, colours, low, high)) in zip(axes, surfaces.items(), strict=True):
    image = ax.pcolormesh(across, up, values.reshape(across.shape), cmap=colours, vmin=low, vmax=high, rasterized=True)
    ax.contour(across, up, mean.reshape(across.shape), [0], colors="black", linewidths=2)
    figure.colorbar(image, ax=ax, shrink=0.85)
    ax.set(title=title, xticks=[], yticks=[])
for label, colour in enumerate(["#5E3C99", "#E66101"]):
    axes[0].plot(*X[y == label].T, "o", color=colour, markeredgecolor="white", markersize=5)
    axes[1].plot(*X[y == label].T, ".", color="white", markersize=3)
plt.show()

# %%
# The black line is where the mean of the score is 0. Left: near the moons the model is certain. Far away it says
# about one half. Right: the deviation is small where rows were, and that of the start where none were.
