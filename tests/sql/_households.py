"""Random databases in every kind of source, with hostile values and ids of different types, and their neighbours.

    people(pid)  <- visits(vid, pid)  <- items(vid)         wards: public

The tables of one household may hold their ids in different types. Who owns a row is worked out here anew, in Python,
from the values that are stored; all else is left to the program.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import numpy as np
import pyarrow
import pyarrow.parquet

from hubbub.engines import DuckDB, InDatabase
from hubbub.relations.native_types import form_of
from hubbub.schema import descriptor
from hubbub.schema.tables import Dataset
from hubbub.sql.open_connection import complete_dataset
from hubbub.sql.prepare_copy import prepare

Row = tuple[Any, ...]
Rows = dict[str, list[Row]]
PRIVATE = ("people", "visits", "items")
KEY = "a key for tests"

# ---------------------------------------------------------------- ids

_NUMBERS = {
    "BIGINT": pyarrow.int64(),
    "INTEGER": pyarrow.int32(),
    "UBIGINT": pyarrow.uint64(),
    "DOUBLE": pyarrow.float64(),
    "FLOAT": pyarrow.float32(),
    "DECIMAL(38,0)": pyarrow.decimal128(38, 0),
    "DECIMAL(20,4)": pyarrow.decimal128(20, 4),
}
_TEXTS = {"VARCHAR": pyarrow.string(), "ENUM": pyarrow.large_string()}
TYPES = _NUMBERS | _TEXTS | {"DATE": pyarrow.date32(), "BLOB": pyarrow.binary()}
FAMILIES: dict[str, tuple[tuple[str, ...], list[Any]]] = {
    "small numbers": (
        ("BIGINT", "INTEGER", "DOUBLE", "DECIMAL(20,4)", "FLOAT"),
        ["1", "2", "0", "-3", "7", "1.5", "-0"],
    ),
    "whole numbers": (
        ("BIGINT", "UBIGINT", "DECIMAL(38,0)"),
        ["1", "-1", *(str(2**53 + i) for i in range(3)), str(2**63)],
    ),
    "numbers": (
        tuple(_NUMBERS),
        [*(str(2**53 + i) for i in range(3)), "1", "nan", "inf", "1.5", "16777217", "16777216"],
    ),
    "doubles": (("DOUBLE",), ["0", "-0", "nan", "-inf", "1e300", "5e-324", "1.5"]),
    "text": (tuple(_TEXTS), ["a", "A", "a ", "ü", "b'\"", "nan", "1"]),
    "days": (("DATE",), [date(1, 1, 1), date(2020, 2, 29), date(9999, 12, 31), date(1970, 1, 1)]),
    "bytes": (("BLOB",), [b"", b"a", b"\xff", b"\x00"]),
}


def stored(native: str, given: Any) -> Any:
    """An id as a column of a type holds it; None if the type cannot."""
    if given is None or native not in _NUMBERS:
        return given
    number = None if given in ("nan", "inf", "-inf") else Fraction(given)
    if native in ("DOUBLE", "FLOAT"):
        return float(given) if native == "DOUBLE" else float(np.float32(float(given)))
    if number is None or (native != "DECIMAL(20,4)" and number.denominator != 1):
        return None
    limits = {"BIGINT": (-(2**63), 2**63 - 1), "INTEGER": (-(2**31), 2**31 - 1), "UBIGINT": (0, 2**64 - 1)}
    low, high = limits.get(native, (-(10**16) + 1, 10**16 - 1) if native == "DECIMAL(20,4)" else (-(10**37), 10**37))
    if not low <= number <= high:
        return None
    return int(number) if native in limits else Decimal(given) if given != "-0" else Decimal(0)


def owner_id(form: str, value: Any) -> Any:
    """Who a stored id is, by rules written down a second time; None for nobody."""
    if value is None or form not in ("FLOAT", "DOUBLE"):
        return Fraction(value) if isinstance(value, int | Decimal) else value
    if isinstance(value, float) and not math.isfinite(value):
        return None
    rounded = float(Fraction(value))
    rounded = rounded if form == "DOUBLE" else float(np.float32(rounded))
    return rounded + 0.0 if math.isfinite(rounded) else None


# ---------------------------------------------------------------- households


@dataclass(frozen=True, slots=True)
class Household:
    """Rows of each table, the types of its ids, and the descriptor that declares it."""

    text: str
    ids: Mapping[tuple[str, str], str]  # (table, column) -> type
    rows: Rows
    replaced: bool
    pool: list[Any]  # ids as they were before a type held them

    def people(self) -> list[Any]:
        """Everybody who owns a row."""
        owners = {owner for name in PRIVATE for owner in self.owners(name)}
        return sorted((each for each in owners if each is not None), key=repr)

    def owners(self, table: str) -> list[Any]:
        """Whose each row of a table is; None if nobody's."""
        whose = form_of([self.ids["people", "pid"], self.ids["visits", "pid"]])
        assert whose is not None
        if table != "items":
            place = 0 if table == "people" else 1
            return [owner_id(whose, row[place]) for row in self.rows[table]]
        linked = form_of([self.ids["visits", "vid"], self.ids["items", "vid"]])
        assert linked is not None
        first: dict[Any, Any] = {}
        for row, owner in zip(self.rows["visits"], self.owners("visits"), strict=True):
            key = owner_id(linked, row[0])
            if key is not None and owner is not None:
                first[key] = min(first.get(key, owner), owner)
        return [first.get(owner_id(linked, row[0])) for row in self.rows["items"]]

    def without(self, person: Any) -> Household:
        """The household without somebody's rows."""
        rest = {
            name: [row for row, owner in zip(self.rows[name], self.owners(name), strict=True) if owner != person]
            for name in PRIVATE
        }
        return replace(self, rows={**self.rows, **rest})

    def arrow(self, table: str) -> pyarrow.Table:
        """A table as Arrow has it."""
        rows = self.rows[table]
        columns = list(zip(*rows, strict=True)) if rows else [()] * len(_COLUMNS[table])
        arrays = {}
        for (name, kind), values in zip(_COLUMNS[table].items(), columns, strict=True):
            made = pyarrow.array(list(values), kind or TYPES[self.ids[table, name]])
            arrays[name] = made.dictionary_encode() if self.ids.get((table, name)) == "ENUM" else made
        return pyarrow.table(arrays)


