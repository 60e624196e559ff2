"""HashingVectorizer: the bits, the errors and the manners of scikit-learn's."""

from __future__ import annotations

import inspect
import io
import pickle
import random
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.feature_extraction.text import HashingVectorizer as Original
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks

import cwlearn
from cwlearn import AROWClassifier, HashingVectorizer
from cwlearn.estimators import vectorizer
from cwlearn.text import _hashing
from tests.hashing_cases import assert_same, random_documents, random_settings, use_threads

TEXTS = [
    "The cat sat on the mat.",
    "",
    "  ",
    "A",
    "caf\u00e9 CAF\u00c9 \u0130stanbul",
    "\u039f\u0394\u039f\u03a3 dog dog",
    "x_1 y-2\tz",
]


CHECKS = [  # those that do without numbers as input
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_estimator_tags_renamed",
    "check_get_params_invariance",
    "check_mixin_order",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_set_params",
    "check_valid_tag_types",
]


@pytest.mark.parametrize("check", CHECKS)
def test_estimator_checks(check):
    getattr(estimator_checks, check)("HashingVectorizer", HashingVectorizer(n_features=16))


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("seed", range(40))
def test_random_unicode_gets_the_bits_of_scikit_learn(seed, threads, monkeypatch):
    rng = random.Random(seed)
    use_threads(monkeypatch, threads)
    for longest in (5, 60):
        assert_same(random_documents(rng, 60, longest), random_settings(rng))


GRID = [
    {"analyzer": analyzer, "ngram_range": ngram_range, "lowercase": lowercase, "strip_accents": accents}
    for analyzer in ("word", "char", "char_wb")
    for ngram_range in ((1, 1), (1, 2), (3, 5))
    for lowercase in (False, True)
    for accents in (None, "ascii", "unicode")
]


@pytest.mark.parametrize("settings", GRID, ids=lambda settings: "-".join(map(str, settings.values())))
def test_a_grid_of_settings_gets_the_bits_of_scikit_learn(settings):
    documents = [*TEXTS, *random_documents(random.Random(7), 30, 70)]
    for dtype in (np.float32, np.float64):
        for norm in (None, "l1", "l2"):
            assert_same(documents, {**settings, "dtype": dtype, "norm": norm, "n_features": 500})


@pytest.mark.parametrize("size", [1, 2, 3, 15, 16, 17, 31, 32, 33, 62, 63, 64, 65, 66, 127, 128, 129, 200])
def test_tokens_and_white_space_at_the_borders_of_blocks(size):
    rng = random.Random(size)
    documents = ["a" * size, " " * size, "a" * size + " ", " " + "a" * size, "a" * (size - 1) + "  b" * 40]
    documents += ["a" * size + "\u00e9" + "B" * size, "\u00e9" * size, "a b" * size, "ab\t\tcd " * size]
    documents += ["".join(rng.choice("aB_ .\t") for _ in range(size)) for _ in range(50)]
    for analyzer in ("word", "char", "char_wb"):
        for ngram_range in ((1, 1), (1, 2), (2, 6)):
            assert_same(documents, {"analyzer": analyzer, "ngram_range": ngram_range})
    assert_same(documents, {"token_pattern": r"\S+"})
    assert_same(documents, {"token_pattern": r"(?u)\S+", "lowercase": False, "stop_words": ["a" * size, "B"]})


@pytest.mark.parametrize(
    "settings", [{}, {"ngram_range": (1, 2)}, {"analyzer": "char"}, {"n_features": 3}, {"dtype": "float32"}]
)
def test_a_huge_document(settings):
    rng = random.Random(3)
    words = ["".join(rng.choice("abcdefgh") for _ in range(rng.randint(1, 9))) for _ in range(2000)]
    text = " ".join(rng.choice(words) for _ in range(100_000))
    assert_same([text, "ab " * 50_000, "ab ba " * 50_000, ""], settings)


