"""Choosing rule, parameters and epochs by a sample of a text, before it is learned."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing

import numpy as np

from cwlearn.core.choosing import FEWEST_ROWS, MOST_ROWS, Choice, Race, choose
from cwlearn.core.learner import Learner
from cwlearn.core.rows import Rows
from cwlearn.core.rule import Rule
from cwlearn.core.states.base import NONE
from cwlearn.core.states.diagonal import DiagonalState
from cwlearn.core.states.factory import blocks_of
from cwlearn.core.text_options import TextOptions
from cwlearn.core.training import DEFAULT_BUDGET, Training, row_dtype
from cwlearn.errors import DataError
from cwlearn.text.batch import Batch
from cwlearn.text.formats import choose as choose_format
from cwlearn.text.labels import Label, labels_for
from cwlearn.text.reader import Reader, Reading
from cwlearn.text.resources import Resources
from cwlearn.text.row_store import MemoryStore
from cwlearn.text.sampling import sampled
from cwlearn.text.sources import Paths, as_sources, total_size
from cwlearn.text.text_file import peek
from cwlearn.utils.machine import free_memory

MOST_BYTES = 1 << 25  # of a large text, from all over it
HEAD_BYTES = 1 << 16  # which tell how long a row is
PIPE_BYTES = 1 << 22  # of a text that can be read only once, its beginning
MOST_NONZEROS = 1 << 23  # which a sample of long lines, or of a compressed text, may have too many of


def choose_by_text(
    paths: Paths,
    rule: Rule,
    training: Training,
    reading: Reading,
    resources: Resources,
    labels: dict[Label, str] | None,
    documents: TextOptions | None,
    random_state: np.random.RandomState | int,
    *,
    alone: bool = False,
    shards: bool = False,
    how: str | None = None,
    report: Callable[[int], object] = lambda rows: None,
    budget: float = DEFAULT_BUDGET,
    several: bool = False,
) -> Choice | None:
    """The best of the field for a text; None if its sample cannot tell.

    Of a large text, pieces from all over it are taken.  `rule` stands for the task and the weights of classes; if it is
    `alone`, it is the only candidate, and only its epochs are chosen.  Files that are `shards` may be bad ones.  If
    models are to be merged, `how` tells which candidates can be.  `report` gets the numbers
    of rows learned; `budget` limits the time.  Rows may have `several` labels.
    """
    known = labels_for(rule, labels, several=several)
    reader = Reader(
        as_sources(paths),
        reading,
        dtype=row_dtype(rule, training),
        label_type=known.type if several else None,
        hash_bits=resources.hash_bits or 0,
        documents=documents or TextOptions(),
        threads=resources.threads,
    )
    store, frequencies = MemoryStore(reader.dtype), None
    in_one_pass = training.epochs == 1 and not training.shuffle
    try:
        for batch in _sample(reader):
            known.add(batch)
            rows = batch.rows
            if batch.documents is not None and batch.documents.idf:
                from cwlearn.core.frequencies import Frequencies  # which rows of numbers do not need

                frequencies = frequencies or Frequencies(batch.n_features, batch.documents.norm)
                if in_one_pass:
                    rows = frequencies.count_and_weigh(rows)
                else:
                    frequencies.count(rows)
            store.add(rows, batch.labels)
            if store.rows.n_rows >= MOST_ROWS or len(store.rows.indices) >= MOST_NONZEROS:
                break
    except (OSError, DataError) as error:
        if not shards and getattr(error, "line", None) is None:
            raise  # it is about the whole file
        return None  # the training meets it again, and knows its place
    rows = store.rows
    if not known.enough or rows.n_rows < FEWEST_ROWS:
        return None
    if frequencies is not None and not in_one_pass:
        rows = frequencies.weigh(rows)
    learner = Learner(rule, training, known.values, 0, multilabel=several)
    targets, weights = known.encode_rows(rows, store.labels, learner)
    size = DiagonalState.nbytes(rows.n_features, blocks_of(len(learner.classes), several), reader.dtype, False)
    if size > (resources.memory or free_memory()):
        return None  # the training says so
    race = Race(
        learner.classes, _without_weights(rows), targets, weights if len(weights) else NONE, report, budget,
        known.sets if several else None, resources.memory,
    )  # fmt: skip
    if isinstance(random_state, int):  # NumPy loads its generators only now
        random_state = np.random.RandomState(random_state)
    if alone:
        return race.choose_epochs(rule, training, random_state)
    return choose(race, rule.task, training, getattr(rule, "class_weight", None), random_state, how)


def _sample(reader: Reader) -> Iterator[Batch]:
    """Batches from all over the text; of a pipe, its beginning, which can be read again."""
    if total_size(reader.sources) is not None:
        reader.sources = sampled(reader.sources, reader.reading.format, _bytes_of_rows(reader))
        with closing(iter(reader)) as batches:
            yield from batches
    elif len(reader.sources) == 1:
        source = reader.sources[0]
        head = peek(source, PIPE_BYTES)
        yield from reader.of_lines(head[: head.rfind(b"\n") + 1], source)


def _bytes_of_rows(reader: Reader) -> int:
    """About how many bytes have as many rows as a race takes at most; fewer if they are too many."""
    first = reader.sources[0]
    head = first.head(HEAD_BYTES)
    format = choose_format(first.path, head, reader.reading.format)
    if first.is_plain and format != "svmlight":
        from cwlearn.text.records import can_be_cut  # which svmlight text does not need

        if not can_be_cut(format):
            return MOST_BYTES  # a record may have several lines: there may be far fewer records
    return min(MOST_BYTES, MOST_ROWS * len(head) // max(1, head.count(b"\n")))


def _without_weights(rows: Rows) -> Rows:
    return Rows(rows.indptr, rows.indices, rows.values, rows.squares, rows.n_features)
