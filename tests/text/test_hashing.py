"""The hasher below the estimators: settings, rows, bad documents, weights, names, threads."""

from __future__ import annotations

import math
import pickle
import random
import threading
from decimal import Decimal, localcontext
from unicodedata import category

import numpy as np
import pytest
from sklearn.feature_extraction.text import HashingVectorizer as Original
from sklearn.utils import murmurhash3_32

from cwlearn.core.rows import as_rows
from cwlearn.text._hashing import LONGEST_DOCUMENT, Names, Settings, Tables, choose_vectors, hash_documents, murmur_of
from cwlearn.text.batch import Buffers
from cwlearn.text.characters import Characters
from cwlearn.text.hashing import BY_SPACE_PATTERN, Hasher, HashingSettings, documents_in, documents_of
from tests.hashing_cases import random_documents

TEXTS = [
    "The cat and the dog",
    "",
    "a",
    "dog dog dog bites man",
    "\u039f\u0394\u039f\u03a3 \u03a3\u0391\u03a3 caf\u00e9",
]


def memory():
    return Buffers(np.empty(0, np.uint8))


def parts(rows):
    return [array.tobytes() for array in (rows.indptr, rows.indices, rows.values, rows.squares)]


def test_code_points_become_what_the_interpreter_makes_of_it():
    """The tables, against `lower`, NFKD, `\\w` and `\\s` by way of scikit-learn."""
    letters = [chr(code) for code in range(0x110000)]
    often = ("Lo", "Co", "Cn")  # ideographs, private use, not assigned: of these, some
    letters = [x for x in letters if (kind := category(x)) != "Cs" and (kind not in often or ord(x) % 37 == 0)]
    documents = [f"ab{letter}cd e" for letter in letters]
    for settings in ({"strip_accents": "unicode"}, {"token_pattern": r"\S+", "lowercase": False}):
        expected = Original(**settings, norm=None).transform(documents)
        rows = Hasher(HashingSettings(**settings, norm=None)).rows(documents_of(documents), memory())
        np.testing.assert_array_equal(rows.indptr, expected.indptr)
        np.testing.assert_array_equal(rows.indices, expected.indices)
        np.testing.assert_array_equal(rows.values, expected.data)


def test_lower_case_of_lower_case_is_the_same():
    """A document with a capital sigma is lowered twice: by Python, and by the tables."""
    assert all(chr(code).lower().lower() == chr(code).lower() for code in range(0x110000))


def test_all_that_characters_become_fits_into_the_tables():
    characters = Characters(True, "unicode")  # which becomes the most
    for page in range(0x1100):
        characters.fill(page)  # raises if it does not


@pytest.mark.parametrize("size", range(13))
def test_the_hash_is_murmur(size):
    data = bytes(range(200, 200 + size))
    assert murmur_of(data) == murmurhash3_32(data)


def test_documents_in_an_array_are_those_of_a_list():
    data = [text.encode() for text in TEXTS]
    ends = np.cumsum([len(text) for text in data])
    spans = documents_in(np.frombuffer(b"".join(data), np.uint8), np.append(0, ends[:-1]), ends)
    hasher = Hasher(HashingSettings(ngram_range=(1, 2)))
    assert parts(hasher.rows(spans, memory())) == parts(hasher.rows(documents_of(TEXTS), memory()))
    assert [spans[number] for number in range(len(spans))] == data
    assert spans.size == sum(map(len, data))
    for number in (-1, len(data)):
        with pytest.raises(IndexError):
            spans[number]


def test_spans_outside_of_the_array_are_refused():
    text, one = np.zeros(3, np.uint8), np.ones(1, np.int64)
    for start, stop in [(-one, one), (2 * one, one), (one, 4 * one)]:
        with pytest.raises(ValueError, match="outside"):
            documents_in(text, start, stop)
    with pytest.raises(ValueError, match="differ in length"):
        documents_in(text, one, np.ones(2, np.int64))
    with pytest.raises(TypeError, match="expected strings or bytes, got int"):
        documents_of([1])
    with pytest.raises(UnicodeEncodeError):
        documents_of(["\ud800"])