def test_many_copies_of_two_tokens_in_one_bucket_do_not_take_quadratic_time():
    """Two tokens whose columns are neighbours, in turns: the worst case of the sort."""
    columns = {}
    for number in range(100_000):
        token = f"t{number}"
        column = abs(_hashing.murmur_of(token.encode())) % 2**20
        if column - 1 in columns:
            pair = token, columns[column - 1]
            break
        columns[column] = token
    assert_same([" ".join(pair * 200_000)], {"norm": None})


@pytest.mark.parametrize("wide", [1, 0])
def test_loops_without_avx_512_and_avx2_give_the_same_bits(wide):
    documents = random_documents(random.Random(9), 300, 80)
    used = _hashing.choose_vectors(wide)
    try:
        for analyzer in ("word", "char", "char_wb"):
            assert_same(documents, {"analyzer": analyzer, "ngram_range": (2, 5)})
    finally:
        assert _hashing.choose_vectors(used) <= wide


def test_parameters_are_those_of_scikit_learn_in_order_and_documented():
    ours, theirs = (inspect.signature(kind.__init__).parameters for kind in (HashingVectorizer, Original))
    assert [*ours] == [*theirs]
    assert all(ours[name].default == theirs[name].default and ours[name].kind is theirs[name].kind for name in ours)
    lines = [line.strip().split(" : ")[0] for line in HashingVectorizer.__doc__.splitlines() if " : " in line]
    assert lines == [name for name in ours if name != "self"]


def test_clone_pickle_and_pipeline():
    model = HashingVectorizer(ngram_range=(1, 2), stop_words=["the"], n_features=2**12)
    for copy in (clone(model), pickle.loads(pickle.dumps(model))):
        assert copy.get_params() == model.get_params()
        assert (copy.transform(TEXTS) != model.transform(TEXTS)).nnz == 0
    pipeline = make_pipeline(model, AROWClassifier(random_state=0))
    texts, labels = ["free cash prize", "budget meeting"] * 20, ["spam", "ham"] * 20
    assert pipeline.fit(texts, labels).predict(texts[:2]).tolist() == ["spam", "ham"]
    assert not hasattr(model, "get_feature_names_out")
    assert not hasattr(Original(), "get_feature_names_out")
    assert isinstance(model, Original)


CONTAINERS = {
    "tuple": tuple,
    "generator": iter,
    "object array": lambda texts: np.array(texts, object),
    "array of strings": np.array,
    "series": pd.Series,
    "series of objects": lambda texts: pd.Series(texts, dtype=object),
    "bytes": lambda texts: [text.encode() for text in texts],
    "dict": lambda texts: dict.fromkeys(texts),
}


@pytest.mark.parametrize("container", CONTAINERS)
def test_documents_come_in_any_container(container):
    documents = [f"document {number} caf\u00e9" for number in range(700)]
    expected = Original().transform(documents)
    found = HashingVectorizer().transform(CONTAINERS[container](documents))
    assert (found != expected).nnz == 0


def test_arrow_columns_are_lists_to_settings_that_only_the_original_has():
    arrow = pytest.importorskip("pyarrow")
    texts, settings = ["a b", "c", "a"], {"n_features": 16, "tokenizer": str.split, "token_pattern": None}
    found = HashingVectorizer(**settings).transform(arrow.array(texts))
    assert (found != Original(**settings).transform(texts)).nnz == 0


