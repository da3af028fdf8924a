"""PEP 249: cursors, prices, parameters and errors, and a frame from pandas."""

from __future__ import annotations

import threading
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

from hubbub import Budget, terms
from hubbub.sql import dbapi
from hubbub.sql.open_connection import connect as open_connection

GROUPS = "SELECT ward, COUNT(*) AS n FROM table GROUP BY ward"


@pytest.fixture(autouse=True)
def _second_place(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ledgers' second place is a temporary folder."""
    monkeypatch.setenv("HUBBUB_STATE", str(tmp_path_factory.mktemp("state")))


def visits() -> pandas.DataFrame:
    return pandas.DataFrame(
        {
            "who": range(1000),
            "ward": ["n", "o'neil", "n", "n"] * 250,
            "age": [i % 90 for i in range(1000)],
            "day": [date(2025, 1, 1 + i % 31) for i in range(1000)],
        }
    )


def options(folder: Path) -> dict[str, Any]:
    return {
        "unit": "who",
        "max_rows_per_unit": 1,
        "keys": {"ward": ["n", "o'neil"]},
        "bounds": {"age": (0, 90), "day": (date(2025, 1, 1), date(2025, 12, 31))},
        "budget": Budget(100, 1e-6),
        "ledger": folder / "ledger.db",
    }


@pytest.fixture
def db(tmp_path: Path) -> Any:
    with dbapi.connect(visits(), rho=0.5, **options(tmp_path)) as connection:
        yield connection


def test_the_module_says_what_it_is() -> None:
    assert (dbapi.apilevel, dbapi.threadsafety, dbapi.paramstyle) == ("2.0", 1, "qmark")
    assert issubclass(dbapi.ProgrammingError, dbapi.DatabaseError)
    assert issubclass(dbapi.DatabaseError, dbapi.Error)
    assert not issubclass(dbapi.Warning, dbapi.Error)
    assert all(hasattr(dbapi, name) for name in dbapi.__all__)
    assert (dbapi.Date(2025, 1, 2), dbapi.Binary(b"a")) == (date(2025, 1, 2), b"a")
    assert isinstance(dbapi.TimeFromTicks(0), time)


@pytest.mark.usefixtures("silence")
def test_rows_are_fetched_one_some_or_all(db: dbapi.DbapiConnection) -> None:
    cursor = db.cursor()
    assert (cursor.rowcount, cursor.description, cursor.rownumber) == (-1, None, None)
    with pytest.raises(dbapi.InterfaceError):
        cursor.fetchone()
    assert cursor.execute(GROUPS) is cursor
    assert cursor.rowcount == 2
    assert cursor.fetchone() == ("n", 750)
    assert (cursor.rownumber, cursor.fetchmany()) == (1, [("o'neil", 250)])
    assert (cursor.fetchone(), cursor.fetchall(), cursor.fetchmany(5)) == (None, [], [])
    assert list(cursor.execute(GROUPS)) == [("n", 750), ("o'neil", 250)]
    assert cursor.release is not None and cursor.release.receipt is not None


def test_the_description_tells_names_and_types(db: dbapi.DbapiConnection) -> None:
    cursor = db.cursor().execute("SELECT ward, COUNT(*) AS n, AVG(age) AS mean FROM table GROUP BY ward")
    assert cursor.description is not None
    assert [column[0] for column in cursor.description] == ["ward", "n", "mean"]
    types = [column[1] for column in cursor.description]
    assert types[0] == dbapi.STRING and types[1] == dbapi.NUMBER and types[2] == dbapi.NUMBER
    assert types[0] != dbapi.DATETIME
    assert all(len(column) == 7 for column in cursor.description)


def test_intervals_stand_beside_their_columns_if_wanted(tmp_path: Path) -> None:
    with dbapi.connect(visits(), rho=0.5, intervals=True, **options(tmp_path)) as db:
        cursor = db.cursor().execute(GROUPS)
        assert cursor.description is not None
        assert [column[0] for column in cursor.description] == ["ward", "n", "n_low", "n_high"]
        _, n, low, high = cursor.fetchall()[0]
        assert low < n < high


@pytest.mark.usefixtures("silence")
@pytest.mark.parametrize(
    ("where", "parameters", "count"),
    [
        ("ward = ?", ["o'neil"], 250),
        ("ward = ?", ["n' OR 'a' = 'a"], 0),
        ("ward = ? -- why?", ["n"], 750),
        ("ward <> '?' AND age < ?", [10], 120),
        ("age > 5-?", [-3], 892),
        ("age >= ? AND age <= ?", [Decimal("1.5"), 2.0], 12),
        ("age = ?", [np.int64(3)], 12),
        ("day >= ? AND day < ?", [date(2025, 1, 31), datetime(2025, 2, 1, 12)], 32),
        ("(age > 0) = ?", [False], 12),
        ("ward = ?", [None], 0),
    ],
)
def test_parameters_are_values_and_nothing_else(
    db: dbapi.DbapiConnection, where: str, parameters: list[object], count: int
) -> None:
    assert db.cursor().execute(f"SELECT COUNT(*) AS n FROM table WHERE {where}", parameters).fetchall() == [(count,)]


@pytest.mark.parametrize(
    ("text", "parameters"),
    [
        ("SELECT COUNT(*) FROM table WHERE ward = ?", []),
        ("SELECT COUNT(*) FROM table WHERE ward = ?", "n"),
        ("SELECT COUNT(*) FROM table WHERE ward = ?", {"ward": "n"}),
        ("SELECT COUNT(*) FROM table", [1]),
        ("SELECT COUNT(*) FROM table WHERE ward = ?", [object()]),
        ("SELECT COUNT(*) FROM table WHERE age = ?", [float("nan")]),
        ("SELECT COUNT(*) FROM table WHERE ward = ?", [b"n"]),
        ("SELECT COUNT(*) FROM table WHERE ward = 'n", []),
        ("SELECT COUNT(*) FROM nowhere", []),
        ("SELECT * FROM table", []),
        ("DROP TABLE table", []),
        ("", []),
    ],
)
def test_what_cannot_be_asked_is_a_programming_error_with_its_cause(
    db: dbapi.DbapiConnection, text: str, parameters: Any
) -> None:
    cursor = db.cursor()
    with pytest.raises(dbapi.ProgrammingError) as caught:
        cursor.execute(text, parameters)
    assert isinstance(caught.value.__cause__, terms.HubbubError)
    assert cursor.rowcount == -1
    assert db.inner.budget.spent.loss == 0


def test_a_price_is_given_with_the_statement_the_cursor_or_the_connection(tmp_path: Path) -> None:
    with open_connection(visits(), **options(tmp_path)) as inner:
        free = dbapi.connect(inner)
        with pytest.raises(dbapi.ProgrammingError, match="no default price"):
            free.cursor().execute(GROUPS)
        cursor = dbapi.connect(inner, epsilon=1).cursor()
        assert priced(cursor, GROUPS) == "epsilon = 1"
        assert priced(cursor.price(epsilon=0.5), GROUPS) == "epsilon = 0.5"
        gaussian = f"/* hubbub: epsilon=0.25, delta=1e-7, noise=gaussian */ {GROUPS}"
        assert priced(cursor, gaussian) == "epsilon = 0.25, delta = 1e-07"
        assert priced(cursor, f"-- hubbub: epsilon=0.2\n{GROUPS}") == "epsilon = 0.2"
        assert priced(cursor, f"-- hubbub: share=0.01, noise=gaussian\n{GROUPS}").startswith("rho = ")
        for wrong in ("budget=3", "epsilon", "epsilon=lots", ""):
            with pytest.raises(dbapi.ProgrammingError, match="price"):
                cursor.execute(f"/* hubbub: {wrong} */ {GROUPS}")
        free.close()
        inner.sql(GROUPS, epsilon=1)  # a connection that was open stays so


def priced(cursor: dbapi.Cursor, text: str) -> str:
    release = cursor.execute(text).release
    assert release is not None
    return release.guarantee.holds.describe()


def test_an_error_that_was_asked_for_is_met(tmp_path: Path) -> None:
    with dbapi.connect(visits(), within=20, confidence=0.9, **options(tmp_path)) as db:
        release = db.cursor().execute("SELECT COUNT(*) AS n FROM table").release
        assert release is not None
        ((low, high),) = release.intervals(0.9)["n"]
        assert (high - low) / 2 <= 20  # type: ignore[operator]


def test_a_budget_that_is_used_up_is_an_operational_error(tmp_path: Path) -> None:
    small = {**options(tmp_path), "budget": Budget(1, 1e-6)}
    with dbapi.connect(visits(), epsilon=2, **small) as db, pytest.raises(dbapi.OperationalError) as caught:
        db.cursor().execute(GROUPS)
    assert isinstance(caught.value.__cause__, terms.BudgetExceeded)


def test_nothing_is_rolled_back_and_committing_does_nothing(db: dbapi.DbapiConnection) -> None:
    db.commit()
    with pytest.raises(dbapi.NotSupportedError):
        db.rollback()
    with pytest.raises(dbapi.NotSupportedError):
        db.cursor().executemany(GROUPS, [[], []])


def test_what_is_closed_stays_closed(db: dbapi.DbapiConnection) -> None:
    with db.cursor() as cursor:
        cursor.setinputsizes([1])
        cursor.setoutputsize(10)
        cursor.execute(GROUPS)
    with pytest.raises(dbapi.InterfaceError):
        cursor.fetchall()
    other = db.cursor()
    db.close()
    db.close()
    for use in (db.cursor, db.commit, lambda: other.execute(GROUPS)):
        with pytest.raises(dbapi.InterfaceError):
            use()  # type: ignore[operator]


def test_a_source_that_is_not_there_is_told_when_connecting(tmp_path: Path) -> None:
    with pytest.raises(dbapi.OperationalError) as caught:
        dbapi.connect(tmp_path / "nowhere.parquet", epsilon=1, **options(tmp_path))
    assert isinstance(caught.value.__cause__, terms.SourceUnavailable)
    with open_connection(visits(), **options(tmp_path)) as inner, pytest.raises(dbapi.InterfaceError):
        dbapi.connect(inner, epsilon=1, unit="who")


@pytest.mark.usefixtures("silence")
@pytest.mark.filterwarnings("ignore:pandas only supports SQLAlchemy")
def test_pandas_reads_a_frame(db: dbapi.DbapiConnection) -> None:
    text = "SELECT ward, COUNT(*) AS n FROM table WHERE age < ? GROUP BY ward"
    frame = pandas.read_sql(text, db, params=[45])  # type: ignore[call-overload]
    known = visits().query("age < 45").groupby("ward").size()
    assert frame.set_index("ward")["n"].to_dict() == known.to_dict()


def test_threads_may_share_the_module(tmp_path: Path) -> None:
    told: list[int] = []

    def ask(name: str) -> None:
        (tmp_path / name).mkdir()
        with dbapi.connect(visits(), rho=0.5, **options(tmp_path / name)) as own:
            told.append(len(own.cursor().execute(GROUPS).fetchall()))

    threads = [threading.Thread(target=ask, args=(name,)) for name in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert told == [2, 2]
