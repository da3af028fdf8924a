"""On PostgreSQL nothing leaves a ledger that a crash of the server could still undo, whoever wrote it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from hubbub.ledger import Ledger, Reservation, Stored
from tests.ledger._asking import Place, any_answer, new_ledger, open_ledger, request
from tests.postgres import Server


@pytest.fixture(scope="module")
def lazy_server(component: Callable[[str], str]) -> Iterator[Server]:
    """A server that writes its log by itself every ten seconds only: what is forced before, somebody asked for."""
    server = Server(component("postgres"))
    try:
        server.make()
        server.execute("ALTER SYSTEM SET wal_writer_delay = '10s'")
        server.execute("ALTER SYSTEM SET wal_writer_flush_after = '1GB'")
        server.execute("SELECT pg_reload_conf()")
        yield server
    finally:
        server.remove()


@pytest.fixture
def place(lazy_server: Server, tmp_path: Path) -> Place:
    place = (lazy_server.new_database(), tmp_path / "state")
    new_ledger(place)
    return place


def end_of_log(place: Place) -> str:
    with psycopg.connect(place[0], autocommit=True) as connection:
        return str(connection.execute("SELECT pg_current_wal_insert_lsn()").fetchone()[0])  # type: ignore[index]


def is_forced(place: Place, end: str) -> bool:
    with psycopg.connect(place[0], autocommit=True) as connection:
        row = connection.execute("SELECT pg_current_wal_flush_lsn() >= %s::pg_lsn", [end]).fetchone()
        return bool(row and row[0])


def write_unforced(place: Place) -> str:
    """Commit in memory alone, as a writer does before it has the log forced; returns the end of its log."""
    for _ in range(100):
        with psycopg.connect(place[0], autocommit=True) as connection:
            connection.execute("SET synchronous_commit = off")
            connection.execute("SELECT pg_logical_emit_message(true, 'test', 'somebody else')")
        if not is_forced(place, end := end_of_log(place)):
            return end
    raise AssertionError("the server forces every commit: nothing can be told here")


READS: dict[str, Callable[[Ledger], object]] = {
    "a repeat": lambda ledger: ledger.reserve(request("before")),
    "the log": lambda ledger: list(ledger.log()),
    "an export with answers": lambda ledger: list(ledger.export(answers=True)),
    "a budget": lambda ledger: ledger.balance("people"),
    "a receipt": lambda ledger: ledger.check(ledger.reserve(request("before")).receipt),
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_what_somebody_else_wrote_is_forced_before_it_is_shown(place: Place, read: Callable[[Ledger], object]) -> None:
    with open_ledger(place) as ledger:
        held = ledger.reserve(request("before"))
        assert isinstance(held, Reservation)
        ledger.store(held, any_answer(held))
        for _ in range(5):
            end = write_unforced(place)
            read(ledger)
            assert is_forced(place, end)


def test_what_came_back_survives_the_death_of_the_server(lazy_server: Server, place: Place) -> None:
    """Killed at once after each step: the charge stands, then its answer."""
    for name in range(3):
        with open_ledger(place) as ledger:
            held = ledger.reserve(request(name))
            lazy_server.kill()
        assert isinstance(held, Reservation)
        lazy_server.start()
        with open_ledger(place) as ledger:
            stored = ledger.store(held, any_answer(held))
            lazy_server.kill()
        lazy_server.start()
        with open_ledger(place) as ledger:
            again = ledger.reserve(request(name))
            assert isinstance(again, Stored) and again.answer == stored.answer
            assert ledger.verify().ok
