"""Choosing a classifier by evidence: `tune` finds the best setting of one, `compare` ranks many."""

from cwlearn.evaluation.choosing import ALGORITHMS, Comparison, Tuning, compare, report, tune

__all__ = ["ALGORITHMS", "Comparison", "Tuning", "compare", "report", "tune"]
