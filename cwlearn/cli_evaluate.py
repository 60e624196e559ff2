"""`cwlearn evaluate`."""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

from cwlearn import model_file
from cwlearn.cli_common import check_paths
from cwlearn.cli_scoring import add_data_flags as add_flags
from cwlearn.cli_scoring import scored
from cwlearn.errors import DataError
from cwlearn.labels import Labels
from cwlearn.measures import Measures
from cwlearn.text_files import displayed

__all__ = ["EXAMPLE", "add_flags", "run"]

EXAMPLE = "  cwlearn evaluate test.svm -m spam.npz"


def run(arguments: argparse.Namespace) -> None:
    check_paths(arguments.data)
    learner = model_file.load(arguments.model)
    measures = Measures(learner.label_names)
    labels = Labels.of(learner)
    probabilistic = learner.rule.probabilistic
    start = time.perf_counter()
    for batch, rows in scored(learner, arguments, labelled=True):
        labels.meet(batch)
        margins = learner.margins(rows)
        predicted = learner.chosen(learner.scores(*margins))
        chances = learner.probabilities(*margins) if probabilistic else None
        measures.add(learner.number(batch.labels), predicted, chances)
    report = measures.summary(probabilistic)
    if not report["rows"]:
        raise DataError("no examples", displayed(arguments.data[0]))
    if arguments.json:
        print(json.dumps({**report, "seconds": time.perf_counter() - start}))
    else:
        _print_evaluation(report)


def _print_evaluation(report: dict[str, Any]) -> None:
    def percent(part: float | None) -> str:
        return "-" if part is None else f"{100 * part:.2f} %"

    print(f"error {percent(report['error'])} ({report['mistakes']:,} of {report['rows']:,} rows)")
    print(f"\n{'label':>10} {'rows':>10} {'precision':>10} {'recall':>10}")
    for name, of in report["labels"].items():
        print(f"{name:>10} {of['rows']:10,} {percent(of['precision']):>10} {percent(of['recall']):>10}")
    if report["log_loss"] is not None:
        print(f"\nlog loss {report['log_loss']:.4f}, calibration error {report['calibration_error']:.4f}")
        print(f"{'predicted':>10} {'correct':>10} {'rows':>10}")
        for line in report["calibration"]:
            print(f"{percent(line['predicted']):>10} {percent(line['correct']):>10} {line['rows']:10,}")
