"""Shared by the tests: every rule in every form, and random sparse rows."""

from __future__ import annotations

import mmap

import numpy as np
import pytest
from scipy import sparse

from cwlearn.core import rules
from cwlearn.core.learner import Learner
from cwlearn.core.rows import as_rows
from cwlearn.core.training import Training
from tests.references.binary import LabelReference, Reference
from tests.references.gradients import GradientReference

RULES = [
    rules.Perceptron(),
    rules.Perceptron(average=True),
    rules.PassiveAggressive(C=None),
    rules.PassiveAggressive(C=0.05),
    rules.PassiveAggressive(C=0.05, average=True),
    rules.PassiveAggressive(C=0.3, loss="squared_hinge"),
    rules.PassiveAggressive(C=0.3, loss="squared_hinge", average=True),
    rules.PassiveAggressive(C="auto"),
    *(
        rules.CW(confidence=confidence, form=form, projection=projection)
        for confidence in (0.5, 0.8)
        for form in ("variance", "stdev")
        for projection in ("kl", "l2", "exact")
    ),
    rules.CW(confidence=0.8, form="variance", projection="exact", average=True),
    rules.AROW(regularization=0.7),
    rules.AROW(regularization=3.0, projection="l2"),
    rules.AROW(regularization="auto"),
    rules.AROW(regularization=0.7, confidence_weight=0.3),
    rules.AROW(regularization=0.7, average=True),
    rules.AROW(regularization="auto", projection="l2", average=True),
    rules.SCW(confidence=0.7, C=0.2, loss="hinge"),
    rules.SCW(confidence=0.7, C=0.2, loss="squared_hinge"),
    rules.SCW(C="auto", loss="hinge"),
    rules.SCW(C="auto"),
    rules.SCW(C="auto", average=True),
    rules.NHERD(C=0.3),
    rules.NHERD(C="auto"),
    rules.NHERD(C=0.3, average=True),
    rules.SOP(a=0.5),
    rules.SOP(a=0.5, average=True),
    rules.SOP(a="auto"),
    rules.Logistic(),
    rules.Logistic(average=True),
    rules.Logistic(bayesian=False, learning_rate=0.1),
    rules.Logistic(bayesian=False, learning_rate="auto"),
    rules.Logistic(bayesian=False, learning_rate=0.1, average=True),
    rules.Probit(beta=0.7),
    rules.Probit(beta=2.0, average=True),
    rules.FTRL(alpha=0.3, beta=0.7),
    rules.FTRL(alpha=0.3, beta=0.7, l1=0.4, l2=0.2),
    rules.FTRL(l1=0.2, loss="hinge"),
    rules.AdaGrad(learning_rate=0.3),
    rules.AdaGrad(learning_rate=0.3, l1=0.01),
    rules.AdaGrad(l1=0.02, loss="hinge"),
]

GAUSSIAN = [rule for rule in RULES if not rule.sums_gradients]
GRADIENT = [rule for rule in RULES if rule.sums_gradients]
WEIGHTED = [
    rules.AROW(class_weight={-1.0: 2.0, 1.0: 0.5}),
    rules.SCW(C=0.3, class_weight={1.0: 3.0}),
    rules.PassiveAggressive(class_weight={-1.0: 0.25}, average=True),
    rules.Logistic(class_weight={-1.0: 0.25}),
    rules.NHERD(class_weight={-1.0: 2.0, 1.0: 0.5}),
    rules.Perceptron(class_weight={1.0: 3.0}),
    rules.FTRL(l1=0.1, class_weight={1.0: 3.0}),
    rules.AdaGrad(class_weight={1.0: 3.0}),
]
INFORMED = [
    rules.AROW(regularization="auto", prior="naive-bayes"),
    rules.AROW(regularization=0.7, average=True, prior="naive-bayes"),
    rules.SCW(confidence=0.7, C=0.2, prior="naive-bayes"),
    rules.NHERD(C=3.0, prior="naive-bayes"),
    rules.PassiveAggressive(C=0.3, average=True, prior="naive-bayes"),
    rules.Logistic(prior="naive-bayes"),
]


def rule_id(rule: rules.Rule) -> str:
    text = repr(rule)
    defaults = ("class_weight=None", "covariance='diagonal'", "average=False", "forgetting=0", "confidence_weight=1.0")
    for default in defaults:
        text = text.replace(f"{default}, ", "").replace(default, "")
    return text.replace(", )", ")").replace(" ", "")


