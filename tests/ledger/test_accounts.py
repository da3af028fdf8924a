"""What estimators and collectors take as ``account=``."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import hubbub as hb
from hubbub.ledger import Account, Ledger
from hubbub.mechanisms import Laplace
from hubbub.terms import MissingParameter, Unit, WrongShape


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger.db", state=tmp_path / "state")


def opened(ledger: Ledger, name: str) -> None:
    ledger.open_population(name, hb.Budget(1), by="owner", why="a start", unit="patients.id")


def event(epsilon: float) -> object:
    return Laplace(sensitivity=1, epsilon=epsilon, unit=Unit("patients.id")).event


def test_a_ledger_with_one_population_is_an_account(ledger: Ledger) -> None:
    opened(ledger, "patients")
    assert Account.of(ledger) == Account(ledger=ledger, population="patients")


def test_with_none_or_several_it_must_be_said_which(ledger: Ledger) -> None:
    with pytest.raises(MissingParameter, match="no population"):
        Account.of(ledger)
    opened(ledger, "patients")
    opened(ledger, "staff")
    with pytest.raises(MissingParameter, match="patients, staff"):
        Account.of(ledger)


def test_a_connection_gives_its_own(tmp_path: Path) -> None:
    visits = pd.DataFrame({"patient": [1, 2], "ward": ["n", "s"]})
    with hb.connect(
        visits,
        unit="patient",
        max_rows_per_unit=1,
        budget=hb.Budget(1),
        population="patients",
        project="flu",
        analyst="ann",
        ledger=Ledger(tmp_path / "ledger.db", state=tmp_path / "state"),
    ) as db:
        account = Account.of(db)
        assert (account.population, account.project, account.analyst) == ("patients", "flu", "ann")
        assert account.ledger is db.ledger


def test_anything_else_is_refused() -> None:
    with pytest.raises(WrongShape, match="a str came"):
        Account.of("ledger.db")
