"""What is wrong with a record of CSV that `_records.split_csv` does not accept, and the fields of a header."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from cwlearn.text.chunks import CR_LINE_ENDS
from cwlearn.text.record_errors import RecordFlaw, found_at, shortened, unknown_field

QUOTED = re.compile(rb'"((?:[^"]++|"")*+)"')


def _fields(record: bytes, delimiter: int) -> Iterator[tuple[int, bytes]]:
    """The fields of a record with the places where they begin; a flaw is raised where it is."""
    unquoted = re.compile(rb"[^\r\n" + re.escape(bytes([delimiter])) + rb"]*+")
    at = 0
    while True:
        start = at
        if record[at : at + 1] == b'"':
            match = QUOTED.match(record, at)
            if match is None:
                raise RecordFlaw("expected a closing quote for this one, found none", record, at)
            value, at = match[1].replace(b'""', b'"'), match.end()
        else:
            match = unquoted.match(record, at)
            assert match is not None
            value, at = match.group(), match.end()
        yield start, value
        if at >= len(record) or record[at : at + 1] == b"\n":
            return
        if len(record) - at <= 2 and record[at:] in (b"\r", b"\r\n"):  # not to copy all of the rest for each field
            return
        if record[at] != delimiter:
            if record[at : at + 2] == b"\r\n":
                return
            if record[at : at + 1] == b"\r":
                raise RecordFlaw(CR_LINE_ENDS, record, at)
            found = found_at(record, at)
            shown = ascii(chr(delimiter))
            raise RecordFlaw(f"expected {shown} or a line end behind a closing quote, found {found}", record, at)
        at += 1


def csv_fields(record: bytes, delimiter: int) -> list[bytes]:
    """The fields of a record; its flaw is raised."""
    return [value for _, value in _fields(record, delimiter)]


def find_csv_flaw(record: bytes, n_fields: int, delimiter: int, like: str = "the header") -> RecordFlaw | None:
    """The first flaw of a record, or None; it must have as many fields as `like` has."""
    places: list[int] = []
    flaw = None
    try:
        places.extend(place for place, _ in _fields(record, delimiter))
    except RecordFlaw as error:
        flaw = error
    if len(places) > n_fields:
        place = places[n_fields]
    elif flaw is not None:
        return flaw
    elif len(places) < n_fields:
        place = len(record.rstrip(b"\r\n"))
    else:
        return None
    fields = f"{n_fields} field{'s' if n_fields != 1 else ''}"
    return RecordFlaw(f"expected {fields} as in {like}, found {len(places)}", record, place)


def csv_column(header: Sequence[str], field: str, where: str = "the header") -> int:
    """The number of a field in the header; a field that is not there, or there twice, raises its flaw."""
    numbers = [number for number, name in enumerate(header) if name == field]
    if not numbers:
        raise RecordFlaw(unknown_field(field, header, where), b"", 0)
    if len(numbers) > 1:
        raise RecordFlaw(f"expected one field {shortened(field)!r} in {where}, found {len(numbers)}", b"", 0)
    return numbers[0]
