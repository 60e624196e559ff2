"""The words behind hashed columns: those of the heaviest weights are found in the documents once more, and kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from cwlearn.core.learner import Learner
from cwlearn.core.states.base import LinearState
from cwlearn.core.text_options import DEFAULT_NAMES
from cwlearn.core.weights import heaviest
from cwlearn.text.documents import DocumentParser
from cwlearn.text.formats import AUTO
from cwlearn.text.reader import Reader, cut
from cwlearn.text.sources import Source, total_size
from cwlearn.text.vw import VwParser

MOST_WORDS = 8  # of a column, the most frequent ones
SAMPLE_BYTES = 1 << 23  # of the documents that are looked at, if they are longer
SAMPLE_PIECES = 32  # which lie all over the files

Words = dict[int, list[str]]  # by column; those that share it, the most frequent one first


def heaviest_columns(learner: Learner, most: int) -> NDArray[np.int64]:
    """The columns with the heaviest weights, of each label as many as of every other, in rising order."""
    state = learner.predictor
    assert isinstance(state, LinearState)
    means = np.asarray(state.mean[1:]).reshape(-1, state.blocks)
    columns = [heaviest(means[:, block], -(-most // state.blocks)) for block in range(state.blocks)]
    return np.unique(np.concatenate(columns))


def words_of(reader: Reader, columns: NDArray[np.int64]) -> Words:
    """The words of some columns, in all documents of a reader."""
    found: dict[int, Counter[str]] = {}
    for parser, chunk, buffers in reader.chunks():
        if isinstance(parser, (DocumentParser, VwParser)):
            for column, counts in parser.names(chunk, buffers, columns).items():
                found.setdefault(column, Counter()).update(counts)
    return {column: _most_frequent(counts) for column, counts in sorted(found.items())}


def _most_frequent(counts: Counter[str]) -> list[str]:
    return sorted(counts, key=lambda word: (-counts[word], word))[:MOST_WORDS]


def name_columns(learner: Learner, reader: Reader, most: int = DEFAULT_NAMES) -> None:
    """Give a model the words of its heaviest columns, if its documents can be read again."""
    if learner.documents is None or not most or total_size(reader.sources) is None:
        return
    reader.sources = sampled(reader.sources, reader.reading.format)
    learner.words = words_of(reader, heaviest_columns(learner, most))


def sampled(sources: Iterable[Source], format: str = AUTO) -> list[Source]:
    """Pieces from all over the files, if these are large; of a file that cannot be cut, its beginning.

    A compressed file is left as it is.
    """
    sources = list(sources)
    size = total_size(sources) or 0
    if size <= SAMPLE_BYTES:
        return sources
    part, pieces = SAMPLE_BYTES / size, []
    for source in sources:
        wanted = max(1, round(SAMPLE_PIECES * (source.size or 0) / size))
        for piece in cut(source, wanted, format):
            stop = piece.start + int(part * (piece.size or 0)) if source.is_plain else None
            pieces.append(Source(piece.path, piece.start, stop))
    return pieces
