"""Choose a classifier by evidence: `tune` finds the best setting of one, `compare` ranks many."""

from cwlearn.evaluation.algorithms import ALGORITHMS
from cwlearn.evaluation.comparing import compare
from cwlearn.evaluation.comparison import Comparison
from cwlearn.evaluation.report_page import report
from cwlearn.evaluation.tuning import Tuning, tune

__all__ = ["ALGORITHMS", "Comparison", "Tuning", "compare", "report", "tune"]
