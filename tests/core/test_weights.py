"""The heaviest weights."""

from __future__ import annotations

import numpy as np

from cwlearn.core.weights import heaviest


def test_weights_are_sorted_by_their_distance_from_zero():
    assert heaviest(np.array([0.5, -3.0, 2.0, 1.0]), 3).tolist() == [1, 2, 3]


def test_of_equally_heavy_weights_the_first_comes_first():
    assert heaviest(np.tile([1.0, -1.0], 500), 4).tolist() == [0, 1, 2, 3]


def test_weights_that_are_zero_are_left_out():
    assert heaviest(np.array([0.0, 1e-30, -0.0]), 3).tolist() == [1]
    assert heaviest(np.zeros(3, np.float32), 3).tolist() == []
    assert heaviest(np.empty(0), 3).tolist() == []


def test_each_label_has_its_own_heaviest_weights():
    weights, labels = np.array([1.0, -5.0, 2.0, 0.0, 2.0, -2.0]), np.array([1, 0, 1, 0, 1, 3])
    assert heaviest(weights, 2, labels).tolist() == [1, 2, 4, 5]
