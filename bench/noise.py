"""Which rule to begin with, its parameter and its epochs, where labels may be wrong.

    python -m bench noise [--sets NAME,...] [--markdown FILE] [--json FILE]

Each rule learns with its defaults, with parameters beside the default, averaged and not, in 1, 2, 3, 5 and 10 epochs,
as `fit` does.  Two thirds of the rows train, of which 0, 5 or 10 % have wrong labels; the others test, and their labels
are right.  Errors are in percent, means over the data sets: words and generated rows as counts and as rows of unit
length, the others as rows of unit length.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix
from tqdm import tqdm

from bench.choosing import NOT_WORDS, noisy
from bench.datasets import load, scaled, zipf
from bench.report import Report, Row, suite_parser
from cwlearn import AROWClassifier, AutoClassifier
from cwlearn.core import rules
from cwlearn.core.gradient_rules import FTRL, AdaGrad
from cwlearn.core.learner import NONE, Learner
from cwlearn.core.rows import as_rows
from cwlearn.core.training import Training

NOISES = (0.0, 0.05, 0.1)
EPOCHS = (1, 2, 3, 5, 10)
SETS = (
    "amazon-dvd", "amazon-kitchen", "20news-comp", "20news-sci", "spam-u01", "spamassassin", "reuters-acq-earn",
    "reuters-money-fx-interest", "a9a", "w8a", "mnist-3v5", "usps-3v5", "zipf",
)  # fmt: skip


class Parameter(NamedTuple):
    """A parameter of a rule and its values, the default first.  If `relative`, they are multiples of 'auto'."""

    rule: type[rules.Rule]
    name: str
    values: tuple[float, ...]
    relative: bool = False
    others: dict[str, Any] = {}  # noqa: RUF012  never changed

    def text(self, value: float) -> str:
        others = "".join(f", {name}={other}" for name, other in self.others.items())
        relative = "" if not self.relative else "'auto'" if value == 1 else f"{value:g} x 'auto'"
        return f"{self.name}={relative or f'{value:g}'}{others}" if self.name else "-"


PARAMETERS = (
    Parameter(rules.AROW, "regularization", (1, 0.1, 10, 100), relative=True),
    Parameter(rules.NHERD, "C", (1, 0.1, 10), relative=True),
    Parameter(rules.SCW, "C", (1, 0.1, 10), relative=True),
    Parameter(rules.CW, "confidence", (0.9, 0.6, 0.75, 0.99)),
    Parameter(rules.Logistic, "initial_variance", (1, 0.1, 10)),
    Parameter(rules.Probit, "beta", (1, 0.3, 3, 10)),
    Parameter(rules.PassiveAggressive, "C", (1, 0.1, 10), relative=True),
    Parameter(rules.Perceptron, "", (0,)),
    Parameter(FTRL, "alpha", (0.1, 0.03, 0.3, 1)),
    Parameter(AdaGrad, "learning_rate", (0.1, 0.03, 0.3, 1)),
    Parameter(AdaGrad, "learning_rate", (0.1, 0.3, 1), others={"loss": "hinge"}),
)


class Setting(NamedTuple):
    rule: str
    parameter: str
    average: bool


Key = tuple[Setting, int]  # with the number of epochs
Errors = dict[str, dict[float, dict[Key, float]]]  # by data set and noise


class Task(NamedTuple):
    """Rows of which the first two thirds train, with labels 0 and 1."""

    X: csr_matrix
    y: np.ndarray

    @property
    def n_train(self) -> int:
        return len(self.y) * 2 // 3


def settings(unit: float) -> Iterator[tuple[Setting, rules.Rule, float]]:
    """All settings: name, rule and initial variance.  `unit` is what 'auto' stands for."""
    for parameter in PARAMETERS:
        for value in parameter.values:
            options, variance = dict(parameter.others), 1.0
            if parameter.name == "initial_variance":
                variance = value
            elif parameter.relative and value != 1:
                options[parameter.name] = value * unit if parameter.name == "regularization" else value / unit
            elif parameter.name and not parameter.relative:
                options[parameter.name] = value
            can_average = any(item.name == "average" for item in fields(parameter.rule))
            for average in (False, True) if can_average else (False,):
                own = options | ({"average": True} if average else {})
                yield Setting(parameter.rule.name, parameter.text(value), average), parameter.rule(**own), variance


def default_of(name: str) -> Key:
    """The setting that a class has untouched, and its epochs."""
    parameter = next(parameter for parameter in PARAMETERS if parameter.rule.name == name)
    return Setting(name, parameter.text(parameter.values[0]), False), parameter.rule.default_epochs


def measure(task: Task, noise: float) -> dict[Key, float]:
    """The error of each setting after each number of epochs, and of the classes that choose by themselves."""
    rows, n_train = as_rows(task.X, np.dtype("float32")), task.n_train
    train, test = rows.part(0, n_train), rows.part(n_train, rows.n_rows)
    y, y_test = noisy(task.y[:n_train], noise), task.y[n_train:]
    targets = np.where(y == 1, 1.0, -1.0)
    result = {}
    for setting, rule, variance in settings(float(train.squares.mean()) + 1):
        for epochs in sorted({*EPOCHS, rule.default_epochs}):
            training = Training(epochs=epochs, initial_variance=variance)
            learner = Learner(rule, training, np.array([0, 1]), task.X.shape[1])
            learner.train(train, targets, NONE, np.random.RandomState(0))
            result[setting, epochs] = float(100 * np.mean(learner.predictions(test) != y_test))
    for name, model in (
        ("`AutoClassifier`", AutoClassifier(random_state=0)),
        ('arow, epochs="auto"', AROWClassifier(epochs="auto", random_state=0)),
    ):
        predicted = model.fit(task.X[:n_train], y).predict(task.X[n_train:])
        result[Setting(name, "-", False), 0] = float(100 * np.mean(predicted != y_test))
    return result


def tasks(names: Sequence[str]) -> Iterator[tuple[str, Task]]:
    for name in names:
        if name == "zipf":
            X, y = zipf(100_000, 30, 50_000, noise=0.0)
        else:
            data = load(name)
            X, y = data.X, data.y
        for how in ("unit",) if name.startswith(NOT_WORDS) else ("counts", "unit"):
            yield f"{name}, {how}", Task(scaled(X, how), y)


def means(errors: Errors, key: Key) -> list[float]:
    """The mean error over the data sets, by noise."""
    return [float(np.mean([of_noise[noise][key] for of_noise in errors.values()])) for noise in NOISES]


def best_of(errors: Errors, keys: Sequence[Key]) -> Key:
    """The one with the lowest mean over data sets and noises."""
    return min(keys, key=lambda key: np.mean(means(errors, key)))


def keys_of(errors: Errors) -> dict[str, list[Key]]:
    """Settings and epochs by rule; those of the classes that choose have 0 epochs."""
    result: dict[str, list[Key]] = {}
    for key in next(iter(errors.values()))[NOISES[0]]:
        result.setdefault(key[0].rule, []).append(key)
    return result


def cells(key: Key) -> Row:
    setting, epochs = key
    return setting.parameter, "yes" if setting.average else "no", f"{epochs}"


def numbers(values: Sequence[float]) -> Row:
    return [f"{value:.2f}" for value in values]


def best_table(errors: Errors, best: Mapping[str, Key]) -> tuple[Row, list[Row]]:
    """The best setting of each rule, its errors and those of the defaults, and what the defaults cost more."""
    rows: list[Row] = []
    for name, key in best.items():
        own = means(errors, key)
        if not key[1]:
            rows.append([name, "-", "-", "-", *numbers(own), *["-"] * len(NOISES), "-"])
            continue
        default = means(errors, default_of(name))
        rows.append([name, *cells(key), *numbers(own), *numbers(default), f"{np.mean(default) - np.mean(own):+.2f}"])
    heads = [f"{100 * noise:g} %" for noise in NOISES]
    return ["rule", "parameter", "averaged", "epochs", *heads, *(f"default, {head}" for head in heads), "cost"], rows


def epochs_table(errors: Errors, names: Sequence[str]) -> tuple[Row, list[Row]]:
    """The errors with the default parameter after each number of epochs."""
    head = ["rule", *(f"{100 * noise:g} %: {epochs}" for noise in (NOISES[0], NOISES[-1]) for epochs in EPOCHS), "best"]
    rows: list[Row] = []
    for name in names:
        setting, _ = default_of(name)
        by_epochs = [means(errors, (setting, epochs)) for epochs in EPOCHS]
        least = EPOCHS[int(np.argmin(np.mean(by_epochs, axis=1)))]
        rows.append([name, *numbers([own[i] for i in (0, -1) for own in by_epochs]), f"{least}"])
    return head, rows


def data_table(errors: Errors, best: Mapping[str, Key]) -> tuple[Row, list[Row]]:
    """The errors by data set with the most wrong labels, and in brackets what the defaults have more."""
    rows: list[Row] = []
    for data, of_noise in errors.items():
        of_key, row = of_noise[NOISES[-1]], [data]
        for name, key in best.items():
            more = f" ({of_key[default_of(name)] - of_key[key]:+.1f})" if key[1] else ""
            row.append(f"{of_key[key]:.1f}{more}")
        rows.append(row)
    return ["data, scale", *best], rows


def say(report: Report, errors: Errors) -> None:
    """All tables."""
    found = {name: best_of(errors, keys) for name, keys in keys_of(errors).items()}
    best = dict(sorted(found.items(), key=lambda item: float(np.mean(means(errors, item[1])))))
    report.say("# The defaults with wrong labels, measured\n\n`python -m bench noise`")
    report.say(
        f"Mean error in percent over {len(errors)} data sets and scales by share of wrong labels. First the setting\n"
        "of each rule with the lowest mean of the three, then the defaults, and what these cost more in the mean."
    )
    report.table(*best_table(errors, best))
    report.say(
        "The default parameter, not averaged. Columns: the share of wrong labels, then the epochs; `best` is\n"
        "the number with the lowest mean of the three shares."
    )
    report.table(*epochs_table(errors, [name for name, key in best.items() if key[1]]))
    share = f"{100 * NOISES[-1]:g} %"
    report.say(
        f"By data set with {share} wrong labels: the setting above and, in brackets, what the defaults have more."
    )
    report.table(*data_table(errors, best))


def main(words: Sequence[str]) -> None:
    parser = suite_parser("noise", __doc__)
    parser.add_argument("--sets", type=lambda text: text.split(","), default=list(SETS), help="default: thirteen")
    options = parser.parse_args(words)
    report = Report("noise", options)
    errors: Errors = {}
    for name, task in tqdm(list(tasks(options.sets)), unit="set"):
        errors[name] = {noise: measure(task, noise) for noise in NOISES}
    say(report, errors)
    report.add_json(
        "errors",
        [[data, noise, *setting, epochs, error] for data, of_noise in errors.items()
         for noise, of_key in of_noise.items() for (setting, epochs), error in of_key.items()],
    )  # fmt: skip
    report.close()
