"""Mutants of Python code that no test of results could notice, and why; see `package_mutants.py`."""

from __future__ import annotations

from tests.proof.equivalent_mutants import Equivalent

EQUIVALENT: list[Equivalent] = []
