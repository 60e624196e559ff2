"""Training on a Dask cluster of two processes, some of which are killed, and in threads instead."""

from __future__ import annotations

import copy
import os
import re
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import CancelledError

import joblib
import numpy as np
import pytest

import cwlearn as package
from cwlearn import distributed
from cwlearn.cli import train as cli_train
from cwlearn.errors import DataError
from cwlearn.parallel import shards
from cwlearn.parallel.shards import files_as_shards
from cwlearn.parallel.sharing import Sharing
from cwlearn.parallel.tasks import Plan, ShardResult
from cwlearn.parallel.threads import train_in_threads
from cwlearn.utils.machine import usable_cores
from tests import text_cases
from tests.cases import labelled_rows, random_rows
from tests.parallel.clusters import ignore_dask_warnings, local_cluster
from tests.text_cases import explained, fail, outcome_of, succeed
from tests.utils.test_atomic_file import rescued, then_in_the_way

psutil = pytest.importorskip("psutil", reason="Dask is not installed")  # Dask needs it, too
pytestmark = ignore_dask_warnings


def bits(model):
    return text_cases.bits(model._learner)


def in_threads(estimator, paths, seed, rounds=1):
    """The estimator that the same tasks give in threads of this process."""
    rule, training, _ = estimator._options()
    plan = Plan(rule, training, "posterior", seed=seed)
    named = files_as_shards([str(path) for path in paths], 2)
    learner, _ = train_in_threads(named, plan, Sharing(workers=2, rounds=rounds))
    return estimator._adopt(learner)


@pytest.mark.parametrize("covariance", ["diagonal", "full"])
@pytest.mark.parametrize("rounds", [1, 3])
def test_a_cluster_gives_the_bits_of_threads(client, files, covariance, rounds):
    options = {"covariance": covariance, "shuffle": False, "epochs": 2}
    done = []
    model = distributed.fit(package.AROWClassifier(**options), files, client, rounds=rounds, report=done.append)
    assert bits(model) == bits(in_threads(package.AROWClassifier(**options), files, 0, rounds))
    deadline = time.monotonic() + 10
    while sum(done) < 8 * rounds and time.monotonic() < deadline:
        time.sleep(0.01)  # Dask calls `report` in a thread of its own
    assert sum(done) == 8 * rounds
    assert model.predict(np.zeros((2, model.n_features_in_))).shape == (2,)


def test_d01_a_worker_that_is_killed_changes_nothing(client, files):
    def fit(report):
        return distributed.fit(package.CWClassifier(epochs=300, random_state=3), files, client, report=report)

    expected = fit(lambda done: None)
    killed = []

    def kill(done):
        if not killed:
            killed.append(pids[0])
            os.kill(killed[0], signal.SIGKILL)

    pids = sorted(client.run(os.getpid).values())
    survivor = fit(kill)
    assert killed
    assert bits(survivor) == bits(expected)
    client.wait_for_workers(2, timeout=60)
    assert pids[0] not in client.run(os.getpid).values()


def test_d01_a_worker_that_is_killed_does_not_lose_matrices(client):
    rng = np.random.default_rng(0)
    pairs = []
    for _ in range(10):
        X = rng.standard_normal((400, 10))
        pairs.append((X, X[:, 0] > 0))
    options = {"covariance": "full", "epochs": 3, "random_state": 1}
    expected = distributed.fit(package.AROWClassifier(**options), pairs, client, rounds=2)
    pids, killed = sorted(client.run(os.getpid).values()), []

    def kill(done):
        killed.append(done)
        if len(killed) == 3:
            os.kill(pids[0], signal.SIGKILL)

    survivor = distributed.fit(package.AROWClassifier(**options), pairs, client, rounds=2, report=kill)
    assert bits(survivor) == bits(expected)
    client.wait_for_workers(2, timeout=60)


