"""Memory that runs out and disks that fail, at any call of the C library: an error, and everything as it was.

`injected_faults.c` is compiled and preloaded into a process of its own, in which a trial is repeated until no fault
is left to be hit.  The names E02 ... are the rows of docs/odd_inputs.md that each test answers for.
"""

from __future__ import annotations

import copy
import ctypes
import errno
import gzip
import itertools
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from cwlearn.core import model_file, rules
from cwlearn.core.kernel_options import KernelOptions
from cwlearn.core.learner import Learner
from cwlearn.core.training import Training
from cwlearn.text.reader import Reader
from cwlearn.text.resources import Resources
from cwlearn.text.run import Run
from tests.cases import labelled_rows, new_learner, random_rows, rows_of
from tests.text.test_svmlight import everything
from tests.text_cases import ENVIRONMENT, SMALL, bits, cwlearn, explained, labelled_text, random_text

ALLOCATE, READ, WRITE, FSYNC, CLOSE, RENAME = range(1, 7)  # as in injected_faults.c


@pytest.fixture(scope="session")
def shim(tmp_path_factory):
    """The library to preload."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if sys.platform != "linux" or compiler is None:
        pytest.skip("calls of the C library are replaced on Linux only, by what a C compiler makes")
    if "LD_PRELOAD" in os.environ:
        pytest.skip("LD_PRELOAD is in use already, as under the sanitizers")
    library = tmp_path_factory.mktemp("shim") / "injected_faults.so"
    source = Path(__file__).with_name("injected_faults.c")
    made = subprocess.run(
        [compiler, "-shared", "-fPIC", "-O1", "-Wl,-z,defs", "-o", library, source, "-ldl"], capture_output=True
    )
    if made.returncode and platform.libc_ver()[0] != "glibc":
        pytest.skip(f"no such C library here: {made.stderr.decode()}")
    assert not made.returncode, made.stderr.decode()
    return library


NURSERY = """
import json, os, signal, sys, tempfile, traceback
from tests.proof import test_injected_faults as here
for line in sys.stdin:
    folder, name, arguments = json.loads(line)
    child = os.fork()
    if child == 0:
        try:
            signal.alarm(120)
            tempfile.tempdir = folder
            getattr(here, name)(*arguments)
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@pytest.fixture(scope="session")
def nursery(shim):
    """A process with the library in it, that forks one for each trial."""
    environment = {**ENVIRONMENT, "LD_PRELOAD": str(shim), "PYTHONMALLOC": "malloc", "OPENBLAS_NUM_THREADS": "1"}
    with subprocess.Popen(
        [sys.executable, "-c", NURSERY],
        env=environment,
        cwd=Path(__file__).parents[2],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield process
        process.stdin.close()


@pytest.fixture
def in_child(nursery, tmp_path):
    """Call a function of this file in a process with faults; what it prints is shown if the test fails."""

    def call(trial, *arguments):
        print(json.dumps([str(tmp_path), trial.__name__, arguments]), file=nursery.stdin, flush=True)
        assert int(nursery.stdout.readline()) == 0

    return call


class Faults:
    """One fault after the other, until one is not hit."""

    def __init__(self, call, error=0, least=0, folder=""):
        library = ctypes.CDLL(None)
        self._arm, self._disarm = library.fault_arm, library.fault_disarm
        self._arm.argtypes = [ctypes.c_int, ctypes.c_long, ctypes.c_int, ctypes.c_size_t, ctypes.c_char_p]
        self._call, self._words = call, (error, least, str(folder).encode())

    def outcomes(self, action, prepare=lambda: None):
        """What comes of an action under each of them: its result, or the error."""
        prepare()
        action()  # which fetches modules, and fills caches
        for number in itertools.count(1):
            prepare()
            self._arm(self._call, number, *self._words)
            try:
                outcome = action()
            except Exception as error:
                outcome = error
            hit = self._disarm()
            yield outcome
            if not hit:
                return


# -- memory ------------------------------------------------------------------------------------------------------------

ARRAY = 1 << 11  # bytes of our arrays, and more than most of what NumPy takes for itself, and forgets to check
LARGE = 1 << 17  # more than all of that
TOLD = (MemoryError, SystemError)  # the latter is what NumPy says where it forgets to say the former


def read_text(folder, packed, threads):
    path = Path(folder, "data.svm")
    path.write_bytes(gzip.compress(random_text(300).encode()) if packed else random_text(300).encode())
    expected = everything(Reader(path, threads=1))
    reader = Reader(path, threads=threads, chunk_bytes=2000)
    outcomes = [*Faults(ALLOCATE, least=ARRAY).outcomes(lambda: everything(reader))]
    assert len(outcomes) > 30
    assert outcomes.pop() == expected
    for outcome in outcomes:
        assert isinstance(outcome, MemoryError) or outcome == expected, outcome


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("packed", [False, True])
def test_e04_memory_that_runs_out_in_the_reader_is_a_memory_error(packed, threads, in_child, tmp_path):
    in_child(read_text, str(tmp_path), packed, threads)


NEW = {
    "diagonal": lambda: new_learner(rules.AROW(), 300),
    "averaged": lambda: new_learner(rules.PassiveAggressive(average=True), 300),
    "many labels": lambda: new_learner(rules.AROW(), n_labels=300, n_constraints=None),
    "full": lambda: new_learner(rules.AROW(0.7, covariance="full"), 300),
    "full of labels": lambda: new_learner(rules.CW(0.8, covariance="full"), 300, n_labels=3),
}
KERNELS = {
    "kernel": (KernelOptions(gamma=0.01), 2),
    "budget": (KernelOptions(gamma=0.01, budget=9), 2),
    "kernel of labels": (KernelOptions(gamma=0.01), 3),
}


def new_of(kind):
    if kind in NEW:
        return NEW[kind]()
    options, n_labels = KERNELS[kind]
    labels = np.array([-1.0, 1.0]) if n_labels == 2 else np.arange(n_labels)
    return Learner(rules.AROW(), Training(), labels, 300, options)


def data_for(learner, n_rows=15):
    width, blocks = learner.state.n_features, learner.state.blocks
    X, y = random_rows(n_rows, width, noise=0.2) if blocks == 1 else labelled_rows(n_rows, width, blocks, noise=0.2)
    return rows_of(X, learner), learner.encode(y)


def grow_state(kind):
    learner = NEW[kind]()
    rows, targets = data_for(learner)
    learner.learn(rows, targets)
    before, width = bits(learner), 2 * learner.state.n_features
    expected = copy.deepcopy(learner)
    expected.grow(width)
    expected.learn(rows, targets)
    one = learner

    def begin():
        nonlocal one
        one = copy.deepcopy(learner)

    outcomes = []
    for outcome in Faults(ALLOCATE, least=ARRAY).outcomes(lambda: one.grow(width), begin):
        outcomes.append(outcome)
        assert bits(learner) == before
        if outcome is not None:
            assert isinstance(outcome, TOLD), outcome
            assert bits(one) == before
        after = copy.deepcopy(one)
        after.grow(width)
        after.learn(rows, targets)
        assert bits(after) == bits(expected)
    assert len(outcomes) > 1


@pytest.mark.parametrize("kind", NEW)
def test_e04_a_state_that_cannot_grow_stays_as_it_is_and_can_be_learned_with(kind, in_child):
    in_child(grow_state, kind)


def learn_rows(kind):
    new = partial(new_of, kind)
    rows, targets = data_for(new())
    straight = [new()]
    for row in range(rows.n_rows):
        straight.append(copy.deepcopy(straight[-1]))
        straight[-1].learn(rows, targets, order=np.array([row]))
    learner = new()

    def begin():
        nonlocal learner
        learner = new()

    outcomes = []
    for outcome in Faults(ALLOCATE, least=ARRAY).outcomes(lambda: learner.learn(rows, targets), begin):
        outcomes.append(outcome)
        assert outcome is None or isinstance(outcome, TOLD), outcome
        done = learner.statistics["rows"]
        if kind in KERNELS:
            for ours, theirs in zip(learner.margins(rows), straight[done].margins(rows), strict=True):
                np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)
        else:
            assert bits(learner) == bits(straight[done])
    assert done == rows.n_rows
    assert len(outcomes) > 1