_whole, _double, _word, _day = pyarrow.int64(), pyarrow.float64(), pyarrow.string(), pyarrow.date32()
_COLUMNS: dict[str, dict[str, Any]] = {  # None: an id, whose type varies
    "people": {"pid": None, "age": _whole, "sex": _word, "region": _word},
    "visits": {"vid": None, "pid": None, "ward": _word, "cost": _double, "k": _whole, "day": _day, "txt": _word},
    "items": {"vid": None, "price": _double, "kind": _word},
    "wards": {"ward": _word, "grp": _word, "beds": _whole},
}
_WARDS = [("n", "g", 3), ("s", "h", 4), ("e", "g", None), (None, "h", 1), ("n", "h", 5)]
_FLOATS = [
    0.0,
    0.5,
    1.0,
    9.5,
    10.0,
    0.25,
    3.3,
    -4.5,
    -0.0,
    1e9,
    -1e9,
    math.nan,
    math.inf,
    -math.inf,
    5e-324,
    1e308,
    None,
]
_INTS = [0, 1, 2, 3, 4, 5, -1, 2**63 - 1, -(2**63), None]
_DAYS = [date(2020, 1, 1), date(2020, 12, 31), date(2020, 2, 29), date(1, 1, 1), date(9999, 12, 31), None]
_WORDS = ["a", "b", "ab", "1", "2020-02-30", "", "%", "a" * 50, "nan", "1e999", "ü", "\x00", "interrupted", None]


