"""Several labels a row: speed with 20 labels, and Reuters-21578 with all its topics.

Speed: MultiLabelClassifier against scikit-learn's OneVsRestClassifier(SGDClassifier) on the same matrix, one epoch each
and with the defaults of both.  The candidates take turns; times are CPU seconds of one thread.

Reuters: the ModApte split, tf-idf of words, all topics.  Each learner is tuned for micro F1 on a fifth of the training
stories, learns all of them again, and is tested once.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import f1_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import MultiLabelBinarizer
from sklearn.svm import LinearSVC

from bench.datasets import reuters_topics, zipf
from bench.report import Report, positive, suite_parser
from bench.timing import Runner, time_in_turns
from cwlearn import (
    AROWClassifier,
    CWClassifier,
    FTRLClassifier,
    LogisticClassifier,
    MultiLabelClassifier,
    NHERDClassifier,
    PassiveAggressiveClassifier,
    SCWClassifier,
)
from cwlearn.estimators.classifier import LinearClassifier

CLASSES: tuple[Callable[..., LinearClassifier], ...] = (
    AROWClassifier,
    CWClassifier,
    SCWClassifier,
    NHERDClassifier,
    PassiveAggressiveClassifier,
    LogisticClassifier,
    FTRLClassifier,
)
N_LABELS = 20
THRESHOLDS = (0.3, 0.35, 0.4, 0.45, 0.5)


def indicators(X: Any) -> np.ndarray:
    """Labels by random separators, which 2 to 30 % of the rows have."""
    scores = X @ np.random.default_rng(0).standard_normal((X.shape[1], N_LABELS))
    limits = [np.quantile(scores[:, z], share) for z, share in enumerate(np.linspace(0.7, 0.98, N_LABELS))]
    return np.asarray(scores > np.array(limits)).astype(int)


def fits(X: Any, Y: np.ndarray, one_epoch: bool) -> dict[str, Runner]:
    ours, theirs = ({"epochs": 1}, {"max_iter": 1, "tol": None}) if one_epoch else ({}, {})
    models: dict[str, Any] = {"OneVsRestClassifier(SGDClassifier)": OneVsRestClassifier(SGDClassifier(**theirs))}
    models |= {of.__name__: MultiLabelClassifier(of(**ours)) for of in CLASSES}
    return {name: partial(_cpu_seconds, model, X, Y) for name, model in models.items()}


def _cpu_seconds(model: Any, X: Any, Y: np.ndarray) -> float:
    start = time.process_time()
    model.fit(X, Y)
    return time.process_time() - start


def measure_speed(report: Report, options: Any) -> None:
    X, _ = zipf(options.rows, 100, options.features)
    Y = indicators(X)
    report.say(f"{N_LABELS} labels, {X.shape[1]:,} features, {X.shape[0]:,} rows, {X.nnz:,} nonzeros")
    for dtype, one_epoch in product(("float64", "float32"), (False, True)):
        X = X.astype(dtype)
        title = f"a matrix of {dtype}, {'one epoch' if one_epoch else 'defaults'}"
        times = time_in_turns(fits(X, Y, one_epoch), options.repeat)
        against = times["OneVsRestClassifier(SGDClassifier)"].best
        columns = {"times as fast": {name: f"{against / of.best:.1f}" for name, of in times.items()}}
        report.times(title, times, columns)


def settings() -> dict[str, list[Any]]:
    """What each learner is tuned over."""
    seeded = {"random_state": 0}
    grids = {
        AROWClassifier: [{"epochs": e, "average": a} for e in (3, 10) for a in (False, True)],
        CWClassifier: [{"epochs": e, "confidence": c} for e in (3, 10) for c in (0.6, 0.9)],
        SCWClassifier: [{"epochs": e, "C": c} for e in (3, 10) for c in ("auto", 0.1)],
        PassiveAggressiveClassifier: [{"epochs": e, "average": a} for e in (3, 10) for a in (False, True)],
        NHERDClassifier: [{"epochs": e} for e in (3, 10)],
        LogisticClassifier: [{"epochs": e} for e in (3, 10)],
    }
    ours = {of.__name__: [MultiLabelClassifier(of(**seeded, **one)) for one in grid] for of, grid in grids.items()}
    return {"LinearSVC, one-vs-rest": [OneVsRestClassifier(LinearSVC(C=C)) for C in (0.5, 1, 2, 4, 8)], **ours}


def reuters() -> tuple[Any, np.ndarray, Any, np.ndarray, list[str]]:
    """tf-idf and topics of the stories for training, and of those for the test."""
    stories = [*reuters_topics()]
    parts = [[story for story in stories if story.is_training is wanted] for wanted in (True, False)]
    words = TfidfVectorizer(sublinear_tf=True, dtype=np.float32)
    X = words.fit_transform(story.text for story in parts[0])
    topics = MultiLabelBinarizer().fit([story.topics for story in stories])
    Y, true = (topics.transform([story.topics for story in part]) for part in parts)
    return X, Y, words.transform(story.text for story in parts[1]), true, topics.classes_.tolist()


def measure_reuters(report: Report) -> None:
    X, Y, tested, true, topics = reuters()
    report.say(
        f"Reuters-21578, ModApte: {X.shape[0]:,} stories to learn, {tested.shape[0]:,} to test, {len(topics)} topics "
        f"({int((Y.sum(axis=0) > 0).sum())} of them to learn), {Y.sum() / len(Y):.2f} a story, {X.shape[1]:,} words"
    )
    held = np.random.default_rng(0).random(X.shape[0]) < 0.2
    rows = []
    for name, models in settings().items():
        candidates = [_tuned(model, X[~held], Y[~held], X[held], Y[held]) for model in models]
        _, number, threshold = max((score, -k, limit) for k, (score, limit) in enumerate(candidates))
        start = time.process_time()
        model = clone(models[-number]).fit(X, Y)
        seconds = time.process_time() - start
        usual, chosen = model.predict(tested), _predicted(model, tested, threshold)
        rows.append(
            [name, _chosen(models[-number]), *_f1(true, usual), f"{threshold:g}", *_f1(true, chosen), f"{seconds:.1f}"]
        )
    head = ["learner", "chosen", "micro F1", "macro F1", "threshold", "micro F1 by it", "macro F1 by it", "CPU s"]
    report.table(head, rows)


def _tuned(model: Any, X: Any, Y: np.ndarray, tested: Any, true: np.ndarray) -> tuple[float, float]:
    """The micro F1 with the usual threshold, and the best threshold."""
    model = clone(model).fit(X, Y)
    usual = f1_score(true, model.predict(tested), average="micro")
    limits = THRESHOLDS if hasattr(model, "predict_proba") else (0.5,)
    return usual, max(limits, key=lambda limit: f1_score(true, _predicted(model, tested, limit), average="micro"))


def _predicted(model: Any, tested: Any, threshold: float) -> np.ndarray:
    return model.predict(tested) if threshold == 0.5 else (model.predict_proba(tested) >= threshold).astype(int)


def _chosen(model: Any) -> str:
    inner = model.classifier if isinstance(model, MultiLabelClassifier) else model.estimator
    return str(inner).partition("(")[2].rstrip(")").replace(", random_state=0", "").replace("random_state=0", "default")


def _f1(true: np.ndarray, predicted: np.ndarray) -> list[str]:
    return [f"{100 * f1_score(true, predicted, average=how, zero_division=0):.2f}" for how in ("micro", "macro")]


def main(words: Sequence[str]) -> None:
    parser = suite_parser("multilabel", __doc__, repeat=3)
    parser.add_argument("--rows", type=positive(int), default=10_000, metavar="N")
    parser.add_argument("--features", type=positive(int), default=50_000, metavar="N")
    parser.add_argument("--no-reuters", action="store_true", help="only the speed")
    options = parser.parse_args(words)
    report = Report("multilabel", options)
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.filterwarnings("ignore", message="Label .* is present in all training examples")
    measure_speed(report, options)
    if not options.no_reuters:
        measure_reuters(report)
    report.close()
