"""The package as a whole: what an import loads, and that documents, checks and code agree."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

import cwlearn
from cwlearn.estimators import CLASSIFIERS, KERNEL_CLASSIFIERS
from cwlearn.learner import Training
from cwlearn.rules import RULES

HEAVY = ["scipy", "sklearn", "dask", "matplotlib", "pandas", "tqdm"]


def loaded_after(code):
    script = f"import sys\n{code}\nprint(*sorted(sys.modules))"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return {name.split(".")[0] for name in result.stdout.split()}


def test_importing_the_package_loads_nothing_heavy():
    assert not loaded_after("import cwlearn") & {*HEAVY, "numpy"}


def test_training_and_saving_below_the_estimators_needs_numpy_only(tmp_path):
    code = f"""
import numpy as np
from cwlearn import model_file, rules
from cwlearn.learner import Learner, Training
from cwlearn.rows import as_rows
learner = Learner(rules.AROW(), Training(), np.array([0, 1]), 3)
learner.train(as_rows(np.eye(3), np.dtype("float32")), np.array([1.0, -1, 1]), np.empty(0), np.random.RandomState(0))
model_file.save(learner, {str(tmp_path / "m.npz")!r})
model_file.load({str(tmp_path / "m.npz")!r})
"""
    assert not loaded_after(code) & set(HEAVY)


def test_every_public_name_is_there():
    for name in cwlearn.__all__:
        assert getattr(cwlearn, name) is not None
    assert set(cwlearn.__all__) <= set(dir(cwlearn))
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        cwlearn.nonsense  # noqa: B018
    classes = {name for name in cwlearn.__all__ if name.endswith("Classifier")}
    known = (*CLASSIFIERS.values(), *KERNEL_CLASSIFIERS.values())
    assert classes == {classifier.__name__ for classifier in known}
    assert {name for name in cwlearn.__all__ if name.endswith("Regressor")} == {"AROWRegressor"}
    assert set(RULES) == set(CLASSIFIERS)


@pytest.mark.parametrize("classifier", CLASSIFIERS.values(), ids=lambda classifier: classifier.__name__)
def test_every_parameter_has_a_check_a_text_and_a_place_in_the_signature(classifier):
    signature = inspect.signature(classifier)
    options = [*fields(classifier._rule), *fields(Training)]
    assert set(signature.parameters) == {option.name for option in options}
    for option in options:
        default = signature.parameters[option.name].default
        assert default == (classifier._rule.default_epochs if option.name == "epochs" else option.default)
        assert option.metadata["check"].accepts(default)
        assert len(option.metadata["help"]) > 20
        assert f"{option.name} : {option.metadata['check'].words}, default={default!r}" in classifier.__doc__
    for section in ("Parameters\n---", "Attributes\n---", "Examples\n---", "References: "):
        assert classifier.__doc__.count(section) == 1


BAD_PARAMETERS = [
    *[("CWClassifier", "confidence", value) for value in (0, 0.49, 1, 1.5, float("nan"), "high", None, True)],  # H01
    *[("SCWClassifier", "confidence", value) for value in (0.4, 1.0)],
    *[
        ("AROWClassifier", "regularization", value) for value in (0, -1, float("nan"), float("inf"), "large", True)
    ],  # H02
    *[("PassiveAggressiveClassifier", "C", value) for value in (0, -1, float("inf"), "none")],
    ("NHERDClassifier", "C", None),
    ("SOPClassifier", "a", 0),
    ("LogisticClassifier", "learning_rate", -0.1),
    *[("CWClassifier", "initial_variance", value) for value in (0, -1, float("nan"), float("inf"), 1e39, 1e-39)],  # H03
    *[("CWClassifier", "epochs", value) for value in (0, -1, 1.5, True, "3", None)],  # H04
    ("CWClassifier", "random_state", -1),  # H06
    ("CWClassifier", "random_state", "seed"),
    ("CWClassifier", "form", "sd"),
    ("CWClassifier", "projection", None),
    ("AROWClassifier", "projection", "exact"),
    ("SCWClassifier", "loss", "log"),
    ("CWClassifier", "dtype", np.float32),
    ("SOPClassifier", "a", 10**400),
    ("CWClassifier", "shuffle", 1),
    ("CWClassifier", "verbose", -1),
    ("AROWClassifier", "class_weight", "even"),
    ("AROWClassifier", "class_weight", {0: -1.0}),
    ("AROWClassifier", "class_weight", {0: float("nan")}),
]


@pytest.mark.parametrize(("name", "parameter", "value"), BAD_PARAMETERS)
def test_a_bad_parameter_is_named_with_its_value_when_fit_is_called(name, parameter, value):
    model = getattr(cwlearn, name)(**{parameter: value})
    with pytest.raises(ValueError) as caught:
        model.fit(np.eye(3), [0, 1, 0])
    message = str(caught.value)
    if parameter != "random_state":  # scikit-learn's own words
        assert parameter in message
        assert repr(value) in message


def test_numpy_scalars_are_numbers_too(tmp_path):
    model = cwlearn.SOPClassifier(np.float32(3), initial_variance=np.float32(0.1)).fit(np.eye(3), [0, 1, 0])
    model.save(tmp_path / "m.npz")
    assert (cwlearn.load(tmp_path / "m.npz").coef_ == model.coef_).all()
    cwlearn.CWClassifier(np.float32(0.75), epochs=np.int32(2), shuffle=np.bool(True)).fit(np.eye(3), [0, 1, 0])


def test_h16_an_unknown_parameter_is_named():
    with pytest.raises(TypeError, match=r"CWClassifier: .*'eta'; its parameters are confidence, form, projection"):
        cwlearn.CWClassifier(eta=0.9)
    with pytest.raises(TypeError):
        cwlearn.CWClassifier(0.9, "stdev", "kl", 1.0)


def test_the_tests_that_the_readme_names_exist():
    root = Path(__file__).parents[1]
    text = (root / "README.md").read_text()
    named = re.findall(r"`(?:(tests/\w+\.py))?(?:::(test_\w+))?`", text)
    assert sum(bool(test) for _, test in named) > 10
    source = ""
    for file, test in named:
        source = (root / file).read_text() if file else source  # `::test_...` alone goes with the file named before
        assert not test or f"def {test}(" in source


def test_versions_agree():
    root = Path(__file__).parents[1]
    assert f"version: {cwlearn.__version__}" in (root / "CITATION.cff").read_text()
