"""Some of a large text, from all over it: for the words behind columns, and for a race of algorithms."""

from __future__ import annotations

from collections.abc import Iterable

from cwlearn.text.formats import AUTO
from cwlearn.text.reader import cut
from cwlearn.text.sources import Source, total_size

SAMPLE_BYTES = 1 << 23  # of a text that are looked at, if it is longer
SAMPLE_PIECES = 32  # which lie all over the files


def sampled(sources: Iterable[Source], format: str = AUTO, most: int | None = None) -> list[Source]:
    """Pieces from all over files of more than `most` bytes; of a file that cannot be cut, its beginning.

    A piece ends anywhere, and leaves out its last record.  A compressed file is left as it is.
    """
    sources = list(sources)
    size, most = total_size(sources) or 0, SAMPLE_BYTES if most is None else most
    if size <= most:
        return sources
    part, pieces = most / size, []
    for source in sources:
        wanted = max(1, round(SAMPLE_PIECES * (source.size or 0) / size))
        for piece in cut(source, wanted, format):
            if source.is_plain:
                piece = Source(piece.path, piece.start, piece.start + int(part * (piece.size or 0)), whole=False)
            pieces.append(piece)
    return pieces
