"""One row at a time, for callers who wait for each answer: a dictionary, or a row of a matrix.

A row is a pair of arrays here, its columns and its values, until the kernel has checked it.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cwlearn.core.learner import Learner
from cwlearn.core.model import Model
from cwlearn.core.rows import Rows, as_rows, row_of
from cwlearn.core.states.base import NONE
from cwlearn.core.states.diagonal import DiagonalState
from cwlearn.core.training import check_weights_of_parts
from cwlearn.errors import DataError
from cwlearn.native import measure_row

Parts = tuple[NDArray[Any], NDArray[Any]]  # columns and values
Measured = tuple[float, Any, Any]  # squared length with the intercept, mean and variance of the margin (by label)


def parts_of(x: Any, model: Model) -> Parts:
    """The columns and values of a row for a model of one label a row; see `columns_and_values`."""
    refuse_several_labels(model)
    return columns_and_values(x, model)


def columns_and_values(x: Any, model: Model) -> Parts:
    """The columns and values of a dictionary, of a matrix of one row, or of a row of numbers; not yet checked."""
    if isinstance(x, Mapping):
        return _parts_of_mapping(x, model)
    try:  # what a row of a SciPy matrix usually is
        if x.format == "csr" and x.shape == (1, model.state.n_features):
            columns, values = x.indices, x.data
            if x.indptr.tolist() == [0, len(columns)] and x.indptr.dtype.kind == "i":
                return columns, values
    except AttributeError:
        pass
    if not hasattr(x, "tocsr"):
        x = np.asarray(x)
    if len(x.shape) == 1:
        x = x.reshape(1, -1)
    rows = as_rows(x, model.state.dtype, n_features=model.state.n_features)
    if rows.n_rows != 1:
        raise DataError(f"expected one row, got {rows.n_rows}")
    return rows.indices, rows.values


def refuse_several_labels(model: Model) -> None:
    """Rows with any number of labels are answered in tables."""
    if model.multilabel:
        raise ValueError("one row at a time has one label; `predict` and `partial_fit` take rows with several")


def _parts_of_mapping(x: Mapping[Any, Any], model: Model) -> Parts:
    names = model.feature_names
    try:
        if names is None:
            columns = np.array([index(key) for key in x], np.int64)
        else:
            number_of = _columns_by_name(model)
            columns = np.array([number_of[key] for key in x], np.int64)
        values = np.array([*x.values()])
        if values.dtype.kind not in "biuf" or values.ndim != 1:
            raise TypeError(f"expected numbers, got {values.dtype}")
    except (KeyError, OverflowError, TypeError, ValueError) as error:
        raise _flaw_in_mapping(x, model) or DataError(str(error)) from None
    if len(columns) > 1 and (columns[1:] < columns[:-1]).any():
        order = columns.argsort()
        columns, values = columns[order], values[order]
    return columns, values


def _columns_by_name(model: Model) -> dict[str, int]:
    """The columns of a model by the names of its features, kept as long as these are the same array."""
    names, kept = model.feature_names, model.kept.get("columns")
    assert names is not None
    if kept is None or kept[0] is not names:
        kept = model.kept["columns"] = names, {name: number for number, name in enumerate(names.tolist())}
    columns: dict[str, int] = kept[1]
    return columns


def _flaw_in_mapping(x: Mapping[Any, Any], model: Model) -> DataError | None:
    """What is wrong with a dictionary."""
    for key, value in x.items():
        if model.feature_names is not None and key not in _columns_by_name(model):
            return DataError(f"the model has no feature {key!r:.80}")
        if model.feature_names is None and (not hasattr(key, "__index__") or abs(index(key)) >= 2**63):
            return DataError(f"expected numbers of columns as the keys of a dictionary, got {key!r:.80}")
        if not isinstance(value, (float, np.bool_, np.number)) and not (isinstance(value, int) and abs(value) < 2**63):
            return DataError(
                f"expected finite numbers as the values of a dictionary, got {value!r:.80} for {key!r:.80}"
            )
    return None


def row_of_parts(parts: Parts, model: Model) -> Rows:
    """The row, checked: an error says what is wrong."""
    return row_of(*parts, model.state.dtype, model.state.n_features)


# -- margins -----------------------------------------------------------------------------------------------------------


def measured(parts: Parts, model: Model, only_mean: bool = True) -> Measured:
    """Squared length, mean and variance of a row; with `only_mean`, several labels have no variance."""
    state = model.state
    if isinstance(state, DiagonalState) and not model.derives_anew:
        columns, values = parts
        if values.dtype != state.dtype:
            values = _converted(values, state.dtype)
        predictor: Any = model.predictor
        found = _measured_by_kernel(predictor.cells, columns, values, model, only_mean)
        if found is not None:
            return found
    rows = row_of_parts(parts, model)
    if model.answers_by_row():
        cells = np.stack(model.weights_at(rows.indices), axis=1)
        places = np.arange(len(rows.indices))
        found = _measured_by_kernel(cells, places, rows.values, model, only_mean)
        assert found is not None  # the row is sound
        return found
    mean, variance = model.margins(rows, only_mean=only_mean and model.several)
    square = float(model.state.squared_lengths(rows, model.bias)[0])
    if model.several:
        return square, mean[0], variance[0] if variance.size else variance
    return square, float(mean[0]), float(variance[0])


def _converted(values: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Numbers in another type; what is no number stays as it is, for the check to refuse it."""
    if values.dtype.kind not in "biuf":
        return values
    with np.errstate(over="ignore"):  # a number that is too large makes the length of the row infinite
        return values.astype(dtype)


