"""Flower's SecAgg+ beside our adapter in its place: one round of 100 clients in one process, 5 of which fall silent.

The two do not promise the same, and the notes say what each does.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from bench import peers
from bench.rows import Row

SECAGG = (
    "SecAgg+, 21 shares: the server sees the exact sum, so no differential privacy; clients and server must follow the "
    "protocol; nothing is proved; keys come through the server unsigned; masks of 32-bit seeds (Mersenne Twister)"
)
GOPA = (
    "GOPA, (8, 1e-6)-DP for a client even if 20 of 100 and the server work against it; norm and noise proved, cheats "
    "named; signed keys; masks of 256-bit seeds (ChaCha20); certificate"
)
SECONDS = 900
_PEER = Path(__file__).with_name("flower_peer.py")
_SOURCES = Path(__file__).parents[2] / "src"


def rows(quick: bool) -> list[Row]:
    """The processor time and the bytes of a client, theirs and ours; ours may take as long."""
    there = peers.environment("flwr")
    if not there.python:
        return [Row("Flower's SecAgg+", float("nan"), "ms", 0, "lower", there.reason)]
    count = 20 if quick else 100
    theirs, ours = (_told(there, name, count) for name in ("secagg", "gopa"))
    name, same = f"of a client, n = {count}, one number", f"flwr {there.version}, same process and machine"
    return [
        Row(f"Flower SecAgg+: processor time {name}", theirs["client_ms"], "ms", 1_000, "lower", f"{SECAGG}; {same}"),
        Row(f"GOPA in its place: processor time {name}", ours["client_ms"], "ms", theirs["client_ms"], "lower", GOPA),
        Row(f"Flower SecAgg+: sent {name}", theirs["client_bytes"], "B", 100_000, "lower", "upload, without framing"),
        Row(f"GOPA in its place: sent {name}", ours["client_bytes"], "B", 100_000, "lower", "upload, without framing"),
        Row("Flower SecAgg+: processor time of the server", theirs["server_s"], "s", 60, "lower"),
        Row("GOPA in its place: processor time of the server", ours["server_s"], "s", theirs["server_s"], "lower"),
    ]


def _told(there: peers.Environment, name: str, count: int) -> dict[str, float]:
    command = [there.python, str(_PEER), name, str(count), "1"]
    environment = {**os.environ, "PYTHONPATH": str(_SOURCES), "OMP_NUM_THREADS": "1", "FLWR_TELEMETRY_ENABLED": "0"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=SECONDS, env=environment)
    line = next(one for one in done.stdout.splitlines() if one.startswith("TOLD "))
    return dict(json.loads(line.removeprefix("TOLD ")))
