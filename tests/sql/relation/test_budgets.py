"""A statement around several private questions is charged for all of them, or for none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd
import pytest

import hubbub as hb
from hubbub.ledger import BudgetWindow, Ledger
from hubbub.sql import Connection
from hubbub.terms import BelowLeastPrice, BudgetExceeded, HubbubError

OWNER = {"by": "officer", "why": "test"}
N = "(SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward)"
M = "(SELECT ward, AVG(cost) AS m FROM visits GROUP BY ward)"
BOTH = f"SELECT n, m FROM {N} JOIN {M} USING (ward)"


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Connection]:
    people = pd.Series(range(400))
    wards = people.map(lambda person: ["north", "south"][person % 2])
    pd.DataFrame({"person": people, "ward": wards, "cost": 10.0}).to_parquet(tmp_path / "visits.parquet")
    with hb.connect(
        tmp_path / "visits.parquet",
        unit="person",
        max_rows_per_unit=1,
        bounds={"cost": (0, 20, 0.01)},
        keys={"ward": ["north", "south"]},
        budget=hb.Budget(3, 1e-6),
        ledger=Ledger(tmp_path / "ledger.db", state=tmp_path / "state"),
    ) as connection:
        yield connection


def share_of_project(ledger: Ledger, name: str) -> None:
    ledger.grant(name, hb.Budget(1, 1e-7), project="default", **OWNER)


def share_of_analyst(ledger: Ledger, name: str) -> None:
    ledger.grant(name, hb.Budget(1, 1e-7), analyst="owner", **OWNER)


def window(ledger: Ledger, name: str) -> None:
    ledger.change_rules(name, window=BudgetWindow(hb.Budget(1, 1e-7), "month"), **OWNER)


def revoked(ledger: Ledger, name: str) -> None:
    ledger.revoke(name, hb.Budget(1.5, 4e-7), **OWNER)


@pytest.mark.parametrize("limit", [share_of_project, share_of_analyst, window, revoked])
def test_what_does_not_fit_together_is_refused_whole(db: Connection, limit: Callable[[Ledger, str], None]) -> None:
    limit(db.ledger, db.dataset.population)
    before, spent = db.budget.entries, db.ledger.balance(db.dataset.population).spent
    preview = db.preview(BOTH, epsilon=1.9, noise="laplace")
    assert not preview.affordable and "2 requests together" in preview.text()
    assert all(each.affordable for each in preview.inner)  # type: ignore[union-attr]
    with pytest.raises(BudgetExceeded, match="2 requests together cost"):
        db.sql(BOTH, epsilon=1.9, noise="laplace")
    assert (db.budget.entries, db.ledger.balance(db.dataset.population).spent) == (before, spent)
    assert db.preview(BOTH, epsilon=0.9, noise="laplace").affordable
    assert len(db.sql(BOTH, epsilon=0.9, noise="laplace")) == 2
    again = db.sql(BOTH, epsilon=0.9, noise="laplace")
    assert again.repeated, "what was answered needs no room"


@pytest.mark.parametrize(
    ("rules", "price", "error"),
    [
        ({"shares": "required"}, 1, BudgetExceeded),
        ({"each": hb.Budget(0.4, 1e-7)}, 1, BudgetExceeded),
        ({"least_share": 0.9}, 1, BelowLeastPrice),
    ],
)
def test_what_a_rule_refuses_in_one_question_is_refused_whole(
    db: Connection, rules: dict[str, object], price: int, error: type[HubbubError]
) -> None:
    db.ledger.change_rules(db.dataset.population, **rules, **OWNER)  # type: ignore[arg-type]
    before = db.budget.entries
    assert not db.preview(BOTH, epsilon=price, noise="laplace").affordable
    with pytest.raises(error):
        db.sql(BOTH, epsilon=price, noise="laplace")
    assert db.budget.entries == before


def test_a_single_question_previews_its_share_as_well(db: Connection) -> None:
    share_of_project(db.ledger, db.dataset.population)
    preview = db.preview("SELECT COUNT(*) AS n FROM visits", epsilon=2, noise="laplace")
    assert not preview.affordable and "project 'default'" in preview.text()
    assert db.preview("SELECT COUNT(*) AS n FROM visits", epsilon=0.5, noise="laplace").affordable
