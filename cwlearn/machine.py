"""What this process may use of the machine."""

from __future__ import annotations

import contextlib
import os


def usable_cores() -> int:
    """Cores that this process may run on."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not everywhere
        return os.cpu_count() or 1


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
