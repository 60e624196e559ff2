"""How good the defaults for documents are: against scikit-learn's TfidfVectorizer and its linear classifiers.

    python -m bench text_quality [--sets NAME,...] [--markdown FILE] [--json FILE]

20 Newsgroups and Reuters have a given test part; the training documents are in a random order, and the errors are means
over several orders.  The other sets, and the pairs of newsgroups with "folds" in their name, are tested in five random
folds.  All systems learn and predict the same documents.  The results of scikit-learn are kept in the folder
CWLEARN_CACHE.
"""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
import sklearn
from joblib import Memory
from sklearn import linear_model, naive_bayes, svm
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import StratifiedKFold
from tqdm import tqdm

from bench.cache import cache_folder
from bench.datasets import (
    DOMAINS,
    NEWSGROUP_PAIRS,
    Document,
    amazon_reviews,
    newsgroup_messages,
    reuters_stories,
    spamassassin_mails,
)
from bench.report import Report, suite_parser
from cwlearn import AROWClassifier, AutoClassifier, SCWClassifier, TextClassifier

FOLDS = 5
FOLDS_OF = "folds of "  # before the name of a set whose own split is not used
TOPICS = 10  # of Reuters, the most frequent ones
HELD_OUT = ("amazon-kitchen", "reuters")
DEFAULT = "**the race (default)**"
UNCHANGED = "SCW, 5 epochs, 20 bits"  # of which one option is changed


FIVE_EPOCHS = {"epochs": 5, "fit_intercept": False}
ONE_PASS = {"epochs": 1, "shuffle": False, "fit_intercept": False}


@dataclass(frozen=True)
class System:
    """A TextClassifier: its classifier, and what differs from the defaults."""

    classifier: Callable[..., Any]
    classifier_options: Mapping[str, Any] = field(default_factory=lambda: FIVE_EPOCHS)
    options: Mapping[str, Any] = field(default_factory=dict)

    def new(self, seed: int) -> TextClassifier:
        return TextClassifier(self.classifier(**self.classifier_options, random_state=seed), **self.options)


OURS = {
    DEFAULT: System(AutoClassifier, {"fit_intercept": False}),
    "the race, one pass": System(AutoClassifier, ONE_PASS),
    UNCHANGED: System(SCWClassifier),
    "SCW, 5 epochs, 22 bits": System(SCWClassifier, options={"hash_bits": 22}),
    "SCW, one pass, 20 bits": System(SCWClassifier, ONE_PASS),
    "SCW, one pass, 22 bits": System(SCWClassifier, ONE_PASS, {"hash_bits": 22}),
    "AROW, 5 epochs, 20 bits": System(AROWClassifier),
    "AROW, 5 epochs, 22 bits": System(AROWClassifier, options={"hash_bits": 22}),
}
VARIANTS = {  # one option changed, with one rule; not for the sets that were held out
    "with an intercept": System(SCWClassifier, {"epochs": 5}),
    "10 epochs": System(SCWClassifier, {"epochs": 10, "fit_intercept": False}),
    **{
        f"`{name}={value!r}`": System(SCWClassifier, options={name: value})
        for name, value in (
            ("ngram_range", (1, 1)),
            ("ngram_range", (1, 3)),
            ("weighting", "binary"),
            ("weighting", "count"),
            ("idf", False),
            ("norm", None),
            ("lowercase", False),
            ("hash_bits", 18),
        )
    },
    '`analyzer="char_wb", ngram_range=(3, 5)`': System(
        SCWClassifier, options={"analyzer": "char_wb", "ngram_range": (3, 5)}
    ),
}
SEEDED = {  # classifiers of scikit-learn that depend on a seed
    "SGDClassifier": linear_model.SGDClassifier,
    "PassiveAggressiveClassifier": linear_model.PassiveAggressiveClassifier,
    "Perceptron": linear_model.Perceptron,
}
SEEDLESS = {
    "LinearSVC": svm.LinearSVC,
    "RidgeClassifier": linear_model.RidgeClassifier,
    "LogisticRegression": linear_model.LogisticRegression,
    "ComplementNB": naive_bayes.ComplementNB,
    "MultinomialNB": naive_bayes.MultinomialNB,
}
MOST_WORDS = (1, 2)  # in an n-gram of the TfidfVectorizer


# -- documents ---------------------------------------------------------------------------------------------------------


