"""How honest probabilities are: log loss and calibration error on rows that were not learned.

    python -m bench calibration [--sets NAME,...] [--rows N] [--plots FOLDER] [--markdown FILE] [--json FILE]
    python -m bench calibration --measured FILE,...    # join runs: the JSON files of others, instead of measuring

Every data set is learned as raw counts and as rows of unit length, with right labels and with 10 % wrong ones (in the
test rows, too, so that a probability of 0.9 is right where a model knows all).  Two thirds of the rows, at most --rows
(with more than two labels: half of that), are learned; the others test, 10,000 at most.  ECE is the expected
calibration error of the predicted label in 15 bins.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from tqdm import tqdm

from bench.calibration_cost import add_cost
from bench.calibration_report import add_plots, add_report
from bench.datasets import MULTICLASS, NAMES, load, scaled
from bench.report import CORES, Report, positive, suite_parser
from cwlearn import (
    AROWClassifier,
    AutoClassifier,
    CWClassifier,
    LogisticClassifier,
    NHERDClassifier,
    PassiveAggressiveClassifier,
    SCWClassifier,
)
from cwlearn.core.learner import Learner
from cwlearn.core.metrics import Measures
from cwlearn.core.rows import as_rows
from cwlearn.core.states.base import NONE
from cwlearn.core.training import HELD_BACK, Training

CLASSIFIERS = {
    "AROW": AROWClassifier(random_state=0),
    "SCW": SCWClassifier(random_state=0),
    "CW": CWClassifier(random_state=0),
    "NHERD": NHERDClassifier(random_state=0),
    "logistic": LogisticClassifier(random_state=0),
    "PA averaged": PassiveAggressiveClassifier(random_state=0, average=True),
    "auto": AutoClassifier(random_state=0),
}
SOURCES = {"rows seen before": 0, "held back, last epoch": 1, "held back, last 3 epochs": 3}  # of margins
TEST_ROWS = 10_000
REGULARIZATIONS = (0.01, 0.1, 1.0, 10.0, 100.0)


@dataclass(frozen=True)
class Result:
    """How good the probabilities of a classifier were on a data set."""

    data: str
    scale: str
    wrong: float  # part of the labels
    several: bool
    rule: str
    mode: str  # "1 pass", "default epochs", "stream"
    source: str  # of the probabilities
    error: float
    log_loss: float
    ece: float
    test_rows: int
    seconds: float
    bins: tuple[tuple[float, float, float], ...]


@dataclass(frozen=True)
class Task:
    data: str
    scale: str
    wrong: float
    max_rows: int

    def split(self) -> tuple[Any, np.ndarray, Any, np.ndarray]:
        data = load(self.data)
        X, y = scaled(data.X, self.scale), data.y
        rng = np.random.default_rng(1)
        y = (
            np.where(rng.random(len(y)) < self.wrong, rng.permutation(y), y)
            if self.several
            else y ^ (rng.random(len(y)) < self.wrong)
        )
        n = min(self.max_rows // 2 if self.several else self.max_rows, 2 * len(y) // 3)
        test = slice(n, n + TEST_ROWS)
        return X[:n], y[:n], X[test], y[test]

    @property
    def several(self) -> bool:
        return self.data in MULTICLASS

    def result(
        self, rule: str, mode: str, source: str, classes: np.ndarray, p: np.ndarray, y: np.ndarray, seconds: float
    ) -> Result:
        measures = Measures([str(label) for label in classes])
        measures.add(np.searchsorted(classes, y), p.argmax(axis=1), p)
        facts = measures.summary(True)
        bins = tuple(tuple(row) for row in measures.bins.tolist())
        error, loss, ece = facts["error"], facts["log_loss"], facts["calibration_error"]
        own = (self.data, self.scale, self.wrong, self.several)
        return Result(*own, rule, mode, source, error, loss, ece, len(y), seconds, bins)


def run(task: Task) -> list[Result]:
    warnings.simplefilter("ignore", ConvergenceWarning)
    split = task.split()
    return [*_classifiers(task, *split), *_sources(task, *split), _tuned_regression(task, *split)]


def _classifiers(task: Task, X: Any, y: np.ndarray, X_test: Any, y_test: np.ndarray) -> Iterator[Result]:
    for name, classifier in CLASSIFIERS.items():
        for mode in ("stream", "1 pass", "default epochs"):
            model = clone(classifier)
            if mode == "1 pass":
                model.set_params(epochs=1)
            start = time.process_time()
            if mode == "stream":
                model.partial_fit(X, y, np.unique(y))
            else:
                model.fit(X, y)
            seconds = time.process_time() - start
            yield task.result(name, mode, "ours", model.classes_, model.predict_proba(X_test), y_test, seconds)
            if name != "auto" and hasattr(model, "label_distribution"):  # not all that win have one
                p = model.label_distribution(X_test)
                yield task.result(name, mode, "uncalibrated", model.classes_, p, y_test, seconds)
            if mode != "stream":
                start = time.process_time()
                folds = CalibratedClassifierCV(clone(getattr(model, "choice_", model)), cv=5).fit(X, y)
                seconds = time.process_time() - start
                p = folds.predict_proba(X_test)
                yield task.result(name, mode, "five folds", folds.classes_, p, y_test, seconds)


def _tuned_regression(task: Task, X: Any, y: np.ndarray, X_test: Any, y_test: np.ndarray) -> Result:
    """Scikit-learn's logistic regression with the C that is the best on a fifth of the rows."""
    n = 4 * len(y) // 5
    start = time.process_time()

    def model(C: float) -> Any:
        options = {"max_iter": 60} if task.several else {"solver": "liblinear"}
        return LogisticRegression(C=C, **options)

    best, seconds = None, 0.0
    for C in REGULARIZATIONS:
        fitted = model(C).fit(X[:n], y[:n])
        p = np.maximum(fitted.predict_proba(X[n:]), 1e-15)
        loss = -np.log(p[np.arange(len(p)), np.searchsorted(fitted.classes_, y[n:])]).mean()
        best = min(best or (loss, C), (loss, C))
    assert best is not None
    fitted = model(best[1]).fit(X, y)
    seconds = time.process_time() - start
    p = fitted.predict_proba(X_test)
    return task.result("LogisticRegression", "tuned", "tuned", fitted.classes_, p, y_test, seconds)


