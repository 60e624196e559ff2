"""Make the files that `peers` trains and tests on, unless they exist, and print their folders as JSON.

    python -m bench.peer_files [--scale S]

A tenth of the synthetic texts of `bench.text_files` and a fifth of the real data sets of `bench.datasets` are for
testing; missing data sets are left out.  Each file is written in svmlight's format and in Vowpal Wabbit's.  This is a
program of its own, so that `peers` never has large arrays in memory.
"""

from __future__ import annotations

import argparse
import json
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

from bench.cache import cached_folder
from bench.datasets import load
from bench.text_files import BITS, KINDS, Files

SYNTHETIC = ("decimals", "counts")
REAL = ("w8a", "spamassassin", "amazon-books")


def synthetic_lines(kind: str, scale: float) -> tuple[list[str], int, int]:
    """Lines, number of features, number of test rows."""
    with open(Files(scale).path(kind)) as file:
        lines = file.readlines()
    return lines, KINDS[kind][2], len(lines) // 10


def real_lines(name: str) -> tuple[list[str], int, int]:
    """Lines, number of features, number of test rows."""
    data = load(name)

    def text() -> Iterator[str]:
        for label, row in zip(data.y, data.X, strict=True):
            pairs = (f"{column + 1}:{value:.6g}" for column, value in zip(row.indices, row.data, strict=True))
            yield f"{2 * label - 1:+d} {' '.join(pairs)}\n"

    return [*text()], data.X.shape[1], data.X.shape[0] // 5


def write(folder: Path, lines: list[str], n_features: int, n_test: int, bits: int) -> None:
    for part, chosen in (("train", lines[:-n_test]), ("test", lines[-n_test:])):
        folder.joinpath(f"{part}.svm").write_text("".join(chosen))
        folder.joinpath(f"{part}.vw").write_text("".join(line.replace(" ", " | ", 1) for line in chosen))
    nonzeros = sum(line.count(":") for line in lines[:-n_test])
    facts = {"rows": len(lines) - n_test, "test": n_test, "features": n_features, "nonzeros": nonzeros, "bits": bits}
    folder.joinpath("facts.json").write_text(json.dumps(facts))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=0.3, help="part of the 100,000 synthetic rows (default: 0.3)")
    scale = parser.parse_args().scale
    key = zlib.crc32(Path(__file__).read_bytes() + f"{scale}".encode())
    folders = {}
    for name in (*SYNTHETIC, *REAL):

        def make(folder: Path, name: str = name) -> None:
            lines = synthetic_lines(name, scale) if name in SYNTHETIC else real_lines(name)
            write(folder, *lines, BITS.get(name, 18))

        try:
            folders[name] = str(cached_folder(f"peers-{name}-{key:08x}", make))
        except FileNotFoundError as error:
            print(f"{name}: {error}", file=sys.stderr)
    print(json.dumps(folders))


if __name__ == "__main__":
    main()
