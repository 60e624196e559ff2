"""What a benchmark says: tables in Markdown and, if a file is named, the same and all seconds as JSON."""

from __future__ import annotations

import argparse
import json
import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.timing import Times
from cwlearn.utils.machine import usable_cores

CORES = usable_cores()
Row = Sequence[str]


def parser(suite: str, text: str | None, repeat: int) -> argparse.ArgumentParser:
    """The flags that all have."""
    made = argparse.ArgumentParser(
        prog=f"python -m bench {suite}", description=text, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("--repeat", type=positive(int), default=repeat, metavar="N", help=f"rounds (default: {repeat})")
    made.add_argument("--json", type=new_file, metavar="FILE", help="write tables and seconds there, too")
    return made


def positive(kind: type[int] | type[float]) -> Callable[[str], float]:
    """The type of a flag that must be more than zero."""

    def number(text: str) -> float:
        if (value := kind(text)) <= 0:
            raise argparse.ArgumentTypeError(f"must be more than 0, not {text}")
        return value

    return number


def new_file(text: str) -> Path:
    """The type of a flag that names a file to write, when all is done: better to find out now."""
    path = Path(text)
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise argparse.ArgumentTypeError(f"no file can be written at {text}: there is no such folder")
    return path


class Report:
    def __init__(self, suite: str, path: Path | None = None) -> None:
        machine = {"cores": CORES, "machine": platform.machine(), "python": platform.python_version()}
        self._path = path
        self._kept: dict[str, Any] = {"suite": suite, "machine": machine, "tables": [], "seconds": {}}

    def say(self, text: str) -> None:
        print(text, end="\n\n", flush=True)

    def table(self, head: Row, rows: Iterable[Row]) -> None:
        whole = [list(row) for row in rows]
        lines = [list(head), ["---", *["---:"] * (len(head) - 1)], *whole]
        self.say("\n".join(f"| {' | '.join(line)} |" for line in lines))
        self._kept["tables"].append({"head": list(head), "rows": whole})

    def contest(self, title: str, times: Mapping[str, Times], more: Mapping[str, Mapping[str, str]]) -> None:
        """A line for each candidate: its best and median seconds, their spread, and what else is said of it."""
        self._kept["seconds"][title] = {name: list(of.seconds) for name, of in times.items()}
        rows = (
            [
                name,
                f"{of.best:.4g}",
                f"{of.median:.4g}",
                f"{of.spread:.0%}",
                *(column.get(name, "") for column in more.values()),
            ]
            for name, of in times.items()
        )
        self.table([title, "best, s", "median, s", "spread", *more], rows)
        if any(of.best < 0.002 for of in times.values()):
            self.say("Some of these took less than 2 ms: their ratios mean little.")

    def keep(self, name: str, value: Any) -> None:
        """For the JSON only."""
        self._kept[name] = value

    def close(self) -> None:
        if self._path:
            self._path.write_text(json.dumps(self._kept, indent=1) + "\n")
