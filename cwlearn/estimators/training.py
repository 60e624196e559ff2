"""Fitting an estimator straight from files."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import TypeVar

from sklearn.utils import check_random_state

from cwlearn.core.class_labels import listed_labels, text_labels
from cwlearn.core.parameters import read_size
from cwlearn.core.training import check_class_weight, check_update
from cwlearn.estimators.base import Linear, warn_of_unsolved
from cwlearn.text.labels import labels_for
from cwlearn.text.monitor import BarMonitor
from cwlearn.text.reader import OnBadLine, Reading, Unsorted
from cwlearn.text.resources import Resources
from cwlearn.text.run import Run
from cwlearn.text.sources import Paths

Estimator = TypeVar("Estimator", bound=Linear)


def train_svmlight(
    paths: Paths,
    estimator: Estimator,
    *,
    labels: Sequence[float] | None = None,
    n_features: int | None = None,
    hash_bits: int | None = None,
    memory: int | str | None = None,
    threads: int | None = None,
    unsorted: Unsorted = "error",
    on_bad_line: OnBadLine = "error",
    max_bad: int = Reading.max_bad,
    max_line: int = Reading.max_line,
) -> Estimator:
    """Fit an estimator straight from svmlight files, which may be larger than memory, as `cwlearn train` does.

    The index in the text is the column of the model, as in `read_svmlight`.  The result is that of `fit` on the same
    rows, to the bit, as long as the rows fit into `memory`; beyond it, rows are shuffled within windows of that size.
    With `epochs=1, shuffle=False` no row is kept.  An estimator with `warm_start` continues where it stopped.

    Parameters
    ----------
    paths : path, or several, which are read as one
        Compressed files (gzip, bzip2, xz, Zstandard) are recognised; "-" is standard input.
    estimator : a linear classifier or regressor of this package
        It is fitted and returned.
    labels : sequence of numbers, optional
        All labels there are; by default, those that occur.  A regression has none.
    n_features : int, optional
        Columns of the model; by default, as many as the text has.
    hash_bits : int, optional
        Hash the indices to this number of bits, which makes 2^hash_bits columns.
    memory : int or str, optional
        Bytes for the rows between two epochs, and for the weights, as a number or a text such as "4G"; by default half
        of what is free.
    threads : int, optional
        Threads that parse; by default one for each core that may be used.
    unsorted : {"error", "sort"}, default="error"
        What to do with a line whose indices do not rise.
    on_bad_line : {"error", "skip"}, default="error"
        Stop at the first bad line, or warn and go on without its row.
    max_bad : int, default=100
        How many bad lines to skip; one more is an error.
    max_line : int, default=1073741824
        Bytes of the longest line.

    Returns
    -------
    estimator
        The estimator that was given, fitted.

    Examples
    --------
    >>> import os, tempfile
    >>> from cwlearn import AROWClassifier, train_svmlight
    >>> path = os.path.join(tempfile.mkdtemp(), "tiny.svm")
    >>> with open(path, "w") as file:
    ...     _ = file.write("+1 1:0.5 3:2\\n-1 2:1\\n")
    >>> model = train_svmlight(path, AROWClassifier(random_state=0))
    >>> model.classes_.tolist(), model.n_features_in_
    ([-1.0, 1.0], 4)
    """
    if not isinstance(estimator, Linear):
        raise TypeError(f"expected a linear estimator of cwlearn, such as AROWClassifier(), got {estimator!r}")
    rule, training, _ = estimator._options()
    check_update(rule, training)  # before any data are read
    check_class_weight(rule)
    go_on = training.warm_start and estimator.__sklearn_is_fitted__()
    texts = None
    if labels is not None:
        known = estimator._learner.classes if go_on else None
        texts = text_labels(listed_labels(labels, rule.task, known, numeric=True))
    monitor = BarMonitor(quiet=not training.verbose)
    run = Run(
        paths,
        rule,
        training,
        Reading(unsorted, on_bad_line, max_bad, max_line),
        Resources(n_features, hash_bits, read_size(memory) if isinstance(memory, str) else memory, threads),
        labels_for(rule, texts),
        estimator._learner if go_on else None,
        monitor,
        check_random_state(estimator.random_state),
    )
    unsolved = estimator._learner.statistics["unsolved"] if go_on else 0
    with closing(monitor):
        estimator._adopt(run.train())
    warn_of_unsolved(estimator._learner.statistics["unsolved"] - unsolved)
    return estimator
