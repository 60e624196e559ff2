"""The output of a benchmark: text and Markdown tables, also as a Markdown file and as JSON if files are named."""

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


def suite_parser(suite: str, description: str | None, repeat: int | None = None) -> argparse.ArgumentParser:
    """A parser with the flags that all suites have; with `repeat`, also the flag for the number of rounds."""
    parser = argparse.ArgumentParser(
        prog=f"python -m bench {suite}", description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    if repeat is not None:
        parser.add_argument(
            "--repeat", type=positive(int), default=repeat, metavar="N", help=f"number of rounds (default: {repeat})"
        )
    parser.add_argument("--json", type=writable_file, metavar="FILE", help="also write tables and seconds as JSON")
    parser.add_argument("--markdown", type=writable_file, metavar="FILE", help="also write the output to a file")
    return parser


def positive(kind: type[int] | type[float]) -> Callable[[str], float]:
    """The type of a flag whose value must be more than zero."""

    def number(text: str) -> float:
        if (value := kind(text)) <= 0:
            raise argparse.ArgumentTypeError(f"must be more than 0, not {text}")
        return value

    return number


def writable_file(text: str) -> Path:
    """The type of a flag that names an output file: a wrong folder is an error at the start, not at the end."""
    path = Path(text)
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise argparse.ArgumentTypeError(f"no file can be written at {text}: there is no such folder")
    return path


def markdown_table(head: Row, rows: Iterable[Row]) -> str:
    """A table whose first column is text and whose other columns are numbers."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


class Report:
    """Prints text and tables as they come, and writes the files in the end."""

    def __init__(self, suite: str, options: argparse.Namespace) -> None:
        machine = {"cores": CORES, "machine": platform.machine(), "python": platform.python_version()}
        self._json: Path | None = options.json
        self._markdown: Path | None = options.markdown
        self._texts: list[str] = []
        self._values: dict[str, Any] = {"suite": suite, "machine": machine, "tables": [], "seconds": {}}

    def say(self, text: str) -> None:
        self._texts.append(text)
        print(text, end="\n\n", flush=True)

    def table(self, head: Row, rows: Iterable[Row]) -> None:
        lines = [list(row) for row in rows]
        self.say(markdown_table(head, lines))
        self._values["tables"].append({"head": list(head), "rows": lines})

    def times(self, title: str, times: Mapping[str, Times], columns: Mapping[str, Mapping[str, str]]) -> None:
        """A row for each candidate: best and median seconds, their spread, and the values of other columns."""
        self._values["seconds"][title] = {name: list(of.seconds) for name, of in times.items()}
        rows = (
            [
                name,
                f"{of.best:.4g}",
                f"{of.median:.4g}",
                f"{of.spread:.0%}",
                *(column.get(name, "") for column in columns.values()),
            ]
            for name, of in times.items()
        )
        self.table([title, "best, s", "median, s", "spread", *columns], rows)
        if any(of.best < 0.002 for of in times.values()):
            self.say("Some of these took less than 2 ms: their ratios mean little.")

    def add_json(self, name: str, value: Any) -> None:
        """Add a value that only the JSON file has."""
        self._values[name] = value

    def close(self) -> None:
        if self._json:
            self._json.write_text(json.dumps(self._values, indent=1) + "\n")
        if self._markdown:
            self._markdown.write_text("\n\n".join(self._texts) + "\n")
