"""Whatever order things are done in, and by however many threads: the bits of the straight run."""

from __future__ import annotations

import copy
import gzip
import itertools
import os
import pickle
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import sparse
from sklearn.base import clone

import cwlearn as package
from cwlearn.cli.terminal import TerminalMonitor
from cwlearn.core import learner as learner_module
from cwlearn.core import merging, rules
from cwlearn.core.learner import Learner
from cwlearn.core.rows import as_rows
from cwlearn.core.training import Training
from cwlearn.errors import DataError
from cwlearn.estimators.loading import CLASSIFIERS
from cwlearn.parallel.sharing import Sharing
from cwlearn.parallel.tasks import Plan, Shard
from cwlearn.parallel.threads import train_in_threads
from cwlearn.text.reader import Reader, Reading
from cwlearn.text.resources import Resources
from cwlearn.text.run import Run
from cwlearn.text.sources import Source
from tests.cases import RULES, labelled_rows, random_rows, rule_id
from tests.text.test_svmlight import everything
from tests.text_cases import SMALL, bits, cwlearn, random_text, set_chunk_bytes, succeed, svmlight

QUICK = settings(deadline=None, derandomize=True, max_examples=7)
WIDTH = 12
THREADS = range(1, 9)

LINEAR = [
    package.AROWClassifier(),
    package.AROWClassifier(0.7, initial_variance=0.5, fit_intercept=False),
    package.AROWClassifier(average=True),
    package.CWClassifier(0.8, form="stdev", projection="exact"),
    package.SCWClassifier(0.7, C=0.2),
    package.NHERDClassifier(),
    package.PassiveAggressiveClassifier(0.05, average=True),
    package.SOPClassifier(),
    package.LogisticClassifier(),
    package.AROWRegressor(),
]
FULL = [
    package.AROWClassifier(0.7, covariance="full"),
    package.CWClassifier(0.8, covariance="full"),
    package.SOPClassifier(covariance="full"),
]
KERNEL = [package.KernelAROWClassifier(gamma=0.3), package.KernelCWClassifier(gamma=0.3, budget=9)]


def estimator_id(estimator):
    return repr(estimator).replace(" ", "").replace("\n", "")


def some_rows(size, width, n_labels, seed):
    """Rows with labels or, where there are none, with targets; the last row is empty."""
    if n_labels == 2:
        return random_rows(size, width, seed=seed, noise=0.2)
    X, y = labelled_rows(size, width, max(n_labels, 3), seed=seed, noise=0.2)
    return X, y if n_labels else np.round(y + X.sum(axis=1).A1, 2)


def answers(model, X):
    """All that a model says of itself and of rows."""
    found = {name: getattr(model, name) for name in ("coef_", "intercept_", "variance_") if hasattr(model, name)}
    found |= dict(zip(("mean", "variance"), model.margin(X), strict=True))
    for name in ("predict", "decision_function", "predict_proba"):
        if hasattr(model, name):
            found[name] = getattr(model, name)(X)
    return {name: np.asarray(value) for name, value in found.items()}


def same(ours, theirs):
    """Whether answers are the same to the bit."""
    return [(name, value.dtype, value.shape, value.tobytes()) for name, value in ours.items()] == [
        (name, value.dtype, value.shape, value.tobytes()) for name, value in theirs.items()
    ]


# -- interleavings -----------------------------------------------------------------------------------------------------


