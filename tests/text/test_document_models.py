"""Model files of documents: golden ones, which must stay as they are, and forged ones, which must be refused."""

from __future__ import annotations

import json

import numpy as np
import pytest

import cwlearn as package
from cwlearn.core import model_file
from cwlearn.core.text_options import TOKENS
from cwlearn.errors import ModelError
from tests.core.test_model_file import GOLDEN, reseal
from tests.text.document_cases import classifier, documents
from tests.text_cases import fail, succeed

# -- golden ones -------------------------------------------------------------------------------------------------------

GOLDEN_TEXTS = [
    "A fine film, a FINE one",
    "dull, long and not fine",
    "Straße nach İSTANBUL: na\u00efve \u03a3\u0391\u03a3",
    "great music great acting",
    "日本語 dull 3.14 don't",
    "",
]
GOLDEN_LABELS = ["good", "bad", "so-so", "good", "bad", "so-so"]
SCORES = [  # of the first two texts, for bad, good and so-so
    ["-0x1.afbd5c1303a80p-4", "0x1.cd1cbd8f64d60p-3", "-0x1.7d95e96626900p-4"],
    ["0x1.2b0c376bc3584p-2", "-0x1.55b9c5c4b9544p-3", "-0x1.8f52efe2ad878p-4"],
]
GREEK = "Straße İSTANBUL \u03a3\u0391\u03a3"
MIXED = "日本語 na\u00efve don't x 3.14"
BY_SPACE = {"token_pattern": r"\S+", "lowercase": False}
PAIRS = {"analyzer": "char", "ngram_range": (2, 2), "strip_accents": "unicode"}
TRIPLES = {"analyzer": "char_wb", "ngram_range": (3, 3)}
COLUMNS = [  # of 2^20; words and pairs of words, if nothing else is said
    ("The fine film", {}, [168997, 273321, 286878, 905897, 948831]),
    ("The fine film", BY_SPACE, [147427, 168997, 482315, 905897, 948831]),
    (
        "The fine film",
        TRIPLES,
        [118235, 286878, 374740, 474439, 597183, 615769, 880682, 887497, 968120, 1030775],
    ),
    ("The fine film", PAIRS, [82742, 197142, 288360, 589851, 599924, 764163, 828689, 831756, 990411]),
    (GREEK, {}, [17924, 211619, 246179, 271287, 547589]),
    (GREEK, BY_SPACE, [154311, 185007, 243182, 594091, 953360]),
    (GREEK, {"strip_accents": "ascii"}, [114424, 669145, 669255]),
    (MIXED, {}, [6599, 131199, 198838, 446437, 558549, 757097, 1004586]),
    (MIXED, BY_SPACE, [49797, 125376, 446437, 558549, 648587, 695067, 752969, 757097, 945155]),
    (MIXED, {"strip_accents": "ascii"}, [6599, 131199, 198838, 800942, 902951]),
    ("a_b e\u0301t\u00e9 \U0001f600 ok", {}, [143191, 324042, 338849, 840079, 840948]),
]


def test_golden_documents_have_the_columns_they_have_always_had():
    """A change of hash or tokens makes all models wrong that were saved before.  It needs a new version in TOKENS."""
    assert TOKENS == {"hash": "murmur3-32", "version": 1}
    for text, options, expected in COLUMNS:
        model = package.TextClassifier(**{"ngram_range": (1, 2), "idf": False, "norm": None, **options})
        X = model._matrix([text], package.AROWClassifier())
        assert X.indices.tolist() == expected, (text, options)
        assert X.shape == (1, 1 << 20)


def test_the_golden_model_predicts_as_it_always_has(tmp_path):
    path = GOLDEN / "version-2.npz"
    model = package.load(path)
    assert isinstance(model, package.TextClassifier)
    assert model.predict(GOLDEN_TEXTS).tolist() == GOLDEN_LABELS
    expected = [[float.fromhex(number) for number in row] for row in SCORES]
    assert model.decision_function(GOLDEN_TEXTS)[:2].tolist() == expected
    assert model._learner.frequencies.n_documents == 6
    assert model._learner.words[1061] == ["fine film"]
    data = tmp_path / "a.jsonl"
    records = [{"text": text, "label": label} for text, label in zip(GOLDEN_TEXTS, GOLDEN_LABELS, strict=True)]
    data.write_text("".join(json.dumps(record) + "\n" for record in records))
    assert succeed("predict", data, "-m", path).out.split() == GOLDEN_LABELS
    anew = package.train(data, model)
    assert anew._learner.state.cells.tobytes() == package.load(path)._learner.state.cells.tobytes()
    assert anew._learner.words == package.load(path)._learner.words


# -- other versions, and forged ones -----------------------------------------------------------------------------------


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "m.npz"
    model = classifier().fit(*documents(20))
    model._learner.words = {5: ["five", "other"], 900: ["last"]}
    model.save(path)
    return path


