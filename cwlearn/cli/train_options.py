"""The options of `cwlearn train`: those that the flags ask for, and those of the model that is resumed."""

from __future__ import annotations

import argparse
from typing import Any

from cwlearn.cli.flags import flag, given, names_of, written
from cwlearn.core.class_labels import check_labels, listed_labels
from cwlearn.core.label_sets import check_multilabel
from cwlearn.core.learner import Learner
from cwlearn.core.parameters import LabelError, label_value
from cwlearn.core.rule import Rule
from cwlearn.core.rules import RULES, TASKS
from cwlearn.core.text_options import WHERE, TextOptions
from cwlearn.core.training import BUILT_WITH, Training, check_class_weight, check_update
from cwlearn.errors import ModelError, UsageError, listed, shown
from cwlearn.text.resources import Resources
from cwlearn.text.svmlight_errors import DECIMAL

DEFAULT_RULE = "arow"
DOCUMENTS_RULE = "scw"
DOCUMENTS_EPOCHS = 5  # of that rule; see bench/text_quality
AUTO = "auto"  # the algorithm that is a race of algorithms
FOR_LABELS = ("n_constraints", "multiclass_update", "threshold", "labels")  # options that mean nothing for a regression
MAY_CHANGE = ("epochs", "shuffle")  # options that a resumed run may have other values of


def read_labels(text: str) -> dict[float | str, str]:
    """Labels with commas between them, as --labels has them: all numbers, with their texts by value, or all texts."""
    texts = [part.strip() for part in text.split(",")]
    values: list[Any] = texts
    try:
        if all(DECIMAL.fullmatch(part.encode("utf-8", "surrogateescape")) for part in texts):
            values = [label_value(part) for part in texts]
        elif not all(texts):
            raise argparse.ArgumentTypeError(f"must be labels with commas between them, got {text!r}")
        check_labels(listed_labels(values, "classification"))
    except LabelError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be two or more different labels, got {text!r}") from None
    return dict(zip(values, texts, strict=True))


def wants_race(arguments: argparse.Namespace, resumed: Learner | None) -> bool:
    """Whether the data are to choose the algorithm: no flag does, and no model is continued.

    Several labels a row race only if they are asked to: they take as much longer as there are labels.
    """
    if resumed is not None or arguments.algorithm not in (None, AUTO):
        return False
    if arguments.multilabel and arguments.algorithm is None:
        return False
    own = {name for rule in RULES.values() for name in names_of(rule)} - {"class_weight"}
    return not any(hasattr(arguments, name) for name in (*own, "initial_variance", "multiclass_update"))


def choose_options(arguments: argparse.Namespace, resumed: Learner | None, of_documents: bool) -> tuple[Rule, Training]:
    """The rule and the training that the flags ask for; what they leave open is as in the resumed model, or usual.

    If the data are to choose, these are the usual ones, with any number of epochs.
    """
    if is_multilabel(arguments, resumed):
        of_documents = False  # whose usual options are for one label a row
    task, rule_class = _choose_rule(arguments, resumed, of_documents)
    _check_parameters(arguments, task, rule_class)
    rule_options = given(arguments, rule_class)
    training_options = given(arguments, Training)
    training_options.pop("verbose", None)  # --verbose is another thing here
    if resumed is not None:
        _check_resumed(arguments, resumed, task, rule_class, rule_options, training_options)
        rule_options = {**{name: getattr(resumed.rule, name) for name in names_of(resumed.rule)}, **rule_options}
        training_options = {**{name: getattr(resumed.training, name) for name in BUILT_WITH}, **training_options}
    if of_documents and arguments.algorithm in (None, AUTO) and resumed is None:
        training_options = {"fit_intercept": False} | training_options  # beside rows of the length 1 it is long
    if wants_race(arguments, resumed):
        training_options.setdefault("epochs", AUTO)
    elif of_documents and rule_class.name == DOCUMENTS_RULE and resumed is None:
        training_options.setdefault("epochs", DOCUMENTS_EPOCHS)
    if resumed is not None and resumed.unfinished is not None:  # a race may have chosen them
        training_options = {
            name: resumed.unfinished[name] for name in MAY_CHANGE if name in resumed.unfinished
        } | training_options
    epochs = training_options.setdefault("epochs", rule_class.default_epochs)
    training_options.setdefault("shuffle", epochs != 1)
    rule, training = rule_class(**rule_options), Training(random_state=arguments.seed, **training_options)
    check_update(rule, training)
    check_class_weight(rule)
    if is_multilabel(arguments, resumed):
        check_multilabel(rule, None)
    return rule, training


