"""Labels: those that can be learned can be saved, loaded and predicted; all others are refused before learning."""

from __future__ import annotations

import datetime
import decimal
import fractions
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cwlearn as package
from cwlearn.core import class_labels, model_file, rules
from cwlearn.core.class_labels import check_labels, check_types
from cwlearn.core.learner import Learner
from cwlearn.core.training import Training
from cwlearn.parallel.tasks import Plan, find_labels
from tests.text_cases import succeed

X = np.eye(6)
EXPECTED = "labels must be of one type, all numbers, all strings or all booleans; found "


def objects(*values):
    """An array of these objects in turn, unconverted."""
    array = np.empty(6, object)
    for row in range(6):
        array[row] = values[row % len(values)]
    return array


def in_turn(*values):
    return [values[row % len(values)] for row in range(6)]


DATES = [datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)]
REFUSED = {
    "dates of NumPy": (np.array(in_turn("2020-01-01", "2021-01-01"), "M8[s]"), f"{EXPECTED}an array of datetime64"),
    "times of NumPy": (np.array(in_turn(1, 2), "m8[s]"), f"{EXPECTED}an array of timedelta64"),
    "dates": (objects(*DATES), f"{EXPECTED}datetime.date(2020, 1, 1) (date) in row 0"),
    "dates of pandas": (pd.Series(pd.to_datetime(in_turn(*DATES))), f"{EXPECTED}an array of datetime64"),
    "periods": (pd.Series(pd.period_range("2020-01", periods=6, freq="M")), "(Period) in row 0"),
    "NA in a list": (in_turn("a", "b", pd.NA), f"{EXPECTED}<NA> (NAType) in row 2"),
    "NA": (objects("a", "b", pd.NA), f"{EXPECTED}<NA> (NAType) in row 2"),
    "NA among numbers": (pd.Series([1, 2, None, 1, 2, 1], dtype="Int64"), f"{EXPECTED}<NA> (NAType) in row 2"),
    "NA among strings": (pd.Series(["a", "b", None] * 2, dtype="string"), "in row 2", "found nan"),
    "NA among booleans": (pd.Series([True, False, None] * 2, dtype="boolean"), f"{EXPECTED}<NA> (NAType) in row 2"),
    "NaT": (objects(1, pd.NaT), f"{EXPECTED}NaT (NaTType) in row 1"),
    "None": (in_turn("a", None), f"{EXPECTED}None (NoneType) in row 1"),
    "None everywhere": ([None] * 6, f"{EXPECTED}None (NoneType) in row 0"),
    "NaN among strings": (objects("a", float("nan")), f"{EXPECTED}nan (float) and 'a' (str)"),
    "NaN": (in_turn(1.0, 2.0, float("nan")), "contains NaN"),
    "infinity": (in_turn(1.0, 2.0, float("inf")), "contains infinity"),
    "bytes of NumPy": (np.array(in_turn(b"a", b"b")), f"{EXPECTED}an array of |S1"),
    "bytes": (in_turn(b"a", b"b"), f"{EXPECTED}b'a' (bytes) in row 0"),
    "complex numbers of NumPy": (np.array(in_turn(1j, 2)), "Complex data not supported: labels must be"),
    "complex numbers": (objects(1j, 2j), f"{EXPECTED}1j (complex) in row 0"),
    "tuples": (objects((1, 2), (3, 4)), f"{EXPECTED}(1, 2) (tuple) in row 0"),
    "lists of tuples": (in_turn((1, 2), (3, 4)), "1d array", "Unknown label type"),
    "dicts": (objects({}, {1: 2}), f"{EXPECTED}{{}} (dict) in row 0"),
    "types": (objects(int, str), f"{EXPECTED}<class 'int'> (type) in row 0"),
    "decimals": (objects(decimal.Decimal(1), decimal.Decimal(2)), f"{EXPECTED}Decimal('1') (Decimal) in row 0"),
    "fractions": (objects(fractions.Fraction(1, 2), fractions.Fraction(2)), "(Fraction) in row 0"),
    "numbers and strings": (in_turn(1, "a"), f"{EXPECTED}1 (int) and 'a' (str)"),
    "a number and its text": (in_turn(1, "1"), f"{EXPECTED}1 (int) and '1' (str)"),
    "numbers and strings as objects": (objects(1, "a"), f"{EXPECTED}1 (int) and 'a' (str)"),
    "booleans and strings": (in_turn(True, "a"), f"{EXPECTED}True (bool) and 'a' (str)"),
    "numbers as objects": (objects(1, 2), "Unknown label type: numbers in an array of objects; expected strings"),
    "booleans as objects": (objects(True, False), "Unknown label type: numbers in an array of objects"),
    "numbers beyond 64 bits": (in_turn(2**70, 2**71), "Unknown label type: numbers in an array of objects"),
    "fractional numbers": (in_turn(0.5, 1.5), "Unknown label type"),
    "strings of NumPy 2": (np.array(in_turn("a", "b"), np.dtypes.StringDType()), f"{EXPECTED}an array of StringDType"),
    "structures": (np.array(in_turn((1, 2), (3, 4)), "i4,i4"), f"{EXPECTED}an array of [('f0'"),
    "bare bytes": (np.array(in_turn(b"ab", b"cd"), "V2"), f"{EXPECTED}an array of |V2"),
    "a lone surrogate": (in_turn("a", "\ud800"), "label '\\ud800' (str) has a lone surrogate, which is no character"),
    "a lone surrogate as an object": (objects("a", "b\udfff"), "has a lone surrogate"),
    "NUL at the end": (objects("a\0", "a"), "label 'a\\x00' (str) ends in NUL, which NumPy", "found one class"),
    "too large": (in_turn(0.0, 1e300), "Unknown label type"),
}