def _measured_by_kernel(
    cells: NDArray[Any], columns: NDArray[Any], values: NDArray[Any], model: Model, only_mean: bool
) -> Measured | None:
    """Check and measure a row in a single call; None if it is not as simple as that."""
    blocks, bias = model.state.blocks, model.bias
    mean = np.empty(blocks) if blocks > 1 else NONE
    variance = NONE if only_mean or blocks == 1 else np.empty(blocks)
    inclusive = model.rule.projection == "inclusive"
    try:
        found = measure_row(cells.reshape(-1), columns, values, mean, variance, bias, inclusive, blocks)
    except (TypeError, ValueError):  # arrays of other types, or with gaps
        return None
    if found is None:
        return None
    square = found[0] + bias * bias
    return (square, mean, variance) if blocks > 1 else (square, found[1], found[2])


# -- answers -----------------------------------------------------------------------------------------------------------


def predicted_number(parts: Parts, model: Model) -> int:
    """The number of the predicted label of a row, as `Model.predictions` has it."""
    if model.several:
        return int(measured(parts, model)[1].argmax())
    return int(log_odds(measured(parts, model), model) > model.cut)


def log_odds(row: Measured, model: Model) -> float:
    """Those of the second of two labels, as `Model.scores` has them."""
    square, mean, variance = row
    known = model.calibration
    if known is None:
        return float(model.rule.score(np.array([mean]), np.array([variance]))[0])
    return known.log_odds_of_row(mean, square if model.compares_lengths else variance)


def probabilities(parts: Parts, model: Model) -> list[float]:
    """The chance of each label, as `Model.probabilities` has them."""
    known = model.calibration
    square, mean, variance = row = measured(parts, model, only_mean=known is not None)
    if known is None:
        model.check_distribution()
        chances = model.label_distribution(np.array([mean]), np.array([variance]))[0]
    elif model.several:
        chances = known.probabilities(mean[None], np.array([square]))[0]
    else:
        odds, noise = log_odds(row, model), known.best.noise
        chances = noise / 2 + (1 - noise) * np.exp(-np.logaddexp(0, [odds, -odds]))
    return [*chances.tolist()]


def learn(parts: Parts, number: int, learner: Learner) -> None:
    """Learn from a row whose label has this number."""
    weight = 1.0
    if learner.weighs_classes:
        check_weights_of_parts(learner.rule)
        weight = float(learner.class_weights(np.array([number]))[0])
    target = float(number) if learner.several else 2.0 * number - 1
    columns, values = parts
    if values.dtype != learner.state.dtype:
        values = _converted(values, learner.state.dtype)
    if not learner.learn_alone(columns, values, target, weight):
        weights = np.array([weight]) if learner.weighs_classes else NONE
        learner.learn(row_of_parts(parts, learner), np.array([target]), weights)
