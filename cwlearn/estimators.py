"""The scikit-learn classifiers: each is a rule with a name and a word on when to choose it."""

from __future__ import annotations

import os
from dataclasses import fields

from cwlearn import model_file, rules
from cwlearn.linear_classifier import LinearClassifier, Probabilistic, Weighted


class CWClassifier(Probabilistic):
    """Confidence-weighted classifier.

    The first choice for many sparse features and clean labels: rare features learn fast, and most is learned in the
    first pass.  Where labels are noisy, prefer `AROWClassifier`: here every row must be classified correctly, so the
    error jumps from pass to pass.  A hard constraint has no loss for sample weights to scale, so there are none.

    References: Crammer, Dredze, Pereira, "Confidence-Weighted Linear Classification for Text Categorization",
    JMLR 13, 2012; "Exact Convex Confidence-Weighted Learning", NIPS 2008.
    """

    _rule = rules.CW


class AROWClassifier(Weighted, Probabilistic):
    """Adaptive regularisation of weights.

    The safe choice: nearly as fast to learn as CW, and robust to noisy labels, because no single row has to be
    classified correctly at any price.

    References: Crammer, Kulesza, Dredze, "Adaptive Regularization of Weight Vectors", NIPS 2009.
    """

    _rule = rules.AROW


class SCWClassifier(Weighted, Probabilistic):
    """Soft confidence-weighted classifier: CW with a slack.

    CW's speed on clean data, and a bound on what one row can do.

    References: Wang, Zhao, Hoi, "Exact Soft Confidence-Weighted Learning", ICML 2012.
    """

    _rule = rules.SCW


class NHERDClassifier(Probabilistic):
    """Gaussian herding.

    A close relative of AROW whose variances fall faster.

    References: Crammer, Lee, "Learning via Gaussian Herding", NIPS 2010.
    """

    _rule = rules.NHERD


class SOPClassifier(Probabilistic):
    """Second-order perceptron with a diagonal correlation matrix, the papers' baseline.

    It scores a row with that row's own squares already counted into the correlation matrix, so `decision_function` is
    not exactly linear in `coef_`.

    References: Cesa-Bianchi, Conconi, Gentile, "A Second-Order Perceptron Algorithm", SIAM J. Comput. 34, 2005.
    """

    _rule = rules.SOP


class PassiveAggressiveClassifier(Weighted):
    """Passive-aggressive classifier, a first-order rival.

    References: Crammer et al., "Online Passive-Aggressive Algorithms", JMLR 7, 2006.
    """

    _rule = rules.PassiveAggressive


class PerceptronClassifier(LinearClassifier):
    """Perceptron, plain or averaged, a first-order rival.

    References: Rosenblatt, 1958; Freund, Schapire, "Large Margin Classification Using the Perceptron Algorithm", 1999.
    """

    _rule = rules.Perceptron


class LogisticClassifier(Weighted, Probabilistic):
    """Online logistic regression: a Gaussian posterior carried from row to row, or plain SGD.

    Choose it where the probabilities matter: its `predict_proba` estimates the chance of the label itself, the other
    classes' that of the sign of the margin.

    References: Spiegelhalter, Lauritzen, "Sequential Updating of Conditional Probabilities on Directed Graphical
    Structures", 1990; MacKay, "The Evidence Framework Applied to Classification Networks", 1992.
    """

    _rule = rules.Logistic


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


def load(path: str | os.PathLike[str]) -> LinearClassifier:
    """The estimator saved in a model file, fitted and with its parameters."""
    learner = model_file.load(path)
    estimator = CLASSIFIERS[learner.rule.name]()
    for options in (learner.rule, learner.training):
        estimator.set_params(**{item.name: getattr(options, item.name) for item in fields(options)})
    estimator.n_features_in_ = learner.state.n_features
    if learner.feature_names is not None:
        estimator.feature_names_in_ = learner.feature_names
    estimator._learner = learner
    return estimator
