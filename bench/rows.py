"""A figure asked for: its name, what was measured, the target, and whether it was met."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One named figure; ``target`` is a limit in the direction of ``better``."""

    name: str
    value: float
    unit: str
    target: float
    better: str  # "lower" or "higher"
    note: str = ""

    @property
    def met(self) -> bool:
        return self.value <= self.target if self.better == "lower" else self.value >= self.target

    def to_json(self) -> dict[str, object]:
        return {**self.__dict__, "value": float(f"{self.value:.6g}"), "result": "pass" if self.met else "miss"}


def cpu_seconds(work: Callable[[], object]) -> float:
    """Processor time of one call, which other processes on the machine do not disturb."""
    gc.collect()
    start = time.process_time()
    work()
    return time.process_time() - start


def side_by_side(works: Mapping[str, Callable[[], object]], *, rounds: int) -> dict[str, float]:
    """Median processor time of each piece of work, taken in turns so that a busy moment hits all alike."""
    for work in works.values():
        work()
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            times[name].append(cpu_seconds(work))
    return {name: statistics.median(values) for name, values in times.items()}