@pytest.mark.parametrize("kind", [*NEW, *KERNELS])
def test_e04_memory_that_runs_out_while_learning_leaves_the_model_of_the_rows_before(kind, in_child):
    in_child(learn_rows, kind)


def go_on_from_text(folder):
    path = Path(folder, "data.svm")
    lines = [f"{(-1) ** row} 0:{1 + row / 8} {1 + 40 * row}:0.5\n" for row in range(100)]
    path.write_text("".join(lines))
    rule, training, width = rules.PassiveAggressive(average=True), Training(epochs=1, shuffle=False), 4000
    learner = new_learner(rule, 1, epochs=1, shuffle=False)

    def run(one, rows=lines):
        path.write_text("".join(rows))
        return Run([str(path)], rule, training, resources=Resources(threads=1), learner=one, chunk_bytes=200).train()

    straight = [bits(run(copy.deepcopy(learner), [*lines[:done], f"1 {width - 1}:0\n"])) for done in range(1, 101)]
    one = learner

    def begin():
        nonlocal one
        one = copy.deepcopy(learner)

    outcomes = []
    for outcome in Faults(ALLOCATE, least=ARRAY).outcomes(lambda: run(one), begin):
        outcomes.append(outcome)
        assert outcome is one or isinstance(outcome, MemoryError), outcome
        done = one.statistics["rows"]
        if done:
            assert bits(run(one, [f"1 {width - 1}:0\n"])) == straight[done - 1]
    assert done == 100
    assert len(outcomes) > 10


