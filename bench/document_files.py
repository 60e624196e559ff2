"""Make the files that `documents` reads, unless they exist, and print their folder.

    python -m bench.document_files [--megabytes N] [--part N]

``all.jsonl`` has the Amazon reviews again and again, each time in another order, and each time with every tenth word
replaced by a word of another review, so that new n-grams keep coming as they do in real text.  ``part`` is its
beginning, as JSON lines and, for the rivals, as lower-case words in the formats of Vowpal Wabbit and fastText.
``test`` has the fifth of the reviews from which nothing was made, as they were written.  This is a program of its own,
so that a benchmark never has large arrays in memory.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import zlib
from collections.abc import Iterable, Iterator
from itertools import count
from pathlib import Path

from bench.cache import cached_folder
from bench.datasets import DOMAINS, Document, amazon_reviews

REPLACED = 10  # one word of so many
WORD = re.compile(r"\w\w+")


def json_line(document: Document, number: int) -> str:
    return json.dumps({"id": number, "label": document.label, "text": document.text}, ensure_ascii=False) + "\n"


def changed_reviews(reviews: list[Document], rng: random.Random) -> Iterator[Document]:
    """The reviews for ever, never twice the same."""
    split = [(review.text.split(" "), review.label) for review in reviews]
    pool = [word for words, _ in split for word in words]
    while True:
        rng.shuffle(split)
        for words, label in split:
            text = words.copy()
            for place in rng.choices(range(len(text)), k=round(len(text) / REPLACED)):
                text[place] = pool[int(rng.random() * len(pool))]
            yield Document(" ".join(text), label)


def write_for_rivals(folder: Path, name: str, documents: Iterable[Document]) -> None:
    with open(folder / f"{name}.vw", "w") as vw, open(folder / f"{name}.fasttext", "w") as fasttext:
        for document in documents:
            words = " ".join(WORD.findall(document.text.lower()))
            vw.write(f"{1 if document.label == 'positive' else -1} | {words}\n")
            fasttext.write(f"__label__{document.label} {words}\n")


def write(folder: Path, megabytes: float, part: float) -> None:
    rng = random.Random(0)
    reviews = list(amazon_reviews(*DOMAINS))
    rng.shuffle(reviews)
    n_test = len(reviews) // 5
    test, reviews = reviews[:n_test], reviews[n_test:]
    documents: list[Document] = []  # of the part
    size, numbers = 0, count()
    with open(folder / "part.jsonl", "w") as part_file, open(folder / "all.jsonl", "w") as file:
        for document in changed_reviews(reviews, rng):
            line = json_line(document, next(numbers))
            file.write(line)
            if size < part * 1e6:
                part_file.write(line)
                documents.append(document)
            size += len(line.encode())
            if size >= megabytes * 1e6:
                break
    write_for_rivals(folder, "part", documents)
    write_for_rivals(folder, "test", test)
    folder.joinpath("test.jsonl").write_text("".join(json_line(document, next(numbers)) for document in test))
    facts = {"all": next(numbers) - n_test, "part": len(documents), "test": n_test}
    folder.joinpath("facts.json").write_text(json.dumps(facts))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=float, default=1000, help="size of all.jsonl (default: 1000)")
    parser.add_argument("--part", type=float, default=100, help="size of part.jsonl (default: 100)")
    options = parser.parse_args()
    key = zlib.crc32(Path(__file__).read_bytes())
    name = f"documents-{options.megabytes:g}-{options.part:g}-{key:08x}"
    print(cached_folder(name, lambda folder: write(folder, options.megabytes, options.part)))


if __name__ == "__main__":
    main()
