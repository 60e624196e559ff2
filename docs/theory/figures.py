"""Draw the figures of the pages in this folder: python docs/theory/figures.py

All numbers come from cwlearn itself.  The steps of the rules come from the compiled formulas.
"""

from __future__ import annotations

from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt
import numpy as np
from PIL import Image
from scipy.stats import norm

from cwlearn import AROWClassifier, CWClassifier, merge
from cwlearn._kernels import KINDS, rule_answer

BLUE, ORANGE, GREEN, PINK, GREY, DARK = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#888888", "#333333"
FOLDER = Path(__file__).parent
ETA = 0.9
PHI = float(norm.ppf(ETA))


def save(figure: Any, name: str) -> None:
    """Write a small PNG: 64 colours are enough for lines."""
    picture = BytesIO()
    figure.savefig(picture, dpi=110)
    plt.close(figure)
    Image.open(picture).convert("RGB").quantize(64).save(FOLDER / f"{name}.png", optimize=True)


def plain(*axes: Any) -> None:
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)


def ellipse(mean: Any, covariance: Any) -> Any:
    """The line at one standard deviation around the mean."""
    angle = np.linspace(0, 2 * np.pi, 200)
    return np.reshape(mean, (2, 1)) + np.linalg.cholesky(covariance) @ np.array([np.cos(angle), np.sin(angle)])


def after_one_row(x: Any, **parameters: Any) -> tuple[Any, Any]:
    """Mean and covariance of CW after one row of label +1."""
    model = CWClassifier(ETA, fit_intercept=False, dtype="float64", **parameters).partial_fit([x], [1], [-1, 1])
    full = parameters.get("covariance") == "full"
    return model.coef_[0], model.covariance_ if full else np.diag(model.variance_[0])


def update() -> None:
    """The Gaussian in the plane of two weights, and the Gaussian of the margin, before and after a row."""
    x = np.array([0.5, 1.0])
    mean, covariance = after_one_row(x, covariance="full")
    figure, (plane, line) = plt.subplots(1, 2, figsize=(7.6, 3.6), layout="constrained", width_ratios=[1, 1.15])
    plane.fill_between([-2.2, 2.2], [1.1, -1.1], -2.2, color="#F3F3F3", linewidth=0)
    plane.plot([-2.2, 2.2], [1.1, -1.1], color=GREY, linewidth=1)
    plane.plot(*ellipse([0, 0], np.eye(2)), color=ORANGE, linewidth=2)
    plane.plot(*ellipse(mean, covariance), color=BLUE, linewidth=2)
    plane.annotate("", mean, (0, 0), arrowprops={"arrowstyle": "->", "color": DARK, "shrinkA": 4, "shrinkB": 4})
    plane.plot(0, 0, "o", color=ORANGE)
    plane.plot(*mean, "o", color=BLUE)
    plane.text(-0.62, -1.28, "before", color=ORANGE, weight="bold")
    plane.text(0.75, 1.42, "after", color=BLUE, weight="bold")
    plane.text(-2.05, -2.0, "these weights are wrong on the row", color="#666666")
    plane.set(xlim=(-2.2, 2.2), ylim=(-2.2, 2.2), xlabel="weight of feature 1", ylabel="weight of feature 2")
    plane.set_aspect("equal")

    grid = np.linspace(-3.5, 3.5, 400)
    for title, m, v, colour, place in (
        ("before:\nright with 0.5", 0.0, x @ x, ORANGE, (-3.4, 0.26)),
        (f"after:\nright with {ETA}", mean @ x, x @ covariance @ x, BLUE, (1.7, 0.42)),
    ):
        density = norm.pdf(grid, m, np.sqrt(v))
        line.plot(grid, density, color=colour, linewidth=2)
        line.fill_between(grid, 0, density, where=grid <= 0, color=colour, alpha=0.25, linewidth=0)
        line.text(*place, title, color=colour, weight="bold")
    line.axvline(0, color=GREY, linewidth=1)
    line.set(xlabel="margin y w.x of the row", ylabel="density", ylim=(0, None), xlim=(-3.5, 3.5))
    plain(plane, line)
    save(figure, "update")


