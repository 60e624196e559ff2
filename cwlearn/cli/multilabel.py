"""Several labels a row: what `predict` and `evaluate` print of them."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cwlearn.core.learner import Learner
from cwlearn.core.multilabel_metrics import MultiLabelMeasures
from cwlearn.core.rows import Rows
from cwlearn.errors import shown
from cwlearn.text.batch import Batch
from cwlearn.text.labels import Labels
from cwlearn.utils.messages import put

USUAL_THRESHOLD = 0.5


def predicted_labels(
    learner: Learner, rows: Rows, mean: NDArray[np.float64], variance: NDArray[np.float64], threshold: float | None
) -> NDArray[np.bool_]:
    """Which labels are predicted."""
    if threshold is None or threshold == USUAL_THRESHOLD:
        return np.asarray(learner.chosen(learner.scores(rows, mean, variance)) == 1)
    return np.asarray(learner.probabilities(rows, mean, variance) >= threshold)


def evaluate_sets(
    learner: Learner, batches: Iterable[tuple[Batch, Rows]], arguments: argparse.Namespace
) -> dict[str, Any]:
    """All metrics of the labels of rows."""
    measures, labels = MultiLabelMeasures(learner.label_names), Labels.of(learner)
    probabilistic = learner.rule.probabilistic or learner.is_calibrated
    for batch, rows in batches:
        labels.add(batch)
        assert labels.sets is not None
        for which, part in learner.parts(rows):
            true = labels.sets.indicators(batch.labels[which], len(learner.classes))
            mean, variance = learner.margins(part)
            measures.add(
                true,
                predicted_labels(learner, part, mean, variance, getattr(arguments, "threshold", None)),
                learner.scores(part, mean, variance),
                learner.probabilities(part, mean, variance) if probabilistic else None,
            )
    return measures.summary(probabilistic)


def percent(fraction: float | None) -> str:
    """A fraction for people."""
    return "-" if fraction is None else f"{100 * fraction:.2f} %"


def print_sets(report: dict[str, Any]) -> None:
    put(f"micro F1 {percent(report['micro_f1'])}, macro F1 {percent(report['macro_f1'])} ({report['rows']:,} rows)")
    put(f"precision {percent(report['precision'])}, recall {percent(report['recall'])}")
    best = ", ".join(f"at {k} {percent(part)}" for k, part in report["precision_at"].items())
    put(f"precision {best}; ranking loss {report['ranking_loss']:.4f}")
    exact = percent(report["exact_rows"])
    put(f"wrong decisions {percent(report['hamming_loss'])}; all labels are right in {exact} of the rows")
    if report["log_loss"] is not None:
        put(f"log loss {report['log_loss']:.4f} of a decision")
    put()
    put_by_label(report["labels"], {"precision": "precision", "recall": "recall", "f1": "F1"})


def put_by_label(counts_by_label: dict[str, Any], titles: dict[str, str]) -> None:
    """Print a table of labels: their rows, and fractions with these titles."""
    names = [shown(name) for name in counts_by_label]
    width = max(10, *map(len, names))
    put(f"{'label':>{width}} {'rows':>10}" + "".join(f" {title:>10}" for title in titles.values()))
    for name, counts in zip(names, counts_by_label.values(), strict=True):
        numbers = "".join(f" {percent(counts[column]):>10}" for column in titles)
        put(f"{name:>{width}} {counts['rows']:10,}{numbers}")
