"""Chunks of whole lines: their places, and the checksum of a beginning, which parts of a text add up to."""

from __future__ import annotations

import os
from itertools import pairwise

import pytest

from cwlearn.text import text_file
from cwlearn.text.chunks import Beginning, Chunk
from cwlearn.text.sources import Source, as_sources
from cwlearn.text.text_file import open_text

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


def test_a_part_of_a_file_is_read_as_if_it_were_all_of_it(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"one\ntwo\nthree\n")
    with text_file._Range(str(path), 4, 8) as part:
        buffer = bytearray(20)
        assert part.tell() == 0
        assert part.readinto(buffer) == 4
        assert buffer[:4] == b"two\n"
        assert (part.tell(), part.readinto(buffer), part.tell()) == (4, 0, 4)


def test_only_what_cannot_be_read_again_is_kept_open_for_the_reader(tmp_path, monkeypatch):
    monkeypatch.setattr(text_file, "_peeked", {})  # without the pipes of other tests, which ended before they were read
    path, pipe = tmp_path / "a", tmp_path / "pipe"
    path.write_bytes(b"one\ntwo\n")
    assert text_file.peek(Source(str(path)), 3) == b"one"
    assert not text_file._peeked
    os.mkfifo(pipe)
    descriptor = os.open(pipe, os.O_RDWR)
    os.write(descriptor, path.read_bytes())
    source = Source(str(pipe))
    assert text_file.peek(source, 3) == b"one"
    assert [*text_file._peeked] == [source]
    assert text_file.peek(source, 8) == b"one\ntwo\n"
    open_text(source).close()
    os.close(descriptor)
    assert not text_file._peeked


@pytest.mark.parametrize(
    "text", [b"1 1:1\n", b"1 1:1", b"a\n" * 10, b"a\n" + b"b" * 100, b"b" * 100 + b"\na\n", b"\n" * 9]
)
@pytest.mark.parametrize("pieces", [1, 2, 3, 7, 100])
def test_pieces_of_a_file_have_all_of_it_and_none_is_empty(text, pieces, tmp_path):
    path = tmp_path / "a"
    path.write_bytes(text)
    found = Source(str(path)).split(pieces)
    assert len(found) <= min(pieces, max(1, text.count(b"\n")) + 1)
    if pieces > 1:
        parts = [text[piece.start : piece.stop] for piece in found]
        assert b"".join(parts) == text
        assert all(parts)
        assert all(part.endswith(b"\n") for part in parts[:-1])
        assert len(found) > 1 or text.count(b"\n") < 2 or text.startswith(b"b")
