"""Mutants of Python code that no test of results could notice, and why; see `package_mutants.py`."""

from __future__ import annotations

from tests.proof.equivalent_mutants import Equivalent

SPARE = "another amount of spare memory, with the same numbers in it"
UNUSED = "computes what nothing uses"

EQUIVALENT = [
    Equivalent(
        "utils.growable.GrowableArray.extended",
        "if size > len(self._memory)",
        ("size > len(self._memory) -> size >= len(self._memory)",),
        SPARE,
    ),
    Equivalent(
        "utils.growable.GrowableArray.extended",
        "self._move(",
        ("self.size + self.size // 2 -> self.size - self.size // 2", "self.size // 2 -> self.size / 2", "2 -> 3"),
        SPARE,
    ),
    Equivalent(
        "core.draws.drawn_scores", "one[:] = scorer.margins(narrow, model.bias, False", ("True -> False",), UNUSED
    ),
    Equivalent("core.explaining.percent", "return '> 99.999 %'", ("0.5 -> 0.55",), "it is nearly 0 or nearly 1 there"),
    Equivalent("core.explanation_page._item", "rest.append(Line('(intercept)'", ("'0%' -> '0%X'",), UNUSED),
    Equivalent("core.explanation_page._shades", "largest = ", ("1.0 -> 1.1",), "all amounts are 0 then"),
    Equivalent("core.states.base.scratch_of", "lines = ", ("4 -> 5",), SPARE),
    Equivalent(
        "evaluation.significance.holm", "order = ", ("'stable' -> 'stableX'",), "NumPy reads the first letter only"
    ),
    Equivalent("export.source._decimal", "return text if any", ("'.en' -> '.enX'",), "no number has this letter"),
]
