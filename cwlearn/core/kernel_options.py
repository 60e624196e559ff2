"""The options of the kernel classifiers: which kernel, and how many rows are kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from cwlearn.core.parameters import COUNT, NOTHING, NUMBER, POSITIVE, Check, Options, one_of, option

# scikit-learn's `pairwise_kernels`, whose names are checked here without importing it.
NAMES = ("additive_chi2", "chi2", "cosine", "laplacian", "linear", "poly", "polynomial", "rbf", "sigmoid")
KERNEL = one_of(*NAMES) | Check("a function of two matrices", callable)


@dataclass(frozen=True)
class KernelOptions(Options):
    """As in scikit-learn's SVC, but for the budget."""

    kernel: str | Callable[[Any, Any], Any] = option(
        "rbf",
        KERNEL,
        "Name of a kernel of scikit-learn, or a function of two dense matrices (n x d, m x d) that returns the n x m "
        "kernels of their rows. It must be positive definite.",
    )
    gamma: float | Literal["scale", "auto"] = option(
        "scale",
        POSITIVE | one_of("scale", "auto"),
        "Coefficient of the kernels that have one. 'scale' is 1 / (n_features * variance of the first X), 'auto' is "
        "1 / n_features.",
        keyword_only=True,
    )
    degree: int = option(3, COUNT, "Degree of the 'poly' kernel.", keyword_only=True)
    coef0: float = option(0.0, NUMBER, "Constant term of the 'poly' and 'sigmoid' kernels.", keyword_only=True)
    budget: int | None = option(
        None,
        COUNT | NOTHING,
        "Most rows to keep. Beyond it each update drops the least important row, as if it had never been learned from. "
        "None: no limit.",
        keyword_only=True,
    )
