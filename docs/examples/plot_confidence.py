"""
What a confidence is
====================

A confidence-weighted model does not have one number for a weight. It has a Gaussian: a mean and a variance. This
page shows one update in the plane, and then what the variances of a real model tell.
"""

# %%
# One update
# ----------
# There are two features. Before the first row the weights have mean 0 and variance 1. The row is :math:`x = (0.5,
# 1)` with the label +1. CW moves the Gaussian as little as possible (in KL divergence), so that the row is right
# with the probability :math:`\eta`: this is equations 5 and 6 of Crammer, Dredze, Pereira, JMLR 13, 2012, and the
# picture is their figure 2.

import json
import lzma
from importlib.resources import files

import matplotlib.pyplot as plt
import numpy as np

from cwlearn import AROWClassifier, CWClassifier, HashingVectorizer

ETA = 0.9
x = np.array([0.5, 1.0])
model = CWClassifier(ETA, covariance="full", fit_intercept=False)
model.partial_fit([x], [1], classes=[-1, 1])
mean, covariance = model.coef_[0], model.covariance_
print("mean", mean.round(3), "covariance", covariance.round(3).tolist())


def ellipse(mean, covariance):
    """The line at one standard deviation around the mean."""
    angle = np.linspace(0, 2 * np.pi, 200)
    return mean[:, None] + np.linalg.cholesky(covariance) @ np.array([np.cos(angle), np.sin(angle)])


rng = np.random.default_rng(0)
figure, axes = plt.subplots(1, 2, figsize=(8, 4.3), sharex=True, sharey=True, layout="constrained")
states = {"before": (np.zeros(2), np.eye(2)), "after": (mean, covariance)}
for ax, (title, (centre, spread)) in zip(axes, states.items(), strict=True):
    draws = rng.multivariate_normal(centre, spread, 600)
    right = draws @ x > 0
    ax.plot(*draws[right].T, ".", color="#0072B2", markersize=3)
    ax.plot(*draws[~right].T, ".", color="#D55E00", markersize=3)
    ax.plot(*ellipse(centre, spread), color="black", linewidth=2)
    ax.plot(*centre, "o", color="black")
    ax.plot([-4, 4], [2, -2], color="#555555", linewidth=1)
    ax.set(title=f"{title}: {right.mean():.0%} are right", xlabel="weight of feature 1")
    ax.set_aspect("equal")
    ax.spines[["top", "right"]].set_visible(False)
axes[0].set(xlim=(-3.2, 3.2), ylim=(-3.2, 3.2), ylabel="weight of feature 2")
axes[0].text(1.5, 2.6, "w.x > 0", color="#0072B2")
axes[0].text(-3, -2.9, "w.x < 0", color="#D55E00")
plt.show()

# %%
# A point is a weight vector that was drawn. The line is ``w.x = 0``: weights on its upper side classify the row
# correctly. The update does two things. It moves the mean, and it makes the Gaussian narrower **along the row**. In
# the direction that the row says nothing about, the ellipse is as wide as before.
#
# The score of the row is a Gaussian as well, with mean m and variance v (equations 7 and 8). After the update, the
# probability of a positive score is :math:`\eta`, exactly:

m, v = model.margin([x])
print(f"m = {m[0]:.4f}, v = {v[0]:.4f}, Pr(w.x > 0) = {model.label_distribution([x])[0, 1]:.6f}")

# %%
# Rare and frequent words
# -----------------------
# Now the 700 mails of the package. Each word has its own variance. It shrinks with each mail that has the word and
# teaches the model something.

with lzma.open(str(files("cwlearn") / "demo" / "mails-train.jsonl.xz"), "rt", encoding="utf-8") as lines:
    mails = [json.loads(line) for line in lines]
texts, labels = [mail["text"] for mail in mails], [mail["label"] for mail in mails]
vectorizer = HashingVectorizer(alternate_sign=False)
X = vectorizer.transform(texts)
model = AROWClassifier(epochs=1, random_state=0).fit(X, labels)

count = np.bincount(X.indices, minlength=X.shape[1])
seen = np.flatnonzero(count)
deviation = np.sqrt(model.variance_[0, seen])
figure, ax = plt.subplots(figsize=(8, 4.5), layout="constrained")
LABEL_BOX = {"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 1}
jitter = count[seen] * rng.uniform(0.93, 1.07, len(seen))
ax.plot(jitter, deviation, ".", color="#0072B2", alpha=0.25, markersize=4, rasterized=True)
for word, offset in {"the": (-18, 8), "free": (8, 4), "click": (8, 4), "money": (4, 8), "linux": (-16, -16)}.items():
    column = vectorizer.transform([word]).indices[0]
    place = count[column], np.sqrt(model.variance_[0, column])
    ax.plot(*place, "o", color="#D55E00", markersize=5)
    ax.annotate(word, place, offset, textcoords="offset points", color="#B34700", weight="bold", bbox=LABEL_BOX)
ax.set(xscale="log", xlabel="mails that have the word", ylabel="standard deviation of its weight", ylim=(None, 1.02))
ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# A word of one mail has nearly the deviation 1 that it began with: its next mail may move its weight far. The
# weight of "the" has settled. This is why one pass is often enough.
