"""Whether a question works, and in which words it is refused, never depends on rows."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pytest

from hubbub import Budget
from hubbub.engines import DuckDB
from hubbub.ledger import Ledger
from hubbub.schema.tables import Column, Dataset, Kind, PersonLink, Table
from hubbub.sql import Connection, connect
from hubbub.sql.quote import plan_text
from hubbub.terms import HubbubError, QueryError, Underflow, UnknownName
from tests.sql._exact import read_exactly

TABLE = """
CREATE TABLE t (p BIGINT, ward VARCHAR, cost DOUBLE, k BIGINT, h HUGEINT, u UBIGINT, dec DECIMAL(38, 10), f FLOAT,
  day DATE, ts TIMESTAMP, tz TIMESTAMPTZ, txt VARCHAR, ok BOOLEAN, id UUID, en ENUM ('a', 'b'), tiny TINYINT,
  li INTEGER[], st STRUCT(a INTEGER), bl BLOB, iv INTERVAL, tm TIME)
"""
CALM = """
INSERT INTO t SELECT i, CASE i % 3 WHEN 0 THEN 'n' WHEN 1 THEN 's' ELSE 'e' END, i % 10, i % 5, i, i, i, i,
  DATE '2020-01-01' + CAST(i % 300 AS INTEGER), TIMESTAMP '2020-01-01 10:00:00', TIMESTAMPTZ '2020-01-01', '17', true,
  '00000000-0000-0000-0000-000000000001', 'a', 1, [1], {'a': 1}, '\\x00'::BLOB, INTERVAL 1 DAY, TIME '10:00:00'
