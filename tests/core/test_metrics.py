"""What `evaluate` measures: small sums, worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import mean_absolute_error, mean_squared_error, r2_score

from cwlearn.core.metrics import BINS, Measures, RegressionMeasures

TRUE, PREDICTED = np.array([0, 0, 1, 2, 2]), np.array([0, 1, 1, 0, 2])


def test_labels_are_counted_row_by_row_and_batch_by_batch():
    whole, parts = Measures(["a", "b", "c"]), Measures(["a", "b", "c"])
    whole.add(TRUE, PREDICTED)
    for row in range(len(TRUE)):
        parts.add(TRUE[[row]], PREDICTED[[row]])
    found = whole.summary(False)
    assert found == parts.summary(False)
    assert (found["rows"], found["mistakes"], found["error"]) == (5, 2, 0.4)
    assert found["confusion"] == [[1, 1, 0], [0, 1, 0], [1, 0, 1]]
    assert found["labels"]["b"] == {"rows": 1, "precision": 0.5, "recall": 1.0}
    assert found["weight"] is found["weighted_error"] is found["log_loss"] is None


def test_weights_count_in_the_error_and_rows_without_them_weigh_1():
    measures = Measures(["a", "b", "c"])
    measures.add(TRUE[:3], PREDICTED[:3], weights=np.array([3.0, 2.0, 5.0]))
    measures.add(TRUE[3:], PREDICTED[3:])
    found = measures.summary(False)
    assert found["error"] == 0.4
    assert found["weight"] == 12.0
    assert found["weighted_error"] == (2 + 1) / 12


def test_weights_that_are_all_0_give_no_error():
    measures = Measures(["a", "b"])
    measures.add(np.array([0]), np.array([1]), weights=np.zeros(1))
    found = measures.summary(False)
    assert found["weight"] == 0.0
    assert found["weighted_error"] is None


def test_probabilities_have_a_loss_and_a_calibration():
    measures = Measures(["a", "b"])
    chances = np.array([[0.9, 0.1], [0.25, 0.75], [0.3, 0.7], [1.0, 0.0]])
    measures.add(np.array([0, 1, 0, 1]), np.array([0, 1, 1, 0]), chances)
    found = measures.summary(True)
    losses = -np.log([0.9, 0.75, 0.3, np.finfo(float).eps])
    assert found["log_loss"] == pytest.approx(losses.mean())
    bins = {round(entry["from"] * BINS): entry for entry in found["calibration"]}
    assert bins[BINS - 1]["rows"] == (2 if BINS == 10 else 1)  # the last one has its upper end, 1
    assert sum(entry["rows"] for entry in bins.values()) == 4
    assert 0 < found["calibration_error"] < 1


def regression(rows=40, seed=0):
    rng = np.random.default_rng(seed)
    true = 1e6 + rng.normal(size=rows)  # far from 0, where sums of squares would cancel
    return true, true + rng.normal(size=rows), rng.uniform(0.5, 2, rows)


def test_errors_of_numbers_are_those_of_scikit_learn():
    true, predicted, deviations = regression()
    measures = RegressionMeasures()
    for part in (slice(0, 0), slice(0, 7), slice(7, 40)):
        measures.add(true[part], predicted[part], deviations[part])
    found = measures.summary()
    assert found["rows"] == 40
    assert found["rmse"] == pytest.approx(np.sqrt(mean_squared_error(true, predicted)))
    assert found["mae"] == pytest.approx(mean_absolute_error(true, predicted))
    assert found["r2"] == pytest.approx(r2_score(true, predicted), rel=1e-9)
    z = np.abs(predicted - true) / deviations
    assert found["within_one_deviation"] == np.mean(z <= 1)
    assert found["within_two_deviations"] == np.mean(z <= 2)
    density = np.exp(-(z**2) / 2) / (deviations * np.sqrt(2 * np.pi))
    assert found["log_loss"] == pytest.approx(-np.log(density).mean())
    assert found["weight"] is found["weighted_rmse"] is found["weighted_mae"] is None


def test_errors_of_numbers_are_weighted():
    true, predicted, deviations = regression()
    weights = np.random.default_rng(1).uniform(0, 3, len(true))
    measures = RegressionMeasures()
    measures.add(true, predicted, deviations, weights)
    found = measures.summary()
    assert found["weight"] == pytest.approx(weights.sum())
    assert found["weighted_rmse"] == pytest.approx(np.sqrt(mean_squared_error(true, predicted, sample_weight=weights)))
    assert found["weighted_mae"] == pytest.approx(mean_absolute_error(true, predicted, sample_weight=weights))
    assert found["rmse"] == pytest.approx(np.sqrt(mean_squared_error(true, predicted)))


def test_what_is_not_finite_or_has_no_deviation_is_none_and_warns_of_nothing():
    measures = RegressionMeasures()
    measures.add(np.array([1e300, -1e300, 0.0]), np.array([-1e300, 1e300, 0.0]), np.array([1.0, 0.0, 1.0]))
    found = measures.summary()
    assert found["rows"] == 3
    assert found["rmse"] is found["r2"] is found["log_loss"] is found["within_one_deviation"] is None
    assert found["mae"] == pytest.approx(4e300 / 3)
    assert RegressionMeasures().summary()["r2"] is None
