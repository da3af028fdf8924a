"""What every test may use: the real programs, the soak factor, and a seeded source."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("default", deadline=None)  # no timing assertions in tests
settings.load_profile("default")

CANDIDATES = {
    "chromium": ["chromium", "chromium-browser", "google-chrome"],
    "postgres": ["postgres", *sorted(map(str, Path("/usr/lib/postgresql").glob("*/bin/postgres")), reverse=True)],
    "java": ["java"],
    "node": ["node", "nodejs"],
}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--soak", action="store_true", help="run the long statistical and fault runs in full")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """`make soak` runs what has a long form, and nothing that `make test` has run just so."""
    if config.getoption("--soak"):
        short = [item for item in items if "soak" not in getattr(item, "fixturenames", ())]
        config.hook.pytest_deselected(items=short)
        items[:] = [item for item in items if "soak" in getattr(item, "fixturenames", ())]


@pytest.fixture(scope="session")
def soak(request: pytest.FixtureRequest) -> int:
    """How many times longer than usual the long runs go: 1 in `make test`, 10 in `make soak`."""
    return 10 if request.config.getoption("--soak") else 1


def find_component(name: str) -> str | None:
    path = next((found for c in CANDIDATES[name] if (found := shutil.which(c))), None)
    if name == "java" and path:
        told = subprocess.run([path, "-version"], capture_output=True, text=True, check=False).stderr
        major = told.partition('"')[2].partition(".")[0]
        return path if major.isdigit() and int(major) >= 17 else None
    return path


@pytest.fixture(scope="session")
def component() -> Callable[[str], str]:
    """The path of a real program; without it the test fails under CI=true and skips elsewhere."""

    def get(name: str) -> str:
        if path := find_component(name):
            return path
        reason = f"{name} is not installed: `make test` installs it with apt, or install it by hand"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)

    return get


class NoNoise:
    """A source that may not be touched: bad input must be refused before any noise is drawn."""

    def random_words(self, count: int) -> None:
        pytest.fail("noise was drawn")

    def bits(self, count: int) -> None:
        pytest.fail("noise was drawn")


@pytest.fixture
def no_noise() -> NoNoise:
    return NoNoise()