FROM range(1, 200) r(i)
"""
STORMS = {
    "nothing at all": [],
    "only missing values": ["INSERT INTO t (p) SELECT i FROM range(20) r(i)"],
    "nobody's rows": ["INSERT INTO t SELECT NULL, * EXCLUDE (p) FROM t", "UPDATE t SET p = NULL"],
    "the largest numbers": [
        "INSERT INTO t SELECT i, 'n', 1.7e308, 9223372036854775807, 170141183460469231731687303715884105727, "
        "18446744073709551615, '9999999999999999999999999999'::DECIMAL(38, 10), 3e38, DATE '5874897-12-31', "
        "TIMESTAMP '290000-01-01', TIMESTAMPTZ '290000-01-01', repeat('9', 400), false, uuid(), 'b', 127, "
        "range(1000)::INTEGER[], {'a': 2147483647}, repeat('x', 999)::BLOB, INTERVAL 100000 YEAR, TIME '23:59:59' "
        "FROM range(30) r(i)"
    ],
    "the smallest numbers": [
        "INSERT INTO t SELECT i, 's', -1.7e308, -9223372036854775808, -170141183460469231731687303715884105728, 0, "
        "'-9999999999999999999999999999'::DECIMAL(38, 10), -3e38, DATE '5877642-06-25 (BC)', "
        "TIMESTAMP '290309-12-22 (BC) 00:00:00', NULL, '-', NULL, NULL, NULL, -128, [NULL], NULL, '', "
        "INTERVAL (-1) MONTH, NULL FROM range(30) r(i)"
    ],
    "no numbers, and no end": [
        "INSERT INTO t (p, ward, cost, f, day, ts, tz, txt) SELECT i, 'e', CASE i % 3 WHEN 0 THEN 'nan'::DOUBLE "
        "WHEN 1 THEN 'inf' ELSE '-inf' END, 'nan', 'infinity', 'infinity', 'infinity', 'nan' FROM range(30) r(i)",
        "INSERT INTO t (p, ward, cost, f, day, ts, tz, txt) SELECT i, 'e', 0, '-inf', '-infinity', '-infinity', "
        "'-infinity', '-inf' FROM range(30) r(i)",
    ],
    "zeros": [
        "INSERT INTO t (p, ward, cost, k, h, u, dec, f, tiny) SELECT i, 'n', -0.0, 0, 0, 0, 0, 0, 0 FROM range(9) r(i)"
    ],
    "texts that are nothing else": [
        "INSERT INTO t (p, ward, txt) SELECT i, chr(CAST(i AS INTEGER)), ['abc', '2020-02-30', '%', '''; --', '1e999', "
        "'0x1F', 'true', chr(1), '\U0001f469\u200d\U0001f467', repeat('a', 5000)][1 + i % 10] FROM range(1, 60) r(i)"
    ],
    "one person with everything": [CALM, "UPDATE t SET p = 1"],
}
SCALARS = [
    "COUNT(*)",
    "COUNT(li)",
    "COUNT(st)",
    "COUNT(iv)",
    "COUNT(bl)",
    "COUNT(DISTINCT id)",
    "COUNT(DISTINCT en)",
    "COUNT(DISTINCT h)",
    "COUNT(DISTINCT dec)",
    "COUNT(DISTINCT p)",
    "COUNT(DISTINCT day)",
    "COUNT(DISTINCT tz)",
    "SUM(cost)",
    "SUM(cost / k)",
    "SUM(CLIP(cost / k, 0, 1))",
    "SUM(CLIP(k / (k - k), 0, 1))",
    "SUM(CLIP(h, 0, 5))",
    "SUM(CLIP(u, 0, 5))",
    "SUM(CLIP(u - u * u, 0, 5))",
    "SUM(CLIP(dec, 0, 5))",
    "SUM(CLIP(dec * dec * dec, 0, 5))",
    "SUM(CLIP(f * f, -5, 5))",
    "SUM(CLIP(h * h * h * h, 0, 5))",
    "SUM(CLIP(tiny * tiny * tiny, 0, 5))",
    "SUM(CLIP(-k, 0, 5))",
    "SUM(CLIP(ABS(k), 0, 5))",
    "SUM(CLIP(ABS(tiny), 0, 5))",
    "SUM(CLIP(k % 0, 0, 5))",
    "SUM(CLIP(cost % k, 0, 5))",
    "SUM(CLIP(k // 0, 0, 5))",
    "SUM(CLIP(EXP(cost), 0, 5))",
    "SUM(CLIP(EXP(k), 0, 5))",
    "SUM(CLIP(LN(cost), 0, 5))",
    "SUM(CLIP(SQRT(cost), 0, 5))",
    "SUM(CLIP(POWER(cost, k), 0, 5))",
    "SUM(CLIP(POWER(k, cost), 0, 5))",
    "SUM(CLIP(ROUND(cost, 300), 0, 5))",
    "SUM(CLIP(ROUND(cost, -300), 0, 5))",
    "SUM(CLIP(FLOOR(f), 0, 5))",
    "SUM(CLIP(CEIL(cost), 0, 5))",
    "SUM(CLIP(TRUNC(cost), 0, 5))",
    "SUM(SIGN(cost))",
    "SUM(CLIP(CAST(txt AS INTEGER), 0, 5))",
    "SUM(CLIP(CAST(txt AS DOUBLE), 0, 5))",
    "SUM(CLIP(CAST(cost AS INTEGER), 0, 5))",
    "SUM(CLIP(CAST(h AS INTEGER), 0, 5))",
    "SUM(CAST(ok AS INTEGER))",
    "COUNT(CAST(txt AS DATE))",
    "COUNT(CAST(txt AS BOOLEAN))",
    "COUNT(CAST(txt AS TIMESTAMP))",
    "COUNT(CAST(day AS TIMESTAMP))",
    "COUNT(CAST(ts AS DATE))",
    "COUNT(CAST(tz AS DATE))",
    "COUNT(CAST(day AS VARCHAR))",
    "COUNT(CAST(k AS BOOLEAN))",
    "SUM(MONTH(day))",
    "SUM(EXTRACT(hour FROM ts))",
    "SUM(EXTRACT(dow FROM tz))",
    "SUM(CLIP(EXTRACT(year FROM ts), 1900, 2100))",
    "SUM(CLIP(DATE_DIFF('day', day, DATE '2020-02-01'), 0, 9))",
    "SUM(CLIP(DATE_DIFF('month', ts, ts), 0, 9))",
    "SUM(CLIP(DATE_DIFF('year', day, ts), 0, 9))",
    "COUNT(DATE_TRUNC('quarter', day))",
    "COUNT(DATE_TRUNC('second', ts))",
    "SUM(CLIP(LENGTH(txt), 0, 9))",
    "COUNT(SUBSTRING(txt, -10000, 10000))",
    "COUNT(LEFT(txt, -3) || RIGHT(txt, 10000) || REPLACE(txt, '', 'x'))",
    "COUNT(UPPER(LOWER(TRIM(txt))))",
    "COUNT(*) FILTER (WHERE txt LIKE '%_\\' OR txt ILIKE 'A%')",
    "COUNT(*) FILTER (WHERE id = '00000000-0000-0000-0000-000000000001')",
    "COUNT(*) FILTER (WHERE id = 'nobody')",
    "COUNT(*) FILTER (WHERE en = 'c')",
    "COUNT(*) FILTER (WHERE h > 9223372036854775808)",
    "COUNT(*) FILTER (WHERE tiny = 1000 OR k = 1.5 OR u = -1)",
    "COUNT(*) FILTER (WHERE ts > '2020-01-01' AND tz < DATE '2021-01-01' OR day BETWEEN '2020-01-01' AND '2020-02-02')",
    "COUNT(*) FILTER (WHERE COALESCE(cost, k, h) > LEAST(u, dec, f))",
    "COUNT(*) FILTER (WHERE NULLIF(k, 0) IS NULL AND CASE WHEN ok THEN cost ELSE k END > 1)",
    "AVG(cost)",
    "AVG(k)",
    "VAR_POP(cost)",
    "STDDEV(cost)",
    "MEDIAN(cost)",
    "MEDIAN(k)",
    "MIN(day)",
    "MAX(cost)",
    "AVG(cost) / COUNT(*)",
    "LN(COUNT(*)) + SQRT(SUM(cost)) / SUM(k)",
]
WHOLE = [
    "SELECT ward, COUNT(*) AS n, AVG(cost) AS a, MEDIAN(cost) AS m FROM t GROUP BY ward",
    "SELECT MONTH(day) AS m, MEDIAN(k) AS q FROM t GROUP BY m",
    "SELECT DATE_TRUNC('month', day) AS m, COUNT(*) AS n, MEDIAN(k) AS q FROM t GROUP BY m",
    "SELECT FLOOR(cost) AS c, COUNT(*) AS n FROM t GROUP BY c",
    "SELECT ok, COUNT(*) AS n FROM t GROUP BY ok",
    "SELECT ward, ok, SUM(cost) AS s FROM t GROUP BY ROLLUP (ward, ok)",
    "SELECT ward, COUNT(DISTINCT p) AS n FROM t GROUP BY ward HAVING COUNT(DISTINCT p) > 5 OR TRUE ORDER BY n LIMIT 3",
    "SELECT AVG(n) AS a FROM (SELECT p, COUNT(*) AS n FROM t GROUP BY p)",
    "SELECT y, COUNT(*) AS n FROM (SELECT p, CLIP(k * k * k * k, 0, 9) AS y FROM t) GROUP BY y",
    "SELECT SUM(CLIP(d, 0, 9)) AS s FROM (SELECT p, k - LAG(k) OVER (PARTITION BY p ORDER BY day) AS d FROM t)",
    "SELECT SUM(CLIP(d, 0, 9)) AS s FROM (SELECT p, SUM(cost) OVER (PARTITION BY p ORDER BY ts) AS d FROM t)",
    "SELECT COUNT(*) AS n FROM (SELECT p, BOOL_OR(f > 1) AS b, BOOL_AND(h < u) AS a, MAX(ok) AS m FROM t GROUP BY p) "
    "WHERE b OR a OR m",
    "SELECT COUNT(*) AS n FROM t a JOIN t b ON a.p = b.p WHERE a.cost > b.cost",
    "SELECT COUNT(*) AS n FROM t a WHERE EXISTS (SELECT 1 FROM t b WHERE a.p = b.p AND b.k / b.cost > 1)",
    "SELECT ward, COUNT(*) AS n FROM t GROUP BY ward UNION ALL SELECT 'all', COUNT(*) FROM t",
]
NEVER = ["SUM(cost / k)", "SUM(CLIP(ROUND(cost, 300), 0, 5))", "SUM(CLIP(-k, 0, 5))", "SUM(CLIP(k % 0, 0, 5))"]
NEVER += ["SUM(CLIP(ROUND(cost, -300), 0, 5))"]
REFUSED = [
    "SELECT * FROM t",
    "SELECT cost FROM t",
    "SELECT SUM(h) AS s FROM t",
    "SELECT SUM(txt) AS s FROM t",
    "SELECT p, COUNT(*) AS n FROM t GROUP BY p",
    "SELECT li, COUNT(*) AS n FROM t GROUP BY li",
    "SELECT COUNT(*) AS n FROM t WHERE txt = 5",
    "SELECT COUNT(*) AS n FROM t WHERE day = 'yesterday'",
    "SELECT COUNT(*) AS n FROM t a JOIN t b ON a.k = b.k",
    "SELECT COUNT(*) AS n FROM (SELECT RANK() OVER (ORDER BY cost) AS r FROM t)",
    "SELECT COUNT(*) AS n FROM t WHERE cost > (SELECT AVG(cost) FROM t)",
    "SELECT SUM(cost) OVER () AS s FROM t",
    "SELECT no_such_column AS n FROM t",
    "SELECT COUNT(*) AS n FROM no_such_table",
]
UNKNOWN = [  # how many rows the answer has is noisy, so only that there is one is compared
    f"SELECT {key} AS key, COUNT(*) AS n, SUM(cost) AS s FROM t GROUP BY key"
    for key in ("txt", "day", "ts", "tz", "id", "en", "h", "u", "dec", "f", "cost * 3", "k * k * k", "YEAR(ts)", "tiny")
]
UNKNOWN.append("SELECT MEDIAN(k) AS m, txt FROM t GROUP BY txt")
UNKNOWN.append("SELECT n, COUNT(*) AS people FROM (SELECT p, SUM(k) AS n FROM t GROUP BY p) GROUP BY n")
UNKNOWN.append("SELECT y, COUNT(*) AS n FROM (SELECT p, h * h * h * h * h * h * h * h * h AS y FROM t) GROUP BY y")


_PARTS = [part for part in SCALARS if part not in NEVER]
TOGETHER = [
    f"SELECT {', '.join(f'{part} AS c{i}' for i, part in enumerate(_PARTS[first : first + 15]))} FROM t"
    for first in range(0, len(_PARTS), 15)
]
NEVER_TOLD = [f"SELECT {part} AS c FROM t" for part in NEVER] + REFUSED


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Connection]]:
    """A connection to each of the databases, which differ in rows alone."""
    folder = tmp_path_factory.mktemp("silent")
    opened = {}
    for place, (name, storm) in enumerate({"calm": [CALM], **STORMS}.items()):
        with duckdb.connect(str(folder / f"{place}.duckdb")) as made:
            for statement in [TABLE, *storm]:
                made.execute(statement)
        opened[name] = connect(
            folder / f"{place}.duckdb",
            unit="p",
            max_rows_per_unit=3,
            bounds={"cost": (0, 10, 0.5), "k": (0, 4, 1), "day": _year()},
            keys={"ward": ["n", "s", "e"]},
            budget=Budget(10**6, 1e-3),
            ledger=folder / f"{place}.db",
        )
    yield opened
    for each in opened.values():
        each.close()


@pytest.fixture(scope="module")
def calm(asked: dict[str, Connection]) -> dict[str, tuple[object, ...]]:
    """What each question looks like on ordinary rows."""
    return {text: shape(asked["calm"], text) for text in [*TOGETHER, *WHOLE, *UNKNOWN, *NEVER_TOLD]}


def _year() -> tuple[Any, Any]:
    from datetime import date

    return date(2020, 1, 1), date(2020, 12, 31)


def shape(connection: Connection, text: str) -> tuple[object, ...]:
    """What is seen of an answer besides its numbers, or the words of the refusal."""
    try:
        told = connection.sql(text, rho=0.1)
    except HubbubError as error:
        return "refused", type(error).__name__, str(error)
    assert str(told) and told.to_json()
    return "told", [(field.name, str(field.type)) for field in told.to_arrow().schema], len(told)


@pytest.mark.parametrize("storm", STORMS)
def test_questions_about_a_whole_table_work_whatever_the_rows_are(
    asked: dict[str, Connection], calm: dict[str, tuple[object, ...]], storm: str
) -> None:
    for text in TOGETHER:
        assert calm[text][0] == "told", calm[text]
        assert shape(asked[storm], text) == calm[text]


@pytest.mark.parametrize("storm", STORMS)
def test_questions_with_public_keys_work_whatever_the_rows_are(
    asked: dict[str, Connection], calm: dict[str, tuple[object, ...]], storm: str
) -> None:
    for text in WHOLE:
        assert calm[text][0] == "told", calm[text]
        assert shape(asked[storm], text) == calm[text]


@pytest.mark.parametrize("storm", STORMS)
def test_questions_with_other_keys_work_whatever_the_rows_are(
    asked: dict[str, Connection], calm: dict[str, tuple[object, ...]], storm: str
) -> None:
    for text in UNKNOWN:
        told = shape(asked[storm], text)
        assert told[:2] == calm[text][:2], text
        assert told[0] == "told", told


@pytest.mark.parametrize("nested", ["DECIMAL(4, 2)[]", "DECIMAL(4, 2)[2]", "STRUCT(a DECIMAL(4, 2))"])
def test_decimals_inside_of_other_types_are_left_out_whatever_the_rows_are(nested: str, tmp_path: Path) -> None:
    """Read as decimals they made each question fail as soon as somebody had a value."""
    path = tmp_path / "t.duckdb"
    value = "{'a': 1.5}" if nested.startswith("STRUCT") else "[1.5, 2.5]"
    with duckdb.connect(str(path)) as made:
        made.execute(f"CREATE TABLE t AS SELECT 1 AS p, 2 AS k, CAST({value} AS {nested}) AS nested")
    with connect(path, unit="p", max_rows_per_unit=1, budget=Budget(9), ledger=tmp_path / "book.db") as db:
        assert len(db.sql("SELECT COUNT(k) AS n FROM t", epsilon=1)) == 1
        with pytest.raises(UnknownName):
            db.sql("SELECT COUNT(nested) AS n FROM t", epsilon=1)


@pytest.mark.parametrize("storm", STORMS)
def test_refusals_have_the_same_words_and_cost_nothing(
    asked: dict[str, Connection], calm: dict[str, tuple[object, ...]], storm: str
) -> None:
    connection = asked[storm]
    before = connection.ledger.balance(connection.dataset.population)
    for text in NEVER_TOLD:
        assert calm[text][0] == "refused", text
        assert shape(connection, text) == calm[text]
    assert connection.ledger.balance(connection.dataset.population) == before


# ---------------------------------------------------------------- people of any type

UNITS = {
    "p": "BIGINT",
    "ward": "VARCHAR",
    "cost": "DOUBLE",
    "h": "HUGEINT",
    "u": "UBIGINT",
    "dec": "DECIMAL(38, 10)",
    "f": "FLOAT",
    "day": "DATE",
    "ts": "TIMESTAMP",
    "tz": "TIMESTAMPTZ",
    "ok": "BOOLEAN",
    "id": "UUID",
    "en": "ENUM",
    "li": "LIST",
    "st": "STRUCT",
    "bl": "BLOB",
    "iv": "INTERVAL",
    "tm": "TIME",
}
OF_PEOPLE = [
    "SELECT COUNT(*) AS n, COUNT(DISTINCT {unit}) AS people, SUM(k) AS s FROM t",
    "SELECT k % 3 AS r, AVG(k) AS a FROM t GROUP BY r",
    "SELECT AVG(n) AS a FROM (SELECT {unit}, COUNT(*) AS n FROM t GROUP BY {unit})",
    "SELECT COUNT(*) AS n FROM t a JOIN t b ON a.{unit} = b.{unit}",
    "SELECT COUNT(*) AS n FROM t a WHERE EXISTS (SELECT 1 FROM t b WHERE a.{unit} = b.{unit} AND b.k > a.k)",
    "SELECT COUNT(*) AS n FROM (SELECT k, ROW_NUMBER() OVER (PARTITION BY {unit} ORDER BY k) AS r FROM t) WHERE r = 1",
]


@pytest.mark.parametrize("unit", UNITS)
def test_people_are_told_apart_by_a_column_of_any_type(asked: dict[str, Connection], unit: str) -> None:
    dataset = _told_apart_by(asked["calm"].engine, unit)
    opaque = dataset.tables[0].column(unit).kind is Kind.OPAQUE  # type: ignore[union-attr]
    for text in (text.format(unit=unit) for text in OF_PEOPLE):
        try:
            planned = plan_text(text, dataset, gaussian=True)
        except QueryError:
            assert opaque, text
            continue
        for connection in asked.values():
            assert read_exactly(connection.engine, planned)


def _told_apart_by(engine: DuckDB, unit: str) -> Dataset:
    facts: dict[str, Any] = {"k": {"lower": Fraction(0), "upper": Fraction(4)}, "ward": {"values": ("n", "s", "e")}}
    columns = tuple(Column(name=n, kind=Kind(kind), **facts.get(n, {})) for n, kind in engine.columns("t"))
    table = Table(name="t", source="", columns=columns, link=PersonLink(unit), max_rows_per_unit=2)
    return Dataset(name="d", population="d", unit=f"t.{unit}", budget=Budget(1, 1e-6), tables=(table,))


# ---------------------------------------------------------------- what is free reads nothing


class Untouchable:
    """An engine whose data nobody may use: statements can be tried on its twin, which has none."""

    dialect = "duckdb"

    def __init__(self, engine: DuckDB) -> None:
        self.bind = engine.bind

    def __getattr__(self, name: str) -> object:
        pytest.fail(f"the engine was asked for {name!r}")


def test_previews_and_explanations_touch_no_data_and_cost_nothing(asked: dict[str, Connection], tmp_path: Path) -> None:
    dataset = asked["calm"].dataset
    assert dataset.budget is not None
    with Ledger(tmp_path / "ledger.db") as ledger:
        ledger.open_population(
            dataset.population, dataset.budget, neighbours=dataset.neighbours, unit=dataset.unit, by="test", why="test"
        )
        connection = Connection(dataset, Untouchable(asked["calm"].engine), ledger)
        before = ledger.balance(dataset.population)
        for text in [*WHOLE, *UNKNOWN]:
            assert str(connection.preview(text, epsilon=0.5))
            assert str(connection.explain(text))
        assert str(connection.preview("SELECT COUNT(*) AS n FROM t", within=20))
        assert str(connection.describe()) and connection.budget
        assert ledger.balance(dataset.population) == before


ODD_LINES = {
    "a quoted line break": '9,"a\nb",1\n',
    "a quote that never ends": '9,"a,1\n',
    "too few cells": "9\n",
    "too many cells": "9,n,1,2,3\n",
    "no letters": "\x00\x01,\x02,\x03\n",
}


@pytest.mark.parametrize("odd", ODD_LINES.values(), ids=list(ODD_LINES))
def test_no_line_of_a_csv_file_makes_a_question_fail(odd: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("p,ward,cost\n" + "".join(f"{i},n,{i % 10}\n" for i in range(100)) + odd + "7\n")
    with connect(
        tmp_path / "t.csv", unit="p", max_rows_per_unit=1, bounds={"cost": (0, 9)}, budget=Budget(1e6)
    ) as connection:
        answer = connection.sql("SELECT COUNT(*) AS n, SUM(cost) AS s FROM t", epsilon=100)
        assert answer["n"].values[0] == pytest.approx(100, abs=2)


def test_noise_that_would_be_none_is_refused_before_a_charge(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("p\n1\n2\n")
    with connect(tmp_path / "t.csv", unit="p", max_rows_per_unit=1, budget=Budget(1e6)) as connection:
        with pytest.raises(Underflow):
            connection.sql("SELECT COUNT(*) AS n FROM t", epsilon=10_000)
        assert [account["epsilon_spent"] for account in connection.budget.to_json()["accounts"]] == [0]
