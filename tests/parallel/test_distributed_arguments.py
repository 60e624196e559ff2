"""The shards and options that `cwlearn.distributed.fit` accepts and refuses."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import cwlearn as package
from cwlearn import distributed
from cwlearn.errors import DataError
from tests.parallel.clusters import ignore_dask_warnings

pytestmark = ignore_dask_warnings


def test_wrong_arguments_are_refused(client, files):
    with pytest.raises(TypeError, match="a list of shards, got one path"):
        distributed.fit(package.AROWClassifier(), files[0], client)
    with pytest.raises(TypeError, match="expected a linear estimator"):
        distributed.fit(package.KernelAROWClassifier(), files, client)
    with pytest.raises(DataError, match="no shards"):
        distributed.fit(package.AROWClassifier(), [], client)
    with pytest.raises(ValueError, match="`class_weight='balanced'` must count all rows first"):
        distributed.fit(package.AROWClassifier(class_weight="balanced"), files, client)
    with pytest.raises(ValueError, match="`rounds` must be a positive integer, got 0"):
        distributed.fit(package.AROWClassifier(), files, client, rounds=0)
    with pytest.raises(ValueError, match="`how` must be"):
        distributed.fit(package.AROWClassifier(), files, client, how="mean")
    with pytest.raises(DataError, match=r"shard 0: y must have one entry for each of 3 rows, got shape \(2,\)"):
        distributed.fit(package.AROWClassifier(), [(sparse.eye(3).tocsr(), [0, 1])], client)
    with pytest.raises(TypeError, match=r"`client` must be a dask\.distributed\.Client, .* got 'tcp://localhost:8786'"):
        distributed.fit(package.AROWClassifier(), files, "tcp://localhost:8786")
    with pytest.raises(TypeError, match="`report` must be callable, got 1"):
        distributed.fit(package.AROWClassifier(), files, client, report=1)
    with pytest.raises(TypeError, match="unexpected keyword argument 'unsort'"):
        distributed.fit(package.AROWClassifier(), files, client, unsort="sort")


PAIR = (np.eye(2), np.array([0, 1]))


@pytest.mark.parametrize(
    ("shards", "options", "error", "message"),
    [
        (PAIR, {}, TypeError, r"shard 0: expected a path or a pair \(X, y\), got numpy.ndarray"),
        ([PAIR, "a.svm"], {}, TypeError, "all paths or all pairs .* shard 0 and shard 1 differ"),
        ([PAIR], {"labels": [1]}, ValueError, r"`labels` must be two or more different ones, got \[1\]"),
        (["a.svm"], {"labels": ["a", "a"]}, ValueError, "`labels` must be two or more different ones"),
        ([PAIR], {"hash_bits": 4}, ValueError, "`hash_bits` is for shards of text"),
        ([PAIR], {"unsorted": "sort"}, ValueError, "`unsorted` is for shards of text"),
        ([(np.eye(2), [0.5, 1])], {}, DataError, "shard 0: label 0.5 is not a whole number"),
        ([PAIR, (np.eye(2), [0, np.nan]), PAIR], {}, DataError, "shard 1: .*nan"),
    ],
)
def test_odd_shards_are_refused(client, shards, options, error, message):
    with pytest.raises(error, match=message):
        distributed.fit(package.AROWClassifier(), shards, client, **options)


def test_odd_dask_collections_are_refused(client):
    array = pytest.importorskip("dask.array")
    X, y = array.ones((8, 2), chunks=4), array.ones(8, chunks=4)
    for odd, message in [
        ((X, array.ones(6, chunks=3)), "X has 8 rows, and y 6"),
        ((y, y), "of two dimensions and of one, got 1 and 1"),
        (X, "expected a Dask bag, or a pair of Dask arrays"),
        ((X[y > 0], array.concatenate([y, y])[array.concatenate([y, y]) > 0]), "unknown lengths"),
    ]:
        with pytest.raises((TypeError, ValueError), match=message):
            distributed.fit(package.AROWClassifier(), odd, client)


def test_labels_are_those_of_the_model_and_none_for_a_regression(client):
    with pytest.raises(ValueError, match="`labels` are for classifiers"):
        distributed.fit(package.AROWRegressor(), [PAIR], client, labels=[0, 1])
    model = package.AROWClassifier(warm_start=True).fit(*PAIR)
    with pytest.raises(ValueError, match=r"`labels` must be those that the model has, \[0, 1\]"):
        distributed.fit(model, [PAIR], client, labels=[0, 1, 2])


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ((np.eye(3), [[0], [1], [0]]), "one entry for each of 3 rows"),
        ((np.ones(3), [0, 1, 0]), "2 dimensions"),
        ((np.full((3, 3), np.nan), [0, 1, 0]), "NaN"),
        ((np.eye(3), ["a", 1, None]), "label"),
    ],
)
def test_d08_a_bad_matrix_is_named_and_can_be_left_out(client, bad, message):
    good = (np.eye(3), np.array([0, 1, 0]))
    with pytest.raises((DataError, ValueError), match=message):
        distributed.fit(package.AROWClassifier(), [good, bad, good], client, labels=[0, 1])
    with pytest.warns(UserWarning, match="shard left out: shard 1: "):
        model = distributed.fit(
            package.AROWClassifier(), [good, bad, good], client, labels=[0, 1], skip_bad_shards=True
        )
    assert model.n_updates_


@pytest.mark.parametrize("where", ["on a cluster", "in threads"])
def test_a_partition_that_cannot_be_computed_is_named_and_can_be_left_out(where, client):
    client = client if where == "on a cluster" else None
    bag = pytest.importorskip("dask.bag")
    numbers = bag.from_sequence([1, 0, 2], npartitions=3)
    shards = numbers.map(lambda number: (np.eye(2) / number if 1 // number < 9 else None, np.array([0, 1])))
    with pytest.raises(DataError, match="partition 1: ZeroDivisionError"):
        distributed.fit(package.AROWClassifier(), shards, client)
    with pytest.warns(UserWarning, match="shard left out: partition 1: ZeroDivisionError"):
        assert distributed.fit(package.AROWClassifier(), shards, client, skip_bad_shards=True).n_updates_
    with pytest.raises(DataError, match=r"partition 0: expected pairs \(X, y\)"):
        distributed.fit(package.AROWClassifier(), bag.from_sequence([3, 4], npartitions=1), client)


def test_columns_of_data_frames_keep_their_names(client):
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(np.random.default_rng(0).standard_normal((40, 3)), columns=["a", "b", "c"])
    y = pandas.Series((X["a"] > 0).to_numpy())
    pairs = [(X[:20], y[:20]), (X[20:], y[20:])]
    model = distributed.fit(package.AROWClassifier(), pairs, client, rounds=2)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    other = X[20:].rename(columns={"b": "x"})
    with pytest.raises(ValueError, match="column 1 named 'b' and 'x'"):
        distributed.fit(package.AROWClassifier(), [pairs[0], (other, y[20:])], client)
    with pytest.raises(DataError, match="shard 0: column 1 is named 'x', and 'b' in the model"):
        distributed.fit(model.set_params(warm_start=True), [(other, y[20:])], client)


def test_frames_in_a_bag_are_aligned_by_the_names_of_their_columns(client):
    pandas = pytest.importorskip("pandas")
    bag = pytest.importorskip("dask.bag")
    X = pandas.DataFrame(np.random.default_rng(0).standard_normal((40, 3)), columns=["a", "b", "c"])
    y = (X["a"] > 0).to_numpy()
    turned = X[["c", "b", "a"]]
    options = {"shuffle": False, "epochs": 1}
    for second in (X, turned):
        shards = bag.from_sequence([(X[:20], y[:20]), (second[20:], y[20:])], npartitions=1)
        model = distributed.fit(package.AROWClassifier(**options), shards, client)
        expected = package.AROWClassifier(**options).fit(X, y)
        assert (model.coef_ == expected.coef_).all()
        assert model.feature_names_in_.tolist() == ["a", "b", "c"]


def test_a_target_that_is_not_finite_is_named(client):
    with pytest.raises(DataError, match="shard 0: target nan of row 1 is not a finite number"):
        distributed.fit(package.AROWRegressor(), [(np.eye(2), [1.0, np.nan])], client)


def test_x06_given_labels_of_text_must_be_exact_numbers(client, files):
    for label in (2**53 + 1, -(2**53), 1e300):
        with pytest.raises(ValueError, match=re.escape(f"label {label} is too large: from 2^53 on")):
            distributed.fit(package.AROWClassifier(), files[:1], client, labels=[1, label])


def test_shards_can_be_parts_of_a_file_and_labels_can_be_given(client, files):
    parts = distributed.split(files[0], 3)
    assert len(parts) == 3
    model = distributed.fit(package.AROWClassifier(), parts, client, labels=[-1, 1, 5])
    assert model.classes_.tolist() == [-1, 1, 5]
    hashed = distributed.fit(package.AROWClassifier(), parts, client, hash_bits=6)
    assert hashed.n_features_in_ == 64


def test_split_checks_its_arguments(files, tmp_path):
    with pytest.raises(FileNotFoundError):
        distributed.split(tmp_path / "none.svm", 2)
    with pytest.raises(ValueError, match="`pieces` must be a positive integer, got 0"):
        distributed.split(files[0], 0)
    first, second = distributed.split(files[0], 2)
    assert (first.path, first.start, first.stop) == (str(files[0]), 0, second.start)


def test_pairs_of_a_partition_are_stacked_as_what_they_are():
    from cwlearn.parallel.sources import _stacked

    X, y = _stacked([])
    assert (X.shape, y.shape) == ((0, 1), (0,))
    X, y = _stacked([(np.array([1.0, 2.0]), 0), (np.eye(2), [1, 2])])
    assert (X.tolist(), y.tolist()) == ([[1, 2], [1, 0], [0, 1]], [0, 1, 2])
    small = sparse.csr_matrix(np.array([[100, 0]], np.int8))
    X, y = _stacked([(small, [0]), (small, [1])])
    assert (X.format, X.dtype, X.toarray().tolist()) == ("csr", np.float64, [[100, 0], [100, 0]])
    frames = [pd.DataFrame({"a": [1], "b": [2]}), pd.DataFrame({"b": [3], "a": [4]})]
    X, y = _stacked([(frame, [0]) for frame in frames])
    assert X.to_dict("list") == {"a": [1, 4], "b": [2, 3]}
    assert "can be stacked" in _stacked([(np.eye(2), [0, 1]), (np.eye(3), [0, 1, 2])]).reason
