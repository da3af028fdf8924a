"""Opacus, timed in an environment of its own."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from bench.peers import environment

Times = dict[str, dict[str, float]]  # seconds a step, by network and way


def opacus_times(rounds: int, *networks: str) -> tuple[str, Times] | str:
    """Its version and times, or why there are none."""
    made = environment("opacus")
    if not made.python:
        return made.reason
    command = [made.python, str(Path(__file__).with_name("opacus_peer.py")), str(rounds), *networks]
    limited = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=900, env=limited)
    if done.returncode:
        return (done.stderr.strip().splitlines() or ["it failed"])[-1][:200]
    return made.version, json.loads(done.stdout.strip().splitlines()[-1])
