"""Workloads: many counts for one price, right without noise, and far more exact than one by one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date, timedelta
from itertools import combinations, product
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas
import pytest

from hubbub import Budget
from hubbub.sql.connection import Connection
from hubbub.sql.open_connection import connect
from hubbub.sql.workload.plan import plan_workload
from hubbub.sql.workload.release import WorkloadRelease, workload
from hubbub.terms import (
    EmptyInput,
    HubbubError,
    MissingParameter,
    NotAllowed,
    OutOfRange,
    Unbounded,
    UnknownName,
    WrongShape,
)

CAP = 4
BEGIN = date(2025, 1, 1)
KEYS = {
    "ward": ["n", "s"],
    "new": [False, True],
    "a": [0, 1, 2, 3],
    "b": [0, 1, 2, 3],
    "c": [0, 1, 2, 3],
    "d": [0, 1, 2, 3],
}
BOUNDS = {"age": (0, 63, 1), "day": (BEGIN, BEGIN + timedelta(days=30)), "cost": (0, 10)}


@pytest.fixture(autouse=True)
def _second_place(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ledgers' second place is a temporary folder."""
    monkeypatch.setenv("HUBBUB_STATE", str(tmp_path_factory.mktemp("state")))


def visits(rows: int = 3000, seed: int = 1) -> pandas.DataFrame:
    """Visits of which some lie outside what was declared, and some are missing."""
    generator = np.random.default_rng(seed)
    days = [BEGIN + timedelta(days=int(shift)) for shift in generator.integers(-3, 35, rows)]
    return pandas.DataFrame(
        {
            "who": generator.permutation(rows) // CAP,
            "ward": generator.choice(["n", "s", "x", None], rows),
            "age": pandas.Series(generator.integers(-5, 70, rows), dtype="Int64").where(generator.random(rows) > 0.05),
            "day": days,
            "new": generator.choice([True, False, None], rows),
            "cost": generator.random(rows),
            **{name: generator.integers(0, 4, rows) for name in "abcd"},
        }
    )


def opened(frame: pandas.DataFrame, folder: Path, budget: Budget | None = None, **options: Any) -> Connection:
    given = {"unit": "who", "max_rows_per_unit": CAP, "keys": KEYS, "bounds": BOUNDS, **options}
    return connect(frame, budget=budget or Budget(1000, 1e-6), ledger=folder / "ledger.db", **given)


@pytest.fixture
def db(tmp_path: Path) -> Any:
    with opened(visits(), tmp_path) as connection:
        yield connection


def exact(frame: pandas.DataFrame, text: str) -> list[tuple[Any, ...]]:
    """The exact answer, by the engine itself."""
    with duckdb.connect() as engine:
        engine.register("table_", frame)
        return engine.execute(text.replace("FROM table", "FROM table_")).fetchall()


def counted(frame: pandas.DataFrame, texts: Sequence[str]) -> list[int]:
    """The exact counts of questions without groups, in one go."""
    together = " UNION ALL ".join(text.replace("SELECT", f"SELECT {i} AS i,", 1) for i, text in enumerate(texts))
    return [row[1] for row in sorted(exact(frame, together))]


SINGLE = [
    "SELECT COUNT(*) FROM table",
    "SELECT COUNT(1) FROM table WHERE ward = 'n'",
    "SELECT COUNT(*) FROM table WHERE ward IN ('n', 's') AND new",
    "SELECT COUNT(*) FROM table WHERE NOT new AND age < 30",
    "SELECT COUNT(*) FROM table WHERE age BETWEEN 10 AND 20",
    "SELECT COUNT(*) FROM table WHERE age > 60 AND age >= 62.5",
    "SELECT COUNT(*) FROM table WHERE age <= -2",
    "SELECT COUNT(*) FROM table WHERE age <> 7 OR age IS NULL",
    "SELECT COUNT(*) FROM table WHERE age IS NULL AND ward = 's'",
    "SELECT COUNT(*) FROM table WHERE age < 5 AND age > 50",
    "SELECT COUNT(*) FROM table WHERE day >= DATE '2025-01-10' AND day < '2025-02-20'",
    "SELECT COUNT(*) FROM table WHERE day = DATE '2025-01-31' OR day < DATE '2024-12-30'",
    "SELECT COUNT(*) FROM table WHERE a IN (1, 2, NULL) AND b >= 2",
]


