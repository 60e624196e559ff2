"""Folds, validation rows and label noise of a data set."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

from cwlearn import evaluation
from cwlearn.core.rows import as_rows
from cwlearn.errors import DataError
from cwlearn.evaluation.data_sets import DataSet, stratified_folds


@pytest.mark.parametrize("folds", [2, 3, 10])
def test_folds_are_disjoint_complete_and_balanced(folds):
    y = np.repeat([0, 1, 2], [50, 33, 7])
    order, bounds = stratified_folds(y, folds, np.random.RandomState(0))
    assert sorted(order) == list(range(90))
    sizes = np.diff(bounds)
    assert sizes.max() - sizes.min() <= 1
    counts = np.array([np.bincount(y[order[start:stop]], minlength=3) for start, stop in pairwise(bounds)])
    assert (counts.max(axis=0) - counts.min(axis=0) <= 1).all()


def test_the_beginning_of_a_fold_has_its_share_of_every_label():
    y = np.repeat([0, 1], [90, 10])
    for seed in range(20):
        order, bounds = stratified_folds(y, 2, np.random.RandomState(seed))
        assert 1 <= y[order[: bounds[1] // 5 * 2]].sum() <= 3


@pytest.mark.parametrize("folds", [2, 3, 10])
def test_training_validation_and_test_rows_are_disjoint(data, folds):
    data_set = DataSet.from_matrix("data", *data, folds, seed=0)
    for fold in range(folds):
        test, validation = data_set.fold(fold), data_set.validation(fold)
        train = data_set.rows_outside(test, validation)
        parts = [set(range(200)[test]), set(range(200)[validation]), set(train.tolist())]
        assert all(parts)
        assert sum(map(len, parts)) == len(set.union(*parts)) == 200


def test_the_rows_of_learners_and_of_scikit_learn_are_the_given_ones_in_the_order_of_the_folds(data):
    X, y = data
    data_set = DataSet.from_matrix("data", X, y, 3, seed=0)
    expected = as_rows(X[data_set.original_rows], np.dtype(np.float32))
    for name in ("indptr", "indices", "values", "squares"):
        np.testing.assert_array_equal(getattr(data_set.rows, name), getattr(expected, name))
    assert data_set.rows.indptr.dtype == np.int64
    assert (X[data_set.original_rows].astype(np.float32) != data_set.X).nnz == 0
    assert data_set.classes[data_set.y].tolist() == np.asarray(y)[data_set.original_rows].tolist()


def test_columns_that_no_row_has_and_the_fewest_rows_that_folds_need_are_kept():
    X = sparse.csr_matrix((np.ones(6), np.arange(6), np.arange(7)), (6, 9))
    data_set = DataSet.from_matrix("data", X, [0, 1] * 3, 3, seed=0)
    assert data_set.X.shape == (6, 9)
    assert data_set.rows.n_features == 9
    with pytest.raises(DataError, match="6 rows are too few for 4 folds"):
        DataSet.from_matrix("data", X, [0, 1] * 3, 4, seed=0)


def test_data_are_rows_and_labels_or_pairs_of_them_by_name():
    X = np.eye(4)
    with pytest.raises(DataError, match="data: y must have one label for each of 4 rows"):
        evaluation.compare(X, None, algorithms=["cw"], folds=2)
    for given in (({}, None), ({"a": X}, None), ({"a": (X, [0, 1], 2)}, None)):
        with pytest.raises(TypeError, match="expected `X` and `y`, or a dict of pairs"):
            evaluation.compare(*given, algorithms=["cw"], folds=2)


def test_noise_changes_as_many_labels_as_asked_for_to_wrong_ones():
    X, y = sparse.eye(9000, format="csr"), np.arange(9000) % 3
    data_set = DataSet.from_matrix("data", X, y, 3, seed=0)
    noisy = data_set.noisy_labels(0.2, 0)
    assert np.mean(noisy != data_set.y) == pytest.approx(0.2, abs=0.02)
    assert (data_set.noisy_labels(0.2, 0) == noisy).all()
    assert set(((noisy - data_set.y) % 3)[noisy != data_set.y]) == {1, 2}


def test_labels_must_be_two_or_more_and_not_too_rare(data):
    X, _ = data
    with pytest.raises(DataError, match="two labels are needed to compare classifiers, found 1"):
        evaluation.compare(X, np.zeros(200), algorithms=["cw"])
    with pytest.raises(DataError, match="label 7 has too few rows to train, validate and test in 10 folds"):
        evaluation.compare(X, np.r_[7, np.arange(199) % 2], algorithms=["cw"])
    with pytest.raises(DataError, match="y must have one label for each of 200 rows"):
        evaluation.compare(X, [0, 1, 0], algorithms=["cw"], folds=2)
