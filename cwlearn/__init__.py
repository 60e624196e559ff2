"""Confidence-weighted online learning of linear classifiers from sparse data.

Importing the package loads nothing but itself; each public name brings what it needs when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from cwlearn._version import __version__

if TYPE_CHECKING:
    from cwlearn.errors import DataError, ModelError
    from cwlearn.estimators.algorithms import (
        AROWClassifier,
        AROWRegressor,
        CWClassifier,
        KernelAROWClassifier,
        KernelCWClassifier,
        LogisticClassifier,
        NHERDClassifier,
        PassiveAggressiveClassifier,
        PerceptronClassifier,
        SCWClassifier,
        SOPClassifier,
        load,
        merge,
        train_svmlight,
    )
    from cwlearn.text.matrices import iter_svmlight, read_svmlight

__all__ = [
    "AROWClassifier",
    "AROWRegressor",
    "CWClassifier",
    "DataError",
    "KernelAROWClassifier",
    "KernelCWClassifier",
    "LogisticClassifier",
    "ModelError",
    "NHERDClassifier",
    "PassiveAggressiveClassifier",
    "PerceptronClassifier",
    "SCWClassifier",
    "SOPClassifier",
    "__version__",
    "iter_svmlight",
    "load",
    "merge",
    "read_svmlight",
    "train_svmlight",
]

_MODULES = ("bounds", "displays", "distributed", "evaluation")  # that are public as such
_HOMES = {
    "DataError": "errors",
    "ModelError": "errors",
    "iter_svmlight": "text.matrices",
    "read_svmlight": "text.matrices",
}  # all other names live in `estimators`


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"cwlearn.{name}")
    if name not in __all__:
        raise AttributeError(f"module 'cwlearn' has no attribute {name!r}")
    value = getattr(import_module(f"cwlearn.{_HOMES.get(name, 'estimators.algorithms')}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted((*__all__, *_MODULES))
