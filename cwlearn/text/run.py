"""Training straight from text: what `cwlearn train` and `cwlearn.train` do.

One pass in the order of the text learns from each batch while the next ones are parsed, and keeps none of them.
Several epochs, or a shuffle, store the rows first: in memory while they fit, else in a file (`row_store`).
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from cwlearn.core.learner import Learner
from cwlearn.core.rule import Rule
from cwlearn.core.text_options import TextOptions
from cwlearn.core.training import Plan, Training, row_dtype
from cwlearn.errors import DataError, ModelError, NoExamplesError
from cwlearn.text.batch import Batch
from cwlearn.text.chunks import CHUNK_BYTES, Beginning
from cwlearn.text.labels import Labels
from cwlearn.text.monitor import Monitor
from cwlearn.text.prior import set_prior
from cwlearn.text.reader import Reader, Reading
from cwlearn.text.resources import Resources, WeightLimit, check_hashed_size, check_weights
from cwlearn.text.row_store import DiskStore, MemoryStore, Piece
from cwlearn.text.sources import Paths, as_sources, fingerprint, total_size
from cwlearn.text.weighing import learn_weighed
from cwlearn.utils.machine import free_memory

if TYPE_CHECKING:
    from cwlearn.core.frequencies import Frequencies

OTHER_TEXT = "the data have changed: they do not begin with the lines that the checkpoint has learned from"


@dataclass(eq=False, repr=False)
class Run:
    """One training: its options, and what has been counted so far."""

    paths: Paths
    rule: Rule
    training: Training
    reading: Reading = field(default_factory=Reading)
    resources: Resources = field(default_factory=Resources)
    labels: Labels = field(default_factory=Labels)
    learner: Learner | None = None  # to continue with
    monitor: Monitor = field(default_factory=Monitor)
    random_state: np.random.RandomState | None = None  # None: made from the seed in `training`
    chunk_bytes: int = CHUNK_BYTES
    documents: TextOptions | None = None  # how documents become rows, if the text has some
    only_documents: bool = False

    def __post_init__(self) -> None:
        self.sources = as_sources(self.paths)
        self.rows = self.nonzeros = self.bad_lines = 0  # of the last pass over the text
        self.done = 0  # rows learned in all epochs, by this run or by its checkpoint
        self._size = total_size(self.sources)
        self._store: MemoryStore | DiskStore | None = None
        self._bad_lines_reported = 0  # in any pass
        # What a checkpoint says, if the run continues one.
        self._rows_to_skip = 0  # that the checkpoint has learned, and this run has not come to yet
        self._expected: Beginning | None = None  # the text that the checkpoint depends on
        self._forced = False  # other text is learned from as new
        self._must_fit = False  # all rows were in memory when the checkpoint was written
        # What the next checkpoint will say.
        self._read = Beginning()  # the text before the current batch
        self._learned = Beginning()  # the text that the weights depend on, without the current batch
        self._current: tuple[Batch, int] | None = None  # the batch that is being learned, and `done` before it
        self._dtype = row_dtype(self.rule, self.training)
        self._hash_bits = self.resources.hash_bits or 0
        self._frequencies: Frequencies | None = None  # of a run in several epochs, which counts all rows first
        self._documents: TextOptions | None = self.documents or TextOptions()
        self._continued = self.learner is not None
        if self.learner is not None:
            self.labels = Labels.of(self.learner)
            self._hash_bits, self._documents = self.learner.hash_bits, self.learner.documents
            if self.resources.hash_bits not in (None, self._hash_bits):
                wanted = self.resources.hash_bits
                raise ValueError(f"`hash_bits` of the model is {self._hash_bits or None}, not {wanted}")
            check_hashed_size(self.resources.n_features, self._hash_bits)
            self.reading.check_fields(self._documents)
            self.learner.reconfigure(self.rule, self.training)
        self._set_memory(self.resources.memory or free_memory() // 2)

    def _set_memory(self, memory: int) -> None:
        self._memory = memory
        several = self.labels.multilabel
        self._limit = WeightLimit(self.rule, self.training, self.resources.n_features, memory, several)

    def train(self) -> Learner:
        """Learn from the text, and return the learner."""
        pieces = self._streamed_pieces() if self._in_one_pass else self._stored_pieces()
        try:
            with closing(pieces):
                for piece in pieces:
                    self._learn(piece)
        finally:
            if self._store is not None:
                self._store.close()
        if self.learner is None or not self.rows:
            raise self._nothing_learned()
        if self.resources.n_features:
            self.learner.grow(self.resources.n_features)
        self.learner.unfinished = None
        return self.learner

    @property
    def _in_one_pass(self) -> bool:
        return self.training.epochs == 1 and not self.training.shuffle and not self.rule.informed

    def _learn(self, piece: Piece) -> None:
        learner, (rows, labels, order, fresh, settled, repeated) = self.learner, piece
        assert learner is not None
        if self._rows_to_skip:
            order = np.arange(rows.n_rows) if order is None else order
            skipped = min(self._rows_to_skip, len(order))
            self._rows_to_skip, self.done, order = self._rows_to_skip - skipped, self.done + skipped, order[skipped:]

        def report(done: int) -> None:
            self.done += done
            self.monitor.learned(self, done)

        (targets, weights), sets = self.labels.encode_rows(rows, labels, learner), self.labels.sets
        try:
            if learner.frequencies is not None and self._in_one_pass:
                learn_weighed(learner, rows, targets, weights, order, report, self.monitor, sets)
                return
            if isinstance(self._store, DiskStore):
                rows = learner.weighed(rows)
            with self.monitor.undisturbed():
                learner.learn(rows, targets, weights, order, report, fresh, settled, repeated, sets)
        except DataError as error:
            if self._current is None or error.row is None:
                raise
            raise self._current[0].row_error(error.row, error.what) from None

    def _prepare_learner(self, n_features: int) -> None:
        """Make the learner, or make it large enough."""
        if self.learner is None:
            if self._hash_bits:
                n_features = 1 << self._hash_bits
            n_features = max(n_features, self.resources.n_features or 0)
            self._limit.check_total(n_features, len(self.labels), self._only_name, self._hash_bits)
            multilabel = self.labels.multilabel
            self.learner = Learner(self.rule, self.training, self.labels.values, n_features, multilabel=multilabel)
            self.learner.hash_bits = self._hash_bits
            if self._hash_bits and self._documents is not None:
                self.learner.frequencies = self._frequencies
                self.learner.set_documents(self._documents, self._hash_bits)
        if not self._continued:  # a label that was sampled may be written otherwise where it first occurs
            self.learner.label_texts = self.labels.names or None
        self.learner.grow(n_features)

    @property
    def _only_name(self) -> str | None:
        """The name of the source, if there is only one."""
        return self.sources[0].name if len(self.sources) == 1 else None

    def _nothing_learned(self) -> DataError:
        """Why nothing could be learned."""
        name = self._only_name
        if not self.rows:
            return NoExamplesError("no examples" if name else f"no examples in any of {len(self.sources)} files", name)
        if self.labels.multilabel:
            return DataError("no row has a label", name)
        return DataError(f"two labels are needed to learn a classifier, found only {self.labels.names[0]}", name)

    # -- reading -------------------------------------------------------------------------------------------------------

    def _reader(self) -> Reader:
        return Reader(
            self.sources,
            self.reading,
            dtype=self._dtype,
            label_type=self.labels.type,
            hash_bits=self._hash_bits,
            documents=self._documents,
            only_documents=self.only_documents or (self._continued and self._documents is not None),
            threads=self.resources.threads,
            chunk_bytes=self.chunk_bytes,
            checksums=self.monitor.keeps_progress or self._expected is not None,
            on_skipped=self._report_skipped,
        )

    def reader(self) -> Reader:
        """A reader of the text that was learned from."""
        return self._reader()

    def _batches(self) -> Generator[Batch, None, None]:
        """The batches of the text, counted, and with columns that the model may have."""
        self.rows = self.nonzeros = self.bad_lines = 0
        self._read = self._learned = Beginning()
        self.labels.reset_counts()
        self.monitor.begin("reading" if not self._in_one_pass else "learning", self._size, "B")
        with closing(iter(self._reader())) as batches:
            for batch in batches:
                check_weights(batch, self.rule)
                if not batch.hash_bits:
                    self._limit.check(batch, len(self.labels))
                elif self.learner is None:
                    self._hash_bits, self._documents = batch.hash_bits, batch.documents
                self.rows += batch.rows.n_rows
                self.nonzeros += len(batch.rows.values)
                yield batch
                self._read = self._read.followed_by(batch.n_lines, batch.checksum)
                self.monitor.read(self, batch)

    def _report_skipped(self, flaw: DataError) -> None:
        """Report a bad line once, though a run may begin again."""
        self.bad_lines += 1
        if self.bad_lines > self._bad_lines_reported:
            self._bad_lines_reported = self.bad_lines
            self.monitor.skipped(flaw)

    # -- one pass, in the order of the text ----------------------------------------------------------------------------

    def _streamed_pieces(self) -> Generator[Piece, None, None]:
        """Each batch as it comes.  If a label comes late, the pass only finds all labels, and another one begins."""
        if getattr(self.rule, "class_weight", None) == "balanced":
            raise ValueError(
                "`class_weight` 'balanced' must count all rows first: it needs `shuffle`, or more than one of `epochs`"
            )
        complete = False
        while not complete:
            complete = yield from self._pass()

    def _pass(self) -> Generator[Piece, None, bool]:
        """One pass; whether the labels that were known when learning began were all."""
        first, complete = True, True
        with closing(self._batches()) as batches:
            for batch in batches:
                if not self._continues_checkpoint(batch):
                    self._begin_anew(OTHER_TEXT)
                    return False
                if not batch.rows.n_rows:
                    continue
                new_label = self.labels.add(batch)
                if not complete:
                    continue
                if first and not self.labels.fixed and not self.labels.guessed:
                    self.labels.add_samples(self._reader())
                elif new_label is not None:
                    self._forget_learner(batch, new_label)
                    complete = False
                    continue
                first = False
                if self.labels.enough:
                    with self.monitor.undisturbed():
                        self._prepare_learner(batch.n_features)
                    self._current = batch, self.done
                    yield Piece(batch.rows, batch.labels)
                    self._learned, self._current = self._read.followed_by(batch.n_lines, batch.checksum), None
        if self._expected is not None and self._read.lines < self._expected.lines:
            self._begin_anew(OTHER_TEXT)
            return False
        return complete

    def _forget_learner(self, batch: Batch, new_label: str) -> None:
        """A label was not known when learning began: drop what was learned, if the text can be read again."""
        if self._size is None:
            raise batch.row_error(
                self.labels.first_row_of(new_label, batch),
                f"label {new_label} first comes here: what can be read only once needs `labels` to learn in one pass",
            )
        self.learner, self.done = None, 0
        self.monitor.restarted()

    # -- several epochs, or a shuffle ----------------------------------------------------------------------------------

    def _stored_pieces(self) -> Generator[Piece, None, None]:
        """The rows of all epochs, once all of the text has been read."""
        store = self._read_into_store()
        if not self.labels.enough or not self.rows:
            return
        with self.monitor.undisturbed():
            self._prepare_learner(store.n_features)
            if isinstance(store, MemoryStore) and self.learner is not None and self.learner.frequencies is not None:
                store.set_values(self.learner.weighed(store.rows))
        random_state = self.random_state or self.training.generator()
        plan = Plan(self.rule, self.training, self.rows)
        if self.learner is not None and self.learner.wants_prior:
            with self.monitor.undisturbed():
                set_prior(self.learner, store, plan, self.labels)
        self.monitor.begin("learning", plan.total, " rows")
        with closing(store.pieces(plan, self.training, random_state)) as pieces:
            yield from pieces

    def _read_into_store(self) -> MemoryStore | DiskStore:
        """Read all rows into memory or, as soon as they are too many, into a file."""
        store: MemoryStore | DiskStore = MemoryStore(self._dtype, self._memory)
        self._store = store
        with closing(self._batches()) as batches:
            for batch in batches:
                self.labels.add(batch)
                self._count(batch)
                fraction = batch.chunk.position / self._size if self._size and batch.chunk.plain else 0
                store.add(batch.rows, batch.labels, fraction=fraction)
                if isinstance(store, MemoryStore) and store.nbytes > self._memory:
                    self._store = store = self._moved_to_disk(store)
        if self._expected not in (None, self._read):
            self._begin_anew(OTHER_TEXT)
        known = None if self.learner is None else self.learner.frequencies
        if self._expected is None and known is not None and self._frequencies is not None:
            known.add(self._frequencies)  # a checkpoint has them already
        self._learned = self._read
        return store

    def _count(self, batch: Batch) -> None:
        """Count the features of documents."""
        documents = batch.documents
        if documents is not None and documents.idf:
            if self._frequencies is None:
                from cwlearn.core.frequencies import Frequencies  # which other data do not need

                self._frequencies = Frequencies(batch.n_features, documents.norm)
            self._frequencies.count(batch.rows)

    def _moved_to_disk(self, store: MemoryStore) -> DiskStore:
        """The rows in a file, since they do not fit into memory."""
        if self._must_fit:
            raise ModelError(
                f"the checkpoint is of a run with all rows in memory, and they need more than {self._memory:,} bytes: "
                f"give it more `memory`"
            )
        file = DiskStore(self._dtype, self._memory)
        self._store = file  # it must be closed, whatever happens now
        rows, labels = store.rows, store.labels
        step = max(1, rows.n_rows * CHUNK_BYTES // store.nbytes)  # about as many rows as a chunk of text has
        for start in range(0, rows.n_rows, step):
            stop = min(start + step, rows.n_rows)
            file.add(rows.part(start, stop), labels[start:stop])
        return file

    # -- checkpoints ---------------------------------------------------------------------------------------------------

    def resume_from(self, unfinished: dict[str, Any], force: bool = False) -> None:
        """Skip the rows that the learner, a checkpoint of this run, has learned already.

        If the text turns out to be another one, that is an error; with `force` all of it is learned from as new.
        """
        self._rows_to_skip, self._forced = unfinished["done"], force
        self._expected = Beginning.from_record(unfinished)
        if self._expected is None:
            self._begin_anew("the checkpoint does not say what it has read, as those of this release do")
            return
        self._set_memory(self.resources.memory or unfinished["memory"] or self._memory)
        self._must_fit = unfinished["memory"] is None

    def progress(self) -> dict[str, Any]:
        """What identifies this run, and how far it has come, for a checkpoint."""
        return {
            "data": self._fingerprint,
            "epochs": self.training.epochs,
            "shuffle": self.training.shuffle,
            "seed": self.training.random_state,
            "memory": self._memory if isinstance(self._store, DiskStore) else None,
            **asdict(self.reading),
            "done": self.done + self._rows_to_skip,
            **self._beginning().record(),
        }

    @cached_property
    def _fingerprint(self) -> str:
        return fingerprint(self.sources)

    def _beginning(self) -> Beginning:
        """The text that must be the same when a checkpoint of this moment is resumed."""
        if self._expected is not None and self._rows_to_skip:
            return self._expected
        if self._current is None:
            return self._learned
        batch, done_before = self._current
        return batch.beginning(self._read, self.done - done_before)

    def _continues_checkpoint(self, batch: Batch) -> bool:
        """Whether the text is the one that the checkpoint has learned from, as far as it has been read.

        The lines that a checkpoint depends on have no more rows than it has learned.
        """
        expected, chunk = self._expected, batch.chunk
        if expected is None or expected.lines < self._read.lines:
            return True
        lines = expected.lines - self._read.lines
        if lines > batch.n_lines:
            return batch.rows.n_rows <= self._rows_to_skip
        stop = int(np.append(chunk.line_places(), chunk.stop)[lines])
        return self._read.followed_by(lines, chunk.checksum(stop)) == expected

    def _begin_anew(self, why: str) -> None:
        """The checkpoint is of other text: refuse to continue, unless that is to be learned from as new."""
        if not self._forced:
            raise ModelError(f"{why}. With `force` these data are learned from as new ones")
        if self._in_one_pass and self._size is None and self._expected is not None:
            raise ModelError(f"{why}, and what can be read only once cannot be read again to learn from it as new data")
        self._expected, self._rows_to_skip, self.done = None, 0, 0
