"""Mutants that no test of results could notice, and why; see `mutants.py`."""

from __future__ import annotations

from dataclasses import dataclass

from tests.proof.mutator import Mutant


@dataclass(frozen=True)
class Equivalent:
    rule: str
    statement: str  # its beginning
    changes: tuple[str, ...]  # none: whatever is changed in this statement and not noticed
    reason: str

    def covers(self, mutant: Mutant) -> bool:
        here = mutant.rule == self.rule and mutant.statement.startswith(self.statement)
        return here and (not self.changes or mutant.change in self.changes)


BORDER = "at the border both sides give the same number"
NEARBY = "two ways to write one number; near the border neither loses digits"
NO_STEP = "at the border the step is 0 anyway"
FIRST_ORDER = "near the root only the first order of the tangent's equation counts, and this is its second"
FIRST_STEP = "another first step of an iteration that ends at the same root"
TOLERANCE = "ends an iteration one round earlier or later, with all digits right"
START = "another point of the bracket to begin at, with the same root"
SAFEGUARD = "Newton's method and bisection correct each other: more rounds, the same root"
SLOPE = "only the slope for Newton's method, which bisection corrects: more sweeps, the same root"
ZERO = "a step of 0 moves nothing"
LIMIT = "far above every real sum, so its exact value does not matter"
CURVATURE = "2 * rule.phi * rule.phi"

