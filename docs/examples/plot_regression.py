"""
Regression with deviations
==========================

:class:`~cwlearn.AROWRegressor` is recursive least squares: it learns row by row, and each prediction has a standard
deviation. Where rows were few, the deviation is large.
"""

# %%
# A curve with a gap
# ------------------
# A row has bumps as features: 24 Gaussians along the axis. No rows lie between 4 and 6.

import matplotlib.pyplot as plt
import numpy as np

from cwlearn import AROWRegressor

CENTRES = np.linspace(-1, 11, 24)


def bumps(position):
    return np.exp(-(((position[:, None] - CENTRES) / 0.7) ** 2) / 2)


rng = np.random.default_rng(0)
position = rng.uniform(0, 10, 260)
position = position[(position < 4) | (position > 6)]
target = np.sin(position) + 0.3 * position + 0.25 * rng.standard_normal(len(position))
grid = np.linspace(0, 10, 300)

# %%
# The first 15 rows, then all
# ---------------------------
# With a full covariance and a number for ``regularization``, one pass is exactly ridge regression. ``partial_fit``
# goes on where the last call stopped.

model = AROWRegressor(regularization=0.1, covariance="full", fit_intercept=False)
figure, axes = plt.subplots(1, 2, figsize=(8.4, 3.8), sharex=True, sharey=True, layout="constrained")
learned = 0
for ax, rows in zip(axes, (15, len(position)), strict=True):
    model.partial_fit(bumps(position[learned:rows]), target[learned:rows])
    learned = rows
    prediction, deviation = model.predict(bumps(grid), return_std=True)
    for width, shade in ((2, 0.15), (1, 0.25)):
        low, high = prediction - width * deviation, prediction + width * deviation
        ax.fill_between(grid, low, high, color="#0072B2", alpha=shade, linewidth=0)
    ax.plot(grid, prediction, color="#0072B2", linewidth=2)
    ax.plot(grid, np.sin(grid) + 0.3 * grid, color="black", linestyle="--", linewidth=1)
    ax.plot(position[:rows], target[:rows], ".", color="#D55E00", markersize=5)
    ax.set(title=f"after {rows} rows", xlabel="position")
    ax.spines[["top", "right"]].set_visible(False)
axes[0].set(ylabel="target", ylim=(-2, 5.5))
inside = np.abs(model.predict(bumps(position)) - target) < model.predict(bumps(position), return_std=True)[1]
print(f"deviation of the noise: estimated {np.sqrt(model.noise_variance_):.3f}, true 0.250")
print(f"{inside.mean():.0%} of the targets are within one deviation of their prediction")
plt.show()

# %%
# The dashed line is the truth. The bands are one and two standard deviations of a new target: the noise, and what
# is not known of the weights. In the gap the second part is large, and it stays large however many rows come
# elsewhere.
