"""Training on shards in threads, and the parts of files that shards may be."""

from __future__ import annotations

import json
import threading

import numpy as np
import pytest

import cwlearn as package
from cwlearn import model_file, rules
from cwlearn.errors import DataError
from cwlearn.learner import Training
from cwlearn.merging import Sum
from cwlearn.out_of_core import Run
from cwlearn.shards import Plan, Sharing, train_in_threads
from cwlearn.svmlight import Reader
from cwlearn.text_files import Part, split
from tests.text_cases import fail, labelled_text, random_text, succeed


@pytest.fixture
def files(tmp_path):
    """Eight files of one text, and all of it."""
    lines = (random_text() * 4).splitlines(keepends=True)
    paths = []
    for number in range(8):
        path = tmp_path / f"part-{number}.svm"
        path.write_text("".join(lines[number::8]), newline="")
        paths.append(path)
    return paths


def bits(learner):
    return [*(array.tobytes() for array in learner.state.arrays().values()), repr(learner.tally)]


def in_threads(paths, rule=None, workers=2, base=None, how="posterior", rounds=1, **training):
    rule = rule or rules.AROW()
    options = {"epochs": 2, "shuffle": True, **training}
    plan = Plan(rule, Training(**options), how, seed=5)
    return train_in_threads([str(path) for path in paths], Sharing(workers=workers, rounds=rounds, how=how), plan, base)


def alone(path, rule, labels, base=None, **training):
    from cwlearn.labels import labels_for

    options = {"epochs": 2, "shuffle": True, **training}
    run = Run(
        [path if isinstance(path, str) else str(path)],
        rule,
        Training(**options),
        labels=labels_for(rule, labels),
        learner=base,
    )
    run.random_state = np.random.RandomState(5)
    return run.train()


# -- parts of files ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pieces", [1, 2, 3, 10, 1000])
@pytest.mark.parametrize("end", ["\n", ""])
def test_parts_of_a_file_are_its_lines(tmp_path, pieces, end):
    path = tmp_path / "data.svm"
    path.write_text(random_text().rstrip("\n") + end, newline="")
    parts = split(str(path), pieces)
    assert len(parts) <= pieces
    text = path.read_bytes()
    if pieces > 1:
        assert b"".join(text[part.start : part.stop] for part in parts) == text
        assert all(part.stop == len(text) or text[part.stop - 1 : part.stop] == b"\n" for part in parts)
    whole = np.concatenate([batch.labels.copy() for batch in Reader(str(path))])
    pieced = np.concatenate([batch.labels.copy() for part in parts for batch in Reader(part)])
    assert (whole == pieced).all()


def test_an_error_in_a_part_has_the_line_of_the_file(tmp_path):
    path = tmp_path / "data.svm"
    path.write_text("# a comment\n1 1:1\n2 2:1\n1 1:1\n2 2:x\n")
    size = path.stat().st_size
    with pytest.raises(DataError, match=r"data\.svm:5:3: value is not a decimal number"):
        list(Reader(Part(str(path), 18, size)))
    with pytest.raises(DataError, match="the file shrank"):
        list(Reader(Part(str(path), 18, size + 5)))


def test_only_plain_files_have_parts(tmp_path):
    import gzip

    path = tmp_path / "data.svm.gz"
    path.write_bytes(gzip.compress(random_text().encode()))
    assert split(str(path), 4) == [str(path)]
    empty = tmp_path / "empty.svm"
    empty.write_text("")
    assert sum(part.stop - part.start for part in split(str(empty), 4)) == 0


# -- threads -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "rule", [rules.AROW(), rules.CW(0.8), rules.AROW(covariance="full"), rules.SOP()], ids=lambda rule: repr(rule)[:40]
)
@pytest.mark.parametrize("how", ["posterior", "kl", "l2"])
def test_shards_give_what_merging_their_models_gives(files, rule, how):
    sums = [Sum.of(how, alone(path, rule, {-1.0: "-1", 1.0: "+1"}), str(path)) for path in files]
    while len(sums) > 1:
        sums = [one + other for one, other in zip(sums[::2], sums[1::2], strict=True)]
    expected = sums[0].learner()
    for workers in (1, 2, 8):
        learner, told = in_threads(files, rule, workers, how=how)
        assert bits(learner) == bits(expected)
        assert told.rows == sum(1 for path in files for batch in Reader(str(path)) for _ in batch.labels)


def test_later_rounds_begin_with_the_last_merged_model(files):
    first, _ = in_threads(files)
    second, _ = in_threads(files, rounds=2)
    resumed, _ = in_threads(files, base=first)
    assert bits(second) == bits(resumed)
    assert second.tally["rows"] == 2 * first.tally["rows"]


def test_one_large_file_is_shared_by_all_workers(tmp_path):
    path = tmp_path / "data.svm"
    path.write_text(random_text() * 10, newline="")
    learner, _ = in_threads([path], workers=3)
    sums = [
        Sum.of("posterior", alone(part, rules.AROW(), {-1.0: "-1", 1.0: "+1"}), part) for part in split(str(path), 3)
    ]
    assert bits(learner) == bits((sums[0] + sums[1] + sums[2]).learner())


