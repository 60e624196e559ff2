"""Arrays that grow."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from cwlearn.utils.growable import HUGE, HUGE_PAGE, GrowableArray, empty


def test_items_stay_when_an_array_grows():
    array = GrowableArray(np.float32, (2,))
    for size in (1, 2, 3, 10, 1000):
        old = array.size
        array.extended(size)[old:] = size
        array.size = size
    assert array.values.shape == (1000, 2)
    assert array.values[[0, 1, 2, 9, 999], 0].tolist() == [1, 2, 3, 10, 1000]


def test_spare_memory_is_used_before_more_is_taken():
    array = GrowableArray(np.int64)
    array.append(np.arange(10))
    before = array.values
    array.append(np.arange(5))
    assert np.shares_memory(before, array.values)
    array.append(np.arange(100))
    assert not np.shares_memory(before, array.values)
    assert array.values.tolist() == [*range(10), *range(5), *range(100)]


def test_an_extension_is_not_in_use_before_its_size_is_set():
    array = GrowableArray(float)
    array.append(np.ones(3))
    array.extended(50)
    assert array.values.tolist() == [1, 1, 1]


def test_the_expected_size_is_taken_at_once():
    array = GrowableArray(float)
    array.append(np.ones(1), expected=1000)
    before = array.values
    array.append(np.ones(900))
    assert np.shares_memory(before, array.values)


def test_an_expected_size_beyond_the_memory_is_ignored():
    array = GrowableArray(float)
    array.append(np.ones(3), expected=1 << 58)
    assert array.values.tolist() == [1, 1, 1]


def test_the_type_becomes_wide_enough_for_new_items():
    array = GrowableArray(np.int32)
    array.append(np.arange(3, dtype=np.int32))
    array.append(np.array([2**40]))
    assert array.dtype == np.int64
    assert array.values.tolist() == [0, 1, 2, 2**40]


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda array: pickle.loads(pickle.dumps(array))])
def test_a_copy_has_the_items_and_no_spare_memory(copied):
    array = GrowableArray(float)
    array.append(np.ones(3), expected=1 << 20)
    twin = copied(array)
    array.values[:] = 2
    assert twin.values.tolist() == [1, 1, 1]
    assert len(pickle.dumps(array)) < 1000
    assert twin.values.base is None or twin.values.base.size == 3


@pytest.mark.parametrize("more", [-1, 0, 1, HUGE_PAGE // 4 + 3])
@pytest.mark.parametrize("bytes_", [HUGE, 3 * HUGE])
def test_large_arrays_begin_at_a_huge_page_and_have_all_their_items(bytes_, more):
    array = empty((bytes_ // 4 + more,), np.dtype(np.float32))
    assert array.shape == (bytes_ // 4 + more,)
    assert array.flags.c_contiguous
    assert array.flags.writeable
    if array.nbytes >= HUGE:
        assert array.ctypes.data % HUGE_PAGE == 0
    array[:] = 1
    assert array.sum() == len(array)
    assert empty((2, bytes_ // 16, 2), np.dtype(np.float64)).shape == (2, bytes_ // 16, 2)
