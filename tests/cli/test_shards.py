"""`cwlearn train` with several workers."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest

import cwlearn as package
from cwlearn.core import model_file
from tests.text_cases import bits, fail, labelled_text, succeed


@pytest.mark.parametrize("flags", [[], ["--covariance", "full"], ["-a", "cw", "--epochs", "3", "--rounds", "2"]])
def test_train_with_workers(files, tmp_path, flags):
    out = tmp_path / "m.npz"
    report = json.loads(succeed("train", *files, "-m", out, "--workers", 2, "--json", *flags).out)
    assert report["shards_left_out"] == []
    learner = model_file.load(out)
    assert report["rows"] * (2 if "--rounds" in flags else 1) * report["epochs"] == learner.statistics["rows"]
    for workers in (1, 3):
        succeed("train", *files, "-m", tmp_path / "n.npz", "--workers", workers, "--quiet", *flags)
        assert bits(model_file.load(tmp_path / "n.npz")) == bits(learner)
    assert "arow model" in succeed("train", *files, "-m", out, "-a", "arow", "--workers", 2).out
    succeed("predict", files[0], "-m", out)


def test_resuming_with_workers_adds_to_the_model(files, tmp_path):
    succeed("train", *files[:4], "-m", tmp_path / "a.npz", "--workers", 2, "--epochs", 1, "--quiet")
    succeed(
        "train", *files[4:], "-m", tmp_path / "b.npz", "--resume", tmp_path / "a.npz", "--workers", 2, "--epochs", 1
    )
    a, b = (model_file.load(tmp_path / name) for name in ("a.npz", "b.npz"))
    assert b.statistics["rows"] > a.statistics["rows"]
    assert (b.state.variance <= a.state.variance).all()


def test_regression_and_several_labels_with_workers(tmp_path):
    (tmp_path / "r.svm").write_text("1.5 1:1\n2.5 2:1\n" * 20)
    succeed("train", tmp_path / "r.svm", "-m", tmp_path / "r.npz", "--task", "regression", "--workers", 2)
    assert isinstance(package.load(tmp_path / "r.npz"), package.AROWRegressor)
    (tmp_path / "l.svm").write_text(labelled_text() * 3)
    succeed("train", tmp_path / "l.svm", "-m", tmp_path / "l.npz", "--workers", 3)
    assert len(model_file.load(tmp_path / "l.npz").classes) > 2


def test_words_of_documents_are_named_by_their_columns_with_workers(tmp_path):
    paths = [tmp_path / f"{number}.jsonl" for number in range(2)]
    for path in paths:
        path.write_text('{"text": "free cash", "label": "spam"}\n{"text": "a lunch", "label": "ham"}\n' * 4)
    succeed("train", *paths, "-m", tmp_path / "m.npz", "-a", "arow", "--workers", 2, "--hash-bits", 9)
    weights = succeed("inspect", tmp_path / "m.npz", "--json").json["weights"]
    assert {"cash", "free", "free cash", "lunch"} == {weight["name"] for weight in weights}


def test_regressions_that_are_resumed_with_workers_can_be_loaded(tmp_path):
    rng = np.random.default_rng(0)
    noisy = "".join(f"{50 * rng.standard_normal():.3f} 1:{rng.standard_normal():.3f}\n" for _ in range(50))
    clean = "".join(f"{2 * x:.3f} 1:{x:.3f}\n" for x in rng.standard_normal(4000))
    (tmp_path / "a.svm").write_text(noisy)
    (tmp_path / "b.svm").write_text(clean)
    succeed("train", tmp_path / "a.svm", "-m", tmp_path / "m", "--task", "regression", "--epochs", 1)
    succeed(
        "train", tmp_path / "b.svm", "-m", tmp_path / "n", "--resume", tmp_path / "m", "--workers", 4, "--epochs", 1
    )
    assert model_file.load(tmp_path / "n").scale > 0


@pytest.mark.parametrize("flags", [[], ["--skip-bad-shards"]])
def test_first_order_rules_are_refused_before_they_are_trained(files, tmp_path, flags):
    message = fail("train", *files, "-m", tmp_path / "m", "-a", "perceptron", "--workers", 2, *flags)
    assert "models of perceptron have no confidences: --how l2 is the only way" in message
    succeed("train", *files, "-m", tmp_path / "m", "-a", "perceptron", "--workers", 2, "--how", "l2", *flags)


def test_a_bad_shard_is_reported_although_labels_are_missing(tmp_path):
    (tmp_path / "a.svm").write_text("1 1:1\n")
    (tmp_path / "b.svm").write_text("1 1:1\n-1 2:x\n")
    message = fail("train", tmp_path / "a.svm", tmp_path / "b.svm", "-m", tmp_path / "m", "--workers", 2)
    assert "found only 1" in message
    assert "b.svm:2:4: value is not a decimal number" in message
    message = fail("train", tmp_path / "none.svm", "-m", tmp_path / "m", "--workers", 2)
    assert "none.svm" in message
    flags = ["--labels=-1,1", "--skip-bad-shards", "--workers", 4]
    assert "must count all rows first: give a weight for each label" in fail(
        "train", tmp_path / "a.svm", "-m", tmp_path / "m", *flags, "--class-weight", "balanced"
    )
    (tmp_path / "b.svm").write_text("-1 2:x\n")
    message = fail("train", tmp_path / "b.svm", "-m", tmp_path / "m", *flags)
    assert "no examples" in message
    assert "b.svm:1:4" in message
    succeed("train", tmp_path / "a.svm", tmp_path / "none.svm", "-m", tmp_path / "m", *flags)


def test_d08_bad_shards_can_be_left_out(files, tmp_path):
    files[3].write_text("1 1:1\n1 2:x\n")
    message = fail("train", *files, "-m", tmp_path / "m.npz", "--workers", 2)
    assert "part-3.svm:2:3: value is not a decimal number" in message
    assert not (tmp_path / "m.npz").exists()
    outcome = succeed("train", *files, "-m", tmp_path / "m.npz", "--workers", 2, "--skip-bad-shards", "--json")
    assert "shard left out:" in outcome.err
    assert len(outcome.json["shards_left_out"]) == 1
    assert "part-3.svm:2:3" in outcome.json["shards_left_out"][0]


def test_a_shard_that_fails_in_every_round_is_reported_once(files, tmp_path):
    files[2].write_text("1 1:1\n1 2:x\n")
    flags = ["--workers", 2, "--skip-bad-shards", "--rounds", 3, "--json"]
    assert len(succeed("train", *files, "-m", tmp_path / "m", *flags).json["shards_left_out"]) == 1


def test_labels_of_a_shard_that_is_left_out_are_left_out_too(files, tmp_path):
    files[2].write_text("9 1:1\n9 2:x\n")
    succeed("train", *files, "-m", tmp_path / "m", "--workers", 2, "--skip-bad-shards")
    assert model_file.load(tmp_path / "m").label_names == ["-1", "+1"]


def test_bad_lines_that_are_skipped_are_reported(files, tmp_path):
    files[2].write_text("1 1:1\n-1 2:x\n-1 2:1\n")
    outcome = succeed("train", *files, "-m", tmp_path / "m", "--workers", 2, "--on-bad-line", "skip", "--json")
    assert "part-2.svm:2:4: value is not a decimal number (near '2:x'); line skipped" in outcome.err
    assert outcome.json["bad_lines"] == 1


def test_bad_lines_are_counted_over_all_shards(files, tmp_path):
    for number in (1, 4, 6):
        files[number].write_text("1 1:1\n-1 2:x\n-1 2:1\n")
    flags = ["--workers", 2, "--on-bad-line", "skip"]
    succeed("train", *files, "-m", tmp_path / "m", *flags, "--max-bad", 3)
    message = fail("train", *files, "-m", tmp_path / "m", *flags, "--max-bad", 2)
    assert "part-6.svm:2:4: value is not" in message
    assert "more than 2 bad lines in all shards" in message


def test_the_memory_for_weights_is_that_of_one_worker_for_any_number_of_shards(tmp_path):
    for number in range(20):
        (tmp_path / f"{number}.svm").write_text("1 1:1\n-1 200000:1\n")
    paths = [tmp_path / f"{number}.svm" for number in range(20)]
    succeed("train", *paths, "-m", tmp_path / "m", "--workers", 2, "--memory", "4M", "--epochs", 1)
    assert "--memory" in fail("train", *paths, "-m", tmp_path / "m", "--workers", 2, "--memory", "1M", "--epochs", 1)


def test_a_shard_that_is_not_a_regular_file_is_refused(files, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    flags = ["-m", tmp_path / "m", "--workers", 2]
    for more in (["--labels=-1,1"], []):
        message = fail("train", tmp_path / "pipe", *files, *flags, *more)
        assert "pipe: is not a regular file, and a shard may have to be read twice" in message


def test_a_checkpoint_cannot_be_resumed_by_several_workers(files, tmp_path):
    succeed("train", files[0], "-m", tmp_path / "m", "--quiet")
    learner = model_file.load(tmp_path / "m")
    learner.unfinished = {"done": 3, "memory": None}
    model_file.save(learner, tmp_path / "m.checkpoint")
    flags = ["-m", tmp_path / "m", "--resume", tmp_path / "m.checkpoint", "--workers", 2]
    assert "a checkpoint cannot be resumed by several workers" in fail("train", *files, *flags, status=2)
    assert (tmp_path / "m.checkpoint").exists()


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--workers", "0"], "must be None or a positive integer"),
        (["--workers", "2", "--checkpoint", "1"], "--checkpoint is not for several workers"),
        (["--workers", "2", "--how", "mean"], "must be 'posterior' or 'kl' or 'l2'"),
        (["--workers", "2", "--scheduler", "tcp://localhost:1"], "--workers is for this machine"),
        (["--rounds", "2"], "--rounds is for several workers"),
        (["--workers", "2", "-v"], "--verbose is not for several workers"),
        (["--workers", "2", "--threads", "2"], "--threads is not for several workers"),
    ],
)
def test_flags_that_several_workers_do_not_support_are_refused(files, tmp_path, flags, message):
    assert message.replace("None", "none") in fail("train", *files, "-m", tmp_path / "m", *flags, status=2)


def test_standard_input_cannot_be_divided(tmp_path):
    assert "standard input (-) cannot be divided" in fail("train", "-", "-m", tmp_path / "m", "--workers", 2, status=2)
