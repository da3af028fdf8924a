"""Random databases about people, and their neighbours: with and without one person's rows, or with other ones.

    people(pid)  <- visits(vid, pid)  <- items(vid)         wards: public

A row belongs to one person: of people and visits, to the one it names; of items, to the smallest of those whose visits
it points at. Nobody owns a row that leads to no person.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from datetime import date
from fractions import Fraction
from typing import Any

import pyarrow
from hypothesis import strategies as st

from hubbub.engines import DuckDB
from hubbub.schema.tables import Column, Dataset, Kind, PersonLink, Table
from hubbub.terms import Budget, Neighbours
from tests.sql._exact import engine_over

Row = tuple[Any, ...]
NAN, INF = math.nan, math.inf
FIRST, LAST = date(2020, 1, 1), date(2020, 12, 31)

UNITS: dict[str, tuple[Kind, Any, list[Any]]] = {
    "integer": (Kind.INTEGER, pyarrow.int64(), [1, 2, 0, -(2**63), 2**63 - 1]),
    "text": (Kind.TEXT, pyarrow.string(), ["a", "A", "", "b'\"", "ü"]),
    "float": (Kind.NUMBER, pyarrow.float64(), [0.0, -0.0, NAN, INF, 1e300]),
    "date": (Kind.DATE, pyarrow.date32(), [FIRST, date(1, 1, 1), date(9999, 12, 31), LAST, date(1970, 1, 1)]),
    "decimal": (Kind.NUMBER, pyarrow.decimal128(38, 2), ["1", "-1", "9" * 36, "0", "0.01"]),
}


@dataclass(frozen=True, slots=True)
class Database:
    """Rows of each table; ``facts`` says what was declared of them."""

    dataset: Dataset
    unit: str
    rows: dict[str, list[Row]] = field(default_factory=dict)

    def engine(self) -> DuckDB:
        """The database as the engine has it."""
        pid = UNITS[self.unit][1]
        whole, double, text, day = pyarrow.int64(), pyarrow.float64(), pyarrow.string(), pyarrow.date32()
        types = {
            "people": {"pid": pid, "age": whole, "sex": text, "region": text},
            "visits": {"vid": whole, "pid": pid, "ward": text, "cost": double, "k": whole, "day": day, "txt": text},
            "items": {"vid": whole, "price": double, "kind": text},
            "wards": {"ward": text, "grp": text, "beds": whole},
        }
        return engine_over({name: (types[name], self.rows[name]) for name in types})


# ---------------------------------------------------------------- what is declared


def dataset_of(unit: str, neighbours: Neighbours, caps: tuple[int, int, int], *, by_row: bool, signed: bool) -> Dataset:
    """The declared facts: four tables, three caps, and bounds that rows do not keep to."""
    kind = UNITS[unit][0]
    lower = Fraction(-5) if signed else Fraction(0)

    def column(name: str, kind: Kind, **facts: Any) -> Column:
        return Column(name=name, kind=kind, **facts)

    people = (
        column("pid", kind),
        column("age", Kind.INTEGER, lower=Fraction(0), upper=Fraction(99)),
        column("sex", Kind.TEXT, values=("f", "m")),
        column("region", Kind.TEXT, max_per_unit=1),
    )
    visits = (
        column("vid", Kind.INTEGER),
        column("pid", kind),
        column("ward", Kind.TEXT, values=("n", "s", "e"), max_per_unit=2, max_rows_per_unit=2),
        column("cost", Kind.NUMBER, lower=lower, upper=Fraction(10), step=Fraction(1, 2)),
        column("k", Kind.INTEGER, lower=Fraction(0), upper=Fraction(4)),
        column("day", Kind.DATE, lower=_days(FIRST), upper=_days(LAST)),
        column("txt", Kind.TEXT),
    )
    items = (
        column("vid", Kind.INTEGER),
        column("price", Kind.NUMBER, lower=lower, upper=Fraction(4), step=Fraction(1)),
        column("kind", Kind.TEXT, values=("x", "y")),
    )
    wards = (column("ward", Kind.TEXT), column("grp", Kind.TEXT, values=("g", "h")), column("beds", Kind.INTEGER))
    tables = (
        Table(name="people", source="", columns=people, link=PersonLink("pid"), key="pid", max_rows_per_unit=caps[0]),
        Table(
            name="visits",
            source="",
            columns=visits,
            link=PersonLink("pid", "people", "pid"),
            key="vid",
            max_rows_per_unit=caps[1],
        ),
        Table(
            name="items", source="", columns=items, link=PersonLink("vid", "visits", "vid"), max_rows_per_unit=caps[2]
        ),
        Table(name="wards", source="", columns=wards, key="ward", public=True),
    )
    if by_row:
        tables = tuple(replace(table, link=None, max_rows_per_unit=None) for table in tables)
    return Dataset(
        name="fuzzed",
        population="fuzzed",
        unit="" if by_row else "people.pid",
        budget=Budget(1, 1e-6),
        tables=tables,
        neighbours=neighbours,
    )


def _days(day: date) -> Fraction:
    return Fraction((day - date(1970, 1, 1)).days)


# ---------------------------------------------------------------- rows

_costs = st.sampled_from([0.0, 0.5, 1.0, 9.5, 10.0, 0.25, 3.3, -4.5, -0.0, 1e9, -1e9, NAN, INF, -INF, 5e-324, None])
_wholes = st.sampled_from([0, 1, 2, 3, 4, 5, -1, 2**63 - 1, -(2**63), None])
_wards = st.sampled_from(["n", "s", "e", "N", "", "zzz", None])
_texts = st.sampled_from(["a", "b", "ab", "1", "2020-02-30", "", "%", "a" * 50, None])
_dates = st.sampled_from([FIRST, LAST, date(2020, 2, 29), date(1, 1, 1), date(9999, 12, 31), date(2020, 6, 1), None])


def _people(pid: Any) -> st.SearchStrategy[Row]:
    return st.tuples(st.just(pid), _wholes, st.sampled_from(["f", "m", "?", None]), st.sampled_from(["u", "v", None]))


def _visits(pid: Any, vids: st.SearchStrategy[int | None]) -> st.SearchStrategy[Row]:
    return st.tuples(vids, st.just(pid), _wards, _costs, _wholes, _dates, _texts)


def _items(vid: st.SearchStrategy[int | None]) -> st.SearchStrategy[Row]:
    return st.tuples(vid, _costs, st.sampled_from(["x", "y", "z", None]))


_public = [
    ("n", "h", 3),
    ("s", "h", 4),
    ("e", "g", None),
    (None, "h", 1),
    ("n", "g", 5),
]  # n: the order differs by column


@st.composite
def rows_of(draw: st.DrawFn, pid: Any, vids: list[int | None], most: int) -> dict[str, list[Row]]:
    """Rows that name one person (or nobody), pointing at some of the given visits."""
    named = st.sampled_from(vids)
    return {
        "people": draw(st.lists(_people(pid), min_size=0 if pid is None else 1, max_size=2)),
        "visits": draw(_repeated(_visits(pid, named), most)),
        "items": draw(_repeated(_items(named), most)),
    }


@st.composite
def _repeated(draw: st.DrawFn, rows: st.SearchStrategy[Row], most: int) -> list[Row]:
    """Some rows, some of them several times."""
    found = draw(st.lists(rows, max_size=most))
    return found + found[: draw(st.integers(0, 2))]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two neighbours."""

    one: Database
    other: Database


