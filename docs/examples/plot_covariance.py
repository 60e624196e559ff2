"""
Full or diagonal covariance
===========================

A diagonal model has one variance for each weight. With ``covariance="full"`` it also knows how the weights go
together. This pays when features are few and correlated, and rows are scarce.
"""

# %%
# Two features that say nearly the same
# -------------------------------------
# If two features always rise together, the rows tell the sum of their weights, but not which of them does the work.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import clone

from cwlearn import AROWClassifier, CWClassifier, PerceptronClassifier

rng = np.random.default_rng(0)
common = rng.standard_normal((200, 1))
X = common + 0.15 * rng.standard_normal((200, 2))
y = X.sum(axis=1) > 0

PLACES = {"diagonal": (-10, 38), "full": (-92, 4)}  # of the names, beside the means
figure, ax = plt.subplots(figsize=(5.5, 5), layout="constrained")
angle = np.linspace(0, 2 * np.pi, 200)
circle = np.array([np.cos(angle), np.sin(angle)])
ax.plot(*circle, color="#888888", linestyle=":")
ax.text(-0.95, -0.72, "start", color="#888888")
for shape, colour in {"diagonal": "#D55E00", "full": "#0072B2"}.items():
    model = AROWClassifier(1.0, covariance=shape, fit_intercept=False, epochs=1, random_state=0).fit(X, y)
    covariance = model.covariance_ if shape == "full" else np.diag(model.variance_[0])
    ax.plot(*(model.coef_.T + np.linalg.cholesky(covariance) @ circle), color=colour, linewidth=2)
    ax.plot(*model.coef_.T, "o", color=colour)
    ax.annotate(shape, model.coef_[0], PLACES[shape], textcoords="offset points", color=colour, weight="bold")
    print(f"{shape}: deviations of the two weights {np.sqrt(np.diag(covariance)).round(3)}")
ax.set(xlabel="weight of feature 1", ylabel="weight of feature 2", xlim=(-1.1, 1.9), ylim=(-1.1, 1.9))
ax.set_aspect("equal")
ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# The lines are at one standard deviation. The full covariance is a narrow ellipse: it is certain of the sum of the
# weights, and uncertain of their difference. The diagonal one cannot say this: it is as certain of the one as of
# the other.
#
# Mistakes in one pass
# --------------------
# Now ten hidden causes are mixed into ten features. The label is the sign of the first cause, so the best weights
# are a mixture, too.

ROWS, STEP, RUNS = 500, 25, 10
models = {
    "perceptron": (PerceptronClassifier(), "#888888"),
    "CW, diagonal": (CWClassifier(), "#D55E00"),
    "CW, full": (CWClassifier(covariance="full"), "#0072B2"),
}
counts = {name: np.zeros(ROWS // STEP) for name in models}
for _ in range(RUNS):
    hidden = rng.standard_normal((ROWS, 10))
    X, y = hidden @ rng.standard_normal((10, 10)), hidden[:, 0] > 0
    for name, (model, _) in models.items():
        model = clone(model)
        for step, start in enumerate(range(0, ROWS, STEP)):
            model.partial_fit(X[start : start + STEP], y[start : start + STEP], classes=[False, True])
            counts[name][step] += model.n_mistakes_ / RUNS

figure, ax = plt.subplots(figsize=(7.5, 4.5), layout="constrained")
for name, (_, colour) in models.items():
    ax.plot(np.arange(STEP, ROWS + 1, STEP), counts[name], color=colour, linewidth=2)
    ax.text(ROWS + 8, counts[name][-1], f"{counts[name][-1]:.0f}  {name}", color=colour, va="center")
ax.set(xlabel="rows seen", ylabel=f"mistakes, mean of {RUNS} runs", xlim=(0, ROWS * 1.3), ylim=(0, None))
ax.set_xticks(range(0, ROWS + 1, 100))
ax.spines[["top", "right"]].set_visible(False)
ax.spines["bottom"].set_bounds(0, ROWS)
plt.show()

# %%
# Every row is predicted before it is learned. A full covariance makes a fraction of the mistakes. It costs: 8 d²
# bytes for d features, and time in proportion for each row.
