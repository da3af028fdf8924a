"""The real programs that tests of later rooms run against are there, or their absence is said."""

from __future__ import annotations

import subprocess

import pytest


@pytest.mark.parametrize("name", ["chromium", "postgres", "java", "node"])
def test_the_component_is_installed_and_starts(component, name: str) -> None:
    flag = "-version" if name == "java" else "--version"
    assert subprocess.run([component(name), flag], capture_output=True, check=False).returncode == 0