def test_arrow_and_polars_columns():
    arrow, polars = pytest.importorskip("pyarrow"), pytest.importorskip("polars")
    texts = [f"document {number} " + "caf\u00e9" * (number % 3) for number in range(5000)] + [""]
    columns = [
        polars.Series(texts),
        arrow.array(texts),
        arrow.array(texts, arrow.large_string()),
        arrow.array(["x", *texts])[1:],
        arrow.chunked_array([texts[:7], [], texts[7:777], texts[777:]]),
        arrow.array(texts).dictionary_encode(),
        arrow.array(texts, arrow.string_view()),
        arrow.array([text.encode() for text in texts]),
        pd.Series(texts, dtype="string[pyarrow]"),
    ]
    expected = Original().transform(texts)
    for column in columns:
        assert (HashingVectorizer().transform(column) != expected).nnz == 0
        assert (HashingVectorizer(token_pattern=r"\w\w+").transform(column) != expected).nnz == 0
    for column in (arrow.array(["a", None]), polars.Series(["a", None])):
        with pytest.raises(AttributeError, match="'NoneType' object has no attribute 'lower'"):
            HashingVectorizer().transform(column)
    bad = arrow.Array.from_buffers(arrow.string(), 2, [None, *arrow.array([b"a", b"b\xff"]).buffers()[1:]])
    with pytest.raises(ValueError, match="document 1 is not UTF-8 at byte 1"):
        HashingVectorizer().transform(bad)
    with pytest.raises(StopIteration):
        HashingVectorizer().transform(arrow.array([], arrow.string()))