EQUIVALENT = [
    Equivalent("larger_root", "cdef double root", ("4 -> 4.4",), FIRST_ORDER),
    Equivalent("larger_root", "return", ("b > 0 -> b >= 0",), BORDER),
    Equivalent("larger_root", "return", ("0 -> 1",), NEARBY),
    Equivalent("larger_root", "return", ("root - b -> root + b", "2 -> 2.2 #2"), FIRST_STEP),
    Equivalent("sigmoid", "if z >= 0", ("z >= 0 -> z > 0",), BORDER),
    Equivalent("sigmoid", "if z >= 0", ("0 -> 1",), NEARBY),
    Equivalent("cw_variance", "if m >= phi * v", ("m >= phi * v -> m > phi * v",), NO_STEP),
    Equivalent("cw_variance", "alpha =", ("b > 0 -> b >= 0",), BORDER),
    Equivalent("cw_stdev", "if z >= phi", ("z >= phi -> z > phi",), NO_STEP),
    Equivalent("cw_stdev", "if z > 0", ("z > 0 -> z >= 0",), BORDER),
    Equivalent("cw_stdev", "if z > 0", ("0 -> 1",), NEARBY),
    Equivalent("scw_2", "if z >= phi", ("z >= phi -> z > phi",), NO_STEP),
    Equivalent("scw_2", "if b > 0", ("b > 0 -> b >= 0",), BORDER),
    Equivalent("scw_2", "if b > 0", ("0 -> 1",), NEARBY),
    Equivalent("bayesian_logistic", "cdef double high", ("0 -> 1",), "a wider bracket, with the same root"),
    Equivalent("bayesian_logistic", "cdef double z", (), START),
    Equivalent(
        "bayesian_logistic", "if residual > 0", ("residual > 0 -> residual >= 0",), "a residual of 0 is the root"
    ),
    Equivalent("bayesian_logistic", "step = residual", (), SAFEGUARD),
    Equivalent("bayesian_logistic", "if fabs(step) <=", (), TOLERANCE),
    Equivalent("bayesian_logistic", "z -= step", (), SAFEGUARD),
    Equivalent("bayesian_logistic", "if not low <= z", (), SAFEGUARD),
    Equivalent("bayesian_logistic", "z = low +", (), SAFEGUARD),
    Equivalent("pa", "return", ("m < 1 -> m <= 1",), NO_STEP),
    Equivalent("pa_i", "return", ("m < 1 -> m <= 1",), NO_STEP),
    Equivalent("pa_ii", "return", ("m < 1 -> m <= 1",), NO_STEP),
    Equivalent("exact_step", "cdef double k", ("0 -> 1", "1 -> 1.1", "0 -> 1 #2"), FIRST_STEP),
    Equivalent("exact_step", "slope += share[p]", ("share[p] * share[p] -> share[p] / share[p]",), FIRST_STEP),
    Equivalent(
        "exact_step",
        "delta = larger_root(slope",
        ("slope / (2 * phi) -> slope * (2 * phi)", "2 * phi -> 2 / phi", "2 -> 2.2"),
        FIRST_ORDER,
    ),
    Equivalent("exact_step", "if not fabs(delta)", ("fabs(delta) > 1e-09 * k -> fabs(delta) >= 1e-09 * k",), TOLERANCE),
    Equivalent("exact_step", "if not fabs(delta)", ("1e-09 -> 1.1e-09",), TOLERANCE),
    Equivalent("is_sound", "return", ("reach < largest_step -> reach <= largest_step",), LIMIT),
    Equivalent("outranks", "return", ("a < b -> a <= b",), "no label is compared with itself"),
    Equivalent("spread", "cdef double u", ("0 -> 1 #2",), SLOPE),
    Equivalent("spread", "e += t", ("t * t -> t / t",), SLOPE),
    Equivalent(
        "true_side",
        "return Sensitive(v * (alpha",
        (
            f"v * (1 + {CURVATURE} * v * left.variance) -> v / (1 + {CURVATURE} * v * left.variance)",
            "1 -> 1.1",
            f"{CURVATURE} * v -> {CURVATURE} / v",
            f"{CURVATURE} -> 2 * rule.phi / rule.phi",
            "2 * rule.phi -> 2 / rule.phi",
            "2 -> 2.2",
        ),
        SLOPE,
    ),
    Equivalent("rival_side", "v += 1 / (2 * C)", (), SLOPE),
    Equivalent("rival_side", "return Sensitive(alpha, 0 if alpha", (), SLOPE),
    Equivalent("rival_side", "if m >= rule.phi * v", ("m >= rule.phi * v -> m > rule.phi * v",), NO_STEP),
    Equivalent("rival_side", "return Sensitive( alpha, 1 /", (), SLOPE),
    Equivalent("solve", "cdef double low", ("0 -> 1 #2",), START),
    Equivalent("solve", "cdef double low", ("0 -> 1", "0 -> 1 #3", "0 -> 1 #4"), "replaced before it is used"),
    Equivalent("solve", "if rule.phi > 0 and m", ("rule.phi > 0 -> rule.phi >= 0",), "loads numbers that are not used"),
    Equivalent("solve", "delta = excess", (), SLOPE),
    Equivalent("solve", "if not (fabs(delta)", (), TOLERANCE),
    Equivalent("solve", "if delta > 0", ("delta > 0 -> delta >= 0",), "a change of 0 has ended it before"),
    Equivalent("solve", "if not low < A < high", (), SAFEGUARD),
    Equivalent("solve", "A = low +", (), SAFEGUARD),
    Equivalent("average_steps", "if rivals[j]", ("rivals[j].step.alpha > 0 -> rivals[j].step.alpha >= 0",), ZERO),
    Equivalent("find_steps", "if rule.update == SEQUENTIAL", ("rival.step.alpha > 0 -> rival.step.alpha >= 0",), ZERO),
    Equivalent("find_exact_steps", "return is_sound(rule, 0", ("0 -> 1",), "only checked to be finite"),
    Equivalent("move_rivals", "if rival.step", ("rival.step.alpha <= 0 -> rival.step.alpha < 0",), ZERO),
    Equivalent("learn_row", "if margin.variance", ("1 -> 1.1",), "of the same sign"),
    Equivalent("learn_row", "margin.mean *= y", (), "y is 1 or -1"),
    Equivalent(
        "learn_row",
        "outcome.sound =",
        ("outcome.loss < 1e+288 -> outcome.loss <= 1e+288", "1e+288 -> 1.1e+288", "1e+288 -> 1.1e+288 #2", "1 -> 1.1"),
        LIMIT,
    ),
]


def reason_of(mutant: Mutant) -> str:
    """Why no test can notice it; empty if one can."""
    return next((entry.reason for entry in EQUIVALENT if entry.covers(mutant)), "")