def projections() -> None:
    """What a row leaves of two variances: the full covariance and the three diagonal ones."""
    x = np.array([0.6, 1.0])
    figure, axes = plt.subplots(1, 3, figsize=(7.6, 3.1), sharex=True, sharey=True, layout="constrained")
    full = after_one_row(x, covariance="full")
    for ax, (name, colour) in zip(axes, {"kl": BLUE, "l2": ORANGE, "exact": GREEN}.items(), strict=True):
        mean, covariance = after_one_row(x, projection=name)
        ax.plot(*ellipse(*full), color=GREY, linewidth=1.5, linestyle="--")
        ax.plot(*ellipse(mean, covariance), color=colour, linewidth=2)
        ax.plot(*mean, "o", color=colour)
        ax.plot([-1.5, 1.5], [0.9, -0.9], color=GREY, linewidth=1)
        chance = norm.cdf(mean @ x / np.sqrt(x @ covariance @ x))
        ax.set_title(f'projection="{name}":\nright with {chance:.3f}', color=colour, fontsize=10)
        ax.set(xlim=(-1.1, 1.9), ylim=(-0.75, 1.75), xlabel="weight of feature 1")
        ax.set_aspect("equal")
    axes[0].set_ylabel("weight of feature 2")
    axes[0].text(-1.05, 1.55, "dashed: full", color="#666666")
    plain(*axes)
    save(figure, "projections")


def steps() -> None:
    """The steps of the rules for a row of variance 1, by its margin, and the part of the variance that they leave."""
    margins = np.linspace(-3, 2, 401)
    rules = {
        "CW, stdev": ("cw-stdev", PHI, 1.0, ORANGE, "-"),
        "CW, variance": ("cw-variance", PHI, 1.0, PINK, "-"),
        "SCW-I, C = 1": ("scw-i", PHI, 1.0, GREEN, "--"),
        "AROW, r = 1": ("arow", 1.0, 1.0, BLUE, "-"),
        "PA": ("pa", 0.0, 1.0, GREY, "-"),
    }
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.6, 3.6), layout="constrained")
    for name, (kind, parameter, C, colour, style) in rules.items():
        alpha, gain = np.array([rule_answer(KINDS[kind], parameter, C, float(m), 1.0) for m in margins]).T
        left.plot(margins, alpha, style, color=colour, linewidth=2, label=name)
        right.plot(margins, 1 / (1 + gain), style, color=colour, linewidth=2, label=name)
    left.set(ylabel="step on the mean, alpha", xlabel="margin of the row before", ylim=(0, 4))
    right.set(ylabel="part of the variance that is left", xlabel="margin of the row before", ylim=(0, 1.05))
    left.legend(frameon=False)
    plain(left, right)
    save(figure, "steps")


def scores() -> None:
    """The Gaussian scores of three labels for one row, and what a model makes of them."""
    rng = np.random.default_rng(1)
    centres = np.array([[1.0, 0.2, 0], [0.2, 1.0, 0], [0.3, 0.4, 1.0]])
    y = rng.integers(0, 3, 40)
    X = centres[y] + 0.45 * rng.standard_normal((40, 3))
    model = AROWClassifier(1.0, epochs=1, random_state=0).fit(X, y)
    row = [[1.3, 0.9, -0.2]]
    (mean,), (variance,) = model.margin(row)
    (chance,) = model.label_distribution(row)
    grid = np.linspace(-2.5, 2.5, 400)
    figure, ax = plt.subplots(figsize=(6, 3.2), layout="constrained")
    for label, colour in enumerate([BLUE, ORANGE, GREEN]):
        density = norm.pdf(grid, mean[label], np.sqrt(variance[label]))
        ax.plot(grid, density, color=colour, linewidth=2)
        place = (0.8, 0.73), (-0.62, 0.76), (-1.75, 0.45)
        ax.text(*place[label], f"label {label}: {chance[label]:.2f}", color=colour, weight="bold")
    ax.set(xlabel="score of the label", ylabel="density", ylim=(0, None), xlim=(-2.5, 2.5))
    plain(ax)
    save(figure, "scores")


