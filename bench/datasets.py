"""Real data sets, and a synthetic one, for the benchmarks.

The files are read from the folder CWLEARN_DATA (default: ``../shared/data`` next to the project); parsed data are
cached (see `bench.cache`).  If a source has a training and a test part, both are joined, except for a9a, whose training
part is used alone.
"""

import io
import json
import lzma
import os
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.datasets import load_svmlight_file
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import CountVectorizer

from bench.cache import cache_folder

Parsed = tuple[csr_matrix, Sequence[int] | np.ndarray]


@dataclass(frozen=True)
class DataSet:
    """Rows in a fixed random order, and labels 0 and 1 (of a pair ``a-b``, 1 means ``b``), or 0, 1, 2, ..."""

    name: str
    X: csr_matrix
    y: np.ndarray


def load(name: str) -> DataSet:
    """The data set of this name, one of NAMES, DOMAIN_PAIRS and MULTICLASS."""
    if name not in _PARSERS:
        raise ValueError(f"unknown data set {name!r}; known are {', '.join(_PARSERS)}")

    def make() -> tuple[csr_matrix, np.ndarray]:
        parsed, labels = _PARSERS[name]()
        order = np.random.RandomState(0).permutation(len(labels))  # the same in all versions of NumPy
        X = csr_matrix(parsed, dtype=np.float32)[order]
        X.sum_duplicates()  # also sorts the columns of each row
        X.eliminate_zeros()
        return X, np.asarray(labels, dtype=np.int64)[order]

    return DataSet(name, *_cached(name, os.fsencode(data_folder().resolve()), make))


def _cached(
    name: str, source: bytes, make: Callable[[], tuple[csr_matrix, np.ndarray]]
) -> tuple[csr_matrix, np.ndarray]:
    """The data set from the cache, where `make` puts it; editing this file or the source makes it anew."""
    path = cache_folder() / f"{name}-{zlib.crc32(Path(__file__).read_bytes() + source):08x}.npz"
    if not path.is_file():
        _save(path, *make())
    with np.load(path) as stored:
        indices, indptr = stored["indices"].astype(np.int32), stored["indptr"].astype(np.int32)
        return csr_matrix((stored["data"], indices, indptr), shape=stored["shape"]), stored["y"]


def scaled(X: csr_matrix, how: str) -> csr_matrix:
    """X as it is ("counts"), with all stored values 1 ("binary") or with rows of length 1 ("unit")."""
    if how == "counts":
        return X
    if how not in ("binary", "unit"):
        raise ValueError(f"how must be 'counts', 'binary' or 'unit', not {how!r}")
    result = X.astype(np.float32, copy=True)
    if how == "binary":
        result.data[:] = 1
    else:
        row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        length = np.sqrt(np.bincount(row, weights=np.square(X.data, dtype=np.float64), minlength=X.shape[0]))
        result.data /= np.where(length > 0, length, 1)[row]
    return result


def zipf(
    n_rows: int, nonzeros_per_row: int, n_features: int, seed: int = 0, n_labels: int = 2, noise: float = 0.1
) -> tuple[csr_matrix, np.ndarray]:
    """A synthetic matrix whose columns are as uneven as words, and labels of which a tenth are wrong, or `noise`.

    Each row draws ``nonzeros_per_row`` columns and keeps the distinct ones, so it has somewhat fewer nonzeros.
    """
    sizes = (n_rows, nonzeros_per_row, n_features, seed, n_labels)
    return _cached(f"zipf-{'-'.join(map(str, (*sizes, noise)))}", b"", lambda: _zipf(*sizes, noise))


def _zipf(
    n_rows: int, nonzeros_per_row: int, n_features: int, seed: int, n_labels: int, noise: float
) -> tuple[csr_matrix, np.ndarray]:
    rng = np.random.default_rng(seed)
    # Inverse of the distribution function of x ** -1.1 on [1, n_features + 1), cut to whole ranks.
    x = (1 - rng.random((n_rows, nonzeros_per_row)) * (1 - (n_features + 1) ** -0.1)) ** -10
    rank = np.minimum(x.astype(np.int32), n_features) - 1
    columns = np.sort(rng.permutation(n_features).astype(np.int32)[rank], axis=1)
    distinct = np.ones(columns.shape, dtype=bool)
    distinct[:, 1:] = columns[:, 1:] != columns[:, :-1]
    indices = columns[distinct]
    indptr = np.concatenate([[0], np.cumsum(distinct.sum(axis=1))]).astype(np.int32)
    values = 1 - rng.random(len(indices), dtype=np.float32)
    X = csr_matrix((values, indices, indptr), shape=(n_rows, n_features))
    # Separators orthogonal to the mean row: otherwise the most frequent columns would decide how many labels are 1.
    w = rng.standard_normal((n_features, 1 if n_labels == 2 else n_labels))
    mean = np.bincount(indices, weights=values, minlength=n_features)
    w -= np.outer(mean, mean @ w / (mean @ mean))
    scores = X @ w
    wrong = rng.random(n_rows) < noise
    if n_labels == 2:
        return X, ((scores[:, 0] > 0) ^ wrong).astype(np.int64)
    return X, np.where(wrong, rng.integers(0, n_labels, n_rows), np.argmax(scores, axis=1))


