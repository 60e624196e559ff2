"""Training on shards in threads, and the parts of files that shards may be."""

from __future__ import annotations

import random
import threading
import weakref
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import cwlearn as package
from cwlearn.core import rules
from cwlearn.core.merging import Sum
from cwlearn.core.training import Training
from cwlearn.errors import DataError
from cwlearn.parallel import shards, tasks
from cwlearn.parallel.shards import files_as_shards
from cwlearn.parallel.sharing import Sharing
from cwlearn.parallel.tasks import Plan
from cwlearn.parallel.threads import train_in_threads
from cwlearn.text.labels import labels_for
from cwlearn.text.reader import Reader, Reading
from cwlearn.text.resources import Resources
from cwlearn.text.row_store import DiskStore
from cwlearn.text.run import Run
from cwlearn.text.sources import Source
from tests.text_cases import bits, random_text


def in_threads(paths, rule=None, workers=2, base=None, how="posterior", rounds=1, **training):
    """The model and the result of training on files."""
    options = {"epochs": 2, "shuffle": False, **training}
    plan = Plan(rule or rules.AROW(), Training(**options), how, seed=5)
    shards = files_as_shards([str(path) for path in paths], workers)
    return train_in_threads(shards, plan, Sharing(workers=workers, rounds=rounds, how=how), base)


def alone(path, rule, labels, base=None, **training):
    """The model of one file."""
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
    "rule",
    [rules.AROW(), rules.AROW(average=True), rules.CW(0.8), rules.AROW(covariance="full"), rules.SOP()],
    ids=lambda rule: repr(rule)[:40],
)
@pytest.mark.parametrize("how", ["posterior", "kl", "l2"])
def test_shards_give_what_merging_their_models_gives(files, rule, how):
    sums = [Sum.of(how, alone(path, rule, {-1.0: "-1", 1.0: "+1"}), str(path)) for path in files]
    while len(sums) > 1:
        sums = [left + right for left, right in zip(sums[::2], sums[1::2], strict=True)]
    expected = sums[0].learner()
    for workers in (1, 2, 8):
        learner, result = in_threads(files, rule, workers, how=how)
        assert bits(learner) == bits(expected)
        assert result.rows == sum(1 for path in files for batch in Reader(str(path)) for _ in batch.labels)


def test_later_rounds_begin_with_the_last_merged_model(files):
    first, _ = in_threads(files)
    second, _ = in_threads(files, rounds=2)
    resumed, _ = in_threads(files, base=first)
    assert bits(second) == bits(resumed)
    assert second.statistics["rows"] == 2 * first.statistics["rows"]


class Engine:
    """Runs tasks when a result is requested: in any order, and each `copies` times, of which the last one counts."""

    def __init__(self, order=None, copies=1):
        self._order, self._copies, self._waiting = order, copies, []

    def submit(self, function, /, *arguments):
        task = Task(self, function, arguments)
        self._waiting.append(task)
        return task

    def run(self, wanted):
        while wanted in self._waiting:
            ready = [task for task in self._waiting if not any(input in self._waiting for input in task.inputs)]
            chosen = ready[self._order.randrange(len(ready)) if self._order else 0]
            for _ in range(self._copies):
                chosen.do()
            self._waiting.remove(chosen)
            chosen.call()


class Task:
    def __init__(self, engine, function, arguments):
        self._engine, self._function, self._arguments = engine, function, arguments
        self.inputs = [argument for argument in arguments if isinstance(argument, Task)]
        self.add_done_callback = lambda call: setattr(self, "call", lambda: call(self))
        self.call = lambda: None

    def do(self):
        values = [argument.answer if isinstance(argument, Task) else argument for argument in self._arguments]
        self.answer = self._function(*values)

    def result(self):
        self._engine.run(self)
        return self.answer


def on(engine, paths, base=None, rounds=2):
    """The model and the result of training with an engine."""
    plan = Plan(rules.AROW(), Training(epochs=2), "posterior", labels={-1.0: "-1", 1.0: "+1"}, seed=5)
    named = files_as_shards([str(path) for path in paths], 1)
    return shards.train(engine, named, plan, Sharing(rounds=rounds), base)


def test_d04_shards_that_finish_in_any_order_give_the_same_bits(files, monkeypatch):
    """A thousand orders; the results of the shards are those of the first one."""
    expected, result = on(Engine(), files[:7], rounds=1)
    results = {}

    def learn(shard, name, *rest):
        if name not in results:
            results[name] = tasks.learn(shard, name, *rest)
        return results[name]

    monkeypatch.setattr(shards, "learn", learn)
    order = random.Random(0)
    for _ in range(1000):
        learner, again = on(Engine(order), files[:7], rounds=1)
        assert bits(learner) == bits(expected)
        assert again.rows == result.rows


