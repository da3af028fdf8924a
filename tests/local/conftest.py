"""Node, for the tests of the client in JavaScript."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture
def node(component: Callable[[str], str]) -> Callable[[str], Any]:
    """Runs a module and returns what it prints as JSON."""
    path = component("node")

    def run(script: str) -> Any:
        told = subprocess.run(
            [path, "--input-type=module", "--eval", script], capture_output=True, text=True, check=False, timeout=120
        )
        assert told.returncode == 0, told.stderr
        return json.loads(told.stdout)

    return run
