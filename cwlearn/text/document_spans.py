"""Where the n-grams of a document stand in it, for explanations.

The compiled loops (`_hashing.pyx`) make columns of n-grams and forget where they were.  This module finds the places in
the text as it is written, with its capitals and accents; a test compares its columns with those of the loops.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import NamedTuple

from cwlearn.core.explaining import Piece
from cwlearn.core.text_options import TextOptions
from cwlearn.text._fields import columns_of

Span = tuple[int, int]  # start and stop in the text
PADDING: Span = (-1, 0)  # of a word, a space that is not in the text
SPACE = "␣"


class Ngram(NamedTuple):
    """An n-gram of a document: its column, and the spans of its tokens in each place where it stands."""

    column: int
    places: list[tuple[Span, ...]]


class _Letters(NamedTuple):
    """A changed text, and the place of each of its characters in the original one; -1 for an added one."""

    text: str
    places: list[int]


class Document:
    """A text and its n-grams."""

    def __init__(self, text: str, options: TextOptions, hash_bits: int) -> None:
        self.text = text
        self._written = self._words if options.analyzer == "word" else self._characters
        places: dict[str, list[tuple[Span, ...]]] = {}
        for name, spans in _ngrams(_prepared(text, options), options):
            places.setdefault(name, []).append(spans)
        columns = columns_of([name.encode() for name in places], 1 << hash_bits)
        self.ngrams = [*map(Ngram, columns, places.values())]

    def names(self) -> dict[int, str]:
        """The n-grams of each column as they are first written; those that share a column, with a bar between them."""
        names: dict[int, str] = {}
        for column, places in self.ngrams:
            written = self._written(places[0])
            names[column] = f"{names[column]} | {written}" if column in names else written
        return names

    def _words(self, spans: tuple[Span, ...]) -> str:
        return " ".join(self.text[start:stop] for start, stop in spans)

    def _characters(self, spans: tuple[Span, ...]) -> str:
        """Characters side by side; a space would not be seen."""
        letters = (" " if span == PADDING else self.text[slice(*span)] for span in spans)
        return "".join(SPACE if letter.isspace() else letter for letter in letters)

    def pieces(self, amounts: Mapping[int, float], within: float = math.inf) -> list[Piece]:
        """The text in pieces, each with what it adds to the margin.

        An amount is shared by all places where its n-grams stand, and there by their tokens.  What stands behind the
        first characters, as many as `within` says, is one piece.
        """
        counts: dict[int, int] = {}
        for column, places in self.ngrams:
            counts[column] = counts.get(column, 0) + len(places)
        by_span: dict[Span, float] = {}
        for column, places in self.ngrams:
            amount = amounts.get(column, 0.0) / counts[column]
            for spans in places:
                tokens = [span for span in spans if span != PADDING]
                for span in tokens:
                    if span[0] >= within:
                        break
                    by_span[span] = by_span.get(span, 0.0) + amount / len(tokens)
        pieces, done = [], 0
        for (start, stop), amount in sorted(by_span.items()):
            if start > done:
                pieces.append(Piece(self.text[done:start], None))
            pieces.append(Piece(self.text[start:stop], amount))
            done = stop
        return [*pieces, Piece(self.text[done:], None)] if done < len(self.text) else pieces


def _prepared(text: str, options: TextOptions) -> _Letters:
    """The text with small letters and without accents, as the options ask for it."""
    letters = _Letters(text, [*range(len(text))])
    if options.lowercase:
        lowered = text.lower()
        if len(lowered) == len(text):  # as almost always; else some letters become several
            letters = _Letters(lowered, letters.places)
        else:
            letters = _Letters(lowered, [place for place, letter in enumerate(text) for _ in letter.lower()])
    if options.strip_accents is not None and not letters.text.isascii():
        changed = [
            (part, place)
            for letter, place in zip(letters.text, letters.places, strict=True)
            for part in unicodedata.normalize("NFKD", letter)
            if (part.isascii() if options.strip_accents == "ascii" else not unicodedata.combining(part))
        ]
        letters = _Letters("".join(part for part, _ in changed), [place for _, place in changed])
    return letters


def _ngrams(letters: _Letters, options: TextOptions) -> Iterator[tuple[str, tuple[Span, ...]]]:
    """The n-grams as they are hashed, with the spans of their tokens."""
    low, high = options.ngram_range
    if options.analyzer == "word":
        stop_words = frozenset(options.stop_words or ())
        matches = re.finditer(options.token_pattern, letters.text)
        tokens = [match for match in matches if match[0] not in stop_words]
        words = [match[0] for match in tokens]
        spans = [_span(letters, *match.span()) for match in tokens]
        for n in range(low, high + 1):
            for first in range(len(words) - n + 1):
                yield " ".join(words[first : first + n]), tuple(spans[first : first + n])
        return
    letters = _with_single_spaces(letters)
    if options.analyzer == "char":
        yield from _runs(letters, low, high)
        return
    for match in re.finditer(r"\S+", letters.text):
        places = letters.places[match.start() : match.end()]
        padded = _Letters(f" {match[0]} ", [-1, *places, -1])
        # A word that is shorter than all n-grams counts once.
        yield from _runs(padded, min(low, len(padded.text)), high)


def _runs(letters: _Letters, low: int, high: int) -> Iterator[tuple[str, tuple[Span, ...]]]:
    for n in range(low, min(high, len(letters.text)) + 1):
        for first in range(len(letters.text) - n + 1):
            spans = (PADDING if place < 0 else (place, place + 1) for place in letters.places[first : first + n])
            # A letter that has become several is one letter of the text; a padding has no place in it.
            yield letters.text[first : first + n], tuple(span for span, _ in groupby(spans))


def _with_single_spaces(letters: _Letters) -> _Letters:
    """Runs of two or more white-space characters as one space."""
    text, places, done = "", [], 0
    for match in re.finditer(r"\s\s+", letters.text):
        text += letters.text[done : match.start()] + " "
        places += letters.places[done : match.start() + 1]
        done = match.end()
    return _Letters(text + letters.text[done:], places + letters.places[done:])


def _span(letters: _Letters, start: int, stop: int) -> Span:
    return letters.places[start], letters.places[stop - 1] + 1