def calibration() -> None:
    """Scores, how often they were right, and the curve that a model has learned of them."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((11_000, 20)) * (rng.random((11_000, 20)) < 0.4)
    y = rng.random(11_000) < 1 / (1 + np.exp(-2 * X @ rng.standard_normal(20)))
    y ^= rng.random(11_000) < 0.1
    model = AROWClassifier(epochs=1, random_state=0).fit(X[:6000], y[:6000])
    odds, labels, chance = model.decision_function(X[6000:]), y[6000:], model.predict_proba(X[6000:])[:, 1]
    order = np.argsort(odds)
    figure, ax = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
    ax.plot(odds[order], 1 / (1 + np.exp(-odds[order])), color=GREY, linestyle="--", linewidth=1.5)
    ax.plot(odds[order], chance[order], color=BLUE, linewidth=2)
    for part in np.array_split(order, 20):
        share, error = labels[part].mean(), labels[part].std() / np.sqrt(len(part))
        ax.errorbar(odds[part].mean(), share, error, fmt="o", color=ORANGE, markersize=4, linewidth=1)
    ax.text(2.9, 0.78, "predict_proba, with the noise", color=BLUE, weight="bold")
    ax.text(1.2, 0.95, "without the noise", color="#666666", ha="right")
    ax.text(-1.1, 0.5, "new rows, 250 in each point", color="#B34700", weight="bold", ha="right")
    ax.set(xlabel="decision_function: slope times score, plus shift", ylabel="part of rows with the second label")
    ax.set(xlim=(-8, 8), ylim=(0, 1))
    plain(ax)
    save(figure, "calibration")


def merging() -> None:
    """One weight in five models, and in the models that they are merged into."""
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (40, 1))
    y = (X[:, 0] > 0) ^ (rng.random(40) < 0.1)
    new = partial(AROWClassifier, 10.0, fit_intercept=False, dtype="float64")
    parts = [new().partial_fit(X[part::5], y[part::5], classes=[False, True]) for part in range(5)]
    merged = {how: merge(parts, how=how) for how in ("posterior", "kl", "l2")}
    whole = new().partial_fit(X, y, classes=[False, True])
    grid = np.linspace(-1.5, 2.5, 400)
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.6, 3.4), sharey=True, layout="constrained")

    def draw(ax: Any, model: Any, colour: str, style: str = "-") -> None:
        mean, deviation = model.coef_[0, 0], np.sqrt(model.variance_[0, 0])
        ax.plot(grid, norm.pdf(grid, mean, deviation), style, color=colour, linewidth=2)

    left.plot(grid, norm.pdf(grid), color=GREY, linestyle=":", linewidth=1.5)
    left.text(-1.45, 0.22, "start", color="#666666")
    left.text(0.75, 0.55, "five models\nof 8 rows each", color=BLUE, weight="bold")
    for part in parts:
        draw(left, part, BLUE)
    for how, colour, place in (
        ("posterior", BLUE, (1.1, 0.9)),
        ("kl", GREEN, (-0.2, 1.2)),
        ("l2", ORANGE, (-0.75, 0.4)),
    ):
        draw(right, merged[how], colour)
        right.text(*place, how, color=colour, weight="bold")
    draw(right, whole, DARK, ":")
    right.text(0.75, 1.15, "dotted: one model of all rows", color=DARK, ha="left")
    left.set(xlabel="weight", ylabel="density", ylim=(0, None))
    right.set(xlabel="weight")
    plain(left, right)
    save(figure, "merging")


def main() -> None:
    for draw in (update, projections, steps, scores, calibration, merging):
        draw()


if __name__ == "__main__":
    main()
