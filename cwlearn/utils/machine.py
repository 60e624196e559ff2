"""The cores and the memory that this process may use."""

from __future__ import annotations

import contextlib
import os
import warnings


def usable_cores() -> int:
    """The number of cores that this process may use: limited by its affinity, its container and OMP_NUM_THREADS."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # macOS and Windows
        cores = os.cpu_count() or 1
    with contextlib.suppress(OSError, ValueError), open("/sys/fs/cgroup/cpu.max", "rb") as file:
        quota, period = map(int, file.read().split())  # "max" is no limit
        cores = min(cores, max(1, quota // period))
    return min(cores, _omp_threads() or cores)


def _omp_threads() -> int | None:
    """The value of OMP_NUM_THREADS, which joblib and Dask set for each of their workers."""
    value = os.environ.get("OMP_NUM_THREADS")
    if not value:
        return None
    with contextlib.suppress(ValueError):
        if (threads := int(value.split(",")[0])) > 0:  # numbers after a comma are for nested threads
            return threads
    warnings.warn(f"OMP_NUM_THREADS={value!r} is ignored: expected a positive integer", stacklevel=3)
    return None


def free_memory() -> int:
    """Bytes that are available without swapping, in the machine or in the container, if that has less."""
    free = 1 << 30  # where the system does not say
    with contextlib.suppress(AttributeError, OSError, ValueError):
        free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    with contextlib.suppress(OSError, ValueError), open("/proc/meminfo", "rb") as file:
        free = next(1024 * int(line.split()[1]) for line in file if line.startswith(b"MemAvailable:"))
    for limit, used in (
        ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
        ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
    ):
        with contextlib.suppress(OSError, ValueError), open(limit, "rb") as limit_file, open(used, "rb") as used_file:
            free = min(free, max(1 << 24, int(limit_file.read()) - int(used_file.read())))
    return free
