"""Training straight from svmlight text: what `cwlearn train` and `train_svmlight` do.

One pass in the order of the text learns from each batch while the next ones are parsed, and keeps none of them.
Several epochs, or a shuffle, gather the rows first: in memory while they fit, else in a file (`row_store`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Generator
from contextlib import closing
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from cwlearn.core.learner import Learner
from cwlearn.core.parameters import COUNT, NOTHING, SIZE, THREADS, Check, Options, is_integer, option
from cwlearn.core.rows import Rows
from cwlearn.core.rule import Rule
from cwlearn.core.states.factory import blocks_of, state_bytes
from cwlearn.core.training import Training, row_dtype
from cwlearn.errors import DataError, ModelError, NoExamplesError
from cwlearn.text.labels import Labels
from cwlearn.text.monitor import Monitor
from cwlearn.text.row_store import DiskStore, MemoryStore
from cwlearn.text.sources import Beginning, displayed, fingerprint, total_size
from cwlearn.text.svmlight import CHUNK_BYTES, Batch, Reader, Reading
from cwlearn.utils.machine import free_memory

OTHER_TEXT = "the data have changed: they do not begin with the lines that the checkpoint has learned from"
HASH_BITS = Check("an integer from 1 to 40", lambda value: is_integer(value) and 1 <= value <= 40, int, "N")


@dataclass(frozen=True)
class Resources(Options):
    """The size of the model, and the memory and threads to use."""

    features: int | None = option(None, NOTHING | COUNT, "Columns of the model; by default, as many as the data have.")
    hash_bits: int | None = option(
        None, NOTHING | HASH_BITS, "Hash the indices to so many bits: 2^bits columns, whatever the data."
    )
    memory: int | None = option(
        None,
        NOTHING | SIZE,
        "Bytes for the rows between two epochs, and for weights whose number is not given; None: half of what is free. "
        "With several workers, for each of them; None: 1G.",
    )
    threads: int | None = option(
        None, NOTHING | THREADS, "Threads that parse text; None: one for each core that may be used."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_hashed_size(self.features, self.hash_bits or 0)


def check_hashed_size(features: int | None, hash_bits: int) -> None:
    if hash_bits and features not in (None, 1 << hash_bits):
        raise ValueError(f"features must be {1 << hash_bits} with hash_bits {hash_bits}, got {features}")


@dataclass
class Run:
    """One training: what is asked for, and what has been counted so far."""

    paths: list[str]
    rule: Rule
    training: Training
    reading: Reading = field(default_factory=Reading)
    resources: Resources = field(default_factory=Resources)
    labels: Labels = field(default_factory=Labels)
    learner: Learner | None = None  # to go on with
    monitor: Monitor = field(default_factory=Monitor)
    random_state: np.random.RandomState | None = None  # None: made from the seed in `training`
    chunk_bytes: int = CHUNK_BYTES

    def __post_init__(self) -> None:
        self.rows = self.nonzeros = self.bad_lines = 0  # read, in the last pass over the text
        self.done = 0  # rows learned, or known from a checkpoint to be learned, in all epochs
        self._left_out = 0  # rows that are still to be left out, because a checkpoint has learned them
        self._known: Beginning | None = None  # the text that they, and all that the checkpoint depends on, came from
        self._forced = False  # other text is learned from as new
        self._read = Beginning()  # the text before the batch that is worked on
        self._learned = Beginning()  # the text that what is learned depends on, but for that batch
        self._batch: tuple[Batch, int] | None = None  # what is being learned from, and the rows done before it
        self._must_fit = False  # all rows were in memory when the checkpoint was written
        self._size = total_size(self.paths)
        self._memory = self.resources.memory or free_memory() // 2
        self._told = 0  # bad lines that were reported, in any pass
        self._store: MemoryStore | DiskStore | None = None
        self._resumed = self.learner is not None
        self._hash_bits = self.resources.hash_bits or 0
        self._dtype = row_dtype(self.rule, self.training)
        if self.learner is not None:
            self.labels = Labels.of(self.learner)
            self._hash_bits = self.learner.hash_bits
            if self.resources.hash_bits not in (None, self._hash_bits):
                raise ValueError(f"hash_bits of the model is {self._hash_bits or None}, not {self.resources.hash_bits}")
            check_hashed_size(self.resources.features, self._hash_bits)
            self.learner.reconfigure(self.rule, self.training)

    def train(self) -> Learner:
        """Learn, and return the learner."""
        try:
            if self._in_one_pass:
                self._stream()
            else:
                self._gather()
                self._learn_store()
        finally:
            if self._store is not None:
                self._store.close()
        if self.learner is None or not self.rows:
            self._refuse()
        assert self.learner is not None
        if self.resources.features:
            self.learner.grow(self.resources.features)
        self.learner.unfinished = None
        return self.learner

    @property
    def _in_one_pass(self) -> bool:
        return self.training.epochs == 1 and not self.training.shuffle

    def take_up(self, unfinished: dict[str, Any], force: bool = False) -> None:
        """Leave out the rows that the learner, a checkpoint of this very run, has learned already; if they turn out to
        be others, refuse to go on or, forced, learn from all."""
        self._left_out, self._forced = unfinished["done"], force
        self._known = Beginning.recorded(unfinished)
        if self._known is None:
            self._begin_anew("the checkpoint does not say what it has read, as those of this release do")
            return
        self._memory = self.resources.memory or unfinished["memory"] or self._memory
        self._must_fit = unfinished["memory"] is None

    def progress(self) -> dict[str, Any]:
        """What makes this run this one, and how far it has come: kept in checkpoints."""
        return {
            "data": self._fingerprint,
            "epochs": self.training.epochs,
            "shuffle": self.training.shuffle,
            "seed": self.training.random_state,
            "memory": self._memory if isinstance(self._store, DiskStore) else None,
            **asdict(self.reading),
            "done": self.done + self._left_out,
            **self._beginning().record(),
        }

    def _beginning(self) -> Beginning:
        """The text that must be the same when a checkpoint that is written now is taken up."""
        if self._known is not None and self._left_out:
            return self._known
        if self._batch is None:
            return self._learned
        batch, done = self._batch
        return batch.beginning(self._read, self.done - done)

    @cached_property
    def _fingerprint(self) -> str:
        return fingerprint(self.paths)

    # -- reading -------------------------------------------------------------------------------------------------------

    def _reader(self) -> Reader:
        return Reader(
            self.paths,
            self.reading,
            dtype=self._dtype,
            hash_bits=self._hash_bits,
            threads=self.resources.threads,
            chunk_bytes=self.chunk_bytes,
            checksums=self.monitor.keeps_progress or self._known is not None,
            tell=self._skipped,
        )

    def _batches(self) -> Generator[Batch, None, None]:
        """The batches of the text, counted, and with columns that the model may have."""
        self.rows = self.nonzeros = self.bad_lines = 0
        self._read = self._learned = Beginning()
        self.labels.forget_counts()
        self.monitor.begin("reading" if not self._in_one_pass else "learning", self._size, "B")
        with closing(iter(self._reader())) as batches:
            for batch in batches:
                self._check_size(batch)
                self.rows += batch.rows.n_rows
                self.nonzeros += len(batch.rows.values)
                yield batch
                self._read = self._read.and_then(batch.n_lines, batch.checksum)
                self.monitor.read(self, batch)

    def _skipped(self, flaw: DataError) -> None:
        """Tell of a bad line, once, though a run may begin again."""
        self.bad_lines += 1
        if self.bad_lines > self._told:
            self._told = self.bad_lines
            self.monitor.skipped(flaw)

    def _check_size(self, batch: Batch) -> None:
        """Refuse an index that asks for more weights than were allowed, before they are made."""
        if self._hash_bits:
            return
        most = self.resources.features
        if most is None:
            most = max(0, bisect_right(range(1 << 62), self._memory, key=self._state_bytes) - 1)
        if batch.highest < most:
            return
        row, index = batch.row_from(most)
        if self.resources.features is not None:
            what = f"is not below the number of features, {most}: --features must be more than the largest index"
        else:
            what = (
                f"needs {self._state_bytes(index + 1):,} bytes for the weights{self._of_labels}, more than the "
                f"{self._memory:,} allowed "
                f"(--memory): {self._cheaper}, and --features N, with N more than the largest index, takes all"
            )
        batch.end_with(DataError(f"index {index} {what}"), batch.place_of(row))

    def _state_bytes(self, n_features: int) -> int:
        return state_bytes(self.rule, self.training, blocks_of(len(self.labels)), n_features)

    @property
    def _cheaper(self) -> str:
        full = self.rule.covariance == "full"
        return "--covariance diagonal and --hash-bits need less" if full else "--hash-bits needs less"

    @property
    def _of_labels(self) -> str:
        return "" if self.rule.task == "regression" else f" of {max(2, len(self.labels)):,} labels"

    # -- one pass, in the order of the text ----------------------------------------------------------------------------

    def _stream(self) -> None:
        """Learn each batch as it comes.  If a label turns up late, read on for others, and begin again."""
        if getattr(self.rule, "class_weight", None) == "balanced":
            raise ValueError("class_weight='balanced' must count all rows first: ask for a shuffle or more epochs")
        while not self._learn_batches():
            pass

    def _learn_batches(self) -> bool:
        """Whether the labels that were known when learning began were all."""
        with closing(self._batches()) as batches:
            first, complete = True, True
            for batch in batches:
                if not self._is_known(batch):
                    self._begin_anew(OTHER_TEXT)
                    return False
                if not batch.rows.n_rows:
                    continue
                new = self.labels.meet(batch)
                if not complete:
                    continue
                if first and not self.labels.fixed and not self.labels.guessed:
                    self.labels.look_ahead(self._reader())
                elif new is not None and self._size is None:
                    row = int(np.flatnonzero(batch.labels == self.labels.value_of(new))[0])
                    what = (
                        f"label {new} first comes here: what can be read but once needs --labels to learn in one pass"
                    )
                    raise batch.error(row, what)
                elif new is not None:
                    complete, self.learner, self.done = False, None, 0
                    self.monitor.restarted()
                    continue
                first = False
                if self.labels.enough:
                    with self.monitor.undisturbed():
                        self._begin(batch.n_features)
                    self._batch = batch, self.done
                    self._learn(batch.rows, batch.labels, batch=batch)
                    self._learned, self._batch = self._read.and_then(batch.n_lines, batch.checksum), None
        if self._known is not None and self._read.lines < self._known.lines:
            self._begin_anew(OTHER_TEXT)
            return False
        return complete

    def _is_known(self, batch: Batch) -> bool:
        """Whether the text is the one that a checkpoint has learned from, as far as it has come.  Lines that the
        checkpoint knows have no more rows than it has learned."""
        known, chunk = self._known, batch.chunk
        if known is None or known.lines < self._read.lines:
            return True
        lines = known.lines - self._read.lines
        if lines > batch.n_lines:
            return batch.rows.n_rows <= self._left_out
        return self._read.and_then(lines, chunk.checksum(int(np.append(chunk.places(), chunk.stop)[lines]))) == known

    def _begin_anew(self, why: str) -> None:
        """A checkpoint is of other text: refuse to go on, unless that is to be learned from as new."""
        if not self._forced:
            raise ModelError(f"{why}. With --force these data are learned from as new ones")
        if self._in_one_pass and self._size is None and self._known is not None:
            raise ModelError(f"{why}, and what can be read but once cannot be read again to learn from it as new data")
        self._known, self._left_out, self.done = None, 0, 0

    # -- several epochs, or a shuffle ----------------------------------------------------------------------------------

    def _gather(self) -> None:
        """Read all rows into memory or, as soon as they are too many, into a file."""
        store: MemoryStore | DiskStore = MemoryStore(self._dtype, self._memory)
        self._store = store
        with closing(self._batches()) as batches:
            for batch in batches:
                self.labels.meet(batch)
                fraction = batch.chunk.position / self._size if self._size and batch.chunk.plain else 0
                store.add(batch.rows, batch.labels, fraction=fraction)
                if isinstance(store, MemoryStore) and store.nbytes > self._memory:
                    self._store = store = self._spilled(store)
        if self._known not in (None, self._read):
            self._begin_anew(OTHER_TEXT)
        self._learned = self._read

    def _spilled(self, store: MemoryStore) -> DiskStore:
        """The rows in a file, since they do not fit into memory."""
        if self._must_fit:
            raise ModelError(
                f"the checkpoint is of a run with all rows in memory, and they need more than {self._memory:,} bytes: "
                f"give it more --memory"
            )
        file = DiskStore(self._dtype, self._memory)
        self._store = file  # to be closed, whatever happens now
        rows, labels = store.rows, store.labels
        step = max(1, rows.n_rows * CHUNK_BYTES // store.nbytes)  # rows as many as come from a chunk of text
        for start in range(0, rows.n_rows, step):
            stop = min(start + step, rows.n_rows)
            file.add(rows.part(start, stop), labels[start:stop])
        return file

    def _learn_store(self) -> None:
        store = self._store
        if store is None or not self.labels.enough or not self.rows:
            return
        with self.monitor.undisturbed():
            self._begin(store.n_features)
        random_state = self.random_state or self.training.generator()
        self.monitor.begin("learning", self.rows * self.training.epochs, " rows")
        with closing(store.pieces(self.training, random_state)) as pieces:
            for rows, labels, order in pieces:
                self._learn(rows, labels, order)

    # -- learning ------------------------------------------------------------------------------------------------------

    def _begin(self, n_features: int) -> None:
        """Make the learner, or make it large enough."""
        if self.learner is None:
            if self._hash_bits:
                n_features = 1 << self._hash_bits
            n_features = max(n_features, self.resources.features or 0)
            size = self._state_bytes(n_features)
            if size > self._memory and not self._hash_bits and self.resources.features is None:
                raise DataError(
                    f"{n_features:,} features need {size:,} bytes for the weights{self._of_labels}, more than the "
                    f"{self._memory:,} allowed (--memory): {self._cheaper}, and --features N takes all",
                    displayed(self.paths[0]) if len(self.paths) == 1 else None,
                )
            self.learner = Learner(self.rule, self.training, self.labels.values, n_features)
            self.learner.hash_bits = self._hash_bits
        if not self._resumed:
            self.learner.label_texts = (
                self.labels.names or None
            )  # which may change when a label is met for the first time
        self.learner.grow(n_features)

    def _learn(
        self,
        rows: Rows,
        labels: NDArray[np.float64],
        order: NDArray[np.int64] | None = None,
        batch: Batch | None = None,
    ) -> None:
        learner = self.learner
        assert learner is not None
        if self._left_out:
            order = np.arange(rows.n_rows) if order is None else order
            known = min(self._left_out, len(order))
            self._left_out, self.done, order = self._left_out - known, self.done + known, order[known:]

        def report(done: int) -> None:
            self.done += done
            self.monitor.learned(self, done)

        try:
            with self.monitor.undisturbed():
                learner.learn(rows, learner.encode(labels), self._weights(labels), order, report)
        except DataError as error:
            if batch is None or error.row is None:
                raise
            raise batch.error(error.row, error.what) from None

    def _weights(self, labels: NDArray[np.float64]) -> NDArray[np.float64]:
        assert self.learner is not None
        return self.learner.class_weights(labels, self.labels.counts)

    def _refuse(self) -> NoReturn:
        """Say why nothing could be learned."""
        path = displayed(self.paths[0]) if len(self.paths) == 1 else None
        if not self.rows:
            raise NoExamplesError("no examples" if path else f"no examples in any of {len(self.paths)} files", path)
        raise DataError(f"two labels are needed to learn a classifier, found only {self.labels.names[0]}", path)