@st.composite
def pairs(draw: st.DrawFn, *, by_row: bool = False, shared: bool = False) -> Pair:
    """A database, and one that differs in one person (or, ``by_row``, in one row of one table).

    ``shared`` gives all visits one key, by mistake.
    """
    unit = draw(st.sampled_from(sorted(UNITS)))
    neighbours = draw(st.sampled_from(list(Neighbours)))
    caps = draw(st.tuples(st.sampled_from([1, 2]), st.sampled_from([2, 1, 4, 6]), st.sampled_from([2, 1, 3])))
    dataset = dataset_of(unit, neighbours, caps, by_row=by_row, signed=draw(st.booleans()))
    rows = draw(_everybody(_pids(unit), heavy=draw(st.integers(3, 12)), shared=shared))
    database = Database(dataset, unit, rows)
    return draw(_without_row(database)) if by_row else draw(_without_person(database))


def _pids(unit: str) -> list[Any]:
    from decimal import Decimal

    values = UNITS[unit][2]
    return [*(map(Decimal, values) if unit == "decimal" else values), None]


@st.composite
def _everybody(draw: st.DrawFn, pids: list[Any], heavy: int, shared: bool) -> dict[str, list[Row]]:
    rows: dict[str, list[Row]] = {"people": [], "visits": [], "items": []}
    for place, pid in enumerate(draw(st.lists(st.sampled_from(pids), min_size=1, max_size=5))):
        most = heavy if place == 0 else 3
        vids: list[int | None] = [0] if shared else [place * 2, place * 2 + 1, 0, None]
        found = draw(rows_of(pid, vids, most))
        for name, more in found.items():
            rows[name] += more
    return {**rows, "wards": _public}


@st.composite
def _without_person(draw: st.DrawFn, one: Database) -> Pair:
    named = [row[0] for row in one.rows["people"]] + [row[1] for row in one.rows["visits"]]
    known = [pid for pid in named if pid is not None]
    if not known:
        return Pair(one, one)
    gone = draw(st.sampled_from(known))
    rest = {name: [row for row in rows if not _same(owner(one, name, row), gone)] for name, rows in one.rows.items()}
    if one.dataset.neighbours is Neighbours.REPLACE:
        # visits of its own, so that no one else's items become this person's
        new = draw(rows_of(gone, [100, 101], draw(st.integers(1, 8))))
        rest = {name: rows + new.get(name, []) for name, rows in rest.items()}
    return Pair(one, replace(one, rows=rest))


@st.composite
def _without_row(draw: st.DrawFn, one: Database) -> Pair:
    filled = [name for name in ("people", "visits", "items") if one.rows[name]]
    if not filled:
        return Pair(one, one)
    name = draw(st.sampled_from(filled))
    place = draw(st.integers(0, len(one.rows[name]) - 1))
    rows = [row for i, row in enumerate(one.rows[name]) if i != place]
    if one.dataset.neighbours is Neighbours.REPLACE:
        makers = {"people": _people(1), "visits": _visits(None, st.just(0)), "items": _items(st.just(0))}
        new = draw(makers[name])
        rows.append((one.rows[name][place][0], *new[1:]))
    return Pair(one, replace(one, rows={**one.rows, name: rows}))


def owner(database: Database, table: str, row: Row) -> Any:
    """Whose row it is; None if nobody's."""
    if table in ("people", "visits"):
        return row[0 if table == "people" else 1]
    if table == "wards" or row[0] is None:
        return None
    parents = [visit[1] for visit in database.rows["visits"] if visit[0] == row[0] and visit[1] is not None]
    return min(parents, key=_order, default=None)


def _same(one: Any, other: Any) -> bool:
    return one is not None and _order(one) == _order(other)


def _order(pid: Any) -> tuple[bool, Any]:
    """The engine's order: no number comes after every number, and the two zeros are one."""
    missing = isinstance(pid, float) and math.isnan(pid)
    return (missing, 0 if missing else pid)