@pytest.mark.parametrize(
    ("data", "offset"),
    [
        (b"\xff", 0),
        (b"ab\x80", 2),
        (b"a\xc0\xaf", 1),
        (b"\xe2\x82", 0),
        (b"ab \xed\xa0\x80", 3),
        (b"\xf4\x90\x80\x80", 0),
        (b"x" * 100 + b"\xf0\x9f\x98", 100),
        ("\u03a3".encode() + b"\xff", 2),
    ],
)
@pytest.mark.parametrize("analyzer", ["word", "char", "char_wb"])
def test_a_document_that_is_not_utf_8_is_named_with_its_byte(data, offset, analyzer):
    hasher = Hasher(HashingSettings(analyzer=analyzer, ngram_range=(2, 2)))
    documents = documents_of(["ab cd", data, "ef gh", data, "ij"])
    rows = hasher.rows(documents, memory())
    assert (rows.bad, rows.stop, len(rows.squares)) == ([(1, offset)], 1, 1)
    rows = hasher.rows(documents, memory(), max_bad=1)
    assert (rows.bad, rows.stop, len(rows.squares)) == ([(1, offset), (3, offset)], 3, 2)
    rows = hasher.rows(documents, memory(), max_bad=2)
    assert (rows.bad, rows.stop) == ([(1, offset), (3, offset)], 5)
    assert parts(rows) == parts(hasher.rows(documents_of(["ab cd", "ef gh", "ij"]), memory()))
    with pytest.raises(UnicodeDecodeError) as caught:
        data.decode()
    assert caught.value.start == offset


def test_a_part_of_the_documents_gives_a_part_of_the_rows():
    hasher = Hasher(HashingSettings())
    documents = documents_of(TEXTS)
    assert parts(hasher.rows(documents, memory(), first=1, stop=4)) == parts(
        hasher.rows(documents_of(TEXTS[1:4]), memory())
    )
    for first, stop in [(-1, 2), (2, 1), (0, 6)]:
        with pytest.raises(ValueError, match="there are no documents"):
            hasher.rows(documents, memory(), first=first, stop=stop)


@pytest.mark.parametrize("weighting", ["count", "binary", "log"])
@pytest.mark.parametrize("norm", [None, "l1", "l2"])
def test_rows_in_float32_are_those_in_float64_rounded_with_the_squares_of_a_checked_matrix(weighting, norm):
    rng = random.Random(1)
    documents = documents_of(random_documents(rng, 200, 400))
    settings = HashingSettings(weighting=weighting, norm=norm, n_features=50, ngram_range=(1, 2))
    wide, narrow = (Hasher(settings).rows(documents, memory(), dtype) for dtype in (np.float64, np.float32))
    assert narrow.values.dtype == np.float32
    np.testing.assert_array_equal(wide.values.astype(np.float32), narrow.values)
    for rows in (wide, narrow):
        matrix = Original(n_features=50).transform(["x"] * len(rows.squares))
        matrix.indptr, matrix.indices, matrix.data = rows.indptr.astype(np.int32), rows.indices, rows.values
        checked = as_rows(matrix, rows.values.dtype)
        assert checked.squares.tobytes() == rows.squares.tobytes()


@pytest.mark.parametrize("ngram_range", [(1, 1), (1, 2), (2, 2), (3, 7), (9, 40)])
def test_long_documents_have_the_columns_of_scikit_learn_with_wide_vectors_and_without(ngram_range):
    """Eight words are hashed at once, whose lengths differ; the last ones are hashed one by one."""
    rng = random.Random(0)
    words = [
        "".join(rng.choices("ab\u00e9\u4e2d\U00010400", k=rng.choice((2, 3, 4, 5, 8, 13, 40)))) for _ in range(200)
    ]
    documents = [" ".join(rng.choices(words, k=count)) for count in (*range(60), 1000)]
    expected = Original(ngram_range=ngram_range, norm=None).transform(documents)
    hasher = Hasher(HashingSettings(ngram_range=ngram_range, norm=None))
    used = choose_vectors(2)
    try:
        for wide in (2, 1, 0):
            choose_vectors(wide)
            rows = hasher.rows(documents_of(documents), memory())
            np.testing.assert_array_equal(rows.indptr, expected.indptr)
            np.testing.assert_array_equal(rows.indices, expected.indices)
            np.testing.assert_array_equal(rows.values, expected.data)
    finally:
        choose_vectors(used)