def random_rows(n_rows=60, n_features=25, density=0.3, seed=0, noise=0.0):
    """Sparse rows, one of them empty, and labels -1 and +1 of a linear separator, except for the noise.

    They are separable because noisy labels make trajectories chaotic: different rounding would give other results.
    """
    rng = np.random.default_rng(seed)
    X = sparse.random(n_rows, n_features, density, "csr", np.float32, rng, data_rvs=rng.standard_normal)
    X = sparse.csr_matrix(X)
    X.data = X.data.astype(np.float32)
    X = sparse.vstack([X, sparse.csr_matrix((1, n_features), dtype=np.float32)]).tocsr()
    y = np.where(X @ rng.standard_normal(n_features) + 0.1 > 0, 1.0, -1.0)
    flip = rng.random(len(y)) < noise
    return X, np.where(flip, -y, y)


def labelled_rows(n_rows=40, n_features=25, n_labels=5, density=0.3, seed=0, noise=0.0):
    """The same with the labels 0, 1, ... and a separator for each."""
    X, _ = random_rows(n_rows, n_features, density, seed)
    rng = np.random.default_rng(seed + 1)
    y = np.argmax(X @ rng.standard_normal((n_features, n_labels)) + 0.1 * np.arange(n_labels), axis=1)
    wrong = rng.random(len(y)) < noise
    return X, np.where(wrong, rng.integers(0, n_labels, len(y)), y).astype(np.float64)


def new_learner(rule, n_features=25, n_labels=2, **training):
    """A learner, whose means start at random numbers if 0 would be a special case.

    CW at confidence 0.5 requires only a margin of 0 and would never leave a mean of 0.  Several labels would have equal
    scores, whose ranking depends on rounding.
    """
    labels = np.array([-1.0, 1.0]) if n_labels == 2 else np.arange(n_labels, dtype=float)
    learner = Learner(rule, Training(**training), labels, n_features)
    if (isinstance(rule, rules.CW) and rule.phi == 0) or n_labels > 2:
        learner.state.mean[:] = np.random.default_rng(9).standard_normal(learner.state.mean.shape)
        if rule.sums_gradients:  # a sum of gradients has squares
            learner.state.variance[:] = 1.0
    return learner


def reference_of(learner: Learner) -> Reference | LabelReference | GradientReference:
    rule = learner.rule
    if rule.sums_gradients:
        return gradient_reference_of(learner)
    auto = rule.strength == "auto"
    options = {
        "phi": rule.gain_factor if rule.kind == "arow" else rule.phi,
        "C": 1.0 if auto else rule.strength,
        "covariance": rule.projection,
        "initial_variance": learner.state.initial_variance,
        "bias": learner.bias,
        "relative": auto,
        "averaged": rule.averaged,
        "floor": learner.state.floor,
    }
    n_features, n_labels = learner.state.n_features, learner.state.blocks
    if n_labels == 1:
        reference = Reference(rule.kind, n_features, **options)
        reference.mean = learner.state.mean.astype(np.float64)
        return reference
    training = learner.training
    several = LabelReference(
        rule.kind,
        n_labels,
        n_features,
        constraints=training.n_constraints,
        update=training.multiclass_update,
        **options,
    )
    several.binary.mean = learner.state.mean.T.astype(np.float64).reshape(-1)
    several.binary._z = several.binary.mean * several.binary._A
    return several


def gradient_reference_of(learner: Learner) -> GradientReference:
    reference = GradientReference(
        learner.rule,
        learner.state.n_features,
        n_labels=learner.state.blocks,
        initial_variance=learner.state.initial_variance,
        bias=learner.bias,
        constraints=learner.training.n_constraints,
        update=learner.training.multiclass_update,
    )
    reference.z = -learner.state.mean.T.astype(np.float64).reshape(-1)
    reference.n = learner.state.variance.T.astype(np.float64).reshape(-1) ** 2
    return reference


def rows_of(X, learner):
    return as_rows(X, learner.state.dtype)


def reserved(size, dtype):
    """Zeros that take address space, but no memory until they are written to."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0x4000)  # Python 3.12 names it
    try:
        memory = mmap.mmap(-1, size * np.dtype(dtype).itemsize, flags=flags)
    except OSError as error:
        pytest.skip(f"this machine cannot reserve address space without memory: {error}")
    return np.frombuffer(memory, dtype)


def word_counts(n_rows=200, n_features=40):
    """Sparse counts, and the labels "yes" and "no", some of which are wrong."""
    rng = np.random.default_rng(0)
    X = sparse.csr_matrix(rng.poisson(0.2, (n_rows, n_features)).astype(float))
    score = X @ rng.standard_normal(n_features) + 0.3 * rng.standard_normal(n_rows)
    return X, np.where(score > 0, "yes", "no")