@pytest.mark.usefixtures("silence")
@pytest.mark.parametrize("text", SINGLE)
def test_a_count_without_noise_is_the_exact_count(db: Connection, text: str) -> None:
    told = workload(db, [text], rho=1)
    assert [round(value, 6) for value in [told[0].value]] == [exact(visits(), text)[0][0]]  # type: ignore[call-overload]


@pytest.mark.usefixtures("silence")
def test_all_of_them_together_are_exact_too(tmp_path: Path) -> None:
    frame = visits(rows=500)
    texts = [text for text in SINGLE if "day" not in text and "a IN" not in text]
    with opened(frame, tmp_path) as db:
        told = workload(db, texts, rho=1)
    values = [float(each.value) for each in told]  # type: ignore[arg-type]
    assert values == pytest.approx(counted(frame, texts), abs=1e-6)


@pytest.mark.usefixtures("silence")
@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("SELECT ward, new, COUNT(*) AS n FROM table GROUP BY ward, new", "ward IN ('n', 's') AND new IS NOT NULL"),
        ("SELECT COUNT(*) AS n, new, ward AS w FROM table WHERE a = 2 GROUP BY new, ward", "ward IN ('n', 's')"),
        ("SELECT age, COUNT(*) AS n FROM table WHERE age < 9 AND ward = 'n' GROUP BY age", "age >= 0"),
        ("SELECT day, COUNT(*) AS n FROM table GROUP BY day", "day BETWEEN '2025-01-01' AND '2025-01-31'"),
    ],
)
def test_groups_are_the_public_ones_in_the_order_asked_for(db: Connection, text: str, where: str) -> None:
    """A second question reaches over other columns, so that the axes of the table are not the question's own."""
    told = workload(db, ["SELECT b, a, COUNT(*) FROM table WHERE new GROUP BY b, a", text], rho=1)[1]
    named = told.to_pandas(intervals=False)
    keys = [name for name in named.columns if name != "n"]
    limited = text.replace("GROUP", f"{'AND' if 'WHERE' in text else 'WHERE'} {where} GROUP")
    order = list(named.columns)
    known = {tuple(row[order.index(key)] for key in keys): row[order.index("n")] for row in exact(visits(), limited)}
    found = {tuple(_plain(row[key]) for key in keys): row["n"] for row in named.to_dict("records")}
    assert {key: round(count, 6) for key, count in found.items()} == {key: known.get(key, 0) for key in found}
    assert {key for key in known if None not in key} <= set(found)


@pytest.mark.usefixtures("silence")
def test_a_column_that_is_named_twice_is_one_key(db: Connection) -> None:
    told = workload(db, ["SELECT ward AS v, ward AS w, COUNT(*) AS n FROM table GROUP BY v, w"], rho=1)[0]
    known = dict(exact(visits(), "SELECT ward, COUNT(*) FROM table GROUP BY ward"))
    rows = told.to_pandas(intervals=False).to_dict("records")
    assert [(row["v"], row["w"], round(row["n"])) for row in rows] == [("n", "n", known["n"]), ("s", "s", known["s"])]


def _plain(value: Any) -> Any:
    return value.date() if isinstance(value, pandas.Timestamp) else value


def one_by_one(answers: int, rho: float) -> float:
    """The standard deviation of each answer if the price were shared among the questions."""
    return CAP / math.sqrt(2 * rho / answers)


def errors(told: WorkloadRelease, truth: Sequence[float]) -> np.ndarray[Any, Any]:
    values = [value for release in told for value in _counts(release)]
    return np.array(values) - np.array(truth)


def _counts(release: Any) -> list[float]:
    return [float(value) for value in release.told(len(release.columns) - 1)[0]]


def test_ranges_are_far_more_exact_than_one_by_one(db: Connection) -> None:
    generator = np.random.default_rng(3)
    ends = [sorted(generator.integers(0, 64, 2).tolist()) for _ in range(200)]
    texts = [f"SELECT COUNT(*) FROM table WHERE age BETWEEN {low} AND {high}" for low, high in ends]
    told = workload(db, texts, rho=0.5)
    off = errors(told, counted(visits(), texts))
    assert float(np.sqrt(np.mean(off**2))) < one_by_one(200, 0.5) / 3


