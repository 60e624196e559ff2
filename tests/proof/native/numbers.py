"""Decimals to numbers by the parser of svmlight text, without Python for a number.

    python -m tests.proof.native.numbers [--every N] [--doubles N] [--half-way N] [--published FOLDER] [--log FILE]

Of the 2^32 float32, every N-th is written as its shortest decimal and read; then random doubles; then decimals half way
between two doubles, or almost, against strtod; then lists as those of github.com/nigeltao/parse-number-fxx-test-data.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from tests.proof.native.build import compile_door

PARTS = 64  # of the float32, each told when it is done


def module(folder: Path) -> ModuleType:
    """The compiled loops, from this folder; they are compiled if they are not there."""
    if not list(folder.glob("decimals_door*.so")):
        compile_door("decimals", folder)
    sys.path.insert(0, str(folder))
    try:
        return importlib.import_module("decimals_door")
    finally:
        sys.path.remove(str(folder))


def lists(folder: Path) -> Iterator[tuple[str, list[tuple[bytes, int]]]]:
    """By file: decimals and the bits of their doubles, in lines of float16, float32, float64 and the decimal."""
    for path in sorted(folder.glob("*.txt")):
        lines = [line.split(b" ", 3) for line in path.read_bytes().splitlines()]
        yield path.name, [(words[3], int(words[2], 16)) for words in lines]


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.proof.native.numbers",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--every", type=int, default=1, metavar="N")
    parser.add_argument("--doubles", type=int, default=100_000_000, metavar="N")
    parser.add_argument("--half-way", type=int, default=10_000_000, metavar="N")
    parser.add_argument("--published", type=Path, metavar="FOLDER")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--build", type=Path, metavar="FOLDER", help="keep the build there, and take it the next time")
    parser.add_argument("--log", type=Path, metavar="FILE", help="add the result to this file")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        door = module((options.build or Path(name)).resolve())
        log = options.log.open("a") if options.log else None

        def tell(text: str) -> None:
            print(text, flush=True)
            print(text, file=log, flush=True) if log else None

        start = time.process_time()
        for file, cases in lists(options.published) if options.published else ():
            count = door.published(cases)
            tell(f"{file}: {count:,} of {len(cases):,} decimals are finite, all with the bits of the list")
        tell(f"{door.half_way(options.half_way, options.seed):,} decimals half way between two doubles: as by strtod")
        tell(f"{door.random_doubles(options.doubles, options.seed):,} random doubles: there and back")
        total, others = 0, []
        for part in range(PARTS):
            size = (1 << 32) // PARTS
            count, found = door.every_float(part * size, (part + 1) * size, options.every)
            total, others = total + count, others + found
            print(f"{total:,} float32 so far, {time.process_time() - start:,.0f} s", flush=True)
        back = f"there and back but {' and '.join(map(hex, others))}" if others else "there and back"
        tell(f"{total:,} float32, every {options.every}. of all: {back}; {time.process_time() - start:,.0f} s")


if __name__ == "__main__":
    main()