@pytest.mark.parametrize("n_labels", [2, 4])
def test_matrices_arrays_and_bags_are_shards_too(client, n_labels):
    array = pytest.importorskip("dask.array")
    bag = pytest.importorskip("dask.bag")
    X, y = random_rows(160) if n_labels == 2 else labelled_rows(160, n_labels=4)
    names = np.array(["a", "b", "c", "d"])[y.astype(int) if n_labels > 2 else (y > 0).astype(int)]
    cuts = [slice(start, start + 40) for start in range(0, 160, 40)]
    pairs = [(X[cut], names[cut]) for cut in cuts]
    options = {"shuffle": False, "epochs": 2, "dtype": "float64"}
    expected = distributed.fit(package.AROWClassifier(**options), pairs, client)
    assert expected.classes_.tolist() == sorted(set(names[:160]))
    merged = (
        package.merge([package.AROWClassifier(**options).fit(*pair) for pair in pairs]) if n_labels == 2 else expected
    )
    np.testing.assert_allclose(expected.coef_, merged.coef_, rtol=1e-12, atol=1e-15)
    dense = array.from_array(X.toarray()[:160], chunks=(40, 10))
    labels = array.from_array(names[:160], chunks=70)
    for shape in ((dense, labels), bag.from_sequence(pairs, npartitions=4)):
        model = distributed.fit(package.AROWClassifier(**options), shape, client)
        assert bits(model) == bits(expected)


def test_regression_on_a_cluster_is_ridge_regression(client):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 5))
    t = X @ np.arange(5) + rng.standard_normal(200)
    pairs = [(X[i::4], t[i::4]) for i in range(4)]
    model = distributed.fit(package.AROWRegressor(1.0, covariance="full", epochs=1), pairs, client)
    np.testing.assert_allclose(
        model.coef_, package.AROWRegressor(1.0, covariance="full", epochs=1).fit(X, t).coef_, rtol=1e-9
    )


def test_warm_starts_continue_with_the_last_model(client, files):
    model = package.AROWClassifier(warm_start=True, shuffle=False, epochs=1)
    distributed.fit(model, files[:4], client)
    first = model._learner.statistics["rows"]
    distributed.fit(model, files[4:], client)
    assert model._learner.statistics["rows"] > first


def test_a_warm_start_survives_the_death_of_all_workers(files):
    def model():
        return package.AROWClassifier(warm_start=True, epochs=50, random_state=0)

    with local_cluster(1) as own:
        first = distributed.fit(model(), files[:4], own)
        expected = distributed.fit(copy.deepcopy(first), files[4:], own)
        killed = []

        def kill(done):
            if not killed:
                killed.append(next(iter(own.run(os.getpid).values())))
                os.kill(killed[0], signal.SIGKILL)

        survivor = distributed.fit(copy.deepcopy(first), files[4:], own, report=kill)
    assert killed
    assert bits(survivor) == bits(expected)


def test_shards_that_do_not_fit_into_memory_give_the_bits_of_threads(client, files, tmp_path):
    flags = ["--epochs", 3, "--memory", "2K", "--quiet"]
    succeed("train", *files, "-m", tmp_path / "a.npz", "--scheduler", client.scheduler.address, *flags)
    succeed("train", *files, "-m", tmp_path / "b.npz", "--workers", 2, *flags)
    assert bits(package.load(tmp_path / "a.npz")) == bits(package.load(tmp_path / "b.npz"))


def test_d05_d08_a_bad_shard_fails_with_its_place_or_is_left_out(client, files):
    files[2].write_text("1 1:1\n1 2:x\n")
    with pytest.raises(DataError, match=r"part-2\.svm:2:3: value is not a decimal number"):
        distributed.fit(package.AROWClassifier(), files, client)
    with pytest.warns(UserWarning, match=re.escape(f"shard left out: {files[2]}")):
        model = distributed.fit(package.AROWClassifier(), files, client, skip_bad_shards=True)
    assert model.n_updates_


