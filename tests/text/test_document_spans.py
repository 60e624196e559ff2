"""Where n-grams stand in a document: the columns are those of the compiled loops."""

from __future__ import annotations

import random

import numpy as np
import pytest

from cwlearn.core.text_options import TextOptions
from cwlearn.text.document_spans import Document
from cwlearn.text.hashing import Hasher, settings_of

LETTERS = "abAB Éé İıΣσς ßﬁ  \t\n,.'한글日本_0٣ǅ\u0301"


def options_of(rng):
    return TextOptions(
        ngram_range=rng.choice([(1, 1), (1, 2), (2, 3), (3, 5)]),
        analyzer=rng.choice(["word", "char", "char_wb"]),
        lowercase=rng.random() < 0.7,
        strip_accents=rng.choice([None, "ascii", "unicode"]),
        stop_words=rng.choice([None, ("ab", "é")]),
        token_pattern=rng.choice([r"(?u)\b\w\w+\b", r"\S+"]),
        weighting="count",
        idf=False,
        norm=None,
    )


@pytest.mark.parametrize("seed", range(5))
def test_columns_and_counts_are_those_that_are_learned(seed):
    rng = random.Random(seed)
    for _ in range(100):
        options, text = options_of(rng), "".join(rng.choice(LETTERS) for _ in range(rng.randrange(40)))
        hashed = Hasher(settings_of(options, 12)).row(text, np.float64)
        document = Document(text, options, 12)
        counts = {}
        for ngram in document.ngrams:
            counts[ngram.column] = counts.get(ngram.column, 0) + len(ngram.places)
        assert counts == dict(zip(hashed.indices.tolist(), hashed.values.tolist(), strict=True))
        pieces = document.pieces(dict.fromkeys(counts, 1.0))
        assert "".join(piece.text for piece in pieces) == text
        first = document.pieces(dict.fromkeys(counts, 1.0), within=5)
        assert "".join(piece.text for piece in first) == text
        assert first[:-1] == pieces[: len(first) - 1]


def test_an_amount_is_shared_by_all_words_of_its_ngrams():
    document = Document("Big cat, big Cat", TextOptions(), 20)
    column = next(ngram.column for ngram in document.ngrams if len(ngram.places[0]) == 2)  # big cat, twice
    pieces = document.pieces({column: 8.0})
    assert [piece.amount for piece in pieces if piece.amount is not None] == [2.0, 2.0, 2.0, 2.0]
    assert set(document.names().values()) == {"Big", "cat", "Big cat", "cat big"}


def test_spaces_in_ngrams_of_characters_are_seen():
    document = Document("Zoë ﬁts", TextOptions(ngram_range=(2, 2), analyzer="char_wb", strip_accents="unicode"), 20)
    assert set(document.names().values()) == {"Zo", "oë", "ts", "s␣", "␣Z", "␣ﬁ", "ë␣", "ﬁ", "ﬁt"}
    document = Document("a  b", TextOptions(ngram_range=(3, 3), analyzer="char"), 20)
    assert [*document.names().values()] == ["a␣b"]
