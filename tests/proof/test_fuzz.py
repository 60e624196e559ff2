"""The inputs that the fuzzer begins with, and those it once found, without the fuzzer."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.proof.fuzz.targets import TARGETS

CORPUS = Path(__file__).parent / "fuzz" / "corpus"


@pytest.mark.parametrize("path", sorted(CORPUS.rglob("*/*")), ids=lambda path: f"{path.parent.name}-{path.name}")
def test_no_input_brings_about_what_none_may(path):
    TARGETS[path.parent.name](path.read_bytes())


@pytest.mark.parametrize("target", TARGETS)
def test_there_is_a_corpus(target):
    assert any((CORPUS / target).iterdir())
