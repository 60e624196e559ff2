"""Random documents and settings for the hasher, and scikit-learn's answer to them."""

from __future__ import annotations

import random
import warnings
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer as Original

from cwlearn import HashingVectorizer
from cwlearn.estimators import vectorizer
from cwlearn.text import hashing_in_threads

ALPHABETS = [
    "abcdefgh ABCDEFGH",
    "ab AB_12,.-'!\x00\x7f",
    " \t\n\r\v\f\x1c\x1d\x1e\x1f ab",
    "éÉàÀßẞﬁŒœ",
    "\u0130I\u0131i\u03a3\u03c3\u03c2\u0391\u03b1\u03c2 \u017f\u212a\u212b",  # special lower case
    "\u0301\u0308\u0327\u0345\u200d e",  # marks that combine
    "日本語カタカナｶﾀｶﾅ、。",
    "اللغةالعربيةﷺ ١٢٣",
    "हिन्दीक्षตัวอย่าง",
    "각힣각한글",
    "🙂👨👩👧\U0001f3fd🇩🇪",
    "\u0085\u00a0\u1680\u2003\u2028\u3000",  # white space
    "ﬁ™①Ⅳ½²ªºǅ",
    "\U0001d400\U0001d538\U00010400\U0001e900\U00016e40\U000e0100\U0002f800",  # of other planes
]
TABLES = [np.array([ord(letter) for letter in alphabet], np.uint32) for alphabet in ALPHABETS]
STOP_WORDS = ["ab", "abc", "éa", "日本", "ba", "aa", "bb"]


def random_settings(rng: random.Random) -> dict[str, Any]:
    """Settings that the compiled loops handle."""
    analyzer = rng.choice(["word", "word", "char", "char_wb"])
    ranges = [(1, 1), (1, 2), (2, 2), (1, 3), (2, 4), (3, 5), (4, 4), (1, 9), (7, 13)]
    settings: dict[str, Any] = {
        "analyzer": analyzer,
        "ngram_range": rng.choice(ranges),
        "lowercase": rng.random() < 0.7,
        "strip_accents": rng.choice([None, None, "ascii", "unicode"]),
        "n_features": rng.choice([2**20, 2**20, 2**4, 2**31 - 1, 1000, 7, 1]),
        "binary": rng.random() < 0.3,
        "norm": rng.choice([None, "l1", "l2"]),
        "alternate_sign": rng.random() < 0.7,
        "dtype": rng.choice([np.float32, np.float64]),
    }
    if analyzer == "word":
        settings["token_pattern"] = rng.choice([r"(?u)\b\w\w+\b", r"\S+"])
        settings["stop_words"] = rng.choice([None, None, "english", STOP_WORDS])
    return settings


def random_documents(rng: random.Random, count: int, longest: int) -> list[str]:
    """Documents of a few alphabets each, some of all planes of Unicode; one of a hundred is twenty times as long."""
    numbers = np.random.default_rng(rng.getrandbits(64))
    lengths = numbers.integers(0, longest + 1, count)
    lengths[numbers.random(count) < 0.01] *= 20
    documents: list[str] = []
    while len(documents) < count:
        part = lengths[len(documents) : len(documents) + 50]
        size = int(part.sum())
        if rng.random() < 0.15:
            codes = numbers.integers(0, 0x110000, size, np.uint32)
            codes[(codes >= 0xD800) & (codes < 0xE000)] = 0x20
        else:
            pool = np.concatenate(rng.sample(TABLES, rng.randint(1, 4)) + [TABLES[0]] * rng.randint(0, 3))
            codes = pool[numbers.integers(0, len(pool), size)]
        text = codes.astype("<u4").tobytes().decode("utf-32-le")
        ends = np.cumsum(part).tolist()
        documents += [text[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    return documents


def assert_same(documents: Any, settings: dict[str, Any]) -> int:
    """Our matrix has the bits of scikit-learn's; returns how many entries that has."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of stop words that the settings can never find
        expected = Original(**settings).transform(documents)
        found = HashingVectorizer(**settings).transform(documents)
    assert type(found) is type(expected)
    assert found.shape == expected.shape, settings
    for name in ("indptr", "indices", "data"):
        ours, theirs = getattr(found, name), getattr(expected, name)
        assert ours.dtype == theirs.dtype, (settings, name)
        assert ours.tobytes() == theirs.tobytes(), (settings, name)
    return int(expected.nnz)


def use_threads(monkeypatch: Any, threads: int) -> None:
    """Have every transform use so many threads, for however little text."""
    monkeypatch.setattr(vectorizer, "usable_cores", lambda: threads)
    monkeypatch.setattr(hashing_in_threads, "LEAST_SIZE", 0)