def test_e04_memory_that_runs_out_in_a_run_leaves_the_model_of_the_batches_before(in_child, tmp_path):
    in_child(go_on_from_text, str(tmp_path))


def large_model(kind):
    """Some hundred kilobytes, so that all that is taken for it is more than LARGE."""
    wide = {"full": 300}.get(kind, 200_000)
    rule = {"full": rules.AROW(covariance="full")}.get(kind, rules.Perceptron(average=True))
    learner = new_learner(rule, wide)
    learner.state.mean[:] = np.random.default_rng(0).standard_normal(wide + 1)
    return learner


def save_and_load(folder, kind):
    path = Path(folder, "m.npz")
    learner = large_model(kind)
    model_file.save(learner, path)
    old = path.read_bytes()
    learner.state.mean[:] += 1
    before = bits(learner)
    model_file.save(learner, Path(folder, "new.npz"))
    new = Path(folder, "new.npz").read_bytes()

    faults, outcomes = Faults(ALLOCATE, least=LARGE), []
    for outcome in faults.outcomes(lambda: model_file.save(learner, path), lambda: path.write_bytes(old)):
        outcomes.append(outcome)
        assert outcome is None or isinstance(outcome, MemoryError), outcome
        assert path.read_bytes() == (new if outcome is None else old)
        assert sorted(os.listdir(folder)) == ["m.npz", "new.npz"]
        assert bits(learner) == before
    assert len(outcomes) > 1
    outcomes = [*Faults(ALLOCATE, least=LARGE).outcomes(lambda: bits(model_file.load(path)))]
    assert len(outcomes) > 2
    for outcome in outcomes:
        assert isinstance(outcome, MemoryError) or outcome == before, outcome


@pytest.mark.parametrize("kind", ["averaged", "full"])
def test_e04_memory_that_runs_out_while_a_model_is_saved_or_loaded_is_a_memory_error(kind, in_child, tmp_path):
    in_child(save_and_load, str(tmp_path), kind)


def train_by_command(folder, labels, words):
    text, model = Path(folder, "data.svm"), Path(folder, "m.npz")
    text.write_text(labelled_text(3000) if labels else random_text(3000))
    listing = ["data.svm", "m.npz"]
    words = ["train", text, "-m", model, "-a", "arow", "--quiet", *words]
    assert cwlearn(*words).status == 0
    new = model.read_bytes()

    faults, outcomes = Faults(ALLOCATE, least=LARGE), []
    for outcome in faults.outcomes(lambda: cwlearn(*words), lambda: model.write_bytes(b"old")):
        outcomes.append(outcome.status)
        if outcome.status:
            assert outcome.status == 1
            assert "out of memory" in explained(outcome.err)
        assert model.read_bytes() == (b"old" if outcome.status else new)
        assert sorted(os.listdir(folder)) == listing
    assert 1 in outcomes


@pytest.mark.parametrize("labels", [False, True], ids=["two labels", "four labels"])
@pytest.mark.parametrize(
    "words",
    [["--epochs", "1", "--threads", "1"], ["--epochs", "2", "--threads", "3"], ["--epochs", "2", "--memory", "40000"]],
    ids=" ".join,
)
def test_e04_memory_that_runs_out_in_a_command_is_one_line_and_keeps_the_old_model(labels, words, in_child, tmp_path):
    in_child(train_by_command, str(tmp_path), labels, [*words, "--features", "20000"])


# -- files -------------------------------------------------------------------------------------------------------------

HARMLESS = [0, errno.EINTR]  # a part of the bytes, or a signal before the first of them


def named(error, path):
    """An error of the system with the name of the file."""
    return isinstance(error, OSError) and error.errno and error.filename == str(path)


