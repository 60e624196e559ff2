"""Training on shards in threads, and the parts of files that shards may be."""

from __future__ import annotations

import json
import os
import random
import threading
import weakref
from dataclasses import replace

import numpy as np
import pytest

import cwlearn as package
from cwlearn.core import model_file, rules
from cwlearn.core.merging import Sum
from cwlearn.core.training import Training
from cwlearn.errors import DataError
from cwlearn.parallel import shards
from cwlearn.parallel import tasks as shard_tasks
from cwlearn.parallel.shards import Sharing, files_as_shards, train_in_threads
from cwlearn.parallel.tasks import Plan
from cwlearn.text.reader import Reader
from cwlearn.text.resources import Resources
from cwlearn.text.run import Run
from cwlearn.text.sources import Source
from tests.text_cases import bits, fail, labelled_text, random_text, succeed


def in_threads(paths, rule=None, workers=2, base=None, how="posterior", rounds=1, **training):
    rule = rule or rules.AROW()
    options = {"epochs": 2, "shuffle": False, **training}
    plan = Plan(rule, Training(**options), how, seed=5)
    shards = files_as_shards([str(path) for path in paths], workers)
    return train_in_threads(shards, Sharing(workers=workers, rounds=rounds, how=how), plan, base)


def alone(path, rule, labels, base=None, **training):
    from cwlearn.text.labels import labels_for

    options = {"epochs": 2, "shuffle": False, **training}
    run = Run(
        path,
        rule,
        Training(**options),
        labels=labels_for(rule, labels),
        learner=base,
    )
    return run.train()


# -- parts of files ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pieces", [1, 2, 3, 10, 1000])
@pytest.mark.parametrize("end", ["\n", ""])
def test_parts_of_a_file_are_its_lines(tmp_path, pieces, end):
    path = tmp_path / "data.svm"
    path.write_text(random_text().rstrip("\n") + end, newline="")
    parts = Source(str(path)).split(pieces)
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
        list(Reader(Source(str(path), 18, size)))
    with pytest.raises(DataError, match="the file shrank"):
        list(Reader(Source(str(path), 18, size + 5)))


def test_only_plain_files_have_parts(tmp_path):
    import gzip

    path = tmp_path / "data.svm.gz"
    path.write_bytes(gzip.compress(random_text().encode()))
    assert Source(str(path)).split(4) == [Source(str(path))]
    empty = tmp_path / "empty.svm"
    empty.write_text("")
    assert sum(part.stop - part.start for part in Source(str(empty)).split(4)) == 0


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
    assert second.statistics["rows"] == 2 * first.statistics["rows"]


class Engine:
    """Runs tasks when a result is asked for: in any order, and each `copies` times, of which the last one counts."""

    def __init__(self, order=None, copies=1):
        self._order, self._copies, self._waiting = order, copies, []

    def submit(self, function, /, *arguments):
        task = Task(self, function, arguments)
        self._waiting.append(task)
        return task

    def run(self, task):
        while task in self._waiting:
            ready = [one for one in self._waiting if not any(argument in self._waiting for argument in one.before)]
            chosen = ready[self._order.randrange(len(ready)) if self._order else 0]
            for _ in range(self._copies):
                chosen.do()
            self._waiting.remove(chosen)
            chosen.call()


class Task:
    def __init__(self, engine, function, arguments):
        self._engine, self._function, self._arguments = engine, function, arguments
        self.before = [argument for argument in arguments if isinstance(argument, Task)]
        self.add_done_callback = lambda call: setattr(self, "call", lambda: call(self))
        self.call = lambda: None

    def do(self):
        values = [argument.answer if isinstance(argument, Task) else argument for argument in self._arguments]
        self.answer = self._function(*values)

    def result(self):
        self._engine.run(self)
        return self.answer


def on(engine, paths, base=None, rounds=2):
    plan = Plan(rules.AROW(), Training(epochs=2), "posterior", labels={-1.0: "-1", 1.0: "+1"}, seed=5)
    return shards.train(engine, files_as_shards([str(path) for path in paths], 1), plan, rounds, base, False)


def test_d04_shards_that_finish_in_any_order_give_the_same_bits(files, monkeypatch):
    """A thousand orders; what a shard gives is taken from the first of them."""
    expected, told = on(Engine(), files[:7], rounds=1)
    shares = {}

    def learn(shard, name, *rest):
        if name not in shares:
            shares[name] = shard_tasks.learn(shard, name, *rest)
        return shares[name]

    monkeypatch.setattr(shards, "learn", learn)
    order = random.Random(0)
    for _ in range(1000):
        learner, again = on(Engine(order), files[:7], rounds=1)
        assert bits(learner) == bits(expected)
        assert again.rows == told.rows