def test_t03_workers_use_their_share_of_the_cores(client):
    assert set(client.run(usable_cores).values()) == {1}
    shares = joblib.Parallel(n_jobs=2)(joblib.delayed(usable_cores)() for _ in range(4))
    assert max(shares) <= max(1, usable_cores() // 2)


def test_only_the_last_model_comes_to_the_client(client, files, monkeypatch):
    """Results that the client fetches before the last one contain no arrays."""
    fetched = []
    original = type(client.submit(int)).result

    def recorded(future, *args, **kwargs):
        answer = original(future, *args, **kwargs)
        fetched.append(answer)
        return answer

    monkeypatch.setattr(type(client.submit(int)), "result", recorded)
    distributed.fit(package.AROWClassifier(), files, client, rounds=2)
    parts = [part for answer in fetched for part in (answer if isinstance(answer, tuple) else (answer,))]
    models = [part for part in parts if hasattr(part, "state")]
    sums = [part.total for part in parts if isinstance(part, ShardResult)]
    assert len(models) == 1
    assert all(total.count == 0 and not len(total._place) for total in sums)


def open_ports():
    """The ports on which this process and its children listen to the network."""
    this = psutil.Process()
    return {
        (process.pid, connection.laddr)
        for process in [this, *this.children(recursive=True)]
        for connection in process.net_connections("inet")
        if connection.status == psutil.CONN_LISTEN or connection.type == socket.SOCK_DGRAM
    }


def test_x13_without_a_client_threads_learn_and_nothing_listens_to_the_network(files):
    before, during = open_ports(), []

    def report(done):
        during.append(open_ports())

    model = distributed.fit(package.AROWClassifier(epochs=1, shuffle=False), files, report=report)
    assert bits(model) == bits(in_threads(package.AROWClassifier(epochs=1, shuffle=False), files, 0))
    assert len(during) == 8
    assert all(ports <= before for ports in during)


def test_x13_open_ports_are_seen(client):
    """The test above would see the ports of a cluster, those of this process and those of its workers."""
    assert len({pid for pid, _ in open_ports()}) >= 3


@pytest.mark.parametrize("n_labels", [2, 4])
def test_without_a_client_shards_of_any_kind_give_the_bits_of_a_cluster(client, n_labels):
    array = pytest.importorskip("dask.array")
    bag = pytest.importorskip("dask.bag")
    X, y = random_rows(160) if n_labels == 2 else labelled_rows(160, n_labels=4)
    pairs = [(X[start : start + 40], y[start : start + 40]) for start in range(0, 160, 40)]
    blocks = array.from_array(X.toarray()[:160], chunks=(40, 10)), array.from_array(y[:160], chunks=70)
    expected = distributed.fit(package.AROWClassifier(random_state=0), pairs, client, rounds=2)
    for kind in (pairs, blocks, bag.from_sequence(pairs, npartitions=4)):
        model = distributed.fit(package.AROWClassifier(random_state=0), kind, rounds=2)
        assert bits(model) == bits(expected)
    base = package.AROWClassifier(random_state=0, warm_start=True)
    models = []
    for where in (client, None):
        first = distributed.fit(copy.deepcopy(base), pairs[:2], where)
        models.append(distributed.fit(first, pairs[2:], where))
    assert bits(models[0]) == bits(models[1])


def test_without_a_client_common_inputs_of_shards_are_computed_once():
    dask = pytest.importorskip("dask")
    bag = pytest.importorskip("dask.bag")
    calls = []

    @dask.delayed
    def source():
        calls.append(1)
        return np.eye(4)

    common = source()
    parts = [common.__getitem__(slice(start, start + 2)) for start in (0, 2)]
    shards = bag.from_delayed([dask.delayed(lambda X: [(X, np.array([0, 1]))])(part) for part in parts])
    assert distributed.fit(package.AROWClassifier(), shards).n_updates_
    assert calls == [1]


def test_the_command_line_uses_a_cluster(client, files, tmp_path):
    address = client.scheduler.address
    flags = ["--epochs", "2", "--seed", "7", "--quiet"]
    succeed("train", *files, "-m", tmp_path / "a.npz", "--scheduler", address, *flags)
    succeed("train", *files, "-m", tmp_path / "b.npz", "--workers", 2, *flags)
    assert bits(package.load(tmp_path / "a.npz")) == bits(package.load(tmp_path / "b.npz"))


@pytest.mark.parametrize(
    ("address", "environment", "message"),
    [
        ("tls://127.0.0.1:1", {}, "TLS expects"),
        ("tcp://127.0.0.1:1", {"DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION": "1"}, "encryption required"),
    ],
)
def test_x13_a_connection_without_the_certificates_it_needs_is_an_error(address, environment, message, text, tmp_path):
    outcome = outcome_of("train", text, "-m", tmp_path / "m.npz", "--scheduler", address, env=environment)
    assert outcome.status == 1
    assert explained(outcome.err).startswith(f"cwlearn: error: no Dask scheduler at {address}: {message}")


def test_x14_a_model_of_a_cluster_that_cannot_have_its_name_is_saved_under_another_one(
    client, files, tmp_path, monkeypatch
):
    words = ["train", *files, "--scheduler", client.scheduler.address]
    succeed(*words, "-m", tmp_path / "good.npz", "--quiet")
    then_in_the_way(monkeypatch, cli_train)
    _, place = rescued(fail(*words, "-m", tmp_path / "m.npz"), tmp_path / "m.npz")
    assert place.read_bytes() == (tmp_path / "good.npz").read_bytes()


@pytest.mark.parametrize("name", ["cwlearn", "numpy"])
def test_d07_workers_of_another_version_are_refused(client, files, monkeypatch, name):
    monkeypatch.setattr({"cwlearn": "cwlearn.parallel.cluster.__version__", "numpy": "numpy.__version__"}[name], "99.9")
    with pytest.raises(OSError, match=rf"worker tcp://.* has {name} .*, and this is 99\.9"):
        distributed.fit(package.AROWClassifier(), files, client)


def die(*args):
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.long
def test_d03_workers_that_die_again_and_again_are_an_error_that_names_the_task(files, monkeypatch):
    from cwlearn.parallel import cluster

    monkeypatch.setattr(shards, "learn", die)
    monkeypatch.setattr(cluster, "learn", die)
    with (
        local_cluster(2) as own,
        pytest.raises(OSError, match=r"died again and again in the task 'die .*part-"),
    ):
        distributed.fit(package.AROWClassifier(), files[:2], own, labels=[-1, 1])


def test_a_client_of_the_command_line_is_nobody_elses(client):
    from distributed.client import _get_global_client

    from cwlearn.parallel import cluster

    before = _get_global_client()
    with cluster.connected(client.scheduler.address) as other:
        assert other is not client
        assert _get_global_client() is before
        assert cluster.count_threads(other) == cluster.count_threads(client)


def test_a_cluster_without_workers_is_an_error_after_a_while():
    from cwlearn.parallel import cluster

    class Nobody:
        def wait_for_workers(self, count, timeout=None):
            assert (count, timeout) == (1, cluster.TIMEOUT)
            raise TimeoutError

    with pytest.raises(OSError, match=r"^the Dask cluster has no workers \(\d+s? waited\)$"):
        cluster.count_threads(Nobody())


@pytest.mark.parametrize("base", [None, "a model"])
def test_data_that_a_cluster_loses_are_sent_again_or_are_an_error(base, monkeypatch):
    from cwlearn.parallel import cluster

    class Engine:
        def __init__(self, client):
            pass

    class Losing:
        sent = 0

        def scatter(self, what, *, broadcast, hash):
            assert (what, broadcast, hash) == ("a model", True, False)  # a copy with each worker
            self.sent += 1
            return self.sent

    def lose(engine, shards, plan, sharing, scattered, report):
        tried.append(scattered)
        raise CancelledError("gone")

    tried, client = [], Losing()
    for name, value in (("DaskEngine", Engine), ("train", lose), ("count_threads", id), ("_check_versions", id)):
        monkeypatch.setattr(cluster, name, value)
    with pytest.raises(OSError, match=r"^the cluster has lost data that it needs to go on: gone"):
        cluster.train_on_cluster(client, [], None, None, base)
    assert tried == ([None] if base is None else [*range(1, cluster.ATTEMPTS + 1)])


def test_workers_that_cannot_be_asked_for_their_versions_are_an_error():
    from cwlearn.parallel import cluster

    class Without:
        def run(self, function):
            raise ModuleNotFoundError("No module named 'cwlearn'")

    with pytest.raises(OSError, match=r"^the workers cannot import cwlearn: No module named 'cwlearn'$"):
        cluster._check_versions(Without())


def test_d03_a_task_that_kills_its_workers_is_named(monkeypatch):
    from distributed.scheduler import KilledWorker

    from cwlearn.parallel import cluster

    def die(*words):
        raise KilledWorker("learn part-3.svm-0123456789abcdef", None, 4)

    for name, value in (("DaskEngine", id), ("train", die), ("count_threads", id), ("_check_versions", id)):
        monkeypatch.setattr(cluster, name, value)
    with pytest.raises(OSError, match=r"died again and again in the task 'learn part-3\.svm': is there enough memory"):
        cluster.train_on_cluster(None, [], None, None)


def test_threads_do_not_need_dask(files):
    code = """
import sys
sys.modules["dask"] = sys.modules["distributed"] = None
from cwlearn import AROWClassifier, distributed
distributed.fit(AROWClassifier(), sys.argv[1:])
distributed.fit(AROWClassifier(), [([[1.0], [2.0]], [0, 1])])
try:
    distributed.fit(AROWClassifier(), sys.argv[1:], "tcp://localhost:8786")
except ImportError as error:
    print(error)
"""
    output = subprocess.check_output([sys.executable, "-c", code, *map(str, files)], text=True)
    assert output == "this needs Dask: pip install 'cwlearn[dask]'\n"