def classes_of(y):
    """The `classes` that a user would pass for such rows."""
    if isinstance(y, np.ndarray):
        return y
    return y if isinstance(y, list) else y.array


@pytest.mark.parametrize("how", ["fit", "partial_fit", "classes"])
@pytest.mark.parametrize("name", REFUSED)
def test_x16_what_cannot_be_a_label_is_refused_at_the_door(name, how):
    y, *messages = REFUSED[name]
    model = package.AROWClassifier(epochs=1)
    attempts = {
        "fit": lambda: model.fit(X, y),
        "partial_fit": lambda: model.partial_fit(X, y, classes=classes_of(y)),
        "classes": lambda: model.partial_fit(X, in_turn(0, 1), classes=classes_of(y)),
    }
    with pytest.raises(ValueError, match="|".join(map(re.escape, messages))):
        attempts[how]()
    assert not hasattr(model, "classes_")


TAKEN = {
    "strings": in_turn("a", "b"),
    "strings as objects": objects("a", "b"),
    "strings of a class of their own": objects(type("Text", (str,), {})("a"), np.str_("b")),
    "empty and odd strings": in_turn("", "a\nb", "größer \U0001f600"),
    "wide strings": np.array(in_turn("a", "b"), "<U100000"),
    "strings of other bytes": np.array(in_turn("a", "b"), ">U3"),
    "a category": pd.Series(in_turn("a", "b"), dtype="category"),
    "strings of pandas": pd.Series(in_turn("a", "b"), dtype="string"),
    "numbers of pandas": pd.Series(in_turn(1, 2), dtype="Int64"),
    "booleans": in_turn(True, False),
    "a boolean and a number": in_turn(True, 2),
    "whole numbers": in_turn(3, -7),
    "a range": range(6),
    "a column": np.array(in_turn(3, 4))[:, None].ravel(),
    "the largest numbers": in_turn(2**63 - 1, -(2**63)),
    "numbers without a sign": np.array(in_turn(2**64 - 1, 5), np.uint64),
    "numbers of other bytes": np.array(in_turn(1, 2), ">i4"),
    "short numbers": np.array(in_turn(1, 2), np.int8),
    "half numbers": np.array(in_turn(1, 2), np.float16),
    "long numbers": np.array(in_turn(1, 2), np.longdouble),
    "floats": in_turn(-0.0, 1.0, 1e15),
    "a long string": objects("x" * 10**6, "y"),
}


