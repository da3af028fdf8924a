"""Nodes keep what they say: rows of one person, sizes, and whose rows meet; a tree without a bound cannot be made."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import duckdb
import pytest

from hubbub.relations import DIALECTS, Expr, owner_of, print_relation
from hubbub.relations.nodes import (
    PERSON,
    Aggregate,
    Alias,
    Cap,
    FanOut,
    Filter,
    JoinKind,
    JoinRows,
    NamedValue,
    PersonAggregate,
    Project,
    Rank,
    Relation,
    SharedRelation,
    TableScan,
    UnionAll,
    Values,
    Window,
    WindowSpec,
    With,
    as_kind,
    compare_number,
    count_rows,
    equal_values,
    is_known,
)
from hubbub.schema import Column, Dataset, Kind, PersonLink, Table
from hubbub.sql.quote import plan_text
from hubbub.terms import Budget, OverLimit

HEAVY, CAP = 60, 3
NAMES = ("pid", "r", "k", "txt")
COLUMNS = (*(Column(name=name, kind=Kind.INTEGER) for name in NAMES[:3]), Column(name="txt", kind=Kind.TEXT))
VISITS = Table(name="visits", columns=COLUMNS, link=PersonLink("pid"), max_rows_per_unit=CAP)
DATASET = Dataset(name="d", population="d", unit="visits.pid", budget=Budget(1, 1e-6), tables=(VISITS,))
ROWS = [(1, i % 2, i % 5, "é" * (i * 200)) for i in range(HEAVY)] + [(2, 1, 1, "a"), (3, None, None, None)]
ROWS += [(None, 1, 1, "nobody")] * 4


@pytest.fixture(scope="module")
def engine() -> Iterator[Any]:
    connection = duckdb.connect(":memory:")
    connection.execute("CREATE TABLE visits (pid BIGINT, r BIGINT, k BIGINT, txt VARCHAR)")
    connection.executemany("INSERT INTO visits VALUES (?, ?, ?, ?)", ROWS)
    yield connection
    connection.close()


def scan(alias: str = "t0") -> Relation:
    return Alias(TableScan(VISITS, NAMES, owner_of(VISITS, DATASET)), alias)


def capped(most: int = CAP, **facts: Any) -> Relation:
    inner = TableScan(VISITS, NAMES, owner_of(VISITS, DATASET))
    return Cap(inner, most, NAMES, "0", **facts)


def named(source: Relation, *names: str) -> tuple[NamedValue, ...]:
    return tuple(NamedValue(name, source.column(name)) for name in names)


def joined(left: Relation, right: Relation, fan_out: FanOut = FanOut.PRODUCT, **facts: Any) -> JoinRows:
    return JoinRows(Alias(left, "t0"), Alias(right, "t1"), (), fan_out, **facts)


def window(source: Relation, partition: Expr) -> tuple[NamedValue, ...]:
    spec = WindowSpec("row_number", 0, 1, (False,), (False,))
    return (NamedValue("w", Expr("over", (partition, source.column("k")), spec)),)


def by_k(source: Relation, values: int | None) -> Relation:
    return PersonAggregate(source, (source.column("k"),), named(source, "k"), key_values=values)


def one_each(source: Relation) -> Relation:
    return PersonAggregate(source, (), (NamedValue("n", count_rows()),))


SHARED = SharedRelation("_hb_x", capped())
TREES: dict[str, Relation] = {
    "a scan": scan(),
    "a cap": capped(),
    "a cap of rows in each of two keys": capped(2, keys=("k",), most_keys=2, each_key=True),
    "a cap of rows in two keys together": capped(2, keys=("k",), most_keys=2),
    "one row of each key": capped(1, keys=("k",), each_key=True),
    "a cap of few columns": capped(2, outputs=("r",)),
    "all against all": Project(joined(capped(), capped(2)), ()),
    "all against all, left": Project(joined(capped(), capped(2), kind=JoinKind.LEFT), ()),
    "those who meet one": Project(joined(capped(), capped(), kind=JoinKind.SEMI), ()),
    "one row of each person": one_each(scan()),
    "a person's keys": by_k(
        Filter(scan(), (is_known(scan().column("k")), compare_number("le", scan().column("k"), 4))), 5
    ),
    "a window": Window(capped_scan := Alias(capped(), "t0"), window(capped_scan, capped_scan.column(PERSON))),
    "a rank": Rank(Alias(capped(), "t0"), (capped_scan.column("k"),), "0"),
    "two of them": UnionAll((Project(Alias(capped(), "t0"), ()), Project(Alias(capped(), "t0"), ()))),
    "one that is shared": With((SHARED,), Project(SHARED, named(SHARED, "k"))),
    "distinct": Project(Alias(capped(), "t0"), named(capped_scan, "k"), distinct=True),
}


@pytest.mark.parametrize("name", TREES)
def test_no_person_has_more_rows_than_a_node_says(name: str, engine: Any) -> None:
    tree = TREES[name]
    inner = print_relation(tree, DIALECTS["duckdb"])
    [[most]] = engine.execute(
        f"SELECT max(n) FROM (SELECT count(*) AS n FROM ({inner}) AS x WHERE {PERSON} IS NOT NULL GROUP BY {PERSON})"
    ).fetchall()
    assert tree.rows_per_person is None or most <= tree.rows_per_person


def test_a_bound_that_is_too_small_would_be_noticed(engine: Any) -> None:
    wrong = replace(TREES["a cap"], most=CAP + 1)
    text = print_relation(wrong, DIALECTS["duckdb"])
    assert max(engine.execute(f"SELECT count(*) FROM ({text}) AS x GROUP BY {PERSON}").fetchall())[0] > CAP


@pytest.mark.parametrize("name", TREES)
def test_no_value_takes_more_bytes_than_a_node_says(name: str, engine: Any) -> None:
    tree = TREES[name]
    text = print_relation(tree, DIALECTS["duckdb"])
    for column in {column.name: column for column in tree.columns}.values():
        told = column.name if column.name.startswith("_hb_") else f'"{column.name}"'
        [[most]] = engine.execute(f"SELECT max(strlen(CAST(x.{told} AS VARCHAR))) FROM ({text}) AS x").fetchall()
        assert (most or 0) <= column.largest_bytes


def test_every_node_is_printed() -> None:
    told = Values(("k", "name"), ((1, "one"), (2, "it's")))
    assert duckdb.execute(print_relation(told, DIALECTS["duckdb"])).fetchall() == [(1, "one"), (2, "it's")]
    assert (told.person, told.rows_per_person) == (None, None)


# ---------------------------------------------------------------- what cannot be made


def test_rows_without_a_bound_are_not_added_up() -> None:
    with pytest.raises(AssertionError, match="bounded"):
        Aggregate(scan(), (), (NamedValue("n", count_rows()),))
    Aggregate(Alias(capped(), "t0"), (), (NamedValue("n", count_rows()),))


def test_rows_without_a_bound_do_not_multiply() -> None:
    with pytest.raises(OverLimit):
        joined(scan("a"), scan("b"))
    assert joined(scan("a"), capped()).rows_per_person is None  # as many as there are, and a public number of times
    assert joined(capped(), capped(2)).rows_per_person == 2 * CAP
    assert joined(capped(), scan("b"), FanOut.TO_ONE).rows_per_person == CAP


def test_a_window_over_other_people_cannot_be_made() -> None:
    source = scan()
    with pytest.raises(AssertionError, match="PARTITION BY"):
        Window(source, window(source, source.column("k")))


def test_rows_of_two_people_never_meet(engine: Any) -> None:
    """The condition asks for something else altogether, and the persons are compared all the same."""
    same = (equal_values(Expr("column", param=("t0", "k")), Expr("column", param=("t1", "k"))),)
    both = JoinRows(Alias(capped(), "t0"), Alias(capped(), "t1"), same, FanOut.PRODUCT)
    pairs = Project(both, (NamedValue("other", as_kind(Expr("column", param=("t1", PERSON)))),))
    rows = engine.execute(print_relation(pairs, DIALECTS["duckdb"])).fetchall()
    assert rows and all(person == other for person, other in rows)


# ---------------------------------------------------------------- names

SELF_JOIN = "SELECT COUNT(DISTINCT a.pid) AS n FROM {0} a JOIN {0} b ON a.pid = b.pid WHERE a.r + b.r + a.k >= 0"
CLASHES = ("scope", "heavy", "h", "b", "s", "o", "parts", "totals", "large", "pairs", "kept", "ranked", "summed")
QUESTIONS = (
    "SELECT COUNT(*) AS n, SUM(m0) AS s FROM {0}",
    "SELECT m0, COUNT(*) AS n FROM {0} GROUP BY m0",
    "SELECT COUNT(DISTINCT pid) AS n, COUNT(DISTINCT m0) AS d FROM {0}",
    "SELECT MEDIAN(m0) AS m FROM {0}",
    "SELECT COUNT(*) AS n FROM {0} a JOIN {0} b ON a.pid = b.pid WHERE a.m0 = b.m0",
    "SELECT AVG(c) AS a FROM (SELECT pid, COUNT(*) AS c FROM {0} GROUP BY pid)",
)


def test_a_column_that_is_called_like_a_rank_is_not_taken_for_it(engine: Any) -> None:
    """Rows of a join were once capped by the values of a declared column r."""
    told = plan_text(SELF_JOIN.format("visits"), DATASET, gaussian=True)
    [[statement]] = told.statements("duckdb")
    assert engine.execute(statement.sql).fetchall() == [(2,)]
    text = print_relation(TREES["a cap of few columns"], DIALECTS["duckdb"])
    assert max(engine.execute(f"SELECT count(*) FROM ({text}) AS x GROUP BY {PERSON}").fetchall()) == (4,)  # nobody's
    assert sorted(engine.execute(f"SELECT count(*) FROM ({text}) AS x WHERE {PERSON} = 1").fetchall()) == [(2,)]


@pytest.mark.parametrize("name", CLASHES)
def test_tables_and_columns_may_have_any_name(name: str) -> None:
    number = Column(name="m0", kind=Kind.INTEGER, lower=Fraction(0), upper=Fraction(3))
    table = Table(name=name, columns=(COLUMNS[0], number), link=PersonLink("pid"), max_rows_per_unit=CAP)
    dataset = replace(DATASET, unit=f"{name}.pid", tables=(table,))
    plain = replace(dataset, unit="visits.pid", tables=(replace(table, name="visits"),))
    connection = duckdb.connect(":memory:")
    for each in (name, "visits"):
        connection.execute(f'CREATE TABLE "{each}" AS SELECT i % 4 AS pid, i % 3 AS m0 FROM range(40) t(i)')
    for question in QUESTIONS:
        one, other = (
            [
                sorted(connection.execute(statement.sql).fetchall())
                for part in plan_text(question.format(f'"{each}"'), facts, gaussian=True).statements("duckdb")
                for statement in part
            ]
            for each, facts in ((name, dataset), ("visits", plain))
        )
        assert one == other, question