def read_badly(folder, packed, threads):
    path = Path(folder, "data.svm")
    path.write_bytes(gzip.compress(random_text(300).encode()) if packed else random_text(300).encode())
    expected = everything(Reader(path, threads=1))
    reader = Reader(path, threads=threads, chunk_bytes=2000)
    for error in (*HARMLESS, errno.EIO, errno.ESTALE):
        outcomes = [*Faults(READ, error, folder=folder).outcomes(lambda: everything(reader))]
        assert len(outcomes) > 2
        assert outcomes.pop() == expected
        for outcome in outcomes:
            assert outcome == expected if error in HARMLESS else named(outcome, path), outcome


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("packed", [False, True])
def test_e05_any_read_may_be_short_or_interrupted_and_if_it_fails_the_file_is_named(
    packed, threads, in_child, tmp_path
):
    in_child(read_badly, str(tmp_path), packed, threads)


def load_badly(folder):
    path = Path(folder, "m.npz")
    learner = large_model("averaged")
    model_file.save(learner, path)
    for error in (*HARMLESS, errno.EIO):
        outcomes = [*Faults(READ, error, folder=folder).outcomes(lambda: bits(model_file.load(path)))]
        assert len(outcomes) > 3
        assert outcomes.pop() == bits(learner)
        for outcome in outcomes:
            assert outcome == bits(learner) if error in HARMLESS else named(outcome, path), outcome


def test_e05_a_model_is_loaded_whole_or_an_error_names_its_file(in_child, tmp_path):
    in_child(load_badly, str(tmp_path))


def save_badly(folder, call, error):
    path = Path(folder, "m.npz")
    learner = large_model("averaged")
    model_file.save(learner, path)
    old = path.read_bytes()
    learner.state.mean[:] += 1
    model_file.save(learner, Path(folder, "new.npz"))
    new = Path(folder, "new.npz").read_bytes()

    faults, outcomes = Faults(call, error, folder=folder), []
    for outcome in faults.outcomes(lambda: model_file.save(learner, path), lambda: path.write_bytes(old)):
        outcomes.append(outcome)
        late = outcome is not None and len(outcomes) == 2 and call == FSYNC  # of the folder, after the rename
        assert outcome is None or named(outcome, path), outcome
        assert path.read_bytes() == (new if outcome is None or late else old)
        assert sorted(os.listdir(folder)) == ["m.npz", "new.npz"]
        if error in HARMLESS:
            assert outcome is None
    assert outcome is None
    assert len(outcomes) > 1
    assert error in HARMLESS or any(outcomes)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        *((WRITE, error) for error in (*HARMLESS, errno.ENOSPC, errno.EIO, errno.EDQUOT)),
        *((FSYNC, error) for error in (errno.EINTR, errno.EIO, errno.ENOSPC)),
        *((CLOSE, error) for error in (errno.EIO, errno.EDQUOT)),
        *((RENAME, error) for error in (errno.EIO, errno.ENOSPC, errno.EACCES)),
    ],
)
def test_e02_e03_a_save_that_fails_before_its_file_has_the_name_leaves_the_old_model_and_nothing_else(
    call, error, in_child, tmp_path
):
    in_child(save_badly, str(tmp_path), call, error)


def train_badly(folder, call, error):
    """With a cache, which lives in the same folder."""
    text, model = Path(folder, "data.svm"), Path(folder, "m.npz")
    text.write_text(random_text())
    words = ["train", text, "-m", model, "-a", "arow", "--quiet", "--epochs", 2, "--memory", SMALL, "--threads", 1]
    assert cwlearn(*words).status == 0
    new = model.read_bytes()

    faults, outcomes = Faults(call, error, folder=folder), []
    for outcome in faults.outcomes(lambda: cwlearn(*words), lambda: model.write_bytes(b"old")):
        outcomes.append(outcome.status)
        if outcome.status:
            message = explained(outcome.err)
            assert os.strerror(error) in message
            assert "cache" in message or str(text) in message or str(model) in message, message
            elsewhere = re.search("; the model is in (.*) instead", message)
            if elsewhere:
                assert Path(elsewhere[1]).read_bytes() == new
                os.unlink(elsewhere[1])
        assert outcome.status == 0 or error not in HARMLESS
        assert sorted(os.listdir(folder)) == ["data.svm", "m.npz"]
        assert model.read_bytes() == (b"old" if outcome.status else new)
    assert len(outcomes) > 4


@pytest.mark.parametrize(
    ("call", "error"),
    [*((READ, error) for error in (*HARMLESS, errno.EIO)), *((WRITE, error) for error in (*HARMLESS, errno.ENOSPC))],
)
def test_e06_a_command_whose_text_cache_or_model_fails_at_any_call_says_which(call, error, in_child, tmp_path):
    in_child(train_badly, str(tmp_path), call, error)
