"""The constructors are written out; here they are compared with the options, which have the checks and the flags."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, fields

import pytest

from cwlearn.core.parameters import TIMES, option
from cwlearn.core.rules import AROW
from cwlearn.core.training import Training
from cwlearn.estimators.auto import AutoClassifier
from cwlearn.estimators.loading import CLASSIFIERS, KERNEL_CLASSIFIERS, REGRESSORS

ESTIMATORS = [*CLASSIFIERS.values(), *KERNEL_CLASSIFIERS.values(), *REGRESSORS.values()]
LEFT_OUT = {  # options that a kind of estimator does not offer
    **dict.fromkeys(
        KERNEL_CLASSIFIERS.values(), ("projection", "covariance", "average", "forgetting", "prior", "dtype")
    ),
    **dict.fromkeys(REGRESSORS.values(), ("n_constraints", "multiclass_update", "threshold")),
}
each_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: estimator.__name__)


def options_of(estimator):
    """The options in the order of the constructor: those of the rule and of the kernel first, by keyword only last."""
    owners = [estimator._rule, *([estimator._kernel] if estimator._kernel else []), Training]
    options = [(item, item.kw_only or owner is Training) for owner in owners for item in fields(owner)]
    offered = [pair for pair in options if pair[0].name not in LEFT_OUT.get(estimator, ())]
    return sorted(offered, key=lambda pair: pair[1])


def type_words(annotation):
    """An annotation as numpydoc writes it."""
    words = re.sub(r"Literal\[([^\]]*)\]", lambda found: f"{{{found[1]}}}" if "," in found[1] else found[1], annotation)
    words = re.sub(r"Mapping\[[^\]]*\]", "dict", words).replace("Callable[[Any, Any], Any]", "callable")
    *first, last = words.replace("np.random.", "").split(" | ")
    return f"{', '.join(first)} or {last}" if first else last


@each_estimator
def test_the_signature_is_that_of_the_options(estimator):
    parameters = inspect.signature(estimator).parameters.values()
    options = options_of(estimator)
    assert [parameter.name for parameter in parameters] == [item.name for item, _ in options]
    for parameter, (item, keyword_only) in zip(parameters, options, strict=True):
        assert (parameter.kind is parameter.KEYWORD_ONLY) == keyword_only
        linear = estimator._kernel is None  # a rule with a kernel makes the usual ten epochs
        of_rule = item.name == "epochs" and linear
        assert parameter.default == (estimator._rule.default_epochs if of_rule else item.default)
        assert item.metadata["check"].accepts(parameter.default)
        assert parameter.annotation.replace('"', "'") == item.type


@each_estimator
def test_the_docstring_describes_the_parameters_in_their_order(estimator):
    text = inspect.cleandoc(estimator.__doc__)
    sections = re.split(r"\n\n(\w+)\n-+\n", text)
    assert sections[1::2] == ["Parameters", "Attributes", "References", "Examples"]
    described = re.split(r"^(\w+) : (.*), default=(.*)\n", sections[2] + "\n", flags=re.MULTILINE)[1:]
    parameters = inspect.signature(estimator).parameters
    assert described[::4] == list(parameters)
    for (item, _), types, default, words in zip(
        options_of(estimator), described[1::4], described[2::4], described[3::4], strict=True
    ):
        assert types == type_words(item.type.replace("'", '"'))
        assert default == repr(parameters[item.name].default).replace("'", '"')
        assert " ".join(words.split()) == item.metadata["help"]


@each_estimator
def test_everybody_shows_the_same_parameters_in_the_same_order(estimator):
    names = list(inspect.signature(estimator).parameters)
    model = estimator()
    assert list(model.get_params()) == names
    assert re.findall(r'class="param">(\w+)', model._repr_html_()) == names
    assert repr(model) == f"{estimator.__name__}()"
    changed = estimator(epochs=3, verbose=1, initial_variance=0.5)
    assert repr(changed) == f"{estimator.__name__}(initial_variance=0.5, epochs=3, verbose=1)"


@dataclass
class OfTheRace:
    """What no rule has."""

    budget: float = option(3.0, TIMES, "")


def test_the_parameters_of_the_race_are_checked_as_those_of_the_rules():
    """AutoClassifier has no rule of its own: it offers some of the options that all of its candidates have."""
    known = {item.name: item for owner in (AROW, Training, OfTheRace) for item in fields(owner)}
    parameters = inspect.signature(AutoClassifier).parameters
    described = re.findall(r"^    (\w+) : (.*), default=(.*)$", AutoClassifier.__doc__, flags=re.MULTILINE)
    assert [name for name, _, _ in described] == list(parameters) == list(AutoClassifier().get_params())
    for name, types, default in described:
        assert parameters[name].kind is inspect.Parameter.KEYWORD_ONLY
        assert parameters[name].annotation.replace('"', "'") == known[name].type
        assert known[name].metadata["check"].accepts(parameters[name].default)
        assert types == type_words(known[name].type.replace("'", '"'))
        assert default == repr(parameters[name].default).replace("'", '"')
    assert repr(AutoClassifier(epochs=3)) == "AutoClassifier(epochs=3)"
    X, y = [[0.0], [1.0]], [0, 1]
    for wrong in (
        {"budget": 0.5},
        {"budget": "3x"},
        {"epochs": 0},
        {"epochs": "all"},
        {"shuffle": "yes"},
        {"dtype": "int8"},
        {"class_weight": "equal"},
    ):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            AutoClassifier(**wrong).fit(X, y)
