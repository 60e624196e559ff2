"""McNemar's test, Holm's correction, intervals and ranks, against cases computed by hand and SciPy."""

from __future__ import annotations

from itertools import combinations
from math import comb
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import binomtest, rankdata

from cwlearn import evaluation
from cwlearn.evaluation.comparison import Comparison
from cwlearn.evaluation.significance import decimals, holm, mcnemar, ranks, stars, wilson
from cwlearn.evaluation.trials import TrialSettings
from tests.evaluation.cases import FEW


@pytest.mark.parametrize(
    ("first", "second"), [(0, 0), (0, 1), (3, 3), (10, 2), (2, 10), (40, 60), (500, 420), (1, 3000)]
)
def test_mcnemar_is_the_exact_binomial_test(first, second):
    expected = binomtest(first, first + second, 0.5).pvalue if first + second else 1.0
    assert mcnemar(first, second) == pytest.approx(expected, rel=1e-9)


def test_mcnemar_by_hand():
    """Two classifiers differ on ten rows, and one of them is wrong on two: 2 (1 + 10 + 45) / 2^10."""
    assert mcnemar(2, 8) == pytest.approx(2 * (comb(10, 0) + comb(10, 1) + comb(10, 2)) / 2**10)
    assert [stars(p) for p in (0.2, 0.05, 0.04, 0.009, 0.0009)] == ["", "", "*", "**", "***"]


def test_holm_by_hand():
    """The smallest of four times 4, the next one times 3, and so on; never less than the one before, or more than 1."""
    assert holm([0.01, 0.04, 0.03, 0.005]).tolist() == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.4]).tolist() == pytest.approx([0.9, 0.8])
    assert holm([0.9, 0.6]).tolist() == [1, 1]
    assert holm([]).tolist() == []


@pytest.mark.parametrize("errors", [[3, 1, 2], [1, 1, 1], [0.2, 0.1, 0.2, 0.4], [5]])
def test_ranks_are_those_of_scipy(errors):
    assert ranks(errors).tolist() == rankdata(errors).tolist()


def test_an_excluded_candidate_has_no_rank():
    assert ranks([0.2, np.nan, 0.1]).tolist()[::2] == [2, 1]
    assert np.isnan(ranks([0.2, np.nan, 0.1])[1])


def guessing_comparison(rng, n_candidates=8, n_rows=300):
    """A comparison of classifiers that all guess."""
    data_set = SimpleNamespace(name="noise", n_folds=1)
    names = [f"guess {number}" for number in range(n_candidates)]
    candidates = [SimpleNamespace(name=name, exclusion_reason=lambda data_set: "") for name in names]
    comparison = Comparison([data_set], candidates, [0.0], TrialSettings())
    for name in names:
        wrong = np.flatnonzero(rng.random(n_rows) < 0.5).tolist()
        comparison.outcomes["noise", 0.0, name, 0] = SimpleNamespace(error=len(wrong) / n_rows, wrong=wrong)
    return comparison


def test_x07_no_guessing_classifier_is_called_clearly_better():
    """Without a correction nearly every second report would say so; Holm's method allows one in twenty."""
    rng = np.random.default_rng(0)
    corrected = raw = 0
    for _ in range(300):
        comparison = guessing_comparison(rng)
        best, *others = (comparison.candidates[index].name for index in comparison.ranking(0.0))
        corrected += any(comparison.corrected_p_value("noise", 0.0, best, other) < 0.05 for other in others)
        raw += any(comparison.p_value("noise", 0.0, best, other) < 0.05 for other in others)
    assert corrected <= 15 + 3 * (300 * 0.05 * 0.95) ** 0.5 < 100 < raw  # one in twenty, and three deviations


def test_x07_the_correction_counts_all_pairs_data_sets_and_noises(data):
    X, y = data
    data_sets = {"a": (X, y), "b": (X, y)}
    comparison = evaluation.compare(data_sets, algorithms=FEW, folds=2, epochs=1, noise=[0.0, 0.2])
    assert comparison.n_tests == 2 * 2 * 6
    pairs = list(combinations(FEW, 2))
    keys = [(name, noise, *pair) for name in ("a", "b") for noise in (0.0, 0.2) for pair in pairs]
    corrected = holm([comparison.p_value(*key) for key in keys])
    assert [comparison.corrected_p_value(*key) for key in keys] == pytest.approx(corrected.tolist())
    p_values = [comparison.corrected_p_value("a", 0.0, *pair) for pair in (("arow", "cw"), ("cw", "arow"))]
    assert p_values[0] == p_values[1]


@pytest.mark.parametrize(("wrong", "rows"), [(0, 10), (10, 10), (23, 700), (1, 3)])
def test_intervals_are_wilsons(wrong, rows):
    expected = binomtest(wrong, rows).proportion_ci(method="wilson")
    assert wilson(wrong, rows) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_decimals_fit_the_uncertainty():
    assert [decimals(half_width) for half_width in (14, 1.4, 0.14, 0.001, 0)] == [0, 1, 2, 3, 3]
