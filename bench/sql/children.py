"""Peers, DuckDB and Hubbub, each question in a process of its own; what they took is kept as JSON in the cache."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

from bench import cache
from bench.peers import Environment, environment
from bench.sql import table

PEERS = ("opendp", "smartnoise", "pipelinedp", "qrlew")
PATIENCE = 300  # seconds for one question, loading included
ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Taken:
    """What one question took in its own process, or the reason why there is nothing to compare with."""

    peer: str
    question: str
    rows: int
    version: str = ""
    cpu: float = 0.0
    seconds: float = 0.0
    loading: float = 0.0
    idle_mb: float = 0.0
    peak_mb: float = 0.0
    answer: dict[str, list[float]] = field(default_factory=dict)
    reason: str = ""
    when: float = 0.0


def peer(name: str, question: str, rows: int, *, again: bool, times: int = 1) -> Taken:
    """The peer's question as measured now, or as kept from before if that is wanted and there."""
    place = cache.folder("peers") / f"{name}-{question}-{rows}.json"
    if place.exists() and not again:
        return Taken(**json.loads(place.read_text()))
    taken = _measure(environment(name), question, rows, times)
    place.write_text(json.dumps(asdict(taken), indent=1))
    return taken


def here(name: str, question: str, rows: int, *, path: Path | None = None, times: int = 1) -> Taken:
    """The question in a fresh process of this interpreter: ``duckdb:plain``, ``duckdb:bounded`` or ``hubbub``.

    It is asked of the table with so many rows, or of the same one in another place.
    """
    taken = _measure(Environment(name, python=sys.executable), question, rows, times, path)
    if taken.reason:
        raise RuntimeError(f"{name} {question}: {taken.reason}")
    return taken


def _measure(place: Environment, question: str, rows: int, times: int, path: Path | None = None) -> Taken:
    about = {"peer": place.name, "question": question, "rows": rows, "version": place.version, "when": time.time()}
    if place.reason:
        return Taken(**about, reason=place.reason)
    command = [place.python, "-W", "ignore", "-m", "bench.sql.run", place.name, question]
    command += [str(path or table.path(rows)), str(times)]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        return Taken(**about, reason=f"not within {PATIENCE} s")
    if done.returncode:
        return Taken(**about, reason=f"failed: {done.stderr.strip().splitlines()[-1][:200]}")
    found = json.loads(done.stdout.splitlines()[-1])
    return Taken(**about, reason=found["reason"]) if "reason" in found else Taken(**about, **_numbers(found))


def _numbers(found: dict[str, object]) -> dict[str, object]:
    middle = {name: statistics.median(one[name] for one in found["taken"]) for name in ("cpu", "seconds")}
    return {
        **middle,
        "loading": found["load"]["cpu"],
        **{name: found[name] for name in ("idle_mb", "peak_mb", "answer")},
    }