def test_d02_d06_a_task_that_is_run_twice_counts_once(files):
    """A task that is tried again, or whose copy finishes too, finds all that it is given as it was."""
    base, _ = in_threads(files[:2])
    before = bits(base)
    expected, told = on(Engine(), files, base)
    assert bits(base) == before
    learner, again = on(Engine(copies=2), files, base)
    assert bits(learner) == bits(expected)
    assert (again.rows, again.nonzeros) == (told.rows, told.nonzeros)
    assert bits(base) == before


def test_shuffles_differ_between_shards_and_rounds_but_not_between_runs(files):
    same = [files[0]] * 2
    shuffled, _ = in_threads(same, shuffle=True, epochs=1)
    straight, _ = in_threads(same, epochs=1)
    assert bits(shuffled) == bits(in_threads(same, shuffle=True, epochs=1, workers=1)[0]) != bits(straight)


def test_shards_that_do_not_fit_into_memory_give_the_same_bits_for_any_number_of_workers(files, monkeypatch):
    from cwlearn.text import run as out_of_core

    stores = []
    original = out_of_core.DiskStore
    monkeypatch.setattr(out_of_core, "DiskStore", lambda *args: stores.append(1) or original(*args))
    plan = Plan(rules.AROW(), Training(epochs=2), "posterior", resources=Resources(memory=1000), seed=5)
    named = files_as_shards([str(path) for path in files], 1)
    found = [train_in_threads(named, Sharing(workers=n), plan, None)[0] for n in (1, 2, 4)]
    assert stores
    assert bits(found[0]) == bits(found[1]) == bits(found[2])


def test_no_more_sums_are_held_than_threads_and_levels(files):
    alive, most = set(), 0

    original = shards.learn

    def learn(*args):
        share = original(*args)
        alive.add(weakref.ref(share.total, alive.discard))
        nonlocal most
        most = max(most, len(alive))
        return share

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shards, "learn", learn)
        in_threads(files * 8, workers=2)
    assert most <= 2 + 2 + 7  # threads, what is being added, and one for each level of the tree


@pytest.mark.parametrize("flags", [[], ["--skip-bad-shards"]])
def test_first_order_rules_are_refused_before_they_are_trained(files, tmp_path, flags):
    message = fail("train", *files, "-m", tmp_path / "m", "-a", "perceptron", "--workers", 2, *flags)
    assert "models of perceptron have no confidences: 'l2' is the only way" in message
    succeed("train", *files, "-m", tmp_path / "m", "-a", "perceptron", "--workers", 2, "--how", "l2", *flags)


def test_what_is_wrong_with_a_shard_is_told_though_its_labels_are_wanting(tmp_path):
    (tmp_path / "a.svm").write_text("1 1:1\n")
    (tmp_path / "b.svm").write_text("1 1:1\n-1 2:x\n")
    message = fail("train", tmp_path / "a.svm", tmp_path / "b.svm", "-m", tmp_path / "m", "--workers", 2)
    assert "found only 1" in message
    assert "b.svm:2:4: value is not a decimal number" in message
    message = fail("train", tmp_path / "none.svm", "-m", tmp_path / "m", "--workers", 2)
    assert "none.svm" in message
    flags = ["--labels=-1,1", "--skip-bad-shards", "--workers", 4]
    assert "'balanced' must count all rows" in fail(
        "train", tmp_path / "a.svm", "-m", tmp_path / "m", *flags, "--class-weight", "balanced"
    )
    (tmp_path / "b.svm").write_text("-1 2:x\n")
    message = fail("train", tmp_path / "b.svm", "-m", tmp_path / "m", *flags)
    assert "no examples" in message
    assert "b.svm:1:4" in message
    succeed("train", tmp_path / "a.svm", tmp_path / "none.svm", "-m", tmp_path / "m", *flags)


def test_bad_lines_that_are_skipped_are_reported(files, tmp_path):
    files[2].write_text("1 1:1\n-1 2:x\n-1 2:1\n")
    outcome = succeed("train", *files, "-m", tmp_path / "m", "--workers", 2, "--on-bad-line", "skip", "--json")
    assert "part-2.svm:2:4: value is not a decimal number (near '2:x'); line skipped" in outcome.err
    assert outcome.json["bad_lines"] == 1


