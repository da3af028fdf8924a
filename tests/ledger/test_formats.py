"""Books of every format ever written stay readable, and keep their meaning. The fixtures are never edited."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from hubbub.accounting import FIRST_SPLIT, UNKNOWN, Currency
from hubbub.ledger import Ledger, verify_export

from ..frozen import by_rho_alone

FIXTURES = Path(__file__).parents[1] / "fixtures" / "ledger"
FORMATS = sorted(path.stem for path in FIXTURES.glob("*.db"))


def test_every_format_has_its_fixture() -> None:
    from hubbub.ledger.book.sql_schema import FORMAT

    assert [f"format-{number}" for number in range(1, FORMAT + 1)] == FORMATS


@pytest.mark.parametrize("name", FORMATS)
def test_an_old_book_opens_verifies_and_says_what_it_said(name: str, tmp_path: Path) -> None:
    expected = json.loads((FIXTURES / f"{name}.json").read_text())
    shutil.copy(FIXTURES / f"{name}.db", tmp_path / "old.db")
    with Ledger(tmp_path / "old.db", state=tmp_path / "state", create=False) as ledger:
        checked = ledger.verify(anchor=False).to_json()
        assert {key: checked[key] for key in expected["verification"]} == expected["verification"]
        budgets = {who: ledger.budget(who).to_json() for who in ledger.populations()}
        kinds = {entry.fields()["kind"] for entry in ledger.log()}
    if name == "format-1":
        budgets = {who: by_rho_alone(budget) for who, budget in budgets.items()}
    assert budgets == expected["budgets"]
    assert len(kinds) == {"format-1": 16}.get(name, 17)  # every kind of entry is in the fixture


def test_a_book_of_0_1_is_counted_both_ways_with_no_tail(tmp_path: Path) -> None:
    """Its Gaussian charges close the basic account; what it splits its delta into stays as it was."""
    shutil.copy(FIXTURES / "format-1.db", tmp_path / "old.db")
    with Ledger(tmp_path / "old.db", state=tmp_path / "state", create=False) as ledger:
        line = ledger.budget("patients").accounts[0]
        assert line.currency is Currency.EITHER and line.spent.epsilon == UNKNOWN
        assert line.limit is not None and line.limit.split == FIRST_SPLIT and line.limit.whole.tail == 0


@pytest.mark.parametrize("name", FORMATS)
def test_an_old_export_verifies(name: str) -> None:
    expected = json.loads((FIXTURES / f"{name}.json").read_text())
    checked = verify_export(FIXTURES / f"{name}.jsonl", public_key=expected["public_key"])
    assert checked.ok, checked.problems
    assert checked.head == expected["verification"]["head"]
