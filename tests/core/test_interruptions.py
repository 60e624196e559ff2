"""Signals, threads and forks during learning: the model has learned a row completely or not at all."""

from __future__ import annotations

import contextlib
import copy
import os
import pickle
import signal
import threading
import warnings

import numpy as np
import pytest

import cwlearn
from cwlearn.core import rules
from cwlearn.core.learner import Learner
from cwlearn.core.states import diagonal as diagonal_state
from cwlearn.core.states import projected as projected_state
from cwlearn.estimators import base as online_estimator
from cwlearn.utils.locks import LostLockError
from tests.cases import RULES, new_learner, random_rows, rows_of, rule_id
from tests.text_cases import bits, random_text

SIGNALS = [signal.SIGINT, signal.SIGALRM]


class Interrupted(BaseException):
    pass


@contextlib.contextmanager
def handlers_that_raise():
    def interrupt(number, frame):
        raise Interrupted

    before = {number: signal.signal(number, interrupt) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("rule", RULES, ids=rule_id)
def test_x01_a_signal_as_a_block_of_rows_has_been_learned_loses_no_count(rule, number, monkeypatch):
    X, y = random_rows(noise=0.1)
    whole, broken_off = new_learner(rule), new_learner(rule)
    whole.learn(rows_of(X, whole), y)
    learn_rows = diagonal_state.learn_rows

    def interrupted(*arguments):
        learn_rows(*arguments)
        signal.raise_signal(number)

    monkeypatch.setattr(diagonal_state, "learn_rows", interrupted)
    with handlers_that_raise(), pytest.raises(Interrupted):
        broken_off.learn(rows_of(X, broken_off), y)
    assert bits(broken_off) == bits(whole)


def test_x01_a_signal_while_the_kernel_runs_loses_no_count():
    """The averaged perceptron predicts with its counts: with wrong ones it was right in 27 % of the rows."""
    X, y = random_rows(100_000, 50, seed=3, noise=0.05)
    model = cwlearn.PerceptronClassifier(average=True).partial_fit(X[:10], y[:10], classes=[-1, 1])
    with handlers_that_raise(), contextlib.suppress(Interrupted):
        signal.setitimer(signal.ITIMER_REAL, 0.002)
        model.partial_fit(X, y)
    signal.setitimer(signal.ITIMER_REAL, 0)
    straight = cwlearn.PerceptronClassifier(average=True).partial_fit(X[:10], y[:10], classes=[-1, 1])
    if model._learner.statistics["rows"] > 10:
        straight.partial_fit(X, y)
    assert bits(model._learner) == bits(straight._learner)


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("covariance", ["full", "kernel"])
def test_x01_a_signal_between_the_steps_of_a_row_waits_for_its_end(covariance, number, monkeypatch):
    X, y = random_rows()
    new = cwlearn.KernelAROWClassifier if covariance == "kernel" else lambda: cwlearn.AROWClassifier(covariance="full")
    model, straight = (new().partial_fit(X[:10], y[:10], classes=[-1, 1]) for _ in range(2))
    straight.partial_fit(X[10:11], y[10:11])
    learn_rows = projected_state.learn_rows

    def interrupted(*arguments):
        signal.raise_signal(number)
        return learn_rows(*arguments)

    monkeypatch.setattr(projected_state, "learn_rows", interrupted)
    with handlers_that_raise(), pytest.raises(Interrupted):
        model.partial_fit(X[10:], y[10:])
    assert pickle.dumps(model) == pickle.dumps(straight)


@pytest.mark.parametrize("take", [pickle.dumps, copy.deepcopy, lambda model: cwlearn.merge([model], how="l2")])
def test_x01_a_copy_is_made_before_or_after_a_block_that_another_thread_learns(take, monkeypatch):
    X, y = random_rows()
    model = cwlearn.PerceptronClassifier(average=True).partial_fit(X[:10], y[:10], classes=[-1, 1])
    copies, copied = [], threading.Event()
    learn_rows = diagonal_state.learn_rows

    def make_copy():
        copies.append(take(model))
        copied.set()

    def slow(*arguments):
        done = learn_rows(*arguments)
        thread.start()
        assert not copied.wait(0.2)
        return done

    thread = threading.Thread(target=make_copy)
    monkeypatch.setattr(diagonal_state, "learn_rows", slow)
    model.partial_fit(X[10:], y[10:])
    thread.join()
    monkeypatch.undo()
    twin = pickle.loads(copies[0]) if isinstance(copies[0], bytes) else copies[0]
    assert twin._learner.statistics == model._learner.statistics
    assert np.allclose(twin.coef_, model.coef_, rtol=1e-6)


@pytest.mark.parametrize("predicted_before", [False, True])
def test_x01_predictions_are_of_a_moment_before_or_after_a_block_that_another_thread_learns(
    predicted_before, monkeypatch
):
    """The averaged perceptron predicts with weights and counts: with those of two moments it was right in 6 %."""
    X, y = random_rows()
    model = cwlearn.PerceptronClassifier(average=True).partial_fit(X[:10], y[:10], classes=[-1, 1])
    before = copy.deepcopy(model).decision_function(X)
    if predicted_before:
        model.predict(X)
    predictions = []
    learn_rows = diagonal_state.learn_rows

    def half_done(*arguments):
        *others, counts = arguments
        later = counts.copy()
        done = learn_rows(*others, later)
        thread.start()
        thread.join(0.2)
        counts[:] = later
        return done

    thread = threading.Thread(target=lambda: predictions.append(model.decision_function(X)))
    monkeypatch.setattr(diagonal_state, "learn_rows", half_done)
    model.partial_fit(X[10:], y[10:])
    thread.join()
    after = model.decision_function(X)
    assert not np.array_equal(before, after)
    assert np.array_equal(predictions[0], before if predicted_before else after)


def in_child(check):
    """Fork, and run `check` in the child; return its exit status, or None if it hung."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads that a fork loses: what is tried here
        child = os.fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(10)  # which ends a child that hangs
        status = 1
        with contextlib.suppress(BaseException):
            check()
            status = 0
        os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@contextlib.contextmanager
def stopped_within(module, name, monkeypatch, work):
    """Another thread does `work` and waits inside a function until the end."""
    inside, go_on = threading.Event(), threading.Event()
    original = getattr(module, name)

    def stop(*arguments, **keywords):
        if threading.current_thread() is thread:
            inside.set()
            go_on.wait(20)
        return original(*arguments, **keywords)

    thread = threading.Thread(target=work)
    monkeypatch.setattr(module, name, stop)
    thread.start()
    assert inside.wait(10)
    try:
        yield
    finally:
        go_on.set()
        thread.join()
        monkeypatch.undo()


@pytest.mark.parametrize(
    ("module", "name"), [(online_estimator, "as_rows"), (diagonal_state, "learn_rows")], ids=["beginning", "learning"]
)
def test_x15_a_fork_while_a_thread_learns_leaves_other_models_free(module, name, monkeypatch):
    X, y = random_rows()
    model, other = cwlearn.AROWClassifier(), cwlearn.AROWClassifier()
    with stopped_within(module, name, monkeypatch, lambda: model.partial_fit(X, y, classes=[-1, 1])):
        assert in_child(lambda: other.partial_fit(X, y, classes=[-1, 1]).predict(X)) == 0
    assert bits(model._learner) == bits(other.partial_fit(X, y, classes=[-1, 1])._learner)


def test_x15_a_model_that_was_learning_at_a_fork_is_refused_in_the_child(monkeypatch, tmp_path):
    X, y = random_rows()
    model = cwlearn.AROWClassifier().partial_fit(X, y, classes=[-1, 1])

    def check():
        for use in (lambda: model.partial_fit(X, y), lambda: model.save(tmp_path / "m"), lambda: pickle.dumps(model)):
            with pytest.raises(LostLockError, match="forked while another thread changed this model"):
                use()

    with stopped_within(diagonal_state, "learn_rows", monkeypatch, lambda: model.partial_fit(X, y)):
        assert in_child(check) == 0
    assert model.partial_fit(X, y)._learner.statistics["rows"] == 3 * len(y)


def test_x15_a_fork_by_the_thread_that_learns_keeps_the_model():
    X, y = random_rows()
    learner = new_learner(rules.AROW())
    statuses = []

    def fork(done):
        statuses.append(in_child(lambda: pickle.dumps(learner)))

    learner.learn(rows_of(X, learner), y, report=fork)
    assert statuses == [0]


def test_x15_a_fork_while_a_thread_limits_blas_leaves_full_covariances_free(monkeypatch):
    X, y = random_rows()
    model, other = (cwlearn.AROWClassifier(covariance="full") for _ in range(2))
    limiter = type("Limiter", (), {"limit": projected_state._controller().limit})()
    monkeypatch.setattr(projected_state, "_controller", lambda: limiter)
    with stopped_within(limiter, "limit", monkeypatch, lambda: model.partial_fit(X, y, classes=[-1, 1])):
        assert in_child(lambda: other.partial_fit(X, y, classes=[-1, 1])) == 0


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_x15_a_stream_that_goes_on_in_a_child_is_an_error_there(threads, tmp_path):
    path = tmp_path / "data.svm"
    path.write_text(random_text(3000))
    whole = [len(y) for _, y in cwlearn.iter_svmlight(path, rows=100, threads=threads)]
    batches = cwlearn.iter_svmlight(path, rows=100, threads=threads)
    first = len(next(batches)[1])

    def check():
        with pytest.raises(RuntimeError, match="forked from"):
            list(batches)

    assert in_child(check) == 0
    assert [first, *(len(y) for _, y in batches)] == whole


def test_x15_threads_that_begin_with_one_estimator_make_one_model():
    X, y = random_rows(200)
    for _ in range(20):
        model = cwlearn.AROWClassifier()
        barrier = threading.Barrier(4)

        def learn(model=model, barrier=barrier):
            barrier.wait()
            model.partial_fit(X, y, classes=[-1, 1])

        threads = [threading.Thread(target=learn) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert isinstance(model._learner, Learner)
        assert model._learner.statistics["rows"] == 4 * len(y)