def test_a_checkpoint_is_not_for_several_workers(files, tmp_path):
    succeed("train", files[0], "-m", tmp_path / "m", "--quiet")
    learner = model_file.load(tmp_path / "m")
    learner.unfinished = {"done": 3, "memory": None}
    model_file.save(learner, tmp_path / "m.checkpoint")
    flags = ["-m", tmp_path / "m", "--resume", tmp_path / "m.checkpoint", "--workers", 2]
    assert "a checkpoint goes on without --workers only" in fail("train", *files, *flags, status=2)
    assert (tmp_path / "m.checkpoint").exists()


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


def test_one_large_file_is_shared_by_all_workers(tmp_path):
    path = tmp_path / "data.svm"
    path.write_text(random_text() * 10, newline="")
    learner, _ = in_threads([path], workers=3)
    sums = [
        Sum.of("posterior", alone(part, rules.AROW(), {-1.0: "-1", 1.0: "+1"}), part.full_name)
        for part in Source(str(path)).split(3)
    ]
    assert bits(learner) == bits((sums[0] + sums[1] + sums[2]).learner())


def test_f03_the_mark_of_utf_8_is_skipped_in_the_first_part_of_a_file_only(tmp_path):
    path = tmp_path / "data.svm"
    mark = b"\xef\xbb\xbf"
    path.write_bytes(mark + b"1 1:1\n" * 10 + b"-1 2:1\n" * 10)
    parts = Source(str(path)).split(2)
    assert [part.start for part in parts] == [0, 70]
    assert [sum(batch.rows.n_rows for batch in Reader(part)) for part in parts] == [11, 9]
    path.write_bytes(b"1 1:1\n" * 10 + mark + b"-1 2:1\n" * 10)
    inside = Source(str(path), 60, path.stat().st_size)
    with pytest.raises(DataError, match=r"data\.svm:11:1: label is not a number"):
        list(Reader(inside))


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


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("place", [0.05, 0.5, 0.999])
def test_a_label_that_was_overlooked_is_learned_by_all(tmp_path, monkeypatch, shuffle, place):
    """The third label stands in one line of one shard: all of them are learned from again, with all labels."""
    monkeypatch.setattr(shard_tasks, "SAMPLE_BYTES", 200)
    monkeypatch.setattr("cwlearn.text.sources.SAMPLE_PLACES", 2)
    lines = ["+1 1:1\n", "-1 2:1\n"] * 4000
    paths = [tmp_path / name for name in "abc"]
    paths[0].write_text("".join(lines))
    paths[2].write_text("".join(lines))
    lines[int(place * len(lines))] = "7.0 3:1\n"
    paths[1].write_text("".join(lines))
    done = []
    named = files_as_shards([str(path) for path in paths], 2)
    plan = Plan(rules.AROW(), Training(epochs=2 if shuffle else 1, shuffle=shuffle), "posterior", seed=5)
    learner, told = train_in_threads(named, Sharing(workers=2), plan, None, done.append)
    known, _ = train_in_threads(
        named, Sharing(workers=2), replace(plan, labels={1.0: "+1", -1.0: "-1", 7.0: "7.0"}), None
    )
    assert learner.label_names == ["-1", "+1", "7.0"]
    assert bits(learner) == bits(known)
    assert told.rows == 24000
    assert sum(done) == 3
    assert -3 in done


def test_labels_are_found_though_some_lines_show_one_only(tmp_path, monkeypatch):
    monkeypatch.setattr(shard_tasks, "SAMPLE_BYTES", 200)
    monkeypatch.setattr("cwlearn.text.sources.SAMPLE_PLACES", 1)
    (tmp_path / "a").write_text("1 1:1\n" * 5000 + "2 2:1\n")
    learner, _ = in_threads([tmp_path / "a"], workers=1)
    assert learner.classes.tolist() == [1, 2]


def test_bad_lines_are_counted_over_all_shards(files, tmp_path):
    for number in (1, 4, 6):
        files[number].write_text("1 1:1\n-1 2:x\n-1 2:1\n")
    flags = ["--workers", 2, "--on-bad-line", "skip"]
    succeed("train", *files, "-m", tmp_path / "m", *flags, "--max-bad", 3)
    message = fail("train", *files, "-m", tmp_path / "m", *flags, "--max-bad", 2)
    assert "part-6.svm:2:4: value is not" in message
    assert "in all shards more than 2 bad lines: --max-bad" in message


