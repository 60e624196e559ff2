"""Random documents, hashed by `cwlearn.HashingVectorizer` and by scikit-learn's: the matrices must have the same bits.

    python -m tests.proof.hashing --documents 10000000 --log docs/results/hashing.md

Most documents are short.  They are of all planes of Unicode, in batches with settings of their own and one to four
threads.
"""

from __future__ import annotations

import argparse
import platform
import random
import sys
import time
import unicodedata
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import sklearn

import cwlearn
from tests.hashing_cases import assert_same, random_documents, random_settings, use_threads

BATCH = 1000
REPORT = """# Random documents, hashed twice

`python -m tests.proof.hashing --documents {asked} --seed {seed}` makes random documents and compares the matrices of
`cwlearn.HashingVectorizer` and scikit-learn's `HashingVectorizer`: bounds, columns, values and types, byte for byte.

| | |
|---|---|
| documents | {documents:,} |
| bytes of UTF-8 | {size:,} |
| entries of the matrices | {entries} |
| batches, each with settings and threads of its own | {batches:,} |
| different settings | {different:,} |
| seed | {seed} |
| matrices that differ | {faults} |
| seconds | {seconds:,.0f} |
| versions | cwlearn {cwlearn}, scikit-learn {sklearn}, NumPy {numpy}, Python {python}, Unicode {unicode} |

Batches by setting (others, such as `lowercase`, `binary` and `alternate_sign`, are drawn in the same way, see
`tests/hashing_cases.py`):

| setting | batches |
|---|---|
{settings}
"""
SHOWN = ("analyzer", "ngram_range", "strip_accents", "token_pattern", "n_features", "norm", "dtype", "threads")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--longest", type=int, default=20, help="characters of most documents (default: 20)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--log", type=Path, metavar="FILE", help="write the result there")
    options = parser.parse_args()
    start, size, faults, entries = time.monotonic(), 0, 0, 0
    counts: Counter[tuple[str, str]] = Counter()
    different: set[str] = set()
    batches = -(-options.documents // BATCH)
    for batch in range(batches):
        rng = random.Random(f"{options.seed}/{batch}")  # so that a batch can be repeated alone
        settings, documents = random_settings(rng), random_documents(rng, BATCH, options.longest)
        threads = rng.randint(1, 4)
        size += sum(len(document.encode()) for document in documents)
        different.add(repr(settings))
        counts.update((name, _text(settings.get(name))) for name in SHOWN[:-1])
        counts["threads", str(threads)] += 1
        with pytest.MonkeyPatch.context() as monkeypatch:
            use_threads(monkeypatch, threads)
            try:
                entries += assert_same(documents, settings)
            except AssertionError as error:
                faults += 1
                print(f"batch {batch}: {error}", file=sys.stderr)
        if batch % 500 == 499:
            print(f"{(batch + 1) * BATCH:,} documents, {faults} differ, {time.monotonic() - start:,.0f} s", flush=True)
    rows = [f"| `{name}` | {_shares(counts, name)} |" for name in SHOWN]
    report = REPORT.format(
        asked=options.documents,
        documents=batches * BATCH,
        size=size,
        entries=f"{entries:,}",
        batches=batches,
        different=len(different),
        seed=options.seed,
        faults=faults,
        seconds=time.monotonic() - start,
        cwlearn=cwlearn.__version__,
        sklearn=sklearn.__version__,
        numpy=np.__version__,
        python=platform.python_version(),
        unicode=unicodedata.unidata_version,
        settings="\n".join(rows),
    )
    print(report)
    if options.log:
        options.log.write_text(report)
    return 1 if faults else 0


def _text(value: object) -> str:
    return value.__name__ if isinstance(value, type) else str(value)


def _shares(counts: Counter[tuple[str, str]], name: str) -> str:
    found = sorted((value, count) for (key, value), count in counts.items() if key == name)
    return ", ".join(f"`{value}` {count:,}" for value, count in found)


if __name__ == "__main__":
    sys.exit(main())
