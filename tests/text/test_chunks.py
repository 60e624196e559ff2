"""Chunks of whole lines: their places, and the checksum of a beginning, which parts of a text add up to."""

from __future__ import annotations

from itertools import pairwise

import pytest

from cwlearn.text.chunks import Beginning, Chunk
from cwlearn.text.sources import as_sources

LINES = [b"1 1:1\n", b"\n", b"x" * 5000 + b"\n", b"-1 2:0.5\n", b"y" * 1023 + b"\n", b"z" * 1024 + b"\n"]


def chunk(lines):
    return Chunk.of_lines(b"".join(lines), as_sources(["data.svm"])[0])


@pytest.mark.parametrize("cuts", [(0, 6), (0, 1, 6), (0, 2, 3, 6), range(7)], ids=str)
def test_the_checksum_of_a_beginning_does_not_depend_on_how_it_was_cut(cuts):
    beginning = Beginning()
    for start, stop in pairwise(cuts):
        beginning = beginning.followed_by(stop - start, chunk(LINES[start:stop]).checksum())
    assert beginning == Beginning(len(LINES), chunk(LINES).checksum())
    assert Beginning.from_record(beginning.record()) == beginning
    swapped = chunk([LINES[1], LINES[0], *LINES[2:]])
    assert beginning != Beginning(len(LINES), swapped.checksum())


@pytest.mark.parametrize(
    "change",
    [{"lines": -1}, {"lines": True}, {"lines": 1.0}, {"checksum": 1}, {"checksum": "12"}, {"lines": None}],
    ids=str,
)
def test_a_damaged_record_of_a_beginning_is_none(change):
    assert Beginning.from_record({**Beginning(3, 255).record(), **change}) is None
    assert Beginning.from_record({"checksum": "0" * 16}) is None


def test_lines_are_found_by_their_places_however_long_they_are():
    found = chunk(LINES)
    places = found.line_places().tolist()
    assert [found.line_at(place) for place in places] == LINES
    assert [found.end_of_line(place) for place in places] == [*places[1:], found.stop]
    assert found.count_lines(found.start, found.stop) == len(LINES)
    assert found.checksum(places[2]) == chunk(LINES[:2]).checksum()
