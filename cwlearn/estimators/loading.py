"""Reading an estimator back from a model file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import fields

from cwlearn.core import model_file
from cwlearn.core.learner import Learner
from cwlearn.core.parameters import read_size
from cwlearn.errors import ModelError
from cwlearn.estimators.adagrad import AdaGradClassifier
from cwlearn.estimators.arow import AROWClassifier
from cwlearn.estimators.base import OnlineEstimator
from cwlearn.estimators.classifier import KernelClassifier, LinearClassifier
from cwlearn.estimators.cw import CWClassifier
from cwlearn.estimators.ftrl import FTRLClassifier
from cwlearn.estimators.kernel_machines import KernelAROWClassifier, KernelCWClassifier
from cwlearn.estimators.logistic import LogisticClassifier
from cwlearn.estimators.multilabel import MultiLabelClassifier
from cwlearn.estimators.nherd import NHERDClassifier
from cwlearn.estimators.passive_aggressive import PassiveAggressiveClassifier
from cwlearn.estimators.perceptron import PerceptronClassifier
from cwlearn.estimators.probit import ProbitClassifier
from cwlearn.estimators.regression import AROWRegressor
from cwlearn.estimators.regressor import LinearRegressor
from cwlearn.estimators.scw import SCWClassifier
from cwlearn.estimators.sop import SOPClassifier
from cwlearn.estimators.text_classifier import TextClassifier

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
        ProbitClassifier,
        FTRLClassifier,
        AdaGradClassifier,
    )
}


KERNEL_CLASSIFIERS: dict[str, type[KernelClassifier]] = {
    classifier._rule.name: classifier for classifier in (KernelCWClassifier, KernelAROWClassifier)
}
REGRESSORS: dict[str, type[LinearRegressor]] = {AROWRegressor._rule.name: AROWRegressor}


def load(path: str | os.PathLike[str], max_memory: int | str | None = None) -> OnlineEstimator | TextClassifier:
    """Load the estimator saved in a model file, fitted and with its parameters.

    Parameters
    ----------
    path : path
        A file that `save` or the command line has written.
    max_memory : int or str, optional
        Bytes, or a text such as "4G".  A model that needs more is refused before it takes any: a small file may ask for
        much memory, since it holds only the weights that were touched.  Default: 1 GiB, or 8 times the size of the file
        if that is more.
    """
    learner = model_file.load(path, read_size(max_memory) if isinstance(max_memory, str) else max_memory)
    try:
        estimator = estimator_of(learner)
    except KeyError:
        raise ModelError(
            f"{os.fspath(path)}: there is no estimator for a kernel model of {learner.rule.name}"
        ) from None
    estimator._adopt(learner)
    of_texts = learner.documents is not None and not learner.documents.named_features
    takes_texts = isinstance(estimator, LinearClassifier | MultiLabelClassifier) and of_texts
    return TextClassifier._of(estimator) if takes_texts else estimator


def estimator_of(learner: Learner) -> OnlineEstimator:
    """The estimator with the options of a learner, not fitted; KeyError if there is none."""
    known: Mapping[str, type[OnlineEstimator]] = CLASSIFIERS
    if learner.kernel is not None:
        known = KERNEL_CLASSIFIERS
    elif learner.rule.task == "regression":
        known = REGRESSORS
    estimator: OnlineEstimator = known[learner.rule.name]()
    parameters = estimator.get_params()
    for options in (learner.rule, learner.kernel, learner.training):
        found = {item.name: getattr(options, item.name) for item in (fields(options) if options else ())}
        estimator.set_params(**{name: value for name, value in found.items() if name in parameters})
    if learner.multilabel:
        assert isinstance(estimator, LinearClassifier), "a learner refuses several labels a row with a kernel"
        return MultiLabelClassifier(estimator)
    return estimator
