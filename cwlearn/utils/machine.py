"""What this process may use of the machine."""

from __future__ import annotations

import contextlib
import os
import warnings


def usable_cores() -> int:
    """Cores that this process may run on, or its share of them, where a container or whoever started it has set one."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # not everywhere
        cores = os.cpu_count() or 1
    with contextlib.suppress(OSError, ValueError), open("/sys/fs/cgroup/cpu.max", "rb") as file:
        quota, period = map(int, file.read().split())  # "max" is no limit
        cores = min(cores, max(1, quota // period))
    return min(cores, _share() or cores)


def _share() -> int | None:
    """Threads that OMP_NUM_THREADS grants, as joblib and Dask set it for each of their workers."""
    given = os.environ.get("OMP_NUM_THREADS")
    if not given:
        return None
    with contextlib.suppress(ValueError):
        if (threads := int(given.split(",")[0])) > 0:  # those behind a comma are for threads of threads
            return threads
    warnings.warn(f"OMP_NUM_THREADS={given!r} is ignored: expected a positive integer", stacklevel=3)
    return None


def free_memory() -> int:
    """Bytes that can be taken without pushing anything out: of the machine, or of the container if that has less."""
    free = 1 << 30  # where nobody tells
    with contextlib.suppress(AttributeError, OSError, ValueError):
        free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    with contextlib.suppress(OSError, ValueError), open("/proc/meminfo", "rb") as file:
        free = next(1024 * int(line.split()[1]) for line in file if line.startswith(b"MemAvailable:"))
    for limit, used in (
        ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
        ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
    ):
        with contextlib.suppress(OSError, ValueError), open(limit, "rb") as most, open(used, "rb") as now:
            free = min(free, max(1 << 24, int(most.read()) - int(now.read())))
    return free
