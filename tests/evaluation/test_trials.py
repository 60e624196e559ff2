"""One trial: nothing is chosen on test rows, and noise is in training labels only."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cwlearn.evaluation.algorithms import CANDIDATES
from cwlearn.evaluation.data_sets import DataSet, TrainingRows
from cwlearn.evaluation.trials import TrialSettings, choose_setting, run_trial


def test_nothing_is_chosen_by_test_rows(data):
    """Setting, epochs and model of a fold do not depend on its labels."""
    data_set = DataSet.from_matrix("data", *data, 4, seed=0)
    changed = data_set.y.copy()
    changed[data_set.fold(1)] = 1 - changed[data_set.fold(1)]
    for candidate in (CANDIDATES["cw"], CANDIDATES["svm"]):
        choices = [choose_setting(candidate, data_set, labels, 1, TrialSettings(3)) for labels in (data_set.y, changed)]
        assert choices[0] == choices[1]
        outcome = run_trial(candidate, data_set, 0.0, 1, TrialSettings(3))
        assert outcome.setting == choices[0].setting
        flipped = run_trial(candidate, replace(data_set, y=changed), 0.0, 1, TrialSettings(3))
        tested = set(range(200)[data_set.fold(1)])
        assert set(flipped.wrong) == tested - set(outcome.wrong)


def test_noise_is_in_training_labels_only(data):
    data_set = DataSet.from_matrix("data", *data, 4, seed=0)
    test = data_set.fold(0)
    outcome = run_trial(CANDIDATES["arow"], data_set, 0.3, 0, TrialSettings(2))
    assert outcome.rows == 50
    training_rows = TrainingRows(data_set, data_set.noisy_labels(0.3, 0), data_set.rows_outside(test))
    fitted = CANDIDATES["arow"].prepare(outcome.setting, training_rows, TrialSettings(2).seed_of(0, True))
    for _ in range(outcome.epochs):
        fitted.fit_epoch()
    wrong = np.flatnonzero(fitted.predict(test) != data_set.y[test]) + test.start
    assert wrong.tolist() == outcome.wrong


def test_calibration_is_judged_after_and_before(data):
    data_set = DataSet.from_matrix("data", *data, 4, seed=0)
    outcome = run_trial(CANDIDATES["arow"], data_set, 0.0, 1, TrialSettings(1))
    assert outcome.bins != outcome.distribution_bins
    for table in (outcome.bins, outcome.distribution_bins):
        rows, predicted, right = np.sum(table, axis=0)
        assert (rows, right) == (50, 50 - len(outcome.wrong))
        assert 25 <= predicted <= 50
    assert run_trial(CANDIDATES["perceptron"], data_set, 0.0, 1, TrialSettings(1)).distribution_bins is None