@pytest.mark.parametrize(("name", "value"), [("hash", "xxhash"), ("version", 2), ("version", "1"), ("hash", None)])
def test_w26_a_model_with_another_hash_is_refused(saved, name, value):
    reseal(saved, lambda header, members: header["documents"].update({name: value}))
    with pytest.raises(
        ModelError, match=r"its documents were hashed by .*; this release knows 'murmur3-32', version 1"
    ):
        package.load(saved)
    assert repr(value) in fail("inspect", saved)


def forged(change):
    return lambda header, members: (change(header["documents"], members), members)[1]


FREQUENCIES = {
    "no frequencies": lambda members: [members.pop(name) for name in model_file.FREQUENCIES],
    "no counts": lambda members: members.pop("frequency_counts"),
    "too few counts": lambda members: members.update(frequency_counts=members["frequency_counts"][1:]),
    "a count of 0": lambda members: members["frequency_counts"].__setitem__(0, 0),
    "a negative count": lambda members: members["frequency_counts"].__setitem__(0, -1),
    "more than there are documents": lambda members: members["frequency_counts"].__setitem__(0, 21),
    "a column too large": lambda members: members["frequency_columns"].__setitem__(-1, 1024),
    "a negative column": lambda members: members["frequency_columns"].__setitem__(0, -1),
    "columns that fall": lambda members: members.update(frequency_columns=members["frequency_columns"][::-1].copy()),
    "columns twice": lambda members: members["frequency_columns"].__setitem__(1, members["frequency_columns"][0]),
    "float counts": lambda members: members.update(frequency_counts=members["frequency_counts"].astype(float)),
    "small columns": lambda members: members.update(frequency_columns=members["frequency_columns"].astype(np.int32)),
    "a table": lambda members: members.update(frequency_counts=members["frequency_counts"][:, None]),
}
DOCUMENTS = {
    "words of a column that is not there": {"words": [[1024, ["a"]]]},
    "words of a negative column": {"words": [[-1, ["a"]]]},
    "no words": {"words": [[1, []]]},
    "words that are numbers": {"words": [[1, [2]]]},
    "words that are one text": {"words": [[1, "abc"]]},
    "words of a text": {"words": [["1", ["a"]]]},
    "words as a table": {"words": {"1": ["a"]}},
    "words that are nothing": {"words": None},
    "documents that are negative": {"n_documents": -1},
    "documents that are a fraction": {"n_documents": 20.5},
    "documents that are true": {"n_documents": True},
    "fewer documents": {"n_documents": 1},
    "an analyzer": {"analyzer": "sentence"},
    "n-grams that fall": {"ngram_range": [2, 1]},
    "n-grams as a text": {"ngram_range": "1,2"},
    "huge n-grams": {"ngram_range": [1, 10**9]},
    "a pattern": {"token_pattern": "(a+)+b"},
    "a weighting": {"weighting": "tf"},
    "stop words": {"stop_words": [1]},
    "idf": {"idf": "yes"},
    "a norm": {"norm": "l3"},
    "an option that there is not": {"tokenizer": "os.system"},
}


@pytest.mark.parametrize("name", FREQUENCIES)
def test_w27_forged_frequencies_are_refused(saved, name):
    reseal(saved, forged(lambda documents, members: FREQUENCIES[name](members)))
    with pytest.raises(ModelError):
        package.load(saved)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_w27_forged_options_of_documents_are_refused(saved, name):
    reseal(saved, forged(lambda documents, members: documents.update(DOCUMENTS[name])))
    with pytest.raises(ModelError):
        package.load(saved)


@pytest.mark.parametrize("documents", [[], 1, "documents", {}, {**TOKENS}])
def test_w27_documents_that_are_no_options_are_refused(saved, documents):
    reseal(saved, lambda header, members: header.update(documents=documents))
    with pytest.raises(ModelError):
        package.load(saved)


def test_w27_a_model_of_documents_is_hashed(saved):
    reseal(saved, lambda header, members: header.update(hash_bits=0))
    with pytest.raises(ModelError, match="it has learned documents, and its columns are no hashes"):
        package.load(saved)


def test_w27_frequencies_without_documents_are_refused(saved):
    reseal(saved, lambda header, members: header.update(documents=None))
    with pytest.raises(ModelError, match="unexpected members"):
        package.load(saved)


def test_w27_frequencies_of_many_columns_count_as_memory(tmp_path):
    path = tmp_path / "m.npz"
    classifier(hash_bits=22).fit(*documents(20)).save(path)  # 8 bytes for a weight, 4 for a frequency
    with pytest.raises(ModelError, match=r"need 50,[45][0-9]{2},[0-9]{3} bytes of memory, more than the"):
        package.load(path, max_memory=1 << 20)


def test_models_of_numbers_are_written_as_before(tmp_path):
    package.AROWClassifier().fit(np.eye(2), [1, 2]).save(tmp_path / "m.npz")
    with np.load(tmp_path / "m.npz") as archive:
        assert json.loads(archive["header"].tobytes())["version"] == 1
    classifier().fit(*documents(20)).save(tmp_path / "m.npz")
    with np.load(tmp_path / "m.npz") as archive:
        assert json.loads(archive["header"].tobytes())["version"] == 2
