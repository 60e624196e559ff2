"""The mutation check finds what it should change; the check itself takes too long for the tests."""

from __future__ import annotations

import ast

import pytest

from cwlearn._kernels import KINDS
from tests.proof.equivalent_mutants import EQUIVALENT
from tests.proof.mutator import FORMULAS, Mutator, changed, mutants_of, rewritten
from tests.proof.special_builds import ROOT

# The kinds whose formula has a function of its own.
FUNCTIONS = {"cw-variance": "cw_variance", "cw-stdev": "cw_stdev", "scw-i": "scw_1", "scw-ii": "scw_2"}


def test_every_rule_has_mutants():
    rules = {mutant.rule for mutant in mutants_of(ROOT)}
    assert {FUNCTIONS.get(kind, kind.replace("-", "_")) for kind in KINDS} <= rules
    assert {"exact_step", "larger_root", "sigmoid", "stdev_gain", "relative", "capped"} <= rules
    assert {"entry", "margin_of", "moved", "rival_side", "solve", "learn_row", "Logistic.score"} <= rules


@pytest.mark.parametrize("path", [path for path, wanted in FORMULAS.items() if wanted and not path.endswith(".py")])
def test_every_function_of_the_list_is_in_its_file(path):
    found = []
    rewritten(path, (ROOT / path).read_text(), found)
    assert {mutant.rule for mutant in found} == {*FORMULAS[path]}


def test_mutants_are_told_apart_and_the_equivalent_ones_are_among_them():
    mutants = mutants_of(ROOT)
    assert [mutant.number for mutant in mutants] == list(range(1, len(mutants) + 1))
    assert len({(mutant.rule, mutant.statement, mutant.change) for mutant in mutants}) == len(mutants)
    for entry in EQUIVALENT:
        there = [mutant for mutant in mutants if entry.covers(mutant)]
        assert len(there) == len(entry.changes) or (there and not entry.changes), entry
        assert entry.reason


def test_a_statement_keeps_its_meaning_and_gets_a_choice_for_each_operator():
    found = []
    text = "cdef double a = 1 + x [ p ] , b , c = larger ( < double > n , - x )"
    new = changed(text, Mutator(found, "f", "here", "it"), ())
    assert new == (
        "cdef double a = mutant_add(1, mutant_const(2, 1), x[p]), b, c = mutant_larger(3, <double> n, mutant_neg(4, x))"
    )
    assert [mutant.change for mutant in found] == [
        "1 + x[p] -> 1 - x[p]",
        "1 -> 1.1",
        "larger(<double> n, -x) -> smaller(<double> n, -x)",
        "-x -> x",
    ]


def test_a_comparison_is_changed_at_its_border_and_turned_round():
    found = []
    new = changed("if not low <= z < high :", Mutator(found, "f", "here", "it"), ())
    assert new == "if not (mutant_le(1, low, z) and mutant_lt(3, z, high)):"
    assert [mutant.change.partition("-> ")[2] for mutant in found] == ["low < z", "low > z", "z <= high", "z > high"]
    assert changed("if kind == AROW :", Mutator(found, "f", "here", "it"), ()).startswith("if kind == AROW")
    assert len(found) == 4
    assert ast.parse(new.replace(":", ": pass"))