class Split(NamedTuple):
    train: np.ndarray  # numbers of documents, in the order of learning
    test: np.ndarray


class TextSet(NamedTuple):
    texts: np.ndarray
    labels: np.ndarray
    splits: list[Split]
    is_given: bool  # all splits have the same documents for training, in another order


def _pair(pair: tuple[str, str]) -> list[Document]:
    return [message for message in newsgroup_messages() if message.label in pair]


def _frequent_topics() -> list[Document]:
    stories = list(reuters_stories())
    counts = Counter(story.label for story in stories if story.is_training)
    topics = {topic for topic, _ in counts.most_common(TOPICS)}
    return [story for story in stories if story.label in topics]


SOURCES: dict[str, Callable[[], Any]] = {
    "20news": newsgroup_messages,
    **{name: partial(_pair, pair) for name, pair in NEWSGROUP_PAIRS.items()},
    **{f"amazon-{domain}": partial(amazon_reviews, domain) for domain in DOMAINS},
    "spamassassin": spamassassin_mails,
    "reuters": _frequent_topics,
    **{f"{FOLDS_OF}{name}": partial(_pair, pair) for name, pair in NEWSGROUP_PAIRS.items()},
}
ORDERS = {"20news": 3, "reuters": 3}  # of the training documents; else 5


def is_choosing(name: str) -> bool:
    """Whether the defaults were chosen by this set."""
    return name not in HELD_OUT and not name.startswith(FOLDS_OF)


@lru_cache(1)
def load(name: str) -> TextSet:
    texts, labels, is_training = zip(*SOURCES[name](), strict=True)
    y = np.unique(labels, return_inverse=True)[1]
    is_given = is_training[0] is not None and not name.startswith(FOLDS_OF)
    if is_given:
        train = np.array(is_training)
        parts = [(np.flatnonzero(train), np.flatnonzero(~train))] * ORDERS.get(name, 5)
    else:
        parts = list(StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(y, y))
    splits = [Split(np.random.default_rng(seed).permutation(train), test) for seed, (train, test) in enumerate(parts)]
    return TextSet(np.array(texts, dtype=object), y, splits, is_given)


# -- errors ------------------------------------------------------------------------------------------------------------


class Score(NamedTuple):
    """Wrong predictions; of a given split the mean over its orders, of folds the sum."""

    wrong: float
    tested: int

    @property
    def percent(self) -> float:
        return 100 * self.wrong / self.tested


def score(data: TextSet, predictions: Sequence[np.ndarray]) -> Score:
    """The score of the predictions for the test documents of the first splits."""
    tests = [split.test for split in data.splits[: len(predictions)]]
    wrong = [int(np.sum(data.labels[test] != found)) for test, found in zip(tests, predictions, strict=True)]
    if data.is_given:
        return Score(float(np.mean(wrong)), len(tests[0]))
    return Score(sum(wrong), sum(map(len, tests)))


def our_scores(name: str) -> dict[str, Score]:
    data = load(name)
    scores = {}
    for title, system in (OURS | VARIANTS if is_choosing(name) else OURS).items():
        found = []
        for seed, (train, test) in enumerate(data.splits):
            model = system.new(seed).fit(data.texts[train], data.labels[train])
            found.append(model.predict(data.texts[test]))
        scores[title] = score(data, found)
    return scores


@lru_cache(FOLDS)
def _tfidf(name: str, most_words: int, split: int) -> tuple[Any, Any]:
    """The training and the test part of a split, of a given split always in the same order."""
    data = load(name)
    train, test = data.splits[split]
    vectorizer = TfidfVectorizer() if most_words == 1 else TfidfVectorizer(ngram_range=(1, most_words))
    return vectorizer.fit_transform(data.texts[train]), vectorizer.transform(data.texts[test])


def rival_score(name: str, most_words: int, classifier: str, release: str) -> Score:
    """The score of a classifier of this release of scikit-learn."""
    data = load(name)
    found = []
    for seed in range(len(data.splits) if classifier in SEEDED or not data.is_given else 1):
        model = SEEDED[classifier](random_state=seed) if classifier in SEEDED else SEEDLESS[classifier]()
        split = 0 if data.is_given else seed
        X, X_test = _tfidf(name, most_words, split)
        found.append(model.fit(X, data.labels[data.splits[split].train]).predict(X_test))
    return score(data, found)