def data_folder() -> Path:
    return Path(os.environ.get("CWLEARN_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")


def _save(path: Path, X: csr_matrix, y: np.ndarray) -> None:
    """Write the arrays in one step, so that another process finds the complete file or none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        complete = Path(folder) / path.name
        np.savez_compressed(complete, data=X.data, indices=X.indices, indptr=X.indptr, shape=X.shape, y=y)
        complete.replace(path)


def read_data_file(relative: str) -> bytes:
    """The decompressed content of a file of the data folder."""
    path = data_folder() / relative
    if not path.is_file():
        raise FileNotFoundError(f"no data file {path}; set CWLEARN_DATA to the folder of the data sets")
    return lzma.decompress(path.read_bytes())


class Document(NamedTuple):
    """A text and its label, and whether it is for training, if the source says that."""

    text: str
    label: str
    is_training: bool | None = None


def _records(relative: str) -> Iterator[dict[str, Any]]:
    return map(json.loads, read_data_file(relative).splitlines())


def newsgroup_messages() -> Iterator[Document]:
    """The messages of the 18,828 version: From, Subject and body."""
    for message in _records("20newsgroups/20news-bydate.jsonl.xz"):
        if message["in18828"]:
            head, _, body = message["text"].partition("\n\n")
            # Indented lines continue a header that is left out, never From or Subject.
            kept = [line for line in head.split("\n") if line.startswith(("From:", "Subject:"))]
            yield Document("\n".join([*kept, body]), message["group"], message["split"] == "train")


class Story(NamedTuple):
    """A text, all of its topics, and whether it is for training."""

    text: str
    topics: list[str]
    is_training: bool


def reuters_topics() -> Iterator[Story]:
    """The stories of the ModApte split, with any number of topics."""
    for story in _records("reuters21578/reuters21578.jsonl.xz"):
        split = story["lewissplit"]
        if story["has_topics"] == "YES" and split in ("TRAIN", "TEST"):
            yield Story(f"{story['title']}\n{story['body']}", story["topics"], split == "TRAIN")


def reuters_stories() -> Iterator[Document]:
    """The stories of the ModApte split that have one topic."""
    for text, topics, is_training in reuters_topics():
        if len(topics) == 1:
            yield Document(text, topics[0], is_training)


def spamassassin_mails() -> Iterator[Document]:
    return (Document(mail["text"], mail["label"]) for mail in _records("spamassassin/spamassassin.jsonl.xz"))


def amazon_reviews(*domains: str) -> Iterator[Document]:
    """Title and text of the reviews of some domains, as they were written; the label is the sentiment."""
    for review in _records("amazon-processed-acl/raw-sorted_data_acl.jsonl.xz"):
        if review["domain"] in domains:
            yield Document(f"{review['title']}\n{review['text']}", review["label"])


def _words(documents: Iterable[Document], pair: Sequence[str] = ()) -> Parsed:
    """Counts of words, and labels: numbers in sorted order or, of a pair, whether it is the second one."""
    chosen = [document for document in documents if not pair or document.label in pair]
    counter = CountVectorizer(token_pattern=r"[^\W\d_]{2,}", dtype=np.float32)  # two or more letters
    labels = [document.label for document in chosen]
    numbers = [label == pair[1] for label in labels] if pair else np.unique(labels, return_inverse=True)[1]
    return counter.fit_transform(document.text for document in chosen), numbers


def _newsgroups(*pair: str) -> Parsed:
    return _words(newsgroup_messages(), pair)


def _reuters(*pair: str) -> Parsed:
    return _words(reuters_stories(), pair)


def _spamassassin() -> Parsed:
    return _words(spamassassin_mails(), ("ham", "spam"))


def _amazon_rows(domain: str, kind: str) -> list[dict[str, float]]:
    """The reviews of a domain that are negative or positive, as counts by feature."""
    rows = []
    for line in read_data_file(f"amazon-processed-acl/{domain}/{kind}.review.xz").decode().split("\n")[:-1]:
        pairs = (token.rpartition(":") for token in line.split(" ")[:-1])  # the last token is the label
        rows.append({feature: float(count) for feature, _, count in pairs})
    return rows


def _amazon(domain: str) -> Parsed:
    """Reviews with their sentiment as the label."""
    return _joined([_amazon_rows(domain, kind) for kind in ("negative", "positive")])


def _amazon_domains(*pair: str) -> Parsed:
    """Reviews with their domain as the label."""
    return _joined([_amazon_rows(domain, "negative") + _amazon_rows(domain, "positive") for domain in pair])


def _joined(parts: Sequence[list[dict[str, float]]]) -> Parsed:
    """The rows of all parts; the label of a row is the number of its part."""
    labels = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    return DictVectorizer(dtype=np.float32).fit_transform([row for part in parts for row in part]), labels


def _svmlight(relative: str) -> Parsed:
    X, y = load_svmlight_file(io.BytesIO(read_data_file(relative)), dtype=np.float32, zero_based=False)
    return X, y > 0


def _usps(*pair: int) -> Parsed:
    text = b"".join(read_data_file(f"usps/usps.{part}.csv.xz") for part in ("train", "test"))
    table = np.loadtxt(text.splitlines(), delimiter=",")
    if not pair:
        return csr_matrix(table[:, 1:]), table[:, 0].astype(int)
    table = table[np.isin(table[:, 0], pair)]
    return csr_matrix(table[:, 1:]), table[:, 0] == pair[1]


def _mnist(*pair: int) -> Parsed:
    def read(kind: str, header: int) -> np.ndarray:
        parts = [read_data_file(f"mnist/{part}-{kind}-ubyte.xz")[header:] for part in ("train", "t10k")]
        return np.frombuffer(b"".join(parts), dtype=np.uint8)

    digits = read("labels-idx1", 8)
    images = read("images-idx3", 16).reshape(-1, 28 * 28)
    if not pair:
        return csr_matrix(images, dtype=np.float32) / np.float32(255), digits
    chosen = np.isin(digits, pair)
    return csr_matrix(images[chosen] / 255), digits[chosen] == pair[1]


DOMAINS = ("books", "dvd", "electronics", "kitchen")
NEWSGROUP_PAIRS = {
    "20news-comp": ("comp.sys.ibm.pc.hardware", "comp.sys.mac.hardware"),
    "20news-sci": ("sci.electronics", "sci.med"),
    "20news-talk": ("talk.politics.guns", "talk.politics.mideast"),
}
_PARSERS: dict[str, Callable[[], Parsed]] = {
    **{name: partial(_newsgroups, *pair) for name, pair in NEWSGROUP_PAIRS.items()},
    **{f"amazon-{domain}": partial(_amazon, domain) for domain in DOMAINS},
    **{f"spam-u0{i}": partial(_svmlight, f"ecml2006-spam/task_a_u0{i}_eval_lab.tf.xz") for i in range(3)},
    "spamassassin": _spamassassin,
    "reuters-acq-earn": partial(_reuters, "acq", "earn"),
    "reuters-money-fx-interest": partial(_reuters, "money-fx", "interest"),
    "reuters-crude-ship": partial(_reuters, "crude", "ship"),
    **{name: partial(_svmlight, f"libsvm-small/{name}.xz") for name in ("a9a", "w8a")},
    **{f"usps-{a}v{b}": partial(_usps, a, b) for a, b in ((0, 9), (1, 2), (3, 4), (3, 5), (5, 6), (7, 8))},
    "mnist-3v5": partial(_mnist, 3, 5),
    **{f"amazon-{a}-{b}": partial(_amazon_domains, a, b) for a, b in combinations(DOMAINS, 2)},
    "20news": _newsgroups,
    "usps": _usps,
    "mnist": _mnist,
}
DOMAIN_PAIRS = tuple(f"amazon-{a}-{b}" for a, b in combinations(DOMAINS, 2))
MULTICLASS = ("20news", "usps", "mnist")
NAMES: tuple[str, ...] = tuple(name for name in _PARSERS if name not in (*MULTICLASS, *DOMAIN_PAIRS))