def _sources(task: Task, X: Any, y: np.ndarray, X_test: Any, y_test: np.ndarray) -> Iterator[Result]:
    """The same classifier, calibrated by the margins of other rows."""
    for name in ("AROW", "SCW", "logistic", "PA averaged"):
        for source, last in SOURCES.items():
            rule, training, _ = CLASSIFIERS[name]._options()
            learner = Learner(rule, training, np.unique(y), X.shape[1])
            rows = as_rows(X, np.dtype(training.dtype))
            _learn(learner, rows, learner.encode(y), training, last)
            test = as_rows(X_test, np.dtype(training.dtype))
            p = learner.probabilities(test, *learner.margins(test))
            yield task.result(name, "default epochs", source, learner.classes, p, y_test, 0.0)


def _learn(learner: Learner, rows: Any, targets: np.ndarray, training: Training, last: int) -> None:
    """All epochs; a fifth of the rows comes in with the last ones, or all are there from the beginning."""
    rng = np.random.default_rng(0)
    held = rng.random(rows.n_rows) < (1 / HELD_BACK if last else 0)
    first = training.epochs - max(last, 1)
    for epoch in range(training.epochs):
        order = rng.permutation(rows.n_rows)
        fresh = np.zeros(rows.n_rows, np.uint8)
        if epoch < first:
            order = order[~held[order]]
        elif epoch == first:
            fresh[:] = held if last else 1
        learner.learn(rows, targets, NONE, order, fresh=fresh, settled=epoch >= first)


def tasks(names: Sequence[str], max_rows: int) -> list[Task]:
    """Every set in every form."""
    pixels = ("usps", "mnist")
    scales = {name: ("unit",) if name.startswith(pixels) else ("counts", "unit") for name in names}
    return [Task(name, how, wrong, max_rows) for name in names for how in scales[name] for wrong in (0.0, 0.1)]


def _measure(todo: list[Task]) -> list[Result]:
    with ProcessPoolExecutor(CORES) as pool:
        return [result for some in tqdm(pool.map(run, todo), total=len(todo), unit="set") for result in some]


def _measured(files: list[str]) -> list[Result]:
    records = (record for file in files for record in json.loads(Path(file).read_text())["results"])
    return [Result(**{**record, "bins": tuple(map(tuple, record["bins"]))}) for record in records]


def main(words: Sequence[str]) -> None:
    parser = suite_parser("calibration", __doc__, repeat=5)
    parser.add_argument("--sets", type=lambda text: text.split(","), default=[*NAMES, *MULTICLASS], help="default: all")
    parser.add_argument("--rows", type=positive(int), default=20_000, metavar="N", help="the most rows to learn")
    parser.add_argument("--plots", metavar="FOLDER", help="draw reliability diagrams in this folder")
    parser.add_argument("--measured", type=lambda text: text.split(","), metavar="FILE,...", help="take these results")
    options = parser.parse_args(words)
    report = Report("calibration", options)
    results = _measured(options.measured) if options.measured else _measure(tasks(options.sets, options.rows))
    report.add_json("results", [asdict(result) for result in results])
    add_report(report, results, list(SOURCES))
    add_cost(report, options.repeat)
    if options.plots:
        add_plots(results, options.plots)
    report.close()
