"""Where ledgers of these tests live: a file, or a database of a real PostgreSQL server started for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hubbub.ledger import Ledger
from tests.postgres import Server


@pytest.fixture(scope="session")
def postgres(component: Callable[[str], str]) -> Iterator[Server]:
    """A PostgreSQL server; each worker of pytest-xdist has its own."""
    server = Server(component("postgres"))
    try:
        server.make()
        yield server
    finally:
        server.remove()


@pytest.fixture
def database(postgres: Server) -> Iterator[str]:
    """The URL of a new, empty database."""
    url = postgres.new_database()
    yield url
    postgres.drop_database(url)


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A place for a new ledger, on each kind of database."""
    if request.param == "sqlite":
        return str(tmp_path / "ledger.db")
    found: str = request.getfixturevalue("database")
    return found


@pytest.fixture
def ledger(url: str, tmp_path: Path) -> Iterator[Ledger]:
    """A new ledger, on each kind of database."""
    with Ledger(url, state=tmp_path / "state") as opened:
        yield opened