@pytest.mark.parametrize("how", ["fit", "partial_fit"])
@pytest.mark.parametrize("name", TAKEN)
def test_x16_labels_that_are_learned_can_be_saved_loaded_and_predicted(name, how, tmp_path):
    y = TAKEN[name]
    model = package.AROWClassifier(epochs=1, random_state=0)
    model = model.fit(X, y) if how == "fit" else model.partial_fit(X, y, classes=np.unique(np.asarray(y)))
    model.save(tmp_path / "m.npz")
    again = package.load(tmp_path / "m.npz")
    assert again.classes_.dtype == model.classes_.dtype
    assert again.classes_.tolist() == model.classes_.tolist()
    assert again.predict(X).tolist() == model.predict(X).tolist()
    (tmp_path / "data.svm").write_text("1:1\n2:1\n")
    assert succeed("predict", tmp_path / "data.svm", "-m", tmp_path / "m.npz", "--no-labels").out


@settings(max_examples=60, deadline=None)
@given(
    st.one_of(
        st.lists(st.text(st.characters(codec=None), max_size=3), min_size=2, max_size=5, unique=True),
        st.lists(st.integers(-(2**70), 2**70), min_size=2, max_size=5, unique=True),
        st.lists(st.floats(width=32), min_size=2, max_size=5, unique=True),
        st.lists(
            st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.text(max_size=2), st.binary(max_size=2)),
            min_size=2,
            max_size=5,
        ),
    ),
    st.booleans(),
)
def test_x16_any_labels_are_refused_or_come_back(tmp_path_factory, labels, as_objects):
    """Labels that are learned come back from a file unchanged, with the same type."""
    y = objects(*labels) if as_objects else in_turn(*labels)
    try:
        model = package.PerceptronClassifier(epochs=1).fit(X, y)
    except ValueError:
        return
    path = tmp_path_factory.mktemp("m") / "m.npz"
    model.save(path)
    again = package.load(path)
    assert again.classes_.dtype == model.classes_.dtype
    assert again.classes_.tolist() == model.classes_.tolist()
    assert again.predict(X).tolist() == model.predict(X).tolist()
    for label in again._learner.label_names:
        assert label.encode().decode() == label


def test_x16_labels_that_would_change_in_a_file_are_refused():
    close = np.array([1, 1 + np.finfo(np.longdouble).eps], np.longdouble)
    if close[0] != float(close[1]):
        pytest.skip("long double has no more digits than double here")
    with pytest.raises(ValueError, match="expected different, sorted labels"):
        check_labels(close)
    wide = np.array([0, 2**60 + 1], np.longdouble)
    with pytest.raises(ValueError, match="labels of type float128 cannot be saved: they come back as 0"):
        check_labels(wide)


def test_x16_very_many_labels_are_refused_before_they_are_learned(monkeypatch):
    monkeypatch.setattr(class_labels, "MOST_BYTES", 100)
    check_labels(np.arange(12))
    with pytest.raises(ValueError, match=r"take \d+ bytes as text and 104 as an array; at most 16,777,216 and 100"):
        check_labels(np.arange(13))
    monkeypatch.setattr(class_labels, "MOST_TEXT", 1000)
    with pytest.raises(ValueError, match="labels are too many or too long to be saved: they take 1,0"):
        package.AROWClassifier().fit(X, objects("x" * 1000, "y"))