def outcome(kind, settings, documents):
    """A matrix, or an error, and the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            matrix = kind(**settings).fit(documents).transform(documents)
            result = [matrix.indptr.tolist(), matrix.indices.tolist(), matrix.data.tolist(), str(matrix.dtype)]
        except Exception as error:
            result = [type(error), str(error).replace("'", "").split(".")[-1][-60:]]
    return result, [(warning.category, str(warning.message)) for warning in caught]


ODD_SETTINGS = [
    {"tokenizer": str.split, "token_pattern": None},
    {"tokenizer": str.split},
    {"preprocessor": str.upper},
    {"analyzer": str.split},
    {"analyzer": "char", "tokenizer": str.split},
    {"strip_accents": str.upper},
    {"token_pattern": r"\w+"},
    {"token_pattern": r"(\w)\w+"},
    {"token_pattern": r"(\w)(\w)"},
    {"token_pattern": "("},
    {"stop_words": ["the", "THE", "on the"]},
    {"stop_words": []},
    {"stop_words": ["the", "\ud800"]},
    {"stop_words": "french"},
    {"stop_words": ("the",)},
    {"stop_words": [1, 2]},
    {"ngram_range": (0, 1)},
    {"ngram_range": (2, 1)},
    {"ngram_range": (1, 2**40)},
    {"ngram_range": (1.0, 2.0)},
    {"ngram_range": (np.int64(1), np.int64(2))},
    {"n_features": np.int64(32)},
    {"n_features": 0},
    {"n_features": 2**31},
    {"norm": "max"},
    {"dtype": np.int64, "norm": None},
    {"dtype": np.int64},
    {"dtype": "d"},
    {"dtype": float},
    {"dtype": np.float16, "norm": None},
    {"dtype": np.dtype(">f8")},
    {"lowercase": 1},
    {"binary": np.True_},
    {"analyzer": "words"},
    {"decode_error": "surrogateescape"},
]


@pytest.mark.parametrize("settings", ODD_SETTINGS, ids=repr)
def test_odd_settings_end_as_in_scikit_learn(settings):
    assert outcome(HashingVectorizer, settings, TEXTS) == outcome(Original, settings, TEXTS)


ODD_DOCUMENTS = [
    "one string",
    [],
    [None],
    ["a", np.nan],
    ["a", float("nan")],
    [1],
    [["a"]],
    np.array([["a", "b"]]),
    ["good", b"bad \xff"],
    [bytearray(b"ab cd")],
    None,
    3,
    pd.Series(["a", None]),
    pd.DataFrame({"text": ["ab cd"]}),
]


@pytest.mark.parametrize("documents", ODD_DOCUMENTS, ids=lambda documents: repr(documents).replace("\n", " "))
def test_odd_documents_end_as_in_scikit_learn(documents):
    ours, theirs = (outcome(kind, {}, documents) for kind in (HashingVectorizer, Original))
    assert ours == theirs


class Text(str):
    """A string with a mind of its own."""

    def lower(self):
        return "other words"


def test_a_kind_of_string_with_its_own_methods_is_left_to_scikit_learn():
    assert_same(["some words", Text("abc def")] * 3, {"ngram_range": (1, 2)})
    assert_same([np.str_("Some words"), np.bytes_(b"AB")], {})


class Doubled(HashingVectorizer):
    def build_tokenizer(self):
        return lambda text: 2 * text.split()


def test_a_subclass_may_replace_methods():
    assert Doubled(norm=None).transform(["aa bb"]).data.tolist() == [
        2 * value for value in HashingVectorizer(norm=None).transform(["aa bb"]).data
    ]


@pytest.mark.parametrize(
    "settings", [{"encoding": "latin-1"}, {"encoding": "utf8"}, {"decode_error": "replace"}, {"decode_error": "ignore"}]
)
def test_bytes_are_decoded_as_the_parameters_say(settings):
    documents = [
        "caf\u00e9 au lait".encode("latin-1" if "utf8" not in settings.values() else "utf-8"),
        b"plain words",
        "text",
    ]
    assert_same(documents, settings)


@pytest.mark.parametrize("kind", ["file", "filename"])
def test_files(kind, tmp_path):
    path = tmp_path / "text"
    path.write_bytes("some words, caf\u00e9".encode())
    documents = [io.BytesIO(path.read_bytes())] if kind == "file" else [str(path)]
    found = HashingVectorizer(input=kind).transform(documents)
    assert (found != Original().transform([path.read_bytes()])).nnz == 0


@pytest.mark.parametrize("threads", [1, 3])
def test_a_lone_surrogate_is_refused_with_its_place(threads, monkeypatch):
    use_threads(monkeypatch, threads)
    documents = ["fine"] * 700 + ["ab\udc80"] + ["fine", "x\ud800"] * 300
    with pytest.raises(ValueError, match=r"document 700 is not Unicode text: character 2 .*udc80"):
        HashingVectorizer().transform(documents)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_of_several_bad_documents_the_first_is_named_for_any_number_of_threads(threads, monkeypatch):
    use_threads(monkeypatch, threads)
    documents = ["fine words " * 50] * 2000
    documents[1500], documents[900], documents[901] = None, b"\xfe", np.nan
    with pytest.raises(UnicodeDecodeError, match="0xfe"):
        HashingVectorizer().transform(documents)


def test_all_usable_cores_are_used_for_much_text_only(monkeypatch):
    asked = []
    monkeypatch.setattr(vectorizer, "usable_cores", lambda: asked.append(1) or 2)
    assert_same(["a few words"] * 10, {})
    assert asked == []
    assert_same(["a few words"] * 20_000, {})
    assert asked == [1]


@pytest.mark.skipif("sparse_interface" not in sklearn.get_config(), reason="this scikit-learn has matrices only")
@pytest.mark.parametrize("interface", ["sparray", "spmatrix"])
def test_the_kind_of_matrix_is_that_of_the_configuration(interface):
    with sklearn.config_context(sparse_interface=interface):
        assert_same(TEXTS, {})
        found = HashingVectorizer().transform(TEXTS)
    assert isinstance(found, sparse.sparray) is (interface == "sparray")
    assert found.has_canonical_format


def test_an_interruption_stops_the_threads():
    """The main thread waits for the others, which stop at the end of a slice."""
    script = """
import os, signal, threading, time
from cwlearn import HashingVectorizer
from cwlearn.estimators import vectorizer
vectorizer.usable_cores = lambda: 2
documents = ["some words of text " * 20] * 300000
threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
start = time.process_time()
try:
    HashingVectorizer(analyzer="char", ngram_range=(1, 9), n_features=16).transform(documents)
except KeyboardInterrupt:
    print("interrupted", time.process_time() - start < 3)
"""
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert result.stdout.split() == ["interrupted", "True"], result.stderr


def test_the_name_is_public():
    assert cwlearn.HashingVectorizer is vectorizer.HashingVectorizer
