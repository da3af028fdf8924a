"""Export, backup, restore: a book elsewhere is the same book, and what a restore has lost counts as spent."""

from __future__ import annotations

import json
import sqlite3
from fractions import Fraction
from pathlib import Path

import pytest

from hubbub.ledger import Ledger, restore, verify_export
from hubbub.terms import BehindAnchor, Budget, BudgetExceeded, LedgerDamaged, LedgerUnavailable, Unreadable
from tests.ledger.test_charging import OWNER, charge, kinds, req


@pytest.fixture
def book(ledger: Ledger) -> Ledger:
    ledger.open_population("patients", Budget(1), **OWNER)
    charge(ledger, 1)
    return ledger


def test_an_export_can_be_verified_by_somebody_who_has_nothing_else(book: Ledger, tmp_path: Path) -> None:
    for answers in (False, True):
        path = tmp_path / f"{answers}.jsonl"
        path.write_text("\n".join(book.export(answers=answers)) + "\n")
        checked = verify_export(path, public_key=book.public_key)
        assert checked.ok, checked.problems
        assert (checked.entries, checked.charges, checked.answers) == (4, 1, 1)
    assert not verify_export(path, public_key="00" * 32).ok


def test_every_line_of_an_export_is_json_and_answers_are_left_out_unless_asked_for(book: Ledger) -> None:
    plain, full = ([json.loads(line) for line in book.export(answers=answers)] for answers in (False, True))
    assert [line["sequence"] for line in plain if "sequence" in line] == [1, 2, 3, 4]
    assert not any("record" in line for line in plain)
    assert [line["answer_to"] for line in full if "record" in line] == [3]


@pytest.mark.parametrize("content", ["", "hello", '{"form":"other"}\n', '{"form":"hubbub-ledger/1"}\n{"x":'])
def test_what_is_no_export_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(content)
    with pytest.raises(Unreadable):
        verify_export(path)


def test_a_backup_is_a_ledger_and_never_overwrites(book: Ledger, tmp_path: Path) -> None:
    assert book.backup(tmp_path / "backup.db") == 4
    with Ledger(tmp_path / "backup.db", state=tmp_path / "state", create=False) as copy:
        assert copy.verify().ok and copy.id == book.id
        assert charge(copy, 1).repeated
    with pytest.raises(LedgerUnavailable):
        book.backup(tmp_path / "backup.db")


def test_a_restore_counts_the_gap_to_the_anchor_as_spent(book: Ledger, tmp_path: Path) -> None:
    book.backup(tmp_path / "backup.db")
    lost = [charge(book, number) for number in (2, 3)]
    book.reserve(req(4))  # charged, and nobody saw an answer
    target = tmp_path / "restored.db"
    number = restore(tmp_path / "backup.db", target, state=tmp_path / "state", by="admin", why="disk died")
    with Ledger(target, state=tmp_path / "state", create=False) as again:
        assert kinds(again)[-1] == "restore" and number == lost[-1].receipt.sequence + 1
        assert again.budget("patients").spent.parts()[0] == Fraction(3, 10)
        assert charge(again, 1).repeated
        assert not again.check(lost[0].receipt)
        for more in range(7):
            charge(again, f"more {more}")
        with pytest.raises(BudgetExceeded):
            charge(again, "too much")
        checked = again.verify()
        assert checked.ok, checked.problems
    with pytest.raises(BehindAnchor):
        Ledger(tmp_path / "backup.db", state=tmp_path / "state")


def test_a_population_opened_after_the_backup_owes_what_it_spent(book: Ledger, tmp_path: Path) -> None:
    book.backup(tmp_path / "backup.db")
    book.open_population("staff", Budget(1), **OWNER)
    charge(book, 2, population="staff")
    target = tmp_path / "restored.db"
    restore(tmp_path / "backup.db", target, state=tmp_path / "state", by="admin", why="disk died")
    with Ledger(target, state=tmp_path / "state", create=False) as again:
        assert again.budget("patients").spent.parts()[0] == Fraction(2, 10)
        again.open_population("staff", Budget(1), **OWNER)
        assert again.budget("staff").spent.parts()[0] == Fraction(1, 10)
        assert again.verify().ok


def test_without_an_anchor_a_restore_counts_everything_as_spent_or_refuses(book: Ledger, tmp_path: Path) -> None:
    book.backup(tmp_path / "backup.db")
    for anchor in book.state.glob("*.anchor"):
        anchor.unlink()
    target, terms = tmp_path / "restored.db", {"state": tmp_path / "state", "by": "admin", "why": "disk died"}
    with pytest.raises(BehindAnchor):
        restore(tmp_path / "backup.db", target, **terms)  # type: ignore[arg-type]
    restore(tmp_path / "backup.db", target, spend_all=True, **terms)  # type: ignore[arg-type]
    with Ledger(target, state=tmp_path / "state", create=False) as again:
        with pytest.raises(BudgetExceeded):
            charge(again, 2)
        assert again.budget("patients").left.loss == 0
        assert again.verify().ok


def test_a_restore_overwrites_no_ledger_and_trusts_no_damaged_backup(book: Ledger, tmp_path: Path) -> None:
    book.backup(tmp_path / "backup.db")
    terms = {"state": tmp_path / "state", "by": "admin", "why": "test"}
    book.backup(tmp_path / "there.db")
    with pytest.raises(LedgerUnavailable):
        restore(tmp_path / "backup.db", tmp_path / "there.db", **terms)  # type: ignore[arg-type]
    with sqlite3.connect(tmp_path / "backup.db") as damaged:
        damaged.execute("DROP TRIGGER entries_update")
        damaged.execute("UPDATE entries SET at = at + 1 WHERE sequence = 2")
    damaged.close()
    with pytest.raises(LedgerDamaged):
        restore(tmp_path / "backup.db", tmp_path / "new.db", **terms)  # type: ignore[arg-type]


def test_a_book_moves_between_the_databases(book: Ledger, database: str, tmp_path: Path) -> None:
    book.backup(tmp_path / "backup.db")
    if "postgresql" in book._core.book.location:
        target: object = tmp_path / "moved.db"
    else:
        target = database
    restore(tmp_path / "backup.db", target, state=tmp_path / "state", by="admin", why="moving")  # type: ignore[arg-type]
    with Ledger(target, state=tmp_path / "state", create=False) as moved:  # type: ignore[arg-type]
        assert charge(moved, 1).repeated
        charge(moved, 2)
        assert moved.verify().ok
