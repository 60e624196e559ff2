"""The vectors of the hasher, wide and narrow: where blocks, pieces and sorted parts end, as scikit-learn has it."""

from __future__ import annotations

import random

import numpy as np
import pytest
from sklearn.feature_extraction.text import HashingVectorizer as Original

from cwlearn.text._hashing import choose_vectors
from cwlearn.text.batch import Buffers
from cwlearn.text.hashing import Hasher, HashingSettings, documents_of

NOT_ASCII = "\u00e9"


@pytest.fixture(params=[2, 1, 0], ids=["AVX-512", "AVX2", "narrow"], autouse=True)
def vectors(request):
    used = choose_vectors(request.param)
    yield
    choose_vectors(used)


def assert_rows_of_scikit_learn(documents, settings):
    expected = Original(**settings, norm=None).transform(documents)
    hasher = Hasher(HashingSettings(**settings, norm=None))
    rows = hasher.rows(documents_of(documents), Buffers(np.empty(0, np.uint8)))
    np.testing.assert_array_equal(rows.indptr, expected.indptr)
    np.testing.assert_array_equal(rows.indices, expected.indices)
    np.testing.assert_array_equal(rows.values, expected.data)


@pytest.mark.parametrize("n_features", [3, 1000, 2**20, 2**31 - 1])
@pytest.mark.parametrize("alternate_sign", [True, False])
def test_documents_of_any_number_of_n_grams_have_the_rows_of_scikit_learn(n_features, alternate_sign):
    """Columns are sorted by a network up to 2048 of them, in buckets above that, and otherwise if a bucket is long."""
    rng = random.Random(n_features)
    words = ["".join(rng.choices("abcdefgh", k=rng.randint(2, 9))) for _ in range(3000)]
    counts = [
        *range(1, 20),
        31,
        32,
        33,
        63,
        64,
        65,
        127,
        128,
        129,
        511,
        513,
        1024,
        1025,
        2047,
        2048,
        2049,
        5000,
        20_000,
    ]
    documents = [" ".join(rng.choices(words, k=count)) for count in counts]
    documents += ["ab " * count + documents[-4] for count in (2000, 3000, 9000)]  # one column of many n-grams
    assert_rows_of_scikit_learn(documents, {"n_features": n_features, "alternate_sign": alternate_sign})


@pytest.mark.parametrize("settings", [{}, {"token_pattern": r"\S+"}, {"analyzer": "char_wb", "ngram_range": (2, 3)}])
def test_tokens_at_the_borders_of_blocks_and_pieces_are_those_of_scikit_learn(settings):
    """Text is taken apart 64 bytes at once, in pieces of 2048 bytes, and behind a character not ASCII one by one."""
    rng = random.Random(0)
    rests = ["", "x", " x", "xy,z", (NOT_ASCII + "x") * 3, NOT_ASCII + "q" * 200, "q" * 5000]
    documents = ["w" * size for size in (1, 2, 15, 16, 17, 31, 32, 33, 2047, 2048, 2049, 4100)]
    for border in (64, 128, 2048, 4096):
        for shift in range(-4, 3):
            before = "".join(rng.choices("abc  D_,", k=border + shift))
            documents += [before + rest for rest in rests]
    assert_rows_of_scikit_learn(documents, settings)


@pytest.mark.parametrize("ngram_range", [(1, 1), (1, 2), (2, 3), (1, 8), (1, 9)])
def test_words_between_very_long_ones_are_hashed_as_scikit_learn_does(ngram_range):
    """Eight words are hashed at once, unless an n-gram is longer than 64 bytes; those are hashed one by one."""
    rng = random.Random(1)
    lengths = [2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 30, 31, 62, 63, 64, 65, 66, 200, 3000]
    documents = [
        " ".join("".join(rng.choices("abc", k=rng.choice(lengths[:kinds]))) for _ in range(60))
        for kinds in range(1, len(lengths) + 1)
    ]
    assert_rows_of_scikit_learn(documents, {"ngram_range": ngram_range})