def household(rng: Random, *, types: tuple[str, ...] = ()) -> Household:
    """A household; ``types`` are those that the ids may have (all, if none are given)."""
    known = {name: [each for each in kinds if not types or each in types] for name, (kinds, _) in FAMILIES.items()}
    family = rng.choice([name for name, kinds in known.items() if kinds])
    links = [each for each in ("BIGINT", "DOUBLE", "DECIMAL(38,0)", "INTEGER") if not types or each in types]
    ids = {
        ("people", "pid"): rng.choice(known[family]),
        ("visits", "pid"): rng.choice(known[family]),
        ("visits", "vid"): rng.choice(links),
        ("items", "vid"): rng.choice(links),
    }
    replaced = rng.random() < 0.3
    caps = (rng.choice([1, 2, 4, 6]), rng.choice([1, 2, 3]))
    text = _toml(caps, signed=rng.random() < 0.5, replaced=replaced, typed=ids if types else {})
    rows = _rows(rng, ids, FAMILIES[family][1])
    return Household(text, ids, rows, replaced, FAMILIES[family][1])


def _rows(rng: Random, ids: Mapping[tuple[str, str], str], pool: list[Any]) -> Rows:
    rows: Rows = {"people": [], "visits": [], "items": [], "wards": _WARDS}
    shared = rng.random() < 0.3
    for place, given in enumerate([*rng.sample(pool, min(len(pool), rng.randint(3, 8))), None]):
        vids: list[str | None] = ["0"] if shared else [str(2 * place), str(2 * place + 1), "0", None]
        most = rng.choice([2, 3, 12])
        for name, more in rows_of(rng, ids, given, vids, most).items():
            rows[name] += more
    return rows


def rows_of(rng: Random, ids: Mapping[tuple[str, str], str], given: Any, vids: list[Any], most: int) -> Rows:
    """Rows that name one person, some of them several times."""

    def id_in(table: str, column: str, value: Any) -> Any:
        return stored(ids[table, column], value)

    def person() -> Row:
        words = rng.choice(["f", "m", "?", None]), rng.choice(["u", "v", None])
        return (id_in("people", "pid", given), rng.choice(_INTS), *words)

    def visit() -> Row:
        whose = id_in("visits", "vid", rng.choice(vids)), id_in("visits", "pid", given)
        rest = rng.choice(_FLOATS), rng.choice(_INTS), rng.choice(_DAYS), rng.choice(_WORDS)
        return (*whose, rng.choice(["n", "s", "e", "N", "", "zzz", None]), *rest)

    def item() -> Row:
        return id_in("items", "vid", rng.choice(vids)), rng.choice(_FLOATS), rng.choice(["x", "y", "z", None])

    makers: dict[str, tuple[Callable[[], Row], int]] = {
        "people": (person, 2),
        "visits": (visit, most),
        "items": (item, most),
    }
    return {name: list(_repeated(rng, make, count)) for name, (make, count) in makers.items()}


def _repeated(rng: Random, make: Callable[[], Row], most: int) -> Iterator[Row]:
    for _ in range(rng.randint(1, most)):
        row = make()
        yield from [row] * rng.choice([1, 1, 1, 2])


def neighbours(rng: Random, one: Household, most: int) -> Iterator[tuple[Any, Household]]:
    """Some of those that differ from a household in one person, each with who it is."""
    people = one.people()
    for person in rng.sample(people, min(len(people), most)):
        rest = one.without(person)
        yield person, _with_other_rows(rng, rest, person) if one.replaced else rest


def _with_other_rows(rng: Random, rest: Household, person: Any) -> Household:
    """Other rows under the same id, on visits of their own: nobody else's items become theirs."""
    columns = [rest.ids["people", "pid"], rest.ids["visits", "pid"]]
    form = form_of(columns)
    assert form is not None
    for given in rest.pool:
        if {owner_id(form, stored(native, given)) for native in columns} == {person}:
            more = rows_of(rng, rest.ids, given, ["100", "101"], 8)
            return replace(rest, rows={**rest.rows, **{name: rest.rows[name] + more[name] for name in PRIVATE}})
    return rest


