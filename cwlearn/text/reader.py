"""Text as batches of checked rows, parsed ahead of the learner by several threads.

A `Reader` knows chunks, threads and bad lines; the format of the text is left to a parser (`svmlight`, `documents`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from cwlearn.core.parameters import BOOLEAN, COUNT, NOTHING, SIZE, THREADS, Check, Options, one_of, option, require
from cwlearn.core.text_options import BITS, DEFAULT_BITS, FIELD, FIELDS, OF_FILES, TextOptions
from cwlearn.errors import DataError
from cwlearn.text._svmlight import SETS, UNLABELLED
from cwlearn.text.batch import Batch, Buffers, Parser
from cwlearn.text.chunks import CHUNK_BYTES, MARK, Chunk, ChunkReader
from cwlearn.text.formats import AUTO, FORMATS, HEAD_BYTES, LINE_FORMATS, choose, detect, wrong_format_hint
from cwlearn.text.sources import Paths, Source, as_sources
from cwlearn.text.svmlight import SvmlightParser
from cwlearn.text.svmlight_errors import Grammar, label_type
from cwlearn.text.text_file import peek
from cwlearn.utils.machine import usable_cores
from cwlearn.utils.pipeline import in_order

if TYPE_CHECKING:
    from cwlearn.text.documents import DocumentParser
    from cwlearn.text.vw import VwParser

Unsorted = Literal["error", "sort"]
OnBadLine = Literal["error", "skip"]
Format = Literal["auto", "svmlight", "jsonl", "csv", "tsv", "fasttext", "vw", "text", "parquet"]


def _read_delimiter(text: str) -> str:
    return {"\\t": "\t", "tab": "\t"}.get(text, text)


DELIMITER = Check(
    "one ASCII character that is no quote and no line end",
    lambda value: isinstance(value, str) and len(value) == 1 and value.isascii() and value not in '"\r\n\0',
    _read_delimiter,
    "C",
)


@dataclass(frozen=True)
class Reading(Options):
    """How to read text.  The index in an svmlight file is the column of the model."""

    unsorted: Unsorted = option("error", one_of("error", "sort"), "What to do with a line whose indices do not rise.")
    on_bad_line: OnBadLine = option(
        "error", one_of("error", "skip"), "Stop at the first bad line, or report it and go on without its row."
    )
    max_bad: int = option(100, COUNT, "How many bad lines to skip; one more is an error.")
    max_line: int = option(1 << 30, SIZE, "Bytes of the longest line.")
    format: Format = option(
        "auto",
        one_of("auto", *FORMATS),
        "Format of the data. By default it is that of the file's suffix, or of its first lines.",
        keyword_only=True,
    )
    text: str | None = option(
        None,
        NOTHING | FIELD,
        "Field of the text in JSON and CSV, or several with commas between them. Without a header, columns count from "
        "1. By default that of the model, or text.",
        keyword_only=True,
    )
    label: str | None = option(
        None,
        NOTHING | FIELD,
        "Field of the label in JSON and CSV. By default that of the model, or label.",
        keyword_only=True,
    )
    fields: tuple[str, ...] | None = option(
        None,
        NOTHING | FIELDS,
        "Further fields of JSON and CSV as features: a number in field f is the feature f with this value, a text s is "
        "the feature f=s. Neither `idf` nor `norm` changes their values. By default those of the model, or none.",
        keyword_only=True,
    )
    delimiter: str | None = option(
        None,
        NOTHING | DELIMITER,
        "Character between two fields of CSV. By default a comma, or a tab in TSV.",
        keyword_only=True,
    )
    header: bool = option(True, BOOLEAN, "The first line of CSV names the fields.", keyword_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.fields is not None:
            object.__setattr__(self, "fields", tuple(self.fields))

    def with_names(self, documents: TextOptions) -> TextOptions:
        """Options for documents, with the names of fields that are given here instead of those there."""
        return replace(
            documents,
            text=self.text or documents.text,
            label=self.label or documents.label,
            fields=documents.fields if self.fields is None else self.fields,
        )

    def check_fields(self, documents: TextOptions | None) -> None:
        """Refuse other fields than those that a model was trained with."""
        if documents is not None and self.fields not in (None, documents.fields):
            theirs, given = (", ".join(names) or "none" for names in (documents.fields, self.fields or ()))
            raise ValueError(f"`fields` of the model are {theirs}, not {given}")


def has_documents(paths: Paths, reading: Reading) -> bool:
    """Whether the text has documents, and not rows of numbers or named features; a pipe is not read by that."""
    source, format = as_sources(paths)[0], str(reading.format)
    if format == AUTO:
        format = "parquet" if source.is_table else choose(source.path, peek(source, HEAD_BYTES), format)
    return format not in LINE_FORMATS


class Reader:
    """The batches of one or several sources, in their order, whatever the number of threads."""

    def __init__(
        self,
        paths: Paths,
        reading: Reading | None = None,
        *,
        dtype: Any = "float32",
        labelled: bool = True,
        label_type: int | None = None,
        needs_labels: bool = True,
        optional_labels: bool = False,
        queries: bool = False,
        hash_bits: int = 0,
        documents: TextOptions | None = None,
        only_documents: bool = False,
        lowest_index: int = 0,
        threads: int | None = None,
        chunk_bytes: int = CHUNK_BYTES,
        checksums: bool = False,
        prompt: bool = False,
        on_skipped: Callable[[DataError], object] = lambda flaw: None,
    ) -> None:
        self.sources = as_sources(paths)
        self.reading = reading or Reading()
        self.dtype = np.dtype(dtype)
        self.label_type = label_type if labelled else UNLABELLED  # None: that of the first label
        self.queries, self.hash_bits, self.lowest_index = queries, hash_bits, lowest_index
        self.needs_labels = needs_labels  # else documents without one are fine
        self.optional_labels = optional_labels  # rows without a label have the label NaN
        self.documents = documents  # how they become rows; None if they cannot
        self.only_documents = only_documents
        require("threads", threads, NOTHING | THREADS)
        self.threads = usable_cores() if threads in (None, -1) else threads
        self.chunk_bytes = chunk_bytes
        self.checksums = checksums
        self.prompt = prompt  # whether a pipe that pauses gives a batch of the lines so far
        self.on_skipped = on_skipped  # is called with what is wrong with each bad line that is left out
        self.n_skipped = 0  # bad lines left out so far

    def __iter__(self) -> Generator[Batch, None, None]:
        self.n_skipped = 0
        chunks, parser = self._begin()
        next_line = next_record = 1
        any_row = False
        with closing(chunks), closing(self._batches(chunks, parser)) as batches:
            head = chunks.peek(HEAD_BYTES) if self.documents is not None else b""
            for batch in batches:
                batch.first_line = 1 if batch.chunk.is_first else next_line
                batch.first_record = 1 if batch.chunk.is_first else next_record
                next_line, next_record = batch.first_line + batch.n_lines, batch.first_record + batch.n_records
                self._report_skipped(batch, parser)
                yield batch
                any_row = any_row or batch.rows.n_rows > 0
                if batch.fault is not None:
                    if not any_row and (hint := wrong_format_hint(head, parser.name)):
                        batch.fault.what += f"; {hint}"
                    raise batch.line_error(batch.fault, batch.n_lines)

    def _batches(self, chunks: ChunkReader, parser: Parser) -> Generator[Batch, None, None]:
        """The chunks as batches, in their order, which threads parse."""
        return in_order(
            lambda buffers: chunks.next_chunk(buffers.text),
            partial(self._parse, parser),
            [Buffers(chunks.new_buffer()) for _ in range(self.threads + 2)],
            self.threads,
            helping=all(source.is_regular for source in self.sources),
        )

    def parser(self) -> Parser:
        """The parser for the text."""
        chunks, parser = self._begin()
        chunks.close()
        return parser

    def chunks(self) -> Iterator[tuple[Parser, Chunk, Buffers]]:
        """The text as it is, with the parser for it."""
        chunks, parser = self._begin()
        with closing(chunks):
            buffers = Buffers(chunks.new_buffer())
            while (chunk := chunks.next_chunk(buffers.text)) is not None:
                yield parser, chunk, buffers

    def _begin(self) -> tuple[ChunkReader, Parser]:
        """Open the text, and find out its format."""
        chunks = ChunkReader(self.sources, self.chunk_bytes, self.reading.max_line, self._columns(), self.prompt)
        try:
            head = chunks.peek(HEAD_BYTES)
            if self.prompt and self.reading.format == AUTO and detect(head) is None:
                head = chunks.peek(HEAD_BYTES, lines=2)  # the first line alone may be a header
            parser = self._parser(head, chunks.has_table)
        except BaseException:
            chunks.close()
            raise
        chunks.end_of_last_record = parser.end_of_last_record
        return chunks, parser

    def samples(self) -> Iterator[Batch]:
        """Some lines from all over the plain files, parsed as all lines are."""
        for source in self.sources:
            if not source.is_plain or not (head := source.head(HEAD_BYTES)):
                continue
            if lines := source.sample():
                yield from self.of_lines(lines, source, head)

    def of_lines(self, lines: bytes, source: Source, head: bytes | None = None) -> Iterator[Batch]:
        """Lines of a source, parsed as all lines are; nothing, if a record may have several lines."""
        parser = self._parser(lines[:HEAD_BYTES] if head is None else head)
        if parser.lines_are_records and lines:
            chunk = Chunk.of_lines(lines, source)
            yield self._parse(parser, chunk, Buffers(chunk.text))

    def _columns(self) -> list[str] | None:
        """The columns that are read of a table."""
        if self.documents is None:
            return None
        names = self.reading.with_names(self.documents)
        labelled = self.label_type != UNLABELLED and self.needs_labels
        return [*([names.label] if labelled else []), *names_in(names.text), *names.fields]

    def _parser(self, head: bytes, has_table: bool = False) -> Parser:
        """The parser for a text that begins so."""
        source = self.sources[0]
        if source.start:
            head = source.head(HEAD_BYTES)
        head = head.removeprefix(MARK)
        format = "parquet" if has_table else choose(source.path, head, self.reading.format)
        if not head and self.reading.format == AUTO and self.only_documents and self.documents is not None:
            format = "vw" if self.documents.named_features else "text"  # nothing has every format
        if format == "parquet" and not has_table:
            raise DataError("expected Parquet data, which begin with PAR1, found other data", source.name)
        if format == "vw":
            return self._vw_parser()
        if format != "svmlight":
            return self._document_parser(format, head)
        if self.only_documents:
            raise DataError("rows of numbers (svmlight), and the model was trained on documents", source.name)
        labelled = label_type(head) if self.label_type is None else self.label_type
        grammar = Grammar(labelled, self.lowest_index, sort=self.reading.unsorted == "sort")
        return SvmlightParser(grammar, self.dtype, self.hash_bits, self.queries, self.optional_labels)

    def _document_parser(self, format: str, head: bytes) -> DocumentParser:
        from cwlearn.text.documents import DocumentParser  # which svmlight text does not need
        from cwlearn.text.records import NO_HEADER, records_of

        name, reading = self.sources[0].name, self.reading
        if self.documents is None:
            raise DataError(f"documents ({format}), and the model was trained on rows of numbers", name)
        if self.documents.named_features:
            raise DataError(f"documents ({format}), and the model was trained on named features (vw)", name)
        options = reading.with_names(self.documents)
        labelled = self.label_type != UNLABELLED and (self.needs_labels or format == "text")
        delimiter, header = (",", True) if format == "parquet" else (reading.delimiter, reading.header)
        texts = names_in(options.text)
        try:
            records = records_of(
                format, head, options.label, texts, options.fields, labelled, delimiter, header, name,
                self.label_type == SETS, self.optional_labels,
            )  # fmt: skip
        except DataError as error:
            hint = "" if format == "parquet" else wrong_format_hint(head, format)
            what = f"{error.what.removesuffix(NO_HEADER)}; {hint}" if hint else error.what
            raise DataError(what, name, error.line, error.column) from None
        return DocumentParser(format, records, options, self._document_bits, self.dtype)

    def _vw_parser(self) -> VwParser:
        from cwlearn.text.vw import VwParser  # which svmlight text does not need

        name = self.sources[0].name
        if self.documents is None:
            raise DataError("named features (vw), and the model was trained on rows of numbers", name)
        options = self.documents
        if not options.named_features:
            if self.only_documents:
                raise DataError("named features (vw), and the model takes texts", name)
            usual = TextOptions()
            for item in fields(options):
                if item.name not in OF_FILES and getattr(options, item.name) != getattr(usual, item.name):
                    raise ValueError(f"`{item.name}` is for texts, and {name} has named features (vw)")
            options = TextOptions.of_features()
        labelled = self.label_type != UNLABELLED and self.needs_labels
        several = labelled and self.label_type == SETS
        return VwParser(options, labelled, self._document_bits, self.dtype, self.optional_labels, several)

    @property
    def _document_bits(self) -> int:
        bits = self.hash_bits or DEFAULT_BITS
        require("hash_bits", bits, BITS)
        return bits

    def _parse(self, parser: Parser, chunk: Chunk, buffers: Buffers) -> Batch:
        """Parse a chunk.  Bad lines are left out or end it, as `reading` says."""
        if len(chunk.text) > len(buffers.text):  # a very long line: do not keep that much memory for other chunks
            buffers = Buffers(chunk.text)
        # One more than may be skipped, so that the line which is one too many is known by its place in the text.
        max_bad = self.reading.max_bad + 1 if self.reading.on_bad_line == "skip" else 0
        batch = parser.parse(chunk, buffers, max_bad)
        batch.checksum = chunk.checksum() if self.checksums else 0
        overflowing = ~np.isfinite(batch.rows.squares)
        if overflowing.any() and max_bad:
            batch.drop_overflowing(overflowing)
        elif overflowing.any():
            place = batch.place_of(int(np.argmax(overflowing)))
            batch.end_with(parser.overflow_at(chunk, place), place)
        return batch

    def _report_skipped(self, batch: Batch, parser: Parser) -> None:
        """Report the lines that are left out, and end the batch with the first one that is one too many."""
        overflow_places = set(batch.overflow_places.tolist())
        for line, place in batch.skipped_lines():
            explain = parser.overflow_at if place in overflow_places else parser.flaw_at
            flaw = explain(batch.chunk, place)
            if self.n_skipped == self.reading.max_bad:
                batch.end_with(flaw, place)
                return
            self.n_skipped += 1
            batch.skipped.append(batch.line_error(flaw, line, place))
            self.on_skipped(batch.skipped[-1])


def cut(source: Source, pieces: int, format: str = AUTO) -> list[Source]:
    """A source as up to `pieces` sources, if it can be cut at line ends; else as it is."""
    from cwlearn.text.records import can_be_cut  # which a source that stays whole does not need

    if pieces <= 1 or not source.is_plain or not can_be_cut(choose(source.path, source.head(HEAD_BYTES), format)):
        return [source]
    return source.split(pieces)


def names_in(names: str) -> tuple[str, ...]:
    """Names with commas between them."""
    return tuple(part.strip() for part in names.split(","))
