"""Calibrations in model files: the same bits after loading, and no forged one gets in."""

import math
import pickle

import numpy as np
import pytest

from cwlearn.core import model_file, rules
from cwlearn.errors import ModelError
from tests.cases import labelled_rows, new_learner, random_rows, rows_of
from tests.core.test_model_file import change_header

MARGIN = [1.0, 2.0, 0.1, 0.5, 0.01, 0.2, 0.3, 0.04]
SOUND = {"observed": 5.0, "settled": 0.0, "margin": MARGIN, "deviation": MARGIN}


def learned(n_labels=2):
    X, y = random_rows(500, noise=0.1) if n_labels == 2 else labelled_rows(500, n_labels=n_labels, noise=0.1)
    learner = new_learner(rules.AROW(), n_labels=n_labels)
    learner.learn(rows_of(X, learner), y)
    return learner, rows_of(X, learner), y


@pytest.mark.parametrize("n_labels", [2, 5])
def test_a_file_and_a_pickle_keep_every_bit_and_go_on(n_labels, tmp_path):
    learner, rows, y = learned(n_labels)
    model_file.save(learner, tmp_path / "m.npz")
    for again in (model_file.load(tmp_path / "m.npz"), pickle.loads(pickle.dumps(learner))):
        assert again.calibration == learner.calibration
        again.learn(rows, y)
        twin = pickle.loads(pickle.dumps(learner))
        twin.learn(rows, y)
        assert again.calibration == twin.calibration != learner.calibration


def forged(**changes):
    return {**SOUND, **changes}


def with_number(place, number):
    return forged(deviation=[*MARGIN[:place], number, *MARGIN[place + 1 :]])


@pytest.mark.parametrize(
    "record",
    [
        5,
        [],
        "calibrated",
        {},
        forged(margin=None),
        forged(margin=MARGIN[:-1]),
        forged(margin=[*MARGIN, 1.0]),
        forged(observed="5"),
        forged(observed=0),
        forged(observed=-1),
        forged(observed=math.nan),
        forged(observed=1e300),
        forged(observed=10**400),
        forged(settled=2),
        forged(settled=0.5),
        *(with_number(place, number) for place in range(8) for number in (math.nan, math.inf, "1", None, [], 1e308)),
        with_number(0, -1.0),
        with_number(3, 0.0),
        with_number(3, -1.0),
        with_number(5, -0.2),
        with_number(3, 1e-300),
        with_number(4, 5.0),
        with_number(4, -5.0),
        with_number(7, 0.0),
        with_number(7, 1.0),
        forged(waiting=5),
        forged(waiting=[5.0]),
        forged(waiting=[[1.0, 1.0]]),
        forged(waiting=[[1.0, 1.0, 1.0, 1.0]]),
        forged(waiting=[[1.0, 1.0, "1"]]),
        forged(waiting=[[1.0, math.nan, 1.0]]),
        forged(waiting=[[1.0, -1.0, 1.0]]),
        forged(waiting=[[1e101, 0.0, 1.0]]),
        forged(waiting=[[1.0, 1e-199, 1.0], [1e90, 1e-190, 1.0]]),
        forged(waiting=[[1.0, 1.0, 1e7]]),
        forged(waiting=[[1.0, 1.0, 1.0]] * 16),
    ],
    ids=repr,
)
def test_a_forged_calibration_is_refused(record, tmp_path):
    model_file.save(learned()[0], tmp_path / "m.npz")
    change_header(tmp_path / "m.npz", calibration=record)
    with pytest.raises(ModelError, match=r"its calibration is not (complete|sound)|header"):
        model_file.load(tmp_path / "m.npz")


@pytest.mark.parametrize("square", [0.0, 1e-250, 1e-190, 1e200])
@pytest.mark.parametrize("slope", [-1e40, 0.0, 1e40])
def test_the_largest_numbers_that_are_taken_break_nothing(square, slope, tmp_path):
    learner, rows, y = learned()
    model_file.save(learner, tmp_path / "m.npz")
    odd = [square, slope, 1e40, 1e-40, 0.0, 1e40, -1e40, 1e-9]
    change_header(tmp_path / "m.npz", calibration=forged(margin=odd, deviation=odd))
    model = model_file.load(tmp_path / "m.npz")
    with np.errstate(all="raise", under="ignore"):
        probabilities = model.probabilities(rows, *model.margins(rows))
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    model.learn(rows, y)
    assert np.isfinite(model.calibration.numbers()).all()


def test_rows_that_wait_are_kept_and_go_on(tmp_path):
    """Rows 65 to 69 wait in the file; with the next 11 they are observed together."""
    X, y = random_rows(80, noise=0.1)
    learner, whole = (new_learner(rules.AROW(), dtype="float64") for _ in range(2))
    rows = rows_of(X, learner)
    learner.learn(rows.part(0, 69), y[:69])
    assert (learner.calibration.observed, learner.calibration.rows) == (64, 69)
    model_file.save(learner, tmp_path / "m.npz")
    again = model_file.load(tmp_path / "m.npz")
    again.learn(rows.part(69, 80), y[69:80])
    whole.learn(rows.part(0, 80), y[:80])
    assert again.calibration == whole.calibration
    assert (again.calibration.observed, again.calibration.waiting) == (80, ())


def test_a_model_without_calibration_has_the_distribution_of_its_rule(tmp_path):
    learner, rows, _ = learned()
    model_file.save(learner, tmp_path / "m.npz")
    change_header(tmp_path / "m.npz", calibration=None)
    model = model_file.load(tmp_path / "m.npz")
    assert model.calibration is None
    margins = model.margins(rows)
    np.testing.assert_array_equal(model.probabilities(rows, *margins), model.label_distribution(*margins))


def test_a_first_order_model_without_calibration_has_no_probabilities(tmp_path):
    X, y = random_rows()
    learner = new_learner(rules.Perceptron())
    rows = rows_of(X, learner)
    with pytest.raises(ValueError, match="has neither variances nor a calibration"):
        learner.probabilities(rows, *learner.margins(rows))
    learner.learn(rows, y)
    assert learner.probabilities(rows, *learner.margins(rows)).shape == (61, 2)