def _toml(caps: tuple[int, int], *, signed: bool, replaced: bool, typed: Mapping[tuple[str, str], str]) -> str:
    """What is declared; ``typed`` are ids that come as text, with the type that they are read as."""
    lower = -5 if signed else 0
    kinds = {"BIGINT": "integer", "DOUBLE": "number", "VARCHAR": "text"}
    names = {(table, column): f'{column} = {{ type = "{kinds[each]}" }}' for (table, column), each in typed.items()}
    return f"""
dataset.name = "household"
privacy.unit = "people.pid"
privacy.neighbours = "{"replace" if replaced else "add-remove"}"
privacy.budget.epsilon = 1
[tables.people]
key = "pid"
[tables.people.columns]
{names.get(("people", "pid"), "")}
age = {{ type = "integer", lower = 0, upper = 99 }}
sex = {{ values = ["f", "m"] }}
region = {{ max_per_unit = 1 }}
[tables.visits]
unit = {{ pid = "people.pid" }}
key = "vid"
max_rows_per_unit = {caps[0]}
[tables.visits.columns]
{names.get(("visits", "pid"), "")}
{names.get(("visits", "vid"), "")}
ward = {{ values = ["n", "s", "e"], max_per_unit = 2, max_rows_per_unit = 2 }}
cost = {{ type = "number", lower = {lower}, upper = 10, step = 0.5 }}
k = {{ type = "integer", lower = 0, upper = 4 }}
day = {{ lower = 2020-01-01, upper = 2020-12-31 }}
[tables.items]
unit = {{ vid = "visits.vid" }}
max_rows_per_unit = {caps[1]}
[tables.items.columns]
{names.get(("items", "vid"), "")}
price = {{ type = "number", lower = {lower}, upper = 4, step = 1 }}
kind = {{ values = ["x", "y"] }}
[tables.wards]
public = true
key = "ward"
[tables.wards.columns]
grp = {{ values = ["g", "h"] }}
beds = {{ type = "integer" }}
"""


# ---------------------------------------------------------------- sources


def parquet(table: pyarrow.Table, folder: Path, name: str, **options: Any) -> Path:
    """A Parquet file."""
    pyarrow.parquet.write_table(table, folder / f"{name}.parquet", **options)
    return folder / f"{name}.parquet"


def prepared(table: pyarrow.Table, folder: Path, name: str) -> Path:
    """A prepared copy of what names its person itself; else the file."""
    unit = {"people": "pid", "visits": "pid"}.get(name)
    if unit is None:
        return parquet(table, folder, name)
    return prepare(table, unit=unit, out=folder / f"{name}.copy.parquet", _key=KEY)


def csv(table: pyarrow.Table, folder: Path, name: str) -> Path:
    """A CSV file; what is missing is an empty cell."""
    lines = [",".join(table.column_names)]
    for row in table.to_pylist():
        cells = ["" if value is None else str(value) for value in row.values()]
        lines.append(",".join('"' + cell.replace('"', '""') + '"' if cell else "" for cell in cells))
    (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")
    return folder / f"{name}.csv"


def database(table: pyarrow.Table, folder: Path, name: str) -> InDatabase:
    """A table in a DuckDB file of its own."""
    file = folder / f"{name}.duckdb"
    file.unlink(missing_ok=True)
    with duckdb.connect(str(file)) as connection:
        connection.register("_given", table)
        connection.execute(f"CREATE TABLE {name} AS SELECT * FROM _given")
    return InDatabase(str(file), name)


def polars(table: pyarrow.Table, folder: Path, name: str) -> Any:
    """A Polars table."""
    import polars as pl

    return pl.from_arrow(table)


Source = Callable[[pyarrow.Table, Path, str], Any]
IN_PLACE: dict[str, Source] = {
    "parquet": parquet,
    "parquet without statistics": lambda *given: parquet(*given, write_statistics=False),
    "parquet in small pieces": lambda *given: parquet(*given, row_group_size=3, use_dictionary=False),
    "arrow": lambda table, folder, name: table,
    "polars": polars,
}
ANEW: dict[str, Source] = {"prepared": prepared, "csv": csv, "duckdb": database, "parquet": parquet}


def opened(one: Household, sources: Mapping[str, Any]) -> tuple[Dataset, DuckDB]:
    """The household as the program has it, over any kinds of sources."""
    engine = DuckDB(sources, threads=1)
    return complete_dataset(descriptor.parse(one.text), engine, sources), engine