def rival_scores(name: str) -> dict[str, Score]:
    warnings.simplefilter("ignore")  # of limits of iterations, and of classes that will move
    cached = Memory(cache_folder() / "text_quality", verbose=0).cache(rival_score)
    scores = {}
    for most_words in MOST_WORDS:
        for classifier in (*SEEDED, *SEEDLESS):
            title = f"{classifier}, {'words' if most_words == 1 else f'(1, {most_words})'}"
            scores[title] = Score(*cached(name, most_words, classifier, sklearn.__version__))
    return scores


# -- report ------------------------------------------------------------------------------------------------------------

Scores = Mapping[str, Mapping[str, Score]]  # by set and system


def best_of(scores: Mapping[str, Score]) -> str:
    return min(scores, key=lambda system: scores[system].wrong)


def error_rows(ours: Scores, rivals: Scores, names: Sequence[str], systems: Iterable[str]) -> list[list[str]]:
    """Errors of systems of ours in percent, in bold where they are at most those of the best rival."""
    least = {name: rivals[name][best_of(rivals[name])].percent for name in names}

    def row(title: str, errors: Iterable[float]) -> list[str]:
        pairs = zip(errors, least.values(), strict=True)
        return [title, *(f"**{error:.2f}**" if error <= best else f"{error:.2f}" for error, best in pairs)]

    return [
        ["*best of scikit-learn*", *(f"{error:.2f}" for error in least.values())],
        *(row(system, (ours[name][system].percent for name in names)) for system in systems),
    ]


def rival_rows(rivals: Scores, names: Sequence[str]) -> list[list[str]]:
    """Errors of scikit-learn in percent."""
    systems = rivals[names[0]]
    return [[f"scikit-learn {title}", *(f"{rivals[name][title].percent:.2f}" for name in names)] for title in systems]


def comparison_rows(ours: Scores, rivals: Scores) -> list[list[str]]:
    """The defaults against the best rival of each set, in documents."""
    rows = []
    for name, scores in ours.items():
        best = best_of(rivals[name])
        mine, other = scores[DEFAULT], rivals[name][best]
        more = mine.wrong - other.wrong
        verdict = "no worse" if more <= 0 else f"**worse by {more:.1f}**"
        rows.append([name, f"{mine.tested:,}", f"{mine.wrong:.1f}", f"{other.wrong:.1f}", best, verdict])
    return rows


def main(words: Sequence[str]) -> None:
    parser = suite_parser("text_quality", __doc__)
    parser.add_argument("--sets", type=lambda text: text.split(","), default=list(SOURCES), help="default: all")
    options = parser.parse_args(words)
    if unknown := {*options.sets} - {*SOURCES}:
        parser.error(f"unknown sets {', '.join(sorted(unknown))}: there are {', '.join(SOURCES)}")
    report = Report("text_quality", options)
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        parts = [pool.map(scores_of, options.sets) for scores_of in (rival_scores, our_scores)]
        rivals, ours = (
            dict(zip(options.sets, tqdm(part, total=len(options.sets), unit="set", disable=None), strict=True))
            for part in parts
        )
    report.say(
        "Errors in percent; bold ones are at most those of the best of scikit-learn, which is chosen for each set. "
        f"scikit-learn {sklearn.__version__}; *words* is `TfidfVectorizer()`, *(1, 2)* adds `ngram_range=(1, 2)`."
    )
    for title, is_wanted in (
        ("Sets by which the defaults were chosen", is_choosing),
        ("Sets that were held out", HELD_OUT.__contains__),
        ("The pairs of newsgroups in five random folds", lambda name: name.startswith(FOLDS_OF)),
    ):
        if names := [name for name in options.sets if is_wanted(name)]:
            report.say(f"## {title}")
            report.table(["", *names], [*error_rows(ours, rivals, names, OURS), *rival_rows(rivals, names)])
    if names := [name for name in options.sets if is_choosing(name)]:
        report.say("## One option changed")
        report.table(["", *names], error_rows(ours, rivals, names, [UNCHANGED, *VARIANTS]))
    report.say("## The defaults against the best of scikit-learn")
    report.table(
        ["", "documents", "wrong", "of scikit-learn", "which is", "the defaults are"], comparison_rows(ours, rivals)
    )
    report.close()
