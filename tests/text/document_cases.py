"""Documents with labels, written in every format."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from cwlearn import AROWClassifier, TextClassifier
from tests.text_cases import bits

try:
    from compression import zstd
except ImportError:
    from backports import zstd

WORDS = [
    *("The", "the", "FINE", "fine", "dull", "film", "Film", "acting", "music", "great", "long", "and", "not", "very"),
    *("é", "na\u00efve", "Straße", "\u03a3\u0391\u03a3", "İstanbul", "日本語", "\u043f\u0440\u0438\u0432\u0435\u0442"),
    *("don't", "3.14", "1999", "a_b", "x", "\U0001f600", ",", '"', "'", "\\", "/", "{}", "[a]", "|b", ":c", "#", "%"),
    *("\u00a0", "e\u0301", "___", "label_x"),
]


def documents(n: int = 60, seed: int = 0, labels: Sequence[str] = ("bad", "good")) -> tuple[list[str], list[str]]:
    """Texts that every format can hold, and their labels."""
    random = np.random.default_rng(seed)
    texts, chosen = [], []
    for _ in range(n):
        label = int(random.integers(len(labels)))
        words = random.choice(WORDS, random.integers(1, 12)).tolist()
        texts.append(" ".join([f"sign{label}", *words, *["word"] * int(random.integers(3))]))
        chosen.append(labels[label])
    return texts, chosen


def jsonl(texts: Sequence[str], labels: Sequence[str]) -> str:
    """With escapes and without, fields in both orders, and others that are skipped."""
    lines = []
    for number, (text, label) in enumerate(zip(texts, labels, strict=True)):
        record: dict[str, Any] = {"text": text, "label": label}
        if number % 3 == 0:
            record = {"id": number, "label": label, "more": {"text": [1, "x"]}, "text": text}
        lines.append(json.dumps(record, ensure_ascii=number % 2 == 0))
    return "\n".join(lines) + "\n"


def _table(texts: Sequence[str], labels: Sequence[str], delimiter: str) -> str:
    file = io.StringIO()
    writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
    writer.writerow(["id", "label", "text"])
    writer.writerows((number, label, text) for number, (text, label) in enumerate(zip(texts, labels, strict=True)))
    return file.getvalue()


def _lines(texts: Sequence[str], labels: Sequence[str], form: str) -> str:
    return "".join(form.format(label, text) for text, label in zip(texts, labels, strict=True))


WRITERS: dict[str, Callable[[Sequence[str], Sequence[str]], str]] = {  # by the suffix of the file
    "jsonl": jsonl,
    "csv": lambda texts, labels: _table(texts, labels, ","),
    "tsv": lambda texts, labels: _table(texts, labels, "\t"),
    "ft": lambda texts, labels: _lines(texts, labels, "__label__{0} {1}\n"),
    "txt": lambda texts, labels: _lines(texts, labels, "{0}\t{1}\n"),
}
COMPRESSORS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": lambda data: gzip.compress(data, mtime=0),
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstd.compress,
}


def written(path: Any, texts: Sequence[str], labels: Sequence[str]) -> Any:
    """A file of documents in the format of its suffix, perhaps compressed."""
    packer = COMPRESSORS.get(path.suffix)
    suffix = path.suffixes[-2 if packer else -1].removeprefix(".")
    data = WRITERS[suffix](texts, labels).encode()
    path.write_bytes(packer(data) if packer else data)
    return path


def classifier(*, epochs: int = 1, shuffle: bool = False, hash_bits: int = 10, **options: Any) -> TextClassifier:
    """A small one, whose result does not depend on chance."""
    arow = AROWClassifier(epochs=epochs, shuffle=shuffle, random_state=3)
    return TextClassifier(arow, hash_bits=hash_bits, **options)


def everything(learner: Any) -> tuple[Any, ...]:
    """All that two equal models of documents agree in; their files may have other names for the fields."""
    frequencies, documents = learner.frequencies, learner.documents
    if documents is not None:
        documents = replace(documents, text="text", label="label")
    counted = None if frequencies is None else (frequencies.n_documents, frequencies.counts.tobytes())
    return (*bits(learner), learner.label_names, learner.hash_bits, documents, counted)
