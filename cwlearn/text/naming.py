"""The words behind hashed columns: those of the heaviest weights are found in the documents once more, and kept."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cwlearn.core.learner import Learner
from cwlearn.core.states.base import LinearState
from cwlearn.core.text_options import DEFAULT_NAMES
from cwlearn.core.weights import heaviest
from cwlearn.text.documents import DocumentParser
from cwlearn.text.hashing import documents_of
from cwlearn.text.one_document import hasher_of
from cwlearn.text.reader import Reader
from cwlearn.text.sampling import sampled
from cwlearn.text.sources import total_size
from cwlearn.text.vw import VwParser

MOST_WORDS = 8  # of a column, the most frequent ones
MOST_TEXTS = 20_000  # that are looked at, if they are in memory

Words = dict[int, list[str]]  # by column; those that share it, the most frequent one first


def heaviest_columns(learner: Learner, most: int) -> NDArray[np.int64]:
    """The columns with the heaviest weights, of each label as many as of every other, in rising order."""
    state = learner.predictor
    assert isinstance(state, LinearState)
    means = np.asarray(state.mean[1:]).reshape(-1, state.blocks)
    columns = [heaviest(means[:, block], -(-most // state.blocks)) for block in range(state.blocks)]
    rising = np.sort(np.concatenate(columns))
    return rising[np.diff(rising, prepend=-1) > 0]  # `np.unique` loads masked arrays, which takes as long as all this


def words_of(reader: Reader, columns: NDArray[np.int64]) -> Words:
    """The words of some columns, in all documents of a reader."""
    found: dict[int, dict[str, int]] = {}  # a Counter for each column would take twice the time
    for parser, chunk, buffers in reader.chunks():
        if isinstance(parser, (DocumentParser, VwParser)):
            for column, counts in parser.names(chunk, buffers, columns).items():
                known = found.setdefault(column, {})
                for word, count in counts.items():
                    known[word] = known.get(word, 0) + count
    return {column: _most_frequent(counts) for column, counts in sorted(found.items())}


def _most_frequent(counts: dict[str, int]) -> list[str]:
    return sorted(counts, key=lambda word: (-counts[word], word))[:MOST_WORDS]


def name_columns_of_texts(learner: Learner, texts: Sequence[str | bytes], most: int = DEFAULT_NAMES) -> None:
    """Give a model the words of its heaviest columns, from the texts that it has learned; of very many, from some."""
    some = texts[:: max(1, -(-len(texts) // MOST_TEXTS))]
    found = hasher_of(learner).names(documents_of(some), heaviest_columns(learner, most))
    learner.words = {column: _most_frequent(counts) for column, counts in sorted(found.items())}


def name_columns(learner: Learner, reader: Reader, most: int = DEFAULT_NAMES) -> None:
    """Give a model the words of its heaviest columns, if its documents can be read again."""
    if learner.documents is None or not most or total_size(reader.sources) is None:
        return
    reader.sources = sampled(reader.sources, reader.reading.format)
    learner.words = words_of(reader, heaviest_columns(learner, most))
