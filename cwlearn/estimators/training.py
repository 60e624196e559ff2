"""Fitting an estimator straight from files."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from typing import TypeVar, overload

import numpy as np
from sklearn.utils import check_random_state

from cwlearn.core.class_labels import listed_labels, text_labels
from cwlearn.core.learner import Learner
from cwlearn.core.parameters import read_size
from cwlearn.core.rule import Rule
from cwlearn.core.text_options import TextOptions
from cwlearn.core.training import AUTO_EPOCHS, DEFAULT_BUDGET, Training, check_class_weight, check_update
from cwlearn.estimators.auto import AutoClassifier, Racing
from cwlearn.estimators.base import Linear, warn_of_unsolved
from cwlearn.estimators.classifier import LinearClassifier
from cwlearn.estimators.multilabel import MultiLabelClassifier
from cwlearn.estimators.text_classifier import TextClassifier
from cwlearn.parallel.sharing import Sharing
from cwlearn.text.choosing import choose_by_text
from cwlearn.text.labels import labels_for
from cwlearn.text.monitor import BarMonitor
from cwlearn.text.naming import name_columns
from cwlearn.text.reader import Format, OnBadLine, Reading, Unsorted, has_documents
from cwlearn.text.resources import Resources
from cwlearn.text.run import Run
from cwlearn.text.sources import Paths

Estimator = TypeVar("Estimator", bound=Linear | TextClassifier)


@overload
def train(
    paths: Paths,
    estimator: Estimator,
    *,
    format: Format = "auto",
    text: str | None = None,
    label: str | None = None,
    fields: Sequence[str] | None = None,
    delimiter: str | None = None,
    header: bool = True,
    labels: Sequence[float] | Sequence[str] | None = None,
    n_features: int | None = None,
    hash_bits: int | None = None,
    memory: int | str | None = None,
    threads: int | None = None,
    unsorted: Unsorted = "error",
    on_bad_line: OnBadLine = "error",
    max_bad: int = Reading.max_bad,
    max_line: int = Reading.max_line,
) -> Estimator | TextClassifier: ...


@overload
def train(
    paths: Paths,
    estimator: None = None,
    *,
    format: Format = "auto",
    text: str | None = None,
    label: str | None = None,
    fields: Sequence[str] | None = None,
    delimiter: str | None = None,
    header: bool = True,
    labels: Sequence[float] | Sequence[str] | None = None,
    n_features: int | None = None,
    hash_bits: int | None = None,
    memory: int | str | None = None,
    threads: int | None = None,
    unsorted: Unsorted = "error",
    on_bad_line: OnBadLine = "error",
    max_bad: int = Reading.max_bad,
    max_line: int = Reading.max_line,
) -> AutoClassifier | TextClassifier: ...


def train(
    paths: Paths,
    estimator: Linear | TextClassifier | None = None,
    *,
    format: Format = "auto",
    text: str | None = None,
    label: str | None = None,
    fields: Sequence[str] | None = None,
    delimiter: str | None = None,
    header: bool = True,
    labels: Sequence[float] | Sequence[str] | None = None,
    n_features: int | None = None,
    hash_bits: int | None = None,
    memory: int | str | None = None,
    threads: int | None = None,
    unsorted: Unsorted = "error",
    on_bad_line: OnBadLine = "error",
    max_bad: int = Reading.max_bad,
    max_line: int = Reading.max_line,
) -> Linear | TextClassifier:
    """Fit an estimator straight from files, which may be larger than memory, as `cwlearn train` does.

    The result is that of `fit` on the same rows or documents, to the bit, as long as the rows fit into `memory`; beyond
    it, rows are shuffled within windows of that size.  With `epochs=1, shuffle=False` no row is kept.  An estimator
    with `warm_start` continues where it stopped.

    Parameters
    ----------
    paths : path, or several, which are read as one
        Compressed files (gzip, bzip2, xz, Zstandard) are recognised; "-" is standard input.
    estimator : a linear classifier or regressor of this package, a MultiLabelClassifier or a TextClassifier, optional
        It is fitted; by default a `TextClassifier` for documents, and an `AutoClassifier` for rows of numbers.
    format : {"auto", "svmlight", "jsonl", "csv", "tsv", "fasttext", "vw", "text", "parquet"}, default="auto"
        Format of the data: by default that of the suffix of the first file, or of its first lines.
    text : str, optional
        Field of the text in JSON and CSV, or several with commas between them; by default that of a model that
        continues, or "text".
    label : str, optional
        Field of the label in JSON and CSV; by default that of a model that continues, or "label".
    fields : sequence of str, optional
        Further fields of JSON and CSV as features: a number in field f is the feature f with this value, a text s is
        the feature f=s.  Neither `idf` nor `norm` changes their values.
    delimiter : str, optional
        Character between two fields of CSV; by default a comma, or a tab in TSV.
    header : bool, default=True
        The first line of CSV names the fields.  Otherwise columns count from 1.
    labels : sequence of numbers or strings, optional
        All labels there are; by default, those that occur.  A regression has none.
    n_features : int, optional
        Columns of the model; by default, as many as an svmlight text has.
    hash_bits : int, optional
        Hash features to this number of bits, which makes 2^hash_bits columns; by default 20 for documents, and none for
        the indices of svmlight.
    memory : int or str, optional
        Bytes for the rows between two epochs, and for the weights, as a number or a text such as "4G"; by default half
        of what is free.
    threads : int, optional
        Threads that parse; by default one for each core that may be used.
    unsorted : {"error", "sort"}, default="error"
        What to do with a line of svmlight whose indices do not rise.
    on_bad_line : {"error", "skip"}, default="error"
        Stop at the first bad line, or warn and go on without its row.
    max_bad : int, default=100
        How many bad lines to skip; one more is an error.
    max_line : int, default=1073741824
        Bytes of the longest line.

    Returns
    -------
    estimator
        The estimator that was given, fitted.  If the data are texts, and it is not a TextClassifier, a TextClassifier
        that has it as its classifier.

    Examples
    --------
    >>> import os, tempfile
    >>> import cwlearn
    >>> path = os.path.join(tempfile.mkdtemp(), "reviews.jsonl")
    >>> with open(path, "w") as file:
    ...     _ = file.write('{"text": "a fine film", "label": "good"}\\n{"text": "a dull one", "label": "bad"}\\n')
    >>> model = cwlearn.train(path)
    >>> model.predict(["fine", "dull"]).tolist()
    ['good', 'bad']
    """
    reading = Reading(
        unsorted, on_bad_line, max_bad, max_line,
        format=format, text=text, label=label, fields=None if fields is None else tuple(fields), delimiter=delimiter,
        header=header,
    )  # fmt: skip
    if estimator is None:
        estimator = TextClassifier() if has_documents(paths, reading) else AutoClassifier()
    texts = estimator if isinstance(estimator, TextClassifier) else None
    inner = estimator if texts is None else inner_of(texts)
    if not isinstance(inner, Linear):
        raise TypeError(f"expected a linear estimator of cwlearn, such as AROWClassifier(), got {estimator!r}")
    rule, training, _ = inner._options()
    check_update(rule, training)  # before any data are read
    check_class_weight(rule)
    learner = inner._learner if training.warm_start and inner.__sklearn_is_fitted__() else None
    named = None
    if labels is not None:
        named = text_labels(listed_labels(labels, rule.task, None if learner is None else learner.classes))
    if texts is not None and hash_bits is None:
        hash_bits = texts.hash_bits
    resources = Resources(n_features, hash_bits, read_size(memory) if isinstance(memory, str) else memory, threads)
    documents, random_state = None if texts is None else texts._documents(), check_random_state(training.random_state)
    rule, training = decided(inner, paths, reading, resources, named, documents, random_state)
    monitor = BarMonitor(quiet=not training.verbose)
    run = Run(
        paths,
        rule,
        training,
        reading,
        resources,
        labels_for(rule, named, several=isinstance(inner, MultiLabelClassifier)),
        learner,
        monitor,
        random_state,
        documents=documents,
        only_documents=texts is not None,
    )  # fmt: skip
    unsolved = learner.statistics["unsolved"] if learner else 0
    with closing(monitor):
        learner = run.train()
    name_columns(learner, run.reader())
    warn_of_unsolved(learner.statistics["unsolved"] - unsolved)
    return fitted(inner, texts, learner)


def decided(
    inner: Linear,
    paths: Paths,
    reading: Reading,
    resources: Resources,
    labels: dict[float | str, str] | None,
    documents: TextOptions | None,
    random_state: np.random.RandomState,
    sharing: Sharing | None = None,
) -> tuple[Rule, Training]:
    """Rule and training of an estimator; what it leaves open, a sample of the files decides."""
    inner.__dict__.pop("_decided", None)  # by other files
    rule, training, _ = inner._options()
    budget = inner._race_budget if isinstance(inner, Racing) else None
    alone = budget is None
    if alone and training.epochs != AUTO_EPOCHS:
        return rule, training
    state = copy.deepcopy(random_state)  # so that the winner is shuffled as it would be without a race
    choice = choose_by_text(
        paths,
        rule,
        training,
        reading,
        resources,
        labels,
        documents,
        state,
        alone=alone,
        shards=sharing is not None,
        how=None if sharing is None else sharing.how,
        budget=DEFAULT_BUDGET if budget is None else budget,
        several=isinstance(inner, MultiLabelClassifier),
    )
    if choice is None:
        return rule, replace(training, epochs=rule.default_epochs) if training.epochs == AUTO_EPOCHS else training
    if isinstance(inner, Racing) and not alone:
        inner._decide(choice)
    return choice.rule, choice.training


def inner_of(texts: TextClassifier) -> LinearClassifier | MultiLabelClassifier:
    """The classifier of a TextClassifier: the fitted one, if it continues."""
    if texts.__sklearn_is_fitted__() and texts.classifier_._options()[1].warm_start:
        return texts.classifier_
    return texts._new_classifier()


def fitted(inner: Linear, texts: TextClassifier | None, learner: Learner) -> Linear | TextClassifier:
    """The estimator of a learner."""
    inner._adopt(learner)
    of_texts = learner.documents is not None and not learner.documents.named_features
    if not of_texts or not isinstance(inner, LinearClassifier | MultiLabelClassifier):
        return inner
    return TextClassifier._of(inner) if texts is None else texts._adopt(inner)
