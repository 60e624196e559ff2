"""Work that threads do ahead: results in order, exceptions in their turn, no thread left behind."""

from __future__ import annotations

import random
import threading
import time

import pytest

from cwlearn.utils.pipeline import in_order, read_ahead


def counting(stop):
    numbers = iter(range(stop))
    return lambda _: next(numbers, None)


@pytest.mark.parametrize("helping", [False, True])
@pytest.mark.parametrize("threads", [1, 2, 3, 8])
@pytest.mark.parametrize("spaces", [1, 2, 5, 10])
def test_results_come_in_order_whatever_the_delays(threads, spaces, helping):
    delays = random.Random(threads)
    before = threading.active_count()

    def work(thing, space):
        time.sleep(delays.choice([0, 0, 0.001, 0.003]))
        return thing, space

    results = list(in_order(counting(60), work, list(range(spaces)), threads, helping))
    assert [thing for thing, _ in results] == list(range(60))
    assert {space for _, space in results} <= set(range(spaces))
    assert threading.active_count() == before


def test_a_space_is_not_used_again_before_its_result_is_done_with():
    spaces = [[] for _ in range(4)]

    def work(thing, resources):
        resources.append(thing)
        return thing, resources

    for thing, space in in_order(counting(200), work, spaces, 3, helping=True):
        time.sleep(0.0005)
        assert space[-1] == thing


def collect(results, got):
    for result in results:
        got.append(result)


@pytest.mark.parametrize("fault_at", [0, 1, 13, 59])
@pytest.mark.parametrize("who", ["take", "work"])
def test_an_exception_comes_in_its_turn(who, fault_at):
    before = threading.active_count()
    numbers = counting(60)

    def take(space):
        number = numbers(space)
        if who == "take" and number == fault_at:
            raise OSError(number)
        return number

    def work(number, _):
        time.sleep(0.002 * (number % 5 == 0))
        if who == "work" and number >= fault_at:
            raise OSError(number)
        return number

    got = []
    with pytest.raises(OSError, match=f"^{fault_at}$"):
        collect(in_order(take, work, list(range(10)), 8, helping=True), got)
    assert got == list(range(fault_at))
    assert threading.active_count() == before


def test_closing_early_stops_the_threads_and_nothing_runs_far_ahead():
    before = threading.active_count()
    taken = []

    def take(_):
        taken.append(len(taken))
        return len(taken)

    results = in_order(take, lambda thing, _: thing, list(range(5)), 3)
    assert [next(results) for _ in range(4)] == [1, 2, 3, 4]
    time.sleep(0.02)
    assert len(taken) <= 3 + 5
    results.close()
    assert threading.active_count() == before


def test_reading_ahead_keeps_the_order_and_brings_an_exception_in_its_turn():
    def items():
        for number in range(5):
            made.append(number)
            yield number
        raise OSError("the end")

    made, got = [], []
    before = threading.active_count()
    with pytest.raises(OSError, match="the end"):
        collect(read_ahead(items()), got)
    assert got == made == [0, 1, 2, 3, 4]
    made.clear()
    early = read_ahead(items())
    assert next(early) == 0
    while len(made) < 2:  # the next one is made meanwhile
        time.sleep(0.001)
    early.close()
    assert made == [0, 1]
    assert threading.active_count() == before


def test_one_thread_takes_at_a_time():
    inside = []
    numbers = counting(50)

    def take(space):
        inside.append(1)
        time.sleep(0.0005)
        alone = len(inside) == 1
        inside.clear()
        return numbers(space) if alone else "two at a time"

    assert list(in_order(take, lambda thing, _: thing + 1, list(range(9)), 8)) == list(range(1, 51))
