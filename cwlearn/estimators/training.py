"""Fitting an estimator straight from files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.utils import check_random_state

from cwlearn.core.class_labels import listed_labels, text_labels
from cwlearn.core.parameters import read_size
from cwlearn.core.training import check_update
from cwlearn.estimators.base import Linear, tell_unsolved
from cwlearn.text.labels import labels_for
from cwlearn.text.monitor import BarMonitor
from cwlearn.text.run import Resources, Run
from cwlearn.text.svmlight import Paths, Reading, path_list


def train_svmlight(
    paths: Paths,
    estimator: Linear,
    *,
    labels: Sequence[float] | None = None,
    n_features: int | None = None,
    hash_bits: int | None = None,
    memory: int | str | None = None,
    threads: int | None = None,
    **reading: Any,
) -> Linear:
    """Fit an estimator straight from svmlight files, out of core: what `cwlearn train` does, from Python.

    The index in the text is the column of the model, whether it counts from zero or from one; a matrix that
    `read_svmlight` makes with `zero_based=True` has the same columns.  The result is that of `fit` on the same rows, to
    the bit, as long as they fit into `memory`; beyond it, shuffles are made within windows of it.  With `epochs=1,
    shuffle=False` no row is kept at all.  An estimator with `warm_start` goes on from where it stopped.

    Parameters
    ----------
    paths : path, or several, which are read as one
        Compressed files are recognised; "-" is standard input.
    estimator : a linear classifier or regressor of this package
        It is fitted and returned.
    labels : numbers, optional
        All labels there are; by default, those that are found.  A regression has none.
    n_features, hash_bits : int, optional
        Columns of the model, or bits to hash the indices to; by default, as many columns as the text has.
    memory : int or a text such as "4G", optional
        Bytes for the rows between two epochs, and for the weights; by default half of what is free.
    threads : int, optional
        Threads that parse; by default one for each core that may be used.
    reading
        The options of `cwlearn.text.svmlight.Reading`: `zero_based`, `unsorted`, `on_bad_line`, `max_bad`, `max_line`.

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
    go_on = training.warm_start and estimator.__sklearn_is_fitted__()
    texts = None
    if labels is not None:
        known = estimator._learner.classes if go_on else None
        texts = text_labels(listed_labels(labels, rule.task, known, numeric=True))
    run = Run(
        path_list(paths),
        rule,
        training,
        Reading(**reading),
        Resources(n_features, hash_bits, read_size(memory) if isinstance(memory, str) else memory, threads),
        labels_for(rule, texts),
        estimator._learner if go_on else None,
        BarMonitor(quiet=not training.verbose),
        check_random_state(estimator.random_state),
    )
    unsolved = estimator._learner.statistics["unsolved"] if go_on else 0
    estimator._adopt(run.train())
    tell_unsolved(estimator._learner.statistics["unsolved"] - unsolved)
    return estimator