def test_d02_d06_a_task_that_is_run_twice_counts_once(files):
    """No task changes its arguments, so that one which is repeated, or runs in two copies, gives the same result."""
    base, _ = in_threads(files[:2])
    before = bits(base)
    expected, result = on(Engine(), files, base)
    assert bits(base) == before
    learner, again = on(Engine(copies=2), files, base)
    assert bits(learner) == bits(expected)
    assert (again.rows, again.nonzeros) == (result.rows, result.nonzeros)
    assert bits(base) == before


def test_shuffles_differ_between_shards_and_rounds_but_not_between_runs(files):
    same = [files[0]] * 2
    shuffled, _ = in_threads(same, shuffle=True, epochs=1)
    straight, _ = in_threads(same, epochs=1)
    assert bits(shuffled) == bits(in_threads(same, shuffle=True, epochs=1, workers=1)[0]) != bits(straight)


def test_shards_that_do_not_fit_into_memory_give_the_same_bits_for_any_number_of_workers(files, monkeypatch):
    stores = []
    original = DiskStore.__init__
    monkeypatch.setattr(DiskStore, "__init__", lambda self, *args: stores.append(1) or original(self, *args))
    plan = Plan(rules.AROW(), Training(epochs=2), "posterior", resources=Resources(memory=1000), seed=5)
    named = files_as_shards([str(path) for path in files], 1)
    learners = [train_in_threads(named, plan, Sharing(workers=workers))[0] for workers in (1, 2, 4)]
    assert stores
    assert bits(learners[0]) == bits(learners[1]) == bits(learners[2])


def test_no_more_sums_are_held_than_threads_and_levels(files):
    alive, most = set(), 0

    original = shards.learn

    def learn(*args):
        nonlocal most
        result = original(*args)
        alive.add(weakref.ref(result.total, alive.discard))
        most = max(most, len(alive))
        return result

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shards, "learn", learn)
        in_threads(files * 8, workers=2)
    assert most <= 2 + 2 + 7  # threads, two that are being added, and one for each level of the tree


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


def test_d05_shards_with_one_label_or_no_rows_are_accepted(tmp_path):
    texts = {"a": "1 1:1\n1 2:1\n", "b": "2 3:1\n", "c": "", "d": "3 1:1\n1 2:2\n"}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    learner, result = in_threads([tmp_path / name for name in texts])
    assert learner.classes.tolist() == [1, 2, 3]
    assert result.rows == 5
    for path in (tmp_path / "a", tmp_path / "b", tmp_path / "d"):
        path.write_text("")
    with pytest.raises(DataError, match=r"two labels are needed|no examples"):
        in_threads([tmp_path / name for name in texts])


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("place", [0.05, 0.5, 0.999])
def test_a_label_that_is_not_in_the_sample_is_learned_by_all_shards(tmp_path, monkeypatch, shuffle, place):
    """The third label is in one line of one shard.  All shards are learned from again, with all labels."""
    monkeypatch.setattr(tasks, "SAMPLE_BYTES", 200)
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
    learner, result = train_in_threads(named, plan, Sharing(workers=2), report=done.append)
    with_labels = replace(plan, labels={1.0: "+1", -1.0: "-1", 7.0: "7.0"})
    expected, _ = train_in_threads(named, with_labels, Sharing(workers=2))
    assert learner.label_names == ["-1", "+1", "7.0"]
    assert bits(learner) == bits(expected)
    assert result.rows == 24000
    assert sum(done) == 3
    assert -3 in done


def test_a_text_whose_sample_has_one_label_is_read_to_the_end(tmp_path, monkeypatch):
    monkeypatch.setattr(tasks, "SAMPLE_BYTES", 200)
    monkeypatch.setattr("cwlearn.text.sources.SAMPLE_PLACES", 1)
    (tmp_path / "a").write_text("1 1:1\n" * 5000 + "2 2:1\n")
    learner, _ = in_threads([tmp_path / "a"], workers=1)
    assert learner.classes.tolist() == [1, 2]


def test_an_error_that_no_shard_can_cause_is_raised(files, monkeypatch):
    def broken(*args):
        raise MemoryError("none left")

    monkeypatch.setattr(tasks, "_learn_text", broken)
    plan = Plan(rules.AROW(), Training(), "posterior")
    named = files_as_shards([str(path) for path in files], 2)
    with pytest.raises(MemoryError, match="none left"):
        train_in_threads(named, plan, Sharing(workers=2, skip_bad_shards=True))


