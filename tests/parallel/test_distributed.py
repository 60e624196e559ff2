"""Training on a real Dask cluster of two processes, one of which may be killed."""

from __future__ import annotations

import copy
import os
import re
import signal
import socket
import time
from contextlib import contextmanager

import joblib
import numpy as np
import pytest
from scipy import sparse

import cwlearn as package
from cwlearn.cli import train as cli_train
from cwlearn.errors import DataError
from cwlearn.parallel import shards
from cwlearn.parallel import tasks as shard_tasks
from cwlearn.utils.machine import usable_cores
from tests import text_cases
from tests.cases import labelled_rows, random_rows
from tests.text_cases import explained, fail, outcome_of, succeed
from tests.utils.test_atomic_file import rescued, then_in_the_way

distributed = pytest.importorskip("cwlearn.distributed", reason="Dask is not installed")
psutil = pytest.importorskip("psutil")  # which Dask needs, too
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


@contextmanager
def processes(workers):
    """A client of a cluster on this machine, with a process for each worker."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def client():
    with processes(2) as client:
        yield client


def bits(model):
    return text_cases.bits(model._learner)


def in_threads(estimator, paths, seed, rounds=1):
    """What the same tasks give in threads of this process."""
    rule, training, _ = estimator._options()
    plan = shard_tasks.Plan(rule, training, "posterior", seed=seed)
    named = shards.files_as_shards([str(path) for path in paths], 2)
    learner, _ = shards.train_in_threads(named, shards.Sharing(workers=2, rounds=rounds), plan, None)
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
        time.sleep(0.01)  # Dask tells of it in a thread of its own
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


def test_d01_a_worker_that_is_killed_does_not_take_matrices_along(client):
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


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ((np.eye(3), [[0], [1], [0]]), "one entry for each of 3 rows"),
        ((np.ones(3), [0, 1, 0]), "2 dimensions"),
        ((np.full((3, 3), np.nan), [0, 1, 0]), "NaN"),
        ((np.eye(3), ["a", 1, None]), "label"),
    ],
)
def test_d08_a_bad_matrix_is_named_and_can_be_left_out(client, bad, message, capsys):
    good = (np.eye(3), np.array([0, 1, 0]))
    with pytest.raises((DataError, ValueError), match=message):
        distributed.fit(package.AROWClassifier(), [good, bad, good], client, labels=[0, 1])
    model = distributed.fit(package.AROWClassifier(), [good, bad, good], client, labels=[0, 1], skip_bad_shards=True)
    assert model.n_updates_
    assert "shard left out: shard 1: " in capsys.readouterr().err


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


def test_warm_starts_go_on_from_what_was_known(client, files):
    model = package.AROWClassifier(warm_start=True, shuffle=False, epochs=1)
    distributed.fit(model, files[:4], client)
    first = model._learner.statistics["rows"]
    distributed.fit(model, files[4:], client)
    assert model._learner.statistics["rows"] > first


def test_a_warm_start_survives_the_death_of_all_workers(files):
    def model():
        return package.AROWClassifier(warm_start=True, epochs=50, random_state=0)

    with processes(1) as own:
        known = distributed.fit(model(), files[:4], own)
        expected = distributed.fit(copy.deepcopy(known), files[4:], own)
        killed = []

        def kill(done):
            if not killed:
                killed.append(next(iter(own.run(os.getpid).values())))
                os.kill(killed[0], signal.SIGKILL)

        survivor = distributed.fit(copy.deepcopy(known), files[4:], own, report=kill)
    assert killed
    assert bits(survivor) == bits(expected)


def test_shards_that_do_not_fit_into_memory_give_the_bits_of_threads(client, files, tmp_path):
    flags = ["--epochs", 3, "--memory", "2K", "--quiet"]
    succeed("train", *files, "-m", tmp_path / "a.npz", "--scheduler", client.scheduler.address, *flags)
    succeed("train", *files, "-m", tmp_path / "b.npz", "--workers", 2, *flags)
    assert bits(package.load(tmp_path / "a.npz")) == bits(package.load(tmp_path / "b.npz"))


def test_d05_d08_a_bad_shard_fails_with_its_place_or_is_left_out(client, files, capsys):
    files[2].write_text("1 1:1\n1 2:x\n")
    with pytest.raises(DataError, match=r"part-2\.svm:2:3: value is not a decimal number"):
        distributed.fit(package.AROWClassifier(), files, client)
    model = distributed.fit(package.AROWClassifier(), files, client, skip_bad_shards=True)
    assert model.n_updates_
    assert "shard left out: " + str(files[2]) in capsys.readouterr().err


def test_t03_workers_use_their_share_of_the_cores(client):
    assert set(client.run(usable_cores).values()) == {1}
    shares = joblib.Parallel(n_jobs=2)(joblib.delayed(usable_cores)() for _ in range(4))
    assert max(shares) <= max(1, usable_cores() // 2)


def test_parts_of_a_file_and_given_labels(client, files):
    parts = distributed.split(files[0], 3)
    assert len(parts) == 3
    model = distributed.fit(package.AROWClassifier(), parts, client, labels=[-1, 1, 5])
    assert model.classes_.tolist() == [-1, 1, 5]
    hashed = distributed.fit(package.AROWClassifier(), parts, client, hash_bits=6)
    assert hashed.n_features_in_ == 64


def test_x06_given_labels_of_text_can_be_told_apart(client, files):
    for label in (2**53 + 1, -(2**53), 1e300):
        with pytest.raises(ValueError, match=re.escape(f"label {label} is too large: from 2^53 on")):
            distributed.fit(package.AROWClassifier(), files[:1], client, labels=[1, label])


def test_only_the_last_model_comes_to_the_client(client, files, monkeypatch):
    """What is asked for on the way has no arrays in it."""
    seen = []
    original = type(client.submit(int)).result

    def watched(future, *args, **kwargs):
        answer = original(future, *args, **kwargs)
        seen.append(answer)
        return answer

    monkeypatch.setattr(type(client.submit(int)), "result", watched)
    distributed.fit(package.AROWClassifier(), files, client, rounds=2)
    seen = [part for answer in seen for part in (answer if isinstance(answer, tuple) else (answer,))]
    models = [answer for answer in seen if hasattr(answer, "state")]
    sums = [answer.total for answer in seen if isinstance(answer, shard_tasks.ShardResult)]
    assert len(models) == 1
    assert all(total.count == 0 and not len(total._place) for total in sums)


def doors():
    """Where this process and its children listen to the network."""
    us = psutil.Process()
    everybody = [us, *us.children(recursive=True)]
    return {
        (process.pid, one.laddr)
        for process in everybody
        for one in process.net_connections("inet")
        if one.status == psutil.CONN_LISTEN or one.type == socket.SOCK_DGRAM
    }


def test_x13_without_a_client_threads_learn_and_nothing_listens_to_the_network(files):
    before, during = doors(), []

    def report(done):
        during.append(doors())

    model = distributed.fit(package.AROWClassifier(epochs=1, shuffle=False), files, report=report)
    assert bits(model) == bits(in_threads(package.AROWClassifier(epochs=1, shuffle=False), files, 0))
    assert len(during) == 8
    assert all(found <= before for found in during)


def test_x13_doors_are_seen(client):
    """The test above would tell of the doors that a cluster opens, of its own process and of its workers."""
    assert len({pid for pid, _ in doors()}) >= 3


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
    twice = [distributed.fit(copy.deepcopy(base), pairs[:2], one) for one in (client, None)]
    twice = [distributed.fit(model, pairs[2:], one) for model, one in zip(twice, (client, None), strict=True)]
    assert bits(twice[0]) == bits(twice[1])


def test_without_a_client_what_shards_have_in_common_is_computed_once():
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


def test_d03_workers_that_die_again_and_again_are_an_error_that_names_the_task(files, monkeypatch):
    from cwlearn.parallel import cluster

    monkeypatch.setattr(shards, "learn", die)
    monkeypatch.setattr(cluster, "learn", die)
    with (
        processes(2) as own,
        pytest.raises(OSError, match=r"died again and again in the task 'die .*part-"),
    ):
        distributed.fit(package.AROWClassifier(), files[:2], own, labels=[-1, 1])


def test_what_makes_no_sense_is_refused(client, files):
    with pytest.raises(TypeError, match="a list of shards, got one path"):
        distributed.fit(package.AROWClassifier(), files[0], client)
    with pytest.raises(TypeError, match="expected a linear estimator"):
        distributed.fit(package.KernelAROWClassifier(), files, client)
    with pytest.raises(DataError, match="no shards"):
        distributed.fit(package.AROWClassifier(), [], client)
    with pytest.raises(ValueError, match="'balanced' must count all rows first"):
        distributed.fit(package.AROWClassifier(class_weight="balanced"), files, client)
    with pytest.raises(ValueError, match="rounds must be a positive integer, got 0"):
        distributed.fit(package.AROWClassifier(), files, client, rounds=0)
    with pytest.raises(ValueError, match="how must be"):
        distributed.fit(package.AROWClassifier(), files, client, how="mean")
    with pytest.raises(DataError, match=r"shard 0: y must have one entry for each of 3 rows, got shape \(2,\)"):
        distributed.fit(package.AROWClassifier(), [(sparse.eye(3).tocsr(), [0, 1])], client)
    with pytest.raises(TypeError, match=r"client must be a dask\.distributed\.Client, .* got 'tcp://localhost:8786'"):
        distributed.fit(package.AROWClassifier(), files, "tcp://localhost:8786")
    with pytest.raises(TypeError, match="unexpected argument 'zero_base'; those for reading text are zero_based"):
        distributed.fit(package.AROWClassifier(), files, client, zero_base="no")


PAIR = (np.eye(2), np.array([0, 1]))


@pytest.mark.parametrize(
    ("shards", "options", "error", "message"),
    [
        (PAIR, {}, TypeError, r"shard 0: expected a path or a pair \(X, y\), got numpy.ndarray"),
        ([PAIR, "a.svm"], {}, TypeError, "all paths or all pairs .* shard 0 and shard 1 differ"),
        ([PAIR], {"labels": [1]}, ValueError, r"labels must be two or more different ones, got \[1\]"),
        (["a.svm"], {"labels": ["a", "b"]}, ValueError, "labels must be two or more different numbers"),
        ([PAIR], {"hash_bits": 4}, ValueError, "hash_bits is for shards of text"),
        ([PAIR], {"unsorted": "sort"}, ValueError, "unsorted is for shards of text"),
        ([(np.eye(2), [0.5, 1])], {}, DataError, "shard 0: label 0.5 is not a whole number"),
        ([PAIR, (np.eye(2), [0, np.nan]), PAIR], {}, DataError, "shard 1: .*nan"),
    ],
)
def test_odd_shards_are_refused(client, shards, options, error, message):
    with pytest.raises(error, match=message):
        distributed.fit(package.AROWClassifier(), shards, client, **options)


def test_odd_dask_collections_are_refused(client):
    array = pytest.importorskip("dask.array")
    X, y = array.ones((8, 2), chunks=4), array.ones(8, chunks=4)
    for odd, message in [
        ((X, array.ones(6, chunks=3)), "X has 8 rows, and y 6"),
        ((y, y), "of two dimensions and of one, got 1 and 1"),
        (X, "expected a Dask bag, or a pair of Dask arrays"),
        ((X[y > 0], array.concatenate([y, y])[array.concatenate([y, y]) > 0]), "unknown lengths"),
    ]:
        with pytest.raises((TypeError, ValueError), match=message):
            distributed.fit(package.AROWClassifier(), odd, client)


def test_labels_are_those_of_a_model_that_goes_on_and_none_of_a_regression(client):
    with pytest.raises(ValueError, match="labels are for classifiers"):
        distributed.fit(package.AROWRegressor(), [PAIR], client, labels=[0, 1])
    model = package.AROWClassifier(warm_start=True).fit(*PAIR)
    with pytest.raises(ValueError, match=r"labels must be those that the model has, \[0, 1\]"):
        distributed.fit(model, [PAIR], client, labels=[0, 1, 2])


@pytest.mark.parametrize("where", ["on a cluster", "in threads"])
def test_a_partition_that_cannot_be_computed_is_named_and_can_be_left_out(where, client, capsys):
    client = client if where == "on a cluster" else None
    bag = pytest.importorskip("dask.bag")
    numbers = bag.from_sequence([1, 0, 2], npartitions=3)
    shards = numbers.map(lambda number: (np.eye(2) / number if 1 // number < 9 else None, np.array([0, 1])))
    with pytest.raises(DataError, match="partition 1: ZeroDivisionError"):
        distributed.fit(package.AROWClassifier(), shards, client)
    assert distributed.fit(package.AROWClassifier(), shards, client, skip_bad_shards=True).n_updates_
    assert "shard left out: partition 1: ZeroDivisionError" in capsys.readouterr().err
    with pytest.raises(DataError, match=r"partition 0: expected pairs \(X, y\)"):
        distributed.fit(package.AROWClassifier(), bag.from_sequence([3, 4], npartitions=1), client)


def test_columns_of_data_frames_keep_their_names(client):
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(np.random.default_rng(0).standard_normal((40, 3)), columns=["a", "b", "c"])
    y = pandas.Series((X["a"] > 0).to_numpy())
    pairs = [(X[:20], y[:20]), (X[20:], y[20:])]
    model = distributed.fit(package.AROWClassifier(), pairs, client, rounds=2)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    other = X[20:].rename(columns={"b": "x"})
    with pytest.raises(ValueError, match="column 1 named 'b' and 'x'"):
        distributed.fit(package.AROWClassifier(), [pairs[0], (other, y[20:])], client)
    with pytest.raises(DataError, match="shard 0: column 1 is named 'x', and 'b' in the model"):
        distributed.fit(model.set_params(warm_start=True), [(other, y[20:])], client)


def test_frames_in_a_bag_are_aligned_by_the_names_of_their_columns(client):
    pandas = pytest.importorskip("pandas")
    bag = pytest.importorskip("dask.bag")
    X = pandas.DataFrame(np.random.default_rng(0).standard_normal((40, 3)), columns=["a", "b", "c"])
    y = (X["a"] > 0).to_numpy()
    turned = X[["c", "b", "a"]]
    options = {"shuffle": False, "epochs": 1}
    for second in (X, turned):
        shards = bag.from_sequence([(X[:20], y[:20]), (second[20:], y[20:])], npartitions=1)
        model = distributed.fit(package.AROWClassifier(**options), shards, client)
        expected = package.AROWClassifier(**options).fit(X, y)
        assert (model.coef_ == expected.coef_).all()
        assert model.feature_names_in_.tolist() == ["a", "b", "c"]


def test_a_target_that_is_not_finite_is_named(client):
    with pytest.raises(DataError, match="shard 0: target nan of row 1 is not a finite number"):
        distributed.fit(package.AROWRegressor(), [(np.eye(2), [1.0, np.nan])], client)


def test_split_checks_what_it_is_given(files, tmp_path):
    with pytest.raises(FileNotFoundError):
        distributed.split(tmp_path / "none.svm", 2)
    with pytest.raises(ValueError, match="pieces must be a positive integer, got 0"):
        distributed.split(files[0], 0)
    assert repr(distributed.split(files[0], 2)[0]).endswith(
        ".svm', 0, " + repr(distributed.split(files[0], 2)[0].stop) + ")"
    )
