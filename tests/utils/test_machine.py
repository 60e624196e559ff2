"""The cores and the memory that a process may use: of the machine, of its container, and of those who start it."""

from __future__ import annotations

import io
import os

import pytest

from cwlearn.utils import machine


@pytest.fixture
def files(monkeypatch):
    """What the files of the system say; others are not there."""
    known = {}

    def opened(path, mode):
        assert mode == "rb"
        if path not in known:
            raise FileNotFoundError(path)
        return io.BytesIO(known[path])

    monkeypatch.setattr(machine, "open", opened, raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {*range(8)}, raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    return known


@pytest.mark.parametrize(
    ("quota", "cores"),
    [
        (b"max 100000\n", 8),
        (b"400000 100000\n", 4),
        (b"250000 100000\n", 2),
        (b"50000 100000\n", 1),
        (b"1600000 100000\n", 8),
        (b"", 8),
    ],
)
def test_cores_are_those_of_the_affinity_and_of_the_container(quota, cores, files, monkeypatch):
    assert machine.usable_cores() == 8
    files["/sys/fs/cgroup/cpu.max"] = quota
    assert machine.usable_cores() == cores
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    assert machine.usable_cores() == min(cores, 3)
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert machine.usable_cores() == 1


@pytest.mark.parametrize(("value", "cores"), [("1", 1), ("3", 3), ("64", 8), ("2,5", 2), ("", 8)])
def test_the_share_of_a_worker_is_kept(value, cores, files, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", value)
    assert machine.usable_cores() == cores


@pytest.mark.parametrize("value", ["0", "-2", "many", "1.5", ",2"])
def test_a_share_that_is_no_number_of_threads_is_ignored_with_a_warning_at_the_caller(value, files, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", value)
    with pytest.warns(UserWarning, match=r"^OMP_NUM_THREADS='.*' is ignored: expected a positive integer$") as caught:
        assert machine.usable_cores() == 8
    assert caught[0].filename == __file__


def test_memory_is_what_the_machine_or_the_container_has_left(files, monkeypatch):
    monkeypatch.setattr(os, "sysconf", {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 1 << 20}.__getitem__)
    assert machine.free_memory() == 1 << 31  # half of all, where nothing is said of what is free
    files["/proc/meminfo"] = b"MemTotal:  9000 kB\nMemFree:  10 kB\nMemAvailable:  8000000 kB\n"
    assert machine.free_memory() == 8_000_000 * 1024
    for folder, limit, used in (
        ("", "memory.max", "memory.current"),
        ("memory/", "memory.limit_in_bytes", "memory.usage_in_bytes"),
    ):
        for most, taken, left in (
            (b"max\n", b"5\n", 8_000_000 * 1024),
            (b"3000000000\n", b"1000000000\n", 2_000_000_000),
            (b"3000000000\n", b"2999999999\n", 1 << 24),
            (b"99000000000\n", b"0\n", 8_000_000 * 1024),
        ):
            files[f"/sys/fs/cgroup/{folder}{limit}"], files[f"/sys/fs/cgroup/{folder}{used}"] = most, taken
            assert machine.free_memory() == left
        del files[f"/sys/fs/cgroup/{folder}{used}"]
        assert machine.free_memory() == 8_000_000 * 1024

    def unknown(name):
        raise ValueError(name)

    files.clear()
    monkeypatch.setattr(os, "sysconf", unknown)
    assert machine.free_memory() == 1 << 30
