"""Make the text files that `parse` and `train` read, unless they exist, and print their folder.

    python -m bench.text_files [--scale S]

Each is written twice, in svmlight's format (.svm, columns from 1 on) and in Vowpal Wabbit's (.vw), about 90 MB each:
``decimals`` has 75 decimals per row and 47 thousand features, ``counts`` has 150 counts per row and 3 million features,
``wide`` has 75 decimals per row and 3 million features; ``ten`` is the first ten lines of ``decimals``.  The files are
kept in the cache (see `bench.cache`).  This is a program of its own, so that a benchmark never has large arrays in
memory.
"""

import argparse
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np

from bench.cache import cached_folder

KINDS = {  # format of a pair, nonzeros per row, features
    "decimals": ("%d:%.6f", 75, 47_000),
    "counts": ("%d:%d", 150, 3_000_000),
    "wide": ("%d:%.6f", 75, 3_000_000),
}
BITS = {"counts": 22}  # of Vowpal Wabbit's hashes, so that each feature has its own weight; else 18, its default
FEATURES = {kind: KINDS[kind][2] for kind in ("decimals", "counts")}


class Files:
    """The files of one scale, also repeated several times; made at the first use."""

    def __init__(self, scale: float) -> None:
        make = [sys.executable, "-m", "bench.text_files", "--scale", str(scale)]
        self.folder, self.scale = Path(subprocess.check_output(make, text=True).strip()), scale

    def path(self, kind: str, times: int = 1, suffix: str = "svm") -> Path:
        once = self.folder / f"{kind}.{suffix}"
        path = self.folder / f"{kind}-x{times}.{suffix}" if times > 1 else once
        if not path.is_file():
            unfinished = path.with_suffix(".unfinished")
            with open(unfinished, "wb") as file:
                subprocess.run(["cat", *[once] * times], stdout=file, check=True)
            unfinished.rename(path)
        return path

    def megabytes(self, kind: str, times: int = 1) -> float:
        return self.path(kind).stat().st_size * times / 1e6


def columns(n_rows: int, nonzeros: int, n_features: int, rng: np.random.Generator) -> np.ndarray:
    """Ascending columns from 1 on, the frequent ones first and as uneven as words (compare `datasets.zipf`)."""
    drawn = 2 * nonzeros
    last, place = n_features - drawn, np.arange(drawn)
    # One draw from each of equal parts of [0, 1), so that few are equal; equal ones move up.  Half of them are kept.
    part = (place + rng.random((n_rows, drawn))) / drawn
    rank = np.minimum((1 - part * (1 - (last + 1) ** -0.1)) ** -10, last).astype(np.int64)
    distinct = np.maximum.accumulate(rank - place, axis=1) + place
    kept = rng.random((n_rows, drawn)).argsort(axis=1)[:, :nonzeros]
    return np.sort(np.take_along_axis(distinct, kept, axis=1), axis=1)


def values(kind: str, rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    decimals = np.maximum(1 - rng.random(shape), 1e-6)
    return 1 + np.floor(0.2 / (1.005 - decimals)) if kind == "counts" else decimals  # four of five counts are 1


def labels(column: np.ndarray, value: np.ndarray, n_features: int, rng: np.random.Generator) -> np.ndarray:
    """The side of a hyperplane, -1 or 1; a tenth of the labels are wrong."""
    margin = (rng.standard_normal(n_features + 1)[column] * value).sum(axis=1)
    return np.where((margin > np.median(margin)) ^ (rng.random(len(margin)) < 0.1), 1, -1)


def write(folder: Path, kind: str, n_rows: int) -> None:
    pair, nonzeros, n_features = KINDS[kind]
    rng = np.random.default_rng(0)
    column = columns(n_rows, nonzeros, n_features, rng)
    value = values(kind, rng, column.shape)
    pairs = np.stack([column, value], axis=2).reshape(n_rows, -1)
    form = " ".join([pair] * nonzeros)
    with open(folder / f"{kind}.svm", "w") as svm, open(folder / f"{kind}.vw", "w") as vw:
        for label, row in zip(labels(column, value, n_features, rng), pairs, strict=True):
            text = form % tuple(row.tolist())
            svm.write(f"{label} {text}\n")
            vw.write(f"{label} | {text}\n")


def write_ten(folder: Path) -> None:
    for suffix in ("svm", "vw"):
        with open(folder / f"decimals.{suffix}") as source:
            (folder / f"ten.{suffix}").write_text("".join(next(source) for _ in range(10)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=1, help="part of the 100,000 rows (default 1)")
    n_rows = round(100_000 * parser.parse_args().scale)
    key = zlib.crc32(Path(__file__).read_bytes())

    def make(folder: Path) -> None:
        for kind in KINDS:
            write(folder, kind, n_rows)
        write_ten(folder)

    folder = cached_folder(f"text-{n_rows}-{key:08x}", make)
    print(folder)


if __name__ == "__main__":
    main()