def test_hash_bits_of_a_resumed_model_cannot_change(files):
    model = package.train(files[0], package.AROWClassifier(warm_start=True), hash_bits=6)
    with pytest.raises(ValueError, match="`hash_bits` of the model is 6, not 10"):
        package.train(files[0], model, hash_bits=10)


def test_parts_of_parts_are_parts_of_the_same_lines(tmp_path):
    path = tmp_path / "data.svm"
    path.write_text(random_text(), newline="")
    first, second = Source(str(path)).split(2)
    halves = second.split(2)
    assert [halves[0].start, halves[-1].stop] == [first.stop, second.stop]


def test_d05_a_bad_shard_fails_the_run_with_its_place_after_the_others(files):
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


def test_bad_lines_of_all_shards_count_together(files):
    for path in files[:3]:
        path.write_text("1 1:1\n-1 2:x\n-1 2:1\n")
    plan = Plan(rules.AROW(), Training(epochs=1), "posterior", Reading(on_bad_line="skip", max_bad=2))
    named = files_as_shards([str(path) for path in files], 2)
    with pytest.raises(DataError, match=r"part-2\.svm:2:4: .* \(more than 2 bad lines in all shards: `max_bad`\)"):
        train_in_threads(named, plan, Sharing(workers=2))


def test_a_shard_that_failed_in_any_round_is_named_in_the_end(files, monkeypatch):
    original, rounds = shards._train_round, []

    def train_round(engine, named, plan, number, *words):
        model, result = original(engine, named, plan, number, *words)
        rounds.append(number)
        return model, replace(result, failures={f"shard-{number}": f"round {number}"} if number < 2 else {})

    monkeypatch.setattr(shards, "_train_round", train_round)
    named = files_as_shards([str(path) for path in files], 2)
    plan = Plan(rules.AROW(), Training(), "posterior")
    _, result = train_in_threads(named, plan, Sharing(workers=2, rounds=3, skip_bad_shards=True))
    assert rounds == [0, 1, 2]
    assert result.failures == {"shard-0": "round 0", "shard-1": "round 1"}


def test_counts_failures_lines_and_labels_of_two_shards_are_added():
    left = tasks.ShardResult(Sum("posterior"), 1, 20, 300, {"a": "bad"}, ["a:1"], {1.0: "1"}, False)
    right = tasks.ShardResult(Sum("posterior"), 2, 50, 700, {"b": "worse"}, ["b:2"], {1.0: "1.0", 2.0: "2"}, True)
    both = tasks.combine(left, right)
    assert (both.rows, both.nonzeros, both.bad_lines, both.labels_missed) == (3, 70, 1000, True)
    assert both.failures == {"a": "bad", "b": "worse"}
    assert both.skipped_lines == ["a:1", "b:2"]
    assert both.labels == {1.0: "1", 2.0: "2"}  # as the first shard writes them


def test_a_plan_ends_its_tasks_when_it_is_told_to():
    stop = threading.Event()
    plan = Plan(rules.AROW(), Training(), "posterior")
    plan.check_stop()
    replace(plan, stop=stop).check_stop()
    stop.set()
    with pytest.raises(KeyboardInterrupt):
        replace(plan, stop=stop).check_stop()


def test_small_files_stay_whole_beside_large_ones(tmp_path):
    for name, n_rows in (("large", 1000), ("small", 20), ("tiny", 2)):
        (tmp_path / name).write_text("1 1:1\n" * n_rows)
    found = files_as_shards([str(tmp_path / name) for name in ("large", "small", "tiny")], 8)
    names = [shard.name.split("/")[-1].split(":")[0].split(",")[0] for shard in found]
    assert [sum(name.startswith(each) for name in names) for each in ("large", "small", "tiny")] == [8, 1, 1]


def test_resources_of_a_shard_do_not_depend_on_its_machine():
    plan = replace(Plan(rules.AROW(), Training(verbose=3), "posterior"), resources=Resources(threads=7))
    equal = shards._with_equal_resources(plan)
    assert (equal.resources.threads, equal.resources.memory, equal.training.verbose) == (1, shards.SHARD_MEMORY, 0)
    given = replace(plan, resources=Resources(memory=10**6))
    assert shards._with_equal_resources(given).resources.memory == 10**6


def test_names_of_columns_are_kept_if_all_are_texts():
    frame = pd.DataFrame(np.eye(2), columns=["a", "b"])
    assert tasks._column_names(frame).tolist() == ["a", "b"]
    assert tasks._column_names(frame.set_axis(["a", 2], axis=1)) is None
    assert tasks._column_names(frame[[]]) is None
    assert tasks._column_names(np.eye(2)) is None
