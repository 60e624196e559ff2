"""The field: the candidates among which a race chooses.

Strengths of rules go by multiples of what 'auto' stands for, the mean squared length of the rows, so that the scale of
the rows does not matter.  The field was chosen on real data (docs/results/choosing.md): more candidates choose no
better, because chance chooses among them.
"""

from __future__ import annotations

import math
from dataclasses import fields, replace
from typing import Any, NamedTuple

from cwlearn.core import rules
from cwlearn.core.gradient_rules import AdaGrad
from cwlearn.core.rows import Rows
from cwlearn.core.rule import Rule
from cwlearn.core.training import Training
from cwlearn.errors import ModelError


class Candidate(NamedTuple):
    """A rule, the option that is its strength, the multiple of 'auto', and its other options."""

    rule: type[Rule]
    strength: str
    multiple: float
    options: dict[str, Any] = {}  # noqa: RUF012  never changed


LABELS = (
    Candidate(rules.NHERD, "C", 1),
    Candidate(rules.SCW, "C", 1),
    Candidate(rules.AROW, "regularization", 10, {"average": True}),
    Candidate(rules.PassiveAggressive, "C", 1, {"average": True}),
    Candidate(AdaGrad, "learning_rate", 1, {"loss": "hinge"}),
    Candidate(rules.Logistic, "initial_variance", 1),
    Candidate(rules.Logistic, "initial_variance", 100),
    # The usual weight of this prior has a 32nd of the initial variance: see `naive_bayes`.
    Candidate(rules.NHERD, "C", 30, {"prior": "naive-bayes"}),
    Candidate(rules.Logistic, "initial_variance", 30, {"prior": "naive-bayes"}),
)
# In one pass there is no prior that counts all rows before it, and bold steps pay.
LABELS_IN_ONE_PASS = (
    Candidate(rules.NHERD, "C", 1),
    Candidate(rules.SCW, "C", 1),
    Candidate(rules.SCW, "C", 10),
    Candidate(rules.Logistic, "initial_variance", 100),
    Candidate(rules.PassiveAggressive, "C", 1, {"average": True}),
    Candidate(AdaGrad, "learning_rate", 0.3, {"loss": "hinge"}),
    Candidate(AdaGrad, "learning_rate", 1, {"loss": "hinge"}),
    Candidate(AdaGrad, "learning_rate", 0.3),
)
TARGETS = tuple(Candidate(rules.AROWRegression, "regularization", 10.0**power) for power in range(-3, 4))


Options = tuple[Rule, Training]


def options_of(
    task: str,
    rows: Rows,
    training: Training,
    several: bool,
    class_weight: Any = None,
    how: str | None = None,
) -> list[Options]:
    """Rule and training of the candidates for these rows.

    If models are to be merged, `how` leaves out those whose models cannot be.
    """
    square = float(rows.squares.mean()) if rows.n_rows else 0.0
    unit = (square + training.fit_intercept) * (2 if several else 1)
    if not 1e-100 < unit * training.initial_variance < 1e100:
        unit = 1.0
    in_one_pass = training.epochs == 1 and not training.shuffle
    field = TARGETS if task == "regression" else LABELS_IN_ONE_PASS if in_one_pass else LABELS
    options = [_options_of(candidate, unit, training, class_weight) for candidate in field]
    return [(rule, own) for rule, own in options if _can_be_merged(rule, how)]


def _can_be_merged(rule: Rule, how: str | None) -> bool:
    if how is None:
        return True
    from cwlearn.core.merging import check_confidences  # which other races do not need

    try:
        check_confidences(rule, how)
    except ModelError:
        return False
    return True


def _options_of(candidate: Candidate, unit: float, training: Training, class_weight: Any) -> Options:
    """Rule and training, with a strength in three digits, as one would type it."""
    options = dict(candidate.options)
    if class_weight is not None and any(item.name == "class_weight" for item in fields(candidate.rule)):
        options["class_weight"] = class_weight
    if candidate.strength == "initial_variance":
        variance = float(f"{candidate.multiple * training.initial_variance / unit:.3g}")
        return candidate.rule(**options), replace(training, initial_variance=variance)
    if candidate.strength == "learning_rate":  # a step that does not shrink as rows get longer
        options["learning_rate"] = float(f"{candidate.multiple / math.sqrt(unit * training.initial_variance):.3g}")
    elif candidate.multiple != 1:
        unit *= training.initial_variance
        inverse = candidate.strength == "regularization"  # r is the inverse of C
        strength = candidate.multiple * unit if inverse else candidate.multiple / unit
        options[candidate.strength] = float(f"{strength:.3g}")
    return candidate.rule(**options), training