def test_the_logarithm_of_counts_is_exact_to_the_last_place_or_nearly():
    settings = HashingSettings(weighting="log", norm=None, alternate_sign=False)
    counts = [*range(1, 3000, 7), 4096, 10**5]
    rows = Hasher(settings).rows(documents_of(["ab " * count for count in counts]), memory())
    with localcontext() as context:
        context.prec = 40
        for count, value in zip(counts, rows.values.tolist(), strict=True):
            exact = 1 + Decimal(count).ln()
            assert abs(Decimal(value) - exact) <= Decimal(math.ulp(value)), count


def test_the_logarithm_keeps_sign_and_zero():
    counted = Hasher(HashingSettings(norm=None, n_features=4)).rows(documents_of(random_texts()), memory())
    logged = Hasher(HashingSettings(norm=None, n_features=4, weighting="log")).rows(
        documents_of(random_texts()), memory()
    )
    sums = counted.values
    assert (sums == 0).any()
    assert (sums < -1).any()
    expected = np.sign(sums) * (1 + np.log(np.maximum(np.abs(sums), 1))) * (sums != 0)
    np.testing.assert_allclose(logged.values, expected, rtol=1e-15)


def random_texts():
    return random_documents(random.Random(2), 100, 100)


def n_grams(text, settings):
    return Original(**settings).build_analyzer()(text)


@pytest.mark.parametrize(
    "settings",
    [
        {"ngram_range": (1, 3)},
        {"analyzer": "char", "ngram_range": (1, 4)},
        {"analyzer": "char_wb", "ngram_range": (2, 6)},
        {"analyzer": "char_wb", "ngram_range": (1, 2)},
        {"stop_words": ["ab", "dog"], "ngram_range": (2, 2)},
    ],
)
def test_columns_are_named_by_all_n_grams_that_hash_to_them(settings):
    texts = [*random_texts(), *TEXTS]
    ours = settings | ({"stop_words": tuple(settings["stop_words"])} if "stop_words" in settings else {})
    hasher = Hasher(HashingSettings(**ours, n_features=100))
    expected: dict[int, dict[str, int]] = {}
    for text in texts:
        for gram in n_grams(text, settings):
            column = abs(murmurhash3_32(gram)) % 100
            if column % 3 == 0:
                names = expected.setdefault(column, {})
                names[gram] = names.get(gram, 0) + 1
    documents = documents_of([b"not \xff UTF-8", *texts])
    assert hasher.names(documents, np.arange(0, 100, 3)) == expected
    assert hasher.names(documents, np.arange(0)) == {}


def test_columns_to_be_named_must_rise():
    with pytest.raises(ValueError, match="rise"):
        Names(np.array([2, 1], np.int32))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("analyzer", "words"),
        ("strip_accents", "yes"),
        ("token_pattern", r"\w"),
        ("weighting", "idf"),
        ("norm", "max"),
        ("ngram_range", (0, 1)),
        ("ngram_range", (2, 1)),
        ("n_features", 0),
        ("n_features", 2**31),
    ],
)
def test_a_bad_setting_is_named_with_its_value(name, value):
    with pytest.raises(ValueError) as caught:
        HashingSettings(**{name: value})
    assert f"`{name}`" in str(caught.value)
    assert repr(value) in str(caught.value)


def test_a_hasher_can_be_pickled():
    hasher = Hasher(HashingSettings(stop_words=("the",), token_pattern=BY_SPACE_PATTERN, lowercase=False))
    other = pickle.loads(pickle.dumps(hasher))
    assert other.settings == hasher.settings
    assert parts(other.rows(documents_of(TEXTS), memory())) == parts(hasher.rows(documents_of(TEXTS), memory()))