def test_all_pairs_of_columns_are_far_more_exact_than_one_by_one(tmp_path: Path) -> None:
    generator = np.random.default_rng(5)
    names = [f"h{i}" for i in range(8)]
    frame = pandas.DataFrame({"who": range(2000)} | {name: generator.random(2000) < 0.3 for name in names})
    pairs = list(combinations(names, 2))
    texts = [f"SELECT {one}, {other}, COUNT(*) AS n FROM table GROUP BY {one}, {other}" for one, other in pairs]
    with opened(frame, tmp_path, keys={name: [False, True] for name in names}, bounds={}) as db:
        told = workload(db, texts, rho=0.5)
    known = [{(row[0], row[1]): row[2] for row in exact(frame, text)} for text in texts]
    truth = [table.get(key, 0) for table in known for key in product((False, True), repeat=2)]
    each = CAP / math.sqrt(2 * 0.5 / len(pairs))  # each pair of columns as a question of its own
    off = float(np.sqrt(np.mean(errors(told, truth) ** 2)))
    assert float(np.sqrt(np.mean(told.paid.mechanism.std_dev**2))) < 0.75 * each
    assert off < 0.95 * each
    assert off < one_by_one(len(truth), 0.5) / 2


def test_intervals_hold_the_truth_as_often_as_they_say(db: Connection) -> None:
    """Of 300 prefixes and cells about 285 lie inside; they share noise, so 240 is a bound that no luck reaches."""
    texts = [f"SELECT COUNT(*) FROM table WHERE age <= {age}" for age in range(64)]
    texts += [f"SELECT COUNT(*) FROM table WHERE age = {age} AND a = {a}" for age in range(59) for a in range(4)]
    told = workload(db, texts, rho=0.5)
    truth = counted(visits(), texts)
    assert inside(told, truth, 0.95) >= 240
    assert inside(told, truth, 0.5) < 240


def inside(told: WorkloadRelease, truth: Sequence[int], confidence: float) -> int:
    """How many of the intervals hold the truth."""
    ends: list[Any] = [next(iter(each.intervals(confidence).values()))[0] for each in told]
    return sum(low <= known <= high for (low, high), known in zip(ends, truth, strict=True))


@pytest.mark.parametrize("who", [0, 17, 200])
def test_a_person_moves_the_table_of_counts_by_no_more_than_the_cap(tmp_path: Path, who: int) -> None:
    frame = visits()
    frame["who"] = frame["who"] // 3  # up to 12 rows of one person, and only 4 may count
    tables = [counts(frame, tmp_path / "all"), counts(frame[frame["who"] != who], tmp_path / "without")]
    assert 0 < np.abs(tables[0] - tables[1]).sum() <= CAP


def counts(frame: pandas.DataFrame, folder: Path) -> Any:
    """The integers that leave the engine, under one secret."""
    folder.mkdir()
    texts = ["SELECT ward, new, COUNT(*) FROM table WHERE age < 30 GROUP BY ward, new", "SELECT COUNT(*) FROM table"]
    with opened(frame, folder) as db:
        planned = plan_workload(texts, db.dataset, gaussian=True)
        table = np.zeros(planned.shape, dtype=np.int64)
        places = [list(each.key.facts.values or ()) for each in planned.attributes]
        for *key, count in db.engine.rows(planned.statement("duckdb", secret="one").sql):
            table[tuple(known.index(value) for known, value in zip(places, key, strict=True))] = count
    return table


def test_a_workload_is_one_charge_and_asking_again_is_free(db: Connection) -> None:
    texts = SINGLE[:4]
    first = workload(db, texts, epsilon=1)
    spent = db.budget.spent
    again = workload(db, texts, epsilon=1)
    assert (first.repeated, again.repeated) == (False, True)
    assert again.receipt == first.receipt
    assert [each.value for each in again] == [each.value for each in first]
    assert db.budget.spent == spent
    assert first.receipt is not None and float(first.receipt.event.scale) > 0  # type: ignore[union-attr]
    assert workload(db, texts, epsilon=1, fresh=True).receipt != first.receipt


