"""
How many mistakes at most?
==========================

The papers prove bounds on the number of mistakes that AROW and CW can make in one pass. :mod:`cwlearn.bounds`
computes them from a finished run. The bounds hold for any order of the rows, even one that an adversary has chosen.
"""

# %%
# A run, and a competitor
# -----------------------
# A bound compares the run with fixed weights u, the competitor. If u does well on the rows, the learner cannot do
# badly. Here u is known, because the rows are made with it: a row is kept if u has a margin of 0.3 on it.

import matplotlib.pyplot as plt
import numpy as np

from cwlearn import AROWClassifier, CWClassifier, bounds

rng = np.random.default_rng(0)
u = rng.standard_normal(10)
u /= np.linalg.norm(u)
X = rng.standard_normal((1500, 10))
X = X[np.abs(X @ u) > 0.3][:800]
y = X @ u > 0

# %%
# Mistakes and bounds along the way
# ---------------------------------
# Both theorems are about a full covariance that begins as the unit matrix. AROW's (theorem 2 of Crammer, Kulesza,
# Dredze, NIPS 2009) takes a competitor of any length, so the best of a few lengths counts. CW's (theorem 4 of
# Crammer, Dredze, Pereira, NIPS 2008) needs one that is right on every row; ``cw_bound`` finds its length.

arow = AROWClassifier(1.0, covariance="full", fit_intercept=False)
cw = CWClassifier(covariance="full", fit_intercept=False)
places = [50, 200, 800]
results = {"AROW": [], "CW": []}
for rows in places:
    run = bounds.observe(arow, X[:rows], y[:rows])
    results["AROW"].append(
        (run.mistakes, min(bounds.arow_bound(run, length * u) for length in np.geomspace(0.1, 10, 20)))
    )
    run = bounds.observe(cw, X[:rows], y[:rows])
    results["CW"].append((run.mistakes, bounds.cw_bound(run, u)))

figure, axes = plt.subplots(1, 2, figsize=(8.2, 3.8), sharex=True, sharey=True, layout="constrained")
for ax, (name, pairs) in zip(axes, results.items(), strict=True):
    made, bound = np.array(pairs).T
    ax.fill_between(places, places, bound, where=np.array(places) > bound, color="#EEEEEE", interpolate=True)
    ax.plot(places, places, color="#888888", linewidth=1, linestyle=":")
    ax.plot(places, bound, "s-", color="#D55E00", linewidth=2)
    ax.plot(places, made, "o-", color="#0072B2", linewidth=2)
    ax.annotate(
        "bound", (places[-2], bound[-2]), (0, 8), textcoords="offset points", color="#D55E00", weight="bold", ha="right"
    )
    ax.annotate(
        "mistakes", (places[-2], made[-2]), (0, -16), textcoords="offset points", color="#0072B2", weight="bold"
    )
    ax.annotate("every row", (places[1], places[1]), (-14, 2), textcoords="offset points", color="#666666", ha="right")
    ax.set(title=name, xscale="log", yscale="log", xlabel="rows", ylim=(1, 1000))
    ax.set_xticks(places, places)
    ax.minorticks_off()
    ax.spines[["top", "right"]].set_visible(False)
    print(f"{name}: {made[-1]:.0f} mistakes on {places[-1]} rows, at most {bound[-1]:.0f}")
axes[0].set_ylabel("mistakes")
plt.show()

# %%
# The bounds hold, with room to spare: they must cover the worst order of the rows, and this one was random. Above the
# dotted line a bound says nothing. AROW's is close from the beginning. CW's is high at first, and hardly grows: it
# falls below the line after some five hundred rows. Both theorems are printed with misprints; ``cwlearn.bounds`` has
# the corrected ones.
