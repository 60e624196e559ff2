"""How much of a journal of feedback a model has learned.  The model file keeps it."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import Any

SHA256 = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True)
class JournalMark:
    """The first bytes of a journal, by their number and their hash, and the file that it is.

    The bytes tell whether a journal is the one that the model has learned.  Before the first of them only the file
    does, by its place on the disk.
    """

    bytes: int
    sha256: str
    file: str

    @classmethod
    def from_record(cls, record: Any) -> JournalMark | None:
        """What a model file has; ValueError if it is not sound."""
        if record is None:
            return None
        sound = (
            isinstance(record, dict)
            and type(record.get("bytes")) is int
            and 0 <= record["bytes"] < 2**63
            and isinstance(record.get("sha256"), str)
            and SHA256.fullmatch(record["sha256"])
            and isinstance(record.get("file"), str)
        )
        if not sound:
            raise ValueError(f"its mark of a journal is {record!r}")
        return cls(record["bytes"], record["sha256"], record["file"])

    def record(self) -> dict[str, Any]:
        return asdict(self)