def test_a_shard_that_can_be_read_but_once_is_refused(files, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    flags = ["-m", tmp_path / "m", "--workers", 2]
    for more in (["--labels=-1,1"], []):
        message = fail("train", tmp_path / "pipe", *files, *flags, *more)
        assert "pipe: can be read but once, and a shard may have to be read again" in message


def test_the_memory_for_weights_is_that_of_a_worker_however_many_shards_there_are(tmp_path):
    for number in range(20):
        (tmp_path / f"{number}.svm").write_text("1 1:1\n-1 200000:1\n")
    paths = [tmp_path / f"{number}.svm" for number in range(20)]
    succeed("train", *paths, "-m", tmp_path / "m", "--workers", 2, "--memory", "4M", "--epochs", 1)
    assert "--memory" in fail("train", *paths, "-m", tmp_path / "m", "--workers", 2, "--memory", "1M", "--epochs", 1)


def test_labels_of_a_shard_that_is_left_out_are_left_out_too(files, tmp_path):
    files[2].write_text("9 1:1\n9 2:x\n")
    succeed("train", *files, "-m", tmp_path / "m", "--workers", 2, "--skip-bad-shards")
    assert model_file.load(tmp_path / "m").label_names == ["-1", "+1"]


def test_a_shard_that_fails_in_every_round_is_told_of_once(files, tmp_path):
    files[2].write_text("1 1:1\n1 2:x\n")
    flags = ["--workers", 2, "--skip-bad-shards", "--rounds", 3, "--json"]
    assert len(succeed("train", *files, "-m", tmp_path / "m", *flags).json["shards_left_out"]) == 1


def test_a_fault_of_ours_is_not_blamed_on_a_shard(files, monkeypatch):
    def broken(*args):
        raise MemoryError("none left")

    monkeypatch.setattr(shard_tasks, "_learn_text", broken)
    plan = Plan(rules.AROW(), Training(), "posterior")
    with pytest.raises(MemoryError, match="none left"):
        train_in_threads(
            files_as_shards([str(path) for path in files], 2), Sharing(workers=2, skip_bad_shards=True), plan, None
        )


def test_hashes_of_a_model_that_goes_on_stay_as_they_are(files):
    model = package.train_svmlight(files[0], package.AROWClassifier(warm_start=True), hash_bits=6)
    with pytest.raises(ValueError, match="`hash_bits` of the model is 6, not 10"):
        package.train_svmlight(files[0], model, hash_bits=10)


def test_parts_of_parts_are_parts_of_the_same_lines(tmp_path):
    path = tmp_path / "data.svm"
    path.write_text(random_text(), newline="")
    first, second = Source(str(path)).split(2)
    halves = second.split(2)
    assert [halves[0].start, halves[-1].stop] == [first.stop, second.stop]


def test_d05_a_bad_shard_fails_the_run_after_the_others_with_its_place(files):
    files[3].write_text("1 1:1\n1 2:x\n")
    files[6].unlink()
    with pytest.raises(DataError, match=r"part-3\.svm:2:3: value is not .* \(and 1 more shard\)"):
        in_threads(files)


def test_an_interrupt_ends_all_threads(files, monkeypatch):
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
    assert report["rows"] * (2 if "--rounds" in flags else 1) * report["epochs"] == learner.statistics["rows"]
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
    assert b.statistics["rows"] > a.statistics["rows"]
    assert (b.state.variance <= a.state.variance).all()


def test_regression_and_several_labels_with_workers(tmp_path):
    (tmp_path / "r.svm").write_text("1.5 1:1\n2.5 2:1\n" * 20)
    succeed("train", tmp_path / "r.svm", "-m", tmp_path / "r.npz", "--task", "regression", "--workers", 2)
    assert isinstance(package.load(tmp_path / "r.npz"), package.AROWRegressor)
    (tmp_path / "l.svm").write_text(labelled_text() * 3)
    succeed("train", tmp_path / "l.svm", "-m", tmp_path / "l.npz", "--workers", 3)
    assert len(model_file.load(tmp_path / "l.npz").classes) > 2


def test_d08_bad_shards_can_be_left_out(files, tmp_path):
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
        (["--rounds", "2"], "--rounds is for several workers"),
        (["--workers", "2", "-v"], "--verbose shows how one model learns"),
        (["--workers", "2", "--threads", "2"], "--threads is for one model"),
    ],
)
def test_flags_that_make_no_sense_are_refused(files, tmp_path, flags, message):
    assert message.replace("None", "none") in fail("train", *files, "-m", tmp_path / "m", *flags, status=2)


def test_standard_input_cannot_be_shared(tmp_path):
    assert "standard input (-) cannot be shared" in fail("train", "-", "-m", tmp_path / "m", "--workers", 2, status=2)
