"""Fast online linear classification for sparse data, with a confidence for every weight.

Importing the package loads nothing but itself.  Each public name loads what it needs when it is first used.
"""

from importlib import import_module
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING, Any

from cwlearn._version import __version__

if TYPE_CHECKING:  # for type checkers and editors; a test compares it with _HOMES
    from cwlearn.errors import DataError, ModelError
    from cwlearn.estimators.adagrad import AdaGradClassifier
    from cwlearn.estimators.arow import AROWClassifier
    from cwlearn.estimators.auto import AutoClassifier
    from cwlearn.estimators.cw import CWClassifier
    from cwlearn.estimators.ftrl import FTRLClassifier
    from cwlearn.estimators.kernel_machines import KernelAROWClassifier, KernelCWClassifier
    from cwlearn.estimators.loading import load
    from cwlearn.estimators.logistic import LogisticClassifier
    from cwlearn.estimators.merging import merge
    from cwlearn.estimators.multilabel import MultiLabelClassifier
    from cwlearn.estimators.nherd import NHERDClassifier
    from cwlearn.estimators.passive_aggressive import PassiveAggressiveClassifier
    from cwlearn.estimators.perceptron import PerceptronClassifier
    from cwlearn.estimators.predictor import Predictor, load_predictor
    from cwlearn.estimators.probit import ProbitClassifier
    from cwlearn.estimators.regression import AROWRegressor
    from cwlearn.estimators.scw import SCWClassifier
    from cwlearn.estimators.sop import SOPClassifier
    from cwlearn.estimators.text_classifier import TextClassifier
    from cwlearn.estimators.training import train
    from cwlearn.estimators.vectorizer import HashingVectorizer
    from cwlearn.text.matrices import iter_svmlight, read_svmlight

__all__ = [
    "AROWClassifier",
    "AROWRegressor",
    "AdaGradClassifier",
    "AutoClassifier",
    "CWClassifier",
    "DataError",
    "FTRLClassifier",
    "HashingVectorizer",
    "KernelAROWClassifier",
    "KernelCWClassifier",
    "LogisticClassifier",
    "ModelError",
    "MultiLabelClassifier",
    "NHERDClassifier",
    "PassiveAggressiveClassifier",
    "PerceptronClassifier",
    "Predictor",
    "ProbitClassifier",
    "SCWClassifier",
    "SOPClassifier",
    "TextClassifier",
    "__version__",
    "iter_svmlight",
    "load",
    "load_predictor",
    "merge",
    "read_svmlight",
    "train",
]

if PathFinder.find_spec("cwlearn._kernels", __path__) is None:  # a source tree, not compiled in place
    raise ImportError(
        f"cwlearn is not compiled in {__path__[0]}: in the folder above, run `python setup.py build_ext --inplace` or "
        f"`pip install -e .`"
    )

_MODULES = ("bounds", "displays", "distributed", "evaluation")  # that are public as such
_HOMES = {
    "AROWClassifier": "estimators.arow",
    "AROWRegressor": "estimators.regression",
    "AdaGradClassifier": "estimators.adagrad",
    "AutoClassifier": "estimators.auto",
    "CWClassifier": "estimators.cw",
    "DataError": "errors",
    "FTRLClassifier": "estimators.ftrl",
    "HashingVectorizer": "estimators.vectorizer",
    "KernelAROWClassifier": "estimators.kernel_machines",
    "KernelCWClassifier": "estimators.kernel_machines",
    "LogisticClassifier": "estimators.logistic",
    "ModelError": "errors",
    "MultiLabelClassifier": "estimators.multilabel",
    "NHERDClassifier": "estimators.nherd",
    "PassiveAggressiveClassifier": "estimators.passive_aggressive",
    "PerceptronClassifier": "estimators.perceptron",
    "Predictor": "estimators.predictor",
    "ProbitClassifier": "estimators.probit",
    "SCWClassifier": "estimators.scw",
    "SOPClassifier": "estimators.sop",
    "TextClassifier": "estimators.text_classifier",
    "iter_svmlight": "text.matrices",
    "load": "estimators.loading",
    "load_predictor": "estimators.predictor",
    "merge": "estimators.merging",
    "read_svmlight": "text.matrices",
    "train": "estimators.training",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"cwlearn.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'cwlearn' has no attribute {name!r}")
    value = getattr(import_module(f"cwlearn.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted((*__all__, *_MODULES))
