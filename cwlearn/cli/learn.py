"""`cwlearn learn`."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from cwlearn.cli.answers import Answers, add_answer_flags, in_order, kept_fields_of, write_all, write_lines
from cwlearn.cli.common import DATA_HELP, check_paths, save_model, usage_checked, warn, warn_of_skipped_line
from cwlearn.cli.flags import add_memory, add_options, checked, given
from cwlearn.core import model_file
from cwlearn.core.learner import Learner
from cwlearn.core.parameters import POSITIVE
from cwlearn.errors import DataError, ModelError, UsageError, shown
from cwlearn.text import compression
from cwlearn.text.batch import Batch, Parser
from cwlearn.text.feedback import Feedback
from cwlearn.text.formats import HEAD_BYTES, suffix_format
from cwlearn.text.journal import Journal
from cwlearn.text.labels import label_type_of
from cwlearn.text.reader import Reader, Reading
from cwlearn.text.resources import Resources
from cwlearn.text.sources import STDIN, Source
from cwlearn.utils.atomic_file import check_writable
from cwlearn.utils.lock_file import HeldError, held_lock
from cwlearn.utils.machine import free_memory
from cwlearn.utils.messages import say
from cwlearn.utils.signals import signals_wait

COMPRESSED = tuple(suffix for _, suffix in compression.FORMATS.values())
SECONDS = 60.0  # between two writes of the model
CHUNK_BYTES = 1 << 18  # lines that are learned, and forced to disk, together
ANY_NUMBER = 1 << 62
EXAMPLE = """\
  cwlearn learn - -m spam.npz --journal spam.jsonl     lasting: each answer stands for a line on disk
  cwlearn learn - -m spam.npz --keep id --top 2        JSON lines, as predict has them"""


def add_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("data", nargs="+", metavar="DATA", help=DATA_HELP)
    parser.add_argument(
        "-m", "--model", required=True, metavar="MODEL", help="model that answers and learns; it is replaced"
    )
    parser.add_argument(
        "--journal",
        metavar="FILE",
        help="append each line that is learned to FILE, and force it to disk before it is answered; a model that was "
        "killed takes up the rest when it is started again",
    )
    parser.add_argument("--new-journal", action="store_true", help="begin a journal though the model has another one")
    parser.add_argument(
        "--interval",
        type=checked(POSITIVE),
        default=SECONDS,
        metavar="SECONDS",
        help=f"write the model after so many seconds with new lines, and at the end (default: {SECONDS:g})",
    )
    add_answer_flags(parser)
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing but answers and errors")
    group = parser.add_argument_group("reading")
    add_options(group, Reading)
    add_options(group, Resources, only=("threads",))
    add_memory(group)


def run(arguments: argparse.Namespace) -> None:
    if arguments.model == STDIN:
        raise UsageError("a model is a file: -m - names none")
    if arguments.journal is not None and arguments.journal.endswith(COMPRESSED):
        raise UsageError(f"a journal is plain text: {shown(arguments.journal)} is the name of a compressed file")
    if arguments.new_journal and arguments.journal is None:
        raise UsageError("--new-journal needs --journal FILE")
    check_paths(arguments.data, [arguments.model, arguments.journal], [])
    check_paths([arguments.model], [arguments.journal])
    with _only_writer(arguments.model):
        check_writable(arguments.model)
        learner = model_file.load(arguments.model, getattr(arguments, "memory", None))
        if learner.unfinished is not None:
            raise ModelError(f"{arguments.model}: a checkpoint; `cwlearn train --resume` finishes its training first")
        if learner.multilabel:
            raise UsageError("a line has one label here, and this model was trained with --multilabel")
        with usage_checked():
            session = Session(learner, arguments)
        try:
            session.take_up_journal()
            session.serve()
        finally:
            session.close()


@contextmanager
def _only_writer(model: str) -> Iterator[None]:
    """Refuse a model that another process learns into."""
    try:
        with held_lock(f"{os.path.realpath(model)}.lock"):
            yield
    except HeldError as error:
        raise ModelError(
            f"{model}: process {error.holder or 'unknown'} learns into this model: end it first, or give a copy"
        ) from None


class Session:
    """A model that answers lines and learns from them, and its journal."""

    def __init__(self, learner: Learner, arguments: argparse.Namespace) -> None:
        self._arguments, self._learner = arguments, learner
        self._answers = Answers(learner, arguments)
        given_reading = {"on_bad_line": "skip", "max_bad": ANY_NUMBER, **given(arguments, Reading)}
        self._reading = Reading(**given_reading)
        self._reading.check_fields(learner.documents)
        memory = getattr(arguments, "memory", None) or free_memory() // 2
        self._feedback = Feedback(learner, memory)
        self._journal: Journal | None = None
        self._journal_parser: Parser | None = None  # of the lines in the journal, once there are some
        self._sound = True  # all that the model has learned is in the journal
        self._unsaved = 0  # lines learned since the model was written
        self._saved_at = time.monotonic()
        self._answered = self._learned = self._bad = 0

    def close(self) -> None:
        if self._journal is not None:
            self._journal.close()

    # -- the journal ---------------------------------------------------------------------------------------------------

    def take_up_journal(self) -> None:
        """Open the journal, and learn what it has beyond the model."""
        path, learner = self._arguments.journal, self._learner
        if path is None:
            return
        mark = learner.journal
        self._journal = journal = Journal.opened(path, self._arguments.model, mark, self._arguments.new_journal)
        if not journal.size and mark != journal.mark():  # the model says which journal is its own before any answer
            learner.journal = journal.mark()
            model_file.save(learner, self._arguments.model)
        try:
            self._take_up_rest(journal)
        except DataError as error:
            raise DataError(
                f"{error.what}. The journal was damaged or changed, or these flags are not those that it was written "
                f"with: restore it, or begin another with `new_journal`; no model was written",
                error.path,
                error.line,
                error.column,
            ) from None

    def _take_up_rest(self, journal: Journal) -> None:
        rest = journal.rest(lambda *text: self._parser_of_journal(journal).end_of_last_record(*text))
        if journal.size:
            self._journal_parser = self._parser_of_journal(journal)
            self._check_first_line(journal)
        if rest is None:
            return
        before = self._learner.statistics["rows"]
        for batch in self._reader([rest], replace(self._reading, on_bad_line="error")):
            with signals_wait():
                self._feedback.learn_all(batch)
        self._learner.journal, self._unsaved = journal.mark(), 1
        self._save()
        if not self._arguments.quiet:
            rows = self._learner.statistics["rows"] - before
            say(f"{shown(journal.path)}: took up {rows:,} lines that the model had not learned yet")

    def _check_first_line(self, journal: Journal) -> None:
        """Refuse to go on with other fields than those that the journal was begun with."""
        source, strict = Source(journal.path), replace(self._reading, on_bad_line="error")
        line = source.head(HEAD_BYTES).partition(b"\n")[0] + b"\n"
        for batch in self._reader([source], strict).of_lines(line, source):
            if batch.fault is not None and len(line) < HEAD_BYTES:
                raise batch.line_error(batch.fault, batch.n_lines)

    def _parser_of_journal(self, journal: Journal) -> Parser:
        return self._reader([Source(journal.path)], self._reading).parser()

    def _reader(self, sources: list[Any], reading: Reading, prompt: bool = False) -> Reader:
        learner = self._learner
        return Reader(
            sources,
            reading,
            dtype=learner.state.dtype,
            label_type=label_type_of(learner),
            optional_labels=True,
            hash_bits=learner.hash_bits,
            documents=learner.documents,
            only_documents=learner.documents is not None,
            threads=getattr(self._arguments, "threads", None),
            chunk_bytes=CHUNK_BYTES,
            prompt=prompt,
            on_skipped=warn_of_skipped_line,
        )

    def _check_format(self, journal: Journal, batch: Batch) -> None:
        """Refuse lines of another format than the journal has: nobody could read it."""
        if batch.chunk.of_table:
            raise DataError("rows of a table are no lines that a journal can have", batch.chunk.source.name)
        if self._journal_parser is None:
            by_name = suffix_format(journal.path)
            if by_name not in (None, batch.parser.name):
                found = batch.parser.name
                raise DataError(f"the name of the journal is one of {by_name}, and the lines are {found}", journal.path)
            self._journal_parser = batch.parser
        elif _without_header(self._journal_parser) != _without_header(batch.parser):
            raise DataError(
                f"the journal has lines of another format ({self._journal_parser.name}) than these "
                f"({batch.parser.name}), or with other fields: say `format`, or begin another with `new_journal`",
                journal.path,
            )

    # -- answers -------------------------------------------------------------------------------------------------------

    def serve(self) -> None:
        """Answer all lines, learn those with a label, and write the model."""
        file = sys.stdout.buffer
        try:
            write_all(file, self._answers.header())
            file.flush()  # which tells the other end of a pipe that the model is ready
            with closing(iter(self._reader(self._arguments.data, self._reading, prompt=True))) as batches:
                for batch in batches:
                    with signals_wait():
                        lines = self._learn(batch)
                    write_lines(file, lines)
                    file.flush()
                    if time.monotonic() - self._saved_at > self._arguments.interval:
                        self._save_if_possible()
        except BaseException:
            if self._sound:
                self._save_if_possible()
            raise
        self._save()
        if not self._arguments.quiet:
            bad = f", {self._bad:,} bad lines" if self._bad else ""
            say(f"{shown(self._arguments.model)}: {self._answered:,} answers, {self._learned:,} lines learned{bad}")

    def _learn(self, batch: Batch) -> list[str]:
        """Go through a batch, and put what was learned into the journal; the answers are ready then."""
        feedback, journal = self._feedback, self._journal
        if journal is not None and batch.rows.n_rows:
            self._check_format(journal, batch)
        self._sound = False
        answers, numbers = self._answered_rows(batch)
        learned = np.flatnonzero(feedback.learned).tolist()
        if journal is not None and learned:
            journal.append(_header_of(batch.parser, journal) + b"".join(map(batch.record_of, learned)))
            self._learner.journal = journal.mark()
        self._sound = True
        self._unsaved += len(learned)
        self._learned += len(learned)
        self._answered += len(numbers)
        self._bad += len(batch.skipped) + len(feedback.flaws)
        for flaw in feedback.flaws.values():
            warn_of_skipped_line(flaw)
        places = [batch.place_of(row) for row in [*numbers, *feedback.flaws]] + batch.bad_places.tolist()
        bad = [self._answers.bad_line(flaw) for flaw in [*feedback.flaws.values(), *batch.skipped]]
        return in_order(places, [*answers, *bad])

    def _answered_rows(self, batch: Batch) -> tuple[list[str], list[int]]:
        """Answers, with the numbers of their rows."""
        kept = kept_fields_of(batch, self._answers) or [{} for _ in range(batch.rows.n_rows)]
        lines: list[str] = []
        numbers: list[int] = []
        for model, which, rows, mean, variance in self._feedback.go_through(batch):
            fields = [{**kept[row], "learned": bool(self._feedback.learned[row])} for row in which]
            lines += self._answers.lines(self._answers.numbers(model, rows, mean, variance), fields)
            numbers += which
        return lines, numbers

    # -- the model -----------------------------------------------------------------------------------------------------

    def _save(self) -> None:
        if not self._unsaved:
            return
        if self._journal is None:
            save_model(self._learner, self._arguments.model)
        else:
            model_file.save(self._learner, self._arguments.model)
        self._unsaved, self._saved_at = 0, time.monotonic()

    def _save_if_possible(self) -> None:
        """Write the model; if that fails, warn: the next write, or the journal, may have it."""
        try:
            self._save()
        except (OSError, MemoryError) as error:
            kept = "" if self._journal is None else f"; {shown(self._journal.path)} has all that was learned"
            warn(f"the model was not written: {error}{kept}")
            self._saved_at = time.monotonic()


def _without_header(parser: Any) -> Any:
    """A parser without the bytes of its header, which may have other line ends."""
    format: Any = getattr(parser, "format", None)
    if getattr(format, "header", None) is None:
        return parser
    return replace(parser, format=replace(format, header=b""))


def _header_of(parser: Any, journal: Journal) -> bytes:
    """The header that a new journal of CSV begins with."""
    header: bytes | None = getattr(getattr(parser, "format", None), "header", None)
    return b"" if header is None or journal.size else header.rstrip(b"\r\n") + b"\n"