class Story:
    """A model to which things are done, and what the straight run needs to know of them."""

    def __init__(self, estimator, n_labels, seed, folder):
        self.n_labels, self.folder = n_labels, Path(folder)
        self.classes = {0: [], 2: [-1.0, 1.0], 3: [0.0, 1.0, 2.0]}[n_labels]
        self.straight_steps = []  # rows, or a function from one learner to another
        self.model = self.new(estimator)
        self.new_rows(seed, self.begin)

    def new(self, estimator):
        return clone(estimator).set_params(epochs=1, shuffle=False, warm_start=True)

    @property
    def width(self):
        return self.model.n_features_in_ if hasattr(self.model, "n_features_in_") else WIDTH

    @property
    def diagonal(self):
        return getattr(self.model, "covariance", "diagonal") == "diagonal"

    def rows(self, seed, wider=0):
        return some_rows(1 + seed % 9, self.width + wider, self.n_labels, seed)

    def new_rows(self, seed, learn, wider=0):
        X, y = self.rows(seed, wider)
        self.straight_steps.append((X, y))
        learn(X, y, seed)

    def begin(self, X, y, seed):
        self.model.partial_fit(X, y, **({"classes": self.classes} if self.classes else {}))

    def learn(self, seed):
        self.new_rows(seed, lambda X, y, _: self.model.partial_fit(X, y))

    def fit(self, seed):
        self.new_rows(seed, lambda X, y, _: self.model.fit(X, y))

    # Text.

    def written(self, X, y, seed):
        content = svmlight(X, y, names=None).encode()
        path = self.folder / ("part.svm.gz" if seed % 3 == 0 else "part.svm")
        path.write_bytes(gzip.compress(content) if seed % 3 == 0 else content)
        return path

    def read(self, seed):
        self.new_rows(seed, self.train)

    def train(self, X, y, seed):
        package.train(self.written(X, y, seed), self.model, n_features=X.shape[1], threads=1 + seed % 4)

    def resume(self, seed):
        self.new_rows(seed, self.command)

    def command(self, X, y, seed):
        path, name = self.written(X, y, seed), self.folder / "m.npz"
        self.model.save(name)
        succeed("train", path, "-m", name, "--resume", name, "--epochs", 1, "--quiet", "--threads", 1 + seed % 4)
        self.taken_up(name)

    def grow(self, seed):
        """Wider rows, as only text may have; with a full covariance, wider sums are rounded in another order."""
        self.new_rows(seed, self.train, 3 if self.diagonal else 0)

    # Keeping.

    def taken_up(self, name):
        self.model = package.load(name).set_params(epochs=1, shuffle=False, warm_start=True)

    def keep(self, seed):
        self.model.save(self.folder / "m.npz")
        self.taken_up(self.folder / "m.npz")

    def pickle(self, seed):
        self.model = pickle.loads(pickle.dumps(self.model))

    def copy(self, seed):
        self.model = copy.deepcopy(self.model)

    def look(self, seed):
        answers(self.model, self.rows(seed)[0])

    # Merging.

    def how(self, seed):
        return ["posterior", "kl", "l2"][seed % 3] if self.model._learner.rule.second_order else "l2"

    def back(self, model, seed):
        """The model or, as often, what is read back from its file."""
        if seed % 2:
            return model
        model.save(self.folder / "other.npz")
        return package.load(self.folder / "other.npz")

    def merge(self, seed):
        """With one that has learned by itself, from fewer or more features."""
        how, (X, y) = self.how(seed), some_rows(8, WIDTH + seed % 5, self.n_labels, seed)
        other = self.new(self.model).partial_fit(X, y, **({"classes": self.classes} if self.classes else {}))
        self.straight_steps.append(lambda learner: merged([learner, other._learner], how))
        self.model = package.merge([self.model, self.back(other, seed)], how)

    def part(self, seed):
        """Two copies part ways, and what they were counts once."""
        how, shares = self.how(seed), [self.rows(seed), self.rows(seed + 1)]

        def straight(learner):
            twins = [copy.deepcopy(learner) for _ in shares]
            for twin, share in zip(twins, shares, strict=True):
                learn(twin, *share)
            return merged(twins, how, learner)

        self.straight_steps.append(straight)
        twins = [copy.deepcopy(self.model).partial_fit(*share) for share in shares]
        twins = [self.back(twin, seed // 3) for twin in twins]
        self.model = package.merge(twins, how, self.back(self.model, seed // 5))

    # The other way.

    def straight(self):
        """What a learner comes to that gets all rows between two merges at once."""
        rule, training, kernel = self.model._options()
        learner = Learner(rule, training, np.array(self.classes), WIDTH, kernel)
        for of_rows, steps in itertools.groupby(self.straight_steps, lambda step: isinstance(step, tuple)):
            if of_rows:
                parts = [*steps]
                width = max(learner.state.n_features, *(X.shape[1] for X, _ in parts))
                for X, _ in parts:
                    X.resize(X.shape[0], width)
                learner.grow(width)
                learn(learner, sparse.vstack([X for X, _ in parts]).tocsr(), np.concatenate([y for _, y in parts]))
            else:
                for step in steps:
                    learner = step(learner)
        return learner


def learn(learner, X, y):
    learner.learn(as_rows(X, learner.state.dtype), learner.encode(y))


def merged(learners, how, base=None):
    return merging.merge([(f"model {number}", learner) for number, learner in enumerate(learners)], how, base)


def told(estimator, n_labels, first, steps, folder):
    """A story to its end, and rows to ask its model about."""
    story = Story(estimator, n_labels, first, folder)
    for name, seed in steps:
        getattr(story, name)(seed)
    return story, some_rows(20, story.width, n_labels, 99)[0]


SEEDS = st.integers(0, 10**4)
DTYPES = st.sampled_from(["float32", "float64"])
EASY = ["learn", "fit", "keep", "pickle", "copy", "look"]
ALL = [*EASY, "read", "resume", "grow", "merge", "part"]


@pytest.mark.parametrize("estimator", [*LINEAR, *FULL], ids=estimator_id)
@QUICK
@given(
    n_labels=st.sampled_from([2, 3]),
    dtype=DTYPES,
    first=SEEDS,
    steps=st.lists(st.tuples(st.sampled_from(ALL), SEEDS), min_size=2, max_size=10),
)
def test_learning_keeping_and_merging_in_any_order_give_the_bits_of_the_straight_run(
    estimator, n_labels, dtype, first, steps
):
    n_labels = 0 if isinstance(estimator, package.AROWRegressor) else n_labels
    with TemporaryDirectory() as folder:
        story, X = told(clone(estimator).set_params(dtype=dtype), n_labels, first, steps, folder)
        straight = story.straight()
        assert bits(story.model._learner) == bits(straight)
        assert same(answers(story.model, X), answers(clone(story.model)._adopt(straight), X))


@pytest.mark.parametrize("estimator", KERNEL, ids=estimator_id)
@QUICK
@given(
    n_labels=st.sampled_from([2, 3]),
    first=SEEDS,
    steps=st.lists(st.tuples(st.sampled_from(EASY), SEEDS), min_size=2, max_size=10),
)
def test_kernel_models_that_are_kept_and_copied_are_those_of_the_straight_run_but_for_rounding(
    estimator, n_labels, first, steps
):
    """BLAS adds up in an order that depends on how many rows come at once, and on how much room there is for more."""
    with TemporaryDirectory() as folder:
        story, X = told(estimator, n_labels, first, steps, folder)
        straight = clone(story.model)._adopt(story.straight())
        assert story.model._learner.statistics["updates"] == straight._learner.statistics["updates"]
        for ours, theirs in zip(story.model.margin(X), straight.margin(X), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("estimator", [*LINEAR, *FULL], ids=estimator_id)
@QUICK
@given(
    how=st.sampled_from(["posterior", "kl", "l2"]),
    n_labels=st.sampled_from([2, 3]),
    seeds=st.lists(SEEDS, min_size=1, max_size=5),
    order=st.randoms(use_true_random=False),
    with_base=st.booleans(),
)
def test_models_merge_in_any_order_and_grouping_to_the_dense_sum(estimator, how, n_labels, seeds, order, with_base):
    """Of different widths: what a model does not have is as it was in the beginning.  Matrices, in NumPy's words."""
    n_labels = 0 if isinstance(estimator, package.AROWRegressor) else n_labels
    new = clone(estimator).set_params(dtype="float64")
    rule, training, _ = new._options()
    how = how if rule.second_order else "l2"
    classes = np.array({0: [], 2: [-1.0, 1.0], 3: [0.0, 1.0, 2.0]}[n_labels])
    base = Learner(rule, training, classes, WIDTH)
    learn(base, *some_rows(9, WIDTH, n_labels, 5))
    learners = []
    for seed in seeds:
        width = WIDTH + seed % 3
        learner = copy.deepcopy(base) if with_base else Learner(rule, training, classes, width)
        learner.grow(width)
        learn(learner, *some_rows(1 + seed % 20, width, n_labels, seed))
        learners.append(learner)
    sums = [merging.Sum.of(how, learner, "model", base if with_base else None) for learner in learners]
    while len(sums) > 1:
        order.shuffle(sums)
        sums.append(sums.pop() + sums.pop())
    found = sums[0].learner(base if with_base else None)
    width = max(learner.state.n_features for learner in learners)
    for block in range(found.state.blocks):
        mean, covariance = dense_sum(learners, how, base if with_base else None, block, width)
        ours = gaussian(found, block, width)
        np.testing.assert_allclose(ours[1], covariance, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(ours[0], mean, rtol=1e-9, atol=1e-9)


def gaussian(learner, block, width):
    """Mean and covariance of one label, widened by the prior."""
    learner = copy.deepcopy(learner)
    learner.grow(width)
    state, full = learner.state, learner.rule.covariance == "full"
    mean, variance = state.mean.reshape(width + 1, -1)[:, block], state.variance.reshape(width + 1, -1)[:, block]
    return mean, state.covariance(block) if full else np.diag(variance)


def dense_sum(learners, how, base, block, width):
    """The sum of the natural parameters, less what all began with, or the plain average."""
    means, covariances = zip(*(gaussian(learner, block, width) for learner in learners), strict=True)
    if how == "l2":
        return np.mean(means, axis=0), np.mean(covariances, axis=0)
    precisions = [np.linalg.inv(covariance) for covariance in covariances]
    total, place = sum(precisions), sum(A @ mean for A, mean in zip(precisions, means, strict=True))
    rows = [learner.statistics["rows"] for learner in learners]
    first, count = np.zeros(width + 1), len(learners)
    if base is not None:
        first, S = gaussian(base, block, width)
        before = np.linalg.inv(S)
        total, place = total - (count - 1) * before, place - (count - 1) * before @ first
    else:
        before = np.eye(width + 1) / learners[0].state.initial_variance
        origins = np.array([learner.origin for learner in learners])
        times = count if how == "kl" else 1
        first[0] = times * (origins @ rows) / sum(rows) - origins.sum()
        total, place = total - (count - times) * before, place + before @ first
    return np.linalg.solve(total, place), np.linalg.inv(total)


# -- text --------------------------------------------------------------------------------------------------------------

MODES = {
    "one pass": ["--epochs", 1],
    "shuffled": ["--epochs", 2, "--seed", 4],
    "cache": ["--epochs", 2, "--seed", 4, "--memory", SMALL],
    "average": ["--epochs", 2, "-a", "perceptron", "--average"],
}


@pytest.mark.parametrize("mode", MODES)
@QUICK
@given(stops=st.lists(st.integers(1, 12), max_size=6), threads=st.sampled_from(THREADS))
def test_a_run_that_is_interrupted_again_and_again_comes_to_the_bits_of_one_that_is_not(mode, stops, threads):
    """Each time it goes on from its checkpoint, for a few blocks of rows."""
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        text, model = Path(folder, "data.svm"), Path(folder, "m.npz")
        text.write_text(random_text(), newline="")
        set_chunk_bytes(patch, 400)
        patch.setattr(learner_module, "BLOCK_EFFORT", 60)
        words = ["train", text, "-m", model, "--quiet", "--threads", threads, *MODES[mode]]
        succeed(*words)
        expected = model.read_bytes()
        model.unlink()

        learned, left = TerminalMonitor.learned, 0

        def interrupted(self, run, rows):
            nonlocal left
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGINT)
            learned(self, run, rows)

        patch.setattr(TerminalMonitor, "learned", interrupted)
        checkpoint, resume = Path(folder, "m.npz.checkpoint"), []
        for left in stops:  # noqa: B007
            if cwlearn(*words, *resume, "--checkpoint", 60).status == 0:
                break
            resume = ["--resume", checkpoint]
        left = 0
        if not model.exists():
            succeed(*words, *resume)
        assert model.read_bytes() == expected


# -- batches -----------------------------------------------------------------------------------------------------------

MATRICES = arrays.arrays(
    np.float32,
    arrays.array_shapes(min_dims=2, max_dims=2, max_side=8),
    elements=st.floats(-8, 8, width=32),
    fill=st.just(np.float32(0)),
).map(sparse.csr_matrix)
FULL_RULES = [rules.AROW(0.7, covariance="full"), rules.SCW(covariance="full"), rules.SOP(covariance="full")]


@pytest.mark.parametrize("rule", [*RULES, *FULL_RULES], ids=rule_id)
@QUICK
@given(X=MATRICES, n_labels=st.sampled_from([2, 3]), labels=st.randoms(use_true_random=False), dtype=DTYPES)
def test_a_batch_is_its_rows_one_by_one(rule, X, n_labels, labels, dtype):
    """Learning to the bit, and predicting too where no BLAS adds up."""
    classes = [-1.0, 1.0] if n_labels == 2 else [0.0, 1.0, 2.0]
    y = np.array(labels.choices(classes, k=X.shape[0]))
    parameters = {item.name: getattr(rule, item.name) for item in fields(rule)}
    new = CLASSIFIERS[rule.name](**parameters, dtype=dtype)
    whole, single = clone(new).partial_fit(X, y, classes=classes), clone(new)
    for row in range(X.shape[0]):
        single.partial_fit(X[[row]], y[[row]], classes=classes)
    assert bits(whole._learner) == bits(single._learner)
    if len(set(y)) == n_labels:
        fitted = clone(new).set_params(epochs=1, shuffle=False).fit(X, y)
        assert bits(whole._learner) == bits(fitted._learner)
    together = answers(whole, X)
    alone = [answers(whole, X[[row]]) for row in range(X.shape[0])]
    for name in together.keys() - {"coef_", "intercept_", "variance_"}:
        found = np.concatenate([answer[name] for answer in alone])
        if rule.covariance == "full" and found.dtype.kind == "f":
            np.testing.assert_allclose(found, together[name], rtol=1e-12, atol=1e-12)
        else:
            assert found.tobytes() == together[name].tobytes(), name


# -- threads -----------------------------------------------------------------------------------------------------------

NUMBERS = st.sampled_from(["1", "-0.5", "2.25e-3", "+7", "0.1234567890123", "3e38", "x"])
ENTRIES = st.dictionaries(st.integers(0, 40), NUMBERS, max_size=6).map(
    lambda row: "".join(f" {index}:{value}" for index, value in sorted(row.items()))
)
LINES = st.one_of(
    st.tuples(st.sampled_from(["-1", "+1", "1.0", "-1 qid:3", "2"]), ENTRIES).map("".join),
    st.sampled_from(["", " \t", "# a comment that is longer than a chunk", "1 1:1 # a comment", "1 3:1 2:1", "bad"]),
)
TEXTS = st.tuples(
    st.lists(st.tuples(LINES, st.sampled_from(["\n", "\r\n"])).map("".join), max_size=25).map("".join),
    st.sampled_from(["1 1:1\n-1 2:1", "1 1:1\n-1 2:1\n"]),
).map("".join)
CHUNKS = st.integers(16, 300)


def delivered(reader):
    """All that comes of a text: rows, lines that are skipped, and the error at the end."""
    errors = []

    def batches():
        try:
            yield from reader
        except DataError as error:
            errors.append(str(error))

    told = []
    reader.tell = lambda flaw: told.append(str(flaw))
    return everything(batches()), told, errors


@pytest.mark.parametrize("on_bad_line", ["error", "skip"])
@QUICK
@given(text=TEXTS, chunk_bytes=CHUNKS)
def test_t01_any_text_is_read_to_the_same_rows_and_errors_by_any_number_of_threads(on_bad_line, text, chunk_bytes):
    with TemporaryDirectory() as folder:
        path = Path(folder, "data.svm")
        path.write_text(text, newline="")
        reading = Reading(on_bad_line=on_bad_line, max_bad=9)
        expected = delivered(Reader(path, reading, queries=True, threads=1))
        for threads in THREADS:
            reader = Reader(path, reading, queries=True, threads=threads, chunk_bytes=chunk_bytes)
            assert delivered(reader) == expected


@pytest.mark.parametrize("rule", [rules.AROW(), rules.Perceptron(average=True)], ids=rule_id)
@QUICK
@given(text=TEXTS, chunk_bytes=CHUNKS, epochs=st.sampled_from([1, 2]))
def test_t01_any_text_is_learned_to_the_same_bits_by_any_number_of_threads(rule, text, chunk_bytes, epochs):
    with TemporaryDirectory() as folder:
        path = Path(folder, "data.svm")
        path.write_text(text, newline="")
        training = Training(epochs=epochs, shuffle=epochs > 1, random_state=3)
        found = set()
        for threads in THREADS:
            space, reading = Resources(threads=threads), Reading(on_bad_line="skip")
            try:
                learner = Run([str(path)], rule, training, reading, space, chunk_bytes=chunk_bytes).train()
                found.add(str((bits(learner), learner.label_texts)))
            except DataError as error:  # numbers too large to learn from
                found.add(str(error))
        assert len(found) == 1


@pytest.mark.parametrize("how", ["posterior", "l2"])
@QUICK
@given(text=TEXTS, pieces=st.integers(1, 6), rounds=st.sampled_from([1, 2]))
def test_t01_shards_give_the_same_bits_to_any_number_of_workers(how, text, pieces, rounds):
    with TemporaryDirectory() as folder:
        path = Path(folder, "data.svm")
        path.write_text(text, newline="")
        shards = [Shard(part, part.full_name) for part in Source(str(path)).split(pieces)]
        plan = Plan(rules.AROW(), Training(epochs=2), how, Reading(on_bad_line="skip"), seed=5)
        found = set()
        for workers in THREADS:
            sharing = Sharing(workers=workers, rounds=rounds, how=how, skip_bad_shards=True)
            learner, share = train_in_threads(shards, plan, sharing)
            found.add(str((bits(learner), share.rows, share.failures, share.skipped_lines)))
        assert len(found) == 1


@pytest.mark.parametrize("estimator", [*LINEAR, *FULL, *KERNEL], ids=estimator_id)
@pytest.mark.parametrize("n_labels", [2, 3])
def test_threads_that_ask_a_new_model_for_the_first_time_get_the_answers_of_one(estimator, n_labels):
    """All at the same moment, while what predicts has still to be derived from the state."""
    if isinstance(estimator, package.AROWRegressor):
        n_labels = 0
    X, y = some_rows(40, WIDTH, n_labels, 1)
    model = clone(estimator).set_params(random_state=0).fit(X, y)
    expected = answers(copy.deepcopy(model), X)
    with ThreadPoolExecutor(8) as pool:
        for _ in range(3):
            new, start = copy.deepcopy(model), threading.Barrier(8)

            def ask(_, new=new, start=start):
                start.wait()
                return answers(new, X)

            assert all(same(found, expected) for found in pool.map(ask, range(8)))