def test_memory_is_used_again_and_grows():
    hasher, buffers = Hasher(HashingSettings(analyzer="char", ngram_range=(1, 12))), memory()
    buffers.array("values", 10, np.float64)
    long = documents_of(["".join(map(chr, range(32, 10_000))), "x"])
    first = parts(hasher.rows(long, buffers))
    values = buffers.arrays["values"]
    assert parts(hasher.rows(long, buffers)) == first
    assert buffers.arrays["values"] is values


@pytest.mark.parametrize("accents", [None, "unicode", "ascii"])
def test_threads_share_tables_that_are_being_filled(accents):
    """Eight threads begin with empty tables, each at another place of Unicode."""
    pages = [range(start, 0xD700, 256) for start in range(0, 256, 32)]
    texts = [
        [chr(code) + "\u00e9 " + chr(code + 5) * 2 for code in (*codes[k:], *codes[:k])]
        for k, codes in zip(range(0, 200, 25), pages, strict=True)
    ]
    settings = HashingSettings(token_pattern=BY_SPACE_PATTERN, strip_accents=accents)
    expected = [parts(Hasher(settings).rows(documents_of(part), memory())) for part in texts]
    for _ in range(5):
        hasher = Hasher(settings)
        hasher._characters = Characters(True, accents)
        hasher._settings = Settings(
            hasher._characters.tables,
            None,
            analyzer=0,
            low=1,
            high=1,
            n_features=2**20,
            weighting=0,
            signs=True,
            norm=2,
            lowercase=True,
            by_space=True,
        )
        found = [None] * len(texts)
        barrier = threading.Barrier(len(texts))

        def work(number, hasher=hasher, found=found, barrier=barrier):
            barrier.wait()
            found[number] = parts(hasher.rows(documents_of(texts[number]), memory()))

        threads = [threading.Thread(target=work, args=(number,)) for number in range(len(texts))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == expected


def test_kernels_check_what_they_are_given():
    hasher, documents = Hasher(HashingSettings()), documents_of(TEXTS)
    indptr, indices, values, squares = np.zeros(6, np.int64), np.zeros(9, np.int32), np.zeros(9), np.zeros(5)
    for first, stop, n_rows, bounds in [
        (-1, 2, 0, 0),
        (0, 9, 0, 0),
        (0, 1, 6, 0),
        (0, 1, -1, 0),
        (0, 1, 0, 10),
        (0, 1, 0, -1),
    ]:
        indptr[:] = bounds
        with pytest.raises(ValueError):
            hash_documents(documents, hasher._settings, first, stop, indptr, indices, values, squares, n_rows, False)
    tables = Tables()
    for page, replacements, flags in [
        (-1, [0] * 256, {}),
        (0x1100, [0] * 256, {}),
        (0, [0], {}),
        (0, [0] * 256, {2**21: 1}),
    ]:
        with pytest.raises(ValueError):
            tables.fill(page, replacements, flags)
    with pytest.raises(MemoryError):
        tables.fill(1, [b"x" * 256] * 256, {})
    with pytest.raises(ValueError, match="first page"):
        Settings(
            tables,
            None,
            analyzer=0,
            low=1,
            high=1,
            n_features=9,
            weighting=0,
            signs=True,
            norm=0,
            lowercase=True,
            by_space=False,
        )


def test_a_document_that_is_too_long_is_refused():
    """Its memory is never touched: it is one byte of zeros, over and over."""
    text = np.zeros(LONGEST_DOCUMENT, np.uint8)
    documents = documents_in(text, np.zeros(1, np.int64), np.array([LONGEST_DOCUMENT]))
    for analyzer in ("word", "char"):
        with pytest.raises(MemoryError, match="document 0"):
            hash_documents(
                documents,
                Hasher(HashingSettings(analyzer=analyzer))._settings,
                0,
                1,
                np.zeros(2, np.int64),
                np.zeros(1, np.int32),
                np.zeros(1),
                np.zeros(1),
                0,
                False,
            )
