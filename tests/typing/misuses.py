"""What type checkers must refuse: every line that ends with `# refused` (`tests/test_typing.py`)."""

from __future__ import annotations

from cwlearn import (
    AROWClassifier,
    CWClassifier,
    HashingVectorizer,
    KernelCWClassifier,
    TextClassifier,
    iter_svmlight,
    load,
    merge,
    read_svmlight,
    train,
)


def main() -> None:
    AROWClassifier(nonsense=1)  # refused
    AROWClassifier(regularisation=1.0)  # refused
    AROWClassifier(epochs="many")  # refused
    AROWClassifier(projection="exact")  # refused
    AROWClassifier(1.0, "kl", "full")  # refused
    CWClassifier(form="sd")  # refused
    CWClassifier(class_weight="balanced")  # refused
    CWClassifier().fit([[1.0]], [1], sample_weight=[1.0])  # refused
    KernelCWClassifier(covariance="full")  # refused
    HashingVectorizer(ngrams=(1, 2))  # refused
    HashingVectorizer(analyzer="words")  # refused
    load(3)  # refused
    merge([CWClassifier()], how="mean")  # refused
    read_svmlight("data.svm", zero_based="yes")  # refused
    read_svmlight("data.svm", on_bad_lines="skip")  # refused
    read_svmlight("data.svm", n_features=3, on_large_index="drop")  # refused
    _, _, _ = read_svmlight("data.svm")  # refused
    iter_svmlight("data.svm", zero_based="auto")  # refused
    train("data.svm", AROWClassifier(), zero_based=True)  # refused
    train("data.jsonl", format="json")  # refused
    TextClassifier(weighting="tf")  # refused
    TextClassifier(ngrams=(1, 2))  # refused
    train("data.svm", AROWClassifier(), max_bad="many")  # refused
