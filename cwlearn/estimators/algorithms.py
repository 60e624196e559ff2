"""The scikit-learn estimators: each is a rule with a name and a word on when to choose it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state

from cwlearn.cli.terminal import TerminalMonitor
from cwlearn.core import merging, model_file, rules
from cwlearn.core.learner import Learner, label_text
from cwlearn.core.parameters import is_number, label_value, read_size
from cwlearn.errors import ModelError
from cwlearn.estimators.base import Linear, OnlineEstimator, tell_unsolved
from cwlearn.estimators.classifier import KernelClassifier, LinearClassifier, Probabilistic, Weighted
from cwlearn.estimators.regressor import LinearRegressor
from cwlearn.text.labels import labels_for
from cwlearn.text.run import Resources, Run
from cwlearn.text.svmlight import Paths, Reading, path_list


class CWClassifier(Probabilistic, LinearClassifier):
    """Confidence-weighted classifier.

    The first choice for many sparse features and clean labels: rare features learn fast, and most is learned in the
    first pass.  Where labels are noisy, prefer `AROWClassifier`: here every row must be classified correctly, so the
    error jumps from pass to pass.  A hard constraint has no loss for sample weights to scale, so there are none.

    References: Crammer, Dredze, Pereira, "Confidence-Weighted Linear Classification for Text Categorization",
    JMLR 13, 2012; "Exact Convex Confidence-Weighted Learning", NIPS 2008.
    """

    _rule = rules.CW


class AROWClassifier(Weighted, Probabilistic, LinearClassifier):
    """Adaptive regularisation of weights.

    The safe choice: nearly as fast to learn as CW, and robust to noisy labels, because no single row has to be
    classified correctly at any price.

    References: Crammer, Kulesza, Dredze, "Adaptive Regularization of Weight Vectors", NIPS 2009.
    """

    _rule = rules.AROW


class SCWClassifier(Weighted, Probabilistic, LinearClassifier):
    """Soft confidence-weighted classifier: CW with a slack.

    CW's speed on clean data, and a bound on what one row can do.

    References: Wang, Zhao, Hoi, "Exact Soft Confidence-Weighted Learning", ICML 2012.
    """

    _rule = rules.SCW


class NHERDClassifier(Probabilistic, LinearClassifier):
    """Gaussian herding.

    A close relative of AROW whose variances fall faster.

    References: Crammer, Lee, "Learning via Gaussian Herding", NIPS 2010.
    """

    _rule = rules.NHERD


class SOPClassifier(Probabilistic, LinearClassifier):
    """Second-order perceptron, the papers' baseline.

    It scores a row with that row already counted into the correlation matrix, so `decision_function` is not exactly
    linear in `coef_`.

    References: Cesa-Bianchi, Conconi, Gentile, "A Second-Order Perceptron Algorithm", SIAM J. Comput. 34, 2005.
    """

    _rule = rules.SOP


class PassiveAggressiveClassifier(Weighted, LinearClassifier):
    """Passive-aggressive classifier, a first-order rival.

    References: Crammer et al., "Online Passive-Aggressive Algorithms", JMLR 7, 2006.
    """

    _rule = rules.PassiveAggressive


class PerceptronClassifier(LinearClassifier):
    """Perceptron, plain or averaged, a first-order rival.

    References: Rosenblatt, 1958; Freund, Schapire, "Large Margin Classification Using the Perceptron Algorithm", 1999.
    """

    _rule = rules.Perceptron


class LogisticClassifier(Weighted, Probabilistic, LinearClassifier):
    """Online logistic regression: a Gaussian posterior carried from row to row, or plain SGD.

    Choose it where the probabilities matter: its `predict_proba` estimates the chance of the label itself, the other
    classes' that of the sign of the margin.

    References: Spiegelhalter, Lauritzen, "Sequential Updating of Conditional Probabilities on Directed Graphical
    Structures", 1990; MacKay, "The Evidence Framework Applied to Classification Networks", 1992.
    """

    _rule = rules.Logistic


class AROWRegressor(LinearRegressor):
    """AROW for real targets: recursive least squares, with the confidence in the weights.

    With a full covariance and a number for `regularization` (r), one pass over the rows is ridge regression with the
    penalty r / `initial_variance`, whatever their order; further epochs count every row again, and weaken the penalty.
    The diagonal one is for many sparse features, where several epochs bring it closer to that solution.

    The intercept is a weight like the others, of a feature that is 1 in all rows.  With a number for `regularization`
    it begins at 0, with 'auto' at the first target.  Bring features to a scale of about 1 (`StandardScaler`): among
    much larger ones the intercept, and all that hangs on it, is learned slowly.

    Weights of rows are precisions: the noise of a row of weight w has the variance `noise_variance_` / w.

    References: Crammer, Kulesza, Dredze, "Adaptive Regularization of Weight Vectors", NIPS 2009, section 3.
    """

    _rule = rules.AROWRegression


class KernelCWClassifier(Probabilistic, KernelClassifier):
    """Confidence-weighted classifier with a kernel: the full covariance of a feature space of any dimension.

    It keeps the rows that it was updated on, so time and memory grow with the square of their number; `budget` is a
    limit to that.

    References: Crammer, Dredze, Pereira, "Exact Convex Confidence-Weighted Learning", NIPS 2008, theorem 2.
    """

    _rule = rules.CW


class KernelAROWClassifier(Weighted, Probabilistic, KernelClassifier):
    """AROW with a kernel, for noisy labels: the full covariance of a feature space of any dimension.

    It keeps the rows that it was updated on, so time and memory grow with the square of their number; `budget` is a
    limit to that.

    References: Crammer, Kulesza, Dredze, "Adaptive Regularization of Weight Vectors", NIPS 2009, lemma 1.
    """

    _rule = rules.AROW


CLASSIFIERS: dict[str, type[LinearClassifier]] = {
    classifier._rule.name: classifier
    for classifier in (
        CWClassifier,
        AROWClassifier,
        SCWClassifier,
        NHERDClassifier,
        SOPClassifier,
        PassiveAggressiveClassifier,
        PerceptronClassifier,
        LogisticClassifier,
    )
}


KERNEL_CLASSIFIERS: dict[str, type[KernelClassifier]] = {
    classifier._rule.name: classifier for classifier in (KernelCWClassifier, KernelAROWClassifier)
}
REGRESSORS: dict[str, type[LinearRegressor]] = {AROWRegressor._rule.name: AROWRegressor}


def load(path: str | os.PathLike[str], max_memory: int | str | None = None) -> OnlineEstimator:
    """The estimator saved in a model file, fitted and with its parameters.

    A small file may ask for much memory: that of all weights, if it has but the few that were touched.  One that would
    take more than `max_memory`, bytes or text such as "4G", is refused before it does; by default that is 1 GiB and
    eight times the size of the file.
    """
    learner = model_file.load(path, read_size(max_memory) if isinstance(max_memory, str) else max_memory)
    known: Mapping[str, type[OnlineEstimator]] = CLASSIFIERS
    if learner.kernel is not None:
        known = KERNEL_CLASSIFIERS
    elif learner.rule.task == "regression":
        known = REGRESSORS
    if learner.rule.name not in known:
        raise ModelError(f"{os.fspath(path)}: there is no estimator for a kernel model of {learner.rule.name}")
    estimator = known[learner.rule.name]()
    parameters = estimator.get_params()
    for options in (learner.rule, learner.kernel, learner.training):
        found = {item.name: getattr(options, item.name) for item in (fields(options) if options else ())}
        estimator.set_params(**{name: value for name, value in found.items() if name in parameters})
    return estimator._adopt(learner)


def merge(models: Sequence[Linear], how: str = "posterior", base: Linear | None = None) -> Linear:
    """One model of several that have learned from different rows, combined through their confidences.

    Parameters
    ----------
    models : fitted linear estimators of this package
        Of the same rule, parameters and labels.  They may have seen different numbers of features, which are aligned by
        column.  They stay as they are.
    how : "posterior", "kl" or "l2"
        "posterior" adds up what each has learned beyond the common prior, in any order and grouping; "kl" is the
        paper's, which counts the prior once for each model, and so is surer; "l2" averages means and covariances.
    base : a fitted estimator, optional
        What all of them went on from, if they were not new: it counts once, not once for each.

    Returns
    -------
    model : an estimator of the same class
        It predicts, is saved, goes on learning, and can be merged again.

    References: Crammer, Dredze, Pereira, JMLR 13, 2012, section 7.10.

    Examples
    --------
    >>> import numpy as np
    >>> from cwlearn import AROWClassifier, merge
    >>> X, y = np.eye(4), [0, 1, 0, 1]
    >>> halves = [AROWClassifier().fit(X[part], [0, 1]) for part in (slice(0, 2), slice(2, 4))]
    >>> merge(halves).predict(X).tolist()
    [0, 1, 0, 1]
    """
    named = [(f"model {number}", model) for number, model in enumerate(models)]
    known = _learner_of("base", base) if base is not None else None
    learner = merging.merge(((name, _learner_of(name, model)) for name, model in named), how, known)
    merged: Linear = clone(named[0][1])
    return merged._adopt(learner)


def _learner_of(name: str, model: Linear) -> Learner:
    if not isinstance(model, Linear):
        raise TypeError(f"{name}: expected a linear estimator of cwlearn, got {model!r}")
    if not model.__sklearn_is_fitted__():
        raise NotFittedError(f"{name}: this {type(model).__name__} is not fitted yet")
    return model._fitted


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
    go_on = training.warm_start and estimator.__sklearn_is_fitted__()
    if labels is not None:
        if rule.task == "regression":
            raise ValueError(f"a regression has no labels, got {labels!r}")
        if len(set(labels)) < max(2, len(labels)) or not all(is_number(label) for label in labels):
            raise ValueError(f"labels must be two or more different numbers, got {labels!r}")
        known = estimator._learner.classes.tolist() if go_on else sorted(labels)
        if sorted(labels) != known:
            raise ValueError(f"labels={labels!r} are not those that learning began with: {known}")
    run = Run(
        path_list(paths),
        rule,
        training,
        Reading(**reading),
        Resources(n_features, hash_bits, read_size(memory) if isinstance(memory, str) else memory, threads),
        labels_for(rule, None if labels is None else {label_value(label): label_text(label) for label in labels}),
        estimator._learner if go_on else None,
        TerminalMonitor(quiet=not training.verbose),
        check_random_state(estimator.random_state),
    )
    unsolved = estimator._learner.statistics["unsolved"] if go_on else 0
    estimator._adopt(run.train())
    tell_unsolved(estimator._learner.statistics["unsolved"] - unsolved)
    return estimator