def test_x16_labels_of_later_rows_are_compared_with_those_of_the_model():
    model = package.AROWClassifier().partial_fit(X, in_turn("a", "b"), classes=["a", "b"])
    with pytest.raises(ValueError, match="row 1: label 7 is not one of the labels"):
        model.partial_fit(X, objects("a", 7))
    with pytest.raises(ValueError, match=r"<NA> \(NAType\) in row 1"):
        model.partial_fit(X, objects("a", pd.NA))
    numbers = package.AROWClassifier().partial_fit(X, in_turn(0, 1), classes=[0, 1])
    numbers.partial_fit(X, in_turn(0.0, 1.0)).partial_fit(X, in_turn(False, True))
    assert numbers.classes_.dtype == np.int64


def test_x16_labels_of_shards_are_checked_too():
    plan = Plan(rules.AROW(), Training(), "posterior")
    for y, message in ((np.array(in_turn(*DATES), "M8[D]"), "datetime64"), (objects("a", "b", pd.NA), "<NA>")):
        found, failures = find_labels(plan, True, ["shard"], (X, y))
        assert not found
        assert failures[0].startswith(f"shard: {EXPECTED}")
        assert message in failures[0]


def test_x16_a_surrogate_in_an_old_model_is_escaped(tmp_path):
    """An earlier version could save such a label."""
    learner = Learner(rules.AROW(), Training(), np.array(["a\ud800", "b\udfff"]), 3)
    model_file.save(learner, tmp_path / "m.npz")
    (tmp_path / "data.svm").write_text("1:1\n")
    words = ["predict", tmp_path / "data.svm", "-m", tmp_path / "m.npz", "--no-labels"]
    assert succeed(*words).out == "a\\ud800\n"
    assert succeed(*words, "--proba").out.startswith("labels a\\ud800 b\\udfff\n")
    assert "a\\ud800" in succeed("inspect", tmp_path / "m.npz").out


def test_x16_plain_arrays_and_scalars_pass_the_check_of_types():
    for y in (np.zeros(3), np.zeros(3, bool), np.array(["a"])):
        check_types(y)
    check_types("no rows at all")  # which scikit-learn has words for
    check_types(5)


INTEGERS = st.sampled_from(["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])


@settings(max_examples=150, deadline=None)
@given(st.data(), INTEGERS)
def test_whole_numbers_are_found_and_numbered_by_a_table_as_by_a_search(data, dtype):
    limits = np.iinfo(dtype)
    near = st.integers(0, 50).map(lambda k: data_low + k)
    data_low = data.draw(st.integers(int(limits.min), int(limits.max) - 50))
    far = st.sampled_from([int(limits.min), int(limits.max)])
    values = data.draw(st.lists(near | far if data.draw(st.booleans()) else near, min_size=1, max_size=40))
    labels = np.array(values, dtype)
    expected = np.unique(labels)
    found = class_labels.distinct_numbers(labels)
    if found is not None:
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
    span = int(labels.max()) - int(labels.min()) + 1
    assert found is not None or span > class_labels.LEAST_TABLE or int(labels.max()) >= 1 << 62
    numbers = class_labels.numbers_by_table(expected, labels)
    assert (numbers is None) == (found is None)
    if numbers is not None:
        np.testing.assert_array_equal(numbers, np.searchsorted(expected, labels))
        unknown = np.array([value for value in range(data_low, data_low + 51) if value not in values], dtype)
        if len(unknown):
            assert class_labels.numbers_by_table(expected, np.append(labels, unknown[:1])) is None


def test_labels_that_are_no_whole_numbers_have_no_table():
    for labels in (np.array([0.0, 1.0]), np.array(["a", "b"]), np.array([True, False]), np.empty(0, np.int64)):
        assert class_labels.distinct_numbers(labels) is None
        assert class_labels.numbers_by_table(np.array([0, 1, 2]), labels) is None
        assert class_labels.numbers_by_table(labels, np.array([0, 1])) is None