def test_d05_a_shard_with_one_label_or_none_at_all_is_welcome(tmp_path):
    texts = {"a": "1 1:1\n1 2:1\n", "b": "2 3:1\n", "c": "", "d": "3 1:1\n1 2:2\n"}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    learner, told = in_threads([tmp_path / name for name in texts])
    assert learner.classes.tolist() == [1, 2, 3]
    assert told.rows == 5
    for path in (tmp_path / "a", tmp_path / "b", tmp_path / "d"):
        path.write_text("")
    with pytest.raises(DataError, match=r"two labels are needed|no examples"):
        in_threads([tmp_path / name for name in texts])


def test_a_bad_shard_fails_the_run_after_the_others_with_its_place(files):
    files[3].write_text("1 1:1\n1 2:x\n")
    files[6].unlink()
    with pytest.raises(DataError, match=r"part-3\.svm:2:3: value is not .* \(and 1 more shards\)"):
        in_threads(files)


def test_an_interrupt_ends_all_threads(files, monkeypatch):
    from cwlearn import shards

    def interrupted(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(shards, "combine", interrupted)
    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        in_threads(files, epochs=200)
    assert threading.active_count() == before


# -- the command line --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("flags", [[], ["--covariance", "full"], ["-a", "cw", "--epochs", "3", "--rounds", "2"]])
def test_train_with_workers(files, tmp_path, flags):
    out = tmp_path / "m.npz"
    report = json.loads(succeed("train", *files, "-m", out, "--workers", 2, "--json", *flags).out)
    assert report["shards_left_out"] == []
    learner = model_file.load(out)
    assert report["rows"] * (2 if "--rounds" in flags else 1) * report["epochs"] == learner.tally["rows"]
    for workers in (1, 3):
        succeed("train", *files, "-m", tmp_path / "n.npz", "--workers", workers, "--quiet", *flags)
        assert bits(model_file.load(tmp_path / "n.npz")) == bits(learner)
    assert "arow model" in succeed("train", *files, "-m", out, "--workers", 2).out
    succeed("predict", files[0], "-m", out)


def test_resuming_with_workers_adds_to_what_was_known(files, tmp_path):
    succeed("train", *files[:4], "-m", tmp_path / "a.npz", "--workers", 2, "--epochs", 1, "--quiet")
    succeed(
        "train", *files[4:], "-m", tmp_path / "b.npz", "--resume", tmp_path / "a.npz", "--workers", 2, "--epochs", 1
    )
    a, b = (model_file.load(tmp_path / name) for name in ("a.npz", "b.npz"))
    assert b.tally["rows"] > a.tally["rows"]
    assert (b.state.variance <= a.state.variance).all()


def test_regression_and_several_labels_with_workers(tmp_path):
    (tmp_path / "r.svm").write_text("1.5 1:1\n2.5 2:1\n" * 20)
    succeed("train", tmp_path / "r.svm", "-m", tmp_path / "r.npz", "--task", "regression", "--workers", 2)
    assert isinstance(package.load(tmp_path / "r.npz"), package.AROWRegressor)
    (tmp_path / "l.svm").write_text(labelled_text() * 3)
    succeed("train", tmp_path / "l.svm", "-m", tmp_path / "l.npz", "--workers", 3)
    assert len(model_file.load(tmp_path / "l.npz").classes) > 2


def test_bad_shards_can_be_left_out(files, tmp_path):
    files[3].write_text("1 1:1\n1 2:x\n")
    message = fail("train", *files, "-m", tmp_path / "m.npz", "--workers", 2)
    assert "part-3.svm:2:3: value is not a decimal number" in message
    assert not (tmp_path / "m.npz").exists()
    outcome = succeed("train", *files, "-m", tmp_path / "m.npz", "--workers", 2, "--skip-bad-shards", "--json")
    assert "shard left out:" in outcome.err
    assert len(outcome.json["shards_left_out"]) == 1
    assert "part-3.svm:2:3" in outcome.json["shards_left_out"][0]


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--workers", "0"], "must be None or a positive integer"),
        (["--workers", "2", "--checkpoint", "1"], "--checkpoint is not for several workers"),
        (["--workers", "2", "--how", "mean"], "must be 'posterior' or 'kl' or 'l2'"),
        (["--workers", "2", "--scheduler", "tcp://localhost:1"], "--workers is for this machine"),
    ],
)
def test_flags_that_make_no_sense_are_refused(files, tmp_path, flags, message):
    assert message.replace("None", "none") in fail("train", *files, "-m", tmp_path / "m", *flags, status=2)


def test_standard_input_cannot_be_shared(tmp_path):
    assert "standard input (-) cannot be shared" in fail("train", "-", "-m", tmp_path / "m", "--workers", 2, status=2)
