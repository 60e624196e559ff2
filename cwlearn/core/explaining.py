"""Why a model gives its answer: what each feature of a row adds to the margin, and how certain that is."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cwlearn.core.learner import Learner
from cwlearn.core.model import Model
from cwlearn.core.parameters import COUNT, require
from cwlearn.core.rows import Rows
from cwlearn.core.states.base import LinearState
from cwlearn.errors import shown

LONGEST_ON_PAGE = 20_000  # characters of a document; a page of megabytes cannot be read
LONGEST_NAME = 100  # characters of a word that are shown; it may have megabytes
TOP = 10  # contributions that are shown, unless another number is given


class Contribution(NamedTuple):
    """What a feature adds to the margin: `amount`, with its standard deviation; None if the rule has no variances."""

    name: str
    column: int
    value: float
    amount: float
    deviation: float | None


class Piece(NamedTuple):
    """A part of a document, and what its words add to the margin; None if there is no word in it."""

    text: str
    amount: float | None


@dataclass(frozen=True, repr=False)
class Explanation:
    """Why a row got its answer.

    With labels, `margin` is that of the predicted `label` over the `rival`, the most probable other one.  If rows may
    have several labels, `label` is the most probable one, predicted or not, and has no rival.  A regression has neither
    of them; its margin is the prediction.  `margin` is the sum of `intercept` and of the amounts of all
    `contributions`.

    Deviations are None if the rule has no variances.

    `probability` is the calibrated chance of the label, and `baseline` is what it would be if the row had no features.
    `evidence` is the part of the uncertainty about the row's features that learning has removed, from 0 to 1: 1 minus
    the sum of their variances in the margin over that before the first row; if the rule has no variances, or they did
    not begin equal (`prior`), the part of the row's squared length whose weights are not 0.  The intercept is left out:
    it knows nothing of the row.
    """

    label: Any
    rival: Any
    margin: float
    deviation: float | None
    intercept: float
    intercept_deviation: float | None
    contributions: tuple[Contribution, ...]  # those that matter most first
    probability: float | None
    baseline: float | None
    evidence: float
    pieces: tuple[Piece, ...] = ()  # of the document, if there is one
    top: int = field(default=TOP, compare=False)

    @property
    def shown(self) -> tuple[Contribution, ...]:
        """The `top` contributions that are not 0."""
        return tuple(item for item in self.contributions[: self.top] if item.amount)

    @property
    def speaking_for(self) -> tuple[Contribution, ...]:
        return tuple(item for item in self.shown if item.amount > 0)

    @property
    def speaking_against(self) -> tuple[Contribution, ...]:
        return tuple(item for item in self.shown if item.amount < 0)

    @property
    def others(self) -> float:
        """The sum of the contributions that are not shown."""
        return math.fsum(item.amount for item in self.contributions[len(self.shown) :])

    @property
    def name_of_others(self) -> str:
        """What stands for the contributions that are not shown, with their number."""
        count = len(self.contributions) - len(self.shown)
        return f"({count:,} {'other' if count == 1 else 'others'})"

    def record(self) -> dict[str, Any]:
        """The explanation as JSON has it; intercept, contributions and others add up to the margin."""
        return {
            "label": self.label,
            "rival": self.rival,
            "probability": self.probability,
            "baseline": self.baseline,
            "evidence": self.evidence,
            "margin": self.margin,
            "deviation": self.deviation,
            "intercept": self.intercept,
            "contributions": [
                {
                    "name": item.name,
                    "column": item.column,
                    "value": item.value,
                    "contribution": item.amount,
                    "deviation": item.deviation,
                }
                for item in self.shown
            ],
            "others": self.others,
        }

    @property
    def headline(self) -> str:
        """The answer in one line."""
        if self.label is None:
            return with_deviation(f"{self.margin:.6g}", self.deviation, ".3g")
        chance = "" if self.probability is None else f" {percent(self.probability)}"
        return f"{self.label}{chance}" if self.rival is None else f"{self.label}{chance}, not {self.rival}"

    @property
    def summary(self) -> str:
        """How certain the answer is, in one sentence."""
        parts = [] if self.label is None else [with_deviation(f"margin {self.margin:+.4g}", self.deviation, ".2g")]
        if self.baseline is not None:
            parts.append(f"{percent(self.baseline)} without its features")
        return ", ".join([*parts, f"evidence {percent(self.evidence)}"])

    def lines(self) -> list[str]:
        """The summary and the contributions as text."""
        items = [*self.speaking_for, *self.speaking_against]
        names = [brief(item.name) for item in items]
        amounts = [with_deviation(f"{item.amount:+.4f}", item.deviation) for item in items]
        if self.intercept:
            names.append("(intercept)")
            amounts.append(with_deviation(f"{self.intercept:+.4f}", self.intercept_deviation))
        if self.others:
            names.append(self.name_of_others)
            amounts.append(f"{self.others:+.4f}")
        width = max((len(amount.split(" ")[0]) for amount in amounts), default=0)
        room = width + (10 if self.deviation is not None else 1)
        rows = zip((_padded(amount, width) for amount in amounts), names, strict=True)
        return [self.summary, *(f"  {amount:{room}}  {name}" for amount, name in rows)]

    def __str__(self) -> str:
        return "\n".join(map(shown, [self.headline, *self.lines()]))

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        """The explanation as a notebook shows it."""
        from cwlearn.core.explanation_page import fragment  # which a terminal does not need

        return fragment(self)


def brief(name: str) -> str:
    """A name as it is shown; JSON and `contributions` have all of it."""
    return name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME]}..."


def with_deviation(amount: str, deviation: float | None, form: str = ".4f") -> str:
    return amount if deviation is None else f"{amount} ± {deviation:{form}}"


def _padded(amount: str, width: int) -> str:
    number, _, rest = amount.partition(" ")
    return f"{number:>{width}} {rest}"


def percent(part: float) -> str:
    """A part of 1 as text; never 0 % or 100 % unless it is exactly that."""
    for digits in (1, 2, 3):
        text = f"{part:.{digits}%}"
        if float(text[:-1]) not in (0.0, 100.0) or part in (0.0, 1.0):
            return text.replace("%", " %")
    return "> 99.999 %" if part > 0.5 else "< 0.001 %"


def explain(
    model: Learner,
    rows: Rows,
    name_of: Callable[[int], str],
    top: int = TOP,
    *,
    columns: NDArray[Any] | None = None,
    labels: Sequence[Any] | None = None,
    pieces_of: Callable[[dict[int, float]], Sequence[Piece]] | None = None,
) -> Explanation:
    """Explain the only row of `rows`.

    `columns` are those that the row has outside of the model, if they differ; `name_of` gives their names.  `labels`
    are those of the model as they are to be written.  `pieces_of` makes parts of the document of the amounts by column.
    """
    require("top", top, COUNT)
    if not isinstance(model.state, LinearState):
        raise ValueError("a kernel has no weights by feature, hence no contributions: linear classes have them")
    mean, variance = model.margins(rows)
    first, second = _labels_of(model, rows, mean, variance)
    amounts, variances = _amounts(model, rows, first, second)
    scale = math.sqrt(model.scale) if first is None else 1.0  # to the unit of the targets
    known = model.rule.second_order
    deviations = (scale * np.sqrt(variances)).tolist() if known else [None] * len(variances)
    places = rows.indices if columns is None else columns
    order = np.lexsort((places, -np.abs(amounts[1:])))
    numbers = zip(places[order].tolist(), rows.values[order].tolist(), amounts[1:][order].tolist(), strict=True)
    contributions = tuple(
        Contribution(name_of(column), column, value, amount, deviations[1 + place])
        for place, (column, value, amount) in zip(order.tolist(), numbers, strict=True)
    )
    probability, baseline = _chances(model, rows, mean, variance, first)
    margin, spread = _of_pair(mean[0], first, second), _of_pair(variance[0], first, second, spread=True)
    deviation = float(model.deviations(np.array([spread]))[0]) if first is None else math.sqrt(spread)
    by_column = dict(zip(places.tolist(), amounts[1:].tolist(), strict=True))
    labels = model.classes.tolist() if labels is None else labels
    return Explanation(
        None if first is None else labels[first],
        None if second is None else labels[second],
        margin + 0.0,  # no -0 is shown
        deviation if known else None,
        float(amounts[0]) + 0.0,
        deviations[0],
        contributions,
        probability,
        baseline,
        _evidence(model, rows, amounts[1:], variances[1:]),
        tuple(pieces_of(by_column)) if pieces_of else (),
        int(top),
    )


def _labels_of(
    model: Model, rows: Rows, mean: NDArray[np.float64], variance: NDArray[np.float64]
) -> tuple[int | None, int | None]:
    """The predicted label and the runner-up; of several labels a row, the most probable one alone."""
    if not len(model.classes):
        return None, None
    if model.multilabel:
        rank = model.probabilities if model.is_calibrated else model.scores
        return int(rank(rows, mean, variance)[0].argmax()), None
    number = int(model.chosen(model.scores(rows, mean, variance))[0])
    if not model.several:
        return number, 1 - number
    others = mean[0].copy()
    others[number] = -np.inf
    return number, int(others.argmax())


def _of_pair(numbers: Any, first: int | None, second: int | None, spread: bool = False) -> Any:
    """Means or, with `spread`, variances by label, of the first one over the second one.

    Two labels have one weight: that of the second label over the first one.
    """
    if np.ndim(numbers) == 0:
        return float(numbers if spread or first != 0 else -numbers)
    if second is None:
        return numbers[..., first] if np.ndim(numbers) > 1 else float(numbers[first])
    pair = numbers[..., first] + numbers[..., second] if spread else numbers[..., first] - numbers[..., second]
    return pair if np.ndim(pair) else float(pair)


def _amounts(
    model: Model, rows: Rows, first: int | None, second: int | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """What the intercept and each entry of the row add to the margin, and the variances of that."""
    mean, variance = (numbers.astype(np.float64) for numbers in model.weights_at(rows.indices))
    if model.multilabel:  # even of a single label
        mean, variance = mean.reshape(len(mean), -1), variance.reshape(len(mean), -1)
    x = np.append(model.bias, rows.values.astype(np.float64))
    if mean.ndim > 1:
        x = x[:, None]
    amounts = mean * x
    if model.rule.projection == "inclusive":  # see `entry` in `_cells.pxd`
        amounts = amounts / (1 + variance * (x * x))
    spreads = variance * (x * x)
    if mean.ndim > 1:
        return _of_pair(amounts, first, second), _of_pair(spreads, first, second, spread=True)
    return (-amounts if first == 0 else amounts) + 0.0, spreads  # + 0: an amount is never -0


def _chances(
    model: Model, rows: Rows, mean: NDArray[np.float64], variance: NDArray[np.float64], first: int | None
) -> tuple[float | None, float | None]:
    """The chance of the label, and what it would be without any feature; None if the model has no calibration."""
    if first is None or not model.is_calibrated:
        return None, None
    intercept = np.asarray(model.weights_at(rows.indices[:0])[0], np.float64) * model.bias
    both = (model.probabilities(rows, numbers, variance) for numbers in (mean, intercept.reshape(mean.shape)))
    probability, baseline = (float(chances[0, first]) for chances in both)
    return probability, baseline


def _evidence(model: Model, rows: Rows, amounts: NDArray[np.float64], variances: NDArray[np.float64]) -> float:
    squares = rows.values.astype(np.float64) ** 2
    whole, known = float(squares.sum()), float(squares[amounts != 0].sum())
    if model.rule.second_order and not model.rule.informed:  # whose variances did not begin equal
        whole *= model.state.initial_variance * (2 if model.several else 1)  # two labels have weights in the margin
        known = whole - float(variances.sum())
    return min(max(known / whole, 0.0), 1.0) if whole > 0 else 0.0
