"""The weights of all labels are checked against the memory before they are taken."""

from __future__ import annotations

import pytest

import cwlearn as package
from cwlearn.core import rules
from cwlearn.core.training import Training
from cwlearn.errors import DataError
from cwlearn.text.resources import WeightLimit
from tests.text_cases import fail


def test_very_many_labels_of_documents_are_refused_in_one_sentence(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("".join(f"label{k}\tword{k % 7}\n" for k in range(20_000)))
    message = fail("train", path, "-m", tmp_path / "m.npz", "--format", "text", "--memory", "1G")
    assert (
        "1,048,576 features need 167,772,320,000 bytes for the weights of 20,000 labels, more than the 1,073,741,824 "
        "allowed (--memory): --hash-bits needs less (it is 20)"
    ) in message


@pytest.mark.parametrize("epochs", [1, 2])
def test_the_limit_holds_for_hashed_indices_too(tmp_path, epochs):
    path = tmp_path / "a.svm"
    path.write_text("".join(f"{k} {k}:1\n" for k in range(100)))
    with pytest.raises(DataError, match=r"`hash_bits` needs less \(it is 16\)"):
        package.train(path, package.AROWClassifier(epochs=epochs, shuffle=False), hash_bits=16, memory="1M")
    package.train(path, package.AROWClassifier(epochs=epochs, shuffle=False), hash_bits=8, memory="1M")


def test_columns_that_hashes_ask_for_are_allowed_but_not_labels_that_the_data_bring():
    limit = WeightLimit(rules.AROW(), Training(), None, 1000)
    limit.check_total(1 << 20, 2, None, hash_bits=20)
    with pytest.raises(DataError, match=r"\(it is 20\)"):
        limit.check_total(1 << 20, 3, None, hash_bits=20)
    with pytest.raises(DataError, match="`n_features` takes all"):
        limit.check_total(1 << 20, 2, None)
    limit.check_total(30, 3, None)
    WeightLimit(rules.AROW(), Training(), 1 << 20, 1000).check_total(1 << 20, 3, None)