def test_a_pure_budget_means_laplace_noise(tmp_path: Path) -> None:
    with opened(visits(), tmp_path, Budget(10)) as db:
        told = workload(db, SINGLE[:3], epsilon=1)
        assert told.receipt is not None
        assert told.receipt.event.mechanism == "workload"  # type: ignore[union-attr]
        assert told.guarantee.holds.describe() == "epsilon = 1"
        assert float(db.budget.spent.parts()[0]) == 1.0


def test_rows_may_be_the_unit_and_neighbours_may_be_replaced(tmp_path: Path) -> None:
    options = {"unit": "row", "max_rows_per_unit": None, "neighbours": "replace"}
    with opened(visits(), tmp_path, **options) as db:
        told = workload(db, SINGLE[:3], rho=0.5)
    assert abs(float(told[0].value) - 3000) < 60  # type: ignore[arg-type]
    assert told.guarantee.neighbours.value == "replace"


def test_answers_are_found_by_name_and_shown_as_text_html_and_json(db: Connection) -> None:
    told = workload(db, SINGLE[:3], epsilon=1, names=["all", "north", "new"])
    assert told["north"] is told[1]
    assert len(told) == 3
    assert "north" in told.text() and "north" in told.html()
    assert set(told.to_json()["answers"]) == {"all", "north", "new"}  # type: ignore[arg-type]
    with pytest.raises(UnknownName):
        told["south"]


@pytest.mark.parametrize(
    ("texts", "error"),
    [
        ([], EmptyInput),
        ("SELECT COUNT(*) FROM table", EmptyInput),
        (["SELECT SUM(age) FROM table"], NotAllowed),
        (["SELECT COUNT(*), COUNT(*) AS n FROM table"], NotAllowed),
        (["SELECT COUNT(DISTINCT who) FROM table"], NotAllowed),
        (["SELECT COUNT(age) FROM table"], NotAllowed),
        (["SELECT COUNT(*) FROM table WHERE age + 1 > 3"], NotAllowed),
        (["SELECT COUNT(*) FROM table WHERE a = b"], NotAllowed),
        (["SELECT COUNT(*) FROM table WHERE a = 1 OR b = 1"], NotAllowed),
        (["SELECT COUNT(*) FROM table WHERE cost < 3"], NotAllowed),
        (["SELECT COUNT(*) FROM table WHERE who = 3"], NotAllowed),
        (["SELECT COUNT(*) FROM table WHERE ward IS NULL"], NotAllowed),
        (["SELECT COUNT(*) FROM table WHERE age < 100000"], NotAllowed),
        (["SELECT ward, COUNT(*) AS n FROM table GROUP BY ward HAVING COUNT(*) > 3"], NotAllowed),
        (["SELECT ward, COUNT(*) AS n FROM table GROUP BY ward ORDER BY n"], NotAllowed),
        (["SELECT COUNT(*) FROM (SELECT * FROM table) AS t"], NotAllowed),
        (["SELECT COUNT(*) FROM table UNION ALL SELECT COUNT(*) FROM table"], NotAllowed),
        (["SELECT a, b, c, d, age, day, COUNT(*) FROM table GROUP BY a, b, c, d, age, day"], NotAllowed),
    ],
)
def test_what_is_no_count_over_public_cells_is_refused_for_free(
    db: Connection, texts: Any, error: type[HubbubError]
) -> None:
    with pytest.raises(error):
        workload(db, texts, epsilon=1)
    assert db.budget.spent.loss == 0


def test_a_price_and_good_names_are_needed(db: Connection) -> None:
    with pytest.raises(MissingParameter):
        workload(db, SINGLE[:1])
    with pytest.raises(WrongShape):
        workload(db, SINGLE[:2], epsilon=1, names=["one"])
    with pytest.raises(OutOfRange):
        workload(db, SINGLE[:2], epsilon=1, names=["one", "one"])


def test_without_a_cap_nothing_is_answered(tmp_path: Path) -> None:
    with opened(visits(), tmp_path, max_rows_per_unit=None) as db, pytest.raises(Unbounded):
        workload(db, SINGLE[:1], epsilon=1)
