"""Every kind of job against data that raise on any access: nothing is read, and nothing leaves, before the charge."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest

import hubbub as hb
from hubbub.ledger import Ledger
from hubbub.local import Collection, KaryResponse
from hubbub.local.collection import charge_collection
from hubbub.publish import Unread, compare
from hubbub.sql import Connection
from tests.asked import Caught, catching
from tests.learn import test_fingerprints as fits
from tests.learn.contract import Unread as UnreadArray
from tests.publish import test_fingerprints as publications

WHO = {"by": "board", "why": "a test"}
TEXT = "SELECT ward, COUNT(*) AS n, SUM(cost) AS s FROM visits GROUP BY ward"


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with catching(tmp_path) as ledger:  # for one test: it lets no ledger reserve while it is there
        yield ledger


# ---------------------------------------------------------------- questions


class Untouchable:
    """An engine whose data nobody may use: statements can be tried on its twin, which has none."""

    dialect = "duckdb"

    def __init__(self, engine: Any) -> None:
        self.bind = engine.bind

    def __getattr__(self, name: str) -> object:
        pytest.fail(f"the engine was asked for {name!r}")


@pytest.fixture(scope="module")
def visits(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    folder = tmp_path_factory.mktemp("visits")
    rows = "".join(f"{i},{'ns'[i % 2]},{i % 100}\n" for i in range(300))
    (folder / "visits.csv").write_text("patient,ward,cost\n" + rows)
    with hb.connect(
        folder / "visits.csv",
        unit="patient",
        max_rows_per_unit=2,
        bounds={"cost": (0, 100)},
        keys={"ward": ["n", "s"]},
        budget=hb.Budget(50, 1e-3),
        ledger=Ledger(folder / "ledger.db", state=folder / "state"),
    ) as connection:
        yield connection


QUESTIONS: dict[str, Callable[[Connection, Any], object]] = {
    "ask": lambda db, first: db.sql(TEXT, rho=0.02),
    "suggest": lambda db, first: db.suggest_bounds("visits", rho=0.01),
    "workload": lambda db, first: db.workload(
        ["SELECT COUNT(*) FROM visits", "SELECT ward, COUNT(*) FROM visits GROUP BY ward"], rho=0.01
    ),
    "remeasure": lambda db, first: db.remeasure(first, rho=0.04),
}


@pytest.mark.parametrize("kind", QUESTIONS)
def test_no_question_reads_before_its_charge(kind: str, visits: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    first = visits.sql(TEXT, rho=0.01)
    monkeypatch.setattr(visits, "engine", Untouchable(visits.engine))
    monkeypatch.setattr(Ledger, "reserve", refuse)
    with pytest.raises(Caught):
        QUESTIONS[kind](visits, first)


def refuse(self: Ledger, request: Any) -> Any:
    raise Caught(request)


# ---------------------------------------------------------------- fits


class PrivateRows(UnreadArray):
    """X of 400 rows that may not be read; the first 50 are public too, and are given apart."""

    dtype = np.dtype(np.float64)

    def __getitem__(self, key: object) -> Any:
        if isinstance(key, slice) and key.stop is not None and key.stop <= 50:
            return np.random.default_rng(1).uniform(-0.5, 0.5, (key.stop, 3))
        raise AssertionError("a value was read")

    def astype(self, kind: str) -> PrivateRows:
        other = PrivateRows(*self.shape)
        other.dtype = np.dtype(kind)
        return other


class PrivateLabels(UnreadArray):
    """y of 400 rows that may not be read, but for those that are public."""

    dtype = np.dtype(np.int64)

    def __getitem__(self, key: object) -> Any:
        if isinstance(key, slice) and key.stop is not None and key.stop <= 50:
            return np.arange(key.stop) % 2
        raise AssertionError("a value was read")


@pytest.mark.parametrize("kind", fits.JOBS)
def test_no_fit_reads_before_its_charge(kind: str, ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fits, "X", PrivateRows(400, 3))
    monkeypatch.setattr(fits, "Y", PrivateLabels(400))
    with pytest.raises(Caught):
        fits.JOBS[kind](ledger)


# ---------------------------------------------------------------- publications


class PrivateTable(Unread):
    """A table whose rows may not be looked at, only its columns."""

    def select(self, names: list[str]) -> PrivateTable:
        return private(pyarrow.schema([self.schema.field(name) for name in names]))

    def append_column(self, name: str, values: object) -> PrivateTable:
        return private(self.schema.append(pyarrow.field(name, pyarrow.string())))


def private(schema: pyarrow.Schema) -> PrivateTable:
    return PrivateTable(schema, lambda: pytest.fail("the rows were touched"))


@pytest.mark.parametrize("kind", [kind for kind in publications.JOBS if "comparison" not in kind])
def test_no_publication_reads_before_its_charge(kind: str, ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PEOPLE", "FEW", "VISITS", "DAYS"):
        monkeypatch.setattr(publications, name, private(getattr(publications, name).schema))
    with pytest.raises(Caught):
        publications.JOBS[kind](ledger)


def test_no_comparison_reads_before_its_charge(ledger: Ledger) -> None:
    public, hidden = publications.FEW, private(publications.FEW.schema)
    with pytest.raises(Caught):
        compare({"made": public}, private=hidden, domain=publications.FEW_DOMAIN, bins=5, **publications.paid(ledger))


# ---------------------------------------------------------------- collections


def test_no_collection_is_taken_for_paid_before_its_charge(tmp_path: Path, ledger: Ledger) -> None:
    fruit = Collection(name="fruit", question="Which?", randomizer=KaryResponse(epsilon=1, domain=3))
    with pytest.raises(Caught):
        charge_collection(fruit, ledger)
