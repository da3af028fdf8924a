"""Opening: new, again, newer, cut short, something else, gone, or without its second place."""

from __future__ import annotations

import os
import shutil
import sqlite3
from pathlib import Path

import pytest

from hubbub.ledger import Ledger
from hubbub.ledger.book import sql_schema
from hubbub.terms import (
    BehindAnchor,
    Budget,
    HubbubError,
    LedgerDamaged,
    LedgerUnavailable,
    MissingExtra,
    MissingKey,
    NewerFormat,
    OutOfRange,
)
from tests.ledger.test_charging import OWNER, charge, kinds


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A closed ledger with one answer."""
    where = tmp_path / "ledger.db"
    with Ledger(where, state=tmp_path / "state") as ledger:
        ledger.open_population("patients", Budget(1), **OWNER)
        charge(ledger, 1)
    return where


def reopen(path: Path, **more: object) -> Ledger:
    return Ledger(path, **({"state": path.parent / "state"} | more))  # type: ignore[arg-type]


def test_everything_is_there_after_reopening(url: str, tmp_path: Path) -> None:
    with Ledger(url, state=tmp_path / "state") as ledger:
        ledger.open_population("patients", Budget(1), **OWNER)
        first = charge(ledger, 1)
    with Ledger(url, state=tmp_path / "state") as again:
        assert charge(again, 1).answer == first.answer
        assert again.check(first.receipt)
        assert again.verify().ok
        assert again.id == ledger.id


def test_a_new_ledger_verifies(url: str, tmp_path: Path) -> None:
    with Ledger(url, state=tmp_path / "state") as ledger:
        checked = ledger.verify()
        assert checked.ok and checked.anchored_to == 1


def test_another_ledger_in_the_place_of_one_is_refused(path: Path) -> None:
    with Ledger(path.with_name("other.db"), state=path.parent / "state") as other:
        other.open_population("patients", Budget(1), **OWNER)
    path.with_name("other.db").replace(path)
    with pytest.raises(BehindAnchor, match="another one"):
        reopen(path)


def test_looking_begins_no_ledger(url: str, tmp_path: Path) -> None:
    if "://" not in url:
        Path(url).touch()
    for _ in range(2):
        with pytest.raises(LedgerUnavailable):
            Ledger(url, state=tmp_path / "state", create=False)


def test_the_book_is_forced_to_disk_at_every_commit(path: Path) -> None:
    with reopen(path) as ledger, ledger._core.book.snapshot() as view:
        connection = view._connection
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)


def test_a_ledger_written_by_a_newer_version_is_refused_and_not_touched(url: str, tmp_path: Path) -> None:
    with Ledger(url, state=tmp_path / "state") as ledger:
        with ledger._core.book.transaction() as transaction:
            transaction.write((sql_schema.ABOUT.update().values(format=99), {"format": 99}))
        before = kinds(ledger)
    with pytest.raises(NewerFormat):
        Ledger(url, state=tmp_path / "state")
    with ledger._core.book.transaction() as transaction:
        transaction.write((sql_schema.ABOUT.update(), {"format": sql_schema.FORMAT}))
    with Ledger(url, state=tmp_path / "state") as again:
        assert kinds(again) == before
    ledger.close()


@pytest.mark.parametrize("part", [0.1, 0.5, 0.9])
def test_a_truncated_file_is_refused(path: Path, part: float) -> None:
    whole = path.read_bytes()
    cut = int(len(whole) * part)
    path.write_bytes(whole[:cut])
    with pytest.raises(LedgerDamaged):
        reopen(path)
    assert path.read_bytes() == whole[:cut]


def test_an_emptied_file_is_not_taken_for_a_new_ledger(path: Path) -> None:
    path.write_bytes(b"")
    with pytest.raises(BehindAnchor):
        reopen(path)
    path.write_bytes(b"")
    with pytest.raises(LedgerUnavailable):
        reopen(path, create=False)


def test_a_deleted_ledger_is_not_begun_anew(path: Path) -> None:
    path.unlink()
    with pytest.raises(BehindAnchor, match="was here before"):
        reopen(path)


@pytest.mark.parametrize("content", [b"hello, I am not a database" * 100, b"SQLite format 3\0" + b"\xff" * 4000])
def test_something_else_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "ledger.db"
    path.write_bytes(content)
    with pytest.raises(LedgerDamaged):
        reopen(path)
    assert path.read_bytes() == content


def test_another_programs_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    with sqlite3.connect(path) as shop:
        shop.execute("CREATE TABLE orders (id INTEGER)")
    shop.close()
    with pytest.raises(LedgerDamaged):
        reopen(path)


def test_an_older_copy_is_refused(path: Path) -> None:
    copy = path.with_name("copy.db")
    shutil.copy(path, copy)
    with reopen(path) as ledger:
        charge(ledger, 2)
    shutil.copy(copy, path)
    with pytest.raises(BehindAnchor):
        reopen(path)
    with pytest.raises(BehindAnchor):
        reopen(copy)


def test_a_running_program_notices_that_the_book_went_back(path: Path) -> None:
    with reopen(path) as ledger:
        charge(ledger, 2)
        with ledger._core.book.transaction() as transaction:
            transaction._connection.execute("DROP TRIGGER entries_delete")
            transaction._connection.execute("DELETE FROM entries WHERE sequence > 3")
        with pytest.raises(BehindAnchor):
            charge(ledger, 3)


def test_an_altered_last_entry_is_noticed_at_once(path: Path) -> None:
    with sqlite3.connect(path) as book:
        book.execute("DROP TRIGGER entries_update")
        book.execute("UPDATE entries SET body = replace(body, 'answer', 'answr!') WHERE sequence = 4")
    book.close()
    with pytest.raises(LedgerDamaged):
        reopen(path)


def test_entries_cannot_be_changed_by_accident(url: str, tmp_path: Path) -> None:
    with Ledger(url, state=tmp_path / "state") as ledger:
        ledger.open_population("patients", Budget(1), **OWNER)
        for statement in (
            sql_schema.ENTRIES.delete(),
            sql_schema.EVENTS.delete(),
            sql_schema.ENTRIES.update().values(body="x"),
        ):
            parameters = {"body": "x"} if "body" in str(statement) else {}
            with pytest.raises(Exception, match="append-only"), ledger._core.book.transaction() as transaction:
                charge_row = (sql_schema.EVENTS.insert(), {"digest": "d", "body": "b"})
                transaction.write(charge_row, (statement, parameters))
        assert kinds(ledger) == ["ledger", "population"]


def test_without_its_key_a_ledger_can_be_read_and_not_written(path: Path) -> None:
    (key,) = (path.parent / "state").glob("*/key")
    assert key.stat().st_mode & 0o077 == 0
    key.unlink()
    with reopen(path) as ledger:
        assert ledger.verify().ok
        assert "patients" in ledger.budget("patients").text()
        with pytest.raises(MissingKey):
            ledger.grant("patients", Budget(1), project="flu", **OWNER)
        with pytest.raises(MissingKey):
            charge(ledger, 2)
        assert kinds(ledger) == ["ledger", "population", "charge", "answer"]


def test_without_anchors_verification_says_so(path: Path) -> None:
    for anchor in (path.parent / "state").glob("*/*.anchor"):
        anchor.unlink()
    with reopen(path) as ledger:
        assert not ledger.verify().ok
        assert ledger.verify(anchor=False).ok


def test_a_torn_anchor_leaves_the_one_before(path: Path) -> None:
    with reopen(path) as ledger:
        charge(ledger, 2)
        state = ledger.state
    for anchor in state.glob("*.anchor"):
        content = bytearray(anchor.read_bytes())
        content[40:60] = os.urandom(20)
        anchor.write_bytes(bytes(content))
    with reopen(path) as ledger:
        charge(ledger, 3)
        assert ledger.verify().ok


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:", "mysql://host/db", "://", ""])
def test_a_ledger_must_outlive_the_program(url: str, tmp_path: Path) -> None:
    with pytest.raises(OutOfRange):
        Ledger(url, state=tmp_path / "state")


def test_a_missing_file_is_made_only_where_that_is_meant(tmp_path: Path) -> None:
    with pytest.raises(LedgerUnavailable):
        Ledger(tmp_path / "no.db", state=tmp_path / "state", create=False)
    with pytest.raises(LedgerUnavailable):
        Ledger(tmp_path / "no folder" / "no.db", state=tmp_path / "state")
    assert list(tmp_path.iterdir()) == []


def test_an_unreachable_server_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(LedgerUnavailable) as refused:
        Ledger("postgresql://nobody:secret@127.0.0.1:1/none", state=tmp_path / "state")
    assert "secret" not in str(refused.value) and "127.0.0.1" not in str(refused.value)


def test_without_psycopg_the_error_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "psycopg", None)
    with pytest.raises(MissingExtra, match="psycopg"):
        Ledger("postgresql://localhost/x", state=tmp_path / "state")


def test_the_password_is_in_no_message(database: str, tmp_path: Path) -> None:
    with Ledger(database.replace("postgres@", "postgres:hush@"), state=tmp_path / "state") as ledger:
        assert "hush" not in repr(ledger)


def test_the_environment_names_the_second_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HUBBUB_STATE", str(tmp_path / "named"))
    with Ledger(tmp_path / "a.db") as ledger:
        assert ledger.state.parent == tmp_path / "named"
    monkeypatch.delenv("HUBBUB_STATE")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))
    with Ledger(tmp_path / "b.db") as ledger:
        assert ledger.state.parent == tmp_path / "xdg" / "hubbub"


def test_migrations_bring_an_old_format_up_to_date(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def next_one(connection) -> None:  # type: ignore[no-untyped-def]
        connection.exec_driver_sql("CREATE TABLE extra (x INTEGER)")

    monkeypatch.setattr("hubbub.ledger.book.database.MIGRATIONS", (*sql_schema.MIGRATIONS, next_one))
    monkeypatch.setattr("hubbub.ledger.book.database.FORMAT", sql_schema.FORMAT + 1)
    for _ in range(2):
        with reopen(path) as ledger:
            charge(ledger, "after")
            assert ledger.verify().ok
    with sqlite3.connect(path) as book:
        assert book.execute("SELECT format FROM about").fetchall() == [(sql_schema.FORMAT + 1,)]
        assert book.execute("SELECT count(*) FROM extra").fetchall() == [(0,)]
    book.close()


def test_a_migration_that_fails_leaves_the_old_format(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def next_one(connection) -> None:  # type: ignore[no-untyped-def]
        connection.exec_driver_sql("CREATE TABLE extra (x INTEGER)")
        raise OutOfRange("no", why="no", fix="no")

    with monkeypatch.context() as patch:
        patch.setattr("hubbub.ledger.book.database.MIGRATIONS", (*sql_schema.MIGRATIONS, next_one))
        patch.setattr("hubbub.ledger.book.database.FORMAT", sql_schema.FORMAT + 1)
        with pytest.raises(HubbubError):
            reopen(path)
    with reopen(path) as ledger:
        assert ledger.verify().ok
    with sqlite3.connect(path) as book:
        assert book.execute("SELECT name FROM sqlite_master WHERE name = 'extra'").fetchall() == []
    book.close()