def is_multilabel(arguments: argparse.Namespace, resumed: Learner | None) -> bool:
    """Whether a row may have several labels."""
    return bool(arguments.multilabel) or (resumed is not None and resumed.multilabel)


def _choose_rule(arguments: argparse.Namespace, resumed: Learner | None, of_documents: bool) -> tuple[str, type[Rule]]:
    """The task and the rule."""
    task = arguments.task or (resumed.rule.task if resumed else "classification")
    rules = TASKS[task]
    race = wants_race(arguments, resumed)  # of which AutoClassifier has the same usual rule for all rows
    usual = DOCUMENTS_RULE if of_documents and DOCUMENTS_RULE in rules and not race else DEFAULT_RULE
    usual = resumed.rule.name if resumed and resumed.rule.name in rules else usual
    name = usual if arguments.algorithm in (None, AUTO) else arguments.algorithm
    if name not in rules:
        raise UsageError(f"--task {task} is there for the algorithm {listed([*rules])}, not for {name}")
    return task, rules[name]


def _check_parameters(arguments: argparse.Namespace, task: str, rule_class: type[Rule]) -> None:
    """Refuse parameters that the rule does not have."""
    if task == "regression":
        for name in FOR_LABELS:
            if getattr(arguments, name, None) is not None:
                raise UsageError(f"{flag(name)} is not for --task regression, which has no labels")
    own_names = names_of(rule_class)
    for other in RULES.values():
        for name in names_of(other):
            if hasattr(arguments, name) and name not in own_names:
                algorithm = rule_class.name if task == "classification" else f"{rule_class.name} for {task}"
                parameters = ", ".join(map(flag, own_names)) or "none"
                raise UsageError(f"{flag(name)} is not a parameter of {algorithm}, whose parameters are: {parameters}")


def _check_resumed(
    arguments: argparse.Namespace,
    resumed: Learner,
    task: str,
    rule_class: type[Rule],
    rule_options: dict[str, Any],
    training_options: dict[str, Any],
) -> None:
    """Refuse options that differ from those of the resumed model, unless they can change and --force is given."""
    if resumed.kernel is not None:
        raise ModelError(f"{shown(arguments.resume)}: a model with a kernel can be resumed only in Python")
    fixed = _fixed_differences(arguments, resumed, task, rule_class, rule_options)
    differences = [
        f"{flag(name)} {written(getattr(options, name), name)}, not {written(value, name)}"
        for options, values in ((resumed.rule, rule_options), (resumed.training, training_options))
        for name, value in values.items()
        if name != "covariance" and name not in MAY_CHANGE
        if hasattr(options, name) and getattr(options, name) != value
    ]
    if fixed or (differences and not arguments.force):
        hint = "; a resumed model keeps that" if fixed else "; --force continues all the same"
        raise ModelError(f"{shown(arguments.resume)}: was trained with {'; '.join([*fixed, *differences])}{hint}")


def _fixed_differences(
    arguments: argparse.Namespace,
    resumed: Learner,
    task: str,
    rule_class: type[Rule],
    rule_options: dict[str, Any],
) -> list[str]:
    """What differs of the options that the state of a model depends on; not even --force can change them."""
    differences = []
    if rule_class.name != resumed.rule.name:
        differences.append(f"algorithm {resumed.rule.name}, not {rule_class.name}")
    if arguments.multilabel and not resumed.multilabel:
        differences.append("one label a row, not --multilabel")
    if task != resumed.rule.task:
        differences.append(f"--task {resumed.rule.task}, not {task}")
    if arguments.labels is not None and sorted(arguments.labels) != resumed.classes.tolist():
        names = listed([*arguments.labels.values()])
        differences.append(f"--labels {listed(resumed.label_names)}, not {names}")
    covariance = rule_options.get("covariance", resumed.rule.covariance)
    if covariance != resumed.rule.covariance:
        differences.append(f"--covariance {resumed.rule.covariance}, not {covariance}")
    hash_bits = given(arguments, Resources).get("hash_bits")
    if hash_bits is not None and hash_bits != resumed.hash_bits:
        differences.append(f"--hash-bits {resumed.hash_bits or 'none'}, not {hash_bits}")
    for name, value in given(arguments, TextOptions).items():
        if name in WHERE:
            continue
        if resumed.documents is None:
            differences.append(f"rows of numbers, for which there is no {flag(name)}")
        elif getattr(resumed.documents, name) != value:
            differences.append(f"{flag(name)} {written(getattr(resumed.documents, name))}, not {written(value)}")
    return differences
