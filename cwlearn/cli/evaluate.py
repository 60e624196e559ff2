"""`cwlearn evaluate`."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable
from typing import Any

from cwlearn.cli.common import check_paths
from cwlearn.cli.multilabel import evaluate_sets, percent, print_sets, put_by_label
from cwlearn.cli.scoring import (
    add_data_flags,
    add_threshold,
    batches_to_score,
    load_for_scoring,
    warn_without_calibration,
)
from cwlearn.core.learner import Learner
from cwlearn.core.metrics import Measures, RegressionMeasures
from cwlearn.core.rows import Rows
from cwlearn.errors import DataError
from cwlearn.text.batch import Batch
from cwlearn.text.labels import Labels
from cwlearn.text.sources import Source
from cwlearn.utils.messages import put, put_json

EXAMPLE = """\
  cwlearn evaluate test.jsonl -m reviews.npz
  cwlearn evaluate test.jsonl -m reviews.npz --threshold f1   for a rare label"""


def add_flags(parser: argparse.ArgumentParser) -> None:
    add_data_flags(parser)
    add_threshold(parser)


def run(arguments: argparse.Namespace) -> None:
    check_paths(arguments.data)
    learner = load_for_scoring(arguments)
    if learner.rule.probabilistic:
        warn_without_calibration(learner, arguments)
    start = time.perf_counter()
    batches = batches_to_score(learner, arguments, labelled=True)
    if learner.multilabel:
        report, print_report = evaluate_sets(learner, batches, arguments), print_sets
    elif learner.rule.task == "regression":
        report, print_report = _evaluate_regression(learner, batches), _print_regression
    else:
        report, print_report = _evaluate_labels(learner, batches), _print_labels
    if not report["rows"]:
        raise DataError("no examples", Source(arguments.data[0]).name)
    if arguments.json:
        put_json({**report, "seconds": time.perf_counter() - start})
    else:
        print_report(report)


def _evaluate_labels(learner: Learner, batches: Iterable[tuple[Batch, Rows]]) -> dict[str, Any]:
    measures = Measures(learner.label_names)
    labels = Labels.of(learner)
    calibrated = learner.calibration is not None
    probabilistic = learner.rule.probabilistic or calibrated
    for batch, rows in batches:
        labels.add(batch)
        true = labels.numbers(batch.labels)
        for which, part in learner.parts(rows):
            margins = learner.margins(part, only_mean=learner.several and (calibrated or not probabilistic))
            probabilities = learner.probabilities(part, *margins) if probabilistic else None
            weights = None if batch.weights is None else batch.weights[which]
            measures.add(true[which], learner.chosen(learner.scores(part, *margins)), probabilities, weights)
    return measures.summary(probabilistic)


def _evaluate_regression(learner: Learner, batches: Iterable[tuple[Batch, Rows]]) -> dict[str, Any]:
    measures, targets = RegressionMeasures(), Labels.of(learner)
    for batch, rows in batches:
        targets.add(batch)  # which makes numbers of targets that were read as texts
        mean, variance = learner.margins(rows)
        measures.add(batch.labels, mean, learner.deviations(variance), batch.weights)
    return measures.summary()


def _print_regression(report: dict[str, Any]) -> None:
    def number(name: str, digits: str, factor: float = 1) -> str:
        return "-" if report[name] is None else format(factor * report[name], digits)

    put(f"root mean squared error {number('rmse', '.6g')}, mean absolute error {number('mae', '.6g')}")
    if report["weight"] is not None:
        errors = f"{number('weighted_rmse', '.6g')} and {number('weighted_mae', '.6g')}"
        put(f"weighted by importance: {errors} (sum of importances {report['weight']:,.6g})")
    put(f"R2 {number('r2', '.4f')} ({report['rows']:,} rows)")
    put(
        f"log loss {number('log_loss', '.4f')}; {number('within_one_deviation', '.1f', 100)} % within one deviation of "
        f"the prediction (68.3 expected), {number('within_two_deviations', '.1f', 100)} % within two (95.4)"
    )


def _print_labels(report: dict[str, Any]) -> None:
    put(f"error {percent(report['error'])} ({report['mistakes']:,} of {report['rows']:,} rows)")
    if report["weight"] is not None:
        weighted = percent(report["weighted_error"])
        put(f"weighted by importance {weighted} (sum of importances {report['weight']:,.6g})")
    put()
    put_by_label(report["labels"], {"precision": "precision", "recall": "recall"})
    if report["log_loss"] is not None:
        put()
        put(f"log loss {report['log_loss']:.4f}, calibration error {report['calibration_error']:.4f}")
        put(f"{'predicted':>10} {'correct':>10} {'rows':>10}")
        for interval in report["calibration"]:
            put(f"{percent(interval['predicted']):>10} {percent(interval['correct']):>10} {interval['rows']:10,}")
