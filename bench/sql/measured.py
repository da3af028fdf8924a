"""What one piece of work took in this process: processor time, clock time and peak memory. Standard library alone."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from pathlib import Path


def measure(work: Callable[[], object]) -> tuple[dict[str, float], object]:
    """What it took, and what it gave; processor time is that of this process with its threads and ended children."""
    cpu, clock = cpu_seconds(), time.perf_counter()
    given = work()
    return {"cpu": cpu_seconds() - cpu, "seconds": time.perf_counter() - clock}, given


def cpu_seconds() -> float:
    spent = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in spent)


def peak_megabytes() -> float:
    """The most memory that this process held at once.

    Where the kernel tells it, from the process's own record: ``ru_maxrss`` of a child also remembers how large its
    parent was when it forked.
    """
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
